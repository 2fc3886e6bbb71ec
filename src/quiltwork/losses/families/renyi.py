"""Bounds on Rényi divergences: zCDP and RDP. They have no worst pair; they compose by addition.

K(theta) bounds log M(theta) = theta * D_(1+theta)(P || Q), in both directions. A zCDP bound is K = rho theta (1+theta),
the exact transform of a Gaussian with mu^2 = 2 rho, which also attains it: that Gaussian is the lower side.

Reference: Bun and Steinke 2016; Mironov 2017; conversion: Canonne, Kamath and Steinke 2020, Proposition 12.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from fractions import Fraction
from typing import Any, ClassVar

import attrs
import numpy as np

from quiltwork import checks
from quiltwork.checks import FloatArray
from quiltwork.errors import InvalidParameter, Unsupported
from quiltwork.losses.dominating_pair import Pair
from quiltwork.losses.families.gaussian import GaussianPrivacy
from quiltwork.losses.family import NON_NEGATIVE, NUMBERS, Costs, Family, Fields, parameter
from quiltwork.numbers.stated import times, typed


class RenyiFamily(Family):
    """A family known only through a bound on log M."""

    has_pair: ClassVar[bool] = False

    def pairs(self) -> dict[str, Pair]:
        return {}

    @abstractmethod
    def log_mgf_bound(self, theta: FloatArray) -> FloatArray:
        """K(theta) for theta > 0; +inf where nothing is promised."""

    @property
    @abstractmethod
    def attained_mu(self) -> float:
        """The largest G_mu that satisfies the bound: a mechanism that is really possible."""

    def subsampled(self, rate: float) -> Family:
        raise Unsupported(f"Poisson subsampling of {self.kind}", "it has no dominating pair", "subsample the mechanism")


@attrs.frozen
class ZeroConcentrated(RenyiFamily):
    """A rho-zCDP release."""

    kind: ClassVar[str] = "zcdp"
    words: ClassVar[str] = "zero-concentrated, rho {rho:g}"
    label: ClassVar[str] = "Any release with a rho (zCDP)"
    dial: ClassVar[str] = "rho"
    linear: ClassVar[bool] = True
    because: ClassVar[str] = (
        "zero-concentrated privacy adds up (Bun and Steinke 2016), converted by Canonne, Kamath and Steinke 2020"
    )
    rho: float = attrs.field(**parameter("rho", NON_NEGATIVE, "Rho", "0.005"))

    def log_mgf_bound(self, theta: FloatArray) -> FloatArray:
        return self.rho * theta * (1 + theta)

    @property
    def reveals_nothing(self) -> bool:
        return self.rho == 0

    @property
    def square(self) -> float:
        return 2 * self.rho

    @property
    def attained_mu(self) -> float:
        return math.sqrt(2 * self.rho)

    def at(self, distance: Fraction) -> Family:
        return ZeroConcentrated(times(distance * distance, self.rho))

    def costs(self) -> Costs:
        return Costs(rho=typed(self.rho))

    def rung(self) -> tuple[object, float]:
        return "zcdp", self.rho


def _ordered(name: str, value: Any) -> tuple[float, ...]:
    allowed = "a non-empty list of numbers"
    try:
        values = tuple(float("inf") if v in (math.inf, "inf") else checks.real(name, v) for v in value)
    except TypeError:
        raise InvalidParameter(name, value, allowed) from None
    if not values:
        raise InvalidParameter(name, value, allowed)
    return values


@attrs.frozen
class Renyi(RenyiFamily):
    """A release with Rényi divergence at most epsilons[i] at order orders[i], all at once."""

    kind: ClassVar[str] = "rdp"
    words: ClassVar[str] = "Rényi bounds at {orders} orders"
    because: ClassVar[str] = "Rényi privacy adds up (Mironov 2017), converted by Canonne, Kamath and Steinke 2020"
    orders: tuple[float, ...] = attrs.field(**parameter("orders", NUMBERS, check=_ordered))
    epsilons: tuple[float, ...] = attrs.field(**parameter("epsilons", NUMBERS, check=_ordered))

    def __attrs_post_init__(self) -> None:
        if len(self.orders) != len(self.epsilons):
            raise InvalidParameter("orders and epsilons", (len(self.orders), len(self.epsilons)), "of equal length")
        if min(self.orders) <= 1 or not all(b > a for a, b in zip(self.orders, self.orders[1:], strict=False)):
            raise InvalidParameter("orders", self.orders, "increasing and > 1")
        if math.isinf(max(self.orders)):
            raise InvalidParameter("orders", self.orders, "finite", "state an infinite order as pure(epsilon)")
        if min(self.epsilons) < 0 or math.isinf(min(self.epsilons)):
            raise InvalidParameter("epsilons", self.epsilons, ">= 0 with at least one finite")

    def log_mgf_bound(self, theta: FloatArray) -> FloatArray:
        """theta * epsilon(1+theta) is convex and 0 at 0: between the orders it lies below the chord."""
        known = [(a - 1, (a - 1) * e) for a, e in zip(self.orders, self.epsilons, strict=True) if math.isfinite(e)]
        knots = np.array([0.0, *(t for t, _ in known)])
        values = np.array([0.0, *(k for _, k in known)])
        # the lower hull of the points is still a bound, by convexity
        inside = np.interp(theta, knots, _lower_hull(knots, values))
        return np.where(theta <= knots[-1], inside * (1 + 1e-14), np.inf)

    @property
    def attained_mu(self) -> float:
        rate = min(e / a for a, e in zip(self.orders, self.epsilons, strict=True))
        return math.sqrt(2 * rate)

    def group(self, size: int) -> Family:
        """Groups of 2^c (size is rounded up): order alpha/2^c, epsilon 3^c (Mironov 2017, Proposition 2)."""
        steps = (size - 1).bit_length()
        known = zip(self.orders, self.epsilons, strict=True)
        grown = ((a / 2**steps, times(3**steps, e) if math.isfinite(e) else e) for a, e in known)
        kept = [(a, e) for a, e in grown if a >= 2]
        if not kept:
            raise Unsupported(f"a group of {size}", f"no order is at least {2 ** (steps + 1)}", "give larger orders")
        return Renyi(tuple(a for a, _ in kept), tuple(e for _, e in kept))

    def attained(self, distance: float) -> Family | None:
        reached = self.attained_mu * max(1, math.ceil(distance)) * (1 - 1e-15)
        return GaussianPrivacy(reached) if reached >= 1e-100 else None

    def divergence(self, order: float) -> Fraction | None:
        known = self.epsilons[self.orders.index(order)] if order in self.orders else math.inf
        return typed(known) if math.isfinite(known) else None

    @classmethod
    def entries_of(cls, fields: Fields) -> dict[str, Any]:
        """Orders with an infinite bound promise nothing and are left out."""
        kept = [(a, e) for a, e in zip(fields["orders"], fields["epsilons"], strict=True) if math.isfinite(float(e))]
        return {"orders": tuple(a for a, _ in kept), "epsilons": tuple(e for _, e in kept)}

    def __str__(self) -> str:
        return f"rdp({len(self.orders)} orders)"


def _lower_hull(x: FloatArray, y: FloatArray) -> FloatArray:
    """Values at x of the greatest convex function below the points."""
    kept: list[int] = []
    for i in range(x.size):
        while len(kept) > 1:
            a, b = kept[-2], kept[-1]
            if (y[b] - y[a]) * (x[i] - x[a]) < (y[i] - y[a]) * (x[b] - x[a]):
                break
            kept.pop()
        kept.append(i)
    return np.interp(x, x[kept], y[kept])
