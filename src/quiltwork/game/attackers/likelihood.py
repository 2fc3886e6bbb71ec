"""The statistics that likelihood-ratio and score attacks share: pure functions of rows, outputs and frequencies.

All of them are larger for members.  The printed statistic log P(d | reference) / P(d | release) is smaller for members;
`member_llr` is its negative.

Reference: theory/game.md section 1, LRS signs; seed 004 section 4 and Appendix C; Dwork et al. 2015 for the score.

The score attack: how much a person's row correlates with what was released, against reference people.

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
from quiltwork.game.people.population import Population
from quiltwork.game.people.priors import Members
from quiltwork.game.releases.release import Release
from quiltwork.kinds import document

__all__ = ["Score", "adaptive_llr", "mean_reference_score", "member_llr"]

FLOOR = 1e-2  # shares are kept away from 0 and 1, where one attribute would decide alone


def member_llr(rows: FloatArray, outputs: FloatArray, frequencies: FloatArray) -> FloatArray:
    """sum_j log P(d_kj | released share) - log P(d_kj | reference share), for each release and person.

    >>> rows, share = np.array([[1.0], [0.0]]), np.array([[0.9]])
    >>> member_llr(rows, share, np.array([0.5])).round(3).tolist()
    [[0.588, -1.609]]
    """
    share = np.clip(outputs, FLOOR, 1.0 - FLOOR)
    usual = np.clip(frequencies, FLOOR, 1.0 - FLOOR)
    present, absent = np.log(share) - np.log(usual), np.log1p(-share) - np.log1p(-usual)
    # d a + (1 - d) c = d (a - c) + c: one product of matrices instead of two
    return np.asarray((present - absent) @ rows.T + absent.sum(axis=1, keepdims=True))


def adaptive_llr(
    rows: FloatArray, reference: FloatArray, outputs: FloatArray, frequencies: FloatArray, share: float = 0.1
) -> FloatArray:
    """The statistic above, less its mean over the reference people that look most like members in that release."""
    others = member_llr(reference, outputs, frequencies)
    most = max(1, int(share * others.shape[1]))
    top = np.partition(others, others.shape[1] - most, axis=1)[:, -most:]
    return np.asarray(member_llr(rows, outputs, frequencies) - top.mean(axis=1, keepdims=True))


def mean_reference_score(rows: FloatArray, outputs: FloatArray, frequencies: FloatArray) -> FloatArray:
    """The correlation <d_k - p, x - p> with the reference mean p."""
    return np.asarray((outputs - frequencies) @ (rows - frequencies).T)


@attrs.frozen(eq=False)
class _FittedScore:
    population: Population
    person: FloatArray | None

    def scores(self, outputs: FloatArray, members: Members | None = None) -> FloatArray:
        rows = self.population.candidates
        if self.person is None:
            return mean_reference_score(rows, outputs, self.population.frequencies)
        return np.asarray(outputs @ (rows - self.person).T)


@document("score/1")
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
