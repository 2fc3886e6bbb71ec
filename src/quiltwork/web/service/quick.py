"""The two requests that come most, answered without detours: a balance, and a spend, by a program with its token.

They are answered here only where everything is as usual: a token that fitted lately, a request as it is documented, a
budget that has room. Whatever else comes goes on to the routes as it came, and is answered, refused and noted there;
nothing was done for it before. So there is one place that says what a refusal looks like.

Reads that come together share one look at the head, which is never older than a few milliseconds and never older than
what this process wrote. Spends that come together are one transaction; each is checked in it again, with its token.

Reference: theory/ledger.md sections 3.1 and 3.5.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections import OrderedDict
from datetime import datetime
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl

import attrs
from anyio import to_thread
from pydantic import ValidationError
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from quiltwork.errors import AccessDenied, BudgetExceeded, QuiltworkError
from quiltwork.ledger.acts.connection import Session
from quiltwork.ledger.acts.spending import Request, request, taking
from quiltwork.ledger.acts.turns import Act
from quiltwork.ledger.book.balances import Balance
from quiltwork.ledger.book.rules import may
from quiltwork.ledger.book.terms import Terms
from quiltwork.ledger.chain.receipts import Receipt
from quiltwork.ledger.ledger import Ledger
from quiltwork.web.api.models import Spend, balance_answer, written
from quiltwork.web.service.access import Caller
from quiltwork.web.service.problems import refusal

if TYPE_CHECKING:
    from quiltwork.web.app import Site

FRESH = 0.005  # seconds that a look at the head is shared
MOST_PRICED = 4096
LONGEST = 20_000  # bytes of a body that is read here
BALANCE, SPEND = "/api/balance", "/api/spend"


@attrs.frozen
class _Route:
    """What the metrics and the log call a request."""

    path: str


ROUTES = {path: _Route(path) for path in (BALANCE, SPEND)}


class Quick:
    """In front of the application, behind the guard."""

    def __init__(self, app: ASGIApp, site: Site) -> None:
        self.app, self.site = app, site
        self._heads = Heads(site.ledger)
        self._spends = Spends()
        self._texts: OrderedDict[str, tuple[Balance, bytes]] = OrderedDict()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["path"] not in ROUTES:
            await self.app(scope, receive, send)
            return
        answer, received = None, receive
        if (ledger := self._known(scope)) is not None:
            if scope["method"] == "GET" and scope["path"] == BALANCE:
                answer = await self._balance(scope, ledger)
            elif scope["method"] == "POST" and scope["path"] == SPEND:
                body, received = await _whole(receive)
                answer = None if body is None else await self._spend(scope, ledger, body)
        if answer is None:
            await self.app(scope, received, send)
            return
        scope["route"] = ROUTES[scope["path"]]
        await answer(scope, receive, send)

    def _known(self, scope: Scope) -> Ledger | None:
        """The ledger as whoever asks uses it, where their token fitted lately."""
        tokens = [value for name, value in scope["headers"] if name == b"authorization"]
        if self.site.ledger is None or len(tokens) != 1 or tokens[0][:7] != b"Bearer " or not tokens[0].isascii():
            return None
        return self.site.tokens.known(tokens[0][7:].decode("ascii").strip())

    def _permitted(self, ledger: Ledger, *kinds: str) -> bool:
        """Whether each rate has room; a permit that was taken stays taken, as on the usual way."""
        return not any(self.site.rates.wait(kind, f"name {ledger._session.name}") for kind in kinds)

    async def _balance(self, scope: Scope, ledger: Ledger) -> Response | None:
        asked = parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)
        if len(asked) != 1 or asked[0][0] != "name":
            return None
        name, looked = asked[0][1], await self._heads.looked()
        found = None if looked is None else ledger._session.kept_balance(name, None, *looked)
        if found is None or not self._permitted(ledger, "reads"):
            return None
        kept, text = self._texts.get(name, (None, b""))
        if kept is not found:
            text = json.dumps(
                balance_answer(found), ensure_ascii=False, allow_nan=False, separators=(",", ":")
            ).encode()
            self._texts[name] = found, text
            while len(self._texts) > MOST_PRICED:
                self._texts.popitem(last=False)
        _said(scope, ledger, None)
        return Response(text, media_type="application/json")

    async def _spend(self, scope: Scope, ledger: Ledger, body: bytes) -> Response | None:
        session = ledger._session
        person = session.trust.person(session.name)
        kinds = [value for name, value in scope["headers"] if name == b"content-type"]
        if person is None or not may(person.role, "spend") or kinds != [b"application/json"]:
            return None
        try:
            sent = Spend.model_validate(json.loads(body))
            asked = self.site.prices.known(session, sent)
            if asked is None or not self._permitted(ledger, "reads", "writes"):
                return None
            key, work = taking(session, asked, sent.note, sent.key)
        except (QuiltworkError, ValidationError, ValueError, RecursionError):  # the usual way says what is wrong
            return None
        act = Act(session, "spend", work, asked.budget, key)
        await self._spends.done(act)
        if isinstance(act.error, (BudgetExceeded, AccessDenied)):
            return None  # it left no trace: the usual way says what would fit, or notes who was denied
        _said(scope, ledger, person.role)
        if isinstance(act.error, QuiltworkError):
            return refusal(act.error)
        if act.error is not None:
            raise act.error
        return written(Receipt.issued(session.identity, act.made, session.key), 201)


class Prices:
    """What was sent, priced: the same loss for the same budget once."""

    def __init__(self) -> None:
        self._kept: OrderedDict[Any, Request] = OrderedDict()

    def known(self, session: Session, sent: Spend) -> Request | None:
        """Without asking the ledger; None where that is needed, or where pricing takes a look at a file."""
        terms = session.known.get(sent.name)
        if terms is None or terms.filter is None or sent.file is not None:
            return None
        found = self._kept.get(_place(sent))
        fits = found is not None and found.priced is not None and found.priced.holds(terms.filter)
        return found if fits else self._priced(terms, sent)

    def of(self, session: Session, sent: Spend) -> Request:
        """What is asked for."""
        return self.known(session, sent) or self._priced(session.terms(sent.name, "spend"), sent)

    def _priced(self, terms: Terms, sent: Spend) -> Request:
        made = request(terms, **sent.request())
        self._kept[_place(sent)] = made
        while len(self._kept) > MOST_PRICED:
            self._kept.popitem(last=False)
        return made


def _place(sent: Spend) -> Any:
    return sent.name, json.dumps(sent.loss, sort_keys=True), sent.release, sent.times, json.dumps(sent.blocks)


def _said(scope: Scope, ledger: Ledger, role: str | None) -> None:
    """Who asked, for the log."""
    scope.setdefault("state", {})["caller"] = Caller(ledger, ledger._session.name, role, bearer=True)


async def _whole(receive: Receive) -> tuple[bytes | None, Receive]:
    """A short body, and the same messages again for whoever reads them next."""
    kept: list[Message] = []
    size, more = 0, True
    while more and size <= LONGEST:
        message = await receive()
        kept.append(message)
        size += len(message.get("body", b""))
        more = message["type"] == "http.request" and message.get("more_body", False)
    again = iter(kept)

    async def received() -> Message:
        for message in again:
            return message
        return await receive()

    whole = not more and all(one["type"] == "http.request" for one in kept)
    return (b"".join(one.get("body", b"") for one in kept) if whole else None), received


class Heads:
    """One look at the head for all who read at the same time."""

    def __init__(self, ledger: Ledger | None) -> None:
        self._session = None if ledger is None else ledger._session
        self._last: tuple[Any, datetime] | None = None
        self._until = 0.0
        self._looking: asyncio.Task[None] | None = None

    async def looked(self) -> tuple[Any, datetime] | None:
        """The head and the time; None when it cannot be read, or is not one that is believed already."""
        session = self._session
        if session is None:
            return None
        if self._last is None or time.monotonic() > self._until or session.trust.recognised(self._last[0]) is None:
            if self._looking is None or self._looking.done():
                self._looking = asyncio.create_task(self._look())
            await asyncio.shield(self._looking)
        return self._last

    async def _look(self) -> None:
        assert self._session is not None
        self._last = None
        try:
            self._last = await to_thread.run_sync(self._session.store.glance)
        except QuiltworkError:
            return
        self._until = time.monotonic() + FRESH


class Spends:
    """Acts that wait for the next transaction, and the one thread that makes it."""

    def __init__(self) -> None:
        self._waiting: list[tuple[Act, asyncio.Future[None]]] = []
        self._working = False

    async def done(self, act: Act) -> None:
        """Until it is granted or refused."""
        ended = asyncio.get_running_loop().create_future()
        self._waiting.append((act, ended))
        if not self._working:
            self._working = True
            asyncio.create_task(self._work()).add_done_callback(_seen)
        await asyncio.shield(ended)

    async def _work(self) -> None:
        try:
            while self._waiting:
                batch, self._waiting = self._waiting, []
                acts = [act for act, _ in batch]
                try:
                    await to_thread.run_sync(acts[0].session.turns.run, acts)
                except BaseException as error:
                    for act, _ in batch:
                        act.error = act.error if act.done else error
                    raise
                finally:
                    for _, ended in batch:
                        if not ended.done():
                            ended.set_result(None)
        finally:
            self._working = False


def _seen(task: asyncio.Task[None]) -> None:
    """What went wrong is told to whoever asked."""
    if not task.cancelled():
        task.exception()
