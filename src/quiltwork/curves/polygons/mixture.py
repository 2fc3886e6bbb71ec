"""Mixtures whose class is observed: the curve is the average of the curves."""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np

from quiltwork import checks
from quiltwork.curves.polygons.profile import Profile, from_ends
from quiltwork.curves.polygons.region import Region
from quiltwork.curves.polygons.tradeoff import TradeOff
from quiltwork.errors import InvalidParameter, Unsupported
from quiltwork.numbers.laws import TOLERANCE
from quiltwork.numbers.rounding import UNIT, down, up


def mixture(parts: Iterable[tuple[float, Profile | TradeOff | Region]]) -> Profile:
    """The profile of a mechanism that picks part i with probability w_i and shows which.

    delta(epsilon) = sum_i w_i delta_i(epsilon).  Straight pieces stay straight between the union of all knots, so the
    result is exact up to rounding (upwards).  Weights must sum to 1.

    Reference: seed 002, Lemma 1; theory/multi-constraints.md, item 15.

    >>> half = mixture([(0.5, Profile([1.0], [0.0])), (0.5, Profile([0.0], [0.0]))])
    >>> half.delta(1.0).safe
    0.0
    """
    weights, profiles = [], []
    for weight, part in parts:
        if isinstance(part, (TradeOff, Region)):
            part = part.profile() if isinstance(part, TradeOff) else part.profile
        if not isinstance(part, Profile):
            raise Unsupported(f"a mixture with {part!r}", "it is not made of straight pieces", "sample it as a Profile")
        weights.append(checks.probability("weight", weight))
        profiles.append(part)
    total = math.fsum(weights)
    if not abs(total - 1.0) <= TOLERANCE:
        raise InvalidParameter("the sum of weights", total, "1", "add the missing class or rescale")
    symmetric = all(profile.symmetric for profile in profiles)
    if not symmetric:
        profiles = [profile.unfolded() for profile in profiles]
    used = [(weight / total, profile) for weight, profile in zip(weights, profiles, strict=True) if weight > 0]
    knots = np.unique(np.concatenate([profile.epsilons for _, profile in used]))
    if not knots.size:
        return Profile([0.0], [1.0], symmetric=symmetric)
    lower, upper, reached, floor = np.zeros_like(knots), np.zeros_like(knots), np.zeros(knots.shape, dtype=bool), 0.0
    for weight, profile in used:
        low, high = profile.stored(knots)
        reached |= high > 0.0
        lower, upper = lower + weight * (low / (1.0 + profile.slack)), upper + weight * high
        floor += weight * profile.floor
    error = (len(used) + 8) * UNIT
    steps = len(used) + 1  # each product may also lose half of the smallest number to underflow
    lower = np.where(reached, np.maximum(down(lower * (1.0 - error), steps), 0.0), 0.0)
    upper = np.where(reached, np.minimum(up(upper * (1.0 + error), steps), 1.0), 0.0)
    return from_ends(knots, lower, upper, symmetric, floor * (1.0 + error))
