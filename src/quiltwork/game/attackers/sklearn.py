"""A support vector machine on features of each person, with Gaussian kernels.

Reference: seed 004 section 5 (support-vector attacker); theory/game.md section 3.

A decision tree on features of each person: the share of members among the training examples in the same leaf.

Reference: seed 004 section 5 (decision-tree attacker); theory/game.md section 3.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

import attrs
import numpy as np

from quiltwork import checks
from quiltwork.checks import FloatArray
from quiltwork.errors import MissingExtra
from quiltwork.game.attackers.features import Features, examples
from quiltwork.game.attackers.knowledge import Budget, Fitted, Knowledge
from quiltwork.game.attackers.ridge import outputs_of
from quiltwork.game.people.priors import Members
from quiltwork.game.releases.release import Release
from quiltwork.kinds import document

__all__ = ["SupportVector", "Tree"]

_EXAMPLES = 100_000
_LEAF = 50  # examples in a leaf, so that its share is known to about 0.07


@attrs.frozen(eq=False)
class _FittedTree:
    features: Features
    tree: Any

    def scores(self, outputs: FloatArray, members: Members | None = None) -> FloatArray:
        def score(values: FloatArray) -> FloatArray:
            return np.asarray(self.tree.predict_proba(values)[:, 1])

        return self.features.each(outputs_of(outputs, self.features.release.dimension), score)


@document("tree_attacker/1")
@attrs.frozen
class Tree:
    """A decision tree; `linear=True` gives it the features of T1 instead of those of T2."""

    linear: bool = False
    depth: int = 6

    def __attrs_post_init__(self) -> None:
        checks.flag("linear", self.linear)
        checks.count("depth", self.depth, 1)

    @property
    def name(self) -> str:
        """Which features it has."""
        return "decision tree, all rows" if self.linear else "decision tree"

    @property
    def knows(self) -> Knowledge:
        """What its features need."""
        return Knowledge.T1 if self.linear else Knowledge.T2

    def fit(self, release: Release, rng: np.random.Generator, budget: Budget) -> Fitted:
        """Grow it on at most 100,000 examples."""
        try:
            trees: Any = import_module("sklearn.tree")
        except ImportError:
            raise MissingExtra("scikit-learn", "game") from None
        features = Features.of(release, rng, budget, self.linear)
        values, labels = examples(features, rng, budget, _EXAMPLES)
        leaf = min(_LEAF, max(1, len(values) // 20))
        seed = int(rng.integers(2**31))
        tree = trees.DecisionTreeClassifier(max_depth=self.depth, min_samples_leaf=leaf, random_state=seed)
        return _FittedTree(features, tree.fit(values, labels))


@attrs.frozen(eq=False)
class _FittedMachine:
    features: Features
    machine: Any

    def scores(self, outputs: FloatArray, members: Members | None = None) -> FloatArray:
        def score(values: FloatArray) -> FloatArray:
            return np.asarray(self.machine.decision_function(values))

        return self.features.each(outputs_of(outputs, self.features.release.dimension), score)


@document("support_vector/1")
@attrs.frozen
class SupportVector:
    """A support vector machine on `examples` persons; `linear=True` gives it the features of T1 instead of T2's."""

    linear: bool = False
    examples: int = 3000

    def __attrs_post_init__(self) -> None:
        checks.flag("linear", self.linear)
        checks.count("examples", self.examples, 16)

    @property
    def name(self) -> str:
        """Which features it has."""
        return "support vectors, all rows" if self.linear else "support vectors"

    @property
    def knows(self) -> Knowledge:
        """What its features need."""
        return Knowledge.T1 if self.linear else Knowledge.T2

    def fit(self, release: Release, rng: np.random.Generator, budget: Budget) -> Fitted:
        """Solve it on a subsample: time grows with the square of the examples."""
        try:
            machines: Any = import_module("sklearn.svm")
        except ImportError:
            raise MissingExtra("scikit-learn", "game") from None
        features = Features.of(release, rng, budget, self.linear)
        values, labels = examples(features, rng, budget, self.examples)
        machine = machines.SVC(C=1.0, kernel="rbf", gamma="scale")
        return _FittedMachine(features, machine.fit(values, labels))
