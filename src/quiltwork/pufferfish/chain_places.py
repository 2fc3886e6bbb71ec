"""Where in a chain an entry stands: how many entries lie on each side, and how likely its values are there.

A stationary chain looks the same everywhere, and the interior bounds every entry of every length (theory 4.2, Lemma).
Other initial laws make each entry different; entries that are far from both ends are then taken together.

Reference: theory/pufferfish.md 4.2.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from quiltwork.checks import FloatArray
from quiltwork.curves.rounding import UNIT
from quiltwork.pufferfish.chain_influence import Place, sides
from quiltwork.pufferfish.influence import Status
from quiltwork.pufferfish.stochastic import powers, stationary_error

__all__ = ["any_places", "given_laws", "given_places", "stationary_places"]

Entries = tuple[int, ...] | None


def stationary_places(
    law: FloatArray, length: int | None, entries: Entries, depth: int, budget: float
) -> tuple[list[Place], Status]:
    """One place for all, or each entry by itself when the chain is so short that its ends matter."""
    shift = log_shift(law, stationary_error(law.size))
    if entries is not None:
        return [_place(i, length, shift) for i in entries], "exact"
    if length is None or length >= 2 * depth + 1:
        return [Place("an entry", None, None, shift)], "exact"
    if length <= budget:
        return [_place(i, length, shift) for i in range(length)], "exact"
    return [Place("an entry", None, None, shift)], "certified"


def any_places(
    matrix: FloatArray, length: int | None, entries: Entries, depth: int, budget: float
) -> tuple[list[Place], Status]:
    """Whatever the first state: the largest shift at entry i is a ratio of columns of P^i, and falls with i.

    Entries beyond `depth` have a smaller shift and as much room on the left as any split needs.
    """
    last = depth + 1 if length is None else min(length, depth + 1)
    asked = range(last) if entries is None else entries
    left = sides(powers(matrix, max([1, *asked]))).left
    known = length if length is not None and (entries is not None or length <= depth + 1) else None
    none = np.zeros((len(matrix), len(matrix)))
    found = [_place(i, known, none if i == 0 else left[i - 1].T) for i in asked]
    return ([_merged(found)] if len(found) > max(budget, 1.0) else found), "certified"


def given_laws(matrix: FloatArray, initial: FloatArray, length: int) -> list[FloatArray]:
    """The law of each entry."""
    found = [initial]
    for _ in range(length - 1):
        found.append(found[-1] @ matrix)
    return found


def given_places(laws: Sequence[FloatArray], entries: Entries, depth: int, budget: float) -> tuple[list[Place], Status]:
    """Entries near the ends one by one, all inner ones together."""
    length, size = len(laws), laws[0].size
    shifts = [log_shift(law, (i + 1) * (size + 6) * UNIT) for i, law in enumerate(laws)]
    if entries is not None:
        return [_place(i, length, shifts[i]) for i in entries], "certified"
    inner = range(depth, max(depth, length - depth))
    found = [_place(i, length, shifts[i]) for i in range(length) if i not in inner]
    if inner:
        found.append(Place("an inner entry", depth, depth, np.fmax.reduce([shifts[i] for i in inner])))
    return ([_merged(found)] if len(found) > max(budget, 1.0) else found), "certified"


def _place(index: int, length: int | None, shift: FloatArray) -> Place:
    return Place(f"entry {index}", index, None if length is None else length - 1 - index, shift)


def log_shift(law: FloatArray, error: float) -> FloatArray:
    """log pi[v] / pi[u], rounded up; NaN where one of them cannot occur."""
    with np.errstate(divide="ignore"):
        logs = np.where(law > 0, np.log(law), np.nan)
    slack = 2.5 * error + 8.0 * UNIT * (1.0 + np.abs(logs)[None, :] + np.abs(logs)[:, None])
    return np.asarray(logs[None, :] - logs[:, None] + slack)


def _merged(places: Iterable[Place]) -> Place:
    """One place at least as bad as all of them: their largest shift, and no end to cover (theory 4.2, Lemma)."""
    return Place("an entry", None, None, np.fmax.reduce([place.shift for place in places]))
