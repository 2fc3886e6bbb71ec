"""What a ledger would say of all releases of a plan: whether they fit in a budget, and which is the first too many.

Adaptive: the costs of the filter add up release by release, in the order of the plan; the first sum above the limit is
refused.  Planned: all releases are composed as a whole, by the engine.

Reference: theory/granularity.md section 3.2.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import attrs

from quiltwork.compose.loss import Loss, compose
from quiltwork.errors import Unsupported
from quiltwork.numbers.digits import at_most
from quiltwork.numbers.rounding import up
from quiltwork.spec.budgets import Budget

__all__ = ["BudgetAnswer", "answered"]

WIDTHS = (1e-3, 1e-6, 1e-9)  # brackets that are tried until the limit lies outside


@attrs.frozen
class BudgetAnswer:
    """Whether everything fits, what it costs, and the first release that would be refused.

    `count` is how many runs of that release fit before.  `share` is the cost over the limit, the largest of several.
    """

    budget: Budget
    fits: bool
    cost: str
    limit: str
    refused: str | None = None
    count: int = 0
    share: float | None = None
    reason: str = ""

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        return {
            "budget": self.budget.name,
            "kind": self.budget.kind,
            "fits": self.fits,
            "cost": self.cost,
            "limit": self.limit,
            "refused": self.refused,
            "count": self.count,
            "share": self.share,
            "reason": self.reason,
        }


def answered(budget: Budget, releases: Sequence[tuple[str, Loss, int]]) -> BudgetAnswer:
    """The answer for (name, loss of one run, number of runs) in this order."""
    return _planned(budget, releases) if budget.kind == "planned" else _adaptive(budget, releases)


def _adaptive(budget: Budget, releases: Sequence[tuple[str, Loss, int]]) -> BudgetAnswer:
    kept = budget.keeper()
    limit, spent = kept.shown(kept.limit, left=True), tuple(Fraction(0) for _ in kept.limit)
    refused, fitting = None, 0
    for name, loss, count in releases:
        try:
            cost = kept.cost(loss)
        except Unsupported as error:
            return BudgetAnswer(budget, False, "no finite cost", limit, name, 0, None, str(error))
        if refused is None:
            room = [int((most - a) / c) for most, a, c in zip(kept.limit, spent, cost, strict=True) if c]
            if min(room, default=count) < count:
                refused, fitting = name, min(room)
        spent = tuple(a + count * c for a, c in zip(spent, cost, strict=True))
    share = max((up(float(a / most)) for a, most in zip(spent, kept.limit, strict=True) if most), default=0.0)
    reason = "" if refused is None else f"{budget.chosen} costs add up: {kept.because}"
    return BudgetAnswer(budget, refused is None, kept.shown(spent), limit, refused, fitting, share, reason)


def _planned(budget: Budget, releases: Sequence[tuple[str, Loss, int]]) -> BudgetAnswer:
    total = compose(*(count * loss for _, loss, count in releases))
    if budget.limit != "approximate":
        found = _adaptive(budget, releases)  # sums are the tight composition of pure, zCDP and GDP
        refused = None if found.fits else "the plan as a whole"
        return attrs.evolve(found, refused=refused, count=0)
    epsilon, delta = budget.epsilon or 0.0, budget.delta or 0.0
    fits = False
    for rtol in WIDTHS:
        ends = total.delta(epsilon, rtol=rtol)
        fits = float(ends.upper) <= delta
        if fits or float(ends.lower) > delta:
            break
    most = float(total.epsilon(delta).upper)
    cost = f"epsilon {at_most(most, 6)} at delta {delta:g}"
    refused = None if fits else "the plan as a whole"
    reason = "" if fits else "the certified composition of all releases passes the limit"
    return BudgetAnswer(budget, fits, cost, budget.words(), refused, 0, up(most / epsilon), reason)
