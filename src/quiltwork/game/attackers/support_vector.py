"""A support vector machine on features of each person, with Gaussian kernels.

Reference: seed 004 section 5 (support-vector attacker); theory/game.md section 3.
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
from quiltwork.game.priors import Members
from quiltwork.game.release import Release

__all__ = ["SupportVector"]


@attrs.frozen(eq=False)
class _FittedMachine:
    features: Features
    machine: Any

    def scores(self, outputs: FloatArray, members: Members | None = None) -> FloatArray:
        def score(values: FloatArray) -> FloatArray:
            return np.asarray(self.machine.decision_function(values))

        return self.features.each(outputs_of(outputs, self.features.release.dimension), score)


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
