"""Laws on one lattice: a finite sum whose only error is aliasing (theory/engine-faster.md section 5).

S lies on offset + bZ, s0 is the first point above eps, W = Nb, z_j = theta + 2 pi i j/W:
(1/N) sum_{j mod N} M(z_j) e^{-z_j s0} K(z_j) = sum_m e^{theta m W} D(eps + mW),
K(z) = 1/(1-e^{-zb}) - e^{eps-s0}/(1-e^{-(z+1)b}).
"""

from __future__ import annotations

import math
from fractions import Fraction

from flint import acb, arb

from quiltwork.proof.contour.balls import Budget, Undecided, between, exact, hi, least, lo, near, total, waves
from quiltwork.proof.contour.law import DiscreteGaussian, common
from quiltwork.proof.contour.line import FREQUENCY, Parts, log_moment, steer

MOST = 200_000
LAST = 1.2  # of the frequency from which the terms are small


def shared_lattice(parts: Parts) -> tuple[Fraction, Fraction] | None:
    """(offset, step) of the composition, or None where a part is on no known lattice."""
    offset, steps = Fraction(0), []
    for law, k in parts:
        if law.steps is None:
            return None
        offset += k * law.steps[0]
        if law.steps[1]:
            steps.append(law.steps[1])
    return (offset, common(steps)) if steps else None


def _first_above(place: arb) -> int:
    """A whole number above every number of the ball, and none but the one before may be above some."""
    low, high = lo(place).floor().unique_fmpz(), hi(place).floor().unique_fmpz()
    if low is None or high is None or high - low > 1:
        raise Undecided("epsilon is not known to a step of the lattice")
    return int(high) + 1


def _beyond(last: arb, theta: arb, step: arb, u: arb) -> arb:
    """The terms beyond u, where |M| is `last` at most.

    |M| falls up to pi/b (Jacobi's product), |K| <= 3 pi^2 e^{(theta+1/2)b}/(4 b u^2) (Jordan).
    """
    return last * 3 * arb.pi() / 4 * ((theta + arb(1) / 2) * step).exp() / u


def _missed(eps: arb, place: arb, log_mass: arb) -> arb:
    """What the point before the first adds at most, if it may lie above eps."""
    gain = 1 - (lo(eps) - place).exp()
    return arb(0) if gain <= 0 else log_mass.exp() * hi(gain)


def lattice(parts: Parts, eps: arb, accuracy: float, budget: Budget) -> arb:
    """A ball of the divergence without reveal mass."""
    found = shared_lattice(parts)
    if found is None:
        raise Undecided("no lattice")
    start, step = exact(found[0]), exact(found[1])
    at = steer(parts, near(eps))
    theta = arb(at.theta)
    size = log_moment(parts, theta, budget)
    goal = max(accuracy * 1e-2 * at.size, 1e-280)
    reach = math.sqrt(2 * math.log(1 / goal)) / at.spread
    right = [arb(reach * share) for share in (0.05, 0.2, 0.5, 1.0)]
    bounds = [(s, hi(log_moment(parts, theta + s, budget) - (theta + s) * eps)) for s in right]
    bounds_left = [(theta, arb(0))]
    for share in (0.3, 0.6):
        s = arb(at.theta * share)
        bounds_left.append((s, hi(log_moment(parts, theta - s, budget) - (theta - s) * eps)))
    need = -math.log(goal) - near(size - theta * eps)
    period = max(
        min((near(m) + need) / near(s) for s, m in bounds), min((near(m) + need) / near(s) for s, m in bounds_left)
    )
    points = max(math.ceil(1.02 * max(period, at.spread) / near(step)) + 1, 2)
    width = points * step
    turn = 2 * arb.pi() / width
    first = start + step * _first_above((eps - start) / step)
    count = points // 2 + 1
    smooth = all(isinstance(law, DiscreteGaussian) for law, _ in parts)
    if smooth and len({law.steps for law, _ in parts}) == 1:
        count = min(count, math.ceil(reach * LAST / near(turn)) + 2)
    if count > MOST:
        raise Undecided(f"{count} points of a lattice")
    budget.spend(FREQUENCY * count * (len(parts) + 1))
    product = [acb(1)] * count
    for law, k in parts:
        _, values = law.spectrum(theta, turn, count, budget)
        product = [a * b**k for a, b in zip(product, values, strict=True)]
    turns = waves([arb(1)], [-first], turn, count, budget)
    terms = []
    once = (eps - first).exp()
    for j in range(count):
        z = acb(theta, turn * j)
        zero, one = 1 - (-z * step).exp(), 1 - (-(z + 1) * step).exp()
        weight = 1 if j == 0 or (points % 2 == 0 and j == points // 2) else 2
        terms.append(weight * (product[j] * turns[j] * (1 / zero - once / one)).real)
    value = total(terms) / points
    scale = (size - theta * first).exp()
    beyond = arb(0)
    if count < points // 2 + 1:
        u = lo(turn * (count - 1))
        beyond = _beyond(abs(product[-1]), theta, step, u)
        if not hi(u + turn) * step <= arb.pi() * 1.000001:
            raise Undecided("cutoff beyond the period")
    low = scale * (value - beyond)
    for found_bounds in (bounds, bounds_left):
        low = low - least(*[(m - s * width).exp() / (1 - (-s * width).exp()) for s, m in found_bounds])
    high = scale * (value + beyond)
    high = high + _missed(eps, first - step, size - theta * (first - step))
    lower = lo(low)
    return between(lower if lower > 0 else arb(0), hi(high))
