"""Plan files: what will be released, with how much noise, and what must hold afterwards."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from quiltwork.errors import MissingExtra

try:
    import pydantic  # noqa: F401
    import yaml  # noqa: F401
except ImportError as error:
    raise MissingExtra(error.name or "pydantic", "cli") from None

from quiltwork.spec.build import plan_of
from quiltwork.spec.plan import Plan, Release, Target
from quiltwork.spec.read import parse_plan, plan_from, read_plan
from quiltwork.spec.recipes import Recipe
from quiltwork.spec.schema import schema

if TYPE_CHECKING:
    from quiltwork.spec.conditions import condition
    from quiltwork.spec.prior_file import PriorFile, parse_prior, prior_from, prior_schema, read_prior
    from quiltwork.spec.table_plan import (
        TablePlan,
        parse_table_plan,
        read_table_plan,
        table_plan_from,
        table_schema,
    )
    from quiltwork.spec.world_file import WorldFile, parse_world, read_world, world_from, world_schema

__all__ = [
    "Plan",
    "PriorFile",
    "Recipe",
    "Release",
    "TablePlan",
    "Target",
    "WorldFile",
    "condition",
    "parse_plan",
    "parse_prior",
    "parse_table_plan",
    "parse_world",
    "plan_from",
    "plan_of",
    "prior_from",
    "prior_schema",
    "read_plan",
    "read_prior",
    "read_table_plan",
    "read_world",
    "schema",
    "table_plan_from",
    "table_schema",
    "world_from",
    "world_schema",
]
_TABLES = ["TablePlan", "parse_table_plan", "read_table_plan", "table_plan_from", "table_schema"]
_PRIORS = ["PriorFile", "parse_prior", "prior_from", "prior_schema", "read_prior"]
_WORLDS = ["WorldFile", "parse_world", "read_world", "world_from", "world_schema"]
_HOMES = {
    **dict.fromkeys(_TABLES, "quiltwork.spec.table_plan"),
    **dict.fromkeys(_PRIORS, "quiltwork.spec.prior_file"),
    **dict.fromkeys(_WORLDS, "quiltwork.spec.world_file"),
    "condition": "quiltwork.spec.conditions",
}


def __getattr__(name: str) -> Any:
    """Plans of tables, priors and worlds load on first use: most plans have none."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
