"""quiltwork: differential privacy accounting and release, certified from both sides.

Names load on first use, so that importing quiltwork costs no more than importing numpy.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from quiltwork import moved

__version__ = "0.2.0"

moved.answer()

_ROOMS = (
    "adapters",
    "audit",
    "compose",
    "confounding",
    "data",
    "game",
    "ledger",
    "mechanisms",
    "proof",
    "pufferfish",
    "release",
    "tables",
)
DOCUMENTED = (  # loaded one after the other when a document names a kind that nobody has declared yet
    "compose.loss", "compose.filters.opening", "curves", "proof", "tables", "release.released", "pufferfish",
    "confounding", "confounding.design.exact.design", "mechanisms", "data", "audit", "game", "game.finite",
    "ledger.ledger",
)  # fmt: skip
_NAMES = {  # by the room or the module that they are taken from
    "quiltwork.compose.calibrate": "calibrate",
    "quiltwork.compose.constructors": "approximate constraints discrete_gaussian discrete_laplace exponential "
    "fixed_size gaussian gaussian_mixture gdp laplace mixture noisy_max pair poisson profile pure random_allocation "
    "randomized_response rdp tradeoff truncated_poisson zcdp",
    "quiltwork.compose.loss": "Loss",
    "quiltwork.compose.matrix_mechanism": "banded_matrix_mechanism matrix_mechanism tree_aggregation",
    "quiltwork.compose.repeat_and_select": "repeat_and_select",
    "quiltwork.compose.training": "training",
    "quiltwork.curves": "Bracket Curve Guarantee Profile Region TradeOff",
    "quiltwork.errors": "QuiltworkError",
    "quiltwork.ledger": "Ledger",
    "quiltwork.proof": "prove",
    "quiltwork.spec": "dumps load loads save",
    "quiltwork.tables": "Cat Date Float Id Int Plan SubsetOf Table add_remove clip_rows edge entry euclidean flat_map "
    "free_lunch geo join manhattan metric node on_input on_table opaque replace_one user window",
}
_HOMES = {name: home for home, names in _NAMES.items() for name in names.split()}

if TYPE_CHECKING:
    from quiltwork.compose.calibrate import calibrate
    from quiltwork.compose.constructors import (
        approximate,
        constraints,
        discrete_gaussian,
        discrete_laplace,
        exponential,
        fixed_size,
        gaussian,
        gaussian_mixture,
        gdp,
        laplace,
        mixture,
        noisy_max,
        pair,
        poisson,
        profile,
        pure,
        random_allocation,
        randomized_response,
        rdp,
        tradeoff,
        truncated_poisson,
        zcdp,
    )
    from quiltwork.compose.loss import Loss, compose
    from quiltwork.compose.matrix_mechanism import banded_matrix_mechanism, matrix_mechanism, tree_aggregation
    from quiltwork.compose.repeat_and_select import repeat_and_select
    from quiltwork.compose.training import training
    from quiltwork.curves import Bracket, Curve, Guarantee, Profile, Region, TradeOff
    from quiltwork.errors import QuiltworkError
    from quiltwork.ledger import Ledger
    from quiltwork.proof.prove import prove
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
    "banded_matrix_mechanism",
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
    "exponential",
    "fixed_size",
    "flat_map",
    "free_lunch",
    "gaussian",
    "gaussian_mixture",
    "gdp",
    "geo",
    "join",
    "laplace",
    "ledger",
    "load",
    "loads",
    "manhattan",
    "matrix_mechanism",
    "mechanisms",
    "metric",
    "mixture",
    "node",
    "noisy_max",
    "on_input",
    "on_table",
    "opaque",
    "pair",
    "poisson",
    "profile",
    "prove",
    "pufferfish",
    "pure",
    "random_allocation",
    "randomized_response",
    "rdp",
    "repeat_and_select",
    "replace_one",
    "save",
    "tables",
    "tradeoff",
    "training",
    "tree_aggregation",
    "truncated_poisson",
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
    if name == "noise":
        return import_module("quiltwork.mechanisms.noise")
    raise AttributeError(f"module 'quiltwork' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES, *_ROOMS})
