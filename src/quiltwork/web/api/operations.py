"""For whoever runs the service: is it alive, is it ready, and what has it done."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any

import anyio
from anyio import CapacityLimiter, to_thread
from fastapi import APIRouter, Depends, Request
from fastapi.security import HTTPAuthorizationCredentials
from pydantic import BaseModel
from starlette.responses import JSONResponse, Response

from quiltwork import __version__
from quiltwork.errors import QuiltworkError
from quiltwork.ledger.acts.connection import Session
from quiltwork.ledger.chain.entries import moment
from quiltwork.ledger.store.store import Store
from quiltwork.web.service.access import bearer, caller, site_of
from quiltwork.web.service.observing import TYPE
from quiltwork.web.service.problems import usual, words_of

if TYPE_CHECKING:
    from quiltwork.web.app import Site

router = APIRouter(tags=["service"])
LOOKING = 2  # threads of their own: when every other one waits for a database that hangs, this still answers


class Ready(BaseModel):
    """Whether requests can be answered, and where the ledger ends; without any name."""

    ready: bool
    why: str | None = None
    ledger: bool
    version: str
    seq: int | None = None
    time: str | None = None
    standbys: str | None = None
    verified: bool | None = None
    verified_seconds_ago: float | None = None


@router.get("/livez", response_class=Response)
async def livez() -> Response:
    """Whether the process answers at all; no database is asked."""
    return JSONResponse({"alive": True})


@router.get("/readyz", response_model=Ready, responses={503: {"model": Ready, "description": "Not available now"}})
async def readyz(request: Request) -> Response:
    """Whether the ledger can be read, within a second; 503 and why when it cannot."""
    site = site_of(request)
    found = await looked(site)
    return JSONResponse(found.model_dump(), 200 if found.ready else 503)


async def looked(site: Site) -> Ready:
    """Where the ledger ends, or why that is not known."""
    said: dict[str, Any] = {"ledger": site.ledger is not None, "version": __version__}
    if site.walks.last is not None:
        began, last = site.walks.last
        said |= {"verified": last.holds, "verified_seconds_ago": max(time.time() - began, 0.0)}
    if site.ledger is None:
        return Ready(ready=True, **said)
    try:
        with anyio.fail_after(site.settings.ready_seconds):
            asked = site.standbys.seen, site.ledger._session
            head, said["standbys"] = await to_thread.run_sync(
                _read, *asked, abandon_on_cancel=True, limiter=_limiter(site)
            )
    except TimeoutError:
        return Ready(ready=False, why="the ledger did not answer in time", **said)
    except QuiltworkError as error:
        return Ready(ready=False, why=words_of(error), **said)
    return Ready(ready=True, seq=int(head.seq), time=str(head.time), **said)


def _read(standbys: Callable[[Store], str | None], session: Session) -> tuple[Any, str | None]:
    return session.head(), standbys(session.store)


def _limiter(site: Site) -> CapacityLimiter:
    """Of this event loop."""
    if site.looking is None:
        site.looking = CapacityLimiter(LOOKING)
    return site.looking


@router.get("/metrics", response_class=Response, responses=usual())
async def metrics(
    request: Request, _: Annotated[HTTPAuthorizationCredentials | None, Depends(bearer)] = None
) -> Response:
    """Counters for Prometheus. A public service asks for a token that may read; no counter names a budget."""
    site = site_of(request)
    if site.settings.public:
        await to_thread.run_sync(caller, request)
    found = await looked(site)
    gauges = {
        "quiltwork_ready": float(found.ready),
        "quiltwork_head_seq": found.seq,
        "quiltwork_head_time_seconds": None if found.time is None else moment(found.time).timestamp(),
        "quiltwork_verify_holds": None if found.verified is None else float(found.verified),
        "quiltwork_verify_age_seconds": found.verified_seconds_ago,
        "quiltwork_workers_busy": float(site.workers.busy),
        "quiltwork_replication_safe": None if found.standbys is None else float(found.standbys != "asynchronous"),
    }
    return Response(site.metrics.text(gauges), media_type=TYPE)
