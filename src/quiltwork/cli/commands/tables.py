"""`quiltwork tables`: the worst step of a table plan, and what that costs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from quiltwork.cli.options import AsJson, Html, Markdown, single

if TYPE_CHECKING:
    from quiltwork.document.page import Report
    from quiltwork.spec.files.table_plan import TablePlan

SHOWN = 20  # entries of the file, unless all are asked for


@single(
    "quiltwork tables examples/plans/clinics.yaml --to add_remove",
    "quiltwork tables plan.yaml --delta 1e-6 --all",
    "quiltwork tables plan.yaml --between before.csv after.csv",
)
def tables(
    plan: Annotated[Path, typer.Argument(help="Table plan file, YAML or JSON.", show_default=False)],
    delta: Annotated[float | None, typer.Option(help="Answer at this delta instead of the first target's.")] = None,
    to: Annotated[
        list[str] | None,
        typer.Option(metavar="NOTION", help="Also answer for this notion of neighbour, as a plan writes it; repeat."),
    ] = None,
    between: Annotated[
        tuple[Path, Path] | None,
        typer.Option(metavar="CSV CSV", help="Instead: how far these two tables are, query by query."),
    ] = None,
    as_json: AsJson = False,
    everything: Annotated[bool, typer.Option("--all", help="Show every query of a long plan.")] = False,
    html: Html = None,
    markdown: Markdown = None,
) -> None:
    """Account overlapping queries on one table: the worst step of its neighbours, and what that costs."""
    from quiltwork import checks
    from quiltwork.cli.files import check_writable
    from quiltwork.cli.terminal import detail, parsed, plan_at, told, waiting
    from quiltwork.errors import UnboundedLossError
    from quiltwork.report.answers.tables import view
    from quiltwork.report.pages.tables import refused_table_report, table_report
    from quiltwork.spec.fields.notions import Notion
    from quiltwork.spec.files.table_plan import read_table_plan

    check_writable(html=html, markdown=markdown)
    spec = plan_at(plan, read_table_plan)
    if delta is not None:
        checks.probability("delta", delta)
    if between is not None:
        raise typer.Exit(told(_apart(spec, between, delta, everything), as_json, html=html, markdown=markdown))
    try:
        notions = [parsed(Notion, text, "--to") for text in to or []]
        with waiting("searching the worst neighbours"):
            found = view(spec, delta, notions)
            report = table_report(found, detail(html, markdown), None if everything else SHOWN)
    except UnboundedLossError as error:
        report = refused_table_report(spec, error)
    raise typer.Exit(told(report, as_json, html=html, markdown=markdown))


def _apart(spec: TablePlan, files: tuple[Path, Path], delta: float | None, everything: bool) -> Report:
    """How far two tables are."""
    from quiltwork.cli.records import records_of
    from quiltwork.report.pages.apart import apart_report

    plan = spec.plan()
    first, second = (records_of(path, plan.table) for path in files)
    names = [path.name for path in files]
    wanted = delta if delta is not None else spec.targets[0].delta if spec.targets else 0.0
    return apart_report(spec.title, plan, plan.how_far(first, second), names, wanted, everything)
