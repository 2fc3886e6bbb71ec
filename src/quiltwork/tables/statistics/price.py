"""What a statistic costs: integer units, how far one record moves them, and the loss of the noise that is drawn.

Everything that gets noise is an integer: counts, and sums of K(x) = rint(clamp(x) * c). K is a composition of maps that
never fall, so that K(low) <= K(x) <= K(high) whatever the rounding: a record that comes or goes moves a sum by at most
max(|K(low)|, |K(high)|), and one that turns into another by at most K(high) - K(low).

Reference: theory/release.md sections 3, 4 and 5.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction

import attrs
import numpy as np

from quiltwork.compose.constructors import approximate, exponential
from quiltwork.compose.loss import Loss
from quiltwork.errors import InvalidParameter
from quiltwork.mechanisms.noise import Auto, Gaussian, Laplace, Noise
from quiltwork.mechanisms.scales import exact_decimal
from quiltwork.mechanisms.totals import gaussian_loss, laplace_loss
from quiltwork.numbers.stated import Stated, above, typed
from quiltwork.tables.notions.neighbors import Notion, User, add_remove
from quiltwork.tables.notions.sensitivity import Holds, on_input
from quiltwork.tables.query import Query
from quiltwork.tables.schema.columns import Int
from quiltwork.tables.schema.predicates import Everything
from quiltwork.tables.schema.table import Table
from quiltwork.tables.statistics.statistic import Statistic, contribution
from quiltwork.tables.statistics.threshold import reveal, single_key, threshold

CHOOSES = "plan.calibrate(epsilon=..., delta=...) does, or quiltwork calibrate FILE --epsilon ... --delta ... --write"
MOST_BINS = 1024  # candidates for a quantile of many values
UNITS = 2**28  # integers of the farther end of a clip of real numbers


@attrs.frozen
class Units:
    """How a column is counted in integers: K(x) = rint(x * factor), and K of both ends of the clip."""

    factor: float
    low: int
    high: int

    @classmethod
    def of(cls, statistic: Statistic, table: Table) -> Units:
        """Whole numbers as they are; real ones in 2^28 steps of the farther end of the clip."""
        if statistic.of is None or statistic.clip is None:
            raise TypeError(f"{statistic.verb} has no units")
        low, high = statistic.clip
        if isinstance(table.columns[statistic.of], Int):
            return cls(1.0, int(low), int(high))
        factor = UNITS / max(abs(low), abs(high))
        return cls(factor, int(np.rint(low * factor)), int(np.rint(high * factor)))

    @property
    def farthest(self) -> int:
        """The most that a record which comes or goes moves a sum."""
        return max(abs(self.low), abs(self.high), 1)

    @property
    def width(self) -> int:
        """The most that a record which turns into another moves a sum."""
        return max(self.high - self.low, 1)


def bins(statistic: Statistic, table: Table) -> int:
    """How many candidates a quantile has: every whole number of a short range, else equally wide bins."""
    low, high = statistic.clip or (0, 0)
    whole = isinstance(table.columns[str(statistic.of)], Int) and high - low < MOST_BINS
    return int(high - low) + 1 if whole else MOST_BINS


@attrs.frozen
class Drawn:
    """Noise as the sampler draws it on integers, and its loss when they move by a shift."""

    law: str
    size: float

    @classmethod
    def of(cls, noise: Noise, factor: Fraction) -> Drawn:
        """Noise in units of the answer, `factor` integers to one unit; never less than was asked for.

        A Gaussian's size is a number whose decimal and binary forms agree, so that what is claimed is what is drawn.
        """
        if isinstance(noise, Auto):
            raise InvalidParameter("noise", "auto", "chosen first", CHOOSES)
        size = above(typed(noise.size) * factor)
        return cls("laplace", size) if isinstance(noise, Laplace) else cls("gaussian", exact_decimal(size))

    @property
    def drawn(self) -> float:
        """The size that the sampler reads as a double: no less than what is claimed, however that is read."""
        return Stated(self.size).above if self.law == "laplace" else self.size

    def loss(self, shift: int) -> Loss:
        """Of a release whose integers, together, move by at most `shift` (one coordinate is the worst, Theorem 2)."""
        return laplace_loss(self.size, shift) if self.law == "laplace" else gaussian_loss(self.size, shift)


def count_of_mean(noise: Gaussian, units: Units) -> Drawn:
    """The noise of the count beside a mean's sum: of the same share of the budget, the minimax split."""
    half = Fraction(units.width, 2)
    return Drawn("gaussian", exact_decimal(above(typed(noise.sigma) * Fraction(units.factor) / half)))


def squared_units(statistic: Statistic) -> Fraction:
    """Integers to one squared unit of the column, for a variance: UNITS is the squared width of the clip.

    A value at the share t of the clip counts (1 - t)^2, 2 t (1 - t) and t^2 of UNITS. These are no less than 0 and
    add up to UNITS, so that a record which comes or goes moves the three totals by UNITS together, and one that turns
    into another by at most twice that: one coordinate is the worst. With totals B0, B1, B2 of n UNITS in all the
    variance is (B0 B2 - B1^2 / 4) / n^2.
    """
    low, high = statistic.clip or (0.0, 1.0)
    return UNITS / (typed(high) - typed(low)) ** 2


@attrs.frozen
class Price:
    """The loss of one group of a statistic: for one record, and for a kept record that turns into another."""

    loss: Loss
    inside: Loss | None = None


def price(statistic: Statistic, table: Table, neighbors: Notion, q: float | None = None) -> Price:
    """The price of one group, of one quantile where several are asked for."""
    noise = statistic.noise
    if statistic.verb in ("count", "distinct"):
        return Price(Drawn.of(noise, Fraction(1)).loss(1))
    if statistic.verb == "keys":
        records = contribution(neighbors)
        if statistic.delta is None or math.isinf(records):
            raise InvalidParameter("max_records", records, "a bound on the records of a person", "keys need one")
        drawn = Drawn.of(noise, Fraction(1))
        shown = reveal(
            drawn.law, drawn.size, threshold(drawn.law, drawn.size, single_key(statistic.delta, int(records)))
        )
        if not isinstance(neighbors, User):
            return Price(_key_of_records(drawn, shown))
        one = drawn.loss(1) + approximate(0.0, shown)
        # persons are counted, so that a person moves each of so many counts by one
        return Price(int(records) * one if of_persons(statistic, neighbors) else one)
    if statistic.verb == "quantiles":
        return Price(exponential(above(rank_range(level(q)) / typed(_scale(noise)))))
    if statistic.verb == "variance":
        drawn = Drawn.of(noise, squared_units(statistic))
        return Price(drawn.loss(UNITS), drawn.loss(2 * UNITS))
    units = Units.of(statistic, table)
    nullable = bool(getattr(table.columns[str(statistic.of)], "nullable", False))
    if statistic.verb == "sum":
        drawn = Drawn.of(noise, Fraction(units.factor))
        low, high = (min(units.low, 0), max(units.high, 0)) if nullable else (units.low, units.high)
        return Price(drawn.loss(units.farthest), drawn.loss(max(high - low, 1)))
    return _mean(noise, units, nullable=nullable)


def _key_of_records(drawn: Drawn, shown: float) -> Loss:
    """Of a key whose records are counted: of k records that come together all may have one key, alone with it.

    It is then shown with P(k + Z >= tau), up to e^((k - 1) / scale) times P(1 + Z >= tau), and not k times: the loss is
    one whose groups grow like that, not the noise beside a chance of its own.
    """
    if drawn.law != "laplace":
        raise InvalidParameter("noise", drawn.law, "laplace(scale)", "for keys whose records, not persons, are counted")
    return approximate(above(1 / typed(drawn.size)), shown)


def _mean(noise: Noise, units: Units, *, nullable: bool) -> Price:
    """Laplace: both distances to the ends, which one record moves by the width together. Gaussian: sum and count."""
    if not isinstance(noise, Gaussian):
        return Price(Drawn.of(noise, Fraction(units.factor)).loss(units.width))
    total = Drawn.of(noise, 2 * Fraction(units.factor))  # of twice the sum, around twice the middle
    loss = total.loss(units.width) + count_of_mean(noise, units).loss(1)
    return Price(loss, None if nullable else total.loss(2 * units.width))


def _scale(noise: Noise) -> float:
    if not isinstance(noise, Laplace):
        raise InvalidParameter("noise", "auto", "chosen first", CHOOSES)
    return noise.scale


def level(q: float | None) -> Fraction:
    """The level of a quantile as a simple fraction, so that scores are whole numbers of moderate size."""
    return typed(q).limit_denominator(10_000)


def rank_range(q: Fraction) -> Fraction:
    """How far apart one record can move the scores of two candidates for a quantile.

    The score of v is minus the distance of q n from [records below v, records up to v]. A new record x moves that
    distance by at most q for v < x, by at most 1 - q for v > x, and for v = x it falls by at most the larger of both:
    all changes lie in [-m, m] with m = max(q, 1 - q).
    """
    return 2 * max(q, 1 - q)


def queries(statistic: Statistic, table: Table, neighbors: Notion) -> Iterator[Query]:
    """One query of the plan for every group, and for every quantile of it."""
    levels: tuple[float | None, ...] = statistic.q or (None,)
    prices = {q: price(statistic, table, neighbors, q) for q in levels}
    reads = frozenset() if statistic.of is None else frozenset((statistic.of,))
    holds = _holds(statistic, neighbors)
    for labels, where in statistic.groups(table).items():
        group = ", ".join(f"{one.column} = {label}" for one, label in zip(statistic.by, labels, strict=True))
        for q, found in prices.items():
            named = statistic.name + (f": {group}" if group else "") + ("" if q is None else f" at {q:g}")
            kept = Everything() if where is None else where
            yield Query(named, found.loss, holds, kept, reads, inside=found.inside, shown=statistic.in_words())


def _holds(statistic: Statistic, neighbors: Notion) -> Holds:
    """For single records; distinct persons are one, however many records come with them."""
    return on_input(neighbors if of_persons(statistic, neighbors) else add_remove())


def of_persons(statistic: Statistic, neighbors: Notion) -> bool:
    """Whether the price is that of a whole person; keys by groups are priced record by record."""
    if not isinstance(neighbors, User):
        return False
    return (
        statistic.of == neighbors.id if statistic.verb == "distinct" else statistic.verb == "keys" and not statistic.by
    )
