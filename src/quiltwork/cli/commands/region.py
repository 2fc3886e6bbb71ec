"""`quiltwork region`: the privacy region of a set of constraints, or of a plan, composed any number of times."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from quiltwork.cli.options import AsJson, Html, Markdown, single
from quiltwork.errors import InvalidParameter

if TYPE_CHECKING:
    from quiltwork.spec import Plan

PAIR = "EPSILON,DELTA, two numbers such as 0.5,1e-6"


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
    from quiltwork import checks
    from quiltwork.cli.files import check_writable
    from quiltwork.cli.terminal import detail, figure_kind, told, waiting
    from quiltwork.report.answers.region import faces_csv, view
    from quiltwork.report.pages.region import region_report

    figure_kind(figure)  # refused before the work, not after it
    check_writable(html=html, markdown=markdown)
    asked = {
        name: check(name, value)
        for name, value, check in (
            ("delta", delta, checks.probability),
            ("epsilon", epsilon, checks.non_negative),
            ("alpha", alpha, checks.probability),
        )
        if value is not None
    }
    with waiting("composing"):
        found = view(_plan(plan, constraint or []), checks.count("times", times, least=1), asked)
        report = region_report(found, detail(figure, html, markdown))
    table = faces_csv(found.region)
    raise typer.Exit(told(report, as_json, html=html, markdown=markdown, figure=figure, csv=csv, table=table))


def _plan(path: Path | None, constraints: Sequence[str]) -> Plan:
    """The plan file, or a plan of the one release that satisfies every constraint."""
    from quiltwork.cli.terminal import plan_at
    from quiltwork.spec import plan_from, read_plan

    if path is not None and constraints:
        raise InvalidParameter("the input", "both", "either a plan file or --constraint")
    if path is not None:
        return plan_at(path, read_plan)
    if not constraints:
        raise InvalidParameter("the input", "nothing", "a plan file, or --constraint EPSILON,DELTA once or more")
    points = [dict(zip(("epsilon", "delta"), parsed(text), strict=True)) for text in constraints]
    title = "One guarantee" if len(points) == 1 else f"{len(points)} guarantees at once"
    release = {"name": "release", "constraints": {"points": points}}
    return plan_from({"quiltwork": 1, "title": title, "releases": [release]})


def parsed(text: str) -> tuple[float, float]:
    """The constraint in a text such as "0.5,1e-6"."""
    from quiltwork import checks

    try:
        epsilon, delta = (float(part) for part in text.split(","))
    except ValueError:
        raise InvalidParameter("--constraint", text, PAIR) from None
    of = f"of --constraint {text!r}"
    return checks.non_negative(f"epsilon {of}", epsilon), checks.probability(f"delta {of}", delta)
