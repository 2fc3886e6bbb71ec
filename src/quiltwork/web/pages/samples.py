"""Files to begin with, as a person would write them."""

from __future__ import annotations

from functools import cache
from importlib import resources
from typing import Any

from quiltwork.spec.text.document import parse

__all__ = ["samples"]

KINDS = {"releases": "plan", "queries": "tables", "prior": "prior", "data": "world"}


def samples(kind: str | None = None) -> list[dict[str, Any]]:
    """Name, title, kind and text of each; of one kind, when it is named."""
    return [sample for sample in _all() if kind in (None, sample["kind"])]


@cache
def _all() -> tuple[dict[str, Any], ...]:
    folder = resources.files("quiltwork.web").joinpath("samples")
    found = []
    for file in sorted(folder.iterdir(), key=lambda file: file.name):
        if file.name.endswith(".yaml"):
            text = file.read_text(encoding="utf-8")
            said = parse(text).value
            kind = "prior" if "prior" in said else next(kind for key, kind in KINDS.items() if key in said)
            name = file.name.removesuffix(".yaml").partition("_")[2]
            found.append({"name": name, "title": said["title"], "kind": kind, "text": text})
    return tuple(found)
