"""Plain values that describe columns: numbers, days and lists, checked."""

from __future__ import annotations

import datetime
from collections.abc import Iterable
from typing import Any

import numpy as np

from quiltwork import checks
from quiltwork.errors import InvalidParameter


def number(given: Any) -> float:
    """A number to compare with; whole ones stay whole."""
    real = checks.real("bound", given)
    if not isinstance(given, (int, np.integer)):
        return real
    if abs(int(given)) > checks.MAX_COUNT:
        raise InvalidParameter("bound", given, "a whole number up to 2**53, or a float")
    return int(given)


def whole(name: str, given: Any) -> int:
    """A whole number of moderate size."""
    real = checks.real(name, given, "a whole number")
    if real != int(real) or abs(real) > checks.MAX_COUNT:
        raise InvalidParameter(name, given, "a whole number up to 2**53")
    return int(real)


def day(name: str, given: Any) -> datetime.date:
    """A day, also from ISO text."""
    if isinstance(given, datetime.datetime):
        raise InvalidParameter(name, given, "a day without a time of day", "use given.date()")
    if isinstance(given, datetime.date):
        return given
    try:
        return datetime.date.fromisoformat(given)
    except (TypeError, ValueError):
        raise InvalidParameter(name, given, "a datetime.date or ISO text such as '2026-01-31'") from None


def first_day(given: Any) -> datetime.date:
    return day("low", given)


def last_day(given: Any) -> datetime.date:
    return day("high", given)


def distinct(name: str, values: Iterable[Any]) -> tuple[Any, ...]:
    """A list without repetitions, None or NaN."""
    if isinstance(values, (str, bytes)):
        raise InvalidParameter(name, values, "a list", "one text is not a list of its letters")
    try:
        found = tuple(values)
        unique = len(set(found)) == len(found)
    except TypeError:
        raise InvalidParameter(name, values, "a list of hashable values") from None
    if not found or not unique:
        raise InvalidParameter(name, found, "at least one value, none of them twice")
    if any(value is None or value != value for value in found):
        raise InvalidParameter(name, found, "free of None and NaN", "say nullable=True instead")
    return found


def listed(values: Iterable[Any]) -> str:
    """A few values in words."""
    shown = [str(value) for value in values]
    return "|".join(shown) if len(shown) <= 4 else "|".join(shown[:3]) + f"|... ({len(shown)})"


def rising(low: Any, high: Any) -> None:
    """Refuse bounds in the wrong order."""
    if not low <= high:
        raise InvalidParameter("low and high", (low, high), "in rising order")
