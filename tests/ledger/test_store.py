"""One ledger object after a fork and in many threads."""

from __future__ import annotations

import gc
import os
import sys
import threading
import traceback
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from sqlalchemy import text

import quiltwork as qw
from quiltwork.errors import AlreadyRun, BudgetExceeded
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


# ---- fork


def forked(task: Callable[[], None]) -> int:
    """A child made by fork(2) itself, with everything of this process in it; its number."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that other threads run is part of the test
        child = os.fork()
    if child:
        return child
    status = 1
    try:
        task()
        status = 0
    except BaseException:
        traceback.print_exc()
        sys.stderr.flush()
    finally:
        os._exit(status)


def joined(children: list[int]) -> None:
    assert [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children] == [0] * len(children)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_used_before_a_fork(ledger):
    """Parent and children use the same object at the same time; each gets connections of its own."""
    ledger.spend("city", qw.pure(COST))

    def task() -> None:
        for _ in range(5):
            ledger.spend("city", qw.pure(COST))
            assert ledger.balance("city").budget.name == "city"

    children = [forked(task) for _ in range(4)]
    task()
    joined(children)
    assert spent(ledger) == 1 + 5 * 5


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_child_that_ends_leaves_the_parents_connections(ledger):
    """Also one that closes everything, collects its garbage, or forks again."""

    def one() -> None:
        ledger.spend("city", qw.pure(COST))

    def closes() -> None:
        ledger.dispose()
        gc.collect()

    def leaves() -> None:
        ledger.spend("city", qw.pure(COST))
        ledger.dispose()
        ledger.spend("city", qw.pure(COST))

    def again() -> None:
        ledger.spend("city", qw.pure(COST))
        joined([forked(one) for _ in range(2)])
        ledger.spend("city", qw.pure(COST))

    for task in (closes, leaves, again):
        joined([forked(task)])
        ledger.spend("city", qw.pure(COST))
    assert spent(ledger) == 2 + 4 + 3


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_fork_inside_a_transaction(ledger):
    """A connection that is in use in the parent is not touched by the child."""

    def task() -> None:
        ledger.spend("city", qw.pure(COST))

    with ledger._session.store.reading() as connection:
        connection.execute(text("SELECT 1"))
        joined([forked(task)])
        assert connection.execute(text("SELECT count(*) FROM ledger_entries")).scalar_one() >= 2
    assert spent(ledger) == 1


# ---- threads


def test_eight_threads_on_one_object(ledger):
    """More than fits is asked for: exactly what fits is granted."""
    barrier = threading.Barrier(8)

    def task(who: int) -> int:
        barrier.wait()
        granted = 0
        for turn in range(12):
            try:
                ledger.spend("city", qw.pure(COST), key=f"{who}-{turn}")
                granted += 1
            except BudgetExceeded:
                pass
            ledger.balance("city")
            ledger.would_exceed("city", qw.pure(COST))
        return granted

    with ThreadPoolExecutor(8) as pool:
        granted = sum(pool.map(task, range(8)))
    assert granted == 64 == spent(ledger)


def test_threads_share_a_key_and_a_reservation(ledger):
    held = ledger.reserve("city", qw.pure(COST), lease=3600)
    barrier = threading.Barrier(8)

    def task(_: int) -> tuple[int, bool]:
        barrier.wait()
        seq = ledger.spend("city", qw.pure(COST), key="one").seq
        try:
            ledger.start(held.seq)
        except AlreadyRun:
            return seq, False
        return seq, True

    with ThreadPoolExecutor(8) as pool:
        done = list(pool.map(task, range(8)))
    assert len({seq for seq, _ in done}) == 1
    assert [won for _, won in done].count(True) == 1
    assert ledger.verify().holds


def test_many_more_threads_than_connections(ledger):
    """They wait for each other; nobody fails for want of a connection."""

    def task(_: int) -> None:
        ledger.spend("city", qw.pure(COST))
        list(ledger.history("city", limit=3))

    with ThreadPoolExecutor(40) as pool:
        list(pool.map(task, range(40)))
    assert spent(ledger) == 40


def test_readers_do_not_wait_for_a_writer(ledger):
    """A transaction that holds the lock stops no balance and no verification."""
    with ledger._session.store.writing():
        assert ledger.balance("city").budget.name == "city"
        assert ledger.verify().holds
        assert len(list(ledger.history())) == 2


def test_a_history_that_is_read_slowly_blocks_nobody(ledger):
    """It shows the ledger as it was when its first entry was read."""
    for _ in range(3):
        ledger.spend("city", qw.pure(COST))
    entries = ledger.history()
    first = next(entries)
    ledger.spend("city", qw.pure(COST))
    assert first.seq == 1
    assert [entry.seq for entry in entries] in ([2, 3, 4, 5], [2, 3, 4, 5, 6])
    assert spent(ledger) == 4


def test_a_history_left_unread_gives_its_connection_back(ledger):
    for _ in range(40):
        entries = ledger.history()
        next(entries)
        del entries
    gc.collect()
    ledger.spend("city", qw.pure(COST))
    assert spent(ledger) == 1
