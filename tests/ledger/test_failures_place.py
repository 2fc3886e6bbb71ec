"""When a ledger is not where or what it should be, or the clock is wrong: a clear error, and nothing is changed."""

from __future__ import annotations

import contextlib
import os
import shutil
import sqlite3
from datetime import UTC, datetime, timedelta

import pytest
from tests.ledger.harm import COST, made, unharmed

import quiltwork as qw
from quiltwork.errors import BrokenChain, ClockWentBack, InvalidParameter, LedgerUnavailable, QuiltworkError
from quiltwork.ledger import Ledger

# ---- the file is not what it was


@pytest.mark.parametrize(
    "content", [b"This is a letter.\n" * 100, b"\x00" * 8192, os.urandom(5000), b"SQLite format 3\x00"]
)
def test_not_a_database(sqlite_url, tmp_path, content):
    (tmp_path / "budgets.db").write_bytes(content)
    with pytest.raises(LedgerUnavailable):
        Ledger(sqlite_url).budgets()
    assert (tmp_path / "budgets.db").read_bytes() == content


def test_somebody_elses_database(sqlite_url, tmp_path):
    with contextlib.closing(sqlite3.connect(tmp_path / "budgets.db")) as connection:
        connection.execute("CREATE TABLE ledger_entries (letter TEXT)")
        connection.commit()
    with pytest.raises(QuiltworkError):
        Ledger(sqlite_url).budgets()
    with contextlib.closing(sqlite3.connect(tmp_path / "budgets.db")) as connection:
        assert connection.execute("SELECT name FROM sqlite_master").fetchall() == [("ledger_entries",)]


@pytest.mark.parametrize("share", [0.01, 0.3, 0.6, 0.9])
def test_truncated_file(sqlite_url, tmp_path, share):
    """Nothing is granted from a file that lost its end; put back whole, it goes on."""
    made(sqlite_url)
    with Ledger(sqlite_url) as ledger:
        for _ in range(40):
            ledger.spend("city", qw.pure(COST), note="x" * 1000)
    file = tmp_path / "budgets.db"
    whole = file.read_bytes()
    with unharmed(sqlite_url):
        for left in tmp_path.glob("budgets.db-*"):
            left.unlink()
        file.write_bytes(whole[: int(len(whole) * share)])
        assert not holds(sqlite_url)
        for left in tmp_path.glob("budgets.db-*"):
            left.unlink()
        file.write_bytes(whole)


def holds(url: str) -> bool:
    try:
        with Ledger(url) as ledger:
            return bool(ledger.verify().holds)
    except (LedgerUnavailable, BrokenChain):
        return False


def test_removed_while_open(sqlite_url, tmp_path):
    """Whoever puts another file in its place does not make the open ledger write into the void."""
    made(sqlite_url)
    other = tmp_path / "copy.db"
    with Ledger(sqlite_url) as ledger:
        ledger.balance("city")
        shutil.copy(tmp_path / "budgets.db", other)
        (tmp_path / "budgets.db").rename(tmp_path / "old.db")
        other.rename(tmp_path / "budgets.db")
        with contextlib.suppress(LedgerUnavailable):
            receipt = ledger.spend("city", qw.pure(COST))
            with Ledger(sqlite_url) as again:
                assert receipt.seq in [entry.seq for entry in again.history()]


@pytest.mark.parametrize("table", ["ledger_entries", "ledger_head", "ledger_budgets", "ledger_version"])
def test_a_table_is_missing(sqlite_url, tmp_path, table):
    made(sqlite_url)
    with contextlib.closing(sqlite3.connect(tmp_path / "budgets.db")) as connection:
        connection.execute(f"DROP TABLE {table}")
        connection.commit()
    with pytest.raises(QuiltworkError), Ledger(sqlite_url) as ledger:
        ledger.spend("city", qw.pure(COST))


# ---- the place is wrong


def test_no_such_directory(tmp_path):
    with pytest.raises(LedgerUnavailable, match="directory"):
        Ledger(f"sqlite:///{tmp_path}/nowhere/budgets.db").budgets()
    assert list(tmp_path.iterdir()) == []


def test_a_directory_is_no_file(tmp_path):
    with pytest.raises(LedgerUnavailable):
        Ledger(f"sqlite:///{tmp_path}").budgets()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "url",
    [
        "sqlite://",
        "sqlite:///:memory:",
        "sqlite:///file:x?mode=memory&uri=true",
        "sqlite:///file::memory:?uri=true",
        "sqlite+aiosqlite:///budgets.db",
        "mysql://somebody@localhost/budgets",
        "oracle+cx://x",
        "postgresql+asyncpg://somebody@localhost/budgets",
        "postgresql+psycopg://somebody@localhost:port/budgets",
        "budgets.db",
        "://",
        "\x00",
        "",
        " ",
        None,
        7,
        b"sqlite:///budgets.db",
        True,
    ],
)
def test_unknown_places(url, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InvalidParameter):
        Ledger(url)
    assert list(tmp_path.iterdir()) == []


# ---- the clock


def test_clock_goes_back(ledger_url):
    times = {"now": datetime.now(UTC) + timedelta(hours=1)}
    made(ledger_url)
    with Ledger(ledger_url, clock=lambda: times["now"]) as ledger:
        seq = ledger.reserve("city", qw.pure(COST), lease=timedelta(days=1)).seq
        before = [entry.hash for entry in ledger.history()]
        times["now"] -= timedelta(minutes=30)
        for act in (
            lambda: ledger.spend("city", qw.pure(COST)),
            lambda: ledger.reserve("city", qw.pure(COST), lease=10),
            lambda: ledger.start(seq),
            lambda: ledger.refund(seq),
            lambda: ledger.pause("city"),
            lambda: ledger.open("town", epsilon=1.0, protects="one person"),
        ):
            with pytest.raises(ClockWentBack):
                act()
        assert [entry.hash for entry in ledger.history()] == before
        assert ledger.verify().holds
        times["now"] += timedelta(hours=2)
        ledger.start(seq)
        ledger.spend("city", qw.pure(COST))
        assert ledger.verify().holds


@pytest.mark.parametrize("broken", [lambda: datetime(2026, 1, 1), lambda: None, lambda: 7.0])
def test_a_clock_that_shows_no_time(ledger_url, broken):
    made(ledger_url)
    with unharmed(ledger_url), pytest.raises(InvalidParameter), Ledger(ledger_url, clock=broken) as ledger:
        ledger.spend("city", qw.pure(COST))
