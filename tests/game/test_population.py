"""Populations: what is cut from what, what is copied, what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from quiltwork.errors import InvalidParameter
from quiltwork.game import Half, Independent, Population


def test_rows_are_shuffled_and_each_used_once() -> None:
    rows = np.arange(40.0)[:, None] / 40
    population = Population.of(rows, 15, 20, seed=3)
    used = np.concatenate([population.candidates, population.reference]).ravel()
    assert len(set(used.tolist())) == 35
    assert used.tolist() != sorted(used.tolist())
    assert population.size == (15, 1)
    again = Population.of(rows, 15, 20, seed=3)
    assert np.array_equal(again.candidates, population.candidates)
    assert not np.array_equal(Population.of(rows, 15, 20, seed=4).candidates, population.candidates)


def test_candidates_are_no_sorted_half_of_the_rows() -> None:
    rows = np.arange(400.0)[:, None] / 400
    means = [Population.of(rows, 200, seed=seed).candidates.mean() for seed in range(20)]
    # a mean of 200 of 400 has standard deviation 0.0144; false alarm below 1e-5 for twenty
    assert max(abs(mean - rows.mean()) for mean in means) < 0.08


def test_a_generator_may_be_the_seed() -> None:
    rows = np.eye(9)
    one, two = (Population.of(rows, 4, seed=np.random.default_rng(8)) for _ in range(2))
    assert np.array_equal(one.candidates, two.candidates)


def test_arrays_are_copied_and_frozen() -> None:
    rows = np.eye(3)
    population = Population(rows, rows, Independent(0.5))
    rows[0, 0] = 0.5
    assert population.candidates[0, 0] == 1.0
    with pytest.raises(ValueError, match="read-only"):
        population.candidates[0, 0] = 0.5


def test_frequencies_are_of_the_reference_and_binary_is_of_both() -> None:
    reference = np.array([[0.0, 1.0], [1.0, 1.0]])
    population = Population(np.eye(2), reference)
    assert population.frequencies.tolist() == [0.5, 1.0]
    assert population.binary
    assert not Population(np.eye(2) * 0.5, reference).binary
    assert not Population(np.eye(2), reference * 0.5).binary
    assert "2 candidates, 2 reference people, 2 attributes" in str(population)


def test_booleans_and_integers_are_rows_too() -> None:
    assert Population(np.eye(2, dtype=bool), np.eye(2, dtype=int)).candidates.dtype == np.float64


ROWS = np.eye(4)


@pytest.mark.parametrize(
    "bad",
    [
        None,
        1.0,
        [1, 0],
        [],
        [[]],
        [[0.0, float("nan")]],
        [[0.0, 1.0 + 1e-9]],
        [[-1e-9, 1.0]],
        [[float("inf"), 1.0]],
        [["a", "b"]],
        [[1.0], [1.0, 0.0]],
        np.zeros((0, 4)),
        np.zeros((2, 2, 2)),
        np.eye(4) * 1j,
        np.array([[None, 1.0]], dtype=object),
    ],
    ids=lambda bad: str(type(bad).__name__),
)
def test_bad_rows_are_refused(bad: Any) -> None:
    for call in (lambda: Population(bad, ROWS), lambda: Population(ROWS, bad), lambda: Population.of(bad, 1)):
        with pytest.raises(InvalidParameter):
            call()


def test_what_does_not_fit_together_is_refused() -> None:
    for call in (
        lambda: Population(ROWS, np.eye(3)),
        lambda: Population(ROWS[:1], ROWS),  # one candidate under the exactly-half prior
        lambda: Population(ROWS, ROWS, Half),  # the class, not a prior
        lambda: Population(ROWS, ROWS, "half"),
        lambda: Population(ROWS, ROWS, Independent((0.5, 0.5))),
        lambda: Population(ROWS, ROWS, attributes=("a",)),
        lambda: Population(ROWS, ROWS, attributes="abcd"),
        lambda: Population.of(ROWS, 4),
        lambda: Population.of(ROWS, 3, 2),
        lambda: Population.of(ROWS, 0),
        lambda: Population.of(ROWS, True),
        lambda: Population.of(ROWS, 2.0),
        lambda: Population.of(ROWS, 2, 0),
        lambda: Population.of(ROWS, 2, seed=-1),
        lambda: Population.of(ROWS, 2, seed=0.5),
    ):
        with pytest.raises(InvalidParameter):
            call()


def test_one_candidate_is_enough_for_independent_members() -> None:
    assert Population(ROWS[:1], ROWS, Independent(0.5)).size == (1, 4)
