"""Odds ratios of finite channels: exact levels of pure differential privacy, and of what marginals show of it.

A channel is epsilon-DP if and only if |logit P(b_k = 1 | x, b_-k) - logit theta_k| <= epsilon for all k, x and b_-k,
that is, if rows of neighbouring membership vectors are within a factor e^epsilon.  Marginal posteriors show less:
x = b_1 XOR b_2 has all of them at 1/2 and no finite epsilon.

Reference: seed 004 Proposition 6, corrected in theory/game.md section 1.
"""

from __future__ import annotations

import math
from fractions import Fraction

import attrs
import numpy as np

from quiltwork.curves import Bracket
from quiltwork.curves.rounding import UNIT, down, up
from quiltwork.game.finite.rationals import Number, Table, above, below, is_exact, log_ends
from quiltwork.game.finite.secrets import individuals

__all__ = ["Worst", "level", "worst_informed", "worst_of_laws"]

STATED = 10.0  # units of roundoff of a ratio of two doubles, each a rounded decimal divided by the sum of its row


@attrs.frozen
class Worst:
    """The largest odds ratio of a comparison and where it is: of which candidate, given whom, at which output."""

    odds: Number  # at least 1; infinite where one of two laws cannot give the output
    individual: int
    output: int
    secret: int | None = None  # the row with b_k = 0, for comparisons given the others
    units: float = STATED  # what the ratio may be off, in units of roundoff, if it is a float

    @property
    def level(self) -> Bracket:
        """Its logarithm, from both sides."""
        return level(self.odds, self.units)


def level(odds: Number, units: float = STATED) -> Bracket:
    """log(odds) as an epsilon, rounded outward; a float may be off by so many units of roundoff."""
    if isinstance(odds, Fraction):
        low, high = log_ends(odds)
        return Bracket(max(below(low), 0.0), above(high), "epsilon", "exact odds")
    if math.isinf(odds):
        return Bracket(math.inf, math.inf, "epsilon", "exact odds")
    value = math.log(odds)
    error = UNIT * (units + 2.0 * value)
    return Bracket(max(down(value - error), 0.0), up(value + error), "epsilon", "odds of floats")


def worst_of_laws(one: Table, two: Table) -> tuple[Number, int]:
    """The largest of one/two and two/one over the outputs that at least one law can give, and where it is."""
    odds: Number = Fraction(1) if is_exact(one) else 1.0
    place = 0
    for output, (a, b) in enumerate(zip(one.tolist(), two.tolist(), strict=True)):
        if a == b:
            continue
        ratio = math.inf if a == 0 or b == 0 else max(a, b) / min(a, b)
        if ratio > odds:
            odds, place = ratio, output
    return odds, place


def worst_informed(channel: Table) -> Worst:
    """The largest ratio between rows of neighbouring membership vectors: the attacker knows all others."""
    people, count = individuals(len(channel), "channel"), len(channel)
    found = Worst(Fraction(1) if is_exact(channel) else 1.0, 0, 0, 0)
    for k in range(people):
        step = 2 ** (people - 1 - k)
        for secret in np.flatnonzero((np.arange(count) // step) % 2 == 0).tolist():
            odds, output = worst_of_laws(channel[secret], channel[secret + step])
            if odds > found.odds:
                found = Worst(odds, k, output, secret)
    return found
