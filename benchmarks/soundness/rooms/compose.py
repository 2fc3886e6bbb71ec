"""Compositions: finite losses by every engine against whole numbers; every family against many digits."""

from __future__ import annotations

import functools
import random
from collections.abc import Iterator
from typing import Any

import numpy as np
from tests.soundness import checks
from tests.soundness.cases import FAMILIES

import quiltwork as qw
from benchmarks.soundness.claims import Check, Kind, Skip
from benchmarks.soundness.listed import Listed, composed
from benchmarks.soundness.rooms import dyadic
from quiltwork.errors import Unsupported

METHODS = (None, "exact atoms", "lattice", "characteristic function", "grid")
MOST_BITS = 4000


def drawn(rng: np.random.Generator, method: str | None = None, make: Any = dyadic.law) -> dict[str, Any]:
    """A few laws, each repeated; one direction."""
    while True:
        parts = []
        for _ in range(int(rng.choice([1, 1, 2, 3]))):
            given = make(rng)
            few = len(given["weights"]) == 1
            parts.append({**given, "count": int(rng.integers(1, 41 if few and rng.random() < 0.3 else 7))})
        found = _truth(parts)
        if found is not None:
            break
    side = str(rng.choice(dyadic.SIDES))
    case = {"parts": parts, "side": side, "method": method, "rtol": float(rng.choice([1e-3, 1e-3, 1e-6, 0.1]))}
    count = {"lattice": 60, "grid": 60, "characteristic function": 24}.get(str(method), 100)
    return {**case, **dyadic.questions(rng, dyadic.sides(found, side), count)}


def rare(rng: np.random.Generator) -> dyadic.Law:
    """Two laws that differ in rare outcomes only: what a small sampling rate makes of any release."""
    bits = int(rng.integers(30, 47))
    most = bits - int(rng.integers(10, 28))
    weights = [[int(w) for w in rng.integers(1, 2**most, 2)] for _ in range(int(rng.integers(1, 3)))]
    if rng.random() < 0.3:
        weights[0][int(rng.integers(2))] = 0
    return {"bits": bits, "weights": weights}


def near(rng: np.random.Generator) -> dyadic.Law:
    """Two laws of much mass that are nearly the same."""
    bits = int(rng.integers(24, 47))
    weights = []
    for _ in range(int(rng.integers(1, 3))):
        first = int(rng.integers(2 ** (bits - 4), 2 ** (bits - 2)))
        weights.append([first, first + int(rng.integers(-(2 ** (bits // 2)), 2 ** (bits // 2)))])
    return {"bits": bits, "weights": weights}


def _truth(parts: list[dict[str, Any]]) -> Listed | None:
    if sum(part["bits"] * part["count"] for part in parts) > MOST_BITS:
        return None
    return composed((dyadic.outcomes(part), part["bits"], part["count"]) for part in parts)


def loss_of(parts: list[dict[str, Any]], side: str) -> Any:
    """The composition in the library's words."""
    loss = qw.compose(*(part["count"] * qw.pair(*dyadic.masses(part)) for part in parts))
    return loss if side == "worst" else loss.direction(side)


def answered(case: dict[str, Any]) -> Iterator[Check | Skip]:
    """All answers, and those of one copy in each way a loss can be written."""
    found = _truth(case["parts"])
    if found is None or not case["parts"]:
        return
    loss, laws = loss_of(case["parts"], case["side"]), dyadic.sides(found, case["side"])
    options: dict[str, Any] = {"rtol": case["rtol"]}
    if case["method"] is not None:
        options["method"] = case["method"]
    try:
        yield from dyadic.asked(f"compose, {case['method'] or 'any engine'}", loss, laws, case, options)
    except Unsupported as refusal:
        if case["method"] is None:
            raise
        yield Skip(str(refusal))


def family(name: str) -> Kind:
    """One family of the older campaign: its own random expressions and truths."""
    return Kind("compose", name.replace("_", " "), lambda rng: (name, int(rng.integers(2**62))), _examined, plain=False)


def _examined(case: tuple[str, int], rng: np.random.Generator) -> Iterator[Check | Skip]:
    name, seed = case
    for found in checks.examine(name, str(seed)):
        if isinstance(found, checks.Check):
            margin = abs(found.margin) * found.width
            yield Check(f"{name}: {found.method}", found.holds, margin, f"{found.question} {found.note}", found.width)
        elif isinstance(found, checks.Failure):
            raise RuntimeError(f"{found.question}: {found.note}")
        elif isinstance(found, checks.Late):
            raise TimeoutError(found.note)
        else:
            yield Skip(found.note)


def smallest_expression(name: str, seed: int) -> str:
    """The expression of a case, for a counterexample."""
    return str(FAMILIES[name](random.Random(f"{name}:{seed}")).code)


KINDS = [
    *(
        Kind("compose", f"finite laws, {method or 'any engine'}", functools.partial(drawn, method=method), answered)
        for method in METHODS
    ),
    Kind("compose", "finite laws that hardly differ", functools.partial(drawn, make=near), answered),
    Kind("compose", "finite laws that rarely differ", functools.partial(drawn, make=rare), answered),
    *map(family, FAMILIES),
]
