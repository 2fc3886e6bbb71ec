"""Group commit: acts of several threads that wait at the same time are done in one transaction, under one signed head.

Whoever comes first leads: it takes what waits, does each act in the order of coming, each against what those before it
left, and commits once; the others wait for it instead of asking for the lock of the database again and again. With
nobody else there an act is done by its own thread at once. What is refused leaves no trace and touches no other act; an
act that cannot be taken back alone is done again in a transaction of its own.

A batch is one transaction: after a connection that broke while committing, one look at its first entry decides for all.

Reference: theory/ledger.md section 3.1.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import attrs

from quiltwork.errors import AccessDenied, BrokenChain, LedgerUnavailable, QuiltworkError
from quiltwork.ledger.book import rules
from quiltwork.ledger.chain.entries import Entry
from quiltwork.ledger.store.heads import Ended
from quiltwork.ledger.store.rows import entry_at
from quiltwork.ledger.store.writer import Writer

if TYPE_CHECKING:
    from quiltwork.ledger.acts.connection import Session

MOST_AT_ONCE = 512  # acts of one transaction


@attrs.define(eq=False)
class Act:
    """One act that waits for its turn: what it needs, what it does, and how it ended."""

    session: Session
    act: str
    work: Callable[[Writer], Any]
    budget: str | None = None
    key: str | None = None
    asked: Any = None  # the request, of a spend
    alone: bool = False  # in a transaction of its own
    backwards: bool = False
    done: bool = False
    made: Any = None
    error: BaseException | None = None
    ended: Ended | None = None  # the head under which it was written, when it wrote anything

    def run(self, writer: Writer) -> None:
        """Check who asks, then do it."""
        writer.principal = self.session.name
        account = None if self.budget is None else writer.book.account(self.budget)
        rules.check_right(writer.book, writer.guarded, self.session.who, self.act, writer.now, account)
        self.made = self.work(writer)


class _Spoiled(Exception):
    """An act failed half-way: the transaction is undone, and its acts are done one by one."""


class Turns:
    """Acts on one ledger that wait, in the order of coming."""

    def __init__(self) -> None:
        self._reset()

    def _reset(self) -> None:
        self._process = os.getpid()
        self._changed = threading.Condition()
        self._waiting: list[Act] = []
        self._leading = False

    def run(self, acts: Sequence[Act]) -> None:
        """Do them; each knows then how it ended."""
        if self._process != os.getpid():  # the threads that waited do not exist in a forked child
            self._reset()
        with self._changed:
            self._waiting.extend(acts)
        while True:
            batch = self._turn(acts)
            if batch is None:
                return
            try:
                _do(batch)
            finally:
                with self._changed:
                    self._leading = False
                    mine = set(map(id, acts))  # whoever is interrupted here does not come back for its own
                    self._waiting[:0] = [one for one in batch if not one.done and id(one) not in mine]
                    self._changed.notify_all()

    def _turn(self, acts: Sequence[Act]) -> list[Act] | None:
        """The next transaction to lead; None once these acts are done."""
        with self._changed:
            try:
                while self._leading and not all(one.done for one in acts):
                    self._changed.wait()
            except BaseException:  # interrupted: nobody waits for them any more
                self._waiting = [one for one in self._waiting if one not in acts]
                raise
            if all(one.done for one in acts):
                return None
            self._leading = True
            return self._taken()

    def _taken(self) -> list[Act]:
        """The acts of the next transaction: those that share one key, or one that wants to be alone."""
        first = self._waiting[0]
        count = 1
        if not first.alone:
            for one in self._waiting[1:MOST_AT_ONCE]:
                if one.alone or one.session.key is not first.session.key:
                    break
                count += 1
        batch, self._waiting = self._waiting[:count], self._waiting[count:]
        return batch


def _do(batch: list[Act]) -> None:
    """One transaction for all of them, or one for each where some act must be taken back."""
    try:
        _together(batch)
        return
    except Exception as error:
        if len(batch) == 1:  # a mistake of ours, or of what was handed in: it is for whoever asked
            batch[0].error, batch[0].done = error, True
            return
    for one in batch:
        one.made = one.error = None
    for one in batch:
        _do([one])


def _together(batch: list[Act], again: bool = True) -> None:
    session, alone = batch[0].session, len(batch) == 1
    before, first, ended = session.trust.known, None, None
    try:
        with session.store.writing(batch[0].key) as locked:
            writer = session.writer(locked, before, batch[0].backwards)
            for one in batch:
                count = writer.count
                try:
                    one.run(writer)
                except BaseException as error:
                    if alone:
                        raise
                    if not isinstance(error, QuiltworkError) or writer.count > count or not writer.whole:
                        raise _Spoiled from error
                    one.error = error
            first = writer.first if writer.count else None
            ended = writer.finish()
    except LedgerUnavailable as error:
        if error.certain and again and session.is_stale(error):
            session.store.dispose()
            for one in batch:
                one.made = one.error = None
            _together(batch, again=False)
            return
        if error.certain or first is None:
            _refuse(batch, error)
            return
        try:
            _look_again(session, error, first)
        except LedgerUnavailable as lost:
            _refuse(batch, lost)
            return
    except _Spoiled:
        raise
    except QuiltworkError as error:
        _refuse(batch, error)
        return
    if ended is not None:
        try:
            session.trust.wrote(ended, writer.book.accounts)  # after the commit, and before the answer
        except LedgerUnavailable as error:  # the mark cannot be kept, but the entries stand
            _refuse(batch, LedgerUnavailable(error.problem, error.hint, certain=False, key=batch[0].key))
            return
    for one in batch:
        if one.error is None and one.budget is not None:
            one.session.learn(writer.book.accounts.get(one.budget))
        one.ended, one.done = ended, True


def _refuse(batch: list[Act], error: QuiltworkError) -> None:
    """The same for all that were not refused already: nothing was written."""
    for one in batch:
        if one.error is None:
            one.error = _for_one(error, one) if len(batch) > 1 else error
        one.made, one.done = None, True


def _for_one(error: QuiltworkError, act: Act) -> QuiltworkError:
    """An error of its own for each thread; one that is not certain names the key to ask again with."""
    if isinstance(error, LedgerUnavailable):
        return LedgerUnavailable(error.problem, error.hint, certain=error.certain, key=act.key)
    return BrokenChain(error.problem, error.seq) if isinstance(error, BrokenChain) else error


def _look_again(session: Session, error: LedgerUnavailable, mine: Entry) -> None:
    """After a connection broke while committing: return when the very same entry was written, else raise.

    Waiting for the lock of the head means waiting for the end of the transaction that held it.
    """
    try:
        with session.store.writing() as locked:
            found = entry_at(locked.connection, mine.seq)
    except LedgerUnavailable:
        raise error from None
    if found is None or found.hash != mine.hash:
        raise LedgerUnavailable(error.problem, error.hint) from None


def result_of(act: Act) -> Any:
    """What it made; raises what it was refused with, which is noted where access was denied."""
    if act.error is None:
        return act.made
    if isinstance(act.error, AccessDenied):
        act.session.note_denial(act.error, act.budget)
    raise act.error
