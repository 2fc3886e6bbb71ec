"""Coins of independent trials: the same question as for canaries of one run, with a sharper answer.

An (epsilon, delta)-private output about one coin tells no more than a source that reveals the coin with chance delta
and otherwise names it rightly with chance q = e^epsilon/(1 + e^epsilon). Of m independent trials R ~ Bin(m, delta) are
revealed; whoever guesses r of them is right at most min(R, r) + Bin(r - min(R, r), q) times. The chance of v right
guesses under this law is the p-value. It grows with R, so values of R may be put together at their largest.

Reference: P. Kairouz, S. Oh and P. Viswanath, The composition theorem for differential privacy, 2015, for one trial.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from scipy.special import expit

from quiltwork.audit.bounds.binomial import log_mass, lower_tail
from quiltwork.numbers.rounding import UNIT, down, up

GROUPS = 48  # of numbers of revealed coins
_DETAILED_SDS = 10.0  # standard deviations around the mean of R that are looked at in detail
_MAX_SUPPORT = 2**20
_FAINT = 1e-10


def p_value(trials: int, guesses: int, correct: int, epsilon: float, delta: float) -> float:
    """At least the chance of so many right guesses about independent trials under (epsilon, delta)-privacy."""
    wrong = max(0.0, down(float(expit(-epsilon)), 4))
    if delta == 0 or correct == 0:
        return lower_tail(guesses - correct, guesses, wrong, 1.0 - wrong)
    total = 0.0
    for revealed, chance in groups(trials, delta):
        if revealed >= correct:
            total += chance
        else:
            total += chance * lower_tail(guesses - correct, guesses - revealed, wrong, 1.0 - wrong)
    return min(1.0, up(total, 8) * (1.0 + 4 * UNIT * GROUPS))


@lru_cache(maxsize=256)
def groups(trials: int, delta: float) -> tuple[tuple[int, float], ...]:
    """Groups of numbers of revealed coins: the largest of each, and at least its chance."""
    mean = trials * delta
    spread = _DETAILED_SDS * math.sqrt(mean) + _DETAILED_SDS
    low, high = max(0, math.floor(mean - spread)), min(trials, math.ceil(mean + spread))
    rest = lower_tail(trials - high - 1, trials, 1.0 - delta, delta) if high < trials else 0.0
    if high - low > _MAX_SUPPORT:
        return (high, 1.0), (trials, rest)
    below = lower_tail(low - 1, trials, delta, 1.0 - delta) if low > 0 else 0.0
    edges = np.unique(np.linspace(low - 1, high, min(high - low + 1, GROUPS) + 1).round().astype(int))
    found = [(low, below)] if below > 0 else []
    for first, last in zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True):
        found.append((last, min(1.0, _chance(np.arange(first + 1, last + 1), trials, delta))))
    while len(found) > 1 and found[-1][1] < _FAINT:  # what hardly happens is put together, as if all were revealed
        rest += found.pop()[1]
    return (*found, (trials, up(rest, GROUPS))) if rest > 0 else tuple(found)


def _chance(counts: np.ndarray[tuple[int], np.dtype[np.int64]], trials: int, delta: float) -> float:
    """P(Bin(trials, delta) is one of them) from above."""
    if delta >= 1.0:
        return 1.0 if int(counts[-1]) == trials else 0.0
    inner = counts[(counts > 0) & (counts < trials)].astype(float)
    total = 0.0
    if inner.size:
        value, error = log_mass(inner, float(trials), delta, 1.0 - delta)
        total += float(np.exp(np.minimum(value + error, 0.0)).sum())
    for end, log in ((0, math.log1p(-delta)), (trials, math.log(delta))):
        if end in counts:
            total += math.exp(trials * log * (1.0 - 8 * UNIT))
    return total * (1.0 + 4 * UNIT * (counts.size + 4))
