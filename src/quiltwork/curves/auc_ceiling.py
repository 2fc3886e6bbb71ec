"""The largest AUC that any attacker can have against a guarantee.

A score that tells two worlds apart has an ROC curve below 1 - beta(alpha), so its area is at most 1 - integral of beta.
Both orders of the two worlds give the same number, because a function and its inverse have the same area.  For one
(epsilon, delta) the area under beta is two triangles that meet in a = (1 - delta) / (1 + e^epsilon):

    AUC <= 1 - (1 - delta)^2 / (1 + e^epsilon).

This is the AUC of a test on one protected difference, hence also the expected AUC over members and non-members if a
fixed number of members is drawn exchangeably, or if members are independent and scores are pooled over releases. The
mean of areas within single releases may exceed it for few independent members, and so may an attacker whose score also
uses what he knew beforehand.

Reference: theory/confounding.md, verdict on Table VIII of seed 000; Dong, Roth and Su 2022 for the trade-off functions.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from quiltwork import checks
from quiltwork.checks import FloatArray, Number
from quiltwork.curves.curve import Curve
from quiltwork.curves.guarantee import Guarantee
from quiltwork.curves.polygons.profile import Profile
from quiltwork.curves.polygons.region import Region
from quiltwork.curves.polygons.tradeoff import TradeOff
from quiltwork.errors import InvalidParameter
from quiltwork.numbers.rounding import UNIT, up

_GRID = (np.arange(201) / 200.0) ** 3  # cells of [0, 1], small where a beta may be steep


def auc_ceiling(epsilon: Any, delta: Any) -> Number:
    """The largest AUC against an (epsilon, delta) guarantee, rounded up; arrays are taken elementwise.

    >>> round(auc_ceiling(1.5, 0.02), 4), auc_ceiling(0.0, 0.0), auc_ceiling(float("inf"), 0.0)
    (0.8248, 0.5, 1.0)
    """
    loss = checks.numbers("epsilon", epsilon, "a number >= 0, infinite allowed", 0.0, math.inf)
    slip = checks.numbers("delta", delta, "in [0, 1]", 0.0, 1.0)
    try:
        loss, slip = np.broadcast_arrays(loss, slip)
    except ValueError:
        shapes = (loss.shape, slip.shape)
        raise InvalidParameter("the shapes of epsilon and delta", shapes, "shapes that fit together") from None
    with np.errstate(under="ignore"):
        share = np.exp(-loss)
        area = (1.0 - slip) ** 2 * (share / (1.0 + share))  # 1 / (1 + e^epsilon) without overflow
    # area <= 1/2 is known to 12 + epsilon units of itself, and epsilon e^-epsilon < 1: less than 8 units of 1
    ceiling = np.minimum(up(1.0 - area + 8.0 * UNIT), 1.0)
    ceiling = np.where((loss == 0) & (slip == 0), 0.5, ceiling)
    return float(ceiling) if ceiling.ndim == 0 else ceiling


def auc_ceiling_of(curve: Curve) -> float:
    """The largest AUC against a curve: 1 - integral of beta, certified from above.

    A trade-off function is convex, so on each cell its mean is at least its value in the middle: the certified lower
    ends there, times the widths, are below its area.  This holds for each of the tests that a curve may be the worst
    of, though the least of their betas need not be convex; a curve that can show its two directions apart is asked for
    each, which is sharper.  Cells end at the corners of curves made of straight pieces: there the sum is exact up to
    rounding.

    >>> round(auc_ceiling_of(Profile([1.5], [0.02], symmetric=True)), 4)
    0.8248
    """
    if isinstance(curve, Guarantee):
        return auc_ceiling_of(curve.curve)
    if not isinstance(curve, Curve):
        raise InvalidParameter("curve", curve, "an object with epsilon, delta and beta")
    turn = getattr(curve, "direction", None)
    if callable(turn) and getattr(curve, "side", None) == "worst":  # a loss of `compose`, a room above this one
        return max(auc_ceiling_of(turn("remove")), auc_ceiling_of(turn("add")))
    ends = np.unique(np.concatenate((_GRID, _corners(curve))))
    # right of the true middle, where beta is less
    widths, middles = np.diff(ends), np.minimum(up(0.5 * (ends[1:] + ends[:-1])), 1.0)
    area = float(np.sum(np.asarray(curve.beta(middles).safe) * widths))
    least = area * (1.0 - (len(widths) + 8.0) * UNIT) - 2.0 * UNIT
    return min(up(1.0 - max(least, 0.0)), 1.0)


def _corners(curve: Curve) -> FloatArray:
    """Where a curve made of straight pieces turns, about; nothing for other curves."""
    if isinstance(curve, TradeOff):
        return curve.alphas
    profile = curve.profile if isinstance(curve, Region) else curve
    if not isinstance(profile, Profile):
        return np.zeros(0)
    knots = profile.unfolded() if profile.symmetric else profile
    epsilons, deltas = np.append(-np.inf, knots.epsilons), np.append(1.0, knots.deltas)
    with np.errstate(all="ignore"):
        turns = -np.diff(deltas) / np.diff(np.exp(epsilons))  # two lines 1 - D(t) - t alpha cross
        turns = np.append(turns, (1.0 - deltas[-1]) * np.exp(-epsilons[-1]))
    return turns[(turns > 0) & (turns < 1)]
