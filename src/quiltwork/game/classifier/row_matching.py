"""Row matching: how the rows of a table, and their number, speak for each candidate, in closed form.

Given that k was queried, one of the n rows (each equally likely) is k's, and the others look like draws from the
mixture q of the other candidates; given that k was not, all do.  So the likelihood ratio of k is about

    (1 / n) sum_i p(row_i | k) / q(row_i).

It is exact for n = 1, and leaves out that two rows cannot be of the same image.

The number of queries alone tells something too: under equal rates n of K members are an exchangeable set, with odds
n / (K - n).  Under other rates the odds are those of independent coins tilted until n are expected,
P(k) = w_k t / (1 + w_k t), which is the law given n to first order.

Reference: theory/game.md sections 1 (odds against the prior) and 3 (T1); seed 004 appendix P.5, specified here; Chen,
Dempster and Liu 1994 for coins given their sum.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.special import expit, logit

from quiltwork.checks import FloatArray
from quiltwork.game.classifier.row_laws import others, relative
from quiltwork.game.people.priors import Members

__all__ = ["CERTAIN", "FEATURES", "Evidence", "features_of", "matching_odds", "size_odds"]

CERTAIN = 1000.0  # log-odds where nobody, or everybody, is a member
_HALVINGS = 80  # of the interval of a tilt


def size_odds(rates: FloatArray) -> FloatArray:
    """Log-odds of membership, one row a size from 0 to K.

    >>> np.round(np.exp(size_odds(np.array([0.5, 0.5, 0.5]))[1:3]), 3)
    array([[0.5, 0.5, 0.5],
           [2. , 2. , 2. ]])
    """
    people = len(rates)
    sizes = np.arange(1, people)
    weights = np.asarray(logit(rates))
    odds = np.full((people + 1, people), CERTAIN)
    odds[0] = -CERTAIN
    # each P(k) is n / K for some tilt between these two, which puts the tilt for the sum between them
    plain = logit(sizes / people)
    low, high = plain - weights.max(), plain - weights.min()
    for _ in range(_HALVINGS if weights.max() > weights.min() else 0):
        middle = 0.5 * (low + high)
        short = expit(weights + middle[:, None]).sum(axis=1) < sizes
        low, high = np.where(short, middle, low), np.where(short, high, middle)
    odds[1:people] = weights + (0.5 * (low + high))[:, None]
    return odds


Evidence = Callable[[FloatArray, Members, FloatArray], FloatArray]

FEATURES = ("matched ratio", "soft match", "best match", "margin", "mean match", "best ratio")
_FLOOR = -300.0  # log-likelihoods this far below the best are alike: they count for nothing


def matching_odds(logs: FloatArray, filled: Members, prior: FloatArray) -> FloatArray:
    """Log-odds of each candidate by row matching: B x n x K log-likelihoods, B x K log-odds of the sizes alone."""
    weights = expit(prior)[:, None, :]
    shares = relative(logs, filled, _FLOOR)
    mixture = others(weights * shares, 2) / np.maximum(others(weights, 2), np.finfo(float).tiny)
    with np.errstate(divide="ignore"):
        ratios = np.log(shares) - np.log(np.where(filled[:, :, None], mixture, 1.0))
    sizes = np.maximum(filled.sum(axis=1), 1)[:, None]
    total = np.logaddexp.reduce(ratios, axis=1)
    sure = np.abs(prior) >= CERTAIN
    return np.where(sure, prior, np.where(np.isfinite(total), total, 0.0) - np.log(sizes) + prior)


def features_of(logs: FloatArray, filled: Members, background: FloatArray) -> FloatArray:
    """Numbers about each candidate (B x K x 6, named in FEATURES) for attackers that share weights between people.

    They take the candidate's row and a reference sample (T2): the background is the log-likelihood of each row under
    the mixture of reference images.  Log-likelihoods grow without bound as the noise shrinks: each is passed through
    arcsinh, which keeps their order.
    """
    sizes = filled.sum(axis=1)
    some = filled[:, :, None]
    seen = np.where(some, logs, -np.inf)
    ratios = np.where(some, logs - background[:, :, None], -np.inf)
    count = np.maximum(sizes, 1)[:, None]
    ordered = np.sort(seen, axis=1)
    best = ordered[:, -1]
    second = ordered[:, -2] if seen.shape[1] > 1 else best
    with np.errstate(invalid="ignore"):  # an empty table has nothing to match: infinities, replaced below
        matched = np.logaddexp.reduce(ratios, axis=1) - np.log(count)
        soft = np.logaddexp.reduce(seen, axis=1) - np.log(count)
        margin = np.where(np.isfinite(second), best - second, 0.0)
        mean = np.where(some, logs, 0.0).sum(axis=1) / count
    found = np.stack([matched, soft, best, margin, mean, ratios.max(axis=1)], axis=2)
    return np.arcsinh(np.where((sizes > 0)[:, None, None], found, 0.0))
