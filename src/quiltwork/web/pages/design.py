"""The page of the design explorer."""

from __future__ import annotations

from fastapi import APIRouter, Request
from starlette.responses import Response

from quiltwork.web.explore import design as small
from quiltwork.web.pages.samples import samples
from quiltwork.web.service.access import Visits, site_of

router = APIRouter(include_in_schema=False)


@router.get("/explore/design")
def design(request: Request, who: Visits) -> Response:
    """The next release of a small world, with sliders."""
    usual = {"epsilon": small.EPSILON, "delta": small.DELTA, "strength": small.STRENGTH, "badge": small.BADGE}
    return site_of(request).page(request, "design.html", usual=usual, examples=samples("world"))
