"""A designed channel on a column of a table: each value is replaced by an output drawn from the certified table.

What the channel promises is about the secret behind one record, together with everything that was released before. The
outputs are published as how often each of them came: their order would tell how the rows were stored. How many records
there are is no secret here. One record of each person is assumed and not made so: to choose one by what is in it would
change the law of the data given the secret, on which the certificate rests.

Reference: theory/confounding.md section 4 (design); theory/release.md sections 2 and 9 (enforcement, order of events).
"""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any

from quiltwork import checks
from quiltwork.curves.guarantee import Guarantee
from quiltwork.errors import Unsupported
from quiltwork.mechanisms import noise
from quiltwork.mechanisms.certified_table import draw_many
from quiltwork.release.released import Released
from quiltwork.release.run import Task, carried_out
from quiltwork.release.scan import Totals
from quiltwork.tables.notions.neighbors import add_remove
from quiltwork.tables.schema.columns import Cat
from quiltwork.tables.schema.table import Table
from quiltwork.tables.statistics.statistic import statistic

if TYPE_CHECKING:
    from quiltwork.confounding.design.design import Design

EACH = "the records are of different persons, whose secrets do not depend on each other"
ONCE = "each record goes through the channel once: a second run is another release, and is designed after this one"
SIZE = "how many records there are, and who is in the table, is not hidden"


def release_channel(
    design: Design,
    data: Any,
    *,
    column: str,
    engine: Any = "duckdb://",
    progress: bool | None = None,
) -> Released:
    """How often each output of a designed channel came, one draw for each record whose value the world knows.

    Nothing is paid from a ledger: guarantees about a secret do not add up, and what was released before is part of the
    design. A second call is another release, which is designed with this one as `existing`.
    """
    if design.task.reads != "data":
        raise Unsupported(
            f"a release of a channel that reads {design.task.reads}", "a table of rows holds the data alone",
            'design it with reads="data"',
        )  # fmt: skip
    column = checks.text("column", column)
    table = Table(**{column: _column(design)})
    counted = statistic(table, add_remove(), "count", column, by=table[column], noise=noise.laplace(1.0))
    found = design.guarantee()
    guarantee = Guarantee(
        found.curve, protects=found.protects, assumes=(*found.assumes, EACH, ONCE, SIZE),
        because=found.because,
    )  # fmt: skip
    code = _hash(design, column)
    said = (
        f"Each value of {column} was replaced by an output drawn from a table of {design.counts.shape[0]} times "
        f"{design.counts.shape[1]} certified chances, exactly; the numbers say how often each output came.",
        f"Records whose {column} is no value of the world are left out.",
    )

    def drawn(exact: dict[str, Totals]) -> Released:
        totals = [0] * design.counts.shape[1]
        for row, number in zip(design.counts, exact[column].count, strict=True):
            totals = [a + b for a, b in zip(totals, draw_many(row, design.bits, number), strict=True)]
        names = [f"{value:g}" for value in design.outputs]
        rows = [
            {"query": f"outputs of {column}", "output": name, "value": n, "lower": n, "upper": n}
            for name, n in zip(names, totals, strict=True)
        ]
        return Released(tuple(rows), (), guarantee, 1.0, said, code)

    task = Task(table, add_remove(), (counted,), guarantee, code, drawn)
    return carried_out(task, data, engine, None, None, None, progress)


def _column(design: Design) -> Cat:
    """The values that the world knows, in its order: numbers, or names."""
    world = design.world
    numbers = [float(value) for value in world.values]
    named = world.data_names != tuple(f"value {place}" for place in range(len(numbers)))
    return Cat(*(world.data_names if named else numbers))


def _hash(design: Design, column: str) -> str:
    written = json.dumps({"design": design.to_json(), "column": column}, sort_keys=True)
    return hashlib.sha256(written.encode()).hexdigest()
