"""What sessions count: releases as amounts that add up on every path, and touches by equal releases.

When conditions depend on earlier outputs, the worst fixed set of touched queries is no bound for (epsilon, delta) or
privacy losses in general. Sums that hold on every path are those of the other filters, and the number of touches when
every release is dominated by the same symmetric pair. A session looks for the worst step among losses that a filter
counts (`Filter.counted`), and asks for their sum (`Filter.total`).

Reference: theory/granularity.md section 3.2.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import ClassVar

import attrs

from quiltwork.compose.dominance import Ladders
from quiltwork.compose.filters.costs import Cost, summed
from quiltwork.compose.filters.filter import Filter
from quiltwork.compose.loss import Loss
from quiltwork.errors import Unsupported
from quiltwork.losses.families.renyi import Renyi, ZeroConcentrated
from quiltwork.losses.family import Family
from quiltwork.numbers.stated import typed, typed_above


@attrs.frozen
class Amount(ZeroConcentrated):
    """rho as an exact fraction, beside the float above it: so that budgets are filled to the last digit.

    A fraction of a step counts as a whole one: mu(epsilon) is concave, and half of mu(1) is less than mu(1/2).
    """

    kind: ClassVar[str] = "amount"
    stored: ClassVar[bool] = False
    linear: ClassVar[bool] = False
    exact: Fraction = Fraction(0)

    def group(self, size: int) -> Family:
        return amount(self.exact * size * size)


def amount(rho: Fraction) -> Amount:
    """This much rho."""
    return Amount(typed_above(rho), rho)


def counted_rho(family: Family) -> Cost:
    """rho of a release that was counted, or of a bound on several of them."""
    if isinstance(family, Amount):
        return (family.exact,)
    if isinstance(family, ZeroConcentrated):
        return (typed(family.rho),)
    if isinstance(family, Renyi):  # a bound on sums of rho alpha: every order shows it, the least is the bound
        known = zip(family.orders, family.epsilons, strict=True)
        return (min(Fraction(e) / Fraction(a) for a, e in known if math.isfinite(e)),)
    raise Unsupported(f"{family} as an amount of rho", "it was not counted first")


@attrs.frozen
class Touch(ZeroConcentrated):
    """One touch, to be counted. Several steps at once are no number of touches: groups are refused."""

    kind: ClassVar[str] = "touch"
    stored: ClassVar[bool] = False
    linear: ClassVar[bool] = False

    def group(self, size: int) -> Family:
        raise Unsupported("a touch at several steps", "a budget of equal releases counts single steps only")


@attrs.frozen
class CountFilter(Filter):
    """At most so many touches by releases that one symmetric pair dominates: they compose as if they were fixed.

    Reference: theory/granularity.md section 3.2 (homogeneous).
    """

    kind: ClassVar[str] = "counted"
    because: ClassVar[str] = "equal symmetric releases compose on every path as if they were fixed"
    units: ClassVar[tuple[str, ...]] = ("touches",)
    family: Family

    @property
    def promise(self) -> Loss:
        return Loss.of(self.family) * int(self.limit[0])

    def _cost(self, family: Family) -> Cost:
        one, other = Loss.of(self.family), Loss.of(family)
        rows = Ladders.of([one, other]).strength([other, one], up=True)
        if not bool((rows[0] <= rows[1]).all()):
            raise Unsupported(f"{family} in a budget of {self.limit[0]} * {self.family}", "it is not dominated by it")
        return (Fraction(1),)

    def counted(self, loss: Loss) -> Loss:
        return Loss.of(Touch(1.0)) * int(summed(loss, self._cost, 1)[0])

    def total(self, loss: Loss) -> Cost:
        return summed(loss, counted_rho, 1)

    def words(self, cost: Cost) -> str:
        return f"{float(cost[0]):g} touches by {self.family}"
