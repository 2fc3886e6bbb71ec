"""Names, notes, times and losses as a ledger takes them: short, printable, the same in every database."""

from __future__ import annotations

import os
import unicodedata
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Any

from quiltwork import checks
from quiltwork.compose.loss import Loss
from quiltwork.errors import InvalidParameter

LONGEST_NAME, LONGEST_NOTE = 200, 2000


def name(what: str, given: Any) -> str:
    """A printable text of one line without white space at its ends; letters that look the same are the same (NFC)."""
    allowed = f"a printable text of 1 to {LONGEST_NAME} characters"
    found = unicodedata.normalize("NFC", checks.text(what, given, allowed))
    if len(found) > LONGEST_NAME or found != found.strip() or not found.isprintable():
        raise InvalidParameter(what, given, allowed, "no line breaks, no spaces at its ends")
    return found


def listed(what: str, given: Any, allowed: str) -> tuple[Any, ...]:
    """What a list holds; a text is no list."""
    if isinstance(given, (str, bytes)) or not isinstance(given, Iterable):
        raise InvalidParameter(what, given, allowed)
    try:
        return tuple(given)
    except TypeError:  # an array of no dimension says that it can be walked through
        raise InvalidParameter(what, given, allowed) from None


def names(what: str, given: Any, most: int) -> tuple[str, ...]:
    """Several names, each once."""
    found = tuple(name(what, one) for one in listed(what, given, "a list of names"))
    if len(set(found)) < len(found):
        raise InvalidParameter(what, given, "names, each once")
    if len(found) > most:
        raise InvalidParameter(what, f"{len(found)} names", f"at most {most:,} names")
    return found


def note(given: Any) -> str:
    """A remark, which may be empty."""
    allowed = f"a text of at most {LONGEST_NOTE} characters"
    if not isinstance(given, str) or len(given) > LONGEST_NOTE:
        raise InvalidParameter("note", given, allowed)
    if not all(char.isprintable() or char in "\n\t" for char in given):
        raise InvalidParameter("note", given, allowed, "no control characters")
    return given


def moment(what: str, given: Any) -> datetime:
    """A time that says its zone, in UTC."""
    if not isinstance(given, datetime) or given.utcoffset() is None:
        raise InvalidParameter(what, given, "a datetime with a time zone", "for example datetime.now(timezone.utc)")
    try:
        return given.astimezone(UTC)
    except OverflowError:
        raise InvalidParameter(what, given, "a time between the years 1 and 9999") from None


def later(time: datetime, length: timedelta, times: int = 1) -> datetime:
    """So much later, or the end of time."""
    try:
        return time + times * length
    except OverflowError:
        return datetime.max.replace(tzinfo=UTC)


def length(span: timedelta) -> str:
    """A length of time in its largest whole unit."""
    seconds = span.total_seconds()
    for size, unit in ((604800, "week"), (86400, "day"), (3600, "hour"), (60, "minute"), (1, "second")):
        if seconds % size == 0:
            count = int(seconds // size)
            return f"{count:,} {unit}{'' if count == 1 else 's'}"
    return f"{seconds:g} seconds"


def path(what: str, given: Any) -> str:
    """The name of a file."""
    if not isinstance(given, (str, os.PathLike)):
        raise InvalidParameter(what, given, "the path of a file")
    found = os.fspath(given)
    if not isinstance(found, str) or not found or "\0" in found:
        raise InvalidParameter(what, given, "the path of a file")
    return found


def span(what: str, given: Any) -> timedelta:
    """A length of time greater than zero: a timedelta, or seconds."""
    allowed = "a timedelta, or a number of seconds, > 0 and at most 100 years"
    seconds = given.total_seconds() if isinstance(given, timedelta) else checks.real(what, given, allowed)
    found = timedelta(seconds=min(seconds, 4e9)) if seconds > 0 else timedelta(0)
    if not timedelta(0) < found <= timedelta(days=36525):
        raise InvalidParameter(what, given, allowed)
    return found


def loss(given: Any) -> Loss:
    """A loss that protects in both directions and tells something."""
    if not isinstance(given, Loss) or given.side != "worst":
        raise InvalidParameter("loss", given, "a loss such as quiltwork.gaussian(2.0), for adding and removing")
    if not given.parts:
        raise InvalidParameter("loss", given, "at least one release")
    return given
