"""The options of `quiltwork region`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from quiltwork.cli.help import single
from quiltwork.cli.options import AsJson, Html, Markdown


@single(
    "quiltwork region --constraint 0.3,0 --constraint 0.15,0.02 --times 20 --figure region.svg",
    "quiltwork region plan.yaml --delta 1e-6 --csv faces.csv",
)
def region(
    plan: Annotated[Path | None, typer.Argument(help="Plan file, YAML or JSON.", show_default=False)] = None,
    constraint: Annotated[
        list[str] | None,
        typer.Option(metavar="EPSILON,DELTA", help="One guarantee; repeat for all that hold at once."),
    ] = None,
    times: Annotated[int, typer.Option(help="How often it is all released.")] = 1,
    delta: Annotated[float | None, typer.Option(help="Answer epsilon at this delta.")] = None,
    epsilon: Annotated[float | None, typer.Option(help="Answer delta at this epsilon.")] = None,
    alpha: Annotated[float | None, typer.Option(help="Answer the least misses at these false alarms.")] = None,
    as_json: AsJson = False,
    csv: Annotated[Path | None, typer.Option(help="Also write every face, epsilon and delta.")] = None,
    figure: Annotated[Path | None, typer.Option(help="Also draw the region: .svg, .png or .pdf.")] = None,
    html: Html = None,
    markdown: Markdown = None,
) -> None:
    """Show the exact privacy region of guarantees that hold at once, composed, beside one at a time.

    Give a plan file or --constraint. With both --epsilon and --delta it also says whether that pair holds.
    """
    from quiltwork.cli.region import run

    raise typer.Exit(run(plan, constraint or [], times, delta, epsilon, alpha, as_json, csv, figure, html, markdown))
