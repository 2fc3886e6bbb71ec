"""`Plan`: a table, a notion of neighbour and queries; what they guarantee together."""

from __future__ import annotations

import builtins
import warnings
from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from typing import TYPE_CHECKING, Any, Unpack, overload

import attrs

from quiltwork import checks
from quiltwork.compose.loss import Loss
from quiltwork.compose.neighbors import check_neighbors
from quiltwork.curves.guarantee import Guarantee
from quiltwork.errors import DisconnectedDomainWarning, InvalidParameter, Unsupported
from quiltwork.kinds import document
from quiltwork.tables.guarantee import PlanGuarantee, guaranteed
from quiltwork.tables.how_far import HowFar, how_far
from quiltwork.tables.notions.neighbors import AddRemove, Edge, Node, Notion, User, Window
from quiltwork.tables.notions.sensitivity import Holds
from quiltwork.tables.notions.transformations import ClipRows, Via
from quiltwork.tables.query import Asked, Query
from quiltwork.tables.schema.columns import Id, SubsetOf
from quiltwork.tables.schema.predicates import And, Condition, Everything, Or, Predicate, leaves, opaque_parts
from quiltwork.tables.schema.table import Reference, Table
from quiltwork.tables.stated_sensitivity import check_sensitivity
from quiltwork.tables.statistics.calibrate import calibrated, scaled
from quiltwork.tables.statistics.intervals import errors
from quiltwork.tables.statistics.price import queries
from quiltwork.tables.statistics.statistic import Statistic, statistic

if TYPE_CHECKING:
    from quiltwork.mechanisms.noise import Noise
    from quiltwork.release.released import Released
    from quiltwork.tables.session import Session


class Plan:
    """Queries to be released from one table. Adding a query checks it and changes nothing when it is refused.

    The queries and their conditions are fixed before any result is seen; a query whose condition depends on earlier
    outputs must say `adaptive=True`, or be run in a `session`.

    `contribution=clip_rows("person", 4)`: of each person at most so many rows are used by the whole plan, picked once
    before any query, by a rule that looks at the rows of that person alone.

    Parameters
    ----------
    table
        What is public about the table.
    neighbors
        The neighbouring relation.
    contribution
        `clip_rows(...)`: a bound on the rows of each person for all queries together.

    Examples
    --------
    >>> from quiltwork import Cat, Table, add_remove, laplace, on_input
    >>> table, near = Table(region=Cat("N", "S")), on_input(add_remove())
    >>> plan = Plan(table, add_remove()).split("by region", by=table.region, loss=laplace(10.0), holds=near, count=True)
    >>> round(plan.guarantee().epsilon(0.0).safe, 6)
    0.1
    """

    def __init__(self, table: Table, neighbors: Notion, *, contribution: ClipRows | None = None) -> None:
        if not isinstance(table, Table):
            raise InvalidParameter("table", table, "a quiltwork Table")
        if not isinstance(neighbors, Notion):
            raise InvalidParameter("neighbors", neighbors, "a notion such as add_remove()", "write the parentheses")
        neighbors.check(table)
        self.table, self.neighbors = table, neighbors
        self.contribution = None if contribution is None else self._clip("contribution", contribution)
        self._items: list[Query | Statistic] = []
        self._priced: tuple[Query, ...] | None = None
        self._names: set[str] = set()
        if table.fixed_size and isinstance(neighbors, (AddRemove, Edge, Node, User, Window)):
            warnings.warn(
                f"every table has {table.least} records, so that no two are neighbours under {neighbors} and every "
                "mechanism would be 0-private: the guarantee is computed as if records could come and go; "
                "use replace_one() for tables of fixed size",
                DisconnectedDomainWarning,
                stacklevel=2,
            )

    @property
    def queries(self) -> tuple[Query, ...]:
        """What was added so far, in order; a statistic is one query for each of its groups."""
        if self._priced is None:
            made = [
                [one] if isinstance(one, Query) else queries(one, self.table, self.neighbors) for one in self._items
            ]
            self._priced = tuple(query for some in made for query in some)
        return self._priced

    def only(self, names: Iterable[str]) -> Plan:
        """The plan of some of its queries, which keep what they cost here."""
        part, kept = Plan(self.table, self.neighbors, contribution=self.contribution), frozenset(names)
        return part._extend([query for query in self.queries if query.name in kept])

    @property
    def statistics(self) -> tuple[Statistic, ...]:
        """What a release computes: counts, sums, means, variances, distinct persons, quantiles and keys."""
        return tuple(one for one in self._items if isinstance(one, Statistic))

    @property
    def size(self) -> int:
        """How many queries there are, also while their noise is not chosen."""
        return builtins.sum(1 if isinstance(one, Query) else one.size(self.table) for one in self._items)

    def add(
        self,
        name: str,
        *,
        loss: Loss,
        holds: Holds,
        where: Predicate | None = None,
        reads: Iterable[str] | None = None,
        count: bool = False,
        via: Via | None = None,
        adaptive: bool = False,
    ) -> Plan:
        """One query: the records it keeps, the columns it reads of them, its loss, and where that holds.

        `reads=[]` or `count=True`: only the number of kept records matters. Left out, it may read everything. What is
        no count says in its loss how far one step moves the answer (`sensitivity=`). `where` comes before `via`,
        unless the map says `first=True`.
        """
        return self._extend([self.query(name, loss, holds, where, reads, count, via, adaptive)])

    def split(
        self,
        name: str,
        *,
        by: Reference,
        loss: Loss,
        holds: Holds,
        edges: Iterable[Any] | None = None,
        where: Predicate | None = None,
        reads: Iterable[str] | None = None,
        count: bool = False,
        via: Via | None = None,
    ) -> Plan:
        """The same query on every part: each value of a column, or each interval between `edges`; NULL is a part."""
        made = self.split_queries(
            name, by, edges, loss=loss, holds=holds, where=where, reads=reads, count=count, via=via
        )
        return self._extend(made)

    def split_queries(
        self, name: str, by: Reference, edges: Iterable[Any] | None, **asked: Unpack[Asked]
    ) -> list[Query]:
        """The queries of a split, checked and not added."""
        by = self._reference("by", by)
        return self._on_parts(name, {f"{by.name} = {label}": part for label, part in by.parts(edges).items()}, asked)

    def each(
        self,
        name: str,
        *,
        of: Reference,
        loss: Loss,
        holds: Holds,
        where: Predicate | None = None,
        reads: Iterable[str] | None = None,
        count: bool = False,
        via: Via | None = None,
    ) -> Plan:
        """The same query for every member of a set-valued column, on the records that have it: these overlap."""
        made = self.each_queries(name, of, loss=loss, holds=holds, where=where, reads=reads, count=count, via=via)
        return self._extend(made)

    def each_queries(self, name: str, of: Reference, **asked: Unpack[Asked]) -> list[Query]:
        """The queries for every member, checked and not added."""
        of = self._reference("of", of)
        if not isinstance(of.column, SubsetOf):
            raise InvalidParameter("of", of, "a SubsetOf column", "use split for columns with one value")
        return self._on_parts(name, {f"{of.name} has {one}": of.has(one) for one in of.column.members}, asked)

    def _on_parts(self, name: str, parts: Mapping[str, Predicate], asked: Asked) -> list[Query]:
        """The same query on every part; an iterator of columns is read once."""
        name, where, reads = checks.text("name", name), asked.get("where"), self._reads(asked.get("reads"))
        made = []
        for label, part in parts.items():
            own: Asked = {**asked, "where": part if where is None else part & _predicate(where), "reads": reads}
            made.append(self.asked(f"{name}: {label}", **own))
        return made

    def asked(
        self, name: str, *, loss: Loss, holds: Holds, where: Predicate | None = None,
        reads: Iterable[str] | None = None, count: bool = False, via: Via | None = None,
    ) -> Query:  # fmt: skip
        """A query that does not look at earlier outputs, checked and not added."""
        return self.query(name, loss, holds, where, reads, count, via, False)

    # ---- numbers from data: loss, sensitivity and notion are derived

    def count(self, name: str, *, by: Any = None, where: Predicate | None = None, noise: Noise) -> Plan:
        """How many records there are, in all or `by` groups."""
        return self.measure("count", name, by=by, where=where, noise=noise)

    def distinct(self, name: str, *, of: Any, by: Any = None, where: Predicate | None = None, noise: Noise) -> Plan:
        """How many different persons (an Id column) have records."""
        return self.measure("distinct", name, of=of, by=by, where=where, noise=noise)

    def sum(
        self, name: str, *, of: Any, clip: Any = None, by: Any = None, where: Predicate | None = None, noise: Noise
    ) -> Plan:
        """The sum of a column, each value first moved into `clip`; by default into its declared range."""
        return self.measure("sum", name, of=of, clip=clip, by=by, where=where, noise=noise)

    def mean(
        self, name: str, *, of: Any, clip: Any = None, by: Any = None, where: Predicate | None = None,
        parts: bool = False, noise: Noise,
    ) -> Plan:  # fmt: skip
        """The mean of a column; the noise is that of its sum, and the count beside it gets a share of its own.

        `parts=True` publishes that sum and count, too: they cost nothing more, and with Laplace noise less than a sum
        and a count of their own, since one record moves the distances to both ends of `clip` together.
        """
        return self.measure("mean", name, of=of, clip=clip, by=by, where=where, parts=parts, noise=noise)

    def variance(
        self, name: str, *, of: Any, clip: Any = None, by: Any = None, where: Predicate | None = None, noise: Noise
    ) -> Plan:
        """The variance of a column, divided by how many records there are; noise in squared units of the column.

        It is worked out of three noisy totals, the squared distances to both ends of `clip` and the products of both,
        which one record moves by the squared width of `clip` together: the noise on each is that on a sum of squares.
        """
        return self.measure("variance", name, of=of, clip=clip, by=by, where=where, noise=noise)

    def quantiles(
        self, name: str, *, of: Any, q: Any, clip: Any = None, by: Any = None, where: Predicate | None = None,
        noise: Noise,
    ) -> Plan:  # fmt: skip
        """Quantiles of a column by the exponential mechanism, its scale counted in records."""
        return self.measure("quantiles", name, of=of, q=q, clip=clip, by=by, where=where, noise=noise)

    def keys(
        self, name: str, *, of: Any, delta: float, by: Any = None, where: Predicate | None = None, noise: Noise
    ) -> Plan:
        """Values of a column that nobody listed beforehand, with their counts: those of enough records are shown."""
        return self.measure("keys", name, of=of, delta=delta, by=by, where=where, noise=noise)

    def measure(self, verb: str, name: str, **asked: Any) -> Plan:
        """A statistic by the name of its method: measure("count", ...) is count(...)."""
        if asked.get("where") is not None:
            self._check_condition(_predicate(asked["where"]))
        made = statistic(self.table, self.neighbors, verb, name, **asked)
        return self._extend([made])

    def calibrate(self, epsilon: float, delta: float = 0.0) -> Plan:
        """The same plan with every `auto` noise chosen, so that the whole of it costs at most (epsilon, delta)."""
        return self._with(calibrated(self.statistics, self.table, self.neighbors, self._guaranteed, epsilon, delta))

    def scaled(self, epsilon: float, delta: float = 0.0) -> Plan:
        """The same plan with one factor on the noise of every statistic: what another budget would mean."""
        return self._with(scaled(self.statistics, self._guaranteed, epsilon, delta))

    def _guaranteed(self, statistics: Sequence[Statistic]) -> PlanGuarantee:
        return self._with(statistics).guarantee()

    def _with(self, statistics: Sequence[Statistic]) -> Plan:
        """The same table, notion and stated queries with other statistics."""
        plan = copy(self)
        named = {one.name: one for one in statistics}
        kept = [one if isinstance(one, Query) else named.get(one.name) for one in self._items]
        plan._items, plan._names, plan._priced = [one for one in kept if one is not None], {*self._names}, None
        return plan

    def errors(self, confidence: float = 0.95) -> list[dict[str, Any]]:
        """How far noise will move each statistic, before any data are read: a row each, shown with three digits."""
        return errors(self.statistics, self.table, confidence)

    def release(
        self, data: Any, *, engine: Any = "duckdb://", ledger: Any = None, budget: str | None = None,
        key: str | None = None, confidence: float = 0.95, progress: bool | None = None,
    ) -> Released:  # fmt: skip
        """Publish the statistics of this plan: pay from the budget, scan the data once, draw noise, keep, show.

        `data`: a parquet or CSV file (or folder or pattern), a pandas, polars or Arrow table, a dict of columns, or an
        ibis table of the engine. The same `key` gives the same numbers again and is paid for once. Without a ledger
        every call is a release of its own.
        """
        from quiltwork.release.run import release

        options: dict[str, Any] = {"engine": engine, "ledger": ledger, "budget": budget, "key": key}
        return release(self, data, confidence=confidence, progress=progress, **options)

    @overload
    def guarantee(self) -> PlanGuarantee: ...

    @overload
    def guarantee(self, *, prior: Any, person: Any, when: Any, changes: Iterable[Any] | None = None) -> Guarantee: ...

    @overload
    def guarantee(self, *, world: Any, changes: Iterable[Any] | None = None) -> Guarantee: ...

    def guarantee(
        self,
        *,
        prior: Any = None,
        person: Any = None,
        when: Any = None,
        changes: Iterable[Any] | None = None,
        world: Any = None,
    ) -> Guarantee:
        """What the whole plan guarantees, over the worst step of its notion.

        With a `prior`: about single rows of one person, when they are correlated as it says. `person` is the column
        that says whose row it is, `when` the one that orders them; `changes` are the columns that follow the prior.
        With a `world`: about the secret from which the content of one record, in the columns `changes`, is drawn.
        """
        if world is not None:
            from quiltwork.joined.guarantee import in_world

            if any(given is not None for given in (prior, person, when)):
                raise InvalidParameter("world", world, "given without prior, person and when")
            return in_world(self, world, changes)
        if prior is None:
            if any(given is not None for given in (person, when, changes)):
                raise InvalidParameter("prior", None, "given with person, when and changes", "or leave these out too")
            return guaranteed(self.table, self.queries, self.neighbors, self.contribution)
        if self.contribution is not None:
            raise Unsupported(
                "a plan under a prior whose contribution is bounded", "a row that changes may push out another one",
                "bound the rows before they become the table",
            )  # fmt: skip
        from quiltwork.joined.guarantee import under_prior

        if person is None or when is None:
            raise InvalidParameter("person and when", (person, when), "the two columns that order correlated rows")
        return under_prior(self, prior, person, when, changes)

    def how_far(self, first: Iterable[Mapping[str, Any]], second: Iterable[Mapping[str, Any]]) -> HowFar:
        """How far two given tables are: one distance for each query, and what they cost together.

        >>> import quiltwork as qw
        >>> people = Table(region=qw.tables.Cat("north", "south"))
        >>> asked = dict(loss=qw.laplace(5), count=True, holds=qw.tables.on_input(qw.tables.add_remove()))
        >>> plan = Plan(people, qw.tables.replace_one()).add("north", where=people.region == "north", **asked)
        >>> found = plan.add("all", **asked).how_far([dict(region="north")], [dict(region="south")])
        >>> found.steps, dict(found.vector), round(found.loss.epsilon(0).safe, 6)
        (1.0, {'north': 1.0, 'all': 0.0}, 0.2)
        """
        return how_far(self, first, second)

    def session(self, budget: Loss) -> Session:
        """Adaptive use of this plan's table and notion within a budget; what the plan holds already is spent first."""
        from quiltwork.tables.session import Session

        return Session(self, budget)

    def _extend(self, made: Sequence[Query | Statistic]) -> Plan:
        fresh: set[str] = set()
        for query in made:
            if query.name in self._names or query.name in fresh:
                raise InvalidParameter("name", query.name, "new", "each query of a plan has its own name")
            fresh.add(query.name)
        self._items += made
        self._names |= fresh
        self._priced = None
        return self

    def query(
        self, name: str, loss: Loss, holds: Holds, where: Predicate | None, reads: Iterable[str] | None, count: bool,
        via: Via | None, adaptive: bool,
    ) -> Query:  # fmt: skip
        """A query of this plan's table, checked and not added."""
        name = checks.text("name", name)
        loss, held = _loss(loss), self._holds(holds)
        if held.notion is not None:
            check_neighbors(loss, held.notion.protects, f"what {held} says", held.notion.kind, sums=False)
        if via is not None and not isinstance(via, Via):
            raise InvalidParameter("via", via, "flat_map(...), join(...) or clip_rows(...)")
        read = self._reads(reads)
        if checks.flag("count", count):
            if read:
                raise InvalidParameter("count", count, "left out when columns are read", f"reads={sorted(read)}")
            read = frozenset()
        condition = Everything() if where is None else _predicate(where)
        self._check_condition(condition)
        if isinstance(via, ClipRows):
            self._clip("via", via)
        check_sensitivity(Query(name, loss, held, condition, read, via, checks.flag("adaptive", adaptive)), self.table)
        bare = attrs.evolve(loss, neighbors="")  # `holds` says it
        return Query(name, bare, held, condition, read, via, checks.flag("adaptive", adaptive))

    def _clip(self, name: str, given: Any) -> ClipRows:
        if not isinstance(given, ClipRows) or not isinstance(self.table.columns.get(given.id), Id):
            raise InvalidParameter(name, given, "a clip_rows(...) on an Id column of the table")
        return given

    def _reads(self, reads: Iterable[str] | None) -> frozenset[str] | None:
        return None if reads is None else frozenset(self.table.names(reads, "reads"))

    def _holds(self, holds: Any) -> Holds:
        if not isinstance(holds, Holds):
            raise InvalidParameter(
                "holds", holds, "on_input(notion) or on_table", "say where the loss was proved: there is no default"
            )
        found = holds.under(self.neighbors)
        if found.notion is not None:
            found.notion.check(self.table)
        return found

    def _reference(self, name: str, given: Any) -> Reference:
        found = self.table[given] if isinstance(given, str) else given
        if not isinstance(found, Reference) or self.table.columns.get(found.name) is not found.column:
            raise InvalidParameter(name, given, "a column of the plan's table")
        return found

    def _check_condition(self, condition: Predicate) -> None:
        for part in leaves(condition):
            if not isinstance(part, Condition):
                continue
            column = self.table.columns.get(part.column)
            if column is None:
                raise InvalidParameter("where", part.column, "columns of the table: " + ", ".join(self.table.columns))
            if not column.understands(part.selector):
                raise InvalidParameter(
                    "where", str(part), f"a condition on {column}", "write it with the plan's own table"
                )
        if opaque_parts(condition) and not _conjunction(condition):
            raise InvalidParameter(
                "where", condition, "an opaque map alone, or joined with & to conditions",
                "the stability of alternatives is not known",
            )  # fmt: skip

    def __repr__(self) -> str:
        return f"<Plan of {self.size} queries, hiding {self.neighbors.protects}>"


def _predicate(value: Any) -> Predicate:
    if isinstance(value, Predicate):
        return value
    hint = "comparisons of the table's columns; a function must be declared with opaque(name, stability=...)"
    raise InvalidParameter("where", value, "a condition on the table", hint)


def _loss(value: Any) -> Loss:
    if not isinstance(value, Loss) or value.side != "worst":
        raise InvalidParameter("loss", value, "a loss such as quiltwork.gaussian(2.0), for adding and removing")
    return value


def _conjunction(condition: Predicate) -> bool:
    """Whether opaque maps stand alone or under & only."""
    if isinstance(condition, And):
        return all(_conjunction(part) for part in condition.parts)
    return not isinstance(condition, Or) or not opaque_parts(condition)


# ---- as a document


def _read(
    table: Table,
    neighbors: Notion,
    queries: tuple[Query, ...],
    statistics: tuple[Any, ...] = (),
    contribution: ClipRows | None = None,
) -> Plan:
    """Every query is checked again by the plan, as when it was added."""
    plan = Plan(table, neighbors, contribution=contribution)
    for one in queries:
        checked = plan.query(one.name, one.loss, one.holds, one.where, one.reads, False, one.via, one.adaptive)
        plan._extend([attrs.evolve(checked, inside=one.inside, shown=one.shown)])
    for measured in statistics:
        fields = {field.name: getattr(measured, field.name) for field in attrs.fields(type(measured))}
        plan.measure(fields.pop("verb"), fields.pop("name"), **{k: v for k, v in fields.items() if v not in (None, ())})
    return plan


def _written(plan: Plan) -> dict[str, Any]:
    return {
        "table": plan.table,
        "neighbors": plan.neighbors,
        "queries": tuple(one for one in plan._items if isinstance(one, Query)),
        "statistics": plan.statistics or None,
        "contribution": plan.contribution,
    }


def _written_promise(value: PlanGuarantee) -> dict[str, Any]:
    words = {name: getattr(value, name) for name in ("protects", "assumes", "because", "witness")}
    own = {"table": value.table, "neighbors": value.notion, "queries": value.queries}
    return {**own, **words, "contribution": value.contribution}


def _read_promise(
    table: Table, neighbors: Notion, queries: tuple[Query, ...], contribution: ClipRows | None = None, **words: Any
) -> PlanGuarantee:
    """The curve is derived again from the queries: it is a theorem about them, not a number to believe."""
    return attrs.evolve(_read(table, neighbors, queries, (), contribution).guarantee(), **words)


document(
    "table_plan/1", fields="table neighbors queries", optional="statistics contribution", write=_written, read=_read
)(Plan)
document(
    "plan_guarantee/1",
    fields="table neighbors queries protects assumes because",
    optional="contribution witness",
    write=_written_promise,
    read=_read_promise,
)(PlanGuarantee)
