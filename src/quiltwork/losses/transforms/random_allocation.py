"""The mean S of t likelihood ratios of Gaussian steps, from integrals over hyperbolas with every error bounded.

With Lam(z) = E e^(-zX) (`lognormal`), f(z) = e^z Lam(z/t)^t and v > 0,

    I_k(v) = (1/2 pi i) int e^(z(v-1)) f(z) z^-k dz       k = 2: E(v - S)+,   1: Q(S <= v),   0: the density of S.

The line Re z = c is bent to z(u) = m (1 - sin(b) cosh u + i cos(b) sinh u): still right of the pole, and Lam is
analytic
off the negative axis. On it even heavy tails (few steps, little noise) need some hundred nodes, for e^(zv) falls too.

Alias. A complex u = x + iy is another hyperbola, of bend b + y and the same m. The integrand is analytic for |y| <=
b, so
that the trapezoid rule of step h errs by at most (H(0) + H(2b)) / (pi (e^(2 pi b/h) - 1)), H(b') the integral of its
size
along u >= 0 on the hyperbola of bend b'.

Size. Along u >= 0 Re z falls, Im z, |z| = m (cosh u - sin b) and |z'| = m sqrt(cosh^2 u - sin^2 b) rise. With R = Re
(z e^(-isk)), (*) of `lognormal` says log |e^(z(v-1)) f(z)| <= Re z (v - cos sk) - Im z sin sk + t k^2/2 + t
psi(R/t), or
v Re z + t k^2/2 + t log Lam(R/t), for any k: every term has its largest value on an interval at one of its ends. Sums
over intervals give H, and what is cut off. Beyond the last one log Lam falls at least as fast with log |z| as before
(it is concave in log r), and if t times that is at least 2 the rest is at most the last size.

One hyperbola for many v. For v >= v0, |e^(zv)| <= e^(c(v-v0)) |e^(z v0)| if Re z <= c: errors at v0 are errors at v,
times e^(m (v - v0)).

Cells. The density and its derivatives are the same sums with z^j inside. From some tens of patches they follow by
Taylor's formula anywhere, and a cell (v, v+w] around its middle has Q mass w (p + p'' w^2/24 + ...) and E_Q[S - v] its
half width times that, plus w^3 p'/12 + ...: nothing is computed as a difference.

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

STEP, LONG_STEP, LONG = 0.04, 0.16, 6.0  # of u, in sums of sizes; the latter from u = LONG on
FARTHEST = 400.0  # u
BENDS = (0.3, 0.2, 0.12, 0.07, 0.04, 0.025, 0.015, 0.009)  # tried in turn
INFLATED = 1e6, 1e120  # the size on the left and right edge of the strip against that on its axis: not too much
PEAKED = 1e4  # the integral of the size against its first interval
GOOD = 1e-11  # error of an integral against the integral of the size: no other bend need be tried
MAX_TRIES = 2  # hyperbolas that are summed up for one range
SMALL = 1e-18  # of the integral of the size, that alias and cut may cost
MAX_NODES = 8000
BUCKETS = 2.0  # by which abscissas of neighbouring hyperbolas differ
DEEPEST = -330.0  # log of the smallest values that are integrated
FARTHEST_MEAN = 1e9  # v beyond which nothing is integrated
ORDERS = 30  # derivatives in a patch
SPAN = 8.0  # its width times |z|
BRANCHES = 6  # derivatives in a cell
SHARES = np.array([0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0])  # of the largest turn
BESIDE = np.array([0.4, 0.6, 0.8, 1.0, 1.25, 1.6])  # the best turn of a normal law
BLOCK = 1 << 20
SAFE = 1 + 1e-9  # sums of many positive numbers, outward


@attrs.frozen(eq=False)
class Sizes:
    """Upper bounds of the integrand's size times |dz/du| on intervals of u, k = 0; |z| at their left ends; the rest."""

    size: FloatArray
    modulus: FloatArray
    widths: FloatArray
    rest: float

    def integral(self, k: int) -> float:
        """Over all u >= 0."""
        return float((self.widths * self.size / self.modulus**k).sum() + self.rest / self.modulus[-1] ** k) * SAFE

    def beyond(self, k: int) -> FloatArray:
        """At most h times the sum over all nodes from each left end on, for steps up to STEP: two for an interval."""
        parts = self.widths * self.size / self.modulus**k
        found: FloatArray = 2 * (np.cumsum(parts[::-1])[::-1] + self.rest / self.modulus[-1] ** k) * SAFE
        return found


def sizes(law: Lognormal, steps: int, scale: float, bend: float, excess: float) -> Sizes | None:
    """Bounds on one hyperbola at v = 1 + excess; None where the rest is not known to be finite."""
    s, t = law.s, float(steps)
    last = math.log(2 * t / scale * law.rates[-1]) if t * law.rates[-1] > scale else 0.0
    last = min(max(last, 2.0), FARTHEST)
    u = np.append(np.arange(0.0, min(last, LONG), STEP), np.arange(LONG, last, LONG_STEP) if last > LONG else last)
    cosh, sinh = np.cosh(u), np.sinh(u)
    real, imaginary = scale * (1 - math.sin(bend) * cosh), scale * math.cos(bend) * sinh
    modulus, speed = scale * (cosh - math.sin(bend)), scale * np.sqrt(cosh**2 - math.sin(bend) ** 2)
    high, low, up, down = real[:-1], real[1:], imaginary[1:], imaginary[:-1]  # of Re z, of Im z
    most = math.pi / (2 * s)
    turns = np.concatenate(
        (np.broadcast_to(most * SHARES, (down.size, SHARES.size)), np.minimum(np.outer(up, BESIDE) * (s / t), most)),
        axis=1,
    )
    theta = s * turns
    cos, sin, versed = np.maximum(np.cos(theta), 0.0), np.sin(theta), 2 * np.sin(theta / 2) ** 2
    with np.errstate(all="ignore"):
        ahead = excess + versed  # v - cos
        linear = np.where(ahead >= 0, high[:, None], low[:, None]) * ahead - down[:, None] * sin
        largest, least = high[:, None] * cos + up[:, None] * sin, low[:, None] * cos + down[:, None] * sin
        curved = t * (turns**2 / 2 + law.psi_above(np.maximum(largest, 0.0) / t))
        noise = 1e-13 * scale * (1 + math.sin(bend) * cosh[1:, None])  # rounding of Re z, and more
        near = linear + curved + noise * np.abs(ahead) + 1e-13 * (up[:, None] * sin + curved) + 1e-9
        least = least - noise * cos - 1e-13 * down[:, None] * sin
        far = high[:, None] * (1 + excess) + t * (turns**2 / 2 + law.log_above(least / t))
        far = far + noise * (1 + excess) + 1e-13 * (np.abs(far) + t * turns**2) + 1e-9
        bound = np.where(least >= 0, np.minimum(near, far), np.inf)
        found = np.exp(np.minimum(np.nanmin(bound, axis=1), 600.0)) * speed[1:]
    rest = min(_rest(law, t, scale, bend, excess, float(u[-1]), turn) for turn in turns[-1].tolist())
    return Sizes(found, modulus[:-1], np.diff(u), rest) if math.isfinite(rest) and np.isfinite(found).all() else None


def _rest(law: Lognormal, t: float, scale: float, bend: float, excess: float, u: float, turn: float) -> float:
    """The integral of the size beyond u, with one turn for all of it.

    R = Re (z e^(-isk)) >= (m/2) (e^u sin(sk - b) - e^-u sin(sk + b)), which grows at least as e^u; so does |z'|, at
    most.
    """
    theta = law.s * turn
    least = 0.5 * scale * (math.exp(u) * math.sin(theta - bend) - math.exp(-u) * math.sin(theta + bend)) * (1 - 1e-9)
    if theta > math.pi / 2 + 1e-9 or least <= 0 or t * law.decline(least / t) < 2:
        return math.inf
    real = scale * (1 - math.sin(bend) * math.cosh(u))
    logs = real * (1 + excess) + t * (turn**2 / 2 + float(law.log_above(np.array([least / t]))[0])) + 1e-6
    return math.exp(min(logs, 600.0)) * scale * math.cosh(u) if logs < 600 else math.inf


Strip = tuple[float, Sizes, list[float]]


def _strip(law: Lognormal, steps: int, abscissa: float, bend: float, low: float) -> Strip | None:
    """The bend, sizes on the hyperbola and their integrals on both edges of its strip; None where they are too
    large.
    """
    scale = abscissa / (1 - math.sin(bend))
    main = sizes(law, steps, scale, bend, low)
    if main is None:
        return None
    whole = [main.integral(k) for k in range(3)]
    if min(whole) < 1e-290 or max(whole) > 1e250:
        return None
    if whole[2] > PEAKED * STEP * main.size[0] / main.modulus[0] ** 2:
        return None
    edges = [0.0, 0.0, 0.0]
    for other, most in zip((2 * bend, 0.0), INFLATED, strict=True):
        edge = sizes(law, steps, scale, other, low)
        if edge is None or any(edge.integral(k) > most * whole[k] for k in range(3)):
            return None
        edges = [edges[k] + edge.integral(k) for k in range(3)]
    return bend, main, edges


@attrs.frozen(eq=False)
class Hyperbola:
    """One contour for means between 1 + low and 1 + high; sums hold e^(z low) already."""

    low: float
    high: float
    scale: float
    z: Complex
    weights: Complex  # with f(z), k = 0
    errors: tuple[float, float, float]  # of I_0, I_1, I_2 at `low`
    room: FloatArray  # what each term may lose, relative

    @classmethod
    def of(cls, law: Lognormal, steps: int, abscissa: float, low: float, high: float) -> Hyperbola | None:
        """The first bend whose errors are small; None where each would need too many nodes."""
        found: list[tuple[float, Hyperbola]] = []
        for bend in BENDS:
            strip = _strip(law, steps, abscissa, bend, low)
            made = cls._on(strip, law, steps, abscissa, low, high) if strip is not None else None
            if strip is not None and made is not None:
                wrong = max(error / strip[1].integral(k) for k, error in enumerate(made.errors))
                found.append((wrong, made))
                if wrong <= GOOD or len(found) == MAX_TRIES:
                    break
        return min(found, key=lambda one: one[0])[1] if found else None

    @classmethod
    def _on(
        cls, strip: Strip, law: Lognormal, steps: int, abscissa: float, low: float, high: float
    ) -> Hyperbola | None:
        bend, main, edges = strip
        scale = abscissa / (1 - math.sin(bend))
        whole = [main.integral(k) for k in range(3)]
        grown = max(edge / mass for edge, mass in zip(edges, whole, strict=True))
        decay = math.log(max(grown, 1.0) / SMALL) + (scale - abscissa) * (high - low)
        step = min(2 * math.pi * bend / decay, STEP)
        beyond = [main.beyond(k) for k in range(3)]
        small = np.all([tail <= SMALL * mass for tail, mass in zip(beyond, whole, strict=True)], axis=0)
        if not small.any():
            return None
        cut = int(np.argmax(small))
        nodes = math.ceil(float(main.widths[:cut].sum()) / step) + 1
        if nodes > MAX_NODES:
            return None
        u = step * np.arange(nodes)
        z = scale * ((1 - math.sin(bend) * np.cosh(u)) + 1j * (math.cos(bend) * np.sinh(u)))
        slope = scale * (-math.sin(bend) * np.sinh(u) + 1j * (math.cos(bend) * np.cosh(u)))
        log_lam, wrong, moving = _blocks(law, z / steps)
        if not (np.isfinite(log_lam).all() and np.isfinite(wrong).all()):
            return None
        weights = slope * (-1j * step / math.pi) * np.exp(steps * log_lam + z * low)
        weights[0] *= 0.5
        reach = max(abs(low), abs(high))
        room = steps * wrong + UNIT * (
            32 + 2 * steps * np.abs(log_lam) + 8 * np.abs(z) * (reach + np.minimum(moving, 1e200))
        )
        size = np.abs(weights)
        errors = []
        for k in range(3):
            rounding = float((size / np.abs(z) ** k * np.expm1(np.minimum(room, 50.0))).sum())
            alias = edges[k] / (math.pi * math.expm1(2 * math.pi * bend / step))
            errors.append((rounding + alias + float(beyond[k][cut]) / math.pi) * SAFE)
        if not all(map(math.isfinite, errors)):
            return None
        return cls(low, high, scale, z, weights, (errors[0], errors[1], errors[2]), room)

    def growth(self, excess: FloatArray) -> FloatArray:
        """By what errors grow from `low` on."""
        found: FloatArray = np.exp(np.minimum(self.scale * np.maximum(excess - self.low, 0.0), 700.0)) * SAFE
        return found

    def integrals(self, excess: FloatArray) -> tuple[FloatArray, FloatArray]:
        """I_1 and I_2 at each v = 1 + excess."""
        columns = np.stack((self.weights / self.z, self.weights / self.z**2), axis=1)
        found = np.empty((excess.size, 2))
        rows = max(1, BLOCK // self.z.size)
        for i in range(0, excess.size, rows):
            found[i : i + rows] = (np.exp(np.outer(excess[i : i + rows] - self.low, self.z)) @ columns).real
        return found[:, 0], found[:, 1]

    # ---- the density

    @property
    def span(self) -> float:
        """Width of a patch."""
        return SPAN / float(np.abs(self.z[-1]))

    @cached_property
    def patches(self) -> FloatArray:
        """Derivatives over factorials of the density in the middles of all patches, lowest order first."""
        count = max(1, math.ceil((self.high - self.low) / self.span))
        middles = self.span * (np.arange(count) + 0.5)
        powers = np.cumprod(
            np.concatenate((np.ones((1, self.z.size)), self.z[None, :] / np.arange(1, ORDERS)[:, None])), axis=0
        )
        found: FloatArray = (np.exp(np.outer(middles, self.z)) @ (self.weights * powers).T).real
        return found

    def cells(self, middle: FloatArray, width: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Q mass of cells, E_Q[S - middle; cell], and the error of a mass (of the latter: times half the width).

        The error is infinite where cells are too wide for a few derivatives.
        """
        span, table = self.span, self.patches
        index = np.clip(((middle - self.low) / span).astype(np.int64), 0, len(table) - 1)
        y = (middle - self.low) - span * (index + 0.5)
        columns = table.T[:, index]
        half = width / 2
        mass, first = np.zeros(middle.size), np.zeros(middle.size)
        for order in range(BRANCHES):  # the density's derivative of this order, over its factorial
            value = np.zeros(middle.size)
            for j in range(ORDERS - 1, order - 1, -1):
                value = value * y + math.comb(j, order) * columns[j]
            if order % 2 == 0:
                mass += 2 * half ** (order + 1) / (order + 1) * value
            else:
                first += 2 * half ** (order + 2) / (order + 2) * value
        return (
            mass,
            first,
            width * self._density_error(float(width.max()), float(np.abs(y).max())) * self.growth(middle + half),
        )

    def _density_error(self, width: float, reach: float) -> float:
        """Of the mean density over a cell, at `low`: the integral's, what the series leave out, and their rounding.

        With |y| <= reach and q = |z| width/2 the terms of a node sum up to at most e^(|z| reach + q) times its own; the
        orders from ORDERS on to (|z| reach)^ORDERS / ORDERS! e^(|z| reach) e^q, those left out in a cell to
        q^BRANCHES / BRANCHES! e^q e^(|z| reach).
        """
        modulus, size = np.abs(self.z), np.abs(self.weights)
        far, q = modulus * reach, modulus * width / 2
        if float(q.max()) > 300 or float(far.max()) > 300:
            return math.inf
        grown = size * np.exp(far + q)
        left = far**ORDERS / math.factorial(ORDERS) + q**BRANCHES / math.factorial(BRANCHES)
        rounding = np.expm1(np.minimum(self.room + (ORDERS + BRANCHES) * 4 * UNIT, 50.0))
        return (self.errors[0] + float((grown * (left + rounding)).sum())) * SAFE


class AllocationLaw:
    """The law of S under Q: one hyperbola for each range of means, made when it is asked for."""

    def __init__(self, s: float, steps: int) -> None:
        self.base, self.steps = Lognormal(s), steps
        spread = math.sqrt(self.base.variance / steps) if self.base.variance < 1e4 else 1.0
        first = math.sqrt(2.0) / min(spread, 1.0)
        first *= BUCKETS ** math.floor(math.log(2.0 / FARTHEST_MEAN / first) / math.log(BUCKETS))
        ends = first * BUCKETS ** (np.arange(400) - 0.5)
        ends = ends[ends / steps < 0.5 * self.base.rates[-1]]
        excess = 2 / ends - self.base.slope(ends / steps)  # the saddle for k = 2, about
        value = steps * self.base.psi_above(ends / steps) + ends * excess
        # from the right; each range starts where the next one ends
        keep = (value > DEEPEST) & (np.minimum.accumulate(excess) == excess) & (excess > -1)
        last = int(np.argmin(np.append(keep, False)))
        self.ends, self.abscissas = excess[:last], ends[:last] * math.sqrt(BUCKETS)
        self._made: dict[int, Hyperbola | None] = {}

    def places(self, excess: FloatArray) -> FloatArray:
        """Which hyperbola serves each v = 1 + excess; -1: none does."""
        place = np.searchsorted(-self.ends, -excess, side="right") - 1
        return np.where((place < self.ends.size - 1) & (excess <= FARTHEST_MEAN), place, -1)

    def hyperbola(self, place: int) -> Hyperbola | None:
        """The one at this place."""
        if place not in self._made:
            low, high = float(self.ends[place + 1]), float(self.ends[place])
            self._made[place] = Hyperbola.of(self.base, self.steps, float(self.abscissas[place]), low, high)
        return self._made[place]

    def integrals(self, excess: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        """Q(S <= v) and E(v - S)+ at v = 1 + excess, and their errors; infinite ones where nothing is integrated."""
        found = [
            np.zeros(excess.size),
            np.zeros(excess.size),
            np.full(excess.size, np.inf),
            np.full(excess.size, np.inf),
        ]
        places = self.places(excess)
        for place in np.unique(places[places >= 0]).tolist():
            contour = self.hyperbola(place)
            if contour is not None:
                at = places == place
                found[0][at], found[1][at] = contour.integrals(excess[at])
                grown = contour.growth(excess[at])
                found[2][at], found[3][at] = contour.errors[1] * grown, contour.errors[2] * grown
        return found[0], found[1], found[2], found[3]

    def cells(self, low: FloatArray, width: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Q mass of cells (1 + low, 1 + low + width], E_Q[S - middle; cell], and the error of the mass."""
        middle = low + width / 2
        mass, first, error = np.zeros(low.size), np.zeros(low.size), np.full(low.size, np.inf)
        places = self.places(middle)
        for place in np.unique(places[places >= 0]).tolist():
            contour = self.hyperbola(place)
            if contour is not None:
                at = places == place
                mass[at], first[at], error[at] = contour.cells(middle[at], width[at])
        return mass, first, error


def _blocks(law: Lognormal, w: Complex) -> tuple[Complex, FloatArray, FloatArray]:
    """`log_transform` of many arguments, each block with the first as its head."""
    found = [law.log_transform(np.append(w[:1], w[i : i + 256])) for i in range(0, w.size, 256)]
    return (
        np.concatenate([one[0][1:] for one in found]),
        np.concatenate([one[1][1:] for one in found]),
        np.concatenate([one[2][1:] for one in found]),
    )
