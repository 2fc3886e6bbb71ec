"""Upper ends for many compositions at once: which of hundreds of vectors can be the worst one at all.

Every release is replaced by its chord measure on one grid, which dominates it, so that a composition is a sum of
logarithms of spectra and one inverse transform: a part in a thousand above the truth where Chernoff's bound is a tenth
above. The transform is circular. What lies below the window turns up at its upper end and only adds; what lies above it
would be lost, so that Chernoff's bound of it is added.

With n releases the spectrum errs by at most n e_1, e_1 = FFT_ULPS u log2 N sqrt N (of each factor, in the 2-norm), and
a sum of masses times (1 - e^(epsilon - l))+ by sqrt N times the 2-norm of the error, by Cauchy-Schwarz. That is 1e-9
for some ten releases, and more for more: for smaller deltas these ends say nothing, and Chernoff's stay.

Reference: theory/engine.md section 1 (Lemma 1), sections 3 and 4.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import cached_property

import attrs
import numpy as np

from quiltwork.checks import FloatArray
from quiltwork.compose.engines.discretise import dominating
from quiltwork.compose.engines.fft import FFT_ULPS
from quiltwork.compose.engines.grid import support
from quiltwork.compose.loss import Loss
from quiltwork.losses.dominating_pair import Pair
from quiltwork.losses.family import Family
from quiltwork.numbers.rounding import UNIT

LENGTH = 2048  # of the window
BLOCK = 64  # compositions transformed at once
MAX_FAMILIES = 2_000
OUTSIDE = 1e-13  # mass that may lie beyond a window
TILTS = 2.0 ** np.arange(-1, 9)  # for the mass that does
FAINT = 1e-250  # stands for a spectrum of zero
LEAST_DELTA = 1e-10  # below it these ends say nothing
WIDEST = 40.0  # a window beyond which steps are too coarse to tell anything


IntArray = np.ndarray[tuple[int], np.dtype[np.int64]]


@attrs.frozen(eq=False)
class Spectra:
    """Of every family: its row, the log spectrum of its chord measure, first and last knot and log moments of that.

    `shown` adds up to a bound of what compositions reveal outright, `roundings` to that of a loss.
    """

    places: dict[Family, int]
    logs: np.ndarray
    firsts: FloatArray
    lasts: FloatArray
    moments: FloatArray
    shown: FloatArray
    roundings: FloatArray


class ManyCompositions:
    """Compositions of symmetric releases with one dominating pair each; about the others nothing is said."""

    def __init__(self, losses: Sequence[Loss], tops: FloatArray) -> None:
        """`tops`: by composition, a loss that is passed with a probability of about OUTSIDE at most."""
        self.losses, self.tops = losses, tops

    @cached_property
    def _covered(self) -> np.ndarray:
        """The compositions that are known by pairs, in a window that is not too wide."""
        families = {part.family for loss in self.losses for part in loss.parts}
        plain = {family for family in families if _pair(family) is not None}
        known = [loss.side == "worst" and all(part.family in plain for part in loss.parts) for loss in self.losses]
        found = np.flatnonzero(np.array(known, dtype=bool) & (self.tops > 0) & (self.tops < WIDEST))
        kept = {part.family for i in found.tolist() for part in self.losses[i].parts}
        return found if len(kept) <= MAX_FAMILIES else found[:0]

    def epsilon(self, delta: FloatArray) -> FloatArray:
        """Upper ends by composition and delta: infinite where nothing is known."""
        found = np.full((len(self.losses), delta.size), math.inf)
        if not bool((delta > LEAST_DELTA).any()):
            return found
        for rows, losses, near, far, wrong in self._blocks():
            at_knots = near - np.exp(losses) * far  # D there, falling
            for j, value in enumerate(delta):
                room = value - wrong
                k = np.minimum((at_knots > room[:, None]).sum(axis=1), LENGTH - 1)
                row = np.arange(rows.size)
                with np.errstate(divide="ignore", invalid="ignore"):
                    between = np.log((near[row, k] - room) / far[row, k])
                value_here = np.where(k == 0, losses[row, 0], np.clip(between, losses[row, k - 1], losses[row, k]))
                value_here = np.maximum(value_here * (1 + 1e-9) + 1e-12, 0.0)
                sure = (room > 0) & (at_knots[row, k] <= room)
                found[rows, j] = np.where(sure, value_here, math.inf)
        return found

    def delta(self, epsilon: FloatArray) -> FloatArray:
        """Upper ends by composition and epsilon: 1 where nothing is known."""
        found = np.ones((len(self.losses), epsilon.size))
        for rows, losses, near, far, wrong in self._blocks():
            for j, value in enumerate(epsilon):
                k = (losses <= value).sum(axis=1)  # the first knot above
                row, inside = np.arange(rows.size), np.minimum(k, LENGTH - 1)
                grown = math.exp(min(float(value), 600.0)) * (1 - 1e-12)
                above = np.where(k < LENGTH, near[row, inside] - grown * far[row, inside], 0.0)
                found[rows, j] = np.clip(np.maximum(above, 0.0) * (1 + 1e-9) + wrong, 0.0, 1.0)
        return found

    def _blocks(self) -> Iterator[tuple[IntArray, FloatArray, FloatArray, FloatArray, FloatArray]]:
        """Some compositions: their numbers, losses of the knots, sums of P and of Q mass from a knot on, and errors."""
        covered = self._covered
        if not covered.size:
            return
        from scipy.sparse import csr_array

        spectra = self._spectra
        rows, columns, counts = [], [], []
        for at, i in enumerate(covered):
            for part in self.losses[i].parts:
                rows.append(at)
                columns.append(spectra.places[part.family])
                counts.append(float(part.count))
        matrix = csr_array((counts, (rows, columns)), shape=(covered.size, len(spectra.places)))
        first = np.rint(matrix @ spectra.firsts).astype(np.int64)
        revealed = np.expm1(matrix @ spectra.shown) * (1 + 1e-12)
        grown, nudge = matrix @ spectra.moments, matrix @ spectra.roundings
        releases: FloatArray = np.asarray(matrix.sum(axis=1)).ravel()
        step, farthest = self._step, np.rint(matrix @ spectra.lasts)
        last = math.ceil(self._top / step) + min(int(releases.max()), LENGTH // 8)  # each may end a knot later
        knots = step * np.arange(last - LENGTH + 1, last + 1)
        beyond = np.exp(np.minimum((grown - TILTS * knots[-1]).min(axis=1), 0.0)) * (1 + 1e-9)
        beyond = np.where(farthest <= last, 0.0, beyond)
        factor = FFT_ULPS * UNIT * math.log2(LENGTH) * math.sqrt(LENGTH)
        wrong = math.sqrt(LENGTH) * (releases * (2 * factor + 64 * UNIT) + factor) + LENGTH * 4 * UNIT
        wrong = beyond + revealed + wrong
        for start in range(0, covered.size, BLOCK):
            here = slice(start, start + BLOCK)
            masses = np.fft.irfft(np.exp(matrix[here] @ spectra.logs), n=LENGTH, axis=1)
            order = (np.arange(last - LENGTH + 1, last + 1)[None, :] - first[here, None]) % LENGTH
            masses = np.maximum(np.take_along_axis(masses, order, axis=1), 0.0)
            losses = knots[None, :] + nudge[here, None]  # a loss may be larger by its rounding
            near = np.cumsum(masses[:, ::-1], axis=1)[:, ::-1]
            far = np.cumsum((masses * np.exp(-losses))[:, ::-1], axis=1)[:, ::-1]
            yield covered[here], losses, near, far, wrong[here]

    @property
    def _top(self) -> float:
        return float(self.tops[self._covered].max()) * 1.01

    @property
    def _step(self) -> float:
        return 2.0 * self._top / (LENGTH - 8)

    @cached_property
    def _spectra(self) -> Spectra:
        families = dict.fromkeys(part.family for i in self._covered for part in self.losses[i].parts)
        masses, firsts, shown = np.zeros((len(families), LENGTH)), np.zeros(len(families)), np.zeros(len(families))
        moments, roundings, lasts = np.zeros((len(families), TILTS.size)), np.zeros(len(families)), firsts.copy()
        for row, family in enumerate(families):
            pair = _pair(family)
            if pair is None:
                raise AssertionError(f"{family} has no pair")
            low, high = support(pair, OUTSIDE / 100)
            low, high = max(low, -self._top), min(high, self._top)
            first, upper, revealed = dominating(pair, self._step, low, high)
            masses[row, : upper.size], firsts[row] = upper, first
            lasts[row] = first + int(np.flatnonzero(upper).max(initial=0))
            shown[row] = math.log(max(float(upper.sum()) + revealed, 1.0)) + revealed * (1 + 1e-12)
            losses = self._step * (first + np.arange(upper.size))
            with np.errstate(over="ignore", divide="ignore"):
                moments[row] = np.log(np.exp(np.multiply.outer(TILTS, losses)) @ upper) + 1e-11
            roundings[row] = pair.rounding + 8 * UNIT * self._top
        spectra = np.fft.rfft(masses, axis=1)
        spectra[np.abs(spectra) < FAINT] = FAINT
        places = {family: row for row, family in enumerate(families)}
        return Spectra(places, np.log(spectra), firsts, lasts, moments, shown, roundings)


def _pair(family: Family) -> Pair | None:
    """The dominating pair of a release that looks the same both ways and never reveals everything; None for others."""
    if not family.has_pair or family.several or family.sandwiched or family.is_open or not family.symmetric:
        return None
    pairs = family.pairs()
    return pairs["both"] if set(pairs) == {"both"} and pairs["both"].reveal == 0 else None
