"""The paper's learned defence, as its own attacker sees it and as attackers see it that are trained afterwards.

    python examples/game_gan.py                      the paper's network without a price on error (kappa = 0)
    python examples/game_gan.py --noisy --kappa 2    the recommended network
    python examples/game_gan.py --quick              a few seconds, small people

A generator and an attacker learn against each other on simulated genomes.  In the loop the attacker ends near guessing;
an attacker trained from scratch against the same frozen generator reads who is in the data.  Beside them stand closed
forms at the same mean error, and what the acceptance gate makes of it.  Needs torch; genomes need stdpopsim and
msprime, and are kept in --cache.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

import attrs

from quiltwork.game import (
    Budget,
    Constant,
    Gaussian,
    Leaderboard,
    Neural,
    Population,
    RateDistortion,
    Ridge,
    WaterFilling,
    default_attackers,
    ladder,
)
from quiltwork.game.learned import Generative, Trained, accept, train
from quiltwork.game.populations import genotypes, independent


@attrs.frozen
class Size:
    """How many people, how long the game, and how much the attackers may train."""

    candidates: int = 100
    reference: int = 400
    attributes: int = 500
    steps: int = 1200
    releases: int = 30_000
    budget: Budget = attrs.field(factory=Budget)


QUICK = Size(12, 20, 24, 40, 400, Budget(train=200, calibrate=50, steps=20))


@attrs.frozen(eq=False)
class Finding:
    """The trained network, the attackers against it, and closed forms with their best quick attacker."""

    trained: Trained
    board: Leaderboard
    others: tuple[tuple[str, float, float], ...]
    verdict: str


def people(size: Size, simple: bool, cache: Path | None) -> Population:
    """Simulated genomes, or independent coins where those are too slow."""
    if simple:
        return independent(size.candidates, size.reference, size.attributes)
    if cache is not None:
        cache.parent.mkdir(parents=True, exist_ok=True)
    return genotypes(size.candidates, size.reference, size.attributes, cache=cache)


def experiment(defender: Generative, population: Population, size: Size, seed: int = 0) -> Finding:
    """Train without the gate, attack what came out, then ask the gate."""
    trained = train(defender, None, population, seed=seed, steps=size.steps, gate=False)
    retrained = (*default_attackers(quick=True), Ridge(size.releases), Neural(hybrid=True))
    board = ladder(retrained, trained.release(), seed=seed, budget=size.budget)
    error = board.error
    closed = (Gaussian.at_error(error), WaterFilling(error), RateDistortion(error), Constant())
    quick = default_attackers(quick=True)
    boards = [ladder(quick, other, population, seed=seed, budget=size.budget) for other in closed]
    others = tuple((other.release, other.error, other.best.auc.estimate) for other in boards)
    verdict = accept(trained, population, quick, budget=size.budget, seed=seed)
    return Finding(trained, board, others, str(verdict))


def told(finding: Finding) -> list[str]:
    """The findings as lines."""
    trained, board = finding.trained, finding.board
    assert trained.in_loop is not None
    assert trained.history is not None
    lines = [
        f"{board.population}",
        f"{trained.name}, {trained.history}, mean error {board.error:.4f}",
        "",
        f"{trained.in_loop.auc:.3f}  {trained.in_loop.note}",
        "",
        "AUC of attackers trained from scratch against the frozen network (95% interval):",
    ]
    for entry in board.entries:
        area = entry.auc
        lines.append(f"{area.estimate:.3f}  [{area.span}]  {entry.name} ({entry.knows.name})")
    lines += ["", "closed forms asked for the same error, with the best of the quick attackers:"]
    lines += [f"{area:.3f}  error {error:.4f}  {name}" for name, error, area in finding.others]
    return [*lines, "", finding.verdict]


def main(arguments: Sequence[str] | None = None) -> Finding:
    """Run the command line."""
    parser = argparse.ArgumentParser(description="A learned defence, in the loop and afterwards.")
    parser.add_argument("--kappa", type=float, default=0.0, help="the price of error (default: 0, no price)")
    parser.add_argument("--noisy", action="store_true", help="the recommended network instead of the paper's")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--cache", type=Path, default=Path("build/genotypes.npz"), help="where genomes are kept")
    parser.add_argument("--quick", action="store_true", help="few people with independent attributes, few steps")
    chosen = parser.parse_args(arguments)
    size = QUICK if chosen.quick else Size()
    population = people(size, chosen.quick, chosen.cache)
    defender = Generative("noisy" if chosen.noisy else "paper", kappa=chosen.kappa)
    finding = experiment(defender, population, size, chosen.seed)
    print("\n".join(told(finding)))
    return finding


if __name__ == "__main__":
    main()
