"""The page of the audit explorer."""

from __future__ import annotations

from fastapi import APIRouter, Request
from starlette.responses import Response

from quiltwork.web.service.access import Visits, site_of

router = APIRouter(include_in_schema=False)


@router.get("/explore/audit")
def audit(request: Request, who: Visits) -> Response:
    """Scores of an attack, held against a guarantee."""
    return site_of(request).page(request, "audit.html")
