"""Connections: after a restart of the server, closed when they should be, and when somebody else holds the lock."""

from __future__ import annotations

import contextlib
import gc
import os
import sqlite3
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import create_engine, text

import quiltwork as qw
from quiltwork.errors import InvalidParameter, LedgerUnavailable, QuiltworkError
from quiltwork.ledger import Ledger

COST = 2.0**-10


@pytest.fixture
def ledger(ledger_url: str) -> Iterator[Ledger]:
    """With one budget that has room for 64 spends; it was used before."""
    with Ledger(ledger_url) as made:
        made.open("city", epsilon=64 * COST, protects="one person")
        made.balance("city")
        yield made


def spent(ledger: Ledger) -> int:
    """How many spends were granted, after a look at everything."""
    found = ledger.verify()
    assert found.holds, found
    entries = [entry for entry in ledger.history("city") if entry.kind == "spend"]
    assert float(ledger.balance("city").spent.upper) == len(entries) * COST
    return len(entries)


# ---- connections that went stale


def test_after_a_restart_of_the_server(postgres, postgres_url):
    """Connections of the pool are dead: the next call makes new ones by itself."""
    with Ledger(postgres_url) as ledger:
        ledger.open("city", epsilon=64 * COST, protects="one person")
        with ThreadPoolExecutor(5) as pool:  # several connections wait in the pool
            list(pool.map(lambda _: ledger.balance("city"), range(10)))
        for turn, how in enumerate((postgres.restart, postgres.kill)):
            how()
            postgres.start()
            assert ledger.spend("city", qw.pure(COST), key=f"{turn}").seq == 3 + turn
        assert spent(ledger) == 2


@pytest.mark.parametrize(
    "act",
    [
        "balance",
        "budgets",
        "history",
        "verify",
        "would_exceed",
        "forecast",
        "receipt",
        "open",
        "pause",
        "reserve",
        "run",
    ],
)
def test_every_act_after_a_restart(postgres, postgres_url, act):
    """Reading too: the first call after the restart is answered."""
    with Ledger(postgres_url) as ledger:
        ledger.open("city", epsilon=64 * COST, protects="one person")
        acts: dict[str, Callable[[], Any]] = {
            "balance": lambda: ledger.balance("city"),
            "budgets": ledger.budgets,
            "history": lambda: list(ledger.history("city")),
            "verify": ledger.verify,
            "would_exceed": lambda: ledger.would_exceed("city", qw.pure(COST)),
            "forecast": lambda: ledger.forecast("city", qw.pure(COST)),
            "receipt": lambda: ledger.receipt(1),
            "open": lambda: ledger.open("town", epsilon=1.0, protects="one person"),
            "pause": lambda: ledger.pause("city"),
            "reserve": lambda: ledger.reserve("city", qw.pure(COST), lease=60),
            "run": lambda: ledger.run("city", qw.pure(COST), lambda: 7),
        }
        engine = create_engine(postgres_url)
        with engine.begin() as connection:  # as a restart does, and faster
            connection.execute(
                text("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() "
                     "AND datname = current_database()")
            )  # fmt: skip
        engine.dispose()
        acts[act]()
        assert ledger.verify().holds


# ---- closing


def connections(url: str) -> int:
    """How many the server sees; how many handles of the file this process has."""
    if url.startswith("sqlite"):
        file = Path(url.removeprefix("sqlite:///")).resolve()
        found = [Path(f"/proc/self/fd/{one}") for one in os.listdir("/proc/self/fd")]
        with_file = 0
        for one in found:
            with contextlib.suppress(OSError):
                with_file += one.resolve() == file
        return with_file
    engine = create_engine(url)
    asked = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
    deadline = time.monotonic() + 10
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        while (count := connection.execute(text(asked)).scalar_one()) and time.monotonic() < deadline:
            time.sleep(0.02)
    engine.dispose()
    return int(count)


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="open files are counted by /proc")
def test_disposed(ledger_url):
    """Nothing stays open; the ledger can be used again, and disposed of again."""
    with Ledger(ledger_url) as ledger:
        ledger.open("city", epsilon=64 * COST, protects="one person")
        with ThreadPoolExecutor(4) as pool:
            list(pool.map(lambda _: ledger.balance("city"), range(8)))
    assert connections(ledger_url) == 0
    ledger.disconnect()
    assert ledger.balance("city").budget.name == "city"
    ledger.dispose()
    ledger.dispose()
    assert connections(ledger_url) == 0
    with ledger as again:
        assert again is ledger
        ledger.spend("city", qw.pure(COST))
    assert connections(ledger_url) == 0


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="open files are counted by /proc")
def test_forgotten(ledger_url):
    """A ledger that nobody disposed of is closed with its last reference."""
    for _ in range(3):
        Ledger(ledger_url).budgets()
        gc.collect()
    assert connections(ledger_url) == 0


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="open files are counted by /proc")
def test_a_refused_ledger_leaves_nothing_open(ledger_url, tmp_path):
    """Errors in the making of the object: a wrong token, a wrong key."""
    with Ledger(ledger_url, key=tmp_path / "right.key") as ledger:
        ledger.admit("ada", "admin")
    for options in ({"token": "qw_wrong"}, {"key": tmp_path / "nowhere.key"}):
        with pytest.raises(QuiltworkError):
            Ledger(ledger_url, **{"key": tmp_path / "right.key", **options})
    gc.collect()
    assert connections(ledger_url) == 0


def test_closing_without_a_name_says_what_closes_a_connection_and_what_a_budget(sqlite_url):
    with Ledger(sqlite_url) as ledger:
        ledger.open("b", epsilon=1.0, protects="one record")
        with pytest.raises(InvalidParameter, match=r"budget.*`with`.*disconnect\(\)"):
            ledger.close()
        assert ledger.budget("b").state == "open"
        ledger.close("b")
        assert ledger.budget("b").state == "closed"


def test_an_error_inside_with_comes_out(ledger_url):
    def failing(ledger: Ledger) -> None:
        ledger.open("city", epsilon=1.0, protects="one person")
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"), Ledger(ledger_url) as ledger:
        failing(ledger)
    with Ledger(ledger_url) as ledger:
        assert [one.name for one in ledger.budgets()] == ["city"]


# ---- locks


@contextlib.contextmanager
def locked(url: str) -> Iterator[None]:
    """Somebody else in the middle of a transaction."""
    if url.startswith("sqlite"):
        with contextlib.closing(sqlite3.connect(url.removeprefix("sqlite:///"), isolation_level=None)) as raw:
            raw.execute("BEGIN IMMEDIATE")
            yield
            raw.execute("ROLLBACK")
        return
    engine = create_engine(url)
    with engine.begin() as connection:
        connection.execute(text("SELECT seq FROM ledger_head FOR UPDATE"))
        yield
    engine.dispose()


def test_lock_timeout(ledger, ledger_url):
    """LedgerUnavailable, certain that nothing was written."""
    with Ledger(ledger_url, timeout=0.3) as hasty:
        hasty.balance("city")
        with locked(ledger_url):
            for act in (
                lambda: hasty.spend("city", qw.pure(COST)),
                lambda: hasty.reserve("city", qw.pure(COST), lease=60),
                lambda: hasty.pause("city"),
                lambda: hasty.open("town", epsilon=1.0, protects="one person"),
                lambda: hasty.run("city", qw.pure(COST), pytest.fail),
            ):
                with pytest.raises(LedgerUnavailable, match="locked") as caught:
                    act()
                assert caught.value.certain
                assert "timeout" in caught.value.hint
            assert hasty.balance("city").budget.name == "city"  # reading waits for nobody
        hasty.spend("city", qw.pure(COST))
    assert spent(ledger) == 1


def test_a_lock_that_is_given_back_in_time(ledger, ledger_url):
    """Who waits gets it, and nothing is written twice."""
    with ThreadPoolExecutor(1) as pool:
        with locked(ledger_url):
            waiting = pool.submit(ledger.spend, "city", qw.pure(COST))
            time.sleep(0.3)
            assert not waiting.done()
        assert waiting.result(30).seq == 3
    assert spent(ledger) == 1


def test_a_ledger_that_is_being_made_by_somebody_else(sqlite_url):
    """The file is there and locked, and holds no ledger yet."""
    file = Path(sqlite_url.removeprefix("sqlite:///"))
    with contextlib.closing(sqlite3.connect(file, isolation_level=None)) as raw:
        raw.execute("PRAGMA journal_mode=WAL")
        raw.execute("BEGIN IMMEDIATE")
        with pytest.raises(LedgerUnavailable, match="locked"):
            Ledger(sqlite_url, timeout=0.2)
        raw.execute("ROLLBACK")
    with Ledger(sqlite_url) as ledger:
        assert ledger.verify().holds


@pytest.mark.parametrize("timeout", [0, -1, float("nan"), float("inf"), None, "5", True, 10**400])
def test_timeouts_that_are_none(sqlite_url, timeout):
    with pytest.raises(QuiltworkError):
        Ledger(sqlite_url, timeout=timeout)
    assert not Path(sqlite_url.removeprefix("sqlite:///")).exists()


@pytest.mark.parametrize("timeout", [1e-9, 1e9, 1e100])
def test_timeouts_of_all_sizes(ledger_url, timeout):
    """What the database cannot wait is cut to what it can."""
    with Ledger(ledger_url, timeout=timeout) as ledger:
        ledger.open("city", epsilon=1.0, protects="one person")
        ledger.spend("city", qw.pure(COST))
        assert ledger.verify().holds
