"""`quiltwork audit`: scores of an attack in, a valid lower bound out, held against a guarantee."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from quiltwork.cli.options import AsJson, single
from quiltwork.errors import InvalidParameter
from quiltwork.progress import reporting

if TYPE_CHECKING:
    from quiltwork.audit.claim import Claim
    from quiltwork.audit.report import AuditReport
    from quiltwork.audit.score_files import Scores

USUAL_DELTA = 1e-5  # when nobody names one
Method = Literal["counts", "gdp", "guesses", "both", "claim"]  # how scores become a bound


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
    method: Annotated[Method | None, typer.Option(help="How to bound.", show_default="counts")] = None,
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
    from quiltwork import checks
    from quiltwork.audit import AuditReport, report
    from quiltwork.audit import one_run as run_once
    from quiltwork.audit.audit import CONFIDENCE
    from quiltwork.audit.bounds.threshold import SHARE
    from quiltwork.audit.page import audit_report_page
    from quiltwork.audit.score_files import read_scores
    from quiltwork.cli.files import check_writable
    from quiltwork.cli.terminal import detail, figure_kind, told

    figure_kind(figure)  # refused before the work, not after it
    check_writable(html=html, figure=figure)
    claimed = _claim(claim, mu, plan)
    asked = delta if delta is not None else claimed.delta if claimed.delta is not None else USUAL_DELTA
    settings: dict[str, Any] = {
        "delta": checks.probability("delta", asked),
        "confidence": CONFIDENCE if confidence is None else confidence,
        "guesses": _guesses(guesses),
    }
    if seed is not None:
        settings["seed"] = checks.count("seed", seed)
    if one_run and (method, threshold, split) != (None, None, None):
        raise InvalidParameter("--one-run", "with --method, --threshold or --split", "alone", "it guesses canaries")
    with reporting("reading") as advance:
        read = read_scores(scores, advance)
    title = f"Privacy audit of {scores.name if str(scores) != '-' else 'standard input'}"
    if one_run:
        found = AuditReport.of(
            claimed.curve, run_once(read.values, read.member, **settings), title=title, claim=claimed.words
        )
    else:
        settings |= {"method": method or "counts", "threshold": threshold, "split": SHARE if split is None else split}
        found = report(claimed.curve, *read.sides(str(scores)), title=title, claim=claimed.words, **settings)
    page = audit_report_page(found, detail(html, figure), _trials(found, read))
    raise typer.Exit(told(page, as_json, html=html, figure=figure))


def _claim(pair: str | None, mu: float | None, plan: Path | None) -> Claim:
    from quiltwork.audit.claim import NOTHING, Claim, mu_claim, parse_claim
    from quiltwork.cli.terminal import plan_at
    from quiltwork.spec.files.plan import read_plan

    if sum(given is not None for given in (pair, mu, plan)) > 1:
        raise InvalidParameter("the guarantee", "several", "one of --claim, --mu and --plan")
    if mu is not None:
        return mu_claim(mu)
    if plan is not None:
        read = plan_at(plan, read_plan)
        return Claim(read.guarantee(), "", read.targets[0].delta if read.targets else None)
    return NOTHING if pair is None else parse_claim(pair, "--claim")


def _guesses(text: str | None) -> int | tuple[int, int] | None:
    if text is None:
        return None
    try:
        numbers = [int(part) for part in text.split(",")]
    except ValueError:
        numbers = []
    if len(numbers) not in (1, 2):
        raise InvalidParameter("--guesses", text, "a number, or how many IN,OUT, such as 100 or 80,20")
    return numbers[0] if len(numbers) == 1 else (numbers[0], numbers[1])


def _trials(found: AuditReport, read: Scores) -> str:
    audit, size = found.audit, read.member.size
    inside = int(read.member.sum())
    if audit.method == "one run":
        return f"{size:,} canaries of one run, {inside:,} of them included."
    rest = f"; {audit.set_aside:,} trials chose the attack and are not counted" if audit.set_aside else ""
    return f"{size:,} trials, {inside:,} with the record and {size - inside:,} without it{rest}."
