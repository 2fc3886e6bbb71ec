"""How far two given tables are from each other: the canonical metric of a notion of neighbour, d_G(D, D').

It is the least number of steps between neighbours that lead from one table to the other; a mechanism that is epsilon
private for G tells the two apart by at most epsilon d_G(D, D').  Records are compared as multisets, since their order
has no meaning:

    add_remove, edge   records that one table has and the other has not, counted both ways
    replace_one        records that must turn into others, within the groups whose fixed columns stay
    entry, metric      the cheapest way to turn the records of one table into those of the other (an assignment), at one
                       step a cell, or at distance / within
    user               persons who come or go whole; one who stays with other records leaves and comes back
    window             the fewest stretches that hold all records that differ, taken from the first one on
    free_lunch         one step, unless the tables are equal

Infinity means that no number of steps leads there: nothing is promised about such a pair.

Reference: seed 001 Definition III.1, Theorem III.3.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from scipy.optimize import linear_sum_assignment

from quiltwork.errors import InvalidParameter, Unsupported
from quiltwork.numbers.rounding import up
from quiltwork.tables.notions.neighbors import (
    RECORD_STEPS,
    Entry,
    FreeLunch,
    Metric,
    Node,
    Notion,
    ReplaceOne,
    User,
    Window,
)
from quiltwork.tables.schema.table import Table

MOST_MATCHED = 3000  # records that differ, of which every pair is compared

Record = Mapping[str, Any]
Kind = tuple[Hashable, ...]


def distance(table: Table, first: Iterable[Record], second: Iterable[Record], notion: Notion) -> float:
    """The least number of steps of `notion` from one table to the other; infinite where none leads there.

    >>> from quiltwork import tables as t
    >>> visits = t.Table(person=t.Id(), age=t.Int(0, 110))
    >>> before = [dict(person="a", age=30), dict(person="a", age=31), dict(person="b", age=40)]
    >>> after = [dict(person="a", age=30), dict(person="b", age=40), dict(person="b", age=41)]
    >>> [distance(visits, before, after, to) for to in (t.add_remove(), t.replace_one(), t.user("person"), t.entry())]
    [2.0, 1.0, 4.0, 2.0]
    """
    if not isinstance(notion, Notion):
        raise InvalidParameter("notion", notion, "a notion of neighbour such as add_remove()")
    notion.check(table)
    return steps(records(table, "first", first), records(table, "second", second), notion, tuple(table.columns))


def records(table: Table, name: str, given: Iterable[Record]) -> list[dict[str, Any]]:
    """Checked records in plain form; which one is wrong is told, not what it says."""
    found = []
    for place, record in enumerate(given, 1):
        try:
            found.append(table.record(**record))
        except (InvalidParameter, TypeError):
            allowed = "one value of the right kind for each of " + ", ".join(table.columns)
            raise InvalidParameter(f"record {place} of the {name} table", "something else", allowed) from None
    return found


def steps(first: Sequence[Record], second: Sequence[Record], notion: Notion, columns: Sequence[str]) -> float:
    """The same for records that were checked, of which these columns count."""

    def kind(record: Record) -> Kind:
        return tuple(record[column] for column in columns)

    one, two = Counter(map(kind, first)), Counter(map(kind, second))
    gone, new = one - two, two - one
    if not gone and not new:
        return 0.0
    at = {column: place for place, column in enumerate(columns)}
    if isinstance(notion, FreeLunch):
        return 1.0
    if isinstance(notion, RECORD_STEPS):
        return float(gone.total() + new.total())
    if isinstance(notion, User):
        return _persons(one, two, notion, at)
    if isinstance(notion, Window):
        return _stretches(gone + new, notion, at[notion.column])
    if isinstance(notion, Node):
        reason = "which columns hold the ends of an edge is not said, and fewest nodes are a vertex cover"
        raise Unsupported(f"the distance of two tables under {notion}", reason)
    return _changed(gone, new, notion, at)


def _persons(one: Counter[Kind], two: Counter[Kind], notion: User, at: Mapping[str, int]) -> float:
    """A person whose records differ leaves, and comes back with the others."""
    before, after = (_by(table, lambda kind: kind[at[notion.id]]) for table in (one, two))
    if any(_over(held, notion, at) for table in (before, after) for held in table.values()):
        return math.inf  # no such table is allowed for, and no step leads there
    differ = [person for person in before.keys() | after.keys() if before.get(person) != after.get(person)]
    return float(sum((person in before) + (person in after) for person in differ))


def _over(held: Counter[Kind], notion: User, at: Mapping[str, int]) -> bool:
    """Whether a person has more records than the notion speaks of."""
    if held.total() > notion.max_records:
        return True
    for column, cap in notion.max_per:
        each = Counter(kind[at[column]] for kind in held.elements())
        if max(each.values()) > cap:
            return True
    return False


def _stretches(differ: Counter[Kind], notion: Window, place: int) -> float:
    """From the first value on: a stretch that begins later leaves it out, one that begins earlier gains nothing."""
    values: list[Any] = [kind[place] for kind in differ.elements()]
    if any(value is None for value in values):
        return math.inf  # a record without a value lies in no stretch
    found, start, held = 0, -math.inf, math.inf
    for value in sorted(values):
        if value - start >= notion.length or held >= notion.max_records:
            found, start, held = found + 1, value, 0
        held += 1
    return float(found)


def _changed(gone: Counter[Kind], new: Counter[Kind], notion: Notion, at: Mapping[str, int]) -> float:
    """Records that turn into others; those columns that no step changes keep them in groups."""
    if isinstance(notion, ReplaceOne):
        moving = set(at) - notion.fixed
    else:
        moving = set(notion.columns or at) if isinstance(notion, Entry) else set(_metric(notion).distance.columns)
    fixed = [place for column, place in at.items() if column not in moving]
    before, after = (_by(table, lambda kind: tuple(kind[place] for place in fixed)) for table in (gone, new))
    total = 0.0
    for group in before.keys() | after.keys():
        one, two = before.get(group, Counter()), after.get(group, Counter())
        if one.total() != two.total():
            return math.inf
        total = float(up(total + _cheapest(list(one.elements()), list(two.elements()), notion, moving, at)))
    return total if isinstance(notion, Metric) else float(round(total))


def _cheapest(one: list[Kind], two: list[Kind], notion: Notion, moving: set[str], at: Mapping[str, int]) -> float:
    """The least sum of steps over all ways to pair the records."""
    if isinstance(notion, ReplaceOne):
        return float(len(one))
    if len(one) > MOST_MATCHED:
        raise Unsupported(f"{len(one):,} records that differ", f"pairs of at most {MOST_MATCHED:,} are compared")
    if isinstance(notion, Entry):
        cost = np.array([[float(sum(a[at[c]] != b[at[c]] for c in moving)) for b in two] for a in one])
    else:
        metric = _metric(notion)
        named = [[dict(zip(at, kind, strict=True)) for kind in kinds] for kinds in (one, two)]
        if any(record[column] is None for records in named for record in records for column in moving):
            return math.inf
        cost = np.array([[metric.distance.between(a, b) / metric.within for b in named[1]] for a in named[0]])
    rows, chosen = linear_sum_assignment(cost)
    return math.fsum(cost[rows, chosen].tolist())


def _metric(notion: Notion) -> Metric:
    if not isinstance(notion, Metric):
        raise Unsupported(f"the distance of two tables under {notion}", "no rule is known for it")
    return notion


def _by(table: Counter[Kind], key: Callable[[Kind], Hashable]) -> dict[Hashable, Counter[Kind]]:
    """The records in groups."""
    found: dict[Hashable, Counter[Kind]] = defaultdict(Counter)
    for kind, count in table.items():
        found[key(kind)][kind] += count
    return dict(found)
