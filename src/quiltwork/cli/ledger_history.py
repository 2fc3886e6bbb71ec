"""`quiltwork ledger history`: the last entries as a table, all of them as JSON, what was spent as a picture."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rich.table import Table
from rich.text import Text

from quiltwork.cli.ledger_reach import Where, reached
from quiltwork.cli.ledger_view import console
from quiltwork.cli.terminal import grid
from quiltwork.errors import BrokenChain, InvalidParameter
from quiltwork.ledger.chain.entries import Entry
from quiltwork.report.pages.budget_history import clean, details

SHOWN = 20
SECRET = "stored"  # the hash of a token: of no use to a reader


def told(where: Where, name: str | None, after: int, limit: int | None, everything: bool, figure: Path | None) -> int:
    """The exit code."""
    kind = None
    if figure is not None:
        from quiltwork.document.draw.style import figure_format

        kind = figure_format(figure)
        where.check_target(figure)
        if name is None:
            raise InvalidParameter("figure", str(figure), "of one budget", "name it: history NAME --figure FILE")
    with reached(where) as ledger:
        if where.as_json:
            _print_json(ledger.history(name, after=after, limit=limit))
        elif everything or limit is not None or after:
            _show(list(ledger.history(name, after=after, limit=limit)), 0)
        else:
            kept = list(ledger.history(name, last=SHOWN))
            total = ledger.budget(name).entries if name is not None else kept[-1].seq
            _show(kept, total - len(kept))
        if figure is not None and kind is not None and name is not None:
            from quiltwork.ledger.acts.history import followed
            from quiltwork.ledger.figure import drawn

            figure.write_bytes(drawn(followed(ledger, name), kind))
            print(f"wrote {figure}", file=sys.stderr)
    return 0


def _print_json(entries: Iterator[Entry]) -> None:
    """One document, written as it is read: a history may be long."""
    print('{\n  "schema": "quiltwork/history/1",\n  "entries": [', end="")
    for index, entry in enumerate(entries):
        print("," * (index > 0) + "\n    " + json.dumps(_plain(entry), allow_nan=False), end="")
    print("\n  ]\n}")


def _plain(entry: Entry) -> dict[str, Any]:
    """An entry with its content as values; one that was tampered with keeps its text."""
    fields = {name: value for name, value in entry.to_json().items() if name not in ("schema", "body")}
    try:
        content = {name: value for name, value in entry.content.items() if name != SECRET}
    except BrokenChain:
        return {**fields, "content": None, "unreadable": entry.body}
    return {**fields, "content": content}


def _show(kept: list[Entry], earlier: int) -> None:
    """Entries, oldest first."""
    page = console()
    if not kept:
        page.print("no entries")
        return
    if earlier > 0:
        page.print(Text(f"{earlier:,} earlier entries (--all shows them)", style="dim"))
    people = any(entry.principal is not None for entry in kept)
    page.print(_table(kept, people))


def _table(entries: list[Entry], people: bool) -> Table:
    columns = [("entry", True), ("time (UTC)", False), ("what", False), ("budget", False), ("details", False)]
    if people:
        columns.insert(4, ("who", False))
    table = grid(*columns)
    for entry in entries:
        cells = [clean(entry.time)[:19].replace("T", " "), clean(entry.kind), _or_dash(entry.budget)]
        if people:
            cells.append(_or_dash(entry.principal))
        table.add_row(f"{entry.seq}", *map(Text, cells), Text(details(entry)))
    return table


def _or_dash(name: str | None) -> str:
    return "-" if name is None else clean(name, 40)
