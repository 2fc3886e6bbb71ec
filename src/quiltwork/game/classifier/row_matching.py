"""Row matching: the law of a published row given its image, and how the rows of a table speak for each candidate.

A number strictly inside (0, 1) has the density of the noise; a number clipped to an end has the probability of that
event.  Both refer to one base measure, so that ratios between candidates are exact.

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

import math
from collections.abc import Callable

import attrs
import numpy as np
from scipy.special import expit, log_ndtr, logit

from quiltwork.checks import FloatArray
from quiltwork.errors import InvalidParameter
from quiltwork.game.defenders.noise import Gaussian, Laplace
from quiltwork.game.people.population import Members

LEAST_NOISE, MOST_NOISE = 1e-6, 1e6  # squares of distances in these units stay far from overflow


@attrs.frozen(eq=False)
class RowLaw:
    """Noise of one family and size on each entry of a row."""

    family: str
    size: float
    clip: bool

    @classmethod
    def of(cls, noise: Gaussian | Laplace, clip: bool) -> RowLaw:
        """The law that a defender's options stand for."""
        if not isinstance(noise, (Gaussian, Laplace)):
            raise InvalidParameter("noise", noise, "Gaussian(sigma) or Laplace(scale)")
        if noise.weights is not None:
            raise InvalidParameter("noise", noise, "noise without weights: a row is matched as a whole")
        size = noise.sigma if isinstance(noise, Gaussian) else noise.scale
        if not LEAST_NOISE <= size <= MOST_NOISE:
            hint = "less noise hides nothing, more leaves nothing"
            raise InvalidParameter("noise", noise, f"noise from {LEAST_NOISE:g} to {MOST_NOISE:g}", hint)
        return cls("gaussian" if isinstance(noise, Gaussian) else "laplace", float(size), clip)

    def draw(self, exact: FloatArray, rng: np.random.Generator) -> FloatArray:
        """Simulated rows, clipped if so asked; a negative zero becomes a zero, so that equal numbers are the same."""
        noise = rng.standard_normal(exact.shape) if self.family == "gaussian" else rng.laplace(size=exact.shape)
        noisy = exact + self.size * noise
        return (np.clip(noisy, 0.0, 1.0) if self.clip else noisy) + 0.0

    def log_likelihoods(self, tables: FloatArray, rows: FloatArray) -> FloatArray:
        """log p(row i of the table | candidate k): tables are B x n x C, rows K x C, the result B x n x K."""
        low, high = (tables <= 0.0, tables >= 1.0) if self.clip else (None, None)
        inner = np.ones(tables.shape) if low is None or high is None else (~(low | high)).astype(float)
        rate, norm = self._constants()
        total = np.repeat(-norm * inner.sum(axis=2)[:, :, None], len(rows), axis=2)
        if low is not None and high is not None:
            total += low.astype(float) @ self._log_tail(rows).T
            total += high.astype(float) @ self._log_tail(1.0 - rows).T
        for column in range(rows.shape[1]):
            gap = tables[:, :, column, None] - rows[:, column]
            gap = np.square(gap, out=gap) if self.family == "gaussian" else np.abs(gap, out=gap)
            gap *= -rate * inner[:, :, column, None]
            total += gap
        return total

    def _constants(self) -> tuple[float, float]:
        """The density is e^(-rate gap^2 - norm) or e^(-rate |gap| - norm)."""
        if self.family == "gaussian":
            return 0.5 / self.size**2, math.log(self.size) + 0.5 * math.log(2.0 * math.pi)
        return 1.0 / self.size, math.log(2.0 * self.size)

    def _log_tail(self, distance: FloatArray) -> FloatArray:
        """Log-probability that noise passes an end of [0, 1] at this distance >= 0."""
        if self.family == "gaussian":
            return np.asarray(log_ndtr(-distance / self.size))
        return -distance / self.size - math.log(2.0)


def others(values: FloatArray, axis: int) -> FloatArray:
    """For each entry the sum of all others along the axis, to a few units: values >= 0.

    Total minus entry is accurate unless the entry is more than half of the total; only the largest can be, and its
    others are summed by themselves.
    """
    rest = values.sum(axis=axis, keepdims=True) - values
    top = values.argmax(axis=axis, keepdims=True)
    hidden = values.copy()
    np.put_along_axis(hidden, top, 0.0, axis=axis)
    np.put_along_axis(rest, top, hidden.sum(axis=axis, keepdims=True), axis=axis)
    return np.asarray(rest)


def relative(logs: FloatArray, filled: Members, floor: float) -> FloatArray:
    """Likelihoods of a row relative to its best candidate, at least e^floor; 0 for rows that are only padding."""
    shares = np.exp(np.maximum(logs - logs.max(axis=2, keepdims=True), floor))
    return np.asarray(shares * filled[:, :, None])


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
