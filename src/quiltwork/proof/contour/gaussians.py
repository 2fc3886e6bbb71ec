"""Gaussian noise with mixed means: sampled releases, groups, exchanged records, random sensitivities.

P = sum p_i N(c_i), Q = sum q_j N(-d_j), c, d >= 0, so the loss rises with x (theory/sampling.md sections 1, 3, 6). With
w(x) = sum p_i e^{c_i x - c_i^2/2} and v(x) likewise for Q: M(z) = int n w^{1+z} v^{-z}, a trapezoid sum with a
proven strip.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from flint import acb, arb, ctx

from quiltwork.proof.contour.balls import (
    Budget,
    LayerCake,
    Undecided,
    around,
    hi,
    lo,
    near,
    normal_below,
    normal_density,
    total,
    waves,
)
from quiltwork.proof.contour.law import Decay, Law

HEIGHTS = (0.03, 0.06, 0.12, 0.25, 0.5, 0.8, 1.2, 1.6, 2.0, 2.4, 2.8)
CELLS = 120


class Weights:
    """w(x) = sum_i p_i e^{sign c_i x - c_i^2/2}, c_i >= 0."""

    def __init__(self, parts: Sequence[tuple[arb, arb]], sign: int) -> None:
        self.parts = [(p, c, p * (-(c * c) / 2).exp()) for p, c in parts if not p.is_zero()]
        self.sign = sign
        self.steepest = max((hi(c) for _, c, _ in self.parts), key=float)
        self.still = total([p for p, c, _ in self.parts if c.is_zero()])
        self.trivial = all(c.is_zero() for _, c, _ in self.parts)
        self._logs = np.array([float(near(p.log())) - near(c) ** 2 / 2 for p, c, _ in self.parts])
        self._moves = np.array([near(c) for _, c, _ in self.parts])

    def log(self, x: arb) -> arb:
        if self.trivial:
            return arb(0)
        return total([p * (self.sign * c * x).exp() for _, c, p in self.parts]).log()

    def slope(self, x: arb) -> arb:
        """|d log w / dx|: the mean of c under the weights at x; rises with sign x."""
        sizes = [p * (self.sign * c * x).exp() for _, c, p in self.parts]
        return total([s * c for s, (_, c, _) in zip(sizes, self.parts, strict=True)]) / total(sizes)

    def turn(self, x: arb, y: arb) -> arb:
        """|arg w(x + iy)| for 0 < c y < pi: within [0, c_max y], rising with sign x."""
        if self.trivial:
            return arb(0)
        half = self.steepest * y / 2
        turned = total([acb(0, c * y - half).exp() * (p * (self.sign * c * x).exp()) for _, c, p in self.parts], acb(0))
        return arb.atan2(turned.imag, turned.real) + half

    def roughly(self, x: np.ndarray) -> np.ndarray:
        return np.asarray(np.logaddexp.reduce(self._logs[:, None] + self.sign * self._moves[:, None] * x, axis=0))

    def turn_roughly(self, x: np.ndarray, y: float) -> np.ndarray:
        sizes = self._logs[:, None] + self.sign * self._moves[:, None] * x
        sizes = np.exp(sizes - sizes.max(axis=0))
        half = self._moves.max() * y / 2
        angles = (self._moves * y - half)[:, None]
        return np.asarray(np.arctan2((sizes * np.sin(angles)).sum(axis=0), (sizes * np.cos(angles)).sum(axis=0)) + half)


class Plan(NamedTuple):
    """Where to put nodes; found by floats, certified afterwards."""

    low: float
    high: float
    height: float
    step: float
    size: float  # about log M
    ends: tuple[float, float]  # of the strip


class MovedGaussians(Law):
    """One release; give the means of Q as their distances to the left."""

    def __init__(self, first: Sequence[tuple[arb, arb]], second: Sequence[tuple[arb, arb]]) -> None:
        self.w, self.v = Weights(first, 1), Weights(second, -1)
        if self.v.trivial and self.w.still > 0:
            self.smallest = self.w.still.log()
        if self.w.trivial and self.v.still > 0:
            self.largest = -self.v.still.log()
        self._plans: dict[tuple[float, float, int], Plan] = {}

    # steering

    def _curve(self, t: float, x: np.ndarray) -> np.ndarray:
        return np.asarray((1 + t) * self.w.roughly(x) - t * self.v.roughly(x))

    def _reach(self, t: float, more: float = 0.0) -> tuple[np.ndarray, np.ndarray]:
        """Where the tilted law is above 2^-prec e^-more."""
        far = math.sqrt(2 * (math.log(2) * ctx.prec + more)) + 2
        right = (1 + t) * near(self.w.steepest) + (0.0 if self.v.still > 0 else t * near(self.v.steepest))
        x = np.linspace(-far - self._left(t), right + far, 3001)
        return x, self._curve(t, x)

    def _left(self, t: float) -> float:
        """Where v^{-t} is largest for x far right it is 1/still^t; a left end a little further costs nothing."""
        return math.sqrt(2 * t * abs(math.log(max(near(self.v.still), 1e-300)))) if self.v.still > 0 else 0.0

    def _furthest(self, t: float) -> float:
        """The last node lies beyond the slope of the right tail."""
        slope = (1 + t) * near(self.w.steepest)
        if not self.v.trivial and not self.v.still > 0:
            slope += t * near(self.v.steepest)
        return slope + 0.1

    def _heights(self, widest: float) -> list[float]:
        return [height / widest for height in HEIGHTS]

    def _lift(self, y: float) -> float:
        """log of what a cut-off grows by at height y; nothing is cut here."""
        return 0.0

    # a cut-off of the law in x: its value, bounds on cells

    def _kept(self, x: arb) -> arb:
        return arb(1)

    def _kept_most(self, a: arb, b: arb) -> arb:
        return arb(1)

    def _kept_least(self, a: arb, b: arb) -> arb:
        return arb(1)

    def _kept_lift(self, y: arb) -> arb:
        return arb(1)

    def rough(self, t: float) -> float:
        x, g = self._reach(t)
        f = g - x * x / 2
        top = f.max()
        return float(top + math.log(np.exp(f - top).sum() * (x[1] - x[0]) / math.sqrt(2 * math.pi)))

    def _plan(self, t: float, u: float) -> Plan:
        key = (t, u, ctx.prec)
        if key in self._plans:
            return self._plans[key]
        x, g = self._reach(t)
        f = g - x * x / 2
        size = self.rough(t)
        need = math.log(2) * (ctx.prec - 8)
        inside = np.flatnonzero(f > size - need - 6)
        low, high = float(x[max(inside[0] - 1, 0)]), float(x[min(inside[-1] + 1, len(x) - 1)])
        low, high = min(low, -1.0), max(high, self._furthest(t))
        best = (0.0, 1.0, (low, high))
        widest = max(near(self.w.steepest), near(self.v.steepest))
        for y in self._heights(widest):
            x, g = self._reach(t, u * y * widest)
            turns = self.w.turn_roughly(x, y) + self.v.turn_roughly(x, y)
            exponent = g - x * x / 2 + u * turns
            top = exponent.max()
            bound = top + math.log(np.exp(exponent - top).sum() * (x[1] - x[0])) + y * y / 2 - size + self._lift(y)
            if not self.v.trivial:
                bound -= t * math.log(math.cos(near(self.v.steepest) * y / 2))
            step = 2 * math.pi * y / (max(bound, 0.0) + need + 5)
            best = max(best, (step, y, (min(low, float(x[0])), max(high, float(x[-1])))))
        plan = Plan(low, high, best[1], min(best[0], 0.5), size, best[2])
        self._plans[key] = plan
        return plan

    # certified

    def _left_tail(self, t: arb, x: arb) -> arb:
        """int of n w^{1+t} v^{-t} left of x; w^{1+t} v^{-t} rises."""
        return ((1 + t) * self.w.log(x) - t * self.v.log(x)).exp() * normal_below(x)

    def _right_tail(self, t: arb, x: arb) -> arb:
        """Right of x: w grows by at most e^{c_max}, 1/v likewise, or to 1/still; needs x beyond the slope."""
        at = (1 + t) * self.w.log(x) - t * self.v.log(x)
        slope = (1 + t) * self.w.steepest
        if self.v.trivial:
            pass
        elif self.v.still > 0:
            at += t * (self.v.log(x) - self.v.still.log())
        else:
            slope += t * self.v.steepest
        if not x >= slope:
            raise Undecided("the last node does not reach where the tilt moves the mass")
        return (at + slope * slope / 2 - slope * x).exp() * normal_below(slope - x)

    def _strip(self, t: arb, u: arb, plan: Plan) -> arb:
        """At least int |f(x + iy)| dx / e^{size} for both signs of y and every |Im z| <= u (upper Riemann sums)."""
        y, size = arb(plan.height), arb(plan.size)
        if not (y * self.w.steepest < arb.pi() and y * self.v.steepest < arb.pi()):
            raise Undecided("strip")
        # the turn of w times u may not change much within a cell
        cells = min(CELLS + int(near(u) * plan.height * max(near(self.w.steepest), near(self.v.steepest))), 6000)
        start, end = plan.ends
        edges = [start + (end - start) * j / cells for j in range(cells + 1)]
        grown = [(1 + t) * self.w.log(arb(x)) - t * self.v.log(arb(x)) - size for x in edges]
        right = [self.w.turn(arb(x), y) for x in edges]
        left = [self.v.turn(arb(x), y) for x in edges]
        result = arb(0)
        for j in range(cells):
            a, b = edges[j], edges[j + 1]
            closest = 0.0 if a <= 0 <= b else min(abs(a), abs(b))
            exponent = grown[j + 1] + u * (right[j + 1] + left[j]) - arb(closest) ** 2 / 2
            result += exponent.exp() * (arb(b) - arb(a)) * self._kept_most(arb(a), arb(b))
        result /= (2 * arb.pi()).sqrt()
        low, high = arb(edges[0]), arb(edges[-1])
        result += (u * (right[0] + self.v.steepest * y) - size).exp() * self._left_tail(t, low)
        result += (u * (self.w.steepest * y + left[-1]) - size).exp() * self._right_tail(t, high)
        if not self.v.trivial:  # |v(x + iy)| >= v(x) cos(d_max y / 2)
            result *= (-t * (self.v.steepest * y / 2).cos().log()).exp()
        return hi(result * (y * y / 2).exp() * self._kept_lift(y))

    def table(self, t: arb, u: arb, budget: Budget, count: int = 1) -> tuple[list[arb], list[arb], arb, arb]:
        """Weights and losses of the nodes, both over e^{size}; the error for every |Im z| <= u; size."""
        plan = self._plan(near(t), near(u))
        step, size = arb(plan.step), arb(plan.size)
        first, last = math.floor(plan.low / plan.step), math.ceil(plan.high / plan.step)
        budget.check((last - first + 1) * count)
        budget.spend(20 * (last - first + 1 + 6 * CELLS))
        scale = step / (2 * arb.pi()).sqrt()
        weights, losses = [], []
        for i in range(first, last + 1):
            x = step * i
            over, under = self.w.log(x), self.v.log(x)
            weights.append(((1 + t) * over - t * under - x * x / 2 - size).exp() * scale * self._kept(x))
            losses.append(over - under)
        strip = 2 * self._strip(t, u, plan) / ((2 * arb.pi() * arb(plan.height) / step).exp() - 1)
        if not step * first < 0:
            raise Undecided("nodes")
        beyond = (self._left_tail(t, step * first) + self._right_tail(t, step * last)) * (-size).exp()
        return weights, losses, hi(strip + beyond), size

    def _moment(self, t: arb, budget: Budget) -> arb:
        weights, _, error, size = self.table(t, arb(0), budget)
        return (total(weights) + arb(0, error)) * size.exp()

    def spectrum(self, theta: arb, step: arb, count: int, budget: Budget) -> tuple[arb, list[acb]]:
        weights, losses, error, size = self.table(theta, hi(step * count), budget, count)
        at = total(weights) + arb(0, error)
        if not at > 0:
            raise Undecided("a moment is not surely positive")
        ball, below = around(error), acb(at)
        found = [(value + ball) / below for value in waves(weights, losses, step, count, budget)]
        return at * size.exp(), [acb(1), *found[1:]]

    def decay(self, theta: arb, budget: Budget) -> Decay:
        return LayerCake([self._cells(theta, budget)]).above

    def _cells(self, theta: arb, budget: Budget) -> list[tuple[arb, arb]]:
        """Lower ends of the tilted density of the loss, and of its cells."""
        x, g = self._reach(near(theta))
        f = g - x * x / 2
        inside = np.flatnonzero(f > f.max() - 14)
        low, high = float(x[inside[0]]), float(x[inside[-1]])
        edges = [low + (high - low) * j / CELLS for j in range(CELLS + 1)]
        budget.spend(4 * CELLS)
        at = self.moment(theta, budget).log()
        over, under = [self.w.log(arb(x)) for x in edges], [self.v.log(arb(x)) for x in edges]
        cells = []
        for j in range(CELLS):
            a, b = edges[j], edges[j + 1]
            farthest = arb(max(abs(a), abs(b)))
            slope = self.w.slope(arb(b)) + self.v.slope(arb(a))
            density = normal_density(farthest) * ((1 + theta) * over[j] - theta * under[j] - at).exp() / slope
            density *= self._kept_least(arb(a), arb(b))
            cells.append((lo(density), lo(over[j + 1] - under[j + 1] - over[j] + under[j])))
        return cells
