"""The table of a classifier's answers: one noisy row of class probabilities for each image that was queried.

A public classifier, trained on other images, maps an image to class probabilities.  The attacker knows K candidate
images, hence their exact rows; who of them is in the query set is what is protected.  The classifier's own training
set is not in question here.

    exact       one row of class probabilities a member of the query set
    published   each entry with noise, clipped to [0, 1], rows in an order that carries nothing

Under the exactly-half prior every table has K // 2 rows.  Under other priors the number of rows varies and is
published: tables have room for K rows, and those that are missing hold `MARKER`.

Reference: seed 004 appendix P.5 and Figure 1h, which do not say what is released; theory/game.md sections 3 and 8.

The published table as numbers side by side, in an order that depends on nothing but its rows.

Rows are sorted by the class that they name (their largest entry), then by that entry, the surest first, then by all
entries in turn.  Rows that tie in all of them are equal, so every order of the queries gives the same table: order
carries nothing, and a network finds rows of one class side by side.

When the number of queries varies it is published too: missing rows are filled with `MARKER` and come last.

Reference: seed 004 appendix P.5, specified here; theory/game.md section 8.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from quiltwork import checks
from quiltwork.checks import FloatArray
from quiltwork.curves.guarantee import Guarantee
from quiltwork.errors import InvalidParameter
from quiltwork.game.classifier.certificate import ROUGHNESS, Rows, ceiling, guarantee
from quiltwork.game.classifier.row_laws import RowLaw
from quiltwork.game.classifier.row_matching import Evidence, features_of, size_odds
from quiltwork.game.defenders.noise import Gaussian, Laplace
from quiltwork.game.people.population import Population, rows_of_people
from quiltwork.game.people.priors import Half, Members
from quiltwork.game.people.statistic import members_of
from quiltwork.game.releases.channel import LinearModel
from quiltwork.game.releases.release import Draws

__all__ = ["MARKER", "QueryRows", "arranged", "filled_rows", "order_of"]

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
class QueryRows:
    """A table with one row of class probabilities a query, noise on each entry."""

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
        object.__setattr__(self, "law", RowLaw.of(self.noise, checks.flag("clip", self.clip)))
        object.__setattr__(self, "_odds", size_odds(self.population.prior.rates(people)))

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
        if not isinstance(rng, np.random.Generator):
            raise InvalidParameter("rng", rng, "a numpy.random.Generator, for example numpy.random.default_rng(0)")
        chosen = self._members(count, rng, members)
        queried = np.argsort(~chosen, axis=1, kind="stable")[:, : self.slots]
        empty = np.arange(self.slots) >= chosen.sum(axis=1)[:, None]
        exact = self.population.candidates[queried]
        tables = self.law.draw(exact, rng)
        exact[empty], tables[empty] = MARKER, MARKER
        order = order_of(tables)
        return Draws(chosen, arranged(tables, order), arranged(exact, order))

    def linear(self) -> LinearModel | None:
        """None: a table of rows in no order is no linear function of who was queried."""
        return None

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
        return guarantee(self.population.candidates, self.law, rows)

    def auc_ceiling(self, rows: Rows = "any") -> float:
        """The largest AUC, pooled or of one candidate, that the certificate leaves to an attacker without b_-k."""
        return ceiling(self.population, self.law, rows)

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
        allowed = f"a matrix with {self.dimension} columns: the outputs of this release"
        values = checks.numbers("outputs", outputs, allowed, -np.inf, np.inf)
        if values.ndim != 2 or values.shape[1] != self.dimension or not bool(np.all(np.isfinite(values))):
            raise InvalidParameter("outputs", f"shape {values.shape}", allowed)
        step = max(1, _MAX_LIKELIHOODS // (self.slots * people))
        for start in range(0, len(values), step):
            tables = values[start : start + step].reshape(-1, self.slots, classes)
            filled = filled_rows(tables) if self.slots == people else np.ones(tables.shape[:2], dtype=np.bool_)
            yield tables, filled, self.law.log_likelihoods(tables, self.population.candidates)
