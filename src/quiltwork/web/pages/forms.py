"""What a form sent, and what its page says then: done, refused, or a mistake to mend.

Texts stand under their names and are read as numbers, whole numbers, lists and times. An empty box is nothing; anything
else that is not what its label says is refused under that label.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any, TypeVar

import attrs
from fastapi import Depends, Request
from starlette.responses import JSONResponse

from quiltwork import errors
from quiltwork.errors import AccessDenied, InvalidParameter, QuiltworkError
from quiltwork.spec.fields.budgets import UNITS
from quiltwork.spec.text.document import cut
from quiltwork.web.service.access import CSRF_HEADER
from quiltwork.web.service.problems import status_of, words_of

Found = TypeVar("Found")
MOST_FIELDS = 400
REFUSED = (errors.BudgetExceeded, errors.NotOpen, errors.AlreadyRun)


class Typed(dict[str, str]):
    """The texts of a form; a name that was sent several times has one value a line."""

    def __init__(self, pairs: list[tuple[str, str]]) -> None:
        super().__init__()
        for name, text in pairs:
            text = text.replace("\r\n", "\n").replace("\r", "\n")
            self[name] = f"{self[name]}\n{text}" if name in self else text

    def line(self, name: str) -> str:
        """A text without white space at its ends."""
        return self.get(name, "").strip()

    def lines(self, name: str) -> list[str]:
        """One value a line; empty lines are none."""
        return [part.strip() for part in self.get(name, "").split("\n") if part.strip()]


async def sent(request: Request) -> Typed:
    """The form of a request; files in it are passed over."""
    form = await request.form(max_files=0, max_fields=MOST_FIELDS)
    return Typed([(name, text) for name, text in form.multi_items() if isinstance(text, str)])


Sent = Annotated[Typed, Depends(sent)]


def number(label: str, text: str) -> float:
    """A finite number.

    >>> number("Delta", " 1e-6 ")
    1e-06
    """
    try:
        found = float(text.strip()) if text.isascii() and "_" not in text else math.nan
    except ValueError:
        found = math.nan
    lost = found == 0.0 and re.search("[1-9]", text.lower().partition("e")[0])  # 1e-400 is not zero
    if lost or not math.isfinite(found):
        raise InvalidParameter(label, cut(text), "a number such as 0.5 or 1e-6")
    return found


def whole(label: str, text: str) -> int:
    """A whole number, digits only.

    >>> whole("Times", "12")
    12
    """
    if not re.fullmatch(r"[0-9]{1,18}", text.strip(), re.ASCII):
        raise InvalidParameter(label, cut(text), "a whole number")
    return int(text.strip())


def time(label: str, text: str) -> datetime:
    """A time as a browser's own box writes it, in UTC, or any ISO time that says its zone.

    >>> time("Expires", "2027-01-01T12:00").isoformat()
    '2027-01-01T12:00:00+00:00'
    """
    try:
        found = datetime.fromisoformat(text.strip())
    except ValueError:
        raise InvalidParameter(label, cut(text), "a time such as 2027-01-01T12:00, in UTC") from None
    return found if found.utcoffset() is not None else found.replace(tzinfo=UTC)


def span(label: str, text: str) -> timedelta:
    """A length of time with its unit.

    >>> span("Refresh", "30d")
    datetime.timedelta(days=30)
    """
    found = re.fullmatch(r"([0-9]{1,9})\s?([smhdw])", text.strip(), re.ASCII)
    if found is None:
        raise InvalidParameter(label, cut(text), "a whole number and a unit, s, m, h, d or w: 30d")
    return timedelta(seconds=int(found.group(1)) * UNITS[found.group(2)])


# ---- what the page says then


@attrs.frozen
class Message:
    """A title, a sentence, and how it is meant: good, bad or warn."""

    tone: str
    title: str
    text: str = ""
    status: int = 200


def refusal(error: QuiltworkError, spends: bool) -> Message:
    """Why something was not done. Where it would have spent, it says whether anything was."""
    status, text = status_of(error), sentence(words_of(error))
    if isinstance(error, REFUSED):
        return Message(
            "bad", "Refused. Nothing was spent." if spends else "Refused. Nothing was changed.", text, status
        )
    if status == 422:
        title = "Please check what was entered."
        return Message("bad", f"{title} Nothing was spent." if spends else title, text, status)
    certain = not isinstance(error, errors.LedgerUnavailable) or error.certain
    title = "Not done." if certain else "It is not known whether this was written."
    return Message("bad", f"{title} Nothing was spent." if spends and certain else title, text, status)


def attempt(act: Callable[[], Found], *, spends: bool = False) -> Found | Message:
    """What an act gives, or why it was refused; whoever may not do it at all gets the page that says so."""
    try:
        return act()
    except AccessDenied:
        raise
    except QuiltworkError as error:
        return refusal(error, spends)


def sentence(text: str) -> str:
    """A refusal as a sentence of its own.

    >>> sentence("scale must be > 0, got -2")
    'Scale must be > 0, got -2.'
    """
    text = " ".join(text.split())
    return text[:1].upper() + text[1:] + ("" if text.endswith((".", "!", "?")) else ".")


def wants_json(request: Request) -> bool:
    """Whether our own script asks, which puts the answer into the page that is there; forms cannot send this header."""
    return CSRF_HEADER in request.headers


def as_json(message: Message, **more: Any) -> JSONResponse:
    """The message for our script. A refusal is an answer like any other here, so its status stands in the body."""
    done = message.status < 400
    return JSONResponse({"done": done, "tone": message.tone, "title": message.title, "text": message.text, **more})
