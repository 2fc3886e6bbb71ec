"""The options of `quiltwork report`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from quiltwork.cli.help import single
from quiltwork.cli.options import Delta


@single(
    "quiltwork report plan.yaml tables.yaml --out privacy.html",
    "quiltwork report plan.yaml --ledger budgets.db --budget patients --out privacy.md",
)
def report(
    files: Annotated[
        list[Path] | None,
        typer.Argument(help="Plans, table plans, prior, world and budget files.", show_default=False),
    ] = None,
    out: Annotated[Path, typer.Option(metavar="FILE", help="The report to write: .html, .md or .json.")] = Path(
        "quiltwork-report.html"
    ),
    delta: Delta = None,
    ledger: Annotated[
        str | None, typer.Option(metavar="URL", envvar="QUILTWORK_LEDGER", help="The ledger of the budgets.")
    ] = None,
    budget: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="A budget of the ledger to show over time; repeat.")
    ] = None,
) -> None:
    """Write one report of several files and budgets."""
    from quiltwork.cli.report import run

    raise typer.Exit(run(files or [], out, delta, ledger, budget or []))
