"""Likelihood-ratio attacks with a threshold: fixed, adaptive, and calibrated for each person.

They know the row of the person in question and a reference sample (T2); the calibrated one also simulates (T1).  A
raw statistic has another offset for each person, which its pooled AUC pays for; `Calibrated` removes it.

Reference: theory/game.md section 3 (pooled AUC hides individual offsets); seed 004 section 4.1; Carlini et al. 2022 for
the calibration by simulated releases.
"""

from __future__ import annotations

from typing import Literal

import attrs
import numpy as np

from quiltwork import checks
from quiltwork.checks import FloatArray
from quiltwork.errors import InvalidParameter, Unsupported
from quiltwork.game.attackers.knowledge import Budget, Fitted, Knowledge
from quiltwork.game.attackers.likelihood import adaptive_llr, member_llr
from quiltwork.game.people.priors import Members
from quiltwork.game.releases.release import Release
from quiltwork.kinds import document

__all__ = ["AdaptiveThreshold", "Calibrated", "FixedThreshold", "shares_of"]

_TINY = 1e-12


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


@attrs.frozen(eq=False)
class _FittedThreshold:
    release: Release
    share: float | None

    def scores(self, outputs: FloatArray, members: Members | None = None) -> FloatArray:
        people = self.release.population
        if self.share is None:
            return member_llr(people.candidates, outputs, people.frequencies)
        return adaptive_llr(people.candidates, people.reference, outputs, people.frequencies, self.share)


@document("fixed_threshold/1")
@attrs.frozen
class FixedThreshold:
    """The likelihood ratio of a person's row under the released and the reference shares, one threshold for all."""

    name: str = "fixed LRT"
    knows: Knowledge = Knowledge.T2

    def fit(self, release: Release, rng: np.random.Generator, budget: Budget) -> Fitted:
        """Nothing is learned."""
        shares_of(release, self.name)
        return _FittedThreshold(release, None)


@document("adaptive_threshold/1")
@attrs.frozen
class AdaptiveThreshold:
    """The same statistic, with a threshold from the reference people that look most like members in that release."""

    share: float = 0.1
    name: str = "adaptive LRT"
    knows: Knowledge = Knowledge.T2

    def __attrs_post_init__(self) -> None:
        checks.rate("share", self.share)

    def fit(self, release: Release, rng: np.random.Generator, budget: Budget) -> Fitted:
        """Nothing is learned."""
        shares_of(release, self.name)
        return _FittedThreshold(release, self.share)


@attrs.frozen(eq=False)
class _FittedCalibration:
    raw: _FittedThreshold
    middle: FloatArray
    slope: FloatArray

    def scores(self, outputs: FloatArray, members: Members | None = None) -> FloatArray:
        return np.asarray((self.raw.scores(outputs) - self.middle) * self.slope)


@document("calibrated_attacker/1")
@attrs.frozen
class Calibrated:
    """The fixed statistic, calibrated for each person over simulated releases.

    `by="ratio"`: the log-ratio of two normal laws with the means that the statistic has with and without the person,
    and one variance.  `by="z"`: its standard score, which needs no labels.  The releases it simulates are about the
    candidates, so it knows their rows (T1), though its statistic looks at one row only.
    """

    by: Literal["ratio", "z"] = "ratio"
    knows: Knowledge = Knowledge.T1

    def __attrs_post_init__(self) -> None:
        if self.by not in ("ratio", "z"):
            raise InvalidParameter("by", self.by, "'ratio' or 'z'")

    @property
    def name(self) -> str:
        """How it calibrates."""
        return "calibrated LRT" if self.by == "ratio" else "z-scored LRT"

    def fit(self, release: Release, rng: np.random.Generator, budget: Budget) -> Fitted:
        """Simulate `budget.calibrate` releases, once for all persons."""
        shares_of(release, self.name)
        raw = _FittedThreshold(release, None)
        draws = release.draw(budget.calibrate, rng)
        values, inside = raw.scores(draws.outputs), draws.members
        if self.by == "z":
            return _FittedCalibration(raw, values.mean(axis=0), 1.0 / np.maximum(values.std(axis=0), _TINY))
        counts = np.maximum(inside.sum(axis=0), 1), np.maximum((~inside).sum(axis=0), 1)
        means_in = (values * inside).sum(axis=0) / counts[0]
        means_out = (values * ~inside).sum(axis=0) / counts[1]
        variance = np.mean((values - np.where(inside, means_in, means_out)) ** 2, axis=0)
        seen = inside.any(axis=0) & ~inside.all(axis=0)  # nothing was learned about a person who never changed sides
        slope = np.where(seen, means_in - means_out, 0.0) / np.maximum(variance, _TINY)
        return _FittedCalibration(raw, 0.5 * (means_in + means_out), slope)
