"""Keys: the same request is done once, however often it is asked for; another one under its key is refused."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from tests.ledger.books import Clock, chain, kinds, refused

import quiltwork as qw
from quiltwork.errors import AlreadyRun, BudgetExceeded, InvalidParameter
from quiltwork.ledger import Blocks, Ledger


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def ledger(fast_sqlite: str, clock: Clock) -> Iterator[Ledger]:
    with Ledger(fast_sqlite, clock=clock) as made:
        made.open("b", epsilon=1.0, protects="x", blocks=Blocks("day"))
        yield made


def test_the_same_request_is_done_once(ledger_url: str) -> None:
    with Ledger(ledger_url, clock=Clock()) as ledger:
        ledger.open("b", epsilon=1.0, protects="x")
        first = ledger.spend("b", qw.pure(0.75), key="job 7", note="the first")
        before = chain(ledger)
        for note in ("the first", "", "again"):
            again = ledger.spend("b", qw.pure(0.75), key="job 7", note=note)
            assert (again.seq, again.hash, again.body, again.signature) == (
                first.seq,
                first.hash,
                first.body,
                first.signature,
            )
            again.check(ledger.public_key, allow_unsigned=True)
        assert chain(ledger) == before
        assert float(ledger.balance("b").left.lower) == 0.25


def test_the_same_key_from_another_process(fast_sqlite: str, ledger: Ledger) -> None:
    first = ledger.spend("b", qw.pure(0.75), key="k")
    with Ledger(fast_sqlite, clock=Clock()) as other:
        assert other.spend("b", qw.pure(0.75), key="k").hash == first.hash


OTHERS: list[dict[str, Any]] = [
    {"loss": qw.pure(0.5)},
    {"loss": qw.laplace(4.0)},  # the same cost is not the same release
    {"times": 2},
    {"blocks": "mon"},
    {"blocks": None},
    {"blocks": ["mon", "tue", "wed"]},
]


@pytest.mark.parametrize("change", OTHERS, ids=str)
def test_another_request_under_the_key(ledger: Ledger, change: dict[str, Any]) -> None:
    given: dict[str, Any] = {"loss": qw.pure(0.25), "times": 1, "blocks": ["mon", "tue"], "key": "k"}
    ledger.spend("b", **given)
    with refused(ledger, AlreadyRun, "another request"):
        ledger.spend("b", **(given | change))
    with refused(ledger, AlreadyRun, "another request"):
        ledger.reserve("b", lease=60, **given)


def test_a_reservation_and_a_spend_are_two_requests(ledger: Ledger) -> None:
    held = ledger.reserve("b", qw.pure(0.25), lease=60, key="k")
    assert ledger.reserve("b", qw.pure(0.25), lease=60, key="k").seq == held.seq
    with refused(ledger, AlreadyRun):
        ledger.spend("b", qw.pure(0.25), key="k")
    assert kinds(ledger, "b") == ["open", "reserve"]


def test_keys_are_of_one_budget(ledger_url: str) -> None:
    with Ledger(ledger_url, clock=Clock()) as ledger:
        for name in "ab":
            ledger.open(name, epsilon=1.0, protects="x")
            ledger.spend(name, qw.pure(0.25), key="k")
        ledger.spend("a", qw.pure(0.5), key="l")
        assert [float(ledger.balance(name).left.lower) for name in "ab"] == [0.25, 0.75]
        with refused(ledger, AlreadyRun):
            ledger.spend("b", qw.pure(0.5), key="k")


def test_keys_of_any_language(ledger_url: str) -> None:
    keys = ["ключ", "鍵 1", "🗝", "é", "e", "K", "k", "'; --", "%(key)s", "x" * 200]
    with Ledger(ledger_url, clock=Clock()) as ledger:
        ledger.open("b", epsilon=1.0, protects="x")
        numbers = [ledger.spend("b", qw.pure(0.0625), key=key).seq for key in keys]
        assert len(set(numbers)) == len(keys)
        assert [ledger.spend("b", qw.pure(0.0625), key=key).seq for key in keys] == numbers
        assert [entry.key for entry in ledger.history("b")][1:] == keys
        assert ledger.spend("b", qw.pure(0.0625), key="e\u0301").seq == numbers[3]  # é in another spelling


@pytest.mark.parametrize("key", ["", " k", "k\n", "a\x00", "x" * 201, 5, b"k", True, "\ud800"], ids=repr)
def test_bad_keys(ledger: Ledger, key: Any) -> None:
    for act in (ledger.spend, lambda *given, **more: ledger.reserve(*given, lease=60, **more)):
        with refused(ledger, InvalidParameter):
            act("b", qw.pure(0.1), key=key)


def test_without_a_key_every_request_is_new(ledger: Ledger) -> None:
    one, two = (ledger.spend("b", qw.pure(0.25)) for _ in range(2))
    assert one.seq != two.seq
    assert one.key != two.key
    assert one.key  # a key was chosen, so that an unclear commit can be asked for again
    assert ledger.spend("b", qw.pure(0.25), key=one.key).seq == one.seq


def test_a_refused_request_uses_up_no_key(ledger: Ledger) -> None:
    with refused(ledger, BudgetExceeded):
        ledger.spend("b", qw.pure(1.5), key="k")
    ledger.spend("b", qw.pure(0.5), key="k")
    assert float(ledger.balance("b").left.lower) == 0.5


def test_a_repeated_request_is_answered_when_nothing_is_left(ledger: Ledger) -> None:
    first = ledger.spend("b", qw.pure(1.0), key="k")
    assert ledger.spend("b", qw.pure(1.0), key="k").seq == first.seq
    with refused(ledger, BudgetExceeded):
        ledger.spend("b", qw.pure(1.0), key="l")


def test_a_key_pays_for_one_period_only(ledger: Ledger, clock: Clock) -> None:
    """A daily job with a constant key must not run for ever on its first charge."""
    ledger.open("r", epsilon=1.0, protects="x", refresh=timedelta(days=1))
    ledger.spend("r", qw.pure(0.25), key="daily")
    clock.forward(days=1)
    with refused(ledger, AlreadyRun):
        ledger.spend("r", qw.pure(0.25), key="daily")


@pytest.mark.parametrize("act", ["start", "settle", "refund"])
def test_keys_of_callers_stand_in_nobodys_way(ledger: Ledger, act: str) -> None:
    """However the ledger marks the start of reservation 5, a caller's key does not block it."""
    for number in range(1, 30):
        ledger.spend("b", qw.pure(0.001), key=f"{act}:{number}")
    held = ledger.reserve("b", qw.pure(0.25), lease=60)
    assert held.seq == 32
    other = ledger.reserve("b", qw.pure(0.25), lease=60)
    ledger.spend("b", qw.pure(0.001), key=f"{act}:{held.seq}")
    if act == "refund":
        ledger.refund(held.seq)
    else:
        ledger.start(held.seq)
        ledger.settle(held.seq)
    ledger.refund(other.seq)
    assert float(ledger.balance("b").left.lower) == pytest.approx(0.97 if act == "refund" else 0.72)
    assert ledger.verify().holds


def test_planned_requests(ledger: Ledger) -> None:
    ledger.open("p", epsilon=1.0, protects="x", kind="planned", plan=[("a", qw.pure(0.1), 5), ("c", qw.pure(0.2))])
    first = ledger.spend("p", release="a", key="k")
    assert ledger.spend("p", qw.pure(0.1), key="k").seq == first.seq  # named by its loss: the same release
    for other in ({"release": "c"}, {"release": "a", "times": 2}):
        with refused(ledger, AlreadyRun):
            ledger.spend("p", key="k", **other)
    assert ledger.balance("p").runs == {"a": (1, 5), "c": (0, 1)}


# ---- keys that are free again


@pytest.mark.parametrize("end", ["lapse", "refund"])
def test_a_key_is_free_when_nothing_ran_under_it(ledger_url: str, end: str) -> None:
    """A scheduler restarts a job that died before it began, with the key of the job."""
    clock = Clock()
    with Ledger(ledger_url, clock=clock) as ledger:
        ledger.open("b", epsilon=1.0, protects="x")
        seen = []
        for _ in range(3):
            held = ledger.reserve("b", qw.pure(0.5), lease=60, key="week 7")
            assert ledger.reserve("b", qw.pure(0.5), lease=60, key="week 7").seq == held.seq  # still done once
            seen.append(held.seq)
            if end == "refund":
                ledger.refund(held.seq)
            else:
                clock.forward(minutes=2)
        assert len(set(seen)) == 3
        assert float(ledger.balance("b").left.lower) == 1.0
        ran = []
        ledger.run("b", qw.pure(0.5), lambda: ran.append(1), key="week 7")
        with pytest.raises(AlreadyRun):
            ledger.run("b", qw.pure(0.5), lambda: ran.append(2), key="week 7")
        assert ran == [1]
        assert float(ledger.balance("b").left.lower) == 0.5
        found = [entry.key for entry in ledger.history("b") if entry.kind == "reserve"]
        assert found == ["week 7", "week 7\t2", "week 7\t3", "week 7\t4"]
        assert ledger.verify().holds


def test_a_free_key_takes_another_request(ledger: Ledger) -> None:
    held = ledger.reserve("b", qw.pure(0.5), lease=60, key="k")
    ledger.refund(held.seq)
    spent = ledger.spend("b", qw.pure(0.25), blocks="mon", key="k")
    assert ledger.spend("b", qw.pure(0.25), blocks="mon", key="k").seq == spent.seq
    with refused(ledger, AlreadyRun):
        ledger.reserve("b", qw.pure(0.5), lease=60, key="k")


@pytest.mark.parametrize("settled", [False, True])
def test_a_key_under_which_something_started_is_never_free(ledger: Ledger, clock: Clock, settled: bool) -> None:
    held = ledger.reserve("b", qw.pure(0.25), lease=60, key="k")
    ledger.start(held.seq)
    if settled:
        ledger.settle(held.seq)
    clock.forward(days=400)
    assert ledger.reserve("b", qw.pure(0.25), lease=60, key="k").seq == held.seq
    with refused(ledger, AlreadyRun):
        ledger.run("b", qw.pure(0.25), lambda: 1, key="k")


def test_nobody_can_ask_for_the_key_of_a_second_try(ledger: Ledger) -> None:
    with refused(ledger, InvalidParameter, "key"):
        ledger.spend("b", qw.pure(0.25), key="k\t2")


def test_a_full_budget_refuses_a_second_try(ledger: Ledger) -> None:
    ledger.refund(ledger.reserve("b", qw.pure(0.5), lease=60, key="k").seq)
    ledger.spend("b", qw.pure(0.75))
    with refused(ledger, BudgetExceeded):
        ledger.reserve("b", qw.pure(0.5), lease=60, key="k")
