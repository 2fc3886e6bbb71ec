"""`Plan`: a table, a notion of neighbour and queries; what they guarantee together."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Unpack, overload

import attrs

from quiltwork import checks
from quiltwork.compose.loss import Loss
from quiltwork.curves.guarantee import Guarantee
from quiltwork.errors import DisconnectedDomainWarning, InvalidParameter
from quiltwork.kinds import document
from quiltwork.tables.guarantee import PlanGuarantee, guaranteed
from quiltwork.tables.notions.neighbors import AddRemove, Edge, Node, Notion, User, Window
from quiltwork.tables.notions.sensitivity import Holds
from quiltwork.tables.notions.transformations import ClipRows, Via
from quiltwork.tables.query import Asked, Query
from quiltwork.tables.schema.columns import Id, SubsetOf
from quiltwork.tables.schema.predicates import And, Condition, Everything, Or, Predicate, leaves, opaque_parts
from quiltwork.tables.schema.table import Reference, Table

if TYPE_CHECKING:
    from quiltwork.tables.session import Session


class Plan:
    """Queries to be released from one table. Adding a query checks it and changes nothing when it is refused.

    The queries and their conditions are fixed before any result is seen; a query whose condition depends on earlier
    outputs must say `adaptive=True`, or be run in a `session`.
    """

    def __init__(self, table: Table, neighbors: Notion) -> None:
        if not isinstance(table, Table):
            raise InvalidParameter("table", table, "a quiltwork Table")
        if not isinstance(neighbors, Notion):
            raise InvalidParameter("neighbors", neighbors, "a notion such as add_remove()", "write the parentheses")
        neighbors.check(table)
        self.table, self.neighbors = table, neighbors
        self._queries: list[Query] = []
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
        """What was added so far."""
        return tuple(self._queries)

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

        `reads=[]` or `count=True`: only the number of kept records matters. Left out, it may read everything.
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
            return guaranteed(self.table, self.queries, self.neighbors)
        from quiltwork.joined.guarantee import under_prior

        if person is None or when is None:
            raise InvalidParameter("person and when", (person, when), "the two columns that order correlated rows")
        return under_prior(self, prior, person, when, changes)

    def session(self, budget: Loss) -> Session:
        """Adaptive use of this plan's table and notion within a budget; what the plan holds already is spent first."""
        from quiltwork.tables.session import Session

        return Session(self, budget)

    def _extend(self, made: list[Query]) -> Plan:
        fresh: set[str] = set()
        for query in made:
            if query.name in self._names or query.name in fresh:
                raise InvalidParameter("name", query.name, "new", "each query of a plan has its own name")
            fresh.add(query.name)
        self._queries += made
        self._names |= fresh
        return self

    def query(
        self, name: str, loss: Loss, holds: Holds, where: Predicate | None, reads: Iterable[str] | None, count: bool,
        via: Via | None, adaptive: bool,
    ) -> Query:  # fmt: skip
        """A query of this plan's table, checked and not added."""
        name = checks.text("name", name)
        loss = _loss(loss)
        if via is not None and not isinstance(via, Via):
            raise InvalidParameter("via", via, "flat_map(...), join(...) or clip_rows(...)")
        read = self._reads(reads)
        if checks.flag("count", count):
            if read:
                raise InvalidParameter("count", count, "left out when columns are read", f"reads={sorted(read)}")
            read = frozenset()
        condition = Everything() if where is None else _predicate(where)
        self._check_condition(condition)
        if isinstance(via, ClipRows) and not isinstance(self.table.columns.get(via.id), Id):
            raise InvalidParameter("via", via, "a clip on an Id column of the table")
        return Query(name, loss, self._holds(holds), condition, read, via, checks.flag("adaptive", adaptive))

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
        return f"<Plan of {len(self._queries)} queries, hiding {self.neighbors.protects}>"


def _predicate(value: Any) -> Predicate:
    if isinstance(value, Predicate):
        return value
    hint = "comparisons of the table's columns; a function must be declared with opaque(name, stability=...)"
    raise InvalidParameter("where", value, "a condition on the table", hint)


def _loss(value: Any) -> Loss:
    if not isinstance(value, Loss) or value.side != "worst":
        raise InvalidParameter("loss", value, "a quiltwork loss, both directions")
    return value


def _conjunction(condition: Predicate) -> bool:
    """Whether opaque maps stand alone or under & only."""
    if isinstance(condition, And):
        return all(_conjunction(part) for part in condition.parts)
    return not isinstance(condition, Or) or not opaque_parts(condition)


# ---- as a document


def _read(table: Table, neighbors: Notion, queries: tuple[Query, ...]) -> Plan:
    """Every query is checked again by the plan, as when it was added."""
    plan = Plan(table, neighbors)
    for one in queries:
        said: dict[str, Any] = {"where": one.where, "reads": one.reads, "via": one.via, "adaptive": one.adaptive}
        plan.add(one.name, loss=one.loss, holds=one.holds, **said)
    return plan


def _written_promise(value: PlanGuarantee) -> dict[str, Any]:
    words = {name: getattr(value, name) for name in ("protects", "assumes", "because", "witness")}
    return {"table": value.table, "neighbors": value.notion, "queries": value.queries, **words}


def _read_promise(table: Table, neighbors: Notion, queries: tuple[Query, ...], **words: Any) -> PlanGuarantee:
    """The curve is derived again from the queries: it is a theorem about them, not a number to believe."""
    return attrs.evolve(_read(table, neighbors, queries).guarantee(), **words)


document("table_plan/1", fields="table neighbors queries", read=_read)(Plan)
document(
    "plan_guarantee/1",
    fields="table neighbors queries protects assumes because",
    optional="witness",
    write=_written_promise,
    read=_read_promise,
)(PlanGuarantee)
