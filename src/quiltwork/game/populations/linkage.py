"""Pruning of linked sites: of two sites that are near and alike, the later one goes.

Reference: theory/game.md section 2 (greedy, r^2 < 0.1 within 250 kb, on presence of the alternate allele).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from quiltwork.checks import FloatArray

__all__ = ["pruned"]


def pruned(presence: NDArray[np.bool_], positions: FloatArray, below: float, distance: float) -> NDArray[np.intp]:
    """Indices of the sites that greedy pruning keeps, from left to right.

    A site stays when its squared correlation over the n people is < `below` with every kept site to its left within
    `distance`.  With a, b the counts of carriers of two sites and c of carriers of both,
    r^2 = (n c - a b)^2 / (a (n - a) b (n - b)).  The counts are whole numbers that floats hold exactly, so that the
    result does not depend on the order of additions.  `presence` has one row a site, none of them constant, and
    `positions` ascend.
    """
    people = presence.shape[1]
    carriers = presence.sum(axis=1).astype(float)
    spread = carriers * (people - carriers)
    ends = np.searchsorted(positions, positions + distance, side="right")
    alive = np.ones(len(presence), dtype=np.bool_)
    for site in range(len(presence)):
        if not alive[site]:
            continue
        later = site + 1 + np.flatnonzero(alive[site + 1 : ends[site]])
        both = presence[later].astype(np.float32) @ presence[site].astype(np.float32)
        covariance = people * both.astype(float) - carriers[later] * carriers[site]
        alive[later] = covariance**2 < below * spread[later] * spread[site]
    return np.flatnonzero(alive)
