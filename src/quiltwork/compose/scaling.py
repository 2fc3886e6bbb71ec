"""Losses at a distance, and losses added up.

Reference: theory/granularity.md section 5 (pure and GDP linear, zCDP quadratic, approximate [n]_eps).
"""

from __future__ import annotations

from collections.abc import Iterable

import attrs

from quiltwork.compose.loss import Loss


def total(losses: Iterable[tuple[Loss, int]]) -> Loss:
    """All of these losses, each so many times."""
    parts = tuple(attrs.evolve(part, count=part.count * count) for loss, count in losses for part in loss.parts)
    return Loss(parts)


def is_symmetric(loss: Loss) -> bool:
    """Whether exchanging the two worlds changes nothing."""
    return all(part.family.symmetric for part in loss.parts)


def scaled(loss: Loss, distance: float) -> Loss:
    """The loss at a distance, by the tightest proven rule of each family; some rules round fractions up."""
    if distance == 1:
        return loss
    return Loss(tuple(attrs.evolve(part, family=part.family.grown(distance)) for part in loss.parts))


def turned(loss: Loss) -> Loss:
    """The same releases with the two worlds exchanged: what one step removes, another adds."""
    if is_symmetric(loss):
        return loss
    return Loss(tuple(attrs.evolve(part, family=part.family.swapped()) for part in loss.parts))


def attained(loss: Loss, distance: float) -> Loss:
    """Releases that obey the statement and really lose this much at the distance: the lower side of `scaled`.

    A rule for groups need not be tight: two steps of epsilon-DP lose less than 2 epsilon-DP allows. Laplace noise is
    epsilon-DP, and Gaussian noise obeys a Rényi bound; what is known of neither is left out.
    """
    if distance == 1:
        return loss
    if distance == 0:
        return Loss(())
    found = [(part, part.family.attained(distance)) for part in loss.parts]
    return Loss(tuple(attrs.evolve(part, family=family) for part, family in found if family is not None))
