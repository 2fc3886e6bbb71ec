"""The influence page: what correlated entries tell about each other, which per-entry epsilon is allowed, what leaks."""

from __future__ import annotations

import math
import time
from collections.abc import Iterable

import numpy as np

from quiltwork import checks
from quiltwork.checks import FloatArray
from quiltwork.compose.constructors import pure
from quiltwork.document.charts import Json, at, axis, chart, grid, spoken, trace
from quiltwork.errors import InvalidParameter
from quiltwork.numbers.digits import at_least, at_most, single
from quiltwork.numbers.stated import typed
from quiltwork.pufferfish.guarantee import guarantee
from quiltwork.report.influence.data import spread, to_json
from quiltwork.report.influence.view import GROUP_PRIVACY, Bound, View, theorem_6, view
from quiltwork.report.text import ends
from quiltwork.spec.files.prior import PriorFile, parse_prior, prior_from
from quiltwork.web.explore.answers import fact, loss_fact, page, section, verdict_json
from quiltwork.web.explore.limits import checked_text

__all__ = ["answer", "prior_page"]

COUNTS, QUICK = (7, 13, 37), 0.25  # per-entry epsilons in a picture; more of them while so many seconds suffice
FAINT = 1e-3  # of the largest influence: sizes beyond are cut off
LONGEST = 100_000  # entries of a chain on this page
DIGITS = 6
NUMBER = "number"

Line = tuple[str, str, str, list[float]]  # name, role, dash and values


def answer(asked: Json) -> Json:
    """A binary chain with the stay probabilities `p` and `q` (and a `length`), or the text of a `prior` file.

    `epsilon` is the target for the secrets, `per_entry` a release whose leak is asked for.
    """
    if asked.get("prior") is not None:
        file = parse_prior(checked_text("prior", asked["prior"], "influence"))
    else:
        file = _binary(asked)
    given = {name: None if asked.get(name) is None else asked[name] for name in ("epsilon", "per_entry", "delta")}
    return prior_page(file, **given)


def _binary(asked: Json) -> PriorFile:
    p, q = (checks.probability(name, asked.get(name)) for name in ("p", "q"))
    leaves = [float(1 - typed(stay)) for stay in (p, q)]  # 0.2 beside 0.8, as a person would write it
    chain: Json = {"transition": [[p, leaves[0]], [leaves[1], q]]}
    if asked.get("length") is not None:
        chain["length"] = checks.count("length", asked["length"], least=1)
        if chain["length"] > LONGEST:
            raise InvalidParameter("length", chain["length"], f"at most {LONGEST:,} here", "or leave it out")
    title = f"Binary chain that stays with probability {single(p)} in 0 and {single(q)} in 1"
    return prior_from({"quiltwork": 1, "title": title, "prior": {"markov_chain": chain}})


def prior_page(
    file: PriorFile, delta: float | None = None, epsilon: float | None = None, per_entry: float | None = None
) -> Json:
    """Everything about a prior file: `page` in words and charts, `account` as the command writes it."""
    found = view(
        file,
        epsilon=None if epsilon is None else checks.moderate("epsilon", epsilon),
        per_entry=None if per_entry is None else checks.moderate("per_entry", per_entry),
        delta=None if delta is None else checks.probability("delta", delta),
    )
    tables = [_bounds(f"Largest per-entry epsilon for the target {single(found.target or 0.0)}", _budgets(found))]
    tables = tables if found.budgets else []
    if found.leak is not None and found.leak.bounds:
        caption = f"What a per-entry epsilon of {single(found.leak.epsilon)} leaks at delta 0, at most"
        tables.append(_bounds(caption, ((b, at_most(b.epsilon, DIGITS)) for b in found.leak.bounds)))
    shown = page(
        file.title,
        f"Protected: {found.secrets.words}.",
        _facts(found),
        verdicts=[verdict_json(verdict, what) for what, verdict in found.verdicts],
        tables=tables,
        sections=[section("What is assumed", (found.prior.words, *file.assumes), bullets=True), *_because(found)],
        warnings=list(found.warned),
        charts=[_sizes(found), *_leaks(found)],
    )
    return {"page": shown, "account": to_json(found), "curves": None, "met": found.met}


def _facts(found: View) -> list[Json]:
    facts = []
    best = max(found.budgets, key=lambda budget: budget.epsilon, default=None)
    if best is not None:
        allowed = f"\N{LESS-THAN OR EQUAL TO} {at_least(best.epsilon)}" if best.epsilon > 0 else "none is enough"
        note = f"keeps epsilon {single(found.target or 0.0)} for the secrets {at(found.delta)}, by {best.name}"
        facts.append(fact("Allowed per-entry epsilon", allowed, note, "" if best.epsilon > 0 else "bad"))
    if found.leak is not None:
        words, note = "no finite bound at delta 0", ""
        if found.leak.bracket is not None and math.isfinite(float(found.leak.bracket.upper)):
            words = f"epsilon \N{LESS-THAN OR EQUAL TO} {at_most(float(found.leak.bracket.upper))}"
            note = f"the worst release of this kind leaks between {ends(found.leak.bracket)}"
        facts.append(fact(f"A per-entry epsilon of {single(found.leak.epsilon)} leaks", words, note))
    if found.released is not None:
        facts.append(loss_fact("The releases together", found.released.epsilon, found.delta))
    if not found.certified:
        facts.append(fact("Nothing is certified", "approximate", "no bound on the error is known", "bad"))
    return facts


def _budgets(found: View) -> Iterable[tuple[Bound, str]]:
    return ((b, at_least(b.epsilon, DIGITS) if b.epsilon > 0 else "none") for b in found.budgets)


def _bounds(caption: str, bounds: Iterable[tuple[Bound, str]]) -> Json:
    rows = []
    for bound, words in bounds:
        size = "" if bound.size is None else f"b = {bound.size:,}"
        rows.append((bound.name, words, "; ".join(filter(None, (size, bound.note)))))
    return grid(caption, ("by", ("epsilon", NUMBER), "why"), rows)


def _because(found: View) -> list[Json]:
    if found.released is None or not found.released.guarantee.because:
        return []
    return [section("Why it holds", found.released.guarantee.because, bullets=True)]


def _sizes(found: View) -> Json:
    """a(b), or mu, as steps: it holds at every size, and never rises."""
    sizes = np.array([entry.size for entry in found.sizes])
    values = np.array([entry.value for entry in found.sizes])
    name = "mu of the rest" if found.gaussian else "influence a(b), nats"
    special = [bound.size for bound in (*found.budgets, *(found.leak.bounds if found.leak else ())) if bound.size]
    rows = [
        (f"{found.sizes[i].size:,}", at_most(found.sizes[i].value, DIGITS), found.sizes[i].status)
        for i in spread(found.sizes, special)
    ]
    heads = (("b", NUMBER), (name, NUMBER), "status")
    table = grid("At most this is told by everything outside some b entries", heads, rows)
    finite = np.isfinite(values)
    top = float(values[finite].max(initial=0.0))
    loud = np.flatnonzero(~finite | (values > FAINT * top))
    end = min(int(loud[-1]) + 2 if loud.size else 1, sizes.size)
    shown = [i for i in range(end) if finite[i]]
    texts = [f"b = {sizes[i]:,}: at most {at_most(float(values[i]), DIGITS)}" for i in shown]
    promise = any(entry.status == "approximate" for entry in found.sizes)
    words, role = ("approximate, no promise", "bad") if promise else (name, "accent")
    line = trace(words, sizes[shown], values[shown], role, kind="steps", marks=True, texts=texts)
    wide = sizes[end - 1] > 60 and bool(finite[0])
    first, last = float(sizes[0]), float(sizes[end - 1])
    around = (0.9 * first, 1.1 * last) if wide else (first - 0.5, last + 0.5)
    across = axis("size b of the set that is left out", *around)
    across["scale"] = "log" if wide else "linear"
    title = "Influence curve: what the rest still tells when b entries are left out"
    return chart("influence", title, across, axis(name, 0.0, 1.08 * top if top else 1.0), [line], table)


def _leaks(found: View) -> list[Json]:
    """Epsilon of the secrets against the per-entry epsilon; nothing when nothing is certified."""
    places, curves = _drawn(found)
    if not curves:
        return []
    traces = []
    for words, role, dash, values in curves:
        texts = [f"{words}: {at_most(v, 5)} at {single(float(e))}" for e, v in zip(places, values, strict=True)]
        traces.append(trace(words, places, values, role, dash=dash, texts=texts))
    known = [v for _, _, _, values in curves for v in values if math.isfinite(v)]
    low, high = float(places[0]), max([*known, float(places[-1])])
    if found.prior.entries is not None:
        group = np.array([found.prior.entries * place for place in places])
        kept = np.where(group <= 3 * high, group, np.nan)
        traces.append(trace(f"group privacy, {found.prior.entries:,} entries", places, kept, "muted", dash="dash"))
    traces.append(trace("the entry alone", places, places, "muted", dash="dot"))
    if found.target is not None:
        line = [low, float(places[-1])], [found.target] * 2
        traces.append(trace(f"target {single(found.target)}", *line, "good", dash="dash"))
    when = at(found.delta) if found.gaussian else "at delta 0"
    rows = [
        (single(float(place)), *(at_most(float(values[i]), 5) for _, _, _, values in curves))
        for i, place in list(enumerate(places))[:: max(1, len(places) // 10)]
    ]
    heads = [("per-entry epsilon", NUMBER), *((f"{words}, at most", NUMBER) for words, *_ in curves)]
    sides = (
        axis("per-entry epsilon", low, float(places[-1]), scale="log"),
        axis(f"epsilon of the secrets {when}", low * 0.7, 2.0 * high, scale="log"),
    )
    table = grid(f"Epsilon of the secrets {when}", heads, rows)
    return [chart("leaks", "What a per-entry epsilon leaks about the secrets", *sides, traces, table)]


def _drawn(found: View) -> tuple[FloatArray, list[Line]]:
    """The curves, at more places while that is quick: a large prior takes a second for each."""
    low, high = _reach(found)
    for count in COUNTS:
        began = time.monotonic()
        places = spoken(np.geomspace(low, high, count))
        curves = list(_curves(found, places))
        if time.monotonic() - began > QUICK:
            break
    return places, curves


def _curves(found: View, places: FloatArray) -> Iterable[Line]:
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
