"""What SQLite needs so that nothing that was granted is lost.

A write-ahead log with full synchronisation, and one writer at a time (BEGIN IMMEDIATE). SQLite's locks are those of
POSIX, which a process loses on a file as soon as any part of it closes that file: another process may then delete the
log under an open connection. So a connection remembers which files it opened, and is held against those of the same
names before each use and again after each commit; while it is open their numbers cannot be given to others.

A connection that lost its log must be closed before the next one is opened: SQLite shares what it knows of a file
among all connections of a process. But one that committed to the lost log is never closed: closing would copy the log
into the file, over what others wrote since.

Connections and fork do not mix: idle ones are closed before a process forks, and acts in progress are waited for. A
forked child inherits SQLite's belief that it holds locks which only its parent has: the parent's last close would
then delete the write-ahead log under the child, and with it what was granted there.
"""

from __future__ import annotations

import ctypes
import os
import random
import sqlite3
import threading
import time
import weakref
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from sqlalchemy import Connection
from sqlalchemy.exc import DBAPIError

BRIEF = 0.002  # seconds: mean pause before asking for the lock again
RECOVERY = 10_000  # milliseconds that a reader waits while SQLite recovers from a crash
SELDOM = 250  # commits, on average, between two checkpoints
Marks = tuple[tuple[int, int] | None, ...]


class WatchedConnection(sqlite3.Connection):
    """A connection that knows the files it opened."""

    def __init__(self, database: str, *arguments: Any, **options: Any) -> None:
        super().__init__(database, *arguments, **options)
        self._file = database
        self._opened: Marks | None = None
        self.lost = False  # whether it committed to a log that was not the file's any more
        _OPEN.add(self)

    def learn(self) -> None:
        """Remember the files as they are, once a first statement has opened them."""
        self._opened = _marks(self._file)

    def same(self) -> bool:
        """Whether the files that bear the names now are those that were opened."""
        return self._opened is None or (None not in self._opened and self._opened == _marks(self._file))

    def close(self) -> None:
        if self.lost:
            ctypes.pythonapi.Py_IncRef(ctypes.py_object(self))  # for ever: also the end of the program would close it
        else:
            super().close()
            _OPEN.discard(self)


_LOST: set[str] = set()
_OPEN: weakref.WeakSet[WatchedConnection] = weakref.WeakSet()


def is_lost(file: str) -> bool:
    """Whether this process has a connection to the file that committed to a lost log: then it must not have others."""
    return file in _LOST


def is_open(file: str) -> bool:
    """Whether this process has a connection to the file."""
    return any(one._file == file for one in list(_OPEN))


def _marks(file: str) -> Marks:
    return tuple(_mark(f"{file}{end}") for end in ("", "-wal"))


def _mark(path: str) -> tuple[int, int] | None:
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_dev, found.st_ino


def careful(connection: WatchedConnection, _record: Any) -> None:
    """Settings of a new connection: nothing that was committed is lost, not even when the power fails.

    Checkpoints are made by us, after the files were looked at: a log that is not the file's any more is never copied.
    """
    connection.text_factory = _text
    settings = ("synchronous=FULL", "trusted_schema=OFF", "wal_autocheckpoint=0", f"busy_timeout={RECOVERY}")
    for setting in settings:
        connection.execute(f"PRAGMA {setting}")
    _use_log(connection)
    connection.execute("BEGIN")
    connection.execute("SELECT count(*) FROM sqlite_master").fetchone()  # opens the log
    connection.execute("ROLLBACK")
    connection.learn()


def _use_log(connection: sqlite3.Connection) -> None:
    """Switch to the write-ahead log. SQLite does not wait here for another process that does the same."""
    end = time.monotonic() + RECOVERY / 1000
    while connection.execute("PRAGMA journal_mode").fetchone()[0] != "wal":
        try:
            connection.execute("PRAGMA journal_mode=WAL").fetchone()
        except sqlite3.OperationalError as error:
            if "locked" not in str(error) or time.monotonic() > end:
                raise
            time.sleep(random.expovariate(1 / BRIEF))
        else:
            return


def _text(raw: bytes) -> str:
    """Text as it is; bytes that are none become surrogates, which no check of the chain takes."""
    return raw.decode("utf-8", "surrogateescape")


def begin_alone(connection: Connection, timeout: float) -> None:
    """Ask for the lock again and again, after short random pauses: fairer than SQLite's own growing ones."""
    end = time.monotonic() + timeout
    raw: Any = connection.connection.driver_connection  # these four come with every act
    raw.execute("PRAGMA busy_timeout=1")
    try:
        while not _begun(raw, end):
            time.sleep(random.expovariate(1 / BRIEF))
    except sqlite3.Error:  # once more, for an error of the usual kind
        connection.exec_driver_sql("BEGIN IMMEDIATE")
    finally:
        raw.execute(f"PRAGMA busy_timeout={RECOVERY}")


def _begun(raw: sqlite3.Connection, end: float) -> bool:
    try:
        raw.execute("BEGIN IMMEDIATE")
    except sqlite3.OperationalError as error:
        if "locked" not in str(error) or time.monotonic() > end:  # else somebody else is writing
            raise
        return False
    return True


def same_files(connection: Connection) -> bool:
    """Whether a connection still has the files that bear their names."""
    driver = connection.connection.driver_connection
    return not isinstance(driver, WatchedConnection) or driver.same()


def mark_lost(connection: Connection) -> None:
    """Remember that a connection committed to a log that nobody reads."""
    driver = connection.connection.driver_connection
    if isinstance(driver, WatchedConnection):
        driver.lost = True
        _LOST.add(driver._file)


def check_point(connection: Connection) -> None:
    """Now and then bring the log into the file, so that it stays short.

    Whoever is reading is not waited for, and a failure changes nothing: the log holds what was committed.
    """
    if random.random() * SELDOM < 1:
        with suppress(DBAPIError):
            connection.exec_driver_sql("PRAGMA wal_checkpoint(PASSIVE)")
            connection.rollback()


PATIENCE = 10.0  # seconds that a fork waits for acts of other threads


class Gate:
    """Acts pass through it; while a process forks, nobody does. `close` ends the idle connections."""

    def __init__(self, close: Callable[[], None]) -> None:
        self.close = close
        self._reset()
        _GATES.add(self)

    def _reset(self) -> None:
        self._changed = threading.Condition()
        self._inside: Counter[int] = Counter()  # by thread: an act may ask for another one
        self._forking = False

    def __enter__(self) -> None:
        mine = threading.get_ident()
        with self._changed:
            while self._forking and not self._inside[mine]:
                self._changed.wait()
            self._inside[mine] += 1

    def __exit__(self, *_: object) -> None:
        mine = threading.get_ident()
        with self._changed:
            self._inside[mine] -= 1
            if not self._inside[mine]:
                del self._inside[mine]
                self._changed.notify_all()

    def before_fork(self) -> None:
        """Wait for the acts of other threads, then close what is idle."""
        mine, end = threading.get_ident(), time.monotonic() + PATIENCE
        with self._changed:
            self._forking = True
            while any(thread != mine for thread in self._inside) and time.monotonic() < end:
                self._changed.wait(timeout=max(0.0, end - time.monotonic()))
        self.close()

    def after_in_parent(self) -> None:
        """Go on."""
        with self._changed:
            self._forking = False
            self._changed.notify_all()

    def after_in_child(self) -> None:
        """The threads that were inside do not exist here."""
        self._reset()


def close_idle() -> None:
    """Close every idle connection of this process, of all ledgers."""
    for gate in list(_GATES):
        gate.close()


_GATES: weakref.WeakSet[Gate] = weakref.WeakSet()


def _each(act: Callable[[Gate], None]) -> Callable[[], None]:
    def run() -> None:
        for gate in list(_GATES):
            act(gate)

    return run


if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_each(Gate.before_fork),
        after_in_parent=_each(Gate.after_in_parent),
        after_in_child=_each(Gate.after_in_child),
    )
