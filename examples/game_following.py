"""A fifth mechanism behind four: a network that reads what exists, with a certificate for all five together.

    python -m examples.game_following            100 people, 500 attributes
    python -m examples.game_following --quick    20 people, 30 attributes
    python -m examples.game_following --truth    6 people, 1 attribute: beside the least error that is possible

Four Gaussian mechanisms have published shares of the same half of the candidates.  The fifth may bring the total to a
target.  Independent noise spends what is left on a reading of its own; a weighted sum and a network read what exists as
well, at the same certificate, and err less.  Errors are means over simulated data sets; the epsilon is a bound.

With one attribute the share has few values, and a linear program has the truth.  Its mechanism reads the share and the
cell in which the mean of the four outputs lies (their sufficient statistic).  Whatever a next release is, its law given
share and cell, averaged within the cell, is a mechanism of the program with the same error, and together with the cell
it tells no more than together with the outputs; and a best answer to any output is a median of the share, one of its
values.  So no next release with this target errs less than the program's lower end.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Sequence

import numpy as np
from scipy.stats import norm

import quiltwork as qw
from quiltwork import confounding as cf
from quiltwork.game import Gaussian, Generative, Population, SummaryStatistics, train
from quiltwork.game.learned import Following
from quiltwork.game.populations import independent

DELTA = 1e-5
ROOM = 1.2  # mu of all five over mu of the four
SIX = 1.0  # noise of each of the four where the truth is asked


def fifth(population: Population, sigma: float, steps: int, seed: int = 0) -> Following:
    """Four mechanisms with this noise, and the fifth for a target a little above theirs."""
    four = [SummaryStatistics(Gaussian(sigma).prepare(population), clip=False) for _ in range(4)]
    mu = four[0].certificate("pool").curve.parts[0].family.mu * 2 * ROOM
    target = float(qw.gdp(mu).epsilon(DELTA).upper)
    defender = Generative(kappa=100.0, steps=steps, attacker_steps=1)
    found: Following = train(defender, None, population, existing=four, target=(target, DELTA), seed=seed)
    return found


def six() -> Population:
    """Six candidates of whom three carry what is counted: the share of three members is 0, 1/3, 2/3 or 1."""
    carried = np.array([[True], [False]])
    return Population(np.repeat(carried, 3, axis=0), carried)


def least(sigma: float, target: tuple[float, float], cells: int = 16) -> cf.Design:
    """The mechanism of least error for `six` behind four outputs with this noise, with certified ends."""
    shares, chances = np.arange(4) / 3, [math.comb(3, k) ** 2 / 20 for k in range(4)]
    cuts = np.linspace(-1.0, 2.0, cells - 1)
    below = norm.cdf(cuts, loc=shares[:, None], scale=sigma / math.sqrt(4))  # of the mean of four
    seen = np.diff(below, axis=1, prepend=0.0, append=1.0)
    swaps = [(k, k + 1) for k in range(3)]  # one member more or fewer who carries it
    world = cf.World(secret=chances, data=np.eye(4), pairs=swaps, values=["0", "1/3", "2/3", "1"])
    before = world.release(seen / seen.sum(axis=1, keepdims=True))
    asked = {"epsilon": target[0], "delta": target[1], "cost": "absolute", "reads": "data and output"}
    return world.design(before, **asked)


def main(arguments: Sequence[str] | None = None) -> Following:
    """Run the command line."""
    parser = argparse.ArgumentParser(description="A fifth mechanism behind four.")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--truth", action="store_true")
    parser.add_argument("--steps", type=int, default=None)
    parser.add_argument("--seed", type=int, default=0)
    chosen = parser.parse_args(arguments)
    people, attributes, sigma = (20, 30, 0.12) if chosen.quick else (100, 500, 0.05)
    population, sigma = (
        (six(), SIX) if chosen.truth else (independent(people, 200, attributes, seed=chosen.seed), sigma)
    )
    found = fifth(population, sigma, chosen.steps or (20 if chosen.quick else 300), chosen.seed)
    epsilon, delta = found.target
    reached = found.certificate().epsilon(delta)
    print(f"target epsilon {epsilon:.3f} at delta {delta:g}; certified for all five: at most {reached.upper:.3f}")
    for kind, error in sorted(found.errors.items(), key=lambda entry: entry[1]):
        print(f"  {error:.5f}  {kind}{'  (in force)' if kind == found.kind else ''}")
    if chosen.truth:
        best = least(sigma, found.target)
        print(f"no next release errs less than {best.lower_bound:.5f}; a table that does errs {best.cost:.5f} at most")
    return found


if __name__ == "__main__":
    main()
