"""Spending: at once, or reserved, started and settled by a job."""

from __future__ import annotations

import uuid
from datetime import timedelta

from quiltwork import checks
from quiltwork.errors import AlreadyRun, InvalidParameter, NotOpen
from quiltwork.ledger import names as words
from quiltwork.ledger.acts.connection import Session
from quiltwork.ledger.book import rules
from quiltwork.ledger.book.book import HELD, LAPSED, REFUNDED, Account, Reservation
from quiltwork.ledger.book.requests import TAB, Request
from quiltwork.ledger.chain.entries import Entry, stamp
from quiltwork.ledger.chain.receipts import Receipt
from quiltwork.ledger.store.rows import LiveBook, Writer, entry_at, entry_with_key

__all__ = ["move", "take"]


def take(session: Session, asked: Request, note: str, key: str | None, lease: timedelta | None = None) -> Receipt:
    """Spend a request; with a lease it is only held."""
    note = words.note(note)
    fresh = key is None
    chosen = uuid.uuid4().hex if key is None else words.name("key", key)
    kind = "spend" if lease is None else "reserve"

    def work(writer: Writer) -> Entry:
        account = _swept(writer, asked.budget)
        used, before = (chosen, None) if fresh else _under_key(writer, asked.budget, chosen)
        if before is not None:
            asked.check_same(before, kind, account.period(writer.now), writer.principal)
            return session.vouched(writer.connection, before).entry
        rules.check_open(account, writer.now)
        charge = asked.charge(account, writer.now)
        rules.admit(writer.book, account, charge)
        body = asked.body(charge, note)
        if lease is not None:  # no lease outlasts its period or its budget: what starts later counts in the wrong one
            body["until"] = stamp(min(words.later(writer.now, lease), *account.ends(writer.now)))
        return writer.append(kind, asked.budget, body, used)

    return session.write("spend", work, budget=asked.budget, key=chosen)


def _under_key(writer: Writer, budget: str, key: str) -> tuple[str, Entry | None]:
    """The entry that stands under a key, if any; a reservation that ended without a start frees it for another.

    The next one is written under the key, a tab and a number: nobody can ask for such a key.
    """
    used, number = key, 1
    while (found := entry_with_key(writer.connection, budget, used)) is not None:
        held = writer.book.reservation(found.seq) if found.kind == "reserve" else None
        if held is None or held.status not in (LAPSED, REFUNDED):
            return used, found
        number += 1
        used = f"{key}{TAB}{number}"
    return used, None


def _swept(writer: Writer, name: str) -> Account:
    """The budget, after reservations that never started gave back what they held."""
    account = writer.book.opened(name)
    if account.standing.held:
        for one in writer.book.over(name, stamp(writer.now)):
            writer.append("lapse", name, {"reservation": one.seq})
    return writer.book.opened(name)


def move(session: Session, seq: int, act: str, note: str = "") -> Receipt:
    """Start, settle or refund a reservation."""
    seq, note = checks.count("reservation", seq, least=1), words.note(note)
    budget = session.read(lambda book, now: _reserved(book, seq, act).budget, act="spend")

    def work(writer: Writer) -> Entry:
        found = _reserved(writer.book, seq, act)
        if found.status == HELD and found.until <= stamp(writer.now):
            raise NotOpen(f"reservation {seq}", "lapsed: its lease ended before it started", "reserve again")
        rules.check_move(found, act)
        if act == "start":
            rules.check_open(writer.book.opened(found.budget), writer.now)
        return writer.append(act, found.budget, {"reservation": seq, "note": note})

    return session.write("spend", work, budget=budget)


def _reserved(book: LiveBook, seq: int, act: str) -> Reservation:
    found = book.reservation(seq)
    if found is not None:
        return found
    entry = entry_at(book.connection, seq)
    if entry is not None and entry.kind == "spend" and act == "refund":
        raise AlreadyRun(
            f"entry {seq}", "nothing proves that this release never ran, so it stays spent",
            "reserve what may not run, and refund before it starts",
        )  # fmt: skip
    raise InvalidParameter("reservation", seq, "the number of a reservation of this ledger")
