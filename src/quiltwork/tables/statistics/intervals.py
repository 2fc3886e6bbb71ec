"""How far noise moves an answer: the law of the noise alone, known before any data are read.

Sampling of the population and the bias of clipping, capping and missing values are said in words and never estimated
from data: how many values were clipped is data.

Reference: theory/release.md section 7.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache
from statistics import NormalDist
from typing import Any

import numpy as np

from quiltwork import checks
from quiltwork.mechanisms.noise import Auto
from quiltwork.tables.schema.table import Table
from quiltwork.tables.statistics.price import Drawn, Units, bins
from quiltwork.tables.statistics.statistic import Statistic

LISTED_SIGMA = 3000  # up to which the masses of a discrete Gaussian are added up
SHARES = 4001  # shares of the way from one end to the other that are tried for a mean


def normal_quantile(confidence: float) -> float:
    """The two-sided quantile of the normal law."""
    return NormalDist().inv_cdf((1 + confidence) / 2)


@lru_cache(maxsize=4096)
def half_width(law: str, size: float, confidence: float) -> int:
    """The least k such that noise on integers stays within k with this probability."""
    miss = 1 - confidence
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
    inside = np.cumsum(masses) / masses.sum()
    return int(np.searchsorted(inside, confidence))


def laplace_mean(low_side: int, high_side: int, size: float, confidence: float) -> tuple[float, float]:
    """Shares t of the way from low to high that noise does not contradict: |(1 - t) U - t V| within its quantile.

    For the true share that difference is pure noise, so that the true one is kept with this probability.
    """
    t = np.linspace(0.0, 1.0, SHARES)
    off = np.abs((1 - t) * low_side - t * high_side)
    a, b = np.maximum(t, 1 - t) * size, np.minimum(t, 1 - t) * size
    with np.errstate(all="ignore"):
        apart = (a**2 * np.exp(-off / a) - b**2 * np.exp(-off / b)) / (a**2 - b**2)  # P(|a Z - b Z'| > off)
        equal = np.exp(-off / a) * (2 + off / a) / 2
    beyond = np.where(np.abs(a - b) < 1e-6 * size, equal, np.where(b < 1e-9 * size, np.exp(-off / a), apart))
    kept = t[beyond >= 1 - confidence]
    return (
        (0.0, 1.0)
        if kept.size == 0
        else (max(0.0, float(kept[0]) - 1 / SHARES), min(1.0, float(kept[-1]) + 1 / SHARES))
    )


def gaussian_mean(total: float, count: float, noise: tuple[float, float], confidence: float) -> tuple[float, float]:
    """Fieller: all means m with |total - m count| <= z sqrt(s_total^2 + m^2 s_count^2), in the units of the total."""
    z = normal_quantile(confidence)
    m = np.linspace(-1.0, 1.0, SHARES)
    off = np.abs(total - m * count)
    kept = m[off <= z * np.hypot(noise[0], m * noise[1])]
    return (
        (-1.0, 1.0)
        if kept.size == 0
        else (max(-1.0, float(kept[0]) - 2 / SHARES), min(1.0, float(kept[-1]) + 2 / SHARES))
    )


def sum_width(drawn: Drawn, units: Units, confidence: float) -> float:
    """Half the interval of a sum, in units of the answer."""
    return half_width(drawn.law, drawn.size, confidence) / units.factor


def rank_error(scale: float, candidates: int, confidence: float) -> float:
    """By how many records the rank of a quantile is off, at most, with this probability."""
    return scale * (math.log(candidates) + math.log(1 / (1 - confidence)))


def errors(statistics: Sequence[Statistic], table: Table, confidence: float) -> list[dict[str, Any]]:
    """For each statistic half the width of its interval, in units of the answer, and what that is a width of.

    Of a mean it is that of the sum, to be divided by the number of records; of a quantile it is its rank.
    """
    confidence = checks.ranged("confidence", confidence, "in (0, 1)", lambda value: 0 < value < 1)
    return [
        {"query": one.name, "statistic": one.verb, "noise": str(one.noise), **_error(one, table, confidence)}
        for one in statistics
    ]


def _error(one: Statistic, table: Table, confidence: float) -> dict[str, Any]:
    if isinstance(one.noise, Auto):
        return {"error": None, "of": "chosen by calibrate"}
    if one.verb == "quantiles":
        return {"error": rank_error(one.noise.size, bins(one, table), confidence), "of": "records of its rank"}
    if one.verb in ("sum", "mean"):
        units = Units.of(one, table)
        error = sum_width(Drawn.of(one.noise, Fraction(units.factor)), units, confidence)
        return {"error": error, "of": str(one.of) if one.verb == "sum" else f"{one.of}, divided by the records"}
    drawn = Drawn.of(one.noise, Fraction(1))
    return {
        "error": half_width(drawn.law, drawn.size, confidence),
        "of": "records" if one.verb == "count" else "persons",
    }
