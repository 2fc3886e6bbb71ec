"""`quiltwork account`: account what a file holds."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from quiltwork.cli.options import AsJson, Delta, Figure, Html, Markdown, single


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
    from quiltwork import checks
    from quiltwork.cli.terminal import detail, figure_kind, plan_at, told, waiting
    from quiltwork.report.pages.anything import page_of
    from quiltwork.spec.files.file import read_any

    value = plan_at(plan, read_any)
    figure_kind(figure)  # refused before the work, not after it
    at = None if delta is None else checks.probability("delta", delta)
    with waiting("accounting"):
        report = page_of(value, at, detail(html, markdown, figure))
    raise typer.Exit(told(report, as_json, html=html, markdown=markdown, figure=figure))
