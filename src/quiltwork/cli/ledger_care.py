"""`quiltwork ledger ...`: commands that change whole budgets, and check, copy and guard a ledger."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from quiltwork.cli.help import examples, one_of
from quiltwork.cli.ledger import ledger_app  # its commands come first
from quiltwork.cli.ledger_options import HOME, AsJson, KeyFile, Name, Note, Saved, TokenFile, Url, ledger_command

__all__ = ["ledger_app"]

Role = Annotated[
    str,
    typer.Argument(
        metavar="ROLE",
        help="viewer, spender or admin.",
        show_default=False,
        autocompletion=one_of("viewer", "spender", "admin"),
    ),
]
Principal = Annotated[str, typer.Argument(metavar="NAME", help="Who it is.", show_default=False)]


@ledger_command(epilog=examples("quiltwork ledger pause patients --note 'under review'"))
def pause(
    name: Name,
    note: Note = "",
    receipt: Saved = None,
    ledger: Url = HOME,
    token_file: TokenFile = None,
    key_file: KeyFile = None,
    as_json: AsJson = False,
) -> None:
    """Nothing can be spent until the budget is resumed."""
    from quiltwork.cli.ledger_reach import Where
    from quiltwork.cli.ledger_work import changed

    raise typer.Exit(changed(Where(ledger, token_file, key_file, as_json), "pause", name, note, receipt))


@ledger_command(epilog=examples("quiltwork ledger resume patients"))
def resume(
    name: Name,
    note: Note = "",
    receipt: Saved = None,
    ledger: Url = HOME,
    token_file: TokenFile = None,
    key_file: KeyFile = None,
    as_json: AsJson = False,
) -> None:
    """Spending from a paused budget goes on."""
    from quiltwork.cli.ledger_reach import Where
    from quiltwork.cli.ledger_work import changed

    raise typer.Exit(changed(Where(ledger, token_file, key_file, as_json), "resume", name, note, receipt))


@ledger_command(epilog=examples("quiltwork ledger close patients --note 'the study is over'"))
def close(
    name: Name,
    note: Note = "",
    receipt: Saved = None,
    ledger: Url = HOME,
    token_file: TokenFile = None,
    key_file: KeyFile = None,
    as_json: AsJson = False,
) -> None:
    """Nothing can be spent from the budget any more, ever."""
    from quiltwork.cli.ledger_reach import Where
    from quiltwork.cli.ledger_work import changed

    raise typer.Exit(changed(Where(ledger, token_file, key_file, as_json), "close", name, note, receipt))


@ledger_command(
    epilog=examples(
        "quiltwork ledger verify --receipt kept-elsewhere.json", "quiltwork ledger verify --public-key kG7...="
    )
)
def verify(
    receipt: Annotated[
        list[Path] | None, typer.Option(metavar="FILE", help="A receipt that must be in the chain; repeat.")
    ] = None,
    public_key: Annotated[
        str | None, typer.Option(help="The key that must have signed; without it that of the key file, if it is here.")
    ] = None,
    ledger: Url = HOME,
    token_file: TokenFile = None,
    key_file: KeyFile = None,
    as_json: AsJson = False,
) -> None:
    """Check that every entry and every row is as it was written; exit code 1 if not."""
    from quiltwork.cli.ledger_care_work import verified
    from quiltwork.cli.ledger_reach import Where

    raise typer.Exit(verified(Where(ledger, token_file, key_file, as_json), receipt or [], public_key))


@ledger_command(epilog=examples("quiltwork ledger export backup.jsonl"))
def export(
    file: Annotated[
        Path | None, typer.Argument(help="File to write, whole or not at all; without it the terminal.")
    ] = None,
    ledger: Url = HOME,
    token_file: TokenFile = None,
    key_file: KeyFile = None,
    as_json: AsJson = False,
) -> None:
    """Write the whole chain as JSON lines."""
    from quiltwork.cli.ledger_care_work import exported
    from quiltwork.cli.ledger_reach import Where

    raise typer.Exit(exported(Where(ledger, token_file, key_file, as_json), file))


@ledger_command("import", epilog=examples("quiltwork ledger import backup.jsonl --ledger restored.db"))
def import_(
    file: Annotated[Path, typer.Argument(help="An export; - reads what is piped in.", show_default=False)],
    receipt: Annotated[
        list[Path] | None, typer.Option(metavar="FILE", help="A receipt that must be in it, of a late entry; repeat.")
    ] = None,
    public_key: Annotated[
        str | None, typer.Option(help="The key that must have signed it, as quiltwork ledger key printed it.")
    ] = None,
    ledger: Url = HOME,
    key_file: KeyFile = None,
    as_json: AsJson = False,
) -> None:
    """Make a new ledger from an export; refused, and nothing made, when it does not hold together."""
    from quiltwork.cli.ledger_care_work import imported
    from quiltwork.cli.ledger_reach import Where

    raise typer.Exit(imported(Where(ledger, None, key_file, as_json), file, receipt or [], public_key))


@ledger_command(
    epilog=examples(
        "quiltwork ledger receipt spend.json --public-key kG7...=", "quiltwork ledger receipt 12 --save spend.json"
    )
)
def receipt(
    which: Annotated[str, typer.Argument(metavar="FILE|NUMBER", help="A saved receipt, or the number of an entry.")],
    public_key: Annotated[
        str | None, typer.Option(help="The ledger's public key, as you were told it: who else could have signed?")
    ] = None,
    save: Annotated[Path | None, typer.Option(metavar="FILE", help="Save the receipt of an entry.")] = None,
    ledger: Url = HOME,
    token_file: TokenFile = None,
    key_file: KeyFile = None,
    as_json: AsJson = False,
) -> None:
    """Show a receipt and check it: a file offline, without the ledger, or that of an entry."""
    from quiltwork.cli.ledger_care_work import receipted
    from quiltwork.cli.ledger_reach import Where

    raise typer.Exit(receipted(Where(ledger, token_file, key_file, as_json), which, public_key, save))


@ledger_command(epilog=examples("quiltwork ledger key /etc/quiltwork/ledger.key --make"))
def key(
    file: Annotated[Path | None, typer.Argument(help="A key file; without it the key of the ledger.")] = None,
    make: Annotated[bool, typer.Option("--make", help="Make a new key and its file, readable by you alone.")] = False,
    ledger: Url = HOME,
    as_json: AsJson = False,
) -> None:
    """Show the public key that checks receipts, or make a signing key."""
    from quiltwork.cli.ledger_people import keyed
    from quiltwork.cli.ledger_reach import Where

    raise typer.Exit(keyed(Where(ledger, None, None, as_json), file, make))


@ledger_command(epilog=examples("quiltwork ledger rotate /etc/quiltwork/next.key"))
def rotate(
    file: Annotated[Path, typer.Argument(help="The key file that signs next; made if it is not there.")],
    receipt: Saved = None,
    ledger: Url = HOME,
    token_file: TokenFile = None,
    key_file: KeyFile = None,
    as_json: AsJson = False,
) -> None:
    """Let another key sign from now on; old receipts stay valid for the old one."""
    from quiltwork.cli.ledger_people import rotated
    from quiltwork.cli.ledger_reach import Where

    raise typer.Exit(rotated(Where(ledger, token_file, key_file, as_json), file, receipt))


@ledger_command(
    "accept-clock", epilog=examples("quiltwork ledger accept-clock 'the clock of the job machine was a day ahead'")
)
def accept_clock(
    note: Annotated[str, typer.Argument(metavar="NOTE", help="What happened.", show_default=False)],
    receipt: Saved = None,
    ledger: Url = HOME,
    token_file: TokenFile = None,
    key_file: KeyFile = None,
    as_json: AsJson = False,
) -> None:
    """Go on from the time it is now, after a machine whose clock was ahead wrote to the ledger."""
    from quiltwork.cli.ledger_reach import Where
    from quiltwork.cli.ledger_work import acted

    where = Where(ledger, token_file, key_file, as_json)
    raise typer.Exit(acted(where, lambda book: book.accept_clock(note), receipt))


@ledger_command(
    epilog=examples(
        "quiltwork ledger admit ada admin --save ada.token",
        "quiltwork ledger admit jobs spender --expires 2027-01-01T00:00Z",
    )
)
def admit(
    name: Principal,
    role: Role,
    expires: Annotated[str | None, typer.Option(metavar="TIME", help="When the token ends: 2027-01-01T00:00Z.")] = None,
    save: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the token to a new file, readable by you alone.")
    ] = None,
    ledger: Url = HOME,
    token_file: TokenFile = None,
    key_file: KeyFile = None,
    as_json: AsJson = False,
) -> None:
    """Name somebody who may use the ledger, and show the token this once.

    The first one must be an admin; from then on every use of the ledger asks for a token.
    """
    from quiltwork.cli.ledger_people import admitted
    from quiltwork.cli.ledger_reach import Where

    raise typer.Exit(admitted(Where(ledger, token_file, key_file, as_json), name, role, expires, save))


@ledger_command(epilog=examples("quiltwork ledger revoke ada"))
def revoke(
    name: Principal,
    receipt: Saved = None,
    ledger: Url = HOME,
    token_file: TokenFile = None,
    key_file: KeyFile = None,
    as_json: AsJson = False,
) -> None:
    """End somebody's token now."""
    from quiltwork.cli.ledger_people import revoked
    from quiltwork.cli.ledger_reach import Where

    raise typer.Exit(revoked(Where(ledger, token_file, key_file, as_json), name, receipt))


@ledger_command(epilog=examples("quiltwork ledger principals --token-file ada.token"))
def principals(
    ledger: Url = HOME,
    token_file: TokenFile = None,
    key_file: KeyFile = None,
    as_json: AsJson = False,
) -> None:
    """Everybody who was admitted."""
    from quiltwork.cli.ledger_people import named
    from quiltwork.cli.ledger_reach import Where

    raise typer.Exit(named(Where(ledger, token_file, key_file, as_json)))


@ledger_command(epilog=examples("quiltwork ledger upgrade --ledger budgets.db"))
def upgrade(ledger: Url = HOME, as_json: AsJson = False) -> None:
    """Bring the tables of an older ledger to this release."""
    from quiltwork.cli.ledger_people import upgraded
    from quiltwork.cli.ledger_reach import Where

    raise typer.Exit(upgraded(Where(ledger, None, None, as_json)))
