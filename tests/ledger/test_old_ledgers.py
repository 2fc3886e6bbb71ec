"""A ledger that version 0.1 wrote: refused with what to do, upgraded once it is verified, and spent from as before."""

from __future__ import annotations

import json
import os
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import attrs
import pytest
from tests.ledger.rich import KINDS

import quiltwork as qw
from quiltwork.errors import BrokenChain, InvalidParameter, LedgerUnavailable, Unsupported
from quiltwork.ledger import Ledger, Receipt

KEPT = json.loads(Path(__file__).with_name("kept_by_0_1.json").read_text())


@attrs.frozen
class Old:
    """The file, and who used it."""

    file: Path
    people: dict[str, str]
    receipts: tuple[Receipt, ...]

    @property
    def url(self) -> str:
        return f"sqlite:///{self.file}"

    def opened(self, who: str = "admin") -> Ledger:
        return Ledger(self.url, token=self.people[who])

    def run(self, *statements: str) -> None:
        with closing(sqlite3.connect(self.file)) as raw:
            for (name,) in raw.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
                raw.execute(f"DROP TRIGGER {name}")
            for statement in statements:
                raw.execute(statement)
            raw.commit()


@pytest.fixture
def old(tmp_path: Path) -> Old:
    file = tmp_path / "budgets.db"
    with closing(sqlite3.connect(file)) as raw:
        raw.executescript("\n".join(KEPT["sql"]))
    key = tmp_path / "budgets.db.key"
    key.write_text(KEPT["key"])
    os.chmod(key, 0o600)
    return Old(file, KEPT["people"], tuple(map(Receipt.from_json, KEPT["receipts"])))


def content(old: Old) -> list[Any]:
    with closing(sqlite3.connect(old.file)) as raw:
        return raw.execute("SELECT * FROM ledger_entries ORDER BY seq").fetchall()


def test_it_is_refused_until_it_is_upgraded(old: Old) -> None:
    with pytest.raises(Unsupported, match="quiltwork ledger upgrade"):
        old.opened()


def test_upgraded_it_goes_on(old: Old) -> None:
    before = content(old)
    assert {row[2] for row in before} == KINDS
    assert Ledger.upgrade(old.url) == "0001"
    assert content(old)[:-1] == before  # every byte of every entry
    assert content(old)[-1][2] == "format"
    with old.opened() as ledger:
        assert ledger.identity == KEPT["identity"]
        assert ledger.verify(receipts=old.receipts).holds
        for receipt in old.receipts:
            receipt.check(ledger.public_key) if receipt.public_key == ledger.public_key else receipt.check()
            assert ledger.receipt(receipt.seq).hash == receipt.hash
        left = ledger.balance("usual").left.lower
        ledger.spend("usual", qw.gaussian(60.0))
        assert ledger.balance("usual").left.lower < left
        with pytest.raises(InvalidParameter, match="the name of a budget"):
            old.opened("viewer").spend("nowhere", qw.pure(1.0))
        checkpoint = ledger.checkpoint()
        ledger.spend("pure", qw.laplace(100.0))
        assert ledger.verify(since=checkpoint).holds
    with old.opened("spender") as ledger:  # old Argon2 tokens still name people
        assert ledger.me().name == "bob"  # type: ignore[union-attr]
    assert Ledger.upgrade(old.url) == "0003"  # nothing more to do


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE ledger_head SET guarded = 0",
        "UPDATE ledger_principals SET role = 'admin' WHERE name = 'eve'",
        "UPDATE ledger_budgets SET standing = replace(standing, '\"held\":1', '\"held\":0')",
        "UPDATE ledger_entries SET principal = 'ada' WHERE seq = 9",
        "DELETE FROM ledger_entries WHERE seq = 44",
        "UPDATE ledger_head SET signature = NULL",
        "DELETE FROM ledger_tallies",
    ],
)
def test_what_does_not_hold_is_not_vouched_for(old: Old, change: str) -> None:
    old.run(change)
    with pytest.raises(BrokenChain):
        Ledger.upgrade(old.url)
    with pytest.raises(Unsupported):  # nothing was changed
        old.opened()


def test_the_key_is_needed(old: Old) -> None:
    Path(f"{old.file}.key").unlink()
    with pytest.raises(InvalidParameter, match="key"):
        Ledger.upgrade(old.url)


def test_a_ledger_set_back_to_the_old_form_is_refused(old: Old) -> None:
    """The old copy put back, and the newest chain under the old version's name."""
    copy = old.file.read_bytes()
    Ledger.upgrade(old.url)
    with old.opened() as ledger:
        ledger.spend("usual", qw.gaussian(60.0))
    for end in ("-wal", "-shm"):
        Path(f"{old.file}{end}").unlink(missing_ok=True)
    newest = old.file.read_bytes()
    old.file.write_bytes(copy)
    with pytest.raises(BrokenChain, match="put back to an earlier state"):
        Ledger.upgrade(old.url)
    old.file.write_bytes(newest)
    old.run("UPDATE ledger_version SET version_num = '0001'", "ALTER TABLE ledger_head ADD COLUMN guarded INTEGER")
    with pytest.raises((BrokenChain, LedgerUnavailable), match="set back to an older form"):
        Ledger.upgrade(old.url)


def test_an_old_export_is_read(old: Old, tmp_path: Path) -> None:
    """With the key its end is signed anew; without, the copy can be read and says that it is not signed."""
    lines: list[str] = []
    fields = ("seq", "time", "kind", "budget", "principal", "key", "body", "previous", "hash")
    rows = content(old)
    schema = "quiltwork/ledger-export/1"
    lines.append(json.dumps({"schema": schema, "entries": len(rows)}))
    lines += [json.dumps({"schema": "quiltwork/entry/1", **dict(zip(fields, row, strict=True))}) for row in rows]
    with closing(sqlite3.connect(old.file)) as raw:
        (signature,) = raw.execute("SELECT signature FROM ledger_head").fetchone()
    lines.append(json.dumps({"schema": schema, "seq": len(rows), "hash": rows[-1][-1], "signature": signature}))
    with Ledger.restore(f"sqlite:///{tmp_path}/one.db", lines, key=f"{old.file}.key") as copy:
        assert copy.sign_in(old.people["admin"]).verify(receipts=old.receipts).signed
    with Ledger.restore(f"sqlite:///{tmp_path}/two.db", lines) as copy:
        found = copy.sign_in(old.people["admin"]).verify()
        assert (found.holds, found.signed) == (True, False)
    with pytest.raises(BrokenChain):
        Ledger.restore(f"sqlite:///{tmp_path}/three.db", [*lines[:-2], lines[-1]])
