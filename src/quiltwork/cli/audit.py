"""`quiltwork audit`: scores of an attack in, a valid lower bound out, held against a guarantee."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from quiltwork import checks
from quiltwork.audit import Audit, AuditReport, Counts, Guesses, one_run, report
from quiltwork.audit.audit import CONFIDENCE
from quiltwork.audit.bounds.threshold import SHARE
from quiltwork.audit.claim import NOTHING, Claim, mu_claim, parse_claim
from quiltwork.audit.result import share
from quiltwork.audit.score_files import Scores, read_scores
from quiltwork.cli.account import PIPED_WIDTH, grid, plan_at
from quiltwork.cli.files import check_writable
from quiltwork.cli.progress import progress
from quiltwork.document.draw.style import figure_format
from quiltwork.errors import InvalidParameter
from quiltwork.numbers.digits import at_least, at_most, single
from quiltwork.spec.files.plan import read_plan

USUAL_DELTA = 1e-5  # when nobody names one
METHOD_WORDS = {
    "counts": "whatever the mechanism",
    "gdp": "if the worst case is Gaussian",
    "guesses": "whatever the mechanism",
    "one run": "whatever the mechanism",
}


def run(
    scores: Path,
    delta: float | None,
    confidence: float | None,
    method: str | None,
    single_run: bool,
    guesses: str | None,
    threshold: float | None,
    claim: str | None,
    mu: float | None,
    plan: Path | None,
    split: float | None,
    seed: int | None,
    as_json: bool,
    html: Path | None,
    figure: Path | None,
) -> int:
    """The exit code: 0, or 1 when the audit contradicts the guarantee."""
    if figure is not None:
        figure_format(figure)  # refuse before the work, not after it
    for option, path in (("html", html), ("figure", figure)):
        if path is not None:
            check_writable(option, path)
    claimed = _claim(claim, mu, plan)
    asked = delta if delta is not None else claimed.delta if claimed.delta is not None else USUAL_DELTA
    settings: dict[str, Any] = {
        "delta": checks.probability("delta", asked),
        "confidence": CONFIDENCE if confidence is None else confidence,
        "guesses": _guesses(guesses),
    }
    if seed is not None:
        settings["seed"] = checks.count("seed", seed)
    if single_run and (method, threshold, split) != (None, None, None):
        raise InvalidParameter("--one-run", "with --method, --threshold or --split", "alone", "it guesses canaries")
    with progress("reading") as advance:
        read = read_scores(scores, advance)
    title = f"Privacy audit of {scores.name if str(scores) != '-' else 'standard input'}"
    if single_run:
        found = AuditReport.of(
            claimed.curve, one_run(read.values, read.member, **settings), title=title, claim=claimed.words
        )
    else:
        settings |= {"method": method or "counts", "threshold": threshold, "split": SHARE if split is None else split}
        found = report(claimed.curve, *read.sides(str(scores)), title=title, claim=claimed.words, **settings)
    if as_json:
        print(json.dumps(found.to_json(), indent=2, allow_nan=False))
    else:
        show(found, read, Console(width=None if sys.stdout.isatty() else PIPED_WIDTH, highlight=False))
    if html is not None:
        html.write_text(found.to_html(), encoding="utf-8")
        print(f"wrote {html}", file=sys.stderr)
    if figure is not None:
        found.figure(figure)
        print(f"wrote {figure}", file=sys.stderr)
    return 1 if found.contradicted else 0


def _claim(pair: str | None, mu: float | None, plan: Path | None) -> Claim:
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


# ---- the text


def show(found: AuditReport, read: Scores, console: Console) -> None:
    """The whole report as text."""
    console.print(Text(found.title, style="bold"))
    console.print(Text(_trials(found, read)))
    console.print()
    for audit in found.audits:
        if audit.counts is not None:
            console.print(_counted(audit, audit.counts))
        elif audit.guesses is not None:
            console.print(_guessed(audit, audit.guesses))
        console.print(_bound(audit))
        console.print()
    if found.curve is not None:
        word = ("contradicted", "bold red") if found.contradicted else ("not contradicted", "bold green")
        console.print(Text.assemble(f"guarantee {found.claim}: ", word))
        for ground in (*found.grounds, *found.caveats):
            console.print(Text(f"  {ground}"))
        console.print()
    if len(found.rows) > 1:
        console.print(_deltas(found))
        console.print()
    for note in dict.fromkeys(note for audit in found.audits for note in audit.notes):
        console.print(Text(f"note: {note}", style="yellow"))
    for words in dict.fromkeys(words for audit in found.audits for words in audit.assumes):
        console.print(Text(f"assumes: {words}", style="dim"))


def _trials(found: AuditReport, read: Scores) -> str:
    audit, size = found.audit, read.member.size
    inside = int(read.member.sum())
    if audit.method == "one run":
        return f"{size:,} canaries of one run, {inside:,} of them included"
    rest = f"; {audit.set_aside:,} trials chose the attack and are not counted" if audit.set_aside else ""
    return f"{size:,} trials, {inside:,} with the record and {size - inside:,} without it{rest}"


def _counted(audit: Audit, counts: Counts) -> Table:
    corner = counts.limits(audit.confidence)
    sure = f"{single(100 * audit.confidence)}% confidence, jointly"
    table = grid((f"method {audit.method}", False), ("runs", True), ('said "in"', True), ("share", True), (sure, False))
    inside = f"{counts.trials_in:,}", f"{counts.true_positives:,}", share(counts.detected)
    table.add_row("with the record", *inside, f"at least {at_least(100 * corner.tpr, 3)}%")
    outside = f"{counts.trials_out:,}", f"{counts.false_positives:,}", share(counts.false_alarms)
    table.add_row("without it", *outside, f"at most {at_most(100 * corner.fpr, 3)}%")
    return table


def _guessed(audit: Audit, guesses: Guesses) -> Table:
    table = grid(
        (f"method {audit.method}", False), ("coins", True), ("guessed", True), ("right", True), ("share", True)
    )
    numbers = (f"{number:,}" for number in (guesses.canaries, guesses.made, guesses.correct))
    table.add_row("", *numbers, share(guesses.correct / guesses.made))
    return table


def _bound(audit: Audit) -> Text:
    at = f" at delta {single(audit.delta)}, {single(100 * audit.confidence)}% confidence"
    if audit.epsilon_lower <= 0:
        return Text.assemble(("nothing is refuted", "bold"), f"{at}; that is no sign of privacy")
    mu = f"mu is at least {at_least(audit.mu_lower)}; " if audit.mu_lower is not None else ""
    words = f"epsilon is at least {at_least(audit.epsilon_lower)}"
    return Text.assemble(mu, (words, "bold"), f"{at} ({METHOD_WORDS[audit.method]})")


def _deltas(found: AuditReport) -> Table:
    heads = [(f"at least, {audit.method}", True) for audit in found.audits]
    heads += [("at most, guaranteed", True)] if found.curve is not None else []
    table = grid(("epsilon at delta", True), *heads)
    for row in found.rows:
        cells = ["-" if value is None else at_least(value) for value in row.audited]
        cells += [at_most(row.certified)] if row.certified is not None else []
        table.add_row(single(row.delta), *cells, style="bold" if row.delta == found.delta else None)
    return table
