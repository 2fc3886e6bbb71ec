"""One of t steps with Gaussian noise: the law of a mean of lognormal ratios, by an integral of Arb along two rays.

S = (X_1 + ... + X_t)/t with X = e^(s x - s^2/2) under Q.  D of removing is E(S - tau)+ = 1 - tau + G(tau), D of adding
E(1 - tau S)+ = tau G(1/tau), tau = e^eps, with

    G(v) = E(v - S)+ = (1/pi) Im int_0^oo e^(zv) Lam(z/t)^t z^-2 dz,   z = c + r e^(i phi),   c > 0, phi in [pi/2, pi),

Lam(z) = E e^(-zX) analytic off (-oo, 0].  With the path of x moved down by b/s, Lam(z) is the integral of
n(x - i b/s) exp(-z e^(-ib) e^(s x - s^2/2)), so |Lam(z)| <= e^(b^2/2s^2) Lam(|z| cos(arg z - b)): this bounds the error
of the trapezoid rule in x, and what lies beyond the end of the ray.

Reference: theory/sampling.md section 7.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from flint import acb, arb

from quiltwork.proof.contour.balls import Undecided, around, between, exact, hi, lo, near, normal_below, precision

BITS = (128, 256)
MAX_STEPS = 10**6
EVALUATIONS = 20_000
ENOUGH = 1e-13
FAINT = 250
FOLLOWED = 0.6  # how much of the turn of z the path of x takes
TURNS = 64  # of the path of x, in a half circle
BENDS = (0.5, 0.5625, 0.625, 0.6875, 0.75)  # of the ray, in half circles


Table = tuple[arb, arb, list[tuple[acb, arb]], arb, arb]


class Mean:
    """The mean of t ratios by Lam of one."""

    def __init__(self, shift: arb, steps: int, bits: int) -> None:
        self.s, self.steps, self.digits = shift, steps, bits * math.log(2)
        self.float = near(shift)
        self._tables: dict[int, Table] = {}
        x = np.linspace(-14.0, 14.0, 2801)
        self._rough = (
            math.log((x[1] - x[0]) / math.sqrt(2 * math.pi)) - x * x / 2,
            np.exp(self.float * x - self.float**2 / 2),
        )

    def rough(self, size: float) -> float:
        """log Lam at a point of the positive axis, by floats."""
        weights, ratios = self._rough
        return float(np.logaddexp.reduce(weights - size * ratios))

    def above(self, size: arb) -> arb:
        """At least Lam(size), size > 0: on each cell of x the ratio is at least that of the left end."""
        edges = [arb(j) / 25 for j in range(-350, 351)]
        tails = [normal_below(-x) for x in edges]
        total = 1 - tails[0]
        for x, here, there in zip(edges[:-1], tails[:-1], tails[1:], strict=True):
            total += (here - there) * (-size * (self.s * x - self.s**2 / 2).exp()).exp()
        return hi(total + tails[-1])

    def _table(self, place: int) -> Table:
        """One turn b of the path: the step, weights and ratios at the nodes, what lies beyond them."""
        if place not in self._tables:
            b = arb.pi() * place / TURNS
            depth = math.pi * (0.46 - abs(place) / TURNS * (1 / FOLLOWED - 1)) / self.float
            lift = (abs(near(b)) / self.float + depth) ** 2 / 2
            step = 2 * math.pi * depth / (self.digits + lift + 4)
            h, count = arb(step), math.ceil(math.sqrt(2 * (self.digits + 2)) / step) + 1
            grown = (b * b / (2 * self.s**2)).exp()
            scale = h * grown / (2 * arb.pi()).sqrt()
            nodes = [
                (
                    acb(0, h * k * b / self.s).exp() * (scale * (-((h * k) ** 2) / 2).exp()),
                    (self.s * h * k - self.s**2 / 2).exp(),
                )
                for k in range(-count, count + 1)
            ]
            self._tables[place] = b, h, nodes, grown, 2 * normal_below(-h * count) * grown
        return self._tables[place]

    def _strip(self, b: arb, depth: arb, h: arb) -> arb:
        """The error of the trapezoid rule: the integrals of |integrand| along both sides of the strip."""
        return 2 * ((abs(b) / self.s + depth) ** 2 / 2).exp() / (2 * arb.pi() * depth / h).expm1()

    def laplace(self, z: acb) -> acb:
        """Lam on a ball of the plane cut along the negative axis; not finite where the ball is too wide."""
        if not (z.real > 0 or z.imag > 0 or z.imag < 0):
            return acb("nan")
        turn = z.arg()
        b, h, nodes, grown, beyond = self._table(round(FOLLOWED * near(turn) / math.pi * TURNS))
        inside = z * acb(0, -b).exp()
        left = lo((arb.pi() / 2 - abs(turn - b)) / self.s)
        # the strip in which |exp(-z X)| <= 1, and not so deep that the normal density grows more than it helps
        depth = lo(left.min(2 * arb.pi() / h - abs(b) / self.s))
        if not (inside.real > 0 and depth > 0):
            return acb("nan")
        total, least, error = acb(0), lo(inside.real), beyond
        for weight, ratio in nodes:
            if least * ratio > FAINT:  # and all further to the right
                error += 2 * grown * arb(-FAINT).exp()
                break
            total += weight * (-inside * ratio).exp()
        error += self._strip(b, depth, h)
        wide = arb(0, hi(error))
        return total + acb(wide, wide)

    def short(self, v: arb) -> arb:
        """A ball of G(v) = E(v - S)+."""
        start, bend, last, followed = self._steered(near(v))
        c, phi, end = arb(start), arb.pi() * arb(bend), arb(last)
        along = acb(0, phi).exp()

        def integrand(r: acb, _: bool) -> acb:
            z = c + r * along
            return (z * v).exp() * self.laplace(z / self.steps) ** self.steps / (z * z) * along

        value = acb.integral(
            integrand, 0, end, rel_tol=arb(2) ** -round(0.8 * self.digits / math.log(2)), eval_limit=EVALUATIONS
        ).imag
        return (value + around(self._tail(c, bend, end, followed, v)).real) / arb.pi()

    def _tail(self, c: arb, bend: float, end: arb, followed: float, v: arb) -> arb:
        """What lies beyond the end of a ray, where arg z rises to phi and |z| rises."""
        phi = arb.pi() * arb(bend)
        along = acb(0, phi).exp()
        z = c + end * along
        b, size = arb(followed), abs(z)
        if not (z.arg() >= b and phi - b < arb.pi() / 2):
            raise Undecided("the end of a ray")
        grown = self.steps * (b * b / (2 * self.s**2) + self.above(size * (phi - b).cos() / self.steps).log())
        if not (bend >= 0.5 and end >= c):
            raise Undecided("the bend of a ray")
        # |z| >= r sin(phi)
        return hi((grown + (c + end * phi.cos().min(arb(0))) * v).exp() / (end * phi.sin() ** 2))

    def _steered(self, v: float) -> tuple[float, float, float, float]:
        """(c, phi in half circles, where the ray ends, b for what lies beyond): the shortest of a few, by floats."""
        starts = np.geomspace(1e-3 / v, 1e4 * self.steps, 200)
        heights = [c * v + self.steps * self.rough(c / self.steps) - 2 * math.log(c) for c in starts]
        at = int(np.argmin(heights))
        c, goal = float(starts[at]), heights[at] - 0.9 * self.digits
        best: tuple[float, float, float, float] | None = None
        for bend in BENDS:
            phi = math.pi * bend
            for share in np.linspace(0.05, 0.95, 19):
                b = share * phi
                if phi - b >= 0.48 * math.pi:
                    continue
                ends = c * np.geomspace(1.05, 1e5, 120)
                for end in ends[: None if best is None else int(np.searchsorted(ends, best[2]))]:
                    z = complex(c + end * math.cos(phi), end * math.sin(phi))
                    if math.atan2(z.imag, z.real) < b:
                        continue
                    lost = b * b / (2 * self.float**2) + self.rough(abs(z) * math.cos(phi - b) / self.steps)
                    if self.steps * lost + z.real * v - math.log(end) < goal:
                        best = c, bend, float(end), b
                        break
        if best is None:
            raise Undecided("a mean of ratios with too long a ray")
        return best


def one_epoch(move: Fraction, steps: int, removed: bool, eps: arb) -> arb:
    """D of one of `steps` steps of Gaussian noise whose mean moves by `move` deviations."""
    if not (move > 0 and 1 <= steps <= MAX_STEPS):
        raise Undecided("random allocation of this size")
    found = arb("nan")
    for bits in BITS:
        with precision(bits):
            mean, tau = Mean(exact(move), steps, bits), eps.exp()
            found = 1 - tau + mean.short(tau) if removed else tau * mean.short(1 / tau)
            if found > 0 and found.rad() < ENOUGH * found.mid():
                break
    lower = lo(found)
    return between(lower if lower > 0 else arb(0), hi(found))
