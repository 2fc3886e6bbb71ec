"""Many canaries, one run: the p-value of guesses about coins, and the epsilon that it refutes.

m canaries are included by independent fair coins; an attacker who sees the output guesses r of the coins and gets v
right. If the mechanism is (epsilon, delta)-private for adding or removing one canary, then the chance of so many is at
most P(W >= v) + 2 m delta max_i P(v - i <= W < v) / i with W binomial: r draws of chance q = e^epsilon/(1 + e^epsilon).
Nothing is assumed about how the guesses depend on each other. The coins must be independent: with exactly half of the
canaries included, one coin tells about the next, and the bound is false.

Reference: T. Steinke, M. Nasr and M. Jagielski, Privacy auditing with one (1) training run, 2023;
theory/game.md section 6, item 3.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from scipy.special import expit

from quiltwork.audit import coins
from quiltwork.audit.binomial import log_mass, lower_tail
from quiltwork.checks import FloatArray
from quiltwork.curves.rounding import UNIT, down, up

FARTHEST = 64.0  # no epsilon beyond it is looked for: 2**53 right guesses refute less than 36
CLOSE = 1e-10  # the search ends there, on the safe side
_WIDE = 12.0  # standard deviations around the mean in which the largest average is looked for
_WIDEST = 2.0**20  # numbers of guesses around the mean that are looked at one by one


def p_value(canaries: int, guesses: int, correct: int, epsilon: float, delta: float) -> float:
    """At least the chance of so many right guesses under (epsilon, delta)-privacy.

    The rounded chance of a wrong guess is that of a slightly larger epsilon, for which the theorem holds as well.
    """
    wrong = max(0.0, down(float(expit(-epsilon)), 4))
    tail = lower_tail(guesses - correct, guesses, wrong, 1.0 - wrong)
    if delta == 0 or tail >= 1.0:
        return tail
    extra = 2.0 * canaries * delta * largest_average(correct, guesses, wrong)
    return min(1.0, up(tail + extra, 8))


@lru_cache(maxsize=65536)
def refuted(canaries: int, guesses: int, correct: int, delta: float, level: float, independent: bool = False) -> float:
    """The largest epsilon found whose p-value is at most the level; 0 when there is none.

    `independent` says that each canary had a run of its own, which allows the sharper p-value of `coins`.

    Every value that is kept has passed the test. It need not be the last that does: any epsilon with a small enough
    p-value is a valid bound, since the mechanism is private for all epsilons above its own, and the test rejects more
    when more guesses are right.
    """
    test = coins.p_value if independent else p_value

    def rejects(epsilon: float) -> bool:
        return test(canaries, guesses, correct, epsilon, delta) <= level

    if not rejects(0.0):
        return 0.0
    low, high = 0.0, 1.0
    while high < FARTHEST and rejects(high):
        low, high = high, 2.0 * high
    while high - low > CLOSE * (1.0 + low):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if rejects(middle) else (low, middle)
    return low


def largest_average(correct: int, guesses: int, wrong: float) -> float:
    """At least max over i of P(correct - i <= W < correct) / i, W = guesses - Bin(guesses, wrong).

    The masses below `correct` rise to the mode and then fall, and so does their running average; far above the mode
    they are bounded together.
    """
    if correct < 1:
        return 0.0
    mean, right = guesses * (1.0 - wrong), 1.0 - wrong
    spread = _WIDE * math.sqrt(guesses * wrong * right) + 64.0
    if spread > _WIDEST:  # an average is at most the mass of the mode
        mode = np.array([min(guesses - 1.0, math.floor(mean)), min(guesses - 1.0, math.floor(mean) + 1.0)])
        return min(1.0, float(_masses(mode, guesses, wrong).max()) * (1.0 + 1e-9))
    top = min(correct - 1, math.ceil(mean + 4.0 * spread))
    beyond = lower_tail(guesses - top - 1, guesses, wrong, right) if top < correct - 1 else 0.0
    bottom = max(0, min(top, math.floor(mean - spread)))
    while True:
        masses = _masses(np.arange(top, bottom - 1, -1, dtype=float), guesses, wrong)
        total = beyond + np.cumsum(masses)
        averages = total / (correct - np.arange(top, bottom - 1, -1, dtype=float))
        if bottom == 0 or masses[-1] < averages[-1]:
            return float(min(1.0, averages.max() * (1.0 + 4 * UNIT * (masses.size + 4))))
        bottom = max(0, bottom - (top - bottom + 1))


def _masses(right: FloatArray, guesses: int, wrong: float) -> FloatArray:
    """P(W = right) from above, for right < guesses."""
    if wrong <= 0.0:
        return np.zeros(right.size)
    missed = guesses - right
    inner = np.clip(missed, 1.0, max(guesses - 1.0, 1.0))
    if guesses > 1:
        value, error = log_mass(inner, float(guesses), wrong, 1.0 - wrong)
    else:
        value, error = np.zeros(right.size), np.zeros(right.size)
    none = guesses * math.log(wrong)
    value, error = np.where(right == 0, none, value), np.where(right == 0, 8 * UNIT * abs(none), error)
    return np.exp(np.minimum(value + error, 0.0)) * (1.0 + 8 * UNIT)
