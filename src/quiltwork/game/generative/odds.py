"""The BGBP constraint on a finite channel, met exactly: as little of a constant release mixed in as it takes.

    P_t(x | b) = (1 - t) P(x | b) + t q(x),     q the mean of the rows.

The odds ratio of two neighbouring rows moves towards 1 as t grows (its derivative has the sign of q (p' - p)), so the
least t is found by bisection, with every level evaluated exactly.  A penalty on an attacker's log-odds cannot do this.

Reference: seed 004 Proposition 6 and P.6; theory/game.md sections 1 (Prop. 6 corrected) and 5.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import attrs
import numpy as np

from quiltwork import checks
from quiltwork.curves.bracket import Bracket
from quiltwork.game.finite.odds import worst_informed
from quiltwork.game.finite.rationals import Table, laws
from quiltwork.game.finite.secrets import individuals

__all__ = ["BoundedOdds", "bisect_odds"]

_ALLOWED = "a law of outputs for each of the 2^K membership vectors, one a row"
_BITS = 30


@attrs.frozen(eq=False)
class BoundedOdds:
    """A channel of fractions whose informed odds ratios are at most e^epsilon, and the share mixed in."""

    channel: Table
    share: Fraction
    level: Bracket


def bisect_odds(channel: Any, epsilon: float, *, bits: int = _BITS) -> BoundedOdds:
    """The least share, to `bits` binary digits, for which the channel is epsilon-DP for every single membership.

    >>> found = bisect_odds([["3/4", "1/4"], ["1/4", "3/4"]], 0.5, bits=20)
    >>> round(float(found.share), 5), bool(found.level.safe <= 0.5)
    (0.51016, True)
    """
    target = checks.positive("epsilon", epsilon)
    steps = checks.count("bits", bits, 1)
    given = laws("channel", channel, 2, _ALLOWED)
    individuals(len(given), "channel")
    exact = np.array([[Fraction(entry) for entry in row] for row in given.tolist()], dtype=object)
    exact = exact / exact.sum(axis=1)[:, None]  # rows of floats sum to one only nearly
    centre = exact.sum(axis=0) / len(exact)

    def mixed(share: Fraction) -> BoundedOdds:
        table = (1 - share) * exact + share * centre[None, :]
        return BoundedOdds(table, share, worst_informed(table).level)

    best = mixed(Fraction(0))
    if best.level.safe <= target:
        return best
    low, best = Fraction(0), mixed(Fraction(1))  # all rows equal: level 0
    for _ in range(steps):
        middle = mixed((low + best.share) / 2)
        if middle.level.safe <= target:
            best = middle
        else:
            low = middle.share
    return best
