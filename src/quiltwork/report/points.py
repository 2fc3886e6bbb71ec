"""A guarantee at many places, and its charts: the trade-off function and the privacy profile.

A curve with a closed form or a short list of values is asked everywhere, and both ends are shown; so is every curve
when nobody waits. For somebody who waits, some answers are taken of any other curve, or the bounds that Rényi moments
give where there are many kinds of release; what is drawn is then the worst curve under which all of them hold
(`Profile`). That is a certified upper end of delta and lower end of beta: nothing is promised that was not proved, only
the other ends are missing. How many answers are taken is counted, never timed.

Reference: theory/multi-constraints.md section 2 (the worst curve); theory/engine.md section 6 (Rényi moments).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import attrs
import numpy as np

from quiltwork.checks import FloatArray
from quiltwork.compose.accountant.moments import delta_bound, worst_moments
from quiltwork.compose.loss import Loss
from quiltwork.curves.bracket import Bracket
from quiltwork.curves.curve import Curve
from quiltwork.curves.guarantee import Guarantee
from quiltwork.curves.polygons.profile import Profile
from quiltwork.document.blocks import Axis, Chart, Grid, Role, Symbol, Trace
from quiltwork.document.charts import ALARMS, MISSES, blind_guessing, cosine, spoken
from quiltwork.errors import QuiltworkError
from quiltwork.losses.transforms.transform import TooCostly
from quiltwork.numbers.digits import at_least, at_most, single
from quiltwork.numbers.json import json_numbers
from quiltwork.report.answers.account import Judged, Verdict
from quiltwork.report.parts import ends

CHEAP = {"closed form", "exact tails", "exact atoms", "lattice", "exact profile", "nothing"}  # methods asked everywhere
PLACES = 121
ASKED = (*range(0, 40, 5), *range(40, 95, 2), *range(95, PLACES, 5))  # while somebody waits: nearer where delta falls
MOST_PARTS = 24  # kinds of release up to which the curve itself is asked then
USUAL_FLOOR = 1e-12
WIDER = 1.3  # how much farther than the answer a curve is drawn of which only some places are known
ASKED_ALARMS = (0.001, 0.01, 0.05, 0.1, 0.25, 0.5)
ASKED_DELTAS = (1e-2, 1e-4, 1e-6, 1e-8, 1e-10)
BETWEEN = "both certified ends"
THESE = "these releases"

MARKS: dict[str, tuple[Role, Symbol]] = {
    "met": ("good", "circle"),
    "missed": ("bad", "x"),
    "undecided": ("bad", "diamond"),
}

Targets = Sequence[tuple[float, float]]
Verdicts = Sequence[Verdict | Judged]


@attrs.frozen(eq=False)
class Points:
    """Both curves at many places; `curve` is what tables are read off: the guarantee, or a curve that is no better."""

    alpha: FloatArray
    beta: Bracket
    epsilon: FloatArray
    delta: Bracket
    floor: float  # the least delta of the picture
    curve: Curve
    whole: bool  # whether both ends are known everywhere


def points_of(curve: Curve, total: Bracket, delta: float, targets: Targets = (), *, quick: bool = False) -> Points:
    """The guarantee whose epsilon at delta is `total`; `quick` for somebody who waits."""
    floor, alpha = _floor(delta, targets), cosine()
    most = float(total.upper)
    middle = 0.5 * most if 0 < most < math.inf else 1.0
    probe = curve.delta(middle)
    if not quick or set(probe.method.split(" + ")) <= CHEAP:
        epsilon = _places(_end(curve, floor, most), targets)
        return Points(alpha, curve.beta(alpha), epsilon, curve.delta(epsilon), floor, curve, whole=True)
    epsilon = _places(WIDER * most if 0 < most < math.inf else 1.0, targets)
    known, bounds = [middle], [float(probe.upper)]
    if math.isfinite(most):
        known, bounds = [*known, most], [*bounds, delta]
    places = epsilon[list(ASKED)]
    upper = _moments(curve, places)
    if upper is None:
        upper = np.ravel(curve.delta(places).upper)
    worst = Profile([*known, *places.tolist()], [*bounds, *upper.tolist()], symmetric=True)
    beta = worst.beta(alpha)
    least = Bracket(beta.lower, np.nextafter(1.0 - alpha, 2.0), "beta", beta.method)
    over = Bracket(np.zeros(PLACES), worst.delta(epsilon).upper, "delta")
    return Points(alpha, least, epsilon, over, floor, worst, whole=False)


def _floor(delta: float, targets: Targets) -> float:
    """A tenth of the smallest delta that somebody asks for."""
    asked = [each for each in (delta, *(t[1] for t in targets)) if each > 0]
    return max(min(asked, default=USUAL_FLOOR) / 10, 1e-300)


def _end(curve: Curve, floor: float, most: float) -> float:
    """Where the curve leaves the picture."""
    bottom = float(curve.epsilon(floor).upper)
    return next((end for end in (bottom, most) if 0 < end < math.inf), 1.0)


def _places(end: float, targets: Targets) -> FloatArray:
    """From 0 past the end, and past every target that is not far away."""
    near = [epsilon for epsilon, _ in targets if epsilon <= 3 * end]
    return spoken(np.linspace(0.0, 1.08 * max([end, *near]), PLACES))


def _moments(curve: Curve, epsilon: FloatArray) -> FloatArray | None:
    """What Rényi moments of every order certify of a composition of many kinds; None for any other curve."""
    loss = curve.curve if isinstance(curve, Guarantee) else curve
    if not isinstance(loss, Loss) or len(loss.parts) <= MOST_PARTS or loss.side != "worst":
        return None
    try:
        with np.errstate(all="ignore"):
            found = delta_bound(*worst_moments(loss.parts), epsilon)
    except (QuiltworkError, TooCostly, OverflowError):
        return None
    return None if np.isnan(found).any() else np.minimum(found, 1.0)


def points_json(found: Points) -> dict[str, Any]:
    """Both curves as numbers: beta at alphas, delta at epsilons."""
    return {
        "tradeoff": {"alpha": json_numbers(found.alpha), **_ends(found.beta)},
        "profile": {"epsilon": json_numbers(found.epsilon), **_ends(found.delta)},
    }


def _ends(bracket: Bracket) -> dict[str, Any]:
    return {"lower": json_numbers(bracket.lower), "upper": json_numbers(bracket.upper)}


def bracket_json(bracket: Bracket) -> dict[str, Any]:
    """Both ends as numbers, and as words that are rounded outward."""
    upper = float(bracket.upper)
    notes = bracket.method if bracket.met else f"{bracket.method}, wider than asked"
    said = {"between": ends(bracket), "at_most": at_most(upper) if math.isfinite(upper) else "not bounded"}
    return {"lower": json_numbers(bracket.lower), "upper": json_numbers(upper), **said, "method": notes}


def promised(alpha: FloatArray, epsilon: float, delta: float) -> FloatArray:
    """The trade-off function of a single (epsilon, delta), for a drawing."""
    grown = math.exp(min(epsilon, 700.0))
    least: FloatArray = np.maximum(np.maximum(1 - delta - grown * alpha, (1 - delta - alpha) / grown), 0.0)
    return least


def charts_of(found: Points, delta: float, verdicts: Verdicts = ()) -> list[Chart]:
    """The trade-off function and the profile, with the targets."""
    return [_tradeoff(found, verdicts[:1]), _profile(found, delta, verdicts)]


def _tradeoff(found: Points, verdicts: Verdicts) -> Chart:
    """Misses against false alarms: nothing below the curve can be reached by any test."""
    alpha, lower = found.alpha, np.ravel(found.beta.lower)
    traces = [blind_guessing()]
    for one in verdicts:
        least = promised(alpha, one.target.epsilon, one.target.delta)
        traces.append(Trace("what the target allows", alpha, least, "good", dash="dot"))
    texts = [
        f"false alarms {single(100 * a)}%: misses at least {at_least(100 * low, 3)}%"
        for a, low in zip(alpha.tolist(), lower.tolist(), strict=True)
    ]
    traces.append(Trace(THESE, alpha, lower, under=True, texts=texts))
    if found.whole:
        traces.append(Trace(BETWEEN, alpha, lower, to=np.ravel(found.beta.upper)))
    title = "Trade-off curve: the least share of misses for each share of false alarms"
    caption = (
        "An attacker who tests whether the protected difference is there makes two kinds of error. No test reaches the "
        "shaded region below the curve."
    )
    table = alarms_table([("missed, at least", found.curve)], detected=True)
    return Chart("tradeoff", title, ALARMS, MISSES, traces, table, caption, square=True)


def alarms_table(curves: Sequence[tuple[str, Curve]], *, detected: bool = False) -> Grid:
    """The least share of misses at usual shares of false alarms, by each curve."""
    columns = [np.ravel(curve.beta(np.array(ASKED_ALARMS)).lower).tolist() for _, curve in curves]
    rows = []
    for index, alarm in enumerate(ASKED_ALARMS):
        cells = [f"{at_least(100 * column[index], 3)}%" for column in columns]
        cells += [f"{at_most(100 * (1 - columns[0][index]), 3)}%"] if detected else []
        rows.append((f"{single(100 * alarm)}%", *cells))
    heads = [("false alarms", "number"), *((words, "number") for words, _ in curves)]
    heads += [("detected, at most", "number")] if detected else []
    return Grid(heads, rows, "What any attacker can reach, rounded to the safe side")


def _profile(found: Points, delta: float, verdicts: Verdicts) -> Chart:
    """delta against epsilon on a logarithmic scale; a target above the curve is met."""
    lower, upper = (np.maximum(np.ravel(end), found.floor / 10) for end in found.delta)
    texts = [
        f"epsilon {single(e)}: delta at most {at_most(d)}"
        for e, d in zip(found.epsilon.tolist(), np.ravel(found.delta.upper).tolist(), strict=True)
    ]
    traces = [Trace(THESE, found.epsilon, upper, texts=texts)]
    if found.whole:
        traces.append(Trace(BETWEEN, found.epsilon, lower, to=upper))
    sides = Axis("epsilon", 0.0, float(found.epsilon[-1])), Axis("delta", found.floor, 1.0, "log")
    caption = "The same guarantee as pairs of epsilon and delta, each rounded to the safe side."
    title = "Privacy profile: delta for each epsilon, on a logarithmic scale"
    return Chart("profile", title, *sides, [*traces, *_marks(verdicts)], _profile_table(found, delta), caption)


def _profile_table(found: Points, delta: float) -> Grid:
    deltas = sorted({delta, *ASKED_DELTAS}, reverse=True)
    epsilon = found.curve.epsilon(np.array(deltas))
    least = [at_least(low, 6) if found.whole else "-" for low in np.ravel(epsilon.lower).tolist()]
    rows = [
        (single(each), low, at_most(high, 6))
        for each, low, high in zip(deltas, least, np.ravel(epsilon.upper).tolist(), strict=True)
    ]
    heads = (("delta", "number"), ("epsilon, at least", "number"), ("epsilon, at most", "number"))
    return Grid(heads, rows, "The truth lies between the two ends")


def _marks(verdicts: Verdicts) -> list[Trace]:
    """Targets as points, by their verdict."""
    found = []
    for word, (role, symbol) in MARKS.items():
        chosen = [v.target for v in verdicts if v.word == word and v.target.delta > 0]
        if chosen:
            places = [t.epsilon for t in chosen], [t.delta for t in chosen]
            found.append(Trace(f"target {word}", *places, role, kind="points", symbol=symbol))
    return found
