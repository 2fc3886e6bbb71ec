"""Where in a chain an entry stands: how many entries lie on each side, and how likely its values are there.

A stationary chain looks the same everywhere, and the interior bounds every entry of every length (theory 4.2, Lemma).
Other initial laws make each entry different; entries that are far from both ends are then taken together.

Reference: theory/pufferfish.md 4.2.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import attrs
import numpy as np

from quiltwork.checks import FloatArray
from quiltwork.curves.rounding import UNIT
from quiltwork.pufferfish.chain_influence import Place, sides
from quiltwork.pufferfish.influence import Status
from quiltwork.pufferfish.stochastic import TINY, powers, stationary_error

__all__ = ["any_places", "given_laws", "given_places", "stationary_places"]

Entries = tuple[int, ...] | None


def stationary_places(
    law: FloatArray, length: int | None, entries: Entries, depth: int, budget: float
) -> tuple[list[Place], Status]:
    """One place for all, or each entry by itself when the chain is so short that its ends matter."""
    shift = log_shift(law, stationary_error(law.size), law >= 0)  # only states that occur are here
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
    left = sides(powers(matrix, max(1, min(max(asked), depth + 1)))).left  # later entries have a smaller shift
    more = entries is None and (length is None or length > depth + 1)
    none = np.zeros((len(matrix), len(matrix)))
    found = [_place(i, None if more else length, none if i == 0 else left[min(i, len(left)) - 1].T) for i in asked]
    if more:  # the last place stands for every later entry, with any number of entries before it
        found[-1] = attrs.evolve(found[-1], name=f"entry {depth} or later", before=None)
    return ([_merged(found)] if len(found) > max(budget, 1.0) else found), "certified"


def given_laws(matrix: FloatArray, initial: FloatArray, length: int) -> list[tuple[FloatArray, np.ndarray]]:
    """The law of each entry, and which states are possible there at all."""
    found = [(initial, initial > 0)]
    for _ in range(length - 1):
        law, possible = found[-1]
        found.append((law @ matrix, possible @ (matrix > 0)))
    return found


def given_places(
    laws: Sequence[tuple[FloatArray, np.ndarray]], entries: Entries, depth: int, budget: float
) -> tuple[list[Place], Status]:
    """Entries near the ends one by one, all inner ones together."""
    length, size = len(laws), laws[0][0].size
    shifts = [log_shift(law, (i + 1) * (size + 6) * UNIT, possible) for i, (law, possible) in enumerate(laws)]
    # a first value that cannot occur is still counted among those that a neighbour may tell
    status: Status = "exact" if all(bool(possible.all()) for _, possible in laws) else "certified"
    if entries is not None:
        return [_place(i, length, shifts[i]) for i in entries], status
    inner = range(depth, max(depth, length - depth))
    found = [_place(i, length, shifts[i]) for i in range(length) if i not in inner]
    if inner:
        found.append(Place("an inner entry", depth, depth, np.fmax.reduce([shifts[i] for i in inner])))
    if len(found) > max(budget, 1.0):
        return [_merged(found)], "certified"
    return found, status


def _place(index: int, length: int | None, shift: FloatArray) -> Place:
    return Place(f"entry {index}", index, None if length is None else length - 1 - index, shift)


def log_shift(law: FloatArray, error: float, possible: np.ndarray) -> FloatArray:
    """log pi[v] / pi[u], rounded up; NaN where one of them cannot occur, +inf where pi[u] is lost to underflow."""
    with np.errstate(divide="ignore"):
        top = np.where(possible, np.log(np.maximum(law, TINY)), np.nan)
        bottom = np.where(possible, np.where(law > TINY, np.log(law), -np.inf), np.nan)
    with np.errstate(invalid="ignore"):
        slack = 2.5 * error + 8.0 * UNIT * (1.0 + np.abs(top)[None, :] + np.abs(top)[:, None])
        return np.asarray(top[None, :] - bottom[:, None] + slack)


def _merged(places: Iterable[Place]) -> Place:
    """One place at least as bad as all of them: their largest shift, and no end to cover (theory 4.2, Lemma)."""
    return Place("an entry", None, None, np.fmax.reduce([place.shift for place in places]))
