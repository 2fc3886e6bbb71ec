"""Seed 004's networks as its Appendix P.8 prints them: what their own attacker sees, and what others see afterwards.

    python -m examples.game_printed                 100 people with 500 attributes, kappa 0: some minutes
    python -m examples.game_printed --scan          which price of ours gives the printed pairs of areas
    python -m examples.game_printed --people 800 --attributes 5000 --checkpoint FILE --record FILE

Widths, both learning rates and the decay are printed.  How many steps there are, how many of the attacker come before
one of the generator, how long an epoch is, sums or means and which norm are not: they are ours, and records say them.
The area in the loop goes up and down while both learn: records keep it for every so many steps.  With a checkpoint the
same command goes on where it was stopped.  People are simulated genomes.  Areas are estimates with 95 % intervals; they
bound nothing.  Needs torch, stdpopsim and msprime.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import attrs
import numpy as np

from examples.gallery.game.attacks import InTheLoop
from quiltwork.game import AdaptiveThreshold, Budget, FixedThreshold, LinearGaussian, Population, Ridge, ladder
from quiltwork.game.learned import Generative
from quiltwork.game.learned.defence import Learned
from quiltwork.game.learned.run import restore, save
from quiltwork.game.learned.training import Game
from quiltwork.game.measures import auc
from quiltwork.game.people.population import Statistic
from quiltwork.game.populations import genotypes, independent
from quiltwork.game.releases import SummaryStatistics

LOOP, FIXED = "in the loop", "fixed LRT"
PRINTED = {0.0: (0.5205, 0.5026), 1.5: (0.7253, 0.6214), 50.0: (0.8076, 0.7284)}  # Table 3: in the loop, fixed LRT
PRICES = (0.0, 0.05, 0.15, 0.5, 1.5, 5.0)


@attrs.frozen
class Arm:
    """One training: the price, the mean error, and the area of each attacker with its interval.

    `path` is the area in the loop after so many steps; `cpu_seconds` what the last piece of the run took.
    """

    kappa: float
    error: float
    areas: dict[str, tuple[float, float, float]]
    path: list[tuple[int, float]]
    cpu_seconds: float

    @property
    def pair(self) -> tuple[float, float]:
        """In the loop, and fixed LRT: what Table 3 prints for one price."""
        return self.areas[LOOP][0], self.areas[FIXED][0]

    @property
    def line(self) -> str:
        """For a terminal."""
        areas = ", ".join(f"{name} {mid:.3f} ({low:.3f}-{high:.3f})" for name, (mid, low, high) in self.areas.items())
        return f"kappa {self.kappa:g}: error {self.error:.4f}; {areas}; {self.cpu_seconds:.0f} s"


def in_loop(game: Game, draws: int) -> float:
    """The area of the attacker that learns, against the generator as it is now."""
    seen = released(game).draw(draws, np.random.default_rng([game.seed, 5]))
    return float(auc(game.attacker.frozen(seen.outputs), seen.members))


def released(game: Game) -> SummaryStatistics:
    """What the generator releases now."""
    return SummaryStatistics(Learned("printed networks", game.statistic, game.generator))


def played(defender: Generative, population: Population, chosen: argparse.Namespace) -> tuple[Game, list[Any]]:
    """Train as many steps as the defender says, from the checkpoint if there is one, and watch the loop."""
    game = Game(defender.settings(*population.size), Statistic(population), chosen.seed)
    path: list[Any] = []
    file: Path | None = chosen.checkpoint
    watched = None if file is None else file.with_suffix(".json")
    if file is not None and watched is not None and file.exists():
        restore(game, file)
        path = [row for row in json.loads(watched.read_text("utf-8")) if row[0] <= game.step]
    while game.step < defender.steps:
        game.advance()
        if game.step % chosen.every == 0 or game.step == defender.steps:
            path.append((game.step, in_loop(game, chosen.test)))
            if file is not None and watched is not None:
                watched.write_text(json.dumps(path), "utf-8")
                save(game, file)
    return game, path


def trained(defender: Generative, population: Population, chosen: argparse.Namespace) -> Arm:
    """Train, then let attackers learn from scratch against what came out."""
    began = time.process_time()
    game, path = played(defender, population, chosen)
    attackers = [InTheLoop(game.attacker, LOOP), FixedThreshold(), AdaptiveThreshold(), LinearGaussian(), Ridge()]
    budget = Budget(train=chosen.train)
    board = ladder(attackers, released(game), seed=chosen.seed, budget=budget, test=chosen.test, shown=False)
    areas = {entry.name: (entry.auc.estimate, entry.auc.lower, entry.auc.upper) for entry in board.entries}
    return Arm(defender.kappa, board.error, areas, path, time.process_time() - began)


def nearest(arms: Sequence[Arm], printed: tuple[float, float]) -> Arm:
    """The arm whose pair of areas is nearest to the printed one, in the larger of both differences."""
    return min(arms, key=lambda arm: max(abs(ours - theirs) for ours, theirs in zip(arm.pair, printed, strict=True)))


def record(arms: Sequence[Arm], defender: Generative, population: Population, seed: int) -> dict[str, Any]:
    """Everything that decides the numbers, and the numbers."""
    settings = attrs.asdict(defender.settings(*population.size))
    return {
        "schema": "quiltwork/examples/printed_networks/1",
        "people": str(population),
        "steps": defender.steps,
        "seed": seed,
        "settings": {name: value for name, value in settings.items() if name != "kappa"},
        "arms": [attrs.asdict(arm) for arm in arms],
    }


def main(arguments: Sequence[str] | None = None) -> list[Arm]:
    """Run the command line."""
    parser = argparse.ArgumentParser(description="The networks of seed 004 as printed.")
    parser.add_argument("--people", type=int, default=100)
    parser.add_argument("--reference", type=int, default=400)
    parser.add_argument("--attributes", type=int, default=500)
    parser.add_argument("--independent", action="store_true", help="independent attributes instead of genomes")
    parser.add_argument("--kappa", type=float, nargs="+", default=[0.0])
    parser.add_argument("--scan", action="store_true", help=f"prices {', '.join(map(str, PRICES))}")
    parser.add_argument("--steps", type=int, default=600)
    parser.add_argument("--attacker-steps", type=int, default=1)
    parser.add_argument("--epoch", type=int, default=20)
    parser.add_argument("--reduction", default="mean", choices=["mean", "sum"])
    parser.add_argument("--norm", type=int, default=1, choices=[1, 2])
    parser.add_argument("--small", action="store_true", help="widths cut to 256, for a look")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--train", type=int, default=3000, help="releases that retrained attackers learn from")
    parser.add_argument("--test", type=int, default=200)
    parser.add_argument("--every", type=int, default=25, help="steps between two looks at the loop")
    parser.add_argument("--checkpoint", type=Path, default=None, help="where one run is kept, and goes on from")
    parser.add_argument("--cache", type=Path, default=None, help="where genomes are kept (.npz)")
    parser.add_argument("--record", type=Path, default=None, help="write all settings and numbers to this file")
    chosen = parser.parse_args(arguments)
    size = (chosen.people, chosen.reference, chosen.attributes)
    population = independent(*size) if chosen.independent else genotypes(*size, cache=chosen.cache)
    widths: dict[str, Any] = {"hidden": (256, 256), "attacker_hidden": (256, 128)} if chosen.small else {}
    names = ("steps", "attacker_steps", "epoch", "reduction", "norm")
    defender = Generative("paper", **{name: getattr(chosen, name) for name in names}, **widths)
    prices, arms = PRICES if chosen.scan else chosen.kappa, []
    if chosen.checkpoint is not None and len(prices) > 1:
        parser.error("--checkpoint keeps one run: give one --kappa")
    for kappa in prices:
        arms.append(trained(attrs.evolve(defender, kappa=kappa), population, chosen))
        print(arms[-1].line, flush=True)
        if chosen.record is not None:
            text = json.dumps(record(arms, defender, population, chosen.seed), indent=1)
            chosen.record.write_text(text + "\n", encoding="utf-8")
    for price, pair in PRINTED.items() if chosen.scan else ():
        found = nearest(arms, pair)
        ours = " and ".join(f"{area:.3f}" for area in found.pair)
        print(f"printed at kappa {price:g}: {pair[0]} and {pair[1]}; nearest here kappa {found.kappa:g}: {ours}")
    return arms


if __name__ == "__main__":
    main()
