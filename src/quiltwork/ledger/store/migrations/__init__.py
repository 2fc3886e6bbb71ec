"""Versions of the schema, applied by Alembic; `upgrade` brings a database to the newest one."""

from __future__ import annotations

from pathlib import Path

from sqlalchemy import Connection

from quiltwork.errors import MissingExtra
from quiltwork.ledger.store.schema import HEAD

__all__ = ["upgrade"]


def upgrade(connection: Connection, revision: str = HEAD) -> None:
    """Run every migration that is missing, inside the transaction of this connection."""
    try:
        from alembic import command
        from alembic.config import Config
    except ModuleNotFoundError:
        raise MissingExtra("alembic", "ledger") from None
    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent).replace("%", "%%"))
    config.set_main_option("path_separator", "os")
    config.attributes["connection"] = connection
    command.upgrade(config, revision)
