"""Q(S <= v) and E(v - S)+ at many v, S a mean of lognormal ratios: one set of nodes serves all.

Both are (1/2 pi i) int e^(zv) Lam(z/t)^t z^-n dz, n = 1 and 2.  Small v: the trapezoid rule on the line Re z = c, whose
alias is sum_m e^(-cmW) G(v + mW), m >= 1, with 0 <= G <= v.  Large v: the trapezoid rule on z = m (1 + sin(iu - a)), a
hyperbola bent to the left; u +- id lie on those of a +- d, and the integrals of |f| along them bound the error.

Reference: theory/sampling.md section 7.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from flint import acb, acb_mat, arb

from quiltwork.proof.contour.balls import Budget, Undecided, hi, lo, near
from quiltwork.proof.contour.random_allocation.mean import Mean

GOAL = 62.0  # -log of the error that is aimed at
BENT, DEPTH = 0.75, 0.55  # a and d
CELLS = 40
DOUBLINGS = 12
MAX_NODES = 20_000
TURNS = np.linspace(0.0, 1.55, 63)

Put = tuple[arb, arb]  # Q(S <= v), E(v - S)+


def _turn(mean: Mean, size: float, low: float, high: float) -> tuple[float, float]:
    """(log of the bound of |Lam(z/t)|^t, the turn b of the path that gives it), |z| >= size, arg z in [low, high]."""
    best = math.inf, 0.0
    for b in (0.0, *TURNS[1:]):
        away = max(abs(low - b), abs(high - b))
        if away < math.pi / 2:
            found = b * b / (2 * mean.float**2) + mean.rough(size * math.cos(away) / mean.steps)
            best = min(best, (mean.steps * found, float(b)))
    return best


def size_bound(mean: Mean, size: arb, low: arb, high: arb) -> arb:
    """At least |Lam(z/t)|^t for all |z| >= size with arg z in [low, high]."""
    b = arb(_turn(mean, near(size), near(low), near(high))[1])
    if not (abs(low - b) < arb.pi() / 2 and abs(high - b) < arb.pi() / 2):
        return arb("inf")
    share = lo((low - b).cos().min((high - b).cos()))
    at = mean.above(lo(size * share) / mean.steps)
    return hi((mean.steps * (b * b / (2 * mean.s**2) + at.log())).exp())


def _summed(mean: Mean, nodes: list[acb], weights: list[acb], waves: list[list[acb]], budget: Budget) -> list[Put]:
    """The imaginary parts of sums over nodes of weight e^(zv) Lam(z/t)^t z^-n; a row of waves e^(zv) for each v."""
    budget.spend(len(nodes) * (300 + 2 * len(waves)))
    values = [weight * mean.laplace(z / mean.steps) ** mean.steps / z for z, weight in zip(nodes, weights, strict=True)]
    sums = acb_mat(waves) * acb_mat([[value, value / z] for value, z in zip(values, nodes, strict=True)])
    return [(sums[i, 0].imag, sums[i, 1].imag) for i in range(len(waves))]


def _on_steps(v: arb, x: arb, step: arb, count: int) -> list[acb]:
    """e^((x + i step k) v), k < count: products of two, none turned more than once."""
    width = math.isqrt(count - 1) + 1
    near_ones = [acb(x * v, step * v * k).exp() for k in range(width)]
    far = [acb(0, step * v * (width * k)).exp() for k in range(-(-count // width))]
    return [one * other for other in far for one in near_ones][:count]


def on_line(mean: Mean, vs: Sequence[arb], budget: Budget) -> list[Put]:
    """By the line Re z = c."""
    most = max(near(v) for v in vs)
    period = arb(2 * most)
    c = GOAL / (2 * most)
    step = 2 * arb.pi() / period
    last = 2 * c
    while _turn(mean, math.hypot(c, last), math.atan2(last, c), math.pi / 2)[0] + c * most > -GOAL:
        last *= 1.1
        if last > MAX_NODES * near(step):
            raise Undecided("a transform that falls slowly")
    count = math.ceil(last / near(step)) + 1
    x = arb(c)
    nodes = [acb(x, step * k) for k in range(count)]
    # (1/2 pi) int ... dy, the real part: i times it is imaginary
    weights = [acb(0, step / (2 * arb.pi()) * (1 if k == 0 else 2)) for k in range(count)]
    found = _summed(mean, nodes, weights, [_on_steps(v, x, step, count) for v in vs], budget)
    beyond = _beyond_line(mean, nodes[-1])
    result = []
    for v, (below, put) in zip(vs, found, strict=True):
        tail = hi((x * v).exp() * beyond)
        spread = [arb(0, tail) - arb(0).union(hi(one)) for one in _aliases(x, period, v)]
        result.append((below + spread[0], put + spread[1]))
    return result


def _aliases(x: arb, period: arb, v: arb) -> Put:
    """At most sum_m e^(-cmW) (1, v + mW), m >= 1."""
    r = (-x * period).exp()
    return r / (1 - r), r * v / (1 - r) + r * period / (1 - r) ** 2


def _beyond_line(mean: Mean, last: acb) -> arb:
    """(1/pi) int beyond the last node of |Lam(z/t)|^t / min(|z|, |z|^2), in pieces that double."""
    size, total = abs(last), arb(0)
    low, high = last.arg(), arb.pi() / 2
    least = lo(size).min(arb(1))
    for _ in range(DOUBLINGS):
        total += size_bound(mean, size, low, high) * arb(2).log()
        size = 2 * size
    # Lam(x) <= E 1/(e x X) = e^(s^2 - 1)/x; with the path turned by 1 both cosines are at least sin 1
    fall = (1 / (2 * mean.s**2) + mean.s**2 - 1).exp() * mean.steps / (size * arb(1).sin())
    if not (fall < 1 and low > 0.6):
        raise Undecided("a transform that falls slowly")
    total += fall**mean.steps / mean.steps
    return hi(total / least / low.sin() / arb.pi())  # dy = d|z| / sin(arg z)


class _Bent:
    """The hyperbola of one turn a."""

    def __init__(self, mean: Mean, scale: float, side: int, least: arb, most: arb) -> None:
        self.mean, self.scale, self.least, self.most = mean, arb(scale), least, most
        self.turn = arb(BENT) + side * arb(DEPTH)
        self.sin, self.cos = self.turn.sin(), self.turn.cos()

    def point(self, u: arb) -> acb:
        return acb(self.scale * (1 - self.sin * u.cosh()), self.scale * self.cos * u.sinh())

    def slope(self, u: arb) -> acb:
        """dz/du."""
        return acb(-self.scale * self.sin * u.sinh(), self.scale * self.cos * u.cosh())

    def on(self, a: arb, b: arb) -> arb:
        """At least |e^(zv) Lam^t z'/min(|z|, |z|^2)| between two u >= 0: |z| = m (cosh u - sin a) and arg z rise."""
        left, right = self.point(a), self.point(b)
        size = self.scale * (a.cosh() - self.sin)
        grown = left.real * (self.most if left.real > 0 else self.least)
        if not (left.real > 0 or left.real < 0):
            grown = (abs(left.real) * self.most).upper()
        value = grown.exp() * size_bound(self.mean, lo(size), lo(left.arg()), hi(right.arg()))
        return hi(value * self.scale * b.cosh() / lo(size.min(size * size)))

    def beyond(self, u: arb, step: arb) -> arb:
        """step times the sum at u, u + step, ...: cosh rises at least like its tangent at u."""
        last = self.point(u)
        if not last.real < 0:
            raise Undecided("a hyperbola that ends too early")
        size = lo(self.scale * (u.cosh() - self.sin))
        bound = size_bound(self.mean, size, lo(last.arg()), arb.pi() / 2 + self.turn)
        rate = self.least * self.scale * self.sin * u.sinh() - 1  # cosh rises by e^x at most
        if not rate > 0:
            raise Undecided("a hyperbola that ends too early")
        first = (last.real * self.least).exp() * bound * self.scale * u.cosh() / size.min(size * size)
        return hi(first * step / (1 - (-rate * step).exp()))

    def roughly(self, u: float) -> float:
        """log of what `on` bounds, by floats."""
        z = complex(self.point(arb(u)).real.mid(), self.point(arb(u)).imag.mid())
        at = z.real * near(self.most if z.real > 0 else self.least)
        turn = math.atan2(z.imag, z.real)
        return (
            at
            + _turn(self.mean, abs(z), turn, turn)[0]
            + math.log(near(self.scale) * math.cosh(u))
            - 2 * math.log(min(abs(z), 1.0))
        )


def on_hyperbola(mean: Mean, vs: Sequence[arb], budget: Budget) -> list[Put]:
    """By the hyperbola that needs the fewest nodes."""
    least, most = min(vs, key=near), max(vs, key=near)
    best: tuple[int, float, float, float] | None = None
    for share in (2.0, 4.0, 8.0, 14.0, 22.0):
        scale = share / near(most)
        edges = [_Bent(mean, scale, side, least, most) for side in (-1, 1)]
        highest = max(edge.roughly(u) for edge in edges for u in (0.0, 0.3, 0.6, 1.0, 1.5, 2.0, 2.5, 3.0))
        short = 2 * math.pi * DEPTH / (GOAL + max(highest, 0.0) + 2)
        middle, last = _Bent(mean, scale, 0, least, most), 1.0
        while middle.roughly(last) > -GOAL - 3 and last < 30:
            last += 0.1
        best = min(best or (MAX_NODES, 0.0, 0.0, 0.0), (math.ceil(last / short), scale, short, last))
    if best is None or not best[1]:
        raise Undecided("no hyperbola")
    _, scale, rough_step, last = best
    step, middle = arb(rough_step), _Bent(mean, scale, 0, least, most)
    count = math.ceil(last / rough_step) + 1
    us = [step * k for k in range(count)]
    nodes = [middle.point(u) for u in us]
    weights = [middle.slope(u) * (step / arb.pi() / (2 if k == 0 else 1)) for k, u in enumerate(us)]
    error = middle.beyond(us[-1] + step, step) / arb.pi()
    for side in (-1, 1):
        edge = _Bent(mean, scale, side, least, most)
        error += _along(edge) / (2 * arb.pi() * arb(DEPTH) / step).expm1()
    wide = arb(0, hi(error))
    waves = [[(z * v).exp() for z in nodes] for v in vs]
    return [(below + wide, put + wide) for below, put in _summed(mean, nodes, weights, waves, budget)]


def _along(edge: _Bent) -> arb:
    """(1/pi) int of |f| over u >= 0."""
    width, total, u = arb(1) / 8, arb(0), arb(0)
    for _ in range(CELLS * 6):
        if u > 1 and edge.point(u).real < 0:
            try:
                rest = edge.beyond(u, width)
                if rest < 1:
                    return hi((total + rest) / arb.pi())
            except Undecided:
                pass
        total += edge.on(u, u + width) * width
        u = u + width
    raise Undecided("a hyperbola whose edge does not end")
