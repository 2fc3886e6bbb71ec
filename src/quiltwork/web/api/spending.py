"""Spending: at once, or reserved, started and settled by a job; and questions about it, which spend nothing."""

from __future__ import annotations

from typing import Annotated, Any

import attrs
from fastapi import APIRouter, Depends, Query, Request
from starlette.responses import Response

from quiltwork.errors import InvalidParameter
from quiltwork.ledger.acts.spending import take
from quiltwork.web.api.account import computed
from quiltwork.web.api.models import (
    Asked,
    Document,
    Exceeds,
    Held,
    Move,
    Name,
    Number,
    Refused,
    Reserve,
    Spend,
    written,
)
from quiltwork.web.service.access import Asks, Reads, Sends, checked, site_of
from quiltwork.web.service.problems import usual

router = APIRouter(prefix="/api", tags=["spending"], responses=usual(404, 409))


def stated(request: Request, sent: Asked, *, times: bool = True) -> dict[str, Any]:
    """For the ledger; what is in a file is worked out in a process of its own."""
    said = sent.request(times=times)
    if sent.file is None:
        return said
    if sent.loss is not None:
        raise InvalidParameter("file", "a file", "left out", "a loss is given already")
    return {**said, "loss": computed(request, "released", sent.file)}


def followed(*names: str) -> dict[int | str, dict[str, Any]]:
    """What can be done next with the number that an answer has, for the description: links that programs follow."""
    body = {"reservation": "$response.body#/seq"}
    links: dict[str, Any] = {name: {"operationId": name, "requestBody": body} for name in names}
    links["receipt"] = {"operationId": "receipt", "parameters": {"seq": "$response.body#/seq"}}
    return {201: {"description": "Granted", "links": links}}


@router.post("/spend", status_code=201, response_model=Document, responses=followed("refund"))
def spend(request: Request, sent: Spend, who: Sends) -> Response:
    """Take the cost of a release that is about to run; 409 takes nothing. The answer is the signed receipt."""
    if sent.file is not None:
        return written(who.book.spend(sent.name, **stated(request, sent), note=sent.note, key=sent.key), 201)
    session = who.book._session
    return written(take(session, site_of(request).prices.of(session, sent), sent.note, sent.key), 201)


@router.post("/reserve", status_code=201, response_model=Document, responses=followed("start", "refund", "settle"))
def reserve(request: Request, sent: Reserve, who: Sends) -> Response:
    """Hold the cost for a job that starts within the lease; the receipt's `seq` is the reservation's number."""
    asked = {**stated(request, sent), "lease": sent.lease, "note": sent.note, "key": sent.key}
    return written(who.book.reserve(sent.name, **asked), 201)


@router.post("/start", response_model=Document)
def start(sent: Move, who: Sends) -> Response:
    """The job of a reservation begins: once, and never after its lease."""
    return written(who.book.start(sent.reservation))


@router.post("/settle", response_model=Document)
def settle(sent: Move, who: Sends) -> Response:
    """The job of a reservation is over."""
    return written(who.book.settle(sent.reservation, sent.note))


@router.post("/refund", response_model=Document)
def refund(sent: Move, who: Sends) -> Response:
    """Give back what a reservation holds that never started."""
    return written(who.book.refund(sent.reservation, sent.note))


@router.get("/refusals")
def refusals(
    who: Asks,
    name: Annotated[Name | None, Query()] = None,
    before: Annotated[Number | None, Query(description="Those before this number.")] = None,
    limit: Annotated[int, Query(ge=1, le=1000)] = 100,
) -> list[Refused]:
    """Spends that were refused for their cost, newest first: who asked for what, when, and how much was left."""
    return [Refused(**attrs.asdict(one)) for one in who.book.refusals(name, last=limit, before=before)]


@router.get("/reservations")
def reservations(who: Asks, name: Annotated[Name | None, Query()] = None) -> list[Held]:
    """Reservations that have not ended."""
    return [
        Held(reservation=one.seq, budget=one.budget, status=one.status, until=one.until, times=one.charge.times)
        for one in who.book.reservations(name)
    ]


@router.post("/forecast", dependencies=[Depends(checked)])
def forecast(request: Request, sent: Asked, who: Reads) -> Document:
    """How many more of such a release fit; `times` is not used."""
    found = who.book.forecast(sent.name, **stated(request, sent, times=False))
    return {**found.to_json(), "explanation": str(found)}


@router.post("/would-exceed", dependencies=[Depends(checked)])
def would_exceed(request: Request, sent: Asked, who: Reads) -> Exceeds:
    """Whether such a spend would be refused now."""
    return Exceeds(exceeds=who.book.would_exceed(sent.name, **stated(request, sent)))
