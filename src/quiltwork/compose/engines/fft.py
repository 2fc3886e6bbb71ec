"""Composition on a lattice: one exponentially tilted FFT, with truncation, aliasing and rounding bounded.

Masses p e^(theta l) / M are convolved inside a Chernoff window by a real FFT; powers by squaring, only where the
spectrum is alive. With x the tilted window,

    |error of D e^(theta eps - K)| <= ||dx||_2 * min(||G||_2, sqrt N) + P(outside) * max G,

G the kernel e^(-theta y)(1 - e^-y)+ (or e^(-theta y) min(1, e^-y)) on the lattice, by Cauchy-Schwarz.

An FFT of length 2^a 3^b 5^c errs by at most FFT_ULPS units times log2 of it, relative to the 2-norm: a twiddle costs
sqrt 5 + 1 units, a butterfly of radix 2 or 4 one or two more; of radix r = 3 (5), whose outputs are sums with at most 5
(6) roundings on any path, 5 sqrt(2 r) (6 sqrt(2 r)). In units of log2 r radix 3 is worst, 15.6 / 1.58.

Reference: theory/engine.md section 4; Higham, Accuracy and Stability of Numerical Algorithms, section 24.1.
"""

from __future__ import annotations

import math

import attrs
import numpy as np
from scipy import fft

from quiltwork.checks import FloatArray
from quiltwork.compose.engines.engine import Knots, Logs, View
from quiltwork.numbers.rounding import UNIT

LONGEST = 1 << 21
OUTSIDE = 1e-13  # tilted mass left outside the window, per side
EXPONENTS = np.array([0.001, 0.004, 0.015, 0.05, 0.15, 0.4, 1.0])  # of Chernoff's bound, in parts of a bell's best
NEIGHBOURS = np.arange(-4, 5)  # lattice points that are looked at around one
LOG_LENGTH = 1 << 13  # windows up to here are summed in logs, which can neither overflow nor underflow
SMALL = 1 << 14  # entries of one block of moments
FAINT = -500.0  # log of a relative mass that may stand for anything smaller: subnormal numbers are slow
FFT_ULPS = 10.0
DEAD = -160.0  # log of a squared spectrum that is taken as zero (and accounted for)
IntArray = np.ndarray[tuple[int], np.dtype[np.int64]]


@attrs.frozen(eq=False)
class LatticePart:
    """`count` copies of atoms at offset + step * indices, log masses known to a relative error."""

    offset: float
    indices: IntArray
    log_masses: FloatArray
    count: int
    relative: float
    loss_error: float  # absolute error of one loss value

    def moments(self, theta: FloatArray, step: float) -> tuple[FloatArray, FloatArray, FloatArray]:
        """log M, mean and variance of one copy: small measures at once, long ones a few tilts at a time (in cache)."""
        losses = self.offset + step * self.indices
        rows = max(1, SMALL // losses.size)
        found = np.empty((3, theta.size))
        for i in range(0, theta.size, rows):
            exponent = self.log_masses + np.multiply.outer(theta[i : i + rows], losses)
            top = exponent.max(axis=1)
            weights = np.exp(np.maximum(exponent - top[:, None], FAINT))
            total = weights.sum(axis=1)
            mean = (weights * losses).sum(axis=1) / total  # not a dot product: its threads cost more than they save
            found[0, i : i + rows] = top + np.log(total)
            found[1, i : i + rows] = mean
            found[2, i : i + rows] = (weights * (losses - mean[:, None]) ** 2).sum(axis=1) / total
        return found[0], found[1], found[2]


@attrs.frozen(eq=False)
class Measure:
    """Parts on one common step: the finite part of a composed loss, total mass left for the caller to track."""

    step: float
    parts: tuple[LatticePart, ...]

    def moments(self, theta: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """log M, mean and variance of the whole composition."""
        total = [np.zeros(theta.size) for _ in range(3)]
        for part in self.parts:
            found = part.moments(theta, self.step)
            total = [sum_ + part.count * one for sum_, one in zip(total, found, strict=True)]
        return total[0], total[1], total[2]

    @property
    def offset(self) -> float:
        """The real number that all sums share."""
        return math.fsum(part.count * part.offset for part in self.parts)

    @property
    def span(self) -> tuple[int, int]:
        """Least and greatest total index, as Python integers."""
        low = sum(part.count * int(part.indices[0]) for part in self.parts)
        return low, sum(part.count * int(part.indices[-1]) for part in self.parts)


@attrs.frozen(eq=False)
class Convolution:
    """The tilted law of the sum inside its window, and what its values may be wrong by."""

    losses: FloatArray
    log_near: FloatArray  # D: suffix sums of x e^(-theta (s-c)); C: prefix sums; one more entry than losses
    log_far: FloatArray  # suffix sums of x e^(-(theta+1)(s-c))
    wrong: FloatArray  # relative error of both sums together, at each place
    theta: float
    centre: float
    spread: float
    log_mgf: float
    error: float
    relative: float
    nudge: float
    length: int
    ends: tuple[float, float]  # outside nothing is known (infinite when no loss was cut)
    whole: bool  # whether the window holds every point of the lattice

    def logs(self, epsilon: FloatArray, direction: int) -> FloatArray:
        """log D or log C: the estimate (0), a certified lower (-1) or upper (+1) value."""
        theta = self.theta
        falling = theta > 0
        # D falls and C rises with epsilon: shift by the rounding of the losses to the certified side
        at = epsilon - direction * self.nudge if falling else epsilon + direction * self.nudge
        if falling and direction <= 0:  # left of the cut, D at the cut is a lower value
            at = np.maximum(at, self.ends[0])
        j = np.searchsorted(self.losses, at, side="right")
        y = at - self.centre
        near, far = self.log_near[j], self.log_far[j] + y
        base = near if falling else np.logaddexp(near, far)
        with np.errstate(invalid="ignore"):
            share = np.exp(np.minimum(far - near, 0.0)) if falling else np.zeros(at.size)
        value = 1.0 - np.where(np.isnan(share), 1.0, share)
        noise = math.log(self.error) - theta * y
        scale = self.log_mgf - theta * self.centre
        rounding = direction * (self.wrong[j] * 1.01 + 64 * UNIT)
        with np.errstate(all="ignore"):
            if direction < 0:
                value = value - np.exp(np.minimum(noise - base, 700.0))
            logs = base + np.log(np.maximum(value + rounding, 0.0))
            if direction > 0:
                logs = np.logaddexp(logs, noise)
        logs = np.where(np.isnan(logs), np.inf if direction > 0 else -np.inf, logs) + scale + direction * self.relative
        if direction:
            unknown = (at < self.ends[0]) | ((at > self.ends[1]) & (not falling))
            logs = np.where(unknown, direction * np.inf, logs)
        return logs


@attrs.frozen(eq=False)
class LatticeView(View):
    """Upper values from one convolution, lower values from another (the same one on an exact lattice)."""

    upper: Convolution
    lower: Convolution

    @property
    def theta(self) -> float:
        return self.upper.theta

    @property
    def centre(self) -> float:
        return self.upper.centre

    @property
    def spread(self) -> float:
        return self.upper.spread

    @property
    def nudge(self) -> float:
        return self.upper.nudge

    def middle(self, epsilon: FloatArray) -> FloatArray:
        return self.upper.logs(epsilon, 0)

    def logs(self, epsilon: FloatArray) -> Logs:
        return Logs(self.upper.logs(epsilon, 0), self.lower.logs(epsilon, -1), self.upper.logs(epsilon, 1))

    def knots(self, log_level: FloatArray, under_q: bool) -> Knots:
        law = self.upper
        shift, log_tails = (law.theta + 1, law.log_far) if under_q else (law.theta, law.log_near)
        best = np.searchsorted(-(law.log_mgf - shift * law.centre + log_tails[1:]), -log_level)
        index = best[:, None] + NEIGHBOURS[None, :]  # around the first point whose tail is at most the level
        inside = (index >= 0) & (index < law.losses.size)
        losses = law.losses[np.clip(index, 0, law.losses.size - 1)]
        return Knots(losses, inside, law.whole and law.ends[0] == -math.inf)


def _window(measure: Measure, theta: float, centre: float, spread: float) -> tuple[float, float]:
    """Losses that hold all but OUTSIDE of the tilted mass on each side, by Chernoff with a few exponents.

    The largest one is best for a bell; a long thin tail, as of a release on a small sample, wants far smaller ones.
    """
    target = -math.log(OUTSIDE)
    far = math.sqrt(2 * target) / spread
    steps = far * EXPONENTS
    log_mgf, _, _ = measure.moments(np.concatenate(([theta], theta + steps, theta - steps)))
    with np.errstate(invalid="ignore"):
        right = np.nanmin((log_mgf[1 : steps.size + 1] - log_mgf[0] + target) / steps)
        left = np.nanmax(-(log_mgf[steps.size + 1 :] - log_mgf[0] + target) / steps)
    return float(left), float(right)


def convolve(measure: Measure, theta: float) -> Convolution | None:
    """The tilted composition in its window, or None when the window is too long."""
    theta = min(theta, 200.0 / measure.step)  # steeper tilts only put all mass on one point
    log_mgf, mean, variance = (float(v[0]) for v in measure.moments(np.array([theta])))
    step, offset = measure.step, measure.offset
    spread = math.sqrt(max(variance, 1e-300))
    low, high = measure.span
    first, last, outside = low, high, 0.0
    if high - low > 64:
        left, right = _window(measure, theta, mean, spread)
        if not (math.isfinite(left) and math.isfinite(right)):
            return None
        first, last = (
            max(low, math.floor((left - offset) / step) - 2),
            min(high, math.ceil((right - offset) / step) + 2),
        )
        outside = 0.0 if (first, last) == (low, high) else 2.1 * OUTSIDE
    if last - first + 1 > LONGEST:
        return None
    length = fft.next_fast_len(max(last - first + 1, 2), real=True)
    x, error, relative, loss_error = _tilted_window(measure, theta, first, low, length)
    return _sums(x, measure, theta, first, length, log_mgf, mean, spread, error, outside, relative, loss_error)


def _tilted_window(
    measure: Measure, theta: float, first: int, low: int, length: int
) -> tuple[FloatArray, float, float, float]:
    """Tilted masses on the window, 2-norm error, relative error of the untilting, total loss rounding."""
    levels = math.log2(length) + 1
    spectrum = np.ones(length // 2 + 1, dtype=complex)
    error = relative = loss_error = 0.0
    copies = 0.0
    for part in measure.parts:
        exponent = part.log_masses + theta * (part.offset + measure.step * part.indices)
        weights = np.exp(np.maximum(exponent - exponent.max(), FAINT))
        weights /= weights.sum()
        live = weights > 1e-30
        size = float((np.abs(part.log_masses) + np.abs(exponent - part.log_masses))[live].max())
        relative += part.count * (part.relative + (2 * size + 16) * UNIT)
        loss_error += part.count * part.loss_error
        places = part.indices - part.indices[0]
        if int(places[-1]) >= length:
            places = places % length
        one = fft.rfft(np.bincount(places, weights, minlength=length))
        error += part.count * FFT_ULPS * UNIT * levels * math.sqrt(float(np.square(weights).sum()))
        copies += part.count
        spectrum = spectrum * _power(one, part.count)
    x = fft.irfft(spectrum, length)
    norm = math.sqrt(float(np.square(x).sum()))
    total = 1.02 * (error + (4 * copies + 4 * len(measure.parts) + FFT_ULPS * levels) * UNIT * norm) + 1e-34
    x = np.roll(x, (low - first) % length)
    return np.maximum(x, 0.0), total, relative, loss_error


def _power(spectrum: np.ndarray, count: int) -> np.ndarray:
    """spectrum ** count by squaring, on the entries that do not vanish."""
    if count == 1:
        return spectrum
    size = spectrum.real**2 + spectrum.imag**2
    live = size > math.exp(DEAD / count) if count > 8 else np.ones(size.size, dtype=bool)
    base, result = spectrum[live], np.ones(int(live.sum()), dtype=complex)
    exponent = count
    while exponent:
        if exponent & 1:
            result = result * base
        exponent >>= 1
        if exponent:
            base = base * base
    full = np.zeros_like(spectrum)
    full[live] = result
    return full


def _sums(
    x: FloatArray,
    measure: Measure,
    theta: float,
    first: int,
    length: int,
    log_mgf: float,
    mean: float,
    spread: float,
    error: float,
    outside: float,
    relative: float,
    loss_error: float,
) -> Convolution:
    step = measure.step
    losses = measure.offset + step * (first + np.arange(length))
    if theta > 0:
        norm = math.sqrt(min(1 / (2 * theta * step) + 1, length))
        peak = (theta / (1 + theta)) ** theta / (1 + theta)
    else:
        norm = math.sqrt(min(1 / (-2 * theta * step) + 1 / (2 * (1 + theta) * step) + 1, length))
        peak = 1.0
    if length <= LOG_LENGTH:
        with np.errstate(divide="ignore"):
            log_x = np.log(x)
        ends, lost = (-math.inf, math.inf), 0.0
        near, near_wrong = _log_sums(log_x, theta * (losses - mean), backward=theta > 0)
        far, far_wrong = _log_sums(log_x, (theta + 1) * (losses - mean), backward=True)
        wrong: FloatArray = near_wrong + far_wrong
    else:
        losses, near, far, wrong, ends, lost = _plain_sums(losses, x, theta, mean)
    return Convolution(
        losses=losses,
        log_near=near,
        log_far=far,
        wrong=wrong,
        theta=theta,
        centre=mean,
        spread=max(spread, step),
        log_mgf=log_mgf,
        error=error * norm + (outside + lost) * peak,
        relative=relative + (4 * abs(log_mgf) + 200) * UNIT,
        nudge=8 * UNIT * abs(mean) + 4 * UNIT * length * step + loss_error,
        length=length,
        ends=ends,
        whole=outside == 0,
    )


def _log_sums(log_x: FloatArray, untilt: FloatArray, backward: bool) -> tuple[FloatArray, FloatArray]:
    """Logs of the sums of x e^-untilt from one end, and what each may be off by.

    A sum in logs is rounded at every step that moves it, by a unit of its logarithm, and each term is off by what its
    own exponent is rounded by.
    """
    terms = log_x - untilt
    size = np.where(np.isneginf(log_x), 0.0, np.abs(log_x) + 3.0 * np.abs(untilt))
    if backward:
        terms, size = terms[::-1], size[::-1]
    sums = np.logaddexp.accumulate(terms)
    moved = np.append(True, sums[1:] != sums[:-1]) & np.isfinite(sums)
    own = np.maximum.accumulate(size)
    wrong = UNIT * (np.cumsum(np.where(moved, np.abs(np.where(moved, sums, 0.0)) + 4.0, 0.0)) + own + 4.0)
    sums, wrong = np.append(-np.inf, sums), np.append(0.0, wrong)
    return (sums[::-1], wrong[::-1]) if backward else (sums, wrong)


def _plain_sums(
    losses: FloatArray, x: FloatArray, theta: float, mean: float
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray, tuple[float, float], float]:
    """Sums without logs, for long windows: cut where the untilted weights would overflow; the cut mass is returned."""
    reach = 600.0 / max(abs(theta), theta + 1)
    start, stop = (int(i) for i in np.searchsorted(losses, [mean - reach, mean + reach]))
    ends = (
        -math.inf if start == 0 else float(losses[start]),
        math.inf if stop == losses.size else float(losses[stop - 1]),
    )
    lost = float(x[stop:].sum()) + (float(x[:start].sum()) if theta < 0 else 0.0)
    losses, x = losses[start:stop], x[start:stop]
    near, far = x * np.exp(-theta * (losses - mean)), x * np.exp(-(theta + 1) * (losses - mean))
    near = np.append(np.cumsum(near[::-1])[::-1], 0.0) if theta > 0 else np.insert(np.cumsum(near), 0, 0.0)
    far = np.append(np.cumsum(far[::-1])[::-1], 0.0)
    wrong = np.full(near.size, (2 * losses.size + 6 * 600.0 + 16) * UNIT)  # exponents reach 600
    with np.errstate(divide="ignore"):
        return losses, np.log(near), np.log(far), wrong, ends, lost
