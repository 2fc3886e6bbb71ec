"""The application: pages, interface and static files behind one guard, and `Site`, what all requests share."""

from __future__ import annotations

import asyncio
import gzip
import hashlib
import logging
import logging.config
import os
import threading
from collections.abc import AsyncIterator
from contextlib import AbstractContextManager, asynccontextmanager
from functools import cache
from importlib import import_module, resources
from pathlib import PurePath
from typing import Any

import attrs
from anyio import CapacityLimiter, to_thread
from fastapi import FastAPI, HTTPException, Request
from jinja2 import Environment, PackageLoader, StrictUndefined
from starlette.middleware.gzip import GZipMiddleware
from starlette.responses import HTMLResponse, Response

from quiltwork import __version__
from quiltwork.errors import InvalidParameter
from quiltwork.ledger.course import Course, Following
from quiltwork.ledger.ledger import Ledger
from quiltwork.ledger.store.addresses import url_of
from quiltwork.numbers.digits import single
from quiltwork.web.service import problems
from quiltwork.web.service.access import Tokens, visitor
from quiltwork.web.service.headers import Bodies, Guard
from quiltwork.web.service.limits import Rates, Turns
from quiltwork.web.service.observing import JsonLines, Metrics, Standbys
from quiltwork.web.service.quick import Prices, Quick
from quiltwork.web.service.sessions import Sessions
from quiltwork.web.service.walks import Walks
from quiltwork.web.service.workers import Workers
from quiltwork.web.settings import RATES, Settings

API = ("operations", "principals", "budgets", "spending", "account")
PAGES = ("home", "sign_in", "budgets", "budget", "desk", "releases")
KINDS = {".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".svg": "image/svg+xml"}
DESCRIPTION = (
    "Every number is a bracket or a proven bound, rounded to the safe side. Programs send a token of the ledger as "
    "`Authorization: Bearer TOKEN`. Browsers that signed in have a session cookie, and send the word of their page as "
    "`X-CSRF-Token` with everything that is not a GET. A ledger without principals asks for neither."
)
PLOTLY = "plotly.min.js"
DAY = 86400
MOST_COURSES = 256
THREADS = 12
LOG_LEVELS = ("error", "warning", "info")
LOG_FORMATS = ("line", "json")


class Site:
    """One for each application; what is in it may be used by many threads at once."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.ledger = None if settings.ledger is None else Ledger(url_of(settings.ledger), key=settings.key_file)
        self.sessions = Sessions(self.ledger, settings.idle, settings.lifetime)
        self.rates = Rates({kind: getattr(settings, kind).shared(settings.workers) for kind in RATES})
        if self.ledger is not None:  # whoever may spend could fill the chain with what is denied to them
            self.ledger._session.notes = lambda name: not self.rates.wait("denials", f"entry {name}")
        self.metrics = Metrics(settings.workers)
        self.standbys = Standbys()
        self.looking: CapacityLimiter | None = None  # threads that see whether the ledger is there
        self.tokens, self.prices = Tokens(), Prices()
        self.walks = Walks(self.ledger, settings)
        self._courses: dict[str, Following] = {}
        self._walks = Turns(2, 2.0, "long histories are being read: ask again in a moment")
        self.workers = Workers(settings.processes, settings.seconds, settings.memory)
        self._environment = Environment(
            loader=PackageLoader("quiltwork.web"), autoescape=True, undefined=StrictUndefined,
            trim_blocks=True, lstrip_blocks=True,
        )  # fmt: skip
        self._environment.filters["plain"] = single

    def course(self, ledger: Ledger, name: str) -> Course:
        """What was spent of a budget over time; where it was asked for before, only what is new is read."""
        budget = ledger.budget(name)
        if len(self._courses) >= MOST_COURSES:
            self._courses.clear()
        return self._courses.setdefault(budget.name, Following(budget)).gone_on(ledger)

    def slowly(self) -> AbstractContextManager[None]:
        """A walk through a long history; few at a time, so that short questions find a thread."""
        return self._walks.taken()

    def start(self) -> None:
        """Warm a process up, while the first page is read."""
        threading.Thread(target=self.workers.warm, daemon=True).start()

    def close(self) -> None:
        """End every process and connection."""
        self.workers.close()
        self.walks.close()
        if self.ledger is not None:
            self.ledger.dispose()

    def page(self, request: Request, template: str, status: int = 200, **values: Any) -> Response:
        """A page for whoever asks; visitors get a cookie, so that their forms can be told from forged ones."""
        who = getattr(request.state, "caller", None) or visitor(request)
        cookie = (
            request.cookies.get(self.settings.cookie) or getattr(request.state, "cookie", None) or Sessions.new_cookie()
        )
        found = {
            "request": request,
            "path": request.url.path,
            "caller": who,
            "csrf": self.sessions.csrf(cookie),
            "site": self,
            "version": __version__,
            **values,
        }
        response = HTMLResponse(self._environment.get_template(template).render(found), status)
        if self.settings.cookie not in request.cookies:
            self.set_cookie(response, cookie)
        return response

    def set_cookie(self, response: Response, cookie: str) -> None:
        """No script can read it, and no other site's request carries it."""
        response.headers.append("set-cookie", self.settings.cookie_header(cookie))


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
    app.add_middleware(Quick, site=site)
    app.add_middleware(Guard, settings=site.settings, script=files()[PLOTLY].content, metrics=site.metrics)
    return app


def app_from_environment() -> FastAPI:
    """For `uvicorn --factory quiltwork.web:app_from_environment` and other ASGI servers.

    QUILTWORK_LOG says how much is logged: error, warning or info; QUILTWORK_LOG_FORMAT how: line or json.
    """
    level, shape = os.environ.get("QUILTWORK_LOG", "info"), os.environ.get("QUILTWORK_LOG_FORMAT", "line")
    logging.config.dictConfig(log_configuration(level, shape))
    return create_app(Settings.from_environment())


class NotEnded(logging.Filter):
    """Leaves out that a request was cut off because the service ended: whoever ended it knows."""

    def filter(self, record: logging.LogRecord) -> bool:
        return record.exc_info is None or not isinstance(record.exc_info[1], asyncio.CancelledError)


def log_configuration(level: str, shape: str = "line") -> dict[str, Any]:
    """For `logging.config`: method, path, status, time and id of each request, and mistakes of ours.

    Never a query, a body, a header, a cookie or a token: none of them is given to the log in the first place. The
    server's own lines about requests, which hold queries, are left out.
    """
    if level not in LOG_LEVELS:
        raise InvalidParameter("QUILTWORK_LOG", level, f"one of {', '.join(LOG_LEVELS)}")
    if shape not in LOG_FORMATS:
        raise InvalidParameter("QUILTWORK_LOG_FORMAT", shape, f"one of {', '.join(LOG_FORMATS)}")
    name = level.upper()
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {
            "line": {"format": "%(asctime)s %(levelname)s %(message)s"},
            "json": {"()": JsonLines},
        },
        "filters": {"ended": {"()": f"{__name__}.NotEnded"}},
        "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": shape, "filters": ["ended"]}},
        "loggers": {
            "quiltwork.web": {"handlers": ["stderr"], "level": name, "propagate": False},
            "uvicorn": {"handlers": ["stderr"], "level": "WARNING", "propagate": False},
            "uvicorn.access": {"handlers": [], "propagate": False},
        },
    }


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
    found = {file.name: file.read_bytes() for file in ours if PurePath(file.name).suffix in KINDS}
    found[PLOTLY] = resources.files("plotly").joinpath("package_data", PLOTLY).read_bytes()
    return {
        name: File(
            content, gzip.compress(content, 6, mtime=0), KINDS[PurePath(name).suffix],
            f'"{hashlib.sha256(content).hexdigest()[:32]}"',
        )
        for name, content in found.items()
    }  # fmt: skip
