"""The design page: what was released tells about a secret, and the cheapest mechanism that may be released next."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from quiltwork import checks
from quiltwork.confounding.design.design import Design
from quiltwork.curves.curve import Curve
from quiltwork.document.charts import Json, at, axis, chart, cosine, grid, trace
from quiltwork.numbers.digits import at_least, at_most, single
from quiltwork.numbers.stated import typed
from quiltwork.report.design.data import to_json
from quiltwork.report.design.view import DIRECTIONS, View, spread, view
from quiltwork.report.text import ends
from quiltwork.spec.files.world import WorldFile, parse_world, world_from
from quiltwork.web.explore.answers import fact, page, section
from quiltwork.web.explore.curves import promised
from quiltwork.web.explore.limits import checked_text

__all__ = ["answer", "small_world", "world_page"]

EPSILON, DELTA, STRENGTH, BADGE = 0.5, 0.01, 0.6, 0.5  # of the small world, where nothing is said
LEVELS = 6  # values of the score in the small world
SECONDS = 8.0  # for the search; the answer is certified when it stops
DIGITS = 5
NUMBER = "number"
MOST_DRAWN = 40  # rows and columns of a table that is drawn or written out


def answer(asked: Json) -> Json:
    """The text of a `world` file, or the small world with `strength` in [0, 1] and a badge of `badge` epsilon.

    `epsilon` and `delta` are the target; for a world file they replace its own when they are given.
    """
    epsilon = None if asked.get("epsilon") is None else checks.non_negative("epsilon", asked["epsilon"])
    delta = None if asked.get("delta") is None else checks.probability("delta", asked["delta"])
    if asked.get("world") is not None:
        file = parse_world(checked_text("world", asked["world"], "design"))
    else:
        file = small_world(asked.get("strength"), asked.get("badge"))
        epsilon, delta = EPSILON if epsilon is None else epsilon, DELTA if delta is None else delta
    return world_page(file, delta, epsilon)


def small_world(strength: Any, badge: Any) -> WorldFile:
    """Two secrets and a score of six levels whose laws lean apart with the strength; a badge was published before.

    P(x | low) is proportional to 1 - s x/5 and P(x | high) to 1 - s + s x/5: the same law at s = 0, and mirror images
    of each other that exclude one end each at s = 1.
    """
    strength = checks.probability("strength", STRENGTH if strength is None else strength)
    badge = checks.non_negative("badge", BADGE if badge is None else badge)
    weights = [1 - typed(strength) * x / (LEVELS - 1) for x in range(LEVELS)]
    falling = [str(weight / sum(weights)) for weight in weights]  # fractions, so that the two laws are mirror images
    told = {"epsilon": badge} if badge else {"odds": 1}
    return world_from(
        {
            "quiltwork": 1,
            "title": "A score that hangs together with a secret",
            "assumes": ["the laws of the score are known from elsewhere, not from the people who are protected"],
            "secrets": {"names": ["low risk", "high risk"]},
            "data": {"values": list(range(LEVELS)), "given_secret": [falling, falling[::-1]]},
            "existing": [
                {
                    "name": "badge, by randomized response",
                    "randomized_response": told,
                }
            ],
            "cost": "squared",
        }
    )


def world_page(file: WorldFile, delta: float | None = None, epsilon: float | None = None) -> Json:
    """Everything about a world file: `page` in words and charts, `account` as the command writes it."""
    wanted = file.options.time_limit
    limit = SECONDS if wanted is None else min(wanted, SECONDS)
    found = view(file, epsilon=epsilon, delta=delta, time_limit=limit)
    tables = [_existing(found)] if found.before.parts else []
    charts = [_tests(found)]
    if found.design is not None:
        tables.insert(0, _choices(found, found.design))
        charts.append(_channel(found, found.design))
    shown = page(
        file.title,
        f"Protected: {found.world.protects}.",
        _facts(found),
        tables=tables,
        sections=[section("In plain words", _words(found)), section("What is assumed", found.assumes, bullets=True)],
        warnings=[] if not found.refused else [f"Refused: {found.refused}"],
        charts=charts,
    )
    return {"page": shown, "account": to_json(found), "curves": None, "met": found.certified}


def _price(cost: float, made: Design) -> str:
    """A cost, to the nearest digit as it is no promise of privacy; what is only rounding is shown as 0."""
    return f"{cost:.{DIGITS}g}" if abs(cost) > 1e-12 * made.task.size else "0"


def _target(found: View) -> str:
    odds = "" if found.odds is None else f" (e^epsilon = {found.odds})"
    return f"epsilon {single(float(f'{found.epsilon or 0.0:.{DIGITS}g}'))}{odds} {at(float(found.delta))}"


def _facts(found: View) -> list[Json]:
    facts, made, before = [], found.design, found.before.epsilon
    if made is not None:
        note = f"expected, {made.task.cost.name}; with everything together {_target(found)} is kept"
        facts.append(fact("Cost of the designed mechanism", _price(made.cost, made), note, "good"))
        if made.lower_bound is not None:
            least = max(made.lower_bound, 0.0) if float(made.task.weights.min()) >= 0 else made.lower_bound
            note = "no mechanism that meets the target costs less"
            if not made.finished:
                note += "; the search was stopped early, the gap is what is left open"
            facts.append(fact("Lower bound", _price(least, made), note))
    elif found.refused:
        facts.append(fact("What may be released next", "nothing", f"under {_target(found)}", "bad"))
    if found.before.parts:
        upper = float(before.upper)
        known = "not bounded" if math.isinf(upper) else f"epsilon \N{LESS-THAN OR EQUAL TO} {at_most(upper)}"
        note = at(float(found.delta)) + ("" if math.isinf(upper) else f"; it lies between {ends(before)}")
        facts.append(fact("Released before", known, note))
    return facts


def _words(found: View) -> list[str]:
    lines, made, before = [], found.design, found.before
    if made is not None:
        kept = f"{at_least(float(made.delta.lower), DIGITS)} and {at_most(float(made.delta.upper), DIGITS)}"
        epsilon = single(float(f"{made.task.epsilon:.{DIGITS}g}"))
        lines.append(f"Certified for everything together: delta lies between {kept} at epsilon {epsilon}.")
    if found.refused:
        lines.append("An attacker may ignore a new output, so that nothing added can repair what was released.")
    if before.parts and float(before.epsilon.upper) > 0:
        lines.append(f"The worst pair of secrets for what was released before: {before.worst}.")
    if before.claimed is not None:
        value = single(float(f"{float(before.claimed.midpoint):.{DIGITS}g}"))
        lines.append(f"Ignoring that data and secret hang together would have said {value}: {DIRECTIONS[before.errs]}.")
    if before.bound is not None:
        lines.append(f"Theorem B, which needs no joint law, says at most {at_most(before.bound, DIGITS)}.")
    if not found.asked:
        lines.append("There is no target, so that nothing is designed.")
    return lines


def _choices(found: View, made: Design) -> Json:
    rows = []
    for choice in found.choices:
        cost = "not possible" if choice.cost is None else _price(choice.cost, made)
        scale = "" if choice.scale is None else f"scale {choice.scale:.4g}"
        rows.append((choice.name, cost, "; ".join(filter(None, (scale, choice.note)))))
    caption = f"Ways to release something next under {_target(found)}, by expected cost ({made.task.cost.name})"
    return grid(caption, ("mechanism", ("cost", NUMBER), "how"), rows, strong=len(rows) - 1)


def _existing(found: View) -> Json:
    rows = [
        (part.name, f"{part.times:,}", f"{part.outputs:,}", at_most(float(part.epsilon.upper), DIGITS))
        for part in found.before.parts
    ]
    heads = ("released before", ("uses", NUMBER), ("outputs", NUMBER), ("epsilon alone, at most", NUMBER))
    foot = ["all of it together", "", "", at_most(float(found.before.epsilon.upper), DIGITS)]
    return grid(f"What was released before, {at(float(found.delta))}", heads, rows, foot=foot)


def _tests(found: View) -> Json:
    """Misses against false alarms of whoever guesses the secret; below a curve no test can be."""
    alpha = cosine()
    traces = [trace("nothing to learn", [0, 1], [1, 0], "muted", dash="dash")]
    if found.epsilon is not None:
        least = promised(alpha, found.epsilon, float(found.delta))
        traces.append(trace("what the target allows", alpha, least, "good", dash="dot"))
    curves: list[tuple[str, Curve, str, str]] = [("released before", found.before.release, "warm", "dash")]
    if found.design is not None:
        curves.append(("with the new mechanism", found.design.after, "accent", ""))
    columns, places = [], np.array([0.001, 0.01, 0.05, 0.1, 0.25, 0.5])
    for words, curve, role, dash in curves:
        lower = np.asarray(curve.beta(alpha).lower)
        texts = [f"{words}: misses at least {at_least(100 * float(v), 3)}%" for v in lower]
        traces.append(trace(words, alpha, lower, role, dash=dash, texts=texts, under=not dash))
        columns.append([f"{at_least(100 * float(v), 3)}%" for v in np.ravel(curve.beta(places).lower)])
    heads = [("false alarms", NUMBER), *((f"missed, {words}, at least", NUMBER) for words, *_ in curves)]
    rows = [(f"{single(100 * p)}%", *(column[i] for column in columns)) for i, p in enumerate(places.tolist())]
    title = "Guessing between two secrets: the least share of misses for each share of false alarms"
    sides = axis("false alarms", 0.0, 1.0), axis("misses", 0.0, 1.0)
    return chart("tests", title, *sides, traces, grid("What any attacker can reach", heads, rows), square=True)


def _channel(found: View, made: Design) -> Json:
    """P(output | input), in percent."""
    rows, columns = (spread(size, MOST_DRAWN) for size in made.channel.shape)
    table = made.channel[np.ix_(rows, columns)]
    inputs = [found.input_labels[row] for row in rows]
    outputs = [found.output_labels[column] for column in columns]
    cells = [[_percent(float(share)) for share in row] for row in table]
    heat = {
        "name": "probability",
        "kind": "heat",
        "role": "accent",
        "x": outputs,
        "y": inputs,
        "z": table.tolist(),
        "texts": cells,
    }
    heads: list[str | tuple[str, str]] = ["input", *((name, NUMBER) for name in outputs)]
    some = "" if table.size == made.channel.size else "; some rows or columns are left out"
    written = [(name, *line) for name, line in zip(inputs, cells, strict=True)]
    words = grid(f"Probability of each output in percent{some}", heads, written)
    title = f"The new mechanism: probability of each output in percent, given {made.task.reads}{some}"
    sides = axis("output"), axis(f"input: {made.task.reads}", reversed=True)
    return chart("channel", title, *sides, [heat], words)


def _percent(share: float) -> str:
    """A probability in percent, to read at a glance.

    >>> _percent(0.3333), _percent(0.004), _percent(0.0)
    ('33', '<1', '0')
    """
    return "0" if share < 1e-6 else "<1" if share < 0.01 else f"{100 * share:.0f}"
