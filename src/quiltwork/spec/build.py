"""A plan from losses that were written in Python."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from quiltwork.compose.loss import Loss
from quiltwork.errors import Unsupported
from quiltwork.spec.plan import Plan
from quiltwork.spec.read import plan_from
from quiltwork.spec.recipes import Recipe


def plan_of(releases: Iterable[tuple[str, Loss]], **words: Any) -> Plan:
    """Named losses as a plan; a composition becomes one release for each of its parts.

    `words` are the other fields of a plan: title, protects, assumes, targets.
    """
    found: list[dict[str, Any]] = []
    for name, loss in releases:
        if loss.side != "worst":
            raise Unsupported(f"a plan with {loss}", "a plan protects in both directions", "leave the direction out")
        for number, part in enumerate(loss.parts, start=1):
            recipe = Recipe.from_json(part.family.to_json()).model_dump(exclude_unset=True)
            label = name if len(loss.parts) == 1 else f"{name} ({number})"
            found.append({"name": label, **recipe, "count": part.count})
    return plan_from({"quiltwork": 1, **words, "releases": found})
