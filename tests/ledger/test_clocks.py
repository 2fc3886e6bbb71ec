"""Clocks that are wrong: small steps back are taken as none, large ones stop everything that writes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import pytest
from tests.ledger.books import START, Clock, kinds, refused

import quiltwork as qw
from quiltwork.errors import BudgetExceeded, ClockWentBack, InvalidParameter, NotOpen
from quiltwork.ledger import Ledger

TICK = timedelta(microseconds=1)
DAY = timedelta(days=1)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def ledger(fast_sqlite: str, clock: Clock) -> Iterator[Ledger]:
    with Ledger(fast_sqlite, clock=clock) as made:
        yield made


def left(ledger: Ledger) -> float:
    return float(ledger.balance("b").left.lower)


def test_a_small_step_back_is_taken_as_no_step(ledger_url: str) -> None:
    clock = Clock()
    with Ledger(ledger_url, clock=clock) as ledger:
        ledger.open("b", epsilon=1.0, protects="x")
        clock.now = START - timedelta(minutes=1)
        entry = ledger.spend("b", qw.pure(0.25))
        assert entry.time == "2030-01-01T12:00:00.000000+00:00"  # times in the chain never go back
        assert ledger.verify().holds


def test_a_large_step_back_stops_everything_that_writes(ledger_url: str) -> None:
    clock = Clock()
    with Ledger(ledger_url, clock=clock) as ledger:
        ledger.open("b", epsilon=1.0, protects="x")
        held = ledger.reserve("b", qw.pure(0.25), lease=3600)
        clock.now = START - timedelta(minutes=1) - TICK
        acts: list[Callable[[], Any]] = [
            lambda: ledger.spend("b", qw.pure(0.25)),
            lambda: ledger.reserve("b", qw.pure(0.25), lease=60),
            lambda: ledger.run("b", qw.pure(0.25), lambda: 1),
            lambda: ledger.start(held.seq),
            lambda: ledger.refund(held.seq),
            lambda: ledger.pause("b"),
            lambda: ledger.open("c", epsilon=1.0, protects="x"),
        ]
        for act in acts:
            with refused(ledger, ClockWentBack, "nothing was done"):
                act()
        assert left(ledger) == 0.75  # reading goes on
        clock.now = START
        ledger.start(held.seq)


def test_a_step_back_does_not_bring_back_what_expired(ledger: Ledger, clock: Clock) -> None:
    ledger.open("b", epsilon=1.0, protects="x", expires=START + timedelta(minutes=5))
    ledger.open("c", epsilon=1.0, protects="x")
    held = ledger.reserve("b", qw.pure(0.25), lease=240)
    clock.now = START + timedelta(minutes=5)
    ledger.spend("c", qw.pure(0.25))
    clock.now = START + timedelta(minutes=4, seconds=30)
    with refused(ledger, NotOpen, "expired"):
        ledger.spend("b", qw.pure(0.25))
    clock.now = START + timedelta(minutes=4) - TICK  # by its own clock the lease would still run
    with refused(ledger, (NotOpen, ClockWentBack)):  # type: ignore[arg-type]
        ledger.start(held.seq)


# ---- a clock that was ahead


def test_a_ledger_from_the_future_is_brought_back(ledger_url: str) -> None:
    clock = Clock()
    with Ledger(ledger_url, clock=clock) as ledger:
        ledger.open("b", epsilon=1.0, protects="x")
        clock.forward(days=2000)
        ledger.spend("b", qw.pure(0.25))
        clock.now = START + DAY
        with refused(ledger, ClockWentBack):
            ledger.spend("b", qw.pure(0.25))
        receipt = ledger.accept_clock("the clock of one machine was six years ahead")
        assert (receipt.kind, receipt.time) == ("clock", "2030-01-02T12:00:00.000000+00:00")
        assert receipt.content["note"].startswith("the clock of one machine")
        assert ledger.spend("b", qw.pure(0.25)).time == receipt.time
        assert left(ledger) == 0.5  # what was spent in the future was spent
        assert kinds(ledger) == ["ledger", "open", "spend", "clock", "spend"]
        assert ledger.verify().holds


def test_no_period_begins_twice(ledger: Ledger, clock: Clock) -> None:
    """Forward, spend, back, forward again: that must not give the room of a period a second time."""
    ledger.open("b", epsilon=1.0, protects="x", refresh=DAY)
    ledger.open("p", epsilon=1.0, protects="x", refresh=DAY, kind="planned", plan=[("a", qw.pure(1.0))])
    clock.forward(days=3)
    ledger.spend("b", qw.pure(1.0))
    ledger.spend("p", release="a")
    clock.now = START + TICK
    ledger.accept_clock("it was ahead")
    for ahead in (0, 1, 2, 3, 3.9):  # each of these times lies before the end of the period that was begun
        clock.now = START + TICK + ahead * DAY
        assert left(ledger) == 0.0
        assert ledger.balance("p").runs == {"a": (1, 1)}
        with refused(ledger, BudgetExceeded):
            ledger.spend("b", qw.pure(0.25))
        with refused(ledger, BudgetExceeded):
            ledger.spend("p", release="a")
    clock.now = START + 4 * DAY
    assert left(ledger) == 1.0
    ledger.spend("b", qw.pure(1.0))
    assert ledger.verify().holds


def test_what_lapsed_and_ran_stays_so(ledger: Ledger, clock: Clock) -> None:
    ledger.open("b", epsilon=1.0, protects="x")
    gone = ledger.reserve("b", qw.pure(0.25), lease=60)
    ran = ledger.reserve("b", qw.pure(0.25), lease=7200)
    clock.forward(hours=1)
    ledger.start(ran.seq)
    ledger.spend("b", qw.pure(0.25))  # writes the lapse down
    clock.now = START + TICK
    ledger.accept_clock("it was ahead")
    for act in (ledger.start, ledger.refund):
        with refused(ledger, NotOpen, "lapsed"):
            act(gone.seq)
    assert left(ledger) == 0.5
    ledger.settle(ran.seq)
    assert ledger.verify().holds


@pytest.mark.parametrize("note", ["", None, 5, "x" * 2001, "\x00"])
def test_a_clock_is_not_accepted_without_a_word(ledger: Ledger, note: Any) -> None:
    with refused(ledger, InvalidParameter, "note"):
        ledger.accept_clock(note)
