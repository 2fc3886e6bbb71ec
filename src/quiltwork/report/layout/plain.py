"""Blocks of a report in and out of plain dictionaries."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import attrs
import numpy as np

from quiltwork.errors import InvalidParameter
from quiltwork.numbers.json import json_numbers
from quiltwork.report.layout.blocks import KINDS, Cell, Fact, Section

__all__ = ["block_from", "block_json", "plain"]


def plain(value: Any) -> Any:
    """What JSON can hold; infinities become texts, and what is not a number is refused."""
    if value is None or isinstance(value, str | bool | int):
        return value
    if isinstance(value, Mapping):
        return {str(key): plain(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [plain(entry) for entry in value]
    if isinstance(value, np.ndarray | np.generic):
        return plain(value.tolist())
    if isinstance(value, float) and value == value:
        return json_numbers(value)
    raise InvalidParameter("data", value, "numbers, texts, lists and dictionaries")


def block_json(block: Any) -> dict[str, Any]:
    """The kind of a block and its fields."""
    found: dict[str, Any] = {"kind": type(block).__name__.lower()}
    for field in attrs.fields(type(block)):
        value = getattr(block, field.name)
        if isinstance(block, Section) and field.name == "name" and not value:
            continue  # its heading names it
        found[field.name] = _field_json(value)
    return found


def _field_json(value: Any) -> Any:
    if isinstance(value, Cell | Fact):
        return _short(value)
    if isinstance(value, tuple):
        return [_field_json(entry) for entry in value]
    return block_json(value) if type(value) in KINDS.values() else plain(value)


def _short(value: Cell | Fact) -> Any:
    """Without the fields that say nothing; a cell that is only a text is that text."""
    fields = attrs.asdict(value)
    kept = {
        name: entry for name, entry in fields.items() if entry not in ("", None, False) or name in ("text", "value")
    }
    return value.text if isinstance(value, Cell) and list(kept) == ["text"] else kept


def block_from(document: Mapping[str, Any]) -> Any:
    """The block that was written."""
    fields = dict(document)
    kind = KINDS.get(str(fields.pop("kind", None)))
    if kind is None:
        raise InvalidParameter("kind", document.get("kind"), f"one of {', '.join(KINDS)}")
    if "blocks" in fields:
        fields["blocks"] = [block_from(block) for block in fields["blocks"]]
    if kind in (KINDS["facts"], KINDS["terms"]):
        fields["items"] = [Fact(**{"label": "", **item}) for item in fields["items"]]
    if kind is KINDS["grid"]:
        fields["rows"] = [_cells(row) for row in fields["rows"]]
        fields["foot"] = None if fields.get("foot") is None else _cells(fields["foot"])
    return kind(**fields)


def _cells(row: list[Any]) -> list[Any]:
    return [Cell(**cell) if isinstance(cell, Mapping) else cell for cell in row]
