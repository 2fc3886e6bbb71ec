"""The soundness campaign of correlated records: random priors, random mechanisms, the truth by listing all data.

    python benchmarks/soundness_pufferfish.py --minutes 5 --seed 7

Every event of a mechanism that is private for each entry must stay below the bound, for pure and for (epsilon, delta)
mechanisms. Exit code 0, or 1 with the smallest counterexample in build/soundness_pufferfish.json.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import math
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np
from tests.pufferfish.random_mechanisms import random_likelihood

import quiltwork as qw
from benchmarks.report import plain
from quiltwork.pufferfish import (
    AnyOf,
    BinaryChains,
    Blocks,
    HiddenMarkov,
    Ising,
    JointLaw,
    MarkovChain,
    Prior,
    Tree,
    guarantee,
    translate,
)

ROOT = Path(__file__).resolve().parents[1]
Draw = Callable[[np.random.Generator], tuple[Prior, JointLaw]]
EVENTS = 40  # for each prior and epsilon
SLACK = 1e-11  # of the truth, which is computed in floating point


def rows(rng: np.random.Generator, count: int, columns: int | None = None) -> np.ndarray:
    """Rows of probabilities, some of them extreme, some with zeros."""
    found = rng.dirichlet(np.full(columns or count, rng.choice([0.3, 1.0, 3.0])), count)
    if rng.random() < 0.2:
        found = np.where(rng.random(found.shape) < 0.25, 0.0, found)
        found[found.sum(axis=1) == 0] = 1.0
    return found / found.sum(axis=1, keepdims=True)


def chain(start: str) -> Draw:
    """Chains with one kind of start."""

    def draw(rng: np.random.Generator) -> tuple[Prior, JointLaw]:
        states, length = ((2, 7), (3, 5), (4, 4))[rng.integers(3)]
        matrix, first = rows(rng, states), rng.dirichlet(np.ones(states)) * 0.999 + 0.001 / states
        if start == "stationary":
            prior = MarkovChain(matrix, length=length)
            return prior, prior.joint()
        given = MarkovChain(matrix, first, length)
        return (MarkovChain(matrix, "any", length) if start == "any" else given), given.joint()

    return draw


def endless(rng: np.random.Generator) -> tuple[Prior, JointLaw]:
    """A bound for every length, against one of them."""
    matrix = rows(rng, int(rng.integers(2, 4)))
    return MarkovChain(matrix), MarkovChain(matrix).joint(5)


def box(rng: np.random.Generator) -> tuple[Prior, JointLaw]:
    """A box of binary chains, against one of its members."""
    p, q = (tuple(np.sort(rng.uniform(0.02, 0.98, 2))) for _ in range(2))
    a, b = rng.uniform(*p), rng.uniform(*q)
    return BinaryChains(p, q), MarkovChain([[a, 1 - a], [1 - b, b]]).joint(6)


def several(rng: np.random.Generator) -> tuple[Prior, JointLaw]:
    """A set of chains, against one of them."""
    chains = [MarkovChain(rows(rng, 3), length=4) for _ in range(3)]
    return AnyOf(chains), chains[rng.integers(3)].joint()


def hidden(rng: np.random.Generator) -> tuple[Prior, JointLaw]:
    """Emissions, of which the values are secret."""
    states = int(rng.integers(2, 4))
    prior = HiddenMarkov(rows(rng, states), rows(rng, states, 2), length=5, secret="emission")
    return prior, prior.joint()


def tree(rng: np.random.Generator) -> tuple[Prior, JointLaw]:
    """Random trees."""
    states, count = ((2, 7), (3, 5))[rng.integers(2)]
    parents = [None, *(int(rng.integers(i)) for i in range(1, count))]
    prior = Tree(parents, rows(rng, states), rng.dirichlet(np.ones(states)))
    return prior, prior.joint()


def ising(rng: np.random.Generator) -> tuple[Prior, JointLaw]:
    """Couplings of both signs."""
    count = int(rng.integers(3, 8))
    pairs = {(i, j): float(rng.normal(0, 0.7)) for i in range(count) for j in range(i) if rng.random() < 0.5}
    prior = Ising({(j, i): value for (i, j), value in pairs.items()}, rng.normal(0, 0.4, count))
    spins = 2 * np.indices((2,) * count) - 1
    energy = sum(value * spins[i] * spins[j] for (i, j), value in pairs.items())
    weights = np.exp(energy + np.tensordot(prior.fields, spins, 1))
    return prior, JointLaw(weights / weights.sum())


def blocks(rng: np.random.Generator) -> tuple[Prior, JointLaw]:
    """Households."""
    size, alpha, beta = int(rng.integers(1, 7)), *rng.uniform(0.2, 5.0, 2)
    ones = np.indices((2,) * size).sum(axis=0)
    weights = np.vectorize(lambda n: math.exp(math.lgamma(alpha + n) + math.lgamma(beta + size - n)))(ones)
    return Blocks(size, alpha, beta), JointLaw(weights / weights.sum())


def listed(rng: np.random.Generator) -> tuple[Prior, JointLaw]:
    """Any law."""
    shape = ((2,) * 5, (3,) * 3, (2, 3, 2), (4, 4))[rng.integers(4)]
    law = rng.dirichlet(np.full(math.prod(shape), rng.choice([0.1, 1.0]))).reshape(shape)
    return JointLaw(law), JointLaw(law)


KINDS: dict[str, Draw] = {
    "chain, stationary": chain("stationary"),
    "chain, given start": chain("given"),
    "chain, any start": chain("any"),
    "chain, any length": endless,
    "box of chains": box,
    "set of chains": several,
    "hidden chain": hidden,
    "tree": tree,
    "Ising": ising,
    "blocks": blocks,
    "listed law": listed,
}


@dataclasses.dataclass
class Tally:
    """What was checked for one kind of prior."""

    pure: int = 0
    events: int = 0
    skipped: int = 0
    margin: float = math.inf
    share: float = 0.0  # the largest part of a bound that was reached


def examine(draw: Draw, rng: np.random.Generator, tally: Tally) -> dict[str, Any] | None:
    """One prior, one epsilon, many events; the first violation, if there is one."""
    try:
        prior, law = draw(rng)
    except qw.QuiltworkError:
        tally.skipped += 1  # no single stationary law
        return None
    entry = float(np.exp(rng.uniform(-4.0, 1.0)))
    pairs = list(law.conditionals())
    firsts, seconds = (np.array([np.ravel(pair[side]) for pair in pairs], dtype=float) for side in (0, 1))
    bound = float(translate(prior, entry).upper)
    values = np.array([np.ravel(random_likelihood(rng, law.law.shape, entry)) for _ in range(EVENTS)])
    leaks = np.log(firsts @ values.T) - np.log(seconds @ values.T)
    tally.pure += leaks.size
    tally.margin = min(tally.margin, bound - float(leaks.max()))
    tally.share = max(tally.share, float(leaks.max()) / bound)
    if float(leaks.max()) > bound + SLACK * (1.0 + bound):
        return {"prior": repr(prior), "entry": entry, "bound": bound, "leak": float(leaks.max())}
    return _approximate(prior, entry, values, firsts, seconds, rng, tally)


def _approximate(
    prior: Prior,
    entry: float,
    values: np.ndarray,
    firsts: np.ndarray,
    seconds: np.ndarray,
    rng: np.random.Generator,
    tally: Tally,
) -> dict[str, Any] | None:
    """max(V - delta / (e^e - 1), 0) is an event of a mechanism that is (e, delta)-private for each entry.

    It is kept below 1 - e^-e, so that its complement is one as well.
    """
    delta = float(10.0 ** rng.uniform(-6, -1))
    asked = np.array([0.3, 1.0, 2.5]) * entry
    promise = guarantee(qw.approximate(entry, delta), prior)
    most = -math.expm1(-entry) + delta / math.expm1(entry)
    found = np.maximum(most * values / values.max() - delta / math.expm1(entry), 0.0)
    for epsilon, bound in zip(asked, np.asarray(promise.delta(asked).upper), strict=True):
        spent = firsts @ found.T - math.exp(epsilon) * (seconds @ found.T)
        tally.events += spent.size
        if float(spent.max()) > bound + SLACK:
            truth = {"epsilon": float(epsilon), "delta": delta, "spent": float(spent.max())}
            return {"prior": repr(prior), "entry": entry, "bound": float(bound), **truth}
    return None


def main() -> int:
    """Take turns until the time is over."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=5.0)
    parser.add_argument("--seed", type=int, default=7)
    options = parser.parse_args()
    rng, end = np.random.default_rng(options.seed), time.monotonic() + 60.0 * options.minutes
    tallies = {kind: Tally() for kind in KINDS}
    failure = None
    while time.monotonic() < end and failure is None:
        for kind, draw in KINDS.items():
            found = examine(draw, rng, tallies[kind])
            failure = failure or (None if found is None else {"kind": kind, **found})
    head = ["prior", "pure events", "(eps, delta) events", "skipped", "least margin", "most of a bound reached"]
    table = [
        [kind, f"{t.pure:,}", f"{t.events:,}", str(t.skipped), f"{t.margin:.1e}", f"{t.share:.6f}"]
        for kind, t in tallies.items()
    ]
    print(plain([head, *table], right={1, 2, 3, 4, 5}))
    print(f"\n{sum(t.pure + t.events for t in tallies.values()):,} checks, seed {options.seed}")
    if failure is not None:
        path = ROOT / "build" / "soundness_pufferfish.json"
        path.parent.mkdir(exist_ok=True)
        path.write_text(json.dumps(failure, indent=1) + "\n", encoding="utf-8")
        print(f"counterexample, also in {path.relative_to(ROOT)}:\n{json.dumps(failure, indent=1)}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
