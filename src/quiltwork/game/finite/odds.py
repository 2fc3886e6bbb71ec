"""Odds ratios of finite channels: exact levels of pure differential privacy, and of what marginals show of it.

A channel is epsilon-DP if and only if |logit P(b_k = 1 | x, b_-k) - logit theta_k| <= epsilon for all k, x and b_-k,
that is, if rows of neighbouring membership vectors are within a factor e^epsilon.  Marginal posteriors show less:
x = b_1 XOR b_2 has all of them at 1/2 and no finite epsilon.

The paper bounds marginal posteriors: theta e^-eps <= p <= theta e^eps, and the same for 1 - p and 1 - theta.  That
implies differential privacy for one candidate only, and at a larger level,

    log max(LR(theta), LR(1 - theta)) <= 2 eps,     LR(t) = e^eps (1 - t) / (1 - t e^eps)   for t <= 1 / (1 + e^eps),
                                                    LR(t) = 1 + (e^eps - 1) / t             otherwise,

with equality at theta = 1 / (1 + e^eps).  For several candidates it implies nothing (XOR); the odds have to be bounded
given all others, or for every product prior.

Reference: seed 004 Proposition 6, corrected in theory/game.md section 1.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import attrs
import numpy as np

from quiltwork import checks
from quiltwork.curves import Bracket
from quiltwork.errors import InvalidParameter
from quiltwork.game.finite.membership import bits, individuals
from quiltwork.kinds import document
from quiltwork.numbers.laws import Number, Table, is_exact, number, read_laws
from quiltwork.numbers.rounding import UNIT, down, up
from quiltwork.numbers.stated import double_above, double_below, log_ends

STATED = 10.0  # units of roundoff of a ratio of two doubles, each a rounded decimal divided by the sum of its row


@document("worst_odds/1")
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
        return Bracket(max(double_below(low), 0.0), double_above(high), "epsilon", "exact odds")
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


MAX_EPSILON = 700.0  # e^epsilon must be a float


def implied_level(epsilon: Any, theta: Any) -> Bracket:
    """The level that the paper's bounds on the posterior imply for one candidate with prior rate theta.

    >>> implied_level(0.5, 0.5).safe <= 1.0, round(implied_level(0.5, 0.5).lower, 6)
    (True, 0.831797)
    """
    level = checks.ranged("epsilon", epsilon, f"in [0, {MAX_EPSILON:g}]", lambda number: 0 <= number <= MAX_EPSILON)
    rate = number("theta", theta)
    if not 0 < rate < 1:
        raise InvalidParameter("theta", theta, "in (0, 1)")
    if level == 0:
        return Bracket(0.0, 0.0, "epsilon", "Proposition 6")
    low = high = 0.0
    for share in (Fraction(rate), 1 - Fraction(rate)):
        ends = _log_ratio(level, share)
        low, high = max(low, ends[0]), max(high, ends[1])
    twice = 2.0 * level  # exact, and never less than the truth
    return Bracket(min(low, twice), min(high, twice), "epsilon", "Proposition 6")


def _log_ratio(level: float, share: Fraction) -> tuple[float, float]:
    """Ends of log LR(share): LR increases with e^level, through both branches, so two ends of e^level suffice."""
    ends = []
    for direction, move in ((-1.0, down), (1.0, up)):
        growth = math.exp(level) * (1.0 + direction * 4.0 * UNIT)
        factor = Fraction(growth)
        # which branch holds is decided in exact arithmetic for the e^level that is assumed
        if share * (1 + factor) <= 1:
            ratio = factor * (1 - share) / (1 - share * factor)
        else:
            ratio = 1 + (factor - 1) / share
        value = math.log(ratio.numerator) - math.log(ratio.denominator) if ratio > 1e300 else math.log(ratio)
        ends.append(float(move(value + direction * 8.0 * UNIT * (1.0 + abs(value)))))
    return max(ends[0], 0.0), ends[1]


@document("odds_test/1")
@attrs.frozen
class OddsTest:
    """Whether a channel is differentially private, and the comparison that decides."""

    holds: bool
    epsilon: float
    worst: Worst
    members: tuple[int, ...]  # the membership vector with b_k = 0 of the worst comparison

    @property
    def level(self) -> Bracket:
        """The exact level of the channel, from both sides."""
        return self.worst.level


def odds_test(channel: Any, epsilon: Any = None, *, odds: Any = None) -> OddsTest:
    """Whether |logit P(b_k = 1 | x, b_-k) - logit theta_k| <= epsilon for all k, x and b_-k: epsilon-DP, exactly.

    One row of the channel a membership vector.  The target is epsilon or, to keep fractions exact, odds = e^epsilon.
    What cannot be decided within rounding counts as not held.

    >>> response = [["3/4", "1/4"], ["1/4", "3/4"]]
    >>> odds_test(response, odds=3).holds, odds_test(response, odds="29/10").holds, odds_test(response, 1.0).holds
    (True, False, False)
    """
    table = read_laws("channel", channel, 2, "a table of 2^K laws, one a membership vector")
    people = individuals(len(table), "channel")
    if (epsilon is None) == (odds is None):
        raise InvalidParameter("epsilon and odds", (epsilon, odds), "exactly one of them given")
    worst = worst_informed(table)
    if odds is None:
        level = checks.non_negative("epsilon", epsilon)
        holds = worst.level.upper <= level
    else:
        ratio = number("odds", odds)
        if not ratio >= 1:
            raise InvalidParameter("odds", odds, "at least 1")
        level = double_below(log_ends(Fraction(ratio))[0])
        holds = worst.odds <= ratio if isinstance(worst.odds, Fraction) else worst.level.upper <= level
    members = tuple(int(bit) for bit in bits(people)[worst.secret or 0])
    return OddsTest(bool(holds), float(level), worst, members)
