"""Noise on exact answers, and intervals beside them: the only step between totals and what is published.

Reference: theory/release.md sections 5 and 7.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np

from quiltwork.mechanisms import sampling
from quiltwork.mechanisms.noise import Gaussian, Laplace
from quiltwork.numbers.stated import Stated, above, typed
from quiltwork.release.scan import Totals, candidates
from quiltwork.tables.notions.neighbors import Notion
from quiltwork.tables.schema.columns import Cat, Int
from quiltwork.tables.schema.table import Table
from quiltwork.tables.statistics.intervals import gaussian_mean, half_width, laplace_mean, sum_width
from quiltwork.tables.statistics.price import Drawn, Units, count_of_mean, level
from quiltwork.tables.statistics.statistic import Statistic, contribution
from quiltwork.tables.statistics.threshold import single_key, threshold

FAR = 2**62  # totals beyond are cut to it, so that noise cannot run out of 64 bits
Row = dict[str, Any]


def noisy(drawn: Drawn, values: list[int]) -> list[int]:
    """Each whole number plus its own noise."""
    if not values:
        return []
    near = [min(max(value, -FAR), FAR) for value in values]
    draw = sampling.discrete_laplace if drawn.law == "laplace" else sampling.discrete_gaussian
    return draw(near, drawn.drawn)


def published(found: Totals, table: Table, neighbors: Notion, confidence: float) -> list[Row]:
    """The rows of one statistic, in the order of its groups."""
    verb = found.statistic.verb
    if verb in ("count", "distinct"):
        return list(_counts(found, confidence))
    if verb == "sum":
        return list(_sums(found, table, confidence))
    if verb == "mean":
        return list(_means(found, table, confidence))
    if verb == "quantiles":
        return list(_quantiles(found, table))
    return list(_keys(found, table, neighbors, confidence))


def _row(one: Statistic, labels: tuple[str, ...], value: Any, lower: Any, upper: Any, **more: Any) -> Row:
    groups = {by.column: label for by, label in zip(one.by, labels, strict=True)}
    return {"query": one.name, **groups, **more, "value": value, "lower": lower, "upper": upper}


def _counts(found: Totals, confidence: float) -> Iterator[Row]:
    drawn = Drawn.of(found.statistic.noise, Fraction(1))
    distinct = found.statistic.verb == "distinct"
    values = [sum(one.values()) for one in found.histograms] if distinct else found.count
    width = half_width(drawn.law, drawn.size, confidence)
    for labels, value in zip(found.labels, noisy(drawn, values), strict=True):
        yield _row(found.statistic, labels, value, value - width, value + width)


def _sums(found: Totals, table: Table, confidence: float) -> Iterator[Row]:
    units = Units.of(found.statistic, table)
    drawn = Drawn.of(found.statistic.noise, Fraction(units.factor))
    width = sum_width(drawn, units, confidence)
    whole = isinstance(table.columns[str(found.statistic.of)], Int)
    for labels, value in zip(found.labels, noisy(drawn, found.sum), strict=True):
        answer = value if whole else value / units.factor
        yield _row(
            found.statistic,
            labels,
            answer,
            answer - (int(width) if whole else width),
            answer + (int(width) if whole else width),
        )


def _means(found: Totals, table: Table, confidence: float) -> Iterator[Row]:
    one = found.statistic
    units = Units.of(one, table)
    low, high = one.clip or (0.0, 0.0)
    if isinstance(one.noise, Gaussian):
        total, count = Drawn.of(one.noise, 2 * Fraction(units.factor)), count_of_mean(one.noise, units)
        middle = units.low + units.high
        twice = noisy(total, [2 * s - n * middle for s, n in zip(found.sum, found.count, strict=True)])
        people = noisy(count, found.count)
        width = units.width
        for labels, z, n in zip(found.labels, twice, people, strict=True):
            ends = gaussian_mean(z / width, n, (total.size / width, count.size), confidence)
            share = min(max(z / (n * width), -1.0), 1.0) if n > 0 else 0.0
            yield _row(one, labels, *(low + (high - low) * (1 + at) / 2 for at in (share, *ends)))
        return
    drawn = Drawn.of(one.noise, Fraction(units.factor))
    sides = [
        side for s, n in zip(found.sum, found.count, strict=True) for side in (s - n * units.low, n * units.high - s)
    ]
    drawn_sides = noisy(drawn, sides)
    for labels, u, v in zip(found.labels, drawn_sides[::2], drawn_sides[1::2], strict=True):
        ends = laplace_mean(u, v, drawn.size, confidence)
        share = min(max(u / (u + v), 0.0), 1.0) if u + v > 0 else 0.5
        yield _row(one, labels, *(low + (high - low) * at for at in (share, *ends)))


def _quantiles(found: Totals, table: Table) -> Iterator[Row]:
    one = found.statistic
    if not isinstance(one.noise, Laplace):
        raise TypeError("the noise of quantiles is a scale")
    places, value_of = candidates(one, table)
    low, high = one.clip or (0.0, 0.0)
    for labels, histogram in zip(found.labels, found.histograms, strict=True):
        counts = np.array([histogram.get(int(place), 0) for place in places], dtype=object)
        upto = np.cumsum(counts)
        drawn = [_picked(level(q), upto, counts, one.noise.scale) for q in one.q]
        answers = sorted(value_of(int(places[at])) for at in drawn)
        for q, answer in zip(one.q, answers, strict=True):
            yield _row(one, labels, answer, low, high, q=q)


def _picked(q: Fraction, upto: Any, counts: Any, scale: float) -> int:
    """A candidate drawn with weight e^(-d / scale), d the distance of q n from [records below it, records up to it]."""
    target = q.numerator * int(upto[-1])
    below, beyond = (upto - counts) * q.denominator, upto * q.denominator
    scores = [-max(target - int(b), int(a) - target, 0) for a, b in zip(below, beyond, strict=True)]
    return sampling.peel(scores, 1, Stated(above(typed(scale) * q.denominator)).above)[0]


def _keys(found: Totals, table: Table, neighbors: Notion, confidence: float) -> Iterator[Row]:
    one = found.statistic
    if one.delta is None:
        raise TypeError("keys have a delta")
    drawn = Drawn.of(one.noise, Fraction(1))
    tau = threshold(drawn.law, drawn.size, single_key(one.delta, int(contribution(neighbors))))
    width = half_width(drawn.law, drawn.size, confidence)
    column = table.columns[str(one.of)]
    for labels, histogram in zip(found.labels, found.histograms, strict=True):
        values = noisy(drawn, list(histogram.values()))
        shown = [(key, n) for key, n in zip(histogram, values, strict=True) if n >= tau]
        for key, n in sorted(shown):
            name = column.categories[key - 1] if isinstance(column, Cat) else key
            yield _row(one, labels, n, n - width, n + width, **{str(one.of): name})
