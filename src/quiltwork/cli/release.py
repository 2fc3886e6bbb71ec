"""`quiltwork release`: published numbers of a table, from a plan file and the data."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from quiltwork.cli.ledger.connection import HOME, URL, KeyFile, TokenFile, Where
from quiltwork.cli.options import AsJson, Delta, Html, Markdown, single
from quiltwork.errors import InvalidParameter


@single(
    "quiltwork release plan.yaml visits.parquet",
    "quiltwork release plan.yaml visits.parquet --ledger sqlite:///budgets.db --budget patients --key 2026-Q4",
    "quiltwork release plan.yaml 'visits/*.csv' --out results.parquet --html report.html --engine 'spark://local[2]'",
    "quiltwork release examples/worlds/medical.yaml scores.parquet --column score",
)
def release(
    plan: Annotated[
        Path,
        typer.Argument(
            help="Table plan with count, sum, mean ..., or world file with a target; YAML or JSON.", show_default=False
        ),
    ],
    data: Annotated[
        str, typer.Argument(help="Parquet or CSV file, folder or pattern; or a table of --engine.", show_default=False)
    ],
    budget: Annotated[str | None, typer.Option(help="Budget of the ledger that is paid from.")] = None,
    key: Annotated[
        str | None, typer.Option(help="Name of this release: the same one is paid for and drawn once.")
    ] = None,
    engine: Annotated[
        str, typer.Option(metavar="URL", help="duckdb://, duckdb:///FILE, spark://local[2] or spark://HOST:PORT.")
    ] = "duckdb://",
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Also write the numbers: .parquet, .csv or .json.")
    ] = None,
    confidence: Annotated[float, typer.Option(help="Of the intervals.")] = 0.95,
    consistent: Annotated[
        bool, typer.Option("--consistent", help="Also counts and sums in which parts add up: post-processing.")
    ] = False,
    nonnegative: Annotated[bool, typer.Option("--nonnegative", help="The same, with no cell below zero.")] = False,
    column: Annotated[str | None, typer.Option(help="Of a world file: the column that its channel reads.")] = None,
    delta: Delta = None,
    as_json: AsJson = False,
    html: Html = None,
    markdown: Markdown = None,
    ledger: Annotated[
        str | None, typer.Option(metavar="URL", envvar="QUILTWORK_LEDGER", help=f"{URL}.", show_default=HOME)
    ] = None,
    token_file: TokenFile = None,
    key_file: KeyFile = None,
) -> None:
    """Publish the statistics of a table plan: pay for them, scan the data once, draw noise, keep, show.

    Of a world file the channel that is designed for its target replaces the values of --column.

    Nothing is read before it is paid for. Without a ledger nothing is paid, every run is a release of its own, and the
    result says so.
    """
    from quiltwork.cli.files import check_writable
    from quiltwork.cli.terminal import plan_at, told
    from quiltwork.release.channel import release_channel
    from quiltwork.release.least_squares import consistent as fitted
    from quiltwork.release.released import FORMATS, Released
    from quiltwork.report.answers.design import view
    from quiltwork.report.pages.released import released_report
    from quiltwork.spec.files.file import of_another_kind, read_any
    from quiltwork.spec.files.table_plan import TablePlan
    from quiltwork.spec.files.world import WorldFile

    check_writable(out=out, html=html, markdown=markdown)
    if out is not None and out.suffix.lower() not in FORMATS:
        raise InvalidParameter("out", str(out), f"a file that ends in {', '.join(FORMATS)}")
    given = plan_at(plan, read_any)
    if not isinstance(given, (TablePlan, WorldFile)):
        raise of_another_kind(plan, given)
    if (column is None) == isinstance(given, WorldFile):
        raise InvalidParameter("column", column, "the column that a channel reads, with a world file alone")
    if budget is not None and column is not None:
        hint = "what was released before stands in the world file, and its target is the budget"
        raise InvalidParameter("budget", budget, "left out with a world file", hint)
    asked: dict[str, Any] = {"engine": engine}

    def published(**asked: Any) -> Released:
        if isinstance(given, TablePlan):
            return given.plan().release(data, confidence=confidence, **asked)
        design = view(given, compare=False).design
        if design is None:
            raise InvalidParameter("plan", str(plan), "a world file with a target that can be met")
        return release_channel(design, data, column=str(column), **asked)

    if budget is None:
        if ledger is not None or key is not None:
            raise InvalidParameter("budget", None, "the budget that is paid from", "beside --ledger and --key")
        found = published(**asked)
    else:
        with Where(HOME if ledger is None else ledger, token_file, key_file).reached() as book:
            found = published(ledger=book, budget=budget, key=key, **asked)
    if isinstance(given, TablePlan) and (consistent or nonnegative):
        found = fitted(found, given.plan(), nonnegative=nonnegative)
    if out is not None:
        print(f"wrote {found.save(out)}", file=sys.stderr)
    document = {"schema": "quiltwork/release/1", **found.about(), "rows": [dict(row) for row in found.rows]}
    report = released_report(found, given.title, delta, given.plan() if isinstance(given, TablePlan) else None)
    raise typer.Exit(told(report, as_json, document, html=html, markdown=markdown))
