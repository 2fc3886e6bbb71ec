"""Whether the service is there, who asks, and who may use the ledger: listed for readers, changed by admins."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request
from starlette.responses import Response

from quiltwork import __version__
from quiltwork.web.api.models import Admit, Document, Health, Me, Person, Revoke, Token, written
from quiltwork.web.service.access import Asks, Sends, site_of
from quiltwork.web.service.problems import usual

router = APIRouter(prefix="/api")
PEOPLE: Any = {"tags": ["people"], "responses": usual(404, 409)}


@router.get("/health", tags=["service"])
def health(request: Request) -> Health:
    """Whether the service answers, its version, and whether it keeps budgets."""
    return Health(status="ok", version=__version__, ledger=site_of(request).ledger is not None)


@router.get("/me", tags=["service"], responses=usual())
def me(who: Asks) -> Me:
    """Who asks: the principal's name and role, or nobody in particular on a ledger without principals."""
    return Me(name=who.name, role=who.role, reads=who.may("read"), spends=who.may("spend"), manages=who.may("manage"))


@router.get("/principals", **PEOPLE)
def principals(who: Asks) -> list[Person]:
    """Everybody who was admitted; never a token."""
    return [
        Person(name=one.name, role=one.role, expires=one.expires, revoked=bool(one.revoked))
        for one in who.book.principals()
    ]


@router.post("/principals", status_code=201, **PEOPLE)
def admit(sent: Admit, who: Sends) -> Token:
    """Admit somebody; the token is shown this once."""
    token = who.book.admit(sent.name, sent.role, expires=sent.expires)
    return Token(name=sent.name, role=sent.role, token=token)


@router.post("/revoke", response_model=Document, **PEOPLE)
def revoke(sent: Revoke, who: Sends) -> Response:
    """End somebody's token now."""
    return written(who.book.revoke(sent.name))
