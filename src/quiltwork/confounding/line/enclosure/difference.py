"""Two mixtures and their difference p - t q: bounds on cells and exact differences of probabilities.

Both mixtures are written over one list of components, p = sum w_j f_j and q = sum v_j f_j, so that a component of both
counts once: p - t q = sum c_j (w_j + t v_j) f_j with c_j = (w_j - t v_j)/(w_j + t v_j) in [-1, 1].

On a cell [a, b] of length h two bounds hold, and the better one counts.  First order: the sum of c_j min f_j (c_j > 0)
and c_j max f_j (c_j < 0).  Second order: divide by an exponential e^(k x) that follows the largest term, which leaves
the sign; then g_j = f_j e^(-k x) has g'' = g ((log f)'' + (slope of log f - k)^2), and a function lies within
h^2/8 max |g''| of its chord.  Where logs are concave, slopes lie between those at a and b.  Laplace laws of one scale
are exact that way.

Rounding.  Everything is scaled by e^reference, the largest term in the cell, so that nothing overflows and what
underflows is below 1e-300 of it.  A term carries the error of its log density, that of w_j + t v_j and of c_j (a stated
epsilon, weight or parameter is known to a few units), and the sum (4K + 64 + the size of the logs) u for K terms; a
sign counts as certain only beyond the sum of all that.

Reference: theory/confounding.md section 1.
"""

from __future__ import annotations

from fractions import Fraction
from functools import cached_property
from typing import Any

import attrs
import numpy as np

from quiltwork.checks import FloatArray
from quiltwork.confounding.line.laws.components import Component, Mixture, masses
from quiltwork.confounding.line.laws.densities import KINK, Shapes
from quiltwork.errors import NotCertified
from quiltwork.numbers.rounding import UNIT

NODES = 320  # cells of the first grid, about
NOWHERE = -1e300  # log of a density that is zero, where minus infinity would make NaN
UNDERFLOW = 1e-300
LARGEST = 700.0
STALLED = 8.0  # an upper bound of so many slacks is rounding


def _stacked(name: str) -> cached_property[FloatArray]:
    """What the shapes of two laws have under this name, one below the other."""

    def stacked(laws: TwoLaws) -> FloatArray:
        found = np.concatenate([getattr(shape, name) for shape in laws.shapes])
        if bool(np.isnan(found).any()):  # it would compare as "the mode is elsewhere"
            raise NotCertified(f"the {name} of a law", "it is not a number: please report this as a bug")
        return found

    return cached_property(stacked)


class TwoLaws:
    """Two mixtures over one list of components; the components of one kind are evaluated together."""

    def __init__(self, first: Mixture, second: Mixture) -> None:
        found: dict[Any, list[Any]] = {}
        for side, law in enumerate((first, second)):
            for weight, part in zip(law.weights.tolist(), law.components, strict=True):
                entry = found.setdefault((part.kind, part.exact or id(part)), [part, 0.0, 0.0])
                entry[1 + side] += weight
        order = sorted(found.values(), key=lambda entry: str(entry[0].kind))
        self.parts: list[Component] = [entry[0] for entry in order]
        self.first = np.array([entry[1] for entry in order])
        self.second = np.array([entry[2] for entry in order])
        # weights of equal components were added; units by which they may be off
        self.terms = len(first.components) + len(second.components) + max(first.units, second.units)
        self._sides = (first, second)
        self._groups = _grouped(self.parts)

    @property
    def count(self) -> int:
        """How many components there are."""
        return len(self.parts)

    @cached_property
    def same(self) -> bool:
        """Whether both are certainly one and the same law: by their fractions, since equal doubles are no proof."""
        one, two = (_shares(law) for law in self._sides)
        return bool(one) and one == two

    @cached_property
    def shapes(self) -> list[Shapes]:
        """One for each kind (one for each density of the user's own), in the order of the parts."""
        return [type(group[0]).shapes(group) for group in self._groups]

    mode_low, mode_high = _stacked("mode_low"), _stacked("mode_high")  # where the modes begin and end, columns
    slope_error = _stacked("slope_error")  # absolute errors of the slopes of the log densities
    peak = _stacked("peak")  # log of the largest densities

    def log_density(self, x: FloatArray) -> tuple[FloatArray, FloatArray]:
        """(K, n) log densities and their errors."""
        found = [shape.log_density(x) for shape in self.shapes]
        if len(found) == 1:
            return found[0]
        return np.concatenate([value for value, _ in found]), np.concatenate([error for _, error in found])

    def log_slope(self, x: FloatArray) -> FloatArray:
        """(K, n) slopes of the log densities."""
        return np.concatenate([shape.log_slope(x) for shape in self.shapes])

    def log_bend(self, a: FloatArray, b: FloatArray) -> FloatArray:
        """(K, n) bounds on -(log f)''."""
        return np.concatenate([shape.log_bend(a, b) for shape in self.shapes])

    def masses(self, a: FloatArray, b: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """(K, n) probabilities of intervals: log of the size, share of it, error of the share."""
        found = [masses(shape, a, b) for shape in self.shapes]
        top, share, error = (np.concatenate(column) for column in zip(*found, strict=True))
        return top, share, error

    @cached_property
    def grid(self) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        """The first places, in order, with log densities, errors and slopes: the same for every epsilon."""
        each = int(np.clip(NODES // self.count, 5, 41)) | 1
        every = np.unique(np.concatenate([shape.landmarks(each) for shape in self.shapes]))
        if every.size > NODES:
            every = every[np.linspace(0, every.size - 1, NODES).astype(int)]
        every = np.unique(np.concatenate([every, *(shape.kinks() for shape in self.shapes)]))
        every = every[np.isfinite(every)]
        value, error = self.log_density(every)
        return every, value, error, self.log_slope(every)

    def swapped(self) -> TwoLaws:
        """The other order, sharing what was evaluated."""
        other = object.__new__(TwoLaws)
        other.__dict__.update(self.__dict__)
        other.first, other.second = self.second, self.first
        return other


def _shares(law: Mixture) -> dict[Any, Fraction]:
    """The exact weight of each component; empty when they are not known."""
    found: dict[Any, Fraction] = {}
    for share, part in zip(law.exact or (), law.components, strict=False):
        key = (part.kind, part.exact or id(part))
        found[key] = found.get(key, Fraction(0)) + share
    return found


def _grouped(parts: list[Component]) -> list[list[Component]]:
    groups: list[list[Component]] = []
    for part in parts:
        if groups and part.kind == groups[-1][0].kind and part.kind != "user":
            groups[-1].append(part)
        else:
            groups.append([part])
    return groups


@attrs.frozen(eq=False)
class Cells:
    """Bounds low <= (p - t q) e^-reference <= high on cells [a, b], with the rounding slack in them."""

    a: FloatArray
    b: FloatArray
    low: FloatArray
    high: FloatArray
    stalled: np.ndarray  # whether the upper bound is rounding, so that splitting does not help
    reference: FloatArray
    left: FloatArray  # (p - t q) e^-reference at a and b, no bound
    right: FloatArray

    @property
    def least(self) -> FloatArray:
        """A lower bound on the integral of (p - t q)_+ over each cell."""
        with np.errstate(over="ignore", invalid="ignore", under="ignore"):
            size = np.exp(np.minimum(self.reference, LARGEST)) * (self.b - self.a) * (1.0 - 16.0 * UNIT)
            found = np.maximum(self.low, 0.0) * size - np.finfo(float).smallest_subnormal
        return np.where(self.reference <= NOWHERE, 0.0, np.maximum(found, 0.0))

    @property
    def most(self) -> FloatArray:
        """An upper bound on the integral of (p - t q)_+ over each cell; it is at most P of the cell, so at most one."""
        with np.errstate(over="ignore", invalid="ignore", under="ignore"):
            size = np.exp(np.minimum(self.reference, LARGEST)) * (self.b - self.a) * (1.0 + 16.0 * UNIT)
            found = np.maximum(self.high, 0.0) * size + np.finfo(float).smallest_subnormal
        return np.where((self.high <= 0) | (self.reference <= NOWHERE), 0.0, np.minimum(found, 1.0))


@attrs.frozen(eq=False)
class Runs:
    """Both ends of P(I), Q(I), t Q(I) and P(I) - t Q(I) for intervals I."""

    p: tuple[FloatArray, FloatArray]
    q: tuple[FloatArray, FloatArray]
    scaled: tuple[FloatArray, FloatArray]
    gain: tuple[FloatArray, FloatArray]


class Difference:
    """p - t q at one epsilon (t = e^epsilon, finite)."""

    def __init__(self, laws: TwoLaws, epsilon: float) -> None:
        self.laws, self.epsilon = laws, epsilon
        w, v = laws.first, laws.second
        with np.errstate(divide="ignore"):
            log_w, log_v = np.log(w), np.log(v)
        self.log_w, self.log_v = log_w, log_v
        self.size = np.logaddexp(log_w, epsilon + log_v)
        both = (w > 0) & (v > 0)
        tilt = np.where(both, epsilon + np.where(both, log_v, 0.0) - np.where(both, log_w, 0.0), 0.0)
        sign = np.where(both, -np.tanh(0.5 * tilt), np.where(w > 0, 1.0, -1.0))
        logs = np.abs(np.where(w > 0, log_w, 0.0)) + np.abs(np.where(v > 0, log_v, 0.0))
        units = 24.0 + laws.terms + 4.0 * abs(epsilon) + 4.0 * logs
        self.sign, self.sign_error = sign, np.where(both, units * UNIT, 0.0)
        self.size_error = units * UNIT
        if epsilon == 0.0 and np.array_equal(w, v) and laws.same:
            self.sign, self.sign_error = np.zeros_like(sign), np.zeros_like(sign)
        self.used = (self.sign != 0.0) | (self.sign_error > 0.0)
        self.positive, self.negative = np.maximum(self.sign, 0.0), np.maximum(-self.sign, 0.0)
        self.rough = self.size_error[:, None]
        self.rounding = 4.0 * laws.count + 64.0

    def terms(self, logs: FloatArray) -> tuple[FloatArray, FloatArray]:
        """(w + t v) f e^-reference and the reference, the largest at each place."""
        shifted = logs + self.size[:, None]
        shifted = np.where(self.used[:, None], shifted, -np.inf)
        reference = np.maximum(shifted.max(axis=0), NOWHERE)
        with np.errstate(under="ignore"):
            return np.exp(shifted - reference), reference

    def log_odds(self, x: FloatArray) -> FloatArray:
        """log of the positive over the negative part of p - t q; plain floats, to look for its zeros."""
        terms, _ = self.terms(self.laws.log_density(x)[0])
        with np.errstate(divide="ignore"):
            above, below = np.log(self.positive @ terms), np.log(self.negative @ terms)
        found: FloatArray = np.clip(np.maximum(above, -1e6) - np.maximum(below, -1e6), -1e3, 1e3)
        return found

    def cells(self, points: FloatArray, known: tuple[FloatArray, FloatArray, FloatArray] | None = None) -> Cells:
        """Bounds on the cells between consecutive points of each row of `points` (u, m + 1).

        `known` are log densities, errors and slopes at the points, when they were evaluated before.
        """
        flat = points.ravel()
        logs, errors, slopes = known or (*self.laws.log_density(flat), self.laws.log_slope(flat))
        shape = (self.laws.count, *points.shape)
        terms, reference = self.terms(logs)
        ends = [array.reshape(shape) for array in (terms, errors, slopes)]
        (term_a, term_b), (error_a, error_b), (slope_a, slope_b) = (
            (array[:, :, :-1].reshape(shape[0], -1), array[:, :, 1:].reshape(shape[0], -1)) for array in ends
        )
        reference = reference.reshape(points.shape)
        a, b = points[:, :-1].ravel(), points[:, 1:].ravel()
        ref_a, ref_b = reference[:, :-1].ravel(), reference[:, 1:].ravel()
        inside = (a <= self.laws.mode_high) & (b >= self.laws.mode_low) & self.used[:, None]
        tops = np.where(inside, self.laws.peak + self.size[:, None], -np.inf)
        ref = np.maximum(np.maximum(ref_a, ref_b), tops.max(axis=0))
        span = np.minimum(np.abs(ref_a - ref_b), 1e3)
        units = UNIT * (self.rounding + np.where(ref > NOWHERE, 2.0 * np.abs(ref) + 4.0 * span, 0.0))
        wrong = np.maximum(error_a, error_b) + self.rough + units
        with np.errstate(under="ignore", over="ignore"):
            down_a, down_b = np.exp(ref_a - ref), np.exp(ref_b - ref)
            at_a, at_b = term_a * down_a, term_b * down_b
            least, most = np.minimum(at_a, at_b), np.maximum(at_a, at_b)
            rows, columns = np.nonzero(inside)
            if rows.size:
                most[rows, columns] = np.maximum(most[rows, columns], np.exp(tops[rows, columns] - ref[columns]))
            unknown = self.sign_error @ most + UNDERFLOW  # of the coefficients themselves
            plus, minus = self.positive, self.negative
            low = plus @ (least - least * wrong) - minus @ (most + most * wrong) - unknown
            high = plus @ (most + most * wrong) - minus @ (least - least * wrong) + unknown
            slack = np.abs(self.sign) @ (most * wrong) + unknown
            below, above, usable = self._tilted(a, b, (term_a, term_b), (slope_a, slope_b), ref_b - ref_a, wrong)
            up, down = np.maximum(down_a, down_b) * (1.0 + 1e-15), np.minimum(down_a, down_b) * (1.0 - 1e-15)
            usable &= up > 1e-280  # a bound below zero must stay below zero
            low = np.where(usable, np.maximum(low, below * np.where(below > 0, down, up)), low)
            high = np.where(usable, np.minimum(high, above * np.where(above > 0, up, down)), high)
        stalled = (high <= STALLED * slack) & (span < 2.0)
        lost = np.isnan(low) | np.isnan(high) | np.isnan(ref)  # nothing is known there: all of P(I) may count
        low, high, ref = np.where(lost, -np.inf, low), np.where(lost, np.inf, high), np.where(lost, 0.0, ref)
        return Cells(a, b, low, high, stalled, ref, self.sign @ at_a, self.sign @ at_b)

    def _tilted(
        self,
        a: FloatArray,
        b: FloatArray,
        terms: tuple[FloatArray, FloatArray],
        slopes: tuple[FloatArray, FloatArray],
        rise: FloatArray,
        wrong: FloatArray,
    ) -> tuple[FloatArray, FloatArray, np.ndarray]:
        """Second-order bounds on (p - t q) over the exponential that joins the references at both ends, and where.

        A term rises above both ends by at most e^(h min(slope at a, -slope at b)), slopes taken after division.  Cells
        where it might do so from nothing, or that hold a kink, are left to the first order.
        """
        length, bend = np.maximum(b - a, 1e-200), self.laws.log_bend(a, b)
        usable = (b - a > 1e-200) & (np.abs(rise) < 600.0)
        rate = np.where(usable, rise, 0.0) / length
        room = 1e-9 * (np.maximum(np.abs(slopes[0]), np.abs(slopes[1])) + np.abs(rate)) + self.laws.slope_error
        up, down = slopes[0] - rate + room, rate - slopes[1] + room
        rises = np.minimum(np.maximum(np.minimum(up, down), 0.0) * length, 600.0)
        base = np.maximum(terms[0], terms[1])
        hidden = (rises >= 600.0) | ((rises > 0) & (base < 1e-290)) | (bend >= KINK)
        usable &= ~(hidden & self.used[:, None]).any(axis=0)
        top = base * np.exp(rises)
        bend = np.maximum(np.maximum(np.abs(up), np.abs(down)) ** 2, bend) * (1.0 + 1e-9)
        away = np.minimum(0.125 * (b - a) ** 2 * bend, 1e200)  # a term of zero stays zero
        slack = np.abs(self.sign) @ (top * (wrong + away)) * (1.0 + 1e-9) + self.sign_error @ top + UNDERFLOW
        left, right = self.sign @ terms[0], self.sign @ terms[1]
        return np.minimum(left, right) - slack, np.maximum(left, right) + slack, usable

    def runs(self, a: FloatArray, b: FloatArray) -> Runs:
        """Probabilities of the intervals (a, b), each with its error."""
        top, share, error = self.laws.masses(a, b)
        extra = 4.0 * self.laws.count + 32.0
        return Runs(
            self._sum(top + self.log_w[:, None], share, error, np.ones_like(self.sign), 0.0, extra),
            self._sum(top + self.log_v[:, None], share, error, np.ones_like(self.sign), 0.0, extra),
            self._sum(top + (self.epsilon + self.log_v)[:, None], share, error, np.ones_like(self.sign),
                      4.0 * abs(self.epsilon) * UNIT, extra),
            self._sum(top + self.size[:, None], share, error, self.sign,
                      self.rough * np.abs(self.sign)[:, None] + self.sign_error[:, None], extra),
        )  # fmt: skip

    def _sum(
        self, logs: FloatArray, share: FloatArray, error: FloatArray, sign: FloatArray, rough: Any, units: float
    ) -> tuple[FloatArray, FloatArray]:
        """Both ends of sum sign e^logs share."""
        with np.errstate(under="ignore", over="ignore", invalid="ignore"):
            size = np.exp(np.minimum(logs, LARGEST))
            value = sign @ (size * share)
            relative = rough + (units + self.laws.terms + 2.0 * np.where(size > 0, np.abs(logs), 0.0)) * UNIT
            wrong = np.einsum("kn,kn->n", size, np.abs(sign)[:, None] * error + share * relative) * (1.0 + 1e-9)
        tiny = (self.laws.count + 1.0) * np.finfo(float).tiny  # what underflow may have taken
        return value - wrong - tiny, value + wrong + tiny
