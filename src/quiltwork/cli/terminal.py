"""What the commands share: read a file, print a page or its numbers, write what was asked for."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from quiltwork.errors import InvalidParameter, InvalidPlan

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from quiltwork.document.page import Report
    from quiltwork.document.parts import Detail

__all__ = ["console", "detail", "figure_kind", "grid", "plan_at", "show", "told", "write", "written"]

PIPED_WIDTH = 120
STYLES = {"good": "green", "warm": "yellow", "bad": "red", "strong": "bold", "faint": "dim"}
Read = TypeVar("Read")


def plan_at(path: Path, read: Callable[[Path], Read]) -> Read:
    """The plan; an error inside the file also names the file."""
    try:
        return read(path)
    except InvalidPlan as error:
        if error.where == str(path):
            raise
        place = f"{path}:{error.line}" if error.line is not None else str(path)
        raise InvalidPlan(f"{place}: {error.where}", error.problem) from None


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


def grid(*columns: tuple[str, bool]) -> Table:
    """An empty table of the terminal; a column is its heading, and whether it holds numbers."""
    from rich.table import Table

    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    for name, number in columns:
        table.add_column(name, justify="right" if number else "left", no_wrap=number, overflow="fold")
    return table


def show(report: Report) -> None:
    """The whole page as text."""
    from rich.text import Text

    from quiltwork.document.draw.terminal import lines

    terminal = console()
    for line in lines(report, terminal.width):
        terminal.print(Text.assemble(*((text, STYLES.get(tone, "")) for text, tone in line)), soft_wrap=True)


def told(report: Report, as_json: bool, document: Mapping[str, Any] | None = None) -> int:
    """Print the page, or its numbers; the exit code: 0 when everything holds that was asked for."""
    if as_json:
        from quiltwork.report.pages.anything import document_of

        print(json.dumps(document_of(report) if document is None else document, indent=2, allow_nan=False))
    else:
        show(report)
    return 0 if report.met else 1


def write(report: Report, path: Path, kind: str | None = None) -> None:
    """Write a report, and say which files that were."""
    for file in report.save(path, kind):
        print(f"wrote {file}", file=sys.stderr)


def written(
    report: Report,
    *,
    html: Path | None = None,
    markdown: Path | None = None,
    figure: Path | None = None,
    csv: Path | None = None,
    table: str | None = None,
) -> None:
    """Write what was asked for: the page, its first two charts side by side, a table as CSV."""
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
