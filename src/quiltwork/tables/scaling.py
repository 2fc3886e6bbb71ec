"""Losses at a distance, and losses added up.

Reference: theory/granularity.md section 5 (pure and GDP linear, zCDP quadratic, approximate [n]_eps).
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from fractions import Fraction
from typing import ClassVar

import attrs

from quiltwork.compose.loss import Loss
from quiltwork.errors import Unsupported
from quiltwork.losses.decimals import at_least
from quiltwork.losses.family import Family
from quiltwork.losses.gaussian import Gaussian, GaussianPrivacy
from quiltwork.losses.laplace import Laplace
from quiltwork.losses.pair import Pair
from quiltwork.losses.renyi import ZeroConcentrated
from quiltwork.losses.response import Pure
from quiltwork.losses.turned import Turned


def total(losses: Iterable[tuple[Loss, int]]) -> Loss:
    """All of these losses, each so many times."""
    parts = tuple(attrs.evolve(part, count=part.count * count) for loss, count in losses for part in loss.parts)
    return Loss(parts)


def is_symmetric(loss: Loss) -> bool:
    """Whether exchanging the two worlds changes nothing."""
    return all(set(part.family.pairs()) <= {"both"} for part in loss.parts)


def scaled(loss: Loss, distance: float) -> Loss:
    """The loss at a distance, by the tightest proven rule of each family; some rules round fractions up."""
    if distance == 1:
        return loss
    parts = []
    for part in loss.parts:
        smooth = isinstance(part.family, (Gaussian, GaussianPrivacy, Laplace, Pure, ZeroConcentrated))
        size = distance if smooth else max(1, math.ceil(distance))
        parts.append(attrs.evolve(part, family=_grown(part.family, size)))
    return Loss(tuple(parts))


def _grown(family: Family, size: float) -> Family:
    if size == int(size):
        return family if size == 1 else family.group(int(size))
    factor = Fraction(repr(float(size)))
    if isinstance(family, (Gaussian, Laplace)):
        return attrs.evolve(family, sensitivity=_times(family.sensitivity, factor))
    if isinstance(family, GaussianPrivacy):
        return GaussianPrivacy(_times(family.mu, factor))
    if isinstance(family, Pure):
        return Pure(_times(family.epsilon, factor))
    if isinstance(family, ZeroConcentrated):
        return ZeroConcentrated(_times(family.rho, factor * factor))
    raise TypeError(f"{family.kind} has no rule for fractions of a step")


def _times(number: float, factor: Fraction) -> float:
    return at_least(Fraction(repr(number)) * factor)


def turned(loss: Loss) -> Loss:
    """The same releases with the two worlds exchanged: what one step removes, another adds."""
    if is_symmetric(loss):
        return loss
    return Loss(tuple(attrs.evolve(part, family=_exchanged(part.family)) for part in loss.parts))


def _exchanged(family: Family) -> Family:
    if isinstance(family, Turned):
        return family.base
    return family if set(family.pairs()) <= {"both"} else Turned(family)


@attrs.frozen
class Either(Family):
    """A release whose direction is not known: it stands for the worse of two, and is only compared, never composed."""

    kind: ClassVar[str] = "either"
    base: Family

    def pairs(self) -> dict[str, Pair]:
        raise Unsupported("a release of unknown direction", "its direction must be chosen before it is composed")


def either(loss: Loss) -> Loss:
    """The same releases, marked as of unknown direction."""
    return Loss(tuple(attrs.evolve(part, family=Either(part.family)) for part in loss.parts))
