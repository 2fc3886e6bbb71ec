"""Entropies of finite laws in nats, as correctly rounded sums of terms that do not cancel."""

from __future__ import annotations

import math

import numpy as np

from quiltwork.checks import FloatArray

__all__ = ["entropy", "given_output", "total_correlation"]


def entropy(law: FloatArray) -> float:
    """-sum p log p over all entries, whatever the shape.

    >>> round(entropy(np.array([0.5, 0.5])), 12)
    0.69314718056
    """
    masses = np.ravel(law)
    masses = masses[masses > 0]
    return math.fsum(-masses * np.log(masses))


def given_output(joint: FloatArray) -> float:
    """H(row | column) = -sum J log(J / P), where P are the sums of the columns."""
    law = joint.sum(axis=0)
    possible = joint > 0
    ratio = (joint / np.where(law > 0, law, 1.0))[possible]
    return math.fsum(-joint[possible] * np.log(np.minimum(ratio, 1.0)))


def total_correlation(law: FloatArray) -> float:
    """sum_j H(x_j) - H(x) = sum P log(P / prod_j P_j), over a table with one axis for each x_j."""
    product = np.ones(())
    for axis in range(law.ndim):
        others = tuple(other for other in range(law.ndim) if other != axis)
        product = product[..., None] * law.sum(axis=others)
    possible = law > 0
    return math.fsum(law[possible] * np.log(law[possible] / product[possible]))
