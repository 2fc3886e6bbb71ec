"""Every entry of the reference pages says its parameters, what comes back, what is refused, and shows an example.

The names of `quiltwork` itself say so in docstrings (`test_docstrings`), those of rooms in `docs/reference/entries`.
"""

from __future__ import annotations

import doctest
import importlib
import inspect
import io
import re
import sys
from functools import cache
from pathlib import Path
from typing import Any

import attrs
import pytest
from tests.test_public import public_rooms

import quiltwork as qw

DOCS = Path(__file__).parents[1] / "docs"
sys.path.insert(0, str(DOCS / "_ext"))
words = importlib.import_module("entry_words")

DIRECTIVE = re.compile(r" *\.\. (currentmodule|auto\w+):: +(\S+)")


@attrs.frozen
class Entry:
    """A function or a class with a directive of its own, or a method that its class lists."""

    name: str
    value: Any
    member: bool

    @property
    def text(self) -> str:
        return inspect.getdoc(self.value) or ""


def found(name: str) -> Any:
    """The object of a dotted name: modules first, then attributes."""
    name = {"quiltwork.compose": "quiltwork.compose.loss.compose"}.get(name, name)  # the room, called as its function
    parts = name.split(".")
    for length in range(len(parts) - 1, 0, -1):
        try:
            value = importlib.import_module(".".join(parts[:length]))
            for part in parts[length:]:
                value = getattr(value, part)
        except (ImportError, AttributeError):
            continue
        return value
    raise LookupError(name)


def methods(owner: type, named: list[str]) -> list[str]:
    """The methods that a directive shows: those it lists, or all public ones."""
    public = [name for name in vars(owner) if not name.startswith("_")]
    return [name for name in named or public if inspect.isfunction(plain(owner, name))]


def plain(owner: type, name: str) -> Any:
    value = inspect.getattr_static(owner, name, None)
    return value.__func__ if isinstance(value, classmethod | staticmethod) else value


def members(owner: str, shown: dict[str, Entry], listed: str) -> list[Entry]:
    """What a directive with `:members:` shows: methods of a class, or functions and classes of a module."""
    named = [part.strip() for part in listed.split(",") if part.strip()]
    if owner in shown:
        value = shown[owner].value
        return [Entry(f"{owner}.{name}", plain(value, name), True) for name in methods(value, named)]
    room = importlib.import_module(owner)
    return [Entry(f"{owner}.{name}", getattr(room, name), False) for name in named or room.__all__]


@cache
def entries() -> dict[str, Entry]:
    """What the reference pages show, by its full name."""
    shown: dict[str, Entry] = {}
    for page in sorted((DOCS / "reference").glob("*.md")):
        module, owner, listed = "", "", None
        lines = page.read_text(encoding="utf-8").splitlines()
        for line in [*lines, ".. currentmodule:: quiltwork"]:
            if made := DIRECTIVE.match(line):
                if listed is not None:  # the members of the directive before
                    for entry in members(owner, shown, listed):
                        shown[entry.name] = entry
                    listed = None
                kind, target = made.groups()
                if kind == "currentmodule":
                    module = target
                else:
                    owner = target if target.startswith("quiltwork.") else f"{module}.{target}"
                    if kind != "automodule":
                        shown[owner] = Entry(owner, found(owner), False)
            elif line.strip().startswith(":members:"):
                listed = line.split(":members:")[1]
            elif listed and re.match(r" {6}\S", line):
                listed += line
    return shown


def lacks(entry: Entry) -> list[str]:
    """What an entry does not say, in its docstring or beside it."""
    has, own = words.titles(entry.text), words.known().get(words.short(entry.name), {})
    wrong = []
    if not has & {"Parameters", "Attributes"}:
        asked = words.parameters(entry.value)
        wrong += [name for name in asked if words.place_of(entry.name, name) is None]
    if entry.member or "Parameters" in has:
        return wrong
    made = inspect.isfunction(entry.value)
    if made and inspect.signature(entry.value).return_annotation not in (None, "None"):
        wrong += [] if "Returns" in has or "returns" in own else ["Returns"]
    if made and not has & {"Raises", "Returns"} and "raises" not in own:
        wrong.append("Raises")
    wrong += [error for error in own.get("raises", {}) if not hasattr(qw.errors, error)]
    if ">>> " not in entry.text and "example" not in own:
        wrong.append("Examples")
    return wrong


def warned(value: Any) -> bool:
    return inspect.isclass(value) and issubclass(value, Warning)


TOLD_IN_PROSE = {"Recipe", "Release", "divergence"}  # files list the first two; the last is inside the prover


@pytest.mark.parametrize("room", public_rooms())
def test_everything_public_has_an_entry(room):
    """Modules, values and names told in prose are no entries; what other rooms show as well has one there."""
    shown = {id(entry.value) for entry in entries().values()}
    module = importlib.import_module(room)
    made = [
        name
        for name in module.__all__
        if inspect.isfunction(getattr(module, name)) or inspect.isclass(getattr(module, name))
    ]
    assert [name for name in made if id(getattr(module, name)) not in shown and name not in TOLD_IN_PROSE] == []


def test_every_entry_is_whole():
    assert len(entries()) > 700
    wrong = {name: told for name, entry in entries().items() if not warned(entry.value) and (told := lacks(entry))}
    assert wrong == {}


def test_words_are_about_what_is_there():
    """No words for an entry that is not shown, nor for a parameter that nobody has."""
    shown = {words.short(name) for name in entries()}
    owners = {owner for name in shown for owner in words.lineage(name)}
    assert sorted(set(words.known()) - owners) == []
    used = {
        (words.place_of(name, one), one) for name, entry in entries().items() for one in words.parameters(entry.value)
    }
    said = {(owner, one) for owner, told in words.known().items() for one in (told or {}).get("parameters") or {}}
    assert sorted(said - used) == []


EXAMPLES = [name for name, told in words.known().items() if "example" in told]


@pytest.mark.parametrize("name", EXAMPLES)
def test_example(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = words.example(words.known()[name])
    test = doctest.DocTestParser().get_doctest(text, {"qw": qw}, name, None, 0)
    said: list[str] = []
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.REPORT_ONLY_FIRST_FAILURE)
    runner.run(test, out=said.append)
    assert runner.failures == 0, "".join(said)


def test_what_is_missing_is_seen():
    def lone(thing: int, epsilon: float) -> int:
        """Do it."""
        return thing

    assert lacks(Entry("quiltwork.nowhere.lone", lone, False)) == ["thing", "Returns", "Raises", "Examples"]
    assert lacks(Entry("quiltwork.nowhere.lone", lone, True)) == ["thing"]
    assert words.place_of("quiltwork.audit.run", "delta") == "audit"
    assert "Returns" in [part[0] for part in words.sections("quiltwork.audit.run", qw.audit.run, "")]
    assert len(EXAMPLES) > 200


def test_entries_are_sound_markup():
    """What the documentation makes of an entry is read without complaint: a complaint would break `make docs`."""
    from docutils.core import publish_doctree

    plain = importlib.import_module("plain_docstrings")
    text: list[str] = []
    for name, entry in entries().items():
        lines = entry.text.splitlines()
        words.process(None, "function", name, entry.value, None, lines)
        text += plain.to_markup(lines)
    told = io.StringIO()
    publish_doctree("\n".join(text), settings_overrides={"report_level": 2, "warning_stream": told})
    assert told.getvalue() == ""
