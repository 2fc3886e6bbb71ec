"""The tables of a ledger. `entries` is the truth; every other row but those of `sessions` and
`refusals` can be replayed from it.

Times are ISO 8601 texts in UTC with microseconds and their offset, so that they sort as they follow. Amounts are exact
fractions as text. Column names and meanings change only by a migration.
"""

from __future__ import annotations

from sqlalchemy import BigInteger, Column, Float, Index, Integer, MetaData, Table, Text, UniqueConstraint

VERSION_TABLE = "ledger_version"
OLDER: tuple[str, ...] = ("0001", "0002")  # revisions that `upgrade` can bring to the newest
UNSIGNED_HEAD = "0001"  # of version 0.1: its head is signed anew by an upgrade
HEAD = "0003"  # the revision of migrations/versions that this code reads and writes

metadata = MetaData(
    naming_convention={
        "pk": "pk_%(table_name)s",
        "uq": "uq_%(table_name)s_%(column_0_name)s",
        "ix": "ix_%(column_0_label)s",
    }
)
Number = BigInteger().with_variant(Integer, "sqlite")  # SQLite counts rows by INTEGER PRIMARY KEY only


def _number(name: str, *, key: bool = False) -> Column[int]:
    return Column(name, Number, primary_key=True, autoincrement=False) if key else Column(name, Number, nullable=False)


def _texts(*names: str, key: bool = False, nullable: bool = False) -> list[Column[str]]:
    return [Column(name, Text, primary_key=key, nullable=nullable) for name in names]


entries = Table(
    "ledger_entries",
    metadata,
    _number("seq", key=True),
    *_texts("time", "kind"),
    *_texts("budget", "principal", "key", nullable=True),
    *_texts("body", "previous", "hash"),
    UniqueConstraint("budget", "key", name="uq_ledger_entries_key"),
    Index("ix_ledger_entries_budget", "budget", "seq"),
)
head = Table(
    "ledger_head",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=False),
    _number("seq"),
    *_texts("time", "hash"),
    *_texts("signature", "public_key", nullable=True),
    *_texts("root", "peaks", "access"),
)
tiles = Table(
    "ledger_tiles",
    metadata,
    Column("level", Integer, primary_key=True, autoincrement=False),
    _number("place", key=True),
    *_texts("root"),
)
budgets = Table("ledger_budgets", metadata, *_texts("name", key=True), _number("opened"), *_texts("terms", "standing"))
tallies = Table(
    "ledger_tallies",
    metadata,
    *_texts("budget", key=True),
    _number("period", key=True),
    *_texts("name", key=True),
    *_texts("amount"),
)
reservations = Table(
    "ledger_reservations",
    metadata,
    _number("seq", key=True),
    *_texts("budget", "status", "until", "charge"),
    Index("ix_ledger_reservations_waiting", "budget", "status", "until"),
)
principals = Table(
    "ledger_principals",
    metadata,
    *_texts("name", key=True),
    *_texts("role"),
    Column("identity", Text, nullable=False, unique=True),
    *_texts("stored"),
    *_texts("expires", nullable=True),
    Column("revoked", Integer, nullable=False),
)
sessions = Table(  # of the service: those that signed out, until they would have ended anyway
    "ledger_sessions", metadata, *_texts("id", key=True), Column("until", Float, nullable=False)
)
refusals = Table(  # spends that were refused for their cost, the newest of them: nothing follows from these
    "ledger_refusals",
    metadata,
    _number("number", key=True),
    *_texts("time", "budget"),
    *_texts("principal", nullable=True),
    *_texts("what"),
    _number("times"),
    *_texts("requested", "remaining"),
)
