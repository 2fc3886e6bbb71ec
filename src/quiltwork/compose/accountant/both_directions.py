"""Epsilon of one kind of sampled Gaussian noise in both directions, from one ladder and one table of sines.

The direction whose ladder sees the larger epsilon is inverted on its line.  The other one is ruled out by Chernoff's
bound or the integral of |phi| where that suffices, and otherwise read on a line of its own, at the same frequencies.

Reference: theory/engine-faster.md section 1.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from quiltwork.compose.engines.characteristic import MAX_FREQUENCIES_UNSMOOTHED, kernel_size, log_peak, nudged
from quiltwork.compose.engines.engine import Root
from quiltwork.compose.engines.views.contour import (
    Contour,
    ContourView,
    Decay,
    Ladder,
    integral_bound,
    line_of,
    tail_beyond,
    view_of,
)
from quiltwork.compose.engines.views.solve import ends_beside
from quiltwork.compose.releases import Counted
from quiltwork.losses.families.gaussian import GaussianPair
from quiltwork.losses.families.poisson import PoissonPair
from quiltwork.losses.transforms.sampled_gaussian import Line, SampledGaussian
from quiltwork.losses.transforms.transform import Spectrum
from quiltwork.numbers.rounding import UNIT

METHOD = "characteristic function"
CLOSE = 1e-9  # relative width of a bracket, from which on no other line is tried
LINES = 2
LOSS, LEAST = 0.9, 1e-300  # in log D of that bound, and of a kernel
AIMED = 2e-3  # by how much the ladder may be wrong about epsilon
ALIKE = 0.9  # of epsilon: a direction that costs so much is not ruled out by Chernoff's bound


def epsilon_ends(several: Sequence[Counted], delta: float) -> tuple[float, float] | None:
    """Ends of the smallest epsilon of the worse of these directions; None when they are others, or out of reach."""
    table = _table(several)
    if table is None:
        return None
    directions = [pairs[0][0].removed for pairs in several]  # type: ignore[attr-defined]
    try:
        with np.errstate(all="ignore"):
            return _Both(table, directions, delta).ends()
    except (OverflowError, FloatingPointError):
        return None


def _table(several: Sequence[Counted]) -> SampledGaussian | None:
    """The releases, when all directions are of one kind of Gaussian noise on samples."""
    found = set()
    for pairs in several:
        pair, count = pairs[0]
        if len(pairs) > 1 or not isinstance(pair, PoissonPair) or not isinstance(pair.base, GaussianPair):
            return None
        found.add((1 / pair.base.mu, pair.rate, count))
    return SampledGaussian(*found.pop()) if len(found) == 1 else None


class _Both:
    """The directions that were asked for, on their ladders."""

    def __init__(self, table: SampledGaussian, directions: list[bool], delta: float) -> None:
        self.table, self.directions, self.delta, self.log_delta = table, directions, delta, math.log(delta)
        hair = 4 * UNIT * (1 + abs(self.log_delta))
        self.strict, self.loose = self.log_delta - hair, self.log_delta + hair
        self.below: dict[bool, float] = {}  # from which epsilon on D is certainly below delta

    def ends(self) -> tuple[float, float] | None:
        """From lines aimed at what the ladders see, and once more from where the first line saw epsilon."""
        variance = self.table.variances()
        theta = Ladder.tilts(variance, self.log_delta, self.table.steepest) if bool(np.all(variance > 0)) else None
        if theta is None:
            return None
        both = self.table.moments(theta)
        self.ladders = {removed: Ladder(theta, *both[not removed]) for removed in self.directions}
        seen = {removed: ladder.epsilon(self.log_delta) for removed, ladder in self.ladders.items()}
        near = {removed: epsilon for removed, epsilon in seen.items() if epsilon is not None}
        found = None
        for _ in range(LINES):
            ends = self._on_lines(near) if near else None
            if ends is None:
                break
            found = ends if found is None else (max(ends[0], found[0]), min(ends[1], found[1]))
            if found[1] - found[0] <= CLOSE * found[1]:
                break
            middle = 0.5 * (ends[0] + ends[1])
            near = {removed: min(epsilon, middle) for removed, epsilon in near.items()} | {self.first: middle}
        return found

    def _on_lines(self, near: dict[bool, float]) -> tuple[float, float] | None:
        """Ends from the line of the direction that costs more; the other one is read on the same nodes, or its own."""
        self.first = max(near, key=lambda removed: near[removed])
        least = near[self.first] * (1 - AIMED)
        others = [r for r in self.directions if r != self.first]
        likely = [r for r in others if near.get(r, 0.0) > ALIKE * least or not self._below(r, least)]
        line = self._line(self.first, near[self.first])
        spectra = None if line is None else self._spectra(line, [self.first, *likely])
        if line is None or spectra is None:
            return None
        view = view_of(line, spectra[0], line.nodes)
        ends = self._inverted(view, view.root(self.log_delta, near[self.first]))
        for removed in others:
            if ends is None:
                break
            if removed in likely:
                below = self._read(removed, line, spectra[1 + likely.index(removed)], ends[0])
            else:
                below = self._below(removed, ends[0])
            ends = ends if below else self._with(removed, ends, near.get(removed, ends[0]))
        return ends

    def _read(self, removed: bool, line: Contour, spectrum: Spectrum, epsilon: float) -> bool:
        """Whether D(epsilon) < delta for certain, from the nodes of another line.

        Aliases are positive: an upper end needs no bound of them.
        """
        theta, u, log_phi = line.theta, line.nodes, spectrum.log_phi
        sizes = np.exp(log_phi.real) / np.hypot(theta, u) / np.hypot(theta + 1, u)
        sizes[0] *= 0.5
        angle = log_phi.imag - epsilon * u - np.arctan2(u, theta) - np.arctan2(u, theta + 1)
        rounded = 16 * UNIT * (4 + u.size + np.abs(log_phi) + epsilon * u)
        found = sizes @ np.cos(angle) + sizes @ np.expm1(np.minimum(spectrum.log_phi_error + rounded, 50.0))
        tail = tail_beyond(self.table.decay(self._at(removed, theta)), line.cutoff)
        most = float(found) * float(u[1]) / math.pi + tail
        room = spectrum.log_mgf_error + 8 * UNIT * (4 + abs(spectrum.log_mgf) + theta * epsilon)
        return most > 0 and spectrum.log_mgf - theta * epsilon + math.log(most) + room < self.strict

    def _with(self, removed: bool, ends: tuple[float, float], near: float) -> tuple[float, float] | None:
        """With this direction read on a line of its own."""
        line = self._line(removed, near)
        spectra = None if line is None else self._spectra(line, [removed])
        if line is None or spectra is None:
            return None
        view = view_of(line, spectra[0], line.nodes)
        if self._decided(view, ends[0]):
            return ends
        more = self._inverted(view, view.root(self.log_delta, near))
        return None if more is None else (max(ends[0], more[0]), max(ends[1], more[1]))

    def _decided(self, view: ContourView, epsilon: float) -> bool:
        """Whether D(epsilon) <= delta for certain."""
        return bool(view.logs(np.array([epsilon])).high[0] <= self.strict)

    def _inverted(self, view: ContourView, root: Root) -> tuple[float, float] | None:
        low, high = ends_beside(view, root, self.strict, self.loose)
        low, high = low * (1 - 2 * UNIT), high * (1 + 2 * UNIT)
        return (low, high) if 0 < low <= high < math.inf else None

    def _below(self, removed: bool, epsilon: float) -> bool:
        """Whether D(epsilon) < delta for certain in this direction, by Chernoff's bound or the integral of |phi|."""
        if epsilon >= self.below.get(removed, math.inf):
            return True  # as at a smaller epsilon
        ladder, target = self.ladders[removed], self.log_delta - 1e-9
        logs = nudged(ladder.log_mgf, self.table.moments_error) - ladder.theta * epsilon
        rung = int(np.argmin(logs + log_peak(ladder.theta)))
        found = float(logs[rung]) + float(log_peak(ladder.theta[rung : rung + 1])[0]) < target
        theta, spread = float(ladder.theta[rung]), math.sqrt(float(ladder.variance[rung]))
        if not found and float(logs[rung]) + math.log(max(kernel_size(theta, spread), LEAST)) < target - LOSS:
            decay = self.table.decay(self._at(removed, theta))
            found = float(logs[rung]) + integral_bound([decay], theta, spread) < target
        if found:
            self.below[removed] = epsilon
        return found

    def _line(self, removed: bool, epsilon: float) -> Contour | None:
        def decays(theta: float) -> list[Decay]:
            return [(self.table.decay(self._at(removed, theta)), math.inf)]

        line = line_of(self.ladders[removed], epsilon, self.log_delta, self.table.moments_error, decays)
        return line if line is not None and line.frequencies <= MAX_FREQUENCIES_UNSMOOTHED else None

    def _at(self, removed: bool, theta: float) -> Line:
        ladder = self.ladders[removed]
        log_mgf = float(ladder.log_mgf[int(np.searchsorted(ladder.theta, theta))]) / self.table.count
        return Line(removed, theta, log_mgf)

    def _spectra(self, line: Contour, directions: list[bool]) -> list[Spectrum] | None:
        """Of each direction at the tilt and the nodes of this line."""
        return self.table.spectra([self._at(removed, line.theta) for removed in directions], line.nodes)
