"""Binary networks: what the mechanism leaks whose likelihood is e^(eps * number of ones), by two junction trees.

V(x) = e^(eps N(x)), N the number of ones after the values of some entries have been exchanged, is e-DP for every entry.
Given x_i it has a mean; the ratio of the two means is the ratio of the odds of x_i under the law tilted by V to its
odds under the law itself, so that one calibration of the tilted network gives the leak about every entry at once.

Where every factor is log-supermodular after the exchange, so is the law, and this leak is the largest there is
(`joint.supermodular`).  A factor that misses the condition by e^-tau meets it times exp(tau sum_{i<j} x_i x_j), so
that the law is off by c = the sum over factors of tau k (k - 1) / 2, and the formula holds up to 4c.  Elsewhere it is a
lower end.

Reference: theory/pufferfish.md 3.4.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import attrs
import numpy as np

from quiltwork.checks import FloatArray
from quiltwork.errors import InvalidParameter
from quiltwork.numbers.rounding import UNIT, up
from quiltwork.pufferfish.priors.joint.supermodular import MAX_SLACK, missed
from quiltwork.pufferfish.priors.network.junction import Factor, Junction

BECAUSE = "every factor is log-supermodular, so that e^(eps N) is the worst event; computed by a junction tree"
MOST_TILT = 30.0  # per-entry epsilon; far beyond, weights of the tilted law underflow


@attrs.frozen(eq=False)
class Tilted:
    """The network, and the entries whose values are exchanged; `slack` is 4c, None where the leak is no maximum."""

    junction: Junction
    factors: tuple[Factor, ...]
    flips: tuple[bool, ...]
    slack: float | None
    plain: FloatArray  # log odds of a one after the exchange

    @classmethod
    def of(cls, junction: Junction, factors: Sequence[Factor], entries: int) -> Tilted | None:
        """None for networks in which some entry can take one value only, or of more than two."""
        if junction.size != 2:
            return None
        flips = _signs(factors, entries)
        slack = 0.0
        for factor in factors:
            axes = tuple(axis for axis, entry in enumerate(factor.scope) if flips[entry])
            count = len(factor.scope)
            tau = missed(np.flip(factor.table, axes), None, 0.0) if count > 1 else 0.0
            slack += 4.0 * tau * count * (count - 1) / 2.0 * (1.0 + 8.0 * UNIT)
        self = cls(junction, tuple(factors), flips, slack if slack <= MAX_SLACK else None, np.zeros(entries))
        odds = self.odds(0.0)
        return None if odds is None or not np.all(np.isfinite(odds)) else attrs.evolve(self, plain=odds)

    def odds(self, epsilon: float) -> FloatArray | None:
        """log of the odds of a one, under the law tilted by e^(eps N); None where digits are lost."""
        tilts = [Factor((entry,), self._tilt(entry, epsilon)) for entry in range(len(self.flips))] if epsilon else []
        try:
            weights, _ = self.junction.calibrated([*self.factors, *tilts])
        except InvalidParameter:
            return None
        found = []
        for entry, flip in enumerate(self.flips):
            here = weights[self.junction.home([entry])].onto([entry]).table
            with np.errstate(divide="ignore"):
                found.append(float(np.log(here[0 if flip else 1]) - np.log(here[1 if flip else 0])))
        return np.asarray(found)

    def _tilt(self, entry: int, epsilon: float) -> FloatArray:
        """Weights of the two values, the larger of them 1."""
        one = np.array([min(1.0, math.exp(-epsilon)), min(1.0, math.exp(epsilon))])
        return one[::-1] if self.flips[entry] else one

    def leaks(self, epsilon: float) -> tuple[FloatArray, FloatArray, float] | None:
        """For each entry the leak about a one against a zero (after the exchange), and back; and the error of both."""
        if epsilon > MOST_TILT:
            return None
        more, less = self.odds(epsilon), self.odds(-epsilon)
        if more is None or less is None:
            return None
        deepest = float(np.abs(np.concatenate([more, less, self.plain])).max())
        each = self.junction.error(len(self.factors) + len(self.flips))
        # odds of both laws, two weights each, and the tilts: the exponential and its argument, once an entry
        error = 4.0 * each + UNIT * (8.0 * deepest + 8.0 + 8.0 * (epsilon + 1.0) * len(self.flips))
        return more - self.plain, self.plain - less, error

    def table(self, epsilon: float, *, above: bool) -> list[FloatArray] | None:
        """For each entry the leaks of its ordered pairs of values, from above (exact networks) or from below."""
        found = self.leaks(epsilon)
        if found is None:
            return None
        ones, zeros, error = found
        away = error + (self.slack or 0.0) if above else -error
        tables = []
        for entry, flip in enumerate(self.flips):
            one, zero = float(up(ones[entry] + away)), float(up(zeros[entry] + away))
            here = np.array([[0.0, zero], [one, 0.0]])
            tables.append(here[::-1, ::-1] if flip else here)
        return tables


def _signs(factors: Sequence[Factor], entries: int) -> tuple[bool, ...]:
    """Exchanges that make as many strong pairs of some factor like to agree as a forest can."""
    strengths = []
    for factor in factors:
        table = factor.table / factor.table.sum()
        for one, two in itertools.combinations(range(len(factor.scope)), 2):
            pair = table.sum(axis=tuple(axis for axis in range(table.ndim) if axis not in (one, two)))
            strength = float(pair[1, 1] * pair[0, 0] - pair[1, 0] * pair[0, 1])
            strengths.append((strength, factor.scope[one], factor.scope[two]))
    group, flips = list(range(entries)), [False] * entries
    for strength, one, two in sorted(strengths, key=lambda item: -abs(item[0])):
        if strength and group[one] != group[two]:
            turn, old = (strength < 0) != (flips[one] != flips[two]), group[two]
            for entry in range(entries):
                if group[entry] == old:
                    group[entry], flips[entry] = group[one], flips[entry] != turn
    return tuple(flips)
