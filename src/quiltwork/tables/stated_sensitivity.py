"""No sensitivity of a table plan is guessed: whoever states additive noise says how far one step moves the answer.

The one answer that is known without being told is that of a count: one row that comes, goes or changes moves it by one.
A sum, a mean or a model moves by what its values are clipped to. A default would be right for one clip and wrong for
all others, and nothing in the plan would tell.

How far a sum of values clipped to [low, high] moves depends on the change: max(|low|, |high|) for a row that comes or
goes, high - low for one that turns into another. Neither is a bound for the other.

Reference: theory/release.md section 4.1 (shifts of counts and sums).
"""

from __future__ import annotations

from quiltwork.errors import InvalidParameter
from quiltwork.losses.family import ASSUMED
from quiltwork.numbers.digits import single
from quiltwork.tables.notions.neighbors import RECORD_STEPS, SWAP_STEPS, Notion, User, Window
from quiltwork.tables.query import Query
from quiltwork.tables.schema.columns import Float, Int
from quiltwork.tables.schema.table import Table

WAY_OUT = "write it into the loss, as in laplace(scale, sensitivity=...)"


def check_sensitivity(query: Query, table: Table) -> None:
    """Refuse a sensitivity that nobody stated, or one that was worked out for another change than `holds` says."""
    origins = frozenset[str]().union(*(part.family.sensitivity_origins() for part in query.loss.parts))
    if ASSUMED in origins and not _counts_by_one(query):
        raise InvalidParameter(
            "loss",
            str(query.loss),
            f"stated with its sensitivity for {query.holds}",
            f"{_why(query, table)}; {WAY_OUT}",
        )
    notion = query.holds.notion
    if "replace_one" in origins and not isinstance(notion, SWAP_STEPS):
        raise InvalidParameter(
            "holds", str(query.holds), "a notion of replaced rows",
            "the sensitivity in its loss, high - low of a bounded sum, was worked out for an entry that is replaced: "
            "state it for replace_one(), or sum with bounded_sum(..., neighbors='add_remove')",
        )  # fmt: skip
    if "add_remove" in origins and not (isinstance(notion, RECORD_STEPS) or _single_rows(notion)):
        raise InvalidParameter(
            "holds", str(query.holds), "on_input(add_remove())",
            "the sensitivity in its loss was worked out for an entry that comes or goes; what a larger change of the "
            "table does to the query follows from the plan",
        )  # fmt: skip


def _counts_by_one(query: Query) -> bool:
    """Whether one step of its statement moves the number of rows that it counts by at most one."""
    if query.reads is None or query.reads:
        return False
    notion = query.holds.notion
    single_step = isinstance(notion, (*RECORD_STEPS, *SWAP_STEPS)) or _single_rows(notion)
    return single_step and (query.holds.input or query.stability <= 1)


def _single_rows(notion: Notion | None) -> bool:
    return isinstance(notion, (User, Window)) and notion.max_records == 1


def _why(query: Query, table: Table) -> str:
    """What has to be stated, with a number where the column gives one."""
    if query.reads is not None and not query.reads:
        return f"one step of {query.holds.notion} may move a count of its rows by more than one"
    if query.reads is None:
        return "it may read every column: say count=True if rows are only counted, or how far one step moves the answer"
    read = ", ".join(sorted(query.reads))
    said = f"it reads {read}, and how far one step moves what it computes of that is not known"
    column = table.columns[read] if len(query.reads) == 1 else None
    if isinstance(column, (Int, Float)):
        reach = max(abs(column.low), abs(column.high))
        span = column.high - column.low
        said += (
            f": a sum of {read} from {single(column.low)} to {single(column.high)} moves by {single(reach)} when a row "
            f"comes or goes, by {single(span)} when one is replaced"
        )
    return said
