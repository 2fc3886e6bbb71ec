"""How well scores tell members from others: ROC curves, their areas, and honest confidence intervals.

A score is larger for members.  Every curve starts at (0, 0) and is completed to (1, 1); tied scores are crossed by a
straight line, so a useless score has area 1/2.  Decisions about several people from one release are dependent: the
interval counts releases, not decisions.

Reference: theory/game.md sections 0 (item 4) and 3; Obuchowski 1997 for the variance of the area with clusters.
"""

from __future__ import annotations

import math
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, stdtrit

from quiltwork import checks
from quiltwork.checks import FloatArray
from quiltwork.errors import InvalidParameter
from quiltwork.game.people.priors import Members
from quiltwork.game.people.statistic import members_of
from quiltwork.kinds import document

_MATRIX = "a matrix of numbers: releases x people"

__all__ = ["Interval", "Roc", "auc", "auc_interval", "individual_auc", "roc", "tpr_at"]


@document("interval/1")
@attrs.frozen
class Interval:
    """An estimate and the ends of its confidence interval."""

    estimate: float
    lower: float
    upper: float
    confidence: float

    @property
    def span(self) -> str:
        """Both ends with three decimals, rounded outward: what is printed is never narrower than what was found."""
        low, high = (
            Decimal(end).quantize(Decimal("0.001"), mode)
            for end, mode in ((self.lower, ROUND_FLOOR), (self.upper, ROUND_CEILING))
        )
        return f"{low} to {high}"

    def __str__(self) -> str:
        return f"{self.estimate:.3f}, {100 * self.confidence:.6g}% interval {self.span}"


@document("roc/1")
@attrs.frozen(eq=False)
class Roc:
    """Shares of false alarms and of members found, from (0, 0) to (1, 1)."""

    false_alarms: FloatArray
    found: FloatArray

    @property
    def area(self) -> float:
        """By trapezoids, which is exact for these curves."""
        return float(np.trapezoid(self.found, self.false_alarms))

    def at(self, false_alarms: Any) -> FloatArray:
        """The share of members found at these shares of false alarms; at a jump, what is reached."""
        wanted = checks.numbers("false_alarms", false_alarms, "in [0, 1]", 0.0, 1.0)
        last = np.searchsorted(self.false_alarms, wanted, side="right") - 1
        after = np.minimum(last + 1, len(self.found) - 1)
        width = self.false_alarms[after] - self.false_alarms[last]
        part = np.where(width > 0, (wanted - self.false_alarms[last]) / np.where(width > 0, width, 1.0), 0.0)
        return np.asarray(self.found[last] + part * (self.found[after] - self.found[last]))


def aligned(scores: Any, members: Any) -> tuple[FloatArray, Members]:
    """Scores and memberships of the same shape, releases x people; one release may be given as vectors."""
    try:
        given = np.asarray(scores)
        truth = np.asarray(members)
    except ValueError:  # lists of different lengths
        raise InvalidParameter("scores and members", "rows of different lengths", _MATRIX) from None
    if given.dtype.kind not in "biuf":
        raise InvalidParameter("scores", f"{given.dtype} of shape {given.shape}", _MATRIX)
    values = np.asarray(given, dtype=float)
    if values.ndim == 1 and truth.ndim == 1:
        values, truth = values[None, :], truth[None, :]
    if values.ndim != 2 or values.size == 0:
        raise InvalidParameter("scores", f"shape {values.shape}", _MATRIX)
    if bool(np.any(np.isnan(values))):
        raise InvalidParameter("scores", "NaN", "numbers: a score that is no number ranks nowhere")
    inside = members_of(truth, values.shape[1])
    if inside.shape != values.shape:
        raise InvalidParameter("members", f"shape {inside.shape}", f"the shape of the scores, {values.shape}")
    return values, inside


def pairs_of(scores: Any, members: Any) -> tuple[FloatArray, Members]:
    """The same, with at least one member and one other to tell apart."""
    values, inside = aligned(scores, members)
    if inside.all() or not inside.any():
        raise InvalidParameter("members", "all alike", "some members and some others")
    return values, inside


def roc(scores: Any, members: Any) -> Roc:
    """The curve of all decisions together.

    >>> roc([0.9, 0.8, 0.3], [1, 0, 0]).area, roc([1.0, 1.0, 1.0], [1, 0, 0]).area
    (1.0, 0.5)
    """
    values, inside = pairs_of(scores, members)
    flat, truth = values.ravel(), inside.ravel()
    order = np.argsort(-flat, kind="stable")
    ends = last_of_ties(flat[order])
    hits = np.cumsum(truth[order])[ends]
    alarms = ends + 1 - hits
    return Roc(np.append(0.0, alarms / alarms[-1]), np.append(0.0, hits / hits[-1]))


def last_of_ties(ordered: FloatArray) -> NDArray[np.intp]:
    """Where each run of equal scores ends; by comparison, since infinite scores have no difference."""
    return np.append(np.flatnonzero(ordered[1:] != ordered[:-1]), ordered.size - 1)


def auc(scores: Any, members: Any) -> float:
    """The area under that curve: the chance that a member scores above another, ties counted half."""
    values, inside = pairs_of(scores, members)
    return _area(values.ravel(), inside.ravel())


def _area(values: FloatArray, inside: Members) -> float:
    return float(_share_below(values[inside], values[~inside]).mean())


def individual_auc(scores: Any, members: Any) -> FloatArray:
    """The area for each person over releases; NaN for a person who was always, or never, a member."""
    values, inside = pairs_of(scores, members)
    mixed = inside.any(axis=0) & ~inside.all(axis=0)
    area = np.full(values.shape[1], np.nan)
    for person in np.flatnonzero(mixed):
        area[person] = _area(values[:, person], inside[:, person])
    return area


def tpr_at(scores: Any, members: Any, false_alarms: Any) -> FloatArray:
    """The share of members found at these shares of false alarms."""
    return roc(scores, members).at(false_alarms)


def confident(confidence: Any) -> float:
    """A level of confidence, strictly between 0 and 1."""
    level = checks.real("confidence", confidence, "in (0, 1)")
    if not 0 < level < 1:
        raise InvalidParameter("confidence", confidence, "in (0, 1)")
    return level


def auc_interval(scores: Any, members: Any, confidence: float = 0.95) -> Interval:
    """The area with an interval that treats each release as one observation.

    Each member's placement is the share of others below it, each other's the share of members above it; they are summed
    over a release, and the sums vary independently from release to release.  The log-odds of the area then has nearly
    Student's law with one degree of freedom less than releases.  One release alone gives no interval: then the ends are
    0 and 1.  Perfect scores show no variation: of r independent pairs of releases, all would be in order with a chance
    of at most area^r, which is the tail allowed at area = tail^(1/r).
    """
    values, inside = pairs_of(scores, members)
    level = confident(confidence)
    flat, truth = values.ravel(), inside.ravel()
    estimate = _area(flat, truth)
    clusters = len(values)
    if clusters < 2:
        return Interval(estimate, 0.0, 1.0, level)
    place = np.empty(flat.size)
    place[truth] = _share_below(flat[truth], flat[~truth])
    place[~truth] = 1.0 - _share_below(flat[~truth], flat[truth])
    excess = (place - estimate).reshape(values.shape)
    members_part = (excess * inside).sum(axis=1) / truth.sum()
    others_part = (excess * ~inside).sum(axis=1) / (~truth).sum()
    variance = clusters / (clusters - 1.0) * float(np.sum((members_part + others_part) ** 2))
    tail = (1.0 - level) / 2.0
    if not 0 < estimate < 1:
        reach = float(tail ** (1.0 / (clusters // 2)))
        lower, upper = (reach, 1.0) if estimate == 1 else (0.0, 1.0 - reach)
        return Interval(estimate, lower, upper, level)
    odds = math.log(estimate) - math.log1p(-estimate)
    half = float(stdtrit(clusters - 1.0, 1.0 - tail)) * math.sqrt(variance) / (estimate * (1.0 - estimate))
    lower, upper = float(expit(odds - half)), float(expit(odds + half))
    return Interval(estimate, min(lower, estimate), max(upper, estimate), level)


def _share_below(values: FloatArray, others: FloatArray) -> FloatArray:
    """The share of others below each value, ties counted half."""
    ordered = np.sort(others)
    below = np.searchsorted(ordered, values, side="left")
    upto = np.searchsorted(ordered, values, side="right")
    return np.asarray((below + upto) / (2.0 * len(others)))
