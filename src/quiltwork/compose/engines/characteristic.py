"""Composition by the characteristic function of the tilted loss: no discretisation, cost independent of the counts.

    D(eps) = e^(K - theta eps) H,   H = (1/2 pi) int phi(u) e^(-iu eps) / ((theta+iu)(theta+1+iu)) du,   theta > 0,

and for -1 < theta < 0 the same integral is -C(eps). Four errors, each bounded: aliasing of the trapezoid rule
(non-negative terms, by Chernoff), truncation (by the decay of phi), quadrature of M (by each transform), rounding.

Where phi does not decay (atoms), one extra Gaussian release Y of tiny mu is added. D_S <= D_(S+Y) since an extra
release only helps the adversary, and D_(S+Y) - D_S = E[gap(eps - S)] with

    gap(x) = D_Y(x) - (1 - e^x)+ = e^(x/2) (2 pi)^(-1/2) int_0^mu e^(-x^2/(2 m^2) - m^2/8) dm <= e^(x/2) mu pdf(x/mu),

whose expectation is the same contour integral with the kernel mu^2 e^(mu^2/8). Second order in mu on both sides, and
not multiplied by the number of releases.

Reference: theory/engine.md section 2 (contour); the smoothing replaces its section 5.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
from scipy.special import erfcx

from quiltwork.checks import FloatArray
from quiltwork.compose.engines.engine import Declined, Engine, View
from quiltwork.compose.engines.views.contour import (
    MOMENTS_ROOM,
    Contour,
    ContourView,
    Decay,
    Ladder,
    Window,
    cutoff_of,
    integral_bound,
    line_of,
    peak_of,
    view_of,
)
from quiltwork.compose.engines.views.solve import ROOT2, ends_beside, landmarks, log_targets, tilt_for_epsilon
from quiltwork.compose.engines.views.tradeoff import ViewEngine
from quiltwork.compose.releases import Counted
from quiltwork.curves.curve import Ends
from quiltwork.losses.families.finite import FinitePair
from quiltwork.losses.families.gaussian import GaussianPair
from quiltwork.losses.families.poisson import PoissonPair
from quiltwork.losses.transforms.poisson_gaussian import PoissonGaussianTransform
from quiltwork.losses.transforms.transform import ComplexArray, Spectrum, TooCostly, Transform
from quiltwork.numbers.rounding import UNIT

ACCURACY = 1e-9  # relative accuracy aimed at when phi decays by itself
MAX_FREQUENCIES_UNSMOOTHED = 4000  # worth paying for such an answer
MAX_FREQUENCIES = 100_000
MANY_FREQUENCIES = 150  # from which a gentler tilt is tried: heavy tails fold less there
BATCH = 64  # subsampled Gaussians that share a transform
RIGHT = np.array([0.03, 0.06, 0.1, 0.15, 0.2, 0.3, 0.5, 0.75, 1.0])  # exponents of Chernoff's bounds, in parts
LEFT = np.array([0.5, 0.75, 1.0])
SPREADS_SERVED = 3.0  # around the centre of a view
FINE = 1e-6  # width of one answer, that is worth its price whatever was asked
LINES = 2  # for one question
CLOSE = 1e-9  # relative width of a bracket, from which on no other line is tried
TILTS_NEAR = np.array([0.4, 0.6, 0.8, 1.0, 1.3, 1.6, 2.0, 2.5])  # of log(1/delta) / epsilon
LOSS = 0.5  # in log D, of that bound


def transforms_of(pairs: Counted) -> list[Transform] | None:
    """One transform per pair; many subsampled Gaussians share one. None when some pair has no transform."""
    found: list[Transform] = []
    variances: list[float] = []
    batches: dict[bool, list[tuple[float, float, int]]] = {}
    for pair, count in pairs:
        if isinstance(pair, GaussianPair):
            variances.append(count * pair.mu**2)
        elif isinstance(pair, PoissonPair) and isinstance(pair.base, GaussianPair):
            batches.setdefault(pair.removed, []).append((1 / pair.base.mu, pair.rate, count))
        else:
            transform = pair.transform(count)
            if transform is None:
                return None
            found.append(transform)
    if variances:
        found.append(GaussianPair(math.sqrt(math.fsum(variances))).transform(1))
    for removed, rows in batches.items():
        rows.sort()
        size = 1 if len(rows) < 4 else BATCH
        for i in range(0, len(rows), size):
            table = np.array(rows[i : i + size], dtype=float)
            found.append(PoissonGaussianTransform(table[:, 0], table[:, 1], table[:, 2], removed))
    return found


class ContourEngine(ViewEngine):
    """The characteristic-function method on one direction of a composition."""

    method = "characteristic function"

    def __init__(self, pairs: Counted, transforms: list[Transform]) -> None:
        self.pairs, self.transforms = pairs, transforms

    @classmethod
    def of(cls, pairs: Counted) -> ContourEngine | None:
        """The engine, or None when some pair has no transform."""
        transforms = transforms_of(pairs)
        return None if transforms is None else cls(pairs, transforms)

    def moments(self, theta: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        if len(self.transforms) == 1:
            return self.transforms[0].moments(theta)
        log_mgf, mean, variance = np.zeros(theta.size), np.zeros(theta.size), np.zeros(theta.size)
        for transform in self.transforms:
            found = transform.moments(theta)
            log_mgf, mean, variance = log_mgf + found[0], mean + found[1], variance + found[2]
        return log_mgf, mean, variance

    def log_mgf_bound(self, theta: FloatArray) -> FloatArray:
        """log M nudged up past its rounding; +inf where it overflows."""
        log_mgf, _, _ = self.moments(theta)
        return nudged(log_mgf, self.room(theta))

    def room(self, theta: FloatArray) -> FloatArray:
        """How far rounded losses and masses may move log M at each theta.

        A loss that is off by r moves it by theta r, and each release counts: for laws that hardly differ, whose tilts
        are large, this is more than the rounding of log M itself.
        """
        losses = math.fsum(count * pair.rounding for pair, count in self.pairs)
        listed = [(pair, count) for pair, count in self.pairs if isinstance(pair, FinitePair)]
        masses = [4 * UNIT * count * (8 + pair.faintest) for pair, count in listed]
        total: FloatArray = math.fsum(masses) + theta * losses + self._moments_error
        return total

    @property
    def _moments_error(self) -> float:
        """What computed log moments may be off by, once they have been asked for."""
        return math.fsum(transform.moments_error for transform in self.transforms)

    def chernoff_epsilon(self, delta: FloatArray, near: FloatArray) -> FloatArray:
        """An upper bound on epsilon from one row of tilts, laid out for epsilons near the given ones: cheap."""
        reveal = self.known.reveal[1]
        if bool((delta <= reveal).any()) or not bool(np.all((near > 0) & np.isfinite(near))):
            return np.full(delta.size, np.inf)
        room = np.log(delta - reveal * (1 + 1e-15))
        ends = np.unique((-room / near)[[int(np.argmin(delta)), int(np.argmax(delta))]])
        theta = np.multiply.outer(ends, [0.4, 0.6, 0.8, 1.0, 1.3, 1.6, 2.0, 2.5]).ravel()
        found = (self.log_mgf_bound(theta) + log_peak(theta))[None, :] - room[:, None]
        best: FloatArray = (found / theta).min(axis=1)
        return np.maximum(best + 1e-12 * (1 + np.abs(best)), 0.0)

    def stay_below(self, delta: FloatArray, epsilon: FloatArray) -> bool:
        """Whether all these deltas certainly cost less than these epsilons."""
        if delta.size == 1 and not self.known.reveal[1] and 0 < epsilon[0] < math.inf:
            return self._stays_below(float(delta[0]), float(epsilon[0]))
        return bool(np.all(self.chernoff_epsilon(delta, epsilon) <= epsilon * (1 - 1e-9)))

    def _stays_below(self, delta: float, epsilon: float) -> bool:
        """Whether D(epsilon) < delta for certain, epsilon positive: by Chernoff's bound or the integral of |phi|."""
        theta = np.log(1.0 / delta) / epsilon * TILTS_NEAR
        log_mgf, mean, _ = self.moments(theta)
        room, target = self.room(theta), math.log(delta) - 1e-9
        if bool(np.any(nudged(log_mgf, room) + log_peak(theta) - theta * epsilon < target)):
            return True
        if not bool(np.all(np.isfinite(mean) & (np.diff(mean, prepend=-np.inf) > 0))):
            return False
        at = float(np.interp(epsilon, mean, theta))
        found = self.moments(np.array([at]))
        log_scale = float(nudged(found[0], self.room(np.array([at])))[0]) - at * epsilon
        spread = math.sqrt(max(float(found[2][0]), 1e-300))
        if log_scale + math.log(max(kernel_size(at, spread), 1e-300)) > target - LOSS:
            return False
        if not all(math.isinf(transform.reach) for transform in self.transforms):
            return False
        decays = [transform.decay(at) for transform in self.transforms]
        return log_scale + integral_bound(decays, at, spread) + 1e-9 < target

    def chernoff_delta(self, epsilon: FloatArray) -> FloatArray:
        """An upper bound on delta from a few tilts between those of the least and of the greatest epsilon asked."""
        place = landmarks(self)
        first, last = (tilt_for_epsilon(self, place, float(e)) for e in (epsilon.min(), epsilon.max()))
        theta = np.geomspace(first, max(last, 1.0001 * first), 5 if epsilon.size == 1 else 16)
        logs = (self.log_mgf_bound(theta) + log_peak(theta))[None, :] - np.multiply.outer(epsilon, theta)
        bound: FloatArray = np.exp(np.minimum(logs.min(axis=1), 0.0)) * (1 + 1e-9) + self.known.reveal[1]
        return np.minimum(bound, 1.0)

    def epsilon(self, delta: FloatArray, rtol: float) -> Ends:
        found = self._on_line(delta, rtol)
        if found is not None:
            return found
        if delta.size == 1 and rtol > FINE:
            try:
                return super().epsilon(delta, FINE)
            except (Declined, TooCostly, OverflowError):
                pass  # too many frequencies
        return super().epsilon(delta, rtol)

    def _on_line(self, delta: FloatArray, rtol: float) -> Ends | None:
        """One epsilon from a ladder, where that is narrow enough."""
        if delta.size > 1 or self.known.reveal[1]:
            return None
        try:
            found = self._by_ladder(float(delta[0]))
        except (TooCostly, OverflowError, FloatingPointError):
            return None
        if found is None or not found[1] - found[0] <= min(rtol, FINE) * found[1]:
            return None
        return Ends(np.array([found[0]]), np.array([found[1]]), self.method)

    def _by_ladder(self, delta: float) -> tuple[float, float] | None:
        """Ends of epsilon from one ladder of tilts and one line, a second one where the first was aimed badly."""
        log_delta = math.log(delta)
        ladder = Ladder.of(self.moments, log_delta)
        near = None if ladder is None else ladder.epsilon(log_delta)
        found = None
        for _ in range(LINES):
            if ladder is None or near is None:
                break
            line = self._line(ladder, near, log_delta)
            view = None if line is None else self._build(line)
            if view is None:
                break
            root = view.root(log_delta, near)
            upper, lower = log_targets(np.array([delta]), self.known.reveal)
            low, high = ends_beside(view, root, float(upper[0]), float(lower[0]))
            low, high = max(low * (1 - 2 * UNIT), 0.0), min(high * (1 + 2 * UNIT), self.known.top)
            if not (0 < low <= high):
                break
            found = (low, high) if found is None else (max(low, found[0]), min(high, found[1]))
            near = root[0]
            if high - low <= CLOSE * high:
                break
        return found

    def _line(self, ladder: Ladder, epsilon: float, log_delta: float) -> Contour | None:
        """The line that the ladder aims; None where phi decays too late."""
        room = float(self.room(ladder.theta[-1:])[0])
        line = line_of(ladder, epsilon, log_delta, room, self._decays)
        return line if line is not None and line.frequencies <= MAX_FREQUENCIES_UNSMOOTHED else None

    def _decays(self, theta: float) -> list[Decay]:
        """How |phi| falls for each transform, and up to where that holds."""
        return [(transform.decay(theta), transform.reach) for transform in self.transforms]

    def view(self, theta: float, log_width: float) -> View | None:
        if not log_width > 0:  # a loss without any spread: nothing to integrate
            return None
        try:
            return self._view(theta, log_width)
        except (TooCostly, OverflowError, FloatingPointError):
            return None

    def _view(self, theta: float, log_width: float) -> View | None:
        accuracy = min(ACCURACY, 0.02 * log_width)
        contour = self._contour(theta, accuracy, 0.0)
        if MANY_FREQUENCIES < contour.frequencies < math.inf and theta > 0 and len(self.transforms) == 1:
            gentler = self._contour(0.6 * theta, accuracy, 0.0)
            close = abs(gentler.centre - contour.centre) < 2.5 * gentler.spread  # the asked epsilon must stay in sight
            contour = gentler if close and gentler.frequencies < 0.7 * contour.frequencies else contour
        if contour.frequencies <= MAX_FREQUENCIES_UNSMOOTHED:
            view = self._build(contour)
            if view is not None:
                return view
        mu = math.sqrt(0.45 * log_width / abs(theta * (theta + 1)))
        mu = min(mu, 0.5 * contour.spread, 0.5)  # beyond, e^(mu^2/8) spoils the bound on the gap
        reach = min(transform.reach for transform in self.transforms)
        if math.isfinite(reach):  # a fine lattice needs next to nothing
            mu = min(mu, math.sqrt(-2 * math.log(1e-6 * accuracy)) / reach)
        contour = self._contour(theta, 0.01 * log_width, mu)
        return self._build(contour) if contour.frequencies <= MAX_FREQUENCIES else None

    def _contour(self, theta: float, accuracy: float, mu: float) -> Contour:
        """Window and cutoff for a relative accuracy of H near the centre, with a smoothing mu (0: none)."""
        steps, log_mgf, centre, spread = self._around(theta, accuracy)
        target = accuracy * 0.1 * max(kernel_size(theta, spread), 1e-14)
        window = self._window(theta, centre, spread, steps, log_mgf, -math.log(target))
        cutoff, tail = cutoff_of(self._decays(theta), mu, spread, target)
        return Contour(theta, centre, spread, window, cutoff, tail, mu)

    def _around(self, theta: float, accuracy: float) -> tuple[FloatArray, FloatArray, float, float]:
        """Exponents right and left of the tilt, log moments there (first entry: at the tilt), mean and spread."""
        _, _, variance = self.moments(np.array([theta]))
        spread = math.sqrt(max(float(variance[0]), 1e-300))
        if theta > 0:
            far = min(math.sqrt(-2 * math.log(accuracy * 0.01)) / spread, 40.0 + theta)
            steps = np.concatenate((far * RIGHT, -theta * LEFT))
        else:
            steps = np.concatenate((-theta * LEFT, -(1 + theta) * LEFT))
        log_mgf, mean, variance = self.moments(np.concatenate(([theta], theta + steps)))
        return steps, log_mgf, float(mean[0]), spread

    def _window(
        self, theta: float, centre: float, spread: float, steps: FloatArray, log_mgf: FloatArray, target: float
    ) -> Window:
        """The trapezoid sum is sum over m of H(eps + mW): choose W so that all m != 0 together are below e^-target."""
        peak, room = peak_of(theta), max(MOMENTS_ROOM, 2 * self._moments_error)
        target += room - MOMENTS_ROOM
        right, left, reach_right, reach_left = [], [], [], []
        for step, moment in zip(steps.tolist(), (log_mgf[1:] - log_mgf[0]).tolist(), strict=True):
            if not math.isfinite(moment):
                continue
            if step > 0:
                right.append((step, room + moment + math.log(peak)))
                reach_right.append((moment + target) / step - centre)
            else:
                left.append((-step, room + moment))
                reach_left.append((moment + target) / -step + centre)
        if not right or not left:
            raise TooCostly
        period = 1.02 * max(min(reach_right), min(reach_left), spread) + SPREADS_SERVED * spread
        sides = ((np.array([s for s, _ in side]), np.array([log for _, log in side])) for side in (right, left))
        return Window(period, *sides)

    def _build(self, contour: Contour) -> ContourView | None:
        mu, u = contour.mu, contour.nodes
        transforms = self.transforms if not mu else [*self.transforms, GaussianPair(mu).transform(1)]
        found = spectrum_of(transforms, contour.theta, u)
        return None if found is None else view_of(contour, found, u)


class LadderEngine(ContourEngine):
    """One epsilon on the line that a ladder aims, without smoothing; nothing else."""

    def epsilon(self, delta: FloatArray, rtol: float) -> Ends:
        found = self._on_line(delta, rtol)
        if found is None:
            raise Declined
        return found

    def delta(self, epsilon: FloatArray, rtol: float) -> Ends:
        raise Declined

    def beta(self, alpha: FloatArray, mirror: Callable[[], Engine]) -> Ends:
        raise Declined


def spectrum_of(transforms: Sequence[Transform], theta: float, frequencies: FloatArray) -> Spectrum | None:
    """The spectrum of all releases together; None when some transform declines, or overflows."""
    found = [transform.spectrum(theta, frequencies) for transform in transforms]
    known = [spectrum for spectrum in found if spectrum is not None]
    if len(known) < len(found):
        return None
    logs = [spectrum.log_mgf for spectrum in known]
    log_phi: ComplexArray = sum((spectrum.log_phi for spectrum in known), np.zeros(frequencies.size, dtype=complex))
    if not (math.isfinite(math.fsum(logs)) and bool(np.all(np.isfinite(log_phi)))):
        return None
    error = math.fsum(spectrum.log_mgf_error for spectrum in known) + 4 * UNIT * math.fsum(map(abs, logs))
    log_phi_error: FloatArray = sum((spectrum.log_phi_error for spectrum in known), np.zeros(frequencies.size))
    return Spectrum(math.fsum(logs), log_phi, error, log_phi_error)


def log_peak(theta: FloatArray) -> FloatArray:
    """log of max over y of e^(-theta y)(1 - e^-y)+: D(eps) <= e^(log M - theta eps) times it (Chernoff's bound)."""
    # log theta - log(1 + theta) = -log(1 + 1 / theta), without the cancellation that a large theta would magnify
    value: FloatArray = -theta * np.log1p(1.0 / theta) - np.log1p(theta)
    return value


def nudged(log_mgf: FloatArray, room: FloatArray | float = 0.0) -> FloatArray:
    """Past the rounding of computed moments, and this much more; +inf stays, NaN becomes +inf."""
    return np.where(np.isfinite(log_mgf), log_mgf + 1e-11 * (1 + np.abs(log_mgf)) + room, np.inf)


def kernel_size(theta: float, spread: float) -> float:
    """H at the centre for a normal loss: what relative accuracy is relative to."""
    first, second = erfcx(abs(theta) * spread / ROOT2), erfcx(abs(theta + 1) * spread / ROOT2)
    return 0.5 * float(first - second if theta > 0 else first + second)
