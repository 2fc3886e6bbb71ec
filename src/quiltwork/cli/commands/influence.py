"""The options of `quiltwork influence`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from quiltwork.cli.help import single
from quiltwork.cli.options import AsJson


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
) -> None:
    """Show how much correlated entries tell about each other, and what releases then leak about one of them.

    Give a prior file or --binary.
    """
    from quiltwork.cli.influence import run

    raise typer.Exit(run(prior, binary, max_size, epsilon, per_entry, delta, plan, as_json, csv, figure))
