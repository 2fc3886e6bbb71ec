"""`quiltwork ledger verify`, `export`, `import` and `receipt`: whether all is as written, and copies of it."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from rich.text import Text

from quiltwork.cli.ledger_files import unwritable, whole_file
from quiltwork.cli.ledger_reach import Where, nothing_left, reached
from quiltwork.cli.ledger_view import console
from quiltwork.cli.ledger_work import answer, save
from quiltwork.cli.progress import progress
from quiltwork.errors import BrokenChain, InvalidParameter
from quiltwork.ledger.chain.keys import is_public_key
from quiltwork.ledger.chain.receipts import Receipt
from quiltwork.ledger.ledger import Ledger


def verified(where: Where, files: Sequence[Path], public_key: str | None) -> int:
    """0 when everything holds, 1 when something does not."""
    kept = _kept(files, public_key)
    with reached(where) as ledger, progress("verifying") as advance:
        found = ledger.verify(progress=advance, receipts=kept, public_key=public_key)
    answer(where, found.to_json(), lambda: console().print(Text(found.explain(), style="" if found else "bold red")))
    return 0 if found else 1


def _kept(files: Sequence[Path], public_key: str | None) -> list[Receipt]:
    """What is known from elsewhere: receipts, and the public key."""
    if public_key is not None and not is_public_key(public_key):
        raise InvalidParameter("public-key", public_key, "a public key, as quiltwork ledger key prints it")
    return [Receipt.load(file) for file in files]


def exported(where: Where, file: Path | None) -> int:
    """To a file, whole or not at all, or to the terminal."""
    if file is None or str(file) == "-":
        if where.as_json:
            raise InvalidParameter("json", True, "left out", "an export is JSON already; or name a file")
        with reached(where) as ledger:
            ledger.export(sys.stdout)
        return 0
    where.check_target(file)
    with reached(where) as ledger, progress("exporting") as advance:
        try:
            with whole_file(file) as stream:
                count = ledger.export(stream, advance)
        except (FileNotFoundError, NotADirectoryError, IsADirectoryError, ValueError) as error:
            if isinstance(error, BrokenChain):
                raise
            raise unwritable("the file", file, error) from None
    value = {"schema": "quiltwork/exported/1", "file": str(file), "entries": count}
    answer(where, value, lambda: console().print(Text(f"wrote {_entries(count)} to {file}")))
    return 0


def imported(where: Where, file: Path, files: Sequence[Path], public_key: str | None) -> int:
    """A new ledger; when the export does not hold, the place is left as it was."""
    kept = _kept(files, public_key)
    if where.version() is not None:
        raise InvalidParameter("ledger", where.shown, "a place without a ledger", "nothing is ever imported over one")
    with (
        nothing_left(where),
        _lines(file) as lines,
        Ledger.restore(where.url, lines, key=where.key_file, public_key=public_key, receipts=kept) as ledger,
    ):
        identity, guarded = ledger.identity, ledger.guarded
    if guarded:  # every line was checked; a wrong token here would be the first entry of the copy alone
        return _unread(where, identity)
    with Ledger(where.url, key=where.key_file) as ledger:
        found = ledger.verify(public_key=public_key)
        signs = ledger.public_key is None or ledger.receipt(1).signature is not None
    value = {
        "schema": "quiltwork/imported/1", "ledger": identity, "entries": found.entries, "holds": found.holds,
        "known": found.known, "signs": signs,
    }  # fmt: skip

    def show() -> None:
        page = console()
        page.print(Text(f"imported {_entries(found.entries)} into {where.shown}. {found.explain()}"))
        if not signs:
            page.print(Text("its signing key is not here: until --key-file names it, the ledger can only be read"))

    answer(where, value, show)
    return 0 if found else 1


def _unread(where: Where, identity: str) -> int:
    """An import whose copy asks for tokens, as the ledger did."""
    value = {"schema": "quiltwork/imported/1", "ledger": identity, "entries": None, "holds": True}
    words = f"imported into {where.shown}: every line held. The copy asks for the same tokens as the ledger did"
    answer(where, value, lambda: console().print(Text(words)))
    return 0


@contextmanager
def _lines(file: Path) -> Iterator[Iterator[str]]:
    """The lines of an export, with a bar by the bytes of the file."""
    if str(file) == "-":
        yield iter(sys.stdin)
        return
    try:
        stream = file.open("rb")
        total = file.stat().st_size
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or str(error)
        raise InvalidParameter("the file", str(file), "an export that can be read", why) from None
    with stream, progress("importing") as advance:

        def read() -> Iterator[str]:
            done = 0
            for line in stream:
                done += len(line)
                if advance is not None:
                    advance(done, total)
                yield line.decode("utf-8", "replace")  # what is damaged is refused where it stands

        yield read()


def receipted(where: Where, which: str, public_key: str | None, target: Path | None) -> int:
    """Show a receipt and say whether it holds."""
    if which.isascii() and which.isdigit():
        if target is not None:
            where.check_target(target)
        with reached(where) as ledger:
            receipt = ledger.receipt(int(which) if len(which) < 20 else -1)
    else:
        if target is not None:
            raise InvalidParameter("save", str(target), "left out", "this receipt is a file already")
        receipt = Receipt.load(which)
    problem = _problem(receipt, public_key)
    value = {"schema": "quiltwork/receipt-check/1", "holds": problem is None, "problem": problem}
    value |= {"public_key_given": public_key is not None, "receipt": receipt.to_json()}
    answer(where, value, lambda: _show(receipt, problem, public_key))
    if target is not None and save(receipt, target):
        return 2
    return 0 if problem is None else 1


def _problem(receipt: Receipt, public_key: str | None) -> str | None:
    try:
        receipt.check(public_key)
    except BrokenChain as error:
        return error.problem
    return None


def _show(receipt: Receipt, problem: str | None, public_key: str | None) -> None:
    page = console()
    page.print(Text(receipt.show()), soft_wrap=True)
    page.print()
    if problem is not None:
        page.print(Text(f"does not hold: {problem}", style="bold red"))
    elif public_key is None:
        page.print(Text("holds, by the key that it names itself; --public-key says whose it must be"))
    else:
        page.print(Text("holds: the ledger with this public key wrote it", style="green"))


def _entries(count: int) -> str:
    return f"{count:,} entr{'y' if count == 1 else 'ies'}"
