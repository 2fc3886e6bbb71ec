"""Where a ledger is kept: the URL, checked, and what each database needs to be told when it is reached."""

from __future__ import annotations

import math
import os
from pathlib import Path
from typing import Any

from sqlalchemy import URL, make_url
from sqlalchemy.exc import ArgumentError

from quiltwork import checks
from quiltwork.errors import InvalidParameter
from quiltwork.ledger.store.sqlite import WatchedConnection

ALLOWED = "sqlite:///FILE or postgresql+psycopg://USER@HOST/DATABASE"
OPTIONS = {
    *("host", "hostaddr", "port", "service", "passfile", "sslmode", "sslrootcert", "sslcert", "sslkey", "sslcrl"),
    *("channel_binding", "gssencmode", "krbsrvname", "target_session_attrs", "load_balance_hosts"),
}
IDLE = 120  # seconds after which PostgreSQL ends a transaction whose client fell silent, so that its lock is not kept


def url_of(place: str) -> str:
    """A bare path means a SQLite file."""
    return place if "://" in place else f"sqlite:///{place}"


def address(given: Any) -> URL:
    """The URL of a SQLite file or a PostgreSQL database."""
    text = checks.text("url", given, ALLOWED)
    try:
        url = make_url(text)
    except (ArgumentError, ValueError):
        raise InvalidParameter("url", "an unreadable text", ALLOWED) from None  # it may hold a password
    if url.get_backend_name() == "sqlite":
        return _sqlite(url)
    if url.get_backend_name() != "postgresql" or url.drivername not in ("postgresql", "postgresql+psycopg"):
        raise InvalidParameter("url", shown(url), ALLOWED)
    if not url.database:
        raise InvalidParameter("url", shown(url), ALLOWED, "name the database")
    if unknown := sorted(set(url.query) - OPTIONS):
        raise InvalidParameter("url", unknown[0], "with options among " + ", ".join(sorted(OPTIONS)))
    found = url.set(drivername="postgresql+psycopg")
    try:
        found.get_dialect()().create_connect_args(found)
    except (ArgumentError, ValueError) as error:
        raise InvalidParameter("url", shown(url), ALLOWED, " ".join(str(error).split())) from None
    return found


def _sqlite(url: URL) -> URL:
    name = url.database or ""
    if url.drivername not in ("sqlite", "sqlite+pysqlite") or url.query:
        raise InvalidParameter("url", shown(url), ALLOWED, "without options")
    if name in ("", ":memory:") or name.startswith("file:"):
        raise InvalidParameter("url", shown(url), ALLOWED, "a budget that lasts is kept in a file")
    # a path that stays the same when the process goes elsewhere
    return url.set(drivername="sqlite+pysqlite", database=os.path.abspath(name))


def shown(url: URL) -> str:
    """The URL without its password."""
    return url.set(drivername=url.get_backend_name()).render_as_string(hide_password=True)


def file_of(url: URL) -> Path | None:
    """The file of a SQLite ledger."""
    return Path(str(url.database)) if url.get_backend_name() == "sqlite" else None


def connect_arguments(url: URL, timeout: float) -> dict[str, Any]:
    """What the driver is told: to wait for a lock so long and no longer, and to lose nothing that was committed."""
    if url.get_backend_name() == "sqlite":
        return {"timeout": timeout, "isolation_level": None, "factory": WatchedConnection}
    timeout = min(timeout, 1e6)  # the server counts milliseconds in 32 bits
    patience = max(1, math.ceil(1000 * timeout))
    settings = {
        "lock_timeout": patience,
        "idle_in_transaction_session_timeout": 1000 * IDLE,
        "synchronous_commit": "on",
        "timezone": "UTC",
    }
    return {
        "connect_timeout": max(2, math.ceil(timeout)),
        "options": " ".join(f"-c {name}={value}" for name, value in settings.items()),
        "application_name": "quiltwork ledger",
        "keepalives_idle": 30,
        "tcp_user_timeout": patience + 10_000,
    }
