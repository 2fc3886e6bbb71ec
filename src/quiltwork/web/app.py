"""The application: pages, interface and static files behind one guard."""

from __future__ import annotations

import logging.config
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import cache
from importlib import import_module, resources

from fastapi import FastAPI
from starlette.middleware.body_limit import RequestBodyLimitMiddleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.responses import Response

from quiltwork import __version__
from quiltwork.errors import InvalidParameter
from quiltwork.web import logs, problems
from quiltwork.web.headers import Guard
from quiltwork.web.settings import Settings
from quiltwork.web.site import Site, plotly_script

__all__ = ["app_from_environment", "create_app"]

API = ("about", "budgets", "spending", "people", "account", "explore")
PAGES = ("home", "sign_in", "budgets", "budget", "plan", "tradeoff", "influence", "design", "audit")
KINDS = {".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".svg": "image/svg+xml"}
DAY = 86400


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
        site.start()
        yield
        site.close()

    app = FastAPI(
        title="quiltwork",
        version=__version__,
        summary="Budgets, certified accounts of plans, and explorers.",
        description="Every number is a bracket or a proven bound, rounded to the safe side.",
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
    app.add_middleware(RequestBodyLimitMiddleware, max_body_size=site.settings.most_bytes)
    app.add_middleware(Guard, settings=site.settings)
    return app


def app_from_environment() -> FastAPI:
    """For `uvicorn --factory quiltwork.web:app_from_environment` and other ASGI servers.

    QUILTWORK_LOG says how much is logged: error, warning or info.
    """
    logging.config.dictConfig(logs.configuration(os.environ.get("QUILTWORK_LOG", "info")))
    return create_app(Settings.from_environment())


def static(name: str) -> Response:
    """Our own styles and scripts, and Plotly's from its installed package; nothing else can be asked for."""
    found = files().get(name)
    if found is None:
        return Response(status_code=404)
    content, kind = found
    return Response(content, media_type=kind, headers={"Cache-Control": f"public, max-age={DAY}"})


@cache
def files() -> dict[str, tuple[bytes, str]]:
    """Every static file by its name."""
    found = {
        file.name: (file.read_bytes(), KINDS[f".{file.name.rpartition('.')[2]}"])
        for file in resources.files("quiltwork.web").joinpath("static").iterdir()
        if f".{file.name.rpartition('.')[2]}" in KINDS
    }
    return {**found, "plotly.min.js": (plotly_script(), KINDS[".js"])}
