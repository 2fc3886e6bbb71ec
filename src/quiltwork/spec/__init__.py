"""Plan files: what will be released, with how much noise, and what must hold afterwards."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from quiltwork.errors import MissingExtra

try:
    import pydantic  # noqa: F401
    import yaml  # noqa: F401
except ImportError as error:
    raise MissingExtra(error.name or "pydantic", "cli") from None

from quiltwork.spec.fields.losses import Recipe
from quiltwork.spec.files.plan import Plan, Release, Target, parse_plan, plan_from, plan_of, read_plan, schema

if TYPE_CHECKING:
    from quiltwork.kinds import Kind
    from quiltwork.spec.fields.budgets import Budget, BudgetAnswer
    from quiltwork.spec.fields.conditions import condition
    from quiltwork.spec.files.budgets import BudgetFile, budget_schema, budgets_from, parse_budgets, read_budgets
    from quiltwork.spec.files.file import any_schema, kind_of, load, loads, parse_any, read_any
    from quiltwork.spec.files.prior import PriorFile, parse_prior, prior_from, prior_schema, read_prior
    from quiltwork.spec.files.table_plan import (
        TablePlan,
        parse_table_plan,
        read_table_plan,
        table_plan_from,
        table_schema,
    )
    from quiltwork.spec.files.world import WorldFile, parse_world, read_world, world_from, world_schema
    from quiltwork.spec.objects.documents import dumps, register, save

__all__ = [
    "Budget",
    "BudgetAnswer",
    "BudgetFile",
    "Kind",
    "Plan",
    "PriorFile",
    "Recipe",
    "Release",
    "TablePlan",
    "Target",
    "WorldFile",
    "any_schema",
    "budget_schema",
    "budgets_from",
    "condition",
    "dumps",
    "kind_of",
    "load",
    "loads",
    "parse_any",
    "parse_budgets",
    "parse_plan",
    "parse_prior",
    "parse_table_plan",
    "parse_world",
    "plan_from",
    "plan_of",
    "prior_from",
    "prior_schema",
    "read_any",
    "read_budgets",
    "read_plan",
    "read_prior",
    "read_table_plan",
    "read_world",
    "register",
    "save",
    "schema",
    "table_plan_from",
    "table_schema",
    "world_from",
    "world_schema",
]
_MODULES = {
    "quiltwork.kinds": "Kind",
    "quiltwork.spec.fields.budgets": "Budget BudgetAnswer",
    "quiltwork.spec.fields.conditions": "condition",
    "quiltwork.spec.files.budgets": "BudgetFile budget_schema budgets_from parse_budgets read_budgets",
    "quiltwork.spec.files.file": "any_schema kind_of load loads parse_any read_any",
    "quiltwork.spec.files.prior": "PriorFile parse_prior prior_from prior_schema read_prior",
    "quiltwork.spec.files.table_plan": "TablePlan parse_table_plan read_table_plan table_plan_from table_schema",
    "quiltwork.spec.files.world": "WorldFile parse_world read_world world_from world_schema",
    "quiltwork.spec.objects.documents": "dumps register save",
}
_HOMES = {name: module for module, names in _MODULES.items() for name in names.split()}


def __getattr__(name: str) -> Any:
    """Plans of tables, priors and worlds load on first use: most plans have none."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
