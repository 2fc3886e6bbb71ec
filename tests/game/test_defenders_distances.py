"""The widest move of a statistic: never below the truth, and close to it."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.examples import examples
from tests.game.core_cases import moves

from quiltwork.errors import InvalidParameter
from quiltwork.game import Half, Independent, Population, Statistic
from quiltwork.game.defenders.certificates import MIN_MU, neighbours, widest

VALUES = st.one_of(st.sampled_from([0.0, 1.0, 0.1, 0.3, 1 / 3, 1e-9, 1e-170, 5e-324, 1 - 2**-53]), st.floats(0.0, 1.0))


@st.composite
def statistics(draw):
    people, attributes = draw(st.integers(2, 5)), draw(st.integers(1, 4))
    count = people * attributes
    rows = np.reshape(draw(st.lists(VALUES, min_size=count, max_size=count)), (people, attributes))
    if draw(st.booleans()):  # nearly the same person again and again
        rows = np.clip(rows[:1] + 1e-12 * rows, 0.0, 1.0)
    prior = Half() if draw(st.booleans()) else Independent(0.5)
    return Statistic(Population(rows, rows[:1], prior), draw(st.sampled_from(["members", "fixed"])))


@settings(max_examples=examples(60))
@given(statistics(), st.integers(0, 10**6))
def test_every_move_is_covered_exactly(statistic, seed):
    """All pairs of neighbouring data sets in fractions: no move is longer, with and without a transform."""
    found = neighbours(statistic)
    attributes = statistic.population.size[1]
    rng = np.random.default_rng(seed)
    every = list(moves(statistic.population, statistic.denominator))
    lengths = [sum((x * x for x in move), Fraction(0)) for move in every]
    for rows in ("any", "pool"):
        width, _ = widest(found, rows)
        assert Fraction(width) ** 2 >= max(lengths)
    if found.whole:
        return
    for transform in (10.0 ** rng.uniform(-3, 3, attributes), rng.standard_normal((attributes, 3))):
        width, pair = widest(found, "pool", transform)
        exact = [
            [Fraction(float(t)) * x for t, x in zip(transform, move, strict=True)]
            if transform.ndim == 1
            else [
                sum((Fraction(float(t)) * x for t, x in zip(column, move, strict=True)), Fraction(0))
                for column in transform.T
            ]
            for move in every
        ]
        largest = max(sum((x * x for x in move), Fraction(0)) for move in exact)
        assert Fraction(width) ** 2 >= largest
        assert pair is not None
        # what rounding adds is small beside the rows themselves
        size = float(np.abs(statistic.population.candidates).max() * np.abs(transform).sum() * found.step)
        assert width <= float(largest) ** 0.5 * (1 + 1e-12) + max(1e-7 * size, MIN_MU)


@pytest.mark.parametrize(
    ("prior", "denominator", "step", "swap", "whole"),
    [
        (Half(), "members", Fraction(1, 3), True, False),
        (Half(), "fixed", Fraction(2, 7), True, False),
        (Independent(0.5), "fixed", Fraction(2, 7), False, False),
        (Independent(0.5), "members", Fraction(1), False, True),
    ],
)
def test_neighbours_of_seven_candidates(prior, denominator, step, swap, whole):
    rows = np.random.default_rng(0).random((7, 2))
    found = neighbours(Statistic(Population(rows, rows, prior), denominator))
    assert Fraction(found.step) >= step
    assert found.step == pytest.approx(float(step), rel=1e-15)
    assert (found.swap, found.whole) == (swap, whole)
    assert "7 candidates" in found.protects


def test_the_widest_pair_is_named():
    rows = np.array([[0.5, 0.5], [0.0, 0.0], [0.4, 0.6], [0.9, 1.0]])
    found = neighbours(Statistic(Population(rows, rows)))
    assert sorted(widest(found, "pool")[1]) == [1, 3]
    alone = neighbours(Statistic(Population(rows, rows, Independent(0.5)), "fixed"))
    assert widest(alone, "pool")[1] == (3, 3)
    assert widest(found, "any")[1] is None


def test_a_thousand_attributes_are_close_to_the_truth():
    rows = np.random.default_rng(1).random((40, 1000))
    found = neighbours(Statistic(Population(rows, rows)))
    basis = np.linalg.qr(np.random.default_rng(2).standard_normal((1000, 30)))[0]
    points = rows @ basis
    truth = max(float(np.linalg.norm(a - b)) for a in points for b in points) / 20
    width, _ = widest(found, "pool", basis)
    assert truth <= width <= truth * (1 + 1e-10)


def test_no_move_at_all_is_the_least_number_that_curves_take():
    zeros = np.zeros((4, 3))
    for prior in (Half(), Independent(0.5)):
        found = neighbours(Statistic(Population(zeros, zeros, prior), "fixed"))
        assert widest(found, "pool")[0] == widest(found, "pool", np.ones(3))[0] == MIN_MU


def test_bad_requests_are_refused():
    rows = np.eye(4)
    found = neighbours(Statistic(Population(rows, rows)))
    alone = neighbours(Statistic(Population(rows, rows, Independent(0.5))))
    for call in (
        lambda: widest(found, "all"),
        lambda: widest(found, None),
        lambda: widest(found, "any", np.ones(4)),
        lambda: widest(alone, "pool", np.ones(4)),
    ):
        with pytest.raises(InvalidParameter):
            call()
