"""The pages of the gallery: HTML for readers, Markdown for repositories, JSON for programs."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import attrs

from examples.gallery.bar import span
from examples.gallery.browse import browsable, linked
from examples.gallery.hung import TONES, Hung, section
from examples.gallery.item import Effort
from examples.gallery.keep import Outcome, written
from examples.gallery.rooms import Room
from quiltwork.document.blocks import Block, Bullets, Cell, Details, Fact, Facts, Grid, Section, Terms, Words
from quiltwork.document.page import Report

SCHEMA = "quiltwork/gallery/1"
TITLE = "Gallery: what five papers print, measured again"
MEANING = {
    "agree": "Everything that was compared holds, up to the precision that the check names.",
    "not comparable": "Numbers are not the printed ones, and could not be expected to be: the run does not have what "
    "the paper measured on. What it would need is named; what does not depend on it was compared, and holds.",
    "differ": "Something that was compared does not hold, and that does not show the paper to be wrong: it leaves a "
    "parameter or an edge case open, or an argument has a gap though its conclusion is true. The reason is given.",
    "wrong in print": "A counterexample, exact arithmetic or a certified bracket shows that the claim as printed is "
    "false. The corrected form is in docs/errata.md, with its tests.",
    "not measured": "The study ended with an error in this run.",
}


@attrs.frozen
class Visit:
    """What the clock and the command line say about a run."""

    effort: Effort
    date: datetime
    versions: Mapping[str, str]
    seconds: float
    workers: int
    only: tuple[str, ...] = ()


def written_pages(rooms: Sequence[Room], outcomes: Sequence[Outcome], visit: Visit, folder: Path) -> Path:
    """Write index.html, gallery.md with its pictures beside it, and gallery.json; the page to open.

    A part of the gallery leaves these alone: it is written into part.html, part.md and part.json.
    """
    page, name = ("part", "part") if visit.only else ("index", "gallery")
    report = gallery(rooms, outcomes, visit)
    before = pictures(folder / f"{name}.md")
    beside = set(report.save(folder / f"{name}.md"))
    hung = _walls(rooms, outcomes)
    everything = [one for wall in hung.values() for one in wall]
    text = (folder / f"{name}.md").read_text(encoding="utf-8")
    written(folder / f"{name}.md", linked(text, everything))
    for old in before - beside:
        old.unlink(missing_ok=True)
    written(folder / f"{name}.json", json.dumps(report.data, indent=1, allow_nan=False) + "\n")
    written(folder / f"{page}.html", browsable(report.to_html(), everything))
    return folder / f"{page}.html"


def pictures(page: Path) -> set[Path]:
    """The pictures that a page of an earlier run names, beside it and by its own name: no other file is ours."""
    try:
        text = page.read_text(encoding="utf-8")
    except (OSError, ValueError):
        return set()
    return {page.with_name(name) for name in re.findall(rf"\]\(<({re.escape(page.stem)}-[\w-]+\.svg)>\)", text)}


def gallery(rooms: Sequence[Room], outcomes: Sequence[Outcome], visit: Visit) -> Report:
    """The whole gallery as a report."""
    walls = _walls(rooms, outcomes)
    everything = [hung for wall in walls.values() for hung in wall]
    sections = [
        Section("At a glance", [*loud(visit), *glance(rooms, walls), about(outcomes, visit)]),
        Section("How to read it", reading()),
        Section("By verdict", by_verdict(everything)),
        *(Section(room.paper.title, wall(room, walls[room.paper.name]), room.paper.name) for room in rooms),
    ]
    return Report(TITLE, lead(everything, visit), sections, data(everything, visit))


def _walls(rooms: Sequence[Room], outcomes: Sequence[Outcome]) -> dict[str, list[Hung]]:
    """What hangs in each room."""
    ended = {outcome.study.name: outcome for outcome in outcomes}
    return {
        room.paper.name: [hung for study in room.studies for hung in _hung(room, ended[study.name])] for room in rooms
    }


def _hung(room: Room, outcome: Outcome) -> list[Hung]:
    return [
        Hung(room.paper, item, outcome.study, outcome.findings.get(item.key), outcome.problem, outcome.seconds)
        for item in outcome.study.items
    ]


def counted(hung: Sequence[Hung]) -> dict[str, int]:
    """How many items have each verdict; "not measured" only if there are any."""
    found = Counter(one.verdict for one in hung)
    return {verdict: found[verdict] for verdict in TONES if verdict != "not measured" or found[verdict]}


def lead(hung: Sequence[Hung], visit: Visit) -> str:
    """The gallery in two sentences."""
    counts = ", ".join(f"{count} {verdict}" for verdict, count in counted(hung).items())
    part = f" Only {', '.join(visit.only)}: a part of the gallery." if visit.only else ""
    said = "one item" if len(hung) == 1 else f"{len(hung)} items, each"
    return f"{said.capitalize()} with the paper's claim, what this run measured, and a verdict: {counts}.{part}"


def glance(rooms: Sequence[Room], walls: Mapping[str, Sequence[Hung]]) -> list[Block]:
    """The verdicts counted, by room."""
    everything = [hung for wall in walls.values() for hung in wall]
    total = counted(everything)
    facts = [Fact(verdict.capitalize(), str(count), tone=TONES[verdict]) for verdict, count in total.items()]
    rows = [
        [
            Cell(room.paper.title, room.paper.authors, link=room.paper.name),
            len(walls[room.paper.name]),
            *(Counter(one.verdict for one in walls[room.paper.name])[verdict] for verdict in total),
        ]
        for room in rooms
    ]
    columns = ["Paper", ("items", "number"), *((verdict, "number") for verdict in total)]
    table = Grid(columns, rows, "Verdicts by paper.", ["All", len(everything), *total.values()])
    return [Facts(facts), table, *causes(everything)]


def causes(hung: Sequence[Hung]) -> list[Block]:
    """What stands behind verdicts that are no disagreement: misprints, and what the run did not have."""
    rows: list[list[Any]] = []
    slips = sum(one.finding is not None and one.finding.misprint for one in hung)
    if slips:
        rows.append(["wrong in print: a misprint, what is proved or meant stands", slips])
        wrong = sum(one.verdict == "wrong in print" for one in hung)
        rows.append(["wrong in print: false as a statement", wrong - slips])
    needs = Counter(
        need for one in hung if one.finding and one.verdict == "not comparable" for need in one.finding.missing
    )
    rows += [[f"not comparable: needs {need}", count] for need, count in sorted(needs.items())]
    return [Grid(("Cause", ("items", "number")), rows, "Causes behind the verdicts.")] if rows else []


def loud(visit: Visit) -> list[Block]:
    """That this is not the whole truth, if it is not."""
    if not visit.effort.quick:
        return []
    note = "Samples are smaller than in a whole run: sampled numbers are less exact, and items may differ for it."
    return [Facts([Fact("Effort", "QUICK RUN", note, "warm")])]


def reading() -> list[Block]:
    """What the verdicts mean."""
    meant = [Fact(verdict, words) for verdict, words in MEANING.items()]
    rules = [
        "No verdict is written by hand: each follows from the checks in the item's first table.",
        'Columns headed "printed" hold what the paper prints, or what its printed formula gives in our example; this '
        "run computed the latter and everything else.",
        "The papers were read as text converted from PDF. A sign or exponent that is wrong here may be right in the "
        "PDF; where a correction is one symbol, look there first.",
    ]
    return [Terms(meant), Bullets(rules)]


def by_verdict(hung: Sequence[Hung]) -> list[Block]:
    """Every item, folded by verdict; those that a reader should look at first come first."""
    blocks: list[Block] = []
    for verdict in reversed(counted(hung)):
        found = [one for one in hung if one.verdict == verdict]
        if not found:
            blocks.append(Words(f"{verdict.capitalize()}: none"))
            continue
        corrected = verdict == "wrong in print"
        columns = ["Item", "Room", "Erratum" if corrected else "The paper says"]
        rows = [
            [
                one.link,
                Cell(one.paper.name, link=one.paper.name),
                (one.item.errata or None) if corrected else one.gist,
            ]
            for one in found
        ]
        grid = Grid(columns, rows, f"Items with the verdict: {verdict}.")
        blocks.append(Details(f"{verdict.capitalize()}: {len(found)}", [grid]))
    return blocks


def wall(room: Room, hung: Sequence[Hung]) -> list[Block]:
    """One paper: who wrote it, its items in a table, then each item."""
    rows = [[one.link, one.gist, one.badge] for one in hung]
    index = Grid(("Item", "The paper says", "Verdict"), rows, "What hangs in this room.")
    return [Words(f"By {room.paper.authors}. Room: {room.paper.name}."), index, *map(section, hung)]


def about(outcomes: Sequence[Outcome], visit: Visit) -> Terms:
    """When, with what, how long."""
    taken = sum(outcome.kept for outcome in outcomes)
    spent = sum(outcome.seconds for outcome in outcomes)
    earlier = f", {taken} of them taken from an earlier run" if taken else ""
    facts = [
        Fact("Date", visit.date.strftime("%Y-%m-%d %H:%M UTC")),
        Fact("Effort", "quick: smaller samples" if visit.effort.quick else "whole"),
        Fact("Seed", str(visit.effort.seed)),
        Fact("Time", f"{span(visit.seconds)} with {visit.workers} process{'es' if visit.workers > 1 else ''}"),
        Fact("Studies", f"{len(outcomes)}{earlier}; together {span(spent)} on one core"),
        Fact("Versions", ", ".join(f"{name} {version}" for name, version in visit.versions.items())),
    ]
    return Terms(facts)


def data(hung: Sequence[Hung], visit: Visit) -> dict[str, Any]:
    """The gallery for programs."""
    return {
        "schema": SCHEMA,
        "date": visit.date.isoformat(timespec="seconds"),
        "quick": visit.effort.quick,
        "seed": visit.effort.seed,
        "only": visit.only,
        "seconds": round(visit.seconds, 1),
        "versions": visit.versions,
        "counts": counted(hung),
        "items": [_item(one) for one in hung],
    }


def _item(hung: Hung) -> dict[str, Any]:
    found: dict[str, Any] = {
        **attrs.asdict(hung.item),
        "room": hung.paper.name,
        "verdict": hung.verdict,
        "study": hung.study.name,
        "seconds": round(hung.seconds, 3),
    }
    if hung.finding is None:
        return {**found, "problem": hung.problem}
    finding = hung.finding
    return {
        **found,
        "measured": finding.measured,
        "why": finding.why,
        "misprint": finding.misprint,
        "missing": finding.missing,
        "checks": [attrs.asdict(c) for c in finding.checks],
    }
