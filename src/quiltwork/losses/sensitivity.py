"""Sensitivities that say where they come from.

Noise of scale b on an answer of sensitivity s costs s / b: a sensitivity that nobody worked out makes every epsilon
after it worthless, and a number alone does not tell whether somebody did. So the default of a constructor is marked as
assumed, and what a sum brings along is marked with the change of the data that it was worked out for. Marked numbers
count and compare as plain ones; a number that was typed has no mark. Documents of losses write the change beside the
number, so that what was saved for one is not read for another.
"""

from __future__ import annotations

from typing import Any, TypeVar

ASSUMED = "assumed"  # nobody stated it: the default of a constructor
NEIGHBORS = ("add_remove", "replace_one")  # changes of the data that sensitivities and samples are worked out for


class _Real(float):
    origin: str


class _Whole(int):
    origin: str


Number = TypeVar("Number", int, float)


def marked(value: Number, origin: str | None) -> Number:
    """The same number, with a mark of where it comes from; None leaves it as it is."""
    if origin is None:
        return value
    number: Any = value
    found: Any = _Whole(number) if isinstance(number, int) else _Real(number)
    found.origin = origin
    return found  # type: ignore[no-any-return]


def unmarked(value: Number) -> Number:
    """The plain number."""
    number: Any = value
    return int(number) if isinstance(number, int) else float(number)  # type: ignore[return-value]


def origin(value: object) -> str | None:
    """Where a number comes from: ASSUMED, one of NEIGHBORS, or None for one that was stated without more words."""
    return value.origin if isinstance(value, (_Real, _Whole)) else None
