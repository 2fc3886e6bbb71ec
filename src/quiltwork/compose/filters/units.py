"""A budget in multiples of one loss: so many runs of one kind, composed exactly, stopping early at will.

Theorem. Fix a loss B and a number k. If every release, given the past, is dominated by m_i copies of B and the m_i add
up to at most k on every path, everything together is dominated by k copies of B.
Proof, by induction on what is left. Let Phi_r(g) be the hockey-stick divergence of B^r. After outputs y of a release K
that is dominated by B^m the rest has a profile of at most Phi_(r-m), so that the whole has at most

    E_K[Phi_(r-m)(g K'/K)] = E_(B^(r-m))[H_(g q/p)(K || K')] <= E_(B^(r-m))[H_(g q/p)(B^m)] = Phi_r(g).

A release costs m when it is m copies of B, or of a loss that is certainly weaker: one of the same family with less
sensitivity for its noise, or the same on a smaller Poisson sample. Whatever else is dominated is refused: nobody shows
here that it is.

Reference: theory/joining.md section 3.2, Theorem 7.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any, ClassVar

import attrs

from quiltwork.compose.calibrate import calibrate
from quiltwork.compose.filters.costs import Cost, short
from quiltwork.compose.filters.filter import Filter
from quiltwork.compose.filters.worst_of import WorstOf
from quiltwork.compose.loss import Loss
from quiltwork.errors import InvalidParameter, Unreachable, Unsupported
from quiltwork.losses.families.poisson import Poisson
from quiltwork.losses.family import Family
from quiltwork.numbers.stated import typed

CLEARLY = 1 - 1e-12  # heights are doubles: what is lower by less may be none


def _unit(value: Any) -> Loss:
    if not isinstance(value, Loss) or not value.parts or value.side != "worst":
        raise InvalidParameter("units", value, "a loss such as quiltwork.gaussian(2.0), for adding and removing")
    return value


@attrs.frozen
class UnitsFilter(Filter):
    """At most so many copies of one loss: the promise is their exact composition."""

    kind: ClassVar[str] = "units"
    because: ClassVar[str] = "releases that one loss dominates compose on every path like so many copies of it"
    units: ClassVar[tuple[str, ...]] = ("runs",)
    loss: Loss = attrs.field(converter=_unit)

    def __attrs_post_init__(self) -> None:
        super().__attrs_post_init__()
        if self.limit[0] < 1 or self.limit[0].denominator != 1:
            raise InvalidParameter("most", self.limit[0], "a whole number of runs, at least 1")

    @property
    def promise(self) -> Loss:
        return self.loss * int(self.limit[0])

    def cost(self, loss: Loss | WorstOf) -> Cost:
        found = super().cost(loss)  # refuses what is no loss at all
        return found if isinstance(loss, WorstOf) else (self._copies(loss),)

    def _cost(self, family: Family) -> Cost:
        return (Fraction(0),)  # releases count together, see `_copies`

    def _copies(self, loss: Loss) -> Fraction:
        """How many copies of the unit dominate this loss."""
        if len(self.loss.parts) == 1:
            of = self.loss.parts[0]
            if all(is_weaker(part.family, of.family) for part in loss.parts):
                return Fraction(-(-sum(part.count for part in loss.parts) // of.count))
        counts = {part.family: part.count for part in self.loss.parts}
        ratios = {Fraction(part.count, counts.get(part.family, 1)) for part in loss.parts}
        if {part.family for part in loss.parts} == set(counts) and len(ratios) == 1:
            (times,) = ratios
            if times.denominator == 1:
                return times
        raise Unsupported(
            f"{loss} in a budget for runs of {self.loss}",
            "it is neither a number of them nor certainly weaker",
            "spend it from a budget of its own, or open one without units",
        )

    def epsilon(self, spent: Cost, delta: float) -> float:
        return self._epsilon(self.loss * int(spent[0]), delta) if spent[0] else 0.0

    has_reading: ClassVar[bool] = False

    def shown(self, cost: Cost, *, left: bool = False, digits: int = 6) -> str:
        runs = short(cost[0], left=left, digits=max(digits, 12))
        return f"{runs} run{'' if runs == '1' else 's'}"

    def to_json(self) -> dict[str, Any]:
        return {**super().to_json(), "loss": self.loss.to_json()}


def is_weaker(family: Family, than: Family) -> bool:
    """Whether a family is certainly dominated by another: itself, lower on its ladder, or on a smaller sample."""
    if family == than:
        return True
    if isinstance(family, Poisson) and isinstance(than, Poisson):
        return typed(family.rate) <= typed(than.rate) and is_weaker(family.base, than.base)
    (ladder, height), (other, most) = family.rung(), than.rung()
    return ladder == other and family.has_pair and height < most * CLEARLY


def units_filter(loss: Any, most: Any = None, epsilon: float | None = None, delta: float | None = None) -> UnitsFilter:
    """So many copies of a loss; without a number, as many as keep below epsilon at delta."""
    loss = _unit(loss)
    if most is None:
        if epsilon is None:
            raise InvalidParameter("most", most, "a number of runs", "or give epsilon and delta to find it")
        most = _most(loss, epsilon, delta or 0.0)
    if isinstance(most, bool) or not isinstance(most, int) or most < 1:
        raise InvalidParameter("most", most, "a whole number of runs, at least 1")
    return UnitsFilter((Fraction(most),), loss)


def _most(loss: Loss, epsilon: float, delta: float) -> int:
    if all(part.family.costs().epsilon == 0 for part in loss.parts):
        raise InvalidParameter("most", None, "a number of runs", "such a release costs nothing, and any number fits")
    if float(loss.epsilon(delta).upper) > epsilon:
        raise Unreachable(f"epsilon {epsilon:g} at delta {delta:g}", "runs", f"one run of {loss} passes it")
    return int(calibrate(lambda count: loss * int(count), epsilon, delta, integer=True))
