"""The report of a prior: what correlated entries tell about each other, and what releases then leak."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator

import numpy as np

from quiltwork.checks import FloatArray
from quiltwork.compose.constructors import pure
from quiltwork.document.blocks import Axis, Block, Cell, Chart, Dash, Fact, Facts, Grid, Role, Section, Trace, Words
from quiltwork.document.charts import at, spoken
from quiltwork.document.page import Report
from quiltwork.document.parts import AT_MOST, SUMMARY, Detail, assumed, curves_section, warned, why
from quiltwork.numbers.digits import at_least, single
from quiltwork.pufferfish.guarantee import guarantee
from quiltwork.report.answers.influence import (
    GROUP_PRIVACY,
    TOTALS,
    Bound,
    Released,
    View,
    spread,
    theorem_6,
    to_json,
)
from quiltwork.report.pages.account import drawn
from quiltwork.report.parts import ends, loss_fact, promised, target_rows, targets_fact, upward

FAINT = 1e-3  # of the largest influence: sizes beyond are cut off
MANY_SIZES = 64  # sizes from which on fewer per-entry epsilons are asked
TRANSLATION = (
    "an epsilon for each entry is translated once into an epsilon for the secrets, at the size of set that gives the "
    "least"
)


def influence_report(found: View, detail: Detail = "whole") -> Report:
    """Everything that is said about a prior file."""
    released = found.released
    assumes = [found.prior.words, *found.file.assumes, *(released.guarantee.assumes if released else ())]
    because = [TRANSLATION, *(released.guarantee.because if released else ())]
    sections = [
        Section(SUMMARY, [Facts(_facts(found)), *target_rows(found.verdicts), *warned(found.warned)]),
        Section("In plain words", _told(found)),
        *assumed(assumes),
        Section("What the rest tells", [*influence_charts(found, detail), _sizes(found)]),
        *_budgets(found),
        *_leaks(found),
        *([] if released is None else _released(found, released, detail)),
        *why(because),
    ]
    lead = (
        f"What correlated entries tell about each other, and what releases then leak. Protected: {found.secrets.words}."
    )
    return Report(found.file.title, lead, sections, {"kind": "prior", "met": found.met, "influence": to_json(found)})


def _facts(found: View) -> list[Fact]:
    facts = []
    if found.released is not None:
        facts.append(loss_fact(found.released.epsilon, found.delta, "Certified loss of the secrets"))
    if found.leak is not None and found.leak.bracket is not None:
        value = f"epsilon {AT_MOST} {upward(float(found.leak.bracket.upper))}"
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
    if found.verdicts:
        facts.append(targets_fact(found.verdicts))
    elif found.targets:
        word = "can be kept" if found.met else "missed" if found.certified else "undecided"
        note = f"epsilon {AT_MOST} {single(found.targets[0].epsilon)}"
        facts.append(Fact("Target", word, note, "good" if found.met else "bad"))
    return facts or [Fact("Sizes looked at", f"{len(found.sizes):,}", "no target and no release is stated")]


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


def _sizes(found: View) -> Grid:
    epsilon = None if found.leak is None or found.gaussian else found.leak.epsilon
    special = [bound.size for bound in (*found.budgets, *(found.leak.bounds if found.leak else ())) if bound.size]
    chosen, rows = spread(found.sizes, special), []
    for index in chosen:
        entry = found.sizes[index]
        cells: list[str | int | Cell] = [entry.size, upward(entry.value)]
        if epsilon is not None:
            cells.append(upward(entry.size * epsilon * (1 + 1e-15) + entry.value))
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
    rows = [(one, at_least(one.epsilon) if one.epsilon > 0 else "none") for one in found.budgets]
    return [Section("What is allowed for each entry", [_bounds(rows, caption, "Per-entry epsilon")])]


def _leaks(found: View) -> list[Section]:
    leak = found.leak
    if leak is None:
        return []
    blocks: list[Block] = []
    if leak.bounds:
        caption = f"What a per-entry epsilon of {single(leak.epsilon)} leaks about the secrets at most, at delta 0."
        blocks.append(_bounds(((one, upward(one.epsilon)) for one in leak.bounds), caption, "epsilon"))
    if leak.bracket is not None:
        blocks.append(Words(f"The worst release of this kind leaks between {ends(leak.bracket)}."))
    elif not leak.bounds:
        blocks.append(Words("No finite epsilon at delta 0: the ratio of two Gaussian densities is unbounded."))
    return [Section("What leaks", blocks)]


def _released(found: View, released: Released, detail: Detail) -> list[Section]:
    rows = [(one.name, one.describe(), one.count) for one in released.releases]
    caption = "Everything that is released; each loss holds when one entry changes."
    blocks: list[Block] = [Grid(("Release", "Mechanism", ("Count", "number")), rows, caption)]
    if released.totals is not None:
        beside = [(name, upward(getattr(released.totals, field)), note) for name, (field, note) in TOTALS.items()]
        caption = "Other ways of adding up, at delta 0; for comparison only."
        blocks.append(Grid(("Rule", ("epsilon", "number"), "Note"), beside, caption))
    charts, _ = drawn(released.guarantee, released.epsilon, found.delta, found.verdicts[:1], detail)
    return [Section("The releases", blocks), *curves_section(charts, "The curves of the secrets")]


# ---- the charts


def influence_charts(found: View, detail: Detail = "whole") -> list[Chart]:
    """The influence of everything outside a set of entries, and what a per-entry epsilon leaks."""
    return [] if detail == "words" else [_influence(found), *_leaking(found, detail)]


def _influence(found: View) -> Chart:
    """a(b), or mu, as steps: it holds at every size, and never rises."""
    sizes = np.array([entry.size for entry in found.sizes])
    values = np.array([entry.value for entry in found.sizes])
    name = "mu of the rest" if found.gaussian else "influence a(b), nats"
    finite = np.isfinite(values)
    top = float(values[finite].max(initial=0.0))
    loud = np.flatnonzero(~finite | (values > FAINT * top))
    end = min(int(loud[-1]) + 2 if loud.size else 1, sizes.size)
    shown = [i for i in range(end) if finite[i]]
    texts = [f"b = {sizes[i]:,}: at most {upward(float(values[i]))}" for i in shown]
    approximate = any(entry.status == "approximate" for entry in found.sizes)
    words = "approximate, no promise" if approximate else name
    role: Role = "bad" if approximate else "accent"
    line = Trace(words, sizes[shown], values[shown], role, kind="steps", marks=True, texts=texts)
    traces = [line]
    if not finite.all():
        last_infinite = float(sizes[~finite].max())
        edge = (last_infinite, last_infinite), (0.0, 1.08 * top if top else 1.0)
        traces.append(Trace(f"infinite up to b = {last_infinite:,.0f}", *edge, "bad", dash="dash"))
    wide = sizes[end - 1] > 60 and bool(finite[0])
    first, last = float(sizes[0]), float(sizes[end - 1])
    around = (0.9 * first, 1.1 * last) if wide else (first - 0.5, last + 0.5)
    across = Axis("size b of the set that is left out", *around, "log" if wide else "linear")
    title = "Influence curve: what the rest still tells when b entries are left out"
    caption = "How much everything outside some b entries around a secret still tells about it. It never rises with b."
    along = Axis(name, 0.0, 1.08 * top if top else 1.0)
    return Chart("influence", title, across, along, traces, _sizes(found), caption)


def _leaking(found: View, detail: Detail) -> list[Chart]:
    """Epsilon of the secrets against the per-entry epsilon; nothing when nothing is certified."""
    low, high = _reach(found)
    places = spoken(np.geomspace(low, high, _count(found, detail)))
    curves = list(_curves(found, places))
    if not curves:
        return []
    traces = []
    for words, role, dash, values in curves:
        texts = [f"{words}: {upward(v)} at {single(float(e))}" for e, v in zip(places, values, strict=True)]
        traces.append(Trace(words, places, values, role, dash=dash, texts=texts))
    known = [v for _, _, _, values in curves for v in values if math.isfinite(v)]
    low, high = float(places[0]), max([*known, float(places[-1])])
    if found.prior.entries is not None:
        group = found.prior.entries * places
        kept = np.where(group <= 3 * high, group, np.nan)
        traces.append(Trace(f"group privacy, {found.prior.entries:,} entries", places, kept, "muted", dash="dash"))
    traces.append(Trace("the entry alone", places, places, "muted", dash="dot"))
    if found.target is not None:
        across = (low, float(places[-1]))
        traces.append(Trace(f"target {single(found.target)}", across, (found.target,) * 2, "good", dash="dash"))
    when = at(found.delta) if found.gaussian else "at delta 0"
    rows = [
        (single(float(place)), *(upward(float(values[i])) for _, _, _, values in curves))
        for i, place in list(enumerate(places))[:: max(1, len(places) // 10)]
    ]
    heads = [("per-entry epsilon", "number"), *((f"{words}, at most", "number") for words, *_ in curves)]
    sides = (
        Axis("per-entry epsilon", low, float(places[-1]), "log"),
        Axis(f"epsilon of the secrets {when}", low * 0.7, 2.0 * high, "log"),
    )
    caption = (
        "The epsilon that follows for the secrets from an epsilon for each entry. The gap to the dotted line is the "
        "price of correlation."
    )
    title = "What a per-entry epsilon leaks about the secrets at most, by each way of reasoning"
    return [Chart("leak", title, *sides, traces, Grid(heads, rows, f"Epsilon of the secrets {when}"), caption)]


def _count(found: View, detail: Detail) -> int:
    """How many per-entry epsilons are asked: a Gaussian prior composes anew for each, a large one takes long."""
    if detail == "whole":
        return 9 if found.gaussian else 25
    return 7 if found.gaussian or len(found.sizes) > MANY_SIZES else 13


def _curves(found: View, places: FloatArray) -> Iterator[tuple[str, Role, Dash, list[float]]]:
    if found.gaussian and found.delta > 0:
        secrets = found.file.asked()
        each = [guarantee(pure(float(e)), found.prior, secrets).epsilon(found.delta).upper for e in places]
        yield "the best size", "accent", "", [float(value) for value in each]
    if found.translator is not None:
        if found.translator.others:
            yield "all theorems", "accent", "", [found.translator.upper(float(place)) for place in places]
        six = theorem_6(found.translator)
        yield "Theorem 6", "warm", "dash", [six.upper(float(place)) for place in places]


def _reach(found: View) -> tuple[float, float]:
    """Two decades around what was asked, or around the useful range."""
    asked: list[float] = [b.epsilon for b in found.budgets if b.epsilon > 0 and b.name != GROUP_PRIVACY]
    asked += [found.leak.epsilon] if found.leak else []
    low, high = (min(asked) / 5, max(asked) * 5) if asked else (0.01, 3.0)
    if high < 100 * low:
        middle = math.sqrt(low * high)
        low, high = middle / 10, middle * 10
    return low, high
