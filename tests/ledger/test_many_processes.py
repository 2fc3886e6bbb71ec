"""Many processes on one ledger: exactly what fits is granted, nothing is lost, nothing counts twice."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable
from datetime import timedelta
from fractions import Fraction

import numpy as np
import pytest
from tests.ledger.crew import together

import quiltwork as qw
from quiltwork.errors import AlreadyRun, BudgetExceeded, InvalidParameter, NotOpen
from quiltwork.ledger import Ledger

PROCESSES, EACH = 8, 500
COST, LIMIT, ADMITTED = 0.001, 3.0, 3000
Ready = Callable[[], object]
Spent = tuple[list[tuple[int, str]], list[str], list[float]]


def spends(ready: Ready, url: str, budget: str, who: int, count: int) -> Spent:
    """(number, key) of what was granted, keys of what was refused, times of the clock between the calls."""
    granted, refused = [], []
    with Ledger(url, timeout=120.0) as ledger:
        ready()
        times = [time.perf_counter()]
        for turn in range(count):
            key = f"{who}-{turn}"
            try:
                granted.append((ledger.spend(budget, qw.pure(COST), key=key).seq, key))
            except BudgetExceeded:
                refused.append(key)
            times.append(time.perf_counter())
    return granted, refused, times


def whole(url: str) -> dict[str, list[tuple[int, str]]]:
    """(number, key) of every spend by budget, from a ledger whose chain holds and has no gap."""
    with Ledger(url) as ledger:
        checked = ledger.verify()
        entries = list(ledger.history())
    assert checked.holds, checked
    assert checked.entries == len(entries)
    assert [entry.seq for entry in entries] == list(range(1, len(entries) + 1))
    assert all(one.hash == two.previous for one, two in itertools.pairwise(entries))
    assert all(one.time <= two.time for one, two in itertools.pairwise(entries))
    found: dict[str, list[tuple[int, str]]] = {}
    for entry in entries:
        if entry.kind in ("spend", "reserve"):
            found.setdefault(str(entry.budget), []).append((entry.seq, str(entry.key)))
    return found


def left(url: str, budget: str) -> tuple[float, float]:
    with Ledger(url) as ledger:
        balance = ledger.balance(budget)
    return balance.left.lower, balance.left.upper


@pytest.mark.slow
def test_exactly_what_fits_is_granted(ledger_url, capsys):
    with Ledger(ledger_url) as ledger:
        ledger.open("city", epsilon=LIMIT, protects="one person")
    done = together(spends, [(ledger_url, "city", who, EACH) for who in range(PROCESSES)])
    granted = [one for grants, _, _ in done for one in grants]
    refused = [key for _, keys, _ in done for key in keys]
    wall = max(times[-1] for _, _, times in done) - min(times[0] for _, _, times in done)
    seconds = np.concatenate([np.diff(times) for _, _, times in done])
    with capsys.disabled():
        print(
            f"\n{ledger_url.partition(':')[0]}: {PROCESSES} processes x {EACH} spends, {len(granted)} granted, "
            f"{seconds.size / wall:.0f} spends/s, p50 {1e3 * np.median(seconds):.1f} ms, "
            f"p99 {1e3 * np.quantile(seconds, 0.99):.1f} ms, slowest {seconds.max():.2f} s"
        )
    assert Fraction(repr(COST)) * ADMITTED == Fraction(repr(LIMIT))
    assert len(granted) == ADMITTED
    assert len(refused) == PROCESSES * EACH - ADMITTED
    assert len({seq for seq, _ in granted}) == len({key for _, key in granted}) == ADMITTED
    assert whole(ledger_url) == {"city": sorted(granted)}  # none lost, none double, none of the refused
    assert left(ledger_url, "city") == (0.0, 0.0)
    with Ledger(ledger_url) as ledger, pytest.raises(BudgetExceeded):
        ledger.spend("city", qw.pure(1e-9))


def same_key(ready: Ready, url: str, count: int) -> list[int]:
    with Ledger(url) as ledger:
        ready()
        return [ledger.spend("city", qw.pure(COST), key=f"job {turn}").seq for turn in range(count)]


def test_one_key_is_one_spend(ledger_url):
    with Ledger(ledger_url) as ledger:
        ledger.open("city", epsilon=1.0, protects="one person")
    done = together(same_key, [(ledger_url, 20)] * 6)
    assert all(numbers == done[0] for numbers in done)
    assert whole(ledger_url) == {"city": [(seq, f"job {turn}") for turn, seq in enumerate(done[0])]}
    with Ledger(ledger_url) as ledger:
        assert ledger.balance("city").spent.upper == pytest.approx(20 * COST)


def other_request(ready: Ready, url: str, who: int) -> int | None:
    with Ledger(url) as ledger:
        ready()
        try:
            return ledger.spend("city", qw.pure(COST * (1 + who)), key="job").seq
        except AlreadyRun:
            return None


def test_one_key_with_many_requests_is_the_first_one(ledger_url):
    with Ledger(ledger_url) as ledger:
        ledger.open("city", epsilon=1.0, protects="one person")
    done = together(other_request, [(ledger_url, who) for who in range(6)])
    (winner,) = [who for who, seq in enumerate(done) if seq is not None]
    assert whole(ledger_url) == {"city": [(done[winner], "job")]}
    with Ledger(ledger_url) as ledger:
        assert ledger.balance("city").spent.upper == pytest.approx(COST * (1 + winner))


def starts(ready: Ready, url: str, numbers: list[int]) -> list[int]:
    won = []
    with Ledger(url) as ledger:
        ready()
        for seq in numbers:
            try:
                ledger.start(seq)
                won.append(seq)
            except AlreadyRun:
                pass
    return won


def test_one_process_starts_a_reservation(ledger_url):
    with Ledger(ledger_url) as ledger:
        ledger.open("city", epsilon=1.0, protects="one person")
        numbers = [ledger.reserve("city", qw.pure(COST), lease=timedelta(hours=1)).seq for _ in range(12)]
    done = together(starts, [(ledger_url, numbers)] * 6)
    assert sorted(seq for won in done for seq in won) == numbers


def ends(ready: Ready, url: str, numbers: list[int], who: int) -> list[int]:
    """Odd processes start what even ones give back."""
    won = []
    with Ledger(url) as ledger:
        ready()
        for seq in numbers:
            try:
                (ledger.start if who % 2 else ledger.refund)(seq)
                won.append(seq)
            except QUIET:
                pass
    return won


QUIET = (AlreadyRun, NotOpen)


def test_a_reservation_is_started_or_refunded_never_both(ledger_url):
    with Ledger(ledger_url) as ledger:
        ledger.open("city", epsilon=1.0, protects="one person")
        numbers = [ledger.reserve("city", qw.pure(COST), lease=timedelta(hours=1)).seq for _ in range(20)]
    done = together(ends, [(ledger_url, numbers, who) for who in range(4)])
    started = sorted(seq for won in done[1::2] for seq in won)
    refunded = sorted(seq for won in done[::2] for seq in won)
    assert sorted(started + refunded) == numbers
    with Ledger(ledger_url) as ledger:
        assert ledger.balance("city").spent.upper == pytest.approx(len(started) * COST)
    whole(ledger_url)


def test_budgets_in_parallel_do_not_mix(ledger_url):
    with Ledger(ledger_url) as ledger:
        ledger.open("city", epsilon=0.1, protects="one person")
        ledger.open("country", epsilon=0.05, protects="one person")
    done = together(spends, [(ledger_url, ("city", "country")[who % 2], who, 60) for who in range(4)])
    found = whole(ledger_url)
    for turn, (budget, most) in enumerate({"city": 100, "country": 50}.items()):
        granted = [one for grants, _, _ in done[turn::2] for one in grants]
        assert found[budget] == sorted(granted)
        assert len(granted) == most
        assert left(ledger_url, budget) == (0.0, 0.0)


def makes(ready: Ready, url: str, who: int) -> str:
    """Open a ledger that nobody has made yet, and a budget in it."""
    ready()
    with Ledger(url) as ledger:
        try:
            ledger.open("city", epsilon=1.0, protects=f"person {who}")
            outcome = "opened"
        except InvalidParameter:
            outcome = "exists"
        ledger.spend("city", qw.pure(COST), key=str(who))
        return outcome


@pytest.mark.parametrize("again", range(3))
def test_made_by_many_at_once(ledger_url, again):
    done = together(makes, [(ledger_url, who) for who in range(6)])
    assert sorted(done) == ["exists"] * 5 + ["opened"]
    assert sorted(key for _, key in whole(ledger_url)["city"]) == sorted(map(str, range(6)))
