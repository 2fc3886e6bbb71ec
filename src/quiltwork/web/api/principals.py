"""Who may use the ledger: listed for whoever may read it, changed by admins."""

from __future__ import annotations

from fastapi import APIRouter
from starlette.responses import Response

from quiltwork.web.api.models import Admit, Document, Person, Revoke, Token, written
from quiltwork.web.service.access import Asks, Sends
from quiltwork.web.service.problems import usual

router = APIRouter(prefix="/api", tags=["people"], responses=usual(404, 409))


@router.get("/principals")
def principals(who: Asks) -> list[Person]:
    """Everybody who was admitted; never a token."""
    return [
        Person(name=one.name, role=one.role, expires=one.expires, revoked=bool(one.revoked))
        for one in who.book.principals()
    ]


@router.post("/principals", status_code=201)
def admit(sent: Admit, who: Sends) -> Token:
    """Admit somebody; the token is shown this once."""
    token = who.book.admit(sent.name, sent.role, expires=sent.expires)
    return Token(name=sent.name, role=sent.role, token=token)


@router.post("/revoke", response_model=Document)
def revoke(sent: Revoke, who: Sends) -> Response:
    """End somebody's token now."""
    return written(who.book.revoke(sent.name))
