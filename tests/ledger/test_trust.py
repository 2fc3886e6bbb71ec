"""Whoever may write the database and has no key: what they do is refused, or named by `verify`, by a fresh process."""

from __future__ import annotations

import contextlib
import os
import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import attrs
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from tests.ledger.forge import SqliteForger, put_head
from tests.ledger.rich import rich

import quiltwork as qw
from quiltwork.errors import (
    AccessDenied,
    BrokenChain,
    BudgetExceeded,
    InvalidParameter,
    LedgerUnavailable,
    QuiltworkError,
)
from quiltwork.ledger import Checkpoint, ConsistencyProof, Ledger
from quiltwork.ledger.chain.keys import SigningKey
from quiltwork.ledger.chain.statements import CHECKPOINT, HEAD, Facts
from quiltwork.ledger.chain.tree import Tree
from quiltwork.ledger.proof.checker import Checker

LOSS = qw.laplace(50.0)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A ledger with a budget of 1 and nine spends of 0.02."""
    place = tmp_path / "b.db"
    with Ledger(f"sqlite:///{place}") as ledger:
        ledger.open("b", epsilon=1.0, protects="one person")
        for _ in range(9):
            ledger.spend("b", LOSS)
    return place


def url(file: Path) -> str:
    return f"sqlite:///{file}"


def attack(file: Path, script: Callable[[sqlite3.Connection], Any]) -> None:
    """As the owner of the tables, without triggers."""
    with contextlib.closing(sqlite3.connect(file)) as raw:
        raw.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        for (name,) in raw.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
            raw.execute(f"DROP TRIGGER {name}")
        script(raw)
        raw.commit()
        raw.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def old_copy(file: Path) -> Path:
    place = file.with_suffix(".old")
    with contextlib.closing(sqlite3.connect(file)) as one, contextlib.closing(sqlite3.connect(place)) as two:
        one.backup(two)
    return place


def put_back(copy: Path, file: Path) -> None:
    for end in ("-wal", "-shm"):
        Path(f"{file}{end}").unlink(missing_ok=True)
    shutil.copy(copy, file)


def forget(file: Path) -> None:
    """As an attacker who may write beside the key, too."""
    shutil.rmtree(f"{file}.key.mark")


def refused(file: Path, token: str | None = None, match: str = ".") -> None:
    """Nothing is granted by a fresh process, and an examination names what was done."""
    with pytest.raises(BrokenChain, match=match), Ledger(url(file), token=token) as ledger:
        ledger.spend("b", LOSS)
    with Ledger.examine(url(file)) as ledger:
        entries = sum(1 for _ in ledger.history())
    with contextlib.closing(sqlite3.connect(file)) as raw:
        assert raw.execute("SELECT count(*) FROM ledger_entries").fetchone()[0] == entries


# ---- the end of the chain


def cut(raw: sqlite3.Connection, receipt: Any) -> None:
    """Everything after a receipt's entry goes; what follows from the rest is public and is computed anew."""
    raw.execute("DELETE FROM ledger_entries WHERE seq > ?", (receipt.seq,))
    checker = Checker()
    from quiltwork.ledger import Entry

    for row in raw.execute("SELECT * FROM ledger_entries ORDER BY seq").fetchall():
        checker.take(Entry(*row))
    raw.execute("UPDATE ledger_budgets SET standing = ?", (checker.book.accounts["b"].standing.text(),))
    peaks, facts = "".join(one.hex() for one in checker.tree.peaks), checker.facts
    change = "UPDATE ledger_head SET seq = ?, time = ?, hash = ?, signature = ?, root = ?, peaks = ?"
    raw.execute(change, (receipt.seq, receipt.time, receipt.hash, receipt.signature, facts.root, peaks))


@pytest.mark.parametrize("kind", ["receipt", "checkpoint"])
def test_the_end_cut_off_with_another_signature_as_the_head(file: Path, kind: str) -> None:
    """Also without the mark: a signature of one kind is worth nothing as another."""
    with Ledger(url(file)) as ledger:
        found = ledger.receipt(4) if kind == "receipt" else ledger.checkpoint()
        ledger.spend("b", LOSS)
    attack(file, lambda raw: cut(raw, found))
    forget(file)
    refused(file, match="not signed by the ledger's key")
    with Ledger(url(file)) as ledger:
        checked = ledger.verify()
    assert not checked
    assert "head" in str(checked.problem)


def test_an_old_copy_put_back(file: Path) -> None:
    copy = old_copy(file)
    with Ledger(url(file)) as ledger:
        for _ in range(5):
            ledger.spend("b", LOSS)
        checkpoint, receipt = ledger.checkpoint(), ledger.receipt(14)
    put_back(copy, file)
    refused(file, match="entry 16 was seen, now it ends with 11")
    with Ledger(url(file)) as ledger:
        checked = ledger.verify()
        assert (checked.holds, checked.first_bad) == (False, 12)
        assert "entries 12 to 16 are missing" in checked.explain()
    forget(file)  # then the mark says nothing, and what was kept elsewhere does
    with Ledger(url(file)) as ledger:
        assert ledger.verify()
        assert ledger.verify(since=checkpoint).first_bad == 12
        assert not ledger.verify(receipts=[receipt])


def test_a_rollback_that_was_overtaken(file: Path, tmp_path: Path) -> None:
    """Another machine wrote past the old head: numbers alone say nothing."""
    copy = old_copy(file)
    running = Ledger(url(file))
    for _ in range(3):
        running.spend("b", LOSS)
    running.disconnect()
    put_back(copy, file)
    shutil.copy(f"{file}.key", tmp_path / "elsewhere.key")
    with Ledger(url(file), key=tmp_path / "elsewhere.key") as other:
        for _ in range(6):
            other.spend("b", LOSS)
        assert other.verify()  # nobody there saw what was lost
    for act in (lambda: running.spend("b", LOSS), lambda: running.balance("b")):
        with pytest.raises(BrokenChain, match="put back to an earlier state and written to since"):
            act()
    assert not running.verify()
    running.disconnect()
    refused(file, match="written to since")


def test_a_rollback_painted_over(file: Path, tmp_path: Path) -> None:
    """The row of the number last seen has its old content and hash: looking it up would be fooled."""
    copy = old_copy(file)
    running = Ledger(url(file))
    for _ in range(3):
        running.spend("b", LOSS)
    kept = running.receipt(14).entry
    running.disconnect()
    put_back(copy, file)
    shutil.copy(f"{file}.key", tmp_path / "elsewhere.key")
    with Ledger(url(file), key=tmp_path / "elsewhere.key") as other:
        for _ in range(6):
            other.spend("b", LOSS)

    def paint(raw: sqlite3.Connection) -> None:
        row = attrs.asdict(kept)
        raw.execute(f"UPDATE ledger_entries SET {', '.join(f'{name} = :{name}' for name in row)} WHERE seq = 14", row)

    attack(file, paint)
    with pytest.raises(BrokenChain):
        running.spend("b", LOSS)
    running.disconnect()
    refused(file)


def test_balances_of_an_old_copy_under_the_entries_of_now(file: Path) -> None:
    with contextlib.closing(sqlite3.connect(old_copy(file))) as raw:
        (standing,) = raw.execute("SELECT standing FROM ledger_budgets").fetchone()
    with Ledger(url(file)) as ledger:
        for _ in range(5):
            ledger.spend("b", LOSS)
    attack(file, lambda raw: raw.execute("UPDATE ledger_budgets SET standing = ?", (standing,)))
    with Ledger(url(file)) as ledger:
        assert "row of budget 'b'" in str(ledger.verify().problem)


@pytest.mark.parametrize("cell", ["seq", "time", "hash", "root", "peaks", "access", "signature", "public_key"])
def test_every_cell_of_the_head(file: Path, cell: str) -> None:
    for value in ("x", "00", None, 5, "ab" * 32):
        with contextlib.suppress(sqlite3.IntegrityError):
            attack(file, lambda raw, value=value: raw.execute(f"UPDATE ledger_head SET {cell} = ?", (value,)))
        with contextlib.suppress(BrokenChain, InvalidParameter):
            with Ledger(url(file)) as ledger:
                ledger.spend("b", LOSS)
            with contextlib.closing(sqlite3.connect(file)) as raw:  # only an update that was none is let through
                assert raw.execute("SELECT count(*) FROM ledger_entries").fetchone() == (12,)
            return


# ---- people


@pytest.fixture
def people(file: Path) -> tuple[Path, str, str, str]:
    """The ledger with an admin, a viewer and one who was revoked; their tokens."""
    with Ledger(url(file)) as ledger:
        admin = ledger.admit("ada", "admin")
        mine = ledger.sign_in(admin)
        viewer, gone = mine.admit("vera", "viewer"), mine.admit("gus", "admin")
        mine.revoke("gus")
    return file, admin, viewer, gone


def own_admin(tmp_path: Path) -> tuple[str, tuple[Any, ...]]:
    """The token of an admin of another ledger, and the row of it."""
    place = tmp_path / "own.db"
    with Ledger(url(place)) as ledger:
        token = ledger.admit("mallory", "admin")
    with contextlib.closing(sqlite3.connect(place)) as raw:
        return token, raw.execute("SELECT * FROM ledger_principals").fetchone()


@pytest.mark.parametrize("case", ["own row", "role", "revoked", "emptied", "no rows at all"])
def test_rows_about_people_are_never_believed(people: Any, tmp_path: Path, case: str) -> None:
    file, admin, viewer, gone = people
    token, row = own_admin(tmp_path)
    shown, script = {
        "own row": (token, lambda raw: raw.execute("INSERT INTO ledger_principals VALUES (?, ?, ?, ?, ?, ?)", row)),
        "role": (viewer, lambda raw: raw.execute("UPDATE ledger_principals SET role = 'admin' WHERE name = 'vera'")),
        "revoked": (gone, lambda raw: raw.execute("UPDATE ledger_principals SET revoked = 0")),
        "emptied": (None, lambda raw: raw.execute("DELETE FROM ledger_principals WHERE name <> 'gus'")),
        "no rows at all": (None, lambda raw: raw.execute("DELETE FROM ledger_principals")),
    }[case]
    running = Ledger(url(file), token=admin)
    running.balance("b")
    attack(file, script)
    with pytest.raises((BrokenChain, AccessDenied)), Ledger(url(file), token=shown) as ledger:
        ledger.admit("m2", "admin")
    refused(file, shown, match="not those that its head is signed for|signed")
    with Ledger.examine(url(file)) as ledger:
        assert "ledger_principals" in str(ledger.verify().problem)
    running.spend("b", LOSS)  # who runs on has the people of the chain in memory
    with pytest.raises(AccessDenied):
        running.sign_in("qw_" + "0" * 16 + "_" + "0" * 64)
    running.disconnect()


def test_the_digest_changed_with_the_rows(people: Any) -> None:
    """The digest is signed with the rest."""
    file, _, viewer, _ = people

    def script(raw: sqlite3.Connection) -> None:
        from quiltwork.ledger.chain.statements import access_digest

        raw.execute("UPDATE ledger_principals SET role = 'admin' WHERE name = 'vera'")
        rows = raw.execute("SELECT * FROM ledger_principals").fetchall()
        raw.execute("UPDATE ledger_head SET access = ?", (access_digest(rows),))

    attack(file, script)
    refused(file, viewer, match="not signed by the ledger's key")


# ---- other ledgers, other keys


def test_another_ledger_of_the_same_key_in_its_place(file: Path, tmp_path: Path) -> None:
    """Two ledgers may share a key, each with a mark; they cannot take each other's place."""
    key, other = Path(f"{file}.key"), tmp_path / "other.db"
    for _ in range(2):
        with Ledger(url(other), key=key) as ledger:
            if not ledger.budgets():
                ledger.open("b", epsilon=100.0, protects="one person")
            ledger.spend("b", LOSS)
        with Ledger(url(file), key=key) as ledger:
            ledger.spend("b", LOSS)
    one, two = old_copy(file), old_copy(other)
    put_back(two, file), put_back(one, other)
    for place in (file, other):
        with pytest.raises(BrokenChain, match="another ledger was kept here"):
            Ledger(url(place), key=key)


def test_a_running_process_does_not_take_another_ledger(file: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.db"
    running = Ledger(url(file))
    running.spend("b", LOSS)
    running.disconnect()
    with Ledger(url(other), key=f"{file}.key") as ledger:
        ledger.open("b", epsilon=100.0, protects="one person")
        for _ in range(12):
            ledger.spend("b", LOSS)
    put_back(old_copy(other), file)
    with pytest.raises(BrokenChain):
        running.spend("b", LOSS)


def test_a_chain_written_anew_by_another_key(file: Path) -> None:
    """A running process follows to another key only where the one before agreed."""
    with Ledger(url(file), key=None) as ledger:
        assert ledger.public_key
        reader = Ledger(url(file))
        reader._session.key = None
        reader.balance("b")
    from quiltwork.ledger import SigningKey

    stranger = SigningKey.create(file.with_name("stranger.key"))
    forger = SqliteForger(str(file))
    facts = put_head(forger, forger.entries(), ledger.identity)
    forger.close()
    change = "UPDATE ledger_head SET public_key = ?, signature = ?, time = ?"
    told = attrs.evolve(facts, time="2030-01-01T00:00:00.000000+00:00")
    attack(file, lambda raw: raw.execute(change, (stranger.public, stranger.signature(told.message(HEAD)), told.time)))
    with pytest.raises(BrokenChain, match="the key before did not agree"):
        reader.balance("b")
    reader.disconnect()


def test_readers_follow_a_rotation(file: Path, tmp_path: Path) -> None:
    reader = Ledger(url(file))
    reader._session.key = None
    reader.balance("b")
    with Ledger(url(file)) as ledger:
        ledger.rotate(tmp_path / "next.key")
        ledger.spend("b", LOSS)
    assert reader.balance("b").amounts
    reader.disconnect()


# ---- marks


def test_a_mark_beside_the_key_or_elsewhere(file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert len(list(Path(f"{file}.key.mark").iterdir())) == 1
    monkeypatch.setenv("QUILTWORK_MARK", str(tmp_path / "marks"))
    with Ledger(url(file)) as ledger:
        ledger.spend("b", LOSS)
    assert len(list((tmp_path / "marks").iterdir())) == 1


@pytest.mark.skipif(os.geteuid() == 0 and not Path("/proc").is_dir(), reason="root may write everywhere")
def test_a_mark_that_cannot_be_kept_is_said(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("QUILTWORK_MARK", "/proc/marks")
    with pytest.raises(LedgerUnavailable, match="QUILTWORK_MARK"):
        Ledger(url(file))


def test_a_torn_mark_loses_one_step_and_a_damaged_one_is_said(file: Path) -> None:
    (place,) = Path(f"{file}.key.mark").iterdir()
    whole = place.read_bytes()
    for cut in range(0, 8192, 977):
        place.write_bytes(whole[:cut] + os.urandom(8192 - cut) + whole[8192:])
        with Ledger(url(file)) as ledger:
            assert ledger._session.trust.known is not None
            assert ledger._session.trust.known.seq >= 10
    place.write_bytes(os.urandom(2 * 8192))
    with pytest.raises(BrokenChain, match="damaged"):
        Ledger(url(file))
    with Ledger.examine(url(file)) as ledger:
        assert ledger.verify()


# ---- checkpoints


def test_checkpoints_and_their_proofs(file: Path, tmp_path: Path) -> None:
    with Ledger(url(file)) as ledger:
        kept = []
        for _ in range(6):
            kept.append(ledger.checkpoint())
            ledger.spend("b", LOSS)
        newest = ledger.checkpoint()
        for one in kept:
            one.check(ledger.public_key)
            proof = ConsistencyProof.from_json(ledger.consistency(one).to_json())
            assert newest.continues(one, proof)
            wrong = attrs.evolve(proof, path=proof.path[::-1])
            assert len(proof.path) < 2 or not newest.continues(one, wrong)
            stranger = SigningKey(Ed25519PrivateKey.generate())
            forged = Checkpoint.issued(newest.facts, stranger)
            forged.check()
            with pytest.raises(BrokenChain, match="another key"):
                forged.continues(one, proof)
            assert forged.continues(one, proof, public_key=stranger.public)  # as after a rotation
        assert ledger.verify(since=kept).holds
        kept[0].save(tmp_path / "c.json")
        assert Checkpoint.load(tmp_path / "c.json") == kept[0] == Checkpoint.read(kept[0].to_text())
        assert ledger.verify(since=tmp_path / "c.json")
        for field, value in (("seq", 3), ("root", "0" * 64), ("hash", "0" * 64), ("access", "1" * 64), ("ledger", "x")):
            forged = attrs.evolve(kept[0], **{field: value})
            with pytest.raises(BrokenChain):
                forged.check()
            assert not ledger.verify(since=forged)
    with Ledger(url(tmp_path / "other.db")) as other:
        other.open("b", epsilon=1.0, protects="one person")
        assert not other.verify(since=kept[0])
        with pytest.raises(BrokenChain, match="another ledger"):
            other.consistency(kept[0])


def test_two_copies_that_both_go_on_have_no_proof(file: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy.db"
    shutil.copy(old_copy(file), copy)
    shutil.copy(f"{file}.key", tmp_path / "copy.db.key")
    with Ledger(url(file)) as one, Ledger(url(copy)) as two:
        one.spend("b", LOSS)
        two.spend("b", LOSS)
        seen = one.checkpoint()
        two.spend("b", LOSS)
        with pytest.raises(BrokenChain, match="does not continue"):
            two.consistency(seen)
        assert two.verify(since=seen).first_bad == seen.seq


@pytest.mark.parametrize("value", [None, 5, "{}", {}, {"schema": CHECKPOINT}, "/nowhere/at all", b"x"])
def test_what_is_no_checkpoint(value: Any) -> None:
    with pytest.raises(QuiltworkError):
        Checkpoint.read(value)


def test_kinds_of_statement_are_apart(file: Path) -> None:
    with Ledger(url(file)) as ledger:
        found = ledger.checkpoint()
    facts = found.facts
    assert len({facts.message(kind) for kind in (HEAD, CHECKPOINT)}) == 2
    with contextlib.closing(sqlite3.connect(file)) as raw:
        (head,) = raw.execute("SELECT signature FROM ledger_head").fetchone()
    with pytest.raises(BrokenChain):
        attrs.evolve(found, signature=head).check()
    with pytest.raises(InvalidParameter):
        Facts("a\nb", 1, "", "", "", "").message(HEAD)


# ---- the tree's rows, and receipts


def test_a_receipt_is_never_signed_for_a_row_that_was_put_there(tmp_path: Path) -> None:
    """The row and the next one's link were changed so that they fit: the signed root does not."""
    file = tmp_path / "long.db"
    with Ledger(url(file)) as ledger:
        ledger.open("b", epsilon=1000.0, protects="one person")
        for turn in range(300):
            ledger.spend("b", LOSS, key=f"k{turn}")
        assert ledger.receipt(100).seq == 100
        assert ledger.receipt(290).seq == 290

    forger = SqliteForger(str(file))
    from tests.ledger.forge import sealed

    row = sealed({**forger.entries()[99], "principal": "ada"})

    def script(raw: sqlite3.Connection) -> None:
        raw.execute("UPDATE ledger_entries SET principal = 'ada', hash = ? WHERE seq = 100", (row["hash"],))
        raw.execute("UPDATE ledger_entries SET previous = ? WHERE seq = 101", (row["hash"],))

    assert forger.rows("ledger_tiles")
    with forger.undone():
        forger.run("UPDATE ledger_tiles SET root = :root", root="00" * 32)
        assert "ledger_tiles" in str(forger.verified().problem)
    with forger.undone():
        forger.run("DELETE FROM ledger_tiles")
        assert "ledger_tiles" in str(forger.verified().problem)
    forger.close()
    attack(file, script)
    with Ledger(url(file)) as ledger:
        with pytest.raises(BrokenChain):
            ledger.receipt(100)
        with pytest.raises(QuiltworkError):
            ledger.spend("b", LOSS, key="k97")
        assert ledger.verify().first_bad in (100, 101)


def test_a_rich_ledger_has_the_tree_of_its_entries(tmp_path: Path) -> None:
    made = rich(f"sqlite:///{tmp_path}/r.db", tmp_path / "r.key")
    tree = Tree()
    for entry in made.ledger.history():
        tree.append(bytes.fromhex(entry.hash))
    assert made.ledger.checkpoint().root == tree.root.hex()
    made.ledger.dispose()


def test_a_process_believes_what_it_wrote_and_not_a_row_that_was_edited_since(tmp_path: Path) -> None:
    """A balance that somebody edits makes no room where the same process goes on; others see it by `verify`."""
    url = f"sqlite:///{tmp_path}/budgets.db"
    with Ledger(url) as ledger:
        ledger.open("b", epsilon=1.0, protects="x")
        ledger.spend("b", qw.pure(0.5))
        with sqlite3.connect(f"{tmp_path}/budgets.db") as raw:
            raw.execute("UPDATE ledger_budgets SET standing = replace(standing, '1/2', '0')")
        raw.close()
        with pytest.raises(BudgetExceeded):
            ledger.spend("b", qw.pure(0.75))
        ledger.spend("b", qw.pure(0.25))  # writes the row as it should be
        assert ledger.verify().holds
        with Ledger(url) as other:  # whoever wrote since is followed
            other.spend("b", qw.pure(0.25))
        with pytest.raises(BudgetExceeded):
            ledger.spend("b", qw.pure(0.001))
        assert ledger.verify().holds
