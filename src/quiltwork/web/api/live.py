"""Answers that are computed in a process of their own, for programs and for pages.

A page asks while somebody types, and half a word is no failure: it sends a header, and gets what is wrong with the
question as an answer, with status 200, so that a browser notes no error. Programs get 422 as everywhere.
"""

from __future__ import annotations

from typing import Any

from fastapi import Request
from starlette.responses import JSONResponse, Response

from quiltwork.errors import QuiltworkError
from quiltwork.web.service.access import client_of, site_of
from quiltwork.web.service.problems import problem_of, status_of

__all__ = ["LIVE", "answered", "computed"]

LIVE = "X-Live"
WORK = "quiltwork.web.answers"
OF_THE_QUESTION = (404, 409, 422)


def computed(request: Request, work: str, *arguments: Any) -> Any:
    """What this function of the answers gives."""
    who = getattr(request.state, "caller", None)
    return site_of(request).workers.run(
        f"{WORK}:{work}", *arguments, who=client_of(request) if who is None or who.name is None else who.name
    )


def answered(request: Request, work: str, *arguments: Any) -> Response:
    """The same as JSON; a page that asks live gets `{"problem": ...}` for what is wrong with the question."""
    try:
        return JSONResponse(computed(request, work, *arguments))
    except QuiltworkError as error:
        if LIVE not in request.headers or status_of(error) not in OF_THE_QUESTION:
            raise
        return JSONResponse({"problem": problem_of(error).model_dump()})
