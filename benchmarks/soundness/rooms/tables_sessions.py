"""Sessions: counts that are asked one after the other within a budget.

Truth: the worst category, or the worst two for replaced records, summed in fractions. Question: granted or refused.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np

import quiltwork as qw
from benchmarks.soundness.claims import Check, Kind, decided
from benchmarks.soundness.rooms.ledger import exact
from quiltwork.errors import BudgetExceeded
from quiltwork.tables import Cat, Plan, Table, add_remove, on_input, replace_one


def asked(rng: np.random.Generator) -> dict[str, Any]:
    """Counts of unions of categories, one after the other, within a budget."""
    categories, kind = int(rng.integers(1, 6)), str(rng.choice(["pure", "zcdp", "gdp"]))
    queries = []
    for _ in range(int(rng.integers(2, 9))):
        members = [c for c in range(categories) if rng.random() < 0.5] or [0]
        queries.append({"members": members, "loss": round(float(rng.uniform(0.05, 0.6)), 3)})
    return {"categories": categories, "kind": kind, "queries": queries, "limit": round(float(rng.uniform(0.5, 1.5)), 3),
            "replace": bool(rng.random() < 0.4)}  # fmt: skip


def admitted(case: dict[str, Any]) -> Iterator[Check]:
    """Granted if and only if the worst category (or the worst two) stays within the budget, summed in fractions."""
    kind, power = case["kind"], 2 if case["kind"] == "gdp" else 1
    count = case["categories"]
    if (
        not case["queries"]
        or any(c >= count for q in case["queries"] for c in q["members"])
        or not all(q["members"] and q["loss"] > 0 for q in case["queries"])
        or case["limit"] <= 0
    ):
        return
    table = Table(a=Cat(*(f"c{i}" for i in range(count))))
    step = replace_one() if case["replace"] else add_remove()
    session = Plan(table, neighbors=step).session(getattr(qw, kind)(case["limit"]))
    limit = exact(case["limit"]) ** power
    seen: list[dict[str, Any]] = []

    def worst(queries: list[dict[str, Any]]) -> Fraction:
        def of(members: tuple[int, ...]) -> Fraction:  # a count moves by one if the record enters or leaves it
            read = [
                q for q in queries if (members[0] in q["members"]) != (len(members) > 1 and members[1] in q["members"])
            ]
            return sum((exact(q["loss"]) ** power for q in read), Fraction(0))

        pairs: Any = itertools.permutations(range(count), 2) if case["replace"] else ((c,) for c in range(count))
        return max((of(members) for members in pairs), default=Fraction(0))

    for index, query in enumerate(case["queries"]):
        where = table.a.isin([f"c{i}" for i in query["members"]])
        loss, holds = getattr(qw, kind)(query["loss"]), on_input(add_remove())
        fits = worst([*seen, query]) <= limit
        try:
            session.spend(f"q{index}", where=where, count=True, loss=loss, holds=holds)
            granted = True
        except BudgetExceeded:
            granted = False
        note = f"query {index}: {query}"
        yield decided(f"session, {kind}", fits, granted, note)
        if granted:
            seen.append(query)


KINDS = [Kind("tables", "sessions", asked, admitted)]
