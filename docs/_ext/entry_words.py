"""What reference entries say besides their docstrings: parameters, what comes back, what is refused, an example.

The names of `quiltwork` itself say all of that in their docstrings.  For rooms it stands in `docs/reference/entries`,
one map from dotted names (without "quiltwork.") to words; a parameter is looked up under its entry, then under its
class, its room, and the empty name, so that what is the same everywhere is said once.
"""

from __future__ import annotations

import inspect
import itertools
from functools import cache
from pathlib import Path
from typing import Any

import yaml
from sphinx.application import Sphinx

FOLDER = Path(__file__).parents[1] / "reference" / "entries"
ROOT = "quiltwork"
Words = dict[str, Any]


@cache
def known() -> dict[str, Words]:
    """Everything that is said, by dotted name; no name is spoken of in two files."""
    found: dict[str, Words] = {}
    for path in sorted(FOLDER.glob("*.yaml")):
        for name, words in yaml.safe_load(path.read_text(encoding="utf-8")).items():
            if name in found:
                raise ValueError(f"{path.name}: {name} is described in another file")
            found[name] = words or {}
    return found


def short(name: str) -> str:
    """A dotted name without the package."""
    return "" if name == ROOT else name.removeprefix(f"{ROOT}.")


def lineage(name: str) -> list[str]:
    """The name, its class, its room, ..., and the empty name."""
    parts = short(name).split(".")
    return [".".join(parts[:length]) for length in range(len(parts), -1, -1)]


def place_of(name: str, parameter: str) -> str | None:
    """Where a parameter of an entry is described."""
    for owner in lineage(name):
        words = known().get(owner, {})
        if parameter in words.get("parameters", {}):
            return owner
        if (like := words.get("like")) and parameter in known()[like].get("parameters", {}):
            return str(like)
    return None


def parameters(value: Any) -> dict[str, str]:
    """Public parameters as they are written, with the stars of those that take many."""
    try:
        asked = inspect.signature(value).parameters.values()
    except (TypeError, ValueError):
        return {}
    stars = {inspect.Parameter.VAR_POSITIONAL: "*", inspect.Parameter.VAR_KEYWORD: "**"}
    return {one.name: stars.get(one.kind, "") + one.name for one in asked if one.name not in ("self", "cls")}


def titles(text: str) -> set[str]:
    """The sections that a docstring has."""
    lines = text.splitlines()
    return {line for line, after in itertools.pairwise(lines) if after and set(after) == {"-"}}


def example(words: Words) -> str:
    """The lines of an example, imports first."""
    lines = [f">>> {line}" for line in words.get("import", "").splitlines()]
    return "\n".join([*lines, words.get("example", "").strip()]) if "example" in words else ""


def sections(name: str, value: Any, text: str) -> list[list[str]]:
    """The sections that the docstring lacks, each as its lines."""
    own, has = known().get(short(name), {}), titles(text)
    found: list[list[str]] = []

    def add(title: str, body: list[str]) -> None:
        if body and title not in has:
            found.append([title, "-" * len(title), *body])

    told: list[str] = []
    for parameter, written in parameters(value).items():
        owner = place_of(name, parameter)
        if owner is not None:
            words = known()[owner]["parameters"][parameter]
            if words is not None:  # nothing is said of what is not for people
                told += [written, f"    {words}"]
    if not has & {"Parameters", "Attributes"}:
        made = own.get("made")
        add("Attributes" if made else "Parameters", told)
        add("Made by", [f"    {made}"] if made else [])
    if "returns" in own:
        add("Returns", [f"    {own['returns']}"])
    add("Raises", [line for error, when in (own.get("raises") or {}).items() for line in (error, f"    {when}")])
    if ">>> " not in text:
        add("Examples", example(own).splitlines())
    return found


def process(app: Sphinx, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    if what in ("function", "method", "class", "exception"):
        for section in sections(name, obj, "\n".join(lines)):
            lines += ["", *section]


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("autodoc-process-docstring", process, priority=400)  # before docstrings become markup
    return {"parallel_read_safe": True, "parallel_write_safe": True}
