"""Entries are only added, on both databases; and what a PostgreSQL ledger tells when its owner tampers with it."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterator
from typing import Any

import pytest
from sqlalchemy import create_engine, text
from sqlalchemy.exc import DBAPIError
from tests.examples import some
from tests.ledger.forge import COLUMNS, TABLES, PostgresForger, chained, sealed
from tests.ledger.judging import Expected, judged, none_of, same, swapped
from tests.ledger.rich import Rich, rich

import quiltwork as qw
from quiltwork.ledger import Ledger

# ---- only added


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE ledger_entries SET body = '{}' WHERE seq = 2",
        "UPDATE ledger_entries SET seq = seq + 100",
        "UPDATE ledger_entries SET body = body",
        "DELETE FROM ledger_entries WHERE seq = 3",
        "DELETE FROM ledger_entries",
        "TRUNCATE ledger_entries",
        "INSERT INTO ledger_entries SELECT * FROM ledger_entries WHERE seq = 2 "
        "ON CONFLICT (seq) DO UPDATE SET body = 'x'",
    ],
)
def test_entries_are_only_added(ledger_url, statement):
    """The database itself refuses, whoever asks."""
    with Ledger(ledger_url) as ledger:
        ledger.open("city", epsilon=1.0, protects="one person")
        ledger.spend("city", qw.pure(0.25))
        before = list(ledger.history())
        if ledger_url.startswith("sqlite") and statement.startswith("TRUNCATE"):
            return  # SQLite knows no such statement
        engine = create_engine(ledger_url)
        with pytest.raises(DBAPIError, match="only added"), engine.begin() as connection:
            connection.execute(text(statement))
        engine.dispose()
        assert list(ledger.history()) == before
        assert ledger.verify().holds


def test_replacing_is_refused_too(sqlite_url):
    """INSERT OR REPLACE deletes without firing triggers unless recursive_triggers is on: verification sees it."""
    with Ledger(sqlite_url) as ledger:
        ledger.open("city", epsilon=1.0, protects="one person")
        ledger.spend("city", qw.pure(0.25))
        with contextlib.closing(sqlite3.connect(sqlite_url.removeprefix("sqlite:///"))) as raw:
            try:
                raw.execute(
                    "INSERT OR REPLACE INTO ledger_entries SELECT seq, time, kind, budget, principal, key, '{}', "
                    "previous, hash FROM ledger_entries WHERE seq = 3"
                )
                raw.commit()
            except sqlite3.DatabaseError:
                raw.rollback()
                assert ledger.verify().holds
                return
        found = ledger.verify()
        assert not found.holds
        assert found.first_bad == 3


# ---- PostgreSQL


@pytest.fixture(scope="module")
def served(postgres_cluster: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Rich, PostgresForger]]:
    postgres_cluster.start()
    url = postgres_cluster.database()
    made = rich(url, tmp_path_factory.mktemp("keys") / "ledger.key")
    forger = PostgresForger(url)
    yield made, forger
    forger.close()
    made.ledger.dispose()


def other_texts(value: Any) -> list[Any]:
    if value is None:
        return ["", "x"]
    if isinstance(value, str):
        return [chr(ord(value[0]) ^ 1) + value[1:], value[:-1] + chr(ord(value[-1]) ^ 1), value + " ", ""]
    if isinstance(value, bool):
        return [not value]
    return [value + 1, -(2**63)]


@pytest.mark.parametrize("table", TABLES)
def test_every_cell_of_a_server(served, table):
    _, forger = served
    expected, problems, tried = Expected(forger), [], 0
    rows = forger.rows(table)
    for row in some(
        rows[:: 4 if len(rows) > 20 else 1], 6
    ):  # each kind of change to each column, as test_tampering does to all
        for column in COLUMNS[table]:
            for value in other_texts(row[column]):
                with forger.undone():
                    try:
                        stored = forger.set(table, row["place"], column, value)
                    except DBAPIError:
                        continue
                    assert not same(stored, row[column])
                    tried += 1
                    where = (table, row.get("seq", row.get("name")), column, value)
                    problems += judged(forger, where, expected(table, row, column, stored))
    assert tried > len(COLUMNS[table])
    none_of(problems)


@pytest.mark.parametrize("table", TABLES)
def test_every_row_of_a_server_deleted(served, table):
    _, forger = served
    expected, problems = Expected(forger), []
    for row in forger.rows(table):
        with forger.undone():
            forger.delete(table, row["place"])
            problems += judged(forger, (table, row), expected(table, row))
    none_of(problems)


def test_order_tail_and_forgery_on_a_server(served):
    made, forger = served
    entries, problems = forger.entries(), []
    last = len(entries)
    with forger.undone():
        forger.rewrite(swapped(entries, 8, 9))
        problems += judged(forger, "swapped", 9)
    with forger.undone():
        forger.rewrite(entries[:-3])
        problems += judged(forger, "cut", last - 2)
        forger.head(seq=last - 3, hash=entries[-4]["hash"], time=entries[-4]["time"])
        problems += judged(forger, "cut, head moved", last - 3)
    for at in (3, 20, last - 1):
        with forger.undone():
            tail = chained([{**entries[at], "key": "forged"}, *entries[at + 1 :]], at + 1, entries[at]["previous"])
            forger.rewrite(entries[:at] + tail)
            forger.head(hash=tail[-1]["hash"])
            problems += judged(forger, "rewritten", last)
    with forger.undone():
        forger.insert("ledger_entries", {**sealed({**entries[-1], "seq": -(2**63)}), "key": None})
        problems += judged(forger, "below all numbers", 1)
    with forger.undone():
        forger.rewrite([])
        problems += judged(forger, "all", 1)
    none_of(problems)
    assert forger.verified(made.receipts).holds
