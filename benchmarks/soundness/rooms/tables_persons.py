"""Persons with many records in many cells, where the library bounds the worst choice by prices.

Truth: all choices of that many cells, in fractions. Questions: the pure epsilon and delta of a plan.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np
from tests.truth import closed
from tests.truth.numbers import mp

import quiltwork as qw
from benchmarks.soundness.claims import Check, Kind, covers
from quiltwork.tables import Cat, Id, Plan, Table, add_remove, on_input, user

NEAR = mp.mpf(10) ** -40


def drawn(rng: np.random.Generator) -> dict[str, Any]:
    """Counts of unions of categories, some stated for whole persons, some for single records."""
    cells, most = (int(n) for n in ((14, 5), (13, 6), (18, 4), (24, 3), (40, 3))[int(rng.integers(5))])
    queries = []
    for _ in range(int(rng.integers(6, 25))):
        members = [c for c in range(cells) if rng.random() < rng.choice([0.1, 0.25, 0.5])] or [int(rng.integers(cells))]
        queries.append(
            {"members": members, "loss": round(float(10.0 ** rng.uniform(-2, 0)), 3), "whole": bool(rng.random() < 0.8)}
        )
    return {"cells": cells, "most": most, "kind": str(rng.choice(["pure", "gdp", "zcdp"])), "queries": queries,
            "epsilons": np.round(rng.exponential(1.0, 4), 3).tolist()}  # fmt: skip


def _worst(case: dict[str, Any]) -> Fraction:
    """Epsilon, or mu^2, of the worst choice of records: what is stated for persons counts once, the rest each time."""
    power = {"pure": 1, "gdp": 2, "zcdp": 1}[case["kind"]]
    whole = [
        (sum(1 << c for c in q["members"]), Fraction(repr(q["loss"])) ** power) for q in case["queries"] if q["whole"]
    ]
    single = [(q["members"], q["loss"]) for q in case["queries"] if not q["whole"]]
    unit = math.lcm(*(cost.denominator for _, cost in whole), 10**6)
    prices = [(mask, int(cost * unit)) for mask, cost in whole]
    best = Fraction(0)
    for chosen in itertools.combinations(range(case["cells"]), case["most"]):
        mask = sum(1 << c for c in chosen)
        found = Fraction(sum(cost for one, cost in prices if one & mask), unit)
        for members, loss in single:  # a count moves by the number of its records
            times = sum(c in members for c in chosen)
            found += Fraction(repr(loss)) ** power * (times if case["kind"] == "pure" else times**2)
        best = max(best, found)
    return best


def bounded(case: dict[str, Any]) -> Iterator[Check]:
    """The guarantee is no less than what the worst set of different records costs."""
    cells, most, kind = case["cells"], case["most"], case["kind"]
    if not case["queries"] or any(c >= cells for q in case["queries"] for c in q["members"]) or not 1 <= most <= cells:
        return
    if math.comb(cells, most) > 20_000 or not all(q["members"] and q["loss"] > 0 for q in case["queries"]):
        return
    table = Table(person=Id(), a=Cat(*(f"c{i}" for i in range(cells))))
    step = user("person", max_records=most)
    plan, make = Plan(table, neighbors=step), getattr(qw, kind)
    for index, q in enumerate(case["queries"]):
        where = table.a.isin([f"c{i}" for i in q["members"]])
        holds = on_input(step if q["whole"] else add_remove())
        plan.add(f"q{index}", where=where, loss=make(q["loss"]), holds=holds, **({} if q["whole"] else {"count": True}))
    said, worst = plan.guarantee(), _worst(case)
    if kind == "pure":
        upper = Fraction(repr(float(said.epsilon(0.0).upper)))
        yield Check(
            "many records: pure epsilon",
            worst <= upper,
            float((upper - worst) / worst) or math.nan,
            f"{float(worst)!r}, said {float(upper)!r}",
        )
        return
    mu = mp.sqrt(mp.mpf(worst.numerator) / worst.denominator * (2 if kind == "zcdp" else 1))
    for place, upper in zip(
        case["epsilons"], np.asarray(said.delta(np.array(case["epsilons"])).upper).tolist(), strict=True
    ):
        yield covers(
            f"many records, {kind}: delta", closed.gaussian_delta(mu, place) * (1 - NEAR), upper, f"epsilon {place!r}"
        )


KINDS = [Kind("tables", "persons with many records", drawn, bounded)]
