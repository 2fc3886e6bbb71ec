"""`quiltwork ledger history`: the last entries as a table, all of them as JSON, what was spent as a picture."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from rich.table import Table
from rich.text import Text

from quiltwork.cli.account import grid
from quiltwork.cli.ledger_reach import Where, reached
from quiltwork.cli.ledger_view import MOST_NAMED, console, named
from quiltwork.cli.ledger_words import clean, said
from quiltwork.errors import BrokenChain, InvalidParameter
from quiltwork.ledger.entries import Entry
from quiltwork.ledger.limits import Limit

SHOWN = 20
SECRET = "stored"  # the hash of a token: of no use to a reader


def told(where: Where, name: str | None, after: int, limit: int | None, everything: bool, figure: Path | None) -> int:
    """The exit code."""
    kind = None
    if figure is not None:
        from quiltwork.curves.drawing import figure_format

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
            from quiltwork.cli.ledger_figure import drawn

            figure.write_bytes(drawn(ledger, name, kind))
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


def details(entry: Entry, kind: str | None = None) -> str:
    """What an entry says, in a line; `kind` when it is to be read like one of another kind."""
    try:
        content = entry.content
        said_ = _DETAILS.get(kind or entry.kind, _note)(content)
    except (BrokenChain, KeyError, TypeError, ValueError, AttributeError):
        return "cannot be read: run quiltwork ledger verify"
    return clean(said_, 160)


def _note(content: dict[str, Any]) -> str:
    return str(content.get("note", ""))


def _with_note(words: str, content: dict[str, Any]) -> str:
    note = _note(content)
    return f"{words}; {note}" if note else words


def _spend(content: dict[str, Any]) -> str:
    times = f"{content['times']:,} x " if content["times"] > 1 else ""
    what = content["release"] if content["loss"] is None else said(content["loss"])
    blocks = content["blocks"]
    where = (
        "" if blocks is None else f" in {named(blocks)}" if len(blocks) <= MOST_NAMED else f" in {len(blocks)} blocks"
    )
    return _with_note(f"{times}{what}{where}", content)


def _open(content: dict[str, Any]) -> str:
    return _with_note(f"{Limit.from_json(content['limit'])}, {content['kind']}", content)


def _reservation(content: dict[str, Any]) -> str:
    return _with_note(f"reservation {content['reservation']}", content)


_DETAILS: dict[str, Callable[[dict[str, Any]], str]] = {
    "key": lambda content: f"signed by {content['public_key']} from now on",
    "ledger": lambda content: f"identity {content['id']}",
    "open": _open,
    "spend": _spend,
    "reserve": lambda content: f"{_spend(content)}; to start before {content['until'][:19].replace('T', ' ')}",
    "start": _reservation,
    "settle": _reservation,
    "refund": _reservation,
    "lapse": lambda content: f"reservation {content['reservation']} never started",
    "admit": lambda content: f"{content['name']} as {content['role']}",
    "revoke": lambda content: str(content["name"]),
    "denied": lambda content: f"{content['act']}: {content['why']}",
}
