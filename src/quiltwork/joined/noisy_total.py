"""What one noisy count over several ticks tells about one entry of a chain of two states: a lower end.

The count N of the rows that a query keeps is a sum over the ticks of one person, and of a constant. Its law given the
value of entry i is that of both sides of i, which are independent given it: two recursions along the chain. With noise
of a known law every threshold s is an event, and

    delta(epsilon) >= P(N + noise > s | x_i = u) - e^epsilon P(N + noise > s | x_i = v).

All other queries are left out, which is post-processing. Which state is which content of a row does not matter: with
the other one N becomes a constant minus N, and events above a threshold become those below one, which are asked too.

Reference: theory/joining.md section 2, Algorithm (5).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import ndtr

from quiltwork.checks import FloatArray
from quiltwork.joined.weighted_sum import SLACK, THRESHOLDS, Floor
from quiltwork.losses.families.gaussian import Gaussian
from quiltwork.losses.families.laplace import Laplace
from quiltwork.losses.family import Family
from quiltwork.tables.notions.neighbors import AddRemove
from quiltwork.tables.query import Query
from quiltwork.tables.schema.columns import Cat, Int

if TYPE_CHECKING:
    from quiltwork.joined.sides import Kernel
    from quiltwork.joined.under.chain import AlongChain

MOST_TICKS = 200  # of a chain whose totals are looked at
MOST_ENTRIES = 8  # of which the totals are asked, evenly along the chain


def noisy_totals(law: AlongChain) -> Iterator[Floor]:
    """The counts of a plan whose noise is known, and that keep one of the two contents of several rows."""
    patterns, contents = law.patterns, _contents(law)
    if not contents or law.sides.left(0) is None or len(patterns.ticks) > MOST_TICKS:
        return
    for query in patterns.queries:
        noise = _noise(query)
        if noise is None or not query.where.columns <= patterns.changes | {patterns.when}:
            continue
        kept = np.array([[query.where.keeps(row) for row in two] for two in contents], dtype=int)
        if np.count_nonzero(kept[:, 0] != kept[:, 1]) > 1:
            yield _floor(law, kept, *noise)


def _contents(law: AlongChain) -> list[list[dict[str, object]]]:
    """The two rows that each tick can have, as far as conditions see them; none where rows are not so plain."""
    patterns = law.patterns
    if law.sides.states != 2 or len(law.told) != law.sides.length or len(patterns.changes) != 1:
        return []
    (name,) = patterns.changes
    column, when = patterns.table.columns[name], patterns.table.columns[patterns.when]
    values = list(column.categories) if isinstance(column, Cat) else _whole(column)
    ticks = list(when.categories) if isinstance(when, Cat) else _whole(when)
    if len(values) != 2 or len(ticks) != law.sides.length:
        return []
    return [[{patterns.when: tick, name: value} for value in values] for tick in ticks]


def _whole(column: object) -> list[object]:
    """The values of a column of whole numbers."""
    if not isinstance(column, Int):
        return []
    first, last = int(column.domain[0][0]), int(column.domain[1][0])
    return list(range(first, min(last, first + MOST_TICKS + 1)))


def _noise(query: Query) -> tuple[Callable[[FloatArray], FloatArray], float] | None:
    """P(noise > x), and a length along which it falls, of a plain count with one draw of additive noise."""
    holds = query.holds
    if not query.counts or query.adaptive or not holds.input or not isinstance(holds.notion, AddRemove):
        return None
    parts = query.loss.parts
    family: Family | None = parts[0].family if len(parts) == 1 and parts[0].count == 1 else None
    if isinstance(family, Gaussian):
        sigma = family.sigma / family.sensitivity
        return lambda x: ndtr(-x / sigma), sigma
    if isinstance(family, Laplace):
        scale = family.scale / family.sensitivity
        return lambda x: np.where(
            x > 0, 0.5 * np.exp(-np.abs(x) / scale), 1.0 - 0.5 * np.exp(-np.abs(x) / scale)
        ), scale
    return None


def _floor(law: AlongChain, kept: np.ndarray, tail: Callable[[FloatArray], FloatArray], width: float) -> Floor:
    length, most = law.sides.length, int(kept.max(axis=1).sum())
    counts = np.arange(most + 1.0)
    grid = np.concatenate([counts, np.linspace(-6 * width, most + 6 * width, THRESHOLDS)])
    above, below = tail(grid[:, None] - counts[None, :]), tail(counts[None, :] - grid[:, None])
    found: list[tuple[FloatArray, FloatArray]] = []
    for entry in np.unique(np.linspace(0, length - 1, min(length, MOST_ENTRIES)).round().astype(int)).tolist():
        if not law.sides.possible[entry].all():
            continue
        left = _sums(law.sides.left(entry) or [], kept[:entry][::-1], most)
        right = _sums(law.sides.right(entry), kept[entry + 1 :], most)
        laws = [np.roll(np.convolve(left[v], right[v])[: most + 1], kept[entry, v]) for v in (0, 1)]
        for events in (above, below):
            chances = [events @ one for one in laws]
            found += [(chances[0], chances[1]), (chances[1], chances[0])]
    first, second = (np.concatenate([one[side] for one in found] or [np.zeros(1)]) for side in (0, 1))
    return Floor(first * (1 - SLACK), second * (1 + SLACK) + 1e-300)


def _sums(steps: Sequence[Kernel], kept: np.ndarray, most: int) -> FloatArray:
    """The law of what a side adds to the count, given each value of the entry; nearest tick first."""
    found = np.zeros((2, most + 1))
    found[:, 0] = 1.0
    for step, adds in zip(reversed(steps), kept[::-1], strict=True):
        here = np.array([np.roll(found[value], adds[value]) for value in (0, 1)])  # nothing passes the end
        found = step.matrix @ here
    return found
