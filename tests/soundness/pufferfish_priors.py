"""Random priors of correlated records, each with a law of all records that it holds for."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

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
)

Draw = Callable[[np.random.Generator], tuple[Prior, JointLaw]]


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
