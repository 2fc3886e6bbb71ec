"""A table plan as a page: the worst step, each query, the targets, and both curves."""

from __future__ import annotations

from quiltwork import checks
from quiltwork.document.charts import Json, at, grid
from quiltwork.report.tables.view import Found, certainty, moved, records, step, to_json, view
from quiltwork.report.text import column
from quiltwork.spec.files.table_plan import TablePlan
from quiltwork.web.explore.answers import loss_fact, page, section, verdict_json
from quiltwork.web.explore.curves import charts_of, points
from quiltwork.web.explore.drawn import drawn
from quiltwork.web.explore.limits import MOST_RELEASES, refuse_many

__all__ = ["table_page"]

DASH = "\N{EN DASH}"


def table_page(spec: TablePlan, delta: float | None) -> Json:
    """Everything about a table plan: `page` in words and charts, `account` as the command writes it."""
    refuse_many("queries", len(spec.queries), MOST_RELEASES, "tables")
    found = view(spec, None if delta is None else checks.probability("delta", delta), [])
    targets = [(v.target.epsilon, v.target.delta) for v in found.verdicts]
    seen = drawn(found.guarantee, found.epsilon, found.delta, targets)
    shown = page(
        spec.title,
        f"Protected: {found.guarantee.protects}.",
        [loss_fact("Certified privacy loss", found.epsilon, found.delta)],
        verdicts=[verdict_json(verdict) for verdict in found.verdicts],
        tables=[_queries(found), _comparison(found)],
        sections=[
            section("The worst step", [f"{step(found)}: {certainty(found)}."]),
            section("What is assumed", found.guarantee.assumes, bullets=True),
            section("Why it holds", found.guarantee.because, bullets=True),
        ],
        warnings=list(found.warned),
        charts=charts_of(seen, found.delta, found.verdicts),
    )
    return {"page": shown, "account": to_json(found), "curves": points(seen), "met": found.met}


def _queries(found: Found) -> Json:
    far = found.distances
    rows = []
    for entry, places in zip(found.spec.queries, found.entries, strict=True):
        mechanism = entry.describe() + (f", {entry.times:,} times" if entry.times > 1 else "")
        holds = str(found.plan.queries[places[0]].holds)
        rows.append(
            (entry.name, records(entry, len(places)), mechanism, holds, moved([far.get(i, 0.0) for i in places]))
        )
    heads = ("query", "records", "mechanism of each", "holds", "worst step moves it")
    return grid("The queries", heads, rows)


def _comparison(found: Found) -> Json:
    rows = [("this account", column(float(found.epsilon.upper)), "certified from both sides")]
    for other in (found.sequential, *found.others):
        rows.append((other.name, DASH if other.epsilon is None else column(float(other.epsilon.upper)), other.note))
    heads = ("rule", ("epsilon, at most", "number"), "")
    return grid(f"Beside other rules, {at(found.delta)}; for comparison only.", heads, rows, strong=0)
