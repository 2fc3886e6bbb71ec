"""Where in a chain an entry stands: how many entries lie on each side, and how likely its values are there.

A stationary chain looks the same everywhere, and the interior bounds every entry of every length (theory 4.2, Lemma).
Other initial laws make each entry different; entries that are far from both ends are then taken together.

Reference: theory/pufferfish.md 4.2.

Influence curves of Markov chains, exact and independent of the length.

On a chain only the nearest entries outside H matter, one on each side.  With R_d[u, v] the largest log ratio of rows u
and v of P^d, and C_d[u, v] that of its columns,

    a(b) = min over dL + dR = b + 1 of C_dL[u, v] + R_dR[u, v] + log pi_i[v] / pi_i[u],

and near an end H may cover a whole side, which then tells nothing.

Reference: theory/pufferfish.md 4.1 and 4.2 (correcting seed 003 Theorem 8 for negative correlation).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from itertools import islice

import attrs
import numpy as np

from quiltwork.checks import FloatArray
from quiltwork.numbers.matrices import TINY, Powers, each_power, log_ratios, power_error, powers, stationary_error
from quiltwork.numbers.rounding import UNIT, up
from quiltwork.pufferfish.translation.influence import Status

FEW_STATES = 40  # up to which tables are as deep as they are asked for, and kept
BLOCK = 1 << 15  # numbers of one side that are combined at a time


@attrs.frozen(eq=False)
class Sides:
    """R_d and C_d for d = 1 .. D, each (D, k, k): what a neighbour at distance d tells."""

    right: FloatArray
    left: FloatArray

    @property
    def depth(self) -> int:
        """The largest distance."""
        return len(self.right)


@attrs.frozen(eq=False)
class Place:
    """An entry with so many entries on its left and right (None for any number), and log pi[v] / pi[u] there."""

    name: str
    before: int | None
    after: int | None
    shift: FloatArray


def sides(steps: Powers, start: np.ndarray | None = None) -> Sides:
    """The tables of both sides; `start` limits the states that an entry on the left can be in."""
    depth, size = steps.depth, len(steps.matrices[0])
    right, left = np.empty((depth, size, size)), np.empty((depth, size, size))
    kept = slice(None) if start is None else start
    for d in range(depth):
        matrix, possible, error = steps.matrices[d], steps.possible[d], (d + 1) * steps.error
        right[d] = log_ratios(matrix, possible, error)
        left[d] = log_ratios(matrix[kept].T, possible[kept].T, error)
    return Sides(right, left)


def sides_until_mixed(matrix: FloatArray, depth: int) -> Sides:
    """The tables of both sides up to this distance, or up to where no more is to be gained.

    What a neighbour tells falls with its distance (data processing), so that a nearer one bounds a farther one. For
    many states the tables end where the rows of P^d are alike, and its columns settled, to a hundredth of what the
    rounding of the stationary law costs.
    """
    size = len(matrix)
    right, left = np.empty((depth, size, size)), np.empty((depth, size, size))  # pages that are not filled cost nothing
    close = 0.01 * stationary_error(size) if size > FEW_STATES else 0.0
    for d, (power, possible) in enumerate(islice(each_power(matrix), depth)):
        error = (d + 1) * power_error(matrix)
        right[d], left[d] = log_ratios(power, possible, error), log_ratios(power.T, possible.T, error)
        if d and float(right[d].max()) <= close and bool(np.all(left[d - 1] - left[d] <= close)):
            return Sides(right[: d + 1], left[: d + 1])
    return Sides(right, left)


def curve_at(tables: Sides, place: Place, depth: int, *, one_set: bool = False, given_up: bool = False) -> FloatArray:
    """a(b) of every ordered pair of states at this place, b = 1 .. depth: (depth, k, k).

    Distances beyond the tables are read at their end, which bounds them. An entry far from both ends gains nothing from
    sets larger than two tables: its curve ends there, and then stays.

    With `one_set` the interval may not depend on the pair: min over intervals of the max over pairs, the same for all.
    Tables that are `given_up` may be written over: of hundreds of states they are large.
    """
    before = math.inf if place.before is None else place.before
    after = math.inf if place.after is None else place.after
    known, size = tables.depth, tables.right.shape[1]
    if place.before is None and place.after is None:
        depth = min(depth, 2 * known - 1)
    given_up = given_up and depth <= known
    found = tables.left[:depth] if given_up else np.empty((depth, size, size))
    rows = size if one_set else max(1, BLOCK // (known * size))
    for start in range(0, size, rows):
        here = slice(start, start + rows)
        with np.errstate(invalid="ignore"):
            left = tables.left[:, here] + place.shift[here]
        left[np.isnan(left)] = np.inf  # -inf + inf: nothing is known
        # no ratio of two laws stays below 1; this also makes merged places safe (theory 4.2, Lemma)
        np.maximum(left, 0.0, out=left)
        least = _best_splits(left, tables.right[:, here], before, after, depth, one_set)
        found[:, here] = np.maximum(up(least, 2), 0.0)
    return found


def _best_splits(
    left: FloatArray, right: FloatArray, before: float, after: float, depth: int, one_set: bool
) -> FloatArray:
    """The least of left[dL] + right[dR] over dL + dR = b + 1, or of one side where H covers the other, for each b."""
    known, backwards, room = len(right), right[::-1].copy(), np.empty(left.shape)
    found = np.full((depth, *right.shape[1:]), np.inf)

    def told(table: FloatArray) -> FloatArray:
        return np.asarray(table.max(axis=(-2, -1), keepdims=True)) if one_set else table

    for b in range(1, depth + 1):
        least = found[b - 1]
        if b > 1:
            least[:] = found[b - 2]
        low, high = int(max(1, b + 1 - min(after, known))), int(min(before, b, known))
        if low <= high:  # left distances low .. high, right distances b + 1 - left
            both = room[: high + 1 - low]
            np.add(left[low - 1 : high], backwards[known + low - b - 1 : known + high - b], out=both)
            np.minimum(least, told(both).min(axis=0), out=least)
        if b >= before + 1:
            only = int(b - before)
            np.minimum(least, told(right[min(only, known) - 1]) if only <= after else 0.0, out=least)
        if b >= after + 1:
            only = int(b - after)
            np.minimum(least, told(left[min(only, known) - 1]) if only <= before else 0.0, out=least)
    return found


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
