"""`quiltwork demo`: make the tour, print one line a stop, leave the report."""

from __future__ import annotations

import contextlib
import io
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer

from quiltwork.cli.options import AsJson, single
from quiltwork.progress import Progress, reporting


@single(
    "quiltwork demo",
    "quiltwork demo --out tour.html",
    "quiltwork demo --out tour.json --json",
)
def demo(
    out: Annotated[Path, typer.Option(metavar="FILE", help="The report to leave: .html, .md or .json.")] = Path(
        "quiltwork-demo.html"
    ),
    as_json: AsJson = False,
) -> None:
    """Tour everything the library answers and leave one report.

    It needs no files and no network, and takes under a minute. A part whose extra is not installed is left out, with
    the line that installs it.
    """
    from functools import partial

    from quiltwork.cli.files import check_writable
    from quiltwork.cli.terminal import console, grid
    from quiltwork.document.page import report_format
    from quiltwork.report.tour import tour

    report_format(out)  # refused before the work, not after it
    check_writable(out=out)
    with reporting("touring") as advance:
        found = tour(partial(_steps, advance))
    files = found.report().save(out)
    if as_json:
        print(json.dumps(found.to_json(), indent=2, allow_nan=False))
    else:
        terminal, table = console(), grid("question", "answer")
        for stop in found.stops:
            table.add_row(stop.heading, stop.line, style="yellow" if stop.told is None else "")
        terminal.print("A tour of quiltwork", style="bold")
        terminal.print("every number was computed just now; all data are made up\n", style="dim")
        terminal.print(table, markup=False)
        print(f"\nThe report is in {out}" + ("; open it in a browser." if out.suffix.lower() == ".html" else "."))
    for file in files if as_json else files[1:]:
        print(f"wrote {file}", file=sys.stderr)


def _steps(advance: Progress | None, count: int) -> Iterator[int]:
    """The stops in turn; what they would show themselves is kept off the terminal, which has one bar already."""
    for index in range(count):
        if advance is None:
            yield index
        else:
            advance(index, count)
            with contextlib.redirect_stderr(io.StringIO()):
                yield index
    if advance is not None:
        advance(count, count)
