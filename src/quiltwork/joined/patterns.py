"""What a plan loses when the rows of one person change at some ticks, and nowhere else.

Every person has one row for each tick of a column such as `hour`. A change at a set of ticks, a pattern, replaces the
rows of these ticks one after the other, person and tick unchanged: each tick moves the queries by one of the distance
vectors of `replace_one(fixed=...)`, and along a path of single rows distances add up. The losses of a pattern are those
of all sums of such vectors. A larger pattern never loses less.

A vector of one tick may be left out only if another one moves every query as far: one that merely costs more by itself
does not stand above it once both are added to what other ticks do to the same queries. So the search for the vectors
of a tick sees no losses, only distances.

Rows that enter or leave a query and kept rows that change (`Query.inside`) are counted apart: two rows that enter, at
two ticks, move a sum by more than one row that changes.

Ticks that touch queries of their own, alike in what they cost, are exchanged for each other: patterns that cost alike
share one profile.

Reference: theory/joining.md section 2 (patterns W), theory/granularity.md section 3.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from fractions import Fraction
from functools import cached_property
from typing import ClassVar

import attrs
import numpy as np

from quiltwork.checks import FloatArray
from quiltwork.compose.dominance import Ladders
from quiltwork.compose.loss import Loss
from quiltwork.compose.scaling import scaled, total
from quiltwork.curves.from_delta import FARTHEST
from quiltwork.errors import InvalidParameter, UnboundedLossError, Unsupported
from quiltwork.losses.dominating_pair import Pair
from quiltwork.losses.family import Family
from quiltwork.numbers.rounding import up
from quiltwork.tables.guarantee import unbounded
from quiltwork.tables.notions.neighbors import Notion, ReplaceOne
from quiltwork.tables.notions.sensitivity import response
from quiltwork.tables.query import Query
from quiltwork.tables.schema.columns import Cat, Column, Date, Id, Int
from quiltwork.tables.schema.table import Table
from quiltwork.tables.worst_step.reach import reach
from quiltwork.tables.worst_step.vectors import Pricing, Unbounded

MOST_TICKS = 5000
MOST_SUMS = 64  # vectors of one pattern that are kept apart; more are replaced by one above them
FIRST_POINTS, SHORTER = 10, 12  # of a profile, and how often a chord of it is made shorter

Distances = tuple[tuple[int, float], ...]
Ticks = Sequence[int]


@attrs.frozen
class Moved(Family):
    """A query that moves so far, whatever it releases: only a longer move of the same query stands above it."""

    kind: ClassVar[str] = "moved"
    stored: ClassVar[bool] = False
    linear: ClassVar[bool] = True
    query: int
    distance: float = 1.0

    def pairs(self) -> dict[str, Pair]:
        """Nothing is known of what it releases."""
        raise Unsupported("the loss of a distance", "it is a distance, not a release")

    @property
    def symmetric(self) -> bool:
        return True

    def grown(self, distance: float) -> Family:
        return Moved(self.query, self.distance * distance)

    def at(self, distance: Fraction) -> Family:
        return self.grown(float(distance))

    def rung(self) -> tuple[object, float]:
        return ("moved", self.query), self.distance


@attrs.frozen(eq=False, slots=False)
class Profile:
    """delta_W of patterns that cost alike: the largest over a few losses, rounded up."""

    losses: tuple[Loss, ...]

    def deltas(self, epsilons: FloatArray) -> FloatArray:
        """At these epsilons, of any sign."""
        found = np.zeros(epsilons.size)
        for loss in self.losses:
            found = np.maximum(found, np.ravel(loss.delta(epsilons, rtol=1e-4).upper))
        return found

    @cached_property
    def top(self) -> float:
        """The largest loss."""
        return max((float(loss.epsilon(0.0).upper) for loss in self.losses), default=0.0)

    @cached_property
    def _points(self) -> list[tuple[float, float]]:
        """(epsilon, delta) that are known already, epsilon rising."""
        half = max((float(loss.epsilon(1e-2).upper) for loss in self.losses), default=0.0)
        far = min(self.top, FARTHEST, 40.0 * max(half, 1e-6))
        epsilons = np.geomspace(1e-3 * far, far, FIRST_POINTS)
        return list(zip(epsilons.tolist(), self.deltas(epsilons).tolist(), strict=True))

    def shifted(self, c: float) -> float:
        """The least e with delta(e) <= c (e^e - 1), from the safe side; the largest loss when c = 0.

        delta is convex in g = e^e and lies below its chords, c (g - 1) is a line: where the first chord crosses it. The
        chord is made shorter, at its own crossing, until that hardly moves.
        """
        if c == 0.0 or self.top == 0.0:
            return self.top
        points, best = self._points, self.top
        for _ in range(SHORTER):
            over = [delta - c * math.expm1(epsilon) * (1.0 - 1e-12) for epsilon, delta in points]
            at = next((i for i, rest in enumerate(over) if rest <= 0.0), None)
            if at is None:
                return best
            if at == 0:
                return min(best, up(points[0][0], 4))
            low, high = math.expm1(points[at - 1][0]), math.expm1(points[at][0])
            crossing = low + over[at - 1] / (over[at - 1] - over[at]) * (high - low)
            found = min(up(math.log1p(crossing * (1.0 + 1e-12)), 4), points[at][0])
            best = min(found, best)
            if points[at][0] - points[at - 1][0] <= 1e-5 * best:
                break
            near = _between(points[at - 1], points[at], c)
            fresh = [one for one in (near, found) if points[at - 1][0] < one < points[at][0]]
            if not fresh:
                break
            points[at:at] = zip(fresh, self.deltas(np.array(fresh)).tolist(), strict=True)
            points.sort()
        return best


def _between(low: tuple[float, float], high: tuple[float, float], c: float) -> float:
    """About where delta falls to c (e^e - 1) when its logarithm falls evenly: usually a little before that."""
    if high[1] <= 0.0:
        return 0.5 * (low[0] + high[0])
    gaps = [math.log(delta) - math.log(c) - math.log(math.expm1(epsilon)) for epsilon, delta in (low, high)]
    share = min(max(gaps[0] / (gaps[0] - gaps[1]), 0.02), 0.98) if gaps[0] > gaps[1] else 0.5
    return low[0] + share * (high[0] - low[0]) * (1.0 - 1e-6)


@attrs.frozen
class Sum:
    """Queries that one tick alone touches, as their loss; of those that several ticks touch, the distance so far."""

    own: Loss
    shared: Distances

    def plus(self, other: Sum) -> Sum:
        """Both changes."""
        moved = dict(self.shared)
        for query, distance in other.shared:
            sum_of_both = moved.get(query, 0.0) + distance
            moved[query] = sum_of_both if sum_of_both.is_integer() else up(sum_of_both)
        return Sum(self.own + other.own, tuple(sorted(moved.items())))


@attrs.frozen
class Pattern:
    """A set of ticks, as far as it counts: how many of each kind, and those that share queries with others."""

    counts: tuple[int, ...]
    sharing: frozenset[int]

    def __add__(self, other: Pattern) -> Pattern:
        """Both, which have no tick in common."""
        counts = tuple(one + two for one, two in zip(self.counts, other.counts, strict=True))
        return Pattern(counts, self.sharing | other.sharing)


@attrs.frozen(eq=False, slots=False)
class Patterns:
    """The losses of a plan's queries for changes at each set of ticks."""

    table: Table
    queries: tuple[Query, ...]
    when: str
    changes: frozenset[str]
    _changed: Notion | None = None
    profiles: list[Profile] = attrs.field(init=False, factory=list)
    _fronts: dict[tuple[int, ...], tuple[Sum, ...]] = attrs.field(init=False, factory=dict)
    _numbers: dict[object, int] = attrs.field(init=False, factory=dict)

    def __attrs_post_init__(self) -> None:
        if len(self.ticks) > MOST_TICKS:
            raise InvalidParameter("when", self.when, f"a column with at most {MOST_TICKS} values")

    @cached_property
    def ticks(self) -> tuple[Column, ...]:
        """The column `when` narrowed to each of its values, in order."""
        column = self.table.columns[self.when]
        if getattr(column, "nullable", False):
            raise InvalidParameter("when", self.when, "a column without NULL", "every row must have its tick")
        if isinstance(column, Cat):
            return tuple(Cat(value) for value in column.categories)
        if isinstance(column, (Int, Date)):
            first, last = int(column.domain[0][0]), int(column.domain[1][0])
            if last - first > MOST_TICKS:
                raise InvalidParameter("when", self.when, f"a column with at most {MOST_TICKS} values")
            if isinstance(column, Int):
                return tuple(Int(value, value) for value in range(first, last))
            return tuple(Date(day, day) for day in map(column.low.fromordinal, range(first, last)))
        raise InvalidParameter("when", self.when, "a column of whole numbers, days or categories in their order")

    @cached_property
    def tick_names(self) -> tuple[str, ...]:
        """The values of `when`, in words."""
        return tuple(self.table[self.when].parts())

    @property
    def step(self) -> Notion:
        """One row changes, its person and its tick unchanged: anyhow, or as it was said."""
        return ReplaceOne(frozenset(self.table.columns) - self.changes) if self._changed is None else self._changed

    @cached_property
    def _pricing(self) -> Pricing:
        return Pricing(self.queries, [response(query, self.step, self.table) for query in self.queries])

    @cached_property
    def _in_records(self) -> Pricing:
        """Every distance as so many rows that enter or leave."""
        return Pricing(self.queries, [attrs.evolve(one, inside=None) for one in self._pricing.responses])

    @cached_property
    def moves(self) -> tuple[tuple[Distances, ...], ...]:
        """The distance vectors of one changed row at each tick; a kept row that changes counts as query n + its own."""
        return tuple(tuple(dict.fromkeys(found for found, _ in here)) for here in self._found)

    @cached_property
    def _found(self) -> tuple[tuple[tuple[Distances, bool], ...], ...]:
        """The vectors of each tick, and whether some rows really have them."""
        if not all(self._pricing.symmetric):
            raise Unsupported(
                "a plan under a prior with a release that is not symmetric",
                "a row may change either way, and what was seen before may decide which",
                "state it with a symmetric loss",
            )
        count, found = len(self.queries), []
        asked = [
            attrs.evolve(query, loss=Loss.of(Moved(i)), inside=query.inside and Loss.of(Moved(count + i)))
            for i, query in enumerate(self.queries)
        ]
        for tick in self.ticks:
            table = Table(**{**self.table.columns, self.when: tick}).rows(self.table.least, _most(self.table))
            try:
                here = reach(table, asked, self.step)
            except Unbounded as stopped:
                raise self._refused(stopped) from None
            if here.bounds:
                raise Unsupported(
                    "a plan under a prior with so many kinds of rows", "not every change of a row can be listed",
                    "give changes=[...], the columns that may change, or split the plan",
                )  # fmt: skip
            found.append(tuple((self._apart(vector.distances), vector.exact) for vector in here.vectors))
        return tuple(found)

    def _apart(self, distances: Distances) -> Distances:
        """A vector of one tick with its kept rows that change under numbers of their own."""
        responses = self._pricing.responses
        return tuple(
            (len(responses) + q, 1.0) if responses[q].inside is not None and d == responses[q].both else (q, d)
            for q, d in distances
        )

    def _together(self, distances: Distances) -> dict[int, float]:
        """The inverse of `_apart`."""
        count, responses = len(self.queries), self._pricing.responses
        return {q if q < count else q - count: d if q < count else responses[q - count].both for q, d in distances}

    def _refused(self, stopped: Unbounded) -> UnboundedLossError:
        return unbounded(self.table, self.queries, self.step, stopped.queries)

    @cached_property
    def _touching(self) -> dict[int, int]:
        """How many ticks touch each query."""
        found: dict[int, int] = {}
        for moves in self.moves:
            for query in {query % len(self.queries) for vector in moves for query, _ in vector}:
                found[query] = found.get(query, 0) + 1
        return found

    def _own(self, query: int) -> bool:
        """Whether one tick alone touches it."""
        return self._touching[query % len(self.queries)] == 1

    @cached_property
    def _sums(self) -> tuple[tuple[Sum, ...], ...]:
        """The changes of each tick, queries of its own priced already."""
        found = []
        for moves in self.moves:
            sums = []
            for vector in moves:
                own = self._loss((q, d) for q, d in vector if self._own(q))
                sums.append(Sum(own, tuple((q, d) for q, d in vector if not self._own(q))))
            found.append(_undominated(sums))
        return tuple(found)

    def _loss(self, distances: Iterable[tuple[int, float]]) -> Loss:
        """Of rows that enter or leave and of kept rows that change: where there are both, each of these is two rows."""
        count, moved = len(self.queries), dict(distances)
        priced = []
        for query in dict.fromkeys(query % count for query in moved):
            rows, changed, inside = moved.get(query, 0.0), moved.get(count + query, 0.0), self.queries[query].inside
            if rows or inside is None:
                priced.append(self._in_records.at(query, rows + 2.0 * changed))
            elif changed:
                priced.append(scaled(inside, changed))
        return total((loss, 1) for loss in priced if loss is not None)

    def _front(self, ticks: tuple[int, ...]) -> tuple[Sum, ...]:
        """All sums of one change at each tick that no other sum dominates; begun with what is known already."""
        known = next((n for n in range(len(ticks), 0, -1) if ticks[:n] in self._fronts), 0)
        found = self._fronts[ticks[:known]] if known else (Sum(Loss(()), ()),)
        for n in range(known, len(ticks)):
            found = _undominated([one.plus(more) for one in found for more in self._sums[ticks[n]]])
            self._fronts[ticks[: n + 1]] = found
        return found

    # ---- patterns that cost alike

    @cached_property
    def _alike(self) -> tuple[tuple[int, ...], list[list[int]], list[int]]:
        """The kind of each tick, -1 where it shares queries with others; the ticks of each kind; those that share."""
        kinds: dict[tuple[Sum, ...], int] = {}
        found, members, sharing = [], list[list[int]](), []
        for tick, sums in enumerate(self._sums):
            if any(one.shared for one in sums):
                sharing.append(tick)
                found.append(-1)
                continue
            kind = kinds.setdefault(sums, len(kinds))
            members += [[]] if kind == len(members) else []
            members[kind].append(tick)
            found.append(kind)
        return tuple(found), members, sharing

    @cached_property
    def _counts(self) -> np.ndarray:
        """How many ticks of each kind come before each tick."""
        kinds, members, _ = self._alike
        ones = np.array([[kind == one for one in range(len(members))] for kind in kinds], dtype=np.int64)
        return np.concatenate([np.zeros((1, len(members)), dtype=np.int64), np.cumsum(ones, axis=0)])

    @cached_property
    def none(self) -> Pattern:
        """No tick at all."""
        return Pattern((0,) * len(self._alike[1]), frozenset())

    def at(self, tick: int) -> Pattern:
        """One tick."""
        kind = self._alike[0][tick]
        if kind < 0:
            return attrs.evolve(self.none, sharing=frozenset((tick,)))
        return attrs.evolve(self.none, counts=tuple(int(one == kind) for one in range(len(self.none.counts))))

    def all_of(self, ticks: Iterable[int]) -> Pattern:
        """These ticks, each once."""
        return sum(map(self.at, ticks), start=self.none)

    def number(self, pattern: Pattern) -> int:
        """The number of the profile of a pattern."""
        return self._known(np.array(pattern.counts, dtype=np.int64), tuple(sorted(pattern.sharing)))

    def window(self, first: int, last: int) -> int:
        """The number of the profile of all ticks from the first to the last."""
        sharing = self._alike[2]
        inside = tuple(sharing[bisect_left(sharing, first) : bisect_left(sharing, last + 1)])
        return self._known(self._counts[last + 1] - self._counts[first], inside)

    @property
    def everything(self) -> int:
        """The number of the profile of all ticks."""
        return self.window(0, len(self.ticks) - 1)

    def _known(self, counts: np.ndarray, sharing: tuple[int, ...]) -> int:
        key = counts.tobytes(), sharing
        if key not in self._numbers:
            members = self._alike[1]
            alike = [tick for kind, count in enumerate(counts.tolist()) for tick in members[kind][:count]]
            losses = self.losses((*sharing, *alike))
            if losses not in self._numbers:
                self._numbers[losses] = len(self.profiles)
                self.profiles.append(Profile(losses))
            self._numbers[key] = self._numbers[losses]
        return self._numbers[key]

    def losses(self, ticks: Ticks) -> tuple[Loss, ...]:
        """Losses one of which is at least that of any change at these ticks."""
        return tuple(dict.fromkeys(one.own + self._loss(one.shared) for one in self._front(tuple(ticks))))

    @property
    def plain(self) -> bool:
        """Whether every tick has queries of its own, which a change of its row moves by one step each."""
        single = all(len(moves) == 1 and all(d == 1 for _, d in moves[0]) for moves in self.moves)
        return single and all(exact for here in self._found for _, exact in here) and not self._alike[2]

    @property
    def apart(self) -> Patterns | None:
        """The same with those queries alone that one tick touches: leaving out the others tells no more."""
        count, own = len(self.queries), [i for i in range(len(self.queries)) if self._touching.get(i, 1) == 1]
        if not 0 < len(own) < count:
            return None
        place = {shift * count + i: shift * len(own) + n for n, i in enumerate(own) for shift in (0, 1)}
        found = attrs.evolve(self, queries=tuple(self.queries[i] for i in own))
        kept = (
            ((tuple((place[q], d) for q, d in moved if q in place), exact) for moved, exact in here)
            for here in self._found
        )
        # nothing is searched for again: these are the changes of rows, as far as these queries see them
        found.__dict__["_found"] = tuple(tuple(one for one in dict.fromkeys(here) if one[0]) for here in kept)
        return found

    @property
    def contents(self) -> float:
        """How many contents a row can have in the columns that change; infinite where they cannot be counted."""
        return math.prod(float(sum(self.table.columns[name].classes([]).sizes)) for name in self.changes)

    def alone(self, tick: int) -> tuple[Loss, ...]:
        """What queries really lose that no other tick touches, for each change of this tick: they tell of it alone."""
        really = (vector for vector, exact in self._found[tick] if exact)
        vectors = [self._together(tuple((q, d) for q, d in vector if self._own(q))) for vector in really]
        return tuple(dict.fromkeys(self._pricing.vector(one, "").attained for one in vectors if one))


def _most(table: Table) -> int | None:
    return None if math.isinf(table.most) else int(table.most)


def _undominated(sums: Sequence[Sum]) -> tuple[Sum, ...]:
    """The sums that matter; too many are replaced by one above them all."""
    found = list(dict.fromkeys(sums))
    if len(found) == 1:
        return tuple(found)
    queries = sorted({query for one in found for query, _ in one.shared})
    far = np.array([[dict(one.shared).get(query, 0.0) for query in queries] for one in found]).reshape(len(found), -1)
    ladders = Ladders.of(one.own for one in found)
    high = ladders.strength([one.own for one in found], up=True)
    low = ladders.strength([one.own for one in found], up=False)
    kept: list[int] = []
    for i in np.argsort(-(far.sum(axis=1) + 1e-9 * high.sum(axis=1)), kind="stable"):
        if not any(_above(far[j], low[j], far[i], high[i]) or found[j] == found[i] for j in kept):
            kept.append(int(i))
    if len(kept) <= MOST_SUMS:
        return tuple(found[i] for i in kept)
    envelope = tuple((query, float(distance)) for query, distance in zip(queries, far.max(axis=0), strict=True))
    return (Sum(ladders.loss(high.max(axis=0)), envelope),)


def _above(far: FloatArray, low: FloatArray, other: FloatArray, high: FloatArray) -> bool:
    return bool(np.all(far >= other) and np.all(low >= high))


def patterns_of(
    table: Table, queries: Sequence[Query], person: str, when: str, changes: Sequence[str] | None
) -> Patterns:
    """The patterns of a plan; `changes` are the columns of a row that may change, by default all but these two."""
    if not isinstance(table.columns[person], Id):
        raise InvalidParameter("person", person, "an Id column of the table", "it says whose row it is")
    if person == when:
        raise InvalidParameter("when", when, "another column than person")
    rest = frozenset(table.columns) - {person, when}
    chosen = rest if changes is None else frozenset(table.names(changes, "changes"))
    if not chosen or not chosen <= rest:
        raise InvalidParameter("changes", sorted(chosen), f"columns besides {person} and {when}: {sorted(rest)}")
    return Patterns(table, tuple(queries), when, chosen)
