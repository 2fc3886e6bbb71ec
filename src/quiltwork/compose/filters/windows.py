"""The filter of windows: rho of zCDP for changes of 1, 2, 3, ... neighbouring rows at once, each with its own limit.

Correlated rows of one person change together, in windows. A plan whose queries each read one row costs b rho when b
rows change, and not b^2 rho, as group privacy says of a loss that is known for single rows only. So a release pays a
rho for each length of window; each of them adds up on every path, and none may pass its limit. The limits are fixed
before any output: a trade between windows from path to path would be covered by no theorem.

Reference: theory/joining.md section 4 ("Windows in the ledger"); Feldman and Zrnic 2021 for each sum.
"""

from __future__ import annotations

import itertools
from fractions import Fraction
from typing import Any, ClassVar

import attrs

from quiltwork.compose.constructors import zcdp
from quiltwork.compose.filters.costs import Cost, bounded, short, squared_cost, summed
from quiltwork.compose.filters.filter import Filter
from quiltwork.compose.filters.worst_of import WorstOf
from quiltwork.compose.loss import Loss
from quiltwork.errors import InvalidParameter
from quiltwork.kinds import document
from quiltwork.losses.families.renyi import ZeroConcentrated
from quiltwork.losses.family import Family
from quiltwork.numbers.stated import typed_above


def _rhos(given: Any) -> tuple[Loss, ...]:
    found = tuple(given)
    if not found or not all(isinstance(one, Loss) and not _others(one) for one in found):
        raise InvalidParameter("losses", given, "a zCDP loss for each length of window")
    if any(two < one for one, two in itertools.pairwise(map(_rho, found))):
        raise InvalidParameter("losses", given, "losses that do not fall as windows grow")
    return found


def _others(loss: Loss) -> list[Family]:
    return [part.family for part in loss.parts if not isinstance(part.family, ZeroConcentrated)]


def _rho(loss: Loss) -> Fraction:
    return summed(loss, lambda family: (family.costs().rho or Fraction(0),), 1)[0]


@document("in_windows/1", plain=True)
@attrs.frozen
class InWindows(WorstOf):
    """What a plan loses when the rows of any 1, 2, 3, ... neighbouring ticks of one person change."""

    schema: ClassVar[str] = "quiltwork/in_windows/1"
    losses: tuple[Loss, ...] = attrs.field(converter=_rhos)

    @classmethod
    def of(cls, rhos: Cost) -> InWindows:
        """From rho of each length, rounded up."""
        return cls([zcdp(typed_above(one)) if one else Loss(()) for one in rhos])

    @property
    def rhos(self) -> Cost:
        """rho of each length."""
        return tuple(map(_rho, self.losses))

    def __str__(self) -> str:
        return f"losses of windows of up to {len(self.losses)} rows"


@attrs.frozen
class WindowsFilter(Filter):
    """Sums of rho for windows of 1, 2, 3, ... rows, each with a limit of its own."""

    kind: ClassVar[str] = "windows"
    because: ClassVar[str] = "rho of zCDP adds up on every path, for each number of neighbouring rows by itself"
    units: ClassVar[tuple[str, ...]] = ("rho",)  # of each length of window
    has_reading: ClassVar[bool] = False

    def __attrs_post_init__(self) -> None:
        if not self.limit or self.limit[0] <= 0 or any(two < one for one, two in itertools.pairwise(self.limit)):
            raise InvalidParameter("limit", self.limit, "amounts above 0 that do not fall as windows grow")

    @property
    def promise(self) -> Loss:
        """For one row; what windows keep beside it is in the limit."""
        return zcdp(typed_above(self.limit[0]))

    def cost(self, loss: Loss | WorstOf) -> Cost:
        if not isinstance(loss, InWindows):
            return super().cost(loss)
        if len(loss.losses) != len(self.limit):
            raise InvalidParameter("loss", f"a plan of {len(loss.losses)} ticks", f"one of {len(self.limit)} ticks")
        return tuple(map(bounded, loss.rhos))

    def _cost(self, family: Family) -> Cost:
        """Of a loss for one row, b rows cost b^2 times as much: group privacy of zCDP."""
        rho = squared_cost(family)
        if rho is None:
            raise self._refused(family, "no conversion to zCDP is proved", "use the filter 'several_orders'")
        return tuple(rows * rows * rho for rows in range(1, len(self.limit) + 1))

    def amounts(self, left: Cost) -> tuple[tuple[str, Fraction, Fraction], ...]:
        """Of single rows, and of the length of window that is fullest."""
        fullest = min(range(len(left)), key=lambda i: (round(float(left[i] / self.limit[i]), 9), -i))
        return tuple((_unit(i), self.limit[i], left[i]) for i in sorted({0, fullest}))

    def shown(self, cost: Cost, *, left: bool = False, digits: int = 6) -> str:
        ends = sorted({0, len(cost) - 1})
        return ", ".join(f"{_unit(i)} {short(cost[i], left=left, digits=digits)}" for i in ends)


def _unit(index: int) -> str:
    return "rho of one row" if not index else f"rho of {index + 1} neighbouring rows"


def stated_from_json(value: Any) -> Loss | WorstOf:
    """A stored loss, or the losses of a plan."""
    schema = value.get("schema") if isinstance(value, dict) else None
    kind = next((kind for kind in (WorstOf, InWindows) if kind.schema == schema), Loss)
    return kind.from_json(value)
