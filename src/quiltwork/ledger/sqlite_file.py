"""What SQLite needs so that nothing that was granted is lost.

A write-ahead log with full synchronisation, and one writer at a time (BEGIN IMMEDIATE). SQLite's locks are those of
POSIX, which a process loses on a file as soon as any part of it closes that file: another process may then delete the
log under an open connection. So before each write, and again after its commit, the connection's files are held against
those of the same names; while the connection is open their numbers cannot be given to others.
"""

from __future__ import annotations

import os
import random
import time
from pathlib import Path
from typing import Any

from sqlalchemy import Connection
from sqlalchemy.exc import DBAPIError

from quiltwork.ledger.troubles import is_locked

__all__ = ["begin_alone", "careful", "check_point", "same_files"]

BRIEF = 0.002  # seconds: mean pause before asking for the lock again
RECOVERY = 10_000  # milliseconds that a reader waits while SQLite recovers from a crash
SELDOM = 250  # commits, on average, between two checkpoints
_KNOWN = "files of this connection"


def careful(connection: Any, _record: Any) -> None:
    """Settings of a new connection: nothing that was committed is lost, not even when the power fails.

    Checkpoints are made by us, after the files were looked at: a log that is not the file's any more is never copied.
    """
    connection.text_factory = _text
    settings = ("journal_mode=WAL", "synchronous=FULL", "trusted_schema=OFF", "wal_autocheckpoint=0")
    cursor = connection.cursor()
    for setting in (*settings, f"busy_timeout={RECOVERY}"):
        cursor.execute(f"PRAGMA {setting}")
    cursor.close()


def _text(raw: bytes) -> str:
    """Text as it is; bytes that are none become surrogates, which no check of the chain takes."""
    return raw.decode("utf-8", "surrogateescape")


def begin_alone(connection: Connection, timeout: float) -> None:
    """Ask for the lock again and again, after short random pauses: fairer than SQLite's own growing ones."""
    end = time.monotonic() + timeout
    connection.exec_driver_sql("PRAGMA busy_timeout=1")
    try:
        while not _begun(connection, end):
            time.sleep(random.expovariate(1 / BRIEF))
    finally:
        connection.exec_driver_sql(f"PRAGMA busy_timeout={RECOVERY}")


def _begun(connection: Connection, end: float) -> bool:
    try:
        connection.exec_driver_sql("BEGIN IMMEDIATE")
    except DBAPIError as error:
        if not is_locked(error) or time.monotonic() > end:
            raise
        return False
    return True


def same_files(connection: Connection, file: Path) -> bool:
    """Whether the connection still has the files that bear their names; at its first write it learns which they are."""
    now = _marks(file)
    return None not in now and connection.info.setdefault(_KNOWN, now) == now


def _marks(file: Path) -> tuple[tuple[int, int] | None, ...]:
    return tuple(_mark(f"{file}{end}") for end in ("", "-wal"))


def _mark(path: str) -> tuple[int, int] | None:
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_dev, found.st_ino


def check_point(connection: Connection) -> None:
    """Now and then bring the log into the file, so that it stays short; whoever is reading is not waited for."""
    if random.random() * SELDOM < 1:
        connection.exec_driver_sql("PRAGMA wal_checkpoint(PASSIVE)")
        connection.rollback()
