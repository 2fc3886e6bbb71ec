"""Spends that were refused for their cost: kept beside the chain, for people to look at."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from quiltwork.errors import Unsupported

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None

NUMBER = sa.BigInteger().with_variant(sa.Integer, "sqlite")


def upgrade() -> None:
    """A table more; nothing that is there changes."""
    op.create_table(
        "ledger_refusals",
        sa.Column("number", NUMBER, autoincrement=False, nullable=False),
        *(sa.Column(name, sa.Text, nullable=False) for name in ("time", "budget")),
        sa.Column("principal", sa.Text, nullable=True),
        sa.Column("what", sa.Text, nullable=False),
        sa.Column("times", NUMBER, nullable=False),
        *(sa.Column(name, sa.Text, nullable=False) for name in ("requested", "remaining")),
        sa.PrimaryKeyConstraint("number", name="pk_ledger_refusals"),
    )


def downgrade() -> None:
    """Refused, as every way back: a release that does not know a table does not keep it."""
    raise Unsupported("going back to an older form", "what was refused would be lost", "export the ledger")
