"""Accounts and reports: numbers computed once, then shown as text, figures, HTML, Markdown or JSON."""

from quiltwork.document.page import Report
from quiltwork.report.accounts import Account, Entry, Verdict, account
from quiltwork.report.anything import report_of
from quiltwork.report.baselines import Baseline

__all__ = ["Account", "Baseline", "Entry", "Report", "Verdict", "account", "report_of"]
