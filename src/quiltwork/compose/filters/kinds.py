"""Filters whose costs are epsilon and delta, rho of zCDP, or mu^2 of GDP.

Reference: theory/granularity.md section 3.2.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import ClassVar

import attrs

from quiltwork import checks
from quiltwork.compose.filters.costs import (
    Cost,
    gaussian_cost,
    point_costs,
    pure_cost,
    short,
    squared_cost,
    summed,
)
from quiltwork.compose.filters.counted import amount, counted_rho
from quiltwork.compose.filters.filter import Filter
from quiltwork.compose.loss import Loss
from quiltwork.errors import InvalidParameter
from quiltwork.losses.families.gaussian import GaussianPrivacy
from quiltwork.losses.families.pure import Approximate, Pure
from quiltwork.losses.families.renyi import ZeroConcentrated
from quiltwork.losses.family import Family
from quiltwork.numbers.rounding import up
from quiltwork.numbers.stated import root, typed, typed_above


@attrs.frozen
class PureFilter(Filter):
    """epsilon and delta add up.

    Proof, by induction on the releases still to come. The first one costs (e, d), the rest keeps to what is left,
    (eps - e, delta - d), after every output y. Then for each event S

        P(S) <= int P_1(dy) min(1, e^(eps - e) Q_y(S)) + delta - d
             <= e^e int Q_1(dy) e^(eps - e) Q_y(S) + d + delta - d = e^eps Q(S) + delta.

    Odometer: P is at least a measure P' <= e^eps Q whose mass lacks at most delta_limit, and 1 - P'/P is a
    submartingale under P; by Doob's inequality it stays below s = delta_limit / delta, except with probability delta,
    and then the loss is at most eps + log 1/(1 - s). That is the best there is: (eps, d)-DP allows P(loss > x) to be
    d / (1 - e^(eps - x)).

    Reference: Rogers, Roth, Ullman and Vadhan 2016 (basic filter).
    """

    kind: ClassVar[str] = "pure"
    because: ClassVar[str] = "epsilon and delta add up on every path (Rogers, Roth, Ullman and Vadhan 2016)"
    units: ClassVar[tuple[str, ...]] = ("epsilon", "delta")

    def __attrs_post_init__(self) -> None:
        super().__attrs_post_init__()
        if self.limit[1] > 1:
            raise InvalidParameter("delta", self.limit[1], "in [0, 1]")

    @property
    def promise(self) -> Loss:
        epsilon, delta = map(typed_above, self.limit)
        return Loss.of(Approximate(epsilon, delta) if delta else Pure(epsilon))

    def _cost(self, family: Family) -> Cost:
        points = [point for point in point_costs(family) if point[1] <= self.limit[1]]
        if points:  # each of them is true: the one that takes the smallest share of the limit
            return min(points, key=lambda point: (max(map(_share, point, self.limit)), point))
        epsilon = pure_cost(family)
        if epsilon is None:
            because = "its delta is above that of the budget" if point_costs(family) else "its loss is unbounded"
            raise self._refused(family, because, "use a filter of kind 'renyi', 'zcdp' or 'gdp'")
        return epsilon, Fraction(0)

    def counted(self, loss: Loss) -> Loss:
        found = tuple(attrs.evolve(part, family=Pure(typed_above(self._cost(part.family)[0]))) for part in loss.parts)
        return Loss(found)

    def promise_of(self, budget: Loss) -> Loss:
        return self.promise  # the sum is all that is kept to, however it is made up

    def _reading(self, spent: Cost, delta: float) -> float:
        epsilon = typed_above(spent[0])
        if not spent[1]:
            return epsilon  # no coin was thrown on this prefix
        lacking = self.limit[1] / typed(delta) if delta else Fraction(1)
        return up(epsilon - math.log1p(-up(float(lacking))), 16) if lacking < 1 - Fraction(1, 2**40) else math.inf


def _share(cost: Fraction, limit: Fraction) -> Fraction:
    return cost / limit if limit else Fraction(2 if cost else 0)


class SquaredFilter(Filter):
    """Costs that grow with the square of a distance: rho of zCDP, and mu^2 = 2 rho of GDP. Sessions count rho."""

    scale: ClassVar[int] = 1  # of the unit, in rho

    def counted(self, loss: Loss) -> Loss:
        found = (attrs.evolve(part, family=amount(self._cost(part.family)[0] / self.scale)) for part in loss.parts)
        return Loss(tuple(found))

    def total(self, loss: Loss) -> Cost:
        return (self.scale * summed(loss, counted_rho, 1)[0],)


@attrs.frozen
class ZeroConcentratedFilter(SquaredFilter):
    """rho adds up: at each order alpha, E_Q[(p/q)^alpha e^(-(alpha-1) alpha sum of rho)] is a supermartingale.

    Odometer: e^((alpha-1)(loss - alpha sum of rho)) is a non-negative supermartingale under P from 1 on, so by Ville's
    inequality it stays below 1/delta. The order is fixed by the limit and delta, not by what was spent.

    Reference: Feldman and Zrnic 2021; Whitehouse, Ramdas, Rogers and Wu 2023.
    """

    kind: ClassVar[str] = "zcdp"
    because: ClassVar[str] = "rho of zCDP adds up on every path (Feldman and Zrnic 2021; Whitehouse et al. 2023)"
    units: ClassVar[tuple[str, ...]] = ("rho",)

    @property
    def promise(self) -> Loss:
        return Loss.of(ZeroConcentrated(typed_above(self.limit[0])))

    def _cost(self, family: Family) -> Cost:
        rho = squared_cost(family)
        if rho is None:
            raise self._refused(family, "no conversion to zCDP is proved", "use a filter of kind 'renyi'")
        return (rho,)

    def _reading(self, spent: Cost, delta: float) -> float:
        return _squared_reading(spent[0], self.limit[0], delta)


def _squared_reading(rho: Fraction, limit: Fraction, delta: float) -> float:
    """alpha rho + log(1/delta) / (alpha - 1) at the order that is best when all of the limit is spent."""
    if delta == 0:
        return math.inf
    rarity = -math.log(delta)
    tilt = math.sqrt(rarity / float(limit)) if float(limit) else math.inf
    if not 1e-100 < tilt < 1e100:  # delta near 1, or a limit near 0: another order fixed in advance
        tilt = 1.0
    return up((1 + tilt) * float(rho) + rarity / tilt, 16)


@attrs.frozen
class GaussianFilter(SquaredFilter):
    """mu^2 adds up.

    A mu-GDP release is a function of N(mu, 1) against N(0, 1), that is, of a Brownian motion with or without drift 1
    watched for a time mu^2. Releases chosen one after the other watch it further, at most until the limit: all of them
    are functions of its path up to then, which is as good as its end point.

    Odometer: G_mu is mu^2/2-zCDP.

    Reference: Smith and Thakurta 2022; Koskela, Tobaben and Honkela 2023.
    """

    kind: ClassVar[str] = "gdp"
    because: ClassVar[str] = (
        "mu^2 of GDP adds up on every path (Smith and Thakurta 2022; Koskela, Tobaben and Honkela 2023)"
    )
    units: ClassVar[tuple[str, ...]] = ("mu^2",)
    scale: ClassVar[int] = 2

    def __attrs_post_init__(self) -> None:
        super().__attrs_post_init__()
        checks.moderate("mu", _root(self.limit[0]))

    @property
    def promise(self) -> Loss:
        return Loss.of(GaussianPrivacy(_root(self.limit[0])))

    def _cost(self, family: Family) -> Cost:
        half = gaussian_cost(family)
        if half is None:
            raise self._refused(family, "no conversion to GDP is proved", "use a filter of kind 'renyi'")
        return (2 * half,)

    def _reading(self, spent: Cost, delta: float) -> float:
        return _squared_reading(spent[0] / 2, self.limit[0] / 2, delta)

    def shown(self, cost: Cost, *, left: bool = False, digits: int = 6) -> str:
        return f"mu^2 {short(cost[0], left=left, digits=digits)}"

    def words(self, cost: Cost) -> str:
        return f"mu {math.sqrt(cost[0]):.6g}"


def _root(square: Fraction) -> float:
    """The least double that, read as typed, has at least this square."""
    return typed_above(root(square)[1])
