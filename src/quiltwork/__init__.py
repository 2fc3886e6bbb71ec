"""quiltwork: after everything that was released, what can an adversary still not tell apart?

Names load on first use, so that importing quiltwork costs no more than importing numpy.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from quiltwork import moved

__version__ = "0.1.0"

moved.answer()

_CONSTRUCTORS = [
    "approximate",
    "constraints",
    "discrete_gaussian",
    "discrete_laplace",
    "gaussian",
    "gdp",
    "laplace",
    "mixture",
    "pair",
    "poisson",
    "profile",
    "pure",
    "rdp",
    "tradeoff",
    "zcdp",
]
_TABLES = [
    "Cat",
    "Date",
    "Float",
    "Id",
    "Int",
    "Plan",
    "SubsetOf",
    "Table",
    "add_remove",
    "clip_rows",
    "edge",
    "entry",
    "euclidean",
    "flat_map",
    "free_lunch",
    "geo",
    "join",
    "manhattan",
    "metric",
    "node",
    "on_input",
    "on_table",
    "opaque",
    "replace_one",
    "user",
    "window",
]
_ROOMS = ("audit", "compose", "confounding", "data", "game", "ledger", "mechanisms", "pufferfish", "tables")
DOCUMENTED = (  # loaded one after the other when a document names a kind that nobody has declared yet
    "compose.loss", "compose.filters.opening", "curves", "tables", "pufferfish", "confounding",
    "confounding.design.exact.design", "mechanisms", "data", "audit", "game", "game.finite", "ledger.ledger",
)  # fmt: skip
_HOMES = {
    **dict.fromkeys(_TABLES, "quiltwork.tables"),
    **dict.fromkeys(_CONSTRUCTORS, "quiltwork.compose.constructors"),
    "Ledger": "quiltwork.ledger",
    "Loss": "quiltwork.compose.loss",
    "calibrate": "quiltwork.compose.calibrate",
    "Bracket": "quiltwork.curves",
    "Curve": "quiltwork.curves",
    "Guarantee": "quiltwork.curves",
    "Profile": "quiltwork.curves",
    "Region": "quiltwork.curves",
    "TradeOff": "quiltwork.curves",
    "QuiltworkError": "quiltwork.errors",
    **dict.fromkeys(["dumps", "load", "loads", "save"], "quiltwork.spec"),
}

if TYPE_CHECKING:
    from quiltwork.compose.calibrate import calibrate
    from quiltwork.compose.constructors import (
        approximate,
        constraints,
        discrete_gaussian,
        discrete_laplace,
        gaussian,
        gdp,
        laplace,
        mixture,
        pair,
        poisson,
        profile,
        pure,
        rdp,
        tradeoff,
        zcdp,
    )
    from quiltwork.compose.loss import Loss, compose
    from quiltwork.curves import Bracket, Curve, Guarantee, Profile, Region, TradeOff
    from quiltwork.errors import QuiltworkError
    from quiltwork.ledger import Ledger
    from quiltwork.spec import dumps, load, loads, save
    from quiltwork.tables import (
        Cat,
        Date,
        Float,
        Id,
        Int,
        Plan,
        SubsetOf,
        Table,
        add_remove,
        clip_rows,
        edge,
        entry,
        euclidean,
        flat_map,
        free_lunch,
        geo,
        join,
        manhattan,
        metric,
        node,
        on_input,
        on_table,
        opaque,
        replace_one,
        user,
        window,
    )

__all__ = [
    "Bracket",
    "Cat",
    "Curve",
    "Date",
    "Float",
    "Guarantee",
    "Id",
    "Int",
    "Ledger",
    "Loss",
    "Plan",
    "Profile",
    "QuiltworkError",
    "Region",
    "SubsetOf",
    "Table",
    "TradeOff",
    "__version__",
    "add_remove",
    "approximate",
    "calibrate",
    "clip_rows",
    "compose",
    "confounding",
    "constraints",
    "data",
    "discrete_gaussian",
    "discrete_laplace",
    "dumps",
    "edge",
    "entry",
    "euclidean",
    "flat_map",
    "free_lunch",
    "gaussian",
    "gdp",
    "geo",
    "join",
    "laplace",
    "ledger",
    "load",
    "loads",
    "manhattan",
    "mechanisms",
    "metric",
    "mixture",
    "node",
    "on_input",
    "on_table",
    "opaque",
    "pair",
    "poisson",
    "profile",
    "pufferfish",
    "pure",
    "rdp",
    "replace_one",
    "save",
    "tables",
    "tradeoff",
    "user",
    "window",
    "zcdp",
]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        value = globals()[name] = getattr(import_module(_HOMES[name]), name)
        return value
    if name in _ROOMS:
        return import_module(f"quiltwork.{name}")  # a room; that of compositions is callable
    raise AttributeError(f"module 'quiltwork' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES, *_ROOMS})
