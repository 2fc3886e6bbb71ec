"""The report of a table plan: overlapping queries on one table, the worst step of its neighbours, what that costs."""

from __future__ import annotations

from quiltwork.document.blocks import Block, Bullets, Facts, Grid, Section, Words
from quiltwork.document.page import Report
from quiltwork.errors import UnboundedLossError
from quiltwork.report.figures import profile_picture, tradeoff_picture
from quiltwork.report.parts import SUMMARY, Judged, assumed, loss_fact, promised, target_rows, targets_fact, why
from quiltwork.report.tables.view import Found, certainty, moved, records, step, to_json
from quiltwork.report.text import column
from quiltwork.spec.files.table_plan import TablePlan

__all__ = ["refused_table_report", "table_report"]

SHOWN = 60  # queries in the table


def table_report(found: Found) -> Report:
    """Everything that is said about a table plan."""
    spec, guarantee = found.spec, found.guarantee
    count = len(found.plan.queries)
    many = "1 query" if count == 1 else f"{count:,} queries"
    lead = f"Privacy account of {many} on one table. Protected: {guarantee.protects}."
    judged = [Judged(one.target, one.word, one.epsilon) for one in found.verdicts]
    facts = Facts([loss_fact(found.epsilon, found.delta), targets_fact(judged)])
    worst: list[Block] = [] if guarantee.witness else [Words(f"The worst step: {step(found)}.")]
    worst.append(Words(f"{_capital(certainty(found))}."))
    sections = [
        Section(SUMMARY, [facts, *target_rows(judged), *_warned(found.warned)]),
        Section("In plain words", [*promised(guarantee, found.delta), *worst]),
        *assumed(guarantee.assumes),
        Section("The curves", [tradeoff_picture(found), profile_picture(found)]),
        Section("The queries", _queries(found)),
        Section("Beside other rules", [_comparison(found)]),
        *why(guarantee.because),
    ]
    return Report(spec.title, lead, sections, {"kind": "tables", "met": found.met, "tables": to_json(found)})


def refused_table_report(spec: TablePlan, error: UnboundedLossError) -> Report:
    """Why no finite epsilon follows from a table plan."""
    lines = str(error).splitlines()
    data = {"kind": "tables", "plan": spec.to_dict(), "met": False, "refused": {"message": lines}}
    section = Section("No finite epsilon follows", [Words(line) for line in lines])
    return Report(spec.title, "Privacy account of queries on one table.", [section], data)


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _warned(warnings: tuple[str, ...]) -> list[Block]:
    return [Bullets([f"Warning: {text}" for text in warnings])] if warnings else []


def _queries(found: Found) -> list[Block]:
    far, rows = found.distances, []
    for entry, places in list(zip(found.spec.queries, found.entries, strict=True))[:SHOWN]:
        mechanism = entry.describe() + (f", {entry.times:,} times" if entry.times > 1 else "")
        holds = str(found.plan.queries[places[0]].holds)
        worst = moved([far.get(index, 0.0) for index in places])
        rows.append((entry.name, records(entry, len(places)), mechanism, holds, worst))
    caption = "Worst step: by how much the worst change of the table moves the query, in units of its own guarantee."
    blocks: list[Block] = [Grid(("Query", "Records", "Mechanism of each", "Holds", "Worst step"), rows, caption)]
    hidden = len(found.spec.queries) - SHOWN
    return [*blocks, Words(f"... and {hidden:,} more queries.")] if hidden > 0 else blocks


def _comparison(found: Found) -> Block:
    rows = [
        (one.name, None if one.epsilon is None else column(float(one.epsilon.upper)), one.note)
        for one in (found.sequential, *found.others)
    ]
    ours = ("this account", column(float(found.epsilon.upper)), "certified from both sides")
    return Grid(
        ("Rule or notion", ("epsilon", "number"), "Note"), [ours, *rows], "For comparison only, at the same delta."
    )
