"""The plan format as a JSON Schema, for editors and validators."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel

from quiltwork.spec.plan import Plan


def schema(model: type[BaseModel] = Plan, title: str = "quiltwork plan") -> dict[str, Any]:
    """JSON Schema (draft 2020-12) of a plan file; numeric cross-checks are left to `read_plan`."""
    found = _without_null(model.model_json_schema())
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **found, "title": title}


def _without_null(value: Any) -> Any:
    """An optional field is left out of the file, never written as null; an entry of a list may be null."""
    if isinstance(value, list):
        return [_without_null(entry) for entry in value]
    if not isinstance(value, dict):
        return value
    clean = {key: _without_null(entry) for key, entry in value.items()}
    kept = [entry for entry in clean.get("anyOf", []) if entry != {"type": "null"}]
    if kept and len(kept) < len(clean["anyOf"]) and "default" in clean:
        del clean["anyOf"], clean["default"]
        clean |= kept[0] if len(kept) == 1 else {"anyOf": kept}
    return clean
