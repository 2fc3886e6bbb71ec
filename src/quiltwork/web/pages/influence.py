"""The page of the influence explorer."""

from __future__ import annotations

from fastapi import APIRouter, Request
from starlette.responses import Response

from quiltwork.web.pages.samples import samples
from quiltwork.web.service.access import Visits, site_of

router = APIRouter(include_in_schema=False)


@router.get("/explore/influence")
def influence(request: Request, who: Visits) -> Response:
    """What the entries of a chain tell about each other, with sliders."""
    return site_of(request).page(request, "influence.html", examples=samples("prior"))
