"""The list of budgets, and the form that opens one."""

from __future__ import annotations

from typing import Annotated
from urllib.parse import urlencode

from fastapi import APIRouter, Query, Request
from starlette.responses import RedirectResponse, Response

from quiltwork.errors import AccessDenied, QuiltworkError
from quiltwork.web.pages.balances import shown_of
from quiltwork.web.pages.forms import Sent, Typed
from quiltwork.web.pages.messages import Message, refusal
from quiltwork.web.pages.opening import FILTERS, LIMITS, terms_of
from quiltwork.web.service.access import Asks, Caller, Sends, site_of

router = APIRouter(include_in_schema=False)

SIZE = 48  # budgets on one page
ORDER = {"open": 0, "paused": 1, "expired": 2, "closed": 3}


@router.get("/budgets")
def budgets(
    request: Request,
    who: Asks,
    find: Annotated[str, Query(max_length=200)] = "",
    page: Annotated[int, Query(ge=1, le=100_000)] = 1,
) -> Response:
    """Every budget with what is spent of it; open ones first."""
    return listed(request, who, find=find.strip(), page=page)


@router.post("/budgets")
def opened(request: Request, who: Sends, sent: Sent) -> Response:
    """Open a budget; a refusal shows the form again as it was typed."""
    ledger = who.book
    if not who.may("manage"):  # before a plan is read, which takes a while
        raise AccessDenied("manage", f"{who.name!r} is a {who.role}")
    try:
        name, terms = terms_of(sent)
        budget = ledger.open(name, **terms)
    except AccessDenied:
        raise
    except QuiltworkError as error:
        return listed(request, who, typed=sent, message=refusal(error, spends=False))
    first = next(ledger.history(budget.name, limit=1))
    return RedirectResponse(f"/budget?{urlencode({'name': budget.name, 'done': first.seq})}", 303)


def listed(
    request: Request,
    who: Caller,
    *,
    find: str = "",
    page: int = 1,
    typed: Typed | None = None,
    message: Message | None = None,
) -> Response:
    """The page; `typed` and `message` belong to a form that was refused."""
    ledger = who.book
    every = ledger.budgets()
    found = [one for one in every if find.casefold() in f"{one.name}\n{one.terms.protects}".casefold()]
    found.sort(key=lambda one: ORDER.get(one.state, 4))
    pages = max(1, -(-len(found) // SIZE))
    page = min(page, pages)
    return site_of(request).page(
        request,
        "budgets.html",
        200 if message is None else message.status,
        shown=[shown_of(ledger, one) for one in found[(page - 1) * SIZE : page * SIZE]],
        total=len(every),
        found=len(found),
        find=find,
        page=page,
        pages=pages,
        typed=typed or {},
        message=message,
        limits=LIMITS,
        filters=FILTERS,
    )
