"""Whether a value that was read is what its field is declared to be: the simple part of annotations, read as text.

Classes check what matters by themselves; this catches a text in the place of a number where nobody would look.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

import numpy as np

__all__ = ["fitted"]

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
        return _array(choice, value)
    return value  # a class, or a name that stands for something else: its own checks decide


def _tuple(choice: str, value: Any) -> tuple[Any, ...]:
    _checked(isinstance(value, tuple), value, choice)
    parts = list(_split(choice[6:-1], ","))
    if len(parts) == 2 and parts[1] == "...":
        return tuple(fitted(parts[0], part) for part in value)
    _checked(len(parts) == len(value), value, choice)
    return tuple(fitted(declared, part) for declared, part in zip(parts, value, strict=True))


def _array(choice: str, value: Any) -> Any:
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
