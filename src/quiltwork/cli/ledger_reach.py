"""How the commands of `quiltwork ledger` reach their ledger: the address, the token, and that it is there."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from urllib.parse import quote

import attrs

from quiltwork.errors import InvalidParameter, LedgerUnavailable
from quiltwork.ledger.ledger import Ledger
from quiltwork.ledger.store import schema
from quiltwork.ledger.store.addresses import address, file_of, shown
from quiltwork.ledger.store.store import Store

TOKEN_VARIABLE = "QUILTWORK_TOKEN"
LONGEST_TOKEN = 1000
BESIDE = ("", "-wal", "-shm", ".key")  # the files of a SQLite ledger


@attrs.frozen
class Where:
    """What every command is told: the ledger, who asks, the key that signs, and how to answer."""

    ledger: str
    token_file: Path | None
    key_file: Path | None
    as_json: bool

    @property
    def url(self) -> str:
        """A bare path means a SQLite file."""
        if "\x00" in self.ledger:
            raise InvalidParameter("ledger", self.ledger, "a URL or the path of a SQLite file")
        return self.ledger if "://" in self.ledger else f"sqlite:///{self.ledger}"

    @property
    def shown(self) -> str:
        """The file as it was typed, or the address without its password."""
        url = address(self.url)
        return shown(url) if file_of(url) is None else self.url.partition(":///")[2]

    def token(self) -> str | None:
        """From the file or the environment: a token on a command line could be read by every user of the machine."""
        if self.token_file is None:
            return os.environ.get(TOKEN_VARIABLE) or None
        try:
            with self.token_file.open("rb") as file:
                found = file.read(LONGEST_TOKEN + 1)
        except (OSError, ValueError) as error:
            why = getattr(error, "strerror", None) or str(error)
            raise InvalidParameter("token-file", str(self.token_file), "a file that can be read", why) from None
        if len(found) > LONGEST_TOKEN or not found.strip():
            raise InvalidParameter("token-file", str(self.token_file), "a file that holds one token")
        return found.decode("ascii", "replace").strip()

    def version(self) -> str | None:
        """The version of the ledger's tables; None when there is no ledger. A file that is not there stays so."""
        url = address(self.url)
        file = file_of(url)
        if file is not None and not _has_tables(file):
            return None
        store = Store(url, 30.0, None)
        try:
            return store.version()
        finally:
            store.dispose()

    def check_there(self) -> None:
        """Refuse an address without a ledger: a slip of the pen must not make a new, empty one."""
        if self.version() is None:
            hint = "quiltwork ledger open makes one, with its first budget"
            raise LedgerUnavailable(f"there is no ledger at {self.shown!r}", hint)

    def check_target(self, target: Path) -> None:
        """Refuse to write over the ledger itself, or over a key."""
        if target.exists() and not target.is_file():
            raise InvalidParameter("the file", str(target), "a plain file")
        file = file_of(address(self.url))
        ours = [] if file is None else [Path(f"{file}{end}") for end in BESIDE]
        ours += [path for path in (self.key_file, self.token_file) if path is not None]
        if any(_same(target, path) for path in ours):
            raise InvalidParameter("the file", str(target), "another file than the ledger's own")


@contextmanager
def reached(where: Where, make: bool = False) -> Iterator[Ledger]:
    """The ledger, for one command; only some commands may make it."""
    if not make:
        where.check_there()
    ledger = Ledger(where.url, key=where.key_file, token=where.token())
    try:
        yield ledger
    finally:
        ledger.dispose()


@contextmanager
def nothing_left(where: Where) -> Iterator[None]:
    """When making a ledger fails, remove the empty file that SQLite left; never one that holds a ledger."""
    place = file_of(address(where.url))
    new = place is not None and not place.exists()
    try:
        yield
    except BaseException:
        if new and where.version() is None:
            for end in ("", "-wal", "-shm"):
                with suppress(OSError):
                    Path(f"{place}{end}").unlink()
        raise


def _has_tables(file: Path) -> bool:
    """Whether a ledger may be in this file, which is only read: it may be another program's, or none at all.

    SQLite itself looks. Opening and closing the file by other means would drop the locks that this process has on it.
    """
    try:
        if not file.stat().st_size:
            return False
    except (FileNotFoundError, NotADirectoryError):
        return False
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or str(error)
        raise LedgerUnavailable(f"the ledger's file {str(file)!r} cannot be read ({why})") from None
    try:
        with closing(sqlite3.connect(f"file:{quote(os.path.abspath(file))}?mode=ro", uri=True)) as connection:
            asked = "select count(*) from sqlite_master where name = ?"
            return bool(connection.execute(asked, (schema.VERSION_TABLE,)).fetchone()[0])
    except sqlite3.OperationalError:
        return True  # locked, or out of reach: whoever opens it next says so
    except sqlite3.DatabaseError:
        raise LedgerUnavailable(f"{str(file)!r} is not a SQLite database", "give the file of a ledger") from None


def _same(one: Path, two: Path) -> bool:
    return os.path.realpath(one) == os.path.realpath(two)
