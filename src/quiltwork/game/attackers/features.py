"""What a release says about each person, as a few numbers, and the attackers with shared weights that learn from them.

From the row d_k, the reference people and the output x alone (T2), for shares of binary attributes:

    the likelihood ratio, its z-score among the reference people, the adaptive one, the score <d - p, x - p>, and
    matched filters (d - p)'(S + c I)^-1 (x - p - (d - p) / 2n) with the reference covariance S, which take out the
    ancestry and linkage that x shares with everybody.

With all candidates' rows and the mechanism (T1), besides: each of these turned into log-odds for each person over
simulated releases, and the log-odds of the linear-Gaussian attacker, or of ridge regression where that has no closed
form.

Reference: theory/game.md section 3 (pooled AUC hides individual offsets; the feature head: at least as strong as the
best LRT in cross-entropy, not in AUC); seed 004 section 5 (support vectors, decision tree); Carlini et al. 2022 for
calibration by simulated releases.  A matched filter is Fisher's linear discriminant between d_k in and out of the data.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

import attrs
import numpy as np
from numpy.typing import NDArray

from quiltwork import checks
from quiltwork.checks import FloatArray
from quiltwork.errors import Unsupported, imported
from quiltwork.game.attackers.knowledge import Budget, Fitted, Knowledge, Scoring
from quiltwork.game.attackers.likelihood import adaptive_llr, mean_reference_score, member_llr
from quiltwork.game.attackers.linear import LinearGaussian, Ridge, log_odds, outputs_of
from quiltwork.game.attackers.neural import Batch, descend, evaluate, seeded
from quiltwork.game.people.population import Population
from quiltwork.game.releases import Draws, Release
from quiltwork.kinds import document

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
            start, slope=slope, offset=offset, centre=flat.mean(axis=0), spread=np.where(spread > _TINY, spread, 1.0)
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

    def scoring(self, score: Callable[[FloatArray], FloatArray]) -> Scoring:
        """A fitted attacker from a function that maps (persons, features) to (persons,)."""
        people = self.release.population.size[0]
        size = max(1, _MAX_FEATURE_ENTRIES // (people * self.width))  # so that the features of one part fit into memory

        def scores(outputs: FloatArray) -> FloatArray:
            clean = outputs_of(outputs, self.release.dimension)
            parts = (self(clean[start : start + size]) for start in range(0, len(clean), size))
            found = [np.asarray(score(part.reshape(-1, self.width)), dtype=float).reshape(-1, people) for part in parts]
            return np.concatenate([np.empty((0, people)), *found])

        return Scoring(scores)


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


_BATCH_PEOPLE = 4096  # persons in one step
_RATE = 1e-2
_EXAMPLES = 100_000
_LEAF = 50  # examples in a leaf, so that its share is known to about 0.07
_FLAG = checks.field(checks.flag)


@attrs.frozen
class _OnFeatures:
    """What attackers on features have in common: `linear=True` gives them the features of T1 instead of those of T2."""

    linear: bool = attrs.field(default=False, validator=_FLAG)

    _names: ClassVar[tuple[str, str]]  # with the features of T1, and without

    @property
    def name(self) -> str:
        """Which features it has."""
        return self._names[0] if self.linear else self._names[1]

    @property
    def knows(self) -> Knowledge:
        """What its features need."""
        return Knowledge.T1 if self.linear else Knowledge.T2


@document("feature_head/1")
@attrs.frozen
class FeatureHead(_OnFeatures):
    """One small function for everybody, from what a release says about a person to log-odds.

        logit = w'phi + v' tanh(A phi + a) + c,      phi the standardised features

    The weights are shared, so that they carry over to people who were not in the training; its linear part contains
    every affine map of each feature, that is, every likelihood-ratio or score attack that phi contains.

    `linear=True` gives it the linear-Gaussian log-odds and a calibration for each person (T1); without, it reads a
    person's row and the reference sample only (T2), and simulated releases only shape its few shared weights.
    """

    linear: bool = attrs.field(default=True, validator=_FLAG)
    hidden: int = attrs.field(default=16, validator=checks.field(checks.count, 1))

    _names = ("feature head", "feature head, reference only")

    def fit(self, release: Release, rng: np.random.Generator, budget: Budget) -> Fitted:
        """Calibrate on half of the simulated releases, train on the other half less a validation quarter."""
        with seeded(rng) as torch:
            features = Features.of(release, rng, budget, self.linear)
            draws = sample(release, rng, budget, budget.train // 2)
            inputs = torch.from_numpy(features(draws.outputs).astype(np.float32))
            targets = torch.from_numpy(draws.members.astype(np.float32))[:, :, None]
            held = max(1, len(draws) // 4)
            nn = torch.nn
            straight = nn.Linear(features.width, 1)
            bent = nn.Sequential(nn.Linear(features.width, self.hidden), nn.Tanh(), nn.Linear(self.hidden, 1))
            for layer in (straight, bent[2]):
                nn.init.zeros_(layer.weight)
                nn.init.zeros_(layer.bias)
            parts = nn.ModuleList([straight, bent])
            size = max(1, _BATCH_PEOPLE // release.population.size[0])

            def batch(step: int) -> Batch:
                chosen = torch.from_numpy(rng.integers(held, len(draws), size))
                return inputs[chosen], targets[chosen]

            check = inputs[:held], targets[:held]
            descend(parts, batch, check, steps=budget.steps, rate=_RATE, decay=1e-4)
        return features.scoring(lambda values: evaluate(parts, values)[:, 0])


@document("tree_attacker/1")
@attrs.frozen
class Tree(_OnFeatures):
    """A decision tree: the share of members among the training examples in the same leaf."""

    depth: int = attrs.field(default=6, validator=checks.field(checks.count, 1))

    _names = ("decision tree, all rows", "decision tree")

    def fit(self, release: Release, rng: np.random.Generator, budget: Budget) -> Fitted:
        """Grow it on at most 100,000 examples."""
        trees = imported("sklearn.tree", "scikit-learn", "game")
        features = Features.of(release, rng, budget, self.linear)
        values, labels = examples(features, rng, budget, _EXAMPLES)
        leaf = min(_LEAF, max(1, len(values) // 20))
        seed = int(rng.integers(2**31))
        tree = trees.DecisionTreeClassifier(max_depth=self.depth, min_samples_leaf=leaf, random_state=seed)
        tree.fit(values, labels)
        return features.scoring(lambda values: tree.predict_proba(values)[:, 1])


@document("support_vector/1")
@attrs.frozen
class SupportVector(_OnFeatures):
    """A support vector machine with Gaussian kernels, on `examples` persons."""

    examples: int = attrs.field(default=3000, validator=checks.field(checks.count, 16))

    _names = ("support vectors, all rows", "support vectors")

    def fit(self, release: Release, rng: np.random.Generator, budget: Budget) -> Fitted:
        """Solve it on a subsample: time grows with the square of the examples."""
        machines = imported("sklearn.svm", "scikit-learn", "game")
        features = Features.of(release, rng, budget, self.linear)
        machine = machines.SVC(C=1.0, kernel="rbf", gamma="scale")
        machine.fit(*examples(features, rng, budget, self.examples))
        return features.scoring(machine.decision_function)
