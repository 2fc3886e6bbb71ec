"""Proofs of losses inside losses: samples of everybody, turned worlds, mixtures of mixtures, masses that reveal; asked
for deltas, below epsilon 0 as well, and for type II errors.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import attrs
import numpy as np

import quiltwork as qw
from benchmarks.soundness.claims import Check, Kind, Skip
from quiltwork.errors import QuiltworkError
from quiltwork.proof.claims import claim
from quiltwork.proof.prove import prove_claim

DIGITS = 6  # of type II errors: chords leave them a little wide
MOVED = 1e-6  # relative, past the end of the bracket
PLAIN = (
    "gaussian", "gdp", "laplace", "discrete_gaussian", "discrete_laplace", "pure", "approximate", "constraints", "pair",
    "randomized_response", "exponential",
)  # fmt: skip
SLOW = ("exponential", "discrete_gaussian")  # beside others, to prove
AROUND = ("mixture", "turned", "poisson")
DEEPEST = 2


def drawn(rng: np.random.Generator) -> dict[str, Any]:
    """One to three releases, a direction and a question."""
    counts = (1, 1, 1, 2, 3, 10)
    parts = [{**_node(rng, 0), "count": _one(rng, counts)} for _ in range(_one(rng, (1, 1, 2, 3)))]
    quantity = _one(rng, ("epsilon", "epsilon", "delta", "delta", "delta", "beta"))
    at = {
        "epsilon": _one(rng, (0.0, _number(rng, -12, -0.3))),
        "delta": _one(rng, (0.0, _number(rng, -1, 1), -_number(rng, -1, 0.3))),
        "beta": _number(rng, -3, -0.1),
    }
    if quantity == "beta" or any(slow in str(parts) for slow in SLOW):
        parts = parts[:1]
    return {"parts": parts, "side": _one(rng, ("worst", "remove", "add")), "quantity": quantity, "at": at[quantity]}


def _one(rng: np.random.Generator, values: Any) -> Any:
    return values[int(rng.integers(len(values)))]


def _number(rng: np.random.Generator, low: float, high: float) -> float:
    return float(f"{10.0 ** rng.uniform(low, high):.3g}")


def _node(rng: np.random.Generator, depth: int) -> dict[str, Any]:
    kind = _one(rng, PLAIN + (AROUND * 2 if depth < DEEPEST else ()))
    if kind == "mixture":
        weight = _one(rng, (0.5, 0.25, 0.125))
        return {"kind": kind, "components": [[weight, _node(rng, depth + 1)], [1 - weight, _node(rng, depth + 1)]]}
    if kind == "turned":
        return {"kind": kind, "base": _node(rng, depth + 1)}
    if kind == "poisson":
        return {"kind": kind, "rate": _one(rng, (1, 0.5, _number(rng, -2.5, -0.05))), "base": _node(rng, depth + 1)}
    return {"kind": kind, **_numbers(kind, rng)}


def _numbers(kind: str, rng: np.random.Generator) -> dict[str, Any]:
    small, scale = _one(rng, (0.0, _number(rng, -2, 0.5))), _number(rng, -0.3, 1.2)
    if kind in ("gaussian", "laplace"):
        return {"sigma" if kind == "gaussian" else "scale": scale, "sensitivity": _one(rng, (1, 1, 0.5, 3))}
    if kind in ("discrete_gaussian", "discrete_laplace"):
        return {"sigma" if kind == "discrete_gaussian" else "scale": scale, "sensitivity": _one(rng, (1, 1, 2, 5))}
    if kind == "gdp":
        return {"mu": _number(rng, -1.5, 0.5)}
    if kind == "approximate":
        return {"epsilon": small, "delta": _one(rng, (0.0, 0.25, _number(rng, -9, -1)))}
    if kind == "randomized_response":
        return {"epsilon": _number(rng, -2, 0.5), "values": _one(rng, (2, 3, 10))}
    if kind == "constraints":
        return {"points": [[_number(rng, -2, 0.4), _number(rng, -6, -0.5)] for _ in range(_one(rng, (1, 2, 3)))]}
    if kind == "pair":
        count = _one(rng, (2, 3, 4))
        return {"p": _law(rng, count), "q": _law(rng, count)}
    return {"epsilon": _number(rng, -2, 0.5) if kind == "exponential" else small}


def _law(rng: np.random.Generator, count: int) -> list[float]:
    """In parts of 64, some of them 0."""
    found = rng.multinomial(64, rng.dirichlet(np.ones(count) / 2))
    return [int(x) / 64 for x in found]


def built(case: dict[str, Any]) -> Any:
    """The loss of a case."""
    return qw.Loss.from_json({"schema": "quiltwork/loss/1", "side": case["side"], "releases": case["parts"]})


def compared(case: dict[str, Any]) -> Iterator[Check | Skip]:
    """Its own bracket is never refuted; an end that is moved past the truth is never shown to hold."""
    try:
        loss = built(case)
    except QuiltworkError as problem:
        yield Skip(f"not built: {type(problem).__name__}")
        return
    answer = getattr(loss, case["quantity"])(case["at"])
    lower, upper = float(answer.lower), float(answer.upper)
    told = claim(loss.to_json(), case["quantity"], case["at"], answer)
    proof = prove_claim(told, DIGITS if case["quantity"] == "beta" else None)
    if proof.verdict == "undecided":
        yield Skip("undecided: its own bracket")
    else:
        yield Check("its own bracket", proof.verdict == "proved", note="; ".join(proof.because))
    most = 1.0 if case["quantity"] != "epsilon" else 2 * upper + 1
    move = MOVED * max(upper, 1e-9)
    if np.isfinite(upper) and upper + move <= most:
        false = attrs.evolve(told, lower=repr(upper + move), upper=repr(most))
        yield Check("no proof of a lower end moved up", prove_claim(false).lower is not True)
    if np.isfinite(lower) and lower > 0:
        false = attrs.evolve(told, lower="0", upper=repr(lower * (1 - MOVED)))
        yield Check("no proof of an upper end moved down", prove_claim(false).upper is not True)


KINDS = [Kind("compose", "proofs of losses inside losses", drawn, compared)]
