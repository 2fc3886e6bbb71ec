"""The first schema: entries that can only be added, and the rows that follow from them."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from quiltwork.errors import Unsupported
from quiltwork.ledger.store.migrations.entries_stay import forbid_changes

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

NUMBER = sa.BigInteger().with_variant(sa.Integer, "sqlite")


def upgrade() -> None:
    """Create every table, and the triggers that keep entries as they were written."""
    op.create_table(
        "ledger_entries",
        _key_number("seq"),
        *_texts("time", "kind"),
        *_texts("budget", "principal", "key", nullable=True),
        *_texts("body", "previous", "hash"),
        sa.PrimaryKeyConstraint("seq", name="pk_ledger_entries"),
        sa.UniqueConstraint("budget", "key", name="uq_ledger_entries_key"),
    )
    op.create_index("ix_ledger_entries_budget", "ledger_entries", ["budget", "seq"])
    op.create_table(
        "ledger_head",
        sa.Column("id", sa.Integer, autoincrement=False, nullable=False),
        sa.Column("seq", NUMBER, nullable=False),
        *_texts("time", "hash"),
        *_texts("signature", "public_key", nullable=True),
        sa.Column("guarded", sa.Integer, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_ledger_head"),
    )
    op.create_table(
        "ledger_budgets",
        *_texts("name"),
        sa.Column("opened", NUMBER, nullable=False),
        *_texts("terms", "standing"),
        sa.PrimaryKeyConstraint("name", name="pk_ledger_budgets"),
    )
    op.create_table(
        "ledger_tallies",
        *_texts("budget"),
        _key_number("period"),
        *_texts("name", "amount"),
        sa.PrimaryKeyConstraint("budget", "period", "name", name="pk_ledger_tallies"),
    )
    op.create_table(
        "ledger_reservations",
        _key_number("seq"),
        *_texts("budget", "status", "until", "charge"),
        sa.PrimaryKeyConstraint("seq", name="pk_ledger_reservations"),
    )
    op.create_index("ix_ledger_reservations_waiting", "ledger_reservations", ["budget", "status", "until"])
    op.create_table(
        "ledger_principals",
        *_texts("name", "role", "identity", "stored"),
        *_texts("expires", nullable=True),
        sa.Column("revoked", sa.Integer, nullable=False),
        sa.PrimaryKeyConstraint("name", name="pk_ledger_principals"),
        sa.UniqueConstraint("identity", name="uq_ledger_principals_identity"),
    )
    forbid_changes(op.get_bind())


def _key_number(name: str) -> sa.Column[int]:
    return sa.Column(name, NUMBER, autoincrement=False, nullable=False)


def _texts(*names: str, nullable: bool = False) -> list[sa.Column[str]]:
    return [sa.Column(name, sa.Text, nullable=nullable) for name in names]


def downgrade() -> None:
    """Refused: entries are never thrown away."""
    raise Unsupported("going back to no schema", "the entries would be lost", "export the ledger, then drop its tables")
