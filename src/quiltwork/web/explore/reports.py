"""The report of any file, to be kept: one HTML page, Markdown, or JSON."""

from __future__ import annotations

import json
import re
from typing import Any

from quiltwork import checks
from quiltwork.document.charts import Json
from quiltwork.document.page import Report
from quiltwork.errors import InvalidParameter
from quiltwork.web.explore.account import value_of

__all__ = ["FORMATS", "made"]

FORMATS = {
    "html": "text/html; charset=utf-8",
    "md": "text/markdown; charset=utf-8",
    "json": "application/json",
}
LONGEST = 60


def made(plan: Any, kind: str, delta: float | None = None) -> Json:
    """`text`, `name` and `type` of the file."""
    from quiltwork.report.anything import report_of

    if kind not in FORMATS:
        raise InvalidParameter("format", kind, f"one of {', '.join(FORMATS)}")
    found = report_of(value_of(plan), None if delta is None else checks.probability("delta", delta))
    return {"text": _written(found, kind), "name": f"{_slug(found.title)}.{kind}", "type": FORMATS[kind]}


def _written(found: Report, kind: str) -> str:
    if kind == "html":
        return found.to_html()
    if kind == "md":
        return found.to_markdown()
    return json.dumps(found.to_json(), indent=2, allow_nan=False) + "\n"


def _slug(title: str) -> str:
    """A title as the name of a file.

    >>> _slug("Hospital: statistics 2026!"), _slug("***")
    ('hospital-statistics-2026', 'report')
    """
    words = re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-")
    return words[:LONGEST].strip("-") or "report"
