"""The report of a release: published numbers with bars and intervals, what they guarantee, and what was paid."""

from __future__ import annotations

import math
from typing import Any

from quiltwork.document.blocks import Block, Bullets, Cell, Fact, Facts, Grid, Section, Terms, Words
from quiltwork.document.page import Report
from quiltwork.document.parts import SUMMARY, assumed, why
from quiltwork.errors import QuiltworkError, Unreachable
from quiltwork.mechanisms.noise import Auto
from quiltwork.numbers.digits import NOISE, at_most
from quiltwork.release.released import FITTED, LAST, Released
from quiltwork.report.parts import loss_fact, promised
from quiltwork.tables.guarantee import USUAL_DELTA
from quiltwork.tables.plan import Plan
from quiltwork.tables.statistics.statistic import Statistic

HALF = "With half of the budget"
LEAST = 1e-9  # of an epsilon of which half is told
SHOWN = 200  # rows of one table


def released_report(found: Released, title: str, delta: float | None = None, plan: Plan | None = None) -> Report:
    """Everything that is said about a release; the numbers are all in its data. Of a plan also what half would mean."""
    at = USUAL_DELTA if delta is None else delta
    epsilon = found.guarantee.epsilon(at)
    paid = Fact("Paid from a budget", "no ledger was given", "each run without one is a release of its own", "warm")
    if found.receipt is not None:
        paid = Fact("Paid from a budget", str(found.receipt.budget), f"entry {found.receipt.seq} of the ledger", "good")
    numbers = Fact(
        "Published", f"{len(found.rows):,} numbers", f"of {len(found.statistics) or len(_others(found))} queries"
    )
    sections = [
        Section(SUMMARY, [Facts([numbers, loss_fact(epsilon, at), paid])]),
        *(Section(one.name, _statistic(found, one)) for one in found.statistics),
        *(Section(name, _numbers(found, {name})) for name in _others(found)),
        Section("What was done to the data", [Bullets(found.words)] if found.words else [Words("Nothing.")]),
        *([] if plan is None else _half(plan, float(epsilon.upper), at)),
        Section("In plain words", promised(found.guarantee, at)),
        *assumed(found.guarantee.assumes),
        *why(found.guarantee.because),
        Section("Where it comes from", [_origin(found)]),
    ]
    drawn = "Every number is how often an output of a channel was drawn."
    if found.statistics:
        held = _confidence(found)
        drawn = f"Noise is in every number; intervals hold the number without noise in {held} of cases."
    lead = f"{drawn} Protected: {found.guarantee.protects}."
    data = {"kind": "release", "met": True, "release": {**found.about(), "rows": [dict(row) for row in found.rows]}}
    return Report(title, lead, sections, data)


def _half(plan: Plan, epsilon: float, delta: float) -> list[Section]:
    """What half of the budget would have cost: by how much every noise, and so every interval, would be wider."""
    if not LEAST < epsilon < math.inf:
        return []
    kept = f"half of that, epsilon {at_most(epsilon / 2, noise=NOISE)} at delta {delta:g}"
    try:
        wider = plan.scaled(epsilon / 2, delta)
    except Unreachable:
        return [Section(HALF, [Words(f"No size of these noises keeps {kept}.")])]
    except QuiltworkError:  # the numbers are paid for and shown, whatever is not known beside them
        return []
    noises = [(new.noise, old.noise) for new, old in zip(wider.statistics, plan.statistics, strict=True)]
    factors = [a.size / b.size for a, b in noises if not isinstance(a, Auto) and not isinstance(b, Auto)]
    said = f"About {max(factors):.3g} times the noise, and intervals so much wider, would keep {kept}."
    return [Section(HALF, [Words(said)])]


def _statistic(found: Released, one: Statistic) -> list[Block]:
    parts = {one.name, *(f"{one.name}: {part}" for part in ("sum", "count") if one.parts)}
    blocks: list[Block] = [Words(f"{str(one)[:1].upper()}{str(one)[1:]}.")]
    if not any(row["query"] in parts for row in found.rows):
        return [*blocks, Words("No key had enough records to be shown.")]
    return [*blocks, *_numbers(found, parts)]


def _others(found: Released) -> list[str]:
    """Queries that are no statistics: the outputs of a channel."""
    return list(dict.fromkeys(str(row["query"]) for row in found.rows)) if not found.statistics else []


def _numbers(found: Released, queries: set[str]) -> list[Block]:
    rows = [row for row in found.rows if row["query"] in queries]
    names = [name for name in rows[0] if name not in (*LAST, FITTED) and (len(queries) > 1 or name != "query")]
    digits = _digits(rows)
    fitted = [("Consistent", "number")] if rows[0].get(FITTED) is not None else []
    largest = max((abs(float(row["value"])) for row in rows), default=0.0) or 1.0
    alone = len(rows) == 1
    shown = [
        (
            *(str(row[name]) for name in names),
            Cell(_number(row["value"], digits), share=None if alone else max(0.0, float(row["value"])) / largest),
            f"{_number(row['lower'], digits)} to {_number(row['upper'], digits)}",
            *([] if row.get(FITTED) is None else [_number(row[FITTED], digits)]),
        )
        for row in rows[:SHOWN]
    ]
    interval = f"{_confidence(found)} interval"
    blocks: list[Block] = [Grid((*names, ("Value", "number"), (interval, "number"), *fitted), shown)]
    if len(rows) > SHOWN:
        blocks.append(Words(f"... and {len(rows) - SHOWN:,} more rows."))
    return blocks


def _confidence(found: Released) -> str:
    """In percent, as it was asked for: 99.9 is not 100."""
    return f"{100 * found.confidence:.12g}%"


def _digits(rows: list[Any]) -> int:
    """Decimals that the interval leaves meaningful: two digits of its half width."""
    widths = [abs(float(row["upper"]) - float(row["lower"])) / 2 for row in rows]
    least = min((width for width in widths if width > 0), default=1.0)
    return max(0, 1 - math.floor(math.log10(least)))


def _number(value: float, digits: int) -> str:
    return f"{value:,}" if isinstance(value, int) else f"{value:,.{digits}f}"


def _origin(found: Released) -> Terms:
    noise = "; ".join(f"{one.name}: {one.noise}" for one in found.statistics) or "draws from a table of whole numbers"
    items = [Fact("Plan", found.plan_hash, "SHA-256"), Fact("Engine", found.engine), Fact("Noise", noise)]
    if found.receipt is not None:
        items.append(Fact("Receipt", found.receipt.hash, f"ledger {found.receipt.ledger}"))
    return Terms(items)
