"""`quiltwork diff`: what changed between two files of one kind, and what that costs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from quiltwork.cli.options import AsJson, Delta, Html, Markdown, single
from quiltwork.errors import InvalidParameter


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
    from quiltwork import checks
    from quiltwork.cli.files import check_writable
    from quiltwork.cli.terminal import detail, plan_at, told, waiting
    from quiltwork.document.page import report_format
    from quiltwork.report.answers.change import differences
    from quiltwork.report.pages.change import difference_report
    from quiltwork.spec.files.file import read_any

    if at_most_more is not None:
        checks.real("at-most-more", at_most_more)
    if delta is not None:
        checks.probability("delta", delta)
    check_writable(html=html, markdown=markdown)
    if markdown is not None and report_format(markdown) != ".md":
        raise InvalidParameter("markdown", str(markdown), "a file name that ends in .md")
    with waiting("comparing"):
        found = differences(plan_at(before, read_any), plan_at(after, read_any), delta)
        report = difference_report(found, detail(html, markdown), at_most_more)
    holds = found.holds(at_most_more)
    told(report, as_json, {**found.to_json(), "holds": holds}, html=html, markdown=markdown)
    raise typer.Exit(0 if holds else 1)
