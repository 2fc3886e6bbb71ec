"""Tables, neighbour notions and plans of overlapping queries."""

from quiltwork.tables.columns import Cat, Date, Float, Id, Int, SubsetOf
from quiltwork.tables.distance import dist
from quiltwork.tables.guarantees import PlanGuarantee
from quiltwork.tables.holds import on_input, on_table
from quiltwork.tables.metrics import euclidean, geo, manhattan
from quiltwork.tables.neighbors import (
    add_remove,
    edge,
    entry,
    free_lunch,
    metric,
    node,
    replace_one,
    user,
    window,
)
from quiltwork.tables.plan import Plan
from quiltwork.tables.predicates import opaque
from quiltwork.tables.table import Table
from quiltwork.tables.via import clip_rows, flat_map, join

__all__ = [
    "Cat",
    "Date",
    "Float",
    "Id",
    "Int",
    "Plan",
    "PlanGuarantee",
    "SubsetOf",
    "Table",
    "add_remove",
    "clip_rows",
    "dist",
    "edge",
    "entry",
    "euclidean",
    "flat_map",
    "free_lunch",
    "geo",
    "join",
    "manhattan",
    "metric",
    "node",
    "on_input",
    "on_table",
    "opaque",
    "replace_one",
    "user",
    "window",
]
