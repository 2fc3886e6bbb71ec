"""Accounts of plans: numbers computed once, then shown as text, JSON, figures or one HTML file."""

from quiltwork.report.accounts import Account, Entry, Verdict, account
from quiltwork.report.baselines import Baseline

__all__ = ["Account", "Baseline", "Entry", "Verdict", "account"]
