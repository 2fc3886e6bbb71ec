"""A fifth mechanism behind four: a network that reads what exists, with a certificate for all five together.

    python -m examples.game_following            100 people, 500 attributes
    python -m examples.game_following --quick    20 people, 30 attributes

Four Gaussian mechanisms have published shares of the same half of the candidates.  The fifth may bring the total to a
target.  Independent noise spends what is left on a reading of its own; a weighted sum and a network read what exists as
well, at the same certificate, and err less.  Errors are means over simulated data sets; the epsilon is a bound.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence

import quiltwork as qw
from quiltwork.game import Gaussian, Generative, SummaryStatistics, train
from quiltwork.game.learned import Following
from quiltwork.game.populations import independent

DELTA = 1e-5
ROOM = 1.2  # mu of all five over mu of the four


def fifth(people: int, attributes: int, sigma: float, steps: int, seed: int = 0) -> Following:
    """Four mechanisms with this noise, and the fifth for a target a little above theirs."""
    population = independent(people, 200, attributes, seed=seed)
    four = [SummaryStatistics(Gaussian(sigma).prepare(population), clip=False) for _ in range(4)]
    mu = four[0].certificate("pool").curve.parts[0].family.mu * 2 * ROOM
    target = float(qw.gdp(mu).epsilon(DELTA).upper)
    defender = Generative(kappa=100.0, steps=steps, attacker_steps=1)
    found: Following = train(defender, None, population, existing=four, target=(target, DELTA), seed=seed)
    return found


def main(arguments: Sequence[str] | None = None) -> Following:
    """Run the command line."""
    parser = argparse.ArgumentParser(description="A fifth mechanism behind four.")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--steps", type=int, default=None)
    parser.add_argument("--seed", type=int, default=0)
    chosen = parser.parse_args(arguments)
    size = (20, 30, 0.12) if chosen.quick else (100, 500, 0.05)
    found = fifth(*size, chosen.steps or (20 if chosen.quick else 300), chosen.seed)
    epsilon, delta = found.target
    reached = found.certificate().epsilon(delta)
    print(f"target epsilon {epsilon:.3f} at delta {delta:g}; certified for all five: at most {reached.upper:.3f}")
    for kind, error in sorted(found.errors.items(), key=lambda entry: entry[1]):
        print(f"  {error:.5f}  {kind}{'  (in force)' if kind == found.kind else ''}")
    return found


if __name__ == "__main__":
    main()
