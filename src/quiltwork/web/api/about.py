"""Whether the service is there, and who asks."""

from __future__ import annotations

from fastapi import APIRouter, Request

from quiltwork import __version__
from quiltwork.web.api.models import Health, Me
from quiltwork.web.service.access import Asks, site_of
from quiltwork.web.service.problems import usual

router = APIRouter(prefix="/api", tags=["service"])


@router.get("/health")
def health(request: Request) -> Health:
    """Whether the service answers, its version, and whether it keeps budgets."""
    return Health(status="ok", version=__version__, ledger=site_of(request).ledger is not None)


@router.get("/me", responses=usual())
def me(who: Asks) -> Me:
    """Who asks: the principal's name and role, or nobody in particular on a ledger without principals."""
    return Me(name=who.name, role=who.role, reads=who.may("read"), spends=who.may("spend"), manages=who.may("manage"))
