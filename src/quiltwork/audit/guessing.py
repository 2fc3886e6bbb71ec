"""Scores turned into guesses about fair coins.

Independent trials can be read as canaries of one large run, one a trial, if a fair coin decided which of them had the
record. Then one binomial bound serves all guesses, "in" for the largest scores and "out" for the smallest, where
counting two rates apart needs two. Where the numbers of trials were planned instead, they are thinned: the number of
trials with the record is drawn as that many fair coins would have it, and so many are taken at random. Should there be
too few of one kind, which is rare, nothing is refuted; 0 is always a valid bound.
"""

from __future__ import annotations

import math

import attrs
import numpy as np
from numpy.typing import NDArray
from scipy.special import betaincinv

from quiltwork.checks import FloatArray

RARE = 4.5  # standard deviations: thinning fails once in a hundred thousand audits
FEWEST, TRIED = 20, 24  # guesses that are worth a try, and numbers of them that are tried
CAUTION = 2.0  # standard deviations by which what was seen is taken for worse


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
    sizes = np.unique(np.maximum(1.0, np.geomspace(min(1.0, FEWEST / max(later, 1)), 1.0, TRIED) * size).astype(int))
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
