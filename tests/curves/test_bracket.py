from __future__ import annotations

import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from quiltwork.curves import Bracket, Contradiction
from quiltwork.errors import InvalidParameter, NotCertified, QuiltworkError

ends = st.floats(0.0, 1e6, allow_subnormal=True)


@st.composite
def brackets(draw: st.DrawFn) -> Bracket:
    low, high = sorted((draw(ends), draw(st.one_of(ends, st.just(math.inf)))))
    return Bracket(low, high, "epsilon", draw(st.sampled_from(["", "lattice", "closed form"])))


def test_safe_end_follows_the_quantity() -> None:
    assert Bracket(1.0, 2.0, "epsilon").safe == 2.0
    assert Bracket(0.1, 0.2, "delta").safe == 0.2
    assert Bracket(0.1, 0.2, "beta").safe == 0.1


def test_approximate_bracket_has_no_safe_end() -> None:
    bracket = Bracket(1.0, 2.0, "epsilon", "sampling", certified=False)
    with pytest.raises(NotCertified, match="sampling"):
        _ = bracket.safe


def test_scalars_become_python_floats_and_arrays_are_locked_copies() -> None:
    bracket = Bracket(np.float64(1.0), np.array(2), "epsilon")
    assert type(bracket.lower) is float
    assert type(bracket.upper) is float
    source = np.array([1.0, 2.0])
    bracket = Bracket(source, source + 1, "epsilon")
    source[0] = 9.0
    assert bracket.lower[0] == 1.0
    with pytest.raises(ValueError, match="read-only"):
        bracket.lower[0] = 3.0


@pytest.mark.parametrize(
    ("lower", "upper"),
    [
        (math.nan, 1.0),
        (0.0, math.nan),
        ([0.0, math.nan], [1.0, 1.0]),
        (2.0, 1.0),
        (math.nextafter(1.0, 2.0), 1.0),
        ([0.0, 2.0], [1.0, 1.0]),
        ([0.0], [1.0, 1.0]),
        (0.0, [1.0]),
        ("0", 1.0),
        (None, 1.0),
        (False, True),
        ([1.0, [2.0]], [1.0, 2.0]),
    ],
)
def test_bad_ends_are_refused(lower: object, upper: object) -> None:
    with pytest.raises(InvalidParameter):
        Bracket(lower, upper, "epsilon")


def test_unknown_quantity_is_refused() -> None:
    with pytest.raises(InvalidParameter, match="quantity"):
        Bracket(0.0, 1.0, "gamma")  # type: ignore[arg-type]


def test_probabilities_are_pulled_into_their_range() -> None:
    assert tuple(Bracket(-1e-30, 1.0 + 1e-15, "delta")) == (0.0, 1.0)
    with pytest.raises(InvalidParameter):
        Bracket(-0.2, -0.1, "delta")
    with pytest.raises(InvalidParameter):
        Bracket(1.1, 1.2, "beta")


def test_unpacking_length_and_entries() -> None:
    lower, upper = Bracket(1.0, 2.0, "epsilon")
    assert (lower, upper) == (1.0, 2.0)
    array = Bracket([1.0, 2.0, 3.0], [2.0, 3.0, 4.0], "epsilon", "grid", met=False)
    assert len(array) == 3
    assert array[1] == Bracket(2.0, 3.0, "epsilon", "grid", met=False)
    assert array[1:] == Bracket([2.0, 3.0], [3.0, 4.0], "epsilon", "grid", met=False)
    assert array.shape == (3,)
    lowers, _ = array
    assert lowers is array.lower
    with pytest.raises(TypeError):
        len(Bracket(1.0, 2.0, "epsilon"))
    with pytest.raises(TypeError):
        Bracket(1.0, 2.0, "epsilon")[0]
    assert bool(Bracket([], [], "epsilon"))


def test_contains() -> None:
    bracket = Bracket([0.0, 1.0], [1.0, math.inf], "epsilon")
    assert list(bracket.contains(0.5)) == [True, False]
    assert 1.0 in bracket
    assert 0.5 not in bracket
    assert math.inf in Bracket(1.0, math.inf, "epsilon")
    assert not Bracket(0.0, math.inf, "epsilon").contains(float("nan"))


def test_widths_at_infinity_and_zero() -> None:
    bracket = Bracket([0.0, 1.0, 1.0, math.inf], [0.0, 2.0, math.inf, math.inf], "epsilon")
    assert np.array_equal(bracket.width, [0.0, 1.0, math.inf, 0.0])
    assert np.array_equal(bracket.relative_width, [0.0, 0.5, math.inf, 0.0])
    assert np.array_equal(bracket.midpoint, [0.0, 1.5, math.inf, math.inf])


@given(brackets(), brackets())
def test_worst_holds_the_less_private_of_any_two_values(one: Bracket, two: Bracket) -> None:
    joined = one.worst(two)
    for first in one:
        for second in two:
            assert max(first, second) in joined
    assert joined == attrs_swap(two.worst(one), joined.method)


def attrs_swap(bracket: Bracket, method: str) -> Bracket:
    """The same bracket under another method name: `worst` is symmetric up to the order of names."""
    return Bracket(bracket.lower, bracket.upper, bracket.quantity, method, bracket.met, bracket.certified)


def test_worst_of_betas_takes_the_smaller() -> None:
    joined = Bracket(0.3, 0.4, "beta", "a").worst(Bracket(0.2, 0.5, "beta", "b", met=False))
    assert joined == Bracket(0.2, 0.4, "beta", "a + b", met=False)


def test_methods_are_named_once() -> None:
    one, two = Bracket(1.0, 2.0, "epsilon", "a + b"), Bracket(1.0, 2.0, "epsilon", "b")
    assert one.worst(two).method == "a + b"


@given(brackets(), brackets())
def test_intersection_holds_what_both_hold(one: Bracket, two: Bracket) -> None:
    if one.upper < two.lower or two.upper < one.lower:
        with pytest.raises(Contradiction):
            one.intersect(two)
        return
    both = one.intersect(two)
    for value in (*one, *two):
        assert (value in both) == (value in one and value in two)


def test_contradiction_belongs_to_the_family_and_names_both() -> None:
    one, two = Bracket(1.0, 2.0, "epsilon"), Bracket(3.0, 4.0, "epsilon")
    with pytest.raises(QuiltworkError, match="bug") as caught:
        one.intersect(two)
    assert (caught.value.one, caught.value.two) == (one, two)
    assert isinstance(caught.value, ArithmeticError)


def test_quantities_do_not_mix() -> None:
    with pytest.raises(InvalidParameter):
        Bracket(0.1, 0.2, "delta").worst(Bracket(0.1, 0.2, "epsilon"))
    with pytest.raises(InvalidParameter):
        Bracket(0.1, 0.2, "delta").intersect(Bracket(0.1, 0.2, "epsilon"))


@pytest.mark.parametrize(
    ("bracket", "text"),
    [
        (Bracket(14.37569, 14.38467, "epsilon", "lattice"), "epsilon = [14.3756, 14.3847] (lattice)"),
        (Bracket(1.2345e-100, 1.2346e-100, "delta"), "delta = [1.23449e-100, 1.23460e-100]"),
        (Bracket(2.0, 2.0, "epsilon"), "epsilon = 2"),
        (Bracket(0.75, 0.75 + 2e-14, "epsilon", "grid"), "epsilon = 0.750000000000020, within 2.0e-14 (grid)"),
        (Bracket(9.99, 10.01, "epsilon"), "epsilon = [9.990, 10.010]"),
        (Bracket(1.0, math.inf, "epsilon", met=False), "epsilon = [1, inf] (wider than asked)"),
        (Bracket(-1.5, -1.25, "epsilon", certified=False), "epsilon = [-1.50, -1.25] (not certified)"),
        (Bracket([1.0, 2.0], [1.0, 4.0], "epsilon"), "epsilon, shape (2,): 1 to 4, relative width <= 5.0e-01"),
        (Bracket([], [], "delta"), "delta, shape (0,): empty"),
    ],
)
def test_text(bracket: Bracket, text: str) -> None:
    assert str(bracket) == text


def test_html_is_escaped() -> None:
    shown = Bracket(1.0, 1.0, "epsilon", "<b>")._repr_html_()
    assert "<b>" not in shown
    assert "&lt;b&gt;" in shown


@pytest.mark.parametrize(
    ("bracket", "texts"),
    [
        (Bracket(14.37569, 14.38467, "epsilon", "grid"), ["epsilon = [14.3756, 14.3847]", "at most 14.3847", "grid"]),
        (Bracket(0.25, 0.5, "beta"), ["beta = [0.25, 0.50]", "at least 0.25"]),
        (Bracket(1.0, math.inf, "epsilon", met=False), ["[1, inf]", "no finite number", "wider than asked"]),
        (Bracket(1.0, 2.0, "epsilon", certified=False), ["nothing: not certified"]),
        (Bracket([1.0, 2.0], [1.0, 4.0], "epsilon"), ["shape (2,)", "at most 1<", "at most 4<"]),
        (Bracket(np.zeros((3, 7)), np.ones((3, 7)), "delta"), ["(1, 4)", "... and 9 more numbers"]),
        (Bracket([], [], "delta"), ["shape (0,)", "empty"]),
    ],
)
def test_notebooks_see_both_ends_and_the_safe_one(bracket: Bracket, texts: list[str]) -> None:
    shown = bracket._repr_html_()
    for text in texts:
        assert text in shown


@given(brackets())
def test_repr_and_json_give_it_back(bracket: Bracket) -> None:
    assert eval(repr(bracket), {"Bracket": Bracket, "inf": math.inf}) == bracket
    text = json.dumps(bracket.to_json(), allow_nan=False)
    assert Bracket.from_json(json.loads(text)) == bracket


def test_json_of_arrays_and_of_another_schema() -> None:
    bracket = Bracket([[0.1, 1.0]], [[0.2, math.inf]], "epsilon", "grid", met=False, certified=False)
    again = Bracket.from_json(json.loads(json.dumps(bracket.to_json(), allow_nan=False)))
    assert again == bracket
    assert hash(again) == hash(bracket)
    with pytest.raises(InvalidParameter, match="schema"):
        Bracket.from_json({"schema": "quiltwork/bracket/99"})
    with pytest.raises(InvalidParameter, match="JSON"):
        Bracket.from_json({**bracket.to_json(), "lower": "many"})


def test_equality_with_other_things() -> None:
    assert Bracket(1.0, 2.0, "epsilon") != (1.0, 2.0)
    assert Bracket(0.1, 0.2, "delta") != Bracket(0.1, 0.2, "beta")
