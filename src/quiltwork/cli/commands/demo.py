"""The options of `quiltwork demo`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from quiltwork.cli.help import single
from quiltwork.cli.options import AsJson


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
    """Tour every room of the library and leave one report.

    It needs no files and no network, and takes under a minute. A part whose extra is not installed is left out, with
    the line that installs it.
    """
    from quiltwork.cli.demo import run

    raise typer.Exit(run(out, as_json))
