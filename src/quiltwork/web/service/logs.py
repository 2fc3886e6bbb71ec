"""What the service writes down: method, path, status and time of each request, and mistakes of ours.

Never a query, a body, a header, a cookie or a token: none of them is given to the log in the first place.
"""

from __future__ import annotations

import asyncio
import logging
from typing import Any

from quiltwork.errors import InvalidParameter

__all__ = ["LEVELS", "configuration"]

LEVELS = ("error", "warning", "info")


class NotEnded(logging.Filter):
    """Leaves out that a request was cut off because the service ended: whoever ended it knows."""

    def filter(self, record: logging.LogRecord) -> bool:
        return record.exc_info is None or not isinstance(record.exc_info[1], asyncio.CancelledError)


def configuration(level: str) -> dict[str, Any]:
    """For `logging.config`; the server's own lines about requests, which hold queries, are left out."""
    if level not in LEVELS:
        raise InvalidParameter("QUILTWORK_LOG", level, f"one of {', '.join(LEVELS)}")
    name = level.upper()
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {"line": {"format": "%(asctime)s %(levelname)s %(message)s"}},
        "filters": {"ended": {"()": f"{__name__}.NotEnded"}},
        "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "line", "filters": ["ended"]}},
        "loggers": {
            "quiltwork.web": {"handlers": ["stderr"], "level": name, "propagate": False},
            "uvicorn": {"handlers": ["stderr"], "level": "WARNING", "propagate": False},
            "uvicorn.access": {"handlers": [], "propagate": False},
        },
    }
