"""The application: pages, interface and static files behind one guard."""

from __future__ import annotations

import gzip
import hashlib
import logging.config
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import cache
from importlib import import_module, resources

import attrs
from anyio import to_thread
from fastapi import FastAPI, HTTPException, Request
from starlette.middleware.gzip import GZipMiddleware
from starlette.responses import Response

from quiltwork import __version__
from quiltwork.errors import InvalidParameter
from quiltwork.web.service import logs, problems
from quiltwork.web.service.headers import Bodies, Guard
from quiltwork.web.settings import Settings
from quiltwork.web.site import Site, plotly_script

__all__ = ["app_from_environment", "create_app"]

API = ("about", "budgets", "spending", "principals", "account", "explore")
PAGES = ("home", "sign_in", "budgets", "budget", "explorers")
KINDS = {".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".svg": "image/svg+xml"}
DESCRIPTION = (
    "Every number is a bracket or a proven bound, rounded to the safe side. Programs send a token of the ledger as "
    "`Authorization: Bearer TOKEN`. Browsers that signed in have a session cookie, and send the word of their page as "
    "`X-CSRF-Token` with everything that is not a GET. A ledger without principals asks for neither."
)
PLOTLY = "plotly.min.js"
DAY = 86400
THREADS = 12


@attrs.frozen
class File:
    """A static file: its content, the same packed, its type, and a tag that changes with the content."""

    content: bytes
    packed: bytes
    kind: str
    tag: str


def create_app(settings: Settings | None = None) -> FastAPI:
    """An application with its own ledger connections, sessions and processes; they end with it."""
    site = Site(Settings() if settings is None else settings)
    if site.settings.public and (site.ledger is None or not site.ledger.guarded):
        raise InvalidParameter(
            "ledger", site.settings.ledger, "a ledger with principals, for a public service",
            "name the first admin: quiltwork ledger admit NAME admin",
        )  # fmt: skip

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        # more threads than the ledger has connections would only wait for one another
        to_thread.current_default_thread_limiter().total_tokens = THREADS
        site.start()
        yield
        site.close()

    app = FastAPI(
        title="quiltwork",
        version=__version__,
        summary="Budgets, certified accounts of plans, and explorers.",
        description=DESCRIPTION,
        generate_unique_id_function=lambda route: route.name,
        openapi_url="/api/openapi.json",
        docs_url=None,  # the usual pages load scripts from elsewhere
        redoc_url=None,
        lifespan=lifespan,
    )
    app.state.site = site
    problems.install(app)
    for room, names in (("api", API), ("pages", PAGES)):
        for name in names:
            app.include_router(import_module(f"quiltwork.web.{room}.{name}").router)
    app.add_api_route("/static/{name}", static, include_in_schema=False)
    app.add_middleware(GZipMiddleware, minimum_size=2000)
    app.add_middleware(Bodies, settings=site.settings)
    app.add_middleware(Guard, settings=site.settings, script=files()[PLOTLY].content)
    return app


def app_from_environment() -> FastAPI:
    """For `uvicorn --factory quiltwork.web:app_from_environment` and other ASGI servers.

    QUILTWORK_LOG says how much is logged: error, warning or info.
    """
    logging.config.dictConfig(logs.configuration(os.environ.get("QUILTWORK_LOG", "info")))
    return create_app(Settings.from_environment())


def static(name: str, request: Request) -> Response:
    """Our own styles and scripts, and Plotly's from its installed package; nothing else can be asked for.

    A browser asks each time whether ours are as they were, so that it never mixes files of two versions.
    """
    found = files().get(name)
    if found is None:
        raise HTTPException(404)
    kept = f"public, max-age={DAY}" if name == PLOTLY else "no-cache"
    headers = {"Cache-Control": kept, "ETag": found.tag, "Vary": "Accept-Encoding"}
    if request.headers.get("if-none-match") == found.tag:
        return Response(status_code=304, headers=headers)
    packed = "gzip" in request.headers.get("accept-encoding", "")
    if packed:
        headers["Content-Encoding"] = "gzip"
    return Response(found.packed if packed else found.content, media_type=found.kind, headers=headers)


@cache
def files() -> dict[str, File]:
    """Every static file by its name, packed once: packing Plotly's script takes a second."""
    ours = resources.files("quiltwork.web").joinpath("static").iterdir()
    found = {file.name: file.read_bytes() for file in ours if _ending(file.name) in KINDS}
    found[PLOTLY] = plotly_script()
    return {
        name: File(
            content, gzip.compress(content, 6, mtime=0), KINDS[_ending(name)],
            f'"{hashlib.sha256(content).hexdigest()[:32]}"',
        )
        for name, content in found.items()
    }  # fmt: skip


def _ending(name: str) -> str:
    return "." + name.rpartition(".")[2]
