"""Random plans on tiny tables: conditions, queries, and what each query sees of every table.

Conditions are trees of our own, with a naive three-valued evaluator beside the library's words; inputs are computed
record by record from concrete maps.
"""

from __future__ import annotations

import itertools
from typing import Any

import attrs
import numpy as np
from tests.tables.enumeration import Row, Universe, distances, person_fits, steps

from quiltwork.tables import (
    Cat,
    Id,
    Int,
    Plan,
    SubsetOf,
    Table,
    add_remove,
    clip_rows,
    edge,
    entry,
    euclidean,
    flat_map,
    free_lunch,
    join,
    manhattan,
    metric,
    node,
    on_input,
    on_table,
    opaque,
    replace_one,
    user,
    window,
)

# ---- columns


def values_of(column: Any) -> list[Any]:
    """Every value of a column of the tables drawn here; None is NULL."""
    if isinstance(column, Cat):
        found: list[Any] = list(column.categories)
    elif isinstance(column, Int):
        found = list(range(column.low, column.high + 1))
    elif isinstance(column, SubsetOf):
        sizes = range((column.max_size or len(column.members)) + 1)
        found = [frozenset(c) for size in sizes for c in itertools.combinations(column.members, size)]
    elif isinstance(column, Id):
        found = ["p", "q"]
    else:
        raise TypeError(column)
    return found + ([None] if getattr(column, "nullable", False) else [])


def all_records(table: Table) -> list[Row]:
    columns = [values_of(column) for column in table.columns.values()]
    return [dict(zip(table.columns, values, strict=True)) for values in itertools.product(*columns)]


# ---- conditions


def draw_condition(rng: np.random.Generator, table: Table, depth: int = 2) -> tuple[Any, ...]:
    """A condition as a small tree of our own."""
    if depth and rng.random() < 0.55:
        kind = rng.choice(["and", "or", "not"])
        parts = [draw_condition(rng, table, depth - 1) for _ in range(1 if kind == "not" else 2)]
        return (str(kind), *parts)
    names = [name for name, column in table.columns.items() if not isinstance(column, Id)]
    name = str(rng.choice(names))
    column = table.columns[name]
    if getattr(column, "nullable", False) and rng.random() < 0.25:
        return ("null", name)
    if isinstance(column, SubsetOf):
        return ("has", name, column.members[int(rng.integers(len(column.members)))])
    known = [value for value in values_of(column) if value is not None]
    if isinstance(column, Int) and rng.random() < 0.6:
        low = int(rng.integers(known[0], known[-1] + 1))
        if rng.random() < 0.5:
            return ("between", name, low, int(rng.integers(low + 1, known[-1] + 2)))
        return (str(rng.choice(["<", "<=", ">", ">="])), name, low)
    chosen = [value for value in known if rng.random() < 0.5]
    return ("isin", name, tuple(chosen or known[:1]))


def spoken(tree: tuple[Any, ...], t: Table) -> Any:
    """The same condition in the library's words."""
    kind, rest = tree[0], tree[1:]
    if kind == "and":
        return spoken(rest[0], t) & spoken(rest[1], t)
    if kind == "or":
        return spoken(rest[0], t) | spoken(rest[1], t)
    if kind == "not":
        return ~spoken(rest[0], t)
    column = t[rest[0]]
    return {
        "null": column.is_null,
        "has": lambda: column.has(rest[1]),
        "isin": lambda: column.isin(rest[1]),
        "between": lambda: column.between(rest[1], rest[2]),
        "<": lambda: column < rest[1],
        "<=": lambda: column <= rest[1],
        ">": lambda: column > rest[1],
        ">=": lambda: column >= rest[1],
    }[kind]()


def naive(tree: tuple[Any, ...], record: Row) -> bool | None:
    """Three-valued logic, written out: 1 true, 0 false, one half unknown."""
    kind, rest = tree[0], tree[1:]
    if kind in ("and", "or", "not"):
        scores = [{True: 1.0, False: 0.0, None: 0.5}[naive(part, record)] for part in rest]
        score = min(scores) if kind == "and" else max(scores) if kind == "or" else 1 - scores[0]
        return {1.0: True, 0.0: False, 0.5: None}[score]
    value = record[rest[0]]
    if kind == "null":
        return value is None
    if value is None:
        return None
    if kind == "has":
        return rest[1] in value
    if kind == "isin":
        return value in rest[1]
    if kind == "between":
        return bool(rest[1] <= value < rest[2])
    return bool({"<": value < rest[1], "<=": value <= rest[1], ">": value > rest[1], ">=": value >= rest[1]}[kind])


# ---- queries


@attrs.frozen(eq=False)
class Ask:
    """One query: what it keeps, reads and makes of it, and where its statement holds."""

    kept: np.ndarray  # of the records
    reads: tuple[str, ...] | None
    via: tuple[Any, ...] | None
    holds: Any
    where: Any = None  # the library's condition, None for every record
    adaptive: bool = False
    twin: np.ndarray | None = None  # what an adaptive query keeps after other earlier outputs
    first: bool = False  # whether a clip or a join comes before the condition

    def rows(self, universe: Universe, kept: np.ndarray) -> tuple[list[Row], np.ndarray]:
        """The rows that it can see, and how many of each it sees of every table."""
        last = self.first and self.via is not None and self.via[0] in ("clip", "join")
        counts = universe.counts if last else universe.counts * kept
        rows = universe.rows
        if self.via is not None and self.via[0] in ("clip", "join"):
            group, most, order = self.via[1], self.via[2], self.via[3]
            counts = _first(counts, universe.column(group), most, order)
        counts = counts * kept
        names = tuple(rows[0]) if self.reads is None else self.reads
        seen: list[list[tuple[Any, ...]]] = [[tuple(row[name] for name in names)] for row in rows]
        if self.via is not None and self.via[0] in ("flat_map", "opaque"):
            names, seen = self.via[1], [list(made) for made in self.via[2]]
            if self.via[0] == "flat_map" and self.reads == ():  # only their number
                names, seen = (), [[()] * len(made) for made in seen]
        if self.via is not None and self.via[0] == "join":
            names = (*names, "match")
            seen = [[(*one, j) for one in made for j in range(n)] for made, n in zip(seen, self.via[4], strict=True)]
        different = sorted({row for made in seen for row in made} or {(None,) * len(names)}, key=repr)
        place = {row: i for i, row in enumerate(different)}
        makes = np.zeros((len(rows), len(different)), dtype=np.int64)
        for i, made in enumerate(seen):
            for row in made:
                makes[i, place[row]] += 1
        return [dict(zip(names, row, strict=True)) for row in different], counts @ makes


def _first(counts: np.ndarray, groups: np.ndarray, most: int, order: np.ndarray) -> np.ndarray:
    """At most `most` records for each value of the group, the first ones in a fixed order."""
    kept = np.zeros_like(counts)
    for value in {*groups}:
        places = [i for i in order if groups[i] == value]
        before = np.cumsum(counts[:, places], axis=1)
        kept[:, places] = np.diff(np.minimum(before, most), axis=1, prepend=0)
    return kept


def inputs(ask: Ask, universe: Universe, step: Any, lengths: np.ndarray, kept: np.ndarray) -> tuple[np.ndarray, ...]:
    """For every table the number of its input, and the distances of inputs in the notion of the statement.

    Returns (labels, distances, lengths, sizes): `lengths` are the single steps to which the statement applies and
    `sizes` the counts of rows of each input.
    """
    rows, seen = ask.rows(universe, kept)
    different, labels = np.unique(seen, axis=0, return_inverse=True)
    labels = labels.ravel()
    stated = ask.holds.notion or step
    if not ask.holds.input:
        base = lengths if stated == step else steps(stated, universe)
        size = len(different)
        single = np.full((size, size), np.inf)
        a, b = np.nonzero(np.isfinite(base))
        np.minimum.at(single, (labels[a], labels[b]), base[a, b])
        np.fill_diagonal(single, 0.0)
        return labels, distances(single), single, different
    if stated.kind in ("add_remove", "edge"):
        far = np.abs(different[:, None, :] - different[None, :, :]).sum(axis=2).astype(float)
        return labels, far, np.where(far <= 1, far, np.inf), different
    if stated.kind == "free_lunch":
        apart = 1.0 - np.eye(len(different))
        return labels, apart, apart, different
    every = Universe.of(rows, range(int(different.sum(axis=1).max()) + 1))
    single = steps(stated, every)
    place = {tuple(row): i for i, row in enumerate(every.counts.tolist())}
    at = np.array([place[tuple(row)] for row in different.tolist()])
    return at[labels], distances(single), single, every.counts


# ---- drawing plans


@attrs.frozen(eq=False)
class Setting:
    """A table, a notion and queries, with all tables and the lengths of all steps."""

    table: Table
    notion: Any
    asks: tuple[Ask, ...]
    universe: Universe
    lengths: np.ndarray

    def pairs(self) -> tuple[np.ndarray, np.ndarray]:
        """Neighbours, in both orders."""
        near = self.lengths <= 1 + 1e-12
        np.fill_diagonal(near, False)
        return np.nonzero(near)

    def plan(self, losses: list[Any]) -> Plan:
        found = Plan(self.table, neighbors=self.notion)
        for i, (ask, loss) in enumerate(zip(self.asks, losses, strict=True)):
            via = None
            if ask.via is not None:
                kind = ask.via[0]
                via = {
                    "flat_map": lambda v=ask.via: flat_map("rows", max_out=v[3]),
                    "clip": lambda v=ask.via, first=ask.first: clip_rows(v[1], v[2], first=first),
                    "join": lambda v=ask.via, first=ask.first: join(truncate=(v[2], v[5]), first=first),
                    "opaque": lambda: None,
                }[kind]()
            found.add(
                f"query {i}", loss=loss, holds=ask.holds, where=ask.where, reads=ask.reads, via=via,
                adaptive=ask.adaptive,
            )  # fmt: skip
        return found


NOTIONS = (
    "add_remove", "replace_one", "replace_one fixed", "user", "user max_per", "entry", "window", "window max_records",
    "edge", "node", "node rewire", "node counted", "free_lunch", "metric",
)  # fmt: skip


def draw_table(rng: np.random.Generator, name: str) -> Table:
    """Two or three tiny columns with what the notion needs."""
    null = bool(rng.random() < 0.3)
    if name in ("edge", "node", "node rewire", "node counted"):
        return Table(u=Int(0, 2), v=Int(0, 2), label=Cat("x", "y"))
    if name.startswith("user") and rng.random() < 0.25:
        return Table(a=Cat("x", "y"), person=Id(), house=Id())
    if name.startswith("user"):
        return Table(a=Cat("x", "y", nullable=null), day=Int(0, 1 if null else 2), person=Id())
    person = {"person": Id()} if rng.random() < 0.25 else {}
    if name.startswith("window") or name == "metric":
        return Table(day=Int(0, 2 if person else 3, nullable=null and not person), a=Cat("x", "y"), **person)
    if person:
        return Table(a=Cat("x", "y", nullable=null), b=Int(0, 1), **person)
    if rng.random() < 0.35:
        return Table(a=Cat("x", "y", nullable=False), tags=SubsetOf(range(3 if null else 2), max_size=2 - null))
    return Table(a=Cat("x", "y", nullable=null), b=Int(0, 2))


def draw_notion(rng: np.random.Generator, name: str, table: Table) -> Any:
    names = list(table.columns)
    simple = {"add_remove": add_remove, "replace_one": replace_one, "edge": edge, "free_lunch": free_lunch}
    if name in simple:
        return simple[name]()
    if name == "replace_one fixed":
        return replace_one(fixed=[str(rng.choice(names))])
    if name == "user":
        return user("person", int(rng.integers(1, 4)))
    if name == "user max_per":
        column = str(rng.choice([c for c in ("a", "day") if c in names]))
        return user("person", 3 if rng.random() < 0.5 else None, {column: 1})
    if name == "entry":
        return entry(*([] if rng.random() < 0.5 else [str(rng.choice(names))]))
    if name == "window":
        return window("day", int(rng.integers(1, 4)))
    if name == "window max_records":
        return window("day", int(rng.integers(1, 4)), int(rng.integers(1, 3)))
    if name == "metric":
        made = manhattan("day") if rng.random() < 0.5 else euclidean("day")
        return metric(made, "days", within=float(rng.choice([1.0, 2.0, 1.5])))
    degree = int(rng.integers(1, 3))
    return node(degree, rewire=name != "node", nodes=3 if name == "node counted" else None)


def draw_setting(rng: np.random.Generator, name: str, queries: int | None = None) -> Setting:
    """A random plan of one to four queries."""
    table = draw_table(rng, name)
    notion = draw_notion(rng, name, table)
    records = all_records(table)
    if "u" in table.columns:
        records = [record for record in records if record["u"] < record["v"]]
    size = 2 if name == "free_lunch" else 3
    sizes = range(size, size + 1) if name == "free_lunch" and rng.random() < 0.3 else range(size + 1)
    if name == "free_lunch":
        table = table.rows(sizes[0], sizes[-1])
    universe = Universe.of(records, sizes)
    if "u" in table.columns:  # at most one edge between two nodes
        ends = [(r["u"], r["v"]) for r in records]
        doubled = [universe.counts[:, [e == end for e in ends]].sum(axis=1) > 1 for end in set(ends)]
        universe = universe.where(~np.any(doubled, axis=0))
    count = int(rng.integers(1, 5)) if queries is None else queries
    asks = tuple(draw_ask(rng, table, notion, records) for _ in range(count))
    for said in (notion, *(ask.holds.notion for ask in asks)):
        if said is not None and said.kind == "user":  # what is assumed of every person
            owners = universe.column(said.id)
            fits = [person_fits(universe, owners == owner, said) for owner in set(owners)]
            universe = universe.where(np.all(fits, axis=0))
    return Setting(table, notion, asks, universe, steps(notion, universe))


def draw_ask(rng: np.random.Generator, table: Table, notion: Any, records: list[Row]) -> Ask:
    where, kept = None, np.ones(len(records), dtype=bool)
    if rng.random() < 0.85:
        tree = draw_condition(rng, table)
        where = spoken(tree, table)
        kept = np.array([naive(tree, record) is True for record in records])
    names = list(table.columns)
    draw = rng.random()
    reads = None if draw < 0.35 else () if draw < 0.6 else tuple(n for n in names if rng.random() < 0.5)
    via = draw_via(rng, table, records) if rng.random() < 0.25 else None
    if via is not None and via[0] == "opaque":
        where, kept = opaque("rows", stability=via[3]), np.ones(len(records), dtype=bool)
    if via is not None and via[0] != "opaque" and rng.random() < 0.5:
        reads = None
    adaptive, twin = False, None
    if via is None and rng.random() < 0.1:
        tree = draw_condition(rng, table)
        adaptive, twin = True, np.array([naive(tree, record) is True for record in records])
    if via is not None and via[0] == "flat_map" and reads:
        reads, via = _looking_at(reads, via, records)
    holds = draw_holds(rng, table, notion, reads, via)
    first = via is not None and via[0] in ("clip", "join") and bool(rng.random() < 0.4)
    return Ask(kept, reads, via, holds, where, adaptive, twin, first)


def _looking_at(reads: tuple[str, ...], via: tuple[Any, ...], records: list[Row]) -> tuple[Any, ...]:
    """A map that makes the same rows of records which agree in the columns that it looks at."""
    kind, names, made, most = via
    reads = tuple(dict.fromkeys((*reads, *(name for name in names if name in records[0]))))
    alike: dict[tuple[Any, ...], Any] = {}
    for record, rows in zip(records, made, strict=True):
        alike.setdefault(tuple(record[name] for name in reads), rows)
    return reads, (kind, names, [alike[tuple(record[name] for name in reads)] for record in records], most)


def draw_via(rng: np.random.Generator, table: Table, records: list[Row]) -> tuple[Any, ...]:
    order = rng.permutation(len(records))
    people = [name for name, column in table.columns.items() if isinstance(column, Id)]
    kind = str(rng.choice(["flat_map", "opaque", "join", *(["clip", "clip", "clip"] if people else [])]))
    if kind == "clip":
        return ("clip", str(rng.choice(people)), int(rng.integers(1, 3)), order)
    if kind == "join":
        other = int(rng.integers(1, 3))
        matches = rng.integers(0, other + 1, len(records))
        return ("join", str(rng.choice(list(table.columns))), int(rng.integers(1, 3)), order, matches, other)
    most = int(rng.integers(1, 3))
    made = [[int(r) for r in rng.integers(0, 2, rng.integers(0, most + 1))] for _ in records]
    if people:  # rows still say whose they are
        owned = [[(record[people[0]], row) for row in rows] for record, rows in zip(records, made, strict=True)]
        return (kind, (people[0], "row"), owned, most)
    return (kind, ("row",), [[(row,) for row in rows] for rows in made], most)


def draw_holds(rng: np.random.Generator, table: Table, notion: Any, reads: Any, via: Any) -> Any:
    """A statement that speaks of columns the input has; most are finite, some are not."""
    single = edge() if "u" in table.columns else add_remove()
    seen = set(table.columns) if reads is None else set(reads)
    if via is not None and via[0] in ("flat_map", "opaque"):
        seen = set() if via[0] == "flat_map" and reads == () else set(via[1])
    people = [name for name, column in table.columns.items() if isinstance(column, Id)]
    if table.fixed_size and table.least:  # statements about records that come and go say nothing of such tables
        return [on_table, on_input(add_remove()), on_table(replace_one()), on_table(entry())][int(rng.integers(4))]
    choices = (
        [on_input(single)] * 4 + [on_table] * 3 + [on_table(single), on_input(free_lunch()), on_table(free_lunch())]
    )
    if via is None:
        choices += [on_input(replace_one()), on_input(entry()), on_table(replace_one()), on_table(entry())]
    if people:
        most = int(rng.integers(1, 4))
        if notion.kind == "user":
            most = int(min(notion.max_records, 3))
        choices += [on_table(user(people[0], most))]
        if people[0] in seen and (via is None or via[0] != "join"):
            choices += [on_input(user(people[0], most))] * 2
    if "day" in table.columns and isinstance(table.columns["day"], Int):
        limit = None if rng.random() < 0.5 else int(rng.integers(1, 3))
        near = window("day", int(rng.integers(1, 4)), limit)
        choices += [on_table(near)]
        if "day" in seen and via is None:
            choices += [on_input(near)] * (1 + 5 * (notion.kind == "window"))
        if notion.kind == "window":
            choices += [on_table] * 5
    if notion.kind == "node":
        choices += [on_table(node(int(rng.integers(1, 3)), rewire=bool(rng.random() < 0.5)))]
    if notion.kind == "metric" and "day" in seen and via is None:
        choices += [on_input(metric(notion.distance, "days", within=float(rng.choice([1.0, 2.0, 0.5]))))] * 4
    return choices[int(rng.integers(len(choices)))]
