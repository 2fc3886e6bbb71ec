"""What finite worlds truly tell, in whole numbers and from the definitions alone; nothing of the library is used here.

A table is whole numbers over one unit, so that no fraction has to be reduced.  An irrational place e^epsilon lies
between two fractions that share 80 digits.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import Any

import attrs
from tests.truth.numbers import mp

Pairs = Iterable[tuple[int, int]]
ZERO, ONE = Fraction(0), Fraction(1)
LARGE = mp.clone()
LARGE.prec = 400


@attrs.frozen
class Table:
    """Rows of probabilities: rows[i][y] / unit."""

    rows: tuple[tuple[int, ...], ...]
    unit: int

    @classmethod
    def of(cls, rows: Iterable[Sequence[Fraction]]) -> Table:
        """From fractions."""
        listed = [list(row) for row in rows]
        unit = math.lcm(*(entry.denominator for row in listed for entry in row))
        return cls(tuple(tuple(int(entry * unit) for entry in row) for row in listed), unit)

    @property
    def fractions(self) -> list[list[Fraction]]:
        """As fractions."""
        return [[Fraction(entry, self.unit) for entry in row] for row in self.rows]

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return len(self.rows), len(self.rows[0])

    def through(self, channel: Table) -> Table:
        """P(y | s) = sum_x P(x | s) P(y | x)."""
        columns = list(zip(*channel.rows, strict=True))
        rows = tuple(
            tuple(sum(a * b for a, b in zip(row, column, strict=True)) for column in columns) for row in self.rows
        )
        return Table(rows, self.unit * channel.unit)

    def grouped(self, labels: Sequence[int]) -> Table:
        """Columns of one label summed."""
        groups = [[y for y, label in enumerate(labels) if label == k] for k in range(max(labels) + 1)]
        return Table(tuple(tuple(sum(row[y] for y in group) for group in groups) for row in self.rows), self.unit)


def beside(*tables: Table) -> Table:
    """Independent given the row: columns in the order of itertools.product."""
    rows = tuple(
        tuple(math.prod(parts) for parts in itertools.product(*rows))
        for rows in zip(*(table.rows for table in tables), strict=True)
    )
    return Table(rows, math.prod(table.unit for table in tables))


def exp_ends(epsilon: float) -> tuple[Fraction, Fraction]:
    """Fractions on both sides of e^epsilon, for a finite double."""
    if epsilon == 0:
        return ONE, ONE
    value = LARGE.exp(LARGE.mpf(epsilon))
    near = Fraction(int(value.man)) * Fraction(2) ** int(value.exp)
    return near * (1 - Fraction(1, 2**270)), near * (1 + Fraction(1, 2**270))


def log(value: Fraction) -> Any:
    """The logarithm of a fraction in many digits."""
    return LARGE.log(LARGE.mpf(value.numerator)) - LARGE.log(LARGE.mpf(value.denominator))


def stick(table: Table, first: int, second: int, odds: Fraction) -> Fraction:
    """The sum of (p - odds q)_+."""
    above, below = odds.numerator, odds.denominator
    terms = (below * a - above * b for a, b in zip(table.rows[first], table.rows[second], strict=True))
    return Fraction(sum(term for term in terms if term > 0), below * table.unit)


def delta(table: Table, pairs: Pairs, odds: Fraction) -> Fraction:
    """The largest over the pairs."""
    return max(stick(table, i, j, odds) for i, j in pairs)


def revealed(table: Table, pairs: Pairs) -> Fraction:
    """delta at infinite epsilon: what is possible under one secret only."""
    found = (
        sum(a for a, b in zip(table.rows[i], table.rows[j], strict=True) if b == 0) for i, j in pairs
    )  # fmt: skip
    return Fraction(max(found), table.unit)


def odds(table: Table, pairs: Pairs, share: Fraction) -> Fraction | None:
    """The smallest e^epsilon >= 1 at which delta is at most `share`; None when there is none."""
    found = [_odds(table, i, j, share) for i, j in pairs]
    finite = [value for value in found if value is not None]
    return max(finite) if len(finite) == len(found) else None


def _odds(table: Table, i: int, j: int, share: Fraction) -> Fraction | None:
    """Piecewise linear between the knots p/q: find the piece by its ends, then the place by the rule of three."""
    knots = sorted({ONE, *(Fraction(a, b) for a, b in zip(table.rows[i], table.rows[j], strict=True) if 0 < b < a)})
    if stick(table, i, j, ONE) <= share:
        return ONE
    if stick(table, i, j, knots[-1]) > share:
        return None
    low, high = 0, len(knots) - 1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if stick(table, i, j, knots[middle]) <= share else (middle, high)
    top, bottom = stick(table, i, j, knots[low]), stick(table, i, j, knots[high])
    return knots[low] + (knots[high] - knots[low]) * (top - share) / (top - bottom)


def beta(table: Table, pairs: Pairs, alpha: Fraction) -> Fraction:
    """The least type II error at type I error alpha, over the pairs (Neyman and Pearson)."""
    return min(_beta(table, i, j, alpha) for i, j in pairs)


def _beta(table: Table, i: int, j: int, alpha: Fraction) -> Fraction:
    """Reject the likeliest first, and a part of the last."""
    outcomes = [(a, b) for a, b in zip(table.rows[i], table.rows[j], strict=True) if a > 0]
    outcomes.sort(key=lambda pair: math.inf if pair[1] == 0 else Fraction(*pair), reverse=True)
    left, power = alpha * table.unit, ZERO
    for a, b in outcomes:
        share = ONE if b <= left else left / b
        left, power = left - share * b, power + share * a
        if share < 1:
            break
    return 1 - power / table.unit


def amplified(data: Table, channel: Table, pairs: Pairs, place: Fraction) -> Fraction:
    """Theorem B as printed: a max over U x V of E_t'(K_x || K_x') with t' = 1 + (t - 1)/a."""
    best = ZERO
    for i, j in pairs:
        amount = stick(data, i, j, place)
        if amount == 0:
            continue
        inner = 1 + (place - 1) / amount
        both = list(zip(data.rows[i], data.rows[j], strict=True))
        gains, losses = ([x for x, (a, b) in enumerate(both) if sign * (a - place * b) > 0] for sign in (1, -1))
        if not losses:  # nothing to subtract: all that the data tell may be told
            best = max(best, amount)
            continue
        best = max(best, amount * max(stick(channel, x, y, inner) for x in gains for y in losses))
    return best


def expected(weights: Sequence[Sequence[Sequence[Fraction]]], channel: Table) -> Fraction:
    """The worst over the priors of sum_xz w[t][x][z] g[x][z]."""
    return (
        max(
            sum(
                (w * g for row, law in zip(table, channel.rows, strict=True) for w, g in zip(row, law, strict=True)),
                ZERO,
            )
            for table in weights
        )
        / channel.unit
    )
