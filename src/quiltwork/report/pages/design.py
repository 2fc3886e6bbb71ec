"""The page of a world: what releases tell about a secret behind the data, and what may be released next."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from quiltwork.confounding.design.design import Design
from quiltwork.curves.curve import Curve
from quiltwork.document.blocks import Axis, Cell, Chart, Dash, Fact, Facts, Grid, Role, Section, Trace, Words
from quiltwork.document.charts import ALARMS, MISSES, blind_guessing, cosine, spoken
from quiltwork.document.page import Report
from quiltwork.document.parts import AT_MOST, SUMMARY, Detail, assumed, curves_section, why
from quiltwork.numbers.digits import SHOWN_DIGITS, at_least, at_most, single
from quiltwork.report.answers.design import DIRECTIONS, Choice, Evaluated, View, spread, to_json
from quiltwork.report.parts import ends, upward
from quiltwork.report.points import alarms_table, promised
from quiltwork.spec.text.document import cut

DIGITS = 6  # of what was asked for, and where both ends are told


def target(found: View) -> str:
    """What was asked for."""
    odds = "" if found.odds is None else f" (e^epsilon = {found.odds})"
    return f"epsilon {found.epsilon or 0.0:.{DIGITS}g}{odds} at delta {single(float(found.delta))}"


def price(cost: float, made: Design) -> str:
    """A cost, to the nearest digit as it is no promise of privacy; what is only rounding is shown as 0."""
    return f"{cost:.{SHOWN_DIGITS}g}" if abs(cost) > 1e-12 * made.task.size else "0"


def kept(delta: float, made: Design) -> str:
    """A delta that meets the target, rounded up, but not beyond the target itself (0.05 is a double above 1/20)."""
    text = upward(delta)
    return single(made.task.delta) if delta <= made.task.delta < float(text) else text


def least(made: Design) -> tuple[str, str] | None:
    """What every mechanism that meets the target costs at least, and the gap; None when that is not known."""
    if made.lower_bound is None or made.gap is None:
        return None
    never_paid = float(made.task.weights.min()) >= 0  # then no cost is below 0, whatever the search knows
    bound, gap = (max(made.lower_bound, 0.0), min(made.gap, 1.0)) if never_paid else (made.lower_bound, made.gap)
    return price(bound, made), at_most(gap, 2)


ROWS, COLUMNS = 24, 10  # of the mechanism that is shown
MOST_NAMES = 8
LONGEST = 40  # characters of a fraction that is printed
PLACES = 301
MOST_DRAWN = 40  # rows and columns of a table that is drawn or written out
MOST_BOUNDED = 2_000_000  # X * X * Y up to which Theorem B is drawn, point by point
READS = {"data": "the data", "secret": "the secret", "data and output": "the data and what was released before"}
BECAUSE = (
    "the joint law of everything that was released, given each secret, is listed and compared pair by pair",
    "what a solver proposes is rounded to a table of whole numbers and evaluated again outside of it",
)


def world_report(found: View, detail: Detail = "whole") -> Report:
    """Everything that is said about a world file."""
    secrets = found.world.secrets
    listed = ", ".join(secrets[:MOST_NAMES]) + (f", ... ({len(secrets):,} in all)" if len(secrets) > MOST_NAMES else "")
    lead = f"Secret: {listed}. Data: {found.world.inputs:,} values. Protected: {found.world.protects}."
    made = found.design
    new = [] if made is None else [Section("The new mechanism", [_mechanism(found, made)])]
    if made is not None and found.choices:
        new.append(Section("Beside other choices", [choices_grid(found.choices, made)]))
    sections = [
        Section(SUMMARY, [Facts(_facts(found))]),
        Section("In plain words", [Words(text) for text in _told(found)]),
        *assumed(found.assumes),
        *curves_section(
            world_charts(found, detail),
            "The curves" if made is None else "The curves and the new mechanism",
        ),
        *_existing(found.before, float(found.delta)),
        *new,
        *why(BECAUSE[:1] if made is None else BECAUSE),
    ]
    return Report(found.file.title, lead, sections, {"kind": "world", "met": found.certified, "design": to_json(found)})


def _facts(found: View) -> list[Fact]:
    before, made, at = found.before, found.design, f"at delta {single(float(found.delta))}"
    upper = float(before.epsilon.upper)
    if not before.parts:
        facts = [Fact("Released before", "nothing")]
    elif math.isinf(upper):
        facts = [Fact("Released before", "epsilon is not bounded", f"{at}: some output rules a secret out", "bad")]
    else:
        exactly = "" if before.odds is None or len(str(before.odds)) > LONGEST else f", e^epsilon = {before.odds}"
        note = f"{at}; the truth lies between {ends(before.epsilon)}{exactly}"
        facts = [Fact("Released before", f"epsilon {AT_MOST} {upward(upper)}", note)]
    if before.claimed is not None:
        tone = "bad" if before.errs == "underestimates" else ""
        value = f"epsilon {_nearest(float(before.claimed.midpoint))}"
        facts.append(Fact("Ignoring the confounder", value, DIRECTIONS[before.errs], tone))
    if found.refused:
        facts.append(Fact("Target", "refused", f"{target(found)}: {found.refused}", "bad"))
    if made is not None:
        facts.append(Fact("Next release", "certified", f"under {target(found)}", "good"))
        facts.append(Fact("Its expected cost", price(made.cost, made), _gap(made)))
    return facts


def _nearest(value: float) -> str:
    return single(float(f"{value:.4g}"))


def _gap(made: Design) -> str:
    words, bound = made.task.cost.name, least(made)
    if bound is None:
        return words
    return f"{words}; no mechanism that meets the target costs less than {bound[0]} (gap {bound[1]})"


def _told(found: View) -> list[str]:
    before, made = found.before, found.design
    lines = [
        "The secret is not in the data; it is behind it and shapes it. Outputs that look harmless one by one may, "
        "taken together, tell the secrets apart. All numbers here are for everything together."
    ]
    if float(before.epsilon.upper) > 0 and before.parts:
        lines.append(f"The pair of secrets that is told apart best: {before.worst}.")
    if before.everywhere not in ("", before.errs):
        over = "errs in both directions" if before.everywhere == "crosses" else before.everywhere
        lines.append(f"Ignoring that data and secret hang together {over}, over all epsilons.")
    if before.bound is not None and before.parts:
        most = upward(before.bound)
        lines.append(f"Theorem B, which needs no joint law, would have said at most {most}.")
    if found.refused:
        lines.append(f"Under the target {target(found)} nothing may be added: {found.refused}.")
    if made is not None:
        family = "" if made.scale is None else f"; it is {made.method} of scale {made.scale:.6g}"
        lines.append(f"The new mechanism reads {READS[made.task.reads]}{family}.")
        low, high = at_least(float(made.delta.lower), DIGITS), kept(float(made.delta.upper), made)
        at = f"at epsilon {made.task.epsilon:.{DIGITS}g}"
        lines.append(f"With the new mechanism, delta of everything together lies between {low} and {high} {at}.")
        if made.optimum is not None:
            lines.append(f"The best cost as a fraction: {cut(str(made.optimum.cost), LONGEST)}.")
        if not made.finished:
            lines.append("The search was stopped early: the answer is certified, the gap is what is left open.")
    if not found.asked:
        lines.append("No target is stated, so nothing is designed.")
    return lines


def _existing(before: Evaluated, delta: float) -> list[Section]:
    if not before.parts:
        return []
    rows = [(one.name, one.times, one.outputs, upward(float(one.epsilon.upper))) for one in before.parts]
    columns = ("Mechanism", ("Uses", "number"), ("Outputs", "number"), ("epsilon alone", "number"))
    foot = ("All together", "", before.release.outputs, upward(float(before.epsilon.upper)))
    caption = f"epsilon alone: of one use, as if nothing else were released, at delta {single(delta)}."
    return [Section("What was released before", [Grid(columns, rows, caption, foot)])]


def _mechanism(found: View, made: Design) -> Grid:
    """The most likely outputs for some inputs, in percent; the rest is joined."""
    rows = spread(len(found.input_labels), ROWS)
    weight = made.channel.mean(axis=0)
    shown = np.sort(np.argsort(-weight, kind="stable")[:COLUMNS])
    rest = np.setdiff1d(np.arange(weight.size), shown)
    table = []
    for row in rows:
        cells = [_percent(float(made.channel[row, z])) for z in shown]
        cells += [_percent(float(made.channel[row, rest].sum()))] if rest.size else []
        table.append([found.input_labels[row], *cells])
    columns = [("Input", ""), *((found.output_labels[z], "number") for z in shown)]
    columns += [("others", "number")] if rest.size else []
    some = (
        "" if len(rows) == len(found.input_labels) else f" {len(rows)} of {len(found.input_labels):,} inputs are shown."
    )
    caption = (
        f"Percent of each output for each input, rounded; the exact table is in whole numbers of 2^{made.bits}.{some}"
    )
    return Grid(columns, table, caption)


def _percent(share: float) -> str:
    return "0" if share < 2.0**-20 else "<0.1" if share < 0.0005 else f"{100.0 * share:.1f}"


def choices_grid(choices: Sequence[Choice], made: Design) -> Grid:
    """The design beside other ways to release something next."""
    rows = []
    for choice in choices:
        ours = choice is choices[-1]
        cost = None if choice.cost is None else price(choice.cost, made)
        scale = "" if choice.scale is None else f"{choice.scale:.4g}"
        note = choice.note if choice.cost is not None else f"not possible: {choice.note}"
        delta = "" if choice.delta is None else kept(choice.delta, made)
        rows.append((Cell(choice.name, strong=ours), cost, scale, delta, note))
    columns = ("Choice", ("Cost", "number"), ("Scale", "number"), ("delta", "number"), "Note")
    return Grid(columns, rows, "Other ways to release something next.")


# ---- the charts


def world_charts(found: View, detail: Detail = "whole") -> list[Chart]:
    """Guessing between two secrets, and the new mechanism, or what was released when there is none."""
    if detail == "words":
        return []
    return [_tests(found), _profile(found) if found.design is None else _channel(found, found.design)]


def _tests(found: View) -> Chart:
    """Misses against false alarms of whoever guesses the secret; below a curve no test can be."""
    alpha = cosine()
    traces = [blind_guessing()]
    if found.epsilon is not None:
        least_misses = promised(alpha, found.epsilon, float(found.delta))
        traces.append(Trace("what the target allows", alpha, least_misses, "good", dash="dot"))
    curves: list[tuple[str, Curve, Role, Dash]] = [("released before", found.before.release, "warm", "dash")]
    if found.design is not None:
        curves.append(("with the new mechanism", found.design.after, "accent", ""))
    elif found.before.claimed is not None:
        curves.append(("ignoring the confounder", found.before.release.ignoring_confounder(), "bad", "dot"))
    for words, curve, role, dash in curves:
        lower = np.ravel(curve.beta(alpha).lower)
        texts = [f"{words}: misses at least {at_least(100 * float(v), 3)}%" for v in lower]
        traces.append(Trace(words, alpha, lower, role, dash=dash, texts=texts, under=not dash))
    title = "Guessing between two secrets: the least share of misses for each share of false alarms"
    caption = "Whoever guesses the secret makes two kinds of error. No test lies below a curve."
    table = alarms_table([(f"missed, {words}, at least", curve) for words, curve, _, _ in curves])
    return Chart("tests", title, ALARMS, MISSES, traces, table, caption, square=True)


def _channel(found: View, made: Design) -> Chart:
    """P(output | input), in percent."""
    rows, columns = (spread(size, MOST_DRAWN) for size in made.channel.shape)
    shares = made.channel[np.ix_(rows, columns)]
    inputs = [found.input_labels[row] for row in rows]
    outputs = [found.output_labels[column] for column in columns]
    some = "" if shares.size == made.channel.size else "; some rows or columns are left out"
    title = f"The new mechanism: probability of each output in percent, given {made.task.reads}{some}"
    sides = Axis("output of the new mechanism"), Axis(f"input: {made.task.reads}")
    caption = "How likely each output (across) is for each input (down); darker is more likely."
    heat = Trace("probability", outputs, inputs, kind="heat", z=shares)
    return Chart("mechanism", title, *sides, [heat], _mechanism(found, made), caption)


def _profile(found: View) -> Chart:
    """delta against epsilon: the truth, what ignoring the confounder says, and the bound that needs no joint law."""
    release, before = found.before.release, found.before
    ways: list[tuple[str, Curve, Role, Dash]] = [("all of it together", release, "warm", "dash")]
    if before.claimed is not None:
        ways.append(("ignoring the confounder", release.ignoring_confounder(), "bad", "dot"))
    levels = (max(float(curve.epsilon(level).upper) for _, curve, _, _ in ways) for level in (1e-3, 1e-2, 0.1, 0.5))
    reach = 1.15 * max(next((end for end in levels if math.isfinite(end)), 1.0), found.epsilon or 0.0, 0.1)
    places = spoken(np.linspace(0.0, reach, PLACES))
    columns = [(words, np.ravel(curve.delta(places).upper), role, dash) for words, curve, role, dash in ways]
    if before.bound is not None and release.table.shape[0] ** 2 * release.table.shape[1] <= MOST_BOUNDED:
        few = places[:: PLACES // 50]
        columns.append(("Theorem B", np.interp(places, few, release.bounds().amplified(few)), "muted", "dash"))
    traces = [Trace(words, places, deltas, role, dash=dash) for words, deltas, role, dash in columns]
    top = 1.08 * max(float(np.max(deltas)) for _, deltas, _, _ in columns)
    if found.epsilon is not None:
        place = (found.epsilon,), (float(found.delta),)
        traces.append(Trace("target, refused", *place, "bad", kind="points", symbol="x"))
    rows = [
        (single(float(places[i])), *(upward(float(deltas[i])) for _, deltas, _, _ in columns))
        for i in range(0, PLACES, PLACES // 10)
    ]
    heads = [("epsilon", "number"), *((f"delta, {words}, at most", "number") for words, *_ in columns)]
    title = "Privacy profile: delta for each epsilon of what was released"
    caption = "The same as pairs of epsilon and delta, beside what other ways of reasoning would say."
    sides = Axis("epsilon", 0.0, float(places[-1])), Axis("delta", 0.0, max(top, 1.5 * float(found.delta), 0.01))
    return Chart("profile", title, *sides, traces, Grid(heads, rows, "delta at several epsilons, rounded up"), caption)
