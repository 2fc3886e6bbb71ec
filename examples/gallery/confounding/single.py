"""Appendices C and E: what follows when a secret decides the data, and what does not when it does not."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

import numpy as np

from examples.gallery.item import Check, Effort, Finding, alone
from quiltwork.confounding import World

SIZE, STEPS = 3, 20  # values of secrets, data and outputs; steps of a chance
Rows = list[list[Fraction]]


def table(rng: np.random.Generator, rows: int = SIZE, columns: int = SIZE) -> Rows:
    """A random channel with positive entries, in fractions."""
    counts = rng.integers(1, STEPS, size=(rows, columns)).tolist()
    return [[Fraction(count, sum(row)) for count in row] for row in counts]


def mapped(rng: np.random.Generator) -> Rows:
    """Each secret with data of its own."""
    order = rng.permutation(SIZE)
    return [[Fraction(int(column == order[row])) for column in range(SIZE)] for row in range(SIZE)]


def odds_of(rows: Rows) -> Fraction:
    """e^epsilon of a channel between any two of its rows."""
    return max(one / two for column in zip(*rows, strict=True) for one in column for two in column)


def unmapped(rng: np.random.Generator) -> tuple[Rows, Rows]:
    """Two laws of the data, and a mechanism that tells nothing about which: it leans by a weight of mean 0 for both.

    Where the weights of all three values differ, two uses tell them apart: laws that agree on 1, w and w^2 are equal.
    """
    while True:
        (a, b, c), (d, e, f) = data = table(rng, rows=2)
        weight = (b * f - c * e, c * d - a * f, a * e - b * d)
        if len(set(weight)) == SIZE:
            most = 2 * max(abs(part) for part in weight)
            return data, [[Fraction(1, 2) + part / most, Fraction(1, 2) - part / most] for part in weight]


def self_composition(effort: Effort) -> Mapping[str, Finding]:
    """Worlds in which the secret decides the data, and worlds in which it does not, in exact fractions."""
    rng, count = np.random.default_rng([effort.seed, 3]), int(effort.pick(200, 40))
    linear, broken = 0, 0
    for _ in range(count):
        world, one, two = World(data=mapped(rng)), table(rng), table(rng)
        alone_, together = [world.release(each).exact_odds() for each in (one, two)], world.release(one, two)
        linear += together.exact_odds() <= alone_[0] * alone_[1]
        data, mechanism = unmapped(rng)
        other = World(data=data)
        broken += other.release(mechanism).exact_odds() == 1 < other.release(mechanism, mechanism).exact_odds()
    return {
        "confounding-appendix-c": Finding(
            "Two random mechanisms on worlds with an invertible G: e^epsilon of both is at most the product in "
            f"{linear} of {count}. On worlds without an inverse, a mechanism whose output has one law for both secrets "
            f"tells them apart when it is used twice in {broken} of {count}.",
            "P(x | s) of 0 or 1 is what universally composable evolution scenarios ask for, so that the equivalence "
            "holds by definition, and composition is then that of differential privacy between the data of two "
            "secrets. It is needed for some mechanisms, not in every world: where the data do not depend on the "
            "secret, nothing is told by anything, and no inverse is there.",
            [
                Check("with an inverse, losses of mechanisms add up at most (fractions)", linear == count),
                Check("without one there are mechanisms of no loss that lose together (fractions)", broken == count),
            ],
        )
    }


def single_point(effort: Effort) -> Mapping[str, Finding]:
    """One mechanism and several, as differential privacy of a table with one entry, which is the secret."""
    rng, count = np.random.default_rng([effort.seed, 5]), int(effort.pick(200, 40))
    same = apart = 0
    for _ in range(count):
        data, one, two = table(rng), table(rng), table(rng)
        world = World(data=data)
        effective = [[[_chance(row, given, y) for y in range(SIZE)] for row in data] for given in (one, two)]
        same += world.release(one).exact_odds() == odds_of(effective[0])
        joint = [[a * b for a in first for b in second] for first, second in zip(*effective, strict=True)]
        apart += world.release(one, two).exact_odds() != odds_of(joint)
    return {
        "confounding-appendix-e": Finding(
            f"In random worlds one mechanism has the e^epsilon of its effective mechanism, as a channel from the one "
            f"entry s, in {same} of {count}; two have another one than their effective mechanisms, used independently, "
            f"in {apart} of {count}.",
            "The effective mechanism is a channel from the secret, and a table with one entry has differential privacy "
            "between any two values of it. Two mechanisms read the same x, which is drawn once: given s their outputs "
            "depend on each other, and the product of the effective mechanisms is another channel.",
            [
                Check("one mechanism: the two notions are the same number (fractions)", same == count),
                Check("several: they are not (fractions)", apart == count),
            ],
        )
    }


def _chance(row: list[Fraction], channel: Rows, output: int) -> Fraction:
    """P(y | s) of the effective mechanism."""
    return sum((share * given[output] for share, given in zip(row, channel, strict=True)), Fraction(0))


STUDIES = (
    alone(
        "confounding-appendix-c",
        "Appendix C, invertible mappings",
        "An invertible mapping G is both necessary and sufficient for the universally composable evolution scenario of "
        "Pufferfish privacy, ensuring the linear self-composition property.",
        self_composition,
    ),
    alone(
        "confounding-appendix-e",
        "Appendix E",
        "DCP can be treated as (Bayesian) differential privacy of a virtual dataset with a single entry; this "
        "equivalence is valid only when there is one mechanism, and fails when several are composed.",
        single_point,
    ),
)
