"""Spaces of databases: a class, who is a neighbour in it, and the distances that follow.

Everything is listed and counted. The canonical metric is the least number of steps between neighbours that stay inside
the class; infinity is a legal distance. For tests, for examples, and to look at a definition before believing it: a
plan of queries never lists tables.

A database is a tuple of records, a neighbour relation a plain function of two databases. Where the order has no meaning
(multisets, graphs), use the tuples that `multisets` and `graphs` write: two spellings of one multiset count as two
databases.

Reference: seed 001 sections II to IV; theory/granularity.md sections 1 and 3.5.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Callable, Hashable, Iterable
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any

import attrs
import numpy as np

from quiltwork import checks
from quiltwork.checks import FloatArray
from quiltwork.errors import InvalidParameter
from quiltwork.numbers.stated import double_above

Database = tuple[Any, ...]
Relation = Callable[[Any, Any], bool]

MOST_LISTED = 2**16  # databases in one universe
MOST_RECORDS = 2**8  # records in one database
MOST_NODES = 6  # 2^15 graphs
MOST_COMPARED = 2**12  # databases in one space: every pair is looked at
ROUNDING = 1e-9  # how far, relatively, a sum of given distances may miss the triangle inequality by rounding


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


# ---- spaces


def _listed(databases: Iterable[Hashable]) -> tuple[Any, ...]:
    found = tuple(databases)
    allowed = f"1 to {MOST_COMPARED} distinct databases"
    if not 1 <= len(found) <= MOST_COMPARED:
        raise InvalidParameter("databases", len(found), allowed, "every pair is compared")
    if len(set(found)) < len(found):
        raise InvalidParameter("databases", "a repeated one", allowed, "a class holds each database once")
    return found


def _square(distances: Any) -> FloatArray:
    """Distances without the triangle inequality, which d^f does not have."""
    allowed = "a square array of numbers >= 0 (inf is legal), symmetric, 0 on the diagonal"
    found = checks.numbers("distances", distances, allowed, 0.0, math.inf)
    if found.ndim != 2 or found.shape[0] != found.shape[1]:
        raise InvalidParameter("distances", found.shape, allowed)
    if np.any(np.diagonal(found)) or not np.array_equal(found, found.T):
        raise InvalidParameter("distances", distances, allowed)
    return found


def _pseudometric(distances: Any) -> FloatArray:
    found = _square(distances).copy()
    if np.any(found > _shortest(found) * (1 + ROUNDING)):
        hint = "no way round may be shorter; `closure` with one label each takes the shortest"
        raise InvalidParameter("distances", distances, "within the triangle inequality", hint)
    found.flags.writeable = False
    return found


def _shortest(distances: FloatArray) -> FloatArray:
    """Lengths of the shortest chains."""
    found = distances.copy()
    for through in range(len(found)):
        np.minimum(found, np.add.outer(found[:, through], found[through]), out=found)
    return found


@attrs.frozen(eq=False)
class _Placed:
    """Databases that are listed, with distances between them."""

    databases: tuple[Any, ...] = attrs.field(converter=_listed)
    if TYPE_CHECKING:

        @property
        def distances(self) -> FloatArray: ...

    @cached_property
    def _places(self) -> dict[Any, int]:
        return {database: i for i, database in enumerate(self.databases)}

    @property
    def connected(self) -> bool:
        """Whether all distances are finite. Across components nothing is promised (seed 001 Example III.4)."""
        return bool(np.all(np.isfinite(self.distances)))

    def place(self, database: Hashable) -> int:
        """Where a database stands in `databases`."""
        try:
            return self._places[database]
        except (KeyError, TypeError):
            raise InvalidParameter("database", database, "a database of the space") from None


@attrs.frozen(eq=False)
class Space(_Placed):
    """A class of databases with a neighbour relation and its canonical metric.

    d(D, D') is the least number of neighbour steps from D to D' inside the class, infinity when there is no path.
    It is not the restriction of the metric of a larger class: with fewer databases there are fewer paths.

    Reference: seed 001 Definition III.1, Theorem III.3 (epsilon-DP for neighbours is the same as epsilon d-privacy).

    >>> space = Space(multisets("ab", 2), replace_one)
    >>> float(space.distances.max()), space.connected, len(space.neighbours)
    (inf, False, 6)
    """

    relation: Relation = attrs.field()

    @relation.validator
    def _callable(self, _: Any, given: Any) -> None:
        if not callable(given):
            raise InvalidParameter(
                "relation", given, "a function of two databases that says whether they are neighbours"
            )

    @cached_property
    def neighbours(self) -> tuple[tuple[int, int], ...]:
        """Ordered pairs of positions of neighbours; each pair is there in both orders, as divergences have two."""
        found: list[tuple[int, int]] = []
        for (i, first), (j, second) in itertools.combinations(enumerate(self.databases), 2):
            close = bool(self.relation(first, second))
            if close != bool(self.relation(second, first)):
                raise InvalidParameter("relation", (first, second), "symmetric", "to be a neighbour has no direction")
            if close:
                found += [(i, j), (j, i)]
        return tuple(sorted(found))

    @cached_property
    def distances(self) -> FloatArray:
        """The canonical metric, by breadth-first search from all databases at once."""
        count = len(self.databases)
        steps = np.zeros((count, count), dtype=np.float32)
        if self.neighbours:
            steps[tuple(np.transpose(self.neighbours))] = 1.0
        found = np.full((count, count), np.inf)
        front, distance = np.eye(count, dtype=bool), 0
        while front.any():
            found[front] = distance
            front = (front.astype(np.float32) @ steps > 0) & np.isinf(found)
            distance += 1
        found.flags.writeable = False
        return found


@attrs.frozen(eq=False)
class MetricSpace(_Placed):
    """A class of databases with distances given by hand: an extended pseudometric, where 0 and infinity are legal.

    Reference: seed 001 section III (privacy spaces).

    >>> MetricSpace(("here", "there"), [[0, 2.5], [2.5, 0]]).connected
    True
    """

    distances: FloatArray = attrs.field(converter=_pseudometric)

    def __attrs_post_init__(self) -> None:
        if len(self.distances) != len(self.databases):
            raise InvalidParameter("distances", self.distances.shape, "one row and column for each database")


# ---- from one space to another


def conversion(first: Space | MetricSpace, second: Space) -> float:
    """How many steps of the first notion one step of the second may need: dist(G1, G2).

    dist(G1, G2) = max of d^G1(D, D') over D ~ D' by G2. A G1 epsilon-DP mechanism is G2 (dist * epsilon)-DP. It is inf
    when the first notion does not reach that far, and 0 when the second knows no neighbours and so protects nothing.

    Reference: seed 001 section III-A. It is the sensitivity of the identity from the second space to the first; the
    paper prints the opposite order.

    >>> tables = multisets("abc", 3)
    >>> unbounded, bounded = Space(tables, add_remove), Space(tables, replace_one)
    >>> conversion(unbounded, bounded), conversion(bounded, unbounded)
    (2.0, inf)
    """
    if set(first.databases) != set(second.databases):
        raise InvalidParameter("second", len(second.databases), "a space over the same databases as the first")
    places = [first.place(database) for database in second.databases]
    return max((float(first.distances[places[i], places[j]]) for i, j in second.neighbours), default=0.0)


def sensitivity(function: Callable[[Any], Hashable], source: Space | MetricSpace, target: Space | MetricSpace) -> float:
    """How much a map may stretch distances.

    The smallest L with d2(f(D), f(D')) <= L d1(D, D') for all pairs with d1(D, D') finite. For canonical metrics
    neighbours decide. Pairs at infinite distance do not count, so that L = 0 promises nothing across components: read
    0 * inf as inf, as `stability_product` does. A distance of 0 that grows at all makes L infinite.

    Reference: seed 001 Definition III.5 and Propositions III.6, III.8; theory/granularity.md section 1.

    >>> tables = Space(multisets("ab", 2), add_remove)
    >>> sensitivity(lambda table: tuple("a" for x in table if x == "a"), tables, tables)
    1.0
    """
    image = [target.place(function(database)) for database in source.databases]
    before, after = source.distances, target.distances[np.ix_(image, image)]
    counted = np.isfinite(before) & (after > 0)
    if np.any(counted & (before == 0)):
        return math.inf
    with np.errstate(over="ignore"):
        return float(np.max(after[counted] / before[counted], initial=0.0))


def stability_product(first: float, second: float) -> float:
    """The product of two sensitivities, with 0 * inf = inf, rounded up.

    An infinite sensitivity says nothing, and 0 speaks of connected pairs alone: together they bound nothing. With
    0 * inf = 0 Proposition III.8 is false on two points.

    Reference: theory/granularity.md sections 0 and 1.

    >>> stability_product(2, 3), stability_product(0, float("inf"))
    (6.0, inf)
    """
    allowed = "a number >= 0 (inf is legal)"
    one = float(checks.numbers("first", first, allowed, 0.0, math.inf))
    two = float(checks.numbers("second", second, allowed, 0.0, math.inf))
    product = one * two
    if math.isinf(one) or math.isinf(two) or math.isinf(product):
        return math.inf
    return double_above(Fraction(one) * Fraction(two))


def quotient(distances: Any, labels: Iterable[Hashable]) -> FloatArray:
    """Distances as seen through a map f: the minimum over all databases with the same labels.

    d^f(D, D') = min of d(E, E') over f(E) = f(D), f(E') = f(D'). It bounds every mechanism that depends on f alone, and
    has no triangle inequality.

    Reference: seed 001 Proposition IV.10.

    >>> line = [[0, 1, 2], [1, 0, 1], [2, 1, 0]]
    >>> quotient(line, "aab").tolist()
    [[0.0, 0.0, 1.0], [0.0, 0.0, 1.0], [1.0, 1.0, 0.0]]
    """
    least, classes = _between(distances, labels)
    return least[np.ix_(classes, classes)]


def closure(distances: Any, labels: Iterable[Hashable]) -> FloatArray:
    """Shortest chains of `quotient`: the largest pseudometric below d^f.

    Sound for pure, zero-concentrated and Gaussian privacy, whose distances obey the triangle inequality, and attained.

    Reference: theory/granularity.md section 3.5.
    """
    least, classes = _between(distances, labels)
    return _shortest(least)[np.ix_(classes, classes)]


def _between(distances: Any, labels: Iterable[Hashable]) -> tuple[FloatArray, list[int]]:
    """Least distances between classes, and the class of each database."""
    found, names = _square(distances), list(labels)
    if len(names) != len(found):
        raise InvalidParameter("labels", len(names), f"one label for each of the {len(found)} databases")
    numbers: dict[Hashable, int] = {}
    classes = [numbers.setdefault(name, len(numbers)) for name in names]
    least = np.full((len(numbers), len(numbers)), np.inf)
    np.minimum.at(least, np.ix_(classes, classes), found)
    return least, classes
