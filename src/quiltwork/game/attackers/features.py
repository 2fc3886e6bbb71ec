"""What a release says about each person, as a few numbers that attackers with shared weights learn from.

From the row d_k, the reference people and the output x alone (T2), for shares of binary attributes:

    the likelihood ratio, its z-score among the reference people, the adaptive one, the score <d - p, x - p>, and
    matched filters (d - p)'(S + c I)^-1 (x - p - (d - p) / 2n) with the reference covariance S, which take out the
    ancestry and linkage that x shares with everybody.

With all candidates' rows and the mechanism (T1), besides: each of these turned into log-odds for each person over
simulated releases, and the log-odds of the linear-Gaussian attacker, or of ridge regression where that has no closed
form.

Reference: theory/game.md section 3 (pooled AUC hides individual offsets; the feature head); Carlini et al. 2022 for
calibration by simulated releases.  A matched filter is Fisher's linear discriminant between d_k in and out of the data.
"""

from __future__ import annotations

from collections.abc import Callable

import attrs
import numpy as np
from numpy.typing import NDArray

from quiltwork.checks import FloatArray
from quiltwork.errors import Unsupported
from quiltwork.game.attackers.knowledge import Budget, Fitted
from quiltwork.game.attackers.likelihood import adaptive_llr, mean_reference_score, member_llr
from quiltwork.game.attackers.linear_gaussian import LinearGaussian
from quiltwork.game.attackers.ridge import Ridge, log_odds, outputs_of
from quiltwork.game.people.population import Population
from quiltwork.game.releases.release import Draws, Release

__all__ = ["Features", "examples", "matched_filters", "sample"]

SHRINKAGES = (1.0, 10.0)  # of the mean variance of an attribute: c above, for little and for much noise
_CLIP = 8.0  # standard deviations, and log-odds: beyond it one release would decide a training step alone
_MAX_FEATURE_ENTRIES = 16_000_000  # entries of features that are held at once
_TINY = 1e-12


def matched_filters(population: Population, shrinkage: float) -> tuple[FloatArray, FloatArray]:
    """(S + c I)^-1 (d_k - p) as columns, and (d_k - p)'(S + c I)^-1 (d_k - p), by the singular values of the reference.

    With S = V L V', (S + c I)^-1 = (I - V diag(L / (L + c)) V') / c: no m x m matrix is needed.
    """
    centre = population.frequencies
    spread = population.reference - centre
    _, values, axes = np.linalg.svd(spread / np.sqrt(len(spread)), full_matrices=False)
    level = shrinkage * max(float(np.sum(values**2)) / spread.shape[1], 1e-6)
    rows = population.candidates - centre
    inside = (rows @ axes.T) * (values**2 / (values**2 + level))
    filters = (rows - inside @ axes) / level
    return filters.T, np.einsum("km,km->k", filters, rows)


@attrs.frozen(eq=False)
class _Own:
    """The features of the row and the reference sample, for releases of one or more shares of each attribute."""

    population: Population
    binary: bool
    filters: tuple[tuple[FloatArray, FloatArray], ...]

    @classmethod
    def of(cls, release: Release) -> _Own:
        population = release.population
        attributes = population.size[1]
        if release.dimension % attributes:
            reason = f"it reads a number for each of {attributes} attributes, not {release.dimension} in all"
            raise Unsupported(f"an attack by shared features on {release.name}", reason)
        return cls(population, population.binary, tuple(matched_filters(population, level) for level in SHRINKAGES))

    def __call__(self, outputs: FloatArray) -> FloatArray:
        blocks = np.split(outputs, outputs.shape[1] // self.population.size[1], axis=1)
        return np.concatenate([self._block(block) for block in blocks], axis=2)

    def _block(self, outputs: FloatArray) -> FloatArray:
        people = self.population
        rows, reference, usual = people.candidates, people.reference, people.frequencies
        columns = [mean_reference_score(rows, outputs, usual)]
        if self.binary:
            ratio = member_llr(rows, outputs, usual)
            columns += [ratio, _among(ratio, member_llr(reference, outputs, usual))]
            columns += [adaptive_llr(rows, reference, outputs, usual)]
        else:
            columns += [_among(columns[0], mean_reference_score(reference, outputs, usual))]
        members = float(people.prior.rates(len(rows)).sum())
        columns += [(outputs - usual) @ filters - own / (2.0 * members) for filters, own in self.filters]
        return np.stack(columns, axis=2)


def _among(values: FloatArray, reference: FloatArray) -> FloatArray:
    """z-scores among the reference people of the same release."""
    spread = np.maximum(reference.std(axis=1, keepdims=True), _TINY)
    return np.asarray((values - reference.mean(axis=1, keepdims=True)) / spread)


@attrs.frozen(eq=False)
class Features:
    """Standardised features of each candidate: (releases, people, features)."""

    release: Release
    own: _Own | None
    linear: Fitted | None
    slope: FloatArray | None
    offset: FloatArray | None
    centre: FloatArray
    spread: FloatArray

    @classmethod
    def of(cls, release: Release, rng: np.random.Generator, budget: Budget, informed: bool) -> Features:
        """Features of T1 if `informed`, else of T2; the mechanism's own features take the place of all rows."""
        made = release.features(release.draw(2, rng).outputs)
        own = _Own.of(release) if made is None else None
        linear: Fitted | None = None
        if informed and own is not None:
            try:
                linear = LinearGaussian().fit(release, rng, budget)
            except Unsupported:
                linear = Ridge().fit(release, rng, budget)
        draws = sample(release, rng, budget, budget.train // 2)
        people = release.population.size[0]
        start = cls(release, own, linear, None, None, np.zeros(1), np.ones(1))
        raw = start._raw(draws.outputs)
        slope = offset = None
        if informed:
            pairs = [log_odds(raw[:, :, index], draws.members) for index in range(raw.shape[2])]
            slope = np.stack([pair[0] for pair in pairs], axis=1)
            offset = np.stack([pair[1] for pair in pairs], axis=1)
        flat = raw.reshape(len(draws) * people, -1)
        spread = flat.std(axis=0)
        return attrs.evolve(
            start,
            slope=slope,
            offset=offset,
            centre=flat.mean(axis=0),
            spread=np.where(spread > _TINY, spread, 1.0),
        )

    @property
    def width(self) -> int:
        """Features of one person in one release."""
        count = len(self.centre)
        return count * (1 if self.slope is None else 2) + (self.linear is not None)

    def _raw(self, outputs: FloatArray) -> FloatArray:
        if self.own is not None:
            return self.own(outputs)
        made = self.release.features(outputs)
        people = self.release.population.size[0]
        if made is None or made.ndim != 3 or made.shape[:2] != (len(outputs), people):
            shape = None if made is None else made.shape
            raise Unsupported(
                f"an attack by the features of {self.release.name}",
                f"they have shape {shape}, not ({len(outputs)} releases, {people} people, features)",
            )
        return np.asarray(made, dtype=float)

    def __call__(self, outputs: FloatArray) -> FloatArray:
        """(releases, people, features), each within [-8, 8]."""
        clean = outputs_of(outputs, self.release.dimension)
        raw = self._raw(clean)
        columns: list[FloatArray] = [(raw - self.centre) / self.spread]
        if self.slope is not None and self.offset is not None:
            columns.append(raw * self.slope + self.offset)
        if self.linear is not None:
            columns.append(self.linear.scores(clean)[:, :, None])
        return np.asarray(np.clip(np.concatenate(columns, axis=2), -_CLIP, _CLIP))

    def each(self, outputs: FloatArray, score: Callable[[FloatArray], FloatArray]) -> FloatArray:
        """One number a release and person from features; `score` maps (persons, features) to (persons,)."""
        people = self.release.population.size[0]
        size = max(1, _MAX_FEATURE_ENTRIES // (people * self.width))  # so that the features of one part fit into memory
        scores = np.empty((len(outputs), people))
        for start in range(0, len(outputs), size):
            values = self(outputs[start : start + size])
            scores[start : start + size] = score(values.reshape(-1, self.width)).reshape(-1, people)
        return scores


def sample(release: Release, rng: np.random.Generator, budget: Budget, count: int) -> Draws:
    """`count` releases, at least `budget.calibrate` unless features of so many would not fit, and at least 8."""
    room = _MAX_FEATURE_ENTRIES // (16 * release.population.size[0])  # 16: about as many features as there are
    return release.draw(max(8, min(max(count, budget.calibrate), max(room, 64))), rng)


def examples(
    features: Features, rng: np.random.Generator, budget: Budget, most: int
) -> tuple[FloatArray, NDArray[np.bool_]]:
    """Features and membership of at most `most` persons, drawn from all simulated releases and candidates."""
    enough = -(-most // features.release.population.size[0])
    draws = sample(features.release, rng, budget, min(enough, budget.train))
    flat, labels = features(draws.outputs).reshape(-1, features.width), draws.members.ravel()
    chosen = rng.permutation(len(flat))[:most]
    if np.all(labels[chosen]) or not np.any(labels[chosen]):
        raise Unsupported(
            f"a classifier of members of {features.release.name}",
            f"all of {len(chosen)} simulated examples are alike",
            "raise the budget or use a prior that is less extreme",
        )
    return flat[chosen], labels[chosen]
