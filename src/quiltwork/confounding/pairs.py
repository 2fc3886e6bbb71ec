"""Which secrets must not be told apart: all of them, listed ones, or those near each other.

A pair is always protected in both orders.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import attrs
import numpy as np

from quiltwork import checks
from quiltwork.checks import FloatArray
from quiltwork.errors import InvalidParameter
from quiltwork.kinds import not_written

ALLOWED = "'all', a list of pairs of secrets, or within(distance, radius)"


@not_written("its distance may be a Python function", "write the world, which lists its pairs")
@attrs.frozen(eq=False)
class Within:
    """Secrets at a distance of at most `radius`; the distance is a table or a function of two numbered secrets."""

    distance: Any
    radius: float

    def pairs(self, count: int) -> list[tuple[int, int]]:
        """The unordered pairs among this many secrets."""
        table = distances("the distance", self.distance, count, "numbers >= 0")
        if table.shape != (count, count):
            raise InvalidParameter("the shape of the distance", table.shape, f"({count}, {count}), a row a secret")
        if not np.array_equal(table, table.T):
            raise InvalidParameter("the distance", "a table that is not symmetric", "the same in both orders")
        return [(i, j) for i in range(count) for j in range(i + 1, count) if table[i, j] <= self.radius]


def distances(name: str, distance: Any, count: int, allowed: str) -> FloatArray:
    """A table of distances that was given as one, or as a function of two numbers."""
    if callable(distance):
        measure: Callable[[int, int], Any] = distance
        distance = [[measure(i, j) for j in range(count)] for i in range(count)]
    return checks.numbers(name, distance, allowed, 0.0, np.inf)


def within(distance: Any, radius: float) -> Within:
    """Protect secrets at most `radius` apart.

    >>> within(lambda i, j: abs(i - j), 1).pairs(3)
    [(0, 1), (1, 2)]
    """
    return Within(distance, checks.non_negative("radius", radius))


def ordered_pairs(pairs: Any, count: int, possible: np.ndarray, names: Sequence[str] = ()) -> np.ndarray:
    """Both orders of each protected pair of secrets that can occur, sorted."""
    if isinstance(pairs, Within):
        found = pairs.pairs(count)
    elif isinstance(pairs, str):
        if pairs != "all":
            raise InvalidParameter("pairs", pairs, ALLOWED)
        found = [(i, j) for i in range(count) for j in range(i + 1, count)]
    else:
        found = listed(pairs, count, {name: index for index, name in enumerate(names)})
    kept = sorted({pair for i, j in found if possible[i] and possible[j] for pair in ((i, j), (j, i))})
    if not kept:
        raise InvalidParameter(
            "pairs", "no two secrets that can both occur", "at least one pair to protect", "nothing would be promised"
        )
    return np.array(kept, dtype=np.int64)


def unordered(ordered: np.ndarray, count: int) -> list[tuple[int, int]]:
    """Each protected pair of secrets once, sorted; rows of further priors are those of the same secrets."""
    return sorted({(min(pair), max(pair)) for pair in (ordered % count).tolist()})


def protected(ordered: np.ndarray, names: Sequence[str]) -> str:
    """Which secrets are not told apart, in words."""
    count = len(names)
    pairs = unordered(ordered, count)
    if len(pairs) == count * (count - 1) // 2:
        return f"which of {count} secrets is true, any two of them"
    named = ", ".join(f"{names[i]} or {names[j]}" for i, j in pairs[:4])
    return f"{len(pairs)} pairs of secrets: {named}" + (", ..." if len(pairs) > 4 else "")


def listed(pairs: Any, count: int, names: Mapping[str, int] | None = None) -> list[tuple[int, int]]:
    """Pairs of two different secrets, by their number or name."""
    found, named = [], names or {}
    try:
        listed = [tuple(pair) for pair in pairs]
    except TypeError:
        raise InvalidParameter("pairs", pairs, ALLOWED) from None
    for pair in listed:
        if len(pair) != 2:
            raise InvalidParameter("a pair", pair, "two secrets, by their number or name")
        i, j = (checks.count("a secret in pairs", named.get(part, part)) for part in pair)
        if i == j or max(i, j) >= count:
            raise InvalidParameter("a pair", pair, f"two different secrets from 0 to {count - 1}")
        found.append((i, j))
    return found
