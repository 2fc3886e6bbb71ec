"""Attacks by the likelihood ratio or the score of a row: how much more it looks like the release than like others do.

All statistics are larger for members.  The printed one, log P(d | reference) / P(d | release), is smaller for members;
`member_llr` is its negative.  The attackers know the row of the person in question and a reference sample (T2); the
calibrated one also simulates (T1).  A raw statistic has another offset for each person, which its pooled AUC pays for;
`Calibrated` removes it.

Reference: theory/game.md sections 1 (LRS signs) and 3 (pooled AUC hides individual offsets); seed 004 sections 4 and 5,
Appendix C and P.4; Dwork et al. 2015 for the score; Carlini et al. 2022 for the calibration by simulated releases.
"""

from __future__ import annotations

from typing import Literal

import attrs
import numpy as np

from quiltwork import checks
from quiltwork.checks import FloatArray
from quiltwork.errors import Unsupported
from quiltwork.game.attackers.knowledge import Budget, Fitted, Knowledge, Scoring
from quiltwork.game.releases import Release
from quiltwork.kinds import document

FLOOR = 1e-2  # shares are kept away from 0 and 1, where one attribute would decide alone
_TINY = 1e-12


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


@document("score/1")
@attrs.frozen
class Score:
    """<d_k - r, x>: how much a person's row correlates with what was released, against a reference r.

    It is the mean of the reference sample ("mean"), or a single reference person ("one"), as for the paper's attacker,
    who has no more.
    """

    reference: Literal["mean", "one"] = attrs.field(
        default="mean", validator=checks.field(checks.one_of, ("mean", "one"))
    )
    knows: Knowledge = Knowledge.T2

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
        rows, reference = population.candidates, population.reference
        if self.reference == "mean":
            return Scoring(lambda outputs: mean_reference_score(rows, outputs, population.frequencies))
        person = reference[rng.integers(len(reference))]
        return Scoring(lambda outputs: outputs @ (rows - person).T)


def shares_of(release: Release, who: str) -> None:
    """Refuse what is not shares of binary attributes."""
    population = release.population
    if not population.binary:
        raise Unsupported(
            f"{who} on {release.name}", "it needs attributes that are 0 or 1, and rows have other numbers"
        )
    if release.dimension != population.size[1]:
        reason = f"it reads a share for each of {population.size[1]} attributes, not {release.dimension} in all"
        raise Unsupported(f"{who} on {release.name}", reason)


@document("fixed_threshold/1")
@attrs.frozen
class FixedThreshold:
    """The likelihood ratio of a person's row under the released and the reference shares, one threshold for all."""

    name: str = "fixed LRT"
    knows: Knowledge = Knowledge.T2

    def fit(self, release: Release, rng: np.random.Generator, budget: Budget) -> Fitted:
        """Nothing is learned."""
        shares_of(release, self.name)
        people = release.population
        return Scoring(lambda outputs: member_llr(people.candidates, outputs, people.frequencies))


@document("adaptive_threshold/1")
@attrs.frozen
class AdaptiveThreshold:
    """The same statistic, with a threshold from the reference people that look most like members in that release."""

    share: float = attrs.field(default=0.1, validator=checks.field(checks.rate))
    name: str = "adaptive LRT"
    knows: Knowledge = Knowledge.T2

    def fit(self, release: Release, rng: np.random.Generator, budget: Budget) -> Fitted:
        """Nothing is learned."""
        shares_of(release, self.name)
        people = release.population
        rows, reference, usual = people.candidates, people.reference, people.frequencies
        return Scoring(lambda outputs: adaptive_llr(rows, reference, outputs, usual, self.share))


@document("calibrated_attacker/1")
@attrs.frozen
class Calibrated:
    """The fixed statistic, calibrated for each person over simulated releases.

    `by="ratio"`: the log-ratio of two normal laws with the means that the statistic has with and without the person,
    and one variance.  `by="z"`: its standard score, which needs no labels.  The releases it simulates are about the
    candidates, so it knows their rows (T1), though its statistic looks at one row only.
    """

    by: Literal["ratio", "z"] = attrs.field(default="ratio", validator=checks.field(checks.one_of, ("ratio", "z")))
    knows: Knowledge = Knowledge.T1

    @property
    def name(self) -> str:
        """How it calibrates."""
        return "calibrated LRT" if self.by == "ratio" else "z-scored LRT"

    def fit(self, release: Release, rng: np.random.Generator, budget: Budget) -> Fitted:
        """Simulate `budget.calibrate` releases, once for all persons."""
        shares_of(release, self.name)
        raw = FixedThreshold().fit(release, rng, budget)
        draws = release.draw(budget.calibrate, rng)
        values, inside = raw.scores(draws.outputs), draws.members
        if self.by == "z":
            mean, unit = values.mean(axis=0), 1.0 / np.maximum(values.std(axis=0), _TINY)
            return Scoring(lambda outputs: (raw.scores(outputs) - mean) * unit)
        counts = np.maximum(inside.sum(axis=0), 1), np.maximum((~inside).sum(axis=0), 1)
        means_in = (values * inside).sum(axis=0) / counts[0]
        means_out = (values * ~inside).sum(axis=0) / counts[1]
        variance = np.mean((values - np.where(inside, means_in, means_out)) ** 2, axis=0)
        seen = inside.any(axis=0) & ~inside.all(axis=0)  # nothing was learned about a person who never changed sides
        slope = np.where(seen, means_in - means_out, 0.0) / np.maximum(variance, _TINY)
        middle = 0.5 * (means_in + means_out)
        return Scoring(lambda outputs: (raw.scores(outputs) - middle) * slope)
