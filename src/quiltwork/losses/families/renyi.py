"""Bounds on Rényi divergences: zCDP and RDP. They have no worst pair; they compose by addition.

K(theta) bounds log M(theta) = theta * D_(1+theta)(P || Q), in both directions. A zCDP bound is K = rho theta (1+theta),
the exact transform of a Gaussian with mu^2 = 2 rho, which also attains it: that Gaussian is the lower side.

Reference: Bun and Steinke 2016; Mironov 2017; conversion: Canonne, Kamath and Steinke 2020, Proposition 12.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from typing import Any, ClassVar

import attrs
import numpy as np

from quiltwork import checks
from quiltwork.checks import FloatArray
from quiltwork.errors import InvalidParameter, Unsupported
from quiltwork.losses.dominating_pair import Pair
from quiltwork.losses.family import Family, checked
from quiltwork.numbers.stated import times


class RenyiFamily(Family):
    """A family known only through a bound on log M."""

    def pairs(self) -> dict[str, Pair]:
        return {}

    @abstractmethod
    def log_mgf_bound(self, theta: FloatArray) -> FloatArray:
        """K(theta) for theta > 0; +inf where nothing is promised."""

    @abstractmethod
    def attained_mu(self) -> float:
        """The largest G_mu that satisfies the bound: a mechanism that is really possible."""

    def subsampled(self, rate: float) -> Family:
        raise Unsupported(f"Poisson subsampling of {self.kind}", "it has no dominating pair", "subsample the mechanism")


@attrs.frozen
class ZeroConcentrated(RenyiFamily):
    """rho-zCDP: every Rényi divergence of order alpha is at most rho alpha."""

    kind: ClassVar[str] = "zcdp"
    because: ClassVar[str] = (
        "zero-concentrated privacy adds up (Bun and Steinke 2016), converted by Canonne, Kamath and Steinke 2020"
    )
    rho: float = checked(checks.non_negative, "rho")

    def log_mgf_bound(self, theta: FloatArray) -> FloatArray:
        return self.rho * theta * (1 + theta)

    def attained_mu(self) -> float:
        return math.sqrt(2 * self.rho)

    def group(self, size: int) -> Family:
        return ZeroConcentrated(times(size * size, self.rho))


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
    """RDP at listed orders: the divergence of order alpha_i is at most epsilon_i, all at once.

    theta * epsilon(1+theta) is convex in theta and zero at 0, so between the orders it lies below the chord.
    """

    kind: ClassVar[str] = "rdp"
    because: ClassVar[str] = "Rényi privacy adds up (Mironov 2017), converted by Canonne, Kamath and Steinke 2020"
    orders: tuple[float, ...] = checked(_ordered, "orders")
    epsilons: tuple[float, ...] = checked(_ordered, "epsilons")

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
        known = [(a - 1, (a - 1) * e) for a, e in zip(self.orders, self.epsilons, strict=True) if math.isfinite(e)]
        knots = np.array([0.0, *(t for t, _ in known)])
        values = np.array([0.0, *(k for _, k in known)])
        # the lower hull of the points is still a bound, by convexity
        inside = np.interp(theta, knots, _lower_hull(knots, values))
        return np.where(theta <= knots[-1], inside * (1 + 1e-14), np.inf)

    def attained_mu(self) -> float:
        rate = min(e / a for a, e in zip(self.orders, self.epsilons, strict=True))
        return math.sqrt(2 * rate)

    def group(self, size: int) -> Family:
        """Groups of 2^c (size is rounded up): order alpha/2^c, epsilon 3^c (Mironov 2017, Proposition 2)."""
        steps = (size - 1).bit_length()
        known = zip(self.orders, self.epsilons, strict=True)
        kept = [(a / 2**steps, e * 3**steps) for a, e in known if a >= 2 ** (steps + 1)]
        if not kept:
            raise Unsupported(f"a group of {size}", f"no order is at least {2 ** (steps + 1)}", "give larger orders")
        return Renyi(tuple(a for a, _ in kept), tuple(e for _, e in kept))

    def fields(self) -> dict[str, Any]:
        return {"orders": list(self.orders), "epsilons": [e if math.isfinite(e) else "inf" for e in self.epsilons]}

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
