"""Plan files: what will be released, with how much noise, and what must hold afterwards."""

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

__all__ = ["Plan", "Recipe", "Release", "Target", "parse_plan", "plan_from", "plan_of", "read_plan", "schema"]
