"""The report of a privacy region: guarantees that hold at once, composed, beside one at a time."""

from __future__ import annotations

from quiltwork.curves.bracket import Bracket
from quiltwork.document.blocks import Block, Fact, Facts, Grid, Section, Words
from quiltwork.document.page import Report
from quiltwork.numbers.digits import at_least, at_most, single
from quiltwork.report.parts import AT_MOST, SUMMARY, Judged, target_rows, targets_fact, why
from quiltwork.report.region.figure import pictures
from quiltwork.report.region.view import Stated, View, asked_of, constraint_rows, spread, upper

__all__ = ["region_report"]

SHOWN = 16  # faces in the table
DIGITS = 6
BECAUSE = (
    "constraints that hold at once are one mixture of randomized responses, and mixtures compose exactly "
    "(theory/multi-constraints.md 2)",
    "every region that contains the truth may be intersected with any other (Kairouz, Oh and Viswanath 2015)",
)


def region_report(found: View) -> Report:
    """Everything that is said about a region."""
    judged = [Judged(one.target, one.word, one.delta) for one in found.verdicts]
    facts = [
        Fact("Total variation", f"{AT_MOST} {at_most(upper(found.variation))}", "the advantage of the best guess"),
        Fact("Revealed outright", f"{AT_MOST} {at_most(upper(found.reveal))}", "delta that no epsilon removes"),
        *([targets_fact(judged)] if judged else []),
    ]
    sections = [
        Section(SUMMARY, [Facts(facts), *target_rows(judged)]),
        Section("In plain words", [Words(text) for text in _told(found)]),
        Section("The region", pictures(found)),
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
        return at_least(float(bracket.lower), DIGITS)
    return at_most(upper(bracket), DIGITS)


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
            at_most(found.region.area(), DIGITS),
            at_most(naive.area(), DIGITS) if naive else "",
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
        cells = [single(epsilon), at_most(float(region.deltas[index]), DIGITS)]
        rows.append([*cells, *([at_most(upper(found.naive.delta(epsilon)), DIGITS)] if found.naive else [])])
    columns = [("epsilon", "number"), ("delta", "number"), *([("One at a time", "number")] if found.naive else [])]
    some = "" if len(chosen) == total else f"; {len(chosen)} are shown"
    return [Grid(columns, rows, f"{total:,} face{'' if total == 1 else 's'} ({region.method}){some}.")]
