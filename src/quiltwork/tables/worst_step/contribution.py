"""At most m rows of each person are used by a whole plan: what one step of the raw table does to what is used.

The rows that are used of one person are a function of that person's rows alone. So tables that differ in all rows of
one person, however many, are used in at most m rows that differ. One row more or less may push out another row of that
person: at most one of the used rows goes and one comes. A row that changes, and stays that person's, exchanges one used
row for another; a row that goes to another person does so for both. Which cells the pushed rows lie in is not known, so
that all are looked at.

Where nobody has more rows than are used, a step of the raw table is a step of what is used: these steps are attained.

Reference: theory/release.md section 2.2, Lemma 2.
"""

from __future__ import annotations

from collections.abc import Sequence

import attrs

from quiltwork.errors import Unsupported
from quiltwork.tables.notions.neighbors import RECORD_STEPS, SWAP_STEPS, Node, Notion, User
from quiltwork.tables.notions.sensitivity import changeable
from quiltwork.tables.notions.transformations import ClipRows
from quiltwork.tables.query import Query
from quiltwork.tables.schema.table import Table
from quiltwork.tables.worst_step.reach import reach
from quiltwork.tables.worst_step.vectors import Reach


def clipped(table: Table, queries: Sequence[Query], step: Notion, clip: ClipRows) -> Reach:
    """Everything that one step can do to the rows that are used; `Unbounded` when that is infinite."""
    for query in queries:
        if not query.holds.input:
            raise Unsupported(
                f"query {query.name!r} in a plan whose contribution is bounded",
                "its loss was proved for a whole table, and it is not said whether for all rows or for those used",
                "state it for its own rows with on_input, or leave the bound to the query with via=clip_rows(...)",
            )
    if isinstance(step, User) and step.id == clip.id:
        return reach(table, queries, attrs.evolve(step, max_records=min(step.max_records, clip.most)))
    if isinstance(step, RECORD_STEPS):
        persons = 1
    elif isinstance(step, SWAP_STEPS):
        persons = 2 if clip.id in changeable(step, table) else 1
    else:
        raise Unsupported(
            f"a contribution bounded for each {clip.id} under {step}",
            "how many rows one step pushes out is not known",
            f"hide all records of one {clip.id}: user({clip.id!r})",
        )
    pushed = reach(table, queries, Node(persons))
    plain = reach(table, queries, step)
    certain = tuple(vector for vector in plain.vectors if vector.exact)
    bounded = tuple(attrs.evolve(vector, exact=False) for vector in pushed.vectors)
    return Reach((*certain, *bounded), pushed.bounds, tuple(dict.fromkeys((*pushed.notes, *plain.notes))))
