"""What a process believes of a database: a head that the key signed as one, that continues what was known before.

Whoever may write the database can change every row of it. So nothing is done on a head before three questions are
answered: did the ledger's key sign it, as a head; does its tree continue the tree of the newest end that is known, in
this process or by the mark beside the key (the *follow rule*: the hashes of the entries since are read, and must lead
from the known peaks to the signed root); and do the rows about people have the digest that it signs. The head that was
believed is remembered, the whole row of it, and costs nothing the next time.

Reference: theory/ledger.md sections 2.1, 2.3 (Lemma 3) and 2.4 (Theorem 4).
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from datetime import datetime
from typing import Any

import attrs
from sqlalchemy import Connection

from quiltwork.errors import BrokenChain
from quiltwork.ledger.book.book import Account, Principal
from quiltwork.ledger.book.changes import handed_over
from quiltwork.ledger.chain.keys import SigningKey, signed_by
from quiltwork.ledger.chain.mark import Mark, Point
from quiltwork.ledger.chain.statements import HEAD, Facts
from quiltwork.ledger.chain.tree import Tree
from quiltwork.ledger.store.heads import (
    Believed,
    Ended,
    access_of,
    hashes_between,
    head_facts,
    head_row,
    key_entries,
    people_of,
)

MOST_KEPT = 16_384  # answers
STALE = "the people of the ledger are not those that its head is signed for: run verify, then repair"


@attrs.frozen
class _Kept:
    """An answer about a budget: under which head, of which budget, since when and until when."""

    row: tuple[Any, ...]
    account: Account
    since: datetime
    until: datetime
    found: Any

    def holds(self, now: datetime) -> bool:
        """Whether it is about this moment: a clock that went back may be in an earlier period."""
        return self.since <= now < self.until


@attrs.define(eq=False)
class Trust:
    """What is known of one ledger, shared by all who use it in this process."""

    identity: str
    public_key: str | None  # as it was when the ledger was reached
    signed: bool  # whether the head was signed then: a copy without its key may not be
    mark: Mark | None = None
    known: Point | None = None
    since: int = 0  # the first entry that the mark was kept for
    _row: tuple[Any, ...] | None = None
    _last: Believed | None = None
    _lock: threading.Lock = attrs.Factory(threading.Lock)
    _kept: dict[Any, _Kept] = attrs.Factory(dict)
    _accounts: tuple[tuple[Any, ...], dict[str, Account]] = attrs.Factory(lambda: ((), {}))

    @classmethod
    def of(cls, identity: str, head: Any, mark: Mark | None) -> Trust:
        """As the mark says, or nothing known yet."""
        known, since = (None, 0) if mark is None else mark.read()
        return cls(identity, head.public_key, head.signature is not None, mark, known, since)

    def follow(
        self,
        connection: Connection,
        head: Any,
        before: Point | None,
        key: SigningKey | None,
        known: Mapping[str, Principal] | None = None,
    ) -> Believed:
        """What this head stands for; BrokenChain when it is not to be believed. `before`: known before it was read.

        `known` are the people where they were replayed, whatever the rows about them say.
        """
        row = head_row(head)
        with self._lock:
            if row == self._row and self._last is not None:
                return self._last
            last = self._last
        facts, peaks = head_facts(self.identity, head)
        self._check_signed(connection, head, facts, before, key)
        point = Point(facts.seq, facts.hash, peaks)
        _check_continues(connection, facts, point, before)
        people: Mapping[str, Principal] | None
        if known is not None:
            people = dict(known) if access_of(known.values()) == facts.access else None
        elif last is not None and last.facts.access == facts.access:
            people = last.people
        else:
            people = people_of(connection, facts.access)
        if people is None:
            raise BrokenChain(STALE)
        found = Believed(facts, point, people)
        self._learn(row, found, head.public_key)
        return found

    def recognised(self, head: Any) -> Believed | None:
        """What a head stands for that is believed already."""
        with self._lock:
            return self._last if head_row(head) == self._row else None

    def person(self, name: str | None) -> Principal | None:
        """Whoever has this name, as it was believed last."""
        last = self._last
        return None if last is None or name is None else last.people.get(name)

    def kept(self, place: Any, head: Any, now: datetime) -> Any:
        """An answer that was kept under this very head, and holds until a later time; None when there is none."""
        kept = self._kept.get(place)
        return kept.found if kept is not None and kept.holds(now) and kept.row == head_row(head) else None

    def kept_of(self, place: Any, account: Account, now: datetime) -> Any:
        """The same of a budget that is as it was then, whatever else was written."""
        kept = self._kept.get(place)
        return kept.found if kept is not None and kept.holds(now) and kept.account == account else None

    def keep(self, place: Any, head: Any, account: Account, now: datetime, found: Any) -> None:
        """Keep an answer: what follows from the entries of a budget changes with them, or with time."""
        if len(self._kept) >= MOST_KEPT:
            self._kept.clear()
        self._kept[place] = _Kept(head_row(head), account, now, min(account.ends(now)), found)

    def wrote(self, ended: Ended, accounts: Mapping[str, Account] | None = None) -> None:
        """The head that was just committed here, and budgets as they stand under it."""
        self._learn(ended.row, ended.believed, ended.public_key)
        with self._lock:
            row, known = self._accounts
            if row != ended.before or len(known) >= MOST_KEPT:
                known = {}
            known.update(accounts or {})
            self._accounts = ended.row, known if accounts is not None else {}

    def accounts(self, head: Any) -> Mapping[str, Account]:
        """Budgets as this process left them, where nobody wrote since: their rows need not be read, nor believed."""
        row, known = self._accounts
        return known if row == head_row(head) else {}

    def _learn(self, row: tuple[Any, ...], found: Believed, public_key: str | None) -> None:
        """Remember it, here and in the mark, unless something newer is known."""
        with self._lock:
            if self._last is not None and found.point.seq < self._last.point.seq:
                return
            self._row, self._last, self.known = row, found, found.point
            self.public_key, self.signed = public_key, self.signed or row[4] is not None
            self.since = self.since or found.point.seq
        if self.mark is not None:
            self.mark.rise(found.point)

    def _check_signed(
        self, connection: Connection, head: Any, facts: Facts, before: Point | None, key: SigningKey | None
    ) -> None:
        """The key of the ledger, or one that it handed over to, signed this as a head."""
        public = head.public_key
        if public is None and self.public_key is None:
            return
        if public is None:
            raise BrokenChain("the ledger is not signed any more: it was replaced")
        if public != self.public_key:
            handed = key_entries(connection, 0 if before is None else before.seq, facts.seq)
            if not handed_over(self.identity, self.public_key, public, handed):
                raise BrokenChain(
                    "another key signs for this ledger, and the key before did not agree: it was replaced"
                )
        if head.signature is None and not self.signed and key is None:
            return  # a copy whose key is elsewhere: it can only be read
        message = facts.message(HEAD)
        mine = key is not None and key.public == public
        if head.signature != key.signature(message) if mine and key else not signed_by(public, message, head.signature):
            # to act on it, or to sign on top of it, would vouch for whatever somebody without the key put there
            raise BrokenChain("the head of the chain is not signed by the ledger's key: run verify", facts.seq)


def _check_continues(connection: Connection, facts: Facts, point: Point, before: Point | None) -> None:
    """The follow rule."""
    if before is None:
        return
    if facts.seq < before.seq or (facts.seq == before.seq and point != before):
        raise BrokenChain(
            f"the ledger was put back to an earlier state: entry {before.seq} was seen, now it ends with {facts.seq}",
            facts.seq + 1 if facts.seq < before.seq else facts.seq,
        )
    tree = Tree(before.seq, before.peaks)
    for hash in hashes_between(connection, before.seq, facts.seq):
        tree.append(hash)
    if tree.size != facts.seq or tree.peaks != point.peaks:
        raise BrokenChain(
            f"the ledger was put back to an earlier state and written to since: what it signs up to entry {facts.seq} "
            f"does not continue what was seen up to entry {before.seq}"
        )
