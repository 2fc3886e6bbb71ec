"""`quiltwork design`: what releases tell about a secret behind the data, and the next one designed."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Literal

import typer

from quiltwork.cli.options import AsJson, Html, Markdown, single
from quiltwork.errors import InvalidParameter


@single(
    "quiltwork design examples/worlds/medical.yaml --csv channel.csv --figure design.svg",
    "quiltwork design world.yaml --epsilon 1 --time-limit 60",
)
def design(
    world: Annotated[Path, typer.Argument(help="World file, YAML or JSON.", show_default=False)],
    epsilon: Annotated[float | None, typer.Option(help="Design for this epsilon instead of the file's target.")] = None,
    delta: Annotated[float | None, typer.Option(help="Answer at this delta instead of the target's.")] = None,
    time_limit: Annotated[
        float | None, typer.Option(help="Stop after so many seconds, with the best certified answer.")
    ] = None,
    gap: Annotated[float | None, typer.Option(help="Stop when the cost is this near the best, relative.")] = None,
    exact: Annotated[bool, typer.Option("--exact", help="Solve in fractions; needs odds and fractions.")] = False,
    family: Annotated[
        Literal["laplace", "gaussian"] | None, typer.Option(help="Calibrated noise of this family instead.")
    ] = None,
    no_compare: Annotated[bool, typer.Option("--no-compare", help="Leave out the comparison with noise.")] = False,
    as_json: AsJson = False,
    csv: Annotated[Path | None, typer.Option(help="Also write the certified channel, a row for each input.")] = None,
    figure: Annotated[
        Path | None, typer.Option(help="Also draw before, after and the channel: .svg, .png, .pdf.")
    ] = None,
    html: Html = None,
    markdown: Markdown = None,
) -> None:
    """Show what releases tell about a secret behind the data, and design the next one.

    Without a target in the world file, and without --epsilon, what was released is evaluated only.
    """
    from quiltwork import checks
    from quiltwork.cli.files import check_writable
    from quiltwork.cli.terminal import detail, figure_kind, plan_at, told
    from quiltwork.report.answers.design import channel_csv, view
    from quiltwork.report.pages.design import world_report
    from quiltwork.spec.files.world import read_world

    figure_kind(figure)  # refused before the work, not after it
    check_writable(html=html, markdown=markdown)
    file = plan_at(world, read_world)
    if csv is not None and epsilon is None and file.target is None:
        raise InvalidParameter("--csv", str(csv), "given with a target", "without one nothing is designed")
    found = view(
        file,
        epsilon=None if epsilon is None else checks.non_negative("epsilon", epsilon),
        delta=None if delta is None else checks.probability("delta", delta),
        time_limit=None if time_limit is None else checks.positive("time-limit", time_limit),
        gap=None if gap is None else checks.rate("gap", gap),
        exact=exact,
        family=family,
        compare=not no_compare,
    )
    report = world_report(found, detail(figure, html, markdown))
    if csv is not None and found.design is None:
        print(f"{csv} was not written: there is no table", file=sys.stderr)
    table = None if found.design is None else channel_csv(found, found.design)
    raise typer.Exit(told(report, as_json, html=html, markdown=markdown, figure=figure, csv=csv, table=table))
