"""`quiltwork account`: read a file, account what it holds, print and write what was asked for."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from rich.console import Console
from rich.table import Table
from rich.text import Text

from quiltwork import checks
from quiltwork.document.draw.style import figure_format
from quiltwork.errors import InvalidPlan
from quiltwork.numbers.digits import single
from quiltwork.report import Account
from quiltwork.report.text import column, ends, percent
from quiltwork.spec.files.file import read_any

if TYPE_CHECKING:
    from quiltwork.document.page import Report

COLOURS = {"met": "green", "missed": "red", "undecided": "yellow"}
PIPED_WIDTH = 120
Read = TypeVar("Read")


def run(
    path: Path,
    delta: float | None,
    as_json: bool,
    html: Path | None,
    figure: Path | None,
    markdown: Path | None = None,
) -> int:
    """The exit code: 0 when every target is met, 1 when one is not."""
    from quiltwork.cli.account_kinds import answered

    value = plan_at(path, read_any)
    if figure is not None:
        figure_format(figure)  # refuse before the work, not after it
    found = answered(value, None if delta is None else checks.probability("delta", delta), as_json)
    if html is not None or markdown is not None:
        report = found.report()
        for place, kind in ((html, ".html"), (markdown, ".md")):
            if place is not None:
                write(report, place, kind)
    if figure is not None:
        figure.write_bytes(found.figure(figure_format(figure)))
        print(f"wrote {figure}", file=sys.stderr)
    return found.code


def write(report: Report, path: Path, kind: str | None = None) -> None:
    """Write a report, and say which files that were."""
    for file in report.save(path, kind):
        print(f"wrote {file}", file=sys.stderr)


def console() -> Console:
    """The terminal, or a page of fixed width when piped."""
    return Console(width=None if sys.stdout.isatty() else PIPED_WIDTH, highlight=False)


def told(account: Account, as_json: bool) -> int:
    """Print the account of a plan; the exit code."""
    if as_json:
        print(json.dumps(account.to_json(), indent=2, allow_nan=False))
    else:
        show(account, console())
    return 0 if account.met else 1


def plan_at(path: Path, read: Callable[[Path], Read]) -> Read:
    """The plan; an error inside the file also names the file."""
    try:
        return read(path)
    except InvalidPlan as error:
        if error.where == str(path):
            raise
        place = f"{path}:{error.line}" if error.line is not None else str(path)
        raise InvalidPlan(f"{place}: {error.where}", error.problem) from None


def show(account: Account, console: Console) -> None:
    """The whole account as text."""
    console.print(Text(account.plan.title, style="bold"))
    console.print(Text(f"protects {account.guarantee.protects}"))
    console.print()
    console.print(_releases(account))
    console.print()
    console.print(_headline(account))
    for verdict in account.verdicts:
        target = f"epsilon <= {single(verdict.target.epsilon)} at delta {single(verdict.target.delta)}"
        said = (verdict.word, f"bold {COLOURS[verdict.word]}")
        console.print(Text.assemble(f"target {target}: ", said, f", it lies between {ends(verdict.epsilon)}"))
    for answer in account.budgets:
        word = ("fits", "bold green") if answer.fits else ("does not fit", "bold red")
        first = "" if answer.refused is None else f"; first refused: {answer.refused}"
        cost = f", all releases cost {answer.cost} of {answer.limit}{first}"
        console.print(Text.assemble(f"budget {answer.budget.name}: ", word, cost))
    console.print()
    console.print(_baselines(account))
    console.print()
    for assumption in account.guarantee.assumes:
        console.print(Text(f"assumes: {assumption}", style="dim"))


def _headline(account: Account) -> Text:
    total = account.total
    notes = total.method if total.met else f"{total.method}, wider than asked"
    return Text.assemble(
        ("epsilon ", "bold"),
        (f"between {ends(total)}", "bold"),
        f" at delta {single(account.delta)} ({notes})",
    )


def grid(*columns: tuple[str, bool]) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    for name, number in columns:
        table.add_column(name, justify="right" if number else "left", no_wrap=number, overflow="fold")
    return table


def _releases(account: Account) -> Table:
    table = grid(("release", False), ("mechanism", False), ("count", True), ("epsilon alone", True), ("share", True))
    for entry in account.entries:
        share = "-" if entry.share is None else percent(entry.share)
        cells = (f"{entry.count:,}", column(float(entry.epsilon.upper)), share)
        table.add_row(Text(entry.name), Text(entry.mechanism), *cells)
    together = (f"{account.plan.loss().count:,}", column(float(account.total.upper)), "")
    table.add_section()
    table.add_row(Text("all together"), "", *together, style="bold")
    return table


def _baselines(account: Account) -> Table:
    table = grid(("for comparison", False), ("epsilon", True), ("", False))
    for baseline in account.baselines:
        value = "-" if baseline.epsilon is None else column(baseline.epsilon)
        table.add_row(baseline.name, value, Text(baseline.note, style="dim"))
    return table
