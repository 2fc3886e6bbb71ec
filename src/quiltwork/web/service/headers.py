"""What every answer says to the browser, and what no request gets past.

The policy lets a page load scripts, styles and data from its own host only; nothing inline runs. Plotly puts style
elements of fixed text into a page, which hashes of these texts allow, and it sets style attributes.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import logging
import re
import time
from collections.abc import Callable
from typing import Any

from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.middleware.body_limit import RequestBodyLimitMiddleware
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from quiltwork.web.service.observing import Metrics, request_id, route_of
from quiltwork.web.settings import UPLOADS, Settings

POLICY = (
    "default-src 'none'",
    "script-src 'self'",
    "style-src-attr 'unsafe-inline'",
    "img-src 'self' data: blob:",
    "font-src 'self'",
    "connect-src 'self'",
    "form-action 'self'",
    "frame-ancestors 'none'",
    "base-uri 'none'",
)
ALWAYS = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
}
_STYLE = re.compile(rb"""createElement\("style"\);[^'"]*"[^"]*",\w+\.textContent='([^'\\]+)'""")
REQUEST_ID = "X-Request-Id"
log = logging.getLogger("quiltwork.web.requests")


def policy(script: bytes) -> str:
    """The policy of pages that load this version of Plotly's script, which makes these style elements.

    One is empty and filled rule by rule, which needs the hash of nothing; others have their text in the script.
    """
    texts = [b"", *_STYLE.findall(script)]
    hashes = (base64.b64encode(hashlib.sha256(text).digest()).decode() for text in texts)
    styles = " ".join(("style-src 'self'", *(f"'sha256-{found}'" for found in hashes)))
    return "; ".join((*POLICY, styles))


def _most(settings: Settings) -> Callable[[str], int]:
    """The most bytes that may be sent to each path."""
    sizes = {path: settings.most(path) for path in UPLOADS}
    return lambda path: sizes.get(path, settings.most_bytes)


class Guard:
    """Checks host and length first, adds the headers, and notes the request without anything that was sent with it.

    Every answer carries an id, which stands in the log beside it; whoever sends a body slower than the service waits
    is refused.
    """

    def __init__(self, app: ASGIApp, settings: Settings, script: bytes, metrics: Metrics) -> None:
        self.app, self.hosts, self.most, self.metrics = app, settings.hosts, _most(settings), metrics
        self.body_seconds, self.cookie = settings.body_seconds, settings.cookie_header
        self.headers = {**ALWAYS, "Content-Security-Policy": policy(script)}
        if settings.public:
            self.headers["Strict-Transport-Security"] = "max-age=31536000"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        began, status, headers = time.perf_counter(), 0, Headers(scope=scope)
        number = request_id(headers.get(REQUEST_ID))

        async def sent(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                made = MutableHeaders(scope=message)
                self._complete(scope, made)
                made[REQUEST_ID] = number
                if (renewed := scope.get("state", {}).get("renewed")) is not None:
                    made.append("Set-Cookie", self.cookie(renewed))
            await send(message)

        try:
            refused = self._refused(scope, headers)
            await (refused or self.app)(scope, self._in_time(receive), sent)
        finally:
            took = time.perf_counter() - began
            self.metrics.note(route_of(scope), scope["method"], status, took)
            if log.isEnabledFor(logging.INFO):
                self._log(scope, number, status, took)

    def _log(self, scope: Scope, number: str, status: int, took: float) -> None:
        """The path alone: a query may name a budget, and bodies and tokens are nobody's business."""
        path, client = scope["path"].encode("unicode_escape").decode(), scope.get("client")
        who = getattr(scope.get("state", {}).get("caller"), "name", None)
        told = {
            "request": number, "method": scope["method"], "path": path, "route": route_of(scope), "status": status,
            "ms": round(1000 * took, 1), "principal": who, "address": None if client is None else client[0],
        }  # fmt: skip
        log.info("%s %s %d %.0f ms %s", scope["method"], path, status, 1000 * took, number, extra={"request": told})

    def _in_time(self, receive: Receive) -> Receive:
        """The parts of a body as they come; 408 when it is not there in time."""
        until: float | None = None
        whole = False

        async def received() -> Message:
            nonlocal until, whole
            if whole:  # waits for the client to go, as long as the answer takes
                return await receive()
            now = time.monotonic()
            until = now + self.body_seconds if until is None else until
            try:
                message = await asyncio.wait_for(receive(), max(until - now, 0.001))
            except TimeoutError:
                raise HTTPException(408) from None
            whole = not message.get("more_body", False)
            return message

        return received

    def _complete(self, scope: Scope, headers: MutableHeaders) -> None:
        for name, value in self.headers.items():
            headers.setdefault(name, value)
        kept = scope["path"].startswith("/static/") and "Cache-Control" in headers
        if not kept:  # also the page that says that there is no such file: it names who is signed in
            headers["Cache-Control"] = "no-store"

    def _refused(self, scope: Scope, headers: Headers) -> Response | None:
        host = headers.get("host", "")
        name = host.rpartition(":")[0] if host.rpartition(":")[2].isdigit() and "]" not in host[-1:] else host
        if name.lower() not in self.hosts:
            return PlainTextResponse("this service is not reached under that name", 421)
        given = headers.get("content-length")
        if given is not None and (not (given.isascii() and given.isdigit()) or int(given) > self.most(scope["path"])):
            return _too_large(scope)
        return None


class Bodies:
    """Stops reading a request that grows beyond what its path takes, whatever length it claimed."""

    def __init__(self, app: ASGIApp, settings: Settings) -> None:
        self.most = _most(settings)
        sizes = (settings.most_bytes, settings.most_upload)
        self.limited = {size: RequestBodyLimitMiddleware(app, max_body_size=size) for size in sizes}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self.limited[self.most(scope.get("path", ""))](scope, receive, send)


def _too_large(scope: Scope) -> Response:
    words = "what was sent is larger than this service accepts"
    if scope["path"].startswith("/api/"):
        body: dict[str, Any] = {"error": "Too large", "message": words, "field": None, "line": None}
        return JSONResponse(body, 413)
    return PlainTextResponse(words, 413)
