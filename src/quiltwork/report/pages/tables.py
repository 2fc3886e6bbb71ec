"""The report of a table plan: overlapping queries on one table, the worst step of its neighbours, what that costs."""

from __future__ import annotations

from quiltwork.document.blocks import Block, Fact, Facts, Grid, Section, Words
from quiltwork.document.page import Report
from quiltwork.document.parts import SUMMARY, Detail, assumed, curves_section, warned, why
from quiltwork.errors import UnboundedLossError
from quiltwork.report.answers.account import Judged
from quiltwork.report.answers.tables import Found, certainty, moved, records, step, to_json
from quiltwork.report.pages.account import drawn
from quiltwork.report.parts import computed, loss_fact, promised, target_rows, targets_fact, upward
from quiltwork.spec.files.table_plan import TablePlan

SHOWN = 60  # queries in the table


def table_report(found: Found, detail: Detail = "whole", shown: int | None = SHOWN) -> Report:
    """Everything that is said about a table plan; `shown` queries stand in its table, or all."""
    spec, guarantee = found.spec, found.guarantee
    count = len(found.plan.queries)
    many = "1 query" if count == 1 else f"{count:,} queries"
    lead = f"Privacy account of {many} on one table. Protected: {guarantee.protects}."
    judged = Judged.by(found.verdicts)
    facts = Facts([loss_fact(found.epsilon, found.delta), targets_fact(judged)])
    charts, curves = drawn(guarantee, found.epsilon, found.delta, found.verdicts, detail)
    worst: list[Block] = [] if guarantee.witness else [Words(f"The worst pair of neighbouring tables: {step(found)}.")]
    sure = certainty(found)
    worst.append(Words(f"{sure[:1].upper()}{sure[1:]}."))
    hidden = 0 if shown is None else len(spec.queries) - shown
    more = [Words(f"... and {hidden:,} more queries.")] if hidden > 0 else []
    sections = [
        Section(SUMMARY, [facts, *target_rows(judged), *warned(found.warned)]),
        Section("In plain words", [*promised(guarantee, found.delta), *worst]),
        *assumed(guarantee.assumes),
        *curves_section(charts),
        Section("The queries", [queries_grid(found, shown), *more]),
        Section("Beside other rules", [_comparison(found)]),
        *why([*guarantee.because, *computed(found.epsilon)]),
    ]
    data = {"kind": "tables", "met": found.met, "tables": to_json(found), **curves}
    return Report(spec.title, lead, sections, data)


def refused_table_report(spec: TablePlan, error: UnboundedLossError) -> Report:
    """Why no finite epsilon follows from a table plan."""
    lines = str(error).splitlines()
    data = {
        "kind": "tables",
        "plan": spec.to_dict(),
        "met": False,
        "refused": {"message": lines, "queries": list(error.queries)},
    }
    fact = Fact("Certified privacy loss", "epsilon is not bounded", ", ".join(error.queries), "bad")
    sections = [Section(SUMMARY, [Facts([fact])]), Section("Why", [Words(line) for line in lines])]
    return Report(spec.title, "No finite epsilon follows from this plan.", sections, data)


def queries_grid(found: Found, shown: int | None = None) -> Grid:
    """Which records each query reads, and how far the worst step moves it."""
    far, rows = found.distances, []
    for entry, places in list(zip(found.spec.queries, found.entries, strict=True))[:shown]:
        mechanism = entry.describe() + (f", {entry.times:,} times" if entry.times > 1 else "")
        holds = found.plan.queries[places[0]].holds.words
        worst = moved([far.get(index, 0.0) for index in places])
        rows.append((entry.name, records(entry, len(places)), mechanism, holds, worst))
    caption = (
        "Worst case: how far the worst pair of neighbouring tables moves the query, in units of its own guarantee."
    )
    return Grid(("Query", "Records", "Mechanism of each", "Its guarantee", "Worst case"), rows, caption)


def _comparison(found: Found) -> Block:
    rows = [
        (one.name, None if one.epsilon is None else upward(float(one.epsilon.upper)), one.note)
        for one in (found.sequential, *found.others)
    ]
    ours = ("this account", upward(float(found.epsilon.upper)), "certified from both sides")
    return Grid(
        ("Rule or notion", ("epsilon", "number"), "Note"), [ours, *rows], "For comparison only, at the same delta."
    )
