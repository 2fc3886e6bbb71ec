"""Answers judged by ball arithmetic: own brackets are never refuted, brackets moved past the truth never proved."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import attrs
import numpy as np

import quiltwork as qw
from benchmarks.soundness.claims import Check, Kind, Skip
from quiltwork.confounding import World
from quiltwork.proof.claims import claim
from quiltwork.proof.prove import prove_claim
from quiltwork.pufferfish import MarkovChain, guarantee

MOVED = 1e-6  # relative, past the end of the bracket


def drawn(rng: np.random.Generator) -> dict[str, Any]:
    """One or two kinds of release, often repeated, and a delta from usual to tiny."""
    parts = [_release(rng) for _ in range(int(rng.integers(1, 3)))]
    return {
        "parts": parts,
        "side": str(rng.choice(["worst", "remove", "add"])),
        "delta": float(f"{10.0 ** -rng.uniform(0.5, 30 if rng.random() < 0.5 else 9):.3g}"),
    }


def _number(rng: np.random.Generator, low: float, high: float) -> float:
    return float(f"{10.0 ** rng.uniform(low, high):.3g}")


KINDS_DRAWN = (
    "gaussian", "laplace", "discrete_gaussian", "discrete_laplace", "pure", "approximate", "constraints",
    "randomized_response", "poisson", "mixture", "pair", "exponential", "zcdp", "rdp", "gaussian_mixture",
    "sampled_group", "exchanged", "fixed_size", "truncated_poisson", "random_allocation",
)  # fmt: skip


def _release(rng: np.random.Generator) -> dict[str, Any]:
    kind = str(rng.choice(KINDS_DRAWN))
    many = 2 if kind not in ("random_allocation", "exponential") else 1  # up to a hundred, or to ten
    count = int(10 ** rng.uniform(0, many)) if rng.random() < 0.7 else 1
    found = _sampled(kind, rng) if kind in SAMPLES else {"kind": kind, **_numbers(kind, rng)}
    return {**found, "count": count}


SAMPLES = ("sampled_group", "exchanged", "fixed_size", "truncated_poisson", "random_allocation", "gaussian_mixture")


def _sampled(kind: str, rng: np.random.Generator) -> dict[str, Any]:
    """Samples of noise; few different epochs of random allocation, each of which takes seconds to prove."""
    sigma = max(_number(rng, -0.1, 0.8), 0.8)
    gaussian = {"kind": "gaussian", "sigma": sigma}
    laplace = {"kind": "laplace", "scale": max(_number(rng, 0, 1), 1.0)}
    base = gaussian if rng.random() < 0.6 else laplace
    rate = _number(rng, -2.5, -0.5)
    if kind == "random_allocation":
        sigma, steps = ((1.0, 100), (2.0, 100), (1.0, 300))[int(rng.integers(0, 3))]
        return {"kind": kind, "base": {"kind": "gaussian", "sigma": sigma}, "steps": steps}
    if kind == "gaussian_mixture":
        return {"kind": kind, "sensitivities": [0, 1, 2], "weights": [0.9, 0.08, 0.02], "sigma": sigma}
    if kind == "fixed_size":
        return {"kind": kind, "base": base, "batch": int(rng.integers(1, 50)), "of": 1000}
    if kind == "truncated_poisson":
        most = int(1000 * rate + 8 * (1000 * rate) ** 0.5) + 1
        return {"kind": kind, "base": gaussian, "rate": rate, "most": min(most, 1000), "of": 1000}
    size = int(rng.integers(1, 4))
    return {"kind": "sampled_group", "base": base, "rate": rate, "size": size, "exchanged": kind == "exchanged"}


def _numbers(kind: str, rng: np.random.Generator) -> dict[str, Any]:
    if kind in ("gaussian", "discrete_gaussian"):
        return {"sigma": max(_number(rng, -0.3, 1.5), 0.3)}
    if kind in ("laplace", "discrete_laplace"):
        return {"scale": _number(rng, -0.3, 1.5)}
    if kind == "zcdp":
        return {"rho": _number(rng, -3, 0)}
    if kind == "rdp":
        rho = _number(rng, -3, 0)
        return {"orders": [2, 4, 8, 16, 32, 64], "epsilons": [float(f"{rho * a:.4g}") for a in (2, 4, 8, 16, 32, 64)]}
    if kind == "constraints":
        low, high = sorted((_number(rng, -2, 0), _number(rng, -2, 0)))
        return {"points": [[high, _number(rng, -9, -5)], [low, _number(rng, -4, -1)]]}
    if kind in ("pure", "approximate", "randomized_response", "exponential"):
        more = {
            "approximate": {"delta": _number(rng, -40, -31)},
            "randomized_response": {"values": int(rng.integers(2, 6))},
        }
        return {"epsilon": _number(rng, -2, 0.3), **more.get(kind, {})}
    if kind == "pair":
        p, q = rng.dirichlet(np.ones(3)), rng.dirichlet(np.ones(3))
        return {"p": _thousandths(p), "q": _thousandths(q)}
    inner = str(rng.choice(["gaussian", "laplace", "pure"]))
    base = {"kind": inner, **_numbers(inner, rng)}
    if kind == "poisson":
        return {"rate": _number(rng, -3, -0.1), "base": base}
    return {"components": [[0.25, base], [0.75, {"kind": "pure", **_numbers("pure", rng)}]]}


def _thousandths(law: Any) -> list[float]:
    found = [int(1000 * x) for x in law]
    found[0] += 1000 - sum(found)
    return [x / 1000 for x in found]


def built(case: dict[str, Any]) -> Any:
    """The loss of a case."""
    return qw.Loss.from_json({"schema": "quiltwork/loss/1", "side": case["side"], "releases": case["parts"]})


def compared(case: dict[str, Any]) -> Iterator[Check | Skip]:
    """Epsilon of a composition."""
    loss = built(case)
    yield from held(loss, loss.to_json(), case["delta"])


def held(curve: Any, about: dict[str, Any], delta: float) -> Iterator[Check | Skip]:
    """The bracket as it is, rounded outward, and moved past the truth on both sides."""
    answer = curve.epsilon(delta)
    lower, upper = float(answer.lower), float(answer.upper)
    if not np.isfinite(upper):
        yield Skip("no finite epsilon")
        return
    told = claim(about, "epsilon", delta, answer)
    for words, digits in (("its own bracket to four digits", 4), ("its own bracket", None)):
        proof = prove_claim(told, digits)
        if proof.verdict == "undecided":
            yield Skip(f"undecided: {words}")
            if digits:
                return  # nor is what is narrower
        else:
            yield Check(words, proof.verdict == "proved", note="; ".join(proof.because), width=_width(lower, upper))
    if lower > 0:
        move = MOVED * upper
        for words, ends in (("moved up", (upper + move, upper + 2 * move)), ("moved down", (0.0, lower - move))):
            if ends[1] >= 0:
                false = attrs.evolve(told, lower=repr(ends[0]), upper=repr(ends[1]))
                yield Check(f"no proof of a bracket {words}", not prove_claim(false))


def _width(lower: float, upper: float) -> float:
    return (upper - lower) / upper if upper else 0.0


# ---- rooms on top


def drawn_world(rng: np.random.Generator) -> dict[str, Any]:
    """A few secrets and values of the data, and two channels."""
    secrets, values = int(rng.integers(2, 4)), int(rng.integers(2, 5))
    return {
        "data": [_thousandths(rng.dirichlet(np.ones(values))) for _ in range(secrets)],
        "channels": [
            [_thousandths(rng.dirichlet(np.ones(outputs))) for _ in range(values)]
            for outputs in rng.integers(2, 5, size=2)
        ],
        "delta": float(rng.choice([0.0, 0.001, 0.01, 0.1])),
    }


def world_of(case: dict[str, Any]) -> Any:
    """Everything that is seen of a world."""
    secrets = len(case["data"])
    return World(secret=[f"1/{secrets}"] * secrets, data=case["data"]).release(*case["channels"])


def compared_world(case: dict[str, Any]) -> Iterator[Check | Skip]:
    """Its epsilon."""
    release = world_of(case)
    yield from held(release, release.to_prove(), case["delta"])


def drawn_chain(rng: np.random.Generator) -> dict[str, Any]:
    """A chain of two or three states, and pure releases or noise."""
    states = int(rng.integers(2, 4))
    pure, endless = rng.random() < 0.6, states == 2 and rng.random() < 0.5
    noise = {"kind": "pure", **_numbers("pure", rng)} if pure else {"kind": "gaussian", "sigma": _number(rng, 0, 1.5)}
    return {
        "transition": [_thousandths(0.9 * rng.dirichlet(np.ones(states)) + 0.1 / states) for _ in range(states)],
        "length": None if endless else int(rng.integers(1, 12)),
        "parts": [noise],
        "delta": 0.0 if pure else float(rng.choice([1e-3, 1e-6])),
        "side": "worst",
    }


def chain_of(case: dict[str, Any]) -> Any:
    """What is told about single entries of a chain."""
    return guarantee(built(case), MarkovChain(case["transition"], length=case["length"])).curve


def compared_chain(case: dict[str, Any]) -> Iterator[Check | Skip]:
    """Its epsilon."""
    leaks = chain_of(case)
    yield from held(leaks, leaks.to_prove(), case["delta"])


KINDS = [
    Kind("compose", "proofs by ball arithmetic", drawn, compared),
    Kind("confounding", "proofs of worlds", drawn_world, compared_world),
    Kind("pufferfish", "proofs of secrets of chains", drawn_chain, compared_chain),
]
