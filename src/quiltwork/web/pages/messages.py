"""What a page says after something was asked of it: done, refused, or a mistake to mend."""

from __future__ import annotations

from typing import Any

import attrs
from fastapi import Request
from starlette.responses import JSONResponse

from quiltwork import errors
from quiltwork.errors import QuiltworkError
from quiltwork.web.service.access import CSRF_HEADER
from quiltwork.web.service.problems import status_of, words_of

__all__ = ["Message", "as_json", "refusal", "sentence", "wants_json"]

REFUSED = (errors.BudgetExceeded, errors.NotOpen, errors.AlreadyRun)


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
