"""Errors of the database in words of our own: what is wrong, whether anything was written, what to do."""

from __future__ import annotations

from typing import Any

from sqlalchemy.exc import DBAPIError, InterfaceError, OperationalError

from quiltwork.errors import LedgerUnavailable

_SQLITE = [
    ("locked", "the ledger's file is locked by another process", "try again, or raise timeout"),
    ("disk is full", "the disk of the ledger is full", "make room, then ask again"),
    ("readonly", "the ledger's file is read only", "give write access to it, to FILE-wal, FILE-shm and the directory"),
    ("unable to open", "the ledger's file cannot be opened", "check that its directory exists and may be written"),
    ("disk i/o error", "the disk of the ledger fails to read or write", "check the disk, then run verify"),
    ("not a database", "the file is not a SQLite database", "give the file of a ledger"),
    ("malformed", "the ledger's file is damaged", "restore it from an export"),
    ("encrypted", "the file is not a SQLite database", "give the file of a ledger"),
]
_POSTGRES = {
    "53100": ("the disk of the database server is full", "make room, then ask again"),
    "55P03": ("the ledger is locked by another transaction", "try again, or raise timeout"),
    "57014": ("the database server cancelled the statement", "try again"),
    "25006": ("the database is read only", "use the primary server"),
    "42501": ("the database user may not write the ledger", "grant it insert and update on the ledger's tables"),
    "28P01": ("the database server refused the password", "check the user and the password"),
    "28000": ("the database server refused the user", "check the user and pg_hba.conf"),
    "3D000": ("the database does not exist", "create it first"),
    "57P03": ("the database server is starting or stopping", "try again in a moment"),
    "53300": ("the database server has too many connections", "try again, or raise max_connections"),
}

_WORDS = {  # of connections that were never made: they carry no code
    "password authentication failed": "28P01",
    "no pg_hba.conf entry": "28000",
    "too many clients": "53300",
    "remaining connection slots": "53300",
    "starting up": "57P03",
    "shutting down": "57P03",
    "in recovery mode": "57P03",
}


def trouble(error: DBAPIError, *, certain: bool = True, key: str | None = None) -> LedgerUnavailable:
    """The same trouble as one of our errors; `certain` says that nothing can have been written."""
    original: Any = error.orig
    said = " ".join(str(original).split())
    code = getattr(original, "sqlstate", None)
    if code is None and type(original).__module__.startswith("psycopg"):
        code = next((known for sign, known in _WORDS.items() if sign in said), None)
        if code is None and 'database "' in said and "does not exist" in said:
            code = "3D000"
    if code in _POSTGRES:
        return LedgerUnavailable(*_POSTGRES[code], certain=certain, key=key)
    for sign, problem, hint in _SQLITE:
        if code is None and sign in said.lower() and type(original).__module__.startswith("sqlite3"):
            return LedgerUnavailable(problem, hint, certain=certain, key=key)
    if error.connection_invalidated or isinstance(error, (OperationalError, InterfaceError)):
        return LedgerUnavailable(
            f"the database cannot be reached ({said[:200]})", "check that it runs, then ask again",
            certain=certain, key=key,
        )  # fmt: skip
    return LedgerUnavailable(f"the database refuses ({said[:200]})", "run verify", certain=certain, key=key)
