"""Tables: records in plain form, references, parts of a split, and everything that is refused."""

import copy
import datetime
import itertools
import math
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

import quiltwork as qw
from quiltwork.errors import InvalidParameter
from quiltwork.tables import Cat, Date, Float, Id, Int, SubsetOf, Table
from quiltwork.tables.schema.columns import Column

T = Table(
    region=Cat("N", "S", nullable=True),
    age=Int(0, 9, nullable=True),
    x=Float(0, 1),
    day=Date("2026-01-01", "2026-01-05"),
    tags=SubsetOf(range(4), max_size=2),
    person=Id(),
)
NAN = float("nan")
RECORD = {"region": "N", "age": 3, "x": 0.5, "day": "2026-01-02", "tags": [1], "person": "p"}


def kept(parts, record):
    return [label for label, condition in parts.items() if condition.keeps(record)]


def test_a_record_in_plain_form():
    found = T.record(**RECORD)
    assert found == {
        "region": "N", "age": 3, "x": 0.5, "day": datetime.date(2026, 1, 2).toordinal(), "tags": {1}, "person": "p",
    }  # fmt: skip
    assert T.record(**RECORD | {"region": None, "age": None})["age"] is None


@pytest.mark.parametrize(
    "change", [{"x": None}, {"person": None}, {"region": "W"}, {"age": 10}, {"tags": [1, 2, 3]}, {"extra": 1}]
)
def test_a_bad_record_is_refused(change):
    with pytest.raises(InvalidParameter):
        T.record(**RECORD | change)


def test_a_record_needs_every_column():
    with pytest.raises(InvalidParameter, match="person"):
        T.record(region="N")


# ---- references


def test_columns_by_name_and_by_attribute():
    assert T["age"].name == T.age.name == "age"
    assert T.age.column is T.columns["age"]
    assert repr(T.region) == "<column region: Cat(2 categories)>"
    assert repr(T).startswith("Table(region=Cat(2 categories), age=")
    with pytest.raises(InvalidParameter, match="one of region"):
        T["height"]
    with pytest.raises(AttributeError, match="height"):
        T.height  # noqa: B018


def test_a_column_may_be_called_like_a_method():
    table = Table(rows=Int(0, 3), most=Int(0, 1))
    assert (table["rows"] < 2).keeps({"rows": 1, "most": 0})
    assert table.most == math.inf
    assert table.rows(1, 2).most == 2


def test_tables_are_copied_and_pickled():
    for again in (copy.copy(T), copy.deepcopy(T), pickle.loads(pickle.dumps(T.rows(1, 4)))):
        assert list(again.columns) == list(T.columns)


def test_a_reference_is_no_key():
    with pytest.raises(TypeError):
        hash(T.age)


@pytest.mark.parametrize(
    "use",
    [
        lambda: T.region == "W",
        lambda: T.region == None,  # noqa: E711
        lambda: T.age != None,  # noqa: E711
        lambda: T.region < "N",
        lambda: T.tags == 1,
        lambda: T.tags < 1,
        lambda: T.person == "p",
        lambda: T.person < 1,
        lambda: T.age.isin("12"),
        lambda: T.age.isin(3),
        lambda: T.age.isin([1, None]),
        lambda: T.age == "3",
        lambda: T.age < NAN,
        lambda: T.x <= math.inf,
        lambda: T.age < True,
        lambda: T.age > 10**400,
        lambda: T.age > 2**60,  # no float holds it exactly
        lambda: T.x < 10**400,
        lambda: T.day < "yesterday",
        lambda: T.day < 5,
        lambda: T.day == datetime.datetime(2026, 1, 1),
        lambda: T.age.between(3, 3),
        lambda: T.age.between(4, 3),
        lambda: T.age.between(3.2, 3.8),
        lambda: T.age.has(1),
        lambda: T.tags.has(9),
        lambda: T.tags.has([1]),
        T.x.is_null,
        T.person.is_null,
        lambda: T.age == T.x,
        T.person.parts,
        T.x.parts,
        T.tags.parts,
        lambda: T.region.parts([0, 1]),
        lambda: T.x.parts([0.5]),
        lambda: T.x.parts([0.5, 0.5]),
        lambda: T.x.parts([0, 0.5, 0.2]),
        Table(n=Int(0, 10**6)).n.parts,
    ],
)
def test_conditions_that_make_no_sense_are_refused(use):
    with pytest.raises(InvalidParameter):
        use()


def test_the_hint_for_other_kinds_of_columns():
    with pytest.raises(InvalidParameter, match="has a member"):
        T.tags == 1  # noqa: B015
    with pytest.raises(InvalidParameter, match="whose record"):
        T.person == "p"  # noqa: B015
    with pytest.raises(InvalidParameter, match="is_null"):
        T.region == None  # noqa: B015, E711


# ---- parts


def test_parts_by_value():
    assert list(T.region.parts()) == ["N", "S", "NULL"]
    assert list(T.age.parts()) == [*map(str, range(10)), "NULL"]
    assert list(T.day.parts()) == [f"2026-01-0{d}" for d in range(1, 6)]
    for region, age in itertools.product(("N", "S", None), (0, 4, 9, None)):
        record = T.record(**RECORD | {"region": region, "age": age})
        assert kept(T.region.parts(), record) == [region or "NULL"]
        assert kept(T.age.parts(), record) == ["NULL" if age is None else str(age)]
        assert kept(T.day.parts(), record) == ["2026-01-02"]


@given(st.lists(st.sampled_from([n / 4 for n in range(-4, 45)]), min_size=2, max_size=5, unique=True).map(sorted))
def test_intervals_are_disjoint_and_cover_every_value_and_null(edges):
    if len({math.ceil(e) for e in edges}) < len(edges):
        with pytest.raises(InvalidParameter):  # between two edges there is no whole number
            T.age.parts(edges)
        return
    parts = T.age.parts(edges)
    for age in (*range(10), None):
        inside = [f"{a}..{b}" for a, b in itertools.pairwise(edges) if age is not None and a <= age < b]
        assert kept(parts, {"age": age}) == (inside or ["NULL" if age is None else "other"])
    assert ("other" in parts) == (math.ceil(edges[0]) > 0 or edges[-1] <= 9)


def test_the_last_edge_of_a_real_column_is_left_out():
    parts = T.x.parts([0, 0.5, 1])
    assert [kept(parts, {"x": x}) for x in (0.0, 0.49, 0.5, 1.0)] == [["0..0.5"], ["0..0.5"], ["0.5..1"], ["other"]]
    assert "other" not in T.x.parts([0, 2])


@pytest.mark.parametrize("column", [Cat(1, "1"), Cat("NULL", "b", nullable=True)])
def test_no_part_is_lost_when_two_values_look_the_same(column):
    table = Table(c=column)
    try:
        parts = table.c.parts()
    except InvalidParameter:
        return  # refused is fine; a part that silently is not there is not
    for value in (*column.categories, *((None,) if column.nullable else ())):
        assert len(kept(parts, {"c": value})) == 1


# ---- how many rows


def test_a_bound_on_the_number_of_records():
    assert (T.least, T.most, T.fixed_size) == (0, math.inf, False)
    bounded = T.rows(2, 5)
    assert (bounded.least, bounded.most, bounded.fixed_size) == (2, 5, False)
    assert T.rows(4, 4).fixed_size
    assert T.rows(0, 0).fixed_size
    assert T.rows(3).most == math.inf
    assert bounded.columns == T.columns
    assert T.least == 0


@pytest.mark.parametrize("bounds", [(3, 2), (-1, 2), (0, 1.5), (0, math.inf), (None, 2), (True, 2)])
def test_bad_numbers_of_records_are_refused(bounds):
    with pytest.raises(InvalidParameter):
        T.rows(*bounds)


# ---- construction


@pytest.mark.parametrize("columns", [{}, {"a": "text"}, {"a": Cat}, {"a": int}])
def test_a_table_has_columns_and_nothing_else(columns):
    with pytest.raises(InvalidParameter):
        Table(**columns)


def test_names_are_checked_and_written_once():
    assert T.names(["age", T.x, "age"], "reads") == ("age", "x")
    assert T.names((), "reads") == ()
    for bad in ("age", T.age, ["height"], [3], 5, [["age"]]):
        with pytest.raises(InvalidParameter, match="reads"):
            T.names(bad, "reads")


def test_a_column_is_abstract():
    with pytest.raises(TypeError):
        Column()


@pytest.mark.parametrize(
    "compare",
    [
        lambda t: t.x < t.y,
        lambda t: t.x >= t.y,
        lambda t: t.x == t.y,
        lambda t: t.region != t.x,
        lambda t: t.x.between(0, t.y),
        lambda t: t.tags.has(t.x),
    ],
)
def test_two_columns_are_not_compared(compare):
    table = qw.Table(x=qw.Int(0, 9), y=qw.Int(0, 9), region=qw.Cat("N", "S"), tags=qw.SubsetOf([1, 2]))
    with pytest.raises(InvalidParameter, match="compares a column with values, not with another column"):
        compare(table)
