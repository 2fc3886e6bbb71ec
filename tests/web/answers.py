"""What every answer of the explorers must be: plain JSON, charts that fit together, numbers in words."""

from __future__ import annotations

import json
import math
import re
from typing import Any

NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e[-+]?\d+)?")
PARTS = {"title", "lead", "facts", "verdicts", "tables", "sections", "warnings", "charts"}


def checked(answer: dict[str, Any]) -> dict[str, Any]:
    """The page of an answer, looked through."""
    json.dumps(answer, allow_nan=False)
    page: dict[str, Any] = answer["page"]
    assert set(page) == PARTS
    assert page["facts"]
    for grid in [*page["tables"], *(chart["table"] for chart in page["charts"])]:
        width = len(grid["columns"])
        assert all(len(row) == width and all(isinstance(cell, str) for cell in row) for row in grid["rows"])
        assert grid["caption"]
        assert not grid.get("foot") or len(grid["foot"]) == width
    for chart in page["charts"]:
        assert chart["title"]
        for trace in chart["traces"]:
            _traced(trace)
    return page


def _traced(trace: dict[str, Any]) -> None:
    if trace["kind"] == "heat":
        assert len(trace["z"]) == len(trace["y"]) == len(trace["texts"])
        assert all(len(row) == len(trace["x"]) for row in (*trace["z"], *trace["texts"]))
        return
    assert len(trace["x"]) == len(trace["y"])
    assert all(value is None or math.isfinite(value) for value in (*trace["x"], *trace["y"]))
    if "texts" in trace:
        assert len(trace["texts"]) == len(trace["x"])
    if "to" in trace:
        assert all(low <= high for low, high in zip(trace["y"], trace["to"], strict=True))


def numbers(text: str) -> list[float]:
    """The numbers that a text says."""
    return [float(found) for found in NUMBER.findall(text)]


def fact(page: dict[str, Any], label: str) -> dict[str, Any]:
    """The fact with this label."""
    return next(one for one in page["facts"] if one["label"].startswith(label))


def chart(page: dict[str, Any], name: str) -> dict[str, Any]:
    """The chart of this name."""
    return next(one for one in page["charts"] if one["name"] == name)


def trace(drawn: dict[str, Any], name: str) -> dict[str, Any]:
    """The first trace whose name begins so."""
    return next(one for one in drawn["traces"] if one["name"].startswith(name))
