"""Whatever is changed in the tables of a ledger, by whoever can write them, verification says so and says where.

`first_bad` is, precisely: walk the entries by their numbers; it is the first place 1, 2, 3 ... whose entry is missing,
is not what was hashed or does not follow. If the chain itself is whole, it is the newest entry that could have written
what differs: that of the budget for a budget's row, that of the ledger for any other row and for the head; the number
after it when the head names an entry beyond the end.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path

import attrs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy.exc import DBAPIError
from tests.examples import PROFILE, examples
from tests.ledger.forge import COLUMNS, TABLES, SqliteForger
from tests.ledger.judging import Expected, altered, judged, none_of, same, swapped
from tests.ledger.rich import KINDS, STATUSES, Rich, rich

from quiltwork.ledger.chain.keys import SigningKey


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Rich, Path]]:
    """A signed SQLite ledger with everything in it; nobody changes it."""
    folder = tmp_path_factory.mktemp("rich")
    made = rich(f"sqlite:///{folder}/budgets.db", folder / "budgets.db.key")
    yield made, folder / "budgets.db"
    made.ledger.dispose()


@pytest.fixture(scope="module", params=["typed", "loose"])
def forger(original: tuple[Rich, Path], request: pytest.FixtureRequest) -> Iterator[SqliteForger]:
    """A copy to tamper with, also with tables that take everything."""
    made = SqliteForger(str(original[1]), loose=request.param == "loose")
    yield made
    made.close()


@pytest.fixture(scope="module")
def typed(original: tuple[Rich, Path]) -> Iterator[SqliteForger]:
    made = SqliteForger(str(original[1]))
    yield made
    made.close()


@pytest.fixture(scope="module")
def signing(original: tuple[Rich, Path]) -> SigningKey:
    return SigningKey.load(f"{original[1]}.key")


# ---- what is there to begin with


def test_the_ledger_is_rich_and_holds(original, forger):
    made, _ = original
    assert {row["kind"] for row in forger.entries()} == KINDS
    assert {row["status"] for row in forger.rows("ledger_reservations")} == STATUSES
    assert all(len(forger.rows(table)) >= 1 for table in TABLES)
    found = forger.verified(made.receipts)
    assert found.holds
    assert found.signed
    assert found.entries == len(forger.entries())
    assert made.ledger.verify(receipts=made.receipts) == attrs.evolve(found, known=True)


# ---- every cell, every row


@pytest.mark.parametrize("table", TABLES)
def test_every_cell(forger, table):
    expected, problems, tried = Expected(forger), [], 0
    rows = forger.rows(table)
    for turn, row in enumerate(rows):
        for column in COLUMNS[table]:
            values = altered(row[column])
            kept = math.ceil(len(values) / len(rows))  # each cell gets some, each column gets all
            if PROFILE == "campaign":
                kept = 3 if len(rows) > 20 else len(values)
            values = [values[(kept * turn + step) % len(values)] for step in range(kept)]
            for value in values:
                with forger.undone():
                    try:
                        stored = forger.set(table, row["place"], column, value)
                    except DBAPIError:
                        continue  # the table itself refused
                    if same(stored, row[column]):
                        continue
                    tried += 1
                    where = (table, row.get("seq", row.get("name")), column, value)
                    problems += judged(forger, where, expected(table, row, column, stored))
    assert tried > 3 * len(COLUMNS[table])
    none_of(problems)


@pytest.mark.parametrize("table", TABLES)
def test_every_row_deleted(forger, table):
    expected, problems = Expected(forger), []
    for row in forger.rows(table):
        with forger.undone():
            forger.delete(table, row["place"])
            problems += judged(forger, (table, row), expected(table, row))
    none_of(problems)


@pytest.mark.parametrize("table", TABLES)
def test_every_row_twice(forger, table):
    """Under the same key where the table takes it, and under another one."""
    expected, problems, tried = Expected(forger), [], 0
    first = COLUMNS[table][0]
    for row in forger.rows(table):
        number = isinstance(row[first], int)
        for other in (row[first], row[first] + 1000 if number else row[first] + "x", -(2**63) if number else ""):
            with forger.undone():
                try:
                    forger.insert(table, {**row, first: other, "identity": f"{other}"})
                except DBAPIError:
                    continue
                tried += 1
                bad = expected.last
                if table == "ledger_entries":
                    bad = row["seq"] + 1 if other == row["seq"] else 1 if other < 1 else expected.last + 1
                elif table == "ledger_budgets" and other == row[first]:
                    bad = expected.last
                problems += judged(forger, (table, row[first], other), bad)
    assert tried
    none_of(problems)


def test_a_row_that_nobody_wrote(forger):
    """Rows of nothing: empty cells, cells of wrong types."""
    expected, problems = Expected(forger), []
    for table in TABLES:
        for value in (None, "", 0, -(2**63), 10**6, b"\xff", 0.5):
            with forger.undone():
                try:
                    forger.insert(table, dict.fromkeys(COLUMNS[table], value))
                except DBAPIError:
                    continue
                bad = expected.last
                if table == "ledger_entries":
                    bad = bad + 1 if not isinstance(value, (int, float)) or value > 1 else 1
                problems += judged(forger, (table, value), bad)
    none_of(problems)


def test_a_table_emptied(forger):
    expected = Expected(forger)
    for table in TABLES:
        with forger.undone():
            forger.run(f"DELETE FROM {table}")
            found = forger.verified()
        assert not found.holds
        if table == "ledger_entries":
            assert found.first_bad == 1
        elif table != "ledger_budgets":
            assert found.first_bad == expected.last


@settings(max_examples=examples(400))
@given(st.data())
def test_a_random_byte(typed, data):
    """One byte of one cell is replaced, removed or added; the text may then be no Unicode at all."""
    table = data.draw(st.sampled_from(TABLES))
    row = data.draw(st.sampled_from(typed.rows(table)))
    column = data.draw(st.sampled_from([name for name in COLUMNS[table] if isinstance(row[name], str)]))
    before = row[column].encode()
    place, byte = data.draw(st.integers(0, len(before) - 1)), data.draw(st.integers(0, 255))
    act = data.draw(st.sampled_from(["replace", "remove", "add"]))
    middle = {"replace": bytes([byte]), "remove": b"", "add": bytes([byte, before[place]])}[act]
    after = before[:place] + middle + before[place + 1 :]
    if after == before:
        return
    expected = Expected(typed)(table, row, column, after)
    with typed.undone():
        typed.raw.execute(f"UPDATE {table} SET {column} = CAST(? AS TEXT) WHERE rowid = ?", (after, row["place"]))
        none_of(judged(typed, (table, row["place"], column, after), expected))


# ---- order and numbers


def test_two_entries_swapped(forger):
    entries, problems = forger.entries(), []
    last = len(entries) - 1
    pairs = [(at, at + 1) for at in range(last)] + [(0, last), (3, 30), (1, last - 1)]
    for one, two in pairs:
        with forger.undone():
            forger.rewrite(swapped(entries, one, two))
            problems += judged(forger, (one, two), one + 1)
    none_of(problems)


def test_renumbered(forger):
    entries = forger.entries()
    last, problems = len(entries), []
    for at in (1, 2, 7, last):
        with forger.undone():  # everything from here on moves up
            forger.rewrite([row if row["seq"] < at else {**row, "seq": row["seq"] + 1} for row in entries])
            problems += judged(forger, ("up", at), at)
        with forger.undone():  # one is taken out and the others close up
            forger.rewrite([{**row, "seq": row["seq"] - (row["seq"] > at)} for row in entries if row["seq"] != at])
            problems += judged(forger, ("closed", at), at)
    none_of(problems)


def test_tail_cut_off(forger):
    """Also when the head is moved back: its signature is of another hash."""
    entries, problems = forger.entries(), []
    for left in range(1, len(entries)):
        with forger.undone():
            forger.rewrite(entries[:left])
            problems += judged(forger, ("cut", left), left + 1)
            last = entries[left - 1]
            forger.head(seq=left, hash=last["hash"], time=last["time"])
            problems += judged(forger, ("cut, head moved", left), left)
    with forger.undone():
        forger.rewrite([])
        problems += judged(forger, "all", 1)
    none_of(problems)
