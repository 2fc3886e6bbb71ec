"""The contour sum in balls.

D(eps) = e^{K - theta eps} H, H = (1/2 pi) int phi(u) e^{-iu eps}/((theta+iu)(theta+1+iu)) du.

The trapezoid sum of step 2 pi/W is sum_m H(eps + mW), all terms >= 0 (Poisson summation), so
T - tail - right - left <= H <= T + tail - left', with Chernoff bounds of the aliases and left' what is known of
the left ones (D(y) >= 1 - e^y). Where nothing decays one more Gaussian of size mu is composed:
D_{S+Y} - gap <= D_S <= D_{S+Y}, gap = mu^2 e^{mu^2/8} times the density of S + Y at eps (theory/proof.md section 3).

Points do not decay either, but what is left of prod (A_i + c_i)^{k_i} without prod A_i^{k_i}, A_i the points of one
release, falls at least like 1/u: its divergence by the line, that of the points alone exactly.

Lines, periods and cut-offs are taken from coarse scales, so that questions near each other share one sum.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from flint import acb, acb_mat, arb, ctx

from quiltwork.proof.contour.balls import Budget, Memory, Undecided, between, hi, least, lo, met, near, total, waves
from quiltwork.proof.contour.law import Decay, Gaussian, Law

Parts = Sequence[tuple[Law, int]]
MOST = 150_000  # frequencies
FREQUENCY = 80  # products of balls that a frequency of one law is counted as
SHARES = (0.1, 0.3, 0.7, 1.5, 3.0, 5.0, 9.0)  # of one over the spread: how much steeper the right aliases are bounded
STEEPEST_LINE = 2e4
STEEPEST = 20.0  # and of 1 + theta


class Steering(NamedTuple):
    theta: float
    spread: float
    size: float  # of H


def log_moment(parts: Parts, t: arb, budget: Budget) -> arb:
    return total([k * law.moment(t, budget).log() for law, k in parts])


def rough(parts: Parts, t: float) -> float:
    return float(sum(k * law.rough(t) for law, k in parts))


def scale(number: float, steps: int, up: bool = False) -> float:
    """The nearest, or the next, of so many steps between a power of 2 and the next."""
    place = steps * math.log2(number)
    return float(2.0 ** ((math.ceil(place) if up else round(place)) / steps))


def steer(parts: Parts, eps: float) -> Steering:
    """The saddle of K(t) - t eps - log t(t+1), by floats."""

    def height(x: float) -> float:
        t = math.exp(x)
        try:
            value = rough(parts, t) - t * eps - x - math.log1p(t)
        except (OverflowError, ValueError, FloatingPointError):
            return math.inf
        return value if value == value else math.inf

    grid = np.linspace(math.log(1e-3), math.log(3e4), 28)
    values = [height(x) for x in grid]
    at = int(np.argmin(values))
    a, b = grid[max(at - 1, 0)], grid[min(at + 1, len(grid) - 1)]
    ratio = (math.sqrt(5) - 1) / 2
    c, d = b - ratio * (b - a), a + ratio * (b - a)
    left, right = height(c), height(d)
    for _ in range(7):
        if left < right:
            b, d, right = d, c, left
            c = b - ratio * (b - a)
            left = height(c)
        else:
            a, c, left = c, d, right
            d = a + ratio * (b - a)
            right = height(d)
    theta = scale(math.exp((a + b) / 2), 6)
    small = 0.03 * min(1.0, theta)
    below, here, above = (rough(parts, theta + s) for s in (-small, 0.0, small))
    spread = scale(math.sqrt(max((above + below - 2 * here) / small**2, 1e-12)), 2)
    size = 0.3 / ((theta + 1 / spread) * (theta + 1 + 1 / spread) * spread)
    return Steering(theta, spread, size)


class Aliases:
    """What the neighbouring periods can add on one line; apart: to the composition without its points."""

    def __init__(self, parts: Parts, at: Steering, apart: bool, budget: Budget) -> None:
        self.theta = arb(at.theta)
        self.log_m = log_moment(parts, self.theta, budget)
        self.right: list[tuple[arb, arb]] = []
        self.left: list[tuple[arb, arb]] = [(self.theta, -self.log_m)]
        th = self.theta
        peak = th * (th / (1 + th)).log() - (1 + th).log()  # log of max e^{-theta y}(1 - e^{-y})
        for share in SHARES:
            s = arb(min(share / at.spread, STEEPEST * (1 + at.theta)))
            try:
                self.right.append((s, hi(log_moment(parts, th + s, budget) - self.log_m + peak)))
            except Undecided:
                continue
        for share in (0.3, 0.6):
            s = arb(at.theta * share)
            self.left.append((s, hi(log_moment(parts, th - s, budget) - self.log_m)))
        bottoms = [None if law.smallest is None else k * law.smallest for law, k in parts]
        tops = [None if law.largest is None else k * law.largest for law, k in parts]
        self.bottom = None if any(b is None for b in bottoms) else total([b for b in bottoms if b is not None])
        self.top = None if any(b is None for b in tops) else total([b for b in tops if b is not None])
        self.apart = apart
        self.whole = all(law.reveal.is_zero() for law, _ in parts)
        if apart or not (self.whole and all(law.vanish.is_zero() for law, _ in parts)):
            self.bottom = None  # D(y) = 1 - e^y below the smallest loss only if every outcome is shared

    def period(self, at: Steering, eps: float, goal: float) -> float:
        """The shortest W that keeps both within the goal, by floats."""
        need = -math.log(goal)
        right = min(((near(m) + need) / near(s) for s, m in self.right), default=math.inf) - eps
        if self.top is not None:
            right = min(right, near(self.top) - eps + 1e-9)
        left = min((near(m) + need) / near(s) for s, m in self.left) + eps
        if self.bottom is not None:
            left = min(left, eps - near(self.bottom) + 1e-9)
        if self.whole and not self.apart:  # the unknown part of D(y) is at most e^y
            left = min(left, eps + (need - near(self.log_m)) / (at.theta + 1))
        return 1.02 * max(right, left, at.spread)

    def bounds(self, eps: arb, period: arb) -> tuple[arb, arb, arb]:
        """(right at most, left at most, left at least)."""
        if self.top is not None and eps + period >= self.top:
            right = arb(0)
        else:
            right = least(*[(m - s * (eps + period)).exp() / (1 - (-s * period).exp()) for s, m in self.right])
        left = least(*[(m + s * (eps - period)).exp() / (1 - (-s * period).exp()) for s, m in self.left])
        known = arb(0)
        if self.whole and period > eps:
            x, y = (-self.theta * period).exp(), (-(self.theta + 1) * period).exp()
            size = (self.theta * eps - self.log_m).exp()
            gap = size * eps.exp() * y / (1 - y)
            exact = self.bottom is not None and eps - period <= self.bottom
            left = least(left, hi(size * x / (1 - x) - gap) if exact else hi(size * x / (1 - x)))
            known = arb(0) if self.apart else lo(size * x / (1 - x) - gap)
            known = known if known > 0 else arb(0)
        return right, left, known


def decays(parts: Parts, theta: arb, budget: Budget) -> Decay:
    found = [(law.decay(theta, budget), k) for law, k in parts]

    def bound(u: arb) -> arb:
        result = arb(1)
        for one, k in found:
            result = result * one(u) ** k
        return hi(result)

    return bound


def points_at(law: Law, theta: arb, budget: Budget) -> arb:
    """The share of its points in M(theta)."""
    return total([p * (theta * x).exp() for p, x in law.points]) / law.moment(theta, budget)


def scattered(parts: Parts, theta: arb, budget: Budget) -> Decay:
    """Of prod (A + c)^k - prod A^k: expanded, a sum of products of what is at most in place of each."""
    found = [(points_at(law, theta, budget), law.scattered(theta, budget), k) for law, k in parts]
    points = arb(1)
    for share, _, k in found:
        points = points * hi(share) ** k

    def bound(u: arb) -> arb:
        result = arb(1)
        for share, one, k in found:
            result = result * (hi(share) + one(u)) ** k
        return hi(result - points)

    return bound


def cutoff(bound: Decay, goal: float, start: float, most: float) -> float | None:
    """A frequency beyond which the tail is within the goal: int_U^oo of the bound over u^2."""
    u = start
    while u <= most:
        if float(hi(bound(arb(u)) / (arb.pi() * arb(u)))) <= goal:
            return u
        u *= 1.15
    return None


class Sum:
    """The integrand at the nodes of one line, for every epsilon."""

    def __init__(self, values: list[acb], theta: arb, step: arb, smoothed: bool) -> None:
        self.step, count = step, len(values)
        self.columns = math.isqrt(count - 1) + 1
        self.rows = -(-count // self.columns)
        kernels = [value / (acb(theta, step * j) * acb(theta + 1, step * j)) for j, value in enumerate(values)]
        self._heights = self._matrix(kernels)
        self._densities = self._matrix(values) if smoothed else None

    def _matrix(self, values: list[acb]) -> acb_mat:
        """(step / pi) times the values, half of the first."""
        share = self.step / arb.pi()
        listed = [values[0] * (share / 2), *(value * share for value in values[1:])]
        return acb_mat(self.rows, self.columns, listed + [acb(0)] * (self.rows * self.columns - len(listed)))

    def at(self, eps: arb) -> tuple[arb, arb]:
        """(H, the density) at eps: real parts of sums of values times e^{-i u eps}."""
        turn = -self.step * eps
        right = acb_mat([[acb(0, turn * j).exp()] for j in range(self.columns)])
        left = acb_mat([[acb(0, turn * (self.columns * j)).exp() for j in range(self.rows)]])
        found = (left * (self._heights * right))[0, 0].real
        return found, arb(0) if self._densities is None else (left * (self._densities * right))[0, 0].real


class Line:
    """Sums for one composition, along lines that its questions share."""

    def __init__(self, parts: Parts, smoothing: float | None = None, apart: bool = False) -> None:
        self.parts = [*parts, (Gaussian(arb(smoothing)), 1)] if smoothing else list(parts)
        self.smoothing, self.apart = smoothing, apart
        self._kept = Memory()

    def at(self, eps: arb, accuracy: float, budget: Budget) -> arb:
        """A ball of the divergence without its reveal mass; apart: without the composition of its points, too."""
        at = self._kept.get(("steer", near(eps)), budget, lambda: steer(self.parts, near(eps)))
        if at.theta > STEEPEST_LINE:
            raise Undecided("an epsilon too near the largest loss")
        best: arb | None = None
        for _ in range(4):
            found, size, width = self._once(eps, at, accuracy, budget)
            best = met(best, found)
            if width <= accuracy or self.smoothing:
                break
            at = at._replace(size=size if size > 0 else at.size * 1e-5)
        return best if best is not None else arb("nan")

    def _once(self, eps: arb, at: Steering, accuracy: float, budget: Budget) -> tuple[arb, float, float]:
        goal = scale(max(0.1 * accuracy * at.size, 1e-280), 1)
        bits, theta = ctx.prec, arb(at.theta)
        aliases = self._kept.get(
            ("aliases", bits, at.theta, at.spread), budget, lambda: Aliases(self.parts, at, self.apart, budget)
        )
        bound = self._kept.get(
            ("decay", bits, at.theta), budget,
            lambda: (scattered if self.apart else decays)(self.parts, theta, budget),
        )  # fmt: skip
        w = aliases.period(at, near(eps), goal)
        if not math.isfinite(w):
            raise Undecided("no period")
        w = scale(w, 12, up=True)
        period = arb(w)
        step = 2 * arb.pi() / period
        start = math.sqrt(max(-2 * math.log(goal), 1.0)) / at.spread * 0.8
        last = self._kept.get(
            ("cutoff", bits, at.theta, at.spread, goal, w), budget,
            lambda: cutoff(bound, goal, start, MOST * near(step)),
        )  # fmt: skip
        if last is None:
            raise Undecided("the transform does not decay")
        count = math.ceil(last / near(step)) + 2
        budget.check(FREQUENCY * count * (len(self.parts) + 2))
        sums = self._kept.get(("sum", bits, at.theta, w, count), budget, lambda: self._sum(theta, step, count, budget))
        highest = lo(step * (count - 1))
        tail = hi(bound(highest) / (arb.pi() * highest))
        trapezoid, density = sums.at(eps)
        right, left, known = aliases.bounds(eps, period)
        low, high = trapezoid - tail - right - left, trapezoid + tail - known
        if self.smoothing:
            square = arb(self.smoothing) ** 2
            low = low - hi((square / 8).exp() * (square * density + tail))
        size = (aliases.log_m - theta * eps).exp()
        lower = lo(size * low)
        lower = lower if lower > 0 else arb(0)
        upper = hi(size * high)
        if not upper >= lower:
            raise Undecided("no ball")
        width = float((upper - lower) / upper) if upper > 0 else 0.0
        return between(lower, upper), float(lo(trapezoid)), width

    def _sum(self, theta: arb, step: arb, count: int, budget: Budget) -> Sum:
        budget.spend(FREQUENCY * count * (len(self.parts) + 2))
        product, points = [acb(1)] * count, [acb(1)] * count
        for law, k in self.parts:
            at, values = law.spectrum(theta, step, count, budget)
            product = _times(product, values, k)
            if self.apart:
                alone = [acb(0)] * count
                if law.points:
                    weights = [p * (theta * x).exp() / at for p, x in law.points]
                    alone = waves(weights, [x for _, x in law.points], step, count, budget)
                points = _times(points, alone, k)
        if self.apart:
            product = [a - b for a, b in zip(product, points, strict=True)]
        return Sum(product, theta, step, self.smoothing is not None)


def _times(product: list[acb], values: list[acb], count: int) -> list[acb]:
    """Each times the power of the other."""
    if count == 1:
        return [a * b for a, b in zip(product, values, strict=True)]
    return [a * b**count for a, b in zip(product, values, strict=True)]


def line(parts: Parts, eps: arb, accuracy: float, budget: Budget, smoothing: float | None = None) -> arb:
    """A ball of the divergence of the composition without its reveal mass."""
    return Line(parts, smoothing).at(eps, accuracy, budget)
