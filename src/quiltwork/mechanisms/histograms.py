"""Histograms: all counts at once, or the k largest categories, in order."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from quiltwork import checks
from quiltwork.compose.constructors import pure
from quiltwork.compose.loss import Loss
from quiltwork.errors import InvalidParameter
from quiltwork.mechanisms import sampling
from quiltwork.mechanisms.release import Noise, Release
from quiltwork.mechanisms.scales import certified_scale, certified_sigma, stated
from quiltwork.mechanisms.totals import MAX_INTEGER, gaussian_loss, integer_sigma, laplace_loss, whole
from quiltwork.numbers.stated import Stated, above, typed

ALLOWED = "a list of integers in [0, 2**63 - 1], one for each category"


def checked_counts(counts: Any) -> list[int]:
    """The counts of all categories, also of those that are empty: a list, an array, or a tally of sequences."""
    bare = getattr(counts, "counts", counts)
    found = bare.tolist() if hasattr(bare, "tolist") else bare
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
    return certified_scale(histogram_loss, 2 / typed(epsilon), epsilon)


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


def top_k_loss(k: Any, scale: Any) -> Loss:
    """The loss of `top_k`: epsilon = (k + 1) t with t = 1 / scale, and not the 2 k t of k separate selections.

    P(s_1, ..., s_k) is the product over rounds r of e^(t c[s_r]) / (sum of e^(t c[j]) over j left in round r).
    One changed entry takes 1 from one count and gives 1 to another. Each is picked at most once, so all numerators
    together move by a factor in [e^-t, e^t]; each of the k sums moves by one in [e^-t, e^t] too: (k + 1) t in all.
    Large gaps between counts approach it (2t at k = 1), so no smaller epsilon holds for all counts when k is less than
    the number of categories.

    Reference: theory/pufferfish.md 5.1.
    """
    k, scale = checks.count("k", k, least=1), stated("scale", scale)
    return pure(above((k + 1) / typed(scale)))


def top_k(counts: Any, k: int, scale: float) -> Release[tuple[int, ...]]:
    """k categories in order, by the exponential mechanism with exponent 1 / scale for each unit of a count, peeled.

    Every round draws one of the categories that are left, with probability proportional to e^(count / scale). As many
    rounds as categories are allowed: then the order is what is released.
    """
    given, k = _checked(counts, k)
    scale = stated("scale", scale)
    loss = top_k_loss(k, scale)
    size = Stated(scale).above
    return Release(tuple(sampling.peel(given, k, size)), loss, Noise("exponential mechanism, peeled", size, k))


def top_k_scale(epsilon: Any, k: Any) -> float:
    """The least scale, up to a few units in the last place, at which `top_k` has at most this epsilon."""
    epsilon, k = checks.moderate("epsilon", epsilon), checks.count("k", k, least=1)
    return certified_scale(lambda scale: top_k_loss(k, scale), (k + 1) / typed(epsilon), epsilon)


def top_k_of_histogram(counts: Any, k: int, scale: float) -> Release[tuple[int, ...]]:
    """The k largest of a noisy histogram, in order; equal noisy counts keep the order of the categories.

    It only reads the noisy histogram, so its loss is that of `histogram`, for every k: epsilon 2 / scale.

    Reference: theory/pufferfish.md 5.2.
    """
    given, k = _checked(counts, k)
    noisy = histogram(given, scale)
    values = noisy.value.tolist()
    order = sorted(range(len(values)), key=lambda category: (-values[category], category))
    return Release(tuple(order[:k]), noisy.loss, noisy.noise)


def _checked(counts: Any, k: Any) -> tuple[list[int], int]:
    given = checked_counts(counts)
    k = checks.count("k", k, least=1)
    if k > len(given):
        raise InvalidParameter("k", k, f"at most {len(given)}, the number of categories")
    return given, k
