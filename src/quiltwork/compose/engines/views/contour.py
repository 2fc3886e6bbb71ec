"""A line of integration: the tilt that a ladder chooses, its aliases, where it may end, and the view that it gives.

A ladder of tilts is one evaluation of the moments that says where epsilon is, and which line has the fewest nodes.
Between the rungs the saddle-point estimate of log D says where D falls to delta.  For a line through rung j that is to
be right to an absolute error in D, the aliases at eps + mW are bounded by Chernoff's inequality with the other rungs
as exponents, and with theta = 0, where log M is 0; the rung with the fewest frequencies W sqrt(2 need) / sd is taken.
It only steers, apart from the aliases, whose exponents and logs are those of `Window`.

Reference: theory/engine.md section 2; theory/engine-faster.md section 1 (lines that a ladder aims).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import attrs
import numpy as np
from scipy.special import erfcx

from quiltwork.checks import FloatArray
from quiltwork.compose.engines.engine import Logs, Root, View
from quiltwork.losses.transforms.transform import ComplexArray, Spectrum
from quiltwork.numbers.rounding import UNIT

BLOCK = 1 << 21
MOMENTS_ROOM = math.log(1.01)  # in the log of an alias at least, for the rounding of the moments that bound it
SHARP = 1e-12  # of D, that a line for one question aims at
STEPS = 20  # of Newton
CELLS = np.linspace(0.0, 7.0, 36)  # of frequencies over which |phi| is integrated, in spreads
CUTOFFS = [1.2 ** np.arange(steps) for steps in (7, 11, 12, 12, 12, 12, 12)]  # tried at a time
RUNGS = np.linspace(0.0, 1.0, 20)
ITSELF = np.eye(RUNGS.size)  # a rung is no step from itself, and left out by both of these
NOT_ABOVE = np.where(np.triu(np.ones(ITSELF.shape), 1) > 0, 0.0, np.inf)
NOT_BELOW = NOT_ABOVE.T
MOST_NEED = 42.0  # of the logarithm of what is aimed at: beyond it there is rounding
MARGIN = 0.1  # spreads that epsilon may lie beside where the ladder sees it
ROOT2 = math.sqrt(2.0)
MANY_QUESTIONS = 100  # at once, from which Horner's rule beats sines

Moments = Callable[[FloatArray], tuple[FloatArray, FloatArray, FloatArray]]
Side = tuple[FloatArray, FloatArray]  # exponents, and logs of the alias bounds at eps = 0 for terms m > 0, or m < 0
Decay = tuple[Callable[[FloatArray], FloatArray], float]  # a bound on log |phi|, and the frequency up to which it holds


@attrs.frozen(eq=False)
class ContourView(View):
    """The spectrum at one tilt, with every error that does not depend on epsilon already summed."""

    theta: float
    centre: float
    spread: float
    log_mgf: float
    log_mgf_error: float
    frequencies: FloatArray
    kernel: ComplexArray
    kernel_size: float
    symmetric: float  # truncation and rounding of H
    smoothing: float  # mu^2 e^(mu^2/8), zero without smoothing
    density: ComplexArray
    density_error: float
    right: Side
    left: Side

    def middle(self, epsilon: FloatArray) -> FloatArray:
        value, _ = self._integrals(epsilon - self.centre)
        estimate: FloatArray = np.log(np.maximum(value, 1e-320)) + (self.log_mgf - self.theta * epsilon)
        return estimate

    def logs(self, epsilon: FloatArray) -> Logs:
        offset = epsilon - self.centre
        value, gap = self._integrals(offset)
        spin = self._spin(np.abs(offset))
        wrong = self.symmetric + self.kernel_size * spin
        low, high = value - self._alias(epsilon) - wrong, value + wrong
        if self.smoothing:
            gap = gap + self.density_error + self.smoothing * float(np.abs(self.density).sum()) * spin
            low, high = (low, high + gap) if self.theta < 0 else (low - gap, high)
        tilt = self.theta * epsilon
        scale, error = self.log_mgf - tilt, self.log_mgf_error + 4 * UNIT * (abs(self.log_mgf) + np.abs(tilt))
        logs = np.log(np.maximum((value, low, high), 1e-320))
        return Logs(logs[0] + scale, np.where(low > 0, logs[1], -np.inf) + scale - error, logs[2] + scale + error)

    def _spin(self, offset: FloatArray) -> FloatArray:
        """Relative rounding of a sum over frequencies so far from the centre."""
        found: FloatArray = (8 + offset * self.frequencies[-1] + 4 * self.frequencies.size) * (2 * UNIT)
        return found

    def _integrals(self, offset: FloatArray) -> tuple[FloatArray, FloatArray]:
        if offset.size > MANY_QUESTIONS:
            return self._polynomials(offset)
        value, gap = np.empty(offset.size), np.zeros(offset.size)
        rows = max(1, BLOCK // self.frequencies.size)
        for i in range(0, offset.size, rows):
            angle = np.multiply.outer(offset[i : i + rows], self.frequencies)
            cosine, sine = np.cos(angle), np.sin(angle)
            value[i : i + rows] = cosine @ self.kernel.real + sine @ self.kernel.imag
            if self.smoothing:
                gap[i : i + rows] = self.smoothing * (cosine @ self.density.real + sine @ self.density.imag)
        return value, np.maximum(gap, 0.0)

    def root(self, log_delta: float, start: float) -> Root:
        """Newton's steps on log D from here, with the derivative of the integral; they steer."""
        x, u = start, self.frequencies
        real, imaginary = self.kernel.real.copy(), self.kernel.imag.copy()
        risen, turned = u * imaginary, u * real
        slope, value = -self.theta, 0.0
        for _ in range(STEPS):
            angle = (x - self.centre) * u
            cosine, sine = np.cos(angle), np.sin(angle)
            value = float(cosine @ real + sine @ imaginary)
            slope = float(cosine @ risen - sine @ turned) / value - self.theta if value > 0 else 0.0
            if not slope < 0:
                return Root(start, -self.theta, math.inf, math.inf)
            move = (math.log(value) + self.log_mgf - self.theta * x - log_delta) / slope
            x -= min(max(move, -self.spread), self.spread)
            if abs(move) <= 1e-13 * (abs(x) + self.spread):
                break
        wrong = self.symmetric + self.kernel_size * float(self._spin(np.array([abs(x - self.centre)]))[0])
        wide = self.log_mgf_error + 4 * UNIT * (abs(self.log_mgf) + abs(self.theta * x)) + wrong / value
        return Root(x, slope, wide, wide + float(self._alias(np.array([x]))[0]) / value)

    def _polynomials(self, offset: FloatArray) -> tuple[FloatArray, FloatArray]:
        """For many questions: the frequencies are multiples of one step, so use Horner's rule in e^(-i eta y)."""
        turn = np.exp(-1j * float(self.frequencies[1]) * offset)
        value = np.full(offset.size, self.kernel[-1])
        for coefficient in self.kernel[-2::-1]:
            value = value * turn + coefficient
        gap = np.zeros(offset.size, dtype=complex)
        if self.smoothing:
            for coefficient in self.density[::-1]:
                gap = gap * turn + coefficient
        return value.real, self.smoothing * np.maximum(gap.real, 0.0)

    def _alias(self, epsilon: FloatArray) -> FloatArray:
        return alias_bound(self.right, self.left, epsilon)


@attrs.frozen(eq=False)
class Window:
    """Chernoff exponents around a tilt with logs of their bounds on H at eps = 0, and the alias period they allow."""

    period: float
    right: Side
    left: Side

    def aliases(self, *, shift: float = 0.0) -> tuple[Side, Side]:
        """Exponents and logs of the bounds of all terms m > 0 together, at eps = 0, and those of m < 0."""
        return self._folded(self.right, shift), self._folded(self.left, shift)

    def _folded(self, side: Side, shift: float) -> Side:
        exponents, logs = side
        turned = -exponents * self.period
        return exponents, logs + (turned - np.log(-np.expm1(turned)) + shift)


@attrs.frozen(eq=False)
class Contour:
    """The line of integration and its nodes: what a view will cost before it is built."""

    theta: float
    centre: float
    spread: float
    window: Window
    cutoff: float
    tail: float
    mu: float

    @property
    def frequencies(self) -> float:
        """How many frequencies it takes."""
        return self.cutoff * self.window.period / (2 * math.pi)

    @property
    def nodes(self) -> FloatArray:
        """They themselves."""
        step = 2 * math.pi / self.window.period
        found: FloatArray = step * np.arange(math.ceil(self.cutoff / step) + 1)
        return found


@attrs.frozen(eq=False)
class Aim:
    """A line: its tilt, mean and spread there, and what the aliases and the cutoff are to be kept below."""

    rung: int
    theta: float
    centre: float
    spread: float
    period: float
    need: float  # -log of the error of H that is aimed at


@attrs.frozen(eq=False)
class Ladder:
    """log M, mean and variance at rising positive tilts."""

    theta: FloatArray
    log_mgf: FloatArray
    mean: FloatArray
    variance: FloatArray

    @classmethod
    def of(cls, moments: Moments, log_delta: float) -> Ladder | None:
        """Around the tilts of a normal law with the spreads that the loss has under P and under Q."""
        _, _, variance = moments(np.array([0.0, -1.0]))
        theta = cls.tilts(variance, log_delta) if bool(np.all(variance > 0)) else None
        return None if theta is None else cls(theta, *moments(theta))

    @staticmethod
    def tilts(
        variance: FloatArray, log_delta: float, steepest: Callable[[float], float] = lambda theta: theta
    ) -> FloatArray | None:
        """Around those of normal laws of these variances; None where they would be too steep."""
        steep = np.sqrt(-2.0 * log_delta / variance)
        first, last = 0.15 * float(steep.min()), steepest(1.7 * float(steep.max()))
        first = min(first, last / 10)
        return first * (last / first) ** RUNGS if first > 0 and last < 1e5 else None

    def epsilon(self, log_delta: float) -> float | None:
        """Where D falls to delta, by the saddle points of two neighbouring rungs; None when it is not between rungs."""
        spread = np.sqrt(self.variance)
        near, far = erfcx(self.theta * spread / ROOT2), erfcx((self.theta + 1.0) * spread / ROOT2)
        logs = self.log_mgf - self.theta * self.mean + np.log(np.maximum(0.5 * (near - far), 1e-300))
        below = np.flatnonzero(~(logs > log_delta))
        if not below.size or below[0] == 0:
            return None
        i = int(below[0])
        share = float((logs[i - 1] - log_delta) / (logs[i - 1] - logs[i]))
        found = float(self.mean[i - 1] + share * (self.mean[i] - self.mean[i - 1]))
        return found if math.isfinite(found) and found > 0 else None

    def aim(self, epsilon: float, log_delta: float, accuracy: float, room: float) -> Aim | None:
        """The line with the fewest frequencies for log D at this epsilon to the accuracy; None without any."""
        theta, log_mgf = self.theta, self.log_mgf
        need = log_mgf - theta * epsilon - log_delta - math.log(accuracy)
        able = (need <= MOST_NEED) & (need > 0)
        if not able.any():
            return None
        most = need + (room + 1.0)
        apart = np.abs(theta - theta[:, None]) + ITSELF
        reach = (log_mgf + (most - log_mgf)[:, None]) / apart
        right = (reach + NOT_ABOVE).min(axis=1) - epsilon
        left = np.minimum((reach + NOT_BELOW).min(axis=1), (most - log_mgf) / theta) + epsilon
        spread = np.sqrt(self.variance)
        period = 1.02 * np.maximum(np.maximum(right, left), spread) + MARGIN * spread
        cost = np.where(able & np.isfinite(period), period * np.sqrt(need) / spread, np.inf)
        j = int(np.argmin(cost))
        if not math.isfinite(cost[j]):
            return None
        return Aim(j, float(theta[j]), float(self.mean[j]), float(spread[j]), float(period[j]), float(need[j]))


def line_of(
    ladder: Ladder, epsilon: float, log_delta: float, moments_error: float, decays: Callable[[float], Sequence[Decay]]
) -> Contour | None:
    """The line that the ladder aims, with its aliases and its cutoff; the log moments may be off by so much."""
    room = max(MOMENTS_ROOM, 2 * moments_error)
    aim = ladder.aim(epsilon, log_delta, SHARP * min(1.0, 4 * epsilon), room)
    if aim is None:
        return None
    cutoff, tail = cutoff_of(decays(aim.theta), 0.0, aim.spread, math.exp(-aim.need))
    return Contour(aim.theta, aim.centre, aim.spread, _aliases(ladder, aim, room), cutoff, tail, 0.0)


def view_of(contour: Contour, found: Spectrum, u: FloatArray) -> ContourView:
    """What the spectrum on these frequencies, multiples of one step, says along the line."""
    theta, centre, window, tail, mu = contour.theta, contour.centre, contour.window, contour.tail, contour.mu
    step = float(u[1])
    log_phi, log_phi_error = found.log_phi, found.log_phi_error
    z = theta + 1j * u
    phi: ComplexArray = np.asarray(np.exp(log_phi - 1j * u * centre) * (step / math.pi), dtype=complex)
    phi[0] *= 0.5
    kernel: ComplexArray = (1.0 if theta > 0 else -1.0) * phi / (z * (z + 1))
    size = np.abs(kernel)
    error = log_phi_error + 16 * UNIT * (1 + np.abs(log_phi) + 2 * u * abs(centre))
    growth = np.expm1(np.minimum(error, 50.0))
    rounding = float(size @ growth)
    smoothing = mu * mu * math.exp(mu * mu / 8)
    density_error = smoothing * float(np.abs(phi) @ growth) + math.exp(mu * mu / 8) * tail if mu else 0.0
    # alias bounds were taken without the extra Gaussian: its own moments raise them
    shift = 0.0
    if mu:
        reach = abs(theta) + float(max(window.right[0].max(), window.left[0].max()))
        shift = mu * mu / 2 * (reach + 1) ** 2
    right, left = window.aliases(shift=shift)
    return ContourView(
        theta=theta,
        centre=centre,
        spread=contour.spread,
        log_mgf=found.log_mgf,
        log_mgf_error=found.log_mgf_error,
        frequencies=u,
        kernel=kernel,
        kernel_size=float(size.sum()),
        symmetric=tail + rounding,
        smoothing=smoothing if mu else 0.0,
        density=phi if mu else np.zeros(0, dtype=complex),
        density_error=density_error,
        right=right,
        left=left,
    )


def _aliases(ladder: Ladder, aim: Aim, room: float) -> Window:
    """Chernoff's bounds with the other rungs as exponents, and on the left with theta = 0, where D <= 1."""
    steps, here = ladder.theta - aim.theta, float(ladder.log_mgf[aim.rung])
    logs, above, below = ladder.log_mgf + (room - here), slice(aim.rung + 1, None), slice(0, aim.rung)
    left = np.append(-steps[below], aim.theta), np.append(logs[below], room - here)
    return Window(aim.period, (steps[above], logs[above] + math.log(peak_of(aim.theta))), left)


def alias_bound(right: Side, left: Side, epsilon: FloatArray) -> FloatArray:
    """What the terms m != 0 add to H at each epsilon, at most."""
    if epsilon.size == 1:
        above, below = (right[1] - right[0] * epsilon).min(), (left[1] + left[0] * epsilon).min()
        return np.array([math.exp(min(float(above), 700.0)) + math.exp(min(float(below), 700.0))])
    above = (right[1][:, None] - np.multiply.outer(right[0], epsilon)).min(axis=0)
    below = (left[1][:, None] + np.multiply.outer(left[0], epsilon)).min(axis=0)
    bound: FloatArray = np.exp(np.minimum(above, 700.0)) + np.exp(np.minimum(below, 700.0))
    return bound


def peak_of(theta: float) -> float:
    """The largest value of e^(-theta y)(1 - e^-y)+, or of e^(-theta y) min(1, e^-y)."""
    return (theta / (1 + theta)) ** theta / (1 + theta) if theta > 0 else 1.0


def integral_bound(decays: Sequence[Callable[[FloatArray], FloatArray]], theta: float, spread: float) -> float:
    """log (1/pi) int_0^inf |phi(u)| / |z (z+1)| du at most, hence log D(eps) - K + theta eps at most.

    With |phi| bounded as for the truncation; near the saddle point little is lost by that.
    """
    cells = CELLS / spread
    logs = np.minimum(sum((decay(cells) for decay in decays), np.zeros(cells.size)), 0.0)
    size = np.exp(logs) / np.hypot(theta, cells) / np.hypot(theta + 1.0, cells)
    integral = float(size[:-1] @ np.diff(cells)) + math.exp(float(logs[-1])) / float(cells[-1])
    return math.log(integral / math.pi) + 1e-12


def cutoff_of(
    decays: Sequence[tuple[Callable[[FloatArray], FloatArray], float]], mu: float, spread: float, target: float
) -> tuple[float, float]:
    """The least frequency U beyond which the integral is below the target, and the bound: (1/pi U) prod B_j(U).

    Bounds that hold up to a reach R only leave (1/pi R) times the others at R for what lies beyond it.
    """
    reach = min((end for _, end in decays), default=math.inf)

    def tail(u: FloatArray, bounds: Sequence[Callable[[FloatArray], FloatArray]]) -> FloatArray:
        logs = sum((decay(u) for decay in bounds), -0.5 * (mu * u) ** 2)
        size: FloatArray = np.exp(np.minimum(logs, 0.0)) / (math.pi * u)
        return size

    lasting = [decay for decay, end in decays if math.isinf(end)]
    beyond = float(tail(np.array([reach]), lasting)[0]) if math.isfinite(reach) else 0.0
    start = math.sqrt(-2 * math.log(target)) / spread
    for steps in CUTOFFS:
        u = start * steps
        left = tail(u, [decay for decay, _ in decays]) + beyond
        if math.isfinite(reach):
            left = np.where(u < reach, left, tail(u, lasting))
        enough = np.flatnonzero(left <= target)
        if enough.size:
            return float(u[enough[0]]), float(left[enough[0]])
        start = float(u[-1]) * 1.2
    return math.inf, math.inf


def tail_beyond(decay: Callable[[FloatArray], FloatArray], cutoff: float) -> float:
    """What the integral beyond the frequency U adds to H, at most: (1/pi U) B(U)."""
    return math.exp(min(float(decay(np.array([cutoff]))[0]), 0.0)) / (math.pi * cutoff) * (1 + 8 * UNIT)
