"""`quiltwork report`: one report of several files and budgets."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from quiltwork.cli.options import Delta, single
from quiltwork.errors import InvalidParameter

if TYPE_CHECKING:
    from quiltwork.document.page import Report

TITLE = "Privacy report"


@single(
    "quiltwork report plan.yaml tables.yaml --out privacy.html",
    "quiltwork report plan.yaml --ledger budgets.db --budget patients --out privacy.md",
)
def report(
    files: Annotated[
        list[Path] | None,
        typer.Argument(help="Plans, table plans, prior, world and budget files.", show_default=False),
    ] = None,
    out: Annotated[Path, typer.Option(metavar="FILE", help="The report to write: .html, .md or .json.")] = Path(
        "quiltwork-report.html"
    ),
    delta: Delta = None,
    ledger: Annotated[
        str | None, typer.Option(metavar="URL", envvar="QUILTWORK_LEDGER", help="The ledger of the budgets.")
    ] = None,
    budget: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="A budget of the ledger to show over time; repeat.")
    ] = None,
) -> None:
    """Write one report of several files and budgets."""
    from quiltwork import checks
    from quiltwork.cli.terminal import plan_at, waiting, write
    from quiltwork.document.page import joined, report_format
    from quiltwork.report.answers.together import added_up
    from quiltwork.report.pages.anything import report_of
    from quiltwork.spec.files.file import read_any

    report_format(out)  # refused before the work, not after it
    if budget and ledger is None:
        raise InvalidParameter("ledger", None, "the ledger of the budgets", "name it with --ledger")
    if not files and ledger is None:
        raise InvalidParameter("the input", "nothing", "one or more files, or --ledger with budgets")
    at = None if delta is None else checks.probability("delta", delta)
    values = [plan_at(file, read_any) for file in files or []]  # every file is read before any is worked on
    with waiting("accounting"):
        found = [report_of(value, at) for value in values]
        sums = [report_of(value, at) for value in added_up(values)]
    if ledger is not None and (budget or not files):
        found += _budgets(ledger, budget or [])
    write(found[0] if len(found) == 1 else joined(TITLE, [*found, *sums], _lead(found, sums)), out)
    raise typer.Exit(0 if all(one.met for one in found) else 1)


def _lead(found: Sequence[Report], sums: Sequence[Report]) -> str:
    held = sum(one.met for one in found)
    missed = len(found) - held
    words = "everything in them holds" if not missed else f"{missed} of them do{'es' if missed == 1 else ''} not hold"
    whole = f"{len(found)} parts: {words}. "
    if not sums:
        return whole + "Each is accounted by itself: parts about the same people are not added up."
    return (
        f"{whole}Those that name the same protected change of the same data are also added up, at the end; all others "
        "are accounted by themselves: parts about the same people in other words are not added up."
    )


def _budgets(ledger: str, names: list[str]) -> list[Report]:
    """The named budgets; all of them when none is named."""
    from quiltwork.cli.ledger.connection import Where
    from quiltwork.report.pages.budget import budget_report

    with Where(ledger).reached() as book:
        chosen = names or [one.name for one in book.budgets()]
        if not chosen:
            raise InvalidParameter("ledger", ledger, "a ledger with at least one budget")
        return [budget_report(book, name) for name in chosen]
