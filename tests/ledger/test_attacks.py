"""Each attack by somebody who may write the database and has no key, on both databases, seen by processes that are new.

Such a process has nothing in memory: no prices, no rows, no heads. It tries to spend, it verifies with what lies beside
the key, and it examines, which believes nobody. Only what the key signed, the mark, and what others keep can tell it.

Reference: theory/ledger.md section 1.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import attrs
import pytest
from sqlalchemy import Connection, create_engine, delete, insert, select, update
from tests.ledger.crew import together

import quiltwork as qw
from quiltwork.errors import QuiltworkError
from quiltwork.ledger import Checkpoint, Entry, Ledger
from quiltwork.ledger.proof.checker import Checker
from quiltwork.ledger.store import schema
from quiltwork.ledger.store.migrations.entries_stay import allow_changes

LOSS = qw.pure(0.0625)
Rows = dict[str, list[dict[str, Any]]]
Script = Callable[[Connection], Any]


@attrs.define
class Attacked:
    """A ledger with a budget of 1 of which half is spent, its key and people, and what somebody kept of it earlier."""

    url: str
    folder: Path
    tokens: dict[str, str | None]
    earlier: Rows
    kept: Checkpoint
    receipt: Any

    @property
    def key(self) -> str:
        return str(self.folder / "l.key")

    def script(self, script: Script) -> None:
        """As the owner of the tables, whose triggers stop nobody."""
        engine = create_engine(self.url)
        with engine.begin() as connection:
            allow_changes(connection)
            script(connection)
        engine.dispose()

    def rows(self) -> Rows:
        engine = create_engine(self.url)
        with engine.connect() as connection:
            found = {
                name: [dict(row) for row in connection.execute(select(table)).mappings()]
                for name, table in schema.metadata.tables.items()
            }
        engine.dispose()
        return found

    def put_back(self, rows: Rows) -> None:
        """The database as it was then."""

        def script(connection: Connection) -> None:
            for name, table in schema.metadata.tables.items():
                connection.execute(delete(table))
                if rows[name]:
                    connection.execute(insert(table), rows[name])

        self.script(script)

    def forget(self) -> None:
        """As somebody who may write beside the key, too."""
        shutil.rmtree(f"{self.key}.mark")

    def elsewhere(self, spends: int) -> None:
        """A host with a copy of the key, and a mark of its own, goes on from what the database says."""
        shutil.copy(self.key, self.folder / "copy.key")
        with Ledger(self.url, key=self.folder / "copy.key", token=self.tokens["nightly"]) as ledger:
            for _ in range(spends):
                ledger.spend("b", LOSS)


@pytest.fixture
def attacked(ledger_url: str, tmp_path: Path) -> Attacked:
    key = tmp_path / "l.key"
    with Ledger(ledger_url, key=key) as ledger:
        tokens: dict[str, str | None] = {"root": ledger.admit("root", "admin"), "nobody": None}
        with ledger.sign_in(str(tokens["root"])) as root:
            root.open("b", epsilon=1.0, protects="one person")
            tokens |= {name: root.admit(name, role) for name, role in PEOPLE.items()}
            root.revoke("gone")
            nightly = ledger.sign_in(str(tokens["nightly"]))
            receipt = [nightly.spend("b", LOSS) for _ in range(4)][-1]
            made = Attacked(ledger_url, tmp_path, tokens, {}, nightly.checkpoint(), receipt)
            made.earlier = made.rows()
            for _ in range(4):
                nightly.spend("b", LOSS)
    return made


PEOPLE = {"nightly": "spender", "vera": "viewer", "gone": "admin"}


def looks(ready: Callable[[], object], url: str, key: str, token: str | None, checkpoint: str) -> dict[str, Any]:
    """What a process finds that was started just now."""
    ready()
    found: dict[str, Any] = {}
    for name, act in {
        "spend": lambda ledger: ledger.spend("b", qw.pure(0.0625)),
        "spend_many": lambda ledger: ledger.spend_many([("b", qw.pure(0.0625))], together=True),
        "admit": lambda ledger: ledger.admit("mallory", "admin"),
    }.items():
        try:
            with Ledger(url, key=key, token=token) as ledger:
                act(ledger)
            found[name] = "granted"
        except QuiltworkError as error:
            found[name] = f"{type(error).__name__}: {error}"
    with Ledger.examine(url) as ledger:
        found["examined"] = ledger.verify().explain()
    try:
        with Ledger(url, key=key, token=token) as ledger:
            found["verified"] = ledger.verify().explain()
    except QuiltworkError as error:
        found["verified"] = f"{type(error).__name__}: {error}"
    try:
        with Ledger.examine(url) as ledger:
            found["since"] = ledger.verify(since=Checkpoint.read(checkpoint)).explain()
    except QuiltworkError as error:
        found["since"] = f"{type(error).__name__}: {error}"
    return found


def fresh(at: Attacked, who: str = "nightly") -> dict[str, Any]:
    """In a new process; what was granted there stands in the chain."""
    (found,) = together(looks, [(at.url, at.key, at.tokens[who], at.kept.to_text())])
    return dict(found)


def refused(found: dict[str, Any], *words: str) -> None:
    """Nothing was granted, and why is said."""
    for act in ("spend", "spend_many", "admit"):
        assert found[act] != "granted", found
        assert any(word in found[act] for word in words), found


def cut_to(at: Attacked, seq: int, signature: str, time: str) -> Script:
    """Everything after an entry goes; rows are replayed in public, and the head takes a signature that is at hand."""

    def script(connection: Connection) -> None:
        connection.execute(delete(schema.entries).where(schema.entries.c.seq > seq))
        checker = Checker()
        for row in connection.execute(select(schema.entries).order_by(schema.entries.c.seq)).all():
            checker.take(Entry(*row))
        standing = checker.book.accounts["b"].standing.text()
        connection.execute(update(schema.budgets).values(standing=standing))
        facts = checker.facts
        peaks = "".join(one.hex() for one in checker.tree.peaks)
        told = {"seq": seq, "time": time, "hash": facts.hash, "root": facts.root, "peaks": peaks}
        connection.execute(update(schema.head).values(**told, signature=signature, access=facts.access))

    return script


@pytest.mark.parametrize("kind", ["receipt", "checkpoint"])
@pytest.mark.parametrize("mark", ["kept", "deleted"])
def test_the_end_cut_off_under_another_signature(attacked: Attacked, kind: str, mark: str) -> None:
    of = attacked.receipt if kind == "receipt" else attacked.kept
    attacked.script(cut_to(attacked, of.seq, of.signature, of.time))
    if mark == "deleted":
        attacked.forget()
    found = fresh(attacked)
    refused(found, "not signed by the ledger's key", "was seen, now it ends with")
    assert "not signed by the ledger's key" in found["examined"]


@pytest.mark.parametrize("overtaken", [0, 9])
def test_an_old_copy_put_back(attacked: Attacked, overtaken: int) -> None:
    """Also where a host without the mark went on from it, past the number last seen."""
    last = attacked.rows()["ledger_head"][0]["seq"]
    attacked.put_back(attacked.earlier)
    attacked.elsewhere(overtaken)
    found = fresh(attacked)
    if overtaken:
        refused(found, "put back to an earlier state and written to since")
    else:
        refused(found, f"entry {last} was seen, now it ends with {last - 4}")
    assert "put back to an earlier state" in found["verified"]


def test_an_old_copy_whose_last_row_is_painted(attacked: Attacked) -> None:
    """The row of the number last seen says what it said: looking that one up would be fooled."""
    rows = attacked.rows()["ledger_entries"]
    attacked.put_back(attacked.earlier)
    attacked.elsewhere(9)
    painted = rows[-1]
    attacked.script(
        lambda connection: connection.execute(
            update(schema.entries).where(schema.entries.c.seq == painted["seq"]).values(**painted)
        )
    )
    found = fresh(attacked)
    refused(found, "earlier state", "not as it was written", "does not continue")
    assert "not as it was written" in found["examined"]


def test_a_checkpoint_kept_elsewhere_tells_without_the_mark(attacked: Attacked) -> None:
    """The mark was deleted, and the copy is older than what a witness keeps."""
    earlier = attacked.earlier
    with Ledger(attacked.url, key=attacked.key, token=attacked.tokens["nightly"]) as ledger:
        attacked.kept = ledger.checkpoint()
    attacked.put_back(earlier)
    attacked.forget()
    found = fresh(attacked)
    last = attacked.kept.seq
    assert (
        f"Entry {last} is not as it was written: it is missing: the checkpoint ends with entry {last}" in found["since"]
    )


@pytest.mark.parametrize(
    ("case", "who"),
    [("own row", "mallory"), ("role", "vera"), ("revoked", "gone"), ("emptied", "nobody"), ("all gone", "nobody")],
)
def test_rows_about_people(attacked: Attacked, tmp_path: Path, case: str, who: str) -> None:
    people = schema.principals
    if case == "own row":
        with Ledger(f"sqlite:///{tmp_path}/own.db") as own:
            attacked.tokens["mallory"] = own.admit("mallory", "admin")
        own_rows = attrs.evolve(attacked, url=f"sqlite:///{tmp_path}/own.db").rows()["ledger_principals"]
    script: Script = {
        "own row": lambda connection: connection.execute(insert(people), own_rows),
        "role": lambda connection: connection.execute(
            update(people).where(people.c.name == "vera").values(role="admin")
        ),
        "revoked": lambda connection: connection.execute(update(people).values(revoked=0)),
        "emptied": lambda connection: connection.execute(delete(people).where(people.c.name != "gone")),
        "all gone": lambda connection: connection.execute(delete(people)),
    }[case]
    attacked.script(script)
    found = fresh(attacked, who)
    refused(found, "not those that its head is signed for", "asks for a token")
    assert "ledger_principals" in found["examined"]


def test_balances_of_an_old_copy(attacked: Attacked) -> None:
    """A spend believes the row of its budget until somebody verifies: then it is named, with the entry."""
    last = attacked.rows()["ledger_head"][0]["seq"]
    old = attacked.earlier["ledger_budgets"][0]
    attacked.script(lambda connection: connection.execute(update(schema.budgets).values(standing=old["standing"])))
    (found,) = together(examines, [(attacked.url,)])
    assert "the row of budget 'b' says something else" in found
    assert f"Entry {last} " in found


def examines(ready: Callable[[], object], url: str) -> str:
    ready()
    with Ledger.examine(url) as ledger:
        return ledger.verify().explain()


def test_an_entry_that_was_edited(attacked: Attacked) -> None:
    seq = attacked.receipt.seq
    attacked.script(
        lambda connection: connection.execute(
            update(schema.entries).where(schema.entries.c.seq == seq).values(principal="root")
        )
    )
    assert f"Entry {seq} is not as it was written" in fresh(attacked)["examined"]
