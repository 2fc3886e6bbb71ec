# ruff: noqa: E501
"""Tables, columns, notions of neighbour, conditions, plans of queries and their guarantees as documents."""

from __future__ import annotations

import math
from typing import Any

from quiltwork.spec.objects.kinds import Kind, Refusal

__all__ = ["KINDS", "REFUSED"]

_ROOM = "quiltwork.tables."
_WORDS = ("protects", "assumes", "because")


def _cat(categories: tuple[Any, ...], nullable: bool = False) -> Any:
    from quiltwork.tables.schema.columns import Cat

    return Cat(*categories, nullable=nullable)


def _table(value: Any) -> dict[str, Any]:
    most = None if math.isinf(value.most) else int(value.most)
    # a list, so that a column may have any name
    return {"columns": tuple(value.columns.items()), "least": value.least, "most": most}


def _read_table(columns: tuple[Any, ...], least: int = 0, most: int | None = None) -> Any:
    from quiltwork.tables.schema.table import Table

    return Table(**{str(name): column for name, column in columns}).rows(least, most)


def _query(value: Any) -> dict[str, Any]:
    return {name: getattr(value, name) for name in ("name", "loss", "holds", "where", "reads", "via", "adaptive")}


def _plan(value: Any) -> dict[str, Any]:
    return {"table": value.table, "neighbors": value.neighbors, "queries": value.queries}


def _read_plan(table: Any, neighbors: Any, queries: tuple[Any, ...]) -> Any:
    """Every query is checked again by the plan, as when it was added."""
    from quiltwork.tables.plan import Plan

    plan = Plan(table, neighbors)
    for one in queries:
        said: dict[str, Any] = {"where": one.where, "reads": one.reads, "via": one.via, "adaptive": one.adaptive}
        plan.add(one.name, loss=one.loss, holds=one.holds, **said)
    return plan


def _promise(value: Any) -> dict[str, Any]:
    words = {name: getattr(value, name) for name in (*_WORDS, "witness")}
    return {"table": value.table, "neighbors": value.notion, "queries": value.queries, **words}


def _read_promise(table: Any, neighbors: Any, queries: tuple[Any, ...], **words: Any) -> Any:
    """The curve is derived again from the queries: it is a theorem about them, not a number to believe."""
    import attrs

    return attrs.evolve(_read_plan(table, neighbors, queries).guarantee(), **words)


def _worst(value: Any) -> dict[str, Any]:
    return {"vectors": value.vectors, "bounds": value.bounds}


def _read_worst(vectors: tuple[Any, ...], bounds: tuple[Any, ...]) -> Any:
    from quiltwork.tables.worst_step.worst import Worst

    return Worst(vectors, bounds)


# ---- what a constructor would take unchecked is built by the function that checks it


def _most(value: Any) -> Any:
    """No limit is written as none."""
    return None if value == math.inf else value


def _user(id: str, max_records: Any = None, max_per: Any = ()) -> Any:
    from quiltwork.tables.notions.neighbors import user

    return user(id, max_records, dict(max_per))


def _entry(columns: Any = ()) -> Any:
    from quiltwork.tables.notions.neighbors import entry

    return entry(*columns)


def _node(max_degree: Any = None, rewire: Any = True, nodes: Any = None) -> Any:
    from quiltwork.tables.notions.neighbors import node

    return node(max_degree, rewire=rewire, nodes=nodes)


def _distance(name: str, columns: tuple[str, ...]) -> Any:
    from quiltwork.errors import InvalidParameter
    from quiltwork.tables.notions import metrics

    made: dict[str, Any] = {"euclidean": metrics.euclidean, "manhattan": metrics.manhattan, "geo": metrics.geo}
    if name not in made or (name == "geo" and len(columns) != 2):
        raise InvalidParameter("name", name, "euclidean or manhattan of some columns, or geo of two")
    return made[name](*columns)


def _holds(input: bool, notion: Any = None) -> Any:
    from quiltwork.checks import flag
    from quiltwork.tables.notions.sensitivity import on_input, on_table

    if flag("input", input):
        return on_input(notion)
    return on_table if notion is None else on_table(notion)


def _spans(spans: tuple[Any, ...]) -> Any:
    """Half-open spans in rising order, none of them twice."""
    from itertools import pairwise

    from quiltwork.errors import InvalidParameter
    from quiltwork.tables.schema.selectors import Spans

    allowed = "spans [[value, 0 or 1], [value, 0 or 1]] in rising order that do not meet"
    cuts = [cut for span in spans for cut in span]
    plain = all(
        isinstance(cut, tuple) and len(cut) == 2 and type(cut[0]) in (int, float) and cut[1] in (0, 1) for cut in cuts
    )
    if not plain or len(cuts) != 2 * len(spans) or any(one > two for one, two in pairwise(cuts)):
        raise InvalidParameter("spans", spans, allowed)
    return Spans(spans)


def _called(home: str) -> Any:
    """The function that makes and checks such a value."""

    def build(**fields: Any) -> Any:
        return Kind("", _ROOM + home).type(**fields)

    return build


def _attributes(*names: str) -> Any:
    return lambda value: {name: _most(getattr(value, name)) for name in names}


_PLAIN = {  # name in documents: home; their fields are those of the constructor
    "int_column": "schema.columns:Int",
    "float_column": "schema.columns:Float",
    "date_column": "schema.columns:Date",
    "subset_column": "schema.columns:SubsetOf",
    "id_column": "schema.columns:Id",
    "add_remove": "notions.neighbors:AddRemove",
    "edge": "notions.neighbors:Edge",
    "free_lunch": "notions.neighbors:FreeLunch",
    "everything": "schema.predicates:Everything",
    "condition": "schema.predicates:Condition",
    "all_of": "schema.predicates:And",
    "some_of": "schema.predicates:Or",
    "chosen": "schema.selectors:Chosen",
    "has": "schema.selectors:Has",
    "null": "schema.selectors:Null",
    "vector": "worst_step.vectors:Vector",
    "vector_bound": "worst_step.vectors:Bound",
}


def _checked(
    name: str, home: str, read: Any, fields: tuple[str, ...] = (), optional: tuple[str, ...] = (), write: Any = None
) -> Kind:
    write = write or _attributes(*fields, *optional)
    return Kind(name, _ROOM + home, fields=fields, optional=optional, write=write, read=read)


def _join(value: Any) -> dict[str, Any]:
    return {"truncate": (value.own, value.other)}


KINDS = (
    *(Kind(name, _ROOM + home) for name, home in _PLAIN.items()),
    _checked("replace_one", "notions.neighbors:ReplaceOne", _called("notions.neighbors:replace_one"), (), ("fixed",)),
    _checked("user", "notions.neighbors:User", _user, ("id",), ("max_records", "max_per")),
    _checked("entry_notion", "notions.neighbors:Entry", _entry, (), ("columns",)),
    _checked("window", "notions.neighbors:Window", _called("notions.neighbors:window"), ("column", "length"), ("max_records",)),
    _checked("node", "notions.neighbors:Node", _node, (), ("max_degree", "rewire", "nodes")),
    _checked("metric", "notions.neighbors:Metric", _called("notions.neighbors:metric"), ("distance", "unit"), ("within", "diameter")),
    _checked("distance", "notions.metrics:Distance", _distance, ("name", "columns")),
    _checked("holds", "notions.sensitivity:Holds", _holds, ("input",), ("notion",)),
    _checked("flat_map", "notions.transformations:FlatMap", _called("notions.transformations:flat_map"), ("name", "max_out")),
    _checked("join", "notions.transformations:Join", _called("notions.transformations:join"), ("truncate",), (), _join),
    _checked("clip_rows", "notions.transformations:ClipRows", _called("notions.transformations:clip_rows"), ("id", "most")),
    _checked("opaque", "schema.predicates:Opaque", _called("schema.predicates:opaque"), ("name", "stability")),
    _checked("spans", "schema.selectors:Spans", _spans, ("spans",)),
    Kind("cat_column", _ROOM + "schema.columns:Cat", fields=("categories",), optional=("nullable",), read=_cat,
         write=lambda value: {"categories": value.categories, "nullable": value.nullable}),
    Kind("table", _ROOM + "schema.table:Table", fields=("columns",), optional=("least", "most"), write=_table,
         read=_read_table),
    Kind("query", _ROOM + "query:Query", write=_query),
    Kind("table_plan", _ROOM + "plan:Plan", fields=("table", "neighbors", "queries"), write=_plan, read=_read_plan),
    Kind("plan_guarantee", _ROOM + "guarantee:PlanGuarantee", fields=("table", "neighbors", "queries", *_WORDS),
         optional=("witness",), write=_promise, read=_read_promise),
    Kind("worst_vector", _ROOM + "worst_step.worst:Worst", fields=("vectors", "bounds"), write=_worst, read=_read_worst),
)  # fmt: skip
REFUSED = {
    _ROOM + "schema.table:Reference": Refusal("it is a column of a table, seen from a condition", "write the table"),
    _ROOM + "session:Session": Refusal(
        "a session goes on, and a copy of it would spend its budget twice", "keep budgets in a ledger"
    ),
}
