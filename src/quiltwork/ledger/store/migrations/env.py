"""How Alembic reaches the database: by the connection, and inside the transaction, that `upgrade` was given."""

from __future__ import annotations

from alembic import context

from quiltwork.ledger.store.schema import VERSION_TABLE, metadata

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=metadata,
    version_table=VERSION_TABLE,
    transactional_ddl=True,
)
context.run_migrations()
