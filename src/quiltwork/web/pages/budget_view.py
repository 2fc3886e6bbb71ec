"""Everything that the page of one budget shows."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from typing import Any

import attrs

from quiltwork.errors import QuiltworkError
from quiltwork.ledger.book.balances import Balance
from quiltwork.ledger.book.book import Reservation
from quiltwork.ledger.book.terms import Terms
from quiltwork.ledger.ledger import Ledger
from quiltwork.report.pages.budget_history import said
from quiltwork.web.pages.balances import tone_of
from quiltwork.web.pages.entries import Line, line_of, minute
from quiltwork.web.pages.losses import EXAMPLE, WRITTEN, offered
from quiltwork.web.pages.messages import Message
from quiltwork.web.pages.promise import promised
from quiltwork.web.service.access import Caller

__all__ = ["done", "values"]

SIZE = 25  # entries on one page
MOST_BOXES = 24  # blocks that are offered one by one


@attrs.frozen
class Row:
    """One unit of a balance, in words."""

    unit: str
    limit: str
    spent: str
    left: str
    percent: str
    share: float
    tone: str


@attrs.frozen
class Held:
    """A reservation in words."""

    seq: int
    status: str
    until: str
    what: str


@attrs.frozen
class Run:
    """A planned release: its loss, how often it ran and may run."""

    name: str
    loss: str
    ran: int
    most: int


def values(
    who: Caller,
    ledger: Ledger,
    name: str,
    *,
    block: str | None = None,
    before: int | None = None,
    typed: Mapping[str, str] | None = None,
    message: Message | None = None,
    answer: Message | None = None,
) -> dict[str, Any]:
    """The values of the template; `typed`, `message` and `answer` belong to a form that was just sent."""
    balance = ledger.balance(name, block)
    budget = balance.budget
    terms = budget.terms
    lines, older = history(ledger, terms, before)
    kinds = () if terms.filter is None else offered(terms.filter)
    owns = who.name in terms.owners and who.may("spend")
    return {
        "budget": budget,
        "terms": terms,
        "balance": balance,
        "rows": [_row(balance, index) for index in range(len(balance.amounts))],
        "words": balance.explain().splitlines(),
        "promise_words": budget.explain().splitlines(),
        "block": block or "",
        "promise": promised(terms.limit),
        "runs": [Run(one.name, said(one.loss.to_json()), *balance.runs[one.name]) for one in terms.plan],
        "kinds": kinds,
        "written": WRITTEN,
        "example": EXAMPLE,
        "block_boxes": ()
        if terms.blocks is None or len(terms.blocks.names or ()) > MOST_BOXES
        else terms.blocks.names or (),
        "reservations": [_held(one, terms) for one in ledger.reservations(name)],
        "lines": lines,
        "named": any(line.who for line in lines),
        "older": older,
        "newest": before is None,
        "may_spend": who.may("spend"),
        "may_manage": who.may("manage") or owns,
        "typed": typed or {},
        "message": message,
        "answer": answer,
        "once": fresh(),
    }


def fresh() -> str:
    """A word that a form carries, so that sending it twice spends once."""
    return secrets.token_hex(12)


def history(ledger: Ledger, terms: Terms, before: int | None) -> tuple[list[Line], int | None]:
    """Entries before a number, newest first, and the number before which older ones stand; None when there are none.

    Pages go by the number of an entry: the last page of a long history costs no more than the first.
    """
    found = list(ledger.history(terms.name, last=SIZE + 1, before=before))
    older = found[1].seq if len(found) > SIZE else None
    return [line_of(entry, terms.filter) for entry in reversed(found[-SIZE:])], older


def done(ledger: Ledger, name: str, seq: int, again: bool = False) -> Message | None:
    """What the entry of this number did, if it is one of this budget's."""
    try:
        entry = ledger.receipt(seq).entry
        kept = ledger.budget(name).terms.filter
    except QuiltworkError:
        return None
    if entry.budget != name or entry.kind == "denied":
        return None
    line = line_of(entry, kept)
    cost = f", cost {line.cost}" if line.cost else ""
    if again:
        return Message(
            "warn",
            f"This was sent before. Entry {seq} was written then; nothing more was spent.",
            "If the same release runs once more, load this page again and spend once more.",
        )
    return Message("good", f"Done: entry {seq}, {line.what}.", f"{line.details}{cost}".strip(", "))


def _row(balance: Balance, index: int) -> Row:
    amount = balance.amounts[index]
    share = min(max(amount.used, 0.0), 1.0)
    return Row(amount.unit, *amount.texts(), amount.percent, share, tone_of(share))


def _held(one: Reservation, terms: Terms) -> Held:
    charge = one.charge
    if terms.filter is None:
        what = f"{charge.times:,} x {charge.release}" if charge.times > 1 else str(charge.release)
    else:
        what = terms.filter.shown(charge.cost)
    where = "" if charge.blocks is None else f", in {', '.join(charge.blocks[:6])}"
    return Held(one.seq, one.status, minute(one.until), what + where)
