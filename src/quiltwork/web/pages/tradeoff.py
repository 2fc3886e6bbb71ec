"""The page of the trade-off explorer."""

from __future__ import annotations

from fastapi import APIRouter, Request
from starlette.responses import Response

from quiltwork.web.explore.limits import MOST_LOSSES
from quiltwork.web.service.access import Visits, site_of

router = APIRouter(include_in_schema=False)


@router.get("/explore/tradeoff")
def tradeoff(request: Request, who: Visits) -> Response:
    """A composition of a few losses, with sliders."""
    return site_of(request).page(request, "tradeoff.html", most=MOST_LOSSES)
