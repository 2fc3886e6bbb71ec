"""`quiltwork ledger reservations`: what is held for jobs, and which jobs began and were never settled."""

from __future__ import annotations

from typing import Any

from rich.text import Text

from quiltwork.cli.ledger_reach import Where, reached
from quiltwork.cli.ledger_view import console
from quiltwork.cli.ledger_work import answer
from quiltwork.cli.terminal import grid
from quiltwork.errors import BrokenChain
from quiltwork.ledger.book.book import STARTED, Reservation
from quiltwork.ledger.chain.entries import Entry
from quiltwork.ledger.ledger import Ledger
from quiltwork.report.pages.budget_history import clean, details

Found = tuple[Reservation, Entry]  # a reservation, and the entry that made it


def reserved(where: Where, name: str | None) -> int:
    """The exit code."""
    with reached(where) as ledger:
        found = [(one, _entry(ledger, one)) for one in ledger.reservations(name)]
    value = {"schema": "quiltwork/reservations/1", "reservations": [_plain(*one) for one in found]}
    answer(where, value, lambda: _show(found))
    return 0


def _entry(ledger: Ledger, one: Reservation) -> Entry:
    entry = next(ledger.history(after=one.seq - 1, limit=1), None)
    if entry is None or entry.seq != one.seq:
        raise BrokenChain("it is missing, although its reservation is not: run verify", one.seq)
    return entry


def _plain(one: Reservation, entry: Entry) -> dict[str, Any]:
    return {
        "reservation": one.seq,
        "budget": one.budget,
        "status": one.status,
        "reserved": entry.time,
        "until": one.until,
        "principal": entry.principal,
        "key": _key(entry),
        **one.charge.fields(),
    }


def _key(entry: Entry) -> str | None:
    """As it was typed: one that is used again is kept with a number behind it."""
    return None if entry.key is None else entry.key.partition("\t")[0]


def _show(found: list[Found]) -> None:
    page = console()
    if not found:
        page.print("no reservation is held or running")
        return
    people = any(entry.principal is not None for _, entry in found)
    columns = [("number", True), ("budget", False), ("state", False), ("reserved (UTC)", False), ("what", False)]
    if people:
        columns.insert(4, ("who", False))
    table = grid(*columns)
    for one, entry in found:
        cells = [clean(one.budget, 40), _state(one), _second(entry.time), details(entry, "spend")]
        if people:
            cells.insert(3, "-" if entry.principal is None else clean(entry.principal, 40))
        table.add_row(f"{one.seq}", *map(Text, cells))
    page.print(table)
    if any(one.status == STARTED for one, _ in found):
        page.print()
        page.print(Text("started ones count as run until they are settled, and stay spent: did each job end?"))


def _state(one: Reservation) -> str:
    return clean(one.status) if one.status == STARTED else f"{clean(one.status)} until {_second(one.until)}"


def _second(time: str) -> str:
    return clean(time)[:19].replace("T", " ")
