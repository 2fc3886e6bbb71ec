"""The report of anything that a file holds."""

from __future__ import annotations

from typing import Any

from quiltwork import checks
from quiltwork.document.page import Report
from quiltwork.errors import UnboundedLossError, Unsupported
from quiltwork.spec.files.file import kind_of

__all__ = ["report_of"]


def report_of(value: Any, delta: float | None = None) -> Report:
    """What `read_any` gives as a report: a plan, a table plan, a prior, a world, budgets, or an object that was saved.

    `delta` is used instead of the one that the file's first target names.
    """
    delta = None if delta is None else checks.probability("delta", delta)
    kind = kind_of(value)
    if kind == "plan":
        from quiltwork.report.account_page import account_report
        from quiltwork.report.accounts import account

        return account_report(account(value, delta))
    if kind == "tables":
        from quiltwork.report.tables.page import refused_table_report, table_report
        from quiltwork.report.tables.view import view as table_view

        try:
            return table_report(table_view(value, delta, ()))
        except UnboundedLossError as error:
            return refused_table_report(value, error)
    if kind == "prior":
        from quiltwork.report.influence.page import influence_report
        from quiltwork.report.influence.view import view as influence_view

        return influence_report(influence_view(value, delta=delta))
    if kind == "world":
        from quiltwork.report.design.page import world_report
        from quiltwork.report.design.view import view as design_view

        return world_report(design_view(value, delta=delta))
    if kind == "budgets":
        from quiltwork.report.budgets.file_page import budget_file_report

        return budget_file_report(value)
    return _object_report(value, delta)


def _object_report(value: Any, delta: float | None) -> Report:
    from quiltwork.audit.report import AuditReport
    from quiltwork.curves.curve import Curve
    from quiltwork.report.curve_page import curve_report

    if isinstance(value, AuditReport):
        from quiltwork.report.audit_page import audit_report_page

        return audit_report_page(value)
    if isinstance(value, Curve):
        return curve_report(value, delta)
    name = type(value).__name__
    raise Unsupported(f"a report of {name}", "it is no plan, prior, world, budget, curve or audit")
