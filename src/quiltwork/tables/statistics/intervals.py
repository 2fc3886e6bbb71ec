"""How far noise moves an answer: the law of the noise alone, known before any data are read.

Sampling of the population and the bias of clipping, capping and missing values are said in words and never estimated
from data: how many values were clipped is data.

Reference: theory/release.md section 7.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from functools import lru_cache
from statistics import NormalDist
from typing import Any

import numpy as np

from quiltwork import checks
from quiltwork.checks import FloatArray
from quiltwork.mechanisms.noise import Auto
from quiltwork.numbers.digits import at_most
from quiltwork.numbers.stated import error_level
from quiltwork.tables.schema.columns import BoolArray
from quiltwork.tables.schema.table import Table
from quiltwork.tables.statistics.price import Drawn, Units, bins, squared_units
from quiltwork.tables.statistics.statistic import Statistic

LISTED_SIGMA = 3000  # up to which the masses of a discrete Gaussian are added up
SHARES = 4001  # shares of the way from one end to the other that are tried for a mean at first
REFINED = 5  # times a hundred
SHOWN_DIGITS = 3
ROUNDED = 1e-12  # of the ends of a mean's interval, far above the rounding of the formula


def normal_quantile(confidence: float) -> float:
    """The two-sided quantile of the normal law."""
    return -NormalDist().inv_cdf(error_level(confidence) / 2)


@lru_cache(maxsize=4096)
def half_width(law: str, size: float, confidence: float) -> int:
    """The least k such that noise on integers stays within k with this probability."""
    miss = error_level(confidence)
    if law == "laplace":
        if size > 1e12:
            return math.ceil(-size * math.log(miss)) + 1
        ratio = math.exp(-1 / size)
        k = max(0, math.floor(-size * math.log(miss * (1 + ratio) / 2)) - 2)
        while 2 * math.exp(-(k + 1) / size) / (1 + ratio) > miss:
            k += 1
        return k
    if size > LISTED_SIGMA:
        return math.ceil(size * normal_quantile(confidence)) + 1
    masses = np.exp(-0.5 * (np.arange(0, math.ceil(10 * size) + 10) / size) ** 2)
    masses[1:] *= 2
    beyond = np.cumsum(masses[:0:-1])[::-1] / masses.sum()  # small numbers, which keep their digits
    return int(np.count_nonzero(beyond > miss))


def two_laplace_tail(off: FloatArray, one: FloatArray, other: FloatArray) -> FloatArray:
    """P(|a Z - b Z'| > off) for two Laplace noises of scale 1, a and b the scales of both."""
    a, b = np.maximum(one, other), np.minimum(one, other)
    with np.errstate(all="ignore"):
        apart = (a**2 * np.exp(-off / a) - b**2 * np.exp(-off / b)) / (a**2 - b**2)
        equal = np.exp(-off / a) * (2 + off / a) / 2
    return np.where(a - b < 1e-6 * a, equal, np.where(b < 1e-9 * a, np.exp(-off / a), apart))


def two_laplace_width(one: float, other: float, confidence: float) -> float:
    """The quantile of |a Z - b Z'|: how far two Laplace noises of these scales move a number together."""
    miss = error_level(confidence)
    low, high = 0.0, (one + other) * (3 - 2 * math.log(miss))
    for _ in range(60):
        middle = (low + high) / 2
        beyond = two_laplace_tail(np.array(middle), np.array(one), np.array(other)) > miss
        low, high = (middle, high) if beyond else (low, middle)
    return high


def laplace_mean(low_side: int, high_side: int, size: float, confidence: float) -> tuple[float, float]:
    """Shares t of the way from low to high that noise does not contradict: |(1 - t) U - t V| within its quantile.

    For the true share that difference is pure noise, so that the true one is kept with this probability. The share
    U / (U + V) is always kept; where the outermost kept shares end is found on finer and finer grids.
    """
    miss, whole = error_level(confidence), low_side + high_side

    def kept(share: FloatArray) -> BoolArray:
        t = np.atleast_1d(share)
        off = np.abs((1 - t) * low_side - t * high_side)
        return two_laplace_tail(off, t * size, (1 - t) * size) >= miss

    near = [min(max(low_side / whole, 0.0), 1.0)] if whole > 0 else []
    shares = np.unique([*np.linspace(0.0, 1.0, SHARES), *near])
    found = np.flatnonzero(kept(shares))
    if found.size == 0:
        return 0.0, 1.0
    return _end(kept, shares, int(found[0]), -1), _end(kept, shares, int(found[-1]), 1)


def _end(kept: Callable[[FloatArray], BoolArray], shares: FloatArray, place: int, step: int) -> float:
    """Where the kept shares end beyond this one, on the side of those that are not."""
    inside = float(shares[place])
    if not 0 <= place + step < shares.size:
        return inside
    outside = float(shares[place + step])
    for _ in range(REFINED):
        between = np.linspace(inside, outside, 102)[1:-1]
        last = int(np.append(kept(between), False).argmin())  # the first that is not kept, seen from inside
        inside, outside = (
            float(between[last - 1]) if last > 0 else inside,
            float(between[last]) if last < between.size else outside,
        )
    return outside


def gaussian_mean(total: float, count: float, noise: tuple[float, float], confidence: float) -> tuple[float, float]:
    """Fieller: means m in [-1, 1] with |total - m count| <= z sqrt(s_total^2 + m^2 s_count^2), and what lies between.

    The ends are the roots of (N^2 - z^2 s_N^2) m^2 - 2 T N m + T^2 - z^2 s_T^2. Where the noise of the count may be all
    of it these lie outside, and the set has no ends of its own.
    """
    z = normal_quantile(confidence)
    lead = count**2 - (z * noise[1]) ** 2
    if count <= 0 or lead <= 0:
        return -1.0, 1.0
    inside = (noise[1] * total) ** 2 + (noise[0] * count) ** 2 - (z * noise[0] * noise[1]) ** 2
    spread = z * math.sqrt(max(inside, 0.0))
    ends = [(total * count + side * spread) / lead for side in (-1, 1)]
    if ends[0] > 1 or ends[1] < -1:
        return -1.0, 1.0
    return max(-1.0, ends[0] - ROUNDED), min(1.0, ends[1] + ROUNDED)


def variance_of(low: float, middle: float, high: float) -> float:
    """(B0 B2 - B1^2 / 4) / n^2 of three totals, a share of the squared width of the clip; 1/8 where there are none."""
    whole = low + middle + high
    return min(max((low * high - middle**2 / 4) / whole**2, 0.0), 0.25) if whole > 0 else 0.125


def variance_range(totals: tuple[int, int, int], width: float) -> tuple[float, float]:
    """The least and the greatest variance of totals, none of them below 0, that are within `width` of these.

    It falls as B1 grows. In B0, and likewise in B2, it rises up to B2 + B1 + B1^2 / (2 B2) and falls from there on, so
    that it is least in a corner. Both cannot be at their tops at once unless B1 = 0 and B0 = B2, which an edge at its
    own top reaches, too: it is greatest on an edge, there or at a corner.
    """
    low, middle, high = ((max(one - width, 0.0), max(one + width, 0.0)) for one in totals)
    if low[0] + middle[0] + high[0] <= 0:
        return 0.0, 0.25
    corners = [(a, b) for a in low for b in high]
    most = middle[0]

    def top(other: float, ends: tuple[float, float]) -> float:
        peak = other + most + most**2 / (2 * other) if other > 0 else math.inf
        return min(max(peak, ends[0]), ends[1])

    edges = [*((top(b, low), b) for b in high), *((a, top(a, high)) for a in low)]
    found = [variance_of(a, most, b) for a, b in (*corners, *edges)]
    return min(variance_of(a, middle[1], b) for a, b in corners), max(found)


def sum_width(drawn: Drawn, units: Units, confidence: float) -> float:
    """Half the interval of a sum, in units of the answer."""
    return half_width(drawn.law, drawn.size, confidence) / units.factor


def rank_error(scale: float, candidates: int, confidence: float) -> float:
    """By how many records the rank of a quantile is off, at most, with this probability."""
    return scale * (math.log(candidates) + math.log(1 / error_level(confidence)))


class Errors(list[dict[str, Any]]):
    """Errors to expect, a row for each statistic. Rows hold all digits; as a text three are shown, rounded up."""

    def __init__(self, rows: Iterable[dict[str, Any]], confidence: float) -> None:
        super().__init__(rows)
        self.confidence = confidence

    def __str__(self) -> str:
        return "\n".join(map(self._line, self))

    def _line(self, row: dict[str, Any]) -> str:
        noise = f"{row['query']}: {row['noise']}"
        if row["error"] is None:
            return noise
        within = at_most(row["error"], SHOWN_DIGITS)
        return f"{noise}; {100 * self.confidence:g} % of errors, in {row['of']}, are within {within}"

    __repr__ = __str__


def errors(statistics: Sequence[Statistic], table: Table, confidence: float) -> Errors:
    """For each statistic half the width of its interval, in units of the answer, and what that is a width of.

    Of a mean it is that of the sum, to be divided by the number of records; of a quantile it is its rank.
    """
    confidence = checks.ranged("confidence", confidence, "in (0, 1)", lambda value: 0 < value < 1)
    rows = (
        {"query": one.name, "statistic": one.verb, "noise": str(one.noise), **_error(one, table, confidence)}
        for one in statistics
    )
    return Errors(rows, confidence)


def _error(one: Statistic, table: Table, confidence: float) -> dict[str, Any]:
    if isinstance(one.noise, Auto):
        return {"error": None, "of": "chosen by calibrate"}
    if one.verb == "quantiles":
        return {"error": rank_error(one.noise.size, bins(one, table), confidence), "of": "records of its rank"}
    if one.verb in ("sum", "mean"):
        units = Units.of(one, table)
        error = sum_width(Drawn.of(one.noise, Fraction(units.factor)), units, confidence)
        return {"error": error, "of": str(one.of) if one.verb == "sum" else f"{one.of}, divided by the records"}
    if one.verb == "variance":
        factor = squared_units(one)
        drawn = Drawn.of(one.noise, factor)
        error = float(half_width(drawn.law, drawn.size, confidence) / factor)
        return {"error": error, "of": f"{one.of} squared, divided by the records"}
    drawn = Drawn.of(one.noise, Fraction(1))
    return {
        "error": half_width(drawn.law, drawn.size, confidence),
        "of": "records" if one.verb == "count" else "persons",
    }
