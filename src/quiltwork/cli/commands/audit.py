"""The options of `quiltwork audit`."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from quiltwork.cli.help import single
from quiltwork.cli.options import AsJson


class AuditMethod(StrEnum):
    """How `audit` turns scores into a bound."""

    counts = "counts"
    gdp = "gdp"
    guesses = "guesses"
    both = "both"
    claim = "claim"


@single(
    "quiltwork audit scores.csv --claim 1.5,1e-6 --html audit.html",
    "quiltwork audit scores.csv --plan plan.yaml --delta 1e-6",
    "quiltwork audit canaries.csv --one-run --guesses 100",
)
def audit(
    scores: Annotated[
        Path,
        typer.Argument(help="Csv file with the columns score and member; - for standard input.", show_default=False),
    ],
    delta: Annotated[
        float | None, typer.Option(help="Answer at this delta.", show_default="the guarantee's, else 1e-5")
    ] = None,
    confidence: Annotated[float | None, typer.Option(help="Of the bound.", show_default="0.95")] = None,
    method: Annotated[AuditMethod | None, typer.Option(help="How to bound.", show_default="counts")] = None,
    one_run: Annotated[
        bool, typer.Option("--one-run", help="The lines are canaries of a single run, each included by a fair coin.")
    ] = False,
    guesses: Annotated[
        str | None, typer.Option(metavar="N | IN,OUT", help="How many to guess, fixed before the run.")
    ] = None,
    threshold: Annotated[
        float | None, typer.Option(help="Threshold of the score, fixed before.", show_default="chosen on a split")
    ] = None,
    claim: Annotated[
        str | None, typer.Option(metavar="EPSILON[,DELTA]", help="A guarantee to hold the audit against.")
    ] = None,
    mu: Annotated[float | None, typer.Option(help="The same, as Gaussian differential privacy.")] = None,
    plan: Annotated[Path | None, typer.Option(help="The same, from a plan file: its certified total.")] = None,
    split: Annotated[
        float | None, typer.Option(help="Share of the trials to choose on, not counted.", show_default="0.25")
    ] = None,
    seed: Annotated[
        int | None,
        typer.Option(help="Of the split, of ties, and of the coins of guesses.", show_default="coins are tossed anew"),
    ] = None,
    as_json: AsJson = False,
    html: Annotated[Path | None, typer.Option(help="Also write a report, one self-contained page.")] = None,
    figure: Annotated[Path | None, typer.Option(help="Also draw it: .svg, .png or .pdf.")] = None,
) -> None:
    """Audit scores of an attack: how much leaks at least, and whether a guarantee can be true.

    Larger scores mean that the record was in. Exit code 1 says that the audit contradicts the guarantee.
    """
    from quiltwork.cli.audit import run

    kind = None if method is None else method.value
    raise typer.Exit(
        run(
            scores,
            delta,
            confidence,
            kind,
            one_run,
            guesses,
            threshold,
            claim,
            mu,
            plan,
            split,
            seed,
            as_json,
            html,
            figure,
        )
    )
