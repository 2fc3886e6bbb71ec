"""Many spends at once, by a list or by threads: the same answers as one after another, under one signed head."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import attrs
import pytest
from tests.ledger.books import Clock

import quiltwork as qw
from quiltwork.errors import (
    AccessDenied,
    AlreadyRun,
    BrokenChain,
    BudgetExceeded,
    InvalidParameter,
    LedgerUnavailable,
    QuiltworkError,
)
from quiltwork.ledger import BatchReceipt, Ledger, Receipt
from quiltwork.ledger.acts.turns import Turns

LOSS = qw.pure(0.25)


@pytest.fixture
def ledger(ledger_url: str) -> Iterator[Ledger]:
    with Ledger(ledger_url) as made:
        made.open("b", epsilon=1.0, protects="x")
        made.open("wide", epsilon=1000.0, protects="x")
        yield made


def count(ledger: Ledger) -> int:
    return sum(1 for _ in ledger.history())


def test_each_ask_is_held_against_what_those_before_it_left(ledger: Ledger) -> None:
    found = ledger.spend_many([("b", LOSS)] * 7)
    assert [type(one) for one in found] == [BatchReceipt] * 4 + [BudgetExceeded] * 3
    assert [one.seq for one in found[:4]] == [4, 5, 6, 7]  # type: ignore[union-attr]
    assert ledger.balance("b").left.lower == 0
    assert ledger.verify(receipts=found[:4]).holds  # type: ignore[arg-type]


def test_every_keyword_of_spend(ledger: Ledger) -> None:
    ledger.open("days", epsilon=1.0, protects="x", blocks=qw.ledger.Blocks("day"))
    ledger.open("plan", epsilon=2.0, protects="x", kind="planned", plan=[("ages", LOSS, 2)])
    asks: list[Any] = [
        {"budget": "wide", "loss": LOSS, "times": 3, "note": "n", "key": "k"},
        {"budget": "days", "loss": LOSS, "blocks": ["mo", "tu"]},
        {"budget": "plan", "release": "ages"},
        {"budget": "wide", "loss": LOSS, "times": 3, "note": "again", "key": "k"},
        {"budget": "wide", "loss": LOSS, "key": "k"},
        ("nowhere", LOSS),
        {"budget": "wide", "loss": "no loss"},
    ]
    found = ledger.spend_many(asks)
    assert [type(one) for one in found[4:]] == [AlreadyRun, InvalidParameter, InvalidParameter]
    assert found[3] == found[0]
    assert found[0].content["times"] == 3  # type: ignore[union-attr]
    again = ledger.spend_many(asks[:1])[0]
    assert isinstance(again, Receipt)
    assert (again.seq, again.hash) == (found[0].seq, found[0].hash)  # type: ignore[union-attr]
    again.check(ledger.public_key, allow_unsigned=True) if ledger.public_key else None
    assert ledger.verify().holds


@pytest.mark.parametrize(
    "asks", [None, 5, "ab", [5], [None], [("b",)], [("b", LOSS, 1)], [{"loss": LOSS}], [{"budget": "b", "lease": 5}]]
)
def test_what_is_no_list_of_asks(ledger: Ledger, asks: Any) -> None:
    before = count(ledger)
    try:
        found = ledger.spend_many(asks)
    except InvalidParameter:
        found = []
    assert all(isinstance(one, InvalidParameter) for one in found)
    assert count(ledger) == before
    assert ledger.spend_many([]) == ledger.spend_many([], together=True) == []


def test_all_or_none(ledger: Ledger) -> None:
    before = count(ledger)
    with pytest.raises(BudgetExceeded):
        ledger.spend_many([("wide", LOSS)] + [("b", LOSS)] * 5, together=True)
    assert count(ledger) == before
    assert len(ledger.spend_many([("wide", LOSS)] + [("b", LOSS)] * 4, together=True)) == 5
    assert ledger.verify().holds


def test_receipts_of_a_batch(tmp_path: Path) -> None:
    """Any change of any field is refused; the entry before and the end of another batch do not fit."""
    with Ledger(f"sqlite:///{tmp_path}/b.db") as ledger:
        ledger.open("wide", epsilon=1000.0, protects="x")
        one, two = ledger.spend_many([("wide", LOSS)] * 2)
        (later,) = ledger.spend_many([("wide", LOSS)])
        assert isinstance(one, BatchReceipt)
        assert isinstance(two, BatchReceipt)
        assert isinstance(later, BatchReceipt)
        key = ledger.public_key
        for found in (one, two, later):
            found.check(key)
            found.save(tmp_path / "r.json")
            assert Receipt.load(tmp_path / "r.json") == found
            assert Receipt.from_text(found.to_text()) == found
        assert one.signature == two.signature != later.signature
        for changes in (
            {"seq": 5}, {"hash": two.hash}, {"body": two.body + " "}, {"note": 1}, {"end": later.end},
            {"path": two.path}, {"path": one.path[:-1]}, {"path": (*one.path, "00" * 32)}, {"path": ("x",)},
            {"signature": later.signature}, {"signature": None}, {"ledger": "other"}, {"budget": "b"},
            {"end": attrs.evolve(one.end, seq=one.end.seq + 1)}, {"end": attrs.evolve(one.end, access="0" * 64)},
        ):  # fmt: skip
            if "note" not in changes:
                with pytest.raises(BrokenChain):
                    attrs.evolve(one, **changes).check(key)
        for broken in ({"end": None}, {"path": "ab"}, {"path": ["x"]}, {"end": {}}, {"seq": "1"}, {"more": 1}):
            with pytest.raises(InvalidParameter):
                Receipt.from_json({**one.to_json(), **broken})


def test_who_asks_is_checked_for_each(tmp_path: Path) -> None:
    with Ledger(f"sqlite:///{tmp_path}/b.db") as free:
        free.open("wide", epsilon=1000.0, protects="x")
        admin = free.sign_in(free.admit("ada", "admin"))
        viewer, spender = (admin.sign_in(admin.admit(role, role)) for role in ("viewer", "spender"))
        assert [type(one) for one in viewer.spend_many([("wide", LOSS)] * 2)] == [AccessDenied] * 2
        done: list[Any] = []
        threads = [
            threading.Thread(target=lambda it=it: done.extend(it.spend_many([("wide", LOSS)] * 5)))
            for it in (admin, viewer, spender, viewer, admin)
        ]
        for one in threads:
            one.start()
        for one in threads:
            one.join()
        assert sum(isinstance(one, AccessDenied) for one in done) == 10
        granted = [one for one in done if isinstance(one, Receipt)]
        assert sorted({one.principal for one in granted}) == ["ada", "spender"]
        assert len({one.seq for one in granted}) == 15
        assert admin.verify(receipts=granted).holds


def test_threads_share_transactions_and_nothing_else(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    """Sixteen threads; some refused, some under one key, some that fail half-way: each gets its own answer."""
    ledger.open("held", epsilon=1.0, protects="x")
    sizes: list[int] = []
    taken = Turns._taken
    monkeypatch.setattr(Turns, "_taken", lambda self: sizes.append(len(found := taken(self))) or found)
    answers: list[Any] = []
    gate = threading.Barrier(16)

    def work(number: int) -> None:
        gate.wait()
        for turn in range(6):
            try:
                if number % 4 == 0:
                    answers.append(ledger.spend("b", LOSS))
                elif number % 4 == 1:
                    answers.append(ledger.spend("wide", LOSS, key=f"shared {turn}"))
                elif number % 4 == 2:
                    held = ledger.reserve("held", qw.pure(0.01), lease=600)
                    answers.append(ledger.start(held.seq))
                else:
                    answers.append(ledger.spend("wide", qw.pure(0.5), key=f"shared {turn}"))
            except QuiltworkError as error:
                answers.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(16)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert len(answers) == 96
    assert sum(isinstance(one, BudgetExceeded) for one in answers) == 20
    spent = [entry for entry in ledger.history() if entry.kind == "spend"]
    assert sum(entry.budget == "b" for entry in spent) == 4
    assert sum(entry.budget == "wide" for entry in spent) == 6  # one for each key
    assert max(sizes) > 1
    assert ledger.verify(receipts=[one for one in answers if isinstance(one, Receipt)]).holds


def test_a_refusal_after_a_lapse_leaves_no_trace(ledger_url: str) -> None:
    """What was written on the way to a refusal is taken back, without the acts beside it."""
    clock = Clock()
    with Ledger(ledger_url, clock=clock) as ledger:
        ledger.open("b", epsilon=1.0, protects="x")
        ledger.open("other", epsilon=1.0, protects="x")
        ledger.reserve("b", LOSS, lease=60)
        clock.now += timedelta(minutes=2)
        before = count(ledger)
        found = ledger.spend_many([("b", qw.pure(2.0)), ("other", LOSS)])
        assert [type(one) for one in found] == [BudgetExceeded, BatchReceipt]
        assert count(ledger) == before + 1
        assert ledger.verify().holds


def test_a_batch_whose_end_is_unknown(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    """The connection breaks while committing, after the commit or before it: one look decides for all."""
    from sqlalchemy import Connection
    from sqlalchemy.exc import OperationalError

    commit = Connection.commit
    for arrives in (True, False):
        broken = [True]

        def failing(self: Connection, arrives: bool = arrives, broken: list[bool] = broken) -> None:
            if broken.pop() if broken else False:
                if arrives:
                    commit(self)
                raise OperationalError("commit", {}, Exception("gone"))
            commit(self)

        before = count(ledger)
        monkeypatch.setattr(Connection, "commit", failing)
        found = ledger.spend_many([("wide", LOSS)] * 5)
        monkeypatch.undo()
        kinds = {type(one) for one in found}
        assert kinds == ({BatchReceipt} if arrives else {LedgerUnavailable})
        assert count(ledger) == before + (5 if arrives else 0)
        assert ledger.verify().holds


WORKER = """
import sys, threading
import quiltwork as qw
ledger = qw.Ledger(sys.argv[1], key=sys.argv[2] or None)
lock = threading.Lock()
def say(receipts):
    with lock:
        for one in receipts:
            print(one.key, one.seq, flush=False)
        sys.stdout.flush()
def one(number):
    turn = 0
    while True:
        turn += 1
        say([ledger.spend("city", qw.pure(0.001), key=f"{sys.argv[3]} {number} {turn}")])
def many():
    turn = 0
    while True:
        turn += 1
        asks = [{"budget": "city", "loss": qw.pure(0.001), "key": f"{sys.argv[3]} many {turn} {i}"} for i in range(20)]
        say(ledger.spend_many(asks))
for number in range(3):
    threading.Thread(target=one, args=(number,), daemon=True).start()
many()
"""


def test_killed_in_the_middle_of_a_batch(ledger_url: str, tmp_path: Path) -> None:
    """kill -9 at any moment: what was acknowledged is there, nothing is there twice, whole batches or nothing."""
    key = str(tmp_path / "k.key") if ledger_url.startswith("postgresql") else ""
    with Ledger(ledger_url, key=key or None) as ledger:
        ledger.open("city", epsilon=1000.0, protects="one person")
    acknowledged: dict[str, int] = {}
    for round in range(3):
        command = [sys.executable, "-c", WORKER, ledger_url, key, str(round)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:
            assert child.stdout is not None
            first = child.stdout.readline()
            time.sleep(0.05 * (round + 1))
            os.kill(child.pid, signal.SIGKILL)
            told = first + child.stdout.read()
        for line in told.splitlines(keepends=True):
            if line.endswith("\n"):
                name, _, seq = line.strip().rpartition(" ")
                acknowledged[name] = int(seq)
    with Ledger(ledger_url, key=key or None) as ledger:
        written = {entry.key: entry.seq for entry in ledger.history("city") if entry.kind == "spend"}
        assert {name: written.get(name) for name in acknowledged} == acknowledged  # nothing is lost
        assert len(set(written.values())) == len(written)
        many = [str(name).rpartition(" ")[0] for name in written if " many " in str(name)]
        assert all(many.count(batch) == 20 for batch in set(many))  # a batch is there as a whole
        assert ledger.balance("city").amounts[0].spent.upper == pytest.approx(0.001 * len(written), rel=1e-12)
        assert ledger.verify().holds


def test_a_mistake_in_one_act_is_for_whoever_asked(ledger: Ledger) -> None:
    """What is no refusal of ours reaches its own caller; the acts beside it are done, and nothing is done twice."""
    from quiltwork.ledger.acts.spending import taking
    from quiltwork.ledger.acts.turns import Act, result_of

    session = ledger._session
    asked = ledger._request("wide", "spend", LOSS, None, 1, None)
    acts = [Act(session, "spend", taking(session, asked, "", None)[1], "wide") for _ in range(3)]

    def wrong(writer: Any) -> None:
        raise ZeroDivisionError("a mistake")

    acts.insert(1, Act(session, "spend", wrong, "wide"))
    before = count(ledger)
    session.turns.run(acts)
    assert [type(one.error) for one in acts] == [type(None), ZeroDivisionError, type(None), type(None)]
    with pytest.raises(ZeroDivisionError):
        result_of(acts[1])
    assert count(ledger) == before + 3
    assert session.turns._waiting == []


def test_an_interrupted_act_is_not_done_later(ledger: Ledger) -> None:
    from quiltwork.ledger.acts.turns import Act

    def interrupted(writer: Any) -> None:
        raise KeyboardInterrupt

    before = count(ledger)
    with pytest.raises(KeyboardInterrupt):
        ledger._session.turns.run([Act(ledger._session, "spend", interrupted, "wide")])
    assert ledger._session.turns._waiting == []
    ledger.spend("wide", LOSS)
    assert count(ledger) == before + 1


def test_a_mark_that_cannot_be_kept_after_the_commit(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    """The entry stands: the error says that it is not certain, and asking again with the key finds it."""
    from quiltwork.ledger.acts.trust import Trust

    def full(self: Trust, ended: Any, accounts: Any = None) -> None:
        raise LedgerUnavailable("the mark of the ledger cannot be kept", "make room")

    monkeypatch.setattr(Trust, "wrote", full)
    with pytest.raises(LedgerUnavailable) as caught:
        ledger.spend("wide", LOSS, key="k")
    assert (caught.value.certain, caught.value.key) == (False, "k")
    monkeypatch.undo()
    before = count(ledger)
    assert ledger.spend("wide", LOSS, key="k").key == "k"
    assert count(ledger) == before
