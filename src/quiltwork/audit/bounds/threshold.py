"""The threshold of an attack, chosen on trials that are then left out of the count.

A score at or above the threshold means "in". The threshold may be anything that does not depend on the counted
trials; a good one makes the bound large. So some trials of each kind are drawn at random, the bound is foreseen for
each candidate from their rates, and the best one is taken. Rates are moved by part of a standard deviation to the bad
side so that luck at an edge does not win, and the bound is averaged with that of a smooth curve through the rates: the
first finds a leak that shows in few scores only, the second is right where the rates are smooth.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import attrs
import numpy as np
from scipy.special import betainccinv, ndtr, ndtri

from quiltwork import checks
from quiltwork.audit.bounds.counts import Counts
from quiltwork.checks import FloatArray
from quiltwork.curves.curve import Curve
from quiltwork.errors import InvalidParameter

CANDIDATES = 200
SHARE = 0.25
_OUTER = 0.002  # share of the trials beyond the outermost candidates
_MIN_DISTINCT_SCORES = 50  # different scores below which neighbouring candidates are not alike
_WIDTH = 0.8  # of the smoothing, in normal quantiles of the rank

Foreseen = Callable[[FloatArray, FloatArray], FloatArray]  # limits of false alarms and of misses -> the bound


@attrs.frozen(eq=False)
class Split:
    """Trials to choose on, and trials to count."""

    choose_in: FloatArray
    choose_out: FloatArray
    count_in: FloatArray
    count_out: FloatArray

    @property
    def set_aside(self) -> int:
        """How many trials are chosen on, and not counted."""
        return int(self.choose_in.size + self.choose_out.size)


@attrs.frozen
class Rule:
    """What makes a threshold good, and how cautiously it is foreseen, in standard deviations."""

    foreseen: Foreseen
    caution: float


def scores(name: str, values: Any) -> FloatArray:
    """A row of scores, larger for members; infinite ones are fine, NaN is not."""
    allowed = "a row of numbers, without NaN"
    found = checks.numbers(name, values, allowed, -np.inf, np.inf)
    if found.ndim != 1:
        raise InvalidParameter(name, values, allowed, f"its shape is {found.shape}")
    if np.asarray(values).dtype == bool:
        raise InvalidParameter(name, values, allowed, "truth values are no scores")
    return found


def split(scores_in: FloatArray, scores_out: FloatArray, share: float, rng: np.random.Generator) -> Split:
    """A random share of the trials of each kind, at least one; the rest, at least one, are to be counted."""
    share = checks.ranged("split", share, "strictly between 0 and 1", lambda number: 0 < number < 1)
    parts = []
    for name, values in (("scores_in", scores_in), ("scores_out", scores_out)):
        if values.size < 2:
            hint = "one to choose the threshold on and one to count; or give a threshold that was fixed before"
            raise InvalidParameter(name, f"{values.size} score", "at least two scores", hint)
        taken = min(max(1, round(share * values.size)), values.size - 1)
        mixed = values[rng.permutation(values.size)]
        parts += [mixed[:taken], mixed[taken:]]
    return Split(parts[0], parts[2], parts[1], parts[3])


def counted(scores_in: FloatArray, scores_out: FloatArray, threshold: float) -> Counts:
    """How many of each reach the threshold; a score that equals it counts as "in"."""
    true, false = int(np.count_nonzero(scores_in >= threshold)), int(np.count_nonzero(scores_out >= threshold))
    return Counts(true, scores_in.size, false, scores_out.size)


def for_epsilon(delta: float) -> Rule:
    """The rule for the distribution-free bound at this delta."""

    def bound(fpr: FloatArray, fnr: FloatArray) -> FloatArray:
        hits = np.maximum(1.0 - fnr - delta, 1e-300) / fpr, np.maximum(1.0 - fpr - delta, 1e-300) / fnr
        return np.asarray(np.maximum(np.log(hits[0]), np.log(hits[1])))

    return Rule(bound, 0.5)


def for_mu() -> Rule:
    """The rule for the Gaussian bound."""
    return Rule(lambda fpr, fnr: -ndtri(np.clip(fnr, 1e-300, 1.0)) - ndtri(np.clip(fpr, 1e-300, 1.0)), 1.0)


def for_claim(curve: Curve) -> Rule:
    """The rule that puts the corner as far below the curve of a guarantee as can be foreseen."""
    return Rule(lambda fpr, fnr: np.asarray(curve.beta(np.clip(fpr, 0.0, 1.0)).lower) - fnr, 0.5)


def choose(parts: Split, rule: Rule, confidence: float) -> float:
    """The candidate with the largest foreseen bound; only `choose_in` and `choose_out` are looked at."""
    sorted_in, sorted_out = np.sort(parts.choose_in), np.sort(parts.choose_out)
    places = np.linspace(_OUTER, 1.0 - _OUTER, CANDIDATES)
    candidates = np.unique(np.quantile(np.concatenate([sorted_in, sorted_out]), places, method="higher"))
    missed = np.searchsorted(sorted_in, candidates).astype(float)
    alarms = sorted_out.size - np.searchsorted(sorted_out, candidates).astype(float)

    def bound(misses: FloatArray, false: FloatArray) -> FloatArray:
        level = (1.0 - confidence) / 2.0
        fnr = _foreseen(misses, sorted_in.size, parts.count_in.size, rule.caution, level)
        fpr = _foreseen(false, sorted_out.size, parts.count_out.size, rule.caution, level)
        return np.nan_to_num(rule.foreseen(fpr, fnr), nan=-1.0, posinf=1e300, neginf=-1e300)

    found = bound(missed, alarms)
    if candidates.size >= _MIN_DISTINCT_SCORES:
        rank = (missed + sorted_out.size - alarms + 0.5) / (sorted_in.size + sorted_out.size + 1.0)
        smooth = (_smoothed(ndtri(rank), missed, sorted_in.size), _smoothed(ndtri(rank), alarms, sorted_out.size))
        found = found + bound(*smooth)
    return float(candidates[int(np.argmax(found))])


def _smoothed(places: FloatArray, found: FloatArray, of: int) -> FloatArray:
    """Counts from local lines through the normal quantiles of their rates, each weighed by how well it is known."""
    rate = (found + 0.5) / (of + 1.0)
    values = ndtri(rate)
    apart = places - places[:, None]
    weight = np.exp(-0.5 * (apart / _WIDTH) ** 2) * (np.exp(-values * values) / (rate * (1.0 - rate)))
    total, first, second = weight.sum(1), (weight * apart).sum(1), (weight * apart * apart).sum(1)
    level = second * (weight @ values) - first * ((weight * apart) @ values)
    return np.asarray(of * ndtr(level / (second * total - first * first + 1e-12)))


def _foreseen(found: FloatArray, of: int, later: int, caution: float, level: float) -> FloatArray:
    """The Clopper-Pearson limit to be expected from `later` trials; a suggestion, so nothing is certified."""
    deviation = np.sqrt((found + 1.0) * (of - found + 1.0) / (of + 2.0))
    expected = np.minimum(found + caution * deviation, of) * (later / of)
    with np.errstate(all="ignore"):
        limit = betainccinv(expected + 1.0, np.maximum(later - expected, 1e-12), level)
    return np.where(expected >= later, 1.0, limit)
