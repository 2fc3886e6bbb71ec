"""What one release costs when costs must add up on every path of an adaptive analysis.

Costs are exact fractions, never too small: stated decimals are read as they were typed, what is computed is rounded up.

Reference: theory/granularity.md section 3.2.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal, localcontext
from fractions import Fraction
from functools import lru_cache

import numpy as np
from scipy.special import log_expit, ndtri_exp

from quiltwork.checks import FloatArray
from quiltwork.compose.accountant.moments import worst_moments
from quiltwork.compose.loss import Loss
from quiltwork.compose.releases import Part
from quiltwork.errors import Unsupported
from quiltwork.losses.families.constraints import Constraints
from quiltwork.losses.families.discrete import SPAN, DiscreteGaussian, DiscreteLaplace
from quiltwork.losses.families.gaussian import Gaussian, GaussianPrivacy
from quiltwork.losses.families.laplace import Laplace
from quiltwork.losses.families.mixture import Mixture
from quiltwork.losses.families.poisson import Poisson
from quiltwork.losses.families.pure import Approximate, Pure
from quiltwork.losses.families.renyi import Renyi, RenyiFamily, ZeroConcentrated
from quiltwork.losses.families.swapped import Turned
from quiltwork.losses.family import Family
from quiltwork.numbers.stated import Stated, typed

__all__ = [
    "Cost",
    "added",
    "bounded",
    "divergences",
    "gaussian_cost",
    "point_costs",
    "pure_cost",
    "pure_to_gdp",
    "renyi_cost",
    "squared_cost",
    "summed",
]

Cost = tuple[Fraction, ...]
LONG, GRAIN = 2**200, 2**160  # denominators past LONG become GRAIN
LONGEST, FINE = 2**512, 2**256  # the same for running sums
STEEPEST = math.sqrt(math.pi / 2) * (1 + 1e-15)  # of mu as a function of epsilon, at 0


# ---- exact amounts


def bounded(cost: Fraction) -> Fraction:
    """The cost itself when it is short; otherwise the next multiple of 2^-160 above it."""
    return cost if cost.denominator <= LONG else _raised(cost, GRAIN)


def added(spent: Cost, cost: Cost) -> Cost:
    """The running sum, exact while its denominators are below 2^512, otherwise rounded up to multiples of 2^-256."""
    sums = (one + more for one, more in zip(spent, cost, strict=True))
    return tuple(total if total.denominator < LONGEST else _raised(total, FINE) for total in sums)


def _raised(number: Fraction, grain: int) -> Fraction:
    return Fraction(-((-number.numerator * grain) // number.denominator), grain)


def short(amount: Fraction, *, left: bool = False, digits: int = 6) -> str:
    """An amount with a few digits: rounded up when it is a cost, down when it is what is left."""
    with localcontext(prec=60, Emin=-(10**9), Emax=10**9):
        exact = Decimal(amount.numerator) / Decimal(amount.denominator)
        rounded = exact.normalize(Context(prec=digits, rounding=ROUND_FLOOR if left else ROUND_CEILING))
        return f"{rounded:f}" if -6 < rounded.adjusted() < 12 else f"{rounded:e}"


def summed(loss: Loss, cost: Callable[[Family], Cost], width: int) -> Cost:
    """The costs of all releases of a loss."""
    costs = [(part.count, cost(part.family)) for part in loss.parts]
    return tuple(sum((count * one[i] for count, one in costs), Fraction(0)) for i in range(width))


# ---- epsilon


def largest(family: Family) -> float:
    """The largest loss, rounded up; infinite when there is none."""
    if isinstance(family, RenyiFamily):
        return math.inf
    return float(np.max(Loss.of(family).epsilon(0.0).upper))


def pure_cost(family: Family) -> Fraction | None:
    """epsilon of a family; None when its loss is unbounded."""
    if isinstance(family, Pure):
        return typed(family.epsilon)
    if isinstance(family, (Laplace, DiscreteLaplace)):
        return typed(family.sensitivity) / typed(family.scale)
    if isinstance(family, (Approximate, Constraints)):
        return min((epsilon for epsilon, delta in point_costs(family) if delta == 0), default=None)
    top = _largest(family)
    return None if math.isinf(top) else Stated(top).most


_largest = lru_cache(maxsize=256)(largest)


def point_costs(family: Family) -> list[tuple[Fraction, Fraction]]:
    """The (epsilon, delta) that a family states, any of which is true; none for other families."""
    if isinstance(family, Approximate):
        return [(typed(family.epsilon), typed(family.delta))]
    if isinstance(family, Constraints):
        return [(typed(epsilon), typed(delta)) for epsilon, delta in family.points]
    return []


# ---- rho and mu


def _stated_squared(family: Family) -> Fraction | None:
    """mu^2 / 2 of Gaussian noise and of G_mu."""
    if isinstance(family, Gaussian):
        return (typed(family.sensitivity) / typed(family.sigma)) ** 2 / 2
    return typed(family.mu) ** 2 / 2 if isinstance(family, GaussianPrivacy) else None


def squared_cost(family: Family) -> Fraction | None:
    """rho of zCDP; None when no conversion is proved.

    G_mu is mu^2/2-zCDP, noise of an integer query by the discrete Gaussian the same with mu = sensitivity / sigma
    (Canonne, Kamath and Steinke 2020, Theorem 4), and epsilon-DP is epsilon^2/2-zCDP (Bun and Steinke 2016,
    Proposition 1.4).
    """
    if isinstance(family, ZeroConcentrated):
        return typed(family.rho)
    if isinstance(family, DiscreteGaussian):
        return (Fraction(family.sensitivity) / typed(family.sigma)) ** 2 / 2
    known = _stated_squared(family)
    if known is not None:
        return known
    epsilon = pure_cost(family)
    return None if epsilon is None else epsilon**2 / 2


def gaussian_cost(family: Family) -> Fraction | None:
    """mu^2 / 2 of GDP; None when no conversion is proved."""
    known = _stated_squared(family)
    if known is not None:
        return known
    epsilon = pure_cost(family)
    return None if epsilon is None else _pure_squared(epsilon)


def _pure_squared(epsilon: Fraction) -> Fraction:
    try:
        number = float(epsilon)
    except OverflowError:
        raise Unsupported(f"epsilon {epsilon}", "it is too large for GDP") from None
    return Fraction(pure_to_gdp(number)) ** 2 / 2 * Fraction(1 + 1e-12)


def pure_to_gdp(epsilon: float) -> float:
    """The least mu such that every epsilon-DP release is mu-GDP: mu = -2 Phi^-1(1 / (1 + e^epsilon)).

    Reference: theory/granularity.md section 5 (tight).
    """
    if epsilon < 1e-3:  # the quantile loses its digits there, and the slope at 0 is above the concave curve
        return epsilon * STEEPEST
    return min(float(-2 * ndtri_exp(log_expit(-epsilon))) * (1 + 1e-13), epsilon * STEEPEST)


# ---- Rényi divergences


def divergences(parts: Sequence[Part], tilts: FloatArray) -> tuple[list[float], float]:
    """Rényi divergences of orders 1 + tilts of the finite part of a composition, rounded up, and its reveal mass.

    With (P, Q) a worst pair and P' the part of P that Q covers, the divergence is log E_Q[(dP'/dQ)^(1 + t)] / t, or 0
    when that is below 0: P' may have mass less than 1.
    """
    if not parts:
        return [0.0] * tilts.size, 0.0
    moments, reveal = worst_moments(parts)
    with np.errstate(all="ignore"):
        found = [
            float(max(k, 0.0)) / float(t) * (1 + 1e-13)
            if not math.isnan(k) and all(_whole(part.family, float(t)) for part in parts)
            else math.inf
            for k, t in zip(moments(tilts), tilts, strict=True)
        ]
    return found, reveal


def _whole(family: Family, tilt: float, rate: float = 1.0) -> bool:
    """Whether the moment at this tilt is that of the whole law: discrete Gaussians are kept up to SPAN deviations.

    p^alpha q^(1-alpha) is a Gaussian of the same width, shifted by no more than a = alpha sensitivity / sigma
    deviations, and of mass e^(a^2/2) at most. What is left out there must be below e^-35 of the moment, which is at
    least 1; for the test of q against a mixture of weight `rate`, (1 - rate)^-tilt times the tail of q is left out.
    """
    if isinstance(family, Turned):
        return _whole(family.base, tilt, rate)
    if isinstance(family, Mixture):
        return all(_whole(base, tilt, rate) for _, base in family.components)
    if isinstance(family, Poisson):
        return _whole(family.base, tilt, rate * family.rate)
    if not isinstance(family, DiscreteGaussian):
        return True
    shift = (1 + tilt) * family.sensitivity / family.sigma
    left = (SPAN - shift) ** 2 / 2 if shift < SPAN else 0.0
    if rate == 1:
        return left >= 36
    return left >= 36 + shift**2 / 2 and tilt * -math.log1p(-rate) <= 700


@lru_cache(maxsize=4096)
def renyi_cost(family: Family, order: float) -> tuple[Fraction, Fraction] | None:
    """(divergence of this order of the finite part, reveal mass), both rounded up; None when it is infinite."""
    alpha = typed(order)
    rho = squared_cost(family) if isinstance(family, (ZeroConcentrated, DiscreteGaussian)) else _stated_squared(family)
    if rho is not None:
        return alpha * rho, Fraction(0)
    if isinstance(family, Renyi) and order in family.orders:
        known = family.epsilons[family.orders.index(order)]
        if math.isfinite(known):
            return typed(known), Fraction(0)
    if isinstance(family, Approximate):  # its finite part is (1 - delta) times that of a pure release
        return _pure_divergence(family.epsilon, order), typed(family.delta)
    found, reveal = divergences((Part(family, 1),), np.array([order - 1.0]))
    bounds = [Stated(found[0]).most] if math.isfinite(found[0]) else []
    # a bounded loss bounds the divergence: where tiny moments are rounding, and large ones overflow
    bounded_by_loss = isinstance(family, (Pure, Laplace, DiscreteLaplace)) or not bounds
    if bounded_by_loss and (epsilon := pure_cost(family)) is not None:
        bounds += [epsilon, alpha * epsilon**2 / 2]
    return (min(bounds), Stated(reveal).most) if bounds else None


def _pure_divergence(epsilon: float, order: float) -> Fraction:
    cost = renyi_cost(Pure(epsilon), order)
    return typed(epsilon) if cost is None else cost[0]
