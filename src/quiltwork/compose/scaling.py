"""Losses at a distance, and losses added up.

Reference: theory/granularity.md section 5 (pure and GDP linear, zCDP quadratic, approximate [n]_eps).
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from fractions import Fraction

import attrs

from quiltwork.compose.loss import Loss
from quiltwork.losses.families.discrete import DiscreteGaussian, DiscreteLaplace
from quiltwork.losses.families.gaussian import Gaussian, GaussianPrivacy
from quiltwork.losses.families.laplace import Laplace
from quiltwork.losses.families.pure import Approximate, Pure
from quiltwork.losses.families.renyi import Renyi, ZeroConcentrated
from quiltwork.losses.families.swapped import Turned
from quiltwork.losses.family import Family
from quiltwork.numbers.stated import typed, typed_above


def total(losses: Iterable[tuple[Loss, int]]) -> Loss:
    """All of these losses, each so many times."""
    parts = tuple(attrs.evolve(part, count=part.count * count) for loss, count in losses for part in loss.parts)
    return Loss(parts)


def is_symmetric(loss: Loss) -> bool:
    """Whether exchanging the two worlds changes nothing."""
    return all(set(part.family.pairs()) <= {"both"} for part in loss.parts)


def is_linear(family: Family) -> bool:
    """Whether the family is stated for every distance at once: epsilon and mu in proportion, rho in its square."""
    return type(family) in (Gaussian, GaussianPrivacy, Laplace, Pure, ZeroConcentrated)


def scaled(loss: Loss, distance: float) -> Loss:
    """The loss at a distance, by the tightest proven rule of each family; some rules round fractions up."""
    if distance == 1:
        return loss
    parts = []
    for part in loss.parts:
        size = distance if is_linear(part.family) else max(1, math.ceil(distance))
        parts.append(attrs.evolve(part, family=_grown(part.family, size)))
    return Loss(tuple(parts))


def _grown(family: Family, size: float) -> Family:
    if size == int(size):
        return family if size == 1 else family.group(int(size))
    factor = typed(size)
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
    return typed_above(typed(number) * factor)


def turned(loss: Loss) -> Loss:
    """The same releases with the two worlds exchanged: what one step removes, another adds."""
    if is_symmetric(loss):
        return loss
    return Loss(tuple(attrs.evolve(part, family=_exchanged(part.family)) for part in loss.parts))


def _exchanged(family: Family) -> Family:
    if isinstance(family, Turned):
        return family.base
    return family if set(family.pairs()) <= {"both"} else Turned(family)


def attained(loss: Loss, distance: float) -> Loss:
    """Releases that obey the statement and really lose this much at the distance: the lower side of `scaled`.

    A rule for groups need not be tight: two steps of epsilon-DP lose less than 2 epsilon-DP allows. Laplace noise is
    epsilon-DP, and Gaussian noise obeys a Rényi bound; what is known of neither is left out.
    """
    if distance == 1:
        return loss
    found = [(part, _real(part.family, distance)) for part in loss.parts]
    return Loss(tuple(attrs.evolve(part, family=family) for part, family in found if family is not None))


def _real(family: Family, distance: float) -> Family | None:
    if isinstance(family, (Pure, Approximate)):
        size = distance if isinstance(family, Pure) else max(1, math.ceil(distance))
        reached = family.epsilon * size * (1 - 1e-15)
        return Laplace(1.0, reached) if reached >= 1e-100 else None
    if isinstance(family, Renyi):
        reached = family.attained_mu() * max(1, math.ceil(distance)) * (1 - 1e-15)
        return GaussianPrivacy(reached) if reached >= 1e-100 else None
    if is_linear(family) or isinstance(family, (DiscreteGaussian, DiscreteLaplace)):
        return _grown(family, distance if is_linear(family) else max(1, math.ceil(distance)))
    return None
