"""`quiltwork ledger spend`, `reserve` and what follows a reservation; `forecast`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from quiltwork.cli.ledger.connection import Name, Note, Only, Saved, Where, ledger_command
from quiltwork.errors import BrokenChain, InvalidParameter

if TYPE_CHECKING:
    from quiltwork.ledger.book.book import Reservation
    from quiltwork.ledger.chain.entries import Entry
    from quiltwork.ledger.ledger import Ledger

Number = Annotated[
    int, typer.Argument(metavar="NUMBER", help="Number of the reservation, as reserve printed it.", show_default=False)
]
LOSS = "The loss of one run, as a plan file writes it: 'gaussian: {sigma: 40}'."
Loss = Annotated[str | None, typer.Argument(metavar="[LOSS]", help=LOSS, show_default=False)]
Release = Annotated[str | None, typer.Option(help="Name of a planned release, for a planned budget.")]
Plan = Annotated[Path | None, typer.Option(help="A file, instead of a loss: everything in it, composed.")]
Times = Annotated[int, typer.Option(help="How many runs.")]
Block = Annotated[
    list[str] | None, typer.Option("--block", help="A block that is read; repeat. Without it every block is.")
]
Key = Annotated[
    str | None, typer.Option(help="The request's own name: asked twice with the same one, it is done once.")
]


def _asked(
    loss: str | None, release: str | None, plan: Path | None, block: list[str] | None, **more: Any
) -> dict[str, Any]:
    """What the ledger is asked: the loss that was typed, or that of a plan, unless a planned release is named alone."""
    from quiltwork.cli.ledger import typed

    if loss is None and plan is None and release is None:
        hint = "or --plan FILE, or --release NAME of a planned budget"
        raise InvalidParameter("loss", "none", "given, such as 'gaussian: {sigma: 40}'", hint)
    if loss is not None and plan is not None:
        raise InvalidParameter("plan", str(plan), "left out", "a loss is given already")
    stated: Any = None if loss is None else typed.loss_of(loss)
    if plan is not None:
        stated = typed.spent(plan)
    return {"loss": stated, "release": release, "blocks": tuple(block or ()) or None, **more}


def _only(blocks: list[str] | None) -> str | None:
    """The block whose balance is told, where one alone is read."""
    return blocks[0] if blocks is not None and len(blocks) == 1 else None


@ledger_command(
    "quiltwork ledger spend patients 'gaussian: {sigma: 40}' --times 3 --key job-7",
    "quiltwork ledger spend survey --release 'age by region' --receipt spent.json",
)
def spend(
    where: Where,
    name: Name,
    loss: Loss = None,
    release: Release = None,
    plan: Plan = None,
    times: Times = 1,
    block: Block = None,
    note: Note = "",
    key: Key = None,
    receipt: Saved = None,
) -> int:
    """Take the cost of a release that is about to run; a refusal takes nothing."""
    asked = _asked(loss, release, plan, block, times=times, note=note, key=key)
    return where.act(lambda ledger: ledger.spend(name, **asked), receipt, block=_only(block))


@ledger_command("quiltwork ledger reserve patients 'gaussian: {sigma: 40}' --lease 2h")
def reserve(
    where: Where,
    name: Name,
    loss: Loss = None,
    lease: Annotated[str, typer.Option(metavar="SPAN", help="How long the job may wait to start: 90m, 2h ...")] = "1h",
    release: Release = None,
    plan: Plan = None,
    times: Times = 1,
    block: Block = None,
    note: Note = "",
    key: Key = None,
    receipt: Saved = None,
) -> int:
    """Hold the cost for a job; if it does not start within the lease, the budget gets it back."""
    from quiltwork.cli.ledger import typed

    asked = _asked(loss, release, plan, block, times=times, note=note, key=key)
    held = typed.span("lease", lease)
    return where.act(lambda ledger: ledger.reserve(name, lease=held, **asked), receipt, block=_only(block))


@ledger_command("quiltwork ledger start 3")
def start(where: Where, number: Number, receipt: Saved = None) -> int:
    """The job of a reservation begins: once only, and it counts as run from now on."""
    return where.act(lambda ledger: ledger.start(number), receipt)


@ledger_command("quiltwork ledger settle 3 --note 'ran in 12 minutes'")
def settle(where: Where, number: Number, note: Note = "", receipt: Saved = None) -> int:
    """The job of a reservation is over."""
    return where.act(lambda ledger: ledger.settle(number, note), receipt)


@ledger_command("quiltwork ledger refund 3")
def refund(where: Where, number: Number, note: Note = "", receipt: Saved = None) -> int:
    """Give back what a reservation holds that never started."""
    return where.act(lambda ledger: ledger.refund(number, note), receipt)


@ledger_command("quiltwork ledger reservations patients")
def reservations(where: Where, name: Only = None) -> None:
    """What is held for jobs, and which jobs started and were never settled."""
    with where.reached() as ledger:
        found = [(one, _entry(ledger, one)) for one in ledger.reservations(name)]
    plain = [
        {
            "reservation": one.seq,
            "budget": one.budget,
            "status": one.status,
            "reserved": entry.time,
            "until": one.until,
            "principal": entry.principal,
            "key": None if entry.key is None else entry.key.partition("\t")[0],  # as typed: a freed one has a number
            **one.charge.fields(),
        }
        for one, entry in found
    ]
    value = {"schema": "quiltwork/reservations/1", "reservations": plain}
    where.answer(value, lambda view: view.show_reservations(found))


def _entry(ledger: Ledger, one: Reservation) -> Entry:
    entry = next(ledger.history(after=one.seq - 1, limit=1), None)
    if entry is None or entry.seq != one.seq:
        raise BrokenChain("it is missing, although its reservation is not: run verify", one.seq)
    return entry


@ledger_command("quiltwork ledger forecast patients 'laplace: {scale: 20}'")
def forecast(
    where: Where, name: Name, loss: Loss = None, release: Release = None, plan: Plan = None, block: Block = None
) -> None:
    """How many more of a release fit."""
    asked = _asked(loss, release, plan, block)
    with where.reached() as ledger:
        found = ledger.forecast(name, **asked)
    where.answer(found.to_json(), lambda view: view.show_forecast(found))
