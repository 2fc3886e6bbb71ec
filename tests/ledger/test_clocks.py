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


def test_what_was_released_counts_in_the_period_that_it_was_released_in(ledger: Ledger, clock: Clock) -> None:
    """Forward, spend, back: nothing is refreshed a second time, and no budget waits for a date that was wrong."""
    ledger.open("b", epsilon=1.0, protects="x", refresh=DAY)
    ledger.open("p", epsilon=1.0, protects="x", refresh=DAY, kind="planned", plan=[("a", qw.pure(1.0))])
    clock.forward(days=3)
    ledger.spend("b", qw.pure(1.0))
    ledger.spend("p", release="a")
    clock.now = START + TICK
    ledger.accept_clock("it was ahead")
    assert left(ledger) == 0.0
    assert ledger.balance("p").runs == {"a": (1, 1)}
    for act in (lambda: ledger.spend("b", qw.pure(0.25)), lambda: ledger.spend("p", release="a")):
        with refused(ledger, BudgetExceeded):
            act()
    assert ledger.verify().holds
    for days in (1, 2, 3):
        clock.now = START + days * DAY + TICK
        assert left(ledger) == 1.0
        ledger.spend("b", qw.pure(1.0))
        ledger.spend("p", release="a")
        with refused(ledger, BudgetExceeded):
            ledger.spend("b", qw.pure(0.25))
    assert ledger.verify().holds
    assert ledger.verify(full=True).holds


def test_several_periods_become_one_and_all_of_it_is_said(ledger: Ledger, clock: Clock) -> None:
    for delta, name in ((None, "pure"), (1e-6, "several")):
        ledger.open(name, epsilon=1.0, delta=delta, protects="x", refresh=DAY)
    ledger.open("parts", epsilon=1.0, protects="x", refresh=DAY, blocks=qw.ledger.Blocks("hospital"))
    for days in (0, 1, 5):
        clock.now = START + days * DAY + TICK
        for name in ("pure", "several"):
            ledger.spend(name, qw.pure(0.75))
        ledger.spend("parts", qw.pure(0.5), blocks=["a"])
        ledger.spend("parts", qw.pure(0.25))
    clock.now = START + 2 * TICK
    before = ledger.verify()  # its book is read by the next one
    assert before.holds
    ledger.accept_clock("it was days ahead")
    assert float(ledger.balance("pure").spent.upper) == 2.25  # beyond the limit, and said
    assert float(ledger.balance("several").spent.upper) > 1.0
    assert float(ledger.balance("parts", "a").spent.upper) == 2.25
    assert float(ledger.balance("parts", "b").spent.upper) == 0.75
    for name in ("pure", "several"):
        assert not ledger.balance(name)
        assert ledger.would_exceed(name, qw.pure(1e-9))
        ledger.balance(name).explain()
        assert ledger.forecast(name, qw.pure(0.1)).count == 0
    assert ledger.would_exceed("parts", qw.pure(0.5), blocks=["a"])
    assert ledger.verify().holds
    assert ledger.verify(full=True).holds
    clock.now = START + DAY + TICK
    assert float(ledger.balance("pure").left.lower) == float(ledger.balance("parts", "a").left.lower) == 1.0


def test_what_is_held_comes_back_to_the_period_that_it_counts_in(ledger: Ledger, clock: Clock) -> None:
    ledger.open("b", epsilon=1.0, protects="x", refresh=DAY)
    clock.forward(days=3)
    held = ledger.reserve("b", qw.pure(0.5), lease=3600)
    started = ledger.reserve("b", qw.pure(0.25), lease=3600)
    ledger.start(started.seq)
    clock.now = START + TICK
    ledger.accept_clock("it was ahead")
    assert left(ledger) == 0.25
    clock.now = START + 3 * DAY  # the period that it was reserved in, of a clock that was wrong
    ledger.spend("b", qw.pure(0.75))
    ledger.refund(held.seq)  # of a period that is over by now: it makes no room in this one
    assert left(ledger) == 0.25
    assert ledger.verify().holds


def test_a_clock_that_is_wrong_twice(ledger: Ledger, clock: Clock) -> None:
    ledger.open("b", epsilon=1.0, protects="x", refresh=DAY)
    for day, ahead in ((0, 3), (2, 5), (2, 3)):
        clock.now = START + ahead * DAY + 2 * TICK
        ledger.spend("b", qw.pure(0.25))
        clock.now = START + day * DAY + TICK
        ledger.accept_clock("again")
    assert float(ledger.balance("b").spent.upper) == 0.5
    assert ledger.verify(full=True).holds
    clock.now = START + TICK
    ledger.accept_clock("it was two days ahead all the time")
    assert float(ledger.balance("b").spent.upper) == 0.75
    assert ledger.verify().holds
    assert ledger.verify(full=True).holds


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
