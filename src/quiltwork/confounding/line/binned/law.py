"""Continuous data read in bins, and a normal number known up to a bin and seen through Gaussian noise.

When a mechanism reads only the bin of X ~ N(mean, sd^2) and another release adds Gaussian noise to X itself, what is
seen of the latter, given the bin, is a `Slice`.  Slices of one normal law over a partition of the line, weighted by
`bin_probability`, are that law plus the noise.  Ends of bins are the decimals typed, exactly.

Two slices with the same sd and noise, one with mean and both ends of the bin at most those of the other, are ordered by
likelihood ratio: so are the laws of X in their bins, and adding log-concave noise keeps the order (Karlin 1968).

Reference: theory/confounding.md sections 1 and 3(v): bin only the input of the next mechanism.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar

import attrs
import numpy as np
from scipy.special import log_ndtr, ndtri_exp

from quiltwork import checks
from quiltwork.checks import FloatArray, settle
from quiltwork.confounding.line.binned.density import Bin, SliceShapes
from quiltwork.confounding.line.binned.window import HIGH, LOW, MIDDLE, OWN, ZERO, lever, window
from quiltwork.confounding.line.laws.components import Component, Normal, exactly, placed, root, size
from quiltwork.confounding.line.laws.densities import Shapes
from quiltwork.errors import InvalidParameter
from quiltwork.numbers.laws import Laws
from quiltwork.numbers.rounding import UNIT

if TYPE_CHECKING:
    from quiltwork.confounding.line.world import ContinuousWorld

RATIO = 10**12  # sds of X and of the noise may differ by this factor
PLACES = 10**10  # sds of the noise that a location may be from zero
STATED = 64.0 * UNIT  # relative error of the weights of a mixture and of its probabilities
MAX_SDS = 10**8  # sds of X that a bin may be from its mean


def _end(name: str, value: Any) -> Fraction | None:
    """An end of a bin; None when it is infinite."""
    if isinstance(value, (float, np.floating)) and math.isinf(value):
        return None
    return exactly(name, value)


def _ends(low: Any, high: Any) -> tuple[Fraction | None, Fraction | None]:
    first, last = _end("low", low), _end("high", high)
    upside_down = (first is None and low > 0) or (last is None and high < 0)
    if upside_down or (first is not None and last is not None and not first < last):
        raise InvalidParameter("the ends of a bin", (low, high), "low < high", "they may be -inf and inf")
    if first is not None and last is not None and last - first < Fraction(1, 10**100):
        raise InvalidParameter("the ends of a bin", (low, high), "apart by at least 1e-100")
    return first, last


def _double(end: Fraction | None, infinite: float) -> float:
    return infinite if end is None else float(end)


def _flagged(*ends: Fraction | None) -> list[Fraction]:
    """Each end, and whether it is finite."""
    return [part for end in ends for part in (end or Fraction(0), Fraction(end is not None))]


@lru_cache(maxsize=256)
def _shapes(one: Bin) -> SliceShapes:
    """A slice by itself is asked again and again."""
    return SliceShapes([one])


@attrs.frozen
class Slice(Component):
    """X ~ N(mean, sd^2) in the bin (low, high], plus N(0, variance).

    `exact` is (mean, sd^2, variance, low, whether it is finite, high, whether it is finite), zero for infinite ends.

    >>> part = Slice(0.0, 1.0, 0.0, math.inf, 1.0)
    >>> low, high = part.probability(0.0, math.inf)
    >>> round(float(low[0]), 12), bool(high[0] - low[0] < 1e-12)
    (0.75, True)
    """

    kind: ClassVar[str] = "slice"
    mean: float
    sd: float
    low: float
    high: float
    variance: float

    def __attrs_post_init__(self) -> None:
        exact = self.exact
        if not exact:
            ends = _flagged(*_ends(self.low, self.high))
            exact = (exactly("mean", self.mean), size("sd", self.sd) ** 2, exactly("variance", self.variance), *ends)
        settle(self, exact=tuple(exact))
        mean, square, variance, low, high = self.bin
        root(variance)  # refuses what is too small or too large
        plain: dict[str, float | Fraction] = {"mean": mean, "sd": self.sd, "variance": self.variance}
        plain |= {"low": _double(low, -math.inf), "high": _double(high, math.inf)}
        settle(self, **{name: float(value) for name, value in plain.items()})
        if not square / RATIO**2 <= variance <= square * RATIO**2:
            raise InvalidParameter("variance", self.variance, "between 1e-24 and 1e24 times that of X")
        for place in (mean, low, high):
            if place is not None and place**2 > PLACES**2 * variance:
                allowed = "at most 1e10 times the sd of the noise"
                raise InvalidParameter("a location", float(place), allowed, "shift the data, or use infinity")
        placed(mean, self.sd)
        away = max([Fraction(0), *(sign * (end - mean) for sign, end in ((1, low), (-1, high)) if end is not None)])
        if away**2 > MAX_SDS**2 * square:
            raise InvalidParameter("the bin", (self.low, self.high), "within 1e8 sds of the mean", "leave it out")

    @classmethod
    def of(
        cls, mean: Fraction, square: Fraction, low: Fraction | None, high: Fraction | None, variance: Fraction
    ) -> Slice:
        """From exact fractions: the variance of X is `square`, None is an infinite end."""
        ends = _double(low, -math.inf), _double(high, math.inf)
        if low is not None and high is not None and not low < high:
            raise InvalidParameter("the ends of a bin", ends, "low < high", "they may be -inf and inf")
        exact = (mean, square, variance, *_flagged(low, high))
        return cls(float(mean), root(square), *ends, float(variance), exact=exact)

    @property
    def bin(self) -> Bin:
        """mean, variance of X, variance of the noise, and both ends (None for an infinite one)."""
        mean, square, variance, low, has_low, high, has_high = self.exact
        return mean, square, variance, low if has_low else None, high if has_high else None

    @property
    def bin_probability(self) -> tuple[float, float]:
        """Both ends of the probability that X falls into the bin."""
        mean, square, _, low, high = self.bin
        return _between(mean, square, low, high)

    @classmethod
    def shapes(cls, parts: Sequence[Any]) -> Shapes:
        return _shapes(parts[0].bin) if len(parts) == 1 else SliceShapes([part.bin for part in parts])

    def plus_gaussian(self, variance: Any) -> Component:
        mean, square, noise, low, high = self.bin
        more = exactly("variance", variance)
        if more < 0:
            raise InvalidParameter("variance", variance, "at least 0")
        return Slice.of(mean, square, low, high, noise + more)

    def times(self, weight: Fraction) -> Component:
        mean, square, noise, low, high = self.bin
        ends = [None if end is None else weight * end for end in (low, high)]
        first, last = ends if weight > 0 else ends[::-1]
        return Slice.of(weight * mean, weight**2 * square, first, last, weight**2 * noise)

    def heaviness(self, side: int) -> tuple[Fraction | int, ...]:
        """What orders tails: like N(mean, sd^2 + v) where the bin is open, else like N(end, v), and lighter by 1/y."""
        mean, square, noise, low, high = self.bin
        end = high if side > 0 else low
        return (1, square + noise, side * mean, 0) if end is None else (1, noise, side * end, -1)

    def sample(self, rng: np.random.Generator, count: int) -> FloatArray:
        """X from the tail that is farther from the bin, by inversion of the log of it."""
        mean, square, _, low, high = self.bin
        sd = root(square)
        ends = [end if point is None else float(point - mean) / sd
                for point, end in ((low, -math.inf), (high, math.inf))]  # fmt: skip
        sign = -1.0 if ends[0] + ends[1] < 0 else 1.0
        near, far = sorted(sign * end for end in ends)
        log_near, log_far = float(log_ndtr(-near)), float(log_ndtr(-far))
        logs = log_near + np.log1p(rng.uniform(0.0, 1.0, count) * np.expm1(log_far - log_near))
        z = np.clip(-ndtri_exp(logs), near, far)
        found: FloatArray = self.mean + sd * sign * z + rng.normal(0.0, math.sqrt(self.variance), count)
        return found


def likelihood_order(parts: Sequence[Slice], side: int) -> np.ndarray:
    """(k, k): whether f_i/f_j surely falls everywhere towards `side` (+1 right, -1 left)."""
    bins = [part.bin for part in parts]
    spreads = {spread: index for index, spread in enumerate(dict.fromkeys(each[1:3] for each in bins))}
    alike = np.array([spreads[each[1:3]] for each in bins])
    means = ranks([each[0] for each in bins])
    lows = ranks([each[3] for each in bins])  # minus infinity comes first
    highs = -ranks([None if each[4] is None else -each[4] for each in bins])  # infinity comes last
    before: np.ndarray = alike[:, None] == alike[None, :]
    for place in (means, lows, highs):
        before = before & (side * place[:, None] <= side * place[None, :])
    return before


def ranks(values: Sequence[Fraction | None]) -> np.ndarray:
    """Places in the order of exact values; equal values share one, and None comes first."""
    order = {value: rank for rank, value in enumerate(sorted({value for value in values if value is not None}), 1)}
    return np.array([0 if value is None else order[value] for value in values], dtype=np.int64)


def bin_probability(law: Normal, low: Any, high: Any) -> tuple[float, float]:
    """Both ends of P(low < X <= high) for a normal X, to some 1e-14 of itself also for short bins and in the tails.

    >>> low, high = bin_probability(Normal(0.0, 1.0), 1.0, math.inf)
    >>> round(low, 12), high - low < 1e-13
    (0.158655253931, True)
    """
    if not isinstance(law, Normal):
        raise InvalidParameter("law", law, "a Normal")
    mean, square = law.exact
    return _between(mean, square, *_ends(low, high))


def _between(mean: Fraction, square: Fraction, low: Fraction | None, high: Fraction | None) -> tuple[float, float]:
    """phi(r) W of the window; the factor phi(r) adds r^2 times a few units."""
    sd = root(square)
    a = -math.inf if low is None else float(low - mean) / sd
    b = math.inf if high is None else float(high - mean) / sd
    middle, length = (0.0 if a == -b else a + b), math.inf
    if low is not None and high is not None:
        middle, length = float((low + high) / 2 - mean) / sd, float(high - low) / sd
    ends = np.array([[a]]), np.array([[b]])
    found = window(*ends, np.array([[middle]]), np.array([[length]]))
    r = {ZERO: 0.0, LOW: a, HIGH: b, MIDDLE: middle}[int(found.reference[0, 0])]
    errors = [4.0 * np.where(np.isfinite(end), np.abs(end), 0.0) for end in ends]
    moved = float(lever(*ends, np.array([[length]]), found.reference, errors[0], errors[1])[0, 0])
    log = float(found.log[0, 0]) - 0.5 * r * r - 0.5 * math.log(2.0 * math.pi)
    wrong = UNIT * (OWN + moved + 8.0 * r * r + 4.0 * abs(log) + 16.0)
    value, tiny = math.exp(max(log, -750.0)), float(np.finfo(float).smallest_subnormal)
    if wrong > 0.5:  # so far out that nothing is left
        return 0.0, tiny
    return max(value * (1.0 - wrong) - tiny, 0.0), min(value * (1.0 + wrong) + tiny, 1.0)


# ---- data in bins


def binned_table(world: ContinuousWorld, edges: FloatArray) -> Laws:
    """P(bin | secret) from both sides."""
    low, high = np.zeros((world.count, edges.size - 1)), np.zeros((world.count, edges.size - 1))
    for row, law in enumerate(world.read([Fraction(1)])):
        for weight, part in zip(law.weights, law.components, strict=True):
            ends = part.probability(edges[:-1], edges[1:])
            low[row] += weight * ends[0]
            high[row] += weight * ends[1]
    slack = STATED + 4.0 * UNIT * max(len(law.weights) for law in world.read([Fraction(1)]))
    return Laws(low * (1.0 - slack), np.where(high > 0, high * (1.0 + slack), 0.0))


def checked_edges(edges: Any) -> FloatArray:
    """Borders of bins, in order; the outer bins reach to infinity."""
    inner = checks.numbers("edges", edges, "finite numbers in rising order", -1e100, 1e100)
    if inner.ndim != 1 or not bool(np.all(np.diff(inner) > 0)):
        raise InvalidParameter("edges", edges, "finite numbers in rising order")
    return np.concatenate([[-np.inf], inner, [np.inf]])


def middles(edges: FloatArray) -> list[float]:
    """A number for each bin: its middle, and for the outer two as far beyond the border as their neighbours reach."""
    inner = edges[1:-1]
    if inner.size == 1:
        return [float(inner[0]) - 0.5, float(inner[0]) + 0.5]
    half = 0.5 * np.diff(inner)
    ends = [inner[0] - half[0]], inner[:-1] + half, [inner[-1] + half[-1]]
    return [float(value) for value in np.concatenate(ends)]
