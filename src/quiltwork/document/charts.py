"""Charts as plain values: what is drawn, where, in which role, and the same numbers as a table of words.

A role is the name of a colour of the page; the script that draws (static/charts.js) looks it up, so that charts follow
the light or dark theme. Numbers in words are rounded to the safe side.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from quiltwork.checks import FloatArray
from quiltwork.numbers.digits import single

__all__ = ["POINTS", "Json", "at", "axis", "chart", "cosine", "drawable", "grid", "spoken", "trace"]

POINTS = 161

Json = dict[str, Any]


def cosine(count: int = POINTS) -> FloatArray:
    """Places in [0, 1], dense near both ends, where trade-off functions bend."""
    return spoken(0.5 - 0.5 * np.cos(np.linspace(0.0, np.pi, count)))


def spoken(places: Any) -> FloatArray:
    """Places with five digits: what is asked at such a place can be said in words without rounding the place."""
    return np.array([float(f"{place:.5g}") for place in np.ravel(places)])


def drawable(values: Any) -> list[float | None]:
    """Floats for a drawing: what is not finite is left out."""
    return [float(value) if math.isfinite(value) else None for value in np.ravel(np.asarray(values, dtype=float))]


def grid(caption: str, columns: Sequence[str | tuple[str, str]], rows: Sequence[Sequence[str]], **more: Any) -> Json:
    """A table of words; a column is its heading, or (heading, "number") when it is aligned to the right."""
    heads = [{"text": c, "number": False} if isinstance(c, str) else {"text": c[0], "number": True} for c in columns]
    return {"caption": caption, "columns": heads, "rows": [list(row) for row in rows], **more}


def axis(title: str, low: float | None = None, high: float | None = None, **more: Any) -> Json:
    """An axis; without ends the drawing chooses them. `scale` is "linear" or "log"."""
    ends = None if low is None or high is None else [low, high]
    return {"title": title, "range": ends, "scale": "linear", **more}


def trace(name: str, x: Any, y: Any, role: str = "accent", **more: Any) -> Json:
    """A line, unless `kind` says "steps" or "points"; `to` makes a band between two ends, `under` fills to zero."""
    found: Json = {"name": name, "kind": "line", "role": role, "x": drawable(x), "y": drawable(y)}
    if "to" in more:
        more["to"] = drawable(more["to"])
    return {**found, **more}


def chart(name: str, title: str, x: Json, y: Json, traces: Sequence[Json], table: Json, **more: Any) -> Json:
    """One picture with its words."""
    return {"name": name, "title": title, "x": x, "y": y, "traces": list(traces), "table": table, **more}


def at(delta: float) -> str:
    """The delta of an answer, in words."""
    return f"at delta {single(delta)}"
