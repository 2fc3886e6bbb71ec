"""History and receipts: every change is an entry, in order, and can be asked for again."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from datetime import datetime
from typing import Any

import pytest
from tests.ledger.books import Clock, chain

import quiltwork as qw
from quiltwork.errors import BudgetExceeded, InvalidParameter
from quiltwork.ledger import Ledger, Receipt


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def ledger(fast_sqlite: str, clock: Clock) -> Iterator[Ledger]:
    with Ledger(fast_sqlite, clock=clock) as made:
        yield made


def test_every_change_is_an_entry(ledger_url: str) -> None:
    clock = Clock()
    with Ledger(ledger_url, clock=clock) as ledger:
        done: list[tuple[str, str | None]] = [("ledger", None)]
        ledger.open("a", epsilon=1.0, protects="x")
        ledger.open("b", rho=1.0, protects="x")
        done += [("open", "a"), ("open", "b")]
        ledger.spend("a", qw.pure(0.5), key="first", note="why not")
        done += [("spend", "a")]
        with pytest.raises(BudgetExceeded):
            ledger.spend("a", qw.pure(0.75))
        ledger.balance("a")
        ledger.forecast("a", qw.pure(0.5))
        clock.forward(minutes=1)
        one = ledger.reserve("b", qw.gaussian(2.0), lease=60)
        ledger.start(one.seq)
        ledger.settle(one.seq)
        two = ledger.reserve("b", qw.gaussian(2.0), lease=60)
        ledger.refund(two.seq)
        done += [("reserve", "b"), ("start", "b"), ("settle", "b"), ("reserve", "b"), ("refund", "b")]
        ledger.pause("a")
        ledger.resume("a")
        ledger.close("a")
        done += [("pause", "a"), ("resume", "a"), ("close", "a")]
        entries = list(ledger.history())
        assert [(entry.kind, entry.budget) for entry in entries] == done
        assert [entry.seq for entry in entries] == list(range(1, len(done) + 1))
        assert all(before.hash == after.previous for before, after in itertools.pairwise(entries))
        assert all(entry.sound() for entry in entries)
        assert [entry for entry in entries if entry.budget == "b"] == list(ledger.history("b"))
        spent = entries[3]
        assert (spent.key, spent.time, spent.principal) == ("first", "2030-01-01T12:00:00.000000+00:00", None)
        assert spent.content == {
            "blocks": None,
            "cost": ["1/2", "0"],
            "loss": qw.pure(0.5).to_json(),
            "note": "why not",
            "period": 0,
            "release": None,
            "times": 1,
        }
        assert datetime.fromisoformat(entries[4].time) == clock.now


def test_a_loss_is_kept_with_sensitivity_and_scale_apart(ledger: Ledger) -> None:
    ledger.open("b", rho=1.0, protects="x")
    loss = qw.gaussian(30.0, 3.0) + 2 * qw.laplace(40.0, 4.0)
    content = ledger.spend("b", loss).content["loss"]
    assert [(one["kind"], one["sensitivity"], one["count"]) for one in content["releases"]] == [
        ("gaussian", 3.0, 1),
        ("laplace", 4.0, 2),
    ]
    assert (content["releases"][0]["sigma"], content["releases"][1]["scale"]) == (30.0, 40.0)
    assert qw.Loss.from_json(content) == loss


@pytest.fixture
def long(ledger: Ledger) -> Ledger:
    """12 entries: 1 ledger, 2 opens, then spends of a and b by turns."""
    for name in "ab":
        ledger.open(name, epsilon=10.0, protects="x")
    for turn in range(9):
        ledger.spend("ab"[turn % 2], qw.pure(0.5))
    return ledger


@pytest.mark.parametrize(
    ("name", "after", "limit", "expected"),
    [
        (None, 0, None, list(range(1, 13))),
        (None, 5, None, [6, 7, 8, 9, 10, 11, 12]),
        (None, 5, 2, [6, 7]),
        (None, 12, None, []),
        (None, 2**53, None, []),
        (None, 0, 0, []),
        (None, 0, 100, list(range(1, 13))),
        ("a", 0, None, [2, 4, 6, 8, 10, 12]),
        ("b", 4, 2, [5, 7]),
        ("b", 11, None, []),
    ],
)
def test_parts_of_the_history(
    long: Ledger, name: str | None, after: int, limit: int | None, expected: list[int]
) -> None:
    assert [entry.seq for entry in long.history(name, after=after, limit=limit)] == expected


def test_a_history_longer_than_a_batch(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the batch is, its edges are neither lost nor seen twice."""
    from quiltwork.ledger.store import rows

    ledger.open("b", epsilon=10.0, protects="x")
    for _ in range(10):
        ledger.spend("b", qw.pure(0.5))
    with ledger._session.store.reading() as connection:
        for batch in (1, 2, 3, 5, 11, 12, 13):
            for limit in (None, 1, 5, 6, 12, 50):
                found = [entry.seq for entry in rows.entries_after(connection, 0, None, limit, batch)]
                assert found == list(range(1, 13))[:limit], (batch, limit)
                mine = [entry.seq for entry in rows.entries_after(connection, 3, "b", limit, batch)]
                assert mine == list(range(4, 13))[:limit], (batch, limit)


@pytest.mark.parametrize("options", [{"after": -1}, {"after": 1.0}, {"after": None}, {"after": True}, {"limit": -1}])
@pytest.mark.parametrize("more", [{}, {"limit": "5"}])
def test_bad_questions(long: Ledger, options: dict[str, Any], more: dict[str, Any]) -> None:
    with pytest.raises(InvalidParameter):
        long.history(**(options | more))


def test_a_history_of_nobody(long: Ledger) -> None:
    with pytest.raises(InvalidParameter):  # at once, not with the first entry
        long.history("c")


def test_reading_does_not_stop_writing(long: Ledger) -> None:
    """A history that is being read is as it was when it began."""
    reading = long.history()
    first = next(reading)
    long.spend("a", qw.pure(0.5))
    assert first.seq == 1
    assert [entry.seq for entry in reading] == list(range(2, 13))
    assert len(list(long.history())) == 13


def test_a_history_that_is_left_halfway(long: Ledger) -> None:
    for _ in range(20):  # more than there are connections
        reading = long.history()
        next(reading)
        reading.close()  # type: ignore[attr-defined]
    long.spend("a", qw.pure(0.5))


def test_receipts_are_given_again(ledger_url: str) -> None:
    with Ledger(ledger_url, clock=Clock()) as ledger:
        ledger.open("b", epsilon=1.0, protects="x")
        receipt = ledger.spend("b", qw.pure(0.25), note="ü")
        assert ledger.receipt(receipt.seq) == receipt
        assert ledger.receipt(1).kind == "ledger"
        assert Receipt.from_json(receipt.to_json()) == receipt
        assert receipt.ledger == ledger.identity
        before = chain(ledger)
        for wrong in (0, -1, 4, 2**53, True, 1.0, "3", None):
            with pytest.raises(InvalidParameter):
                ledger.receipt(wrong)  # type: ignore[arg-type]
        assert chain(ledger) == before


def test_receipts_are_signed_by_the_ledger(ledger: Ledger) -> None:
    ledger.open("b", epsilon=1.0, protects="x")
    receipt = ledger.spend("b", qw.pure(0.25))
    assert ledger.public_key is not None
    receipt.check(ledger.public_key)
    assert receipt.public_key == ledger.public_key


def test_two_ledgers_are_two(tmp_path: Any) -> None:
    with Ledger(f"sqlite:///{tmp_path}/one.db") as one, Ledger(f"sqlite:///{tmp_path}/two.db") as two:
        assert one.identity != two.identity
        assert one.public_key != two.public_key


# ---- the last ones


def test_only_the_last_entries(long: Ledger) -> None:
    whole = list(long.history())
    for count in (0, 1, 5, len(whole), 1000):
        assert list(long.history(last=count)) == whole[len(whole) - min(count, len(whole)) :]
    mine = list(long.history("a"))
    assert list(long.history("a", last=3)) == mine[-3:]
    assert list(long.history("a", last=100_000)) == mine
    assert list(long.history("a", last=2, before=mine[-1].seq)) == mine[-3:-1]
    assert list(long.history("a", last=2, before=mine[0].seq)) == []


@pytest.mark.parametrize("wrong", [-1, True, 1.0, "3", 100_001])
def test_bad_numbers_of_last_entries(long: Ledger, wrong: Any) -> None:
    with pytest.raises(InvalidParameter, match="last"):
        long.history(last=wrong)


@pytest.mark.parametrize("other", [{"after": 1}, {"limit": 5}, {"after": 1, "limit": 5}])
def test_the_last_ones_go_with_nothing_else(long: Ledger, other: dict[str, int]) -> None:
    with pytest.raises(InvalidParameter, match="last"):
        long.history(last=2, **other)


@pytest.mark.parametrize("wrong", [0, -1, 1.5, True, "3"])
def test_before_is_a_number_of_an_entry_and_needs_last(long, wrong):
    with pytest.raises(InvalidParameter, match="before"):
        long.history(last=2, before=wrong)
    with pytest.raises(InvalidParameter, match="before"):
        long.history(before=3)
