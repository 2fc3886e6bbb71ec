"""The commands and their options; the work is imported when a command runs, so that help is instant."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from quiltwork import __version__
from quiltwork.cli.ledger_care import ledger_app
from quiltwork.cli.ledger_options import AsJson

app = typer.Typer(
    name="quiltwork",
    help="After everything that was released, what can an adversary still not tell apart?",
    epilog="Exit codes: 0 it holds, 1 it does not hold or was refused, 2 bad input.",
    add_completion=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)


class Mechanism(StrEnum):
    """What `calibrate` can tune."""

    gaussian = "gaussian"
    laplace = "laplace"
    discrete_gaussian = "discrete_gaussian"
    discrete_laplace = "discrete_laplace"
    pure = "pure"
    gdp = "gdp"
    zcdp = "zcdp"


class NoiseFamily(StrEnum):
    """Noise that `design` can calibrate."""

    laplace = "laplace"
    gaussian = "gaussian"


class AuditMethod(StrEnum):
    """How `audit` turns scores into a bound."""

    counts = "counts"
    gdp = "gdp"
    guesses = "guesses"
    both = "both"
    claim = "claim"


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"quiltwork {__version__}")
        raise typer.Exit


@app.callback()
def root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """The root command holds only what all commands share."""


@app.command(epilog="Example: quiltwork account examples/plans/hospital.yaml --html report.html")
def account(
    plan: Annotated[Path, typer.Argument(help="Plan file, YAML or JSON.", show_default=False)],
    delta: Annotated[float | None, typer.Option(help="Answer at this delta instead of the first target's.")] = None,
    as_json: AsJson = False,
    html: Annotated[Path | None, typer.Option(help="Also write a report, one self-contained page.")] = None,
    figure: Annotated[Path | None, typer.Option(help="Also draw both curves: .svg, .png or .pdf.")] = None,
) -> None:
    """Account a plan: the certified total, each release, the targets, simpler rules beside it."""
    from quiltwork.cli.account import run

    raise typer.Exit(run(plan, delta, as_json, html, figure))


@app.command(epilog="Example: quiltwork attack --defence gaussian:0.1 --defence rate-distortion:0.025 --figure roc.svg")
def attack(
    data: Annotated[Path | None, typer.Argument(help="Rows of 0 and 1 (csv, npy, npz), or the Adult file.")] = None,
    source: Annotated[
        str,
        typer.Option(
            "--from",
            help="Whose rows: genotypes, independent, adult-like (simulated), digits, mnist, adult or rows (DATA).",
            show_default="genotypes, or rows when DATA is given",
        ),
    ] = "",
    defence: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME[:SIZE]",
            help="none, constant, constant-reference, gaussian:SIGMA, laplace:SCALE, rate-distortion:ERROR, "
            "water-filling:ERROR, generative:KAPPA, paper:KAPPA; repeat to compare.",
            show_default="gaussian:0.1",
        ),
    ] = None,
    candidates: Annotated[int, typer.Option(help="People who may be in the data.")] = 100,
    reference: Annotated[
        int | None,
        typer.Option(help="Other people, whom attackers may know.", show_default="400, or all other rows of DATA"),
    ] = None,
    attributes: Annotated[int, typer.Option(help="Attributes of simulated people.")] = 500,
    prior: Annotated[
        str, typer.Option(help="Who is in the data: half of the candidates, or independent coins.")
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


@app.command(epilog="Example: quiltwork calibrate gaussian --epsilon 1 --delta 1e-6 --count 1000 --rate 0.01")
def calibrate(
    mechanism: Annotated[Mechanism, typer.Argument(help="What to tune.", show_default=False)],
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


@app.command(
    epilog="Example: quiltwork region --constraint 0.3,0 --constraint 0.15,0.02 --times 20 --figure region.svg"
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
) -> None:
    """Show the exact privacy region of guarantees that hold at once, composed, beside one at a time.

    Give a plan file or --constraint. With both --epsilon and --delta it also says whether that pair holds.
    """
    from quiltwork.cli.region import run

    raise typer.Exit(run(plan, constraint or [], times, delta, epsilon, alpha, as_json, csv, figure))


@app.command(epilog="Example: quiltwork tables examples/plans/clinics.yaml --to add_remove")
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
    from quiltwork.cli.tables import run

    raise typer.Exit(run(plan, delta, to or [], as_json, everything))


@app.command(epilog="Example: quiltwork influence --binary 0.8,0.9 --epsilon 1 --figure influence.svg")
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


@app.command(epilog="Example: quiltwork design examples/worlds/medical.yaml --csv channel.csv --figure design.svg")
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


@app.command(epilog="Example: quiltwork audit scores.csv --claim 1.5,1e-6 --html audit.html")
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
    seed: Annotated[int, typer.Option(help="Of the split and of ties.")] = 0,
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


@app.command(epilog="Example: quiltwork schema > plan.schema.json")
def schema(
    for_tables: Annotated[bool, typer.Option("--tables", help="Of table plan files instead.")] = False,
    for_priors: Annotated[bool, typer.Option("--priors", help="Of prior files instead.")] = False,
    for_worlds: Annotated[bool, typer.Option("--worlds", help="Of world files instead.")] = False,
) -> None:
    """Print the JSON Schema of plan files."""
    import json

    if for_tables + for_priors + for_worlds > 1:
        raise typer.BadParameter("give --tables, --priors or --worlds, not both")
    if for_priors:
        from quiltwork.spec import prior_schema as described
    elif for_worlds:
        from quiltwork.spec import world_schema as described
    elif for_tables:
        from quiltwork.spec import table_schema as described
    else:
        from quiltwork.spec import schema as described
    typer.echo(json.dumps(described(), indent=2))


app.add_typer(ledger_app)
