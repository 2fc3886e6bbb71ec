"""The refusal of a plan for which no finite epsilon follows, with what would be accepted instead.

Reference: seed 001, Example II.9; theory/granularity.md section 6.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import attrs

from quiltwork.curves.digits import at_most
from quiltwork.errors import QuiltworkError, UnboundedLossError
from quiltwork.tables.holds import on_input
from quiltwork.tables.neighbors import Entry, FreeLunch, Metric, Node, Notion, ReplaceOne, User, Window, add_remove
from quiltwork.tables.queries import Query
from quiltwork.tables.reach import reach
from quiltwork.tables.table import Table
from quiltwork.tables.touch import Unbounded
from quiltwork.tables.worst import Worst

NAMED = 4
TRIED_DELTA = 1e-6  # for alternatives that have no pure epsilon


def unbounded(table: Table, queries: Sequence[Query], step: Notion, bad: Sequence[int]) -> UnboundedLossError:
    """The error, with the numbers of the alternatives where they exist."""
    names = tuple(queries[i].name for i in bad)
    first = queries[bad[0]]
    others = f" (and {len(names) - 1} more)" if len(names) > 1 else ""
    why = _why(table, first, step)
    lines = [f"{first.name!r}{others} is stated {_statement(first)}, but {why} No finite epsilon follows."]
    if isinstance(first.holds.notion, (ReplaceOne, Entry)) and first.holds.input:
        lines[0] += " This is Example II.9: guarantees of replaced rows do not compose over parts."
        lines += _instead_of_replacing(table, queries, step, bad)
    else:
        lines += _instead(first, step)
    return UnboundedLossError(" ".join(lines[:1]) + "".join("\n" + line for line in lines[1:]), names)


def _statement(query: Query) -> str:
    notion = query.holds.notion
    if notion is None:
        return "for the plan's own notion"
    if query.holds.input:
        return f"for {notion} changes of ITS OWN rows"
    return f"for {notion} changes of the table"


def _why(table: Table, query: Query, step: Notion) -> str:
    where = f"with {table.words(query.where)}" if query.where.columns else "of the table"
    if isinstance(step, (ReplaceOne, Entry, Metric)) and query.where.columns:
        return (
            f"one step of the table ({step.protects}) can move a record out of the rows {where}, changing how many "
            f"rows {query.name!r} sees."
        )
    if isinstance(step, (User, Window, Node)):
        return f"one step of the table ({step.protects}) changes more rows at once than it speaks of."
    if isinstance(step, FreeLunch):
        return "any table may take the place of any other."
    return f"one step of the table ({step.protects}) is no number of such changes."


def _instead_of_replacing(table: Table, queries: Sequence[Query], step: Notion, bad: Sequence[int]) -> list[str]:
    restated = [
        attrs.evolve(query, holds=on_input(add_remove())) if i in bad else query for i, query in enumerate(queries)
    ]
    answer = _epsilon(table, restated, step)
    lines = ["Do one of:"]
    if answer is not None:
        lines.append(f"(a) state it for add/remove, on_input(add_remove()): the plan is then {step} {answer};")
    else:
        lines.append("(a) state it for add/remove, on_input(add_remove());")
    lines.append("(b) use holds=on_table if it was proved for the whole table;")
    columns = sorted(frozenset().union(*(queries[i].where.columns for i in bad)))
    if columns:
        lines.append(f"(c) if these columns cannot change, say so: replace_one(fixed={columns}).")
    naive = _epsilon(table, restated, add_remove())
    if naive is not None and naive != answer:
        lines.append(f"Not accepted: {naive}. That is the add/remove answer.")
    return lines


def _instead(query: Query, step: Notion) -> list[str]:
    if isinstance(step, User) and math.isinf(step.max_records):
        return [
            f"Do one of: (a) bound the records of a person, user({step.id!r}, max_records=...); (b) keep at most some "
            f"rows of each, via=clip_rows({step.id!r}, most); (c) state the loss for whole persons, "
            f"on_input(user({step.id!r}))."
        ]
    if isinstance(step, Window) and math.isinf(step.max_records):
        return [
            "Do one of: (a) bound the records in a window, window(..., max_records=...); "
            "(b) state the loss for windows."
        ]
    if isinstance(step, Node) and math.isinf(step.max_degree):
        return ["Do one of: (a) bound the degree, node(max_degree=...); (b) state the loss for nodes."]
    if isinstance(step, FreeLunch):
        return ["Give the table a public bound on its rows, table.rows(most=...), or state the loss for free_lunch()."]
    return [f"State the loss of {query.name!r} for {step}, or for add_remove() on its input."]


def _epsilon(table: Table, queries: Sequence[Query], step: Notion) -> str | None:
    """The epsilon that a corrected plan would have, in words."""
    try:
        found = reach(table, queries, step)
        curve = Worst(found.vectors, found.bounds)
        pure = float(curve.epsilon(0.0).upper)
        if math.isfinite(pure):
            return f"{at_most(pure * (1 - 1e-12), 6)}-DP"  # a digit in the twelfth place is rounding
        return f"({at_most(float(curve.epsilon(TRIED_DELTA).upper), 6)}, {TRIED_DELTA:g})-DP"
    except (QuiltworkError, Unbounded):
        return None
