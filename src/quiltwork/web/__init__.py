"""The service: budgets, plans and explorers as pages, and the same as an HTTP interface.

create_app(Settings(...))   a FastAPI application; `quiltwork serve` runs it
app_from_environment        the same from QUILTWORK_* variables, for any ASGI server

    request -> headers (host, size, policy) -> rates -> access (token, session, CSRF) -> api | pages -> ledger | workers
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from quiltwork.errors import missing

if TYPE_CHECKING:
    from quiltwork.web.app import app_from_environment, create_app
    from quiltwork.web.settings import Settings

__all__ = ["Settings", "app_from_environment", "create_app"]

_HOMES = {"Settings": "settings", "app_from_environment": "app", "create_app": "app"}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    except ModuleNotFoundError as error:
        raise missing(error) from None
