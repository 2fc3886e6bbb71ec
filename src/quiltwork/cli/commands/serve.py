"""The options of `quiltwork serve`."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from quiltwork.cli.help import single


class Level(StrEnum):
    """How much `serve` writes to its log."""

    info = "info"
    warning = "warning"
    error = "error"


@single(
    "quiltwork serve",
    "quiltwork serve --ledger budgets.db --open",
    "quiltwork serve --ledger postgresql+psycopg://USER@HOST/DATABASE --port 9000",
)
def serve(
    ledger: Annotated[
        str | None,
        typer.Option(
            metavar="URL",
            envvar="QUILTWORK_LEDGER",
            help="SQLite file, sqlite:///FILE or postgresql+psycopg://USER@HOST/DATABASE; without it there are plans "
            "and explorers only.",
        ),
    ] = None,
    key_file: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="File of the key that signs; without it QUILTWORK_LEDGER_KEY, or FILE.key beside a SQLite file.",
        ),
    ] = None,
    host: Annotated[str, typer.Option(metavar="ADDRESS", help="Where to listen.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(metavar="PORT", help="Where to listen; 0 takes a free one.")] = 8765,
    name: Annotated[
        list[str] | None,
        typer.Option(metavar="HOST", help="A host name under which a public service is reached; repeat for more."),
    ] = None,
    open_browser: Annotated[bool, typer.Option("--open", help="Open the first page in a browser.")] = False,
    public: Annotated[
        bool, typer.Option("--public", help="Others reach it, through TLS; needs --name and tokens.")
    ] = False,
    log_level: Annotated[Level, typer.Option(help="How much to write to the log.")] = Level.info,
) -> None:
    """Serve budgets, plans and explorers as pages and as an HTTP interface."""
    from quiltwork.cli.serve import run

    raise typer.Exit(run(ledger, key_file, host, port, name or [], open_browser, public, log_level.value))
