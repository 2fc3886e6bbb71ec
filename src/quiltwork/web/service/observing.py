"""What operators see: an id for each request, one line of the log for each answer, and counters for Prometheus.

Neither holds a query, a body, a header, a cookie or a token, and no counter has the name of a budget.
"""

from __future__ import annotations

import json
import logging
import os
import re
import secrets
import threading
import time
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any

from starlette.types import Scope

from quiltwork.ledger.store.store import Store

log = logging.getLogger("quiltwork.web")
MINUTE = 60.0
BOUNDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)  # seconds
OTHER = "other"  # paths that no route has: a scan of the service must not make counters without end
_ID = re.compile(r"[A-Za-z0-9_.-]{8,64}")
TYPE = "text/plain; version=0.0.4; charset=utf-8"
OUTCOMES = {201: "granted", 409: "refused", 401: "denied", 403: "denied", 422: "invalid", 404: "invalid"}
SPENDS = ("/api/spend", "/api/reserve", "/budget/spend")


def request_id(given: str | None) -> str:
    """The id that came with a request, if it is well formed; else 128 random bits.

    >>> request_id("job-7.step-2")
    'job-7.step-2'
    >>> len(request_id("no spaces, no lines"))
    32
    """
    return given if given is not None and _ID.fullmatch(given) else secrets.token_hex(16)


def route_of(scope: Scope) -> str:
    """The route as it is declared, never what was asked for."""
    return str(getattr(scope.get("route"), "path", OTHER))


class Metrics:
    """Counters of this process; where several answer at one port, a label says whose they are."""

    def __init__(self, workers: int = 1) -> None:
        self._lock, self._own = threading.Lock(), {"process": os.getpid()} if workers > 1 else {}
        self._requests: Counter[tuple[str, str, int]] = Counter()
        self._buckets: dict[str, list[int]] = {}
        self._seconds: Counter[str] = Counter()
        self._spends: Counter[str] = Counter()
        self._denials: Counter[int] = Counter()

    def note(self, route: str, method: str, status: int, seconds: float) -> None:
        """One answer."""
        with self._lock:
            self._requests[route, method, status] += 1
            self._buckets.setdefault(route, [0] * (len(BOUNDS) + 1))[bisect_left(BOUNDS, seconds)] += 1
            self._seconds[route] += seconds  # type: ignore[assignment]
            if status in (401, 403, 429):
                self._denials[status] += 1
            if route in SPENDS and method == "POST":
                self._spends[OUTCOMES.get(status, "granted" if status < 400 else "failed")] += 1

    def text(self, gauges: Mapping[str, float | None]) -> str:
        """In the text format of Prometheus; a gauge without a value is left out."""
        with self._lock:
            lines = _family("quiltwork_http_requests_total", "counter", "Answers by route, method and status.")
            lines += [
                f"quiltwork_http_requests_total{self._labels(route=route, method=method, status=status)} {count}"
                for (route, method, status), count in sorted(self._requests.items())
            ]
            lines += _family(
                "quiltwork_http_seconds", "histogram", "Seconds from the request to the end of the answer."
            )
            for route, counts in sorted(self._buckets.items()):
                lines += self._histogram(route, counts)
            lines += _family("quiltwork_spends_total", "counter", "Spends and reservations by how they ended.")
            lines += [
                f"quiltwork_spends_total{self._labels(outcome=one)} {count}"
                for one, count in sorted(self._spends.items())
            ]
            lines += _family(
                "quiltwork_denials_total", "counter", "Requests that were denied: no token, no right, a rate."
            )
            reasons = {401: "token", 403: "right", 429: "rate"}
            lines += [
                f"quiltwork_denials_total{self._labels(reason=reasons[status])} {count}"
                for status, count in sorted(self._denials.items())
            ]
        for name, value in gauges.items():
            if value is not None:
                labels = self._labels() if self._own else ""
                lines += [f"# TYPE {name} gauge", f"{name}{labels} {value:.17g}"]
        return "\n".join(lines) + "\n"

    def _labels(self, **values: Any) -> str:
        return "{" + ",".join(f'{name}="{_escaped(value)}"' for name, value in (values | self._own).items()) + "}"

    def _histogram(self, route: str, counts: list[int]) -> list[str]:
        lines, total = [], 0
        for bound, count in zip((*BOUNDS, "+Inf"), counts, strict=True):
            total += count
            lines.append(f"quiltwork_http_seconds_bucket{self._labels(route=route, le=bound)} {total}")
        lines.append(f"quiltwork_http_seconds_sum{self._labels(route=route)} {self._seconds[route]:.6f}")
        return [*lines, f"quiltwork_http_seconds_count{self._labels(route=route)} {total}"]


def _escaped(value: object) -> str:
    return str(value).replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")


def _family(name: str, kind: str, words: str) -> list[str]:
    return [f"# HELP {name} {words}", f"# TYPE {name} {kind}"]


class Standbys:
    """What the database says about servers that follow it, asked once a minute."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock, self._until = clock, 0.0
        self._found: str | None = None

    def seen(self, store: Store) -> str | None:
        """A standby that commits do not wait for is said in the log: it may be promoted without what was granted."""
        if self._clock() >= self._until:
            before, self._found = self._found, store.standbys()
            self._until = self._clock() + MINUTE
            if self._found == "asynchronous" != before:
                log.warning("a standby follows this database asynchronously: a failover loses what was granted last")
        return self._found


class JsonLines(logging.Formatter):
    """One JSON object a line: time, level and message, and of a request its id, route, status, ms, who and where."""

    def format(self, record: logging.LogRecord) -> str:
        said: dict[str, Any] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            **(getattr(record, "request", None) or {"message": record.getMessage()}),
        }
        if record.exc_info:
            said["trace"] = self.formatException(record.exc_info)
        return json.dumps(said, ensure_ascii=True)
