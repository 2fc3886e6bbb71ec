"""One query: what it reads, when only its count matters, and when it cannot be analysed."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

import quiltwork as qw
from quiltwork.tables import Cat, Id, Int, Table, add_remove, clip_rows, flat_map, join, on_input, opaque
from quiltwork.tables.query import Query
from quiltwork.tables.schema import predicates

T = Table(region=Cat("N", "S"), age=Int(0, 9), person=Id())
HOLDS = on_input(add_remove())


def query(where=T.everything, **more):
    return Query("q", qw.pure(1.0), HOLDS, where, **more)


@pytest.mark.parametrize(
    ("where", "via", "stability"),
    [
        (T.age < 3, None, 1),
        (opaque("a", stability=2), None, 2),
        (opaque("a", stability=2) & opaque("b", stability=1.5) & (T.age < 3), None, 3),
        (T.age < 3, flat_map("x", max_out=4), 4),
        (opaque("a", stability=2), flat_map("x", max_out=4), 8),
        (T.age < 3, join(truncate=(5, 3)), 6),
        (T.age < 3, clip_rows("person", 7), 2),
        (opaque("a", stability=2), clip_rows("person", 7), 4),
    ],
)
def test_stabilities_multiply(where, via, stability):
    assert query(where, via=via).stability == stability


def test_what_cannot_be_analysed(monkeypatch):
    assert not query(T.age < 3).opaque
    assert query(T.age < 3).boxes == tuple((T.age < 3).boxes())
    chosen = query(T.age < 3, adaptive=True)
    assert chosen.opaque
    declared = query((T.age < 3) & opaque("search", stability=1))
    assert declared.opaque
    monkeypatch.setattr(predicates, "MOST_BOXES", 1)
    wide = query((T.age < 3) | (T.region == "N"))
    assert wide.opaque


@pytest.mark.parametrize(
    ("more", "counts"),
    [
        ({"reads": frozenset()}, True),
        ({"reads": None}, False),
        ({"reads": frozenset({"age"})}, False),
        ({"reads": frozenset(), "via": flat_map("x", max_out=2)}, False),
        ({"reads": frozenset(), "adaptive": True}, False),
        ({"reads": frozenset(), "where": opaque("search", stability=1)}, False),
    ],
)
def test_when_only_the_number_of_records_matters(more, counts):
    assert query(**more).counts == counts


@given(st.none() | st.frozensets(st.sampled_from(sorted(T.columns))), st.frozensets(st.sampled_from(sorted(T.columns))))
def test_a_change_is_seen_when_a_column_that_is_read_changed(reads, changed):
    """Two records that differ in exactly these columns, projected by hand."""
    before = dict.fromkeys(T.columns, 0)
    after = before | dict.fromkeys(changed, 1)
    shown = sorted(T.columns) if reads is None else sorted(reads)
    differs = any(before[name] != after[name] for name in shown)
    if changed or reads is not None:
        assert query(reads=reads).reads_any(changed) == differs
    seen = query(reads=reads, via=flat_map("x", max_out=2)).reads_any(changed)
    assert seen == (bool(changed & reads) if reads else True)  # a map looks at what is read; how many rows, at all
    seen = query(reads=reads, via=clip_rows("person", 1)).reads_any(changed)
    assert seen == ("person" in changed if reads is not None and not reads else True)  # which rows stay, at all
    assert query(reads=reads, via=clip_rows("person", 1, first=True), where=T.age > 3).reads_any(changed)


def test_queries_are_told_apart_by_identity():
    assert len({query() for _ in range(3)}) == 3
    assert all(one != two for one, two in itertools.combinations([query(), query()], 2))
