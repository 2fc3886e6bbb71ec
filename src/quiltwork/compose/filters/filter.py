"""Filters: when may one more release run, if releases and their parameters are chosen after earlier outputs were seen?

A privacy filter admits a release as long as the costs on the path so far stay within a limit that was fixed at the
start; whatever is admitted keeps the promise of the limit. The tight composition of the path so far is no such rule:
the worst fixed path can lie below an adaptive choice between paths. What may be added up on every path is

* epsilon, and with it delta                                    (Rogers, Roth, Ullman and Vadhan 2016),
* rho of zCDP, and the Rényi divergence of one fixed order      (Feldman and Zrnic 2021; Whitehouse et al. 2023),
* mu^2 of GDP                                                   (Smith and Thakurta 2022; Koskela et al. 2023),
* the number of equal symmetric releases                        (theory/granularity.md section 3.2).

A ledger asks what a release costs; a session on tables counts the loss of each query, looks for the step of the
neighbouring relation that is touched by most, and asks for its total.

`reading` is an odometer: it bounds the realised privacy loss of every prefix at once, except with probability delta.

Reference: theory/granularity.md section 3.2.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from fractions import Fraction
from typing import Any, ClassVar

import attrs

from quiltwork import checks
from quiltwork.compose.filters.costs import Cost, bounded, short, summed
from quiltwork.compose.filters.worst_of import WorstOf
from quiltwork.compose.loss import Loss
from quiltwork.errors import InvalidParameter, Unsupported
from quiltwork.losses.family import Family

SCHEMA = "quiltwork/filter/1"
EPSILON_WIDTH = 1e-6  # of what was spent, as an epsilon
MOST = 10**200  # of any amount: nothing overflows


def _amounts(value: Any) -> Cost:
    if not isinstance(value, (tuple, list)):
        raise InvalidParameter("amounts", value, "a tuple of exact fractions")
    found = tuple(value)
    for amount in found:
        if not isinstance(amount, Fraction) or not 0 <= amount <= MOST:
            raise InvalidParameter("amounts", value, "exact fractions from 0 to 1e200")
    return found


@attrs.frozen
class Filter(ABC):
    """Costs add up, one number for each unit; no sum may pass its limit."""

    kind: ClassVar[str]
    because: ClassVar[str]
    units: ClassVar[tuple[str, ...]]
    limit: Cost = attrs.field(converter=_amounts)

    def __attrs_post_init__(self) -> None:
        if len(self.limit) != len(self.units):
            raise InvalidParameter("limit", self.limit, "one amount of " + " and one of ".join(self.units))

    def cost(self, loss: Loss | WorstOf) -> Cost:
        """What a release costs on every path, rounded up; Unsupported when it has no finite cost here.

        Of a plan with several vectors the largest amount of each unit counts, each for itself.
        """
        if isinstance(loss, WorstOf):
            return tuple(max(amounts) for amounts in zip(*map(self.cost, loss.losses), strict=True))
        if not isinstance(loss, Loss):
            raise InvalidParameter("loss", loss, "a quiltwork loss")
        if loss.side != "worst":
            raise Unsupported(
                f"a cost of {loss}", "a budget protects both ways round", "spend the loss without .direction(...)"
            )
        return tuple(map(bounded, summed(loss, self._cost, len(self.zero))))

    @abstractmethod
    def _cost(self, family: Family) -> Cost:
        """What one release of a family costs."""

    @property
    def zero(self) -> Cost:
        """The cost of nothing."""
        return (Fraction(0),) * len(self.limit)

    @property
    @abstractmethod
    def promise(self) -> Loss:
        """The loss that keeping to the limit amounts to."""

    def reading(self, spent: Cost, delta: float) -> float:
        """A bound on the realised loss of every prefix at once, except with probability delta; rounded up.

        The realised loss is log P(outputs so far) / Q(outputs so far), with P the law in the world that is true. What
        is read off at one time is no guarantee by itself: decisions may depend on it, promises may not.
        """
        spent, delta = _amounts(spent), checks.probability("delta", delta)
        if len(spent) != len(self.limit):
            raise InvalidParameter("spent", spent, "one amount of " + " and one of ".join(self.units))
        if not self.admits(spent):
            raise InvalidParameter("spent", spent, "within the limit", "the filter admits nothing beyond it")
        if not any(spent):
            return 0.0  # outputs that cost nothing have the same law in both worlds
        return self._reading(spent, delta)

    has_reading: ClassVar[bool] = True  # whether `reading` bounds realised losses beside what is spent

    def _reading(self, spent: Cost, delta: float) -> float:
        """The reading when something was spent."""
        raise Unsupported(f"an odometer of a {self.kind} budget", "not built here", "use 'renyi', 'zcdp' or 'gdp'")

    def epsilon(self, spent: Cost, delta: float) -> float:
        """What was spent as an epsilon at this delta, rounded up: 0 at first, that of the promise at the limit.

        Filters whose reading in epsilon holds at every moment (`always_reads`) say it outright; for the others it is
        that of a limit of so much, fixed in advance.
        """
        return self._epsilon(attrs.evolve(self, limit=spent).promise, delta) if any(spent) else 0.0

    @staticmethod
    def _epsilon(loss: Loss, delta: float) -> float:
        return float(loss.epsilon(delta, rtol=EPSILON_WIDTH).upper)

    always_reads: ClassVar[bool] = False  # whether `epsilon` holds at every moment, whatever was chosen: an odometer

    def least(self, costs: Sequence[Cost]) -> Cost:
        """Of costs each of which bounds the same releases, what they cost at most."""
        return tuple(map(min, *costs)) if len(costs) > 1 else costs[0]

    def counted(self, loss: Loss) -> Loss:
        """The loss of one query as this filter counts it; Unsupported when it has no finite cost."""
        raise Unsupported(f"a session in a {self.kind} budget", "its costs are not counted", "state it as rdp")

    def total(self, loss: Loss) -> Cost:
        """The cost of a composition of counted losses, or of a bound on one."""
        return summed(loss, self._cost, len(self.zero))

    def promise_of(self, budget: Loss) -> Loss:
        """The promise to somebody who stated the limit as this loss."""
        return budget

    def admits(self, spent: Cost) -> bool:
        """Whether no sum passes its limit."""
        return all(amount <= most for amount, most in zip(spent, self.limit, strict=True))

    def left(self, spent: Cost, shares: int = 1) -> Cost:
        """What is left of the limit, for each of so many that pay alike."""
        return tuple((most - amount) / shares for amount, most in zip(spent, self.limit, strict=True))

    def amounts(self, left: Cost) -> tuple[tuple[str, Fraction, Fraction], ...]:
        """(unit, limit, left) of each unit that is counted in; one of which there is none is not."""
        return tuple((unit, most, rest) for unit, most, rest in zip(self.units, self.limit, left, strict=True) if most)

    @property
    def is_open(self) -> bool:
        """Whether something about it is still to be chosen, with the first release."""
        return False

    def allows(self, chosen: Filter) -> bool:
        """Whether this filter may become that one by what is chosen with the first release."""
        return chosen == self

    def chosen_for(self, loss: Loss | WorstOf) -> Filter:
        """The filter once its first release is this one."""
        return self

    def words(self, cost: Cost) -> str:
        """An amount to the nearest of six digits."""
        return f"{self.units[0]} {float(cost[0]):.6g}"

    def words_of_limit(self, spent: Cost | None = None) -> str:
        """The limit, or what is left of it once so much is spent."""
        return self.words(self.limit if spent is None else self.left(spent))

    def shown(self, cost: Cost, *, left: bool = False, digits: int = 6) -> str:
        """An amount in words: a cost rounded up, or what is left rounded down."""
        return ", ".join(
            f"{unit} {short(amount, left=left, digits=digits)}"
            for i, (unit, amount) in enumerate(zip(self.units, cost, strict=True))
            if not i or amount or self.limit[i]
        )

    def to_json(self) -> dict[str, Any]:
        """Tagged and versioned; amounts as exact fractions."""
        return {"schema": SCHEMA, "kind": self.kind, "limit": [f"{a.numerator}/{a.denominator}" for a in self.limit]}

    def _refused(self, family: Family, because: str, instead: str) -> Unsupported:
        return Unsupported(f"{family} in a {self.kind} budget", because, instead)
