"""The report of an audit: what an attack showed, beside what a guarantee promises."""

from __future__ import annotations

from functools import partial

from quiltwork.audit.figure import draw_epsilons, draw_errors
from quiltwork.audit.report import AuditReport
from quiltwork.audit.result import Audit
from quiltwork.document.blocks import Block, Cell, Fact, Facts, Grid, Picture, Section
from quiltwork.document.draw.svg import picture
from quiltwork.document.page import Report
from quiltwork.numbers.digits import at_least, at_most, single
from quiltwork.report.parts import AT_MOST, SUMMARY, assumed, plain_words, why

__all__ = ["audit_report_page"]

SIZE = (4.8, 4.9)
AT_LEAST = "\N{GREATER-THAN OR EQUAL TO}"


def audit_report_page(report: AuditReport) -> Report:
    """Everything that is said about an audit."""
    lead = f"Guarantee: {report.claim}." if report.curve is not None else "No guarantee was given to hold this against."
    told = [line for line in report.explain().splitlines() if not line.startswith("Guarantee:")]
    sections = [
        Section(SUMMARY, [Facts(_facts(report))]),
        Section("In plain words", plain_words(told)),
        Section("What is possible, what was seen", _pictures(report)),
        Section("The numbers", [_table(report)]),
        *assumed(text for audit in report.audits for text in audit.assumes),
        *why(text for audit in report.audits for text in audit.because),
    ]
    return Report(
        report.title, lead, sections, {"kind": "audit", "met": not report.contradicted, "audit": report.to_json()}
    )


def _named(audit: Audit) -> str:
    return "if Gaussian" if audit.method == "gdp" else f"by {audit.method}" if audit.method != "one run" else "one run"


def _facts(report: AuditReport) -> list[Fact]:
    facts = [
        Fact(
            f"Audited, {_named(audit)}",
            f"epsilon {AT_LEAST} {at_least(audit.epsilon_lower)}",
            f"at delta {single(audit.delta)}, {single(100 * audit.confidence)}% confidence",
        )
        for audit in report.audits
    ]
    if report.curve is None or report.certified is None:
        return facts
    at = f"at delta {single(report.delta)}"
    facts.append(Fact("Guaranteed", f"epsilon {AT_MOST} {at_most(report.certified)}", at))
    if report.contradicted:
        sure = f"with {single(100 * report.confidence)}% confidence"
        return [*facts, Fact("The guarantee is", "contradicted", sure, "bad")]
    return [*facts, Fact("The guarantee is", "not contradicted", "no proof that it holds")]


def _pictures(report: AuditReport) -> list[Picture]:
    return [
        picture(
            "errors",
            "Trade-off plane: the share of misses for each share of false alarms, guaranteed and audited",
            "An attacker errs in two ways. A guarantee says that nobody comes into the shaded region; an audit that, "
            "with the stated confidence, the mechanism's own curve lies at or below the line through the corner.",
            partial(draw_errors, report),
            SIZE,
        ),
        picture(
            "epsilons",
            "Guaranteed and audited epsilon for each delta, on a logarithmic scale",
            "The same as pairs of epsilon and delta. Pairs left of an audited line are refuted, pairs right of the "
            "guaranteed line are promised; the truth lies between them.",
            partial(draw_epsilons, report),
            SIZE,
        ),
    ]


def _table(report: AuditReport) -> Block:
    columns: list[tuple[str, str]] = [("delta", "number")]
    columns += [(f"Audited, {_named(audit)}", "number") for audit in report.audits]
    columns += [("Guaranteed", "number")] if report.curve is not None else []
    rows = []
    for row in report.rows:
        asked = row.delta == report.delta
        texts = [single(row.delta), *("-" if value is None else at_least(value) for value in row.audited)]
        texts += [] if row.certified is None else [at_most(row.certified)]
        rows.append([Cell(text, strong=asked) for text in texts])
    caption = "epsilon at several deltas: at least, by the audit; at most, by the guarantee. All rows hold at once."
    return Grid(columns, rows, caption)
