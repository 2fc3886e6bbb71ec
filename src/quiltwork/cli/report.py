"""`quiltwork report`: one report of several files and budgets."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from quiltwork import checks
from quiltwork.cli.account import plan_at, write
from quiltwork.document.page import Report, joined, report_format
from quiltwork.errors import InvalidParameter
from quiltwork.report.anything import report_of
from quiltwork.spec.files.file import read_any

TITLE = "Privacy report"


def run(files: list[Path], out: Path, delta: float | None, ledger: str | None, budget: list[str]) -> int:
    """The exit code: 0, or 1 when something in the report does not hold."""
    report_format(out)  # refuse before the work, not after it
    if budget and ledger is None:
        raise InvalidParameter("ledger", None, "the ledger of the budgets", "name it with --ledger")
    if not files and ledger is None:
        raise InvalidParameter("the input", "nothing", "one or more files, or --ledger with budgets")
    delta = None if delta is None else checks.probability("delta", delta)
    values = [plan_at(file, read_any) for file in files]  # every file is read before any is worked on
    found = [report_of(value, delta) for value in values]
    if ledger is not None and (budget or not files):
        found += _budgets(ledger, budget)
    report = found[0] if len(found) == 1 else joined(TITLE, found, _lead(found))
    write(report, out)
    return 0 if all(one.met for one in found) else 1


def _lead(found: Sequence[Report]) -> str:
    held = sum(one.met for one in found)
    missed = len(found) - held
    words = "everything in them holds" if not missed else f"{missed} of them do{'es' if missed == 1 else ''} not hold"
    return f"{len(found)} parts: {words}. Each is accounted by itself: parts about the same people are not added up."


def _budgets(ledger: str, names: list[str]) -> list[Report]:
    """The named budgets; all of them when none is named."""
    from quiltwork.cli.ledger.connection import Where
    from quiltwork.report.budgets.page import budget_report

    with Where(ledger).reached() as book:
        chosen = names or [one.name for one in book.budgets()]
        if not chosen:
            raise InvalidParameter("ledger", ledger, "a ledger with at least one budget")
        return [budget_report(book, name) for name in chosen]
