"""Random priors of correlated records, each with a law of all records that it holds for.

The laws are written out here, from their definitions: stationary laws by elimination over the rationals, nothing of the
library.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from tests.pufferfish import brute

from quiltwork.pufferfish import (
    AnyOf,
    BinaryChains,
    Blocks,
    HiddenMarkov,
    Ising,
    JointLaw,
    MarkovChain,
    Network,
    Prior,
    Tree,
)

Draw = Callable[[np.random.Generator], tuple[Prior, np.ndarray]]


def rows(rng: np.random.Generator, count: int, columns: int | None = None) -> np.ndarray:
    """Rows of probabilities, some of them extreme, some with zeros."""
    found = rng.dirichlet(np.full(columns or count, rng.choice([0.3, 1.0, 3.0])), count)
    if rng.random() < 0.2:
        found = np.where(rng.random(found.shape) < 0.25, 0.0, found)
        found[found.sum(axis=1) == 0] = 1.0
    return found / found.sum(axis=1, keepdims=True)


def still(matrix: np.ndarray, length: int) -> np.ndarray:
    """The law of a chain that starts in its stationary law."""
    return brute.chain_law(matrix, brute.stationary(matrix), length)


def chain(start: str) -> Draw:
    """Chains with one kind of start."""

    def draw(rng: np.random.Generator) -> tuple[Prior, np.ndarray]:
        states, length = ((2, 7), (3, 5), (4, 4))[rng.integers(3)]
        matrix, first = rows(rng, states), rng.dirichlet(np.ones(states)) * 0.999 + 0.001 / states
        if start == "stationary":
            return MarkovChain(matrix, length=length), still(matrix, length)
        prior = MarkovChain(matrix, "any" if start == "any" else first, length)
        return prior, brute.chain_law(matrix, first / first.sum(), length)

    return draw


def endless(rng: np.random.Generator) -> tuple[Prior, np.ndarray]:
    """A bound for every length, against one of them."""
    matrix = rows(rng, int(rng.integers(2, 4)))
    return MarkovChain(matrix), still(matrix, 5)


def cells(rng: np.random.Generator) -> tuple[Prior, np.ndarray]:
    """Neighbouring cells: most moves are impossible; a bound for this length or for every length."""
    count, length = ((3, 6), (4, 5), (5, 4))[rng.integers(3)]
    near = np.abs(np.subtract.outer(np.arange(count), np.arange(count))) <= 1
    matrix = np.where(near, rng.dirichlet(np.full(count, rng.choice([0.3, 1.0, 3.0])), count) + 0.005, 0.0)
    matrix = matrix / matrix.sum(axis=1, keepdims=True)
    return MarkovChain(matrix, length=length if rng.random() < 0.5 else None), still(matrix, length)


def box(rng: np.random.Generator) -> tuple[Prior, np.ndarray]:
    """A box of binary chains, against one of its members."""
    p, q = (tuple(np.sort(rng.uniform(0.02, 0.98, 2))) for _ in range(2))
    a, b = rng.uniform(*p), rng.uniform(*q)
    return BinaryChains(p, q), still(np.array([[a, 1 - a], [1 - b, b]]), 6)


def several(rng: np.random.Generator) -> tuple[Prior, np.ndarray]:
    """A set of chains, against one of them."""
    matrices = [rows(rng, 3) for _ in range(3)]
    return AnyOf([MarkovChain(matrix, length=4) for matrix in matrices]), still(matrices[rng.integers(3)], 4)


def hidden(rng: np.random.Generator) -> tuple[Prior, np.ndarray]:
    """Emissions, of which the values are secret."""
    states = int(rng.integers(2, 4))
    matrix, emission = rows(rng, states), rows(rng, states, 2)
    prior = HiddenMarkov(matrix, emission, length=5, secret="emission")
    law = still(matrix, 5)
    for _ in range(5):  # the first axis, a hidden state, becomes the last one, a value
        law = np.tensordot(law, emission, axes=(0, 0))
    return prior, law


def tree(rng: np.random.Generator) -> tuple[Prior, np.ndarray]:
    """Random trees."""
    states, count = ((2, 7), (3, 5))[rng.integers(2)]
    parents = [None, *(int(rng.integers(i)) for i in range(1, count))]
    matrix, first = rows(rng, states), rng.dirichlet(np.ones(states))
    cells = np.indices((states,) * count)
    law = first[cells[0]]
    for child, parent in enumerate(parents[1:], 1):
        law = law * matrix[cells[parent], cells[child]]
    return Tree(parents, matrix, first), law


def network(rng: np.random.Generator) -> tuple[Prior, np.ndarray]:
    """Random graphs of parents, some laws with zeros."""
    states, count = ((2, 7), (3, 4))[rng.integers(2)]
    most = int(rng.integers(1, 3))
    parents = [tuple(rng.choice(i, min(i, most), replace=False).tolist()) for i in range(count)]
    tables = [rows(rng, states ** len(above), states).reshape((states,) * (len(above) + 1)) for above in parents]
    cells = np.indices((states,) * count)
    law = np.ones((states,) * count)
    for entry, (above, table) in enumerate(zip(parents, tables, strict=True)):
        law = law * table[tuple(cells[one] for one in (*above, entry))]
    return Network.bayesian(parents, tables), law


def ising(rng: np.random.Generator) -> tuple[Prior, np.ndarray]:
    """Couplings of both signs."""
    count = int(rng.integers(3, 8))
    pairs = {(i, j): float(rng.normal(0, 0.7)) for i in range(count) for j in range(i) if rng.random() < 0.5}
    prior = Ising({(j, i): value for (i, j), value in pairs.items()}, rng.normal(0, 0.4, count))
    spins = 2 * np.indices((2,) * count) - 1
    energy = sum(value * spins[i] * spins[j] for (i, j), value in pairs.items())
    weights = np.exp(energy + np.tensordot(prior.fields, spins, 1))
    return prior, weights / weights.sum()


def blocks(rng: np.random.Generator) -> tuple[Prior, np.ndarray]:
    """Households."""
    size, alpha, beta = int(rng.integers(1, 7)), *rng.uniform(0.2, 5.0, 2)
    ones = np.indices((2,) * size).sum(axis=0)
    weights = np.vectorize(lambda n: math.exp(math.lgamma(alpha + n) + math.lgamma(beta + size - n)))(ones)
    return Blocks(size, alpha, beta), weights / weights.sum()


def listed(rng: np.random.Generator) -> tuple[Prior, np.ndarray]:
    """Any law."""
    shape = ((2,) * 5, (3,) * 3, (2, 3, 2), (4, 4))[rng.integers(4)]
    law = rng.dirichlet(np.full(math.prod(shape), rng.choice([0.1, 1.0]))).reshape(shape)
    return JointLaw(law), law


KINDS: dict[str, Draw] = {
    "chain, stationary": chain("stationary"),
    "chain, given start": chain("given"),
    "chain, any start": chain("any"),
    "chain, any length": endless,
    "chain of neighbouring cells": cells,
    "box of chains": box,
    "set of chains": several,
    "hidden chain": hidden,
    "tree": tree,
    "network": network,
    "Ising": ising,
    "blocks": blocks,
    "listed law": listed,
}
