"""Questions to a ledger; they spend nothing and wait for no writer."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Any

import attrs

from quiltwork import checks
from quiltwork.errors import BudgetExceeded, InvalidParameter, NotOpen
from quiltwork.ledger import names as words
from quiltwork.ledger.acts.connection import Connected
from quiltwork.ledger.book import rules
from quiltwork.ledger.book.balances import Balance, balance_of
from quiltwork.ledger.book.book import HELD, Account, Reservation
from quiltwork.ledger.book.budget import Budget
from quiltwork.ledger.book.changes import give_back
from quiltwork.ledger.book.requests import request
from quiltwork.ledger.book.rules import Forecast
from quiltwork.ledger.chain.entries import Entry, stamp
from quiltwork.ledger.chain.receipts import Receipt
from quiltwork.ledger.store.rows import LiveBook, entries_after, entry_at, newest_entries

__all__ = ["Asking"]

BATCH = 1000  # entries read at once
MOST_LAST = 100_000


class Asking(Connected):
    """Balances, forecasts, histories."""

    def would_exceed(
        self, name: str, loss: Any = None, *, release: str | None = None, times: int = 1, blocks: Any = None
    ) -> bool:
        """Whether such a spend would be refused now, for its cost or because the budget is not open."""
        asked = request(self._terms_of(name), loss, release, times, blocks)

        def work(book: LiveBook, now: datetime) -> bool:
            account = self._current(book, asked.budget, now)
            try:
                rules.check_open(account, now)
                rules.admit(book, account, asked.charge(account, now))
            except (BudgetExceeded, NotOpen):
                return True
            return False

        return self._read(work)

    def forecast(self, name: str, loss: Any = None, *, release: str | None = None, blocks: Any = None) -> Forecast:
        """How many more of this release fit."""
        asked = request(self._terms_of(name), loss, release, 1, blocks)

        def work(book: LiveBook, now: datetime) -> Forecast:
            account = self._current(book, asked.budget, now)
            found = rules.forecast(book, account, asked.charge(account, now))
            return attrs.evolve(found, state=Budget.of(account, now).state)

        return self._read(work)

    def reservations(self, name: str | None = None) -> tuple[Reservation, ...]:
        """Reservations that have not ended: held ones, and started ones that nobody settled."""
        if name is not None:
            self._terms_of(name)

        def work(book: LiveBook, now: datetime) -> tuple[Reservation, ...]:
            time = stamp(now)
            return tuple(one for one in book.open_reservations(name) if one.status != HELD or one.until > time)

        return self._read(work)

    def balance(self, name: str, block: str | None = None) -> Balance:
        """What was spent and what is left now, of everything or of one block."""
        name = words.name("budget", name)
        return self._read(lambda book, now: balance_of(book, self._current(book, name, now), now, block))

    def _current(self, book: LiveBook, name: str, now: datetime) -> Account:
        """The budget as of now: leases that ended count as given back although nobody wrote it down yet."""
        account = self._account(book, name)
        if account.standing.held:
            for one in book.over(name, stamp(now)):
                give_back(book, one)
        return self._account(book, name)

    def history(
        self,
        name: str | None = None,
        *,
        after: int = 0,
        limit: int | None = None,
        last: int | None = None,
        before: int | None = None,
    ) -> Iterator[Entry]:
        """Entries in order, of one budget or of all: those after a number, at most so many, or only the last ones.

        With `before` the last ones are those before that number.
        """
        after = checks.count("after", after)
        before = None if before is None else checks.count("before", before, least=1)
        if before is not None and last is None:
            raise InvalidParameter("before", before, "given with last", "how many entries before it?")
        limit = None if limit is None else checks.count("limit", limit)
        if name is not None:
            self._terms_of(name)
        if last is not None:
            count = checks.count("last", last)
            if count > MOST_LAST or after or limit is not None:
                raise InvalidParameter("last", last, f"at most {MOST_LAST:,}, and without after and limit")
            return iter(self._read(lambda book, now: newest_entries(book.connection, name, count, before)))
        self._read(lambda book, now: None)  # who may not read is told so before the first entry
        return self._entries(name, after, limit)

    def _entries(self, name: str | None, after: int, limit: int | None) -> Iterator[Entry]:
        """In short views, one a batch: entries never change, and nobody keeps a transaction open between two."""
        left = limit
        while left is None or left > 0:
            found = self._batch(name, after, BATCH if left is None else min(BATCH, left))
            yield from found
            if len(found) < BATCH:
                return
            after, left = found[-1].seq, None if left is None else left - len(found)

    def _batch(self, name: str | None, after: int, size: int) -> list[Entry]:
        return self._read(lambda book, now: list(entries_after(book.connection, after, name, size)))

    def receipt(self, seq: int) -> Receipt:
        """The receipt of an entry, once more."""
        seq = checks.count("seq", seq, least=1)

        def work(book: LiveBook, now: datetime) -> Receipt:
            entry = entry_at(book.connection, seq)
            if entry is None:
                raise InvalidParameter("seq", seq, "the number of an entry")
            return self._vouched(book.connection, entry)

        return self._read(work)
