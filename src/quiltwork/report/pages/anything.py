"""The page of anything that a file holds, of budgets and saved curves too, and the numbers of a page for programs."""

from __future__ import annotations

from typing import Any

import numpy as np

from quiltwork import checks
from quiltwork.curves.curve import Curve
from quiltwork.curves.guarantee import Guarantee
from quiltwork.document.blocks import Cell, Code, Fact, Facts, Grid, Section, Words
from quiltwork.document.page import Report
from quiltwork.document.parts import SUMMARY, Detail, assumed, curves_section, why
from quiltwork.errors import UnboundedLossError, Unsupported
from quiltwork.numbers.digits import at_least, single
from quiltwork.report.answers.account import account, asked_delta
from quiltwork.report.pages.account import account_report, drawn, fitting
from quiltwork.report.parts import computed, loss_fact, promised, upward
from quiltwork.spec.fields.budgets import answered
from quiltwork.spec.files.budgets import BudgetFile, FileBudget
from quiltwork.spec.files.file import kind_of

DELTAS = (1e-3, 1e-5, 1e-6, 1e-9, 1e-12)
ALARMS = (0.001, 0.01, 0.05, 0.1, 0.5)
MOST_WRITTEN = 4000  # characters of an object that are shown
NUMBERS = {  # kind of a page, and where its data has what the command writes with --json
    "plan": "account",
    "tables": "tables",
    "prior": "influence",
    "world": "design",
    "region": "region",
    "difference": "difference",
    "audit": "audit",
    "attack": "attack",
    "training": "training",
}


def report_of(value: Any, delta: float | None = None) -> Report:
    """What `read_any` gives as a report: a plan, a table plan, a prior, a world, budgets, or an object that was saved.

    `delta` is used instead of the one that the file's first target names.
    """
    return page_of(value, delta)


def page_of(value: Any, delta: float | None = None, detail: Detail = "whole") -> Report:
    """The same; `detail` says how the charts are made."""
    delta = None if delta is None else checks.probability("delta", delta)
    kind = kind_of(value)
    if kind == "plan":
        return account_report(account(value, delta), detail)
    if kind == "tables":
        from quiltwork.report.answers.tables import view as table_view
        from quiltwork.report.pages.tables import refused_table_report, table_report

        try:
            return table_report(table_view(value, delta, ()), detail)
        except UnboundedLossError as error:
            return refused_table_report(value, error)
    if kind == "prior":
        from quiltwork.report.answers.influence import view as influence_view
        from quiltwork.report.pages.influence import influence_report

        return influence_report(influence_view(value, delta=delta), detail)
    if kind == "world":
        from quiltwork.report.answers.design import view as design_view
        from quiltwork.report.pages.design import world_report

        return world_report(design_view(value, delta=delta), detail)
    if kind == "budgets":
        return budget_file_report(value)
    return _object_report(value, delta, detail)


def _object_report(value: Any, delta: float | None, detail: Detail) -> Report:
    from quiltwork.audit.report import AuditReport

    if isinstance(value, AuditReport):
        from quiltwork.audit.page import audit_report_page

        return audit_report_page(value, detail)
    if isinstance(value, Curve):
        return curve_report(value, delta, detail)
    name = type(value).__name__
    raise Unsupported(f"a report of {name}", "it is no plan, prior, world, budget, curve or audit")


def saved_report(value: Any) -> Report:
    """An object without a page of its own: what was written of it."""
    from quiltwork.spec.objects.documents import dumps

    name, text = type(value).__name__, dumps(value)
    written = Code(text if len(text) <= MOST_WRITTEN else text[:MOST_WRITTEN] + "...")
    sections = [Section(SUMMARY, [Facts([Fact("Kind", name)])]), Section("As it is written", [written])]
    return Report(f"A saved {name}", "It has no privacy curve of its own.", sections, {"kind": "object", "type": name})


def document_of(report: Report) -> dict[str, Any]:
    """The numbers of a page as its command writes them with --json."""
    data = report.data
    kind = data.get("kind")
    if kind == "tables" and "refused" in data:
        from quiltwork.report.answers.tables import SCHEMA

        return {"schema": SCHEMA, **{name: data[name] for name in ("plan", "met", "refused")}}
    return data[NUMBERS[kind]] if kind in NUMBERS else {"schema": "quiltwork/account_view/1", **data}


def curve_report(curve: Curve, delta: float | None = None, detail: Detail = "whole") -> Report:
    """The usual questions to a curve, at this delta or at the usual one."""
    delta = asked_delta(delta, ())
    told = curve if isinstance(curve, Guarantee) else Guarantee(curve, protects="whatever this curve is about")
    total = told.epsilon(delta)
    charts, curves = drawn(told, total, delta, (), detail)
    epsilons = np.ravel(told.epsilon(np.array(DELTAS)).upper)
    betas = np.ravel(told.beta(np.array(ALARMS)).lower)
    pairs = [(single(at), upward(float(found))) for at, found in zip(DELTAS, epsilons, strict=True)]
    misses = [(single(at), at_least(float(found))) for at, found in zip(ALARMS, betas, strict=True)]
    sections = [
        Section(SUMMARY, [Facts([loss_fact(total, delta)])]),
        Section("In plain words", promised(told, delta)),
        *assumed(told.assumes),
        *curves_section(charts),
        Section(
            "The numbers",
            [
                Grid((("delta", "number"), ("epsilon at most", "number")), pairs, "epsilon for usual deltas."),
                Grid(
                    (("false alarms", "number"), ("misses at least", "number")), misses, "What a test can do at best."
                ),
            ],
        ),
        *why([*told.because, *computed(total)]),
    ]
    data = {"kind": "curve", "guarantee": told.to_json(), **curves}
    if curves:
        data |= {"delta": delta, "epsilon": total.to_json()}
    return Report("A guarantee", f"Protected: {told.protects}.", sections, data)


def budget_file_report(file: BudgetFile) -> Report:
    """Every budget of the file: its limit, what it protects, how it is kept, and whether its plan fits."""
    rows = []
    for one in file.budgets:
        rows.append((Cell(one.name, note=one.note or ""), one.words(), one.hides, one.kind, _until(one)))
    columns = ("Budget", "Limit", "Protects", "Kind", "For how long")
    table = Grid(columns, rows, "An adaptive budget may be spent depending on earlier results; a planned one is fixed.")
    planned = [one for one in file.budgets if one.releases is not None]
    answers = [
        answered(one, [(part.name, part.mechanism.loss(), part.count) for part in one.releases or ()])
        for one in planned
    ]
    bad = [one.budget.name for one in answers if not one.fits]
    facts = [Fact("Budgets", f"{len(file.budgets):,}")]
    if planned:
        word = "does not fit" if bad else "fits"
        facts.append(Fact("Planned releases", word, ", ".join(bad), "bad" if bad else "good"))
    sections = [Section(SUMMARY, [Facts(facts)]), Section("The budgets", [table])]
    if answers:
        told = [(one.budget.name, one.cost, one.limit, fitting(one)) for one in answers]
        caption = "All releases of a planned budget, composed as a whole."
        sections.append(Section("What is planned", [Grid(("Budget", "Cost", "Limit", "Verdict"), told, caption)]))
    words = (
        "Nothing is spent by this file. quiltwork ledger open-all opens these budgets; from then on their terms never "
        "change."
    )
    sections.append(Section("What this file does", [Words(words)]))
    data = {"kind": "budgets", "met": not bad, "file": file.to_dict(), "planned": [one.to_json() for one in answers]}
    return Report(file.title, "Budgets that a ledger is to keep.", sections, data)


def _until(one: FileBudget) -> str:
    said = [f"a fresh one every {one.refresh}"] if one.refresh is not None else []
    said += [f"until {one.expires}"] if one.expires is not None else []
    return "; ".join(said) or "without end"
