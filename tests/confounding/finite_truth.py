"""Finite worlds in fractions, as the definitions read: slow, obvious, exact.  No code of the library is used.

The inverse and the trade-off function are found otherwise than in the library: from the values of D at its knots.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import Any

import mpmath
from hypothesis import strategies as st

Law = list[Fraction]
Table = list[Law]
Pairs = Iterable[tuple[int, int]]

ZERO, ONE = Fraction(0), Fraction(1)
MP = mpmath.mp.clone()
MP.dps = 90


# ---- reading


def typed(value: Any) -> Fraction:
    """The decimal that was typed, where a float is given."""
    return Fraction(repr(float(value))) if isinstance(value, float) else Fraction(value)


def readings(value: float) -> set[Fraction]:
    """A stated number as the decimal typed and as its double."""
    return {Fraction(value), typed(value)}


def table(rows: Any, read: Any = typed) -> Table:
    """The rows, each divided by its exact sum."""
    read_rows = [[read(entry) for entry in row] for row in rows]
    return [[entry / sum(row) for entry in row] for row in read_rows]


def both_readings(rows: Any) -> list[Table]:
    """As decimals and as doubles."""
    return [table(rows, typed), table(rows, Fraction)]


# ---- laws


def through(laws: Table, channel: Table) -> Table:
    """P(y | s) = sum_x P(x | s) P(y | x)."""
    return [
        [sum((a * k[y] for a, k in zip(law, channel, strict=True)), ZERO) for y in range(len(channel[0]))]
        for law in laws
    ]


def beside(*tables: Table) -> Table:
    """Independent outputs, in the order of itertools.product."""
    return [
        [math.prod(entries, start=ONE) for entries in itertools.product(*rows)] for rows in zip(*tables, strict=True)
    ]


def all_pairs(count: int) -> list[tuple[int, int]]:
    return list(itertools.permutations(range(count), 2))


# ---- one pair


def stick(p: Law, q: Law, odds: Any) -> Any:
    """D(t): the sum of (p - t q)_+."""
    return sum((a - odds * b for a, b in zip(p, q, strict=True) if a > odds * b), ZERO)


def knots(p: Law, q: Law) -> list[Fraction]:
    return sorted({a / b for a, b in zip(p, q, strict=True) if b > 0})


def odds_for(p: Law, q: Law, delta: Fraction) -> Fraction | None:
    """The smallest t >= 1 with D(t) <= delta: D is linear between knots."""
    places = [ONE, *(knot for knot in knots(p, q) if knot > 1)]
    heights = [stick(p, q, place) for place in places]
    if heights[0] <= delta:
        return ONE
    for (t, high), (u, low) in itertools.pairwise(zip(places, heights, strict=True)):
        if low <= delta:
            return t + (u - t) * (high - delta) / (high - low)
    return None


def type_two(p: Law, q: Law, alpha: Fraction) -> Fraction:
    """beta(alpha), the largest of 1 - D(t) - t alpha: a concave function of t that turns at knots."""
    return max(1 - stick(p, q, t) - t * alpha for t in [ZERO, *knots(p, q)])


# ---- the worst pair


def delta_at(laws: Table, odds: Fraction, pairs: Pairs | None = None) -> Fraction:
    return max(stick(laws[i], laws[j], odds) for i, j in pairs or all_pairs(len(laws)))


def odds_at(laws: Table, delta: Fraction, pairs: Pairs | None = None) -> Fraction | None:
    found = [odds_for(laws[i], laws[j], delta) for i, j in pairs or all_pairs(len(laws))]
    return None if None in found else max(odds for odds in found if odds is not None)


def beta_at(laws: Table, alpha: Fraction, pairs: Pairs | None = None) -> Fraction:
    return min(type_two(laws[i], laws[j], alpha) for i, j in pairs or all_pairs(len(laws)))


def power_of_e(epsilon: float, read: Any = Fraction) -> Fraction:
    """e^epsilon to about 90 digits, as a fraction."""
    value = MP.exp(MP.mpf(read(epsilon).numerator) / read(epsilon).denominator)
    return Fraction(int(value.man)) * Fraction(2) ** int(value.exp)


def delta_near(laws: Table, epsilon: float, pairs: Pairs | None = None, read: Any = Fraction) -> Fraction:
    """delta(epsilon) to about 75 digits; beyond 1e4 it is what it is at infinity, since no ratio here is so large."""
    if epsilon > 1e4:
        listed = list(pairs or all_pairs(len(laws)))
        return max(sum((a for a, b in zip(laws[i], laws[j], strict=True) if b == 0), ZERO) for i, j in listed)
    return ONE if epsilon < -1e4 else delta_at(laws, power_of_e(epsilon, read), pairs)


def logarithm(odds: Fraction | None) -> Any:
    return MP.inf if odds is None else MP.log(MP.mpf(odds.numerator)) - MP.log(MP.mpf(odds.denominator))


# ---- Theorem B


def contracted(first: Law, second: Law, channel: Table, odds: Fraction) -> Fraction:
    """a max E_t'(K_x || K_x') over U x V, for odds >= 1 (theory/confounding.md 2.3)."""
    amount = stick(first, second, odds)
    if amount == 0:
        return ZERO
    gains = [x for x, (a, b) in enumerate(zip(first, second, strict=True)) if a > odds * b]
    losses = [x for x, (a, b) in enumerate(zip(first, second, strict=True)) if a < odds * b]
    inner = 1 + (odds - 1) / amount
    return amount * max(stick(channel[x], channel[z], inner) for x in gains for z in losses)


def contracted_at(laws: Table, channel: Table, odds: Fraction, pairs: Pairs | None = None) -> Fraction:
    return max(contracted(laws[i], laws[j], channel, odds) for i, j in pairs or all_pairs(len(laws)))


# ---- comparison

HAIR = Fraction(1, 10**75)  # of what 90 digits may miss


def holds(bracket: Any, truth: Any) -> bool:
    """Whether the exact number lies in the bracket."""
    if isinstance(truth, Fraction):
        return Fraction(bracket.lower) <= truth * (1 + HAIR) and truth * (1 - HAIR) <= Fraction(bracket.upper)
    tiny = MP.mpf(10) ** -75
    return bool(MP.mpf(bracket.lower) <= truth * (1 + tiny) and truth * (1 - tiny) <= MP.mpf(bracket.upper))


def assert_curve(
    curve: Any,
    laws: Iterable[Table],
    pairs: Pairs | None = None,
    *,
    epsilons: Sequence[float] = (),
    deltas: Sequence[float] = (),
    alphas: Sequence[float] = (),
) -> None:
    """Every bracket of the curve holds the truth, however floats are read."""
    for rows in laws:
        for epsilon in epsilons:
            found = curve.delta(epsilon)
            for read in (Fraction, typed) if math.isfinite(epsilon) else (Fraction,):
                assert holds(found, delta_near(rows, epsilon, pairs, read)), ("delta", epsilon, found)
        for delta in deltas:
            found = curve.epsilon(delta)
            for reading in readings(delta):
                assert holds(found, logarithm(odds_at(rows, reading, pairs))), ("epsilon", delta, found)
        for alpha in alphas:
            found = curve.beta(alpha)
            for reading in readings(alpha):
                assert holds(found, beta_at(rows, reading, pairs)), ("beta", alpha, found)


# ---- worlds to draw


@st.composite
def rational_laws(draw: Any, outcomes: int, most: int = 6) -> Law:
    """A law with small whole weights, zeros among them."""
    weights = draw(st.lists(st.integers(0, most), min_size=outcomes, max_size=outcomes).filter(any))
    return [Fraction(weight, sum(weights)) for weight in weights]


@st.composite
def rational_tables(draw: Any, rows: int, columns: int, most: int = 6) -> Table:
    return [draw(rational_laws(columns, most)) for _ in range(rows)]


FAINT = [5e-324, 1.5e-323, 1e-320, 3e-310, 2.3e-308, 1e-300, 1e-200, 1e-155, 1e-20, 1e-16, 1e-15]


@st.composite
def float_laws(draw: Any, outcomes: int) -> list[float]:
    """A law of doubles: zeros, numbers that underflow, and one entry that takes the rest."""
    entry = st.one_of(st.just(0.0), st.sampled_from(FAINT), st.floats(1e-3, 1.0))
    weights = draw(st.lists(entry, min_size=outcomes - 1, max_size=outcomes - 1))
    total = math.fsum(weights)
    shrunk = [weight / (1.5 * total) if total > 0.9 else weight for weight in weights]
    row = [*shrunk, 1.0 - math.fsum(shrunk)]
    return draw(st.permutations(row))


@st.composite
def float_tables(draw: Any, rows: int, columns: int) -> list[list[float]]:
    """Rows of doubles; sometimes two are equal, or a hair apart."""
    found = [draw(float_laws(columns)) for _ in range(rows)]
    kind = draw(st.sampled_from(["free", "free", "equal", "hair"]))
    if rows > 1 and kind != "free":
        found[1] = [math.nextafter(entry, 2.0) if kind == "hair" and entry else entry for entry in found[0]]
    return found


EPSILONS = [0.0, 5e-324, 1e-17, 0.1, 0.5, 1.0, 3.0, 36.7, 700.0, 709.782712893384, 745.0, 1e300, math.inf]
EPSILONS += [-1e-17, -0.1, -1.0, -30.0, -745.0, -750.0, -1.7e308, -math.inf]
DELTAS = [0.0, 5e-324, 1e-320, 1e-300, 1e-17, 1e-9, 1e-6, 0.01, 0.1, 0.3, 0.9, 0.9999999999, 1.0 - 2.0**-53, 1.0]
ALPHAS = [0.0, 5e-324, 1e-320, 1e-300, 1e-20, 1e-9, 0.01, 0.1, 0.3, 0.5, 0.999999999, 1.0 - 2.0**-53, 1.0]
