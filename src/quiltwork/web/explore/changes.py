"""What a change of a file costs: before, after, and the certified difference."""

from __future__ import annotations

from typing import Any

import numpy as np

from quiltwork import checks
from quiltwork.document.charts import Json, at, axis, chart, grid, trace
from quiltwork.numbers.digits import at_least, single
from quiltwork.report.change.differences import Difference, differences
from quiltwork.report.change.page import amount, summary_words
from quiltwork.web.explore.account import value_of
from quiltwork.web.explore.answers import loss_fact, page
from quiltwork.web.explore.drawn import drawn

__all__ = ["answer"]

MOST_ROWS = 200
ALARMS = np.array([0.001, 0.01, 0.05, 0.1, 0.25, 0.5])


def answer(before: Any, after: Any, delta: float | None = None) -> Json:
    """`page` in words and a chart, `difference` in numbers, and whether the second file meets its targets."""
    asked = None if delta is None else checks.probability("delta", delta)
    found = differences(value_of(before), value_of(after), asked)
    facts = []
    if found.before is not None:
        facts.append(loss_fact("Before", found.before, found.delta))
    if found.after is not None:
        facts.append(loss_fact("After", found.after, found.delta))
    if found.cost is not None:
        tone = "bad" if found.cost.lower > 0 else "good" if found.cost.upper <= 0 else ""
        note = f"certified {at(found.delta)}: the true difference lies in between"
        facts.append({"label": "Difference", "value": f"epsilon {found.cost.words()}", "note": note, "tone": tone})
    warnings = [f"Take care: {found.caution}."] if found.caution else []
    tables = [_changes(found)] if found.changes else []
    tables += [_settings(found)] if found.settings else []
    tables += [_targets(found)] if found.targets else []
    shown = page(
        "What the change costs", summary_words(found), facts, tables=tables, warnings=warnings, charts=_curves(found)
    )
    return {"kind": found.one.kind, "difference": found.to_json(), "page": shown, "met": found.met}


def _changes(found: Difference) -> Json:
    rows = [
        (
            change.name,
            change.kind,
            amount(change, "before"),
            amount(change, "after"),
            "-" if change.cost is None else str(change.cost),
        )
        for change in found.changes[:MOST_ROWS]
    ]
    caption = "What each change alone would add to the epsilon of the version before; such numbers do not add up."
    return grid(caption, (found.one.noun, "change", "before", "after", ("epsilon", "number")), rows)


def _settings(found: Difference) -> Json:
    rows = [(one.name, (one.before or "")[:200], (one.after or "")[:200]) for one in found.settings[:MOST_ROWS]]
    return grid("Everything else that the two versions say differently.", ("entry", "before", "after"), rows)


def _targets(found: Difference) -> Json:
    rows = []
    for one in found.targets:
        goal = f"epsilon \N{LESS-THAN OR EQUAL TO} {single(one.target.epsilon)} {at(one.target.delta)}"
        words = [
            f"{'-' if verdict is None else verdict.word}{'' if there else ' (no target)'}"
            for verdict, there in ((one.before, one.set_before), (one.after, one.set_after))
        ]
        rows.append((goal, *words))
    return grid("The targets of both versions, held against both.", ("target", "before", "after"), rows)


def _curves(found: Difference) -> list[Json]:
    before, after = found.curves
    if before is None or after is None or found.before is None or found.after is None:
        return []
    seen = drawn(before, found.before, found.delta), drawn(after, found.after, found.delta)
    traces = [trace("nothing to learn", [0, 1], [1, 0], "muted", dash="dash")]
    columns = []
    for one, words, role, dash in zip(seen, ("before", "after"), ("warm", "accent"), ("dash", ""), strict=True):
        lower = np.ravel(one.beta.lower)
        texts = [f"{words}: misses at least {at_least(100 * low, 3)}%" for low in lower.tolist()]
        traces.append(trace(words, one.alpha, lower, role, dash=dash, texts=texts))
        columns.append([f"{at_least(100 * low, 3)}%" for low in np.ravel(one.curve.beta(ALARMS).lower).tolist()])
    rows = [(f"{single(100 * p)}%", *(column[i] for column in columns)) for i, p in enumerate(ALARMS.tolist())]
    heads = [("false alarms", "number"), ("missed before, at least", "number"), ("missed after, at least", "number")]
    sides = axis("false alarms", 0.0, 1.0), axis("misses", 0.0, 1.0)
    title = "Trade-off curves before and after: a curve further down protects less"
    return [chart("change", title, *sides, traces, grid("What any attacker can reach", heads, rows), square=True)]
