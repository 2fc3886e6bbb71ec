"""The score attack: how much a person's row correlates with what was released, against reference people.

`reference="mean"` compares with the mean of the reference sample, `reference="one"` with a single reference person, as
the paper's attacker, who has no more.

Reference: Dwork et al. 2015; seed 004 section 5 and P.4; theory/game.md section 3.
"""

from __future__ import annotations

from typing import Literal

import attrs
import numpy as np

from quiltwork.checks import FloatArray
from quiltwork.errors import InvalidParameter, Unsupported
from quiltwork.game.attackers.knowledge import Budget, Fitted, Knowledge
from quiltwork.game.attackers.likelihood import mean_reference_score
from quiltwork.game.population import Population
from quiltwork.game.priors import Members
from quiltwork.game.release import Release

__all__ = ["Score"]


@attrs.frozen(eq=False)
class _FittedScore:
    population: Population
    person: FloatArray | None

    def scores(self, outputs: FloatArray, members: Members | None = None) -> FloatArray:
        rows = self.population.candidates
        if self.person is None:
            return mean_reference_score(rows, outputs, self.population.frequencies)
        return np.asarray(outputs @ (rows - self.person).T)


@attrs.frozen
class Score:
    """<d_k - r, x> for a reference r."""

    reference: Literal["mean", "one"] = "mean"
    knows: Knowledge = Knowledge.T2

    def __attrs_post_init__(self) -> None:
        if self.reference not in ("mean", "one"):
            raise InvalidParameter("reference", self.reference, "'mean' or 'one'")

    @property
    def name(self) -> str:
        """What it compares with."""
        return "score" if self.reference == "mean" else "score, one reference person"

    def fit(self, release: Release, rng: np.random.Generator, budget: Budget) -> Fitted:
        """Pick the reference person, if it is one."""
        population = release.population
        if release.dimension != population.size[1]:
            reason = f"it reads a number for each of {population.size[1]} attributes, not {release.dimension} in all"
            raise Unsupported(f"the {self.name} attack on {release.name}", reason)
        person = population.reference[rng.integers(len(population.reference))] if self.reference == "one" else None
        return _FittedScore(population, person)
