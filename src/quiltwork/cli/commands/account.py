"""The options of `quiltwork account`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from quiltwork.cli.help import single
from quiltwork.cli.options import AsJson, Delta, Figure, Html, Markdown


@single(
    "quiltwork account examples/plans/hospital.yaml",
    "quiltwork account plan.yaml --html report.html --figure curves.svg",
    "quiltwork account plan.yaml --delta 1e-9 --json",
)
def account(
    plan: Annotated[
        Path, typer.Argument(help="Plan file, YAML or JSON; a table plan, prior or world file too.", show_default=False)
    ],
    delta: Delta = None,
    as_json: AsJson = False,
    html: Html = None,
    markdown: Markdown = None,
    figure: Figure = None,
) -> None:
    """Account a plan: the certified total, each release, the targets, simpler rules beside it."""
    from quiltwork.cli.account import run

    raise typer.Exit(run(plan, delta, as_json, html, figure, markdown))
