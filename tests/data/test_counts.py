"""Counts as plain values."""

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.data import naive

from quiltwork.data import Counts, Lengths, Tally
from quiltwork.errors import InvalidParameter

HISTORIES = st.lists(st.lists(st.sampled_from("abc"), max_size=6), min_size=1, max_size=6)


@given(HISTORIES)
def test_counts_of_lists_are_those_of_the_naive_loop(histories):
    rows = [(who, when, state) for who, history in enumerate(histories) for when, state in enumerate(history)]
    matrix, first = naive.transitions(rows, "abc")
    counts = Counts.of(histories, states=["a", "b", "c"])
    assert counts.matrix.tolist() == matrix
    assert counts.first.tolist() == first
    assert counts.people == sum(bool(history) for history in histories)
    assert counts.visits.tolist() == [sum(history.count(state) for history in histories) for state in "abc"]
    assert counts.last.tolist() == [sum(history[-1:] == [state] for history in histories) for state in "abc"]


@given(HISTORIES, HISTORIES)
def test_counts_of_two_halves_add_up(one, two):
    states = ["a", "b", "c"]
    assert Counts.of(one, states) + Counts.of(two, states) == Counts.of(one + two, states)


def test_values_are_frozen_compare_hash_and_pickle():
    mine = np.array([[1, 0], [0, 0]])
    counts = Counts(["a", "b"], mine, [1, 0])
    mine[0, 0] = 9
    assert counts.matrix[0, 0] == 1
    assert counts.matrix.dtype == counts.first.dtype == np.int64
    with pytest.raises(ValueError, match="read-only"):
        counts.matrix[0, 0] = 2
    assert counts == Counts(("a", "b"), [[1, 0], [0, 0]], [1, 0])
    assert counts != Counts(("a", "b"), [[1, 0], [0, 0]], [1, 1])
    assert pickle.loads(pickle.dumps(counts)) == counts
    assert hash(counts) == hash(Counts(("a", "b"), [[1, 0], [0, 0]], [1, 0]))


@pytest.mark.parametrize(
    ("states", "matrix", "first"),
    [
        ([], np.zeros((0, 0), int), []),
        ("ab", [[0, 0], [0, 0]], [0, 0]),
        (["a", "a"], [[0, 0], [0, 0]], [0, 0]),
        (["a", None], [[0, 0], [0, 0]], [0, 0]),
        (["a", float("nan")], [[0, 0], [0, 0]], [0, 0]),
        ([["a"], ["b"]], [[0, 0], [0, 0]], [0, 0]),
        (7, [[0]], [0]),
        (["a", "b"], [[0, 0]], [0, 0]),
        (["a", "b"], [[0, 0], [0]], [0, 0]),
        (["a", "b"], [[0, 0], [0, -1]], [0, 1]),
        (["a", "b"], [[0.5, 0], [0, 0]], [1, 0]),
        (["a", "b"], [[True, False], [False, False]], [1, 0]),
        (["a", "b"], [[0, float("nan")], [0, 0]], [1, 0]),
        (["a", "b"], [[0, 2**63], [0, 0]], [1, 0]),
        (["a", "b"], [[0, 0], [0, 0]], [0]),
        (["a", "b"], [[0, 0], [1, 0]], [1, 0]),  # a step out of b, where nobody ever was
    ],
)
def test_impossible_counts_are_refused(states, matrix, first):
    with pytest.raises(InvalidParameter):
        Counts(states, matrix, first)


@pytest.mark.parametrize(
    "sequences", ["abc", ["abc"], [1], 5, [], [[]], [[None]], [[float("nan")]], [[["a"]]], [[1, "a"]]]
)
def test_what_is_no_list_of_sequences_is_refused(sequences):
    with pytest.raises(InvalidParameter):
        Counts.of(sequences)


def test_numpy_labels_become_plain_ones():
    assert Counts.of([np.array([2, 1, 2])]).states == (1, 2)
    assert type(Counts.of([np.array([2, 1, 2])]).states[0]) is int


def test_adding_needs_the_same_states():
    with pytest.raises(InvalidParameter, match="to be added"):
        Counts.of([["a"]]) + Counts.of([["b"]])
    with pytest.raises(TypeError):
        Counts.of([["a"]]) + 1


def test_unknown_states_are_named():
    with pytest.raises(InvalidParameter, match="not in the list: 'c', 'd'"):
        Counts.of([["a", "c", "d"]], states=["a"])
    with pytest.raises(InvalidParameter, match="and 3 more"):
        Counts.of([list("bcdefghi")], states=["a"])


def test_tally_and_lengths():
    assert Tally(["a", "b"], [3, 4]).total == 7
    with pytest.raises(InvalidParameter):
        Tally(["a", "b"], [3])
    lengths = Lengths([1, 4], [10, 2])
    assert (lengths.shortest, lengths.longest, lengths.total) == (1, 4, 18)
    assert Lengths([], []).longest == Lengths([], []).shortest == Lengths([], []).total == 0
    for wrong in ([4, 1], [1, 1], [0, 1], [[1, 2]]):
        with pytest.raises(InvalidParameter):
            Lengths(wrong, [1, 1])
    with pytest.raises(InvalidParameter):
        Lengths([1, 2], [1])
