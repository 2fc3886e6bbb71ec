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
    from quiltwork.spec.anything import any_schema, kind_of, parse_any, read_any
    from quiltwork.spec.budget_answers import BudgetAnswer
    from quiltwork.spec.budget_file import BudgetFile, budget_schema, budgets_from, parse_budgets, read_budgets
    from quiltwork.spec.budgets import Budget
    from quiltwork.spec.conditions import condition
    from quiltwork.spec.object_kinds import Kind
    from quiltwork.spec.objects import dumps, load, loads, register, save
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
_TABLES = ["TablePlan", "parse_table_plan", "read_table_plan", "table_plan_from", "table_schema"]
_PRIORS = ["PriorFile", "parse_prior", "prior_from", "prior_schema", "read_prior"]
_WORLDS = ["WorldFile", "parse_world", "read_world", "world_from", "world_schema"]
_BUDGETS = ["BudgetFile", "budget_schema", "budgets_from", "parse_budgets", "read_budgets"]
_HOMES = {
    **dict.fromkeys(["any_schema", "kind_of", "parse_any", "read_any"], "quiltwork.spec.anything"),
    **dict.fromkeys(["dumps", "load", "loads", "register", "save"], "quiltwork.spec.objects"),
    **dict.fromkeys(_BUDGETS, "quiltwork.spec.budget_file"),
    "Kind": "quiltwork.spec.object_kinds",
    "Budget": "quiltwork.spec.budgets",
    "BudgetAnswer": "quiltwork.spec.budget_answers",
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
