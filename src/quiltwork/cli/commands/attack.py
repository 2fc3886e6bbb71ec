"""The options of `quiltwork attack`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from quiltwork.cli.help import one_of, single
from quiltwork.cli.options import AsJson

DEFENCES = (
    "none", "constant", "constant-reference", "gaussian:", "laplace:", "rate-distortion:", "water-filling:",
    "generative:", "paper:",
)  # fmt: skip


@single(
    "quiltwork attack --from independent --defence gaussian:0.1 --quick",
    "quiltwork attack --defence gaussian:0.1 --defence rate-distortion:0.025 --figure roc.svg",
    "quiltwork attack rows.csv --defence laplace:0.05 --at-most 0.6 --html attack.html",
)
def attack(
    data: Annotated[Path | None, typer.Argument(help="Rows of 0 and 1 (csv, npy, npz), or the Adult file.")] = None,
    source: Annotated[
        str,
        typer.Option(
            "--from",
            help="Whose rows: genotypes, independent, adult-like (simulated), digits, mnist, adult or rows (DATA).",
            show_default="genotypes, or rows when DATA is given",
            autocompletion=one_of("genotypes", "independent", "adult-like", "digits", "mnist", "adult", "rows"),
        ),
    ] = "",
    defence: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME[:SIZE]",
            help="none, constant, constant-reference, gaussian:SIGMA, laplace:SCALE, rate-distortion:ERROR, "
            "water-filling:ERROR, generative:KAPPA, paper:KAPPA; repeat to compare.",
            show_default="gaussian:0.1",
            autocompletion=one_of(*DEFENCES),
        ),
    ] = None,
    candidates: Annotated[int, typer.Option(help="People who may be in the data.")] = 100,
    reference: Annotated[
        int | None,
        typer.Option(help="Other people, whom attackers may know.", show_default="400, or all other rows of DATA"),
    ] = None,
    attributes: Annotated[int, typer.Option(help="Attributes of simulated people.")] = 500,
    prior: Annotated[
        str,
        typer.Option(
            help="Who is in the data: half of the candidates, or independent coins.",
            autocompletion=one_of("half", "independent"),
        ),
    ] = "half",
    quick: Annotated[bool, typer.Option("--quick", help="Only attackers that train no network.")] = False,
    delta: Annotated[float, typer.Option(help="Answer certified epsilons at this delta.")] = 1e-5,
    at_most: Annotated[
        float | None, typer.Option(help="Exit with 1 when the best attacker's interval reaches above this AUC.")
    ] = None,
    gate: Annotated[bool, typer.Option(help="A learned defence that loses to a closed form is replaced by it.")] = True,
    steps: Annotated[
        int | None, typer.Option(help="Training steps of a learned defence.", show_default="as it needs")
    ] = None,
    seed: Annotated[int, typer.Option(help="Of everything that is drawn.")] = 0,
    cache: Annotated[Path | None, typer.Option(help="Keep simulated genomes in this .npz file.")] = None,
    as_json: AsJson = False,
    html: Annotated[Path | None, typer.Option(help="Also write a report, one self-contained page.")] = None,
    figure: Annotated[
        Path | None, typer.Option(help="Also draw the ROC curves: .svg, .png or .pdf; one numbered file a defence.")
    ] = None,
    scores: Annotated[
        Path | None, typer.Option(help="Also write scores of an informed attacker for `quiltwork audit`.")
    ] = None,
    trials: Annotated[int, typer.Option(help="Runs of the mechanism behind --scores.")] = 10000,
    checkpoint: Annotated[
        Path | None, typer.Option(help="Keep the training of a learned defence in this file.")
    ] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on from --checkpoint.")] = False,
    weights: Annotated[
        Path | None, typer.Option(help="File of prices, one number an attribute; 0 says that nobody needs it.")
    ] = None,
    confidence: Annotated[float, typer.Option(help="Of the intervals.")] = 0.95,
) -> None:
    """Attack a release of shares: every attacker is retrained against the frozen defence.

    Prints what each attacker knows and reaches, beside what is certified. With `paper:0` it shows how a learned defence
    fools the attacker it was trained with, and no other (add --no-gate to attack it nevertheless).
    """
    from quiltwork.cli.attack import run

    chosen = source or ("genotypes" if data is None else "rows")
    sizes = (candidates, reference, attributes)
    defences = defence or ["gaussian:0.1"]
    raise typer.Exit(
        run(
            data,
            chosen,
            defences,
            sizes,
            prior,
            quick,
            delta,
            at_most,
            gate,
            steps,
            seed,
            cache,
            as_json,
            html,
            figure,
            scores,
            trials,
            checkpoint,
            resume,
            weights,
            confidence,
        )
    )
