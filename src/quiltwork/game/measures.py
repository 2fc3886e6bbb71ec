"""What attacks reach: ROC curves and their areas, members found at few false alarms, and the Bayes-weighted advantage.

A score is larger for members.  Every curve starts at (0, 0) and is completed to (1, 1); tied scores are crossed by a
straight line, so a useless score has area 1/2.  Decisions about several people from one release are dependent: the
intervals count releases, not decisions.

Reference: theory/game.md sections 0 (items 4 and 6), 1 and 3; Obuchowski 1997 for the variance of the area with
clusters.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray
from scipy.special import betaincinv, expit, pdtr, stdtrit

from quiltwork import checks
from quiltwork.checks import FloatArray
from quiltwork.errors import InvalidParameter
from quiltwork.game.people.population import Members, members_of
from quiltwork.kinds import document
from quiltwork.numbers.laws import Number

_MATRIX = "a matrix of numbers: releases x people"


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
    return checks.ranged("confidence", confidence, "in (0, 1)", lambda number: 0 < number < 1)


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


RESAMPLES = 400


def found_at(scores: Any, members: Any, rates: Sequence[float], confidence: float) -> dict[float, Interval]:
    """The share of members found at each of these rates of false alarms; the same scores give the same intervals.

    Whole releases are drawn again with replacement, since decisions about one release are dependent.  That alone is
    blind where little was seen, so that the interval is widened to hold two more:

        the threshold   of N others, the number above the true threshold of rate r is nearly Poisson(r N).  The share
                        found at the ends of its range bounds the share at the rate itself; with none to be expected,
                        from 0;
        the count       of members found at the estimated threshold (Clopper and Pearson 1934): without it, members who
                        were all found would look certain to be found always.
    """
    values, inside = pairs_of(scores, members)
    curve = roc(values, inside)
    tail = (1.0 - confidence) / 2.0
    lower, upper = np.quantile(_resampled(values, inside, rates), [tail, 1.0 - tail], axis=0)
    people, others = int(inside.sum()), int((~inside).sum())
    found = {}
    for place, rate in enumerate(rates):
        share = float(curve.at(rate))
        fewest, most = _alarms(rate * others, tail)
        at_fewest = float(curve.at(fewest / others)) if fewest else 0.0
        at_most = float(curve.at(min(most / others, 1.0)))
        low, high = _clopper_pearson(share * people, people, tail)
        found[rate] = Interval(
            share, min(float(lower[place]), at_fewest, low), max(float(upper[place]), at_most, high), confidence
        )
    return found


def _resampled(values: FloatArray, inside: NDArray[np.bool_], rates: Sequence[float]) -> FloatArray:
    """The shares found in releases drawn again, from a seed of their own."""
    order = np.argsort(-values.ravel(), kind="stable")
    ends = last_of_ties(values.ravel()[order])
    truth, owner = inside.ravel()[order], order // values.shape[1]
    rng = np.random.default_rng(0)
    found = np.empty((RESAMPLES, len(rates)))
    for row in range(RESAMPLES):
        weight = rng.multinomial(len(values), np.full(len(values), 1.0 / len(values)))[owner]
        hits = np.append(0, np.cumsum(weight * truth)[ends])
        alarms = np.append(0, np.cumsum(weight * ~truth)[ends])
        found[row] = np.interp(rates, alarms / max(alarms[-1], 1), hits / max(hits[-1], 1))
    return found


def _alarms(expected: float, tail: float) -> tuple[int, int]:
    """The range of a Poisson number with this mean, leaving `tail` on either side."""
    counts = np.arange(int(expected + 12.0 * np.sqrt(expected + 1.0)) + 12)
    upto = pdtr(counts, expected)
    return int(np.searchsorted(upto, tail, side="right")), int(np.searchsorted(upto, 1.0 - tail))


def _clopper_pearson(found: float, people: int, tail: float) -> tuple[float, float]:
    """Ends for a share of which `found` (perhaps between two counts) of `people` were seen."""
    low = float(betaincinv(found, people - found + 1.0, tail)) if found > 0 else 0.0
    high = float(betaincinv(found + 1.0, people - found, 1.0 - tail)) if found < people else 1.0
    return low, high


@document("bwma/1")
@attrs.frozen
class Bwma:
    """The Bayes-weighted membership advantage: the attacker's payoff with a price on false alarms, in expected counts.

        BWMA(gamma) = (1 - gamma) E[sum_k s_k b_k] - gamma E[sum_k s_k (1 - b_k)],

    with s_k the decision and b_k the membership of person k.  The sums are counts of people in a release, not rates:
    with rates the paper's Proposition 1 is false.

    Reference: seed 004 Definition 2, equation (2) and Proposition 1.
    """

    gamma: float
    expected_true_positives: float
    expected_false_positives: float

    @property
    def advantage(self) -> float:
        """(1 - gamma) true positives - gamma false positives."""
        return (1.0 - self.gamma) * self.expected_true_positives - self.gamma * self.expected_false_positives


def bwma(decisions: Any, membership: Any, gamma: Any) -> Bwma:
    """The payoff of decisions in [0, 1] (1: called a member; between: at random), releases x people.

    >>> bwma([[1, 1, 0]], [[1, 0, 0]], 0.25).advantage
    0.5
    """
    price = checks.probability("gamma", gamma)
    found, alarms = _counts(decisions, membership)
    return Bwma(price, found, alarms)


def expected_true_positives(decisions: Any, membership: Any) -> float:
    """E[sum_k s_k b_k]: members of a release that are called members, on average."""
    return _counts(decisions, membership)[0]


def expected_false_positives(decisions: Any, membership: Any) -> float:
    """E[sum_k s_k (1 - b_k)]: others that are called members, on average."""
    return _counts(decisions, membership)[1]


def _counts(decisions: Any, membership: Any) -> tuple[float, float]:
    called = checks.numbers("decisions", decisions, "in [0, 1]", 0.0, 1.0)
    values, inside = aligned(called, membership)
    return float(np.mean((values * inside).sum(axis=1))), float(np.mean((values * ~inside).sum(axis=1)))


def threshold_decisions(posteriors: Any, gamma: Any) -> Any:
    """The best decisions for given posteriors: a member is called where P(b_k = 1 | x) > gamma (Proposition 1)."""
    price = checks.probability("gamma", gamma)
    beliefs = checks.numbers("posteriors", posteriors, "in [0, 1]", 0.0, 1.0)
    if beliefs.ndim == 0:
        raise InvalidParameter("posteriors", posteriors, "an array")
    return (beliefs > price).astype(float)


@document("expected_counts/1")
@attrs.frozen
class ExpectedCounts:
    """E[sum_k s_k b_k] and E[sum_k s_k (1 - b_k)]: numbers of people, not rates."""

    expected_true_positives: Number
    expected_false_positives: Number
    gamma: Number

    @property
    def advantage(self) -> Number:
        """BWMA(gamma) = (1 - gamma) E[true positives] - gamma E[false positives]."""
        return (1 - self.gamma) * self.expected_true_positives - self.gamma * self.expected_false_positives
