"""The sealed book: the second verification replays only what is new, and finds what a full one finds."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path

import attrs
import pytest

import quiltwork as qw
from quiltwork.errors import InvalidParameter
from quiltwork.ledger import Blocks, Ledger
from quiltwork.ledger.proof import sealed

LOSS = qw.laplace(100.0)


@pytest.fixture
def kept(tmp_path):
    """A ledger that was verified, then written to; with reservations in every state, blocks and people."""
    url = f"sqlite:///{tmp_path}/budgets.db"
    with Ledger(url) as ledger:
        ledger.open("a", epsilon=50.0, delta=1e-6, protects="one person")
        ledger.open("b", epsilon=9.0, protects="one person", blocks=Blocks("day", most=2))
        ledger.spend("b", LOSS, blocks=["mon", "tue"])
        ended, held = ledger.reserve("a", LOSS, lease=3600).seq, ledger.reserve("a", LOSS, lease=3600).seq
        ledger.start(ended)
        ledger.settle(ended)
        assert ledger.verify()
        ledger.start(held)
        ledger.spend_many([("a", LOSS)] * 300)
        ledger.spend("b", LOSS, blocks=["tue"])
        yield ledger, tmp_path / "budgets.db"


def book_of(file: Path) -> Path:
    (found,) = Path(f"{file}.key.mark").glob("*.book")
    return found


def painted(file: Path, *statements: str) -> None:
    raw = sqlite3.connect(file)
    for (name,) in raw.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
        raw.execute(f"DROP TRIGGER {name}")
    for statement in statements:
        raw.execute(statement)
    raw.commit()
    raw.close()


def replays(monkeypatch) -> list[int]:
    """The numbers of the entries that are replayed from now on."""
    seen: list[int] = []
    take = sealed.Checker.take

    def counted(self, entry):
        seen.append(entry.seq)
        take(self, entry)

    monkeypatch.setattr(sealed.Checker, "take", counted)
    return seen


def test_only_what_is_new_is_replayed(kept, monkeypatch):
    ledger, _ = kept
    seen, count = replays(monkeypatch), sum(1 for _ in ledger.history())
    assert ledger.verify() == ledger.verify(full=True)
    assert seen[0] == 9
    assert seen[count - 8 :] == list(range(1, count + 1))
    seen.clear()
    assert ledger.verify().entries == count
    found = ledger.verify(new=True)
    assert found.holds
    assert (found.unread, found.entries) == (count, count)
    assert "not read again" in found.explain()
    assert not seen
    ledger.open("new", epsilon=1.0, protects="one person")
    found = ledger.verify(new=True)
    assert (found.unread, found.entries) == (count, count + 1)
    assert seen == [count + 1]


@pytest.mark.parametrize(
    ("edit", "seq"),
    [
        ("UPDATE ledger_entries SET body = replace(body, '100.0', '200.0') WHERE seq = 4", 4),
        ("UPDATE ledger_entries SET principal = 'eve' WHERE seq = 5", 5),
        ("DELETE FROM ledger_entries WHERE seq = 6", 6),
        ("UPDATE ledger_entries SET body = x'00' WHERE seq = 6", 6),
    ],
)
def test_an_edit_before_the_end_of_the_book_is_named(kept, edit, seq):
    ledger, file = kept
    painted(file, edit)
    found = ledger.verify()
    assert not found
    assert found.first_bad == seq
    assert found == ledger.verify(full=True)


@pytest.mark.parametrize(
    "edit",
    [
        "UPDATE ledger_budgets SET standing = replace(standing, '\"held\":0', '\"held\":1') WHERE name = 'a'",
        "UPDATE ledger_tallies SET amount = '0' WHERE name = 'mon'",
        "UPDATE ledger_reservations SET charge = '{}' WHERE seq = 5",
        "DELETE FROM ledger_tiles",
        "DELETE FROM ledger_budgets WHERE name = 'b'",
    ],
)
def test_rows_are_compared_at_every_depth(kept, edit):
    ledger, file = kept
    assert ledger.verify()
    painted(file, edit)
    assert not ledger.verify(new=True)
    assert ledger.verify() == ledger.verify(full=True)
    assert not ledger.verify()


def test_a_book_that_somebody_else_wrote_is_not_believed(kept):
    """Row and book tell the same lie: a replay that believed the book would not see it."""
    ledger, file = kept
    lie = "UPDATE ledger_budgets SET terms = replace(terms, '9.0', '8.0') WHERE name = 'b'"
    book = book_of(file)
    seal, _, body = book.read_bytes().partition(b"\n")
    text = json.loads(body)
    text["accounts"]["b"][1] = text["accounts"]["b"][1].replace("9.0", "8.0")
    assert text != json.loads(body)
    painted(file, lie)
    for forged in (seal + b"\n" + json.dumps(text).encode(), b"", b"\n{}", b"{}"):
        book.write_bytes(forged)
        assert not ledger.verify()
        assert not ledger.verify(new=True)


def test_a_book_of_another_release_is_not_believed(kept, monkeypatch):
    ledger, _ = kept
    monkeypatch.setattr(sealed, "__version__", "9.9")
    seen = replays(monkeypatch)
    assert ledger.verify()
    assert seen[0] == 1


def test_a_book_of_another_history_is_put_aside(kept):
    """Whoever holds the key went on from a copy: the book says nothing about that history."""
    ledger, _ = kept
    assert ledger.verify()
    shelf = ledger._session.shelf()
    checker = shelf.read()
    checker.hash = "0" * 64
    shelf.keep(checker)
    assert ledger.verify()
    assert ledger.verify(new=True)


def test_what_is_kept_elsewhere_is_met_without_reading_the_old_entries(kept):
    ledger, _ = kept
    receipt, before = ledger.receipt(4), ledger.checkpoint()
    ledger.spend("a", LOSS)
    assert ledger.verify()
    ledger.spend("a", LOSS)
    assert ledger.verify(new=True, receipts=[receipt], since=before)
    other = attrs.evolve(before, root="0" * 64, public_key=None, signature=None)
    assert not ledger.verify(new=True, since=other)


def test_depths_exclude_each_other(kept):
    with pytest.raises(InvalidParameter, match="at most one"):
        kept[0].verify(full=True, new=True)
