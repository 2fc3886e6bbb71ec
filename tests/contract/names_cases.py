"""What the public names are: kinds, signatures, members and families, told without the modules they live in."""

import builtins
import dis
import importlib
import inspect
import pkgutil
import re
import types
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import quiltwork
from quiltwork.errors import QuiltworkError

ROOT = Path(__file__).parents[2]
INSIDE = ("quiltwork.ledger.migrations", "quiltwork.report.tour")  # nobody imports from these
OPERATORS = """
    abs add and array bool bytes call contains enter exit float floordiv format ge getitem gt index int invert iter le
    len lt mod mul neg next or pos pow radd rand reversed rmul ror rsub rtruediv sub truediv
"""
_PATH = re.compile(r"(?<![\w.'\"])(?:[a-z_]\w*\.)+(?=[A-Za-z_])")
_ADDRESS = re.compile(r"<(?:function|bound method|built-in function) ([\w.<>]+)[^>]*>| at 0x[0-9a-f]+")


class _Bare:
    """An annotation that is written as it is."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __repr__(self) -> str:
        return self.text


def plain(text: str) -> str:
    """The words without the modules that names live in and without addresses in memory."""
    return _PATH.sub("", _ADDRESS.sub(lambda found: found[1] or "", text)).replace("NoneType", "None")


def _annotation(value: Any) -> Any:
    if value is inspect.Parameter.empty:
        return value
    return _Bare(value.strip("'\"") if isinstance(value, str) else inspect.formatannotation(value))


def _unannotated(parameter: inspect.Parameter) -> inspect.Parameter:
    return parameter.replace(annotation=inspect.Parameter.empty)


def signature(value: Any) -> str | None:
    """How it is called; None where Python cannot tell."""
    try:
        found = inspect.signature(value)
    except (TypeError, ValueError):
        return None
    if hasattr(value, "model_fields"):  # the types of a file's fields are in its schema
        return plain(str(found.replace(parameters=[_unannotated(one) for one in found.parameters.values()])))
    parameters = [one.replace(annotation=_annotation(one.annotation)) for one in found.parameters.values()]
    return plain(str(found.replace(parameters=parameters, return_annotation=_annotation(found.return_annotation))))


def rooms() -> list[str]:
    """The package, and its packages that say what is public in them."""
    found = ["quiltwork", "quiltwork.errors"]
    for module in pkgutil.walk_packages(quiltwork.__path__, "quiltwork."):
        if module.ispkg and module.name not in INSIDE and hasattr(importlib.import_module(module.name), "__all__"):
            found.append(module.name)
    return found


@cache
def listed(room: str) -> list[str]:
    module = importlib.import_module(room)
    more = [name for name in dir(module) if not name.startswith("_")] if room == "quiltwork" else []
    ignored = {"annotations", "import_module", "Any", "TYPE_CHECKING"}
    return sorted({*module.__all__, *more} - ignored)


@cache
def _operators() -> frozenset[str]:
    return frozenset(f"__{name}__" for name in OPERATORS.split())


def _ours(value: type) -> bool:
    return value.__module__.partition(".")[0] == "quiltwork"


@cache
def _public_classes() -> frozenset[type]:
    values = (getattr(importlib.import_module(room), name) for room in rooms() for name in listed(room))
    return frozenset(value for value in values if isinstance(value, type))


def bases(value: type) -> list[str]:
    """The public classes that an instance is also one of, and Python's own errors and warnings among them."""
    found = value.__mro__[1:]
    errors = {one for one in found if issubclass(one, BaseException) and hasattr(builtins, one.__name__)}
    return sorted(one.__name__ for one in found if one in _public_classes() or one in errors)


def members(value: type) -> dict[str, Any]:
    """The public members that quiltwork itself gives a class, wherever in its family."""
    owners: dict[str, Any] = {}
    for one in reversed([one for one in value.__mro__ if _ours(one)]):
        fields = (*getattr(one, "model_fields", ()), *inspect.get_annotations(one), *_set_at_birth(one))
        owners |= {**dict.fromkeys(fields), **one.__dict__}
    family = {name for name in owners if not name.startswith("_") or name in _operators()}
    return {name: member(owners[name]) for name in sorted(family) if not name.startswith("model_")}


def _set_at_birth(value: type) -> set[str]:
    """What the class's own constructor sets on the instance."""
    made = value.__dict__.get("__init__")
    if not isinstance(made, types.FunctionType):
        return set()
    return {str(step.argval) for step in dis.get_instructions(made) if step.opname == "STORE_ATTR"}


def member(found: Any) -> str:
    """A method with how it is called, or an attribute: a property may become a field."""
    if isinstance(found, classmethod | staticmethod):
        return f"{type(found).__name__} {signature(found.__func__)}"
    if isinstance(found, types.FunctionType):
        return f"method {signature(found)}"
    return "class" if isinstance(found, type) else "attribute"


def described(value: Any) -> dict[str, Any]:
    """What the value of one name is."""
    if isinstance(value, types.ModuleType):
        called = getattr(type(value), "__call__", None)  # noqa: B004 - the signature is wanted
        return {"kind": "room", "called": signature(called) if inspect.isfunction(called) else None}
    if isinstance(value, type):
        return {"kind": "class", "called": signature(value), "is": bases(value), "members": members(value)}
    if callable(value) and not hasattr(value, "__origin__") and not isinstance(value, types.UnionType):
        return {"kind": "function", "called": signature(value)}
    return {"kind": "value", "of": type(value).__name__, "value": plain(repr(value))}


def errors() -> dict[str, list[str]]:
    """The family of errors and warnings: each with what catches it."""
    found: dict[str, list[str]] = {}
    for room in rooms():
        for name in listed(room):
            value = getattr(importlib.import_module(room), name)
            if isinstance(value, type) and issubclass(value, BaseException):
                found[name] = [one.__name__ for one in value.__mro__ if one is not object]
    assert QuiltworkError.__name__ in found
    return found


_FROM = re.compile(r"from (quiltwork(?:\.\w+)+) import (\([^)]*\)|[^\n(]+)")
_IMPORT = re.compile(r"^\s*(?:>>> )?import (quiltwork(?:\.\w+)+)", re.MULTILINE)


def imported(*places: str) -> dict[str, list[str]]:
    """The paths below the package that these files and folders import, and the names they take there."""
    found: dict[str, set[str]] = {}
    for path in _read(places):
        text = path.read_text(encoding="utf-8")
        for module in _IMPORT.findall(text):
            found.setdefault(module, set())
        for module, names in _FROM.findall(text):
            words = re.sub(r"#[^\n]*", "", names).strip("() \n").replace("\n", " ").split(",")
            taken = {name.split(" as ")[0].strip(" `.\"'\\>") for name in words}
            found.setdefault(module, set()).update(name for name in taken if name.isidentifier())
    return {module: sorted(names) for module, names in sorted(found.items())}


def _read(places: tuple[str, ...]) -> Iterator[Path]:
    for place in places:
        whole = [ROOT / place] if (ROOT / place).is_file() else sorted((ROOT / place).rglob("*"))
        yield from (path for path in whole if path.suffix in {".md", ".py", ".ipynb"})


def cases() -> dict[str, Any]:
    """All that is recorded of the names."""
    found: dict[str, Any] = {
        "errors": errors(),
        "imported": imported("README.md", "docs"),
        "imported by examples": imported("examples"),
    }
    for room in rooms():
        for name in listed(room):
            found[f"{room}:{name}"] = described(getattr(importlib.import_module(room), name))
    return found
