"""Small populations, and the moves of their statistics by enumeration in exact fractions."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from fractions import Fraction

import numpy as np

from quiltwork.game import Half, Population
from quiltwork.game.releases import Channel

Vector = list[Fraction]


def people(candidates: int, attributes: int, seed: int = 0, **options: object) -> Population:
    """Binary rows with shares away from 0 and 1."""
    rng = np.random.default_rng(seed)
    rows = (rng.random((2 * candidates + 2, attributes)) < rng.uniform(0.15, 0.85, attributes)).astype(float)
    return Population.of(rows, candidates, seed=seed, **options)


def data_sets(population: Population) -> list[tuple[int, ...]]:
    """Every membership vector that the prior allows."""
    count = population.size[0]
    every = itertools.product((0, 1), repeat=count)
    return [b for b in every if not isinstance(population.prior, Half) or sum(b) == count // 2]


def exact_statistic(population: Population, members: tuple[int, ...], denominator: str) -> Vector:
    """The mean of the members' rows, or twice their sum over K, with the doubles as they are."""
    rows = population.candidates.tolist()
    divisor = Fraction(len(rows), 2) if denominator == "fixed" else Fraction(max(sum(members), 1))
    return [
        sum((Fraction(row[j]) for row, b in zip(rows, members, strict=True) if b), Fraction(0)) / divisor
        for j in range(len(rows[0]))
    ]


def moves(population: Population, denominator: str) -> Iterator[Vector]:
    """Differences of the statistics of all neighbours: one swap under the exactly-half prior, else one membership."""
    apart = 2 if isinstance(population.prior, Half) else 1
    known = {b: exact_statistic(population, b, denominator) for b in data_sets(population)}
    for first, second in itertools.combinations(known, 2):
        if sum(x != y for x, y in zip(first, second, strict=True)) == apart:
            yield [x - y for x, y in zip(known[first], known[second], strict=True)]


def widest_square(population: Population, denominator: str, channel: Channel) -> Fraction:
    """mu^2: the largest squared move in units of the channel's noise, with the channel's doubles as they are."""
    largest = Fraction(0)
    for move in moves(population, denominator):
        seen = move
        if channel.basis is not None:
            columns = [[Fraction(float(x)) for x in column] for column in channel.basis.T]
            seen = [sum((b * x for b, x in zip(column, move, strict=True)), Fraction(0)) for column in columns]
        terms = zip(seen, channel.scale.tolist(), channel.variance.tolist(), strict=True)
        square = sum(((Fraction(s) * x) ** 2 / Fraction(v) for x, s, v in terms if s > 0), Fraction(0))
        largest = max(largest, square)
    return largest
