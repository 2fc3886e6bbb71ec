"""What may be added up along every path of an adaptive analysis.

When conditions depend on earlier outputs, the worst fixed set of touched queries is no bound for (epsilon, delta) or
privacy losses in general. Sums that hold on every path are: epsilon (the likelihood ratio is a product), rho of zCDP
and Rényi divergences at fixed orders (a supermartingale), mu^2 of GDP, and the number of touches when every release is
dominated by the same symmetric pair.

A currency turns the loss of a query into one that is counted in it, and a composition into a total. What one release
costs is in compose/filters/costs.py, which the filters of a ledger use too.

Reference: theory/granularity.md section 3.2; Feldman and Zrnic 2021 (Rényi filters); Koskela, Tobaben and Honkela 2023
(GDP filter).
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from fractions import Fraction
from typing import Any, ClassVar

import attrs
import numpy as np

from quiltwork.compose.dominance import Ladders
from quiltwork.compose.filters.costs import divergences, gaussian_cost, pure_cost, pure_to_gdp, squared_cost
from quiltwork.compose.loss import Loss
from quiltwork.compose.scaling import is_symmetric
from quiltwork.errors import InvalidParameter, Unsupported
from quiltwork.losses.families.gaussian import Gaussian, GaussianPrivacy
from quiltwork.losses.families.pure import Pure
from quiltwork.losses.families.renyi import Renyi, ZeroConcentrated
from quiltwork.losses.family import Family
from quiltwork.numbers.stated import typed, typed_above

__all__ = ["Currency", "currency", "pure_to_gdp"]

Total = tuple[Fraction, ...]


class Currency(ABC):
    """Totals are exact fractions, one for each order; a budget is kept when none passes its limit."""

    @property
    @abstractmethod
    def limit(self) -> Total:
        """The budget."""

    @abstractmethod
    def counted(self, loss: Loss) -> Loss:
        """The loss of one query, as this currency counts it; Unsupported when it has no finite cost."""

    @abstractmethod
    def total(self, loss: Loss) -> Total:
        """The cost of a composition of counted losses."""

    @abstractmethod
    def shown(self, total: Total) -> str:
        """An amount in words."""

    @property
    @abstractmethod
    def promise(self) -> Loss:
        """The loss that keeping to the limit amounts to."""


def currency(budget: Any) -> Currency:
    """The currency that a budget is stated in."""
    if not isinstance(budget, Loss) or not budget.parts or budget.side != "worst":
        raise InvalidParameter(
            "budget", budget, "a loss such as pure(1.0), zcdp(0.5), gdp(1.0), rdp(...) or 10 * laplace(5)"
        )
    families = [part.family for part in budget.parts]
    if all(isinstance(family, Pure) for family in families):
        return PureCurrency(budget)
    if all(isinstance(family, ZeroConcentrated) for family in families):
        return SquareCurrency(budget, "rho")
    if all(isinstance(family, (Gaussian, GaussianPrivacy)) for family in families):
        return SquareCurrency(budget, "mu")
    if len(budget.parts) == 1 and isinstance(families[0], Renyi):
        return RenyiCurrency(families[0], budget.parts[0].count)
    if len(budget.parts) == 1 and is_symmetric(budget) and families[0].pairs():
        return CountCurrency(families[0], budget.parts[0].count)
    raise Unsupported(
        f"an adaptive budget of {budget}",
        "when conditions depend on outputs only pure, zCDP, GDP, Rényi or equal symmetric releases add up",
        "state it as pure, zcdp, gdp, rdp, or a number of equal releases",
    )


@attrs.frozen
class PureCurrency(Currency):
    """epsilon adds on every path."""

    budget: Loss

    @property
    def limit(self) -> Total:
        return self.total(self.budget)

    @property
    def promise(self) -> Loss:
        return Loss.of(Pure(typed_above(self.limit[0])))  # the sum is all that is kept to, however it is made up

    def counted(self, loss: Loss) -> Loss:
        return Loss(tuple(attrs.evolve(part, family=Pure(_pure(part.family))) for part in loss.parts))

    def total(self, loss: Loss) -> Total:
        largest = float(np.max(loss.epsilon(0.0).upper))
        if math.isinf(largest):
            raise Unsupported(f"{loss} in a pure budget", "its loss is unbounded")
        return (typed(largest),)

    def shown(self, total: Total) -> str:
        return f"epsilon {float(total[0]):.6g}"


def _pure(family: Family) -> float:
    epsilon = pure_cost(family)
    if epsilon is None:
        raise Unsupported(f"{family} in a pure budget", "its loss is unbounded", "use a zCDP, GDP or Rényi budget")
    return typed_above(epsilon)


@attrs.frozen
class SquareCurrency(Currency):
    """rho adds on every path, and mu^2 = 2 rho for GDP; counted in rho."""

    budget: Loss
    unit: str

    @property
    def promise(self) -> Loss:
        return self.budget

    @property
    def limit(self) -> Total:
        known = (part.count * self._rho(part.family) for part in self.budget.parts)
        return (sum(known, Fraction(0)),)

    def counted(self, loss: Loss) -> Loss:
        return Loss(tuple(attrs.evolve(part, family=amount(self._rho(part.family))) for part in loss.parts))

    def _rho(self, family: Family) -> Fraction:
        rho = squared_cost(family) if self.unit == "rho" else gaussian_cost(family)
        if rho is None:
            raise Unsupported(f"{family} in a {self.unit} budget", "no conversion is proved", "use a Rényi budget")
        return rho

    def total(self, loss: Loss) -> Total:
        costs = (part.count * self._cost(part.family) for part in loss.parts)
        return (sum(costs, Fraction(0)),)

    @staticmethod
    def _cost(family: Family) -> Fraction:
        if isinstance(family, Amount):
            return family.exact
        if isinstance(family, ZeroConcentrated):
            return typed(family.rho)
        if isinstance(family, Renyi):  # a bound on sums of rho alpha: every order shows it, the least is the bound
            rates = (
                Fraction(e) / Fraction(a)
                for a, e in zip(family.orders, family.epsilons, strict=True)
                if math.isfinite(e)
            )
            return min(rates)
        raise Unsupported(f"{family} in a rho budget", "it was not counted first")

    def shown(self, total: Total) -> str:
        return f"rho {float(total[0]):.6g}" if self.unit == "rho" else f"mu {math.sqrt(2 * total[0]):.6g}"


@attrs.frozen
class Amount(ZeroConcentrated):
    """rho as an exact fraction, beside the float above it: so that budgets are filled to the last digit.

    A fraction of a step counts as a whole one: mu(epsilon) is concave, and half of mu(1) is less than mu(1/2).
    """

    kind: ClassVar[str] = "amount"
    exact: Fraction = Fraction(0)

    def group(self, size: int) -> Family:
        return amount(self.exact * size * size)


def amount(rho: Fraction) -> Amount:
    """This much rho."""
    return Amount(typed_above(rho), rho)


@attrs.frozen
class RenyiCurrency(Currency):
    """Rényi divergences add on every path, at each order of the budget."""

    family: Renyi
    count: int

    @property
    def promise(self) -> Loss:
        return Loss.of(self.family) * self.count

    @property
    def limit(self) -> Total:
        return tuple(self.count * typed(e) for e in self.family.epsilons if math.isfinite(e))

    @property
    def tilts(self) -> np.ndarray:
        known = zip(self.family.orders, self.family.epsilons, strict=True)
        return np.array([order - 1.0 for order, epsilon in known if math.isfinite(epsilon)])

    def counted(self, loss: Loss) -> Loss:
        if not all(math.isfinite(cost) for cost in self._costs(loss)):
            raise Unsupported(f"{loss} in a Rényi budget", "its divergence is infinite at some order of the budget",
                              "use lower orders")  # fmt: skip
        return loss

    def _costs(self, loss: Loss) -> list[float]:
        found, reveal = divergences(loss.parts, self.tilts)
        return [math.inf] * self.tilts.size if reveal > 0 else found

    def total(self, loss: Loss) -> Total:
        costs = self._costs(loss)
        if not all(map(math.isfinite, costs)):
            raise Unsupported(f"{loss} in a Rényi budget", "its divergence is infinite at some order of the budget")
        return tuple(map(Fraction, costs))

    def shown(self, total: Total) -> str:
        pairs = [f"{float(e):.6g} at order {t + 1:g}" for e, t in zip(total, self.tilts, strict=True)]
        return "Rényi divergence " + ", ".join(pairs[:4]) + (", ..." if len(pairs) > 4 else "")


@attrs.frozen
class Touch(ZeroConcentrated):
    """One touch, to be counted. Several steps at once are no number of touches: groups are refused."""

    kind: ClassVar[str] = "touch"

    def group(self, size: int) -> Family:
        raise Unsupported("a touch at several steps", "a budget of equal releases counts single steps only")


@attrs.frozen
class CountCurrency(Currency):
    """At most so many touches by releases that one symmetric pair dominates: they compose as if they were fixed.

    Reference: theory/granularity.md section 3.2 (homogeneous).
    """

    family: Family
    count: int

    @property
    def promise(self) -> Loss:
        return Loss.of(self.family) * self.count

    @property
    def limit(self) -> Total:
        return (Fraction(self.count),)

    def counted(self, loss: Loss) -> Loss:
        one = Loss.of(self.family)
        for part in loss.parts:
            ladders = Ladders.of([one, Loss.of(part.family)])
            rows = ladders.strength([Loss.of(part.family), one], up=True)
            if not bool((rows[0] <= rows[1]).all()):
                raise Unsupported(
                    f"{part.family} in a budget of {self.count} * {self.family}", "it is not dominated by it"
                )
        return Loss.of(Touch(1.0)) * loss.count

    def total(self, loss: Loss) -> Total:
        return (sum((part.count * SquareCurrency._cost(part.family) for part in loss.parts), Fraction(0)),)

    def shown(self, total: Total) -> str:
        return f"{float(total[0]):g} touches by {self.family}"
