"""The feature head: one small function for everybody, from what a release says about a person to log-odds.

    logit = w'phi + v' tanh(A phi + a) + c,      phi the standardised features of `attackers.features`

The weights are shared, so that they carry over to people who were not in the training; its linear part contains every
affine map of each feature, that is, every likelihood-ratio or score attack that phi contains.

Reference: theory/game.md section 3 (feature head; at least as strong as the best LRT in cross-entropy, not in AUC).
"""

from __future__ import annotations

from typing import Any

import attrs
import numpy as np

from quiltwork import checks
from quiltwork.checks import FloatArray
from quiltwork.game.attackers.features import Features, sample
from quiltwork.game.attackers.knowledge import Budget, Fitted, Knowledge
from quiltwork.game.attackers.neural import Batch, descend, evaluate, seeded
from quiltwork.game.attackers.ridge import outputs_of
from quiltwork.game.people.priors import Members
from quiltwork.game.releases.release import Release
from quiltwork.kinds import document

__all__ = ["FeatureHead"]

_BATCH_PEOPLE = 4096  # persons in one step
_RATE = 1e-2


@attrs.frozen(eq=False)
class _FittedHead:
    features: Features
    parts: Any

    def scores(self, outputs: FloatArray, members: Members | None = None) -> FloatArray:
        clean = outputs_of(outputs, self.features.release.dimension)
        return self.features.each(clean, lambda values: evaluate(self.parts, values)[:, 0])


@document("feature_head/1")
@attrs.frozen
class FeatureHead:
    """Shared weights on features of each person.

    `linear=True` gives it the linear-Gaussian log-odds and a calibration for each person (T1); without, it reads a
    person's row and the reference sample only (T2), and simulated releases only shape its few shared weights.
    """

    linear: bool = True
    hidden: int = 16

    def __attrs_post_init__(self) -> None:
        checks.flag("linear", self.linear)
        checks.count("hidden", self.hidden, 1)

    @property
    def name(self) -> str:
        """Which features it has."""
        return "feature head" if self.linear else "feature head, reference only"

    @property
    def knows(self) -> Knowledge:
        """What its features need."""
        return Knowledge.T1 if self.linear else Knowledge.T2

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
        return _FittedHead(features, parts)
