"""The page of a plan: paste it, edit it, see what it costs."""

from __future__ import annotations

from fastapi import APIRouter, Request
from starlette.responses import Response

from quiltwork.web.pages.samples import samples
from quiltwork.web.service.access import Visits, site_of

router = APIRouter(include_in_schema=False)


@router.get("/plan")
def plan(request: Request, who: Visits) -> Response:
    """An editor with the certified answer beside it."""
    return site_of(request).page(request, "plan.html", examples=samples())
