"""The threshold of an attack, chosen on trials that are then left out of the count.

A score at or above the threshold means "in". The threshold may be anything that does not depend on the counted
trials; a good one makes the bound large. So some trials of each kind are drawn at random, the bound is foreseen for
each candidate from their rates, moved by part of a standard deviation to the bad side so that luck at an edge does not
win, and the best one is taken.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import attrs
import numpy as np
from scipy.special import betainccinv, ndtri

from quiltwork import checks
from quiltwork.audit.counts import Counts
from quiltwork.checks import FloatArray
from quiltwork.errors import InvalidParameter

CANDIDATES = 200
SHARE = 0.25
_OUTER = 0.002  # share of the trials beyond the outermost candidates
_FEW = 50  # different scores below which neighbouring candidates are not alike

Foreseen = Callable[[FloatArray, FloatArray], FloatArray]  # limits of false alarms and of misses -> the bound


@attrs.frozen(eq=False)
class Split:
    """Trials to choose on, and trials to count."""

    choose_in: FloatArray
    choose_out: FloatArray
    count_in: FloatArray
    count_out: FloatArray


@attrs.frozen
class Rule:
    """What makes a threshold good, how cautiously it is foreseen, and over how many neighbours it is averaged."""

    foreseen: Foreseen
    caution: float
    reach: int


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
    share = shared(share)
    parts = []
    for name, values in (("scores_in", scores_in), ("scores_out", scores_out)):
        if values.size < 2:
            hint = "one to choose the threshold on and one to count; or give a threshold that was fixed before"
            raise InvalidParameter(name, f"{values.size} score", "at least two scores", hint)
        taken = min(max(1, round(share * values.size)), values.size - 1)
        mixed = values[rng.permutation(values.size)]
        parts += [mixed[:taken], mixed[taken:]]
    return Split(parts[0], parts[2], parts[1], parts[3])


def shared(value: Any) -> float:
    """A share strictly between 0 and 1."""
    share = checks.real("split", value, "strictly between 0 and 1")
    if not 0 < share < 1:
        raise InvalidParameter("split", value, "strictly between 0 and 1")
    return share


def counted(scores_in: FloatArray, scores_out: FloatArray, threshold: float) -> Counts:
    """How many of each reach the threshold; a score that equals it counts as "in"."""
    true, false = int(np.count_nonzero(scores_in >= threshold)), int(np.count_nonzero(scores_out >= threshold))
    return Counts(true, scores_in.size, false, scores_out.size)


def for_epsilon(delta: float) -> Rule:
    """The rule for the distribution-free bound at this delta."""

    def bound(fpr: FloatArray, fnr: FloatArray) -> FloatArray:
        hits = np.maximum(1.0 - fnr - delta, 1e-300) / fpr, np.maximum(1.0 - fpr - delta, 1e-300) / fnr
        return np.asarray(np.maximum(np.log(hits[0]), np.log(hits[1])))

    return Rule(bound, 0.5, 2)


def for_mu() -> Rule:
    """The rule for the Gaussian bound; it is flat around its best threshold, so it looks farther."""
    return Rule(lambda fpr, fnr: -ndtri(np.clip(fnr, 1e-300, 1.0)) - ndtri(np.clip(fpr, 1e-300, 1.0)), 1.0, 4)


def choose(parts: Split, rule: Rule, confidence: float) -> float:
    """The candidate with the largest foreseen bound; only `choose_in` and `choose_out` are looked at."""
    sorted_in, sorted_out = np.sort(parts.choose_in), np.sort(parts.choose_out)
    places = np.linspace(_OUTER, 1.0 - _OUTER, CANDIDATES)
    candidates = np.unique(np.quantile(np.concatenate([sorted_in, sorted_out]), places, method="higher"))
    level = (1.0 - confidence) / 2.0
    missed = np.searchsorted(sorted_in, candidates).astype(float)
    alarms = sorted_out.size - np.searchsorted(sorted_out, candidates).astype(float)
    fnr = _foreseen(missed, sorted_in.size, parts.count_in.size, rule.caution, level)
    fpr = _foreseen(alarms, sorted_out.size, parts.count_out.size, rule.caution, level)
    bound = np.nan_to_num(rule.foreseen(fpr, fnr), nan=-1.0, posinf=1e300, neginf=-1e300)
    if candidates.size >= _FEW:
        wide = 2 * rule.reach + 1
        weights = np.convolve(np.ones(bound.size), np.ones(wide), "same")
        bound = np.convolve(bound, np.ones(wide), "same") / weights
    return float(candidates[int(np.argmax(bound))])


def _foreseen(found: FloatArray, of: int, later: int, caution: float, level: float) -> FloatArray:
    """The Clopper-Pearson limit to be expected from `later` trials; a suggestion, so nothing is certified."""
    deviation = np.sqrt((found + 1.0) * (of - found + 1.0) / (of + 2.0))
    expected = np.minimum(found + caution * deviation, of) * (later / of)
    with np.errstate(all="ignore"):
        limit = betainccinv(expected + 1.0, np.maximum(later - expected, 1e-12), level)
    return np.where(expected >= later, 1.0, limit)
