"""The table of a classifier's answers: one noisy row of class probabilities for each image that was queried.

A public classifier, trained on other images, maps an image to class probabilities.  The attacker knows K candidate
images, hence their exact rows; who of them is in the query set is what is protected.  The classifier's own training
set is not in question here.

    exact       one row of class probabilities a member of the query set
    published   each entry with noise, clipped to [0, 1], rows in an order that carries nothing

Under the exactly-half prior every table has K // 2 rows.  Under other priors the number of rows varies and is
published: tables have room for K rows, and those that are missing hold `MARKER` and come last.

What is proven is about one query swapped for another: two query sets of one size that differ in one image give tables
that differ, before sorting, in one row, c_k or c_l.  Sorting and clipping are post-processing.  So the guarantee is
that of noise on one row; the number of queries is public and not protected.

    Gaussian   mu = |c_k - c_l|_2 / sigma, at most sqrt(2) / sigma for probabilities
    Laplace    two releases of sensitivity t each, where t = |c_k - c_l|_1 / 2 is at most 1

Laplace: let t+ and t- be the sums of the positive and of the negative part of c_k - c_l.  Moving a row by d_1, then by
d_2 in another entry is at most as visible as moving one entry by d_1 + d_2: trade-off functions f, g of two steps give
1 - (1 - g) o (1 - f) at least, and on a line, where best tests are thresholds, that is what d_1 + d_2 gives exactly.
So the entries that rise are dominated by one Laplace noise with sensitivity t+, those that fall by one with t-, and
both together compose; for rows that sum to 1, t+ = t- = t.  Unit vectors attain it.

Reference: seed 004 appendix P.5 and Figure 1h, which do not say what is released; theory/game.md sections 3, 4 (swap
neighbours, instance guarantees) and 8; Dong, Roth and Su 2022 (Gaussian noise, post-processing, steps between data
sets).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from quiltwork import checks
from quiltwork.checks import FloatArray
from quiltwork.compose.constructors import gdp, laplace
from quiltwork.compose.loss import Loss, compose
from quiltwork.curves.auc_ceiling import auc_ceiling_of
from quiltwork.curves.guarantee import Guarantee
from quiltwork.curves.polygons.profile import Profile
from quiltwork.errors import InvalidParameter, Unsupported
from quiltwork.game.attackers.linear import outputs_of
from quiltwork.game.classifier.row_matching import Evidence, RowLaw, features_of, size_odds
from quiltwork.game.defenders.certificates import Rows
from quiltwork.game.defenders.noise import POOL, Gaussian, Laplace
from quiltwork.game.people.population import Half, Members, Population, members_of, rows_of_people
from quiltwork.game.releases import Draws, Release
from quiltwork.numbers.rounding import UNIT, down, up

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


MARKER = -1.0  # no probability, so that nobody takes it for one


def order_of(tables: FloatArray) -> NDArray[np.intp]:
    """For each table (B x n x C) the order of its rows."""
    named = tables.argmax(axis=2)
    surest = -np.take_along_axis(tables, named[:, :, None], axis=2)[:, :, 0]
    padding = ~filled_rows(tables)
    columns = [tables[:, :, column] for column in range(tables.shape[2] - 1, -1, -1)]
    return np.lexsort((*columns, surest, named, padding), axis=-1)  # the last key decides first


def arranged(tables: FloatArray, order: NDArray[np.intp]) -> FloatArray:
    """Tables with their rows in this order, one line of numbers each."""
    moved = np.take_along_axis(tables, order[:, :, None], axis=1)
    return np.asarray(moved.reshape(len(tables), -1))


def filled_rows(tables: FloatArray) -> Members:
    """Which rows stand for a query: not all entries are the marker."""
    return np.asarray((tables != MARKER).any(axis=2))


_MAX_LIKELIHOODS = 2**18  # likelihoods held at a time: 2 MB, which caches hold
_REFERENCE_IMAGES = 100  # reference images that stand for all others in the features


@rows_of_people
@attrs.frozen(eq=False)
class QueryRows(Release):
    """A table with one row of class probabilities a query, noise on each entry.

    It has no linear model: rows in no order are no linear function of who was queried.
    """

    population: Population
    noise: Gaussian | Laplace
    clip: bool = True
    law: RowLaw = attrs.field(init=False, repr=False)
    _odds: FloatArray = attrs.field(init=False, repr=False)

    def __attrs_post_init__(self) -> None:
        if not isinstance(self.population, Population):
            raise InvalidParameter("population", self.population, "a Population of class probabilities")
        people, classes = self.population.size
        if people < 2 or classes < 2:
            raise InvalidParameter("population", f"{people} x {classes}", "at least 2 candidates and 2 classes")
        sums = self.population.candidates.sum(axis=1)
        if not bool(np.all(np.abs(sums - 1.0) <= 0.5 * ROUGHNESS)):
            far = float(sums[np.abs(sums - 1.0).argmax()])
            raise InvalidParameter("candidates", f"a row with sum {far:g}", "rows of probabilities that sum to 1")
        # attrs.frozen: fields that follow from the others are set once, here
        law = RowLaw.of(self.noise, checks.flag("clip", self.clip))
        checks.settle(self, law=law, _odds=size_odds(self.population.prior.rates(people)))

    @property
    def name(self) -> str:
        """The noise, and what it is on."""
        return f"query rows, {self.noise.name}"

    @property
    def slots(self) -> int:
        """Rows of a table, with those that may be empty."""
        prior, people = self.population.prior, self.population.size[0]
        return prior.size(people) if isinstance(prior, Half) else people

    @property
    def dimension(self) -> int:
        """Numbers in one release."""
        return self.slots * self.population.size[1]

    @property
    def constant_error(self) -> float:
        """The error of a table that holds the candidates' median row for each query, and so tells only their number.

        Noise with a larger `Draws.error` is of no use: this is better by that measure, and leaves every AUC at 1/2.
        """
        rows, (people, _) = self.population.candidates, self.population.size
        rates = self.population.prior.rates(people)
        gaps = np.abs(rows - np.median(rows, axis=0)).sum(axis=1)
        return float(rates @ gaps) / self.dimension

    def draw(self, count: int, rng: np.random.Generator, members: Members | None = None) -> Draws:
        """Draw query sets from the prior, or take the members given, and publish each.

        `exact` has the rows in the order of `outputs`, so that `Draws.error` compares each answer with its own image.
        """
        checks.generator(rng)
        chosen = self._members(count, rng, members)
        queried = np.argsort(~chosen, axis=1, kind="stable")[:, : self.slots]
        empty = np.arange(self.slots) >= chosen.sum(axis=1)[:, None]
        exact = self.population.candidates[queried]
        tables = self.law.draw(exact, rng)
        exact[empty], tables[empty] = MARKER, MARKER
        order = order_of(tables)
        return Draws(chosen, arranged(tables, order), arranged(exact, order))

    def features(self, outputs: FloatArray) -> FloatArray | None:
        """How the rows speak for each candidate, against a reference sample: see `evidence.FEATURES`."""
        reference = self.population.reference[:_REFERENCE_IMAGES]

        def read(tables: FloatArray, filled: Members, logs: FloatArray) -> FloatArray:
            usual = logsumexp(self.law.log_likelihoods(tables, reference), axis=2) - np.log(len(reference))
            return features_of(logs, filled, np.asarray(usual))

        return np.concatenate([read(*part) for part in self._parts(outputs)])

    def evidence(self, outputs: Any, read: Evidence) -> FloatArray:
        """What `read` makes of log-likelihoods (n x rows x K), filled rows, and the log-odds of the size, in parts."""
        parts = self._parts(outputs)
        return np.concatenate([read(logs, filled, self._odds[filled.sum(axis=1)]) for _, filled, logs in parts])

    def certificate(self, rows: Rows = "any") -> Guarantee:
        """What is proven when one query is swapped: for any images, or for this public pool of candidates."""
        loss, pair = self._loss(rows)
        if self.law.family == "gaussian":
            because = "Gaussian noise on one row: theory/game.md section 4"
        else:
            because = "Laplace noise on the entries that rise and on those that fall, composed"
        assumes = (POOL, *_OTHERS) if rows == "pool" else (f"rows sum to 1, up to {ROUGHNESS:g}", *_OTHERS)
        witness = None if pair is None else f"candidate {pair[0]} in the place of candidate {pair[1]}"
        return Guarantee(loss, _PROTECTS, assumes, (because, "sorting and clipping are post-processing"), witness)

    def auc_ceiling(self, rows: Rows = "any") -> float:
        """The largest AUC, pooled or of one candidate, that the certificate leaves to an attacker without b_-k.

        Under the exactly-half prior, rounded up.  Given that k is a member, swap it for a candidate chosen at random
        among the others: this gives the law of the members given that k is none.  So the two laws of the table are
        mixtures of swapped pairs, and their trade-off function is at least the certified one; with equal rates this
        also holds for all candidates pooled.
        """
        if not isinstance(self.population.prior, Half):
            because = "the number of queries varies, is published, and may tell all by itself"
            raise Unsupported("a ceiling of the AUC", because, "use the exactly-half prior")
        loss, _ = self._loss(rows)
        if loss.count == 0:
            return 0.5
        if self.law.family == "gaussian":
            return auc_ceiling_of(loss)
        # a polygon above the certified deltas: far quicker than the trade-off function of a composition, and close
        epsilons = np.linspace(0.0, float(loss.epsilon(0.0).upper), _POINTS)
        return auc_ceiling_of(Profile(epsilons, np.asarray(loss.delta(epsilons).upper), symmetric=True))

    def _loss(self, rows: Rows) -> tuple[Loss, tuple[int, int] | None]:
        """The loss of one swap; the pair that attains it where the pool decides."""
        law, pair = self.law, None
        if checks.one_of("rows", rows, ("any", "pool")) == "pool":
            move, pair = widest_swap(self.population.candidates, law.family)
        else:
            # rows >= 0 with sums <= s have |c - c'|_2 <= sqrt(2) s, and parts that sum to <= s
            move = up((math.sqrt(2.0) if law.family == "gaussian" else 1.0) * (1.0 + ROUGHNESS), 3)
        if move == 0.0:
            return compose(), None
        if law.family == "gaussian":
            return gdp(up(move / law.size, 3)), pair
        return 2 * laplace(down(law.size), move), pair

    def _members(self, count: Any, rng: np.random.Generator, members: Members | None) -> Members:
        people = self.population.size[0]
        if members is None:
            return self.population.prior.draw(checks.count("count", count, 1), people, rng)
        chosen = members_of(members, people)
        if self.slots < people and not bool(np.all(chosen.sum(axis=1) == self.slots)):
            raise InvalidParameter("members", "other sizes", f"{self.slots} members in each set, as the prior says")
        return chosen

    def _parts(self, outputs: Any) -> Iterator[tuple[FloatArray, Members, FloatArray]]:
        """Tables, their filled rows and the log-likelihoods of each row and candidate, a few releases at a time."""
        people, classes = self.population.size
        values = outputs_of(outputs, self.dimension)
        step = max(1, _MAX_LIKELIHOODS // (self.slots * people))
        for start in range(0, len(values), step):
            tables = values[start : start + step].reshape(-1, self.slots, classes)
            filled = filled_rows(tables) if self.slots == people else np.ones(tables.shape[:2], dtype=np.bool_)
            yield tables, filled, self.law.log_likelihoods(tables, self.population.candidates)
