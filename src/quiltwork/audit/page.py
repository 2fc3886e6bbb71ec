"""An audit as a page: what an attack showed, beside what a guarantee promises; its charts are also its figure."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import partial
from typing import Any

import attrs
import numpy as np

from quiltwork.audit.bounds.counts import Counts, Limits
from quiltwork.audit.bounds.one_run import Guesses
from quiltwork.audit.report import AuditReport
from quiltwork.audit.result import Audit, bound, percent_above, percent_below, share
from quiltwork.checks import FloatArray
from quiltwork.document.blocks import Axis, Block, Cell, Chart, Fact, Facts, Grid, Role, Section, Trace, Words
from quiltwork.document.charts import ALARMS, MISSES, at, blind_guessing, cosine
from quiltwork.document.draw.style import draw_on, drawn_figure
from quiltwork.document.draw.svg import SIZE, draw_chart, row_of_charts
from quiltwork.document.page import Report
from quiltwork.document.parts import (
    AT_LEAST,
    AT_MOST,
    SUMMARY,
    Detail,
    assumed,
    curves_section,
    plain_words,
    warned,
    why,
)
from quiltwork.numbers.digits import at_least, at_most, single

PLACES = 121
LOWEST = 1e-12  # delta in the picture when none above 0 is asked
REFUTED = "contradicts the guarantee"
ROLES: dict[str, Role] = {"gdp": "warm"}


def audit_report_page(report: AuditReport, detail: Detail = "whole", trials: str = "") -> Report:
    """Everything that is said about an audit; `trials` says how many runs there were."""
    lead = f"Guarantee: {report.claim}." if report.curve is not None else "No guarantee was given to hold this against."
    told = [line for line in report.explain().splitlines() if not line.startswith("Guarantee:")]
    notes = [note for audit in report.audits for note in audit.notes]
    sections = [
        Section(SUMMARY, [Facts(_facts(report)), *([Words(trials)] if trials else []), *warned(notes)]),
        Section("In plain words", plain_words(told)),
        *curves_section(audit_charts(report, detail), "What is possible, what was seen"),
        Section("The numbers", [*(one for audit in report.audits for one in _counted(audit)), _deltas(report)]),
        *assumed(text for audit in report.audits for text in audit.assumes),
        *why(text for audit in report.audits for text in audit.because),
    ]
    data = {"kind": "audit", "met": not report.contradicted, "audit": report.to_json()}
    return Report(report.title, lead, sections, data)


def _named(audit: Audit) -> str:
    return "if Gaussian" if audit.method == "gdp" else f"by {audit.method}" if audit.method != "one run" else "one run"


def _facts(report: AuditReport) -> list[Fact]:
    facts = []
    for audit in report.audits:
        label, sure = f"Audited, {_named(audit)}", f"{at(audit.delta)}, {single(100 * audit.confidence)}% confidence"
        if audit.epsilon_lower <= 0:
            facts.append(Fact(label, "nothing is refuted", f"{sure}; that is no sign of privacy"))
            continue
        mu = "" if audit.mu_lower is None else f"; mu is at least {at_least(audit.mu_lower)}"
        facts.append(Fact(label, f"epsilon {AT_LEAST} {at_least(audit.epsilon_lower)}", f"{sure}{mu}"))
    if report.curve is None or report.certified is None:
        return facts
    facts.append(Fact("Guaranteed", f"epsilon {AT_MOST} {at_most(report.certified)}", at(report.delta)))
    if report.contradicted:
        sure = f"with {single(100 * report.confidence)}% confidence"
        return [*facts, Fact("The guarantee is", "contradicted", sure, "bad")]
    return [*facts, Fact("The guarantee is", "not contradicted", "no proof that it holds")]


def _counted(audit: Audit) -> Iterator[Block]:
    """What an audit counted."""
    if audit.counts is not None:
        yield _counts(audit, audit.counts)
    elif audit.guesses is not None:
        yield _guesses(audit, audit.guesses)


def _counts(audit: Audit, counts: Counts) -> Grid:
    corner = counts.limits(audit.confidence)
    inside = counts.trials_in, counts.true_positives, share(counts.detected)
    outside = counts.trials_out, counts.false_positives, share(counts.false_alarms)
    rows = [
        ("with the record", *inside, f"at least {percent_below(corner.tpr)}"),
        ("without it", *outside, f"at most {percent_above(corner.fpr)}"),
    ]
    sure = f"{single(100 * audit.confidence)}% confidence, jointly"
    heads = (f"Method {audit.method}", ("Runs", "number"), ("Called members", "number"), ("Share", "number"), sure)
    return Grid(heads, rows, "In how many runs the attack called the record a member.")


def _guesses(audit: Audit, guesses: Guesses) -> Grid:
    row = (audit.method, guesses.canaries, guesses.made, guesses.correct, share(guesses.correct / guesses.made))
    heads = ("Method", ("Coins", "number"), ("Guessed", "number"), ("Right", "number"), ("Share", "number"))
    return Grid(heads, [row], "What the attack guessed of how many coins.")


def refutes(audit: Audit, value: float | None, certified: float | None) -> bool:
    """Whether an audited epsilon contradicts the guaranteed one, whatever the output laws are."""
    return audit.method != "gdp" and value is not None and certified is not None and value > certified


def _deltas(report: AuditReport) -> Grid:
    columns: list[tuple[str, str]] = [("delta", "number")]
    columns += [(f"Audited, {_named(audit)}", "number") for audit in report.audits]
    columns += [("Guaranteed", "number")] if report.curve is not None else []
    rows = []
    for row in report.rows:
        asked = row.delta == report.delta
        cells = [Cell(single(row.delta), strong=asked)]
        for audit, value in zip(report.audits, row.audited, strict=True):
            cell = Cell("-" if value is None else at_least(value), strong=asked)
            cells.append(attrs.evolve(cell, note=REFUTED, tone="bad") if refutes(audit, value, row.certified) else cell)
        cells += [] if row.certified is None else [Cell(at_most(row.certified), strong=asked)]
        rows.append(cells)
    caption = "epsilon at several deltas: at least, by the audit; at most, by the guarantee. All rows hold at once."
    return Grid(columns, rows, caption)


# ---- the charts


def audit_charts(report: AuditReport, detail: Detail = "whole") -> list[Chart]:
    """The errors that are possible and were made, and the epsilons that this leaves."""
    return [] if detail == "words" else [_errors(report), _epsilons(report)]


def _errors(report: AuditReport) -> Chart:
    """Misses against false alarms: below the guaranteed line nobody can come, at or below the other somebody did."""
    traces, rows = [blind_guessing()], []
    if report.curve is not None:
        alpha = cosine()
        least = np.ravel(report.curve.beta(alpha).safe)
        traces.append(Trace("guaranteed: nobody below", alpha, least, under=True))
    if report.roc is not None:
        seen = report.roc.false_alarms, report.roc.misses
        traces.append(Trace("the attack, all thresholds", *seen, "ink", thin=True))
    for audit in report.audits:
        corner = audit.limits
        if corner is None:
            continue
        role, sure = ROLES.get(audit.method, "bad"), f"{single(100 * audit.confidence)}%"
        name = f"audited ({audit.method}): at or below, {sure}"
        traces.append(Trace(name, *hull(corner), role, marks=True))
        kept = "-" if report.curve is None else percent_below(float(report.curve.beta(corner.fpr).safe))
        rows.append((audit.method, percent_above(corner.fpr), percent_above(corner.fnr), kept))
    heads = ("method", ("false alarms, at most", "number"), ("misses, at most", "number"), ("guaranteed", "number"))
    table = Grid(heads, rows, "The corner that each audit shows, and the misses that the guarantee promises there")
    title = "Trade-off plane: the share of misses for each share of false alarms, guaranteed and audited"
    caption = (
        "An attacker errs in two ways. A guarantee says that nobody comes into the shaded region; an audit that, with "
        "the stated confidence, the mechanism's own curve lies at or below the line through the corner."
    )
    return Chart("errors", title, ALARMS, MISSES, traces, table, caption, square=True)


def hull(corner: Limits) -> tuple[FloatArray, FloatArray]:
    """What every true trade-off curve lies below: the hull of the corner, its mirror image and blind guessing."""
    if corner.fpr + corner.fnr >= 1.0:
        return np.array([0.0, 1.0]), np.array([1.0, 0.0])
    one, two = sorted([(corner.fpr, corner.fnr), (corner.fnr, corner.fpr)])
    points = [(0.0, 1.0), one, two, (1.0, 0.0)] if one != two else [(0.0, 1.0), one, (1.0, 0.0)]
    return np.array([p[0] for p in points]), np.array([p[1] for p in points])


def _epsilons(report: AuditReport) -> Chart:
    """delta against epsilon: left of an audited line is refuted, right of the guaranteed one is promised."""
    floor = max(min(report.delta / 1000, 1e-4), 1e-300) if report.delta > 0 else LOWEST
    deltas = np.geomspace(floor, 1.0, PLACES)
    traces, ends = [], [0.5]
    if report.curve is not None:
        epsilons = np.ravel(report.curve.epsilon(deltas).safe)
        known = np.isfinite(epsilons)
        traces.append(Trace("guaranteed: at most", epsilons[known], deltas[known]))
        ends += epsilons[known][:1].tolist()
    for audit in report.audits:
        corner, role = audit.limits, ROLES.get(audit.method, "bad")
        words = f"audited ({audit.method}): at least"
        if corner is None:  # it answers at one delta only
            place = max(audit.delta, floor)
            traces.append(Trace(words, (0.0, audit.epsilon_lower), (place, place), role, marks=True))
            ends.append(audit.epsilon_lower)
        else:
            line = np.array([bound(audit.method, corner, float(delta)) for delta in deltas])
            gaussian = audit.method == "gdp"
            name = "audited (gdp), if Gaussian" if gaussian else words
            traces.append(Trace(name, line, deltas, role, dash="dash" if gaussian else ""))
            ends.append(float(line[0]))
    reach = 1.08 * max(end for end in ends if math.isfinite(end))
    if report.delta > 0:
        words = f"delta = {single(report.delta)}"
        traces.append(Trace(words, (0.0, reach), (report.delta, report.delta), "muted", dash="dot"))
    title = "Guaranteed and audited epsilon for each delta, on a logarithmic scale"
    caption = (
        "The same as pairs of epsilon and delta. Pairs left of an audited line are refuted, pairs right of the "
        "guaranteed line are promised; the truth lies between them."
    )
    sides = Axis("epsilon", 0.0, reach), Axis("delta", floor, 1.0, "log")
    return Chart("epsilons", title, *sides, traces, _deltas(report), caption)


# ---- the figure


def panels(report: AuditReport) -> Any:
    """A matplotlib figure with the errors on the left and the epsilons on the right."""
    charts = audit_charts(report)
    return drawn_figure((SIZE[0] * len(charts), SIZE[1]), row_of_charts(charts, report.title))


def drawn_on(report: AuditReport, axes: Any, kind: str) -> Any:
    """Draw one panel on axes of the caller, or both on two of them, and give them back."""
    draw_on(axes, kind, {chart.name: partial(draw_chart, chart) for chart in audit_charts(report)})
    return axes
