"""Any file as an answer: what its keys say it is decides who answers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from quiltwork import checks
from quiltwork.document.charts import Json
from quiltwork.errors import InvalidPlan, UnboundedLossError
from quiltwork.spec.files.file import kind_of, parse_any
from quiltwork.web.explore.answers import fact, page, section
from quiltwork.web.explore.limits import checked_text

__all__ = ["answer", "value_of"]


def value_of(plan: Any) -> Any:
    """What a pasted text, or the same as an object, describes."""
    text = checked_text("plan", plan, "account")
    try:
        return parse_any(text)
    except InvalidPlan as error:
        if isinstance(plan, str):
            raise
        raise InvalidPlan(error.where, error.problem) from None  # an object has no lines


def answer(plan: Any, delta: float | None = None) -> Json:
    """`kind`, `account` (numbers), `curves` (points, or None), `page` (words and charts) and `met`."""
    value = value_of(plan)
    kind = kind_of(value)
    delta = None if delta is None else checks.probability("delta", delta)
    try:
        return {"kind": kind, **_answered(kind)(value, delta)}
    except UnboundedLossError as error:
        return {"kind": kind, **_unbounded(value, error)}


def _answered(kind: str) -> Callable[[Any, float | None], Json]:
    """Rooms are large: each is loaded when somebody asks for it."""
    if kind == "plan":
        from quiltwork.web.explore.plans import plan_page

        return plan_page
    if kind == "tables":
        from quiltwork.web.explore.tables import table_page

        return table_page
    if kind == "prior":
        from quiltwork.web.explore.influence import prior_page

        return prior_page
    if kind == "world":
        from quiltwork.web.explore.design import world_page

        return world_page
    if kind == "budgets":
        from quiltwork.web.explore.budgets import budgets_page

        return budgets_page
    from quiltwork.web.explore.objects import object_page

    return object_page


def _unbounded(value: Any, error: UnboundedLossError) -> Json:
    """A table plan for which no finite epsilon follows is an answer, not a mistake in the file."""
    shown = page(
        value.title,
        "No finite epsilon follows from this plan.",
        [fact("Certified privacy loss", "epsilon is not bounded", ", ".join(error.queries), "bad")],
        sections=[section("Why", str(error).splitlines())],
    )
    refused = {"message": str(error).splitlines(), "queries": list(error.queries)}
    return {"page": shown, "account": {"refused": refused}, "curves": None, "met": False}
