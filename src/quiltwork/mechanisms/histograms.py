"""Histograms: all counts at once."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from quiltwork import checks
from quiltwork.compose.loss import Loss
from quiltwork.errors import InvalidParameter
from quiltwork.mechanisms import sampling
from quiltwork.mechanisms.gaussian import gaussian_loss, integer_sigma
from quiltwork.mechanisms.laplace import laplace_loss
from quiltwork.mechanisms.release import Noise, Release
from quiltwork.mechanisms.scales import certified_scale, certified_sigma, stated
from quiltwork.mechanisms.totals import MAX_INTEGER, whole
from quiltwork.numbers.stated import Stated, typed

__all__ = [
    "checked_counts",
    "gaussian_histogram",
    "gaussian_histogram_loss",
    "gaussian_histogram_sigma",
    "histogram",
    "histogram_loss",
    "histogram_scale",
]

ALLOWED = "a list of integers in [0, 2**63 - 1], one for each category"


def checked_counts(counts: Any) -> list[int]:
    """The counts of all categories, also of those that are empty."""
    found = counts.tolist() if hasattr(counts, "tolist") else counts
    if not isinstance(found, Sequence):
        raise InvalidParameter("counts", counts, ALLOWED)
    if not found:
        raise InvalidParameter("counts", counts, ALLOWED, "a histogram has at least one category")
    if not all(whole(count) and 0 <= operator.index(count) <= MAX_INTEGER for count in found):
        raise InvalidParameter("counts", counts, ALLOWED)
    return [operator.index(count) for count in found]


def histogram_loss(scale: Any) -> Loss:
    """The loss of a whole histogram with discrete Laplace noise on every count, however many there are.

    One changed entry takes 1 from one count and gives 1 to another: two independent releases of sensitivity 1, pure
    epsilon 2 / scale. The categories are fixed before the data are seen.

    Reference: theory/pufferfish.md 5.2.
    """
    return 2 * laplace_loss(scale, 1)


def histogram(counts: Any, scale: float) -> Release[NDArray[np.int64]]:
    """Every count plus its own discrete Laplace noise; noisy counts may be negative."""
    given = checked_counts(counts)
    scale = stated("scale", scale)
    loss = histogram_loss(scale)
    size = Stated(scale).above
    return Release(_frozen(sampling.discrete_laplace(given, size)), loss, Noise("discrete Laplace", size, len(given)))


def histogram_scale(epsilon: Any) -> float:
    """The least scale, up to a few units in the last place, for a histogram of at most this certified epsilon."""
    epsilon = checks.moderate("epsilon", epsilon)
    exact = 2 / typed(epsilon)
    stated("scale", float(exact))
    return certified_scale(histogram_loss, exact, epsilon)


def gaussian_histogram_loss(sigma: Any) -> Loss:
    """The loss of a whole histogram with discrete Gaussian noise: two independent releases of sensitivity 1."""
    return 2 * gaussian_loss(sigma, 1)


def gaussian_histogram(counts: Any, sigma: float) -> Release[NDArray[np.int64]]:
    """Every count plus its own discrete Gaussian noise; noisy counts may be negative."""
    given = checked_counts(counts)
    sigma = stated("sigma", sigma)
    loss = gaussian_histogram_loss(sigma)
    size = integer_sigma(sigma, 1)
    return Release(_frozen(sampling.discrete_gaussian(given, size)), loss, Noise("discrete Gaussian", size, len(given)))


def gaussian_histogram_sigma(epsilon: Any, delta: Any) -> float:
    """Nearly the least sigma at which a histogram's certified epsilon at delta is at most the one asked for."""
    return certified_sigma(gaussian_histogram_loss, epsilon, delta, start=1.0)


def _frozen(values: list[int]) -> NDArray[np.int64]:
    array = np.array(values, dtype=np.int64)
    array.setflags(write=False)
    return array
