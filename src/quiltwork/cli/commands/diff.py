"""The options of `quiltwork diff`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from quiltwork.cli.help import single
from quiltwork.cli.options import AsJson, Delta, Html, Markdown


@single(
    "quiltwork diff examples/plans/hospital.yaml plan.yaml",
    "quiltwork diff plan.yaml new.yaml --at-most-more 0.1 --markdown change.md",
)
def diff(
    before: Annotated[Path, typer.Argument(metavar="BEFORE", help="The file as it was.", show_default=False)],
    after: Annotated[Path, typer.Argument(metavar="AFTER", help="The file as it is to be.", show_default=False)],
    delta: Delta = None,
    at_most_more: Annotated[
        float | None, typer.Option(help="Exit with 1 when epsilon may grow by more than this.")
    ] = None,
    as_json: AsJson = False,
    html: Html = None,
    markdown: Markdown = None,
) -> None:
    """Compare two files of one kind: what changed, and what that costs.

    Plans, table plans, prior, world and budget files. Exit code 1 says that AFTER misses a target, or may cost more
    than --at-most-more allows.
    """
    from quiltwork.cli.diff import run

    raise typer.Exit(run(before, after, delta, at_most_more, as_json, html, markdown))
