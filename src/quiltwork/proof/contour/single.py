"""One release of Gaussian noise with mixed means: the best event is a half-line, its end found by certified signs."""

from __future__ import annotations

from flint import arb, ctx

from quiltwork.proof.contour.balls import Undecided, between, hi, lo, near, normal_below, total
from quiltwork.proof.contour.gaussians import MovedGaussians


def one_release(law: MovedGaussians, eps: arb) -> arb:
    """D = P(x > x*) - e^eps Q(x > x*), L(x*) = eps; L rises."""

    def loss(x: arb) -> arb:
        return law.w.log(x) - law.v.log(x) - eps

    low, high = arb(-2), arb(2)
    for _ in range(60):
        if loss(low) < 0:
            break
        if law.smallest is not None and law.smallest > eps:
            return 1 - eps.exp()
        low = low * 2
    else:
        raise Undecided("no loss below epsilon")
    for _ in range(60):
        if loss(high) > 0:
            break
        if law.largest is not None and law.largest <= eps:
            return arb(0)
        high = high * 2
    else:
        raise Undecided("no loss above epsilon")
    for _ in range(ctx.prec + 8):
        middle = (
            arb(near((low + high) / 2)) if near(high - low) > 1e-12 * (1 + abs(near(low))) else lo((low + high) / 2)
        )
        value = loss(middle)
        if value < 0:
            low = middle
        elif value > 0:
            high = middle
        else:
            break
    x = between(low, high)
    first = total([p * normal_below(c - x) for p, c, _ in law.w.parts])
    second = total([q * normal_below(-d - x) for q, d, _ in law.v.parts])
    best = first - eps.exp() * second
    # any half-line is an event: evaluated at one end, without the width of x
    at = total([p * normal_below(c - low) for p, c, _ in law.w.parts])
    at -= eps.exp() * total([q * normal_below(-d - low) for q, d, _ in law.v.parts])
    lower = lo(best).max(lo(at))
    return between(lower if lower > 0 else arb(0), hi(best))
