"""The options of `quiltwork design`."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from quiltwork.cli.help import single
from quiltwork.cli.options import AsJson


class NoiseFamily(StrEnum):
    """Noise that `design` can calibrate."""

    laplace = "laplace"
    gaussian = "gaussian"


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
    family: Annotated[NoiseFamily | None, typer.Option(help="Calibrated noise of this family instead.")] = None,
    no_compare: Annotated[bool, typer.Option("--no-compare", help="Leave out the comparison with noise.")] = False,
    as_json: AsJson = False,
    csv: Annotated[Path | None, typer.Option(help="Also write the certified table, whole numbers a row.")] = None,
    figure: Annotated[
        Path | None, typer.Option(help="Also draw before, after and the channel: .svg, .png, .pdf.")
    ] = None,
) -> None:
    """Show what releases tell about a secret behind the data, and design the next one.

    Without a target in the world file, and without --epsilon, what was released is evaluated only.
    """
    from quiltwork.cli.design import run

    kind = None if family is None else family.value
    raise typer.Exit(run(world, epsilon, delta, time_limit, gap, exact, kind, not no_compare, as_json, csv, figure))
