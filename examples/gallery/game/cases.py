"""Small exact games that settle statements of the paper."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np

from quiltwork.checks import FloatArray
from quiltwork.game.finite import FiniteGame
from quiltwork.game.people.population import Members

HALF = Fraction(1, 2)
NOISE = [("-1/4", "1/4"), (0, "1/2"), ("1/4", "1/4")]
PEOPLE = [[1, 0], [0, 1], [1, 1]]  # rows of three candidates


def lie(rate: Any) -> list[list[Fraction]]:
    """One bit told with this probability of a lie."""
    share = Fraction(rate)
    return [[1 - share, share], [share, 1 - share]]


def three() -> FiniteGame:
    """Three candidates, two shares, noise of a quarter."""
    return FiniteGame.summary(PEOPLE, NOISE)


def xor() -> FiniteGame:
    """x = b1 XOR b2: no marginal moves, and who knows one of them is told the other."""
    return FiniteGame(["1/4"] * 4, [[1, 0], [0, 1], [0, 1], [1, 0]])


def random_games(
    count: int, people: int, outputs: int, rng: np.random.Generator, uniform: bool = True
) -> Iterator[FiniteGame]:
    """Games of small fractions."""
    size = 2**people
    for _ in range(count):
        weights = np.ones(size, dtype=int) if uniform else rng.integers(1, 7, size)
        prior = [Fraction(int(w), int(weights.sum())) for w in weights]
        rows = rng.integers(1, 7, (size, outputs))
        yield FiniteGame(prior, [[Fraction(int(v), int(row.sum())) for v in row] for row in rows])


def said(value: Any) -> str:
    """A number of an exact game, with its fraction where that is short."""
    if isinstance(value, Fraction) and value.denominator < 10_000:
        return str(value) if value.denominator > 1 else f"{value.numerator}"
    return f"{float(value):.4f}"


def six_people() -> tuple[FloatArray, FloatArray, FloatArray, Members, FloatArray]:
    """Rows, reference rows, reference shares, every data set of three, and the shares of each."""
    rng = np.random.default_rng(4)
    rows = (rng.random((6, 10)) < 0.4).astype(float)
    reference = (rng.random((20, 10)) < 0.4).astype(float)
    usual = np.clip(reference.mean(axis=0), 0.05, 0.95)
    sets = np.array([b for b in itertools.product((0, 1), repeat=6) if sum(b) == 3], dtype=bool)
    return rows, reference, usual, sets, np.clip(sets.astype(float) @ rows / 3.0, 0.05, 0.95)
