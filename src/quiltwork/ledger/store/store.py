"""Transactions on the database of a ledger: one writer at a time, everything or nothing.

SQLite: write-ahead log, full synchronisation, BEGIN IMMEDIATE. PostgreSQL: the row of the head is locked first, so that
writers queue there, and every commit waits for the disk. Both give the same promise: what was granted is on disk, what
was refused left no trace.
"""

from __future__ import annotations

import os
import weakref
from collections import namedtuple
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any, TypeVar

import attrs
from sqlalchemy import URL, Connection, Engine, create_engine, event, func, inspect, select, text
from sqlalchemy.exc import DBAPIError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from quiltwork.errors import BrokenChain, InvalidParameter, LedgerUnavailable, Unsupported
from quiltwork.ledger.chain.entries import stamp
from quiltwork.ledger.names import moment
from quiltwork.ledger.store import schema, sqlite
from quiltwork.ledger.store.addresses import connect_arguments, file_of, shown
from quiltwork.ledger.store.database_errors import trouble

Clock = Callable[[], datetime]
Result = TypeVar("Result")
LOST_LOCKS = "this process lost its locks on the ledger's file: something in it opened and closed that file"
MAKING = 0x7175696C74  # number of the PostgreSQL lock under which tables are made


@attrs.frozen(eq=False)
class Locked:
    """A transaction that nobody else writes beside: the head as it is, and the time."""

    connection: Connection
    head: Any
    now: datetime


class Store:
    """Connections to one database. After a fork each process opens its own."""

    def __init__(self, url: URL, timeout: float, clock: Clock | None) -> None:
        if clock is not None and not callable(clock):
            raise InvalidParameter("clock", clock, "a function that returns the time")
        self.url, self.timeout, self._clock = url, timeout, clock
        self._file = file_of(url)
        self._engine: Engine | None = None
        self._glances: Engine | None = None  # of PostgreSQL: connections on which no transaction is ever begun
        self._process = 0
        self._was_there = False  # whether this file held a ledger
        itself = weakref.ref(self)
        self._gate = sqlite.Gate(lambda: _dispose(itself()))

    @property
    def is_sqlite(self) -> bool:
        return self.url.get_backend_name() == "sqlite"

    @property
    def engine(self) -> Engine:
        """The connections of this process."""
        if self._engine is None or self._process != os.getpid():
            self._engine, self._process = self._made(), os.getpid()
            self._glances = self._engine if self.is_sqlite else self._made(glances=True)
            for one in {self._engine, self._glances}:
                weakref.finalize(self, _close, one, self._process)
        return self._engine

    def _made(self, glances: bool = False) -> Engine:
        told = connect_arguments(self.url, self.timeout)
        options: dict[str, Any] = {"connect_args": told, "pool_timeout": self.timeout}
        if self.is_sqlite:
            made = create_engine(self.url, **options)
            event.listen(made, "connect", sqlite.careful)
            return made
        if glances:
            options |= {"isolation_level": "AUTOCOMMIT", "pool_reset_on_return": None, "pool_size": 1}
            return create_engine(self.url, skip_autocommit_rollback=True, **options)
        # after the wait for the lock every statement must see what the last writer left
        return create_engine(self.url, isolation_level="READ COMMITTED", **options)

    def dispose(self) -> None:
        """Close every connection of this process."""
        if self._engine is not None and self._process == os.getpid():
            self._engine.dispose()
            if self._glances is not None:
                self._glances.dispose()
        self._engine = self._glances = None

    def now(self, connection: Connection) -> datetime:
        """The time: of the server, when there is one, so that all machines share a clock."""
        if self._clock is not None:
            return moment("clock", self._clock())
        if self.is_sqlite:
            return datetime.now(UTC)
        found: datetime = connection.execute(_SERVER_TIME).scalar_one()
        return found.astimezone(UTC)

    @contextmanager
    def _connected(self, glance: bool = False) -> Iterator[Connection]:
        """A connection, its troubles in our words."""
        self._check_file()
        try:
            engine = self.engine
            with self._gate, (self._glances if glance and self._glances else engine).connect() as connection:
                try:
                    yield connection
                finally:
                    if self._engine is not engine and not connection.invalidated:
                        connection.invalidate()  # the others were closed meanwhile, and nobody would close this one
        except DBAPIError as error:
            raise trouble(error) from error
        except PoolTimeout as error:
            hint = "use fewer threads at once, or try again"
            raise LedgerUnavailable("every connection of this process is in use", hint) from error

    def _check_file(self) -> None:
        """Neither make a new file where a ledger was, nor go on with one that this process lost."""
        if self._file is None:
            return
        if self._was_there and not self._file.exists():
            raise LedgerUnavailable("the ledger's file is gone", "put it back, then ask again")
        if sqlite.is_lost(str(self._file)):
            raise LedgerUnavailable(LOST_LOCKS, "start it again, and use export for backups")

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """One consistent view, that waits for nobody."""
        with self._connected() as connection:
            if not sqlite.same_files(connection):
                self._reconnect(connection)
            if self.is_sqlite:
                connection.exec_driver_sql("BEGIN")
            else:
                connection.exec_driver_sql("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
            yield connection
            connection.rollback()

    def glance(self) -> tuple[Any, datetime]:
        """The head as it is now, and the time: one statement, without a transaction."""
        if not self.is_sqlite and self._clock is None and (found := self._glanced()) is not None:
            return found, found.clock.astimezone(UTC)
        with self._connected(glance=True) as connection:
            if self.is_sqlite:
                if not sqlite.same_files(connection):
                    self._reconnect(connection)
                return read_head(connection), self.now(connection)
            head = _found(connection.execute(_GLANCE).first())
            return head, self.now(connection) if self._clock is not None else head.clock.astimezone(UTC)

    def _glanced(self) -> Any:
        """The head by the driver itself, for a third of the CPU; None where the usual way must say what is wrong."""
        engine = self.engine
        glances = self._glances or engine
        try:
            with self._gate:
                raw = glances.raw_connection()
                try:
                    row = raw.cursor().execute(_GLANCE_TEXT).fetchone()
                except BaseException:
                    raw.invalidate()
                    raise
                finally:
                    raw.close()
        except (glances.dialect.loaded_dbapi.Error, DBAPIError, PoolTimeout):
            return None
        return None if row is None else _found(_Glanced(*row))

    def standbys(self) -> str | None:
        """Whether servers follow this one, and whether a commit waits for one of them; None for a file.

        An ordinary role sees that standbys are there, not which of them are synchronous: the settings say that.
        """
        if self.is_sqlite:
            return None
        with self._connected(glance=True) as connection:
            named, count = connection.execute(_STANDBYS).one()
        return "synchronous" if named else "asynchronous" if count else "none"

    def _reconnect(self, connection: Connection) -> None:
        """A fresh connection in the place of one whose files were replaced, once this process has no other to them."""
        connection.rollback()
        connection.invalidate()
        sqlite.close_idle()
        self._check_file()
        if sqlite.is_open(str(self._file)):
            raise LedgerUnavailable(LOST_LOCKS, "ask again, or start it again; use export for backups")

    @contextmanager
    def writing(self, key: str | None = None) -> Iterator[Locked]:
        """Alone with the database; committed when the block ends, undone when it raises.

        LedgerUnavailable.certain is False when something broke while committing.
        """
        with self._connected() as connection:
            yield self._alone(connection)
            try:
                connection.commit()
            except DBAPIError as error:
                raise trouble(error, certain=False, key=key) from error
            self._check_kept(connection, key)

    def _alone(self, connection: Connection) -> Locked:
        """Wait for the lock, then see the head as the last writer left it."""
        if self.is_sqlite:
            self._immediate(connection)
            head = read_head(connection)
            return Locked(connection, head, self.now(connection))
        head = _found(connection.execute(_LOCK).first())
        read = stamp(head.clock)  # in the same round trip, but perhaps before the wait
        now = self.now(connection) if self._clock is not None or read < head.time else head.clock.astimezone(UTC)
        return Locked(connection, head, now)

    def _immediate(self, connection: Connection) -> None:
        """Begin to write to the files that are there now; a connection to others is replaced."""
        for _ in range(3):
            sqlite.begin_alone(connection, self.timeout)
            if sqlite.same_files(connection):
                return
            self._reconnect(connection)
        raise LedgerUnavailable("the ledger's file is being replaced", "ask again")

    def _check_kept(self, connection: Connection, key: str | None) -> None:
        """What was committed to files that lost their names is not there for others."""
        if not sqlite.same_files(connection):
            sqlite.mark_lost(connection)
            connection.invalidate()
            problem = "the ledger's file was replaced, or copied by this process, while it was written to"
            raise LedgerUnavailable(problem, "use export for backups", certain=False, key=key)
        if self.is_sqlite:
            sqlite.check_point(connection)

    # ---- making and upgrading

    def version(self) -> str | None:
        """The revision of the schema; None for a database that has no ledger yet."""
        with self._connected() as connection:
            if not inspect(connection).has_table(schema.VERSION_TABLE):
                return None
            found = connection.execute(_VERSION).scalars().all()
        if len(found) != 1:
            raise BrokenChain(f"the schema of the ledger has {len(found)} versions, not one: restore it from an export")
        self._was_there = True
        return str(found[0])

    def make(self, first: Callable[[Connection], None]) -> None:
        """Create the tables and the first entry, unless another process did in the meantime."""
        from quiltwork.ledger.store.migrations import upgrade

        with self._connected() as connection:
            self._claim(connection)
            if not inspect(connection).has_table(schema.VERSION_TABLE):
                self._check_encoding(connection)
                upgrade(connection)
                first(connection)
            connection.commit()
        self._was_there = True

    def _check_encoding(self, connection: Connection) -> None:
        if not self.is_sqlite and (found := connection.exec_driver_sql("SHOW server_encoding").scalar()) != "UTF8":
            raise Unsupported(f"a ledger in a database of encoding {found}", "names may be in any script", "use UTF8")

    def _claim(self, connection: Connection) -> None:
        if self.is_sqlite:
            self._immediate(connection)
        else:
            connection.execute(text("SELECT pg_advisory_xact_lock(:number)"), {"number": MAKING})

    def upgrade(self, work: Callable[[Connection], Result]) -> Result | None:
        """Let older tables be brought to the newest form; None when they are. A form that is not known is refused."""
        found = self.version()
        if found is None:
            raise InvalidParameter("url", shown(self.url), "a database with a ledger")
        if found not in schema.OLDER:
            self.check_version(found)
            return None
        with self._connected() as connection:
            self._claim(connection)
            made = work(connection)
            connection.commit()
        return made

    def check_version(self, found: str) -> None:
        """Refuse a schema that this release does not know."""
        if found != schema.HEAD:
            raise Unsupported(
                f"the ledger at {shown(self.url)}",
                f"its schema is version {found}, this release reads version {schema.HEAD}",
                "install the release that wrote it, or run: quiltwork ledger upgrade",
            )


_HEAD = select(schema.head).where(schema.head.c.id == 1)
_LOCK = select(schema.head, func.clock_timestamp().label("clock")).where(schema.head.c.id == 1).with_for_update()
_GLANCE = select(schema.head, func.clock_timestamp().label("clock")).where(schema.head.c.id == 1)
_CELLS = tuple(column.name for column in schema.head.columns)
_GLANCE_TEXT = f"SELECT {', '.join(_CELLS)}, clock_timestamp() FROM {schema.head.name} WHERE id = 1"
_Glanced = namedtuple("_Glanced", (*_CELLS, "clock"))  # type: ignore[misc]
_SERVER_TIME = text("SELECT clock_timestamp()")
_STANDBYS = text(
    "SELECT current_setting('synchronous_standby_names') <> '', (SELECT count(*) FROM pg_stat_replication)"
)
_VERSION = text(f"SELECT version_num FROM {schema.VERSION_TABLE}")


def _dispose(store: Store | None) -> None:
    if store is not None:
        store.dispose()


def _close(engine: Engine, process: int) -> None:
    """Close the connections of a store that nobody uses any more; those of a parent process are left alone."""
    if process == os.getpid():
        engine.dispose()


def read_head(connection: Connection) -> Any:
    """The row that says where the chain ends."""
    return _found(connection.execute(_HEAD).first())


def _found(row: Any) -> Any:
    if row is None:
        raise BrokenChain("the ledger has lost its head: restore it from an export")
    if type(row.seq) is not int or not all(isinstance(text, str) for text in (row.time, row.hash)):
        raise BrokenChain("the head of the chain cannot be read: restore the ledger from an export")
    return row
