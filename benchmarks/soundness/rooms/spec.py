"""Files: what is written and read again answers the same, and a plan answers as its releases do."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import numpy as np

import quiltwork as qw
from benchmarks.soundness.claims import Check, Kind, ends
from benchmarks.soundness.rooms import dyadic
from quiltwork.spec import dumps, loads, parse_plan


def release(rng: np.random.Generator) -> dict[str, Any]:
    """One release as a plan file spells it."""

    def size(low: float, high: float) -> float:
        return float(10.0 ** rng.uniform(low, high))

    choices: list[dict[str, Any]] = [
        {"gaussian": {"sigma": size(0, 2)}},
        {"gaussian": {"sigma": size(0, 2), "sensitivity": size(-1, 1)}},
        {"laplace": {"scale": size(0, 2)}},
        {"discrete_gaussian": {"sigma": round(size(0, 1), 2)}},
        {"discrete_laplace": {"scale": size(0, 1.5), "sensitivity": int(rng.integers(1, 4))}},
        {"pure": {"epsilon": size(-2, 0)}},
        {"approximate": {"epsilon": size(-2, 0), "delta": size(-12, -3)}},
        {"gdp": {"mu": size(-2, 0)}},
        {"zcdp": {"rho": size(-4, -1)}},
    ]
    return {**choices[int(rng.integers(len(choices)))], "count": int(rng.integers(1, 20))}


def drawn(rng: np.random.Generator) -> dict[str, Any]:
    """Releases, and a few questions."""
    releases = [release(rng) for _ in range(int(rng.integers(1, 4)))]
    return {
        "releases": releases, "law": dyadic.law(rng, 4, 20), "epsilons": rng.exponential(1.0, 5).tolist(),
        "deltas": (10.0 ** -rng.uniform(1, 9, 3)).tolist(),
    }  # fmt: skip


def _single(one: dict[str, Any]) -> Any:
    name = next(key for key in one if key != "count")
    return one["count"] * getattr(qw, name)(**one[name])


def kept(case: dict[str, Any]) -> Iterator[Check]:
    """The same plan as JSON, as YAML, and as losses that were composed by hand: equal, and equal answers."""
    if not case["releases"]:
        return
    direct = qw.compose(*map(_single, case["releases"]))
    listed = [{"name": f"r{i}", **one} for i, one in enumerate(case["releases"])]
    plan = parse_plan(json.dumps({"quiltwork": 1, "releases": listed}))
    again = parse_plan(plan.to_yaml())
    yield Check("plan: JSON to YAML", again == plan)
    forms = {
        "plan file": plan.loss(),
        "plan file as YAML": again.loss(),
        "loss written and read": loads(dumps(direct)),
        "to_json and from_json": qw.Loss.from_json(json.loads(json.dumps(direct.to_json()))),
    }
    answers = _answers(direct, case)
    for name, loss in forms.items():
        yield Check(f"{name}: the same loss", loss == direct)
        yield from _same(name, _answers(loss, case), answers)
    law = qw.pair(*dyadic.masses(case["law"]))
    region = law.region(2)
    for name, curve in {"region": region, "profile": region.profile, "trade-off": region.tradeoff()}.items():
        yield from _same(f"{name} written and read", _answers(loads(dumps(curve)), case), _answers(curve, case))
    promise = law.guarantee(protects="one record")
    again_promise = loads(dumps(promise))
    yield Check(
        "guarantee: words", (again_promise.protects, again_promise.assumes) == (promise.protects, promise.assumes)
    )
    yield from _same("guarantee written and read", _answers(again_promise, case), _answers(promise, case))


def _answers(curve: Any, case: dict[str, Any]) -> list[tuple[str, float, float]]:
    found = []
    for question, places in (("delta", case["epsilons"]), ("epsilon", case["deltas"])):
        if places:
            both = getattr(curve, question)(np.array(places))
            found += [(f"{question} at {place!r}", *pair) for place, pair in zip(places, ends(both), strict=True)]
    return found


def _same(
    name: str, found: list[tuple[str, float, float]], expected: list[tuple[str, float, float]]
) -> Iterator[Check]:
    """Bit by bit."""
    for one, two in zip(found, expected, strict=True):
        yield Check(f"{name}: the same answers", one == two, note=f"{one} for {two}")


KINDS = [Kind("spec", "written and read", drawn, kept)]
