"""`quiltwork ledger verify`, `checkpoint`, `export`, `import`, `receipt`, `key`, `rotate`, `upgrade`, ..."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from quiltwork.cli.files import unwritable
from quiltwork.cli.ledger.connection import Saved, Where, ledger_command, save
from quiltwork.errors import BrokenChain, InvalidParameter
from quiltwork.files import whole_file
from quiltwork.progress import reporting

if TYPE_CHECKING:
    from quiltwork.ledger.chain.receipts import Receipt
    from quiltwork.ledger.proof.verify import Verification


@ledger_command("quiltwork ledger verify --since checkpoint.json", "quiltwork ledger verify --public-key kG7...=")
def verify(
    where: Where,
    since: Annotated[
        list[Path] | None, typer.Option(metavar="FILE", help="A checkpoint that the chain must continue; repeat.")
    ] = None,
    receipt: Annotated[
        list[Path] | None, typer.Option(metavar="FILE", help="A receipt that must be in the chain; repeat.")
    ] = None,
    public_key: Annotated[
        str | None, typer.Option(help="The key that must have signed; without it that of the key file, if it is here.")
    ] = None,
    full: Annotated[bool, typer.Option("--full", help="Replay what earlier verifications replayed, too.")] = False,
    new: Annotated[
        bool, typer.Option("--new", help="Read only what was written since the last one; old edits are not found.")
    ] = False,
) -> int:
    """Check that every entry and every row is as it was written; exit code 1 if not."""
    kept = _kept(receipt or [], public_key)
    known: dict[str, Any] = {
        "receipts": kept, "public_key": public_key, "since": since or (), "full": full, "new": new
    }  # fmt: skip
    try:
        with where.reached() as ledger, reporting("verifying") as advance:
            found = ledger.verify(progress=advance, **known)
    except BrokenChain:  # what keeps everybody out must not keep anybody from looking
        found = _examined(where.url, known)
        if found:
            raise
    where.answer(found.to_json(), lambda view: view.say(found.explain(), "" if found else "bold red"))
    return 0 if found else 1


def _examined(url: str, known: dict[str, Any]) -> Verification:
    """What a ledger says in which nobody is believed."""
    from quiltwork.ledger.ledger import Ledger

    with Ledger.examine(url) as ledger, reporting("verifying") as advance:
        return ledger.verify(progress=advance, **known)


@ledger_command("quiltwork ledger checkpoint --save checkpoint.json")
def checkpoint(
    where: Where,
    target: Annotated[
        Path | None, typer.Option("--save", metavar="FILE", help="Save it, to be kept where nobody can write both.")
    ] = None,
) -> None:
    """Where the chain ends, signed: keep it elsewhere, and verify the ledger since then later."""
    if target is not None:
        where.check_target(target)
    with where.reached() as ledger:
        found = ledger.checkpoint()
    if target is not None:
        found.save(target)
    signed = "not signed" if found.signature is None else f"signed by {found.public_key}"
    words = f"entry {found.seq:,} of {found.time}, {signed}" + ("" if target is None else f"; wrote {target}")
    where.answer(found.to_json(), lambda view: view.say(words))


def _kept(files: Sequence[Path], public_key: str | None) -> list[Receipt]:
    """What is known from elsewhere: receipts, and the public key."""
    from quiltwork.ledger.chain.keys import is_public_key
    from quiltwork.ledger.chain.receipts import Receipt

    if public_key is not None and not is_public_key(public_key):
        raise InvalidParameter("public-key", public_key, "a public key, as quiltwork ledger key prints it")
    return [Receipt.load(file) for file in files]


@ledger_command("quiltwork ledger export backup.jsonl")
def export(
    where: Where,
    file: Annotated[
        Path | None, typer.Argument(help="File to write, whole or not at all; without it the terminal.")
    ] = None,
) -> None:
    """Write the whole chain as JSON lines."""
    if file is None or str(file) == "-":
        if where.as_json:
            raise InvalidParameter("json", True, "left out", "an export is JSON already; or name a file")
        with where.reached() as ledger:
            ledger.export(sys.stdout)
        return
    where.check_target(file)
    with where.reached() as ledger, reporting("exporting") as advance:
        try:
            with whole_file(file) as stream:
                count = ledger.export(stream, advance)
        except (FileNotFoundError, NotADirectoryError, IsADirectoryError, ValueError) as error:
            if isinstance(error, BrokenChain):
                raise
            raise unwritable("the file", file, error) from None
    value = {"schema": "quiltwork/exported/1", "file": str(file), "entries": count}
    where.answer(value, lambda view: view.say(f"wrote {_entries(count)} to {file}"))


@ledger_command("quiltwork ledger import backup.jsonl --ledger restored.db", without=("token_file",))
def import_(
    where: Where,
    file: Annotated[Path, typer.Argument(help="An export; - reads what is piped in.", show_default=False)],
    receipt: Annotated[
        list[Path] | None, typer.Option(metavar="FILE", help="A receipt that must be in it, of a late entry; repeat.")
    ] = None,
    public_key: Annotated[
        str | None, typer.Option(help="The key that must have signed it, as quiltwork ledger key printed it.")
    ] = None,
) -> int:
    """Make a new ledger from an export; refused, and nothing made, when it does not hold together."""
    from quiltwork.ledger.ledger import Ledger

    kept = _kept(receipt or [], public_key)
    if where.version() is not None:
        raise InvalidParameter("ledger", where.shown, "a place without a ledger", "nothing is ever imported over one")
    with (
        where.nothing_left(),
        _lines(file) as lines,
        Ledger.restore(where.url, lines, key=where.key_file, public_key=public_key, receipts=kept) as ledger,
    ):
        identity, guarded = ledger.identity, ledger.guarded
    value: dict[str, Any] = {"schema": "quiltwork/imported/1", "ledger": identity, "entries": None, "holds": True}
    if guarded:  # every line was checked; a wrong token here would be the first entry of the copy alone
        words = f"imported into {where.shown}: every line held. The copy asks for the same tokens as the ledger did"
        where.answer(value, lambda view: view.say(words))
        return 0
    with Ledger(where.url, key=where.key_file) as ledger:
        found = ledger.verify(public_key=public_key)
        signs = ledger.public_key is None or ledger.receipt(1).signature is not None
    value |= {"entries": found.entries, "holds": found.holds, "known": found.known, "signs": signs}

    def show(view: Any) -> None:
        view.say(f"imported {_entries(found.entries)} into {where.shown}. {found.explain()}")
        if not signs:
            view.say("its signing key is not here: until --key-file names it, the ledger can only be read")

    where.answer(value, show)
    return 0 if found else 1


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
    with stream, reporting("importing") as advance:

        def read() -> Iterator[str]:
            done = 0
            for line in stream:
                done += len(line)
                if advance is not None:
                    advance(done, total)
                yield line.decode("utf-8", "replace")  # what is damaged is refused where it stands

        yield read()


@ledger_command(
    "quiltwork ledger receipt spend.json --public-key kG7...=", "quiltwork ledger receipt 12 --save spend.json"
)
def receipt(
    where: Where,
    which: Annotated[str, typer.Argument(metavar="FILE|NUMBER", help="A saved receipt, or the number of an entry.")],
    public_key: Annotated[
        str | None, typer.Option(help="The ledger's public key, as you were told it: who else could have signed?")
    ] = None,
    target: Annotated[Path | None, typer.Option("--save", metavar="FILE", help="Save the receipt of an entry.")] = None,
) -> int:
    """Show a receipt and check it: a file offline, without the ledger, or that of an entry."""
    from quiltwork.ledger.chain.receipts import Receipt

    if which.isascii() and which.isdigit():
        if target is not None:
            where.check_target(target)
        with where.reached() as ledger:
            found = ledger.receipt(int(which) if len(which) < 20 else -1)
    else:
        if target is not None:
            raise InvalidParameter("save", str(target), "left out", "this receipt is a file already")
        found = Receipt.load(which)
    problem = None
    try:
        found.check(public_key)
    except BrokenChain as error:
        problem = error.problem
    value = {"schema": "quiltwork/receipt-check/1", "holds": problem is None, "problem": problem}
    value |= {"public_key_given": public_key is not None, "receipt": found.to_json()}
    where.answer(value, lambda view: view.show_check(found, problem, public_key))
    if target is not None and save(found, target):
        return 2
    return 0 if problem is None else 1


@ledger_command("quiltwork ledger key /etc/quiltwork/ledger.key --make", without=("token_file", "key_file"))
def key(
    where: Where,
    file: Annotated[Path | None, typer.Argument(help="A key file; without it the key of the ledger.")] = None,
    make: Annotated[bool, typer.Option("--make", help="Make a new key and its file, readable by you alone.")] = False,
) -> None:
    """Show the public key that checks receipts, or make a signing key."""
    from quiltwork.ledger.chain.keys import SigningKey

    if file is None:
        if make:
            raise InvalidParameter("file", None, "the name of the new key file")
        with where.reached() as ledger:
            public = ledger.public_key
    elif make and file.exists():
        raise InvalidParameter("file", str(file), "a file that does not exist yet", "keys are never replaced")
    else:
        public = (SigningKey.create(file) if make else SigningKey.load(file)).public
    value = {"schema": "quiltwork/key/1", "public_key": public, "file": None if file is None else str(file)}
    where.answer(value, lambda _: print("this ledger does not sign" if public is None else public))
    if make and not where.as_json:
        print(f"wrote {file}; keep it secret, and keep a copy: nobody else can sign for its ledger", file=sys.stderr)


@ledger_command("quiltwork ledger rotate /etc/quiltwork/next.key")
def rotate(
    where: Where,
    file: Annotated[Path, typer.Argument(help="The key file that signs next; made if it is not there.")],
    receipt: Saved = None,
) -> int:
    """Let another key sign from now on; old receipts stay valid for the old one."""
    code = where.act(lambda ledger: ledger.rotate(file), receipt)
    if not where.as_json:
        words = f"from now on give --key-file {file}, or set QUILTWORK_LEDGER_KEY, wherever the ledger is written to"
        print(words, file=sys.stderr)
    return code


@ledger_command("quiltwork ledger accept-clock 'the clock of the job machine was a day ahead'")
def accept_clock(
    where: Where,
    note: Annotated[str, typer.Argument(metavar="NOTE", help="What happened.", show_default=False)],
    receipt: Saved = None,
) -> int:
    """Go on from the time it is now, after a machine whose clock was ahead wrote to the ledger."""
    return where.act(lambda ledger: ledger.accept_clock(note), receipt)


@ledger_command("quiltwork ledger upgrade --ledger budgets.db", without=("token_file",))
def upgrade(where: Where) -> None:
    """Bring an older ledger to this release: it is verified as a whole, then its head is signed anew."""
    from quiltwork.ledger.ledger import Ledger
    from quiltwork.ledger.store.schema import HEAD

    where.check_there()
    before = Ledger.upgrade(where.url, key=where.key_file)
    words = "is up to date" if before == HEAD else f"was brought from version {before} to"
    value = {"schema": "quiltwork/upgraded/1", "before": before, "after": HEAD}
    where.answer(value, lambda view: view.say(f"the ledger {words} (version {HEAD})"))


def _entries(count: int) -> str:
    return f"{count:,} entr{'y' if count == 1 else 'ies'}"
