"""What every answer says to the browser, and what no request gets past.

The policy lets a page load scripts, styles and data from its own host only; nothing inline runs. Plotly makes one empty
style element and fills it by script, which the hash of the empty text allows, and it sets style attributes.
"""

from __future__ import annotations

import logging
import time
from typing import Any

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from quiltwork.web.settings import Settings

__all__ = ["Guard"]

EMPTY = "'sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU='"  # SHA-256 of nothing
POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        f"style-src 'self' {EMPTY}",
        "style-src-attr 'unsafe-inline'",
        "img-src 'self' data: blob:",
        "font-src 'self'",
        "connect-src 'self'",
        "form-action 'self'",
        "frame-ancestors 'none'",
        "base-uri 'none'",
    )
)
ALWAYS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
}
log = logging.getLogger("quiltwork.web.requests")


class Guard:
    """Checks host and length first, adds the headers, and notes the request without anything that was sent with it."""

    def __init__(self, app: ASGIApp, settings: Settings) -> None:
        self.app, self.settings = app, settings
        self.headers = dict(ALWAYS)
        if settings.public:
            self.headers["Strict-Transport-Security"] = "max-age=31536000"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        began, status = time.perf_counter(), 0

        async def sent(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                self._complete(scope, MutableHeaders(scope=message))
            await send(message)

        try:
            refused = self._refused(scope, Headers(scope=scope))
            await (refused or self.app)(scope, receive, sent)
        finally:
            # the path alone: a query may name a budget, and bodies and tokens are nobody's business
            took = 1000 * (time.perf_counter() - began)
            log.info("%s %s %d %.0f ms", scope["method"], scope["path"].encode("unicode_escape").decode(), status, took)

    def _complete(self, scope: Scope, headers: MutableHeaders) -> None:
        for name, value in self.headers.items():
            headers.setdefault(name, value)
        if not scope["path"].startswith("/static/"):
            headers["Cache-Control"] = "no-store"

    def _refused(self, scope: Scope, headers: Headers) -> Response | None:
        host = headers.get("host", "")
        name = host.rpartition(":")[0] if host.rpartition(":")[2].isdigit() and "]" not in host[-1:] else host
        if name.lower() not in self.settings.hosts:
            return PlainTextResponse("this service is not reached under that name", 421)
        given = headers.get("content-length")
        if given is not None and (not given.isdigit() or int(given) > self.settings.most_bytes):
            return _too_large(scope)
        return None


def _too_large(scope: Scope) -> Response:
    words = "what was sent is larger than this service accepts"
    if scope["path"].startswith("/api/"):
        body: dict[str, Any] = {"error": "Too large", "message": words, "field": None, "line": None}
        return JSONResponse(body, 413)
    return PlainTextResponse(words, 413)
