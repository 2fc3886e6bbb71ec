"""Filters whose costs are Rényi divergences: of one fixed order and beside it a reveal mass, or of several orders.

Reference: theory/granularity.md section 3.2.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any, ClassVar

import attrs
import numpy as np

from quiltwork import checks
from quiltwork.compose.filters.costs import Cost, divergences, renyi_cost, short
from quiltwork.compose.filters.filter import Filter
from quiltwork.compose.loss import Loss
from quiltwork.errors import InvalidParameter, Unsupported
from quiltwork.losses.families.pure import Approximate
from quiltwork.losses.families.renyi import Renyi
from quiltwork.losses.family import Family
from quiltwork.numbers.rounding import up
from quiltwork.numbers.stated import typed, typed_above

LEAST_ORDER, MOST_ORDER = 1.001, 1e6  # closer to 1 the tilt loses its digits
SHARES = np.linspace(0.0, 1.0, 66)[1:-1]


def _order(value: Any) -> float:
    order = checks.real("order", value, f"in [{LEAST_ORDER:g}, {MOST_ORDER:g}]")
    if not LEAST_ORDER <= order <= MOST_ORDER:
        raise InvalidParameter("order", value, f"in [{LEAST_ORDER:g}, {MOST_ORDER:g}]")
    return order


@attrs.frozen
class RenyiFilter(Filter):
    """The Rényi divergence of one fixed order adds up, and beside it the mass that reveals the world.

    A release whose worst pair reveals with probability r is at least a measure P' of mass at least 1 - r, and only P'
    has the divergence D. Along a path multiply them up: E_Q[(p'/q)^alpha e^(-(alpha-1) sum of D)] is a supermartingale
    and P' lacks at most the sum R of all r. As laws given that no coin came up, the divergences are larger by
    alpha/(alpha-1) log 1/(1-r), together by no more than alpha/(alpha-1) log 1/(1-R); and

        delta(eps) = 1 - int (p - (p - e^eps q)+) <= 1 - (1 - R)(1 - delta'(eps)),

    delta' that of the laws given no coin: just the composition of that divergence with a reveal of probability R.

    Odometer: e^((alpha-1)(log p'/q - sum of D)) is a supermartingale under P', and 1 - p'/p a submartingale under P:
    Ville's and Doob's inequalities share delta, as fixed by the limit. With what was spent in place of the limit this
    would fail: coins can be thrown just on the paths on which the loss stayed small.

    Reference: Feldman and Zrnic 2021; conversion: Canonne, Kamath and Steinke 2020, Proposition 12.
    """

    kind: ClassVar[str] = "renyi"
    because: ClassVar[str] = "Rényi divergences of a fixed order add up on every path (Feldman and Zrnic 2021)"
    units: ClassVar[tuple[str, ...]] = ("divergence", "reveal")
    order: float = attrs.field(converter=_order)

    def __attrs_post_init__(self) -> None:
        super().__attrs_post_init__()
        if self.limit[1] >= 1:
            raise InvalidParameter("reveal", self.limit[1], "in [0, 1)")

    @property
    def promise(self) -> Loss:
        divergence, reveal = self.limit
        if not reveal:
            return Loss.of(Renyi((self.order,), (typed_above(divergence),)))
        given = _not_revealed(self.order, reveal)
        parts = (
            Renyi((self.order,), (typed_above(divergence + Fraction(given)),)),
            Approximate(0.0, typed_above(reveal)),
        )
        return Loss.of(parts[0]) + Loss.of(parts[1])

    def _cost(self, family: Family) -> Cost:
        found = renyi_cost(family, self.order)
        if found is None:
            because = f"its Rényi divergence of order {self.order:g} is infinite, or could not be bounded"
            raise self._refused(family, because, "open the budget with a lower order")
        if found[1] > self.limit[1] == 0:
            own = f"{float(found[1]):.3g}"
            because = f"it has a delta of its own ({own}), and this budget sets aside no part of its own"
            raise self._refused(family, because, "open the budget with reveal=..., below its delta")
        return found

    def _reading(self, spent: Cost, delta: float) -> float:
        tilt, reveal = self.order - 1.0, self.limit[1]
        if typed(delta) <= reveal:
            return math.inf
        kept, extra = _split(tilt, float(reveal), delta) if reveal else (delta, 0.0)
        if math.isinf(extra):
            return math.inf
        return up(float(spent[0]) - math.log(kept) / tilt + (extra if spent[1] else 0.0), 16)

    def shown(self, cost: Cost, *, left: bool = False, digits: int = 6) -> str:
        text = f"divergence {short(cost[0], left=left, digits=digits)} at order {self.order:g}"
        return text + (f", reveal {short(cost[1], left=left, digits=digits)}" if cost[1] or self.limit[1] else "")

    def amounts(self, left: Cost) -> tuple[tuple[str, Fraction, Fraction], ...]:
        first, *rest = super().amounts(left)
        return (f"{first[0]} at order {self.order:g}", *first[1:]), *rest

    def to_json(self) -> dict[str, Any]:
        return {**super().to_json(), "order": self.order}


def _not_revealed(order: float, reveal: Fraction) -> float:
    """alpha/(alpha-1) log 1/(1-R), rounded up: what the divergences grow by given that nothing was revealed."""
    return up(-math.log1p(-up(float(reveal))) * order / (order - 1.0), 16)


def _split(tilt: float, reveal: float, delta: float) -> tuple[float, float]:
    """Shares of delta, fixed in advance: delta - R/s for Ville, R/s for Doob, which adds log 1/(1-s)."""
    least = up(reveal / delta, 4)
    if least >= 1:
        return 0.0, math.inf
    s = least + (1 - least) * SHARES
    kept = (delta - up(reveal / s, 4)) * (1 - 2.0**-50)
    with np.errstate(all="ignore"):
        found = np.where(kept > 0, -np.log(kept) / tilt - np.log1p(-s), np.inf)
    best = int(np.argmin(found))
    return (float(kept[best]), float(-np.log1p(-s[best]))) if math.isfinite(found[best]) else (0.0, math.inf)


@attrs.frozen
class OrdersFilter(Filter):
    """Rényi divergences add up on every path, at each of several orders at once.

    Reference: Feldman and Zrnic 2021.
    """

    kind: ClassVar[str] = "orders"
    because: ClassVar[str] = RenyiFilter.because
    units: ClassVar[tuple[str, ...]] = ("divergence",)
    orders: tuple[float, ...]

    def __attrs_post_init__(self) -> None:
        if len(self.limit) != len(self.orders):
            raise InvalidParameter("limit", self.limit, "one amount for each order")

    @property
    def promise(self) -> Loss:
        return Loss.of(Renyi(self.orders, tuple(map(typed_above, self.limit))))

    def _cost(self, family: Family) -> Cost:
        return self.total(Loss.of(family))

    def counted(self, loss: Loss) -> Loss:
        self.total(loss)
        return loss

    def total(self, loss: Loss) -> Cost:
        found, reveal = divergences(loss.parts, np.array([order - 1.0 for order in self.orders]))
        if reveal > 0 or not all(map(math.isfinite, found)):
            because = "its divergence is infinite at some order of the budget"
            raise Unsupported(f"{loss} in a Rényi budget", because, "use lower orders")
        return tuple(map(Fraction, found))

    def words(self, cost: Cost) -> str:
        pairs = [f"{float(e):.6g} at order {order:g}" for e, order in zip(cost, self.orders, strict=True)]
        return "Rényi divergence " + ", ".join(pairs[:4]) + (", ..." if len(pairs) > 4 else "")
