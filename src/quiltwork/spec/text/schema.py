"""A file format as a JSON Schema, for editors and validators."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel

_DEFINED = "#/$defs/"
_PUBLISHED = {  # pydantic names models that share a name by their modules; others may refer to them, so they stay
    "quiltwork__spec__fields__priors__Gaussian": "quiltwork__spec__priors__Gaussian",
}


def model_schema(model: type[BaseModel], title: str) -> dict[str, Any]:
    """JSON Schema (draft 2020-12) of a file; numeric cross-checks are left to its reader."""
    found = _published(_without_null(model.model_json_schema()))
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **found, "title": title}


def _published(value: Any) -> Any:
    """Every definition under the name by which it was published."""
    if isinstance(value, list):
        return [_published(entry) for entry in value]
    if isinstance(value, dict):
        return {_PUBLISHED.get(key, key): _published(entry) for key, entry in value.items()}
    if isinstance(value, str) and value.startswith(_DEFINED):
        return _DEFINED + _PUBLISHED.get(value.removeprefix(_DEFINED), value.removeprefix(_DEFINED))
    return value


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
