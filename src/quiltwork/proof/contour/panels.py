"""Laws that are smooth on a few panels: sampled Laplace noise, its groups, exchanged records, batches of fixed size.

M(z) = points + integrals by Gauss and Legendre's rule on pieces of panels, whose nodes serve every frequency.
With |f| <= m on the ellipse with foci at -1 and 1 and half axes that sum to r, its Chebyshev coefficients are
at most 2 m r^-k; n >= 2 nodes integrate the first 2n of them exactly, miss no odd one, and each further one by at most
2 + 2/(4n^2 - 1) <= 32/15:  the error is at most (64/15) m r^-2n / (1 - r^-2).

Loss and densities rise or fall on each panel, which gives layer cakes.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise

import numpy as np
from flint import acb, arb, ctx

from quiltwork.proof.contour.balls import (
    Budget,
    LayerCake,
    Undecided,
    around,
    exact,
    hi,
    least,
    lo,
    near,
    normal_below,
    normal_density,
    total,
    waves,
)
from quiltwork.proof.contour.law import Decay, Law

CELLS = 60
STRETCHES = (1.15, 1.3, 1.6, 2.0, 2.6, 3.4, 4.5, 6.0, 9.0, 14.0)  # of ellipses
MAX_NODES = 3_000  # on one piece
NODE = 40  # products of balls that one node is counted as
Nodes = list[tuple[arb, arb]]  # weight and loss
Piece = tuple[int, arb, arb]  # which panel, middle, half of the width


@lru_cache(maxsize=64)
def _rule(count: int, bits: int) -> list[tuple[arb, arb]]:
    """Nodes and weights on [-1, 1]."""
    return [arb.legendre_p_root(count, k, weight=True) for k in range(count)]


class Panels(Law):
    """M(z) = points + integrals over pieces of panels."""

    points: list[tuple[arb, arb]]
    strip: arb  # the integrand is analytic at heights below this

    def pieces(self, t: float) -> list[Piece]:
        raise NotImplementedError

    def at(self, place: int, t: arb, x: arb) -> Nodes:
        """The integrand e^{t l} dP/dx at x on one panel, in parts of one loss each."""
        raise NotImplementedError

    def above(self, place: int, t: arb, u: arb, low: arb, high: arb, height: arb) -> arb:
        """At least the integrand between low and high, up to this height on both sides, for every |Im z| <= u."""
        raise NotImplementedError

    def beyond(self, t: arb, u: arb) -> arb:
        """At least what lies on no panel."""
        return arb(0)

    def _planned(self, t: arb, u: arb, piece: Piece, goal: float) -> tuple[int, arb]:
        """How many nodes, and their error."""
        place, middle, half = piece
        best: tuple[int, arb] | None = None
        for stretch in STRETCHES:
            r = arb(stretch)
            wide, height = half * (r + 1 / r) / 2, half * (r - 1 / r) / 2
            if not height < self.strip * 0.9:
                break
            most = self.above(place, t, u, middle - wide, middle + wide, height)
            most = most * half * 64 / 15 / (1 - 1 / (r * r))
            if not most.is_finite():
                continue
            log = near(hi(most).log()) if most > 0 else goal
            count = max(math.ceil((log - goal) / (2 * math.log(stretch)) / 4), 1) * 4
            if best is None or count < best[0]:
                best = count, hi(most * r ** (-2 * count))
        if best is None or best[0] > MAX_NODES:
            raise Undecided("too many nodes on a panel")
        return best

    def table(self, t: arb, u: arb, budget: Budget, count: int = 1) -> tuple[Nodes, arb]:
        """(weight, loss) of all nodes, points first, and the error for every |Im z| <= u."""
        if not t >= 0:
            raise Undecided("a tilt to the left")
        goal = self.rough(near(t)) - math.log(2) * (ctx.prec - 8)
        nodes = [(p * (t * x).exp(), x) for p, x in self.points]
        error = self.beyond(t, u)
        planned = [(piece, *self._planned(t, u, piece, goal)) for piece in self.pieces(near(t))]
        size = sum(n for _, n, _ in planned)
        budget.check(size * count)
        budget.spend(NODE * size)
        for (place, middle, half), n, missed in planned:
            error += missed
            for root, weight in _rule(n, ctx.prec):
                nodes += [(f * weight * half, loss) for f, loss in self.at(place, t, middle + half * root)]
        return nodes, hi(error)

    def transform(self, z: acb) -> acb:
        """M(z)."""
        nodes, error = self.table(z.real, abs(z.imag).upper(), Budget(math.inf))
        return total([acb(0, z.imag * x).exp() * w for w, x in nodes], acb(0)) + around(error)

    def _moment(self, t: arb, budget: Budget) -> arb:
        nodes, error = self.table(t, arb(0), budget)
        return total([w for w, _ in nodes]) + arb(0, error)

    def spectrum(self, theta: arb, step: arb, count: int, budget: Budget) -> tuple[arb, list[acb]]:
        nodes, error = self.table(theta, hi(step * count), budget, count)
        at = self.moment(theta, budget)
        if not at > 0:
            raise Undecided("a moment is not surely positive")
        ball = around(error / at)
        found = waves([w / at for w, _ in nodes], [x for _, x in nodes], step, count, budget)
        return at, [acb(1), *[value + ball for value in found[1:]]]

    def groups(self, theta: arb) -> list[list[tuple[arb, arb]]]:
        """Cells of the untilted scale: (density of e^{theta l} dP from below, width from below)."""
        raise NotImplementedError

    def decay(self, theta: arb, budget: Budget) -> Decay:
        at = self.moment(theta, budget)
        budget.spend(10 * CELLS)
        return LayerCake([[(lo(d / at), w) for d, w in cells] for cells in self.groups(theta)]).above

    def variation(self, theta: arb) -> arb:
        """At least the total variation of the tilted density of the loss, jumps at its ends counted."""
        raise NotImplementedError

    def scattered(self, theta: arb, budget: Budget) -> Decay:
        """One integration by parts."""
        most = hi(self.variation(theta) / self.moment(theta, budget))
        whole = hi(1 - total([p * (theta * x).exp() for p, x in self.points]) / self.moment(theta, budget))
        return lambda u: least(most / u, whole)


def _split(place: int, low: arb, high: arb, most: float) -> list[Piece]:
    """Equal pieces with halves of at most this."""
    number = max(math.ceil(near(high - low) / (2 * most)), 1)
    half = (high - low) / (2 * number)
    return [(place, low + half * (2 * i + 1), half) for i in range(number)]


class MovedLaplaces(Panels):
    """P = sum p_i Lap(c_i), Q = sum q_j Lap(-d_j), unit scale, c, d >= 0.

    Outside all centres the ratio is constant; between two neighbours both densities are a e^x + b e^{-x}, so that
    dl/dx = 2 (a d - b c) / (over under).
    """

    def __init__(self, first: Sequence[tuple[arb, Fraction]], second: Sequence[tuple[arb, Fraction]]) -> None:
        centres = sorted({c for _, c in first} | {-d for _, d in second})
        self.edges = [exact(c) for c in centres]
        over, under = [(p, centres.index(c)) for p, c in first], [(q, centres.index(-d)) for q, d in second]
        self.over = [self._panel(over, j) for j in range(len(self.edges) - 1)]
        self.under = [self._panel(under, j) for j in range(len(self.edges) - 1)]
        low, high = self.edges[0], self.edges[-1]
        left = [total([p * (low - self.edges[i]).exp() / 2 for p, i in law]) for law in (over, under)]
        right = [total([p * (self.edges[i] - high).exp() / 2 for p, i in law]) for law in (over, under)]
        self.points = [(left[0], (left[0] / left[1]).log()), (right[0], (right[0] / right[1]).log())]
        self.smallest, self.largest = self.points[0][1], self.points[1][1]
        self.strip = arb.pi() / 2
        self._float = self._floats()

    def _panel(self, law: list[tuple[arb, int]], j: int) -> tuple[arb, arb]:
        """Coefficients of e^x and e^{-x} between edges j and j + 1."""
        rising = total([p * (-self.edges[i]).exp() / 2 for p, i in law if i > j])
        falling = total([p * self.edges[i].exp() / 2 for p, i in law if i <= j])
        return rising, falling

    def pieces(self, t: float) -> list[Piece]:
        most = max(min(0.4, 60.0 / (1 + t)), 0.01)
        return [piece for j in range(len(self.over)) for piece in _split(j, self.edges[j], self.edges[j + 1], most)]

    def at(self, place: int, t: arb, x: arb) -> Nodes:
        (a, b), (c, d) = self.over[place], self.under[place]
        up, down = x.exp(), (-x).exp()
        over, under = a * up + b * down, c * up + d * down
        loss = (over / under).log()
        return [(over * (t * loss).exp(), loss)]

    def above(self, place: int, t: arb, u: arb, low: arb, high: arb, height: arb) -> arb:
        """|over(x + iy)| <= over(x), |under(x + iy)| >= under(x) cos y, and the turn of the ratio is the height times
        the largest |dl/dx|.
        """
        (a, b), (c, d) = self.over[place], self.under[place]
        ends = [(x.exp(), (-x).exp()) for x in (low, high)]
        over = [a * up + b * down for up, down in ends]
        under = [c * up + d * down for up, down in ends]
        cos = height.cos()
        ratio = (over[0] / under[0]).max(over[1] / under[1]) / cos
        least_over = a * ends[0][0] + b * ends[1][1]
        least_under = c * ends[0][0] + d * ends[1][1]
        turn = height * abs(2 * (a * d - b * c)) / (least_over * least_under * cos * cos)
        return hi(over[0].max(over[1]) * (t * ratio.log() + u * turn).exp())

    def _cells(self, theta: arb, j: int) -> list[tuple[arb, ...]]:
        """(e^x at both ends, over, under, loss at both ends) of the cells of a panel."""
        (a, b), (c, d) = self.over[j], self.under[j]
        start, end = self.edges[j], self.edges[j + 1]
        xs = [start + (end - start) * i / CELLS for i in range(CELLS + 1)]
        ups, downs = [x.exp() for x in xs], [(-x).exp() for x in xs]
        over = [a * u + b * v for u, v in zip(ups, downs, strict=True)]
        under = [c * u + d * v for u, v in zip(ups, downs, strict=True)]
        loss = [(f / g).log() for f, g in zip(over, under, strict=True)]
        return list(zip(ups, downs, over, under, loss, strict=True))

    def groups(self, theta: arb) -> list[list[tuple[arb, arb]]]:
        cells = []
        for j, ((a, b), (c, d)) in enumerate(zip(self.over, self.under, strict=True)):
            at = self._cells(theta, j)
            for (up, down, _, under, loss), (up_r, down_r, over_r, _, loss_r) in pairwise(at):
                # (a e^x - b e^-x)/(a e^x + b e^-x) rises, so its right end less that of Q at the left
                slope = (a * up_r - b * down_r) / over_r - (c * up - d * down) / under
                smallest = a * up + b * down_r
                cells.append((lo(smallest * (theta * loss).exp() / slope), lo(loss_r - loss)))
        return [cells]

    def variation(self, theta: arb) -> arb:
        """On a panel the density of e^{tl} dP is over^{2+t} under^{1-t} / 2(ad - bc). Its derivative has the sign of a
        quadratic of e^{2x}: it rises and falls at most twice, by its largest value each time.
        """
        result = arb(0)
        for j, ((a, b), (c, d)) in enumerate(zip(self.over, self.under, strict=True)):
            at, most = self._cells(theta, j), arb(0)
            for (_, _, over, under, loss), (_, _, over_r, under_r, loss_r) in pairwise(at):
                tilted = (theta * loss).max(theta * loss_r).exp()
                most = most.max(over.max(over_r) ** 2 * under.max(under_r) * tilted)
            result += 4 * most / abs(2 * (a * d - b * c))
        return hi(result)

    def _floats(self) -> tuple[np.ndarray, np.ndarray]:
        masses, losses = [near(p) for p, _ in self.points], [near(x) for _, x in self.points]
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
        self.points = [(1 - (1 - rate) * without - rate * above - without, arb(0))]
        self.strip = arb.pi() / move

    def _log(self, x: arb) -> arb:
        return (1 - self.rate + self.rate * (self.move * x - self.move**2 / 2).exp()).log()

    def _end(self, t: float) -> float:
        return (1 + t) * near(self.move) + math.sqrt(2 * math.log(2) * ctx.prec) + 2

    def pieces(self, t: float) -> list[Piece]:
        most = min(1.5, max(0.5 / near(self.move), 0.05))
        return _split(0, self.start, arb(self._end(t)), most)

    def at(self, place: int, t: arb, x: arb) -> Nodes:
        log, density = self._log(x), normal_density(x)
        return [(density * ((1 + t) * log).exp(), log), (density * (-t * log).exp(), -log)]

    def above(self, place: int, t: arb, u: arb, low: arb, high: arb, height: arb) -> arb:
        """|w(x + iy)| between w(x) cos(sy/2) and w(x); dl/dx = s (1 - (1-q)/w) rises."""
        cos, right, left = (self.move * height / 2).cos(), self._log(high), self._log(low)
        slope = self.move * self.rate * (self.move * high - self.move**2 / 2 - right).exp() / cos
        nearest = low if low > 0 else -high if high < 0 else arb(0)
        normal = normal_density(nearest) * (height * height / 2).exp()
        both = ((1 + t) * right).exp() + (-t * (left + cos.log())).exp()
        return hi(both * normal * (u * height * slope).exp())

    def beyond(self, t: arb, u: arb) -> arb:
        end, slope = arb(self._end(near(t))), (1 + t) * self.move
        right = ((1 + t) * self._log(end) + slope * slope / 2 - slope * end).exp() * normal_below(slope - end)
        return right + normal_below(-end)  # w^{-theta} <= 1 there

    def _cells(self, theta: arb) -> tuple[list[arb], list[arb]]:
        start = self.start
        end = arb(near(start) + max(6.0, (1 + near(theta)) * near(self.move) + 5))
        xs = [start + (end - start) * i / CELLS for i in range(CELLS + 1)]
        return xs, [self._log(x) for x in xs]

    def groups(self, theta: arb) -> list[list[tuple[arb, arb]]]:
        xs, logs = self._cells(theta)
        up, down = [], []
        for i in range(CELLS):
            slope = self.move * (self.rate.log() + self.move * xs[i + 1] - self.move**2 / 2 - logs[i + 1]).exp()
            base, width = normal_density(xs[i + 1]) / slope, lo(logs[i + 1] - logs[i])
            up.append((lo(base * ((1 + theta) * logs[i]).exp()), width))
            down.append((lo(base * (-theta * logs[i + 1]).exp()), width))
        return [up, down]

    def variation(self, theta: arb) -> arb:
        """Both densities, n w^{2+t}/w' and n w^{1-t}/w', have n w^a e^{-sx}/(qs) e^{s^2/2} with
        d log/dx = a s (1 - (1-q)/w) - x - s: twice the values at the start and at most two more changes, by the most.
        """
        xs, logs = self._cells(theta)
        s, scale = self.move, (self.move**2 / 2).exp() / (self.rate * self.move)
        result = arb(0)
        for power in (2 + theta, 1 - theta):
            most = arb(0)
            for x, left, right in zip(xs, logs, logs[1:], strict=False):
                grown = (power * left).max(power * right).exp()
                most = most.max(normal_density(x) * grown * (-s * x).exp())
            end, steep = xs[-1], arb(power * s - s if power > 0 else arb(0)).max(arb(0))
            if not end > steep:
                raise Undecided("a density that still rises")
            last = normal_density(end) * (power * logs[-1]).exp() * (-s * end).exp()
            result += 4 * most.max(last) * scale
        return hi(result)

    def rough(self, t: float) -> float:
        s, q = near(self.move), near(self.rate)
        x = np.linspace(s / 2, self._end(t), 3001)
        log = np.logaddexp(math.log1p(-q), math.log(q) + s * x - s * s / 2)
        f = np.logaddexp((1 + t) * log, -t * log) - x * x / 2
        top = max(float(f.max()), 0.0)
        mass = np.exp(f - top).sum() * (x[1] - x[0]) / math.sqrt(2 * math.pi)
        return top + math.log(mass + near(self.points[0][0]) * math.exp(-top))


class FixedSizeLaplace(Panels):
    """The same for Laplace noise: the panel [s/2, s], atoms at the largest losses and at 0."""

    def __init__(self, move: arb, rate: arb) -> None:
        self.move, self.rate = move, rate
        half = (-move / 2).exp() / 2  # Q(x > s/2) of unit Laplace noise
        top = (1 - rate + rate * move.exp()).log()
        last = (-move).exp() / 2
        self.largest, self.smallest = top, -top
        rest = 1 - (1 - rate) * half - rate * (1 - half) - half
        self.points = [(last * top.exp(), top), (last, -top), (rest, arb(0))]
        self.strip = arb.pi() / 2

    def pieces(self, t: float) -> list[Piece]:
        return _split(0, self.move / 2, self.move, max(min(0.4, 60.0 / (1 + t)), 0.01))

    def _log(self, x: arb) -> arb:
        return (1 - self.rate + self.rate * (2 * x - self.move).exp()).log()

    def at(self, place: int, t: arb, x: arb) -> Nodes:
        log, density = self._log(x), (-x).exp() / 2
        return [(density * ((1 + t) * log).exp(), log), (density * (-t * log).exp(), -log)]

    def above(self, place: int, t: arb, u: arb, low: arb, high: arb, height: arb) -> arb:
        """|w(x + iy)| between w(x) cos y and w(x); dl/dx = 2 (1 - (1-q)/w) rises."""
        cos, right, left = height.cos(), self._log(high), self._log(low)
        slope = 2 * self.rate * (2 * high - self.move - right).exp() / cos
        both = ((1 + t) * right).exp() + (-t * (left + cos.log())).exp()
        return hi(both * (-low).exp() / 2 * (u * height * slope).exp())

    def _cells(self) -> tuple[list[arb], list[arb], list[arb]]:
        xs = [self.move / 2 * (1 + exact(i) / CELLS) for i in range(CELLS + 1)]
        sizes = [(2 * x - self.move).exp() * self.rate for x in xs]
        return xs, sizes, [(1 - self.rate + size).log() for size in sizes]

    def groups(self, theta: arb) -> list[list[tuple[arb, arb]]]:
        xs, sizes, logs = self._cells()
        up, down = [], []
        for i in range(CELLS):
            slope = 2 * sizes[i + 1] / logs[i + 1].exp()
            base, width = (-xs[i + 1]).exp() / 2 / slope, lo(logs[i + 1] - logs[i])
            up.append((lo(base * ((1 + theta) * logs[i]).exp()), width))
            down.append((lo(base * (-theta * logs[i + 1]).exp()), width))
        return [up, down]

    def variation(self, theta: arb) -> arb:
        """Both densities are w^a e^{s-3x}/(4q), a = 2+t and 1-t; d log/dx = 2a (1 - (1-q)/w) - 3 has one zero."""
        xs, _, logs = self._cells()
        result = arb(0)
        for power in (2 + theta, 1 - theta):
            most = arb(0)
            for x, left, right in zip(xs, logs, logs[1:], strict=False):
                most = most.max((power * left).max(power * right).exp() * (self.move - 3 * x).exp())
            result += 4 * most / (4 * self.rate)
        return hi(result)

    def rough(self, t: float) -> float:
        s, q = near(self.move), near(self.rate)
        x = np.linspace(s / 2, s, 401)
        log = np.log1p(-q + q * np.exp(2 * x - s))
        f = np.logaddexp((1 + t) * log, -t * log) - x
        points = [math.log(near(p)) + t * near(loss) for p, loss in self.points if p > 0]
        return float(np.logaddexp(np.logaddexp.reduce(f) + math.log((x[1] - x[0]) / 2), np.logaddexp.reduce(points)))
