"""The head as a statement of its own kind: a tree over the entries, a digest of who may use it; sessions that ended."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from quiltwork.errors import Unsupported

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

NUMBER = sa.BigInteger().with_variant(sa.Integer, "sqlite")


def upgrade() -> None:
    """A head without a row: whoever upgrades a ledger replays its chain, and writes a head that is signed anew."""
    op.drop_table("ledger_head")
    op.create_table(
        "ledger_head",
        sa.Column("id", sa.Integer, autoincrement=False, nullable=False),
        sa.Column("seq", NUMBER, nullable=False),
        *_texts("time", "hash"),
        *_texts("signature", "public_key", nullable=True),
        *_texts("root", "peaks", "access"),
        sa.PrimaryKeyConstraint("id", name="pk_ledger_head"),
    )
    op.create_table(
        "ledger_tiles",
        sa.Column("level", sa.Integer, autoincrement=False, nullable=False),
        sa.Column("place", NUMBER, autoincrement=False, nullable=False),
        *_texts("root"),
        sa.PrimaryKeyConstraint("level", "place", name="pk_ledger_tiles"),
    )
    op.create_table(
        "ledger_sessions",
        *_texts("id"),
        sa.Column("until", sa.Float, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_ledger_sessions"),
    )


def _texts(*names: str, nullable: bool = False) -> list[sa.Column[str]]:
    return [sa.Column(name, sa.Text, nullable=nullable) for name in names]


def downgrade() -> None:
    """Refused: an older head could be the end of a shortened chain."""
    raise Unsupported("going back to an older head", "what it vouches for would be lost", "export the ledger")
