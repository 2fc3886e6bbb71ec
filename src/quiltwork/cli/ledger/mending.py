"""`quiltwork ledger repair` and `acknowledge`: what to do once `verify` has named what somebody changed."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from quiltwork.cli.ledger.connection import Saved, Where, ledger_command, save
from quiltwork.errors import InvalidParameter

if TYPE_CHECKING:
    from quiltwork.ledger.chain.entries import Entry

Receipts = Annotated[
    list[Path] | None, typer.Option("--entry", metavar="FILE", help="The receipt of an entry to put back; repeat.")
]
Export = Annotated[
    Path | None, typer.Option("--from", metavar="FILE", help="An export, to put back the entries that it has.")
]


@ledger_command("quiltwork ledger repair --from backup.jsonl --entry spend.json")
def repair(
    where: Where,
    entry: Receipts = None,
    export: Export = None,
    note: Annotated[str, typer.Option(help="A remark, kept with the entry.", show_default=False)] = "",
    receipt: Saved = None,
) -> int:
    """Write every row anew from the chain, and put back entries that somebody edited or deleted."""
    return _repaired(where, entry, export, receipt, note=note)


@ledger_command("quiltwork ledger acknowledge 412-413 --note 'a lost page' --charge 'patients=gaussian: {sigma: 40}'")
def acknowledge(
    where: Where,
    numbers: Annotated[
        list[str], typer.Argument(metavar="NUMBER...", help="Entries that verify names, such as 412 or 412-420.")
    ],
    note: Annotated[str, typer.Option(help="What happened, for everybody who verifies later.", show_default=False)],
    charge: Annotated[
        list[str] | None,
        typer.Option(metavar="BUDGET=LOSS", help="What lost entries spent; without it every open budget is closed."),
    ] = None,
    nothing: Annotated[bool, typer.Option("--nothing", help="Lost entries spent nothing.")] = False,
    entry: Receipts = None,
    export: Export = None,
    receipt: Saved = None,
) -> int:
    """Go on although entries are lost or broke a rule: they count and give nothing, and verify names them for ever."""
    if nothing and charge:
        raise InvalidParameter("nothing", True, "left out where there are charges")
    charges = dict(map(_charge, charge or ())) if charge or nothing else None
    ranges = list(map(_range, numbers))
    return _repaired(where, entry, export, receipt, note=note, acknowledge=ranges, charges=charges)


def _repaired(where: Where, entries: list[Path] | None, export: Path | None, target: Path | None, **told: Any) -> int:
    from quiltwork.ledger.chain.receipts import Receipt
    from quiltwork.ledger.ledger import Ledger

    kept: list[Any] = [Receipt.load(file) for file in entries or ()]
    if export is not None:
        kept += _entries(export)
    if target is not None:
        where.check_target(target)
    where.check_there()
    found = Ledger.repair(where.url, key=where.key_file, token=where.token(), kept=kept, **told)
    words = f"entry {found.seq} says what was done; run quiltwork ledger verify now"
    where.answer(found.to_json(), lambda view: view.say(words))
    return 0 if target is None else save(found, target)


def _entries(file: Path) -> Iterator[Entry]:
    """The entries of an export; the chain says whether they are its own."""
    from quiltwork.ledger.chain.entries import SCHEMA, Entry

    try:
        with file.open(encoding="utf-8") as stream:
            values = [json.loads(line) for line in stream if line.strip()]
    except (OSError, ValueError) as error:
        raise InvalidParameter("from", str(file), "an export that can be read", str(error)) from None
    for value in values:
        if isinstance(value, dict) and value.get("schema") == SCHEMA:
            entry = Entry.from_json(value)
            if entry.sound():
                yield entry


def _charge(text: str) -> tuple[str, Any]:
    """A budget and a loss.

    >>> _charge("patients=gaussian: {sigma: 40}")[0]
    'patients'
    """
    from quiltwork.cli.ledger.typed import loss_of

    name, equals, loss = text.partition("=")
    if not equals:
        raise InvalidParameter("charge", text, "BUDGET=LOSS, such as 'patients=gaussian: {sigma: 40}'")
    return name, loss_of(loss)


def _range(text: str) -> tuple[int, int]:
    """Numbers from one to another.

    >>> _range("412"), _range("412-420")
    ((412, 412), (412, 420))
    """
    first, dash, last = text.partition("-")
    numbers = (first, last if dash else first)
    if not all(one.isascii() and one.isdigit() and len(one) < 19 for one in numbers):
        raise InvalidParameter("number", text, "the number of an entry, or two of them, such as 412-420")
    return int(numbers[0]), int(numbers[1])
