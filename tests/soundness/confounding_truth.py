"""What finite worlds truly tell, in fractions and from the definitions alone; nothing of the library is used here.

Tables are lists of rows of fractions.  An irrational place e^epsilon lies between two fractions that share 80 digits.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence
from fractions import Fraction

from tests.truth.numbers import mp

Row = Sequence[Fraction]
Table = Sequence[Row]
Pairs = Iterable[tuple[int, int]]
ZERO, ONE = Fraction(0), Fraction(1)
LARGE = mp.clone()
LARGE.prec = 400


def exp_ends(epsilon: float) -> tuple[Fraction, Fraction]:
    """Fractions on both sides of e^epsilon, for a finite double."""
    if epsilon == 0:
        return ONE, ONE
    value = LARGE.exp(LARGE.mpf(epsilon))
    near = Fraction(int(value.man)) * Fraction(2) ** int(value.exp)
    return near * (1 - Fraction(1, 10**80)), near * (1 + Fraction(1, 10**80))


def log(value: Fraction) -> object:
    """The logarithm of a fraction in many digits."""
    return LARGE.log(LARGE.mpf(value.numerator)) - LARGE.log(LARGE.mpf(value.denominator))


def through(first: Table, second: Table) -> list[list[Fraction]]:
    """P(y | s) = sum_x P(x | s) P(y | x)."""
    columns = list(zip(*second, strict=True))
    return [[sum((a * b for a, b in zip(row, column, strict=True)), ZERO) for column in columns] for row in first]


def beside(tables: Sequence[Table]) -> list[list[Fraction]]:
    """Independent given the row: columns in the order of itertools.product."""
    return [[math.prod(parts, start=ONE) for parts in itertools.product(*rows)] for rows in zip(*tables, strict=True)]


def stick(p: Row, q: Row, odds: Fraction) -> Fraction:
    """The sum of (p - odds q)_+."""
    return sum((a - odds * b for a, b in zip(p, q, strict=True) if a > odds * b), ZERO)


def delta(rows: Table, pairs: Pairs, odds: Fraction) -> Fraction:
    """The largest over the pairs."""
    return max(stick(rows[i], rows[j], odds) for i, j in pairs)


def revealed(rows: Table, pairs: Pairs) -> Fraction:
    """delta at infinite epsilon: what is possible under one secret only."""
    return max(sum((a for a, b in zip(rows[i], rows[j], strict=True) if b == 0), ZERO) for i, j in pairs)


def odds(rows: Table, pairs: Pairs, share: Fraction) -> Fraction | None:
    """The smallest e^epsilon >= 1 at which delta is at most `share`; None when there is none."""
    found = [_odds(rows[i], rows[j], share) for i, j in pairs]
    finite = [value for value in found if value is not None]
    return max(finite) if len(finite) == len(found) else None


def _odds(p: Row, q: Row, share: Fraction) -> Fraction | None:
    """Piecewise linear between the knots p/q: find the piece by its ends, then the place by the rule of three."""
    knots = sorted({ONE, *(a / b for a, b in zip(p, q, strict=True) if b > 0 and a > b)})
    heights = [stick(p, q, knot) for knot in knots]
    if heights[0] <= share:
        return ONE
    if heights[-1] > share:
        return None
    last = next(index for index, height in enumerate(heights) if height <= share)
    (left, right), (high, low) = knots[last - 1 : last + 1], heights[last - 1 : last + 1]
    return left + (right - left) * (high - share) / (high - low)


def beta(rows: Table, pairs: Pairs, alpha: Fraction) -> Fraction:
    """The least type II error at type I error alpha, over the pairs: max_t 1 - delta(t) - t alpha for each."""
    return min(_beta(rows[i], rows[j], alpha) for i, j in pairs)


def _beta(p: Row, q: Row, alpha: Fraction) -> Fraction:
    knots = {ZERO, *(a / b for a, b in zip(p, q, strict=True) if b > 0)}
    return max(ZERO, *(1 - stick(p, q, knot) - knot * alpha for knot in knots))


def amplified(data: Table, channel: Table, pairs: Pairs, place: Fraction) -> Fraction:
    """Theorem B as printed: a max over U x V of E_t'(K_x || K_x') with t' = 1 + (t - 1)/a."""
    best = ZERO
    for i, j in pairs:
        amount = stick(data[i], data[j], place)
        if amount == 0:
            continue
        inner = 1 + (place - 1) / amount
        gains = [x for x, (a, b) in enumerate(zip(data[i], data[j], strict=True)) if a > place * b]
        losses = [x for x, (a, b) in enumerate(zip(data[i], data[j], strict=True)) if a < place * b]
        if not losses:  # nothing to subtract: everything that the data tell may be told
            best = max(best, amount)
            continue
        best = max(best, amount * max(stick(channel[x], channel[y], inner) for x in gains for y in losses))
    return best


def expected(weights: Sequence[Table], channel: Table) -> Fraction:
    """The worst over the priors of sum_xz w[t][x][z] g[x][z]."""
    return max(
        sum((w * g for row, law in zip(table, channel, strict=True) for w, g in zip(row, law, strict=True)), ZERO)
        for table in weights
    )
