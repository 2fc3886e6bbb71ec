"""Naive answers for short chains: every dataset is listed, every subset tried, every worst mechanism searched for.

A law of the data is an array with one axis an entry.  Lower bounds on the truth are lower bounds whatever the solver
says: a likelihood is made exactly Lipschitz before it is used, and only finite sums of probabilities are compared.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import combinations
from typing import Any

import mpmath
import numpy as np
from scipy.optimize import linprog
from scipy.sparse import coo_matrix, vstack
from scipy.special import ndtr

# ---- laws


def exact_rows(matrix: Any) -> list[list[Fraction]]:
    """The rows as exact fractions that sum to one."""
    rows = [[Fraction(float(x)) for x in row] for row in np.asarray(matrix)]
    return [[x / sum(row) for x in row] for row in rows]


def exact_stationary(matrix: Any) -> list[Fraction]:
    """pi P = pi, sum 1, by elimination over the rationals; for one closed class."""
    rows = exact_rows(matrix)
    k = len(rows)
    table = [[rows[j][i] - (i == j) for j in range(k)] + [Fraction(0)] for i in range(k)]
    table[-1] = [Fraction(1)] * (k + 1)
    for column in range(k):
        pivot = next(i for i in range(column, k) if table[i][column])
        table[column], table[pivot] = table[pivot], table[column]
        table[column] = [x / table[column][column] for x in table[column]]
        for i in range(k):
            if i != column and table[i][column]:
                factor = table[i][column]
                table[i] = [x - factor * y for x, y in zip(table[i], table[column], strict=True)]
    return [row[-1] for row in table]


def stationary(matrix: Any) -> np.ndarray:
    """The same, as floats."""
    return np.array([float(x) for x in exact_stationary(matrix)])


def chain_law(matrix: Any, initial: Any, length: int) -> np.ndarray:
    """The explicit law of all entries."""
    table = np.asarray(initial, dtype=float)
    for _ in range(length - 1):
        table = table[..., None] * np.asarray(matrix, dtype=float)
    return table


def reversed_rows(matrix: Any, law: Any) -> np.ndarray:
    """P(before | now) of a stationary chain."""
    return np.asarray(matrix).T * np.asarray(law)[None, :] / np.asarray(law)[:, None]


def given(law: np.ndarray, entry: int, value: int) -> np.ndarray:
    """The law of the data given one entry's value, with the entry's axis kept (zero elsewhere)."""
    kept = np.zeros_like(law)
    index = tuple(value if axis == entry else slice(None) for axis in range(law.ndim))
    kept[index] = law[index]
    return kept / kept.sum()


def secrets(law: np.ndarray) -> Iterator[tuple[int, int, int]]:
    """Every entry and ordered pair of values that occur there."""
    for entry in range(law.ndim):
        margin = law.sum(axis=tuple(a for a in range(law.ndim) if a != entry))
        seen = np.nonzero(margin > 0)[0]
        for u in seen:
            for v in seen:
                if u != v:
                    yield entry, int(u), int(v)


# ---- influence


def influence(law: np.ndarray, entry: int, u: int, v: int, size: int) -> float:
    """a(b) by all sets H of at most `size` entries around the secret one."""
    first, second = given(law, entry, u), given(law, entry, v)
    others = [axis for axis in range(law.ndim) if axis != entry]
    best = np.inf
    for count in range(min(size, law.ndim)):
        for hidden in combinations(others, count):
            one, two = first.sum(axis=(entry, *hidden)), second.sum(axis=(entry, *hidden))
            kept = one > 0
            with np.errstate(divide="ignore"):
                best = min(best, float(np.max(np.log(one[kept]) - np.log(two[kept]))))
    return max(best, 0.0)


def any_start_influence(matrix: Any, length: int, entry: int, u: int, v: int, size: int) -> float:
    """A lower bound on sup over initial laws: the worst of many laws, deterministic and mixed."""
    k = len(matrix)
    starts = [(1 - 1e-9) * np.eye(k)[i] + 1e-9 / k for i in range(k)] + [np.full(k, 1.0 / k)]
    found = [influence(chain_law(matrix, start, length), entry, u, v, size) for start in starts]
    return max(found)


# ---- worst mechanisms


def lipschitz(heights: np.ndarray, epsilon: float) -> np.ndarray:
    """The largest function below that moves by at most epsilon when one entry changes (McShane), along each axis."""
    for axis in range(heights.ndim):
        heights = np.minimum(heights, heights.min(axis=axis, keepdims=True) + epsilon)
    return heights


def log_leak(first: np.ndarray, second: np.ndarray, heights: np.ndarray) -> float:
    """log E[V | s] / E[V | s'] for V = e^heights."""
    weights = np.exp(heights - heights.max())
    return float(np.log((first * weights).sum()) - np.log((second * weights).sum()))


def neighbours(shape: tuple[int, ...]) -> tuple[np.ndarray, np.ndarray]:
    """Flat places of every ordered pair of datasets that differ in one entry."""
    index = np.arange(int(np.prod(shape))).reshape(shape)
    tops, bottoms = [], []
    for axis in range(len(shape)):
        for shift in range(1, shape[axis]):
            tops.append(index.ravel())
            bottoms.append(np.roll(index, shift, axis=axis).ravel())
    return np.concatenate(tops), np.concatenate(bottoms)


def rules(shape: tuple[int, ...], factor: float, sign: float = 1.0) -> Any:
    """sign (V(D) - factor V(D')) for every ordered pair of neighbours, as a sparse matrix."""
    top, bottom = neighbours(shape)
    row = np.arange(top.size)
    data = sign * np.concatenate((np.ones(top.size), np.full(top.size, -factor)))
    places = np.concatenate((row, row)), np.concatenate((top, bottom))
    return coo_matrix((data, places), (top.size, int(np.prod(shape)))).tocsr()


def worst_leak(first: np.ndarray, second: np.ndarray, epsilon: float) -> float:
    """What the worst mechanism found by a linear program really leaks: a lower bound on the worst case.

    max first . V with second . V = 1 and V(D) <= e^epsilon V(D') for neighbours (theory/pufferfish.md 3.3); the
    solution is then made exactly feasible and evaluated anew.
    """
    shape = first.shape
    table = rules(shape, float(np.exp(epsilon)))
    solved = linprog(
        -first.ravel(), A_ub=table, b_ub=np.zeros(table.shape[0]), A_eq=second.reshape(1, -1), b_eq=[1.0],
        bounds=(0, None), method="highs",
    )  # fmt: skip
    if solved.x is None:
        return 0.0
    with np.errstate(divide="ignore"):
        heights = np.log(np.maximum(solved.x.reshape(shape), solved.x.max() * 1e-300))
    return max(log_leak(first, second, lipschitz(heights, epsilon)), 0.0)


def worst_event(
    first: np.ndarray, second: np.ndarray, points: Sequence[tuple[float, float]], epsilon: float
) -> tuple[float, float]:
    """max P(E | s) - e^epsilon P(E | s') over events E of mechanisms with all these (epsilon, delta) for each entry.

    E and its complement both obey every rule.  Returns the value and by how much the solution breaks a rule.
    """
    tables, limits = [], []
    for per_entry, delta in points:
        factor = float(np.exp(per_entry))
        for sign, limit in ((1.0, delta), (-1.0, factor - 1.0 + delta)):
            tables.append(rules(first.shape, factor, sign))
            limits.append(np.full(tables[-1].shape[0], limit))
    table, limit = vstack(tables), np.concatenate(limits)
    gain = (first - np.exp(epsilon) * second).ravel()
    event = np.clip(linprog(-gain, A_ub=table, b_ub=limit, bounds=(0, 1), method="highs").x, 0.0, 1.0)
    return float(gain @ event), max(float((table @ event - limit).max()), 0.0)


def integer_heights(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    """A random integer function that moves by at most 1 when one entry changes."""
    top = len(shape) + 1
    if rng.random() < 0.5:
        scores = rng.integers(0, top, shape)
    else:
        scores = np.where(rng.random(shape) < 0.1, 0, top)
    return np.asarray(lipschitz(scores, 1))


def favoured_heights(rng: np.random.Generator, first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """A sum of single entries, each counted where it favours the first secret (or at random)."""
    found = np.zeros(first.shape)
    for axis in range(first.ndim):
        rest = tuple(a for a in range(first.ndim) if a != axis)
        mask = first.sum(axis=rest) > second.sum(axis=rest)
        if rng.random() < 0.1:
            mask = rng.random(mask.size) < 0.5
        found = found + mask.reshape([-1 if a == axis else 1 for a in range(first.ndim)])
    return found


# ---- hockey sticks


def stick(one: np.ndarray, two: np.ndarray, epsilon: float) -> float:
    """sum (P - e^epsilon Q)_+ of two finite laws."""
    return float(np.maximum(one - np.exp(epsilon) * two, 0.0).sum())


def count_law(matrix: Any, law: Any, entry: int, value: int, masks: np.ndarray) -> np.ndarray:
    """The law of the number of entries t with x_t in masks[t], given x_entry = value, for a stationary chain."""
    length, k = masks.shape
    found = np.array([0.0, 1.0]) if masks[entry, value] else np.array([1.0, 0.0])
    for kernel, order in (
        (reversed_rows(matrix, law), range(entry - 1, -1, -1)),
        (np.asarray(matrix), range(entry + 1, length)),
    ):
        now = np.zeros((k, len(order) + 1))
        now[value, 0] = 1.0
        for t in order:
            moved = kernel.T @ now
            now = np.where(masks[t][:, None], np.roll(moved, 1, axis=1), moved)
        found = np.convolve(found, now.sum(axis=0))
    return found


def noisy_stick(one: np.ndarray, two: np.ndarray, mu: float, epsilon: float, cells: int = 400) -> float:
    """The hockey stick of count + N(0, 1 / mu^2), merged into cells: a lower bound on the true one."""
    edges = np.concatenate(([-np.inf], np.linspace(-9.0, (one.size - 1) * mu + 9.0, cells), [np.inf]))
    counts = mu * np.arange(one.size)
    below = ndtr(edges[:, None] - counts[None, :])
    above = ndtr(counts[None, :] - edges[:, None])
    mass = np.where(edges[:-1, None] > counts, above[:-1] - above[1:], below[1:] - below[:-1])
    return stick(mass @ one, mass @ two, epsilon)


def local_channel(rows: np.ndarray, length: int) -> np.ndarray:
    """Each entry answers by itself, with the probabilities rows[value]: (datasets, answers)."""
    found = np.ones((1, 1))
    for _ in range(length):
        found = np.kron(found, rows)
    return found


# ---- exact logs


def exact_log_ratio(numerator: Fraction, denominator: Fraction) -> mpmath.mpf:
    """log of a ratio of fractions to 40 digits."""
    with mpmath.workdps(40):
        ratio = mpmath.mpf(numerator.numerator) / numerator.denominator
        return mpmath.log(ratio / (mpmath.mpf(denominator.numerator) / denominator.denominator))
