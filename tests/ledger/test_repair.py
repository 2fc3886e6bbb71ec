"""After somebody changed the database: what can be put right is, what cannot is acknowledged, and it stays strict."""

from __future__ import annotations

import io
import sqlite3

import attrs
import pytest

import quiltwork as qw
from quiltwork.errors import AccessDenied, BrokenChain, InvalidParameter
from quiltwork.ledger import Ledger
from quiltwork.ledger.chain.entries import Entry

LOSS = qw.pure(0.125)


@attrs.frozen
class Kept:
    """A ledger of a few entries, what its writer kept, and the file to be changed."""

    url: str
    receipts: list
    token: str | None = None

    def sql(self, *statements: str) -> None:
        with sqlite3.connect(self.url.removeprefix("sqlite:///")) as raw:
            for name in ("update", "delete"):
                raw.execute(f"DROP TRIGGER IF EXISTS ledger_entries_no_{name}")
            for statement in statements:
                raw.execute(statement)
        raw.close()

    def verified(self, **options):
        with Ledger(self.url, token=self.token) as ledger:
            return ledger.verify(**options)

    def spent(self, name: str = "a") -> float:
        with Ledger(self.url, token=self.token) as ledger:
            return float(ledger.balance(name).spent.upper)


@pytest.fixture
def kept(tmp_path):
    url = f"sqlite:///{tmp_path}/budgets.db"
    with Ledger(url) as ledger:
        ledger.open("a", epsilon=1.0, protects="one person")  # entry 2
        ledger.open("b", epsilon=1.0, protects="one person")  # entry 3
        receipts = [ledger.spend("a", LOSS, note=f"{turn}", key=f"{turn}") for turn in range(4)]  # entries 4 to 7
        assert ledger.verify().holds  # a book is kept beside the key
    return Kept(url, receipts)


def test_rows_are_written_anew_from_the_chain(kept):
    kept.sql("DELETE FROM ledger_budgets WHERE name = 'b'", "UPDATE ledger_budgets SET standing = '{}'")
    assert not kept.verified().holds
    receipt = Ledger.repair(kept.url, note="a row was edited")
    receipt.check()
    assert receipt.kind == "repaired"
    assert kept.verified().holds
    assert kept.verified(full=True).acknowledged == ()
    assert kept.spent() == 0.5
    with pytest.raises(sqlite3.IntegrityError), sqlite3.connect(kept.url.removeprefix("sqlite:///")) as raw:
        raw.execute("DELETE FROM ledger_entries")  # it is forbidden again


@pytest.mark.parametrize(
    "change",
    ["DELETE FROM ledger_entries WHERE seq IN (5, 6)", "UPDATE ledger_entries SET body = '{}' WHERE seq IN (5, 6)"],
)
def test_entries_come_back_byte_for_byte(kept, change):
    before = kept.verified().explain()
    kept.sql(change)
    assert kept.verified().first_bad == 5
    with pytest.raises(BrokenChain, match="entry 5"):
        Ledger.repair(kept.url)
    with pytest.raises(BrokenChain):
        Ledger.repair(kept.url, kept=kept.receipts[:2])  # entry 6 is not among them
    Ledger.repair(kept.url, kept=kept.receipts)
    found = kept.verified(receipts=kept.receipts)
    assert found.explain() == before.replace("7 entries", "8 entries")
    assert kept.spent() == 0.5


def test_what_was_kept_must_be_of_this_chain(kept):
    kept.sql("DELETE FROM ledger_entries WHERE seq = 5")
    entry = kept.receipts[1].entry
    fields = {name: getattr(entry, name) for name in ("previous", "seq", "time", "kind", "budget", "principal", "key")}
    other = Entry.made(**fields, body={**entry.content, "cost": ["0"]})
    with pytest.raises(BrokenChain):
        Ledger.repair(kept.url, kept=[other])
    with pytest.raises(InvalidParameter):
        Ledger.repair(kept.url, kept=[attrs.evolve(entry, note="x") if hasattr(entry, "note") else "x"])
    assert kept.verified().first_bad == 5


@pytest.mark.parametrize(
    "change", ["DELETE FROM ledger_entries WHERE seq = 5", "UPDATE ledger_entries SET body = 'x' WHERE seq = 5"]
)
def test_a_lost_entry_is_acknowledged_and_every_budget_ends(kept, change):
    kept.sql(change)
    with pytest.raises(InvalidParameter, match="note"):
        Ledger.repair(kept.url, acknowledge=[5])
    Ledger.repair(kept.url, acknowledge=[5], note="disk")
    for options in ({}, {"full": True}, {"new": True}):
        found = kept.verified(**options)
        assert found.holds, found
        assert found.acknowledged == ((5, 5),)
        assert "acknowledged: 5" in found.explain()
        assert found.to_json()["acknowledged"] == [[5, 5]]
    with Ledger(kept.url) as ledger:
        assert {one.name: one.state for one in ledger.budgets()} == {"a": "closed", "b": "closed"}
        ledger.open("c", epsilon=1.0, protects="one person")
        ledger.spend("c", LOSS)
        assert ledger.verify().holds
        with pytest.raises(BrokenChain):
            ledger.receipt(5)


def test_what_a_lost_entry_spent_can_be_said(kept):
    kept.sql("DELETE FROM ledger_entries WHERE seq = 5")
    Ledger.repair(kept.url, acknowledge=[(5, 5)], charges={"a": qw.pure(0.25)}, note="it was at most that")
    assert kept.verified(full=True).holds
    assert kept.spent() == 0.375 + 0.25
    with Ledger(kept.url) as ledger:
        ledger.spend("a", LOSS)
        ledger.spend("b", LOSS)
        assert ledger.verify().holds


@pytest.mark.parametrize("delta", [None, 1e-6])
def test_an_entry_beyond_the_limit_counts(kept, delta):
    """Somebody edits a balance, honest people spend on top of it: the chain is whole, and the limit is passed."""
    with Ledger(kept.url) as ledger:
        ledger.open("c", epsilon=1.0, delta=delta, protects="one person")
        for _ in range(4):
            ledger.spend("c", LOSS)
        with sqlite3.connect(kept.url.removeprefix("sqlite:///")) as raw:
            half = raw.execute("SELECT standing FROM ledger_budgets WHERE name = 'c'").fetchone()[0]
        for _ in range(4):
            ledger.spend("c", LOSS)  # up to the limit of 1
        assert ledger.would_exceed("c", LOSS)
    kept.sql(f"UPDATE ledger_budgets SET standing = '{half}' WHERE name = 'c'")
    with Ledger(kept.url) as ledger:
        over = ledger.spend("c", LOSS)
    assert kept.verified().first_bad == over.seq
    with pytest.raises(BrokenChain, match="passes the limit"):
        Ledger.repair(kept.url)
    Ledger.repair(kept.url, acknowledge=[over.seq], note="a balance was edited")
    assert kept.verified(full=True).holds
    assert kept.spent("c") >= 1.0 + (0.125 if delta is None else 1e-9)  # what was promised is not what was spent
    with Ledger(kept.url) as ledger:
        assert ledger.would_exceed("c", qw.pure(1e-9))
        assert "1.125 of 1" in ledger.balance("c").explain() or delta is not None
        ledger.balance("c").to_json()
        ledger.spend("b", LOSS)  # the content is known, so that nothing else had to end


def test_a_chain_with_a_break_is_exported_and_imported(kept, tmp_path):
    kept.sql("DELETE FROM ledger_entries WHERE seq = 5")
    Ledger.repair(kept.url, acknowledge=[5], charges={}, note="it spent nothing")
    stream = io.StringIO()
    with Ledger(kept.url) as ledger:
        ledger.export(stream)
        hashes = [entry.hash for entry in ledger.history()]
    lines = stream.getvalue().splitlines()
    key = kept.url.removeprefix("sqlite:///") + ".key"
    with Ledger.restore(f"sqlite:///{tmp_path}/copy.db", lines, key=key) as copy:
        assert copy.verify(full=True).acknowledged == ((5, 5),)
        assert [entry.hash for entry in copy.history()] == hashes
    with pytest.raises(BrokenChain):  # the header alone lets nothing pass
        Ledger.restore(f"sqlite:///{tmp_path}/other.db", [lines[0], *lines[1:4], *lines[5:]], key=key)


def test_nobody_acknowledges_without_the_key(kept, tmp_path):
    """A forged row of that kind, beyond the end or in the place of another, excuses nothing."""
    kept.sql("DELETE FROM ledger_entries WHERE seq = 5")
    with Ledger(kept.url) as ledger:
        entries = {entry.seq: entry for entry in ledger.history()}
    for seq, previous in ((8, entries[7].hash), (7, entries[6].hash)):
        forged = Entry.made(
            previous=previous, seq=seq, time=entries[7].time, kind="repaired", budget=None, principal=None, key=None,
            body={"note": "x", "ranges": [[5, 5]], "lost": [5], "charges": [], "closed": []},
        )  # fmt: skip
        cells = ", ".join("NULL" if one is None else f"'{one}'" for one in attrs.astuple(forged)[1:])
        kept.sql(f"DELETE FROM ledger_entries WHERE seq = {seq}", f"INSERT INTO ledger_entries VALUES ({seq}, {cells})")
        assert not kept.verified().holds
        kept.sql(f"DELETE FROM ledger_entries WHERE seq = {seq}")
        if seq == 7:
            cells = ", ".join("NULL" if one is None else f"'{one}'" for one in attrs.astuple(entries[7])[1:])
            kept.sql(f"INSERT INTO ledger_entries VALUES (7, {cells})")
    (tmp_path / "budgets.db.key").rename(tmp_path / "gone.key")
    with pytest.raises(InvalidParameter, match="key"):
        Ledger.repair(kept.url, acknowledge=[5], note="no key")


def test_only_an_admin_repairs_where_there_are_principals(kept):
    with Ledger(kept.url) as ledger:
        root = ledger.admit("root", "admin")
    with Ledger(kept.url, token=root) as ledger:
        passing = ledger.admit("passing", "spender")
    kept.sql("UPDATE ledger_principals SET role = 'admin'")
    for token in (None, passing, "qw_nonsense"):
        with pytest.raises(AccessDenied):
            Ledger.repair(kept.url, token=token)
    receipt = Ledger.repair(kept.url, token=root)
    assert receipt.principal == "root"
    with Ledger(kept.url, token=passing) as ledger:
        assert ledger.me().role == "spender"
    assert attrs.evolve(kept, token=root).verified().holds


def test_a_chain_that_was_hashed_anew_is_not_taken(kept):
    """Hashes that were overwritten are gone: nothing that is found leads to the root which the head signs."""
    with Ledger(kept.url) as ledger:
        entries = list(ledger.history())
    previous = entries[3].hash
    for entry in entries[4:]:
        made = Entry.made(
            previous=previous, seq=entry.seq, time=entry.time, kind=entry.kind, budget=entry.budget, principal=None,
            key=entry.key, body={**entry.content, "note": "changed"},
        )  # fmt: skip
        kept.sql(
            f"UPDATE ledger_entries SET body = '{made.body}', previous = '{previous}', hash = '{made.hash}' "
            f"WHERE seq = {made.seq}"
        )
        previous = made.hash
    with pytest.raises(BrokenChain):
        Ledger.repair(kept.url, acknowledge=[(5, 7)], note="x")
    with pytest.raises(BrokenChain):
        Ledger.repair(kept.url)
    Ledger.repair(kept.url, kept=kept.receipts)  # what was kept leads there
    assert kept.verified(full=True).holds


def test_a_book_from_before_the_loss_is_not_believed(kept):
    kept.sql("UPDATE ledger_entries SET body = '{}' WHERE seq = 5")
    Ledger.repair(kept.url, acknowledge=[5], charges={}, note="it spent nothing")
    assert kept.spent() == 0.375
    assert kept.verified().holds
    assert kept.verified(new=True).holds
    assert kept.verified(full=True).holds


@pytest.mark.parametrize("given", [[1], [0], [(6, 5)], [5, 5], [(4, 6), 5], "5", [(1, 2, 3)]])
def test_numbers_that_are_none(kept, given):
    with pytest.raises(InvalidParameter):
        Ledger.repair(kept.url, acknowledge=given, note="x")


def test_what_was_acknowledged_and_is_there_must_stay(kept):
    """Who acknowledges an entry that passed the limit lets nobody erase it, nor what it cost."""
    with Ledger(kept.url) as ledger:
        ledger.open("c", epsilon=0.25, protects="one person")
        over = [ledger.spend("c", LOSS) for _ in range(2)][-1]
    file = kept.url.removeprefix("sqlite:///")
    with sqlite3.connect(file) as raw:
        (full,) = raw.execute("SELECT standing FROM ledger_budgets WHERE name = 'c'").fetchone()
    kept.sql(f"UPDATE ledger_budgets SET standing = '{full.replace('1/4', '1/8')}' WHERE name = 'c'")
    with Ledger(kept.url) as ledger:
        over = ledger.spend("c", LOSS)
    Ledger.repair(kept.url, acknowledge=[over.seq], note="a balance was edited")
    assert kept.verified().holds
    with sqlite3.connect(file) as raw:
        (standing,) = raw.execute("SELECT standing FROM ledger_budgets WHERE name = 'c'").fetchone()
    stub = "time = '', kind = 'lost', budget = NULL, principal = NULL, key = NULL, body = '{}'"
    less = (
        standing.replace("3/8", "1/4")
        .replace('"entries":4', '"entries":3')
        .replace(f'"last":{over.seq}', f'"last":{over.seq - 1}')
    )
    kept.sql(
        f"UPDATE ledger_entries SET {stub} WHERE seq = {over.seq}",
        f"UPDATE ledger_budgets SET standing = '{less}' WHERE name = 'c'",
    )
    for options in ({}, {"full": True}):
        assert kept.verified(**options).first_bad == over.seq
    Ledger.repair(kept.url, kept=[over])
    assert kept.verified(full=True).holds
    assert kept.spent("c") == 0.375
