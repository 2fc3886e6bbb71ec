"""Every name of `quiltwork` has a reference entry in numpydoc's sections: parameters, returns, raises, an example."""

from __future__ import annotations

import importlib
import inspect
import re
from itertools import pairwise
from types import ModuleType
from typing import Any

import pytest

import quiltwork as qw

NAMES = [name for name in qw.__all__ if not isinstance(getattr(qw, name), ModuleType) and not name.startswith("__")]
NAMES += ["compose"]  # the room, called as its function
NO_VALUES = {"on_table"}  # a value, not a function: `on_input` says what both are
NOT_MADE = {"Curve", "QuiltworkError"}  # a protocol, and the root of the errors: nobody calls them
NEVER_REFUSE = {"add_remove", "edge", "free_lunch"}  # take nothing


def sections(text: str) -> dict[str, list[str]]:
    """The lines of each section of a docstring, and of what stands before them."""
    found: dict[str, list[str]] = {"": []}
    lines, at = text.splitlines(), ""
    for place, line in enumerate(lines):
        if place + 1 < len(lines) and re.fullmatch("-{4,}", lines[place + 1]):
            found[at := line] = []
        elif not re.fullmatch("-{4,}", line):
            found[at].append(line)
    return found


def missing(value: Any, name: str) -> list[str]:
    """What the entry of a function or a class does not say."""
    known = sections(inspect.getdoc(value) or "")
    entries = {title: [line for line in lines if line and line[0] != " "] for title, lines in known.items()}
    wrong = [] if known[""] and known[""][0].strip() else ["a first line"]
    asked = [] if name in NOT_MADE else list(inspect.signature(value).parameters.values())
    stars = {inspect.Parameter.VAR_POSITIONAL: "*", inspect.Parameter.VAR_KEYWORD: "**"}
    if entries.get("Parameters", []) != [stars.get(one.kind, "") + one.name for one in asked]:
        wrong.append("Parameters")
    made = inspect.isfunction(value)
    if made and not entries.get("Returns") and inspect.signature(value).return_annotation not in (None, "None"):
        wrong.append("Returns")
    if made and not entries.get("Raises") and name not in NEVER_REFUSE:
        wrong.append("Raises")
    wrong += [
        f"{title}: {line} without words"
        for title in ("Parameters", "Returns", "Raises")
        for line, after in pairwise([*known.get(title, []), ""])
        if line and line[0] != " " and not after.startswith("    ")
    ]
    wrong += [f"Raises: {line}" for line in entries.get("Raises", []) if not hasattr(qw.errors, line)]
    if not any(line.startswith(">>> ") for line in known.get("Examples", [])):
        wrong.append("Examples")
    return wrong


@pytest.mark.parametrize("name", [name for name in NAMES if name not in NO_VALUES])
def test_reference_entry_is_whole(name):
    value = importlib.import_module("quiltwork.compose.loss").compose if name == "compose" else getattr(qw, name)
    assert missing(value, name) == []


def test_what_is_missing_is_seen():
    def half(one: int, two: int) -> int:
        """Add.

        Parameters
        ----------
        one
            A number.
        """
        return one + two

    assert missing(half, "half") == ["Parameters", "Returns", "Raises", "Examples"]
    assert len(NAMES) > 65
