"""The contour sum in balls.

D(eps) = e^{K - theta eps} H, H = (1/2 pi) int phi(u) e^{-iu eps}/((theta+iu)(theta+1+iu)) du.

The trapezoid sum of step 2 pi/W is sum_m H(eps + mW), all terms >= 0 (Poisson summation), so
T - tail - right - left <= H <= T + tail - left', with Chernoff bounds of the aliases and left' what is known of
the left ones (D(y) >= 1 - e^y). Where nothing decays one more Gaussian of size mu is composed:
D_{S+Y} - gap <= D_S <= D_{S+Y}, gap = mu^2 e^{mu^2/8} times the density of S + Y at eps (theory/proof.md section 3).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from flint import acb, arb

from quiltwork.proof.contour.balls import Budget, Undecided, between, hi, least, lo, met, near, total, waves
from quiltwork.proof.contour.law import Decay, Gaussian, Law

Parts = Sequence[tuple[Law, int]]
MOST = 60_000  # frequencies


class Steering(NamedTuple):
    theta: float
    mean: float
    spread: float
    size: float  # of H


def log_moment(parts: Parts, t: arb, budget: Budget) -> arb:
    return total([k * law.moment(t, budget).log() for law, k in parts])


def rough(parts: Parts, t: float) -> float:
    return float(sum(k * law.rough(t) for law, k in parts))


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
    for _ in range(10):
        if left < right:
            b, d, right = d, c, left
            c = b - ratio * (b - a)
            left = height(c)
        else:
            a, c, left = c, d, right
            d = a + ratio * (b - a)
            right = height(d)
    theta = math.exp((a + b) / 2)
    small = 0.03 * min(1.0, theta)
    below, here, above = (rough(parts, theta + s) for s in (-small, 0.0, small))
    spread = math.sqrt(max((above + below - 2 * here) / small**2, 1e-12))
    size = 0.3 / ((theta + 1 / spread) * (theta + 1 + 1 / spread) * spread)
    return Steering(theta, (above - below) / (2 * small), spread, size)


class Aliases:
    """What the neighbouring periods can add."""

    def __init__(self, parts: Parts, at: Steering, goal: float, budget: Budget) -> None:
        self.theta = arb(at.theta)
        self.log_m = log_moment(parts, self.theta, budget)
        self.right: list[tuple[arb, arb]] = []
        self.left: list[tuple[arb, arb]] = [(self.theta, -self.log_m)]
        th = self.theta
        peak = th * (th / (1 + th)).log() - (1 + th).log()  # log of max e^{-theta y}(1 - e^{-y})
        reach = math.sqrt(2 * math.log(1 / goal)) / at.spread
        for share in (0.02, 0.05, 0.12, 0.3, 0.6, 1.0):
            s = arb(reach * share)
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
        self.whole = all(law.reveal.is_zero() for law, _ in parts)
        if not (self.whole and all(law.vanish.is_zero() for law, _ in parts)):
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
        if self.whole:  # the unknown part of D(y) is at most e^y
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
            scale = (self.theta * eps - self.log_m).exp()
            gap = scale * eps.exp() * y / (1 - y)
            known = lo(scale * x / (1 - x) - gap)
            exact = self.bottom is not None and eps - period <= self.bottom
            left = least(left, hi(scale * x / (1 - x) - gap) if exact else hi(scale * x / (1 - x)))
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


def cutoff(bound: Decay, goal: float, start: float, most: float) -> float | None:
    """A frequency beyond which the tail is within the goal."""
    u = start
    while u <= most:
        if float(hi(bound(arb(u)) / (arb.pi() * arb(u)))) <= goal:
            return u
        u *= 1.15
    return None


def line(parts: Parts, eps: arb, accuracy: float, budget: Budget, smoothing: float | None = None) -> arb:
    """A ball of the divergence of the composition without its reveal mass."""
    parts = [*parts, (Gaussian(arb(smoothing)), 1)] if smoothing else list(parts)
    at = steer(parts, near(eps))
    best: arb | None = None
    for _ in range(4):
        found, size, width = _once(parts, eps, at, accuracy, budget, smoothing)
        best = met(best, found)
        if width <= accuracy or smoothing:
            break
        at = at._replace(size=size if size > 0 else at.size * 1e-5)
    return best if best is not None else arb("nan")


def _once(
    parts: Parts, eps: arb, at: Steering, accuracy: float, budget: Budget, smoothing: float | None
) -> tuple[arb, float, float]:
    goal = max(0.1 * accuracy * at.size, 1e-280)
    aliases = Aliases(parts, at, goal, budget)
    theta = aliases.theta
    w = aliases.period(at, near(eps), goal)
    if not math.isfinite(w):
        raise Undecided("no period")
    period = arb(w)
    step = 2 * arb.pi() / period
    bound = decays(parts, theta, budget)
    last = cutoff(bound, goal, math.sqrt(-2 * math.log(goal)) / at.spread * 0.8, MOST * near(step))
    if last is None:
        raise Undecided("the transform does not decay")
    count = math.ceil(last / near(step)) + 2
    budget.spend(count * (len(parts) + 2))
    product: list[acb] = [acb(1)] * count
    for law, k in parts:
        _, values = law.spectrum(theta, step, count, budget)
        product = [a * b**k for a, b in zip(product, values, strict=True)]
    highest = lo(step * (count - 1))
    tail = hi(bound(highest) / (arb.pi() * highest))
    turns = waves([arb(1)], [-eps], step, count, budget)
    sums = [value * turn for value, turn in zip(product, turns, strict=True)]
    kernels = [(acb(theta, step * j) * acb(theta + 1, step * j)) for j in range(count)]
    terms = [(value / kernel).real for value, kernel in zip(sums, kernels, strict=True)]
    trapezoid = (total(terms) - terms[0] / 2) * step / arb.pi()
    right, left, known = aliases.bounds(eps, period)
    low, high = trapezoid - tail - right - left, trapezoid + tail - known
    if smoothing:
        square = arb(smoothing) ** 2
        reals = [value.real for value in sums]
        density = (total(reals) - reals[0] / 2) * step / arb.pi()
        low = low - hi((square / 8).exp() * (square * density + tail))
    scale = (aliases.log_m - theta * eps).exp()
    lower = lo(scale * low)
    lower = lower if lower > 0 else arb(0)
    upper = hi(scale * high)
    if not upper >= lower:
        raise Undecided("no ball")
    size = float(lo(trapezoid))
    width = float((upper - lower) / upper) if upper > 0 else 0.0
    return between(lower, upper), size, width
