"""`quiltwork tables`: read a plan for one table, find its worst step, print what that costs."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table
from rich.text import Text

from quiltwork import checks
from quiltwork.cli.account import COLOURS, PIPED_WIDTH, grid, plan_at
from quiltwork.errors import InvalidPlan, UnboundedLossError
from quiltwork.numbers.digits import single
from quiltwork.report.tables.view import SCHEMA, Found, certainty, moved, records, step, to_json, view
from quiltwork.report.text import column, ends
from quiltwork.spec.fields.notions import Notion
from quiltwork.spec.files.table_plan import TablePlan, read_table_plan
from quiltwork.spec.text.read import parse_as

SHOWN = 20  # entries of the file, unless all are asked for


def run(path: Path, delta: float | None, to: Sequence[str], as_json: bool, everything: bool) -> int:
    """The exit code: 0 when every target is met, 1 when one is not or no finite epsilon follows."""
    spec = plan_at(path, read_table_plan)
    if delta is not None:
        checks.probability("delta", delta)
    notions = [_notion(text) for text in to]
    try:
        found = view(spec, delta, notions)
    except UnboundedLossError as error:
        return refused(spec, error, as_json)
    return told(found, as_json, everything)


def refused(spec: TablePlan, error: UnboundedLossError, as_json: bool) -> int:
    """No finite epsilon follows: say which queries, and leave with 1."""
    if as_json:
        why = {"message": str(error).splitlines(), "queries": list(error.queries)}
        print(json.dumps({"schema": SCHEMA, "plan": spec.to_dict(), "met": False, "refused": why}, indent=2))
    else:
        print(f"quiltwork: {error}", file=sys.stderr)
    return 1


def told(found: Found, as_json: bool, everything: bool = False) -> int:
    """Print it; the exit code."""
    if as_json:
        print(json.dumps(to_json(found), indent=2, allow_nan=False))
    else:
        console = Console(width=None if sys.stdout.isatty() else PIPED_WIDTH, highlight=False)
        show(found, console, None if everything else SHOWN)
    return 0 if found.met else 1


def _notion(text: str) -> Notion:
    """A notion as it is written in a plan file, such as "add_remove" or "user: {id: patient, max_records: 3}"."""
    try:
        return parse_as(Notion, text)
    except InvalidPlan as error:
        where = "" if error.where == "the plan" else f"{error.where} "
        raise InvalidPlan(f"--to {text!r}", f"{where}{error.problem}") from None


# ---- the words


def show(found: Found, console: Console, most: int | None) -> None:
    """The whole view as text."""
    console.print(Text(found.spec.title, style="bold"))
    console.print(Text(f"protects {found.guarantee.protects}"))
    for warning in found.warned:
        console.print(Text(f"warning: {warning}", style="yellow"))
    console.print()
    console.print(_queries(found, most))
    hidden = 0 if most is None else len(found.entries) - most
    if hidden > 0:
        console.print(Text(f"... and {hidden} more (--all shows them)", style="dim"))
    console.print()
    console.print(_headline(found))
    console.print(Text(f"worst step: {step(found)}"))
    console.print(Text(certainty(found), style="dim"))
    for verdict in found.verdicts:
        target = f"epsilon <= {single(verdict.target.epsilon)} at delta {single(verdict.target.delta)}"
        said = (verdict.word, f"bold {COLOURS[verdict.word]}")
        console.print(Text.assemble(f"target {target}: ", said, f", it lies between {ends(verdict.epsilon)}"))
    console.print()
    console.print(_comparison(found))
    console.print()
    for assumption in found.guarantee.assumes:
        console.print(Text(f"assumes: {assumption}", style="dim"))


def _headline(found: Found) -> Text:
    notes = found.epsilon.method if found.epsilon.met else f"{found.epsilon.method}, wider than asked"
    return Text.assemble(
        (f"epsilon between {ends(found.epsilon)}", "bold"), f" at delta {single(found.delta)} ({notes})"
    )


def _queries(found: Found, most: int | None) -> Table:
    columns = ("query", "records", "mechanism of each", "holds", "worst step")
    table = grid(*((name, False) for name in columns))
    far = found.distances
    for entry, places in list(zip(found.spec.queries, found.entries, strict=True))[:most]:
        mechanism = entry.describe() + (f", {entry.times:,} times" if entry.times > 1 else "")
        holds = found.plan.queries[places[0]].holds
        cells = (records(entry, len(places)), mechanism, str(holds))
        table.add_row(Text(entry.name), *map(Text, cells), moved([far.get(i, 0.0) for i in places]))
    return table


def _comparison(found: Found) -> Table:
    table = grid(("for comparison", False), ("epsilon", True), ("", False))
    for other in (found.sequential, *found.others):
        value = "-" if other.epsilon is None else column(float(other.epsilon.upper))
        table.add_row(Text(other.name), value, Text(other.note, style="dim"))
    return table
