"""The report of a world: what releases tell about a secret behind the data, and what may be released next."""

from __future__ import annotations

import math

import numpy as np

from quiltwork.confounding.design.design import Design
from quiltwork.document.blocks import Block, Cell, Fact, Facts, Grid, Section, Words
from quiltwork.document.page import Report
from quiltwork.numbers.digits import at_least, at_most, single
from quiltwork.report.design.data import to_json
from quiltwork.report.design.figure import pictures
from quiltwork.report.design.view import DIRECTIONS, Evaluated, View, spread
from quiltwork.report.design.words import DIGITS, kept, least, price, target
from quiltwork.report.parts import AT_MOST, SUMMARY, assumed, why
from quiltwork.report.text import ends

__all__ = ["world_report"]

ROWS, COLUMNS = 24, 10  # of the mechanism that is shown
MOST_NAMES = 8
BECAUSE = (
    "the joint law of everything that was released, given each secret, is listed and compared pair by pair "
    "(theory/confounding.md 1)",
    "what a solver proposes is rounded to a table of whole numbers and evaluated again outside of it "
    "(theory/confounding.md 4)",
)


def world_report(found: View) -> Report:
    """Everything that is said about a world file."""
    secrets = found.world.secrets
    listed = ", ".join(secrets[:MOST_NAMES]) + (f", ... ({len(secrets):,} in all)" if len(secrets) > MOST_NAMES else "")
    lead = f"Secret: {listed}. Data: {found.world.inputs:,} values. Protected: {found.world.protects}."
    sections = [
        Section(SUMMARY, [Facts(_facts(found))]),
        Section("In plain words", [Words(text) for text in _told(found)]),
        *assumed(found.assumes),
        Section("The curves" if found.design is None else "The curves and the new mechanism", pictures(found)),
        *_existing(found.before, float(found.delta)),
        *([] if found.design is None else [Section("The new mechanism", _mechanism(found, found.design))]),
        *_comparison(found),
        *why(BECAUSE if found.design is not None else BECAUSE[:1]),
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
        note = f"{at}; the truth lies between {ends(before.epsilon)}"
        facts = [Fact("Released before", f"epsilon {AT_MOST} {at_most(upper)}", note)]
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
    if before.bound is not None and before.parts:
        most = at_most(before.bound, DIGITS)
        lines.append(f"Theorem B, which needs no joint law, would have said at most {most}.")
    if found.refused:
        lines.append(f"Under the target {target(found)} nothing may be added: {found.refused}.")
    if made is not None:
        low, high = at_least(float(made.delta.lower), DIGITS), kept(float(made.delta.upper), made)
        at = f"at epsilon {made.task.epsilon:.{DIGITS}g}"
        lines.append(f"With the new mechanism, delta of everything together lies between {low} and {high} {at}.")
        if not made.finished:
            lines.append("The search was stopped early: the answer is certified, the gap is what is left open.")
    if not found.asked:
        lines.append("No target is stated, so nothing is designed.")
    return lines


def _existing(before: Evaluated, delta: float) -> list[Section]:
    if not before.parts:
        return []
    rows = [(one.name, one.times, one.outputs, at_most(float(one.epsilon.upper), DIGITS)) for one in before.parts]
    columns = ("Mechanism", ("Uses", "number"), ("Outputs", "number"), ("epsilon alone", "number"))
    foot = ("All together", "", before.release.outputs, at_most(float(before.epsilon.upper), DIGITS))
    caption = f"epsilon alone: of one use, as if nothing else were released, at delta {single(delta)}."
    return [Section("What was released before", [Grid(columns, rows, caption, foot)])]


def _mechanism(found: View, made: Design) -> list[Block]:
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
    return [Grid(columns, table, caption)]


def _percent(share: float) -> str:
    return "0" if share < 2.0**-20 else "<0.1" if share < 0.0005 else f"{100.0 * share:.1f}"


def _comparison(found: View) -> list[Section]:
    made = found.design
    if made is None or not found.choices:
        return []
    rows = []
    for choice in found.choices:
        ours = choice is found.choices[-1]
        cost = None if choice.cost is None else price(choice.cost, made)
        scale = "" if choice.scale is None else f"{choice.scale:.4g}"
        note = choice.note if choice.cost is not None else f"not possible: {choice.note}"
        rows.append((Cell(choice.name, strong=ours), cost, scale, note))
    columns = ("Choice", ("Cost", "number"), ("Scale", "number"), "Note")
    return [Section("Beside other choices", [Grid(columns, rows, "Other ways to release something next.")])]
