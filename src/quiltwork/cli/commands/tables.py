"""The options of `quiltwork tables`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from quiltwork.cli.help import single
from quiltwork.cli.options import AsJson


@single(
    "quiltwork tables examples/plans/clinics.yaml --to add_remove",
    "quiltwork tables plan.yaml --delta 1e-6 --all",
)
def tables(
    plan: Annotated[Path, typer.Argument(help="Table plan file, YAML or JSON.", show_default=False)],
    delta: Annotated[float | None, typer.Option(help="Answer at this delta instead of the first target's.")] = None,
    to: Annotated[
        list[str] | None,
        typer.Option(metavar="NOTION", help="Also answer for this notion of neighbour, as a plan writes it; repeat."),
    ] = None,
    as_json: AsJson = False,
    everything: Annotated[bool, typer.Option("--all", help="Show every query of a long plan.")] = False,
) -> None:
    """Account overlapping queries on one table: the worst step of its neighbours, and what that costs."""
    from quiltwork.cli.tables import run

    raise typer.Exit(run(plan, delta, to or [], as_json, everything))
