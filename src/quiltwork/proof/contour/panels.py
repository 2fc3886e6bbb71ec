"""Laws that are smooth on a few panels: sampled Laplace noise, its groups, exchanged records, batches of fixed size.

Panels are integrated by Arb's adaptive Gauss-Legendre rule, which is rigorous for functions that say where they are
analytic. Loss and densities rise or fall on each panel, which gives layer cakes.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from flint import acb, arb, ctx

from quiltwork.proof.contour.balls import (
    Budget,
    LayerCake,
    around,
    exact,
    hi,
    lo,
    near,
    normal_below,
    normal_density,
    total,
)
from quiltwork.proof.contour.law import Decay, Explicit

CELLS = 60
INTEGRAL = 50_000  # products of balls that one integral is counted as


class Panels(Explicit):
    """M(z) = atoms + integrals."""

    def moment(self, t: arb, budget: Budget) -> arb:
        budget.spend(INTEGRAL)
        return self.transform(acb(t)).real

    def spectrum(self, theta: arb, step: arb, count: int, budget: Budget) -> tuple[arb, list[acb]]:
        budget.spend(INTEGRAL * count)
        return super().spectrum(theta, step, count, budget)

    def groups(self, theta: arb) -> list[list[tuple[arb, arb]]]:
        """Cells of the untilted scale: (density of e^{theta l} dP from below, width from below)."""
        raise NotImplementedError

    def decay(self, theta: arb, budget: Budget) -> Decay:
        at = self.moment(theta, budget)
        budget.spend(10 * CELLS)
        return LayerCake([[(lo(d / at), w) for d, w in cells] for cells in self.groups(theta)]).above


class MovedLaplaces(Panels):
    """P = sum p_i Lap(c_i), Q = sum q_j Lap(-d_j), unit scale, c, d >= 0.

    Outside all centres the ratio is constant; between two neighbours both densities are a e^x + b e^{-x}.
    """

    def __init__(self, first: Sequence[tuple[arb, Fraction]], second: Sequence[tuple[arb, Fraction]]) -> None:
        self.edges = [exact(c) for c in sorted({c for _, c in first} | {-d for _, d in second})]
        over, under = [(p, exact(c)) for p, c in first], [(q, exact(-d)) for q, d in second]
        self.over = [self._panel(over, j) for j in range(len(self.edges) - 1)]
        self.under = [self._panel(under, j) for j in range(len(self.edges) - 1)]
        low, high = self.edges[0], self.edges[-1]
        left = [total([p * (low - c).exp() / 2 for p, c in law]) for law in (over, under)]
        right = [total([p * (c - high).exp() / 2 for p, c in law]) for law in (over, under)]
        self.ends = [(left[0], (left[0] / left[1]).log()), (right[0], (right[0] / right[1]).log())]
        self.smallest, self.largest = self.ends[0][1], self.ends[1][1]
        self._float = self._floats()

    def _panel(self, law: list[tuple[arb, arb]], j: int) -> tuple[arb, arb]:
        """Coefficients of e^x and e^{-x} between edges j and j + 1."""
        middle = (near(self.edges[j]) + near(self.edges[j + 1])) / 2
        rising = total([p * (-c).exp() / 2 for p, c in law if near(c) > middle])
        falling = total([p * c.exp() / 2 for p, c in law if near(c) < middle])
        return rising, falling

    def transform(self, z: acb) -> acb:
        result = total([acb(p) * (z * x).exp() for p, x in self.ends], acb(0))
        for j, ((a, b), (c, d)) in enumerate(zip(self.over, self.under, strict=True)):

            def density(x: acb, analytic: bool, a: arb = a, b: arb = b, c: arb = c, d: arb = d) -> acb:
                up, down = x.exp(), (-x).exp()
                over = (up * a + down * b).log(analytic=analytic)
                under = (up * c + down * d).log(analytic=analytic)
                return ((1 + z) * over - z * under).exp()

            result += acb.integral(density, acb(self.edges[j]), acb(self.edges[j + 1]))
        return result

    def groups(self, theta: arb) -> list[list[tuple[arb, arb]]]:
        cells = []
        for j, ((a, b), (c, d)) in enumerate(zip(self.over, self.under, strict=True)):
            start, end = self.edges[j], self.edges[j + 1]
            xs = [start + (end - start) * i / CELLS for i in range(CELLS + 1)]
            ups, downs = [x.exp() for x in xs], [(-x).exp() for x in xs]
            over = [a * u + b * v for u, v in zip(ups, downs, strict=True)]
            under = [c * u + d * v for u, v in zip(ups, downs, strict=True)]
            loss = [(f / g).log() for f, g in zip(over, under, strict=True)]
            for i in range(CELLS):
                # (a e^x - b e^-x)/(a e^x + b e^-x) rises, so its right end less that of Q at the left
                slope = (a * ups[i + 1] - b * downs[i + 1]) / over[i + 1] - (c * ups[i] - d * downs[i]) / under[i]
                smallest = a * ups[i] + b * downs[i + 1]
                cells.append((lo(smallest * (theta * loss[i]).exp() / slope), lo(loss[i + 1] - loss[i])))
        return [cells]

    def _floats(self) -> tuple[np.ndarray, np.ndarray]:
        masses, losses = [near(p) for p, _ in self.ends], [near(x) for _, x in self.ends]
        points, weights = np.polynomial.legendre.leggauss(24)
        for j, ((a, b), (c, d)) in enumerate(zip(self.over, self.under, strict=True)):
            low, high = near(self.edges[j]), near(self.edges[j + 1])
            x = (low + high) / 2 + (high - low) / 2 * points
            over = near(a) * np.exp(x) + near(b) * np.exp(-x)
            under = near(c) * np.exp(x) + near(d) * np.exp(-x)
            masses += list(over * weights * (high - low) / 2)
            losses += list(np.log(over / under))
        return np.array(masses), np.array(losses)

    def rough(self, t: float) -> float:
        masses, losses = self._float
        top = float((t * losses).max())
        return top + math.log((masses * np.exp(t * losses - top)).sum())


class FixedSizeGaussian(Panels):
    """A batch of fixed size, one record exchanged: the pair of sampling made symmetric (theory/sampling.md section 4).

    L > 0 (x > s/2) as the record removed, mirrored with e^{-l} below 0, the rest an atom at 0.
    """

    def __init__(self, move: arb, rate: arb) -> None:
        self.move, self.rate = move, rate
        self.start = move / 2
        above, without = normal_below(move / 2), normal_below(-move / 2)
        self.rest = 1 - (1 - rate) * without - rate * above - without

    def _log(self, x: arb) -> arb:
        return (1 - self.rate + self.rate * (self.move * x - self.move**2 / 2).exp()).log()

    def _end(self, t: float) -> float:
        return (1 + t) * near(self.move) + math.sqrt(2 * math.log(2) * ctx.prec) + 2

    def transform(self, z: acb) -> acb:
        end = arb(self._end(near(z.real)))
        scale = 1 / (2 * arb.pi()).sqrt()

        def density(x: acb, analytic: bool) -> acb:
            log = (acb(1 - self.rate) + (x * self.move - self.move**2 / 2).exp() * self.rate).log(analytic=analytic)
            return (((1 + z) * log).exp() + (-z * log).exp()) * (-(x * x) / 2).exp() * scale

        slope = (1 + z.real) * self.move
        beyond = ((1 + z.real) * self._log(end) + slope * slope / 2 - slope * end).exp() * normal_below(slope - end)
        beyond += normal_below(-end)  # w^{-theta} <= 1 there
        return acb.integral(density, acb(self.start), acb(end)) + acb(self.rest) + around(beyond)

    def groups(self, theta: arb) -> list[list[tuple[arb, arb]]]:
        start = self.start
        end = arb(near(start) + max(6.0, (1 + near(theta)) * near(self.move) + 5))
        xs = [start + (end - start) * i / CELLS for i in range(CELLS + 1)]
        logs = [self._log(x) for x in xs]
        up, down = [], []
        for i in range(CELLS):
            slope = self.move * (self.rate.log() + self.move * xs[i + 1] - self.move**2 / 2 - logs[i + 1]).exp()
            base, width = normal_density(xs[i + 1]) / slope, lo(logs[i + 1] - logs[i])
            up.append((lo(base * ((1 + theta) * logs[i]).exp()), width))
            down.append((lo(base * (-theta * logs[i + 1]).exp()), width))
        return [up, down]

    def rough(self, t: float) -> float:
        s, q = near(self.move), near(self.rate)
        x = np.linspace(s / 2, self._end(t), 3001)
        log = np.logaddexp(math.log1p(-q), math.log(q) + s * x - s * s / 2)
        f = np.logaddexp((1 + t) * log, -t * log) - x * x / 2
        top = max(float(f.max()), 0.0)
        mass = np.exp(f - top).sum() * (x[1] - x[0]) / math.sqrt(2 * math.pi) + near(self.rest) * math.exp(-top)
        return top + math.log(mass)


class FixedSizeLaplace(Panels):
    """The same for Laplace noise: the panel [s/2, s], atoms at the largest losses and at 0."""

    def __init__(self, move: arb, rate: arb) -> None:
        self.move, self.rate = move, rate
        half = (-move / 2).exp() / 2  # Q(x > s/2) of unit Laplace noise
        top = (1 - rate + rate * move.exp()).log()
        last = (-move).exp() / 2
        self.largest, self.smallest = top, -top
        self.ends = [(last * top.exp(), top), (last, -top)]
        self.rest = 1 - (1 - rate) * half - rate * (1 - half) - half

    def transform(self, z: acb) -> acb:
        q, s = self.rate, self.move

        def density(x: acb, analytic: bool) -> acb:
            log = (acb(1 - q) + (2 * x - s).exp() * q).log(analytic=analytic)
            return (((1 + z) * log).exp() + (-z * log).exp()) * (-x).exp() / 2

        ends = total([acb(p) * (z * x).exp() for p, x in self.ends], acb(self.rest))
        return ends + acb.integral(density, acb(s / 2), acb(s))

    def groups(self, theta: arb) -> list[list[tuple[arb, arb]]]:
        xs = [self.move / 2 * (1 + exact(i) / CELLS) for i in range(CELLS + 1)]
        sizes = [(2 * x - self.move).exp() * self.rate for x in xs]
        logs = [(1 - self.rate + size).log() for size in sizes]
        up, down = [], []
        for i in range(CELLS):
            slope = 2 * sizes[i + 1] / logs[i + 1].exp()
            base, width = (-xs[i + 1]).exp() / 2 / slope, lo(logs[i + 1] - logs[i])
            up.append((lo(base * ((1 + theta) * logs[i]).exp()), width))
            down.append((lo(base * (-theta * logs[i + 1]).exp()), width))
        return [up, down]

    def rough(self, t: float) -> float:
        s, q = near(self.move), near(self.rate)
        x = np.linspace(s / 2, s, 401)
        log = np.log1p(-q + q * np.exp(2 * x - s))
        with np.errstate(over="ignore"):  # a tilt too steep is then passed over
            f = (np.exp((1 + t) * log) + np.exp(-t * log)) * np.exp(-x) / 2
        top = near(hi(self.ends[0][1]))
        ends = near(self.ends[0][0]) * math.exp(t * top) + near(self.ends[1][0]) * math.exp(-t * top) + near(self.rest)
        return math.log(ends + float(np.trapezoid(f, x)))
