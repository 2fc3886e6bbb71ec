"""A guarantee as charts: the trade-off function and the privacy profile, with their numbers as tables."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from quiltwork.checks import FloatArray
from quiltwork.curves.bracket import Bracket
from quiltwork.document.charts import Json, axis, chart, grid, trace
from quiltwork.numbers.digits import at_least, at_most, single
from quiltwork.numbers.json import json_numbers
from quiltwork.report.text import ends
from quiltwork.web.explore.drawn import Drawn

__all__ = ["bracket_json", "charts_of", "marks", "points", "promised"]

ALARMS = (0.001, 0.01, 0.05, 0.1, 0.25, 0.5)
DELTAS = (1e-2, 1e-4, 1e-6, 1e-8, 1e-10)
BETWEEN = "both certified ends"
THESE = "these releases"


def bracket_json(bracket: Bracket) -> Json:
    """Both ends as numbers, and as words that are rounded outward."""
    upper = float(bracket.upper)
    notes = bracket.method if bracket.met else f"{bracket.method}, wider than asked"
    said = {"between": ends(bracket), "at_most": at_most(upper) if math.isfinite(upper) else "not bounded"}
    return {"lower": json_numbers(bracket.lower), "upper": json_numbers(upper), **said, "method": notes}


def points(found: Drawn) -> Json:
    """Both curves as numbers: beta at alphas, delta at epsilons."""
    return {
        "tradeoff": {"alpha": json_numbers(found.alpha), **_ends(found.beta)},
        "profile": {"epsilon": json_numbers(found.epsilon), **_ends(found.delta)},
    }


def _ends(bracket: Bracket) -> Json:
    return {"lower": json_numbers(bracket.lower), "upper": json_numbers(bracket.upper)}


def promised(alpha: FloatArray, epsilon: float, delta: float) -> FloatArray:
    """The trade-off function of a single (epsilon, delta), for a drawing."""
    grown = math.exp(min(epsilon, 700.0))
    least: FloatArray = np.maximum(np.maximum(1 - delta - grown * alpha, (1 - delta - alpha) / grown), 0.0)
    return least


def charts_of(found: Drawn, delta: float, verdicts: Sequence[Any] = ()) -> list[Json]:
    """The trade-off function and the profile, with the targets."""
    target = verdicts[0].target if verdicts else None
    goal = None if target is None else (target.epsilon, target.delta)
    return [_tradeoff(found, goal), _profile(found, delta, marks(verdicts))]


def _tradeoff(found: Drawn, target: tuple[float, float] | None) -> Json:
    """Misses against false alarms: nothing below the curve can be reached by any test."""
    alpha, lower = found.alpha, np.ravel(found.beta.lower)
    traces = [trace("nothing to learn", [0, 1], [1, 0], "muted", dash="dash")]
    if target is not None:
        traces.append(trace("what the target allows", alpha, promised(alpha, *target), "good", dash="dot"))
    texts = [
        f"false alarms {single(100 * a)}%: misses at least {at_least(100 * low, 3)}%"
        for a, low in zip(alpha.tolist(), lower.tolist(), strict=True)
    ]
    traces.append(trace(THESE, alpha, lower, under=True, texts=texts))
    if found.whole:
        traces.append(trace(BETWEEN, alpha, lower, to=found.beta.upper))
    title = "Trade-off curve: the least share of misses for each share of false alarms"
    sides = axis("false alarms", 0.0, 1.0), axis("misses", 0.0, 1.0)
    return chart("tradeoff", title, *sides, traces, _tradeoff_table(found), square=True)


def _tradeoff_table(found: Drawn) -> Json:
    beta = np.ravel(found.curve.beta(np.array(ALARMS)).lower)
    rows = [
        (f"{single(100 * alarm)}%", f"{at_least(100 * low, 3)}%", f"{at_most(100 * (1 - low), 3)}%")
        for alarm, low in zip(ALARMS, beta.tolist(), strict=True)
    ]
    heads = (("false alarms", "number"), ("missed, at least", "number"), ("detected, at most", "number"))
    return grid("What any attacker can reach, rounded to the safe side", heads, rows)


def _profile(found: Drawn, delta: float, targets: Sequence[Json]) -> Json:
    """delta against epsilon on a logarithmic scale; a target above the curve is met."""
    lower, upper = (np.maximum(np.ravel(end), found.floor / 10) for end in found.delta)
    texts = [
        f"epsilon {single(e)}: delta at most {at_most(d)}"
        for e, d in zip(found.epsilon.tolist(), np.ravel(found.delta.upper).tolist(), strict=True)
    ]
    traces = [trace(THESE, found.epsilon, upper, texts=texts)]
    if found.whole:
        traces.append(trace(BETWEEN, found.epsilon, lower, to=upper))
    sides = axis("epsilon", 0.0, float(found.epsilon[-1])), axis("delta", found.floor, 1.0, scale="log")
    table = _profile_table(found, delta)
    return chart("profile", "Privacy profile: delta for each epsilon", *sides, [*traces, *targets], table)


def _profile_table(found: Drawn, delta: float) -> Json:
    deltas = sorted({delta, *DELTAS}, reverse=True)
    epsilon = found.curve.epsilon(np.array(deltas))
    least = [at_least(low, 6) if found.whole else "-" for low in np.ravel(epsilon.lower).tolist()]
    rows = [
        (single(each), low, at_most(high, 6))
        for each, low, high in zip(deltas, least, np.ravel(epsilon.upper).tolist(), strict=True)
    ]
    heads = (("delta", "number"), ("epsilon, at least", "number"), ("epsilon, at most", "number"))
    return grid("The truth lies between the two ends", heads, rows)


def marks(verdicts: Sequence[Any]) -> list[Json]:
    """Targets as points, by their verdict."""
    found = []
    for word, role, symbol in (("met", "good", "circle"), ("missed", "bad", "x"), ("undecided", "bad", "diamond")):
        chosen = [v.target for v in verdicts if v.word == word and v.target.delta > 0]
        if chosen:
            places = [t.epsilon for t in chosen], [t.delta for t in chosen]
            found.append(trace(f"target {word}", *places, role, kind="points", symbol=symbol))
    return found
