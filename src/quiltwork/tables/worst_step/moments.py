"""Log moments of releases at fixed tilts, once for each family: what Chernoff bounds and price lists are made of.

K(theta) = log E[e^(theta L); L finite], in the worse direction and nudged up past its rounding; `hidden` is -log(1 - r)
for the mass r that reveals everything; `largest` is the largest loss. All three add up over releases.

Reference: theory/engine.md section 2; theory/granularity.md section 4.5.
"""

from __future__ import annotations

import math
from functools import lru_cache

import attrs
import numpy as np

from quiltwork.checks import FloatArray
from quiltwork.compose.accountant.moments import nudged, worst_moments
from quiltwork.compose.loss import Loss
from quiltwork.errors import QuiltworkError
from quiltwork.losses.families.laplace import Laplace
from quiltwork.losses.family import Family
from quiltwork.numbers.rounding import UNIT

TILTS = 2.0 ** np.arange(-5, 9.25, 0.5)


@attrs.frozen(eq=False)
class Moments:
    """K at TILTS (+inf where it is not known), -log(1 - reveal), and the largest loss."""

    logs: FloatArray
    hidden: float
    largest: float


NOTHING = Moments(np.zeros(TILTS.size), 0.0, 0.0)


@lru_cache(maxsize=8192)
def family_moments(family: Family) -> Moments:
    """The moments of one release."""
    if isinstance(family, Laplace):  # so common that the general question is worth sparing
        return _laplace(family.sensitivity / family.scale)
    loss = Loss.of(family)
    largest = _largest(loss)
    try:
        moments, reveal = worst_moments(loss.parts)
        with np.errstate(all="ignore"):
            found = moments(TILTS)
    except (QuiltworkError, OverflowError):
        return Moments(np.full(TILTS.size, math.inf), 0.0, largest)
    logs = np.maximum(np.where(np.isnan(found), math.inf, found), 0.0)
    logs.setflags(write=False)
    return Moments(logs, -math.log1p(-min(reveal, 1 - UNIT)) * (1 + 4 * UNIT), largest)


def _laplace(epsilon: float) -> Moments:
    """E[e^(theta L)] = ((1 + theta) e^(theta eps) + theta e^(-(1 + theta) eps)) / (1 + 2 theta).

    Reference: Mironov 2017, Table II.
    """
    first = np.log1p(TILTS) + TILTS * epsilon
    second = np.log(TILTS) - (1 + TILTS) * epsilon
    logs = nudged(np.logaddexp(first, second) - np.log1p(2 * TILTS))
    logs.setflags(write=False)
    return Moments(np.maximum(logs, 0.0), 0.0, epsilon * (1 + 4 * UNIT))


def _largest(loss: Loss) -> float:
    return float(np.max(loss.epsilon(0.0).upper))


def loss_moments(loss: Loss | None) -> Moments:
    """The moments of a composition."""
    if loss is None or not loss.parts:
        return NOTHING
    found = [(part.count, family_moments(part.family)) for part in loss.parts]
    logs = np.sum([count * one.logs for count, one in found], axis=0) * (1 + 1e-13)
    hidden = math.fsum(count * one.hidden for count, one in found) * (1 + 1e-13)
    return Moments(logs, hidden, math.fsum(count * one.largest for count, one in found) * (1 + 1e-13))
