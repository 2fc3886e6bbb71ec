"""`quiltwork demo`: make the tour, print one line a stop, leave the report."""

from __future__ import annotations

import contextlib
import io
import json
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from rich.console import Console
from rich.text import Text

from quiltwork.cli.account import PIPED_WIDTH, grid
from quiltwork.cli.files import check_writable
from quiltwork.cli.progress import Advance, progress
from quiltwork.document.page import report_format
from quiltwork.report.tour import Tour, tour


def run(out: Path, as_json: bool) -> int:
    """The exit code is 0: a part that is left out for want of an extra says so."""
    report_format(out)  # refuse before the work, not after it
    check_writable("out", out)
    with progress("touring") as advance:
        found = tour(partial(_steps, advance))
    files = found.report().save(out)
    if as_json:
        print(json.dumps(found.to_json(), indent=2, allow_nan=False))
    else:
        show(found, Console(width=None if sys.stdout.isatty() else PIPED_WIDTH, highlight=False))
        print(f"\nThe report is in {out}" + ("; open it in a browser." if out.suffix.lower() == ".html" else "."))
    for file in files if as_json else files[1:]:
        print(f"wrote {file}", file=sys.stderr)
    return 0


def _steps(advance: Advance | None, count: int) -> Iterator[int]:
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


def show(found: Tour, console: Console) -> None:
    """One line a stop."""
    console.print(Text("A tour of quiltwork", style="bold"))
    console.print(Text("every number was computed just now; all data are made up", style="dim"))
    console.print()
    table = grid(("question", False), ("answer", False))
    for stop in found.stops:
        table.add_row(Text(stop.heading), Text(stop.line, style="yellow" if stop.told is None else ""))
    console.print(table)
