"""Who asks: a bearer token, or the session of a browser, or anybody where the ledger has no principals.

Every unsafe request of a browser must carry the CSRF word of its cookie. Programs that send a bearer token need none:
no other site can make a browser send one.

A token of version 0.1 costs a tenth of a second to check. Programs send theirs with every request, so that a keyed hash
of a token that fitted is remembered for some minutes. What a principal may do is checked anew in every transaction; a
token that was revoked opens nothing, remembered or not.
"""

from __future__ import annotations

import copy
import hashlib
import hmac
import secrets
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated

import attrs
from fastapi import Depends, Header, Request
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer

from quiltwork.errors import AccessDenied, QuiltworkError
from quiltwork.ledger.acts.connection import NOT_KNOWN
from quiltwork.ledger.book.rules import may
from quiltwork.ledger.ledger import Ledger
from quiltwork.ledger.tokens import identity_of
from quiltwork.web.service.limits import Turns
from quiltwork.web.service.problems import Forged, NoLedger, NotSignedIn, TooMany

if TYPE_CHECKING:
    from quiltwork.web.app import Site

CSRF_HEADER = "X-CSRF-Token"
MOST_WORD = 200
bearer = HTTPBearer(auto_error=False, description="A token of the ledger: qw_..._...")


@attrs.frozen
class Caller:
    """Who asks, and the ledger as they use it; nobody in particular when the ledger has no principals."""

    ledger: Ledger | None
    name: str | None = None
    role: str | None = None
    bearer: bool = False

    @property
    def book(self) -> Ledger:
        """The ledger; NoLedger where the service keeps none."""
        if self.ledger is None:
            raise NoLedger
        return self.ledger

    def may(self, act: str) -> bool:
        """Whether this role covers an act; an open ledger lets everybody do everything."""
        return self.ledger is not None and (self.role is None or may(self.role, act))


def site_of(request: Request) -> Site:
    """What all requests share."""
    site: Site = request.app.state.site
    return site


def client_of(request: Request) -> str:
    """The address that asks."""
    return request.client.host if request.client is not None else "unknown"


def permit(request: Request, kind: str, who: str | None = None) -> None:
    """Take a permit, or refuse."""
    asks = f"from {client_of(request)}" if who is None else f"name {who}"  # nobody can be named like an address
    if seconds := site_of(request).rates.wait(kind, asks):
        raise TooMany(seconds)


def signed_in(request: Request, token: str) -> Caller:
    """Who shows this token.

    Checks are counted by token and by address: guessing is slow, and whoever guesses keeps nobody else out for long.
    """
    site = site_of(request)
    if site.ledger is None:
        raise NoLedger
    found = site.tokens.known(token)
    if found is None:
        identity = identity_of(token)
        if identity is None:
            raise NotSignedIn(NOT_KNOWN)
        permit(request, "sign_ins", f"{identity} {client_of(request)}")
        permit(request, "guesses")
        try:
            found = site.tokens.sign_in(site.ledger, token)
        except AccessDenied as denied:
            raise NotSignedIn(denied.why) from None
    try:
        return _as_principal(found, bearer=True)
    except NotSignedIn:
        site.tokens.forget(token)
        raise


def _as_principal(ledger: Ledger, *, bearer: bool) -> Caller:
    try:
        found = ledger.me()
    except AccessDenied as denied:  # revoked, replaced or expired meanwhile
        raise NotSignedIn(denied.why) from None
    return Caller(ledger, None if found is None else found.name, None if found is None else found.role, bearer)


def _known(request: Request) -> Caller | None:
    """Whoever proves who they are; None for anybody else."""
    scheme, _, token = request.headers.get("authorization", "").partition(" ")
    if scheme:
        if scheme.lower() != "bearer":
            raise NotSignedIn("send the token as Authorization: Bearer TOKEN")
        return signed_in(request, token.strip())
    site = site_of(request)
    session = site.sessions.find(request.cookies.get(site.settings.cookie))
    if session is None:
        return None
    request.state.renewed = session.renewed
    return _as_principal(session.ledger, bearer=False)


def visitor(request: Request) -> Caller | None:
    """Who asks, where that does not matter; None for somebody who is not signed in."""
    try:
        return caller(request)
    except QuiltworkError:  # also a ledger that cannot be reached: some pages need none, that of the problem among them
        return None


def caller(request: Request, _: Annotated[HTTPAuthorizationCredentials | None, Depends(bearer)] = None) -> Caller:
    """Who asks to read; NotSignedIn where the ledger asks for a token and none came."""
    kept: Caller | None = getattr(request.state, "caller", None)
    if kept is not None:
        return kept
    site = site_of(request)
    found = _known(request) if site.ledger is not None else Caller(None)
    if found is None:
        if site.ledger is None or site.ledger.guarded:
            permit(request, "reads")
            raise NotSignedIn("this ledger asks for a token")
        found = Caller(site.ledger)
    request.state.caller = found
    permit(request, "reads", found.name)
    return found


async def checked(
    request: Request,
    csrf: Annotated[str | None, Header(alias=CSRF_HEADER, description="For browsers; not with a bearer token.")] = None,
    _: Annotated[HTTPAuthorizationCredentials | None, Depends(bearer)] = None,
) -> None:
    """Refuse a request that another site may have made this browser send."""
    if request.headers.get("authorization", "")[:7].lower() == "bearer ":
        return
    site = site_of(request)
    cookie = request.cookies.get(site.settings.cookie)
    foreign = request.headers.get("sec-fetch-site") not in (None, "same-origin", "none")
    if foreign or not _same_origin(request):
        raise Forged
    if cookie is None and "origin" not in request.headers and "sec-fetch-site" not in request.headers:
        return  # no browser, and nothing that proves who asks: what it may do is what anybody may
    word = csrf
    if word is None and _is_form(request):
        form = await request.form()
        given = form.get("csrf")
        word = given if isinstance(given, str) else None
    if not site.sessions.proves(cookie, (word or "")[:MOST_WORD]):
        raise Forged


def _is_form(request: Request) -> bool:
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    return kind in ("application/x-www-form-urlencoded", "multipart/form-data")


def _same_origin(request: Request) -> bool:
    """A browser says where a form comes from; a program need not."""
    origin = request.headers.get("origin")
    if origin is None:
        return True
    scheme, _, host = origin.partition("://")
    return scheme in ("http", "https") and host == request.headers.get("host", "")


def writer(request: Request, _: Annotated[None, Depends(checked)], found: Annotated[Caller, Depends(caller)]) -> Caller:
    """Who asks to write. A refusal is an entry of the chain: who may only read can cause few of them."""
    permit(request, "writes", found.name)
    if found.role is not None and not found.may("spend"):
        permit(request, "denials", found.name)
    return found


def reader(request: Request, found: Annotated[Caller, Depends(caller)]) -> Caller:
    """Who asks for something that takes long: the price of a release, or what a whole history holds."""
    permit(request, "works", found.name)
    return found


def worker(request: Request, _: Annotated[None, Depends(checked)]) -> Caller | None:
    """Who asks for something that is computed: anybody on this machine, those who signed in to a public service."""
    found = caller(request) if site_of(request).settings.public else visitor(request)
    permit(request, "works", None if found is None else found.name)
    return found


Asks = Annotated[Caller, Depends(caller)]
Sends = Annotated[Caller, Depends(writer)]
Reads = Annotated[Caller, Depends(reader)]
Visits = Annotated[Caller | None, Depends(visitor)]
Works = Annotated[Caller | None, Depends(worker)]


KEPT = 300.0  # seconds
MOST_KEPT = 2000
PATIENCE = 5.0  # seconds to wait for a check
AT_ONCE = 2  # checks of tokens: each takes 64 MiB


class Tokens:
    """Ledgers by the token that signed in."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._key, self._clock, self._lock = secrets.token_bytes(32), clock, threading.Lock()
        self._known: OrderedDict[bytes, tuple[Ledger, float]] = OrderedDict()
        self._checks = Turns(AT_ONCE, PATIENCE, "too many tokens are being checked: ask again in a moment")

    def known(self, token: str) -> Ledger | None:
        """The ledger of a token that fitted lately."""
        mark = self._mark(token)
        with self._lock:
            found, until = self._known.get(mark, (None, 0.0))
            if found is not None and self._clock() < until:
                return found
            self._known.pop(mark, None)
        return None

    def sign_in(self, ledger: Ledger, token: str) -> Ledger:
        """The ledger as the token's principal uses it; AccessDenied when the token is not known."""
        with self._checks.taken():
            found = self.known(token) or _opened(ledger, token)
        with self._lock:
            self._known[self._mark(token)] = (found, self._clock() + KEPT)
            while len(self._known) > MOST_KEPT:
                self._known.popitem(last=False)
        return found

    def forget(self, token: str) -> None:
        """It fits no more."""
        with self._lock:
            self._known.pop(self._mark(token), None)

    def _mark(self, token: str) -> bytes:
        return hmac.new(self._key, token.encode(), hashlib.sha256).digest()


def _opened(ledger: Ledger, token: str) -> Ledger:
    """The ledger as the token's principal uses it. Strangers are counted, not written down: the chain is no log that
    whoever reaches the service may fill.
    """
    made = copy.copy(ledger)
    made._session = ledger._session.signed_in(token, strangers=False)
    return made
