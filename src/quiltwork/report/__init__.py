"""Accounts and reports: numbers computed once, then shown as text, figures, HTML, Markdown or JSON."""

from quiltwork.document.page import Report
from quiltwork.report.answers.account import Account, Baseline, Entry, Verdict, account
from quiltwork.report.pages.anything import report_of

__all__ = ["Account", "Baseline", "Entry", "Report", "Verdict", "account", "report_of"]
