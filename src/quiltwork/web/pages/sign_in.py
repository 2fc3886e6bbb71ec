"""Signing in with a token of the ledger, and out again. A token is sent in the body of a form, never in an address."""

from __future__ import annotations

import re
from typing import Annotated

from fastapi import APIRouter, Depends, Query, Request
from starlette.responses import RedirectResponse, Response

from quiltwork.web.pages.forms import Sent, sentence
from quiltwork.web.service.access import Visits, checked, signed_in, site_of
from quiltwork.web.service.problems import NotSignedIn, TooMany, status_of

router = APIRouter(include_in_schema=False)

LOCAL = re.compile(r"/(?![/\\])[\x21-\x7e]*", re.ASCII)
MOST_TOKEN = 200


def local(address: str) -> str:
    """An address of this service, or its first page: nobody is sent elsewhere after signing in.

    >>> local("/budget?name=a"), local("//evil.example"), local("https://evil.example")
    ('/budget?name=a', '/', '/')
    """
    return address if LOCAL.fullmatch(address) and "\\" not in address and len(address) <= 2000 else "/"


@router.get("/sign-in")
def sign_in(request: Request, who: Visits, next: Annotated[str, Query(max_length=4000)] = "/") -> Response:
    """The form; whoever is signed in already, or need not be, goes on."""
    site = site_of(request)
    if site.ledger is None or who is not None:
        return RedirectResponse(local(next), 303)
    return site.page(request, "sign_in.html", next=local(next), problem="")


@router.post("/sign-in", dependencies=[Depends(checked)])
def signing_in(request: Request, sent: Sent) -> Response:
    """A session for whom the token names, or the form again with the reason."""
    site, after = site_of(request), local(sent.line("next"))
    try:
        who = signed_in(request, sent.line("token")[:MOST_TOKEN])
    except (NotSignedIn, TooMany) as refused:
        page = site.page(request, "sign_in.html", status_of(refused), next=after, problem=sentence(str(refused)))
        if isinstance(refused, TooMany):
            page.headers["Retry-After"] = str(refused.seconds)
        return page
    site.sessions.end(request.cookies.get(site.settings.cookie))
    session = site.sessions.begin(who.book)
    response = RedirectResponse(after, 303)
    site.set_cookie(response, session.cookie)
    return response


@router.post("/sign-out", dependencies=[Depends(checked)])
def sign_out(request: Request) -> Response:
    """The session is forgotten here and by the browser."""
    site = site_of(request)
    site.sessions.end(request.cookies.get(site.settings.cookie))
    response = RedirectResponse("/sign-in", 303)
    response.delete_cookie(
        site.settings.cookie, path="/", httponly=True, samesite="strict", secure=site.settings.public
    )
    return response
