"""Time in a ledger: expiry, refresh periods and zones."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, timezone
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from tests.ledger.books import START, Clock, chain, refused

import quiltwork as qw
from quiltwork.errors import BudgetExceeded, InvalidParameter, NotOpen, QuiltworkError
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


# ---- expiry


def test_a_budget_expires_on_the_dot(ledger_url: str) -> None:
    clock = Clock()
    with Ledger(ledger_url, clock=clock) as ledger:
        ledger.open("b", epsilon=1.0, protects="x", expires=START + DAY)
        clock.now = START + DAY - TICK
        first = ledger.spend("b", qw.pure(0.25), key="k")
        clock.now = START + DAY
        with refused(ledger, NotOpen, "expired since 2030-01-02T12:00:00+00:00"):
            ledger.spend("b", qw.pure(0.25))
        with refused(ledger, NotOpen, "expired"):
            ledger.reserve("b", qw.pure(0.25), lease=60)
        with refused(ledger, NotOpen, "expired"):
            ledger.run("b", qw.pure(0.25), lambda: 1)
        assert left(ledger) == 0.75  # it can still be read, and an old request is answered
        assert ledger.spend("b", qw.pure(0.25), key="k").seq == first.seq
        ledger.close("b")


# ---- refresh


def test_a_period_ends_on_the_dot(ledger_url: str) -> None:
    clock = Clock()
    with Ledger(ledger_url, clock=clock) as ledger:
        budget = ledger.open("b", epsilon=1.0, protects="x", refresh=DAY)
        assert budget.terms.refresh == DAY
        assert (ledger.balance("b").period, ledger.balance("b").period_ends) == (0, START + DAY)
        ledger.spend("b", qw.pure(0.75))
        clock.now = START + DAY - TICK
        assert (left(ledger), ledger.forecast("b", qw.pure(0.25)).count) == (0.25, 1)
        with refused(ledger, BudgetExceeded):
            ledger.spend("b", qw.pure(0.5))
        clock.now = START + DAY
        before = chain(ledger)
        assert (left(ledger), ledger.forecast("b", qw.pure(0.25)).count) == (1.0, 4)
        assert not ledger.would_exceed("b", qw.pure(1.0))
        assert (ledger.balance("b").period, ledger.balance("b").period_ends) == (1, START + 2 * DAY)
        assert chain(ledger) == before  # nobody had to write that down
        assert ledger.spend("b", qw.pure(0.75)).content["period"] == 1
        assert left(ledger) == 0.25
        assert ledger.verify().holds


def test_periods_do_not_add_up(ledger: Ledger, clock: Clock) -> None:
    ledger.open("b", epsilon=1.0, protects="x", refresh=DAY)
    clock.forward(days=10.5)  # ten quiet days give no more room than one
    assert (left(ledger), ledger.balance("b").period) == (1.0, 10)
    with refused(ledger, BudgetExceeded):
        ledger.spend("b", qw.pure(1.25))
    ledger.spend("b", qw.pure(1.0))
    clock.forward(days=0.5)
    assert (left(ledger), ledger.balance("b").period) == (1.0, 11)


def test_a_forecast_looks_at_the_period_of_now(ledger: Ledger, clock: Clock) -> None:
    ledger.open("b", epsilon=1.0, protects="x", refresh=DAY)
    ledger.open("p", epsilon=1.0, protects="x", refresh=DAY, kind="planned", plan=[("a", qw.pure(0.5), 2)])
    ledger.spend("b", qw.pure(1.0))
    ledger.spend("p", release="a", times=2)
    assert (ledger.forecast("b", qw.pure(0.5)).count, ledger.forecast("p", release="a").count) == (0, 0)
    clock.forward(days=1)
    assert (ledger.forecast("b", qw.pure(0.5)).count, ledger.forecast("p", release="a").count) == (2, 2)


def test_periods_count_from_the_opening(ledger: Ledger, clock: Clock) -> None:
    ledger.open("a", epsilon=1.0, protects="x", refresh=DAY)
    clock.forward(hours=6)
    ledger.open("b", epsilon=1.0, protects="x", refresh=DAY)
    assert ledger.balance("a").period_ends == START + DAY
    assert ledger.balance("b").period_ends == START + timedelta(hours=30)


def test_a_clock_a_little_behind_stays_in_the_period_of_the_chain(ledger: Ledger, clock: Clock) -> None:
    """Two machines at the boundary: who is late must not spend from the period that is over."""
    ledger.open("b", epsilon=1.0, protects="x", refresh=DAY)
    ledger.spend("b", qw.pure(0.25))
    clock.now = START + DAY
    ledger.spend("b", qw.pure(0.75))
    clock.now = START + DAY - timedelta(seconds=30)
    assert left(ledger) == 0.25
    with refused(ledger, BudgetExceeded):
        ledger.spend("b", qw.pure(0.5))
    assert ledger.spend("b", qw.pure(0.25)).content["period"] == 1


def test_no_budget_is_refreshed_unasked(ledger: Ledger, clock: Clock) -> None:
    ledger.open("b", epsilon=1.0, protects="x")
    ledger.spend("b", qw.pure(1.0))
    clock.forward(days=36500)
    assert (left(ledger), ledger.balance("b").period, ledger.balance("b").period_ends) == (0.0, 0, None)


@pytest.mark.parametrize("refresh", [timedelta(microseconds=1), 0.1, timedelta(days=36525), 3600, 86400.000001])
def test_lengths_of_periods(ledger: Ledger, clock: Clock, refresh: Any) -> None:
    length = refresh if isinstance(refresh, timedelta) else timedelta(seconds=refresh)
    ledger.open("b", epsilon=1.0, protects="x", refresh=refresh)
    ledger.spend("b", qw.pure(1.0))
    clock.now = START + length - TICK
    assert left(ledger) == (1.0 if length == TICK and clock.now > START else 0.0)
    clock.now = START + length
    assert left(ledger) == 1.0
    assert ledger.verify().holds


# ---- zones


@pytest.mark.parametrize(
    ("given", "utc"),
    [
        (datetime(2031, 6, 1, 12, tzinfo=ZoneInfo("America/New_York")), "2031-06-01T16:00:00.000000+00:00"),
        (datetime(2031, 1, 1, 12, tzinfo=ZoneInfo("America/New_York")), "2031-01-01T17:00:00.000000+00:00"),
        # 02:30 happens twice when summer time ends (28 October 2035): fold says which
        (datetime(2035, 10, 28, 2, 30, tzinfo=ZoneInfo("Europe/Berlin")), "2035-10-28T00:30:00.000000+00:00"),
        (datetime(2035, 10, 28, 2, 30, fold=1, tzinfo=ZoneInfo("Europe/Berlin")), "2035-10-28T01:30:00.000000+00:00"),
        (datetime(2031, 1, 1, tzinfo=timezone(timedelta(hours=-11, minutes=-7))), "2031-01-01T11:07:00.000000+00:00"),
        (datetime(2031, 1, 1, 0, 0, 0, 1, tzinfo=UTC), "2031-01-01T00:00:00.000001+00:00"),
    ],
)
def test_times_are_kept_in_utc(ledger: Ledger, given: datetime, utc: str) -> None:
    budget = ledger.open("b", epsilon=1.0, protects="x", expires=given)
    assert next(ledger.history("b")).content["expires"] == utc
    assert budget.terms.expires == datetime.fromisoformat(utc)
    assert budget.terms.expires is not None
    assert budget.terms.expires.utcoffset() == timedelta(0)


def test_a_period_is_a_length_of_time_and_no_day_of_the_wall_clock(fast_sqlite: str) -> None:
    """Summer time begins in Berlin on 31 March 2030, a day of 23 hours; the period stays 24 hours long."""
    berlin = ZoneInfo("Europe/Berlin")
    clock = Clock(datetime(2030, 3, 30, 12, tzinfo=berlin))
    with Ledger(fast_sqlite, clock=clock) as ledger:
        ledger.open("b", epsilon=1.0, protects="x", refresh=DAY)
        ledger.spend("b", qw.pure(1.0))
        clock.now = datetime(2030, 3, 31, 12, 59, tzinfo=berlin)
        assert left(ledger) == 0.0
        clock.now = datetime(2030, 3, 31, 13, 0, tzinfo=berlin)
        assert left(ledger) == 1.0
        assert next(ledger.history("b")).time == "2030-03-30T11:00:00.000000+00:00"


def test_a_clock_in_any_zone(fast_sqlite: str) -> None:
    clock = Clock(datetime(2030, 1, 1, 12, tzinfo=timezone(timedelta(hours=14))))
    with Ledger(fast_sqlite, clock=clock) as ledger:
        ledger.open("b", epsilon=1.0, protects="x")
        clock.now = datetime(2029, 12, 31, 12, 1, tzinfo=timezone(timedelta(hours=-10)))
        entry = ledger.spend("b", qw.pure(0.1))
    assert entry.time == "2029-12-31T22:01:00.000000+00:00"


@pytest.mark.parametrize("wrong", [datetime(2030, 1, 1, 12), "2030-01-01", None, 1893499200.0])
def test_a_clock_without_a_zone(ledger: Ledger, clock: Clock, wrong: Any) -> None:
    ledger.open("b", epsilon=1.0, protects="x")
    before = chain(ledger)
    clock.now = wrong
    for ask in (lambda: ledger.spend("b", qw.pure(0.1)), lambda: ledger.balance("b")):
        with pytest.raises(InvalidParameter, match="time zone"):
            ask()
    clock.now = START
    assert chain(ledger) == before


def test_an_end_of_time(fast_sqlite: str) -> None:
    clock = Clock(datetime(9999, 12, 31, tzinfo=UTC))
    with Ledger(fast_sqlite, clock=clock) as ledger:
        with refused(ledger, QuiltworkError):
            ledger.open("b", epsilon=1.0, protects="x", expires=datetime.max.replace(tzinfo=timezone(-DAY / 2)))
        ledger.open("b", epsilon=1.0, protects="x", refresh=DAY)
        ledger.spend("b", qw.pure(0.25))
        assert left(ledger) == 0.75
