"""The report of two given tables under a table plan: how far they are, query by query, and what that costs."""

from __future__ import annotations

import math
from collections.abc import Sequence

from quiltwork.document.blocks import Fact, Facts, Grid, Section, Words
from quiltwork.document.page import Report
from quiltwork.document.parts import SUMMARY
from quiltwork.numbers.digits import at_most
from quiltwork.numbers.json import json_numbers
from quiltwork.tables.how_far import HowFar
from quiltwork.tables.plan import Plan

SECRET = (
    "This looked at both tables: what it says about two tables of which one is secret is as secret as that table. A "
    "guarantee is about the worst pair of neighbours (quiltwork tables without --between)."
)


def apart_report(
    title: str, plan: Plan, found: HowFar, names: Sequence[str], delta: float, everything: bool = True
) -> Report:
    """Everything that is said about two tables."""
    moved = [moved for moved in found.vector.values() if moved]
    endless = any(map(math.isinf, moved))
    epsilon = math.inf if endless else float(found.loss.epsilon(delta).upper) if moved else 0.0
    cost = "not bounded" if math.isinf(epsilon) else f"at most {at_most(epsilon, 6)}"
    facts = [
        Fact("Distance", _steps(found.steps), f"in steps of: {plan.neighbors.protects}"),
        Fact("Queries that tell them apart", f"{len(moved)} of {len(found.vector)}"),
        Fact("Epsilon between them", cost, f"at delta {delta:g}", "bad" if math.isinf(epsilon) else ""),
    ]
    rows = [
        (query.name, _steps(found.vector[query.name]), query.holds.under(plan.neighbors).words)
        for query in plan.queries
        if everything or found.vector[query.name]
    ]
    same = len(found.vector) - len(rows)
    more = [Words(f"... and {same:,} more queries, which see no difference.")] if same else []
    columns = ("Query", ("Steps", "number"), "Its guarantee")
    grids = [Grid(columns, rows, "Query by query.")] if rows else []
    sections = [
        Section(SUMMARY, [Facts(facts)]),
        Section("In plain words", [Words(SECRET)]),
        Section("The distance vector", [*grids, *more]),
    ]
    data = {
        "kind": "distance",
        "steps": json_numbers([found.steps])[0],
        "vector": dict(zip(found.vector, json_numbers(list(found.vector.values())), strict=True)),
        "delta": delta,
        "epsilon_at_most": json_numbers([epsilon])[0],
    }
    return Report(title or "Two tables", f"How far {names[0]} and {names[1]} are from each other.", sections, data)


def _steps(number: float) -> str:
    return "no way" if math.isinf(number) else f"{number:,.6g}"
