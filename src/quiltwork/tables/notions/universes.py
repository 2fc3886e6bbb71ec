"""Small universes of databases, and who is a neighbour of whom.

A database is a tuple of records, a neighbour relation a plain function of two databases. Where the order has no meaning
(multisets, graphs), use the tuples that `multisets` and `graphs` write: two spellings of one multiset count as two
databases.

Reference: seed 001 section II, and section III for other granularities than a record.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Callable, Hashable, Iterable
from typing import Any

from quiltwork import checks
from quiltwork.errors import InvalidParameter

__all__ = [
    "add_remove",
    "edge",
    "entry",
    "free_lunch",
    "graphs",
    "hamming",
    "insert_delete",
    "multisets",
    "node",
    "replace_one",
    "sequences",
    "symmetric_difference",
    "user",
]

Database = tuple[Any, ...]
Relation = Callable[[Any, Any], bool]

MOST_LISTED = 2**16  # databases in one universe
MOST_RECORDS = 2**8  # records in one database
MOST_NODES = 6  # 2^15 graphs


# ---- universes


def multisets(values: Iterable[Hashable], most: int, least: int = 0) -> list[Database]:
    """Every multiset of `least` to `most` records, written as a tuple in the order of `values`.

    >>> multisets("ab", 2)
    [(), ('a',), ('b',), ('a', 'a'), ('a', 'b'), ('b', 'b')]
    """
    kinds, least, most = _kinds(values), *_sizes(least, most)
    _few(math.comb(len(kinds) + size - 1, size) if size else 1 for size in range(least, most + 1))
    return [one for size in range(least, most + 1) for one in itertools.combinations_with_replacement(kinds, size)]


def sequences(values: Iterable[Hashable], most: int, least: int = 0) -> list[Database]:
    """Every ordered table of `least` to `most` records.

    >>> sequences("ab", 2, 2)
    [('a', 'a'), ('a', 'b'), ('b', 'a'), ('b', 'b')]
    """
    kinds, least, most = _kinds(values), *_sizes(least, most)
    _few(len(kinds) ** size for size in range(least, most + 1))
    return [one for size in range(least, most + 1) for one in itertools.product(kinds, repeat=size)]


def graphs(nodes: int, max_degree: int | None = None) -> list[Database]:
    """Every simple graph on the nodes 0, 1, ..., as a tuple of edges (i, j) with i < j.

    >>> len(graphs(3)), graphs(3, max_degree=1)
    (8, [(), ((1, 2),), ((0, 2),), ((0, 1),)])
    """
    if checks.count("nodes", nodes) > MOST_NODES:
        raise InvalidParameter("nodes", nodes, f"an integer from 0 to {MOST_NODES}", "all their graphs are listed")
    edges = list(itertools.combinations(range(nodes), 2))
    most = MOST_NODES if max_degree is None else checks.count("max_degree", max_degree)
    chosen = (tuple(itertools.compress(edges, bits)) for bits in itertools.product((0, 1), repeat=len(edges)))
    return [graph for graph in chosen if max(Counter(itertools.chain(*graph)).values(), default=0) <= most]


def _kinds(values: Iterable[Hashable]) -> list[Hashable]:
    kinds = list(values)
    if len(set(kinds)) < len(kinds):
        raise InvalidParameter("values", kinds, "distinct", "a multiset repeats them by itself")
    return kinds


def _sizes(least: int, most: int) -> tuple[int, int]:
    if checks.count("most", most) > MOST_RECORDS:
        raise InvalidParameter("most", most, f"an integer from 0 to {MOST_RECORDS}", "all databases are listed")
    if checks.count("least", least) > most:
        raise InvalidParameter("least", least, f"an integer from 0 to {most}", "nothing lies between")
    return least, most


def _few(counts: Iterable[int]) -> None:
    """Refuse before anything is listed, and without summing a hopeless request to its end."""
    if any(total > MOST_LISTED for total in itertools.accumulate(counts)):
        raise InvalidParameter("universe", "more", f"at most {MOST_LISTED} databases", "take fewer values or records")


# ---- neighbours: plain functions of two databases


def symmetric_difference(first: Database, second: Database) -> int:
    """How many records one multiset has and the other has not, counted both ways.

    >>> symmetric_difference(("a", "a", "b"), ("a", "c"))
    3
    """
    one, two = Counter(first), Counter(second)
    return (one - two).total() + (two - one).total()


def add_remove(first: Database, second: Database) -> bool:
    """One record more or less: the unbounded notion of seed 001, Definition II.3."""
    return symmetric_difference(first, second) == 1


def replace_one(first: Database, second: Database) -> bool:
    """One record has another value: the bounded notion of seed 001, Definition II.4."""
    return len(first) == len(second) and symmetric_difference(first, second) == 2


def free_lunch(first: Database, second: Database) -> bool:
    """Any two different databases."""
    return first != second


def hamming(first: Database, second: Database) -> bool:
    """Ordered tables of one length that differ in exactly one row."""
    return len(first) == len(second) and sum(x != y for x, y in zip(first, second, strict=True)) == 1


def insert_delete(first: Database, second: Database) -> bool:
    """Ordered tables, one row put in or taken out anywhere: the rows after it move."""
    short, long = sorted((first, second), key=len)
    return len(long) == len(short) + 1 and any(long[:i] + long[i + 1 :] == short for i in range(len(long)))


def entry(first: Database, second: Database) -> bool:
    """Ordered tables of tuples that differ in exactly one cell of one row."""
    if [len(row) for row in first] != [len(row) for row in second]:
        return False
    cells = zip(itertools.chain(*first), itertools.chain(*second), strict=True)
    return sum(bool(x != y) for x, y in cells) == 1


def user(first: Database, second: Database) -> bool:
    """Records (user, value): all records of one user, as many as there are, come or go together."""
    one, two = Counter(first), Counter(second)
    gone, new = one - two, two - one
    owners = {_owner(record) for record in gone + new}
    if len(owners) != 1:
        return False
    return not owners & {_owner(record) for record in first} or not owners & {_owner(record) for record in second}


def _owner(record: Any) -> Any:
    if not isinstance(record, tuple) or not record:
        raise InvalidParameter("record", record, "a tuple whose first value names the user")
    return record[0]


def edge(first: Database, second: Database) -> bool:
    """Graphs that differ in one edge."""
    return len(_edges(first) ^ _edges(second)) == 1


def node(first: Database, second: Database) -> bool:
    """Graphs that differ only in edges of one node, which may be rewired at will."""
    changed = _edges(first) ^ _edges(second)
    return bool(changed) and bool(frozenset.intersection(*changed))


def _edges(graph: Database) -> set[frozenset[Any]]:
    return {frozenset(ends) for ends in graph}
