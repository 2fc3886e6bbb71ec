"""Guarantees that are carried to another notion of neighbour: `guarantee().to(other)`.

Truth: all steps of the other notion (a record more, a record replaced, a person with a few records more) and how far
they move each count, in fractions. Questions: the pure epsilon, and delta of Gaussian noise.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np
from tests.truth import closed
from tests.truth.numbers import mp

import quiltwork as qw
from benchmarks.soundness.claims import Check, Kind, at_most, covers
from quiltwork.tables import Cat, Id, Plan, Table, add_remove, on_input, replace_one, user

NEAR = mp.mpf(10) ** -40
NOTIONS = ("add_remove", "replace_one", "user")


def drawn(rng: np.random.Generator) -> dict[str, Any]:
    """Counts of unions of categories; the notion they are planned for, and another one."""
    categories = int(rng.integers(2, 6))
    queries = []
    for _ in range(int(rng.integers(1, 6))):
        members = [c for c in range(categories) if rng.random() < 0.5] or [0]
        queries.append({"members": members, "loss": round(float(10.0 ** rng.uniform(-2, 0)), 3)})
    first, other = (str(name) for name in rng.permutation(NOTIONS)[:2])
    return {
        "categories": categories, "kind": str(rng.choice(["pure", "gdp"])), "queries": queries, "first": first,
        "other": other, "most": int(rng.integers(1, 4)), "epsilons": np.round(rng.exponential(1.0, 4), 3).tolist(),
    }  # fmt: skip


def _steps(notion: str, count: int, most: int) -> Iterator[dict[int, int]]:
    """How many records each category gains or loses."""
    if notion == "replace_one":
        yield from ({a: 1, b: -1} for a, b in itertools.combinations(range(count), 2))
        return
    for size in range(1, 1 + (most if notion == "user" else 1)):
        yield from (Counter(cells) for cells in itertools.combinations_with_replacement(range(count), size))


def _worst(case: dict[str, Any]) -> Fraction:
    """Epsilon, or mu^2, of the step that moves the counts most."""
    power = 2 if case["kind"] == "gdp" else 1
    return max(
        sum(
            (Fraction(repr(q["loss"])) * abs(sum(step.get(c, 0) for c in q["members"]))) ** power
            for q in case["queries"]
        )
        for step in _steps(case["other"], case["categories"], case["most"])
    ) + Fraction(0)


def carried(case: dict[str, Any]) -> Iterator[Check]:
    """The guarantee for the other notion is no less than what noise on the counts loses in its worst step."""
    count, kind = case["categories"], case["kind"]
    if not case["queries"] or count < 2 or case["most"] < 1:
        return
    if any(not q["members"] or max(q["members"]) >= count or q["loss"] <= 0 for q in case["queries"]):
        return
    table = Table(person=Id(), a=Cat(*(f"c{i}" for i in range(count))))
    steps = {"add_remove": add_remove(), "replace_one": replace_one(), "user": user("person", max_records=case["most"])}
    plan = Plan(table, neighbors=steps[case["first"]])
    for index, q in enumerate(case["queries"]):
        where, loss = table.a.isin([f"c{i}" for i in q["members"]]), getattr(qw, kind)(q["loss"])
        plan.add(f"q{index}", where=where, count=True, loss=loss, holds=on_input(add_remove()))
    said, worst = plan.guarantee().to(steps[case["other"]]), _worst(case)
    if not worst:
        return
    name = f"{case['first']} to {case['other']}"
    if kind == "pure":
        yield at_most(f"{name}: pure epsilon", worst, Fraction(repr(float(said.epsilon(0.0).upper))))
        return
    mu = mp.sqrt(mp.mpf(worst.numerator) / worst.denominator)
    uppers = np.asarray(said.delta(np.array(case["epsilons"])).upper).tolist() if case["epsilons"] else []
    for place, upper in zip(case["epsilons"], uppers, strict=True):
        yield covers(f"{name}: delta", closed.gaussian_delta(mu, place) * (1 - NEAR), upper, f"epsilon {place!r}")


KINDS = [Kind("tables", "another notion", drawn, carried)]
