"""Tampering as the users of a ledger meet it: a file in use, older copies, receipts."""

from __future__ import annotations

import contextlib
import shutil
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import attrs
import pytest
from tests.examples import some
from tests.ledger.forge import COLUMNS, FIELDS, TABLES, Row, chained, sealed
from tests.ledger.judging import none_of, same

import quiltwork as qw
from quiltwork.errors import AccessDenied, BrokenChain, QuiltworkError
from quiltwork.ledger import Ledger, Verification
from quiltwork.ledger.chain.keys import SigningKey
from quiltwork.ledger.chain.receipts import message

NUMBERS = {("ledger_entries", "seq"), ("ledger_reservations", "seq"), ("ledger_head", "id")}  # the rows' own places

# ---- a file under a ledger that is in use


class Opened:
    """A small ledger without tokens, in use while somebody else writes its file."""

    def __init__(self, folder: Path) -> None:
        self.file = folder / "budgets.db"
        self.url = f"sqlite:///{self.file}"
        self.ledger = Ledger(self.url)
        self.ledger.open("city", epsilon=1.0, protects="one person")
        self.ledger.open("days", rho=0.5, protects="one record", blocks=qw.ledger.Blocks("day"))
        self.receipts = [self.ledger.spend("city", qw.pure(0.125), key=f"{turn}") for turn in range(3)]
        self.ledger.spend("days", qw.gaussian(4.0), blocks="monday")
        held = self.ledger.reserve("city", qw.pure(0.125), lease=3600)
        self.ledger.start(held.seq)
        self.ledger.settle(held.seq)
        self.ledger.reserve("city", qw.pure(0.125), lease=3600)
        self.raw = sqlite3.connect(self.file, isolation_level=None)
        self.raw.text_factory = lambda raw: raw.decode("utf-8", "surrogateescape")
        for (name,) in self.raw.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
            self.raw.execute(f"DROP TRIGGER {name}")

    def rows(self, table: str) -> list[Row]:
        names = COLUMNS[table]
        found = self.raw.execute(f"SELECT rowid, {', '.join(names)} FROM {table}").fetchall()
        return [dict(zip(("place", *names), row, strict=True)) for row in found]

    def entries(self) -> list[Row]:
        return [{name: row[name] for name in FIELDS} for row in self.rows("ledger_entries")]

    def put(self, entries: list[Row], **head: Any) -> None:
        """A chain and a head that fits; the signature is not touched unless it is given."""
        last = entries[-1]
        self.raw.execute("DELETE FROM ledger_entries")
        places = ", ".join("?" for _ in FIELDS)
        self.raw.executemany(
            f"INSERT INTO ledger_entries ({', '.join(FIELDS)}) VALUES ({places})",
            [[row[name] for name in FIELDS] for row in entries],
        )
        for name, value in {"seq": last["seq"], "hash": last["hash"], "time": last["time"], **head}.items():
            self.raw.execute(f"UPDATE ledger_head SET {name} = ?", (value,))

    def close(self) -> None:
        self.raw.close()
        self.ledger.dispose()


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[Opened]:
    made = Opened(tmp_path)
    yield made
    made.close()


def test_whoever_has_it_open_is_told(opened):
    """verify() of a ledger in use returns; opening it again refuses or says so. Nothing else is ever raised."""
    problems: list[str] = []
    for table in TABLES:
        for row in some(opened.rows(table), 8):
            for column in COLUMNS[table]:
                for value in (None, b"\xff\xfe", -7 if isinstance(row[column], int) else "x", b"\x80"):
                    cell = "CAST(? AS TEXT)" if value == b"\x80" else "?"  # bytes that are no Unicode, stored as text
                    try:
                        opened.raw.execute(
                            f"UPDATE {table} SET {column} = {cell} WHERE rowid = ?", (value, row["place"])
                        )
                    except sqlite3.DatabaseError:
                        continue
                    moved = value if (table, column) in NUMBERS else row["place"]
                    (stored,) = opened.raw.execute(f"SELECT {column} FROM {table} WHERE rowid = ?", (moved,)).fetchone()
                    if not same(stored, row[column]):
                        problems += told(opened, (table, row["place"], column, value))
                    opened.raw.execute(f"UPDATE {table} SET {column} = ? WHERE rowid = ?", (row[column], moved))
    assert opened.ledger.verify().holds
    none_of(problems)


def told(opened: Opened, where: Any) -> list[str]:
    problems = []
    try:
        found = opened.ledger.verify()
        if not isinstance(found, Verification) or found.holds:
            problems.append(f"{where}: in use: {found}")
    except AccessDenied:
        if where[2] != "guarded":  # a ledger that asks for tokens now answers nobody without one
            problems.append(f"{where}: in use: asks for a token")
    except Exception as error:
        problems.append(f"{where}: in use: {type(error).__name__} {str(error)[:80]}")
    try:
        with Ledger(opened.url) as again:
            if again.verify().holds:
                problems.append(f"{where}: opened again: holds")
    except QuiltworkError:
        pass
    except Exception as error:
        problems.append(f"{where}: opened again: {type(error).__name__} {str(error)[:80]}")
    return problems


def test_the_next_spend_does_not_sign_a_forged_chain(opened):
    """A forger without the key only had to wait for an honest spend, if that signed whatever it found."""
    entries = opened.entries()
    at = opened.receipts[0].seq - 1
    tail = chained([{**entries[at], "key": "forged"}, *entries[at + 1 :]], at + 1, entries[at]["previous"])
    opened.put(entries[:at] + tail)
    with contextlib.suppress(BrokenChain):
        opened.ledger.spend("city", qw.pure(0.125))
    assert not opened.ledger.verify().holds
    with pytest.raises(BrokenChain):
        opened.ledger.spend("city", qw.pure(0.125))
    with pytest.raises(BrokenChain):
        opened.ledger.pause("city")


def test_the_next_spend_does_not_sign_a_changed_head(opened):
    for column, value in (("hash", "0" * 64), ("signature", None), ("seq", 4), ("public_key", None)):
        ((before,),) = opened.raw.execute(f"SELECT {column} FROM ledger_head").fetchall()
        opened.raw.execute(f"UPDATE ledger_head SET {column} = ?", (value,))
        with pytest.raises(QuiltworkError):
            opened.ledger.spend("city", qw.pure(0.125))
        assert not opened.ledger.verify().holds, column
        opened.raw.execute(f"UPDATE ledger_head SET {column} = ?", (before,))
        assert opened.ledger.verify().holds


def test_a_chain_without_a_key_is_not_taken_for_this_one(opened, tmp_path):
    """The key is at hand: a ledger that says it has none, or another one, is not the one that the key signed."""
    from quiltwork.ledger.chain.entries import canonical, parsed

    entries = opened.entries()
    mine = SigningKey.create(tmp_path / "mine.key")
    for public, signer in ((None, None), (mine.public, mine)):
        body = canonical({**parsed(entries[0]["body"]), "public_key": public})
        forged = chained([{**entries[0], "body": body}, *entries[1:]])
        signature = None if signer is None else signer.signature(message(opened.ledger.identity, forged[-1]["hash"]))
        opened.put(forged, public_key=public, signature=signature)
        assert not opened.ledger.verify().holds
        assert not opened.ledger.verify(receipts=opened.receipts).holds
        with pytest.raises(QuiltworkError):
            opened.ledger.spend("city", qw.pure(0.125))
        with contextlib.suppress(QuiltworkError), Ledger(opened.url) as again:
            assert not again.verify().holds
        opened.put(entries, public_key=opened.receipts[0].public_key, signature=None)


# ---- older copies, receipts


def test_an_older_copy_is_shown_by_a_receipt(opened, tmp_path):
    older = tmp_path / "older"
    older.mkdir()
    opened.raw.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    for name in ("budgets.db", "budgets.db.key"):
        shutil.copy2(tmp_path / name, older / name)
    later = [opened.ledger.spend("city", qw.pure(0.125)), opened.ledger.spend("city", qw.pure(0.125))]
    assert opened.ledger.verify(receipts=[*opened.receipts, *later]).holds
    with Ledger(f"sqlite:///{older}/budgets.db") as restored:
        assert restored.verify().holds  # nothing inside can tell
        assert restored.verify(receipts=opened.receipts).holds
        found = restored.verify(receipts=[*opened.receipts, *later])
        assert not found.holds
        assert found.first_bad == later[0].seq
        other = restored.spend("city", qw.pure(0.0625))  # it goes on from there, in another history
        assert other.seq == later[0].seq
        found = restored.verify(receipts=later)
        assert not found.holds
        assert found.first_bad == later[0].seq
        assert restored.verify(receipts=[other]).holds


def test_receipts_that_contradict_each_other(opened):
    """Two of one number, in any order: at most one of them can be in the chain."""
    good = opened.receipts[1]
    key = SigningKey.load(f"{opened.file}.key")
    entry = attrs.evolve(good.entry, principal="mallory")
    entry = attrs.evolve(entry, hash=sealed(attrs.asdict(entry))["hash"])
    other = qw.ledger.Receipt.issued(opened.ledger.identity, entry, key)
    other.check(key.public)
    assert opened.ledger.verify(receipts=[good, good]).holds
    for receipts in ([good, other], [other, good], [other]):
        found = opened.ledger.verify(receipts=receipts)
        assert not found.holds
        assert found.first_bad == good.seq


def test_receipts_that_are_forged(opened, tmp_path):
    good = opened.receipts[1]
    with Ledger(f"sqlite:///{tmp_path}/other.db") as foreign:
        foreign.open("city", epsilon=1.0, protects="one person")
        foreign.open("town", epsilon=1.0, protects="one person")
        foreign.spend("city", qw.pure(0.25))
        assert not opened.ledger.verify(receipts=[foreign.spend("city", qw.pure(0.25))]).holds
    for change in (
        {"hash": "0" * 64}, {"body": "{}"}, {"seq": 99}, {"signature": "x"}, {"public_key": None}, {"ledger": "other"},
        {"seq": "4"}, {"seq": None}, {"seq": []}, {"seq": 4.0}, {"body": b""}, {"hash": None},
    ):  # fmt: skip
        assert not opened.ledger.verify(receipts=[attrs.evolve(good, **change)]).holds, change
