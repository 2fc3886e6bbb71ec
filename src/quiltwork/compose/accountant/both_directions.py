"""Epsilon of one kind of sampled Gaussian noise in both directions, from one ladder and one table of sines.

The direction whose ladder sees the larger epsilon is inverted on its line.  The other one is ruled out by Chernoff's
bound or the integral of |phi| where that suffices, and otherwise read on a line of its own, at the same frequencies.

Reference: theory/engine-faster.md section 1.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import attrs
import numpy as np

from quiltwork.compose.engines.characteristic import MAX_FREQUENCIES_UNSMOOTHED, kernel_size, log_peak, nudged
from quiltwork.compose.engines.views.contour import (
    Contour,
    ContourView,
    Decay,
    Ladder,
    Root,
    integral_bound,
    line_of,
    view_of,
)
from quiltwork.compose.engines.views.solve import enclosures, log_targets
from quiltwork.compose.releases import Counted
from quiltwork.losses.families.gaussian import GaussianPair
from quiltwork.losses.families.poisson import PoissonPair
from quiltwork.losses.transforms.sampled_gaussian import Line, SampledGaussian
from quiltwork.numbers.rounding import UNIT

METHOD = "characteristic function"
CLOSE = 1e-9  # relative width of a bracket, from which on no other line is tried
LINES = 2
LOSS, LEAST = 0.9, 1e-300  # in log D of that bound, and of a kernel
AIMED = 2e-3  # by how much the ladder may be wrong about epsilon


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
        self.strict, self.loose = log_targets(np.array([delta]), (0.0, 0.0))
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
        self.first = max(near, key=lambda removed: near[removed])
        others = [r for r in near if r != self.first and not self._below(r, near[self.first] * (1 - AIMED))]
        views = self._views({removed: near[removed] for removed in (self.first, *others)})
        view = views.get(self.first)
        if view is None:
            return None
        ends = self._inverted(view, view.root(self.log_delta, near[self.first]))
        for removed in self.directions:
            if ends is None or removed == self.first or self._below(removed, ends[0]):
                continue
            if removed not in views:
                views |= self._views({removed: near.get(removed, ends[0])})
            other = views.get(removed)
            if other is None:
                return None
            if not bool(other.logs(np.array([ends[0]])).high[0] <= self.strict[0]):
                more = self._inverted(other, other.root(self.log_delta, near.get(removed, ends[0])))
                ends = None if more is None else (max(ends[0], more[0]), max(ends[1], more[1]))
        return ends

    def _inverted(self, view: ContourView, root: Root) -> tuple[float, float] | None:
        low, high = (float(end[0]) for end in enclosures(view, self.strict, self.loose, start=root))
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
            decay = self.table.planned(self._at(removed, theta)).decay(theta)
            found = float(logs[rung]) + integral_bound([decay], theta, spread) < target
        if found:
            self.below[removed] = epsilon
        return found

    def _line(self, removed: bool, epsilon: float) -> Contour | None:
        ladder = self.ladders[removed]

        def decays(theta: float) -> list[Decay]:
            return [(self.table.planned(self._at(removed, theta)).decay(theta), math.inf)]

        line = line_of(ladder, epsilon, self.log_delta, self.table.moments_error, decays)
        return line if line is not None and line.frequencies <= MAX_FREQUENCIES_UNSMOOTHED else None

    def _at(self, removed: bool, theta: float) -> Line:
        ladder = self.ladders[removed]
        log_mgf = float(ladder.log_mgf[int(np.searchsorted(ladder.theta, theta))]) / self.table.count
        return Line(removed, theta, log_mgf)

    def _views(self, near: dict[bool, float]) -> dict[bool, ContourView]:
        """Each direction on its line, all at the frequencies of the longest period up to the last cutoff."""
        aimed = {removed: self._line(removed, epsilon) for removed, epsilon in near.items()}
        contours = {removed: line for removed, line in aimed.items() if line is not None}
        if not contours:
            return {}
        held = contours if len(contours) == 1 else _together(contours)
        frequencies = next(iter(held.values())).nodes
        spectra = self.table.spectra([self._at(removed, one.theta) for removed, one in held.items()], frequencies)
        if spectra is None:
            return {}
        found = zip(held.items(), spectra, strict=True)
        return {removed: view_of(one, spectrum, frequencies) for (removed, one), spectrum in found}


def _together(contours: dict[bool, Contour]) -> dict[bool, Contour]:
    """With the longest period and the last cutoff of all."""
    period = max(one.window.period for one in contours.values())
    cutoff = max(one.cutoff for one in contours.values())
    return {
        removed: attrs.evolve(one, cutoff=cutoff, window=attrs.evolve(one.window, period=period))
        for removed, one in contours.items()
    }
