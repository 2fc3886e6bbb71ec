"""What is proven about a table of noisy class probabilities, when one query is swapped for another.

Two query sets of one size that differ in one image give tables that differ, before sorting, in one row: c_k or c_l.
Sorting and clipping are post-processing.  So the guarantee is that of noise on one row.

    Gaussian   mu = |c_k - c_l|_2 / sigma, at most sqrt(2) / sigma for probabilities
    Laplace    two releases of sensitivity t each, where t = |c_k - c_l|_1 / 2 is at most 1

Laplace: let t+ and t- be the sums of the positive and of the negative part of c_k - c_l.  Moving a row by d_1, then by
d_2 in another entry is at most as visible as moving one entry by d_1 + d_2: trade-off functions f, g of two steps give
1 - (1 - g) o (1 - f) at least, and on a line, where best tests are thresholds, that is what d_1 + d_2 gives exactly.
So the entries that rise are dominated by one Laplace noise with sensitivity t+, those that fall by one with t-, and
both together compose; for rows that sum to 1, t+ = t- = t.  Unit vectors attain it.

The number of queries is public and not protected.

Reference: theory/game.md section 4 (swap neighbours, instance guarantees); Dong, Roth and Su 2022 (Gaussian noise,
post-processing, steps between data sets).
"""

from __future__ import annotations

import math
from typing import Literal

import numpy as np

from quiltwork.checks import FloatArray
from quiltwork.compose.constructors import gdp, laplace
from quiltwork.compose.loss import Loss, compose
from quiltwork.curves.auc_ceiling import auc_ceiling_of
from quiltwork.curves.guarantee import Guarantee
from quiltwork.curves.polygons.profile import Profile
from quiltwork.errors import InvalidParameter, Unsupported
from quiltwork.game.classifier.row_laws import RowLaw
from quiltwork.game.defenders.noise import POOL
from quiltwork.game.people.population import Population
from quiltwork.game.people.priors import Half
from quiltwork.numbers.rounding import UNIT, down, up

__all__ = ["ROUGHNESS", "Rows", "ceiling", "guarantee", "widest_swap"]

Rows = Literal["any", "pool"]
ROUGHNESS = 1e-6  # rows of float32 classifiers sum to 1 up to this; bounds for any rows are widened by it
_MIN_MOVE = 1e-90  # the least move of rows that differ at all
_POINTS = 41
_PROTECTS = "which of two images was queried, when all other queries and their number are the same"
_OTHERS = (
    "the classifier is public and was trained on other images",
    "each image is queried at most once, and noise is drawn afresh for each entry",
)


def widest_swap(candidates: FloatArray, family: str) -> tuple[float, tuple[int, int]]:
    """The largest move of one row in the pool, rounded up, and the pair that makes it.

    Gaussian: |c_k - c_l|_2.  Laplace: the larger of the sums of the positive and of the negative part of c_k - c_l.
    """
    most, pair = -1.0, (0, 0)
    for first, row in enumerate(candidates[:-1]):
        gap = candidates[first + 1 :] - row
        if family == "gaussian":
            moves = np.sqrt(np.square(gap).sum(axis=1))
        else:
            moves = np.maximum(np.maximum(gap, 0.0).sum(axis=1), np.maximum(-gap, 0.0).sum(axis=1))
        at = int(moves.argmax())
        if moves[at] > most:
            most, pair = float(moves[at]), (first, first + 1 + at)
    if bool(np.all(candidates == candidates[0])):
        return 0.0, pair
    # a difference, a square, C - 1 sums and a root: less than C + 4 units in all, one more for each step of this line;
    # squares that underflow are below the least move
    return max(up(most * (1.0 + (candidates.shape[1] + 8.0) * UNIT)), _MIN_MOVE), pair


def guarantee(candidates: FloatArray, law: RowLaw, rows: Rows) -> Guarantee:
    """The certificate, with the words that make it a promise."""
    loss, pair = _loss(candidates, law, rows)
    if law.family == "gaussian":
        because = "Gaussian noise on one row: theory/game.md section 4"
    else:
        because = "Laplace noise on the entries that rise and on those that fall, composed"
    assumes = (POOL, *_OTHERS) if rows == "pool" else (f"rows sum to 1, up to {ROUGHNESS:g}", *_OTHERS)
    witness = None if pair is None else f"candidate {pair[0]} in the place of candidate {pair[1]}"
    return Guarantee(loss, _PROTECTS, assumes, (because, "sorting and clipping are post-processing"), witness)


def ceiling(population: Population, law: RowLaw, rows: Rows) -> float:
    """The largest AUC against the certificate under the exactly-half prior, rounded up.

    Given that k is a member, swap it for a candidate chosen at random among the others: this gives the law of the
    members given that k is none.  So the two laws of the table are mixtures of swapped pairs, and their trade-off
    function is at least the certified one; with equal rates this also holds for all candidates pooled.
    """
    if not isinstance(population.prior, Half):
        because = "the number of queries varies, is published, and may tell all by itself"
        raise Unsupported("a ceiling of the AUC", because, "use the exactly-half prior")
    loss, _ = _loss(population.candidates, law, rows)
    if loss.count == 0:
        return 0.5
    if law.family == "gaussian":
        return auc_ceiling_of(loss)
    # a polygon above the certified deltas: far quicker than the trade-off function of a composition, and close
    largest = float(loss.epsilon(0.0).upper)
    epsilons = np.linspace(0.0, largest, _POINTS)
    return auc_ceiling_of(Profile(epsilons, np.asarray(loss.delta(epsilons).upper), symmetric=True))


def _loss(candidates: FloatArray, law: RowLaw, rows: Rows) -> tuple[Loss, tuple[int, int] | None]:
    """The loss of one swap; the pair that attains it where the pool decides."""
    if rows not in ("any", "pool"):
        raise InvalidParameter("rows", rows, "'any' or 'pool'")
    pair: tuple[int, int] | None = None
    if rows == "pool":
        move, pair = widest_swap(candidates, law.family)
    else:
        # rows >= 0 with sums <= s have |c - c'|_2 <= sqrt(2) s, and parts that sum to <= s
        move = up((math.sqrt(2.0) if law.family == "gaussian" else 1.0) * (1.0 + ROUGHNESS), 3)
    if move == 0.0:
        return compose(), None
    if law.family == "gaussian":
        return gdp(up(move / law.size, 3)), pair
    return 2 * laplace(down(law.size), move), pair
