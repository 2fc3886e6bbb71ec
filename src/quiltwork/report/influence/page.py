"""The report of a prior: what correlated entries tell about each other, and what releases then leak."""

from __future__ import annotations

from collections.abc import Iterable

from quiltwork.document.blocks import Block, Bullets, Cell, Fact, Facts, Grid, Section, Words
from quiltwork.document.page import Report
from quiltwork.numbers.digits import at_least, at_most, single
from quiltwork.report.figures import Lone, profile_picture, tradeoff_picture
from quiltwork.report.influence.data import TOTALS, spread, to_json
from quiltwork.report.influence.figure import pictures
from quiltwork.report.influence.view import Bound, Released, View
from quiltwork.report.parts import (
    AT_MOST,
    SUMMARY,
    Judged,
    assumed,
    loss_fact,
    promised,
    target_rows,
    targets_fact,
    why,
)
from quiltwork.report.text import ends

__all__ = ["influence_report"]

DIGITS = 6
TRANSLATION = (
    "an epsilon for each entry is translated once into an epsilon for the secrets, at the size of set that gives the "
    "least (theory/pufferfish.md 3)"
)


def influence_report(found: View) -> Report:
    """Everything that is said about a prior file."""
    released = found.released
    judged = [Judged(one.target, one.word, one.epsilon, what) for what, one in found.verdicts]
    assumes = [found.prior.words, *found.file.assumes, *(released.guarantee.assumes if released else ())]
    because = [TRANSLATION, *(released.guarantee.because if released else ())]
    sections = [
        Section(SUMMARY, [Facts(_facts(found, judged)), *target_rows(judged), *_warned(found)]),
        Section("In plain words", _told(found)),
        *assumed(assumes),
        Section("What the rest tells", [*pictures(found), _sizes(found)]),
        *_budgets(found),
        *_leaks(found),
        *([] if released is None else _released(found, released)),
        *why(because),
    ]
    lead = (
        f"What correlated entries tell about each other, and what releases then leak. Protected: {found.secrets.words}."
    )
    return Report(found.file.title, lead, sections, {"kind": "prior", "met": found.met, "influence": to_json(found)})


def _facts(found: View, judged: list[Judged]) -> list[Fact]:
    facts = []
    if found.released is not None:
        facts.append(loss_fact(found.released.epsilon, found.delta, "Certified loss of the secrets"))
    if found.leak is not None and found.leak.bracket is not None:
        value = f"epsilon {AT_MOST} {at_most(float(found.leak.bracket.upper))}"
        note = f"from a per-entry epsilon of {single(found.leak.epsilon)}, at delta 0"
        facts.append(Fact("Leaked about the secrets", value, note))
    if found.target is not None and found.budgets:
        best = max(budget.epsilon for budget in found.budgets)
        note = f"the most that keeps epsilon {single(found.target)} for the secrets"
        value = f"epsilon {at_least(best)}" if best > 0 else "none"
        facts.append(Fact("Allowed for each entry", value, note, "" if best > 0 else "bad"))
    if not found.certified:
        facts.append(
            Fact("Certified", "nothing", "the influence is approximate: no bound on its error is known", "bad")
        )
    if judged:
        facts.append(targets_fact(judged))
    elif found.targets:
        word = "can be kept" if found.met else "missed" if found.certified else "undecided"
        facts.append(Fact("Target", word, f"epsilon {AT_MOST} {single(found.targets[0].epsilon)}", _tone(found.met)))
    return facts or [Fact("Sizes looked at", f"{len(found.sizes):,}", "no target and no release is stated")]


def _tone(met: bool) -> str:
    return "good" if met else "bad"


def _told(found: View) -> list[Block]:
    kind = "as Gaussian noise with this mu" if found.gaussian else "in nats"
    lines: list[Block] = [
        Words(
            "Entries are correlated, so what is released about one tells about others. For every size b, everything "
            f"outside some b entries around a secret tells at most the value below about it, {kind}. Inside them, the "
            "noise of the releases must protect all b entries together."
        )
    ]
    if found.released is not None:
        lines += promised(found.released.guarantee, found.delta)
    return lines


def _warned(found: View) -> list[Block]:
    return [Bullets([f"Warning: {text}" for text in found.warned])] if found.warned else []


def _sizes(found: View) -> Block:
    epsilon = None if found.leak is None or found.gaussian else found.leak.epsilon
    special = [bound.size for bound in (*found.budgets, *(found.leak.bounds if found.leak else ())) if bound.size]
    chosen, rows = spread(found.sizes, special), []
    for index in chosen:
        entry = found.sizes[index]
        cells: list[str | int | Cell] = [entry.size, at_most(entry.value, DIGITS)]
        if epsilon is not None:
            cells.append(at_most(entry.size * epsilon * (1 + 1e-15) + entry.value, DIGITS))
        rows.append([*cells, Cell(entry.status, tone="bad" if entry.status == "approximate" else "")])
    name = "mu of the rest" if found.gaussian else "a(b)"
    more = [] if epsilon is None else [(f"b {single(epsilon)} + a(b)", "number")]
    some = "" if len(chosen) == len(found.sizes) else f" {len(chosen)} of {len(found.sizes):,} sizes are shown."
    columns = [("Size b", "number"), (name, "number"), *more, ("Status", "")]
    return Grid(columns, rows, f"What everything outside some b entries tells about a secret, at most.{some}")


def _bounds(rows: Iterable[tuple[Bound, str]], caption: str, heading: str) -> Block:
    cells = [(f"by {bound.name}", epsilon, bound.size, bound.note) for bound, epsilon in rows]
    return Grid(("Reasoning", (heading, "number"), ("Size b", "number"), "Note"), cells, caption)


def _budgets(found: View) -> list[Section]:
    if not found.budgets or found.target is None:
        return []
    at = "" if found.gaussian else ", at delta 0"
    caption = f"The largest per-entry epsilon that keeps epsilon {single(found.target)} for the secrets{at}."
    rows = [(one, at_least(one.epsilon, DIGITS) if one.epsilon > 0 else "none") for one in found.budgets]
    return [Section("What is allowed for each entry", [_bounds(rows, caption, "Per-entry epsilon")])]


def _leaks(found: View) -> list[Section]:
    leak = found.leak
    if leak is None:
        return []
    blocks: list[Block] = []
    if leak.bounds:
        caption = f"What a per-entry epsilon of {single(leak.epsilon)} leaks about the secrets at most, at delta 0."
        blocks.append(_bounds(((one, at_most(one.epsilon, DIGITS)) for one in leak.bounds), caption, "epsilon"))
    if leak.bracket is not None:
        blocks.append(Words(f"The worst release of this kind leaks between {ends(leak.bracket)}."))
    elif not leak.bounds:
        blocks.append(Words("No finite epsilon at delta 0: the ratio of two Gaussian densities is unbounded."))
    return [Section("What leaks", blocks)]


def _released(found: View, released: Released) -> list[Section]:
    rows = [(one.name, one.describe(), one.count) for one in released.releases]
    caption = "Everything that is released; each loss holds when one entry changes."
    blocks: list[Block] = [Grid(("Release", "Mechanism", ("Count", "number")), rows, caption)]
    if released.totals is not None:
        beside = [
            (name, at_most(getattr(released.totals, field), DIGITS), note) for name, (field, note) in TOTALS.items()
        ]
        caption = "Other ways of adding up, at delta 0; for comparison only."
        blocks.append(Grid(("Rule", ("epsilon", "number"), "Note"), beside, caption))
    lone = Lone(released.guarantee, found.delta, released.epsilon, tuple(one for _, one in found.verdicts[:1]))
    return [
        Section("The releases", blocks),
        Section("The curves of the secrets", [tradeoff_picture(lone), profile_picture(lone)]),
    ]
