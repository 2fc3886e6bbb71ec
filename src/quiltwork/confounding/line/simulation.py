"""delta by simulation, for releases whose law has no certified enclosure.

delta(epsilon) = E[(1 - e^(epsilon - L(Y)))_+] with Y drawn from the first law and L the log ratio of both, which is
summed over the data exactly: only the outer expectation is drawn, so the estimate has no bias.  Its terms lie in
[0, 1], and with the sample variance V of n of them each of

    |mean - delta| <= sqrt(2 V log(2/a) / n) + 7 log(2/a) / (3 (n - 1))

fails on one side with probability at most a (Maurer and Pontil 2009, Theorem 4).  Both sides, all pairs and all
epsilons asked share the error 1 - confidence equally.  The result is statistical: never certified, and no guarantee.

Reference: theory/confounding.md section 1.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.special import logsumexp

from quiltwork import checks
from quiltwork.checks import FloatArray
from quiltwork.confounding.line.enclosure.difference import TwoLaws
from quiltwork.confounding.line.laws.components import Mixture
from quiltwork.confounding.line.readings import Readings
from quiltwork.curves.bracket import Bracket
from quiltwork.errors import Unsupported

CHUNK = 1 << 21  # numbers held at once
ROUNDING = 1e-12  # of the terms, far below any half width


def half_width(variance: float, count: int, error: float) -> float:
    """How far the mean may be off on one side, but for probability `error`."""
    log = math.log(2.0 / error)
    return math.sqrt(2.0 * max(variance, 0.0) * log / count) + 7.0 * log / (3.0 * (count - 1))


def estimate(
    sampler: Sampler, pairs: Any, epsilon: Any, samples: int, confidence: float, rng: np.random.Generator
) -> Bracket:
    """The worst delta over the ordered pairs at each epsilon, from `samples` draws a pair."""
    asked = checks.numbers("epsilon", epsilon, "a finite number", -1e300, 1e300)
    count = checks.count("samples", samples, least=2)
    level = checks.ranged("confidence", confidence, "in (0, 1)", lambda number: 0.0 < number < 1.0)
    checks.generator(rng)
    ordered, places = [(int(i), int(j)) for i, j in pairs], np.ravel(asked)
    error = (1.0 - level) / (2.0 * len(ordered) * places.size)
    lower, upper = np.zeros(places.size), np.zeros(places.size)
    for first, second in ordered:
        mean, variance = _moments(sampler, first, second, places, count, rng)
        reach = np.array([half_width(float(v), count, error) for v in variance]) + ROUNDING
        lower, upper = np.maximum(lower, mean - reach), np.maximum(upper, mean + reach)
    lower, upper = np.clip(lower, 0.0, 1.0), np.clip(upper, 0.0, 1.0)
    method = f"Monte Carlo, confidence {100.0 * level:.6g}%"
    return Bracket(lower.reshape(asked.shape), upper.reshape(asked.shape), "delta", method, certified=False)


def _moments(
    sampler: Sampler, first: int, second: int, epsilon: FloatArray, count: int, rng: np.random.Generator
) -> tuple[FloatArray, FloatArray]:
    """Mean and sample variance of the terms, chunk after chunk (Chan, Golub and LeVeque 1979)."""
    step = max(1, CHUNK // max(sampler.terms(), epsilon.size))
    done, mean, squares = 0, np.zeros(epsilon.size), np.zeros(epsilon.size)
    while done < count:
        size = min(step, count - done)
        losses = sampler.losses(first, second, size, rng)
        with np.errstate(invalid="ignore"):
            values = -np.expm1(np.minimum(epsilon[:, None] - losses, 0.0))
        if bool(np.isnan(values).any()):
            raise Unsupported("this simulation", "a draw has no density under its own law", "widen the noise")
        here = values.mean(axis=1)
        gap, whole = here - mean, done + size
        squares += ((values - here[:, None]) ** 2).sum(axis=1) + gap**2 * (done * size / whole)
        mean, done = mean + gap * (size / whole), whole
    return mean, squares / (count - 1)


class FiniteDraws:
    """Data with finitely many values, read several times with Gaussian and Laplace noise in any mix."""

    def __init__(
        self, rows: FloatArray, centres: FloatArray, kinds: tuple[str, ...], scales: FloatArray, covariance: Any = None
    ) -> None:
        if bool(np.any(scales <= 0)):
            raise Unsupported("a simulation with noise of scale zero", "outputs then have no density", "add noise")
        self.rows, self.centres, self.scales = rows, centres, scales  # (R, X), (X, readings), (readings,)
        with np.errstate(divide="ignore"):
            self._logs = np.log(rows)
        self._normal = np.array([kind == "gaussian" for kind in kinds])
        self._factor = None if covariance is None else _factor(np.asarray(covariance, dtype=float))

    @classmethod
    def of(cls, laws: Sequence[Mixture], found: Readings) -> FiniteDraws:
        """Laws of points, read as stated."""
        places = sorted({part.exact[0] for law in laws for part in law.components})
        where = {place: index for index, place in enumerate(places)}
        rows = np.zeros((len(laws), len(places)))
        for index, law in enumerate(laws):
            for weight, part in zip(law.weights, law.components, strict=True):
                rows[index, where[part.exact[0]]] += weight
        centres = np.array([[float(row[0] * place) for row in found.rows] for place in places])
        covariance = None if found.correlation is None else found.covariance()
        return cls(rows, centres, found.kinds, np.array(found.scales, dtype=float), covariance)

    def terms(self) -> int:
        """Numbers held for each draw."""
        return int(self.centres.size)

    def losses(self, first: int, second: int, count: int, rng: np.random.Generator) -> FloatArray:
        """log b_first(Y) - log b_second(Y) for this many Y drawn from b_first."""
        law = self.rows[first] / self.rows[first].sum()
        picked = rng.choice(law.size, size=count, p=law)
        shape = (count, self.scales.size)
        noise: FloatArray = np.where(self._normal, rng.standard_normal(shape), rng.laplace(size=shape))
        noise = noise * self.scales if self._factor is None else noise @ self._factor.T
        drawn = self.centres[picked] + noise
        away: FloatArray = (drawn[:, None, :] - self.centres[None, :, :]).reshape(-1, self.scales.size)
        if self._factor is None:
            away = away / self.scales
        else:
            away = np.linalg.solve(self._factor, away.T).T
        away = away.reshape(count, -1, self.scales.size)
        logs = np.where(self._normal, -0.5 * away**2, -np.abs(away)).sum(axis=2)
        return _log_mix(logs, self._logs[first]) - _log_mix(logs, self._logs[second])


class VectorDraws:
    """Mixtures of normal vectors, one for each secret: weights, means and covariances of the outputs."""

    def __init__(self, laws: list[tuple[FloatArray, FloatArray, FloatArray]]) -> None:
        self._weights = [np.log(weights) for weights, _, _ in laws]
        self._means = [means for _, means, _ in laws]
        self._factors = [np.array([_factor(square) for square in squares]) for _, _, squares in laws]

    def terms(self) -> int:
        return max(means.size for means in self._means)

    def losses(self, first: int, second: int, count: int, rng: np.random.Generator) -> FloatArray:
        means, factors = self._means[first], self._factors[first]
        weights = np.exp(self._weights[first])
        picked = rng.choice(len(means), size=count, p=weights / weights.sum())
        steps = rng.standard_normal((count, means.shape[1]))
        drawn = means[picked] + np.einsum("nij,nj->ni", factors[picked], steps)
        return self._log_density(first, drawn) - self._log_density(second, drawn)

    def _log_density(self, secret: int, drawn: FloatArray) -> FloatArray:
        """Up to the common constant of the dimension."""
        logs = []
        for mean, factor in zip(self._means[secret], self._factors[secret], strict=True):
            away = np.linalg.solve(factor, (drawn - mean).T)
            logs.append(-0.5 * (away**2).sum(axis=0) - np.log(np.diag(factor)).sum())
        return _log_mix(np.stack(logs, axis=1), self._weights[secret])


class LineDraws:
    """Mixtures of densities on the line; the certified curve exists, this checks it."""

    def __init__(self, laws: tuple[Mixture, ...]) -> None:
        self._laws = laws

    def terms(self) -> int:
        return 2 * max(len(law.components) for law in self._laws)

    def losses(self, first: int, second: int, count: int, rng: np.random.Generator) -> FloatArray:
        two = TwoLaws(self._laws[first], self._laws[second])
        logs, _ = two.log_density(self._laws[first].sample(rng, count))
        with np.errstate(divide="ignore"):
            return _log_mix(logs.T, np.log(two.first)) - _log_mix(logs.T, np.log(two.second))


# what draws outputs under one secret and weighs them against another
Sampler = FiniteDraws | VectorDraws | LineDraws


def _log_mix(logs: FloatArray, weights: FloatArray) -> FloatArray:
    found: FloatArray = logsumexp(logs + weights, axis=1)
    return found


def _factor(square: FloatArray) -> FloatArray:
    try:
        return np.linalg.cholesky(square)
    except np.linalg.LinAlgError:
        raise Unsupported(
            "a simulation with a singular covariance", "outputs then have no density", "add noise"
        ) from None
