"""The page of a difference: what changed, what each change costs, the totals and targets before and after."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from quiltwork.document.blocks import Block, Cell, Chart, Dash, Fact, Facts, Grid, Role, Section, Tone, Trace, Words
from quiltwork.document.charts import ALARMS, MISSES, blind_guessing
from quiltwork.document.page import Report
from quiltwork.document.parts import AT_MOST, SUMMARY, Detail, curves_section
from quiltwork.numbers.digits import at_least, single
from quiltwork.report.answers.change import Cost, Difference, Retargeted, signed
from quiltwork.report.answers.change_sides import Piece
from quiltwork.report.parts import ends, tone_of, upward
from quiltwork.report.points import alarms_table, points_of

MOST_ROWS = 200  # of a table
NOTHING = "not there"


def difference_report(found: Difference, detail: Detail = "whole", most: float | None = None) -> Report:
    """Everything that is said about a change; `most` is how far epsilon may grow."""
    same = found.one.title == found.two.title
    title = f"Change of {found.one.title}" if same else f"{found.one.title}, then {found.two.title}"
    lead = f"Two versions of a {found.one.kind}, compared. {_summary_words(found)}"
    caution = [Words(f"Take care: {found.caution}.")] if found.caution else []
    sections = [Section(SUMMARY, [Facts(_facts(found, most)), *caution, *_targets(found), *_budgets(found)])]
    if found.changes:
        sections.append(Section("What changed", [_changes(found)]))
    if found.settings:
        sections.append(Section("What else is said", [_settings(found)]))
    sections += curves_section(_curves(found, detail), "Before and after")
    return Report(title, lead, sections, {"kind": "difference", "difference": found.to_json()})


def _summary_words(found: Difference) -> str:
    """One sentence: how many pieces changed."""
    if found.same:
        return "Nothing that matters is different."
    counts = [(kind, sum(change.kind == kind for change in found.changes)) for kind in ("added", "removed", "changed")]
    said = [f"{count} {kind}" for kind, count in counts if count]
    if others := len(found.settings):
        said.append(f"{others} other entr{'y' if others == 1 else 'ies'} changed")
    nouns = _plural(found.one.noun, found.kept)
    return f"{_plural(found.one.noun, 2).capitalize()}: {', '.join(said)}; {found.kept} {nouns} the same."


def _plural(noun: str, count: int) -> str:
    if count == 1:
        return noun
    return noun[:-1] + "ies" if noun.endswith("y") else noun + "s"


def _amount(piece: Piece | None) -> str | None:
    """What a piece is, with how often it runs."""
    return None if piece is None else piece.words + (f", {piece.count:,} times" if piece.count > 1 else "")


def _shown_cost(cost: Cost) -> str:
    """The interval, and how far the upper end moves where the sign is not known."""
    open_ended = cost.lower < 0 < cost.upper and math.isfinite(cost.published)
    return f"{cost}, upper end {signed(upward(cost.published))}" if open_ended else str(cost)


def _facts(found: Difference, most: float | None) -> list[Fact]:
    at = f"at delta {single(found.delta)}"
    facts = []
    for label, total in (("Before", found.before), ("After", found.after)):
        if total is not None:
            upper = float(total.upper)
            value = f"epsilon {AT_MOST} {upward(upper)}" if math.isfinite(upper) else "epsilon is not bounded"
            facts.append(Fact(label, value, f"{at}; the truth lies between {ends(total)}"))
    if found.cost is not None:
        tone: Tone = "bad" if found.cost.lower > 0 else "good" if found.cost.upper <= 0 else ""
        facts.append(
            Fact("Difference", f"epsilon {found.cost.words()}", "certified: the true difference lies in between", tone)
        )
    if most is not None:
        held = found.holds(most)
        facts.append(
            Fact(f"At most {single(most)} more", "held" if held else "not held", tone="good" if held else "bad")
        )
    return facts or [Fact("Total", "none", f"a {found.one.noun} stands by itself")]


def _budgets(found: Difference) -> list[Block]:
    if not found.budgets:
        return []

    cells = {None: Cell("not named"), True: Cell("fits", tone="good"), False: Cell("does not fit", tone="bad")}
    rows = [(name, cells[was], cells[now]) for name, was, now in found.budgets]
    return [Grid(("Budget", "Before", "After"), rows, "Whether all releases fit into the budgets that a plan names.")]


def _targets(found: Difference) -> list[Block]:
    if not found.targets:
        return []
    rows = [
        [f"epsilon {AT_MOST} {single(one.target.epsilon)} at delta {single(one.target.delta)}", *_words(one)]
        for one in found.targets
    ]
    return [Grid(("Target", "Before", "After"), rows, "The targets of both versions, held against both.")]


def _words(one: Retargeted) -> list[Cell]:
    cells: list[Cell] = []
    for verdict, there in ((one.before, one.set_before), (one.after, one.set_after)):
        note = "" if there else "no longer a target" if cells else "not yet a target"
        cells.append(Cell("-", note) if verdict is None else Cell(verdict.word, note, tone_of(verdict.word)))
    return cells


def _changes(found: Difference) -> Block:
    rows = []
    for change in found.changes[:MOST_ROWS]:
        fields = "; ".join(f"{one.name}: {one.before or NOTHING} to {one.after or NOTHING}" for one in change.fields)
        cost: Any = None if change.cost is None else _shown_cost(change.cost)
        rows.append(
            (
                Cell(change.name, fields[:300]),
                change.kind,
                _amount(change.before),
                _amount(change.after),
                Cell("-", change.note) if cost is None else cost,
            )
        )
    caption = "Epsilon: what this change alone would add to the first version; such numbers do not add up."
    if found.one.separate:
        caption = f"Epsilon: how far the limit moves, at delta {single(found.delta)} where it names none."
    columns = (found.one.noun.capitalize(), "", "Before", "After", ("epsilon", "number"))
    return Grid(columns, rows, caption)


def _settings(found: Difference) -> Block:
    rows = [
        (one.name, (one.before or "")[:200] or None, (one.after or "")[:200] or None)
        for one in found.settings[:MOST_ROWS]
    ]
    return Grid(("Entry", "Before", "After"), rows, "Everything else that the two versions say differently.")


def _curves(found: Difference, detail: Detail) -> list[Chart]:
    """Both trade-off curves on one chart."""
    before, after = found.curves
    if detail == "words" or before is None or after is None or found.before is None or found.after is None:
        return []
    quick = detail == "quick"
    seen = [
        points_of(curve, total, found.delta, quick=quick)
        for curve, total in ((before, found.before), (after, found.after))
    ]
    traces = [blind_guessing()]
    looks: list[tuple[str, Role, Dash]] = [("before", "warm", "dash"), ("after", "accent", "")]
    for one, (words, role, dash) in zip(seen, looks, strict=True):
        lower = np.ravel(one.beta.lower)
        texts = [f"{words}: misses at least {at_least(100 * low, 3)}%" for low in lower.tolist()]
        traces.append(Trace(words, one.alpha, lower, role, dash=dash, texts=texts))
    title = "Trade-off curves before and after: the least share of misses for each share of false alarms"
    caption = "A curve further down leaves an attacker fewer errors: less is protected."
    columns = [(f"missed {words}, at least", one.curve) for one, (words, *_) in zip(seen, looks, strict=True)]
    return [Chart("before-after", title, ALARMS, MISSES, traces, alarms_table(columns), caption, square=True)]
