"""The page of anything that a file holds, and the numbers of a page for programs."""

from __future__ import annotations

from typing import Any

from quiltwork import checks
from quiltwork.document.blocks import Code, Fact, Facts, Section
from quiltwork.document.page import Report
from quiltwork.document.parts import SUMMARY, Detail
from quiltwork.errors import UnboundedLossError, Unsupported
from quiltwork.spec.files.file import kind_of

__all__ = ["document_of", "page_of", "report_of", "saved_report"]

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
        from quiltwork.report.answers.account import account
        from quiltwork.report.pages.account import account_report

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
        from quiltwork.report.pages.budget_file import budget_file_report

        return budget_file_report(value)
    return _object_report(value, delta, detail)


def _object_report(value: Any, delta: float | None, detail: Detail) -> Report:
    from quiltwork.audit.report import AuditReport
    from quiltwork.curves.curve import Curve
    from quiltwork.report.pages.curve import curve_report

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
