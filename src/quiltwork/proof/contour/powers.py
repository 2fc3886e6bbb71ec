"""Powers of Laplace noise and of bounded range: M^k is a sum of exponentials over powers of h = z + 1/2.

D = sum over the exponentials that lie right of eps of residues at h = 0 and h = +-1/2 (the contour closed to the left);
exact, with cancellation that more bits undo.
"""

from __future__ import annotations

import math

from flint import arb, arb_poly

from quiltwork.proof.contour.balls import Budget, between, exact, hi, lo, precision
from quiltwork.proof.contour.law import Exponential, Laplace


def _series(n: int, sign: int, length: int) -> list[arb]:
    """Coefficients of (h + sign/2)^n about 0, n >= -1."""
    half = arb(sign) / 2
    if n == -1:
        return [(-1) ** i / half ** (i + 1) for i in range(length)]
    return [math.comb(n, i) * half ** (n - i) if i <= n else arb(0) for i in range(length)]


def _at_zero(first: int, second: int, k: int, x: arb) -> arb:
    """The residue of (h + 1/2)^first (h - 1/2)^second e^{hx} / h^k at 0."""
    a = arb_poly(_series(first, 1, k)) * arb_poly(_series(second, -1, k))
    result, term = arb(0), arb(1)
    for i in range(k):  # x^i/i! meets the coefficient of h^{k-1-i}
        result += a[k - 1 - i] * term
        term = term * x / (i + 1)
    return result


def power(law: Laplace | Exponential, k: int, eps: arb) -> arb:
    """D of k releases, at the precision of the moment."""
    e = law.top
    result = arb(0)
    for j in range(k + 1):
        x = (2 * j - k) * e - eps
        if x <= 0:
            continue
        if isinstance(law, Laplace):
            value = _at_zero(j - 1, k - j - 1, k, x)
            if j == k:
                value += arb(2) ** k * (x / 2).exp()
            if j == 0:
                value -= arb(2) ** k * (-x / 2).exp()
        else:
            value = _at_zero(-1, -1, k, x) + arb(2) ** k * (x / 2).exp() - arb(-2) ** k * (-x / 2).exp()
            value *= (-1) ** (k - j)
        value *= math.comb(k, j)
        if not x > 0:  # continuous at 0: either side
            value = value.union(arb(0))
        result += value
    if isinstance(law, Laplace):
        return result * ((eps - k * e) / 2).exp() / arb(2) ** k
    return result * (eps / 2).exp() / (4 * (e / 2).sinh()) ** k


def powers(make: type[Laplace | Exponential], top: object, k: int, eps: arb, accuracy: float, budget: Budget) -> arb:
    """More bits until the ball is as narrow as asked. `top` is made anew at each precision by exact()."""
    best = arb("nan")
    bits = 160 + 8 * k
    for _ in range(3):
        budget.spend((k + 1) * k * (bits / 128))
        with precision(bits):
            best = power(make(exact(top)), k, eps)
            best = between(lo(best) if lo(best) > 0 else arb(0), hi(best))
            if best.rad() <= arb(accuracy) * best.mid():
                break
        bits *= 3
    return best
