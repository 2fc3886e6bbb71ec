"""What one would answer by composing the effective mechanisms as if they were independent given the secret.

It is no bound: it can lie below the truth (outputs that cancel the noise of the data together), above it (noise of the
data that is shared, not refreshed), and both at different epsilons.  It is offered to show what ignoring the confounder
would have said here, and in which direction that errs.

Reference: seed 000 Theorem 3(ii) claims that it always lies below: false, theory/confounding.md 2.1 and 2.2.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from quiltwork import checks
from quiltwork.checks import FloatArray
from quiltwork.confounding.finite.release import WorstPair
from quiltwork.curves.bracket import Bracket, Quantity
from quiltwork.curves.curve import Curve, SameCurve
from quiltwork.kinds import document

if TYPE_CHECKING:
    from quiltwork.confounding.finite.release import Release

UNDER, OVER, SAME, BOTH, UNKNOWN = "underestimates", "overestimates", "agrees", "crosses", "undecided"
MOST_KNOTS = 4096


@document("ignoring/1", fields="release")
class Ignoring(SameCurve):
    """The product of the effective mechanisms; its brackets are not certified as statements about the release."""

    def __init__(self, release: Release) -> None:
        self.release = release
        self.curve = WorstPair(release.product(), release.pairs, "ignoring the confounder", certified=False)

    def _same(self, quantity: Quantity) -> Curve:
        return self.curve

    def __repr__(self) -> str:
        return f"<Ignoring the confounder of {self.release.words}>"

    def exact_delta(self, odds: Any) -> Any:
        """delta at e^epsilon = odds, as a fraction."""
        return self.curve.exact_delta(odds)

    def exact_odds(self, delta: Any = 0) -> Any:
        """The smallest e^epsilon for this delta, as a fraction."""
        return self.curve.exact_odds(delta)

    def errs(self, epsilon: float) -> str:
        """Whether it underestimates, overestimates or agrees with the truth at this epsilon."""
        place = checks.real("epsilon", epsilon)
        return self._said(self.release.delta(place), self.delta(place))

    @cached_property
    def direction(self) -> str:
        """The same for every epsilon >= 0 that decides: "crosses" when it errs in both directions."""
        epsilons = self._knots()
        true, claimed = self.release.delta(epsilons), self.delta(epsilons)
        said = {self._said(true[index], claimed[index]) for index in range(epsilons.size)}
        if {UNDER, OVER} <= said:
            return BOTH
        return next((word for word in (UNDER, OVER, UNKNOWN) if word in said), SAME)

    def _knots(self) -> Any:
        """Where the order of the two curves is decided.

        The profile of a pair is linear in e^epsilon between the ratios of its laws; the worst of several also turns
        where two of them cross.  Between two ratios the two that are worst at the ends are followed, which is all for
        two secrets; of very many ratios some are left out.
        """
        found: list[FloatArray] = [np.ones(1)]
        for curve in (self.release, self.curve):
            for pair in curve.contrasts:
                found.append(pair.ratio_high[np.isfinite(pair.ratio_high) & (pair.ratio_high > 1.0)])
        knots = np.unique(np.concatenate(found))
        knots = knots if knots.size <= MOST_KNOTS else knots[np.linspace(0, knots.size - 1, MOST_KNOTS).astype(int)]
        turns = [
            _turns(np.array([pair.upper(knots) for pair in c.contrasts]), knots) for c in (self.release, self.curve)
        ]
        return np.log(np.unique(np.concatenate([knots, *turns])))

    @staticmethod
    def _said(true: Bracket, claimed: Bracket) -> str:
        slack = 1e-12
        if float(claimed.upper) < float(true.lower) - slack:
            return UNDER
        if float(claimed.lower) > float(true.upper) + slack:
            return OVER
        close = max(float(true.upper), float(claimed.upper)) - min(float(true.lower), float(claimed.lower))
        return SAME if close <= 1e-9 else UNKNOWN

    def explain(self, delta: float = 1e-6) -> str:
        """In words, with both epsilons."""
        delta = checks.probability("delta", delta)
        true, claimed = self.release.epsilon(delta), self.epsilon(delta)
        words = {
            UNDER: "it would promise more privacy than there is",
            OVER: "it would count more loss than there is",
            BOTH: "it is too small at some epsilons and too large at others",
            SAME: "here it makes no difference",
            UNKNOWN: "the two cannot be told apart numerically",
        }
        return (
            f"Ignoring the confounder {self.direction} here: {words[self.direction]}. "
            f"At delta = {delta:g} it says epsilon {float(claimed.midpoint):.6g}, "
            f"the truth is {float(true.midpoint):.6g}."
        )


def _turns(values: FloatArray, knots: FloatArray) -> FloatArray:
    """Odds between two knots where the largest of several lines changes; `values` has a row for each line."""
    worst, places = np.argmax(values, axis=0), np.flatnonzero(np.diff(np.argmax(values, axis=0)))
    first, second = worst[places], worst[places + 1]
    before = values[first, places] - values[second, places]
    after = values[second, places + 1] - values[first, places + 1]
    total = before + after
    share = np.where(total > 0, before / np.where(total > 0, total, 1.0), 0.5)
    return np.asarray(knots[places] + share * (knots[places + 1] - knots[places]))
