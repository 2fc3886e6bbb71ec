"""Verification: the chain is walked from its first entry, replayed into an empty book, and held against every row.

A changed byte breaks the hash of its entry, a missing or moved entry breaks the numbers or the links, and a change of a
derived row differs from the replay. One signature, of the head, then vouches for all of it. Memory does not grow with
the number of entries.

Three depths. *full*: all of that from the first entry. *whole*, the usual one: every entry is hashed anew, and those
up to the end of the last verification, whose replay was kept and sealed beside the key, are not replayed again; it
finds what a full one finds. *new*: entries up to there are not read at all; the signed tree vouches for what was read
then, so that an entry which somebody edited since is not found.

What it cannot see without help: a database put back to an earlier state, head and signature included. The mark beside
the key shows it, and so does a receipt or a checkpoint that was kept elsewhere: give `receipts` or `since`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import attrs
from sqlalchemy import Connection, func, select

from quiltwork.document.draw import notebook as markup
from quiltwork.errors import BrokenChain, QuiltworkError
from quiltwork.kinds import document
from quiltwork.ledger.chain.entries import Entry, digest
from quiltwork.ledger.chain.statements import HEAD
from quiltwork.ledger.proof.checker import Checker
from quiltwork.ledger.proof.derived import check_rows
from quiltwork.ledger.proof.elsewhere import Elsewhere, Ends, Kept
from quiltwork.ledger.proof.sealed import Shelf
from quiltwork.ledger.store import schema
from quiltwork.ledger.store.acknowledged import Acknowledged
from quiltwork.ledger.store.heads import rows_between
from quiltwork.ledger.store.rows import entries_after, entry_at
from quiltwork.ledger.store.tiles import StoredTree

Progress = Callable[[int, int], None]
Depth = Literal["whole", "full", "new"]


@document("verification/1")
@attrs.frozen
class Verification:
    """Whether everything is as it was written; if not, the first entry that is not, and why."""

    holds: bool
    entries: int
    first_bad: int | None = None
    problem: str | None = None
    signed: bool = False
    known: bool = False  # whether it was said, or at hand, whose key must have signed it
    unread: int = 0  # entries up to this number were verified before, and not read again
    acknowledged: tuple[tuple[int, int], ...] = ()  # entries, first to last, that were lost or broke a rule

    def __bool__(self) -> bool:
        return self.holds

    def explain(self) -> str:
        """One line."""
        if self.holds:
            signed = "signed by the ledger's key" if self.signed else "not signed"
            if self.signed and not self.known:
                signed = "signed by the key that it names itself; say whose it must be to be sure"
            broken = ", ".join(f"{one}" if one == two else f"{one} to {two}" for one, two in self.acknowledged)
            noted = f" Lost, or against a rule, and acknowledged: {broken}." if broken else ""
            if self.unread:
                return (
                    f"Entries after {self.unread:,}, up to {self.entries:,}, and all rows that follow from entries are "
                    "as they were written; those before were verified earlier and not read again. The chain is "
                    f"{signed}.{noted}"
                )
            every = "The other" if broken else "All"
            count = self.entries - sum(two - one + 1 for one, two in self.acknowledged)
            return f"{every} {count:,} entries are as they were written; the chain is {signed}.{noted}"
        if self.first_bad is None:
            return f"It does not hold: {self.problem}."
        return f"Entry {self.first_bad} is not as it was written: {self.problem}."

    def _repr_html_(self) -> str:
        return markup.block(markup.paragraphs([self.explain()]))

    def to_json(self) -> dict[str, Any]:
        found = {"schema": "quiltwork/verification/1", **attrs.asdict(self)}
        found["acknowledged"] = [list(one) for one in self.acknowledged]
        return {name: one for name, one in found.items() if one or name not in ("unread", "acknowledged")}


def verified(
    connection: Connection,
    progress: Progress | None = None,
    known: Elsewhere | None = None,
    shelf: Shelf | None = None,
    depth: Depth = "whole",
) -> Verification:
    """The ledger in one consistent view, held against what is known of it from elsewhere; `shelf` keeps the book."""
    walk = _Walk(connection, progress, Elsewhere() if known is None else known)
    before = None if shelf is None or depth == "full" else shelf.read()
    begun = 0 if before is None else before.seq
    try:
        found = walk.ended(_resumed(walk, before, depth))
    except BrokenChain as error:
        return Verification(False, walk.checker.seq, error.seq, error.problem)
    except QuiltworkError as error:
        return Verification(False, walk.checker.seq, walk.checker.seq, str(error))
    if shelf is not None and (found.entries > begun or depth == "full"):
        shelf.keep(walk.checker)
    return found


def _resumed(walk: _Walk, before: Checker | None, depth: Depth) -> int:
    """Walk on from the end of a book that fits, else from the first entry; the number up to which nothing was read."""
    if before is not None:
        try:
            if depth == "new":
                unread = before.seq  # the walk goes on in the same book
                walk.resume(before)
                return unread
            walk.hash_up_to(before)
            return 0
        except QuiltworkError:  # what is wrong is named by the replay, as if there had been no book
            walk.restart()
    walk.replay()
    return 0


class _Walk:
    """One verification: the entries, the head, and every derived row."""

    def __init__(self, connection: Connection, progress: Progress | None, known: Elsewhere) -> None:
        self.connection, self.known = connection, known
        self._progress = progress
        self._total = int(connection.execute(select(func.count()).select_from(schema.entries)).scalar_one())
        self.restart()

    def restart(self) -> None:
        """From the first entry."""
        self.checker = Checker()
        self._meet()

    def _meet(self) -> None:
        self._kept = Kept(self.known.receipts, self.checker.book, self.known.public_key)
        self._ends = Ends(self.known, self.checker)

    def _met(self, seq: int, hash: str) -> None:
        self._kept.meet(seq, hash)
        self._ends.meet(seq, hash)
        if self._progress is not None and seq % 1000 == 0:
            self._progress(seq, self._total)

    def replay(self) -> None:
        """The entries after those that the checker has taken, each by the rules."""
        if not self.checker.seq:
            self.checker.acknowledged = Acknowledged.read(self.connection)
        for entry in entries_after(self.connection, self.checker.seq or None):
            self.checker.take(entry)
            self._met(entry.seq, entry.hash)

    def hash_up_to(self, before: Checker) -> None:
        """Hash every entry anew up to where a book ends, which stands for their replay; then replay the others."""
        checker, tree = self.checker, self.checker.tree
        self._check_book(before)
        checker.acknowledged = Acknowledged.read(self.connection)
        for row in rows_between(self.connection, 0, before.seq):
            seq, hash = row[0], row[8]
            if seq != checker.seq + 1 or row[7] != checker.hash:
                raise BrokenChain("it is not as it was written", checker.seq + 1)
            if digest(checker.hash, *row[:7]) != hash and not checker.acknowledged.is_lost(Entry(*row)):
                raise BrokenChain("it is not as it was written", seq)
            tree.append(bytes.fromhex(hash))
            checker.seq, checker.hash = seq, hash
            self._met(seq, hash)
        if (checker.seq, checker.hash) != (before.seq, before.hash):
            raise BrokenChain("the book is of another history", checker.seq)
        checker.book, checker.time = before.book, before.time
        checker.acknowledged.met_up_to(before.seq)
        self._kept.book = before.book
        self.replay()

    def resume(self, before: Checker) -> None:
        """Only the entries after the end of a book, from whose peaks the signed root must follow.

        What was kept elsewhere of the entries before is held against the same root.
        """
        before.acknowledged = self._check_book(before)
        self.checker = before
        self._meet()
        self.replay()
        _head(self.connection, before)
        if self._kept.waiting() or self._ends.waiting():
            tree, facts = StoredTree(self.connection), self.checker.facts
            for seq in self._kept.waiting():
                if (entry := entry_at(self.connection, seq)) is not None:
                    tree.check_included(entry, facts)
                    self._kept.meet(seq, entry.hash)
            self._ends.meet_earlier(tree, facts)

    def _check_book(self, before: Checker) -> Acknowledged:
        """What was acknowledged after a book; BrokenChain when that changes what the book says."""
        later = Acknowledged.read(self.connection, after=before.seq)
        if later.before(before.seq):
            raise BrokenChain("the book knows an entry that was lost since")
        return later.after(before.acknowledged)

    def ended(self, unread: int) -> Verification:
        """What is said of the whole, once every entry was walked."""
        checker, public = self.checker, self.known.public_key
        self._kept.check_met()
        self._ends.check_met()
        checker.check_acknowledged()
        if checker.seq != self._total:
            raise BrokenChain("there are entries without a place in the chain", checker.seq + 1)
        if public is not None and checker.book.public_key != public:
            raise BrokenChain("another key signs for this chain than the one that is known", checker.seq)
        signed = _head(self.connection, checker)
        check_rows(self.connection, checker)
        if self._progress is not None:
            self._progress(self._total, self._total)
        known, ranges = public is not None, tuple(checker.acknowledged.ranges)
        return Verification(True, checker.seq, signed=signed, known=known, unread=unread, acknowledged=ranges)


def _head(connection: Connection, checker: Checker) -> bool:
    heads = connection.execute(select(schema.head)).all()
    if len(heads) != 1 or heads[0].id != 1:
        raise BrokenChain("the head of the chain is missing or not alone", checker.seq)
    head, last, facts = heads[0], checker.seq, checker.facts
    if (head.seq, head.hash, head.time) != (last, checker.hash, checker.time):
        first = last + 1 if isinstance(head.seq, int) and head.seq > last else last
        raise BrokenChain("the head of the chain names another last entry", first)
    if head.public_key != checker.book.public_key:
        raise BrokenChain("the head of the chain names another key", last)
    peaks = "".join(peak.hex() for peak in checker.tree.peaks)
    if (head.root, head.peaks) != (facts.root, peaks):
        raise BrokenChain("the head of the chain names another tree", last)
    if head.access != facts.access:
        raise BrokenChain("the head of the chain says otherwise who may use the ledger", last)
    if head.signature is None and not checker.book.signs_heads:
        return False  # a copy of an old export, imported without its key
    return checker.check_signature(head.signature, "the head of the chain", facts.message(HEAD))
