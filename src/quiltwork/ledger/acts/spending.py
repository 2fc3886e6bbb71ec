"""Spending: at once, or reserved, started and settled by a job."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from typing import Any, TypeVar

from quiltwork import checks
from quiltwork.errors import (
    AlreadyRun,
    InvalidParameter,
    NotOpen,
)
from quiltwork.ledger import names as words
from quiltwork.ledger.acts.connection import Connected
from quiltwork.ledger.book import rules
from quiltwork.ledger.book.book import HELD, LAPSED, REFUNDED, STARTED, Account, Reservation
from quiltwork.ledger.book.requests import TAB, Request, request
from quiltwork.ledger.chain.entries import Entry, stamp
from quiltwork.ledger.chain.receipts import Receipt
from quiltwork.ledger.store.rows import LiveBook, entry_at, entry_with_key
from quiltwork.ledger.store.writer import Writer

__all__ = ["Spending"]

Result = TypeVar("Result")


class Spending(Connected):
    """Acts that take from a budget."""

    def spend(
        self,
        name: str,
        loss: Any = None,
        *,
        release: str | None = None,
        times: int = 1,
        blocks: Any = None,
        note: str = "",
        key: str | None = None,
    ) -> Receipt:
        """Take the cost of a release that is about to run; BudgetExceeded takes nothing.

        `loss` is what the release tells about the change that the budget protects, the whole of it: if that is a person
        with four records, the loss for one record is not enough (`loss.group(4)` is).

        The same `key` with the same request is done once: the first receipt is returned again, and pays for one run. A
        job that may be started twice needs `run`, or `reserve` and `start`, which begin once.
        """
        asked = request(self._terms_of(name, "spend"), loss, release, times, blocks)
        return self._take("spend", asked, note, key, lambda writer: {})

    def reserve(
        self,
        name: str,
        loss: Any = None,
        *,
        lease: Any,
        release: str | None = None,
        times: int = 1,
        blocks: Any = None,
        note: str = "",
        key: str | None = None,
    ) -> Receipt:
        """Hold the cost for a job that will `start` within the lease; if it does not, the budget gets it back.

        The receipt's `seq` is the number to start, settle or refund it by.
        """
        asked = request(self._terms_of(name, "spend"), loss, release, times, blocks)
        length = words.span("lease", lease)

        def until(writer: Writer) -> dict[str, Any]:
            """No lease outlasts its period or its budget: what starts later would count in the wrong one."""
            ends = self._account(writer.book, asked.budget).ends(writer.now)
            return {"until": stamp(min(words.later(writer.now, length), *ends))}

        return self._take("reserve", asked, note, key, until)

    def _take(
        self, kind: str, asked: Request, note: str, key: str | None, more: Callable[[Writer], dict[str, Any]]
    ) -> Receipt:
        note = words.note(note)
        fresh = key is None
        chosen = uuid.uuid4().hex if key is None else words.name("key", key)

        def work(writer: Writer) -> Entry:
            account = self._swept(writer, asked.budget)
            used, before = (chosen, None) if fresh else self._under_key(writer, asked.budget, chosen)
            if before is not None:
                asked.check_same(before, kind, account.period(writer.now), writer.principal)
                return self._vouched(writer.connection, before).entry
            rules.check_open(account, writer.now)
            charge = asked.charge(account, writer.now)
            rules.admit(writer.book, account, charge)
            return writer.append(kind, asked.budget, {**asked.body(charge, note), **more(writer)}, used)

        return self._write("spend", work, budget=asked.budget, key=chosen)

    def _under_key(self, writer: Writer, budget: str, key: str) -> tuple[str, Entry | None]:
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

    def _swept(self, writer: Writer, name: str) -> Account:
        """The budget, after reservations that never started gave back what they held."""
        account = self._account(writer.book, name)
        if account.standing.held:
            for one in writer.book.over(name, stamp(writer.now)):
                writer.append("lapse", name, {"reservation": one.seq})
        return self._account(writer.book, name)

    def start(self, seq: int) -> Receipt:
        """The job of a reservation begins: once, and never after its lease. From now on it counts as run."""
        return self._move(seq, "start")

    def settle(self, seq: int, note: str = "") -> Receipt:
        """The job of a reservation is over."""
        return self._move(seq, "settle", note)

    def refund(self, seq: int, note: str = "") -> Receipt:
        """Give back what a reservation holds that never started; anything else may have run and stays spent."""
        return self._move(seq, "refund", note)

    def _move(self, seq: int, act: str, note: str = "") -> Receipt:
        seq, note = checks.count("reservation", seq, least=1), words.note(note)
        budget = self._read(lambda book, now: self._reserved(book, seq, act).budget, act="spend")

        def work(writer: Writer) -> Entry:
            found = self._reserved(writer.book, seq, act)
            if found.status == HELD and found.until <= stamp(writer.now):
                raise NotOpen(f"reservation {seq}", "lapsed: its lease ended before it started", "reserve again")
            _check_move(found, act)
            if act == "start":
                rules.check_open(self._account(writer.book, found.budget), writer.now)
            return writer.append(act, found.budget, {"reservation": seq, "note": note})

        return self._write("spend", work, budget=budget)

    def _reserved(self, book: LiveBook, seq: int, act: str) -> Reservation:
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

    def run(
        self,
        name: str,
        loss: Any,
        call: Callable[[], Result],
        *,
        lease: Any = 3600,
        release: str | None = None,
        times: int = 1,
        blocks: Any = None,
        note: str = "",
        key: str | None = None,
    ) -> Result:
        """Reserve, start, call and settle. A refusal calls nothing; what was called stays spent, even if it fails.

        With a `key` it runs at most once, however often it is asked for: AlreadyRun the second time.
        """
        if not callable(call):
            raise InvalidParameter("call", call, "a function without arguments")
        options: dict[str, Any] = {"release": release, "times": times, "blocks": blocks, "note": note, "key": key}
        held = self.reserve(name, loss, lease=lease, **options)
        self.start(held.seq)
        result = call()
        self.settle(held.seq)
        return result


def _check_move(found: Reservation, act: str) -> None:
    name = f"reservation {found.seq}"
    if found.status == LAPSED:
        raise NotOpen(name, "lapsed: its lease ended before it started", "reserve again")
    if found.status == REFUNDED:
        raise NotOpen(name, "refunded", "reserve again")
    needed = STARTED if act == "settle" else HELD
    if found.status == needed:
        return
    if act == "settle" and found.status == HELD:
        raise InvalidParameter("reservation", found.seq, "started", "start it first, or refund it")
    hint = "it may have run, so it stays spent" if act == "refund" else "nothing runs twice"
    raise AlreadyRun(name, f"it is {found.status}", hint)
