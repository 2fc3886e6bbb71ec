"""One scan of the data: the cells of the plan, counted and summed in whole numbers, for the rows that are used.

Of each person the first m rows are used, in the order of a hash of person and content, then of the content itself: a
complete order, so that what is kept of one person depends on that person's rows alone (theory/release.md, Lemma 2). An
incomplete one lets one person change the kept rows of thousands of others (section 2.3). Cells of all rows are counted
first, and those of the rows that are not used are taken away again: only persons above the bound are ever sorted.

Reference: theory/release.md sections 2.2, 3.1 and 8.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

import attrs
import numpy as np

from quiltwork.data.engines.engine import Engine, calm, ibis, pyarrow
from quiltwork.data.sources import files, opened
from quiltwork.errors import InvalidParameter, QuiltworkError, Unreadable
from quiltwork.release.classes import MOST_CELLS, Classes, IntArray
from quiltwork.release.enforce import Expression, cell_number, declared, identifier, md5, value_text
from quiltwork.release.integers import numbers
from quiltwork.release.untyped import typed
from quiltwork.tables.notions.neighbors import Notion, User
from quiltwork.tables.schema.table import Table
from quiltwork.tables.statistics.price import UNITS, Units
from quiltwork.tables.statistics.statistic import Statistic

LARGE = 2**28  # values up to which rows of a table cannot overflow a sum of 64 bits
Groups = dict[tuple[str, ...], Any]


@contextmanager
def quiet(stage: str) -> Iterator[None]:
    """Errors of an engine quote values: only their kind is told."""
    try:
        with calm():
            yield
    except InvalidParameter as error:
        if error.name == "source" and error.__cause__ is not None:  # in the engine's own words
            raise Unreadable(stage, type(error.__cause__).__name__) from None
        raise
    except QuiltworkError:
        raise
    except Exception as error:
        raise Unreadable(stage, type(error).__name__) from None


@attrs.frozen(eq=False)
class Batch:
    """Statistics that are answered from the same cells."""

    statistics: tuple[Statistic, ...]
    classes: Classes
    name: str  # of the column with the numbers of cells


def batches(table: Table, statistics: Sequence[Statistic]) -> list[Batch]:
    """Statistics together as long as their cells are few; those on the same columns first."""
    every = _classes(table, statistics)
    if every.cells <= MOST_CELLS:
        return [Batch(tuple(statistics), every, "cell0")]
    found: list[tuple[list[Statistic], Classes]] = []
    for one in sorted(statistics, key=lambda s: sorted(s.reads())):
        for place, (members, _) in enumerate(found):
            both = _classes(table, [*members, one])
            if both.cells <= MOST_CELLS:
                found[place] = ([*members, one], both)
                break
        else:
            found.append(([one], _numbered(_classes(table, [one]))))
    return [Batch(tuple(members), classes, f"cell{i}") for i, (members, classes) in enumerate(found)]


def _classes(table: Table, statistics: Sequence[Statistic]) -> Classes:
    return Classes.of(table, [where for one in statistics for where in one.groups(table).values()])


def _numbered(made: Classes) -> Classes:
    """Refused where cells cannot be numbered in 64 bits."""
    if made.cells > 2**62:
        raise InvalidParameter("by", made.cells, "fewer combinations of groups", "group by fewer columns")
    return made


# ---- the rows that are used


@attrs.frozen(eq=False)
class Rows:
    """Declared rows as whole numbers, and those of them that are not used, if any."""

    engine: Engine
    every: Expression
    dropped: Expression | None
    kept: Expression
    sums: dict[str, tuple[str, ...]]  # columns with the integers of sums, by statistic
    bins: dict[str, str]  # with candidates of a quantile, or keys


def columns_of(neighbors: Notion, statistics: Sequence[Statistic]) -> frozenset[str]:
    """The columns that are read: those of the statistics, and those by which the rows of a person are cut."""
    read = frozenset().union(*(one.reads() for one in statistics))
    return read | {neighbors.id, *dict(neighbors.max_per)} if isinstance(neighbors, User) else read


def inspect(engine: Engine, source: Any, table: Table, neighbors: Notion, statistics: Sequence[Statistic]) -> None:
    """Refuse a source that is not there, lacks a column or has one of a wrong type: no row is counted for that."""
    names = columns_of(neighbors, statistics)
    with quiet("opening the data"):
        declared(engine, _raw(engine, source, table, names), table, names, neighbors)


def read_through(engine: Engine, source: Any, table: Table, neighbors: Notion, statistics: Sequence[Statistic]) -> None:
    """Refuse files that are damaged inside: every value that will be used is read once, and nothing is told of it.

    Whether a file can be read is a matter of the file and not of the rows in it: tables that differ in one person are
    both written without damage.
    """
    names = columns_of(neighbors, statistics)
    with quiet("reading the data through"):
        if not isinstance(_named(engine, source), (str, os.PathLike, list, tuple)):
            return  # it is in memory, or the engine's own
        engine.distrust_statistics()
        raw = _raw(engine, source, table, names)
        read = sorted(names) or raw.columns[:1]
        engine.fetch(raw.aggregate(**{f"last{place}": raw[name].max() for place, name in enumerate(read)}))


def _raw(engine: Engine, source: Any, table: Table, names: frozenset[str]) -> Expression:
    """The raw rows. Of a text file without such a column its names are not told: the first line may be a person."""
    wanted = sorted(names) or list(table.columns)[:1]
    source = _named(engine, source)
    try:
        return opened(engine, typed(source, table, wanted), wanted, narrow=False)[0]
    except InvalidParameter as error:
        if error.name != "column" or not isinstance(source, (str, os.PathLike, list, tuple)):
            raise
        if files(source)[0] != "csv":
            raise
        hint = "see that the first line of the file holds the names of its columns"
        raise InvalidParameter("column", error.given, error.allowed, hint) from None


def _named(engine: Engine, source: Any) -> Any:
    """The table of the engine's database that has this name; every other source as it is."""
    if not isinstance(source, str) or not source.isidentifier():
        return source
    with suppress(ibis().common.exceptions.TableNotFound):
        return engine.table(source)
    return source


@attrs.define(eq=False)
class _Coded:
    """Names of the columns that rows are turned into."""

    sums: dict[str, tuple[str, ...]]
    bins: dict[str, str]
    content: list[str]


def rows_of(
    engine: Engine, source: Any, table: Table, neighbors: Notion, statistics: Sequence[Statistic], groups: list[Batch]
) -> Rows:
    """Enforce what was declared, and cut the rows of persons above the contribution bound."""
    limits = dict(neighbors.max_per) if isinstance(neighbors, User) else {}
    person = neighbors.id if isinstance(neighbors, User) else None
    names = columns_of(neighbors, statistics)
    raw = _raw(engine, source, table, names)
    found = _Coded({}, {}, [])

    def coded(part: Expression) -> Expression:
        rows = declared(engine, part, table, names, neighbors)
        values = {batch.name: cell_number(rows, batch.classes, table) for batch in groups}
        found.sums, found.bins = numbers(engine, rows, table, statistics, values)
        values |= {f"id_{one.of}": rows[one.of] for one in statistics if one.verb == "distinct" and one.of != person}
        values |= {f"cap_{column}": value_text(rows[column]) for column in limits}
        found.content = list(values)
        return rows.select(**values, **({} if person is None else {"person": rows[person]}))

    every = coded(raw)
    if person is None or not isinstance(neighbors, User) or (math.isinf(neighbors.max_records) and not limits):
        return Rows(engine, every, None, every, found.sums, found.bins)

    def of_persons(heavy: Expression) -> Expression:
        """The rows of these persons alone, chosen before anything else is worked out about them."""
        return coded(raw.semi_join(heavy, [(identifier(raw[person]), heavy.person)]))

    few = _above(engine, raw, person, every, neighbors, limits)
    dropped, kept = _cut(engine, every, of_persons(few), few, found.content, neighbors, limits)
    return Rows(engine, every, dropped, kept, found.sums, found.bins)


def _above(
    engine: Engine, raw: Expression, person: str, every: Expression, neighbors: User, limits: dict[str, int]
) -> Expression:
    """Persons with more rows than are used, and maybe some with fewer usable ones: the column of persons tells."""
    over = []
    if not math.isinf(neighbors.max_records):
        ids = raw.select(person=identifier(raw[person]))
        each = ids.filter(ids.person.notnull()).group_by("person").aggregate(n=lambda t: t.count())
        over.append(each.filter(each.n > int(neighbors.max_records))[["person"]])
    for column, cap in limits.items():
        each = every.group_by(["person", f"cap_{column}"]).aggregate(n=lambda t: t.count())
        over.append(each.filter(each.n > cap)[["person"]].distinct())
    return engine.kept(over[0] if len(over) == 1 else ibis().union(*over, distinct=True))


def _cut(
    engine: Engine,
    every: Expression,
    many: Expression,
    heavy: Expression,
    content: list[str],
    neighbors: User,
    limits: dict[str, int],
) -> tuple[Expression, Expression]:
    """Keep at most so many rows of a person, for each value of a capped column first, then in all.

    The rows that are not used, and all those that are.
    """
    copied = many.mutate(copy=ibis().row_number().over(group_by=["person", *content], order_by=content))
    texts = [copied[name].cast("string").fill_null("") for name in ("person", *content, "copy")]
    copied = copied.mutate(place=md5()(ibis().literal("/").join(texts)))
    order = ["place", *content, "copy"]
    ranked = copied.mutate(used=ibis().literal(True))
    for column, cap in limits.items():
        within = ibis().row_number().over(group_by=["person", "used", f"cap_{column}"], order_by=order)
        ranked = ranked.mutate(used=ranked.used & (within < cap))
    if not math.isinf(neighbors.max_records):
        within = ibis().row_number().over(group_by=["person", "used"] if limits else "person", order_by=order)
        ranked = ranked.mutate(used=ranked.used & (within < int(neighbors.max_records)))
    kinds = every.schema()
    ranked = engine.kept(ranked.select("person", *content, "used"))
    ranked = ranked.cast({name: kinds[name] for name in ("person", *content)})  # a kept 0 may be a smaller integer
    kept = ibis().union(
        every.anti_join(heavy, "person").select("person", *content), ranked.filter(ranked.used).drop("used")
    )
    return ranked.filter(~ranked.used), kept


# ---- what is counted


@attrs.frozen(eq=False)
class Totals:
    """Exact answers for the groups of one statistic, before any noise: never shown, never stored."""

    statistic: Statistic
    labels: tuple[tuple[str, ...], ...]
    count: list[int]
    sum: list[int]
    histograms: list[dict[Any, int]]  # of quantiles and keys
    squares: list[int] = attrs.field(factory=list)  # of a variance, whose sum is that of (1 - t)^2


def totals(
    engine: Engine, source: Any, table: Table, neighbors: Notion, statistics: Sequence[Statistic],
    told: Callable[[int, int], None],
) -> dict[str, Totals]:  # fmt: skip
    """The exact answers of all statistics."""
    groups = batches(table, statistics)
    with quiet("opening the data"):
        engine.distrust_statistics()
        rows = rows_of(engine, source, table, neighbors, statistics, groups)
    found: dict[str, Totals] = {}
    for number, batch in enumerate(groups):
        told(number, len(groups))
        with quiet("counting"):
            found |= _batch(rows, table, batch, person=neighbors.id if isinstance(neighbors, User) else None)
    return found


def _batch(rows: Rows, table: Table, batch: Batch, person: str | None) -> dict[str, Totals]:
    sizes = {
        column: UNITS if one.verb == "variance" else Units.of(one, table).farthest
        for one in batch.statistics
        for column in rows.sums.get(one.name, ())
    }
    used = sorted(sizes)
    codes, counts = _cells(rows.engine, rows.every, batch.name, used, sizes)
    if rows.dropped is not None:
        away, less = _cells(rows.engine, rows.dropped, batch.name, used, sizes)
        place = np.searchsorted(codes, away)
        for name, column in less.items():
            counts[name][place] -= column
    cells = batch.classes.spread(codes)
    found = {}
    for one in batch.statistics:
        groups = one.groups(table)
        kept = {labels: cells.kept(where) for labels, where in groups.items()}
        summed = rows.sums.get(one.name, ())
        number = counts[f"n_{summed[0]}"] if summed else counts["n"]
        added = [[int(counts[column][mask].sum()) for mask in kept.values()] for column in summed]
        found[one.name] = Totals(
            one,
            tuple(groups),
            [int(number[mask].sum()) for mask in kept.values()],
            added[0] if added else [],
            _histograms(rows, batch, one, codes, kept, person) if one.verb in ("quantiles", "keys", "distinct") else [],
            *added[1:],
        )
    return found


def _cells(
    engine: Engine, rows: Expression, cell: str, sums: list[str], sizes: dict[str, int]
) -> tuple[IntArray, dict[str, Any]]:
    """Occupied cells in rising order; how many rows each has, and sums of whole numbers, exact in Python's integers."""
    asked: dict[str, Expression] = {"n": rows.count()}
    for name in sums:
        number = rows[name] if sizes[name] <= LARGE else rows[name].cast("decimal(38, 0)")
        asked |= {name: number.sum(), f"n_{name}": rows[name].count()}
    answer = engine.fetch(rows.group_by(cell).aggregate(**asked))
    codes = np.array(answer[cell].to_pylist(), dtype=np.int64)
    order = np.argsort(codes)
    found = {name: np.array([int(v or 0) for v in answer[name].to_pylist()], dtype=object)[order] for name in asked}
    return codes[order], found


def _histograms(
    rows: Rows, batch: Batch, one: Statistic, codes: IntArray, kept: Groups, person: str | None
) -> list[dict[Any, int]]:
    """For every group, how many rows (or persons) there are of each value."""
    counted = _counted(rows, one, person)
    found: list[dict[Any, int]] = [{} for _ in kept]
    masks = list(kept.values())
    overlap = len(masks) > 1 and bool((np.sum(masks, axis=0) > 1).any())
    for chosen_groups in [[i] for i in range(len(masks))] if overlap else [list(range(len(masks)))]:
        part = np.full(codes.size, -1, dtype=np.int64)
        for number in chosen_groups:
            part[masks[number]] = number
        chosen = part >= 0
        if not chosen.any():
            continue
        lookup = rows.engine.arrow(pyarrow().table({batch.name: codes[chosen], "part": part[chosen]}))
        joined = rows.kept.inner_join(lookup, batch.name)
        for number, value, n in _fetched(rows.engine, joined, counted):
            if value is not None:
                found[number][value] = int(n)
    return found


def _counted(rows: Rows, one: Statistic, person: str | None) -> tuple[str | None, str | None]:
    """By which column to group, and whose distinct values to count; rows where there is none."""
    if one.verb == "distinct":
        return None, "person" if one.of == person else f"id_{one.of}"
    return rows.bins[one.name], "person" if one.verb == "keys" and person is not None else None


def _fetched(
    engine: Engine, rows: Expression, counted: tuple[str | None, str | None]
) -> Iterator[tuple[int, Any, int]]:
    value, whose = counted
    by = ["part"] if value is None else ["part", value]
    asked = rows.group_by(by).aggregate(n=rows.count() if whose is None else rows[whose].nunique())
    answer = engine.fetch(asked)
    values = [""] * answer.num_rows if value is None else answer[value].to_pylist()
    return zip(answer["part"].to_pylist(), values, answer["n"].to_pylist(), strict=True)
