"""The page: tables once, written for a terminal, as Markdown, and as one HTML file with figures."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Sequence
from typing import Any

from benchmarks import report
from benchmarks.beside import ours
from benchmarks.beside.measured import shown_error
from benchmarks.beside.scaling import Point, Series, exponent
from quiltwork.document.blocks import Bullets, Grid, Section, Words
from quiltwork.document.draw.style import COLOURS
from quiltwork.document.draw.svg import picture
from quiltwork.document.page import Report

Rows = Sequence[Sequence[str]]
TITLE = "Everybody on the same questions"
LINES = ("accent", "bad", "good", "warm", "ink", "muted")


@dataclasses.dataclass(frozen=True)
class Part:
    """A heading, what to know, and a table; `right` columns are numbers. `level` 3 stands inside the part before."""

    title: str
    note: str
    rows: Rows
    right: frozenset[int] = frozenset()
    level: int = 2
    figure: tuple[Series, tuple[Point, ...]] | None = None


def text(versions: Sequence[str], notes: Sequence[str], parts: Sequence[Part]) -> str:
    """For a terminal."""
    found = [*versions, *notes]
    for part in parts:
        found += ["", part.title, *([part.note] if part.note else [])]
        if part.rows:
            found += ["", report.plain([list(row) for row in part.rows], part.right)]
    return "\n".join(found)


def markdown(title: str, versions: Sequence[str], notes: Sequence[str], parts: Sequence[Part]) -> str:
    """For the documentation."""
    found = [f"# {title}", "\n".join(versions), *notes]
    for part in parts:
        found += [f"{'#' * part.level} {part.title}", *([part.note] if part.note else [])]
        if part.rows:
            found.append(report.rows_as_markdown([list(map(escaped, row)) for row in part.rows], part.right))
    return "\n\n".join(found) + "\n"


def escaped(cell: str) -> str:
    return cell.replace("|", "\\|")


def html(title: str, versions: Sequence[str], notes: Sequence[str], parts: Sequence[Part]) -> str:
    """One file, with a log-log figure under each table of growth."""
    sections: list[Section] = []
    for part in parts:
        blocks: list[Any] = [Words(part.note)] if part.note else []
        if part.figure:
            blocks.append(_figure(*part.figure))
        if part.rows:
            first, *rows = part.rows
            columns = [(name or " ", "number") if i in part.right else name or " " for i, name in enumerate(first)]
            blocks.append(Grid(columns, rows))
        if part.level == 3:
            sections[-1] = Section(sections[-1].heading, [*sections[-1].blocks, Section(part.title, blocks)])
        else:
            sections.append(Section(part.title, blocks))
    return Report(title, " ".join(versions), [Section("How to read it", [Bullets(notes)]), *sections]).to_html()


def _figure(series: Series, points: tuple[Point, ...]) -> Any:
    def draw(axes: Any) -> None:
        for number, method in enumerate(dict.fromkeys(point.method for point in points)):
            kept = [point for point in points if point.method == method and point.answered]
            if kept:
                style = {"linewidth": 2.2 if method == ours.NAME else 1.2, "marker": "o", "markersize": 3}
                colour = COLOURS[LINES[number % len(LINES)]]
                times = [1e3 * point.seconds for point in kept]
                axes.plot([p.size for p in kept], times, label=method, color=colour, **style)
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.set_xlabel(series.axis)
        axes.set_ylabel("CPU ms")
        axes.legend(fontsize=7.5)

    name = "growth-" + "".join(c if c.isalnum() else "-" for c in series.name.lower())[:40]
    return picture(name, f"CPU time over {series.axis}: {series.name}", "Both axes are logarithmic.", draw)


# ---- growth as tables


def growth(series: Series, points: Sequence[Point]) -> Part:
    """For each method milliseconds (and times ours) at each size and the exponent; then error, width and memory."""
    head = [series.axis, *map(series.show, series.sizes), "exponent", "at the end"]
    rows = [head]
    own = {point.size: point for point in points if point.method == ours.NAME}
    for method in dict.fromkeys(point.method for point in points):
        mine = {point.size: point for point in points if point.method == method}
        answers = list(mine.values())
        slopes = [exponent(answers), exponent(answers, last=2, least=2)]
        shown = ["" if math.isnan(slope) else f"{slope:+.2f}" for slope in slopes]
        rows.append([method, *(_cell(mine.get(size), own.get(size)) for size in series.sizes), *shown])
        for name, words in FIGURES.items():
            cells = [words(mine[size]) if size in mine else "" for size in series.sizes]
            if any(cells):
                rows.append([f"{method}: {name}", *cells, "", ""])
    return Part(series.name, "", rows, frozenset(range(1, len(head))), 3, (series, tuple(points)))


def _error(point: Point) -> str:
    return shown_error(point.error) + (" (below)" if point.unsound else "")


FIGURES: dict[str, Callable[[Point], str]] = {
    "error": _error,
    "width": lambda point: "" if math.isnan(point.width) else f"{point.width:.0e}",
    "MB": lambda point: "" if math.isnan(point.megabytes) else f"{point.megabytes:.2g}",
}


def _cell(point: Point | None, own: Point | None) -> str:
    if point is None:
        return "not asked"
    if point.fails:
        return point.fails.partition(":")[0].replace("ValueError", "refuses")
    shown = report.milliseconds(1e3 * point.seconds)
    if own is None or point is own or not own.answered:
        return shown
    over = point.seconds / own.seconds
    return f"{shown} ({over:,.0f}x)" if over >= 10 else f"{shown} ({over:.2g}x)"
