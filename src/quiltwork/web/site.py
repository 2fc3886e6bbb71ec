"""`Site`: what all requests share, and how a page is made."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import resources
from typing import Any

from fastapi import Request
from jinja2 import Environment, PackageLoader, StrictUndefined
from starlette.responses import HTMLResponse, Response

from quiltwork import __version__
from quiltwork.ledger.ledger import Ledger
from quiltwork.numbers.digits import at_least, at_most, single
from quiltwork.report.parts import column, ends, percent
from quiltwork.web.service.access import Tokens
from quiltwork.web.service.limits import Rates
from quiltwork.web.service.problems import Busy
from quiltwork.web.service.sessions import Session, Sessions
from quiltwork.web.service.workers import Workers
from quiltwork.web.settings import Settings

__all__ = ["Site"]

SLOW_AT_ONCE, PATIENCE = 2, 2.0  # walks through histories, and the seconds that others wait for one to end


class Site:
    """One for each application; what is in it may be used by many threads at once."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.ledger = None if settings.ledger is None else opened(settings)
        self.sessions = Sessions(settings.idle, settings.lifetime)
        kinds = ("reads", "writes", "works", "sign_ins", "guesses", "denials")
        self.rates = Rates({kind: getattr(settings, kind) for kind in kinds})
        self.tokens = Tokens()
        self._slow = threading.BoundedSemaphore(SLOW_AT_ONCE)
        self.workers = Workers(settings.processes, settings.seconds, settings.memory)
        self._environment = Environment(
            loader=PackageLoader("quiltwork.web"), autoescape=True, undefined=StrictUndefined,
            trim_blocks=True, lstrip_blocks=True,
        )  # fmt: skip
        filters = {"at_most": at_most, "at_least": at_least, "plain": single, "column": column, "ends": ends}
        self._environment.filters |= {**filters, "percent": percent}

    @contextmanager
    def slowly(self) -> Iterator[None]:
        """A walk through a long history; few at a time, so that short questions find a thread."""
        if not self._slow.acquire(timeout=PATIENCE):
            raise Busy("long histories are being read: ask again in a moment")
        try:
            yield
        finally:
            self._slow.release()

    def start(self) -> None:
        """Warm a process up, while the first page is read."""
        threading.Thread(target=self.workers.warm, daemon=True).start()

    def close(self) -> None:
        """End every process and connection."""
        self.workers.close()
        if self.ledger is not None:
            self.ledger.dispose()

    def page(self, request: Request, template: str, status: int = 200, **values: Any) -> Response:
        """A page for whoever asks; visitors get a cookie, so that their forms can be told from forged ones."""
        from quiltwork.web.service.access import visitor

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
        response.set_cookie(
            self.settings.cookie, cookie, httponly=True, samesite="strict", secure=self.settings.public, path="/"
        )

    def signed_in(self, response: Response, session: Session) -> Response:
        """The answer, with the cookie of a new session."""
        self.set_cookie(response, session.cookie)
        return response


def opened(settings: Settings) -> Ledger:
    """The ledger of the service."""
    url = str(settings.ledger)
    return Ledger(url if "://" in url else f"sqlite:///{url}", key=settings.key_file)


def plotly_script() -> bytes:
    """Plotly's own script, from the installed package."""
    return resources.files("plotly").joinpath("package_data", "plotly.min.js").read_bytes()
