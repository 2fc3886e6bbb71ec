"""What releases about members truly tell, from the definitions alone: whole numbers, fractions, or 70 digits.

Nothing of the library is used here.  Doubles are the fractions they are; where a root or a power of e is needed, the
truth is given from the side that makes a check strict, up to a part in 1e40.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from tests.truth.numbers import mp

Move = tuple[Fraction, ...]
NEAR = Fraction(1, 10**40)  # relative error of 70 digits, with room to spare
FLOATS = 1e-11  # relative error of sums of some ten thousand doubles, with room to spare


def rational(value: Any) -> Fraction:
    """A number of many digits as the fraction it is."""
    sign, man, exp, _ = mp.mpf(value)._mpf_
    return (-1 if sign else 1) * Fraction(int(man)) * Fraction(2) ** int(exp)


def many(value: Fraction) -> Any:
    """A fraction in many digits."""
    return mp.mpf(value.numerator) / mp.mpf(value.denominator)


# ---- one change of membership


def whole(rows: Any) -> tuple[np.ndarray[Any, Any], int]:
    """A table of doubles as whole numbers over one unit."""
    fractions = [[Fraction(float(entry)) for entry in row] for row in np.atleast_2d(rows)]
    unit = math.lcm(*(entry.denominator for row in fractions for entry in row))
    return np.array([[int(entry * unit) for entry in row] for row in fractions], dtype=object), unit


def moves(rows: Any, half: bool, fixed: bool) -> list[Move]:
    """What one change of membership does to the statistic: x(b) - x(b') over all neighbouring b and b', each once.

    Exactly half: sets of K // 2 that differ by one swap.  Otherwise: any two sets that differ in one person.
    """
    table, unit = whole(rows)
    people = len(table)
    share = math.lcm(*range(1, people + 1))
    found: dict[tuple[int, ...], tuple[int, ...]] = {}
    for members in itertools.product((0, 1), repeat=people):
        if half and sum(members) != people // 2:
            continue
        here = _statistic(table, members, share, fixed)
        for other in _neighbours(members, half):
            gap = tuple(here - _statistic(table, other, share, fixed))
            if tuple(-entry for entry in gap) not in found:
                found[gap] = gap
    return [tuple(Fraction(entry, unit * share) for entry in gap) for gap in found]


def _statistic(table: Any, members: Sequence[int], share: int, fixed: bool) -> Any:
    sums, size = np.array(members, dtype=object) @ table, sum(members)
    return sums * (2 * share // len(table)) if fixed else sums * (share // max(size, 1))


def _neighbours(members: tuple[int, ...], half: bool) -> list[tuple[int, ...]]:
    """Each unordered pair of sets from one of its ends."""
    inside = [k for k, member in enumerate(members) if member]
    outside = [k for k, member in enumerate(members) if not member]
    changes = itertools.product(inside, outside) if half else ((k,) for k in inside)
    return [tuple(1 - b if k in change else b for k, b in enumerate(members)) for change in changes]


def strength(move: Move, basis: Any, scale: Any, variance: Any) -> Fraction:
    """mu^2 of one move through scale * B'x + Gaussian noise: sum_i scale_i^2 (B_i'd)^2 / variance_i."""
    total = Fraction(0)
    for i, (factor, spread) in enumerate(zip(scale.tolist(), variance.tolist(), strict=True)):
        if factor > 0:
            along = move[i] if basis is None else _dot(basis[:, i].tolist(), move)
            total += (Fraction(factor) * along) ** 2 / Fraction(spread)
    return total


def _dot(column: Sequence[float], move: Move) -> Fraction:
    return sum((Fraction(entry) * part for entry, part in zip(column, move, strict=True)), Fraction(0))


# ---- two laws


def gaussian_delta(square: Fraction, epsilon: float) -> Fraction:
    """At most delta of N(mu, 1) against N(0, 1), mu^2 = square, by a part in 1e40."""
    if square == 0:
        return Fraction(0)
    with mp.extraprec(400):
        mu, place = mp.sqrt(many(square)), mp.mpf(epsilon)
        value = mp.ncdf(mu / 2 - place / mu) - mp.exp(place) * mp.ncdf(-mu / 2 - place / mu)
        return rational(value) * (1 - NEAR) if value > mp.mpf(10) ** -120 else Fraction(0)


def gaussian_area(square: Fraction) -> Fraction:
    """At most the AUC of the best test, Phi(mu / sqrt 2)."""
    return rational(mp.ncdf(mp.sqrt(many(square) / 2))) * (1 - NEAR)


def laplace_cells(shifts: Sequence[float], cells: int) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Laws of the cells of independent Laplace noises of scale 1, without and with these shifts.

    A function of the release tells no more than the release, so that cells give lower bounds only.
    """
    first, second = np.ones(1), np.ones(1)
    for shift in shifts:
        size = abs(shift)
        edges = np.linspace(0.0, size, cells + 1)
        falls = -np.expm1(-np.diff(edges)) * 0.5
        p = np.concatenate([[0.5], np.exp(-edges[:-1]) * falls, [0.5 * math.exp(-size)]])
        first, second = np.outer(first, p).ravel(), np.outer(second, p[::-1]).ravel()
    return first, second


def least_delta(first: Any, second: Any, epsilon: float) -> float:
    """At most delta of two laws of cells: sum (p - e^epsilon q)_+, less what doubles may be off."""
    gaps = first - math.exp(epsilon) * second
    return max(0.0, float(gaps[gaps > 0].sum()) * (1.0 - FLOATS) - FLOATS * 1e-3 * (1.0 + math.exp(epsilon)))


def least_area(first: Any, second: Any) -> float:
    """At most the AUC of the likelihood ratio between two laws of cells."""
    order = np.argsort(first / second, kind="stable")
    p, q = first[order], second[order]
    below = np.cumsum(q) - q
    return float((p * (below + 0.5 * q)).sum()) * (1.0 - FLOATS)


# ---- quadratic forms


def inverse_form(matrix: Sequence[Sequence[Fraction]], vector: Sequence[Fraction]) -> Fraction:
    """v'M^-1 v by elimination; M positive definite."""
    rows = [[*row, entry] for row, entry in zip(matrix, vector, strict=True)]
    total = Fraction(0)
    for index in range(len(rows)):  # v'M^-1 v is the sum of reduced entries^2 / pivots
        pivot = rows[index][index]
        total += rows[index][-1] ** 2 / pivot
        for row in rows[index + 1 :]:
            factor = row[index] / pivot
            for place in range(index, len(row)):
                row[place] -= factor * rows[index][place]
    return total


# ---- binomial tails


def at_most_tail(k: int, n: int, p: Fraction) -> Fraction:
    """P(Bin(n, p) <= k), exactly."""
    if k >= n:
        return Fraction(1)
    above, below = p.numerator, p.denominator - p.numerator
    powers = [1]
    for _ in range(max(k, 0)):
        powers.append(powers[-1] * above)
    total, rest = 0, below ** (n - k) if k >= 0 else 0
    for j in range(k, -1, -1):
        total += math.comb(n, j) * powers[j] * rest
        rest *= below
    return Fraction(total, p.denominator**n)


def digits_tail(k: int, n: int, p: Fraction) -> Fraction:
    """At most P(Bin(n, p) <= k) in many digits, for numbers of trials where fractions are too long."""
    if k < 0:
        return Fraction(0)
    if k >= n:
        return Fraction(1)
    odds = many((1 - p) / p)
    mass = mp.exp(mp.loggamma(n + 1) - mp.loggamma(k + 1) - mp.loggamma(n - k + 1))
    mass *= many(p) ** k * many(1 - p) ** (n - k)
    total = mp.zero
    for j in range(k, -1, -1):
        total += mass
        if mass < total * mp.mpf(10) ** -50:
            break
        mass *= odds * j / (n - j + 1)
    return rational(total) * (1 - NEAR)


def right_guess(epsilon: float, bits: int = 80) -> Fraction:
    """At most e^epsilon / (1 + e^epsilon), with so many digits."""
    return Fraction(int(mp.floor(mp.ldexp(1 / (1 + mp.exp(-mp.mpf(epsilon))), bits))), 2**bits)


def one_run_p_value(canaries: int, guesses: int, correct: int, epsilon: float, delta: float) -> Fraction:
    """P(W >= v) + 2 m delta max_i P(v - i <= W < v) / i for W ~ Bin(r, q), capped at 1; at most, by a part in 1e15."""
    q = right_guess(epsilon)
    tail = at_most_tail(guesses - correct, guesses, 1 - q)
    masses = [Fraction(0)] * correct
    if delta and correct:
        above, below, unit = q.numerator, q.denominator - q.numerator, q.denominator**guesses
        masses = [Fraction(math.comb(guesses, j) * above**j * below ** (guesses - j), unit) for j in range(correct)]
    best = total = Fraction(0)
    for i in range(1, correct + 1):
        total += masses[correct - i]
        best = max(best, total / i)
    value = tail + 2 * canaries * Fraction(delta) * best * (1 - Fraction(1, 2**50))
    return min(Fraction(1), value)


def coins_p_value(trials: int, guesses: int, correct: int, epsilon: float, delta: float) -> Fraction:
    """P(min(R, r) + Bin(r - min(R, r), q) >= v), R ~ Bin(m, delta); at most, by a part in 1e20."""
    q, share = right_guess(epsilon), Fraction(delta)
    found: dict[int, Fraction] = {}
    total = Fraction(0)
    for revealed in range(trials + 1):
        mass = math.comb(trials, revealed) * share**revealed * (1 - share) ** (trials - revealed)
        free = min(revealed, guesses)
        if free not in found:
            found[free] = at_most_tail(guesses - correct, guesses - free, 1 - q) if free < correct else Fraction(1)
        total += mass * found[free]
    return total
