"""Posteriors and pure differential privacy: Proposition 6 of seed 004, corrected.

The paper bounds marginal posteriors: theta e^-eps <= p <= theta e^eps, and the same for 1 - p and 1 - theta.  That
implies differential privacy for one candidate only, and at a larger level,

    log max(LR(theta), LR(1 - theta)) <= 2 eps,     LR(t) = e^eps (1 - t) / (1 - t e^eps)   for t <= 1 / (1 + e^eps),
                                                    LR(t) = 1 + (e^eps - 1) / t             otherwise,

with equality at theta = 1 / (1 + e^eps).  For several candidates it implies nothing (XOR); the odds have to be bounded
given all others, or for every product prior.

Reference: theory/game.md section 1, Proposition 6.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import attrs

from quiltwork import checks
from quiltwork.curves import Bracket
from quiltwork.curves.rounding import UNIT, down, up
from quiltwork.errors import InvalidParameter
from quiltwork.game.finite.odds import Worst, worst_informed
from quiltwork.game.finite.rationals import below, laws, log_ends, number
from quiltwork.game.finite.secrets import bits, individuals

__all__ = ["OddsTest", "implied_level", "odds_test"]

LARGEST = 700.0  # e^epsilon must be a float


def implied_level(epsilon: Any, theta: Any) -> Bracket:
    """The level that the paper's bounds on the posterior imply for one candidate with prior rate theta.

    >>> implied_level(0.5, 0.5).safe <= 1.0, round(implied_level(0.5, 0.5).lower, 6)
    (True, 0.831797)
    """
    level = checks.non_negative("epsilon", epsilon)
    if level > LARGEST:
        raise InvalidParameter("epsilon", epsilon, f"at most {LARGEST:g}")
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
    table = laws("channel", channel, 2, "a table of 2^K laws, one a membership vector")
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
        level = below(log_ends(Fraction(ratio))[0])
        holds = worst.odds <= ratio if isinstance(worst.odds, Fraction) else worst.level.upper <= level
    members = tuple(int(bit) for bit in bits(people)[worst.secret or 0])
    return OddsTest(bool(holds), float(level), worst, members)
