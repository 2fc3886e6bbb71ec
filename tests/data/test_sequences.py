"""Counting in DuckDB, against a plain loop."""

import datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.data import naive

from quiltwork.data import Counts, Engine, Lengths, sequences
from quiltwork.errors import InvalidParameter, Unsupported

ROWS = st.lists(
    st.tuples(st.integers(0, 4), st.integers(-50, 50), st.sampled_from(["a", "b", "ç", ""])),
    min_size=1,
    max_size=30,
    unique_by=lambda row: row[:2],
)


@pytest.fixture(scope="module")
def engine():
    with Engine.open() as engine:
        yield engine


@pytest.fixture
def in_parts(monkeypatch):
    """Two rows to a part, so that even small tables are counted in parts."""
    monkeypatch.setattr(sequences, "ROWS_A_PART", 2)


def read(engine, rows, **more):
    return engine.sequences(naive.columns(rows), who="who", when="when", state="state", **more)


@settings(max_examples=30)  # each asks five questions of a database
@given(ROWS)
def test_counts_are_those_of_the_naive_loop(engine, rows):
    found = read(engine, rows)
    counts = found.transition_counts()
    states = sorted({state for _, _, state in rows})
    assert counts.states == found.states() == tuple(states)
    assert (counts.matrix.tolist(), counts.first.tolist()) == naive.transitions(rows, states)
    assert found.category_counts().counts.tolist() == counts.visits.tolist()
    histories = naive.histories(rows)
    assert counts == Counts.of(histories.values())
    assert found.lengths().total == len(rows) == found.rows
    assert found.lengths().longest == max(map(len, histories.values()))
    assert found.lengths().people.sum() == counts.people == len(histories)


def test_parts_give_the_same_counts(engine, monkeypatch):
    rows = [(who, when, (who * when) % 3) for who in range(-20, 20) for when in range(1 + who % 7)]
    whole = read(engine, rows).transition_counts()
    seen = []
    monkeypatch.setattr(sequences, "ROWS_A_PART", 10)
    monkeypatch.setattr(sequences, "steps", lambda count, *rest: seen.append(count) or range(count))
    assert read(engine, rows).transition_counts() == whole
    assert seen == [len(rows) // 10]
    assert (whole.matrix.tolist(), whole.first.tolist()) == naive.transitions(rows, [0, 1, 2])


@pytest.mark.usefixtures("in_parts")
def test_ties_are_found_in_every_part(engine):
    rows = [(who, when, "a") for who in range(6) for when in range(2)]
    for who in range(6):
        with pytest.raises(InvalidParameter, match="order would be arbitrary"):
            read(engine, [*rows, (who, 1, "b")]).transition_counts()


def test_ties_do_not_matter_to_other_questions(engine):
    found = read(engine, [(1, 1, "a"), (1, 1, "b"), (2, 1, "a")])
    assert found.category_counts().counts.tolist() == [2, 1]
    assert found.lengths() == Lengths([1, 2], [1, 1])


@pytest.mark.parametrize(
    "states",
    [
        ["x", "it's", 'a "b"', "; DROP TABLE t --", "\\", "a\nb"],
        [0, -1, 2**62],
        [False, True],
        [datetime.date(2026, 1, 1), datetime.date(1999, 12, 31)],
    ],
)
def test_states_of_every_kind_keep_their_values(engine, states):
    rows = [(who, when, states[(who + when) % len(states)]) for who in range(3) for when in range(7)]
    counts = read(engine, rows).transition_counts()
    assert counts.states == tuple(sorted(states))
    assert [type(state) for state in counts.states] == [type(states[0])] * len(states)
    assert (counts.matrix.tolist(), counts.first.tolist()) == naive.transitions(rows, sorted(states))


@pytest.mark.parametrize(
    "moments",
    [
        [0.5, -0.5, float("inf"), 1e300],
        [datetime.datetime(2026, 1, 1, 0, 0, 0, 1), datetime.datetime(2026, 1, 1), datetime.datetime(1969, 1, 1)],
        [datetime.date(2026, 1, 1), datetime.date(2025, 12, 31), datetime.date(2024, 2, 29)],
        [datetime.time(8), datetime.time(7, 59, 59, 999999), datetime.time(0)],
    ],
)
def test_moments_of_every_kind_are_in_order(engine, moments):
    rows = [(1, moment, f"s{place}") for place, moment in enumerate(moments)]
    counts = read(engine, rows).transition_counts()
    assert (counts.matrix.tolist(), counts.first.tolist()) == naive.transitions(rows, counts.states)


def test_one_entry_for_each_person_makes_no_step(engine):
    counts = read(engine, [(1, 5, "a"), (2, 5, "a"), (3, 5, "b")]).transition_counts()
    assert counts.matrix.tolist() == [[0, 0], [0, 0]]
    assert counts.first.tolist() == [2, 1]


def test_named_states_set_the_order_and_may_be_absent(engine):
    found = read(engine, [(1, 1, "a"), (1, 2, "b")])
    counts = found.transition_counts(["b", "never", "a"])
    assert counts.states == ("b", "never", "a")
    assert counts.matrix.tolist() == [[0, 0, 0], [0, 0, 0], [1, 0, 0]]
    assert found.category_counts(["b", "never", "a"]).counts.tolist() == [1, 0, 1]
    for ask in (found.transition_counts, found.category_counts):
        with pytest.raises(InvalidParameter, match="not in the list: 'b'"):
            ask(["a"])
        with pytest.raises(InvalidParameter, match="twice"):
            ask(["a", "b", "a"])
        with pytest.raises(InvalidParameter, match="list of different names"):
            ask("ab")


def test_numbers_do_not_stand_for_texts(engine):
    with pytest.raises(InvalidParameter, match="not in the list: '1'"):
        read(engine, [(1, 1, "1")]).transition_counts([1])


@pytest.mark.parametrize("missing", ["error", "drop"])
def test_an_empty_table_has_no_states_but_zero_counts(engine, missing):
    found = engine.sequences(
        {"who": [], "when": [], "state": [], "group": []},
        who="who",
        when="when",
        state="state",
        group="group",
        missing=missing,
    )
    assert (found.rows, found.states(), found.group_counts(), found.group_lengths()) == (0, (), {}, {})
    assert found.lengths().longest == 0
    assert found.transition_counts(["a", "b"]) == Counts(["a", "b"], [[0, 0], [0, 0]], [0, 0])
    with pytest.raises(InvalidParameter, match="name the states"):
        found.transition_counts()
    with pytest.raises(InvalidParameter, match="name the states"):
        found.transition_counts([])


NULLS = {
    "who": [1, 1, None, 1, 2],
    "when": [1.0, None, 3.0, float("nan"), 5.0],
    "state": ["a", "b", "c", "d", None],
}


def test_missing_values_are_an_error_with_their_number(engine):
    with pytest.raises(InvalidParameter, match="'who': 1, 'when': 2, 'state': 1") as caught:
        engine.sequences(NULLS, who="who", when="when", state="state")
    assert caught.value.given == {"who": 1, "when": 2, "state": 1}
    assert "in its 5 rows" in str(caught.value)


def test_missing_values_are_dropped_when_asked(engine):
    rows = {**NULLS, "when": [1.0, None, 3.0, 4.0, 5.0], "state": ["a", "b", "c", "d", "a"]}
    found = engine.sequences(rows, who="who", when="when", state="state", missing="drop")
    assert (found.rows, found.dropped) == (3, 2)
    assert found.transition_counts() == Counts.of([["a", "d"], ["a"]])


def test_a_missing_group_counts_as_missing(engine):
    rows = {"who": [1, 2], "when": [1, 1], "state": ["a", "b"], "country": ["x", None]}
    with pytest.raises(InvalidParameter, match="'country': 1"):
        engine.sequences(rows, who="who", when="when", state="state", group="country")
    found = engine.sequences(rows, who="who", when="when", state="state", group="country", missing="drop")
    assert found.group_counts().keys() == {"x"}


def test_nothing_but_missing_values_leaves_nothing(engine):
    rows = {"who": [1, 2], "when": [1, 1], "state": [None, None]}
    with pytest.raises(InvalidParameter, match="'state': 2"):
        engine.sequences(rows, who="who", when="when", state="state")
    assert engine.sequences(rows, who="who", when="when", state="state", missing="drop").states() == ()


def test_groups_share_their_states(engine):
    rows = {
        "who": [1, 1, 1, 2, 3],
        "when": [1, 2, 3, 1, 1],
        "state": ["a", "b", "a", "a", "c"],
        "group": ["x", "x", "y", "y", "z"],
    }
    found = engine.sequences(rows, who="who", when="when", state="state", group="group")
    counts = found.group_counts()
    assert list(counts) == ["x", "y", "z"]
    assert {group: tally.counts.tolist() for group, tally in counts.items()} == {
        "x": [1, 1, 0],
        "y": [2, 0, 0],
        "z": [0, 0, 1],
    }
    assert {tally.states for tally in counts.values()} == {("a", "b", "c")}
    assert found.group_counts(["c", "b", "a", "d"])["y"].counts.tolist() == [0, 0, 2, 0]
    assert found.group_lengths() == {"x": Lengths([2], [1]), "y": Lengths([1], [2]), "z": Lengths([1], [1])}
    assert found.lengths() == Lengths([1, 3], [2, 1])
    assert found.transition_counts() == Counts.of([["a", "b", "a"], ["a"], ["c"]])
    with pytest.raises(InvalidParameter, match="not in the list: 'c'"):
        found.group_counts(["a", "b"])


def test_groups_must_be_asked_for(engine):
    found = read(engine, [(1, 1, "a")])
    for ask in (found.group_counts, found.group_lengths):
        with pytest.raises(Unsupported, match="group="):
            ask()


def test_identifiers_in_the_place_of_states_are_refused(engine, monkeypatch):
    monkeypatch.setattr(sequences, "MOST_STATES", 3)
    monkeypatch.setattr(sequences, "MOST_CELLS", 3)
    found = read(engine, [(1, when, f"s{when}") for when in range(4)], group=None)
    for ask in (found.states, found.transition_counts, found.category_counts):
        with pytest.raises(InvalidParameter, match="is this the column of states"):
            ask()
    rows = {**naive.columns([(1, when, f"s{when}") for when in range(4)]), "group": ["x", "y", "x", "y"]}
    with pytest.raises(InvalidParameter, match="right columns"):
        engine.sequences(rows, who="who", when="when", state="state", group="group").group_counts()


@pytest.mark.parametrize(
    ("role", "values", "words"),
    [
        ("who", [1.0, 2.0], "whole numbers"),
        ("who", [[1], [2]], "whole numbers"),
        ("when", ["2026-01-01", "2026-01-02"], "numbers or moments"),
        ("when", [True, False], "numbers or moments"),
        ("state", [1.0, 2.0], "booleans or dates"),
        ("state", [b"a", b"b"], "booleans or dates"),
        ("state", [{"a": 1}, {"a": 2}], "booleans or dates"),
        ("group", [0.5, 1.5], "booleans or dates"),
    ],
)
def test_columns_of_the_wrong_kind_are_refused(engine, role, values, words):
    rows = {"who": [1, 2], "when": [1, 2], "state": ["a", "b"], "group": ["x", "y"], role: values}
    with pytest.raises(InvalidParameter, match=f"{role} column '{role}'.*{words}"):
        engine.sequences(rows, who="who", when="when", state="state", group="group")


def test_missing_columns_are_named_with_those_that_exist(engine):
    with pytest.raises(InvalidParameter, match=r"'nobody'.*the columns are \['who', 'when', 'state'\]"):
        engine.sequences(naive.columns([(1, 1, "a")]), who="nobody", when="when", state="state")


@pytest.mark.parametrize(
    "wrong",
    [
        {"who": "when"},
        {"state": "who"},
        {"who": ""},
        {"who": 3},
        {"when": None},
        {"missing": "ignore"},
        {"missing": True},
        {"group": 5},
    ],
)
def test_wrong_names_are_refused(engine, wrong):
    given = {"who": "who", "when": "when", "state": "state", **wrong}
    with pytest.raises(InvalidParameter):
        engine.sequences(naive.columns([(1, 1, "a")]), **given)


def test_odd_column_names_are_only_names(engine):
    names = ('a "b"; DROP TABLE t; --', "it's `when`", "état 1.x")
    rows = naive.columns([(1, 1, "a"), (1, 2, "b")], names)
    found = engine.sequences(rows, who=names[0], when=names[1], state=names[2], group=names[2])
    assert found.transition_counts().matrix.tolist() == [[0, 1], [0, 0]]
    assert found.group_counts()["a"].counts.tolist() == [1, 0]


def test_a_text_of_a_sequence_names_its_engine(engine):
    assert repr(read(engine, [(1, 1, "a")])) == "Sequences(engine=duckdb, rows=1, dropped=0, grouped=False)"
