"""Somebody who can write the tables of a ledger: changes are made, looked at by verification, and undone.

SQLite: a copy in memory, once as it is and once in tables without types, keys or constraints, where everything can be
stored. PostgreSQL: the triggers are switched off by the owner of the tables, inside a transaction that is rolled back.
"""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterable, Iterator
from typing import Any

from sqlalchemy import Connection, create_engine, text
from sqlalchemy.pool import StaticPool

from quiltwork.ledger import Receipt, Verification
from quiltwork.ledger.chain.entries import GENESIS, digest
from quiltwork.ledger.chain.keys import SigningKey
from quiltwork.ledger.chain.statements import HEAD, Facts
from quiltwork.ledger.chain.tree import Tree
from quiltwork.ledger.proof.elsewhere import Elsewhere
from quiltwork.ledger.proof.verify import verified
from quiltwork.ledger.store import schema

APART = ("ledger_tiles", "ledger_sessions", "ledger_refusals")  # few entries fill no tile, from others nothing follows
TABLES = tuple(name for name in schema.metadata.tables if name not in APART)
COLUMNS = {name: tuple(column.name for column in table.columns) for name, table in schema.metadata.tables.items()}
FIELDS = COLUMNS["ledger_entries"]
Row = dict[str, Any]


class Forger:
    """One connection on which everything is allowed; `undone` makes and takes back."""

    sqlite: bool
    connection: Connection

    def run(self, statement: str, **values: Any) -> None:
        self.connection.execute(text(statement), values)

    def rows(self, table: str) -> list[Row]:
        """Every row, with its place."""
        order = {"ledger_entries": "seq"}.get(table, self.place)
        found = self.connection.execute(text(f"SELECT {self.place} AS place, * FROM {table} ORDER BY {order}"))
        return [dict(row) for row in found.mappings()]

    place = "rowid"
    found = "rowid = :place"

    @contextlib.contextmanager
    def undone(self) -> Iterator[None]:
        raise NotImplementedError

    def set(self, table: str, place: Any, column: str, value: Any) -> Any:
        """What the cell holds then: a type may turn a value into another."""
        change = f"UPDATE {table} SET {column} = :value WHERE {self.found} RETURNING {column}"
        return self.connection.execute(text(change), {"value": value, "place": place}).one()[0]

    def delete(self, table: str, place: Any) -> None:
        self.run(f"DELETE FROM {table} WHERE {self.found}", place=place)

    def insert(self, table: str, row: Row) -> None:
        names = COLUMNS[table]
        given = ", ".join(f":{name}" for name in names)
        self.run(f"INSERT INTO {table} ({', '.join(names)}) VALUES ({given})", **{name: row[name] for name in names})

    def rewrite(self, entries: Iterable[Row]) -> None:
        """Put these entries in the place of all."""
        self.run("DELETE FROM ledger_entries")
        given = ", ".join(f":{name}" for name in FIELDS)
        rows = [{name: row[name] for name in FIELDS} for row in entries]
        if rows:
            self.connection.execute(text(f"INSERT INTO ledger_entries ({', '.join(FIELDS)}) VALUES ({given})"), rows)

    def entries(self) -> list[Row]:
        return [{name: row[name] for name in FIELDS} for row in self.rows("ledger_entries")]

    def head(self, **values: Any) -> None:
        """Change the head of the chain."""
        for name, value in values.items():
            self.run(f"UPDATE ledger_head SET {name} = :value", value=value)

    def verified(self, receipts: tuple[Receipt, ...] = ()) -> Verification:
        try:
            return verified(self.connection, None, Elsewhere(receipts=receipts))
        finally:  # a connection that reads in parts cannot change rows
            self.connection.execution_options(yield_per=None, stream_results=False)


class SqliteForger(Forger):
    """A copy of a file in memory; `loose` tables have no types, keys or constraints."""

    sqlite = True

    def __init__(self, file: str, loose: bool = False) -> None:
        self.raw = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
        with contextlib.closing(sqlite3.connect(file)) as source:
            source.backup(self.raw)
        for (name,) in self.raw.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
            self.raw.execute(f"DROP TRIGGER {name}")
        if loose:
            for table, columns in COLUMNS.items():
                self.raw.execute(f"ALTER TABLE {table} RENAME TO kept")
                self.raw.execute(f"CREATE TABLE {table} ({', '.join(columns)})")
                self.raw.execute(f"INSERT INTO {table} SELECT * FROM kept")
                self.raw.execute("DROP TABLE kept")
        self.raw.text_factory = lambda raw: raw.decode(
            "utf-8", "surrogateescape"
        )  # as the ledger's connections have it
        engine = create_engine("sqlite://", creator=lambda: self.raw, poolclass=StaticPool)
        self.connection = engine.connect()

    @contextlib.contextmanager
    def undone(self) -> Iterator[None]:
        self.raw.execute("BEGIN")
        try:
            yield
        finally:
            self.raw.execute("ROLLBACK")

    def close(self) -> None:
        self.connection.close()
        self.raw.close()


class PostgresForger(Forger):
    """The owner of the tables of a PostgreSQL ledger."""

    sqlite = False
    place = "ctid"
    found = "ctid = CAST(:place AS tid)"

    def __init__(self, url: str) -> None:
        self.engine = create_engine(url)
        self.connection = self.engine.connect()

    @contextlib.contextmanager
    def undone(self) -> Iterator[None]:
        self.run("ALTER TABLE ledger_entries DISABLE TRIGGER ALL")
        try:
            yield
        finally:
            self.connection.rollback()

    def close(self) -> None:
        self.connection.close()
        self.engine.dispose()


def sealed(row: Row) -> Row:
    """The row with the hash of its content; as it is when it cannot be hashed."""
    try:
        return {**row, "hash": digest(**{name: row[name] for name in FIELDS if name != "hash"})}
    except ValueError:
        return row


def chained(entries: Iterable[Row], start: int = 1, previous: str = GENESIS) -> list[Row]:
    """Numbers, links and hashes made anew."""
    made = []
    for seq, row in enumerate(entries, start=start):
        row = sealed({**row, "seq": seq, "previous": previous})
        previous = row["hash"]
        made.append(row)
    return made


def forged(forger: Forger, entries: list[Row], key: SigningKey | None = None, identity: str = "") -> None:
    """Put a chain and a head that fits it; signed when there is a key, else the old signature stays."""
    forger.rewrite(entries)
    put_head(forger, entries, identity)
    if key is not None:
        signed(forger, entries, key, identity)


def put_head(forger: Forger, entries: list[Row], identity: str = "") -> Facts:
    """Everything of the head that can be computed without the key: number, time, hash and tree, and its tiles."""
    last, tree = entries[-1], Tree()
    for row in entries:
        with contextlib.suppress(TypeError, ValueError):  # a hash that is none has no leaf
            tree.append(bytes.fromhex(row["hash"]))
    peaks = "".join(peak.hex() for peak in tree.peaks)
    forger.head(seq=last["seq"], hash=last["hash"], time=last["time"], root=tree.root.hex(), peaks=peaks)
    forger.run("DELETE FROM ledger_tiles")
    for level, place, root in tree.tiles:
        forger.insert("ledger_tiles", {"level": level, "place": place, "root": root.hex()})
    access = forger.rows("ledger_head")[0]["access"]
    return Facts(identity, last["seq"], last["time"], last["hash"], tree.root.hex(), access)


def signed(forger: Forger, entries: list[Row], key: SigningKey, identity: str) -> None:
    """Sign the head of a chain."""
    facts = put_head(forger, entries, identity)
    signature = None
    with contextlib.suppress(TypeError):  # cells of other types make no statement
        signature = key.signature(facts.message(HEAD))
    forger.head(signature=signature, public_key=key.public)
