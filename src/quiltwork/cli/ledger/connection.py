"""How the commands of `quiltwork ledger` reach their ledger, and the options that they share.

Whatever loads a database is imported when a command runs: help must be instant.
"""

from __future__ import annotations

import inspect
import json
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import attrs
import typer

from quiltwork.cli.files import check_writable
from quiltwork.cli.help import Command
from quiltwork.cli.options import AsJson, app_of, examples
from quiltwork.errors import InvalidParameter, LedgerUnavailable, QuiltworkError
from quiltwork.files import whole_file

if TYPE_CHECKING:
    from quiltwork.ledger.book.balances import Balance
    from quiltwork.ledger.chain.receipts import Receipt
    from quiltwork.ledger.ledger import Ledger

HOME = "sqlite:///quiltwork.db"
PANEL = "Where, and who asks"
TOKEN_VARIABLE = "QUILTWORK_TOKEN"
LONGEST_TOKEN = 1000
BESIDE = ("", "-wal", "-shm", ".key")  # the files of a SQLite ledger

URL = "SQLite file, sqlite:///FILE or postgresql+psycopg://USER@HOST/DATABASE"
TOKEN = "File that holds the token of who asks; without it QUILTWORK_TOKEN is read."
KEY = "File of the key that signs; without it QUILTWORK_LEDGER_KEY, or FILE.key beside a SQLite file."

_option = partial(typer.Option, rich_help_panel=PANEL)
Url = Annotated[str, _option("--ledger", metavar="URL", envvar="QUILTWORK_LEDGER", help=f"{URL}.")]
TokenFile = Annotated[Path | None, _option("--token-file", metavar="FILE", help=TOKEN)]
KeyFile = Annotated[Path | None, _option("--key-file", metavar="FILE", help=KEY)]
SHARED: dict[str, tuple[Any, Any]] = {
    "ledger": (Url, HOME), "token_file": (TokenFile, None), "key_file": (KeyFile, None), "as_json": (AsJson, False)
}  # fmt: skip
Name = Annotated[str, typer.Argument(metavar="NAME", help="Name of the budget.", show_default=False)]
Only = Annotated[str | None, typer.Argument(metavar="[NAME]", help="Of this budget alone.")]
Note = Annotated[str, typer.Option(help="A remark, kept with the entry.", show_default=False)]
Saved = Annotated[Path | None, typer.Option("--receipt", metavar="FILE", help="Also save the signed receipt.")]

ledger_app = app_of(
    "ledger",
    help="Budgets that last: opened once, spent by many, never overspent, every entry checked.",
    epilog="Exit codes: 0 done, 1 refused or it does not hold, 2 bad input or out of reach.",
)
Work = Callable[..., int | None]


@ledger_app.callback(invoke_without_command=True)
def group(context: typer.Context) -> None:
    """Budgets that last: opened once, spent by many, never overspent, every entry checked."""
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


def ledger_command(*lines: str, without: tuple[str, ...] = ()) -> Callable[[Work], Work]:
    """Decorate a command, with these lines as its examples: it is given `where`, and returns its exit code.

    The options that say where are declared here, once; `without` names those that a command has no use for.
    """

    def made(function: Work) -> Work:
        _, *own = inspect.signature(function, eval_str=True).parameters.values()
        kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
        shared = [
            inspect.Parameter(name, kind, default=default, annotation=option)
            for name, (option, default) in SHARED.items()
            if name not in without
        ]

        def run(**given: Any) -> None:
            where = Where(**{name: given.pop(name, default) for name, (_, default) in SHARED.items()})
            raise typer.Exit(function(where, **given) or 0)

        run.__doc__ = function.__doc__
        run.__signature__ = inspect.Signature([*own, *shared])  # type: ignore[attr-defined]
        name = function.__name__.rstrip("_").replace("_", "-")
        ledger_app.command(name, cls=Command, epilog=examples(*lines))(run)
        return function

    return made


@attrs.frozen
class Where:
    """What every command is told: the ledger, who asks, the key that signs, and how to answer."""

    ledger: str
    token_file: Path | None = None
    key_file: Path | None = None
    as_json: bool = False

    @property
    def url(self) -> str:
        """A bare path means a SQLite file."""
        from quiltwork.ledger.store.addresses import url_of

        if "\x00" in self.ledger:
            raise InvalidParameter("ledger", self.ledger, "a URL or the path of a SQLite file")
        return url_of(self.ledger)

    @property
    def file(self) -> Path | None:
        """The file of a SQLite ledger."""
        from quiltwork.ledger.store.addresses import address, file_of

        return file_of(address(self.url))

    @property
    def shown(self) -> str:
        """The file as it was typed, or the address without its password."""
        from quiltwork.ledger.store.addresses import address, shown

        return shown(address(self.url)) if self.file is None else self.url.partition(":///")[2]

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
        from quiltwork.ledger.store.addresses import address
        from quiltwork.ledger.store.store import Store

        if self.file is not None and not _has_tables(self.file):
            return None
        store = Store(address(self.url), 30.0, None)
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
        ours = [] if self.file is None else [Path(f"{self.file}{end}") for end in BESIDE]
        ours += [path for path in (self.key_file, self.token_file) if path is not None]
        if any(os.path.realpath(target) == os.path.realpath(path) for path in ours):
            raise InvalidParameter("the file", str(target), "another file than the ledger's own")

    @contextmanager
    def reached(self, make: bool = False) -> Iterator[Ledger]:
        """The ledger, for one command; only some commands may make it."""
        from quiltwork.ledger.ledger import Ledger

        if not make:
            self.check_there()
        with Ledger(self.url, key=self.key_file, token=self.token()) as ledger:
            yield ledger

    @contextmanager
    def nothing_left(self) -> Iterator[None]:
        """When making a ledger fails, remove the empty file that SQLite left; never one that holds a ledger."""
        place = self.file
        new = place is not None and not place.exists()
        try:
            yield
        except BaseException:
            if new and self.version() is None:
                for end in ("", "-wal", "-shm"):
                    with suppress(OSError):
                        Path(f"{place}{end}").unlink()
            raise

    def answer(self, value: Any, show: Callable[[Any], object]) -> None:
        """Print a value as JSON, or show it to people: `show` is given the module `view`."""
        if self.as_json:
            print(json.dumps(value, indent=2, allow_nan=False))
        else:
            from quiltwork.cli.ledger import view

            show(view)

    def act(self, act: Callable[[Ledger], Receipt], file: Path | None, *, block: str | None = None) -> int:
        """Do it, save the receipt, say what happened and what is left."""
        if file is not None:
            self.check_target(file)
        check_writable(receipt=file)  # refuse before anything is spent, not after it
        with self.reached() as ledger:
            receipt = act(ledger)
            code = 0 if file is None else save(receipt, file)
            left: Balance | None = None
            if receipt.budget is not None and not self.as_json:
                with suppress(QuiltworkError):  # what was done is told, even if this question finds the ledger gone
                    left = ledger.balance(receipt.budget, block)
        if self.as_json:
            print(receipt.to_text())
        else:
            from quiltwork.cli.ledger.view import show_receipt

            show_receipt(receipt, left)
        return code


def save(receipt: Receipt, file: Path) -> int:
    """Save a receipt; the exit code."""
    try:
        with whole_file(file) as stream:
            stream.write(receipt.to_text() + "\n")
    except OSError as error:
        why = f"the receipt was not saved ({error.strerror or error}), but entry {receipt.seq} was written"
        print(f"quiltwork: {why}; try: quiltwork ledger receipt {receipt.seq} --save FILE", file=sys.stderr)
        return 2
    print(f"wrote {file}", file=sys.stderr)
    return 0


def _has_tables(file: Path) -> bool:
    """Whether a ledger may be in this file, which is only read: it may be another program's, or none at all.

    SQLite itself looks. Opening and closing the file by other means would drop the locks that this process has on it.
    """
    import sqlite3
    from urllib.parse import quote

    from quiltwork.ledger.store.schema import VERSION_TABLE

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
            return bool(connection.execute(asked, (VERSION_TABLE,)).fetchone()[0])
    except sqlite3.OperationalError:
        return True  # locked, or out of reach: whoever opens it next says so
    except sqlite3.DatabaseError:
        raise LedgerUnavailable(f"{str(file)!r} is not a SQLite database", "give the file of a ledger") from None
