"""`quiltwork tables`: the worst step of a table plan, and what that costs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from quiltwork.cli.help import single
from quiltwork.cli.options import AsJson
from quiltwork.errors import InvalidPlan

SHOWN = 20  # entries of the file, unless all are asked for


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
    from quiltwork import checks
    from quiltwork.cli.terminal import plan_at, told
    from quiltwork.errors import UnboundedLossError
    from quiltwork.report.answers.tables import view
    from quiltwork.report.pages.tables import refused_table_report, table_report
    from quiltwork.spec.files.table_plan import read_table_plan

    spec = plan_at(plan, read_table_plan)
    if delta is not None:
        checks.probability("delta", delta)
    try:
        found = view(spec, delta, [_notion(text) for text in to or []])
        report = table_report(found, "words", None if everything else SHOWN)
    except UnboundedLossError as error:
        report = refused_table_report(spec, error)
    raise typer.Exit(told(report, as_json))


def _notion(text: str) -> Any:
    """A notion as it is written in a plan file, such as "add_remove" or "user: {id: patient, max_records: 3}"."""
    from quiltwork.spec.fields.notions import Notion
    from quiltwork.spec.text.read import parse_as

    try:
        return parse_as(Notion, text)
    except InvalidPlan as error:
        where = "" if error.where == "the plan" else f"{error.where} "
        raise InvalidPlan(f"--to {text!r}", f"{where}{error.problem}") from None
