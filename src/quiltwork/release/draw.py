"""Noise on exact answers, and intervals beside them: the only step between totals and what is published.

Reference: theory/release.md sections 5 and 7.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np

from quiltwork.mechanisms import sampling
from quiltwork.mechanisms.noise import Gaussian, Laplace
from quiltwork.numbers.stated import Stated, above, typed
from quiltwork.release.integers import candidates
from quiltwork.release.scan import Totals
from quiltwork.tables.notions.neighbors import Notion
from quiltwork.tables.schema.columns import Cat, Int
from quiltwork.tables.schema.table import Table
from quiltwork.tables.statistics.intervals import (
    gaussian_mean,
    half_width,
    laplace_mean,
    normal_quantile,
    sum_width,
    two_laplace_width,
    variance_of,
    variance_range,
)
from quiltwork.tables.statistics.price import UNITS, Drawn, Units, count_of_mean, level, squared_units
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
    if verb == "variance":
        return list(_variances(found, confidence))
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
    made = _gaussian_mean if isinstance(one.noise, Gaussian) else _laplace_mean
    low, high = one.clip or (0.0, 0.0)
    for labels, (share, ends, parts) in zip(found.labels, made(found, units, confidence), strict=True):
        yield _row(one, labels, *(low + (high - low) * at for at in (share, *ends)))
        for part, (value, width) in zip(("sum", "count") if one.parts else (), parts, strict=False):
            row = _row(one, labels, value, value - width, value + width)
            yield {**row, "query": f"{one.name}: {part}"}


Mean = tuple[float, tuple[float, float], tuple[tuple[float, float], ...]]  # share, ends, sum and count with widths


def _gaussian_mean(found: Totals, units: Units, confidence: float) -> Iterator[Mean]:
    """The sum around the middle of the clip, and the count, each with noise of its own."""
    noise = found.statistic.noise
    if not isinstance(noise, Gaussian):
        raise TypeError("Gaussian noise")
    total, count = Drawn.of(noise, 2 * Fraction(units.factor)), count_of_mean(noise, units)
    middle, width = units.low + units.high, units.width
    twice = noisy(total, [2 * s - n * middle for s, n in zip(found.sum, found.count, strict=True)])
    people = noisy(count, found.count)
    spread = half_width("gaussian", count.size, confidence)
    sum_spread = normal_quantile(confidence) * math.hypot(total.size, middle * count.size) / 2 / units.factor
    for z, n in zip(twice, people, strict=True):
        share = min(max(z / (n * width), -1.0), 1.0) if n > 0 else 0.0
        ends = gaussian_mean(z / width, n, (total.size / width, count.size), confidence)
        parts = ((z + n * middle) / 2 / units.factor, sum_spread), (n, spread)
        yield (1 + share) / 2, ((1 + ends[0]) / 2, (1 + ends[1]) / 2), parts


def _laplace_mean(found: Totals, units: Units, confidence: float) -> Iterator[Mean]:
    """The distances of all values to both ends of the clip, which one record moves by its width together."""
    drawn = Drawn.of(found.statistic.noise, Fraction(units.factor))
    pairs = zip(found.sum, found.count, strict=True)
    drawn_sides = noisy(drawn, [side for s, n in pairs for side in (s - n * units.low, n * units.high - s)])
    scale = drawn.size / units.width
    spread = two_laplace_width(scale, scale, confidence)
    sum_spread = two_laplace_width(abs(units.high) * scale, abs(units.low) * scale, confidence) / units.factor
    for u, v in zip(drawn_sides[::2], drawn_sides[1::2], strict=True):
        share = min(max(u / (u + v), 0.0), 1.0) if u + v > 0 else 0.5
        total = (u * units.high + v * units.low) / units.width / units.factor
        yield share, laplace_mean(u, v, drawn.size, confidence), ((total, sum_spread), ((u + v) / units.width, spread))


def _variances(found: Totals, confidence: float) -> Iterator[Row]:
    """Of three totals with noise on each; the interval holds every variance of totals that noise does not contradict.

    Each is within its width with probability c^(1/3), all of them with c: at least as often as is said.
    """
    one = found.statistic
    drawn = Drawn.of(one.noise, squared_units(one))
    low, high = one.clip or (0.0, 0.0)
    width = half_width(drawn.law, drawn.size, confidence ** (1 / 3))
    exact = [
        part
        for n, near, far in zip(found.count, found.sum, found.squares, strict=True)
        for part in (near, n * UNITS - near - far, far)
    ]
    totals = noisy(drawn, exact)
    for labels, three in zip(found.labels, zip(totals[::3], totals[1::3], totals[2::3], strict=True), strict=True):
        inside = (max(total, 0) for total in three)
        shares = (variance_of(*inside), *variance_range(three, width))
        yield _row(one, labels, *(share * (high - low) ** 2 for share in shares))


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
