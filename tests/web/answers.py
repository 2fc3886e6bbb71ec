"""What every answer of the explorers must be: plain JSON, charts that fit together, numbers in words."""

from __future__ import annotations

import json
import math
import re
from typing import Any

NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e[-+]?\d+)?")


def checked(answer: dict[str, Any]) -> dict[str, Any]:
    """The page of an answer, looked through and taken apart: facts, tables and charts in the order of reading."""
    json.dumps(answer, allow_nan=False)
    page: dict[str, Any] = answer["page"]
    assert set(page) == {"title", "lead", "sections"}
    found: dict[str, Any] = {**page, "facts": [], "tables": [], "charts": [], "words": []}
    _collect(page["sections"], found)
    assert found["facts"]
    assert page["sections"][0]["blocks"][0]["kind"] == "facts"  # what the page shows first, and says aloud
    for grid in [*found["tables"], *(chart["table"] for chart in found["charts"] if chart["table"])]:
        width = len(grid["columns"])
        assert all(len(row) == width for row in grid["rows"])
        assert not grid.get("foot") or len(grid["foot"]) == width
    for chart in found["charts"]:
        assert chart["title"]
        assert chart["caption"]
        for trace in chart["traces"]:
            _traced(trace)
    return found


def _collect(blocks: list[dict[str, Any]], found: dict[str, Any]) -> None:
    for block in blocks:
        if block["kind"] == "facts":
            found["facts"] += [{"note": "", "tone": "", **item} for item in block["items"]]
        elif block["kind"] == "grid":
            rows = [[cell if isinstance(cell, str) else cell["text"] for cell in row] for row in block["rows"]]
            found["tables"].append({**block, "rows": rows})
        elif block["kind"] == "chart":
            found["charts"].append(block)
        elif block["kind"] in ("words", "bullets"):
            found["words"] += [block["text"]] if block["kind"] == "words" else block["items"]
        _collect(block.get("blocks", []), found)


def _traced(trace: dict[str, Any]) -> None:
    if trace["kind"] == "heat":
        assert len(trace["z"]) == len(trace["y"])
        assert all(len(row) == len(trace["x"]) for row in trace["z"])
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


def table(page: dict[str, Any], column: str) -> dict[str, Any]:
    """The table whose first column has this name."""
    return next(one for one in page["tables"] if one["columns"][0][0] == column)
