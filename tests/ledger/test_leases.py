"""Reservations: held, started once, settled; given back when they never started and their lease is over."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from datetime import timedelta
from fractions import Fraction
from typing import Any

import pytest
from tests.ledger.books import START, Clock, chain, costs, kinds, refused

import quiltwork as qw
from quiltwork.errors import AlreadyRun, BudgetExceeded, InvalidParameter, NotOpen
from quiltwork.ledger import Blocks, Ledger

MINUTE = timedelta(minutes=1)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def ledger(fast_sqlite: str, clock: Clock) -> Iterator[Ledger]:
    with Ledger(fast_sqlite, clock=clock) as made:
        made.open("b", epsilon=1.0, protects="x")
        yield made


def left(ledger: Ledger, block: str | None = None) -> float:
    return float(ledger.balance("b", block).left.lower)


def test_reserve_start_settle(ledger_url: str) -> None:
    with Ledger(ledger_url, clock=Clock()) as ledger:
        ledger.open("b", epsilon=1.0, protects="x")
        held = ledger.reserve("b", qw.pure(0.25), lease=MINUTE, times=2, note="nightly")
        assert (held.kind, held.budget, held.seq) == ("reserve", "b", 3)
        assert held.content["until"] == "2030-01-01T12:01:00.000000+00:00"
        assert costs(held)[0] == 0.5
        assert (left(ledger), ledger.balance("b").held) == (0.5, 1)
        with refused(ledger, BudgetExceeded):  # what is held cannot be spent by another
            ledger.spend("b", qw.pure(0.75))
        started = ledger.start(held.seq)
        assert (started.kind, started.content["reservation"], started.budget) == ("start", held.seq, "b")
        assert (left(ledger), ledger.balance("b").held) == (0.5, 0)
        done = ledger.settle(held.seq, note="done")
        assert (done.kind, done.content["note"]) == ("settle", "done")
        assert (left(ledger), ledger.balance("b").held) == (0.5, 0)
        assert kinds(ledger, "b") == ["open", "reserve", "start", "settle"]
        for receipt in (held, started, done):
            receipt.check(ledger.public_key, allow_unsigned=ledger.public_key is None)
        assert ledger.verify().holds


def test_nothing_starts_twice(ledger_url: str) -> None:
    with Ledger(ledger_url, clock=Clock()) as ledger:
        ledger.open("b", epsilon=1.0, protects="x")
        held = ledger.reserve("b", qw.pure(0.25), lease=MINUTE)
        ledger.start(held.seq)
        with refused(ledger, AlreadyRun):
            ledger.start(held.seq)
        ledger.settle(held.seq)
        for act in (ledger.start, ledger.settle, ledger.refund):
            with refused(ledger, AlreadyRun):
                act(held.seq)
        assert left(ledger) == 0.75


def test_settle_before_start(ledger: Ledger) -> None:
    held = ledger.reserve("b", qw.pure(0.25), lease=MINUTE)
    with refused(ledger, InvalidParameter, "start it first"):
        ledger.settle(held.seq)
    ledger.start(held.seq)
    ledger.settle(held.seq)


def test_refund_of_what_never_started(ledger_url: str) -> None:
    with Ledger(ledger_url, clock=Clock()) as ledger:
        ledger.open("b", epsilon=1.0, protects="x")
        held = ledger.reserve("b", qw.pure(1.0), lease=MINUTE)
        assert left(ledger) == 0.0
        back = ledger.refund(held.seq, note="not needed")
        assert (back.kind, back.content["reservation"], back.content["note"]) == ("refund", held.seq, "not needed")
        assert (left(ledger), ledger.balance("b").held) == (1.0, 0)
        for act in (ledger.start, ledger.settle, ledger.refund):
            with refused(ledger, NotOpen, "refunded"):
                act(held.seq)
        ledger.spend("b", qw.pure(1.0))
        assert ledger.verify().holds


def test_nothing_that_may_have_run_is_refunded(ledger: Ledger) -> None:
    spent = ledger.spend("b", qw.pure(0.25))
    with refused(ledger, AlreadyRun, "stays spent"):
        ledger.refund(spent.seq)
    held = ledger.reserve("b", qw.pure(0.25), lease=MINUTE)
    ledger.start(held.seq)
    with refused(ledger, AlreadyRun, "stays spent"):
        ledger.refund(held.seq)
    assert left(ledger) == 0.5


def test_a_lease_that_ended_gives_back_before_anybody_writes_it(ledger_url: str) -> None:
    clock = Clock()
    with Ledger(ledger_url, clock=clock) as ledger:
        ledger.open("b", epsilon=1.0, protects="x")
        held = ledger.reserve("b", qw.pure(0.75), lease=MINUTE)
        clock.now = START + MINUTE - timedelta(microseconds=1)
        assert (left(ledger), ledger.balance("b").held) == (0.25, 1)
        assert ledger.would_exceed("b", qw.pure(0.5))
        assert ledger.forecast("b", qw.pure(0.25)).count == 1
        clock.now = START + MINUTE  # the end of a lease is not part of it
        before = chain(ledger)
        assert (left(ledger), ledger.balance("b").held) == (1.0, 0)
        assert not ledger.would_exceed("b", qw.pure(1.0))
        assert ledger.forecast("b", qw.pure(0.25)).count == 4
        assert chain(ledger) == before
        for act in (ledger.start, ledger.settle, ledger.refund):
            with refused(ledger, NotOpen, "lapsed"):
                act(held.seq)
        ledger.spend("b", qw.pure(1.0))
        assert kinds(ledger, "b") == ["open", "reserve", "lapse", "spend"]
        assert left(ledger) == 0.0
        for act in (ledger.start, ledger.settle, ledger.refund):  # the same once it is written
            with refused(ledger, NotOpen, "lapsed"):
                act(held.seq)
        assert ledger.verify().holds


@pytest.mark.parametrize("most", [1, 2])
def test_leases_of_blocks_give_back_too(ledger_url: str, most: int) -> None:
    clock = Clock()
    with Ledger(ledger_url, clock=clock) as ledger:
        ledger.open("b", epsilon=1.0, protects="x", blocks=Blocks("day", most=most))
        ledger.reserve("b", qw.pure(0.5), lease=MINUTE, blocks=["mon", "tue"])
        ledger.reserve("b", qw.pure(0.25) if most == 1 else qw.pure(0.0), lease=10 * MINUTE)
        ledger.spend("b", qw.pure(0.25), blocks="mon") if most == 1 else None
        clock.forward(minutes=1)
        before = chain(ledger)
        expected = [0.5, 0.75, 0.5] if most == 1 else [1.0, 1.0, 1.0]
        assert [left(ledger, day) for day in ("mon", "tue", None)] == expected
        assert not ledger.would_exceed("b", qw.pure(expected[1]), blocks="tue")
        assert ledger.forecast("b", qw.pure(0.25), blocks="tue").count == 4 * expected[1]
        assert ledger.forecast("b", qw.pure(0.25)).count == 4 * expected[2]
        assert chain(ledger) == before
        ledger.spend("b", qw.pure(expected[1]), blocks="tue")
        assert left(ledger, "tue") == 0.0
        assert ledger.verify().holds


def test_only_leases_that_ended_are_given_back(ledger: Ledger, clock: Clock) -> None:
    for minutes in (1, 2, 3):
        ledger.reserve("b", qw.pure(0.25), lease=minutes * MINUTE)
    for gone in (0, 1, 2, 3):
        assert (left(ledger), ledger.balance("b").held) == (0.25 + 0.25 * gone, 3 - gone)
        clock.forward(minutes=1)
    ledger.spend("b", qw.pure(1.0))
    assert kinds(ledger, "b")[4:] == ["lapse"] * 3 + ["spend"]
    assert ledger.verify().holds


def test_what_started_stays_spent_when_its_lease_ends(ledger_url: str) -> None:
    clock = Clock()
    with Ledger(ledger_url, clock=clock) as ledger:
        ledger.open("b", epsilon=1.0, protects="x")
        held = ledger.reserve("b", qw.pure(0.75), lease=MINUTE)
        clock.forward(seconds=59)
        ledger.start(held.seq)
        clock.forward(days=365)
        assert left(ledger) == 0.25
        assert ledger.would_exceed("b", qw.pure(0.5))
        with refused(ledger, BudgetExceeded):
            ledger.spend("b", qw.pure(0.5))
        with refused(ledger, AlreadyRun):
            ledger.refund(held.seq)
        ledger.settle(held.seq)  # a long job
        assert left(ledger) == 0.25


def test_a_refused_spend_writes_no_lapse(ledger: Ledger, clock: Clock) -> None:
    ledger.reserve("b", qw.pure(0.25), lease=MINUTE)
    clock.forward(minutes=2)
    with refused(ledger, BudgetExceeded, "epsilon 1 left"):
        ledger.spend("b", qw.pure(1.5))


def test_unfair_fractions_come_back_whole(ledger: Ledger) -> None:
    """What a refund gives back is exactly what was held, whatever its denominator."""
    ledger.open("third", rho=1.0, protects="x")
    for sigma in (3.0, 7.0, 11.0, 0.9999):
        held = ledger.reserve("third", qw.gaussian(sigma), lease=MINUTE)
        assert float(ledger.balance("third").spent.lower) > 0
        ledger.refund(held.seq)
        assert float(ledger.balance("third").spent.upper) == 0.0
    ledger.spend("third", qw.zcdp(1.0))


def test_sums_of_awkward_fractions_are_never_too_small(ledger: Ledger) -> None:
    """Denominators that share nothing: after many of them sums are rounded, and then only upward, and hardly."""
    ledger.open("odd", rho=1.0, protects="x")
    chance, exact, waiting = random.Random(8), Fraction(0), []
    for prime in [n for n in range(10_000, 10_600) if all(n % d for d in range(2, 101))]:
        cost = Fraction(1, 2 * prime**2) * 100
        waiting.append((ledger.reserve("odd", qw.gaussian(float(prime), 10.0), lease=MINUTE).seq, cost))
        exact += cost
        if chance.random() < 0.4:
            seq, back = waiting.pop(chance.randrange(len(waiting)))
            ledger.refund(seq)
            exact -= back
    assert exact.denominator > 2**512
    account = ledger._session.read(lambda book, now: book.account("odd"))
    assert account is not None
    assert 0 <= account.standing.spent[0] - exact < Fraction(1, 10**70)
    for seq, _ in waiting:
        ledger.refund(seq)
    assert 0 <= float(ledger.balance("odd").spent.upper) < 1e-70
    assert ledger.verify().holds


@pytest.mark.parametrize("seq", [0, -1, 99, 1, 2, True, 3.0, "3", None, 2**64])
def test_bad_numbers(ledger: Ledger, seq: Any) -> None:
    ledger.reserve("b", qw.pure(0.25), lease=MINUTE)
    for act in (ledger.start, ledger.settle, ledger.refund):
        with refused(ledger, InvalidParameter):
            act(seq)


@pytest.mark.parametrize(
    "lease", [0, -1, math.nan, math.inf, "60", None, True, timedelta(0), -MINUTE, timedelta(days=36526), 1e-9, 1e300]
)
def test_bad_leases(ledger: Ledger, lease: Any) -> None:
    with refused(ledger, InvalidParameter):
        ledger.reserve("b", qw.pure(0.25), lease=lease)
    with refused(ledger, InvalidParameter):
        ledger.run("b", qw.pure(0.25), lambda: 1, lease=lease)


def test_a_lease_in_seconds(ledger: Ledger) -> None:
    held = ledger.reserve("b", qw.pure(0.25), lease=0.5)
    assert held.content["until"] == "2030-01-01T12:00:00.500000+00:00"


def test_a_lease_past_the_end_of_time(fast_sqlite: str) -> None:
    with Ledger(fast_sqlite, clock=Clock(START.replace(year=9990))) as ledger:
        ledger.open("b", epsilon=1.0, protects="x")
        held = ledger.reserve("b", qw.pure(0.25), lease=timedelta(days=36525))
        assert held.content["until"].startswith("9999-12-31")
        ledger.start(held.seq)
        assert ledger.verify().holds


def test_two_ledgers_share_reservations(fast_sqlite: str, ledger: Ledger) -> None:
    with Ledger(fast_sqlite, clock=Clock()) as other:
        held = ledger.reserve("b", qw.pure(0.25), lease=MINUTE)
        other.start(held.seq)
        with refused(ledger, AlreadyRun):
            ledger.start(held.seq)
        ledger.settle(held.seq)
        with refused(other, AlreadyRun):
            other.settle(held.seq)


# ---- which ones there are


def test_reservations_are_listed_until_they_end(ledger_url: str) -> None:
    with Ledger(ledger_url, clock=Clock()) as ledger:
        for name in "ab":
            ledger.open(name, epsilon=1.0, protects="x", blocks=Blocks("day"))
        assert ledger.reservations() == ()
        one = ledger.reserve("a", qw.pure(0.25), lease=MINUTE, times=2, blocks=["mon", "tue"])
        two = ledger.reserve("b", qw.pure(0.125), lease=2 * MINUTE)
        three = ledger.reserve("a", qw.pure(0.125), lease=MINUTE)
        ledger.start(three.seq)
        ledger.spend("a", qw.pure(0.125))
        assert [(held.seq, held.budget, held.status) for held in ledger.reservations()] == [
            (one.seq, "a", "held"),
            (two.seq, "b", "held"),
            (three.seq, "a", "started"),
        ]
        first = ledger.reservations("a")[0]
        assert (first.until, first.charge.times, first.charge.blocks) == (one.content["until"], 2, ("mon", "tue"))
        assert first.charge.cost[0] == Fraction(1, 2)
        assert [held.seq for held in ledger.reservations("a")] == [one.seq, three.seq]
        ledger.refund(one.seq)
        ledger.settle(three.seq)
        assert ledger.reservations("a") == ()
        assert [held.seq for held in ledger.reservations()] == [two.seq]


def test_one_that_started_is_listed_however_late(ledger: Ledger, clock: Clock) -> None:
    """Nobody else would notice a job that died."""
    held = ledger.reserve("b", qw.pure(0.25), lease=MINUTE)
    ledger.start(held.seq)
    lapsed = ledger.reserve("b", qw.pure(0.25), lease=MINUTE)
    clock.forward(days=400)
    assert [one.seq for one in ledger.reservations("b")] == [held.seq]  # although nobody wrote the lapse down yet
    ledger.spend("b", qw.pure(0.25))
    assert lapsed.seq not in [one.seq for one in ledger.reservations("b")]
    assert [(one.seq, one.status) for one in ledger.reservations("b")] == [(held.seq, "started")]


@pytest.mark.parametrize("name", ["c", "", 5, True, "\x00"])
def test_reservations_of_no_budget(ledger: Ledger, name: Any) -> None:
    with refused(ledger, InvalidParameter):
        ledger.reservations(name)
