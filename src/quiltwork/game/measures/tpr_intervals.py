"""The share of members found at a low rate of false alarms, with an interval that knows how little it may rest on.

Whole releases are drawn again with replacement, since decisions about one release are dependent.  That alone is blind
where little was seen, so that the interval is widened to hold two more:

    the threshold   of N others, the number above the true threshold of rate r is nearly Poisson(r N).  The share found
                    at the ends of its range bounds the share at the rate itself; with none to be expected, from 0;
    the count       of members found at the estimated threshold (Clopper and Pearson 1934): without it, members who were
                    all found would look certain to be found always.

Reference: theory/game.md section 3.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaincinv, pdtr

from quiltwork.checks import FloatArray
from quiltwork.game.measures.roc import Interval, last_of_ties, pairs_of, roc

__all__ = ["RESAMPLES", "found_at"]

RESAMPLES = 400


def found_at(scores: Any, members: Any, rates: Sequence[float], confidence: float) -> dict[float, Interval]:
    """The share of members found at each of these rates of false alarms; the same scores give the same intervals."""
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
