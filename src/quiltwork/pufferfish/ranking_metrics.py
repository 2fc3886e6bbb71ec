"""How good a released ranking is: accuracy by position, hit rate, discounted gain, error of the counts.

A ranking names K different categories, the first one said to be the most frequent.  A perfect ranking has 1 in every
measure and 0 in the error.  Categories with equal counts may stand for each other, so that nothing here depends on how
categories are numbered.

Seed 003 (section 7.1.5) says that its NDCG takes true counts as gains.  Its printed values fit the gain m + 1 - rank:
with that, random rankings score .586 among 11 categories and .511 among 78, beside printed .590 and .527, while counts
as gains give .41 to .44 on data simulated to match.  Both are here, each under its own name.

Reference: seed 003 section 7.1.5; theory/pufferfish.md section 6.
"""

from __future__ import annotations

from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from quiltwork import checks
from quiltwork.checks import FloatArray
from quiltwork.errors import InvalidParameter

Ints = NDArray[np.integer[Any]]


@attrs.frozen(eq=False)
class Scores:
    """Means over rankings: `accuracy[k]` is Acc@(k + 1)."""

    accuracy: FloatArray
    hit_rate: float
    ndcg_rank: float
    ndcg_count: float
    l1: float

    def row(self) -> FloatArray:
        """All of them in one array, in the order of the fields."""
        return np.array([*self.accuracy, self.hit_rate, self.ndcg_rank, self.ndcg_count, self.l1])


def score(counts: Any, ranking: Any) -> Scores:
    """Every measure at once, averaged over all rankings given.

    >>> score([5, 3, 2, 1], [[0, 1], [1, 0]]).hit_rate
    1.0
    """
    places = accuracy(counts, ranking)
    others = (float(measure(counts, ranking).mean()) for measure in (hit_rate, ndcg_rank, ndcg_count, l1))
    return Scores(places.reshape(-1, places.shape[-1]).mean(axis=0), *others)


def accuracy(counts: Any, ranking: Any) -> FloatArray:
    """Acc@k for k = 1 .. K: 1 where the category named at place k has the k-th largest count.

    >>> accuracy([5, 3, 2], [0, 2, 1]).tolist()
    [1.0, 0.0, 0.0]
    """
    true, found = _checked(counts, ranking)
    return np.asarray(true[found] == _largest(true, found.shape[-1]), dtype=float)


def hit_rate(counts: Any, ranking: Any) -> FloatArray:
    """The share of the K categories named that are among the K most frequent.

    When several categories tie for the last places, as many of them count as there are places left.
    """
    true, found = _checked(counts, ranking)
    largest, named = _largest(true, found.shape[-1]), true[found]
    open_places = np.count_nonzero(largest == largest[-1])
    sure = np.count_nonzero(named > largest[-1], axis=-1)
    tied = np.minimum(np.count_nonzero(named == largest[-1], axis=-1), open_places)
    return np.asarray((sure + tied) / found.shape[-1], dtype=float)


def ndcg_rank(counts: Any, ranking: Any) -> FloatArray:
    """Discounted gain relative to the best ranking, with gain m + 1 - rank.

    Equal counts share the mean of their ranks.
    """
    true, found = _checked(counts, ranking)
    # m + 1 - rank, with the mean rank for equal counts: (as many as are smaller) + (1 + as many as are equal) / 2
    ascending = np.sort(true)
    smaller, not_larger = (np.searchsorted(ascending, true, side=side) for side in ("left", "right"))
    return _ndcg(np.asarray((smaller + not_larger + 1) / 2.0), found)


def ndcg_count(counts: Any, ranking: Any) -> FloatArray:
    """Discounted gain relative to the best ranking, with the true count as gain; 1 when all counts are zero."""
    return _ndcg(*_checked(counts, ranking))


def l1(counts: Any, ranking: Any) -> FloatArray:
    """How far the counts of the categories named are from the K largest counts, place by place, in all."""
    true, found = _checked(counts, ranking)
    return np.asarray(np.abs(true[found] - _largest(true, found.shape[-1])).sum(axis=-1))


def random_ndcg_rank(categories: int, places: int) -> float:
    """What uniformly random rankings score on average by `ndcg_rank`, when no counts tie.

    Each place holds a category of mean gain (m + 1) / 2.

    >>> round(random_ndcg_rank(11, 3), 3), round(random_ndcg_rank(78, 3), 3)
    (0.586, 0.511)
    """
    m, k = checks.count("categories", categories, 1), checks.count("places", places, 1)
    if k > m:
        raise InvalidParameter("places", places, f"at most the {m} categories")
    discount = _discounts(k)
    return float((m + 1) / 2 * discount.sum() / np.dot(m - np.arange(k), discount))


def _checked(counts: Any, ranking: Any) -> tuple[FloatArray, Ints]:
    true = checks.numbers("counts", counts, "finite numbers >= 0", 0.0, float(checks.MAX_COUNT))
    if true.ndim != 1:
        raise InvalidParameter("the shape of counts", true.shape, "one number a category")
    found = np.asarray(ranking)
    if not np.issubdtype(found.dtype, np.integer):
        raise InvalidParameter("ranking", ranking, "whole numbers: which category is first, second, ...")
    if found.ndim < 1 or not found.size or found.shape[-1] > true.size:
        raise InvalidParameter("the shape of ranking", found.shape, f"its last axis from 1 to {true.size} places")
    if bool(np.any((found < 0) | (found >= true.size))):
        raise InvalidParameter("ranking", ranking, f"categories from 0 to {true.size - 1}")
    if bool(np.any(np.diff(np.sort(found, axis=-1), axis=-1) == 0)):
        raise InvalidParameter("ranking", ranking, "different categories", "a category takes one place only")
    return true, found


def _largest(true: FloatArray, places: int) -> FloatArray:
    return np.asarray(-np.sort(-true)[:places])


def _discounts(places: int) -> FloatArray:
    return np.asarray(1.0 / np.log2(np.arange(2, places + 2)))


def _ndcg(gains: FloatArray, found: Ints) -> FloatArray:
    discount = _discounts(found.shape[-1])
    ideal = float(_largest(gains, found.shape[-1]) @ discount)
    if ideal == 0.0:  # no counts at all: every ranking is as good as any other
        return np.ones(found.shape[:-1])
    return np.asarray(gains[found] @ discount / ideal)
