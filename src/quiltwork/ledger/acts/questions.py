"""Questions to a ledger; they spend nothing and wait for no writer."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

import attrs
from sqlalchemy import select

from quiltwork import checks
from quiltwork.errors import BudgetExceeded, InvalidParameter, NotOpen
from quiltwork.ledger.acts.connection import Session
from quiltwork.ledger.book import rules
from quiltwork.ledger.book.book import HELD, Account, Reservation
from quiltwork.ledger.book.budget import Budget
from quiltwork.ledger.book.changes import give_back
from quiltwork.ledger.book.requests import Request
from quiltwork.ledger.book.rules import Forecast
from quiltwork.ledger.chain.entries import Entry, stamp
from quiltwork.ledger.chain.receipts import Receipt
from quiltwork.ledger.store import schema
from quiltwork.ledger.store.rows import LiveBook, entries_after, entry_at, newest_entries

__all__ = ["budgets", "current", "exceeds", "forecast", "history", "receipt", "reservations"]

BATCH = 1000  # entries read at once
MOST_LAST = 100_000


def current(book: LiveBook, name: str, now: datetime) -> Account:
    """The budget as of now: leases that ended count as given back although nobody wrote it down yet."""
    account = book.opened(name)
    if account.standing.held:
        for one in book.over(name, stamp(now)):
            give_back(book, one)
    return book.opened(name)


def exceeds(book: LiveBook, now: datetime, asked: Request) -> bool:
    """Whether a spend would be refused, for its cost or because the budget is not open."""
    account = current(book, asked.budget, now)
    try:
        rules.check_open(account, now)
        rules.admit(book, account, asked.charge(account, now))
    except (BudgetExceeded, NotOpen):
        return True
    return False


def forecast(book: LiveBook, now: datetime, asked: Request) -> Forecast:
    """How many more of a request fit."""
    account = current(book, asked.budget, now)
    found = rules.forecast(book, account, asked.charge(account, now))
    return attrs.evolve(found, state=Budget.of(account, now).state)


def budgets(book: LiveBook, now: datetime) -> tuple[Budget, ...]:
    """All of them, in the order of opening."""
    asked = select(schema.budgets.c.name).order_by(schema.budgets.c.opened)
    names = book.connection.execute(asked).scalars().all()
    return tuple(Budget.of(book.opened(name), now) for name in names)


def reservations(book: LiveBook, now: datetime, name: str | None) -> tuple[Reservation, ...]:
    """Those that have not ended, of one budget or of all."""
    time = stamp(now)
    return tuple(one for one in book.open_reservations(name) if one.status != HELD or one.until > time)


def receipt(session: Session, seq: int) -> Receipt:
    """The receipt of an entry, once more."""
    seq = checks.count("seq", seq, least=1)

    def work(book: LiveBook, now: datetime) -> Receipt:
        entry = entry_at(book.connection, seq)
        if entry is None:
            raise InvalidParameter("seq", seq, "the number of an entry")
        return session.vouched(book.connection, entry)

    return session.read(work)


def history(
    session: Session, name: str | None, after: int, limit: int | None, last: int | None, before: int | None
) -> Iterator[Entry]:
    """Entries in order: those after a number, at most so many, or only the last ones."""
    after = checks.count("after", after)
    before = None if before is None else checks.count("before", before, least=1)
    if before is not None and last is None:
        raise InvalidParameter("before", before, "given with last", "how many entries before it?")
    limit = None if limit is None else checks.count("limit", limit)
    if name is not None:
        session.terms(name)
    if last is not None:
        count = checks.count("last", last)
        if count > MOST_LAST or after or limit is not None:
            raise InvalidParameter("last", last, f"at most {MOST_LAST:,}, and without after and limit")
        return iter(session.read(lambda book, now: newest_entries(book.connection, name, count, before)))
    session.read(lambda book, now: None)  # who may not read is told so before the first entry
    return _entries(session, name, after, limit)


def _entries(session: Session, name: str | None, after: int, limit: int | None) -> Iterator[Entry]:
    """In short views, one a batch: entries never change, and nobody keeps a transaction open between two."""
    left = limit
    while left is None or left > 0:
        found = _batch(session, name, after, BATCH if left is None else min(BATCH, left))
        yield from found
        if len(found) < BATCH:
            return
        after, left = found[-1].seq, None if left is None else left - len(found)


def _batch(session: Session, name: str | None, after: int, size: int) -> list[Entry]:
    return session.read(lambda book, now: list(entries_after(book.connection, after, name, size)))
