"""A budget file as a page: what a ledger would keep."""

from __future__ import annotations

from quiltwork.document.charts import Json, grid
from quiltwork.spec.files.budgets import BudgetFile
from quiltwork.web.explore.answers import fact, page

__all__ = ["budgets_page"]


def budgets_page(file: BudgetFile, delta: float | None = None) -> Json:
    """The budgets, one a row; nothing is composed here."""
    count = len(file.budgets)
    rows = [(one.name, one.words(), one.kind, _protected(one), one.note or "") for one in file.budgets]
    table = grid("What a ledger would keep", ("budget", "limit", "kind", "protects", "note"), rows)
    words = fact("Budgets", f"{count:,}", "open them with: quiltwork ledger, or on the page of budgets")
    shown = page(file.title, "A file of budgets. Spending happens in a ledger.", [words], tables=[table])
    return {"page": shown, "account": {"budgets": file.to_dict()}, "curves": None, "met": None}


def _protected(one: object) -> str:
    words, notion = getattr(one, "protects", None), getattr(one, "neighbors", None)
    return str(words if words is not None else notion.notion().protects if notion is not None else "")
