"""Sequences of states, one for each person, and what can be counted in them.

A step goes from one row of a person to the next in order of time, however far apart they are: lead() over a window
that is partitioned by `who` and ordered by `when`.  Long tables are counted in parts, by a hash of `who`, so that no
person is split, less must be sorted at once, and a progress bar can tell the truth.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Self

import attrs
import numpy as np

from quiltwork.data.counts import Counts, IntArray, Lengths, Tally, known, labels
from quiltwork.data.engines import engine as optional
from quiltwork.data.engines.engine import Engine
from quiltwork.data.sources import checked
from quiltwork.errors import InvalidParameter, Unsupported
from quiltwork.kinds import not_written
from quiltwork.progress import steps

ROWS_A_PART = 2_000_000  # of one part; smaller parts cost more scans of the source
MAX_PARTS = 64
MOST_STATES = 4096  # a matrix of 128 MB; more is a column of identifiers by mistake
MOST_CELLS = 5_000_000  # of counts by group


@not_written("it is a table on an engine", "write the counts that it gives")
@attrs.frozen(eq=False)
class Sequences:
    """Rows (who, when, state) of a table in an engine; nothing is counted until a question is asked.

    `rows` were found complete, `dropped` were left out because a value was missing.  All answers are exact facts about
    the data, not releases: they carry no privacy.

    >>> with Engine.open() as engine:
    ...     table = {"id": ["a", "a", "a", "b"], "t": [3, 1, 2, 1], "on": [True, False, True, True]}
    ...     sequences = engine.sequences(table, who="id", when="t", state="on")
    ...     counts, lengths = sequences.transition_counts(), sequences.lengths()
    >>> counts.states, counts.matrix.tolist(), counts.first.tolist(), lengths.longest
    ((False, True), [[0, 1], [0, 1]], [1, 1], 3)
    """

    engine: Engine = attrs.field(repr=lambda engine: engine.name)
    table: Any = attrs.field(repr=False)
    rows: int
    dropped: int = 0
    grouped: bool = False

    @classmethod
    def read(cls, engine: Engine, source: Any, columns: Mapping[str, str | None], missing: str = "error") -> Self:
        """Open and check a source; `Engine.sequences` is the door."""
        table, rows, dropped, textual = checked(engine, source, columns, missing)
        if textual and rows > ROWS_A_PART:
            table = engine.kept(table)  # text is parsed once, not once for each part
        return cls(engine, table, rows, dropped, columns.get("group") is not None)

    def states(self) -> tuple[Any, ...]:
        """Every state that occurs, sorted."""
        return self.category_counts().states

    def category_counts(self, states: Iterable[Any] | None = None) -> Tally:
        """Entries in each state; states that are named but never occur have zero."""
        found = self._grouped("state", limit=MOST_STATES)
        if len(found["state"]) > MOST_STATES:
            raise _too_many("states", MOST_STATES, "is this the column of states?")
        names = _sorted(found["state"]) if states is None else labels(states)
        places = known(found["state"], names)
        return Tally(names, _placed(len(names), [places[state] for state in found["state"]], found["rows"]))

    def group_counts(self, states: Iterable[Any] | None = None) -> dict[Any, Tally]:
        """Entries in each state by group, all over the same states: the inputs of one top-K release for each group."""
        self._needs_group()
        found = self._grouped("group", "state", limit=MOST_CELLS)
        names = _sorted(set(found["state"])) if states is None else labels(states)
        groups = _sorted(set(found["group"]))
        if len(found["state"]) > MOST_CELLS or len(names) * len(groups) > MOST_CELLS:
            raise _too_many("counts by group and state", MOST_CELLS, "are these the right columns?")
        places, lines = known(found["state"], names), {group: line for line, group in enumerate(groups)}
        pairs = zip(found["group"], found["state"], strict=True)
        cells = [lines[group] * len(names) + places[state] for group, state in pairs]
        table = _placed(len(groups) * len(names), cells, found["rows"]).reshape(len(groups), len(names))
        return {group: Tally(names, line) for group, line in zip(groups, table, strict=True)}

    def lengths(self) -> Lengths:
        """How many people have how many entries."""
        people = self.table.group_by("who").aggregate(length=self.table.count())
        found = self._fetched(people.group_by("length").aggregate(people=people.count()))
        return _lengths(zip(found["length"], found["people"], strict=True))

    def group_lengths(self) -> dict[Any, Lengths]:
        """The same inside each group: entries of a person in another group do not count."""
        self._needs_group()
        people = self.table.group_by("group", "who").aggregate(length=self.table.count())
        found = self._fetched(people.group_by("group", "length").aggregate(people=people.count()))
        by: dict[Any, list[tuple[int, int]]] = {group: [] for group in _sorted(set(found["group"]))}
        for group, length, people in zip(found["group"], found["length"], found["people"], strict=True):
            by[group].append((length, people))
        return {group: _lengths(pairs) for group, pairs in by.items()}

    def transition_counts(self, states: Iterable[Any] | None = None) -> Counts:
        """Steps between consecutive entries of one person, and first entries, over all people.

        Two entries of one person at the same moment have no order, so that the counts would be arbitrary: an error.
        A step is counted across groups, whatever group its two entries are in.
        """
        names = self.states() if states is None else labels(states)
        if not names:
            raise InvalidParameter("source", "an empty table", "a table with rows", "or name the states")
        moves: Counter[tuple[Any, Any]] = Counter()
        starts: Counter[Any] = Counter()
        for found in self._parts():
            ties = sum(filter(None, found["ties"]))
            if ties:
                raise InvalidParameter(
                    "when",
                    f"{ties} or more entries at the moment of another one",
                    "different for the entries of one person",
                    "their order would be arbitrary: use a finer time, or number them",
                )
            for state, following, first, rows in zip(*(found[key] for key in STEP), strict=True):
                moves[state, following] += rows
                starts[state] += rows if first else 0
        places = known((state for state, _ in moves), names)
        size = len(names)
        cells = {
            places[state] * size + places[following]: rows
            for (state, following), rows in moves.items()
            if following is not None
        }
        matrix = _placed(size * size, list(cells), list(cells.values())).reshape(size, size)
        return Counts(names, matrix, _placed(size, [places[state] for state in starts], list(starts.values())))

    # ---- queries

    def _parts(self) -> Iterator[dict[str, list[Any]]]:
        """Rows by (state, next state, first of its person), part by part; the next state of the last row is None."""
        ibis = optional.ibis()
        count = max(1, min(MAX_PARTS, self.rows // ROWS_A_PART)) if self.rows else 0
        for part in steps(count, "counting steps", self.engine.progress):
            rows = self.table
            if count > 1:
                # the remainder has the sign of the hash in both engines
                rows = rows.filter((rows.who.hash() % count).abs() == part)
            order = ibis.window(group_by=rows.who, order_by=rows.when)
            rows = rows.select(
                state=rows.state,
                following=rows.state.lead().over(order),
                first=rows.when.lag().over(order).isnull(),
                tie=(rows.when == rows.when.lead().over(order)).ifelse(1, 0),
            )
            yield self._fetched(
                rows.group_by("state", "following", "first").aggregate(rows=rows.count(), ties=rows.tie.sum())
            )

    def _grouped(self, *columns: str, limit: int) -> dict[str, list[Any]]:
        return self._fetched(self.table.group_by(*columns).aggregate(rows=self.table.count()).limit(limit + 1))

    def _fetched(self, expression: Any) -> dict[str, list[Any]]:
        self.engine.alive()
        if not self.rows:
            return {name: [] for name in expression.columns}  # an empty frame may have no types to compute with
        answer: dict[str, list[Any]] = self.engine.fetch(expression).to_pydict()
        return answer

    def _needs_group(self) -> None:
        if not self.grouped:
            raise Unsupported("a count by group", "no column of groups was named", "give group= to Engine.sequences")


STEP = ("state", "following", "first", "rows")


def _placed(size: int, places: list[int], values: list[int]) -> IntArray:
    array = np.zeros(size, dtype=np.int64)
    array[places] = values
    return array


def _sorted(values: Iterable[Any]) -> tuple[Any, ...]:
    return tuple(sorted(values))


def _lengths(pairs: Iterable[tuple[int, int]]) -> Lengths:
    ordered = sorted(pairs)
    return Lengths([length for length, _ in ordered], [people for _, people in ordered])


def _too_many(what: str, most: int, hint: str) -> InvalidParameter:
    return InvalidParameter(what, f"more than {most}", f"at most {most}", hint)
