"""The first page, and what can be believed about the numbers on all others."""

from __future__ import annotations

from fastapi import APIRouter, Request
from starlette.responses import Response

from quiltwork.errors import QuiltworkError
from quiltwork.web.pages.balances import Shown, balances_of
from quiltwork.web.service.access import Visits, site_of

router = APIRouter(include_in_schema=False)

MOST_HERE = 6
MOST_READ = 48  # balances that are looked at for that


@router.get("/")
def home(request: Request, who: Visits) -> Response:
    """Where to begin: the budgets that are spent most, and the tools."""
    site = site_of(request)
    shown: list[Shown] = []
    count = 0
    if who is not None and who.ledger is not None:
        try:
            found, count = balances_of(who.ledger, MOST_READ)
        except QuiltworkError:
            found = []  # the page of budgets says what is wrong
        shown = sorted(found, key=lambda one: (one.state != "open", -one.share))[:MOST_HERE]
    return site.page(request, "home.html", shown=shown, count=count)


@router.get("/about")
def about(request: Request, who: Visits) -> Response:
    """What is certified and what is not."""
    return site_of(request).page(request, "about.html")
