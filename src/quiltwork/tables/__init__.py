"""Tables, neighbour notions and plans of overlapping queries."""

from quiltwork.tables.guarantee import PlanGuarantee
from quiltwork.tables.how_far import HowFar
from quiltwork.tables.notions.between import distance
from quiltwork.tables.notions.metrics import euclidean, geo, manhattan
from quiltwork.tables.notions.neighbors import (
    add_remove,
    edge,
    entry,
    free_lunch,
    local,
    metric,
    node,
    replace_one,
    user,
    window,
)
from quiltwork.tables.notions.sensitivity import dist, on_input, on_table
from quiltwork.tables.notions.transformations import clip_rows, flat_map, join
from quiltwork.tables.plan import Plan
from quiltwork.tables.schema.columns import Cat, Date, Float, Id, Int, SubsetOf
from quiltwork.tables.schema.predicates import opaque
from quiltwork.tables.schema.table import Table

__all__ = [
    "Cat",
    "Date",
    "Float",
    "HowFar",
    "Id",
    "Int",
    "Plan",
    "PlanGuarantee",
    "SubsetOf",
    "Table",
    "add_remove",
    "clip_rows",
    "dist",
    "distance",
    "edge",
    "entry",
    "euclidean",
    "flat_map",
    "free_lunch",
    "geo",
    "join",
    "local",
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
