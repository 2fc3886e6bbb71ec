"""Tails of a composed privacy loss by contour integrals of its exact moment generating function.

With S the total loss, K = log M, z = theta + iu:

    P(S > e) = 1/(2 pi) int M(z) e^(-z e) / z du             (theta > 0; for theta < 0 the value is -P(S <= e))
    Q(S > e) = e^-e/(2 pi) int M(z) e^(-z e) / (z + 1) du    (theta > -1; for theta < -1 the value is -Q(S <= e))

and delta(e) = P(S > e) - e^e Q(S > e). On a lattice of step h the kernel 1/z becomes h / (1 - e^(-z h)) at the first
point above e, and u runs over one period. Every answer is computed on two contours that differ in tilt, step, length
and quadrature; they must agree to DIGITS digits or the truth is refused.
"""

import math
from statistics import NormalDist

import numpy as np

from .numbers import BITS, Refused, agree, fixed, mp, unfixed

DIGITS = 22
SMALL = 70.0
"""Natural logarithm of what truncation and aliasing may leave out, relative to the peak."""
NOTHING = -350.0
"""A tail whose Chernoff bound has a smaller logarithm counts as zero: nothing below 1e-140 is ever asked about."""
MOST_FREQUENCIES = 4000
RATIO = 1.5


class Composition:
    """The truth about sum_j count_j copies of factor_j; ``reveal`` is the total P mass at infinite loss.

    ``lattice`` = (origin, step) of the total, when all its losses lie on one.
    """

    def __init__(self, parts, reveal=0, hidden=0, lattice=None):
        self.parts, self.lattice = [(factor, int(count)) for factor, count in parts], lattice
        self.reveal, self.hidden = mp.mpf(reveal), mp.mpf(hidden)
        self._sketches = [(*factor.sketch()[:2], count) for factor, count in self.parts]
        self._contours = {}
        self.mean, self.deviation = self.moments(0.0)

    def cumulant(self, theta):
        """K(theta) in doubles, for planning."""
        return sum(k * _log_sum(mass + theta * loss) for loss, mass, k in self._sketches)

    def moments(self, theta):
        """Mean and standard deviation of the tilted total, in doubles."""
        mean = variance = 0.0
        for loss, mass, k in self._sketches:
            weight = np.exp(mass + theta * loss - np.max(mass + theta * loss))
            weight /= weight.sum()
            centre = float(weight @ loss)
            mean, variance = mean + k * centre, variance + k * float(weight @ (loss - centre) ** 2)
        return mean, math.sqrt(variance)

    def fade(self, theta, u):
        """log |M(theta + iu) / M(theta)| and its ceiling for all larger u, in doubles, for planning."""
        parts = [(factor.fade(theta, u), k) for factor, k in self.parts]
        return sum(k * now for (now, _), k in parts), sum(k * ceiling for (_, ceiling), k in parts)

    def delta(self, epsilon):
        """The hockey-stick divergence at epsilon."""
        epsilon = mp.mpf(epsilon)
        theta, pole, chernoff = self._tilt(float(epsilon), 0, 1)
        if chernoff < NOTHING:
            return self.reveal
        pair = self._pair(theta, pole)
        values = [c.tail(epsilon, 0) - mp.exp(epsilon) * c.tail(epsilon, -1) for c in pair]
        return self.reveal + agree(*values, DIGITS, f"delta({float(epsilon)})")

    def below(self, epsilon):
        """P(S <= epsilon), finite losses."""
        value, side = self._tail(epsilon, 0)
        return -value if side < 0 else 1 - self.reveal - value

    def above(self, epsilon):
        """Q(S > epsilon)."""
        value, side = self._tail(epsilon, -1)
        return value if side > 0 else 1 - self.hidden + value

    def beta(self, alpha):
        """Least type II error at type I error alpha: P(S <= e) - e^e (alpha - Q(S > e)), best where Q(S > e) = alpha.

        The value is stationary in e, so the root needs half the digits of the answer. On a lattice e is the point at
        which Q(S > e) <= alpha <= Q(S >= e).
        """
        alpha = mp.mpf(alpha)
        if alpha >= 1 - self.hidden:
            return mp.zero
        epsilon = self._cut(alpha)
        return self.below(epsilon) - mp.exp(epsilon) * (alpha - self.above(epsilon))

    def _cut(self, alpha):
        """e with Q(S > e) = alpha: bracket, then Illinois steps on the log of the smaller tail."""
        small, whole = alpha < 0.5, 1 - self.hidden

        def gap(e):
            tail = self.above(e)
            return mp.log(tail / alpha) if small else mp.log((whole - alpha) / (whole - tail))

        mean, deviation = self.moments(-1.0)
        start, unit = mean - deviation * NormalDist().inv_cdf(float(alpha)), mp.mpf(deviation) / 2
        left = right = mp.mpf(start)
        at_left = at_right = gap(left)
        while at_left < 0:
            left, right, at_right = left - unit, left, at_left
            at_left = gap(left)
        while at_right > 0:
            left, right, at_left = right, right + unit, at_right
            at_right = gap(right)
        for _ in range(200):
            if self.lattice and right - left < mp.mpf(self.lattice[1]) * 0.999:
                return self._first_above(left)  # Q(S > left) >= alpha >= Q(S > right), one lattice point between
            middle = (left + right) / 2 if self.lattice else (left * at_right - right * at_left) / (at_right - at_left)
            at = gap(middle)
            if not self.lattice and (abs(at) < mp.mpf("1e-16") or right - left < mp.mpf("1e-30")):
                return middle
            if at > 0:
                left, at_left, at_right = middle, at, at_right / 2
            else:
                right, at_right, at_left = middle, at, at_left / 2
        raise Refused("no cut found for beta")

    def _first_above(self, epsilon):
        origin, step = (mp.mpf(x) for x in self.lattice)
        return origin + step * (mp.floor((mp.mpf(epsilon) - origin) / step) + 1)

    def _tail(self, epsilon, pole):
        epsilon = mp.mpf(epsilon)
        side = 1 if float(epsilon) > self.moments(float(pole))[0] else -1
        values = [c.tail(epsilon, pole) for c in self._pair(*self._tilt(float(epsilon), pole, side)[:2])]
        return agree(*values, DIGITS, f"tail({float(epsilon)})"), side

    def _tilt(self, epsilon, pole, side):
        """The best tilt on one side of a pole, its ladder's pole and its Chernoff bound.

        Tilts come from geometric ladders, so that near questions share a contour; a question about one pole climbs the
        ladder beyond the other pole when its best tilt lies there.
        """
        beyond = 0 if side > 0 else -1
        if pole != beyond:
            theta, value = self._climb(epsilon, beyond, side)
            if theta != beyond + side / self.deviation:
                return theta, beyond, value
        theta, value = self._climb(epsilon, pole, side)
        return theta, pole, value

    def _climb(self, epsilon, pole, side):
        best, least = pole + side / self.deviation, math.inf
        for n in range(60):
            theta = pole + side * RATIO**n / self.deviation
            value = self.cumulant(theta) - theta * epsilon - math.log(abs(theta - pole))
            if not value < least:
                break
            best, least = theta, value
            if value < NOTHING:
                break
        return best, least

    def _pair(self, theta, pole):
        if (theta, pole) not in self._contours:
            mean, spread = self.moments(theta)
            window, reach = _window(self, theta, theta - pole, mean, spread), _reach(self, theta, spread)
            self._contours[theta, pole] = [
                _Contour(self, theta, window, reach, 1.0),
                _Contour(self, theta + 0.043 * (theta - pole), 1.31 * window, 1.17 * reach, 1.13),
            ]
        return self._contours[theta, pole]


class _Contour:
    """One vertical line: M^k on equally spaced frequencies, and sums over them."""

    def __init__(self, total, theta, window, reach, refine):
        self.total, self.theta = total, mp.mpf(theta)
        if total.lattice:
            h = float(total.lattice[1])
            points = math.ceil(window / h)
            self.step = 2 * mp.pi / (points * mp.mpf(total.lattice[1]))
            full = points // 2
            count = min(full, math.ceil(reach / float(self.step)))
            self.fold = points % 2 == 0 and count == full
        else:
            self.step = mp.mpf(2 * math.pi / window)
            count, self.fold = math.ceil(reach / float(self.step)), False
        if count > MOST_FREQUENCIES:
            raise Refused(f"{count} frequencies")
        self.log_mgf = mp.fsum(k * factor.log_mgf(self.theta) for factor, k in total.parts)
        logs = [mp.mpc(0)] * (count + 1)
        for factor, k in total.parts:
            for j, (real, imag) in enumerate(factor.ratios(self.theta, self.step, count, refine)):
                value = mp.mpc(unfixed(real), unfixed(imag))
                logs[j] += k * mp.log(value) if value else -mp.inf
        self.powers = [mp.exp(x) for x in logs]
        self._kernels = {}

    def tail(self, epsilon, pole):
        """The integral with the pole 0 (P) or -1 (Q); minus the lower tail when the line lies left of the pole."""
        at = self.total._first_above(epsilon) if self.total.lattice else epsilon
        angle = self.step * at
        cosine, sine = fixed(mp.cos(angle)), fixed(mp.sin(angle))
        scale, values = self._kernel(pole)
        real = imag = 0
        for a, b in reversed(values):  # Horner in e^(-i step at)
            real, imag = ((real * cosine + imag * sine) >> BITS) + a, ((imag * cosine - real * sine) >> BITS) + b
        return unfixed(real) * scale * mp.exp(self.log_mgf - (self.theta - pole) * at) * self.step / mp.pi

    def _kernel(self, pole):
        if pole not in self._kernels:
            values = []
            for j, power in enumerate(self.powers):
                z = mp.mpc(self.theta - pole, self.step * j)
                if self.total.lattice:
                    h = mp.mpf(self.total.lattice[1])
                    kernel = h / -mp.expm1(-z * h)
                else:
                    kernel = 1 / z
                values.append(power * kernel)
            values[0] /= 2
            if self.fold:
                values[-1] /= 2
            scale = max(abs(v) for v in values)
            self._kernels[pole] = scale, [(fixed(v.real / scale), fixed(v.imag / scale)) for v in values]
        return self._kernels[pole]


def _log_sum(x):
    top = np.max(x)
    return float(top + np.log(np.sum(np.exp(x - top))))


def _window(total, theta, distance, mean, spread):
    """A period that holds the tilted law on both sides of any epsilon within seven deviations (Chernoff)."""
    if not spread > 0:
        raise Refused("the tilted law has shrunk to a point")
    here, slack = total.cumulant(theta), 7 * spread
    free = [n / spread for n in (0.5, 1, 2, 4, 7, 10, 13, 18)]
    tied = [abs(distance) * f for f in (0.1, 0.3, 0.6, 0.8, 1.0)]

    def width(exponents, side):
        options = [(SMALL + 20 + total.cumulant(theta + side * s) - here) / s - side * mean for s in exponents]
        return min(x for x in options if x > 0) + slack

    right = width(free if distance > 0 else tied, 1)
    left = width(tied if distance > 0 else free, -1)
    return max(right, left)


def _reach(total, theta, spread):
    """A frequency beyond which |M(theta + iu)/M(theta)| stays negligible; on a lattice, within the period."""
    if total.lattice:
        half = math.pi / float(total.lattice[1])
        u = np.union1d(np.linspace(0, half, 600)[1:], np.arange(2.0, 60.0) / spread)
        u = u[u <= half]
        large = np.flatnonzero(total.fade(theta, u)[0] > -SMALL)
        return half if not len(large) or large[-1] == len(u) - 1 else float(u[large[-1] + 1])
    for most in (40.0, 200.0, 900.0):
        u = np.arange(2.0, most, 1.0) / spread
        now, ceiling = total.fade(theta, u)
        if ceiling[-1] < -SMALL:
            large = np.flatnonzero(now > -SMALL)
            return float(u[large[-1] + 1] if len(large) else u[0])
    raise Refused("the characteristic function does not fall off")
