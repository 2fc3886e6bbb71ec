"""Budgets: opened, listed, read, paused, resumed and closed."""

from __future__ import annotations

import itertools
from datetime import datetime
from typing import Annotated
from urllib.parse import urlencode

from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from quiltwork.errors import AccessDenied
from quiltwork.ledger.chain.entries import Entry, stamp
from quiltwork.ledger.ledger import Ledger
from quiltwork.ledger.store.rows import LiveBook
from quiltwork.web.api.models import Change, Document, Name, Number, Open, SetRights, balance_answer, written
from quiltwork.web.service.access import Asks, Reads, Sends, site_of
from quiltwork.web.service.problems import usual

router = APIRouter(prefix="/api", tags=["budgets"], responses=usual(404, 409))

Named = Annotated[Name, Query()]
MOST_ENTRIES, MOST_BUDGETS = 1000, 500  # of one page


@router.get("/budgets")
def budgets(
    who: Asks,
    response: Response,
    find: Annotated[str, Query(max_length=200, description="In the name, or in what is protected.")] = "",
    after: Annotated[Name | None, Query(description="Budgets that were opened after this one.")] = None,
    limit: Annotated[int, Query(ge=1, le=MOST_BUDGETS)] = MOST_BUDGETS,
) -> list[Document]:
    """Budgets in the order of opening; the header Link names the next page, where there is one."""
    found = who.book.budgets(find=find, after=after, limit=limit + 1)
    if len(found) > limit:
        query = urlencode({"find": find, "after": found[limit - 1].name, "limit": limit})
        response.headers["Link"] = f'</api/budgets?{query}>; rel="next"'
    return [budget.to_json() for budget in found[:limit]]


NEXT = {name: {"operationId": name, "parameters": {"name": "$response.body#/name"}} for name in ("budget", "balance")}
NEXT |= {name: {"operationId": name, "requestBody": {"name": "$response.body#/name"}} for name in ("change", "rights")}


@router.post("/budgets", status_code=201, responses={201: {"description": "Opened", "links": NEXT}})
def open_budget(sent: Open, who: Sends) -> Document:
    """Open a budget; for admins. Somebody else is refused before the plan is looked at: composing one takes time."""
    if not who.may("manage"):
        raise AccessDenied("manage", f"{who.name!r} is a {who.role}")
    return who.book.open(sent.name, **sent.terms()).to_json()


@router.get("/budget")
def budget(name: Named, who: Asks) -> Document:
    """What was fixed when it was opened, and its state."""
    found = who.book.budget(name)
    return {**found.to_json(), "explanation": found.explain().splitlines()}


@router.get("/balance")
def balance(name: Named, who: Asks, block: Annotated[str, Query(max_length=200)] | None = None) -> Document:
    """What was spent and what is left, of everything or of one block."""
    return balance_answer(who.book.balance(name, block))


@router.get("/course")
def course(request: Request, name: Named, who: Reads) -> Document:
    """What was spent over time, in the budget's first unit, and its limit; both rounded to the safe side."""
    with site_of(request).slowly():
        found = site_of(request).course(who.book, name)
    return {**found.to_json(), "changes": [{"time": stamp(time), "word": word} for time, word in found.changes]}


@router.get("/history")
def history(
    who: Asks,
    name: Annotated[Name | None, Query()] = None,
    after: Annotated[int, Query(ge=0, le=2**63 - 1, description="Entries after this number.")] = 0,
    limit: Annotated[int, Query(ge=1, le=MOST_ENTRIES)] = 100,
    last: Annotated[bool, Query(description="The newest entries instead, oldest of them first.")] = False,
) -> list[Document]:
    """Entries of one budget or of all, in order."""
    ledger = who.book
    found = ledger.history(name, last=limit) if last else ledger.history(name, after=after, limit=limit)
    return [_shown(entry) for entry in itertools.islice(found, limit)]


def _shown(entry: Entry) -> Document:
    """An entry; the hash of a token stays in the ledger, so that the body of who was admitted is not shown as such."""
    plain, content = entry.to_json(), entry.content
    if entry.kind == "admit":
        plain = {name: value for name, value in plain.items() if name != "body"}
        content = {name: value for name, value in content.items() if name != "stored"}
    return {**plain, "content": content}


@router.post("/change", response_model=Document)
def change(sent: Change, who: Sends) -> Response:
    """Pause, resume or close a budget; for admins and its owners. A closed budget stays closed."""
    acts = {"pause": Ledger.pause, "resume": Ledger.resume, "close": Ledger.close}
    return written(acts[sent.act](who.book, sent.name, sent.note))


@router.post("/rights", response_model=Document)
def rights(sent: SetRights, who: Sends) -> Response:
    """Say anew who may spend from a budget, and how much of it each; for admins and its owners."""
    return written(who.book.rights(sent.name, spenders=sent.spenders, quotas=sent.quotas, note=sent.note))


@router.get("/receipt", response_model=Document)
def receipt(seq: Annotated[Number, Query()], who: Asks) -> Response:
    """The signed receipt of an entry; of who was admitted, which holds the hash of a token, for admins alone."""
    found = who.book.receipt(seq)
    if found.kind == "admit" and not who.may("manage"):
        raise AccessDenied("read", "the receipt of an admission is for admins")
    return written(found)


@router.get("/checkpoint")
def checkpoint(who: Asks) -> Document:
    """Where the chain ends, signed and without any name: keep it elsewhere, and verify the ledger since then later."""
    return who.book.checkpoint().to_json()


@router.get("/consistency")
def consistency(
    who: Asks,
    seq: Annotated[Number, Query(description="That of an older checkpoint.")],
    root: Annotated[str, Query(pattern="^[0-9a-f]{64}$", description="That of the same checkpoint.")],
) -> Document:
    """The checkpoint of now, and a proof that its chain continues an older one; 409 when it does not.

    Whoever keeps the older one checks both signatures and the proof, and needs neither the ledger nor trust in it.
    """
    session = who.book._session

    def work(book: LiveBook, now: datetime) -> Document:
        proof = session.continued(book.connection, seq, root)
        return {"checkpoint": session.checkpoint(book.connection).to_json(), "proof": proof.to_json()}

    return session.read(work)


@router.get("/verify")
def verify(request: Request, who: Reads) -> Document:
    """Check the whole chain, from its first entry; slow on a long one. It runs beside the service, not in it."""
    found = site_of(request).walks.verified()
    return {**found.to_json(), "explanation": found.explain()}
