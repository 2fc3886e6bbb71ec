"""What goes wrong, as an answer: a status, and words for a person or for a program.

Nothing that was sent is repeated in an answer about a mistake of ours, and no trace of the code ever leaves the server.
"""

from __future__ import annotations

import logging
import re
from typing import Any
from urllib.parse import urlencode

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse, RedirectResponse, Response

from quiltwork import errors
from quiltwork.errors import QuiltworkError
from quiltwork.web.service.headers import ALWAYS

log = logging.getLogger("quiltwork.web")
_ASIDE = re.compile(r" \(.*\)(?=[;:]|$)")


class NotSignedIn(QuiltworkError, PermissionError):
    """Nobody showed a token that is known."""


class Forged(QuiltworkError, PermissionError):
    """A form did not come from one of our pages."""

    def __init__(self) -> None:
        super().__init__("the form does not come from a page of this session: load the page again, then send it")


class NoLedger(QuiltworkError, LookupError):
    """The service was started without a ledger."""

    def __init__(self) -> None:
        super().__init__("this service keeps no budgets: start it with quiltwork serve --ledger FILE")


class TooMany(QuiltworkError, RuntimeError):
    """One caller asks too often."""

    def __init__(self, seconds: int) -> None:
        super().__init__(f"too many requests: ask again in {seconds} seconds")
        self.seconds = seconds


class TooLong(QuiltworkError, TimeoutError):
    """An answer needed more time or memory than one answer may."""

    def __init__(self, seconds: float | None) -> None:
        what = "more memory than one answer may use" if seconds is None else f"more than {seconds:g} seconds"
        super().__init__(f"this answer needs {what}: ask for less, or use the command line")
        self.seconds = seconds


class Busy(QuiltworkError, RuntimeError):
    """Everything that could compute an answer is in use."""


class Failed(QuiltworkError, RuntimeError):
    """A mistake of ours."""


STATUS: dict[int, tuple[type[QuiltworkError], ...]] = {
    401: (NotSignedIn,),
    403: (Forged, errors.AccessDenied),
    404: (NoLedger,),
    409: (errors.BudgetExceeded, errors.NotOpen, errors.AlreadyRun, errors.Unreachable, errors.BrokenChain),
    429: (TooMany,),
    500: (Failed,),
    501: (errors.MissingExtra,),
    503: (TooLong, Busy, errors.ClockWentBack, errors.LedgerUnavailable),
}
TITLES = {
    401: "Please sign in",
    403: "Not allowed",
    404: "Not found",
    405: "Not possible here",
    408: "Too slow",
    409: "Refused",
    413: "Too large",
    422: "Please check what was entered",
    429: "Too many requests",
    500: "A mistake of ours",
    501: "Not installed",
    503: "Not available now",
}
PLAIN = {
    404: "there is no such page",
    405: "this address cannot be used that way",
    408: "what was to be sent did not come in time: send it again",
    413: "what was sent is larger than this service accepts",
}


class Problem(BaseModel):
    """What went wrong: the kind of error, a sentence, and where, if it is known."""

    error: str
    message: str
    field: str | None = None
    line: int | None = None


def usual(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """The answers that every part of the interface may give, for its description."""
    every = sorted({401, 403, 413, 422, 429, 503, *statuses})
    return {status: {"model": Problem, "description": TITLES[status]} for status in every}


def status_of(error: QuiltworkError) -> int:
    """422 for whatever is about the request itself, 404 for what a ledger does not have."""
    if isinstance(error, errors.InvalidParameter) and error.name in ("budget", "reservation", "seq"):
        return 404
    return next((status for status, kinds in STATUS.items() if isinstance(error, kinds)), 422)


def install(app: FastAPI) -> None:
    """Let the application answer errors in these words."""
    app.add_exception_handler(QuiltworkError, _refused)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(HTTPException, _plain)
    app.add_exception_handler(Exception, _failed)


def answered(request: Request, status: int, problem: Problem, headers: dict[str, str] | None = None) -> Response:
    """As JSON for programs, as a page for people."""
    if request.url.path.startswith("/api/"):
        return JSONResponse(problem.model_dump(), status, headers)
    if status == 401 and request.method == "GET":
        asked = request.url.path + (f"?{request.url.query}" if request.url.query else "")
        return RedirectResponse(f"/sign-in?{urlencode({'next': asked})}", 303)
    page: Response = request.app.state.site.page(
        request, "problem.html", status, title=TITLES.get(status, "Not possible"), message=problem.message
    )
    page.headers.update(headers or {})
    return page


def words_of(error: QuiltworkError) -> str:
    """What is told about an error. What a database says about itself (hosts, users, files) is for the log alone."""
    words = " ".join(str(error).split())
    if isinstance(error, errors.LedgerUnavailable):
        log.warning("the ledger is not available: %s", words)
        words = _ASIDE.sub("", words)
    return words


def problem_of(error: QuiltworkError) -> Problem:
    """An error as the interface tells it."""
    field = getattr(error, "name", None) or getattr(error, "where", None)
    return Problem(
        error=type(error).__name__,
        message=words_of(error),
        field=field if isinstance(field, str) else None,
        line=getattr(error, "line", None),
    )


def _refused(request: Request, error: Exception) -> Response:
    if not isinstance(error, QuiltworkError):
        return _failed(request, error)
    return answered(request, status_of(error), problem_of(error), _headers(error))


def refusal(error: QuiltworkError) -> Response:
    """An error as programs are told it."""
    return JSONResponse(problem_of(error).model_dump(), status_of(error), _headers(error))


def _headers(error: QuiltworkError) -> dict[str, str]:
    if isinstance(error, (TooMany, Busy)):
        return {"Retry-After": str(getattr(error, "seconds", 1))}
    return {"WWW-Authenticate": "Bearer"} if status_of(error) == 401 else {}


def _invalid(request: Request, error: Exception) -> Response:
    first: dict[str, Any] = error.errors()[0] if isinstance(error, RequestValidationError) else {}
    place = ".".join(str(step) for step in first.get("loc", ())[1:])
    words = f"{place or 'the request'}: {first.get('msg', 'cannot be read')}"
    return answered(request, 422, Problem(error="InvalidRequest", message=words, field=place or None))


def _plain(request: Request, error: Exception) -> Response:
    status = error.status_code if isinstance(error, HTTPException) else 500
    if status == 400:  # a body that is no JSON, or no form
        words = "what was sent cannot be read: is it the JSON, or the form, that it says it is?"
        return answered(request, 422, Problem(error="InvalidRequest", message=words))
    words = PLAIN.get(status) or str(getattr(error, "detail", "")) or TITLES.get(status, "")
    headers = dict(getattr(error, "headers", None) or {})
    return answered(request, status, Problem(error=TITLES.get(status, "Problem"), message=words), headers)


def _failed(request: Request, error: Exception) -> Response:
    log.error("an answer failed: %s %s", request.method, request.url.path, exc_info=error)
    words = "something went wrong on the server; nothing more is known about what was asked"
    # this answer is made outside of the guard, which adds these to all others
    headers = {**ALWAYS, "Content-Security-Policy": "default-src 'none'; style-src 'self'", "Cache-Control": "no-store"}
    return answered(request, 500, Problem(error="Failed", message=words), headers)
