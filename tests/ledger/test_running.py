"""`run`: reserve, start, call and settle, at most once for a key, and spent whatever the call does."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from datetime import timedelta
from typing import Any

import pytest
from tests.ledger.books import Clock, kinds, refused

import quiltwork as qw
from quiltwork.errors import AlreadyRun, BudgetExceeded, InvalidParameter, NotOpen
from quiltwork.ledger import Ledger


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def ledger(fast_sqlite: str, clock: Clock) -> Iterator[Ledger]:
    with Ledger(fast_sqlite, clock=clock) as made:
        made.open("b", epsilon=1.0, protects="x")
        yield made


class Job:
    """A function that counts its calls."""

    def __init__(self, error: BaseException | None = None) -> None:
        self.calls, self.error = 0, error

    def __call__(self) -> str:
        self.calls += 1
        if self.error is not None:
            raise self.error
        return "result"


def left(ledger: Ledger) -> float:
    return float(ledger.balance("b").left.lower)


def test_a_run(ledger_url: str) -> None:
    job = Job()
    with Ledger(ledger_url, clock=Clock()) as ledger:
        ledger.open("b", epsilon=1.0, protects="x")
        assert ledger.run("b", qw.pure(0.25), job, times=2, note="n") == "result"
        assert (job.calls, left(ledger)) == (1, 0.5)
        assert kinds(ledger, "b") == ["open", "reserve", "start", "settle"]
        with refused(ledger, BudgetExceeded):
            ledger.run("b", qw.pure(0.75), job)
        assert job.calls == 1


def test_a_refusal_calls_nothing(ledger: Ledger, clock: Clock) -> None:
    job = Job()
    with refused(ledger, BudgetExceeded):
        ledger.run("b", qw.pure(1.5), job)
    with refused(ledger, InvalidParameter):
        ledger.run("b", None, job)
    with refused(ledger, InvalidParameter):
        ledger.run("nobody", qw.pure(0.1), job)
    ledger.pause("b")
    with refused(ledger, NotOpen):
        ledger.run("b", qw.pure(0.1), job)
    assert job.calls == 0


@pytest.mark.parametrize("call", [None, 5, "job"])
def test_only_functions_are_run(ledger: Ledger, call: Any) -> None:
    with refused(ledger, InvalidParameter):
        ledger.run("b", qw.pure(0.1), call)


@pytest.mark.parametrize("error", [RuntimeError("broke"), KeyboardInterrupt(), SystemExit(1)], ids=repr)
def test_what_was_called_stays_spent(ledger: Ledger, clock: Clock, error: BaseException) -> None:
    job = Job(error)
    with pytest.raises(type(error)):
        ledger.run("b", qw.pure(0.75), job, lease=60, key="k")
    clock.forward(days=1)
    assert (job.calls, left(ledger), ledger.balance("b").held) == (1, 0.25, 0)
    with refused(ledger, AlreadyRun):
        ledger.run("b", qw.pure(0.75), job, lease=60, key="k")
    assert job.calls == 1
    assert ledger.verify().holds


def test_once_for_a_key(ledger_url: str) -> None:
    job = Job()
    with Ledger(ledger_url, clock=Clock()) as ledger:
        ledger.open("b", epsilon=1.0, protects="x")
        assert ledger.run("b", qw.pure(0.25), job, key="monday") == "result"
        for _ in range(3):
            with refused(ledger, AlreadyRun):
                ledger.run("b", qw.pure(0.25), job, key="monday")
        assert (job.calls, left(ledger)) == (1, 0.75)
        ledger.run("b", qw.pure(0.25), job, key="tuesday")
        assert (job.calls, left(ledger)) == (2, 0.5)


def test_a_key_of_a_spend_runs_nothing(ledger: Ledger) -> None:
    job = Job()
    ledger.spend("b", qw.pure(0.25), key="k")
    with refused(ledger, AlreadyRun):
        ledger.run("b", qw.pure(0.25), job, key="k")
    assert job.calls == 0


def test_a_job_that_died_before_it_started_is_run_by_the_next(ledger: Ledger, clock: Clock) -> None:
    """It reserved under its key and was killed: whoever comes with the key within the lease takes over."""
    ledger.reserve("b", qw.pure(0.25), lease=60, key="nightly")
    job = Job()
    assert ledger.run("b", qw.pure(0.25), job, lease=60, key="nightly") == "result"
    assert (job.calls, left(ledger)) == (1, 0.75)


def test_a_job_inside_a_job(ledger: Ledger) -> None:
    def outer() -> int:
        return ledger.run("b", qw.pure(0.25), lambda: 21, key="inner") * 2

    assert ledger.run("b", qw.pure(0.25), outer, key="outer") == 42
    assert left(ledger) == 0.5
    assert ledger.verify().holds


def test_a_job_longer_than_its_lease(ledger: Ledger, clock: Clock) -> None:
    assert ledger.run("b", qw.pure(0.25), lambda: clock.forward(hours=5).hour, lease=60) == 17
    assert left(ledger) == 0.75
    assert kinds(ledger, "b") == ["open", "reserve", "start", "settle"]


def test_what_was_held_over_the_end_of_a_period_never_adds_to_the_next(ledger: Ledger, clock: Clock) -> None:
    """What runs within a period keeps the limit, wherever it was reserved; what comes back is no room in the next."""
    ledger.open("r", epsilon=1.0, protects="x", refresh=timedelta(hours=1))
    kept = ledger.reserve("r", qw.pure(0.5), lease=timedelta(hours=3))
    gone = ledger.reserve("r", qw.pure(0.25), lease=timedelta(minutes=90))
    clock.forward(hours=1)
    assert float(ledger.balance("r").left.lower) == 1.0
    ledger.spend("r", qw.pure(0.75))
    with suppress(NotOpen):
        ledger.refund(gone.seq)
    assert float(ledger.balance("r").left.lower) == 0.25
    with pytest.raises((NotOpen, BudgetExceeded)):  # 1.25 would have run in this hour
        ledger.start(kept.seq)
    assert float(ledger.balance("r").left.lower) == 0.25
    clock.forward(hours=2)
    assert float(ledger.balance("r").left.lower) == 1.0
    ledger.spend("r", qw.pure(1.0))
    assert float(ledger.balance("r").left.lower) == 0.0
    for one in (kept, gone):
        with pytest.raises(NotOpen):
            ledger.start(one.seq)
    assert ledger.verify().holds


def test_reservations_of_many_periods_do_not_run_in_one(ledger: Ledger, clock: Clock) -> None:
    ledger.open("r", epsilon=1.0, protects="x", refresh=timedelta(days=1))
    held = []
    for _ in range(4):
        held.append(ledger.reserve("r", qw.pure(1.0), lease=timedelta(days=30)))
        clock.forward(days=1)
    ran = 0
    for one in held:
        with suppress(NotOpen, BudgetExceeded):
            ledger.start(one.seq)
            ran += 1
    with suppress(BudgetExceeded):
        ledger.spend("r", qw.pure(1.0))
        ran += 1
    assert ran == 1
