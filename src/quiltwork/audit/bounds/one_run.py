"""Scores turned into guesses about fair coins.

Independent trials can be read as canaries of one large run, one a trial, if a fair coin decided which of them had the
record. Then one binomial bound serves all guesses, "in" for the largest scores and "out" for the smallest, where
counting two rates apart needs two. Where the numbers of trials were planned instead, they are thinned: the number of
trials with the record is drawn as that many fair coins would have it, and so many are taken at random. Should there be
too few of one kind, which is rare, nothing is refuted; 0 is always a valid bound.

Many canaries, one run: the p-value of guesses about coins, and the epsilon that it refutes.

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

import attrs
import numpy as np
from numpy.typing import NDArray
from scipy.special import betaincinv, expit

from quiltwork.audit.bounds.binomial import log_mass, lower_tail
from quiltwork.checks import FloatArray
from quiltwork.kinds import document
from quiltwork.numbers.rounding import UNIT, down, up

MAX_EPSILON = 64.0  # no epsilon beyond it is looked for: 2**53 right guesses refute less than 36
CLOSE = 1e-10  # the search ends there, on the safe side
_DETAILED_SDS = 12.0  # standard deviations around the mean in which the largest average is looked for
_MAX_LISTED_GUESSES = 2.0**20  # numbers of guesses around the mean that are looked at one by one
GROUPS = 48  # of numbers of revealed coins
_REVEALED_SDS = 10.0  # standard deviations around the mean number of revealed coins that are looked at in detail
_MAX_REVEALED = 2**20
_FAINT = 1e-10


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


def p_value_of_trials(trials: int, guesses: int, correct: int, epsilon: float, delta: float) -> float:
    """At least the chance of so many right guesses when each coin had a run of its own: sharper than `p_value`.

    An (epsilon, delta)-private output about one coin tells no more than a source that reveals the coin with chance
    delta and otherwise names it rightly with chance q = e^epsilon/(1 + e^epsilon). Of m independent trials
    R ~ Bin(m, delta) are revealed; whoever guesses r of them is right at most min(R, r) + Bin(r - min(R, r), q) times.
    The chance of v right guesses under this law is the p-value. It grows with R, so values of R may be put together at
    their largest.

    Reference: P. Kairouz, S. Oh and P. Viswanath, The composition theorem for differential privacy, 2015, of one coin.
    """
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
    spread = _REVEALED_SDS * math.sqrt(mean) + _REVEALED_SDS
    low, high = max(0, math.floor(mean - spread)), min(trials, math.ceil(mean + spread))
    rest = lower_tail(trials - high - 1, trials, 1.0 - delta, delta) if high < trials else 0.0
    if high - low > _MAX_REVEALED:
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


@lru_cache(maxsize=65536)
def refuted(canaries: int, guesses: int, correct: int, delta: float, level: float, independent: bool = False) -> float:
    """The largest epsilon found whose p-value is at most the level; 0 when there is none.

    `independent` says that each canary had a run of its own, which allows the sharper `p_value_of_trials`.

    Every value that is kept has passed the test. It need not be the last that does: any epsilon with a small enough
    p-value is a valid bound, since the mechanism is private for all epsilons above its own, and the test rejects more
    when more guesses are right.
    """
    test = p_value_of_trials if independent else p_value

    def rejects(epsilon: float) -> bool:
        return test(canaries, guesses, correct, epsilon, delta) <= level

    if not rejects(0.0):
        return 0.0
    low, high = 0.0, 1.0
    while high < MAX_EPSILON and rejects(high):
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
    spread = _DETAILED_SDS * math.sqrt(guesses * wrong * right) + 64.0
    if spread > _MAX_LISTED_GUESSES:  # an average is at most the mass of the mode
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


RARE = 4.5  # standard deviations: thinning fails once in a hundred thousand audits
MIN_GUESSES, TRIED = 20, 24  # guesses that are worth a try, and numbers of them that are tried
CAUTION = 2.0  # standard deviations by which what was seen is taken for worse


@document("audit_guesses/1")
@attrs.frozen
class Guesses:
    """Coins that were tossed, those that were guessed, and the guesses that were right."""

    canaries: int
    made: int
    correct: int


def thinned(
    scores_in: FloatArray, scores_out: FloatArray, rng: np.random.Generator
) -> tuple[FloatArray, NDArray[np.bool_]] | None:
    """Scores and coins of as many trials as there can be; None when the coins ask for more than there are."""
    size = thinned_size(scores_in.size, scores_out.size)
    heads = int(rng.binomial(size, 0.5))
    if size < 1 or heads > scores_in.size or size - heads > scores_out.size:
        return None
    taken = rng.choice(scores_in, heads, replace=False), rng.choice(scores_out, size - heads, replace=False)
    coins = np.repeat([True, False], [heads, size - heads])
    return np.concatenate(taken), coins


def thinned_size(trials_in: int, trials_out: int) -> int:
    """How many fair coins n such trials can serve: n + 4.5 sqrt(n) is at most twice the smaller number."""
    root = 0.5 * (-RARE + math.sqrt(RARE * RARE + 8.0 * min(trials_in, trials_out)))
    return int(root * root)


def guess(
    scores: FloatArray, coins: NDArray[np.bool_], says_in: int, says_out: int, rng: np.random.Generator
) -> Guesses:
    """Guess "in" for the largest scores and "out" for the smallest; ties are broken by chance, never by position."""
    right_in, right_out = _ranked(scores, coins, rng)
    correct = int(right_in[:says_in].sum()) + int(right_out[:says_out].sum())
    return Guesses(scores.size, says_in + says_out, correct)


def best_shares(
    scores_in: FloatArray, scores_out: FloatArray, later: int, delta: float, level: float, rng: np.random.Generator
) -> tuple[float, float]:
    """Shares of the trials to guess "in" and "out" that promise the largest bound, on trials used for nothing else.

    Both sides alike, or one alone: a leak often shows in large scores only. Of the guesses that come later, as many as
    delta may reveal are taken as right for nothing.
    """
    coins = np.repeat([True, False], [scores_in.size, scores_out.size])
    right = [
        np.concatenate([[0], np.cumsum(side)]) for side in _ranked(np.concatenate([scores_in, scores_out]), coins, rng)
    ]
    size, best, found = coins.size, -1.0, (0.5, 0.5)
    sizes = np.unique(
        np.maximum(1.0, np.geomspace(min(1.0, MIN_GUESSES / max(later, 1)), 1.0, TRIED) * size).astype(int)
    )
    for says_in, says_out in ((sizes - sizes // 2, sizes // 2), (sizes, 0 * sizes), (0 * sizes, sizes)):
        made, correct = sizes.astype(float), (right[0][says_in] + right[1][says_out]).astype(float)
        correct = correct - CAUTION * np.sqrt((correct + 1.0) * (made - correct + 1.0) / (made + 2.0))
        wanted = np.maximum(made / size * later, 1.0)
        revealed = np.minimum(later * delta, 0.9 * wanted)
        expected = np.maximum(correct / made * wanted - revealed, 1e-9)
        with np.errstate(all="ignore"):
            bound = np.nan_to_num(betaincinv(expected, wanted - revealed - expected + 1.0, level), nan=0.0)
        index = int(np.argmax(bound))
        if bound[index] > best:
            best, found = float(bound[index]), (float(says_in[index] / size), float(says_out[index] / size))
    return found


def _ranked(
    scores: FloatArray, coins: NDArray[np.bool_], rng: np.random.Generator
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Whether "in" is right, from the largest score down, and whether "out" is, from the smallest up."""
    mixed = rng.permutation(scores.size)
    order = mixed[np.argsort(scores[mixed], kind="stable")]
    return coins[order[::-1]], ~coins[order]
