"""`quiltwork influence`: what correlated entries tell about each other, and what releases then leak."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from quiltwork.cli.options import AsJson, Html, Markdown, single
from quiltwork.errors import InvalidParameter

if TYPE_CHECKING:
    from quiltwork.spec.files.prior import PriorFile

LARGEST = 4096  # size that may be asked for
PAIR = "P,Q, two probabilities of staying such as 0.8,0.9"


@single(
    "quiltwork influence --binary 0.8,0.9 --epsilon 1 --figure influence.svg",
    "quiltwork influence examples/plans/activity.yaml --per-entry 0.1 --delta 1e-6",
)
def influence(
    prior: Annotated[Path | None, typer.Argument(help="Prior file, YAML or JSON.", show_default=False)] = None,
    binary: Annotated[
        str | None, typer.Option(metavar="P,Q", help="A chain of two states that stays with these probabilities.")
    ] = None,
    max_size: Annotated[int | None, typer.Option(help="List sizes up to this one.")] = None,
    epsilon: Annotated[float | None, typer.Option(help="Answer the per-entry epsilon that keeps this target.")] = None,
    per_entry: Annotated[float | None, typer.Option(help="Answer what this per-entry epsilon leaks.")] = None,
    delta: Annotated[float | None, typer.Option(help="Answer at this delta instead of the target's.")] = None,
    plan: Annotated[
        Path | None, typer.Option(help="Plan file: releases that are private for each entry, composed.")
    ] = None,
    as_json: AsJson = False,
    csv: Annotated[Path | None, typer.Option(help="Also write every size, its influence and its status.")] = None,
    figure: Annotated[Path | None, typer.Option(help="Also draw the influence: .svg, .png or .pdf.")] = None,
    html: Html = None,
    markdown: Markdown = None,
) -> None:
    """Show how much correlated entries tell about each other, and what releases then leak about one of them.

    Give a prior file or --binary.
    """
    from quiltwork import checks
    from quiltwork.cli.files import check_writable
    from quiltwork.cli.terminal import detail, figure_kind, plan_at, told, waiting
    from quiltwork.report.answers.influence import sizes_csv, view
    from quiltwork.report.pages.influence import influence_report
    from quiltwork.spec.files.plan import read_plan

    figure_kind(figure)  # refused before the work, not after it
    check_writable(html=html, markdown=markdown)
    if max_size is not None and not 1 <= max_size <= LARGEST:
        raise InvalidParameter("max-size", max_size, f"a number from 1 to {LARGEST}")
    with waiting("following influence"):
        found = view(
            _file(prior, binary),
            None if plan is None else plan_at(plan, read_plan),
            max_size=max_size,
            epsilon=None if epsilon is None else checks.moderate("epsilon", epsilon),
            per_entry=None if per_entry is None else checks.moderate("per-entry", per_entry),
            delta=None if delta is None else checks.probability("delta", delta),
        )
        report = influence_report(found, detail(figure, html, markdown))
    raise typer.Exit(
        told(report, as_json, html=html, markdown=markdown, figure=figure, csv=csv, table=sizes_csv(found))
    )


def _file(path: Path | None, binary: str | None) -> PriorFile:
    """The prior file, or one of the binary chain that is named."""
    from quiltwork import checks
    from quiltwork.cli.terminal import plan_at
    from quiltwork.numbers.digits import single as said
    from quiltwork.spec.files.prior import prior_from, read_prior

    if path is not None and binary is not None:
        raise InvalidParameter("the input", "both", "either a prior file or --binary")
    if path is not None:
        return plan_at(path, read_prior)
    if binary is None:
        raise InvalidParameter("the input", "nothing", "a prior file, or --binary P,Q")
    try:
        p, q = (checks.probability(f"each number of --binary {binary!r}", float(part)) for part in binary.split(","))
    except InvalidParameter:
        raise
    except ValueError:
        raise InvalidParameter("--binary", binary, PAIR) from None
    chain = {"transition": [[p, 1 - p], [1 - q, q]]}
    title = f"Binary chain that stays with probability {said(p)} in 0 and {said(q)} in 1"
    return prior_from({"quiltwork": 1, "title": title, "prior": {"markov_chain": chain}})
