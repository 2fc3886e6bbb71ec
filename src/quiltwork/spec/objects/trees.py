"""Values as trees of mappings, lists, texts and numbers, from which exactly the same values are built again.

Numbers, texts, truth values and lists stand for themselves.  What YAML and JSON have no word for is a mapping with one
key that starts with `$`:

    {$fraction: 1/3}            an exact fraction         {$exact: [[1/3, 2/3]]}    tuples of them
    {$number: inf}              an infinite number        {$fractions: [[1/3]]}     an array of them
    {$array: [1, 2], type: int} an array of numbers       {$empty: [0, 3]}          an array without entries
    {$set: [a, b]}              a set                     {$pairs: [[key, value]]}  a mapping whose keys are no texts
    {$date: 2026-01-31}  {$time: 2026-01-31T12:00:00+00:00}  {$seconds: 60.0}

A mapping with a `schema` is another object.  Floats are written with all of their digits, so that nothing is lost.
What was read is held against what its field is declared to be, the simple part of annotations read as text: classes
check what matters by themselves; this catches a text in the place of a number where nobody would look.
"""

from __future__ import annotations

import ast
import datetime
import enum
import math
import re
from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from typing import Any

import numpy as np

from quiltwork.errors import Unsupported
from quiltwork.spec.text.document import Path, shown

Written = Callable[[Any], Any]
Read = Callable[[Mapping[str, Any], Path], Any]

_TYPES = {"f": "float", "i": "int", "u": "int", "b": "bool"}
_DTYPES = {"float": np.float64, "int": np.int64, "bool": np.bool_}
_FRACTION = re.compile(r"[-+]?\d{1,4000}(/\d{1,4000})?")
_NUMBERS = {"inf": math.inf, "-inf": -math.inf, "nan": math.nan}


class Malformed(Exception):
    """Something in a tree is not what it says; `path` leads to it."""

    def __init__(self, path: Path, problem: str) -> None:
        super().__init__(problem)
        self.path, self.problem = path, problem


# ---- to a tree


def encoded(value: Any, document: Written, *, bare: bool = False) -> Any:
    """The tree of a value; `document` writes objects, and a `bare` array needs no tag because its field says it."""
    if isinstance(value, enum.Enum):
        return document(value)
    if value is None or isinstance(value, (bool, str)):
        return value
    if isinstance(value, (np.bool_, np.integer, np.floating)):
        value = value.item()
    if isinstance(value, int):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else {"$number": str(value)}
    if isinstance(value, Fraction):
        return {"$fraction": str(value)}
    if isinstance(value, np.ndarray):
        return _array(value, document, bare=bare)
    if isinstance(value, (list, tuple)):
        exact = isinstance(value, tuple) and bool(value) and _all_fractions(value)
        return {"$exact": _texts(value)} if exact else [encoded(part, document) for part in value]
    if isinstance(value, (frozenset, set)):
        return {"$set": [encoded(part, document) for part in sorted(value, key=repr)]}
    if isinstance(value, Mapping):
        return _mapping(value, document)
    return _moment(value) or document(value)


def _all_fractions(value: Any) -> bool:
    """Whether all that nested tuples hold is fractions, at least one."""
    if isinstance(value, tuple):
        return bool(value) and all(map(_all_fractions, value))
    return isinstance(value, Fraction)


def _texts(value: Any) -> Any:
    return [_texts(part) for part in value] if isinstance(value, (list, tuple)) else str(value)


def _array(value: np.ndarray, document: Written, *, bare: bool) -> Any:
    if not value.size:
        return {"$empty": list(value.shape), "type": _TYPES.get(value.dtype.kind, "float")}
    if value.dtype == object:
        if all(isinstance(part, Fraction) for part in value.ravel()):
            return {"$fractions": _texts(value.tolist())}
        raise Unsupported("an array of Python objects", "only numbers and fractions are written")
    if value.dtype.kind not in _TYPES:
        raise Unsupported(f"an array of type {value.dtype}", "only numbers, fractions and truth values are written")
    numbers = encoded(value.tolist(), document)
    kind = _TYPES[value.dtype.kind]
    return numbers if bare else {"$array": numbers, "type": kind}


def _mapping(value: Mapping[Any, Any], document: Written) -> Any:
    plain = all(isinstance(key, str) and not key.startswith("$") for key in value) and "schema" not in value
    if plain:
        return {key: encoded(part, document) for key, part in value.items()}
    return {"$pairs": [[encoded(key, document), encoded(part, document)] for key, part in value.items()]}


def _moment(value: Any) -> Any:
    if isinstance(value, datetime.datetime):
        return {"$time": value.isoformat()}
    if isinstance(value, datetime.date):
        return {"$date": value.isoformat()}
    return {"$seconds": value.total_seconds()} if isinstance(value, datetime.timedelta) else None


# ---- from a tree


def tagged(tree: Any) -> str:
    """The tag of a mapping, empty when it has none."""
    return next((key for key in tree if key.startswith("$")), "") if isinstance(tree, Mapping) else ""


def decoded(tree: Any, read: Read, path: Path = (), *, lists: bool = False) -> Any:
    """The value of a tree; `read` builds objects, and lists become tuples unless `lists` keeps them."""
    if isinstance(tree, list):
        parts = [decoded(part, read, (*path, index), lists=lists) for index, part in enumerate(tree)]
        return parts if lists else tuple(parts)
    if isinstance(tree, float) and math.isnan(tree):
        raise Malformed(path, "must be a number, got NaN")
    if not isinstance(tree, Mapping):
        return tree
    tag = tagged(tree)
    if tag:
        return _untagged(tag, tree, read, path)
    if "schema" in tree:
        return read(tree, path)
    return {key: decoded(part, read, (*path, key), lists=lists) for key, part in tree.items()}


def _untagged(tag: str, tree: Mapping[str, Any], read: Read, path: Path) -> Any:
    rest = set(tree) - {tag} - ({"type"} if tag in ("$array", "$empty") else set())
    if tag not in _TAGS or rest:
        what = f"has {sorted(rest)[0]} beside {tag}" if rest else f"has the unknown tag {tag}"
        raise Malformed(path, f"{what}; there are {', '.join(_TAGS)}, each alone in its mapping")
    made, allowed = _TAGS[tag]
    try:
        return made(tree[tag], tree.get("type", "float"), lambda part: decoded(part, read, (*path, tag)))
    except (ValueError, TypeError, KeyError, OverflowError, ZeroDivisionError):
        raise Malformed((*path, tag), f"cannot be read: it must be {allowed}, got {shown(tree[tag])}") from None


def _exact(value: Any) -> Fraction:
    if not isinstance(value, (str, int)) or isinstance(value, bool) or not _FRACTION.fullmatch(str(value)):
        raise ValueError("no fraction")
    return Fraction(str(value))


def _nested(value: Any) -> Any:
    return tuple(map(_nested, value)) if isinstance(value, list) else _exact(value)


def _fractions(value: Any) -> np.ndarray:
    if not isinstance(value, list):
        raise TypeError("no list")
    shaped = np.array(value, dtype=object)
    found = np.empty(shaped.shape, dtype=object)
    found.ravel()[:] = [_exact(part) for part in shaped.ravel().tolist()]
    return found


def _numbers(value: Any, kind: str) -> np.ndarray:
    found = np.array(value)
    if not isinstance(value, (list, tuple)) or found.dtype.kind not in {"float": "fi", "int": "i", "bool": "b"}[kind]:
        raise TypeError("other numbers")
    return found.astype(_DTYPES[kind])


def _shape(value: Any, kind: str) -> np.ndarray:
    if not isinstance(value, list) or not value or not all(type(part) is int and 0 <= part < 2**31 for part in value):
        raise ValueError("no shape")
    if 0 not in value:
        raise ValueError("not empty")
    return np.zeros(tuple(value), dtype=_DTYPES[kind])


def _pairs(value: Any, inner: Callable[[Any], Any]) -> dict[Any, Any]:
    found = {inner(key): inner(part) for key, part in value}
    if len(found) != len(value):
        raise ValueError("a key twice")
    return found


def _time(value: Any) -> datetime.datetime:
    found = datetime.datetime.fromisoformat(value)
    if found.tzinfo is None:
        raise ValueError("no time zone")
    return found


def _seconds(value: Any) -> datetime.timedelta:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise TypeError("no number")
    return datetime.timedelta(seconds=value)


# how each tag is read, from what stands under it, its type and a reader of what is inside; and what must stand there
_TAGS: dict[str, tuple[Callable[[Any, str, Callable[[Any], Any]], Any], str]] = {
    "$fraction": (lambda value, _kind, _inner: _exact(value), "a text such as 1/3"),
    "$exact": (lambda value, _kind, _inner: _nested(value), "lists of texts such as 1/3"),
    "$fractions": (lambda value, _kind, _inner: _fractions(value), "rows of texts such as 1/3, all of one length"),
    "$number": (lambda value, _kind, _inner: _NUMBERS[value], "inf, -inf or nan"),
    "$array": (
        lambda value, kind, inner: _numbers(inner(value), kind),
        "numbers of the named type (float, int or bool), all rows of one length",
    ),
    "$empty": (lambda value, kind, _inner: _shape(value, kind), "a shape with a 0 in it"),
    "$set": (lambda value, _kind, inner: frozenset(inner(value)), "a list of values"),
    "$pairs": (lambda value, _kind, inner: _pairs(value, inner), "a list of [key, value], no key twice"),
    "$date": (lambda value, _kind, _inner: datetime.date.fromisoformat(value), "a day such as 2026-01-31"),
    "$time": (lambda value, _kind, _inner: _time(value), "a time with its zone, such as 2026-01-31T12:00:00+00:00"),
    "$seconds": (lambda value, _kind, _inner: _seconds(value), "a number of seconds"),
}


_PLAIN = {"int": int, "float": float, "str": str, "bool": bool}
_WORDS = {"int": "a whole number", "float": "a number", "str": "a text", "bool": "true or false", "None": "null"}
_OPENING, _CLOSING = "[(", "])"


class Misfit(Exception):
    """The value is none of what is declared; `args[0]` says what is."""


def fitted(annotation: str, value: Any) -> Any:
    """The value, with lists made arrays where arrays are declared."""
    choices = list(_split(annotation, "|"))
    for choice in choices:
        try:
            return _one(choice, value)
        except Misfit:
            continue
    raise Misfit(" or ".join(_said(choice) for choice in choices))


def _one(choice: str, value: Any) -> Any:
    if choice == "None":
        return _checked(value is None, value, choice)
    if choice in _PLAIN:
        if choice == "float" and type(value) is int:
            return value  # many fields hold whole numbers, and write them so again
        return _checked(type(value) is _PLAIN[choice], value, choice)
    if choice.startswith("Literal["):
        return _checked(value in ast.literal_eval(f"[{choice[8:-1]}]"), value, choice)
    if choice.startswith("tuple["):
        return _tuple(choice, value)
    if choice.startswith(("FloatArray", "NDArray", "np.ndarray", "IntArray", "Members")):
        return _as_array(choice, value)
    return value  # a class, or a name that stands for something else: its own checks decide


def _tuple(choice: str, value: Any) -> tuple[Any, ...]:
    _checked(isinstance(value, tuple), value, choice)
    parts = list(_split(choice[6:-1], ","))
    if len(parts) == 2 and parts[1] == "...":
        return tuple(fitted(parts[0], part) for part in value)
    _checked(len(parts) == len(value), value, choice)
    return tuple(fitted(declared, part) for declared, part in zip(parts, value, strict=True))


def _as_array(choice: str, value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return value
    kinds = "f" if choice == "FloatArray" else "b" if choice == "Members" or "bool" in choice else "iufb"
    try:
        found = np.array(value)
    except ValueError:
        raise Misfit(_said(choice)) from None
    _checked(isinstance(value, tuple) and found.dtype.kind in kinds + ("iu" if kinds == "f" else ""), value, choice)
    return found.astype(float) if kinds == "f" else found


def _checked(holds: bool, value: Any, choice: str) -> Any:
    if not holds:
        raise Misfit(_said(choice))
    return value


def _said(choice: str) -> str:
    if choice in _WORDS:
        return _WORDS[choice]
    if choice.startswith("Literal["):
        return "one of " + choice[8:-1]
    if choice.startswith("tuple["):
        parts = list(_split(choice[6:-1], ","))
        return "a list" if parts[-1] == "..." else f"a list of {len(parts)}"
    return "rows of numbers, all of one length" if "rray" in choice or choice == "Members" else choice


def _split(text: str, sign: str) -> Iterator[str]:
    """The parts between signs that stand outside all brackets."""
    depth, part = 0, ""
    for letter in text:
        depth += (letter in _OPENING) - (letter in _CLOSING)
        if letter == sign and not depth:
            yield part.strip()
            part = ""
        else:
            part += letter
    if part.strip():
        yield part.strip()
