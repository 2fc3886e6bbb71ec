"""`quiltwork diff`: read two files of one kind, say what changed and what it costs."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from quiltwork import checks
from quiltwork.cli.account import COLOURS, PIPED_WIDTH, grid, plan_at, write
from quiltwork.cli.files import check_writable
from quiltwork.document.page import report_format
from quiltwork.errors import InvalidParameter
from quiltwork.numbers.digits import single
from quiltwork.report.change.differences import Difference, Retargeted, differences
from quiltwork.report.change.page import amount, fitting, meaning, shown_cost, summary_words
from quiltwork.report.text import ends

MARKS = {"added": ("+", "green"), "removed": ("-", "red"), "changed": ("~", "yellow")}
NEW, GONE = "not yet a target", "no longer a target"
LONGEST = 100  # characters of a value in print


def run(
    before: Path,
    after: Path,
    delta: float | None,
    most: float | None,
    as_json: bool,
    html: Path | None,
    markdown: Path | None,
) -> int:
    """The exit code: 0, or 1 when the second file misses a target or may cost more than is allowed."""
    if most is not None:
        checks.real("at-most-more", most)
    if delta is not None:
        checks.probability("delta", delta)
    for option, path in (("html", html), ("markdown", markdown)):
        if path is not None:
            check_writable(option, path)
    if markdown is not None and report_format(markdown) != ".md":
        raise InvalidParameter("markdown", str(markdown), "a file name that ends in .md")
    found = differences(_read(before), _read(after), delta)
    if as_json:
        print(json.dumps({**found.to_json(), "holds": found.holds(most)}, indent=2, allow_nan=False))
    else:
        show(found, most, Console(width=None if sys.stdout.isatty() else PIPED_WIDTH, highlight=False))
    for place, kind in ((html, ".html"), (markdown, ".md")):
        if place is not None:
            write(found.to_report(), place, kind)
    return 0 if found.holds(most) else 1


def _read(path: Path) -> Any:
    from quiltwork.spec.files.file import read_any

    return plan_at(path, read_any)


def show(found: Difference, most: float | None, console: Console) -> None:
    """Everything as text."""
    titles = dict.fromkeys((found.one.title, found.two.title))
    console.print(Text(", then ".join(titles), style="bold"))
    console.print(Text(summary_words(found)))
    console.print()
    if found.changes:
        console.print(_changes(found))
        if len(found.changes) > 1 and any(change.cost is not None for change in found.changes):
            console.print(Text(meaning(found), style="dim"))
        console.print()
    for one in found.settings:
        was, now = (_cut(value) if value is not None else "nothing" for value in (one.before, one.after))
        console.print(Text.assemble(f"{one.name}: ", (was, "dim"), " -> ", now))
    if found.settings:
        console.print()
    _totals(found, console)
    if found.caution:
        console.print(Text(f"note: {found.caution}", style="yellow"))
    for target in found.targets:
        console.print(_target(target))
    for name, fitted, fits in found.budgets:
        style = "" if fits is None else f"bold {'green' if fits else 'red'}"
        console.print(Text.assemble(f"budget {name}: {fitting(fitted)} -> ", (fitting(fits), style)))
    if most is not None:
        said = ("held", "bold green") if found.holds(most) else ("not held", "bold red")
        console.print(Text.assemble(f"at most {single(most)} more: ", said))


def _totals(found: Difference, console: Console) -> None:
    at = f"at delta {single(found.delta)}"
    for word, total in (("was", found.before), ("is now", found.after)):
        if total is not None:
            console.print(Text.assemble(f"epsilon {word} between ", (ends(total), "bold"), f" {at}"))
    if found.cost is not None:
        colour = "red" if found.cost.lower > 0 else "green" if found.cost.upper < 0 else "none"
        console.print(Text.assemble("certified: epsilon ", (found.cost.words(), f"bold {colour}")))


def _target(one: Retargeted) -> Text:
    words: list[Any] = [f"target epsilon <= {single(one.target.epsilon)} at delta {single(one.target.delta)}: "]
    for place, (verdict, there) in enumerate(((one.before, one.set_before), (one.after, one.set_after))):
        word = "not judged" if verdict is None else verdict.word
        style = "" if verdict is None else f"bold {COLOURS[verdict.word]}"
        words += [" -> "] * bool(place) + [(word, style)]
        words += [] if there else [(f" ({GONE if place else NEW})", "dim")]
    return Text.assemble(*words)


def _changes(found: Difference) -> Table:
    table = grid(("", False), (found.one.noun, False), ("before", False), ("after", False), ("epsilon", True))
    for change in found.changes:
        mark, colour = MARKS[change.kind]
        before, after = amount(change, "before"), amount(change, "after")
        if before == after:
            before = "; ".join(f"{one.name} {_cut(one.before or 'not said')}" for one in change.fields)
            after = "; ".join(f"{one.name} {_cut(one.after or 'not said')}" for one in change.fields)
        cost = (change.note or "-") if change.cost is None else shown_cost(change.cost)
        table.add_row(Text(mark, style=f"bold {colour}"), Text(change.name), Text(before), Text(after), cost)
    return table


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST else text[: LONGEST - 3] + "..."
