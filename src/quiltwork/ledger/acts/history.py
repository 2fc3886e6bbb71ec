"""The course of a budget: what was spent after each of its entries, and when it was paused or closed."""

from __future__ import annotations

import math
from collections.abc import Iterator
from datetime import datetime
from typing import TYPE_CHECKING, Any

import attrs

from quiltwork.ledger.book.balances import Balance, balance_of
from quiltwork.ledger.book.book import MemoryBook
from quiltwork.ledger.book.changes import apply
from quiltwork.ledger.chain.entries import moment, stamp
from quiltwork.numbers.json import json_numbers

if TYPE_CHECKING:
    from quiltwork.ledger.ledger import Ledger

__all__ = ["Course", "followed"]

POINTS = {"adaptive": 400, "planned": 40}  # a planned total is composed anew at each point
MARKS = {"pause": "paused", "resume": "resumed", "close": "closed"}


@attrs.frozen
class Course:
    """Spent after each of some entries, and when the budget was paused or closed."""

    times: list[datetime]
    spent: list[float]
    changes: list[tuple[datetime, str]]
    last: Balance

    def to_json(self) -> dict[str, Any]:
        """Versioned, plain values."""
        return {
            "schema": "quiltwork/course/1",
            "budget": self.last.budget.name,
            "unit": self.last.unit,
            "limit": json_numbers(self.last.limit.lower),
            "times": [stamp(time) for time in self.times],
            "spent": json_numbers(self.spent),
            "changes": [{"time": stamp(time), "what": word} for time, word in self.changes],
        }


def followed(ledger: Ledger, name: str) -> Course:
    """Replay the entries of a budget, and ask for its balance along the way."""
    budget = ledger.budget(name)
    every = math.ceil(budget.entries / POINTS[budget.kind])
    times: list[datetime] = []
    spent: list[float] = []
    changes: list[tuple[datetime, str]] = []
    last: Balance | None = None
    for now, what, found in _balances(ledger, name, every, budget.entries):
        if what in MARKS:
            changes.append((now, MARKS[what]))
        if found is None:
            continue
        if last is not None and found.period > last.period and last.period_ends is not None:
            times.append(last.period_ends)  # a fresh budget begins with nothing spent
            spent.append(0.0)
        times.append(now)
        spent.append(float(found.spent.upper))
        last = found
    if last is None:  # a budget has at least the entry that opened it
        last = ledger.balance(name)
    return Course(times, spent, changes, last)


def _balances(ledger: Ledger, name: str, every: int, total: int) -> Iterator[tuple[datetime, str, Balance | None]]:
    """Each entry, with the balance after every so many of them and after the last."""
    book = MemoryBook()
    for index, entry in enumerate(ledger.history(name), start=1):
        apply(book, entry)
        now = moment(entry.time)
        account = book.account(name)
        wanted = account is not None and (index % every == 0 or index in (1, total))
        yield now, entry.kind, balance_of(book, account, now, None) if wanted and account is not None else None
