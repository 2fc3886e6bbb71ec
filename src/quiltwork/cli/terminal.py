"""What the commands share: read a file, print a page or its numbers, write what was asked for, draw a bar."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from quiltwork.errors import InvalidParameter, InvalidPlan
from quiltwork.progress import Progress

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from quiltwork.document.page import Report
    from quiltwork.document.parts import Detail

PIPED_WIDTH = 120
PATIENCE = 2.0  # seconds until somebody who watches is told that there is work
STYLES = {"good": "green", "warm": "yellow", "bad": "red", "strong": "bold", "faint": "dim"}
Read = TypeVar("Read")


def plan_at(path: Path, read: Callable[[Path], Read]) -> Read:
    """The plan; an error inside the file also names the file."""
    try:
        return read(path)
    except InvalidPlan as error:
        if error.where == str(path):
            raise
        first, *others = ((f"{_place(path, one)}: {one.where}", one.problem) for one in (error, *error.others))
        raise InvalidPlan(*first, others=[InvalidPlan(*other) for other in others]) from None


def _place(path: Path, error: InvalidPlan) -> str:
    return f"{path}:{error.line}" if error.line is not None else str(path)


def parsed(kind: Any, text: str, name: str) -> Any:
    """A value that is typed as a plan file writes it; an error inside also names where it was typed."""
    from quiltwork.spec.text.read import parse_as

    try:
        return parse_as(kind, text)
    except InvalidPlan as error:
        where = "" if error.where == "the plan" else f"{error.where} "
        raise InvalidPlan(f"{name} {short(text)!r}", f"{where}{error.problem}") from None


def short(text: str) -> str:
    """What was typed, cut where it is long."""
    return text if len(text) <= 60 else f"{text[:57]}..."


def figure_kind(path: Path | None) -> str:
    """The picture format that a file name asks for, so that a bad one is refused before the work; "" without one."""
    if path is None:
        return ""
    from quiltwork.document.draw.style import figure_format

    return figure_format(path)


def detail(*files: Path | None) -> Detail:
    """Charts are made when somebody asked for a file that shows them."""
    return "words" if all(file is None for file in files) else "whole"


def console() -> Console:
    """The terminal, or a page of fixed width when piped."""
    from rich.console import Console

    return Console(width=None if sys.stdout.isatty() else PIPED_WIDTH, highlight=False)


def grid(*columns: str | tuple[str, str]) -> Table:
    """An empty table of the terminal; columns are headings, or pairs of a heading and "number"."""
    from rich.table import Table

    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    for column in columns:
        name, number = (column, False) if isinstance(column, str) else (column[0], True)
        table.add_column(name, justify="right" if number else "left", no_wrap=number, overflow="fold")
    return table


def show(report: Report) -> None:
    """The whole page as text."""
    from rich.text import Text

    from quiltwork.document.draw.terminal import lines

    terminal = console()
    for line in lines(report, terminal.width):
        terminal.print(Text.assemble(*((text, STYLES.get(tone, "")) for text, tone in line)), soft_wrap=True)


def told(
    report: Report,
    as_json: bool,
    document: Mapping[str, Any] | None = None,
    *,
    html: Path | None = None,
    markdown: Path | None = None,
    figure: Path | None = None,
    csv: Path | None = None,
    table: str | None = None,
) -> int:
    """Print the page, or its numbers; write what was asked for: the page, its first two charts, a table as CSV.

    The exit code is 0 when everything holds that was asked for.
    """
    if as_json:
        from quiltwork.report.pages.anything import document_of

        print(json.dumps(document_of(report) if document is None else document, indent=2, allow_nan=False))
    else:
        show(report)
    if csv is not None and table is not None:
        csv.write_text(table, encoding="utf-8", newline="")
        print(f"wrote {csv}", file=sys.stderr)
    for place, kind in ((html, ".html"), (markdown, ".md")):
        if place is not None:
            write(report, place, kind)
    if figure is not None:
        from quiltwork.document.blocks import Chart
        from quiltwork.document.draw.svg import figure as drawn

        charts = [one for one in report.drawings.values() if isinstance(one, Chart)]
        if not charts:
            raise InvalidParameter("figure", str(figure), "left out for this file", "there is nothing to draw")
        figure.write_bytes(drawn(charts[:2], figure_kind(figure), str(report.data.get("kind")), report.title))
        print(f"wrote {figure}", file=sys.stderr)
    return 0 if report.met else 1


def write(report: Report, path: Path, kind: str | None = None) -> None:
    """Write a report, and say which files that were."""
    for file in report.save(path, kind):
        print(f"wrote {file}", file=sys.stderr)


@contextmanager
def waiting(words: str) -> Iterator[None]:
    """Work whose end nobody knows: whoever watches is told after two seconds what is done, and for how long now."""
    if not sys.stderr.isatty():
        yield
        return
    from threading import Event, Thread
    from time import monotonic

    done, begun = Event(), monotonic()

    def tick() -> None:
        pause = PATIENCE
        while not done.wait(pause):
            print(f"\r{words} ... {monotonic() - begun:.0f} s", end="", file=sys.stderr, flush=True)
            pause = 1.0

    clock = Thread(target=tick, daemon=True)
    clock.start()
    try:
        yield
    finally:
        done.set()
        clock.join()
        if monotonic() - begun >= PATIENCE:
            print("\r" + " " * (len(words) + 16) + "\r", end="", file=sys.stderr, flush=True)


@contextmanager
def draw_bar(label: str) -> Iterator[Progress]:
    """A bar with the time that is left, by rich: the drawer that the command line gives to all rooms."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Bar(*columns, console=Console(file=sys.stderr, force_terminal=True), transient=True) as bar:
        task = bar.add_task(label, total=None)
        yield lambda done, total, words="": bar.update(task, completed=done, total=total, description=words or label)
