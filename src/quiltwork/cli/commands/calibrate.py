"""The options of `quiltwork calibrate`."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from quiltwork.cli.help import single
from quiltwork.cli.options import AsJson


class Mechanism(StrEnum):
    """What `calibrate` can tune."""

    gaussian = "gaussian"
    laplace = "laplace"
    discrete_gaussian = "discrete_gaussian"
    discrete_laplace = "discrete_laplace"
    pure = "pure"
    gdp = "gdp"
    zcdp = "zcdp"


@single(
    "quiltwork calibrate gaussian --epsilon 1 --delta 1e-6 --count 1000 --rate 0.01",
    "quiltwork calibrate laplace --epsilon 0.5 --delta 0 --sensitivity 2",
)
def calibrate(
    mechanism: Annotated[Mechanism, typer.Argument(help=f"What to tune: {', '.join(Mechanism)}.", show_default=False)],
    epsilon: Annotated[float, typer.Option(help="Target epsilon of everything together.", show_default=False)],
    delta: Annotated[float, typer.Option(help="Target delta.", show_default=False)],
    count: Annotated[int, typer.Option(help="How many such releases there will be.")] = 1,
    rate: Annotated[float, typer.Option(help="Poisson sampling rate of each release.")] = 1.0,
    sensitivity: Annotated[float | None, typer.Option(help="Sensitivity of the query.", show_default="1")] = None,
    as_json: AsJson = False,
) -> None:
    """Find the least noise (or the largest budget of each release) that meets a target."""
    from quiltwork.cli.calibrate import run

    raise typer.Exit(run(mechanism.value, epsilon, delta, count, rate, sensitivity, as_json))
