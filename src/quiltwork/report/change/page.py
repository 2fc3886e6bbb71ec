"""The page of a difference: what changed, what each change costs, the totals and targets before and after."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np

from quiltwork.curves.curve import Curve
from quiltwork.document.blocks import Block, Cell, Fact, Facts, Grid, Picture, Section, Tone, Words
from quiltwork.document.draw.style import COLOURS
from quiltwork.document.draw.svg import picture
from quiltwork.document.page import Report
from quiltwork.numbers.digits import at_most, single
from quiltwork.report.change.cost import Cost, signed
from quiltwork.report.change.differences import Change, Difference, Retargeted
from quiltwork.report.parts import AT_MOST, SUMMARY, tone_of
from quiltwork.report.text import ends

__all__ = ["amount", "difference_report", "fitting", "meaning", "shown_cost", "summary_words"]

POINTS = 201
NOTHING = "not there"


def difference_report(found: Difference) -> Report:
    """Everything that is said about a change."""
    same = found.one.title == found.two.title
    title = f"Change of {found.one.title}" if same else f"{found.one.title}, then {found.two.title}"
    lead = f"Two versions of a {found.one.kind}, compared. {summary_words(found)}"
    caution = [Words(f"Take care: {found.caution}.")] if found.caution else []
    sections = [Section(SUMMARY, [Facts(_facts(found)), *caution, *_targets(found), *_budgets(found)])]
    if found.changes:
        sections.append(Section("What changed", [_changes(found)]))
    if found.settings:
        sections.append(Section("What else is said", [_settings(found)]))
    if found.curves[0] is not None and found.curves[1] is not None:
        sections.append(Section("Before and after", [_curves(found.curves[0], found.curves[1])]))
    return Report(title, lead, sections, {"kind": "difference", "difference": found.to_json()})


def summary_words(found: Difference) -> str:
    """One sentence: how many pieces changed."""
    if found.same:
        return "Nothing that matters is different."
    counts = [(kind, sum(change.kind == kind for change in found.changes)) for kind in ("added", "removed", "changed")]
    said = [f"{count} {kind}" for kind, count in counts if count]
    said += [f"{len(found.settings)} other entr{'y' if len(found.settings) == 1 else 'ies'} changed"] * bool(
        found.settings
    )
    nouns = _plural(found.one.noun, found.kept)
    return f"{_plural(found.one.noun, 2).capitalize()}: {', '.join(said)}; {found.kept} {nouns} the same."


def _plural(noun: str, count: int) -> str:
    if count == 1:
        return noun
    return noun[:-1] + "ies" if noun.endswith("y") else noun + "s"


def amount(change: Change, side: str) -> str:
    """What a piece is, with how often it runs."""
    piece = change.before if side == "before" else change.after
    if piece is None:
        return ""
    return piece.words + (f", {piece.count:,} times" if piece.count > 1 else "")


def meaning(found: Difference) -> str:
    """What the epsilon beside a change says."""
    if found.one.separate:
        return f"epsilon: how far the limit moves, at delta {single(found.delta)} where it names none"
    return "epsilon: what this change alone would add to the first version; such numbers do not add up"


def shown_cost(cost: Cost) -> str:
    """The interval, and how far the upper end moves where the sign is not known."""
    open_ended = cost.lower < 0 < cost.upper and math.isfinite(cost.published)
    return f"{cost}, upper end {signed(at_most(cost.published))}" if open_ended else str(cost)


def _facts(found: Difference) -> list[Fact]:
    at = f"at delta {single(found.delta)}"
    facts = []
    for label, total in (("Before", found.before), ("After", found.after)):
        if total is not None:
            upper = float(total.upper)
            value = f"epsilon {AT_MOST} {at_most(upper)}" if math.isfinite(upper) else "epsilon is not bounded"
            facts.append(Fact(label, value, f"{at}; the truth lies between {ends(total)}"))
    if found.cost is not None:
        tone: Tone = "bad" if found.cost.lower > 0 else "good" if found.cost.upper <= 0 else ""
        facts.append(
            Fact("Difference", f"epsilon {found.cost.words()}", "certified: the true difference lies in between", tone)
        )
    return facts or [Fact("Total", "none", f"a {found.one.noun} stands by itself")]


def fitting(fits: bool | None) -> str:
    """Whether everything fits into a budget, in words."""
    return "not named" if fits is None else "fits" if fits else "does not fit"


def _budgets(found: Difference) -> list[Block]:
    if not found.budgets:
        return []

    def cell(fits: bool | None) -> Cell:
        return Cell(fitting(fits), tone="" if fits is None else "good" if fits else "bad")

    rows = [(name, cell(was), cell(now)) for name, was, now in found.budgets]
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
    for change in found.changes:
        fields = "; ".join(f"{one.name}: {one.before or NOTHING} to {one.after or NOTHING}" for one in change.fields)
        cost: Any = None if change.cost is None else shown_cost(change.cost)
        rows.append(
            (
                Cell(change.name, fields[:300]),
                change.kind,
                amount(change, "before") or None,
                amount(change, "after") or None,
                Cell("-", change.note) if cost is None else cost,
            )
        )
    words = meaning(found)
    caption = f"{words[:1].upper()}{words[1:]}."
    columns = (found.one.noun.capitalize(), "", "Before", "After", ("epsilon", "number"))
    return Grid(columns, rows, caption)


def _settings(found: Difference) -> Block:
    rows = [(one.name, (one.before or "")[:200] or None, (one.after or "")[:200] or None) for one in found.settings]
    return Grid(("Entry", "Before", "After"), rows, "Everything else that the two versions say differently.")


def _curves(before: Curve, after: Curve) -> Picture | Words:
    """Both trade-off curves on one chart."""
    return picture(
        "before-after",
        "Trade-off curves before and after: least share of misses for each share of false alarms",
        "A curve further down leaves an attacker fewer errors: less is protected.",
        partial(_draw, before, after),
    )


def _draw(before: Curve, after: Curve, axes: Any) -> None:
    alpha = 0.5 - 0.5 * np.cos(np.linspace(0.0, np.pi, POINTS))
    axes.plot([0, 1], [1, 0], color=COLOURS["muted"], linewidth=1.0, linestyle=(0, (4, 3)), label="nothing to learn")
    for curve, label, colour, dash in (
        (before, "before", "muted", (0, (1, 1.5))),
        (after, "after", "accent", "solid"),
    ):
        axes.plot(alpha, curve.beta(alpha).lower, color=COLOURS[colour], linewidth=2.0, linestyle=dash, label=label)
    axes.set(xlim=(0, 1), ylim=(0, 1), xlabel="false alarms", ylabel="misses")
    axes.set_aspect("equal")
    axes.legend(loc="upper right")
