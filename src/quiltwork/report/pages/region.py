"""The report of a privacy region: guarantees that hold at once, composed, beside one at a time."""

from __future__ import annotations

import math

import numpy as np

from quiltwork.curves.bracket import Bracket
from quiltwork.curves.polygons.profile import Profile
from quiltwork.curves.polygons.region import Region
from quiltwork.document.blocks import Axis, Block, Chart, Fact, Facts, Grid, Role, Section, Symbol, Trace, Words
from quiltwork.document.charts import ALARMS, MISSES, blind_guessing
from quiltwork.document.page import Report
from quiltwork.document.parts import AT_MOST, SUMMARY, Detail, curves_section, why
from quiltwork.numbers.digits import at_least, single
from quiltwork.report.answers.account import USUAL_DELTA
from quiltwork.report.answers.region import Stated, View, asked_of, constraint_rows, spread, upper
from quiltwork.report.parts import target_rows, targets_fact, upward

SHOWN = 16  # faces in the table
DRAWN = 600  # faces in the picture
BECAUSE = (
    "constraints that hold at once are one mixture of randomized responses, and mixtures compose exactly",
    "every region that contains the truth may be intersected with any other (Kairouz, Oh and Viswanath 2015)",
)


def region_report(found: View, detail: Detail = "whole") -> Report:
    """Everything that is said about a region."""
    facts = [
        Fact("Total variation", f"{AT_MOST} {upward(upper(found.variation))}", "the advantage of the best guess"),
        Fact("Revealed outright", f"{AT_MOST} {upward(upper(found.reveal))}", "delta that no epsilon removes"),
        *([targets_fact(found.verdicts)] if found.verdicts else []),
    ]
    sections = [
        Section(SUMMARY, [Facts(facts), *target_rows(found.verdicts)]),
        Section("In plain words", [Words(text) for text in _told(found)]),
        *curves_section(region_charts(found, detail), "The region"),
        Section("What is stated", [_stated(found)]),
        Section("The numbers", [_summary(found), *_faces(found)]),
        *why(BECAUSE),
    ]
    lead = f"The privacy region of {found.loss.count:,} release{'' if found.loss.count == 1 else 's'}."
    met = all(one.word == "met" for one in found.verdicts)
    return Report(found.heading, lead, sections, {"kind": "region", "met": met, "region": found.to_json()})


def _told(found: View) -> list[str]:
    lines = [
        "The region holds every pair of error rates (false alarms and misses) that some test of the protected "
        "difference may reach. Nothing outside it can be reached by anybody."
    ]
    if found.naive:
        lines.append(
            "All guarantees are used at once. Using one of them at a time and keeping the best answer gives the larger "
            "region with the dashed outline."
        )
    return lines


def _safe(bracket: Bracket) -> str:
    if bracket.quantity == "beta":
        return at_least(float(bracket.lower))
    return upward(upper(bracket))


def _stated(found: View) -> Block:
    rows = [row for stated in found.stated for row in _rows(stated, found.times)]
    columns = ("Release", ("Count", "number"), "Guarantee", ("Weight", "number"), "In the worst case")
    return Grid(columns, rows, "Each guarantee with its weight in the mixture that is the worst case.")


def _rows(stated: Stated, times: int) -> list[tuple[str | int, ...]]:
    count = stated.count * times
    if not stated.points:
        return [(stated.name, count, stated.words, "", "")]
    return [(stated.name, count, *row) for row in constraint_rows(stated)]


def _summary(found: View) -> Block:
    naive = found.naive
    rows: list[list[str]] = [
        ["total variation", _safe(found.variation), _safe(naive.delta(0.0)) if naive else ""],
        ["revealed outright", _safe(found.reveal), _safe(found.reveal)],
        [
            "area of the region",
            upward(found.region.area()),
            upward(naive.area()) if naive else "",
        ],
    ]
    for name, at, answer in found.answers:
        theirs = _safe(asked_of(naive, name, at)) if naive else ""
        rows.append([f"{answer.quantity} at {name} {single(at)}", _safe(answer), theirs])
    columns: list[str | tuple[str, str]] = ["", ("All at once", "number")]
    if naive:
        columns.append(("One at a time", "number"))
    return Grid(columns, [row[: len(columns)] for row in rows], "Rounded to the safe side.")


def _faces(found: View) -> list[Block]:
    region, total = found.region, found.region.epsilons.size
    if not total:
        return [Words("Nothing is promised: the region is the whole square.")]
    chosen, rows = spread(region, SHOWN), []
    for index in chosen:
        epsilon = float(region.epsilons[index])
        cells = [single(epsilon), upward(float(region.deltas[index]))]
        rows.append([*cells, *([upward(upper(found.naive.delta(epsilon)))] if found.naive else [])])
    columns = [("epsilon", "number"), ("delta", "number"), *([("One at a time", "number")] if found.naive else [])]
    some = "" if len(chosen) == total else f"; {len(chosen)} are shown"
    return [Grid(columns, rows, f"{total:,} face{'' if total == 1 else 's'} ({region.method}){some}.")]


# ---- the charts


def region_charts(found: View, detail: Detail = "whole") -> list[Chart]:
    """The region, and its profile beside it."""
    return [] if detail == "words" else [_region(found), _profile(found)]


def thinned(region: Region) -> Region:
    """A region around this one with few enough faces to draw."""
    size = region.epsilons.size
    if size <= DRAWN:
        return region
    chosen = np.unique(np.concatenate((np.linspace(0, size - 1, DRAWN // 2).astype(int), spread(region, DRAWN // 2))))
    return Region(Profile(region.epsilons[chosen], region.deltas[chosen], symmetric=region.profile.symmetric))


def _region(found: View) -> Chart:
    """Every pair of error rates that some test may reach."""
    outline = thinned(found.region).polygon
    x, y = np.vstack((outline, outline[:1])).T
    traces = [blind_guessing(), Trace("all at once", x, y, fill=True)]
    if found.naive:
        across, along = thinned(found.naive).polygon.T
        traces.append(Trace("one at a time", across, along, "bad", dash="dash"))
    title = "Privacy region: every pair of false alarms and misses that some test may reach"
    caption = "Every pair of error rates that some test may reach. The smaller the region, the less can be told apart."
    return Chart("region", title, ALARMS, MISSES, traces, None, caption, square=True)


def _profile(found: View) -> Chart:
    """delta against epsilon; a target above the curve is met."""
    deltas = [at for name, at, _ in found.answers if name == "delta"] + [v.target.delta for v in found.verdicts]
    reveal = upper(found.reveal)
    floor = max(min((delta for delta in deltas if delta > 0), default=USUAL_DELTA) / 100, 0.8 * reveal)
    seen = (upper(found.loss.epsilon(delta)) for delta in (floor, 1.01 * reveal, 0.5) if delta < 1)
    reach = max([next((end for end in seen if 0 < end < math.inf), 1.0), *(v.target.epsilon for v in found.verdicts)])
    places = np.linspace(0.0, 1.04 * reach, DRAWN)
    lower, over = (np.maximum(np.ravel(end), floor / 10) for end in found.loss.delta(places))
    name = "all at once" if found.naive else "all together"
    traces = [Trace(name, places, over), Trace("both certified ends", places, lower, to=over)]
    if found.naive:
        traces.append(Trace("one at a time", places, np.ravel(found.naive.delta(places).upper), "bad", dash="dash"))
    for one in found.verdicts:
        met, place = one.word == "met", ((one.target.epsilon,), (one.target.delta,))
        look: tuple[Role, Symbol] = ("good", "circle") if met else ("bad", "x")
        traces.append(Trace(f"target, {one.word}", *place, look[0], kind="points", symbol=look[1]))
    title = "Privacy profile: delta for each epsilon, on a logarithmic scale"
    caption = "The same as pairs of epsilon and delta; each straight side of the region is one corner here."
    sides = Axis("epsilon", 0.0, float(places[-1])), Axis("delta", floor, 1.0, "log")
    return Chart("region-profile", title, *sides, traces, None, caption)
