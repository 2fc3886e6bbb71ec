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
from quiltwork.losses.family import Family
from quiltwork.numbers.stated import Stated, typed

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
    if not family.has_pair:
        return math.inf
    return float(np.max(Loss.of(family).epsilon(0.0).upper))


def pure_cost(family: Family) -> Fraction | None:
    """epsilon of a family; None when its loss is unbounded."""
    known = family.costs().epsilon
    if known is not None:
        return known
    if family.points:
        return min((epsilon for epsilon, delta in point_costs(family) if delta == 0), default=None)
    top = _largest(family)
    return None if math.isinf(top) else Stated(top).most


_largest = lru_cache(maxsize=256)(largest)


def point_costs(family: Family) -> list[tuple[Fraction, Fraction]]:
    """The (epsilon, delta) that a family states, any of which is true; none for other families."""
    return [(typed(epsilon), typed(delta)) for epsilon, delta in family.points]


# ---- rho and mu


def squared_cost(family: Family) -> Fraction | None:
    """rho of zCDP; None when no conversion is proved.

    G_mu is mu^2/2-zCDP, and epsilon-DP is epsilon^2/2-zCDP (Bun and Steinke 2016, Proposition 1.4).
    """
    known = family.costs().rho
    if known is not None:
        return known
    epsilon = pure_cost(family)
    return None if epsilon is None else epsilon**2 / 2


def gaussian_cost(family: Family) -> Fraction | None:
    """mu^2 / 2 of GDP; None when no conversion is proved."""
    known = family.costs().half_square
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
            if not math.isnan(k) and all(part.family.has_moment(float(t)) for part in parts)
            else math.inf
            for k, t in zip(moments(tilts), tilts, strict=True)
        ]
    return found, reveal


@lru_cache(maxsize=4096)
def renyi_cost(family: Family, order: float) -> tuple[Fraction, Fraction] | None:
    """(divergence of this order of the finite part, reveal mass), both rounded up; None when it is infinite."""
    known = family.divergence(order)
    if known is not None:
        return known, Fraction(0)
    split = family.unless_revealed()
    if split is not None:  # its finite part is (1 - delta) times that of the other release
        inside = renyi_cost(split[0], order) or (pure_cost(split[0]), Fraction(0))
        return None if inside[0] is None else (inside[0], inside[1] + typed(split[1]))
    found, reveal = divergences((Part(family, 1),), np.array([order - 1.0]))
    bounds = [Stated(found[0]).most] if math.isfinite(found[0]) else []
    # a bounded loss bounds the divergence: where tiny moments are rounding, and large ones overflow
    bounded_by_loss = family.costs().epsilon is not None or not bounds
    if bounded_by_loss and (epsilon := pure_cost(family)) is not None:
        bounds += [epsilon, typed(order) * epsilon**2 / 2]
    return (min(bounds), Stated(reveal).most) if bounds else None
