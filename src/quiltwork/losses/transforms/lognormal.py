"""Laplace transform of a lognormal law of mean 1, also in the left half plane, with every error counted.

X = e^(s x - s^2/2), x standard normal, is the likelihood ratio of one Gaussian step with sensitivity s = mu. With
w = |w| e^(ia) the path of x may be turned, x -> x - ik, since everything is analytic there:

    E e^(-w(X-1)) = int n(x - ik) e^(-u) dx,   u = w (X e^(-isk) - 1),   |n(x - ik)| = n(x) e^(k^2/2).

As long as |a - sk| <= pi/2 the integrand is bounded, for every k: for any such k, with r = |w| cos(a - sk),

    log |E e^(-wX)| <= k^2/2 + log Lam(r),   Lam(r) = E e^(-rX),   psi(r) = r + log Lam(r).               (*)

psi is convex and rises from psi(0) = 0 with a slope of at most 1. log Lam is concave in log r: Lam(e^y) is the chance
that the logarithm of an exponential number less that of X, both of log-concave density, exceeds y.

The same integral is written in three ways, each for the w where it keeps its digits: e^(-u) - 1 + u (E u = 0: second
order in w), e^(-wX) - 1 (first order: for heavy tails) and e^(-wX). What is counted, and how:

alias        Trapezoid rule of step h: at most (N+ + N-)/(e^(2 pi d/h) - 1), N+- the integrals of the integrand's size
             on the edges |Im x| = d of a strip around the path, by (*) for e^(-wX); e^(k^2/2) and E|X e^(-isk) - 1| <=
             2 for 1 and u. d is the largest with |a - sk| + sd <= pi/2.
cut          What the nodes leave out: n(x) |e^(-wX)| is log-concave, so beyond an edge at most its value there over its
             slope; n and n X are normal densities, and their tails are known.
nodes        h has few binary digits and a node is exact.
rounding     Each term by its parts: FUNCTION units for one exp, expm1, log, sin, cos; (4|log X| + s^2) units for log X,
             s itself being off by up to two; ARGUMENT units for w, which is computed as well. An error of u moves
             e^(-u) - 1 + u by |1 - e^(-u)| times that. Sums go by groups of GROUP terms: GROUP + n/GROUP units of the
             sum of sizes, in whatever order numpy adds.
table        psi and log Lam at rates SPACING apart in the logarithm, as above, with Lam(cr) <= Lam(r)^c (Jensen) on the
             edges of the strip. Between them chords of psi, or the chord before of log Lam, lie above: no constant.

Reference: theory, sampling, section 7.1; Trefethen and Weideman 2014, Theorem 5.1.
"""

from __future__ import annotations

import math
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING

import attrs
import numpy as np
from numpy.typing import NDArray
from scipy.special import log_ndtr

from quiltwork.numbers.rounding import UNIT

if TYPE_CHECKING:
    from quiltwork.checks import FloatArray

Complex = NDArray[np.complexfloating]
FUNCTION = 8.0  # units (half ulps) that one elementary function of numpy or scipy may be off, of its value
ARGUMENT = 32.0  # units that an argument w may be off
KERNEL = 64.0  # units of e^(-u) - 1 + u by its parts: a series, or a difference of numbers at most 5.4 times as large
GROUP = 16  # terms that are added before others are
WIDEST = 1.3  # d
DECAY = 48.0  # 2 pi d / h: errors of e^-48 beside the sizes of the integrands
TABLE_DECAY = 64.0  # the same for the table, at s = 1
REACH = 10.0  # standard deviations, from where the integrand has its centre
HEAVY, GENTLE = 3.0, 0.07  # s above which X - 1 has no second moment worth using, and up to which u is never large
BENT, FIRST_ORDER = 8.0, 1.0  # |w| min(s, 1), or |w|, up to which e^(-u) - 1 + u, or e^(-wX) - 1, is summed
DEEPEST = 18.0  # standard deviations from 0 to the centre of n(x) e^(-rX), up to which the table goes
SPACING = 0.2  # of log r there
STRIPS = np.array([0.1, 0.2, 0.35, 0.5, 0.7, 0.85, 1.0])  # of the widest, for the table
SAFE = 1 + 1e-9  # sums of positive bounds, and products of relative errors
ROOT = math.sqrt(2 * math.pi)
BLOCK = 1 << 14  # entries of one array: some twenty of them stay near the processor
SECOND = [(-1.0) ** k / math.factorial(k + 2) for k in range(14)]  # of e^-a - 1 + a over a^2
THIRD = [(-1.0) ** k / math.factorial(2 * k + 3) for k in range(9)]  # of b - sin b over b^3


def _tail(x: float) -> float:
    """At least the mass of a standard normal law beyond x."""
    return 0.5 * math.erfc(x / math.sqrt(2)) * SAFE + 1e-300


@attrs.frozen(eq=False)
class Nodes:
    """The nodes of x, and what is known of them: log X, X, X - 1, and the errors of these."""

    s: float
    step: float
    x: FloatArray
    ratio: FloatArray  # X
    over: FloatArray  # X - 1
    wrong: FloatArray  # of X, relative
    over_wrong: FloatArray  # of X - 1, absolute
    weight_wrong: FloatArray  # of n(x), relative

    @classmethod
    def of(cls, s: float, step: float, left: float, right: float) -> Nodes:
        """From left to right at least; a whole number of groups."""
        step = max(math.floor(step * 4096.0), 1.0) / 4096.0
        first = math.floor(left / step)
        count = math.ceil(right / step) - first + 1
        x = step * np.arange(first, first + GROUP * -(-count // GROUP), dtype=float)
        growth = s * (x - s / 2)
        wrong = UNIT * (4 * np.abs(growth) + s * s)
        ratio, over = np.exp(growth), np.expm1(growth)
        return cls(
            s,
            step,
            x,
            ratio,
            over,
            wrong + FUNCTION * UNIT,
            ratio * wrong + FUNCTION * UNIT * np.abs(over),
            UNIT * (2 * x * x + 4 * FUNCTION + 10),
        )

    @cached_property
    def weight(self) -> FloatArray:
        """n(x) times the step."""
        found: FloatArray = np.exp(-0.5 * self.x * self.x) * (self.step / ROOT)
        return found

    def waves(self, turn: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The weights times cos(kx) and sin(kx), for each turn k."""
        phase = np.outer(turn, self.x)
        return self.weight * np.cos(phase), self.weight * np.sin(phase)

    @property
    def units(self) -> float:
        """Of a sum over all nodes, relative to the sum of sizes."""
        return (GROUP + self.x.size / GROUP) * UNIT

    def total(self, terms: FloatArray) -> FloatArray:
        """Sums over the nodes, by groups."""
        found: FloatArray = terms.reshape(*terms.shape[:-1], -1, GROUP).sum(axis=-1).sum(axis=-1)
        return found


class Lognormal:
    """X = e^(s x - s^2/2) under the law without the record."""

    def __init__(self, s: float) -> None:
        self.s = s
        self.width = min(WIDEST, math.pi / (2 * s))  # d
        self.variance = math.expm1(min(s * s, 700.0)) * SAFE
        self.rates, self._psi, (self._least, self._log), self._slopes = self._table()

    # ---- real arguments: upper bounds of psi and of log Lam

    def _table(self) -> tuple[FloatArray, FloatArray, tuple[FloatArray, FloatArray], FloatArray]:
        """Rates, psi and log Lam from above, and how fast log Lam falls with log r beyond each, from below."""
        s = self.s
        nodes = Nodes.of(s, 2 * math.pi / (TABLE_DECAY * max(s, 1.0)), -DEEPEST - REACH, self._right)
        start = math.log(1e-9 / max(1.0, s) / (1.0 + math.sqrt(min(self.variance, 1e9))))
        last = math.log(DEEPEST / s) + DEEPEST * s + s * s / 2
        rates = np.exp(np.arange(start, last, SPACING))
        # |log Lam(r)| <= r (Jensen), and <= 1 - log Q(rX <= 1)
        deep = np.minimum(rates, 1.0 - log_ndtr(s / 2 - np.log(rates) / s) * SAFE)
        strips = self.width * STRIPS
        logs = (
            strips**2 / 2 + np.outer(deep, 1 - np.cos(s * strips)) - np.log(np.expm1(2 * math.pi * strips / nodes.step))
        )
        alias = 2 * np.exp(np.minimum(logs.min(axis=1), 0.0)) * SAFE
        value, log, lost, joined = self._sums(
            rates.astype(complex), np.zeros(rates.size), nodes, self._gain(nodes.step)
        )
        psi, wrong = value.real, (lost + alias) / np.maximum(1 - lost - alias, 1e-9)
        wrong = wrong * SAFE
        psi = np.maximum((psi + wrong + 2 * joined) * (1 + 4 * UNIT), 0.0)
        wrong = wrong + 4 * UNIT * np.abs(log)
        log = np.minimum(log + wrong, 0.0)
        falls = np.append(0.0, (log[:-1] - 2 * wrong[:-1] - log[1:]) / np.diff(np.log(rates)))
        return rates, psi, (log - 2 * wrong, log), np.maximum(falls * (1 - 1e-9), 0.0)

    @property
    def _right(self) -> float:
        """Where nodes end: n(x) X has its centre at s."""
        return REACH + (self.s if self.s <= HEAVY else 0.0)

    def _gain(self, step: float) -> float:
        """1 / (e^(2 pi d/h) - 1), d a hair smaller: turns are rounded."""
        return 1.0 / math.expm1(2 * math.pi * self.width / step * (1 - 1e-9))

    def psi_above(self, rate: FloatArray) -> FloatArray:
        """psi from above: a convex function lies below its chords, the first of which starts at psi(0) = 0."""
        inside = np.interp(rate, np.append(0.0, self.rates), np.append(0.0, self._psi))
        beyond = rate - self.rates[-1]  # the slope of psi is at most 1
        found: FloatArray = np.where(beyond > 0, self._psi[-1] + beyond, inside)
        return found

    def log_above(self, rate: FloatArray) -> FloatArray:
        """Log Lam from above: it is concave in log r, so that it lies below the chord before."""
        at = np.searchsorted(self.rates, rate, side="right") - 1
        safe = np.maximum(at, 0)
        with np.errstate(all="ignore"):
            ahead = np.maximum(np.log(rate / self.rates[safe]) * (1 - 1e-9) - 1e-12, 0.0)
        return np.where(at >= 0, self._log[safe] - self._slopes[safe] * ahead, 0.0)

    def log_ends(self, rate: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Ends of log Lam inside of the table: concave in log r, above its chords and below those before and after."""
        y, x = np.log(self.rates), np.log(rate)
        low = np.interp(x, y, self._least)
        at = np.clip(np.searchsorted(y, x, side="right"), 1, y.size - 2)
        after = (self._least[at + 1] - self._log[at]) / (y[at + 1] - y[at])
        high = np.where(x <= y[at], self._log[at] + after * (x - y[at]), 0.0)
        return low, np.minimum(self.log_above(rate), high)

    def decline(self, rate: FloatArray) -> FloatArray:
        """At least -d log Lam / d log r at and beyond r."""
        at = np.searchsorted(self.rates, rate, side="right") - 1
        return np.where(at >= 0, self._slopes[np.maximum(at, 0)], 0.0)

    def slope(self, rate: FloatArray) -> FloatArray:
        """psi', about: it steers only."""
        return np.interp(rate, self.rates, np.clip(np.gradient(self._psi, self.rates), 0.0, 1.0))

    def log_size(self, modulus: FloatArray, angle: FloatArray, turn: FloatArray) -> FloatArray:
        """The right side of (*): a bound of log |E e^(-wX)|."""
        rate = modulus * np.maximum(np.cos(angle - self.s * turn), 0.0) * (1 - 1e-12)
        return (
            turn * turn / 2 + np.minimum(self.log_above(rate), self.psi_above(rate) - rate) + 1e-11 * (1 + turn * turn)
        )

    # ---- complex arguments

    def log_transform(self, w: Complex) -> tuple[Complex, FloatArray]:
        """log E e^(-w(X-1)) for Im w >= 0 and its absolute error; w[0] is real and has the largest Re w.

        Each w may be off by ARGUMENT units. Infinite errors mean that the sum does not reach far enough.
        """
        s, d = self.s, self.width
        modulus, angle = np.abs(w), np.angle(w)
        turn = np.maximum(angle + s * d - math.pi / 2, 0.0) / s
        head, none = modulus[:1], np.zeros(1)
        extra = self.log_size(head, none, np.full(1, d)) - self.log_size(head, none, none)
        step = 2 * math.pi * d / (DECAY + max(float(extra[0]), 0.0))
        rate = float((modulus * np.cos(angle - s * turn)).max())
        nodes = Nodes.of(s, step, self._centre(rate) - REACH, self._right)
        gain = self._gain(nodes.step)
        value, size, lost, joined = self._sums(w, turn, nodes, gain)
        with np.errstate(all="ignore"):
            path = np.logaddexp(self.log_size(modulus, angle, turn + d), self.log_size(modulus, angle, turn - d))
            lost = (lost + gain * np.exp(np.minimum(path - size, 700.0))) * SAFE
            error = np.where(lost < 0.5, lost / (1 - lost) + joined, np.inf)  # log(1 + e)
        return value, np.where(np.isnan(error), np.inf, error)

    def _sums(
        self, w: Complex, turn: FloatArray, nodes: Nodes, gain: float
    ) -> tuple[Complex, FloatArray, FloatArray, FloatArray]:
        """log E e^(-w(X-1)), log |E e^(-wX)|, their error but for the alias of e^(-wX), what the first one has more."""
        value, size, lost = np.empty(w.size, dtype=complex), np.empty(w.size), np.empty(w.size)
        few, light = np.abs(w), self.s <= HEAVY
        most = (math.inf if self.s < GENTLE else BENT / min(self.s, 1.0)) if light else FIRST_ORDER
        kind = np.where(few <= most, 1 if light else 2, 0)
        rows = max(1, BLOCK // nodes.x.size)
        with np.errstate(all="ignore"):
            for which, method in ((0, self._bare), (1, self._bent), (2, self._less)):
                at = np.nonzero(kind == which)[0]
                for i in range(0, at.size, rows):
                    part = at[i : i + rows]
                    log, lost[part] = method(w[part], turn[part], nodes, gain)
                    value[part], size[part] = (
                        (log + w[part], log.real) if which != 1 else (log, log.real - w.real[part])
                    )
        return value, size, np.where(np.isnan(lost), np.inf, lost), np.where(kind == 1, 0.0, 2 * UNIT * few)

    def _turned(self, w: Complex, turn: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Sk, and w e^(-isk)."""
        theta = self.s * turn
        cos, sin = np.cos(theta), np.sin(theta)
        return theta, w.real * cos + w.imag * sin, w.imag * cos - w.real * sin

    def _bare(self, w: Complex, turn: FloatArray, nodes: Nodes, gain: float) -> tuple[Complex, FloatArray]:
        """e^(-wX): relative to its own size, wherever that is."""
        theta, p, q = self._turned(w, turn)
        x, ratio = nodes.x, nodes.ratio
        size = np.exp(-0.5 * x * x + (0.5 * turn * turn)[:, None] - np.outer(p, ratio)) * (nodes.step / ROOT)
        phase = np.outer(turn, x) - np.outer(q, ratio)
        value = nodes.total(size * np.cos(phase)) + 1j * nodes.total(size * np.sin(phase))
        plain, modulus = size.sum(axis=1), np.abs(w)
        lost = size @ nodes.weight_wrong + self._weight_units(turn, np.abs(x), size, plain) + nodes.units * plain
        lost += modulus * (size @ (ratio * nodes.wrong) + UNIT * (ARGUMENT + 40 + 3 * theta) * (size @ ratio))
        total = np.abs(value)
        lost = (lost + self._beyond(nodes, p, turn)) / total
        log = np.log(total) + 1j * np.angle(value)
        return log, lost + UNIT * (4 * FUNCTION + 2 * FUNCTION * np.abs(log))

    def _bent(self, w: Complex, turn: FloatArray, nodes: Nodes, gain: float) -> tuple[Complex, FloatArray]:
        """e^(-u) - 1 + u: second order in w."""
        theta, p, _ = self._turned(w, turn)
        x, ratio = nodes.x, nodes.ratio
        cos, sin, versed = np.cos(theta), np.sin(theta), 2 * np.sin(theta / 2) ** 2
        right, up = np.outer(cos, nodes.over) - versed[:, None], -np.outer(sin, ratio)
        a = w.real[:, None] * right - w.imag[:, None] * up
        b = w.real[:, None] * up + w.imag[:, None] * right
        less, sine, half = np.expm1(-a), np.sin(b), np.sin(0.5 * b)
        bent, turned, cubic, crossed = _second(a, less), 2 * (less + 1) * half * half, _third(b, sine), less * sine
        real, imaginary = bent - turned, cubic - crossed
        weight, lift, (c, d) = nodes.weight, np.exp(0.5 * turn * turn), nodes.waves(turn)
        value = (nodes.total(c * real - d * imaginary) + 1j * nodes.total(c * imaginary + d * real)) * lift
        # what one term may lose
        parts = np.abs(bent) + turned + np.abs(cubic) + np.abs(crossed)
        steep = np.abs(less) + 2 * (less + 1) * np.abs(half)
        plain, modulus = parts @ weight, np.abs(w)
        lost = parts @ (weight * nodes.weight_wrong) + self._weight_units(turn, weight * np.abs(x), parts, plain)
        lost += (KERNEL * UNIT + 2 * nodes.units) * plain
        moved = steep @ (weight * (nodes.over_wrong + 10 * UNIT * np.abs(nodes.over)))
        moved += theta * (steep @ (weight * ratio * (nodes.wrong + 14 * UNIT)))
        moved += theta**2 * (steep @ (weight * UNIT * (14 + 3 * np.abs(nodes.over))))
        lost += modulus * moved + (ARGUMENT + 8) * UNIT * ((steep * (np.abs(a) + np.abs(b))) @ weight)
        lost *= lift * SAFE
        for edge in (turn + self.width, turn - self.width):  # the alias of -1 + u; that of e^(-u) is counted beside
            lost += gain * np.exp(edge * edge / 2) * (1 + 2 * modulus)
        left, end, lift = float(-nodes.x[0]), float(nodes.x[-1]), np.exp(turn * turn / 2)
        lost += lift * ((1 + modulus) * (_tail(left) + _tail(end)) + modulus * (_tail(left) + _tail(end - self.s)))
        lost += self._beyond(nodes, p, turn, w.real)
        return _log_one_plus(value, lost)

    def _less(self, w: Complex, turn: FloatArray, nodes: Nodes, gain: float) -> tuple[Complex, FloatArray]:
        """e^(-wX) - 1: first order in w; no second moment is needed."""
        theta, p, q = self._turned(w, turn)
        x, ratio = nodes.x, nodes.ratio
        a, b = np.outer(p, ratio), np.outer(q, ratio)
        less, half = np.expm1(-a), np.sin(0.5 * b)
        first, versed, imaginary = less * np.cos(b), 2 * half * half, -(less + 1) * np.sin(b)
        real = first - versed
        weight, lift, (c, d) = nodes.weight, np.exp(0.5 * turn * turn), nodes.waves(turn)
        value = (nodes.total(c * real - d * imaginary) + 1j * nodes.total(c * imaginary + d * real)) * lift
        parts = np.abs(first) + versed + np.abs(imaginary)
        modulus, plain, kept = np.abs(w), parts @ weight, less + 1
        lost = parts @ (weight * nodes.weight_wrong) + self._weight_units(turn, weight * np.abs(x), parts, plain)
        lost += (KERNEL * UNIT + 2 * nodes.units) * plain
        lost += modulus * (kept @ (weight * ratio * nodes.wrong))
        lost += modulus * UNIT * (ARGUMENT + 40 + 3 * theta) * (kept @ (weight * ratio))
        lost *= lift * SAFE
        for edge in (turn + self.width, turn - self.width):
            lost += gain * np.exp(edge * edge / 2)  # of the 1; that of e^(-wX) is counted beside
        lost += 2 * np.exp(turn * turn / 2) * (_tail(float(-nodes.x[0])) + _tail(float(nodes.x[-1])))
        return _log_one_plus(value, lost)

    @staticmethod
    def _weight_units(turn: FloatArray, x: FloatArray, size: FloatArray, plain: FloatArray) -> FloatArray:
        """What the turn adds to the rounding of n(x - ik)."""
        found: FloatArray = UNIT * (2 * turn * turn * plain + 2 * turn * (size @ x))
        return found

    def _centre(self, rate: float) -> float:
        """Where n(x) e^(-rX) is largest: x + r s X(x) = 0, from below."""
        s, x = self.s, 0.0
        low, high = -200.0, 0.0
        for _ in range(60):
            x = 0.5 * (low + high)
            if x + rate * s * math.exp(s * x - s * s / 2) > 0:
                high = x
            else:
                low = x
        return low

    def _beyond(self, nodes: Nodes, p: FloatArray, turn: FloatArray, lift: FloatArray | float = 0.0) -> FloatArray:
        """A bound of h * sum of n(x) e^(k^2/2 + lift) |e^(-wX)| beyond the nodes; infinite where it does not fall."""
        s, total = self.s, np.zeros(p.size)
        rho = np.maximum(p, 0.0) * (1 - 1e-12)
        for edge, ratio, sign in ((nodes.x[0], nodes.ratio[0], -1.0), (nodes.x[-1], nodes.ratio[-1], 1.0)):
            steep = sign * (edge + rho * s * ratio)
            log_edge = -edge * edge / 2 + turn * turn / 2 - rho * ratio * (1 - 1e-9) + lift
            beyond = np.exp(np.minimum(log_edge, 700.0)) / ROOT / np.maximum(steep, 1.0) * SAFE
            total = total + np.where(steep > 1.0, beyond, np.inf)
        return total


def _log_one_plus(value: Complex, lost: FloatArray) -> tuple[Complex, FloatArray]:
    """log(1 + value), with as many digits as value has, and the error, relative to 1 + value."""
    square = value.real**2 + value.imag**2
    excess = 2 * value.real + square
    log = 0.5 * np.log1p(excess) + 1j * np.arctan2(value.imag, 1 + value.real)
    whole = 1 + excess  # |1 + value|^2
    rounding = UNIT * (4 * (2 * np.abs(value.real) + square) / whole + 2 * FUNCTION * np.abs(log))
    rounding += 4 * UNIT * np.abs(value.imag) / np.sqrt(whole)
    return log, lost / np.sqrt(whole) * SAFE + rounding


@lru_cache(maxsize=8)
def lognormal(s: float) -> Lognormal:
    """The law, with its table, which all that is asked of one noise shares."""
    return Lognormal(s)


def _second(a: FloatArray, less: FloatArray) -> FloatArray:
    """e^-a - 1 + a: a series for small a."""
    found: FloatArray = less + a
    small = np.abs(a) < 0.5
    if small.any():
        near = a[small]
        found[small] = np.polyval(SECOND[::-1], near) * near * near
    return found


def _third(b: FloatArray, sine: FloatArray) -> FloatArray:
    """b - sin b: a series for small b."""
    found: FloatArray = b - sine
    small = np.abs(b) < 1.0
    if small.any():
        near = b[small]
        square = near * near
        found[small] = np.polyval(THIRD[::-1], square) * square * near
    return found
