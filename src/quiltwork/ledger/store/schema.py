"""The tables of a ledger. `entries` is the truth; every other row can be replayed from it.

Times are ISO 8601 texts in UTC with microseconds and their offset, so that they sort as they follow. Amounts are exact
fractions as text. Column names and meanings change only by a migration.
"""

from __future__ import annotations

from sqlalchemy import BigInteger, Column, Index, Integer, MetaData, Table, Text, UniqueConstraint

__all__ = [
    "HEAD",
    "OLDER",
    "VERSION_TABLE",
    "budgets",
    "entries",
    "head",
    "metadata",
    "principals",
    "reservations",
    "tallies",
]

VERSION_TABLE = "ledger_version"
OLDER: tuple[str, ...] = ()  # revisions that `upgrade` can bring to the newest
HEAD = "0001"  # the revision of migrations/versions that this code reads and writes

metadata = MetaData(
    naming_convention={
        "pk": "pk_%(table_name)s",
        "uq": "uq_%(table_name)s_%(column_0_name)s",
        "ix": "ix_%(column_0_label)s",
    }
)
Number = BigInteger().with_variant(Integer, "sqlite")  # SQLite counts rows by INTEGER PRIMARY KEY only

entries = Table(
    "ledger_entries",
    metadata,
    Column("seq", Number, primary_key=True, autoincrement=False),
    Column("time", Text, nullable=False),
    Column("kind", Text, nullable=False),
    Column("budget", Text),
    Column("principal", Text),
    Column("key", Text),
    Column("body", Text, nullable=False),
    Column("previous", Text, nullable=False),
    Column("hash", Text, nullable=False),
    UniqueConstraint("budget", "key", name="uq_ledger_entries_key"),
    Index("ix_ledger_entries_budget", "budget", "seq"),
)
head = Table(
    "ledger_head",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=False),
    Column("seq", Number, nullable=False),
    Column("time", Text, nullable=False),
    Column("hash", Text, nullable=False),
    Column("signature", Text),
    Column("public_key", Text),
    Column("guarded", Integer, nullable=False),
)
budgets = Table(
    "ledger_budgets",
    metadata,
    Column("name", Text, primary_key=True),
    Column("opened", Number, nullable=False),
    Column("terms", Text, nullable=False),
    Column("standing", Text, nullable=False),
)
tallies = Table(
    "ledger_tallies",
    metadata,
    Column("budget", Text, primary_key=True),
    Column("period", Number, primary_key=True, autoincrement=False),
    Column("name", Text, primary_key=True),
    Column("amount", Text, nullable=False),
)
reservations = Table(
    "ledger_reservations",
    metadata,
    Column("seq", Number, primary_key=True, autoincrement=False),
    Column("budget", Text, nullable=False),
    Column("status", Text, nullable=False),
    Column("until", Text, nullable=False),
    Column("charge", Text, nullable=False),
    Index("ix_ledger_reservations_waiting", "budget", "status", "until"),
)
principals = Table(
    "ledger_principals",
    metadata,
    Column("name", Text, primary_key=True),
    Column("role", Text, nullable=False),
    Column("identity", Text, nullable=False, unique=True),
    Column("stored", Text, nullable=False),
    Column("expires", Text),
    Column("revoked", Integer, nullable=False),
)
