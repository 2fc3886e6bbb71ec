"""Small classes of tables, every one of them listed, and the exact losses of mechanisms on them."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from quiltwork.checks import FloatArray
from quiltwork.tables.notions.spaces import Space, add_remove, free_lunch, multisets, replace_one
from quiltwork.tables.papers.small_channels import joint, max_divergence, truncated_geometric

VALUES, MOST = "abc", 3
TABLES = multisets(VALUES, MOST)  # 20 tables
UNBOUNDED, BOUNDED, LUNCH = (Space(TABLES, relation) for relation in (add_remove, replace_one, free_lunch))
EXACT = 1e-12  # sums and logarithms of a few doubles, rounded to nearest
Table = tuple[Any, ...]


def split(table: Table, values: Iterable[Any]) -> list[Table]:
    """The parts of a table, by the values of its records; records with other values are in no part."""
    return [tuple(x for x in table if x == value) for value in values]


def changed(first: Sequence[Any], second: Sequence[Any]) -> int:
    """How many parts differ."""
    return sum(one != two for one, two in zip(first, second, strict=True))


def lacking(first: Iterable[Any], second: Iterable[Any]) -> int:
    """Records of the first multiset that the second lacks."""
    return (Counter(first) - Counter(second)).total()


def noisy_counts(epsilons: Iterable[float]) -> FloatArray:
    """One noisy count for each part a, b, ... of every table, independent of each other."""
    return joint(
        [
            [truncated_geometric(table.count(value), MOST, epsilon) for table in TABLES]
            for value, epsilon in zip(VALUES, epsilons, strict=False)
        ]
    )


def worst(space: Space, channel: Any, divergence: Callable[[Any, Any], float] = max_divergence) -> float:
    """The largest loss between neighbours."""
    return max(divergence(channel[i], channel[j]) for i, j in space.neighbours)


def near(first: float, second: float) -> bool:
    """Equal up to the rounding of a few operations."""
    return math.isclose(first, second, rel_tol=EXACT, abs_tol=EXACT)


def shown(number: float) -> str:
    """A short number, and a word for infinity."""
    return "infinite" if math.isinf(number) else f"{float(number):.6g}"


def losses(channel: FloatArray) -> FloatArray:
    """The largest loss of every ordered pair of databases, for positive channels."""
    logs = np.log(channel)
    found: FloatArray = np.max(logs[:, None, :] - logs[None, :, :], axis=-1)
    return np.maximum(found, 0.0)
