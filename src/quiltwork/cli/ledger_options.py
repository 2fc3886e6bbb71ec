"""The options that the commands of `quiltwork ledger` share."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from quiltwork.cli.help import Command, app_of
from quiltwork.cli.options import AsJson

__all__ = ["AsJson", "ledger_app", "ledger_command"]

HOME = "sqlite:///quiltwork.db"
PANEL = "Where, and who asks"
LOSS = "The loss of one run, as a plan file writes it: 'gaussian: {sigma: 40}'."

ledger_app = app_of(
    "ledger",
    help="Budgets that last: opened once, spent by many, never overspent, every entry checked.",
    epilog="Exit codes: 0 done, 1 refused or it does not hold, 2 bad input or out of reach.",
)
ledger_command = partial(ledger_app.command, cls=Command)

Url = Annotated[
    str,
    typer.Option(
        "--ledger",
        metavar="URL",
        envvar="QUILTWORK_LEDGER",
        help="SQLite file, sqlite:///FILE or postgresql+psycopg://USER@HOST/DATABASE.",
        rich_help_panel=PANEL,
    ),
]
TokenFile = Annotated[
    Path | None,
    typer.Option(
        "--token-file",
        metavar="FILE",
        help="File that holds the token of who asks; without it QUILTWORK_TOKEN is read.",
        rich_help_panel=PANEL,
    ),
]
KeyFile = Annotated[
    Path | None,
    typer.Option(
        "--key-file",
        metavar="FILE",
        help="File of the key that signs; without it QUILTWORK_LEDGER_KEY, or FILE.key beside a SQLite file.",
        rich_help_panel=PANEL,
    ),
]
Name = Annotated[str, typer.Argument(metavar="NAME", help="Name of the budget.", show_default=False)]
Number = Annotated[
    int, typer.Argument(metavar="NUMBER", help="Number of the reservation, as reserve printed it.", show_default=False)
]
Loss = Annotated[str | None, typer.Argument(metavar="[LOSS]", help=LOSS, show_default=False)]
Release = Annotated[str | None, typer.Option(help="Name of a planned release, for a planned budget.")]
Plan = Annotated[Path | None, typer.Option(help="Plan file: everything in it, composed, instead of a loss.")]
Times = Annotated[int, typer.Option(help="How many runs.")]
Block = Annotated[
    list[str] | None, typer.Option("--block", help="A block that is read; repeat. Without it every block is.")
]
Note = Annotated[str, typer.Option(help="A remark, kept with the entry.", show_default=False)]
Key = Annotated[
    str | None, typer.Option(help="The request's own name: asked twice with the same one, it is done once.")
]
Saved = Annotated[Path | None, typer.Option("--receipt", metavar="FILE", help="Also save the signed receipt.")]
