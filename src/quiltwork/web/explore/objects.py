"""A saved object as a page: its curves when it is a guarantee, and what was written of it."""

from __future__ import annotations

from typing import Any

from quiltwork.curves.curve import Curve
from quiltwork.curves.guarantee import Guarantee
from quiltwork.document.charts import Json
from quiltwork.report.accounts import USUAL_DELTA
from quiltwork.spec.objects.documents import dumps
from quiltwork.web.explore.answers import fact, loss_fact, page, section
from quiltwork.web.explore.curves import charts_of, points
from quiltwork.web.explore.drawn import drawn

__all__ = ["object_page"]

MOST_WRITTEN = 4000  # characters of an object that are shown


def object_page(value: Any, delta: float | None = None) -> Json:
    """Anything that can be saved; what has epsilon, delta and beta is drawn."""
    name = type(value).__name__
    text = dumps(value)
    written = section("As it is written", [text if len(text) <= MOST_WRITTEN else text[:MOST_WRITTEN] + "..."])
    if not isinstance(value, Curve):
        shown = page(f"A saved {name}", "It has no privacy curve of its own.", [fact("Kind", name)], sections=[written])
        return {"page": shown, "account": {"type": name}, "curves": None, "met": None}
    asked = USUAL_DELTA if delta is None else delta
    total = value.epsilon(asked)
    seen = drawn(value, total, asked)
    words = section("In plain words", value.explain(asked).splitlines()) if isinstance(value, Guarantee) else written
    shown = page(
        f"A saved {name}",
        value.protects if isinstance(value, Guarantee) else "A curve without words.",
        [loss_fact("Certified privacy loss", total, asked)],
        sections=[words],
        charts=charts_of(seen, asked),
    )
    account = {"type": name, "delta": asked, "epsilon": total.to_json()}
    return {"page": shown, "account": account, "curves": points(seen), "met": None}
