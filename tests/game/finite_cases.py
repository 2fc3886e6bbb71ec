"""Shared by the tests of finite games: reference values, and strategies that draw exact games."""

import itertools
import json
from fractions import Fraction
from pathlib import Path

from hypothesis import strategies as st

from quiltwork.game.finite import FiniteGame

REFERENCE = json.loads((Path(__file__).parent.parent / "reference_game.json").read_text())


def lie(rate):
    """One bit told with the probability `rate` of a lie."""
    rate = Fraction(rate)
    return [[1 - rate, rate], [rate, 1 - rate]]


def xor():
    """x = b1 XOR b2 under the uniform prior: no marginal moves, and everything is told to who knows one of them."""
    return FiniteGame(["1/4"] * 4, [[1, 0], [0, 1], [0, 1], [1, 0]])


def laws(size, positive=False):
    """Laws with small denominators."""
    entry = st.integers(1 if positive else 0, 6)
    return (
        st.lists(entry, min_size=size, max_size=size)
        .filter(any)
        .map(lambda row: [Fraction(value, sum(row)) for value in row])
    )


@st.composite
def games(draw, most=2, outputs=3, positive=False, uniform=False):
    """An exact game in which nobody's membership is certain."""
    people = draw(st.integers(1, most))
    size = 2**people
    prior = [Fraction(1, size)] * size if uniform else draw(laws(size, positive=True))
    width = draw(st.integers(2, outputs))
    return FiniteGame(prior, [draw(laws(width, positive)) for _ in range(size)])


def rules(people, outputs):
    """Every deterministic decision rule."""
    for flat in itertools.product((0, 1), repeat=people * outputs):
        yield [list(flat[k * outputs : (k + 1) * outputs]) for k in range(people)]
