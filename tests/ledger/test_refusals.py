"""Spends that were refused for their cost are kept beside the chain: who, what, when, how much was left."""

from __future__ import annotations

import contextlib
import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest
from tests.ledger.books import Clock

import quiltwork as qw
from quiltwork.errors import BudgetExceeded, InvalidParameter, LedgerUnavailable, Unsupported
from quiltwork.ledger import Ledger
from quiltwork.ledger.acts.connection import Session
from quiltwork.ledger.store import refusals
from quiltwork.ledger.store.writer import Writer

MUCH = qw.pure(0.75)


def refuse(ledger: Ledger, name: str = "b") -> None:
    with pytest.raises(BudgetExceeded):
        ledger.spend(name, MUCH)


def test_who_asked_for_what_and_when(ledger_url: str, tmp_path: Path) -> None:
    clock = Clock()
    with Ledger(ledger_url, clock=clock, key=tmp_path / "l.key") as ledger:
        root = ledger.sign_in(ledger.admit("root", "admin"))
        ada = ledger.sign_in(root.admit("ada", "spender"))
        root.open("b", epsilon=1.0, protects="x")
        root.open("quota", epsilon=1.0, protects="x", quotas={"ada": "1/4"})
        root.open("plan", epsilon=2.0, protects="x", plan=[("week", MUCH, 1)])
        ada.spend("b", MUCH)
        root.spend("plan", release="week")
        before = [entry.seq for entry in root.history()]
        refuse(ada)
        clock.forward(hours=1)
        with pytest.raises(BudgetExceeded):
            root.reserve("b", qw.pure(0.5), times=3, lease=60)
        with pytest.raises(BudgetExceeded):
            ada.spend("quota", qw.pure(0.5))
        with pytest.raises(BudgetExceeded):
            root.spend("plan", release="week")
        newest = root.refusals()
        assert [(one.budget, one.principal, one.times) for one in newest] == [
            ("plan", "root", 1), ("quota", "ada", 1), ("b", "root", 3), ("b", "ada", 1),
        ]  # fmt: skip
        first = newest[-1]
        assert json.loads(first.what) == MUCH.to_json()
        assert (first.requested, first.remaining) == ("epsilon 0.75", "epsilon 0.25")
        assert (first.number, first.time) == (1, "2030-01-01T12:00:00.000000+00:00")
        assert newest[0].what == "week"
        assert [one.number for one in ada.refusals("b")] == [3 - 1, 1]
        assert [one.number for one in ada.refusals(last=1, before=3)] == [2]
        assert [entry.seq for entry in root.history()] == before  # the chain is what was granted
        assert root.verify(full=True).holds


def test_a_batch_notes_each_and_all_or_none_the_first(fast_sqlite: str) -> None:
    with Ledger(fast_sqlite) as ledger:
        ledger.open("b", epsilon=1.0, protects="x")
        ledger.spend_many([("b", MUCH)] * 4)
        assert [one.number for one in ledger.refusals()] == [3, 2, 1]
        with pytest.raises(BudgetExceeded):
            ledger.spend_many([("b", qw.pure(0.125)), ("b", MUCH), ("b", MUCH)], together=True)
        assert [one.number for one in ledger.refusals()] == [4, 3, 2, 1]
        assert json.loads(ledger.refusals(last=1)[0].what) == MUCH.to_json()


def test_all_or_none_that_is_tried_again_is_refused_for_what_was_too_much_then(
    fast_sqlite: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The connection breaks once all of them fitted, and somebody else spends before the second try."""
    with Ledger(fast_sqlite) as ledger, Ledger(fast_sqlite) as other:
        ledger.open("b", epsilon=1.0, protects="x")
        finish, broken = Writer.finish, [LedgerUnavailable("the connection broke", "ask again")]

        def once(writer: Writer) -> Any:
            if broken:
                raise broken.pop()
            return finish(writer)

        monkeypatch.setattr(Writer, "finish", once)
        monkeypatch.setattr(Session, "is_stale", lambda *_: True)
        monkeypatch.setattr(ledger._session.store, "dispose", lambda: other.spend("b", MUCH))
        with pytest.raises(BudgetExceeded):
            ledger.spend_many([("b", qw.pure(0.5)), ("b", qw.pure(0.25))], together=True)
        assert json.loads(ledger.refusals()[0].what) == qw.pure(0.5).to_json()
        monkeypatch.undo()
        assert ledger.balance("b").spent == other.balance("b").spent


def test_the_newest_are_kept(fast_sqlite: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(refusals, "MOST_KEPT", 3)
    with Ledger(fast_sqlite) as ledger:
        ledger.open("b", epsilon=0.5, protects="x")
        for _ in range(5):
            refuse(ledger)
        assert [one.number for one in ledger.refusals()] == [5, 4, 3]
        ledger.spend_many([("b", MUCH)] * 7)
        assert [one.number for one in ledger.refusals()] == [8, 7, 6]
        with pytest.raises(InvalidParameter):
            ledger.refusals(last=0)


def test_what_cannot_be_kept_hides_no_refusal(sqlite_url: str) -> None:
    with Ledger(sqlite_url) as ledger:
        ledger.open("b", epsilon=0.5, protects="x")
        with contextlib.closing(sqlite3.connect(sqlite_url.removeprefix("sqlite:///"))) as raw:
            raw.execute("DROP TABLE ledger_refusals")
            raw.commit()
        refuse(ledger)
        ledger.spend("b", qw.pure(0.25))
        assert ledger.verify().holds


def test_a_ledger_of_the_version_before_gets_a_table_more(sqlite_url: str, tmp_path: Path) -> None:
    with Ledger(sqlite_url) as ledger:
        ledger.open("b", epsilon=0.5, protects="x")
        entries = [entry.hash for entry in ledger.history()]
    with contextlib.closing(sqlite3.connect(sqlite_url.removeprefix("sqlite:///"))) as raw:
        raw.execute("DROP TABLE ledger_refusals")
        raw.execute("UPDATE ledger_version SET version_num = '0002'")
        raw.commit()
    with pytest.raises(Unsupported, match=r"version 0002.*ledger upgrade"):
        Ledger(sqlite_url)
    Path(f"{tmp_path}/budgets.db.key").rename(tmp_path / "away.key")  # nothing is signed anew
    assert Ledger.upgrade(sqlite_url) == "0002"
    Path(tmp_path / "away.key").rename(f"{tmp_path}/budgets.db.key")
    with Ledger(sqlite_url) as ledger:
        assert [entry.hash for entry in ledger.history()] == entries
        refuse(ledger)
        assert len(ledger.refusals()) == 1
        assert ledger.verify(full=True).holds
