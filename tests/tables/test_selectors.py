"""Selectors of one column: each against the plain set it stands for, and every complement against every value."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quiltwork.tables.schema.selectors import HIGHEST, LOWEST, Chosen, Has, Null, Spans

GRID = [n / 2 for n in range(-6, 7)]  # bounds and the values between them
CUTS = [LOWEST, *((value, side) for value in GRID for side in (0, 1)), HIGHEST]
spans = st.lists(st.tuples(st.sampled_from(CUTS), st.sampled_from(CUTS)), max_size=5)


def inside(value, pairs):
    """By the meaning of a cut: side 0 lies just below its value, side 1 just above."""
    return any(
        (start[0] < value or (start[0] == value and start[1] == 0))
        and (value < end[0] or (value == end[0] and end[1] == 1))
        for start, end in pairs
    )


@given(spans)
def test_joined_spans_hold_what_any_of_them_holds_and_complements_the_rest(pairs):
    found = Spans.of(pairs)
    for value in (-100.0, *GRID, *(v + 0.25 for v in GRID), 100.0):
        assert found.holds(value) == inside(value, pairs)
        assert found.complement().holds(value) != found.holds(value)


@given(spans)
def test_joined_spans_are_apart_rising_and_their_own_double_complement(pairs):
    found = Spans.of(pairs)
    edges = list(itertools.chain(*found.spans))
    assert edges == sorted(set(edges))
    assert found.complement().complement() == found


@given(st.frozensets(st.sampled_from("abcd")), st.booleans())
def test_a_chosen_set_and_its_complement(values, kept):
    found = Chosen(values, kept)
    for value in "abcde":
        assert found.holds(value) == ((value in values) if kept else (value not in values))
        assert found.complement().holds(value) != found.holds(value)
    assert found.complement().complement() == found


@pytest.mark.parametrize("present", [True, False])
def test_a_member_is_there_or_not(present):
    found = Has(1, present)
    for value in (frozenset(), frozenset({1}), frozenset({2}), frozenset({1, 2})):
        assert found.holds(value) == ((1 in value) == present)
        assert found.complement().holds(value) != found.holds(value)


def test_null_and_everything_else_are_complements():
    assert Null().complement() == Null(False)
    assert Null(False).complement() == Null()


@pytest.mark.parametrize(
    ("selector", "text"),
    [
        (Chosen(frozenset("a")), "= 'a'"),
        (Chosen(frozenset("a"), inside=False), "!= 'a'"),
        (Chosen(frozenset("ba")), "in {'a', 'b'}"),
        (Chosen(frozenset("ba"), inside=False), "not in {'a', 'b'}"),
        (Spans((((1, 0), (3, 0)),)), "in [1, 3)"),
        (Spans((((1, 1), (3, 1)),)), "in (1, 3]"),
        (Spans((((2, 0), (2, 1)), ((5, 0), HIGHEST))), "in {2} or [5, inf]"),
        (Spans(()), "in no value"),
        (Has(7), "has 7"),
        (Has(7, present=False), "lacks 7"),
        (Null(), "is NULL"),
        (Null(False), "is not NULL"),
    ],
)
def test_selectors_in_words(selector, text):
    assert str(selector) == text
