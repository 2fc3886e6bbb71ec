"""Binomial tails from above, and the Clopper-Pearson limit that they certify.

A tail is its first mass times a sum of falling ratios. The mass comes from the saddle-point form of Loader (2000), in
which nothing large cancels; both factors carry a bound on their rounding error, so that what is returned is never
below the truth. Probabilities come as a pair (p, q), q = 1 - p: the smaller of the two is taken as exact.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import numpy as np
from scipy.special import betainccinv, betaincinv

from quiltwork.checks import FloatArray
from quiltwork.numbers.rounding import UNIT, down, up

MOST_TERMS = 2**21  # of a tail; what is left after them is bounded by a geometric series
NEGLIGIBLE = 1e-15
_FACTORIALS = 16  # below it Stirling's series is replaced by a table
_TABLE = np.array(
    [0.0]
    + [math.lgamma(x + 1) - (x + 0.5) * math.log(x) + x - 0.5 * math.log(2 * math.pi) for x in range(1, _FACTORIALS)]
)
_FLAT_ERROR = 1024 * UNIT  # of three corrections to Stirling's formula and of a square root, with room to spare


def log_mass(k: FloatArray, n: float, p: float, q: float) -> tuple[FloatArray, FloatArray]:
    """log P(Bin(n, p) = k) for 0 < k < n, and a bound on its absolute error.

    With D = np - k and h(e) = (1 + e) log(1 + e) - e this is -np h(-D/np) - nq h(D/nq) + log sqrt(n / 2 pi k (n-k)),
    plus the corrections of Stirling's formula.

    Reference: C. Loader, Fast and accurate computation of binomial probabilities, 2000.
    """
    k = np.asarray(k, dtype=float)
    small = n * min(p, q)
    gap = small - k if p <= q else (n - k) - small
    gap_error = 2 * UNIT * (small + np.abs(gap))
    one, one_error = _deviance(-gap, n * p, gap_error)
    two, two_error = _deviance(gap, n * q, gap_error)
    stirling = _stirling(np.asarray(n)) - _stirling(k) - _stirling(n - k)
    value = stirling - one - two + 0.5 * np.log(n / (2 * np.pi * k * (n - k)))
    return value, one_error + two_error + 8 * UNIT * np.abs(value) + _FLAT_ERROR


def lower_tail(k: int, n: int, p: float, q: float) -> float:
    """At least P(Bin(n, p) <= k); 1 where k is no less than the mean, since nothing small is to be found there."""
    if k < 0 or q <= 0.0 < n - k:
        return 0.0
    if k >= n or (n * p - k if p <= q else (n - k) - n * q) <= 0:
        return 1.0
    if k == 0:
        log_first = n * (math.log1p(-p) if p <= q else math.log(q))
        error = 8 * UNIT * abs(log_first)
    else:
        first, off = log_mass(np.asarray(k), float(n), p, q)
        log_first, error = float(first), float(off)
    total, terms = _ratios(k, n, q / p)
    size = log_first + error + math.log(total)
    if size < -700.0:
        return 1e-300
    return min(1.0, up(math.exp(log_first + error) * total * (1.0 + 8 * UNIT * (terms + 4)), 4)) if size < 1 else 1.0


@lru_cache(maxsize=65536)
def upper_limit(k: int, n: int, level: float) -> tuple[float, float]:
    """The one-sided Clopper-Pearson limit of a rate that showed k times in n: (rate, 1 - rate), rounded up and down.

    It is a p with P(Bin(n, p) <= k) <= level, found by the inverse beta function and then moved outward until
    `lower_tail` agrees. The limit of the other side is that of n - k, with the two numbers exchanged.

    >>> rate, rest = upper_limit(0, 100, 0.025)
    >>> round(rate, 6), round(1 - 0.025**0.01, 6), rate + rest <= 1
    (0.036217, 0.036217, True)
    """
    if k >= n:
        return 1.0, 0.0
    rate, rest = float(betainccinv(k + 1, n - k, level)), float(betaincinv(n - k, k + 1, level))
    if not (0 < rate <= 1 and 0 <= rest < 1):
        rate = min(1.0, k / n + math.sqrt(-math.log(level) / (2 * n)))  # Hoeffding: a start is all that is needed
        rest = 1.0 - rate
    if rate <= 0.5:
        step = 32 * math.ulp(rate)
        while lower_tail(k, n, rate, 1.0 - rate) > level:
            rate, step = rate + step, 2 * step
            if rate >= 0.5:
                return upper_limit_near_one(k, n, level, 0.5)
        return rate, down(1.0 - rate)
    return upper_limit_near_one(k, n, level, rest)


def upper_limit_near_one(k: int, n: int, level: float, rest: float) -> tuple[float, float]:
    """The same where the rate is above a half, so that its complement is what must be exact."""
    step = 32 * math.ulp(rest)
    while rest > 0 and lower_tail(k, n, 1.0 - rest, rest) > level:
        rest, step = rest - step, 2 * step
    return (min(1.0, up(1.0 - rest)), rest) if rest > 0 else (1.0, 0.0)


def _deviance(gap: FloatArray, mean: float, gap_error: FloatArray) -> tuple[FloatArray, FloatArray]:
    """mean * h(gap / mean) and its absolute error; gap = count - mean."""
    e = np.maximum(gap / mean, -1.0 + UNIT)
    log = np.log1p(e)
    value = mean * ((1.0 + e) * log - e)
    inner = np.abs(e) + (1.0 + np.abs(e)) * np.abs(log)
    return value, 8 * UNIT * mean * inner + gap_error * (np.abs(log) + UNIT)


def _stirling(x: Any) -> FloatArray:
    """log x! minus Stirling's formula, for whole x >= 1; the series alternates, so what is left out is below 2e-16."""
    x = np.asarray(x, dtype=float)
    table = _TABLE[np.minimum(x, _FACTORIALS - 1).astype(int)]
    y = 1.0 / np.maximum(x, 1.0) ** 2
    series = (1 / 12 - y * (1 / 360 - y * (1 / 1260 - y * (1 / 1680 - y / 1188)))) / np.maximum(x, 1.0)
    return np.asarray(np.where(x < _FACTORIALS, table, series))


def _ratios(k: int, n: int, odds: float) -> tuple[float, int]:
    """P(X <= k) / P(X = k) from above, and how many terms were added; odds = q / p, and k is below the mean."""
    total, last, done, size = 1.0, 1.0, 0, 256
    while True:
        index = np.arange(done, min(done + size, k), dtype=float)
        if index.size:
            terms = last * np.cumprod((k - index) / (n - k + 1.0 + index) * odds)
            total, last = total + float(terms.sum()), float(terms[-1])
        done += index.size
        ratio = (k - done) / (n - k + 1.0 + done) * odds
        if done >= k or ratio <= 0:
            return total, done
        left = last * ratio / (1.0 - ratio) if ratio < 1 else math.inf
        if left <= NEGLIGIBLE * total or done >= MOST_TERMS:
            return total + left * (1.0 + 1e-12), done
        size = min(2 * size, 65536)
