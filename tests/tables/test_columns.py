"""Columns: every value lies in exactly one class and is selected there as the selector says, by listing values."""

import datetime
import itertools
import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.examples import examples

from quiltwork.errors import InvalidParameter
from quiltwork.tables import Cat, Date, Float, Id, Int, SubsetOf, Table
from quiltwork.tables.schema import columns
from quiltwork.tables.schema.selectors import Chosen, Has, Null, Spans

LOW, HIGH = -2, 3
NUMBERS = [n / 4 for n in range(4 * LOW - 5, 4 * HIGH + 6)]  # bounds: whole, fractional, inside and outside
FIRST = datetime.date(2026, 1, 30)
DAYS = [FIRST + datetime.timedelta(days=n) for n in range(6)]


def plain(operator, bounds, value):
    """What a comparison means, by hand; NULL satisfies none of them."""
    if operator == "null":
        return value is None
    if value is None:
        return False
    one, two = bounds
    return {
        "<": value < one,
        "<=": value <= one,
        ">": value > one,
        ">=": value >= one,
        "==": value == one,
        "!=": value != one,
        "in": value in bounds,
        "between": one <= value < two,
    }[operator]


def written(reference, operator, bounds):
    """The same comparison as a condition of the library."""
    one, two = bounds
    return {
        "null": reference.is_null,
        "<": lambda: reference < one,
        "<=": lambda: reference <= one,
        ">": lambda: reference > one,
        ">=": lambda: reference >= one,
        "==": lambda: reference == one,
        "!=": lambda: reference != one,
        "in": lambda: reference.isin([one, two]),
        "between": lambda: reference.between(one, two),
    }[operator]()


OPERATORS = ["<", "<=", ">", ">=", "==", "!=", "in", "between", "null"]


def comparisons(bounds):
    return st.lists(
        st.tuples(st.sampled_from(OPERATORS), st.lists(st.sampled_from(bounds), min_size=2, max_size=2, unique=True)),
        max_size=4,
    ).map(lambda found: [(operator, tuple(sorted(pair))) for operator, pair in found])


def ordered_classes(column, asked):
    """The classes of a column for some comparisons, with the selectors that the library made of them."""
    reference = Table(x=column).x
    conditions = [written(reference, operator, pair) for operator, pair in asked]
    return conditions, column.classes([condition.selector for condition in conditions])


def the_class(classes, stored):
    """The only class that a stored value lies in."""
    found = [
        i
        for i, span in enumerate(classes.spans)
        if (span is None if stored is None else span is not None and span[0] <= (stored, 0) and (stored, 1) <= span[1])
    ]
    assert len(found) == 1, (stored, classes.spans)
    return found[0]


def check_ordered(column, asked, values, stored):
    conditions, classes = ordered_classes(column, asked)
    seen = Counter()
    for value in values:
        row = the_class(classes, None if value is None else stored(value))
        seen[row] += 1
        for j, (operator, bounds) in enumerate(asked):
            expected = plain(operator, bounds, value)
            assert classes.selected[row, j] == expected, (operator, bounds, value)
            assert conditions[j].keeps({"x": None if value is None else stored(value)}) == expected
    return classes, seen


@given(comparisons(NUMBERS))
def test_classes_of_whole_numbers_hold_every_value_once(asked):
    # an interval between two whole numbers holds none and is refused
    asked = [(op, pair) for op, pair in asked if op != "between" or math.ceil(pair[0]) < math.ceil(pair[1])]
    values = [*range(LOW, HIGH + 1), None]
    classes, seen = check_ordered(Int(LOW, HIGH, nullable=True), asked, values, lambda value: value)
    assert [classes.sizes[i] for i in range(len(classes.names))] == [seen[i] for i in range(len(classes.names))]


@given(comparisons(NUMBERS))
def test_classes_of_real_numbers_hold_every_value_once(asked):
    values = [None, *np.linspace(LOW, HIGH, 8 * (HIGH - LOW) + 1).tolist()]  # every bound, and points between
    values += [float(np.nextafter(b, s)) for b in NUMBERS if LOW < b < HIGH for s in (-math.inf, math.inf)]
    classes, seen = check_ordered(Float(LOW, HIGH, nullable=True), asked, values, lambda value: value)
    for i, span in enumerate(classes.spans):
        assert seen[i]  # no class is empty
        assert classes.sizes[i] == (1 if span is None or span[0][0] == span[1][0] else math.inf)


@given(comparisons([FIRST + datetime.timedelta(days=n) for n in range(-2, 8)]), st.booleans())
def test_classes_of_days_hold_every_day_once(asked, as_text):
    given_bounds = [(op, tuple(d.isoformat() if as_text else d for d in pair)) for op, pair in asked]
    column = Date(FIRST.isoformat(), DAYS[-1], nullable=True)
    reference = Table(x=column).x
    conditions = [written(reference, operator, pair) for operator, pair in given_bounds]
    classes = column.classes([condition.selector for condition in conditions])
    seen = Counter()
    for day in (*DAYS, None):
        row = the_class(classes, None if day is None else day.toordinal())
        seen[row] += 1
        assert classes.selected[row].tolist() == [plain(operator, pair, day) for operator, pair in asked]
    assert list(classes.sizes) == [seen[i] for i in range(len(classes.names))]


@given(st.lists(st.frozensets(st.sampled_from("abcd")), max_size=3), st.lists(st.booleans(), min_size=3, max_size=3))
def test_classes_of_categories_hold_every_value_once(sets, turned):
    table = Table(x=Cat(*"abcd", nullable=True))
    conditions = [~table.x.isin(s) if turn else table.x.isin(s) for s, turn in zip(sets, turned, strict=False)]
    conditions.append(~table.x.is_null())
    classes = table.columns["x"].classes([condition.selector for condition in conditions])
    rows = Counter()
    for value in (*"abcd", None):
        expected = [value is not None and ((value in s) != turn) for s, turn in zip(sets, turned, strict=False)]
        expected.append(value is not None)
        assert [c.keeps({"x": value}) for c in conditions] == expected
        rows[tuple(expected), value is None] += 1
    found = Counter()
    for name, size, row in zip(classes.names, classes.sizes, classes.selected.tolist(), strict=True):
        assert (tuple(row), name == "NULL") not in found  # values that nothing tells apart are one class
        found[tuple(row), name == "NULL"] = size
    assert found == rows


# ---- sets of members


def subsets(members, most):
    return [frozenset(s) for n in range(most + 1) for s in itertools.combinations(members, n)]


def type_counts(kinds, *held):
    """How many alike members of each kind lie in each region: only in the first set, only in the second, in both."""
    found = Counter()
    for member, kind in kinds.items():
        found[kind, tuple(member in one for one in held)] += 1
    return frozenset(found.items())


def patterns(column, kinds, records):
    """The sets that the library looks at, read back from which members they select."""
    reference = Table(x=column).x
    members = list(kinds)
    classes = column.classes([reference.has(m).selector for m in members], kinds, records)
    assert classes.exact
    return [frozenset(m for m, chosen in zip(members, row, strict=True) if chosen) for row in classes.selected.tolist()]


@settings(max_examples=examples(60))
@given(
    st.integers(1, 6).flatmap(lambda n: st.lists(st.sampled_from("xyz"), min_size=n, max_size=n)),
    st.integers(0, 4),
    st.integers(0, 2),
)
def test_windows_of_alike_members_stand_for_all_sets_of_one_record_and_of_two(labels, most, more):
    kinds = dict(enumerate(labels))
    column = SubsetOf(range(len(labels) + more), max_size=most)
    everything = [s & frozenset(kinds) for s in subsets(column.members, column.max_size)]
    one = patterns(column, kinds, 1)
    assert {type_counts(kinds, s) for s in one} == {type_counts(kinds, s) for s in everything}
    two = patterns(column, kinds, 2)
    listed = {type_counts(kinds, *pair) for pair in itertools.product(two, repeat=2)}
    assert listed == {type_counts(kinds, *pair) for pair in itertools.product(set(everything), repeat=2)}


@given(st.integers(1, 5), st.integers(0, 5), st.sets(st.integers(0, 4)), st.sampled_from([1, 2, 3]))
def test_without_likeness_every_set_of_mentioned_members_is_a_class(number, most, asked, records):
    column = SubsetOf(range(number), max_size=most, nullable=True)
    mentioned = sorted(m for m in asked if m < number)
    reference = Table(x=column).x
    selectors = [reference.has(m).selector for m in mentioned] + [reference.has(0).selector.complement(), Null()]
    classes = column.classes(selectors, dict.fromkeys(mentioned, "same") if records == 3 else None, records)
    mentioned = sorted({*mentioned, 0})
    values = subsets(range(number), column.max_size)
    expected = Counter(((*tuple(s.holds(v) for s in selectors[:-1]), False)) for v in values)
    found = Counter(map(tuple, classes.selected.tolist()))
    assert found.pop((False,) * (len(selectors) - 1) + (True,)) == 1  # NULL
    assert found == Counter(dict.fromkeys(expected, 1))
    for row, size in zip(classes.selected.tolist()[:-1], classes.sizes, strict=False):
        assert size == expected[tuple(row)]  # how many sets lie there: caps on one value count them


def test_long_lists_of_members_have_more_sets_than_a_float_can_count():
    column = SubsetOf(range(2000))
    classes = column.classes([Table(x=column).x.has(0).selector])
    assert classes.selected.tolist() == [[False], [True]]
    assert min(classes.sizes) > 1e300


def test_too_many_patterns_become_one_class_that_satisfies_everything(monkeypatch):
    monkeypatch.setattr(columns, "MOST_PATTERNS", 10)
    column = SubsetOf(range(8), max_size=3, nullable=True)
    reference = Table(x=column).x
    selectors = [reference.has(m).selector for m in range(8)] + [Null(), Null(False)]
    classes = column.classes(selectors)
    assert not classes.exact
    assert classes.selected.tolist() == [[True] * 8 + [False, True], [False] * 8 + [True, False]]
    assert classes.names == ("any set of 3", "NULL")


def test_an_id_is_one_class():
    classes = Id().classes([])
    assert classes.names == ("any",)
    assert classes.sizes == (math.inf,)
    assert classes.spans == (None,)


@pytest.mark.parametrize(
    ("column", "understood", "foreign"),
    [
        (Cat("a", "b"), [Chosen(frozenset("a"))], [Chosen(frozenset("z")), Null(), Spans(()), Has("a")]),
        (Cat("a", nullable=True), [Null()], [Has("a")]),
        (Int(0, 3), [Spans((((1, 0), (9, 0)),))], [Spans((((1.5, 0), (2, 0)),)), Spans((((1, 1), (2, 0)),)), Null()]),
        (Float(0, 3), [Spans((((1.5, 1), (2, 0)),))], [Chosen(frozenset("a")), Has("a")]),
        (SubsetOf(range(3)), [Has(2)], [Has(3), Chosen(frozenset("a")), Null()]),
        (Id(), [], [Null(), Has(1), Chosen(frozenset("a"))]),
    ],
)
def test_which_selectors_speak_of_values_of_a_column(column, understood, foreign):
    assert all(map(column.understands, understood))
    assert not any(map(column.understands, foreign))


def test_an_ordered_column_takes_a_foreign_selector_for_satisfied():
    assert Int(0, 3).classes([Chosen(frozenset("a"))]).selected.all()  # too much is touched, never too little


# ---- names


def test_classes_have_readable_names():
    days = Date("2026-01-01", "2026-01-31")
    table = Table(n=Int(0, 9), x=Float(0, 1), d=days, c=Cat(*"abcdefg"), s=SubsetOf(["ab"]))

    def names(condition):
        return table.columns[condition.column].classes([condition.selector]).names

    assert names(table.n < 3) == ("0..2", "3..9")
    assert names(table.n == 0) == ("0", "1..9")
    assert names(table.x <= 0.5) == ("[0, 0.5]", "(0.5, 1]")
    assert names(table.x == 0.5) == ("[0, 0.5)", "0.5", "(0.5, 1]")
    assert names(table.d <= "2026-01-01") == ("2026-01-01", "2026-01-02..2026-01-31")
    assert names(table.c == "a") == ("a", "b|c|d|... (6)")
    assert names(table.s.has("ab")) == ("{}", "ab")
    assert str(table.columns["c"]) == "Cat(7 categories)"
    assert str(table.columns["s"]) == "SubsetOf(1 members, max_size=1)"


# ---- values and refusals


def test_values_in_plain_form():
    assert Cat("a", 2).value(2) == 2
    assert Int(0, 5).value(3.0) == 3
    assert isinstance(Int(0, 5).value(np.int64(3)), int)
    assert Float(0, 1).value(1) == 1.0
    assert Date("2026-01-01", "2026-12-31").value("2026-02-01") == datetime.date(2026, 2, 1).toordinal()
    assert SubsetOf(["a", "b", "c"], 2).value(["a", "b"]) == {"a", "b"}
    assert SubsetOf(range(3), 7).max_size == 3
    assert SubsetOf(range(3)).max_size == 3
    assert Id().value(("x", 1)) == ("x", 1)


@pytest.mark.parametrize(
    "make",
    [
        Cat,
        lambda: Cat("a", "a"),
        lambda: Cat("a", None),
        lambda: Cat("a", math.nan),
        lambda: Cat(["a"]),
        lambda: Cat("a", nullable=1),
        lambda: Int(3, 2),
        lambda: Int(0.5, 2),
        lambda: Int(0, math.nan),
        lambda: Int(0, math.inf),
        lambda: Int(0, 2**60),
        lambda: Int(0, "9"),
        lambda: Int(0, 1, nullable=None),
        lambda: Float(0, math.inf),
        lambda: Float(math.nan, 1),
        lambda: Float(1, 0),
        lambda: Date("2026-02-30", "2026-03-01"),
        lambda: Date("2026-03-01", "2026-02-01"),
        lambda: Date(1, 2),
        lambda: Date(datetime.datetime(2026, 1, 1, 12), "2026-03-01"),
        lambda: SubsetOf("abc"),
        lambda: SubsetOf([]),
        lambda: SubsetOf([1, 1]),
        lambda: SubsetOf([[1], [2]]),
        lambda: SubsetOf(5),
        lambda: SubsetOf(range(3), -1),
        lambda: SubsetOf(range(3), 1.5),
        lambda: Cat("a").value("b"),
        lambda: Cat("a").value(["a"]),
        lambda: Cat(*range(20)).value(99),
        lambda: Int(0, 5).value(6),
        lambda: Int(0, 5).value(0.5),
        lambda: Float(0, 1).value(1.5),
        lambda: Float(0, 1).value(math.nan),
        lambda: Date("2026-01-01", "2026-01-02").value("2026-01-03"),
        lambda: SubsetOf(range(3), 1).value([0, 1]),
        lambda: SubsetOf(range(3)).value([4]),
        lambda: SubsetOf(range(3)).value(1),
        lambda: SubsetOf(range(3)).member([1]),
        lambda: Id().value(None),
        lambda: Id().value([1]),
    ],
)
def test_bad_columns_and_values_are_refused(make):
    with pytest.raises(InvalidParameter):
        make()


def test_a_long_list_of_categories_is_cut_in_the_message():
    with pytest.raises(InvalidParameter, match=r"11, \.\.\.") as caught:
        Cat(*range(20)).value(99)
    assert "19" not in str(caught.value)
