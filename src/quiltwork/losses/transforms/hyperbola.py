"""Integrals over a hyperbola for the mean S of t likelihood ratios of Gaussian steps, with every error counted.

With Lam(z) = E e^(-zX) (`lognormal`), f(z) = e^z Lam(z/t)^t and v > 0,

    I_k(v) = (1/2 pi i) int e^(z(v-1)) f(z) z^-k dz       k = 2: E(v - S)+,   1: Q(S <= v),   0: the density of S.

For v > 1, f - 1 in the place of f gives what is left: E(S - v)+ for k = 2, -Q(S > v) for 1, the same density for 0.
Where S is rarely that large f is nearly 1, and f - 1 = expm1(t log f) keeps digits that differences would lose.

The line Re z = c is bent to z(u) = m (1 - sin(b) cosh u + i cos(b) sinh u): still right of the pole, and Lam is
analytic off the negative axis. On it even heavy tails (few steps, little noise) need some hundred nodes, for e^(zv)
falls too. What is counted:

alias       A complex u = x + iy is another hyperbola, of bend b + y and the same m. The integrand is analytic for |y|
            <= d = b, so that the trapezoid rule of step h errs by at most (H(b-d) + H(b+d)) / (pi (e^(2 pi d/h) - 1)),
            H(b') the integral of its size along u >= 0 on the hyperbola of bend b'. With f - 1, d < b: e^(z(v-1))
            alone must fall on the edges.
size        Along u >= 0 Re z falls, Im z, |z| = m (cosh u - sin b) and |z'| = m sqrt(cosh^2 u - sin^2 b) rise. With R =
            Re (z e^(-isk)), (*) of `lognormal` says log |e^(z(v-1)) f(z)| <= Re z (v - cos sk) - Im z sin sk + t k^2/2
            + t psi(R/t), or v Re z + t k^2/2 + t log Lam(R/t), for any k: every term has its largest value on an
            interval at one of its ends. Sums over intervals give H. Rounding of these logs: ROOM, 900 units of what
            they are made of, where some twenty operations need less than 100.
cut         The same sums from the last node on, an interval and one node more for each interval. Beyond the last
            interval log Lam falls at least as fast with log |z| as before (it is concave in log r), and if t times that
            is at least 2 the rest is at most the last size. Of e^(z(v-1)) alone the integral is elementary.
transform   t times the error of log E e^(-w(X-1)) at each node, which holds the rounding of z.
rounding    TERM units for one term (8 for each of sinh, cosh, exp, sin, cos, twice each of the latter three; 17 for
            each power of z, that is (8 + 2) / (1 - sin b) + 2; 6 for each division and product), 2 |t log f| for its
            exponent, NODE |z (v-1)| for the places of the node (17), of v (9), and two products. Sums go by groups of
            GROUP nodes: two units for each node of a group and one for each group, in whatever order these are added.

One hyperbola serves many v: for v >= v0, |e^(zv)| <= e^(c(v-v0)) |e^(z v0)| if Re z <= c. Errors at v0 are errors at v,
times e^(c(v-v0)), c = m (1 - sin b) for what is summed and m (1 - sin(b-d)) for the alias, whose edges reach that far.

Cells. The density and its derivatives are the same sums with z^j inside. From some tens of patches they follow by
Taylor's formula anywhere, and so do their means over a cell, with weight 1 (its Q mass) and with the distance to its
middle, by a recursion in which nothing is computed as a difference. What the series leaves out is bounded node by node.

Reference: theory, sampling, sections 7.1 and 7.2; Weideman and Trefethen 2007 (hyperbolas).
"""

from __future__ import annotations

import math
from functools import cached_property

import attrs
import numpy as np

from quiltwork.checks import FloatArray
from quiltwork.losses.transforms.lognormal import Complex, Lognormal
from quiltwork.numbers.rounding import UNIT

STEP, LONG_STEP, LONG = 0.06, 0.3, 3.0  # of u, in sums of sizes; the latter from u = LONG on
FARTHEST = 400.0  # u
BENDS = (0.3, 0.2, 0.12, 0.07, 0.04, 0.025, 0.015, 0.009)  # tried in turn
LONE_STRIP = 0.85  # of the bend: with f - 1, e^(z(v-1)) alone must fall on the edges
INFLATED = 1e10, 1e120  # the size on the left and right edge of the strip against that on its axis: not too much
PEAKED = 1e4  # the integral of the size against its first interval
GOOD = 1e-11  # error of an integral against the integral of the size: no other bend need be tried
MAX_TRIES = 2  # hyperbolas that are summed up for one range
SMALL, SMALLER = 1e-18, 1e-22  # of the integral of the size, that alias and cut may cost: with f, with f - 1
MAX_NODES = 8000
TERM, NODE = 136.0, 34.0  # units of rounding of one term, and of z (v - 1) in its exponent
GROUP = 32  # nodes that are added before others are
ROOM = 1e-13  # relative, of the parts of a log of a size
ALONE = 0.02  # of the right end of a range, that its left end must have for f - 1
ORDERS = 20  # derivatives in a patch
SPANS = 2.0 ** np.arange(7, -2, -1)  # its width times |z| of the last node: the first that costs few digits
REACHES = 0.5 * 1.25 ** np.arange(1.0, 11.0)  # from its middle, in widths of a patch: cells may be wide
FEW, MANY = 2.0, 1e3  # times the errors of the density itself
SERIES = ORDERS * 16 * UNIT  # rounding of a term of the series: six operations an order, and its sum
SHARES = np.array([0.03, 0.1, 0.25, 0.45, 0.7, 1.0])  # of the largest turn
BESIDE = np.array([0.5, 0.75, 1.0, 1.4])  # the best turn of a normal law
SAFE = 1 + 1e-9  # sums of many positive numbers, outward


@attrs.frozen(eq=False)
class Sizes:
    """Upper bounds of the integrand's size times |dz/du| on intervals of u, k = 0; |z| at their left ends; the rest.

    One row for each bend.
    """

    size: FloatArray
    modulus: FloatArray
    widths: FloatArray
    rest: FloatArray

    def integral(self, k: int) -> FloatArray:
        """Over all u >= 0."""
        parts = self.size / self.modulus**k
        found: FloatArray = (parts @ self.widths + self.rest / self.modulus[:, -1] ** k) * SAFE
        return found

    def beyond(self, k: int, step: float) -> FloatArray:
        """On the first hyperbola, at most `step` times the sum over all nodes from each left end on.

        An interval of width w has at most w / step + 1 of them; what lies beyond falls at least as e^-u.
        """
        parts = (self.widths + step) * self.size[0] / self.modulus[0] ** k
        rest = (1 + step) * self.rest[0] / self.modulus[0, -1] ** k
        found: FloatArray = (np.cumsum(parts[::-1])[::-1] + rest) * SAFE
        return found


def sizes(
    law: Lognormal, steps: int, scale: float, bends: FloatArray, excess: float, less_one: bool = False
) -> Sizes | None:
    """Bounds on hyperbolas of these bends at v = 1 + excess; None where the rest is not known to be finite."""
    s, t = law.s, float(steps)
    last = math.log(2 * t / scale * law.rates[-1]) if t * law.rates[-1] > scale else 0.0
    last = min(max(last, 2.0), FARTHEST)
    u = np.append(np.arange(0.0, min(last, LONG), STEP), np.arange(LONG, last, LONG_STEP) if last > LONG else last)
    cosh, sinh = np.cosh(u), np.sinh(u)
    sine, cosine = np.sin(bends)[:, None], np.cos(bends)[:, None]
    real, imaginary = scale * (1 - sine * cosh), scale * cosine * sinh
    modulus, speed = scale * (cosh - sine), scale * np.sqrt(cosh**2 - sine**2)
    high, low = real[:, :-1, None], real[:, 1:, None]  # of Re z
    up, down = imaginary[:, 1:, None], imaginary[:, :-1, None]  # of Im z
    most = math.pi / (2 * s)
    shares = np.broadcast_to(most * SHARES, (*up.shape[:2], SHARES.size))
    turns = np.concatenate((shares, np.minimum(up * BESIDE * (s / t), most)), axis=2)
    theta = s * turns
    cos, sin, versed = np.maximum(np.cos(theta), 0.0), np.sin(theta), 2 * np.sin(theta / 2) ** 2
    with np.errstate(all="ignore"):
        ahead = excess + versed  # v - cos
        linear = np.where(ahead >= 0, high, low) * ahead - down * sin
        noise = ROOM * scale * (1 + sine * cosh[1:])[:, :, None]  # of Re z
        largest = high * cos + up * sin + noise
        least = low * cos + down * sin * (1 - ROOM) - noise
        bent = t * turns**2 / 2
        curved = bent + t * law.psi_above(np.maximum(largest, 0.0) / t)
        near = linear + curved * (1 + ROOM) + noise * (abs(excess) + versed) + ROOM * up * sin
        far = high * (1 + excess) + bent * (1 + ROOM) + t * law.log_above(np.maximum(least, 0.0) / t) * (1 - ROOM)
        far = far + noise * (1 + excess)
        bound = np.where(least >= 0, np.minimum(near, far), np.inf) + ROOM
        found = np.exp(np.minimum(np.nanmin(bound, axis=2), 600.0)) * speed[:, 1:]
        rest = _rest(law, t, scale, bends[:, None], excess, float(u[-1]), turns[:, -1, :])
        if less_one:  # |f - 1| <= |f| + 1; int m cosh u e^(-m sin b (v-1) cosh u) du by substitution
            found = found + np.exp(np.minimum((high + noise)[:, :, 0] * excess + ROOM, 600.0)) * speed[:, 1:]
            sine = np.sin(bends) * (1 - 1e-12)
            logs = scale * excess * (1 - sine * math.cosh(float(u[-1])) * (1 - 1e-12)) + 1e-9
            rest = rest + np.exp(np.minimum(logs, 600.0)) / (sine * excess * math.tanh(float(u[-1])))
    if not (np.isfinite(rest).all() and np.isfinite(found).all()):
        return None
    return Sizes(found, modulus[:, :-1], np.diff(u) * (1 + 1e-12), rest)


def _rest(
    law: Lognormal, t: float, scale: float, bend: FloatArray, excess: float, u: float, turn: FloatArray
) -> FloatArray:
    """The integral of the size beyond u, with one turn for all of it: the best of those given, one row for each bend.

    R = Re (z e^(-isk)) >= (m/2) (e^u sin(sk - b) - e^-u sin(sk + b)), which grows at least as e^u; so does |z'|, at
    most.
    """
    theta = law.s * turn
    least = 0.5 * scale * (math.exp(u) * np.sin(theta - bend) - math.exp(-u) * np.sin(theta + bend)) * (1 - 1e-9)
    rate = np.maximum(least, 1e-300) / t
    real = scale * (1 - np.sin(bend) * math.cosh(u)) * (1 - 1e-9) + 1e-9 * scale
    logs = real * (1 + excess) + t * (turn**2 / 2 + law.log_above(rate)) + 1e-6
    known = (theta <= math.pi / 2 + 1e-9) & (least > 0) & (t * law.decline(rate) >= 2) & (logs < 600)
    found: FloatArray = np.where(known, np.exp(np.minimum(logs, 600.0)) * scale * math.cosh(u), np.inf).min(axis=1)
    return found


@attrs.frozen(eq=False)
class Hyperbola:
    """One contour for means between 1 + low and 1 + high; sums hold e^(z low) already."""

    low: float
    high: float
    abscissa: float
    edge: float  # the largest Re z on the edges of the strip
    less_one: bool
    z: Complex
    weights: Complex  # with f(z), or f(z) - 1; k = 0
    errors: FloatArray  # of I_0, I_1, I_2 at `low`: of what is summed, and left out of the sum
    aliases: FloatArray  # the same, of the rule
    lost: FloatArray  # what each term may lose

    @classmethod
    def of(cls, law: Lognormal, steps: int, abscissa: float, low: float, high: float) -> Hyperbola | None:
        """With f - 1 where that may be, and else with f."""
        found = cls._best(law, steps, abscissa, (low, high), True) if low > ALONE * high > 0 else None
        return found or cls._best(law, steps, abscissa, (low, high), False)

    @classmethod
    def _best(
        cls, law: Lognormal, steps: int, abscissa: float, ends: tuple[float, float], less_one: bool
    ) -> Hyperbola | None:
        """The first bend whose errors are small; None where each would need too many nodes."""
        found: list[tuple[float, Hyperbola]] = []
        for bend in BENDS:
            strip = LONE_STRIP * bend if less_one else bend
            scale = abscissa / (1 - math.sin(bend))
            known = sizes(law, steps, scale, np.array([bend, bend + strip, bend - strip]), ends[0], less_one)
            if known is None or not _narrow(known):
                continue
            with np.errstate(all="ignore"):  # what overflows is refused
                made = cls._on(known, law, steps, (bend, strip, scale), ends, less_one)
            if made is not None:
                whole = np.array([known.integral(k)[0] for k in range(3)])
                found.append((float(((made.errors + made.aliases) / whole).max()), made))
                if found[-1][0] <= GOOD or len(found) == MAX_TRIES:
                    break
        return min(found, key=lambda one: one[0])[1] if found else None

    @classmethod
    def _on(
        cls,
        known: Sizes,
        law: Lognormal,
        steps: int,
        shape: tuple[float, float, float],
        ends: tuple[float, float],
        less_one: bool,
    ) -> Hyperbola | None:
        (bend, strip, scale), (low, high) = shape, ends
        sine, cosine = math.sin(bend), math.cos(bend)
        abscissa, edge = scale * (1 - sine), scale * (1 - math.sin(bend - strip)) * (1 + 1e-12)
        integrals = np.array([known.integral(k) for k in range(3)])
        whole, edges = integrals[:, 0], integrals[:, 1:].sum(axis=1)
        grown = float((edges / whole).max())
        small_part = SMALLER if less_one else SMALL
        decay = math.log(max(grown, 1.0) / small_part) + (edge - abscissa) * (high - low)
        step = min(2 * math.pi * strip / decay, STEP)
        beyond = np.array([known.beyond(k, step) for k in range(3)])
        small = (beyond <= small_part * whole[:, None]).all(axis=0)
        if not small.any():
            return None
        cut = int(np.argmax(small))
        nodes = GROUP * -(-math.ceil(float(known.widths[:cut].sum()) / step + 1) // GROUP)
        if nodes > MAX_NODES:
            return None
        u = step * np.arange(nodes)
        cosh, sinh = np.cosh(u), np.sinh(u)
        z = scale * ((1 - sine * cosh) + 1j * (cosine * sinh))
        slope = scale * (-sine * sinh + 1j * (cosine * cosh))
        log_lam, wrong = law.log_transform(z / steps)
        blind = ~(np.isfinite(log_lam) & (steps * wrong < 1))  # there f is only known to be small
        power, wrong = np.where(blind, -800.0, steps * np.where(blind, 0.0, log_lam)), np.where(blind, 0.0, wrong)
        slope = slope * (-1j * step / math.pi)
        slope[0] *= 0.5
        if less_one:
            values, parts = _less_one(power)
            weights = slope * np.exp(z * low) * values
            size = np.abs(slope) * np.exp(z.real * low)
            parts, whole_size = size * parts, size * np.exp(power.real)
        else:
            weights = np.where(blind, 0.0, slope * np.exp(power + z * low))
            parts = whole_size = np.abs(weights)
        modulus, reach = np.abs(z), max(abs(low), abs(high))
        room = UNIT * (TERM + 2 * GROUP + nodes / GROUP + NODE * modulus * reach)
        lost = parts * np.expm1(np.minimum(room, 50.0))
        lost = lost + whole_size * np.expm1(
            np.minimum(steps * wrong + 2 * UNIT * np.abs(power) + room * steps * wrong, 50.0)
        )
        if blind.any():
            lost[blind] += np.abs(slope[blind]) * np.exp(_largest(law, steps, z[blind], low))
        rounding = np.array([float((lost / modulus**k).sum()) for k in range(3)])
        errors = (rounding + beyond[:, cut] / math.pi) * SAFE
        aliases = edges / (math.pi * math.expm1(2 * math.pi * strip / step * (1 - 1e-12))) * SAFE
        if not (np.isfinite(errors).all() and np.isfinite(aliases).all()):
            return None
        return cls(low, high, abscissa * (1 + 1e-12), edge, less_one, z, weights, errors, aliases, lost)

    def error(self, k: int, excess: FloatArray) -> FloatArray:
        """Of I_k at v = 1 + excess: errors grow from `low` on."""
        ahead = np.maximum(excess - self.low, 0.0)
        grown = self.errors[k] * np.exp(np.minimum(self.abscissa * ahead, 700.0))
        found: FloatArray = (grown + self.aliases[k] * np.exp(np.minimum(self.edge * ahead, 700.0))) * SAFE
        return found

    def integrals(self, excess: FloatArray) -> tuple[FloatArray, FloatArray]:
        """I_1 and I_2 at each v = 1 + excess; with f - 1 where `less_one` says so."""
        columns = np.stack((self.weights / self.z, self.weights / self.z**2), axis=1)
        found = _waves(excess - self.low, self.z, columns)
        return found[:, 0], found[:, 1]

    # ---- the density

    @cached_property
    def span(self) -> float:
        """Width of a patch."""
        spans: list[float] = (SPANS / float(np.abs(self.z[-1]))).tolist()
        for span in spans:
            if self._left_out(float(REACHES[1]) * span) <= FEW * self._own:
                break
        return span

    @property
    def _own(self) -> float:
        """What the density may be off by in the middle of a patch, at `low`."""
        return float((self.lost + np.abs(self.weights) * SERIES).sum())

    @cached_property
    def patches(self) -> FloatArray:
        """Derivatives over factorials of the density in the middles of all patches, lowest order first."""
        count = max(1, math.ceil((self.high - self.low) / self.span))
        middles = self.span * (np.arange(count) + 0.5)
        powers = np.cumprod(
            np.concatenate((np.ones((1, self.z.size)), self.z[None, :] / np.arange(1, ORDERS)[:, None])), axis=0
        )
        return _waves(middles, self.z, (self.weights * powers).T)

    def cells(self, middle: FloatArray, width: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Q mass of cells, E_Q[S - middle; cell], and the error of a mass (of the latter: times half the width).

        The error is infinite where cells are too wide for Taylor's formula. Means over [y - h, y + h] of x^j and of
        (x - y) x^j: m_0 = 1, f_0 = 0, m_j = y m_(j-1) + f_(j-1), f_j = j/(j+2) (h^2 m_(j-1) + y f_(j-1)) by parts.
        """
        span, table = self.span, self.patches
        index = np.clip(((middle - self.low) / span).astype(np.int64), 0, len(table) - 1)
        y, half = (middle - self.low) - span * (index + 0.5), width / 2
        columns, square = table.T[:, index], half * half
        mean, bent = np.ones(middle.size), np.zeros(middle.size)
        mass, first = columns[0].copy(), np.zeros(middle.size)
        for j in range(1, ORDERS):
            mean, bent = y * mean + bent, j / (j + 2) * (square * mean + y * bent)
            mass += columns[j] * mean
            first += columns[j] * bent
        ahead = np.maximum(middle + half - self.low, 0.0)
        reaches, left = self._rests
        grown = left[np.searchsorted(reaches, np.abs(y) + half)] * np.exp(np.minimum(self.abscissa * ahead, 700.0))
        return mass * width, first * width, width * (grown + self.error(0, middle + half)) * SAFE

    @cached_property
    def _rests(self) -> tuple[FloatArray, FloatArray]:
        """Distances from the middle of a patch, and what the series leaves out up to each, if that is not too much."""
        reaches = self.span * REACHES
        left = np.array([self._left_out(reach) for reach in reaches.tolist()])
        return reaches, np.append(np.where(left <= MANY * self._own, left, np.inf), np.inf)

    def _left_out(self, reach: float) -> float:
        """Of the density up to `reach` from the middle of a patch, at `low`: the rest of the series and its rounding.

        With q = |z| reach the terms of a node sum up to at most e^q times its own, those from ORDERS on to
        q^ORDERS / ORDERS! e^q. Means over a cell are means of such sums.
        """
        q, size = np.abs(self.z) * reach, np.abs(self.weights) + self.lost
        if float(q[-1]) > 300:
            return math.inf
        left = q**ORDERS / math.factorial(ORDERS)
        return float((np.exp(q) * (size * (left + SERIES) + self.lost)).sum())


def _largest(law: Lognormal, steps: int, z: Complex, excess: float) -> FloatArray:
    """log |e^(z(v-1)) f(z)| from above, by (*) of `lognormal` with the best of some turns."""
    w = z / steps
    turns = math.pi / (2 * law.s) * np.append(0.0, SHARES)[:, None]
    angle = np.angle(w)[None, :]
    logs = law.log_size(np.abs(w)[None, :], angle, turns)
    best = np.where(np.abs(angle - law.s * turns) <= math.pi / 2 * (1 + 1e-12), logs, np.inf).min(axis=0)
    found: FloatArray = steps * best + z.real * (1 + excess) + 1e-6 + 1e-12 * np.abs(z) * (1 + abs(excess))
    return np.where(found > 600.0, np.inf, found)


def _less_one(power: Complex) -> tuple[Complex, FloatArray]:
    """e^power - 1, and the sum of the sizes of its parts."""
    less, half = np.expm1(power.real), np.sin(0.5 * power.imag)
    first, versed = less * np.cos(power.imag), 2 * half * half
    imaginary = (less + 1) * np.sin(power.imag)
    return first - versed + 1j * imaginary, np.abs(first) + versed + np.abs(imaginary)


def _waves(places: FloatArray, z: Complex, columns: Complex) -> FloatArray:
    """Re sum of e^(place z) times each column, by groups of nodes."""
    found = np.zeros((places.size, columns.shape[1]))
    real, imaginary = np.ascontiguousarray(columns.real), np.ascontiguousarray(columns.imag)
    for i in range(0, z.size, GROUP):
        at = slice(i, i + GROUP)
        size, phase = np.exp(np.outer(places, z.real[at])), np.outer(places, z.imag[at])
        found += (size * np.cos(phase)) @ real[at] - (size * np.sin(phase)) @ imaginary[at]
    return found


def _narrow(known: Sizes) -> bool:
    """Whether integrals can be told from their errors: sizes neither too large, nor peaked, nor larger on the edges."""
    for k in range(3):
        whole, left, right = known.integral(k).tolist()
        if not 1e-290 <= whole <= 1e250 or left > INFLATED[0] * whole or right > INFLATED[1] * whole:
            return False
    return bool(whole <= PEAKED * STEP * known.size[0, 0] / known.modulus[0, 0] ** 2)
