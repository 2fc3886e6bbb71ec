"""Entries that were acknowledged after a break: they count and give nothing, and no other is let pass.

An entry of kind `repaired` names their numbers. It is read before the walk reaches them, and must be met on the walk,
made by an admin who was one then, like any other entry: nobody without the key acknowledges anything.

Lemma. An acknowledgement never raises what may be spent, nor who may act. Each rule in `changes.count` is at least as
strict as the entry's own effect and as its absence; a lost entry has no effect, and what it may have spent is charged,
or the budgets that were open end, with the entry that acknowledges it.

Reference: theory/ledger.md section 2.8 (Lemma 6).
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from typing import Any

import attrs
from sqlalchemy import Connection, select

from quiltwork.errors import BrokenChain
from quiltwork.ledger.book.book import MemoryBook
from quiltwork.ledger.book.changes import apply, count
from quiltwork.ledger.chain.entries import Entry
from quiltwork.ledger.chain.statements import is_hash
from quiltwork.ledger.store import schema

LOST = "lost"


def lost_entry(seq: int, previous: str, hash: str) -> Entry:
    """What stands for an entry whose content is gone: its number, and its place in the chain."""
    return Entry(seq, "", LOST, None, None, None, "{}", previous, hash)


@attrs.define
class Acknowledged:
    """Ranges of numbers, and which of them were lost then: the others are still there, and must stay.

    `made` has the entries that name them, with their hashes, `met` the lost ones on the way.
    """

    ranges: list[tuple[int, int]] = attrs.Factory(list)
    made: dict[int, str] = attrs.Factory(dict)
    lost: set[int] = attrs.Factory(set)
    met: list[int] = attrs.Factory(list)
    now: tuple[tuple[int, int], ...] = ()  # what is being acknowledged: there any entry may be lost

    @classmethod
    def read(cls, connection: Connection, *, after: int = 0, more: Iterable[tuple[int, int]] = ()) -> Acknowledged:
        """What the entries after a number name, and more that is being acknowledged now."""
        rows = schema.entries
        asked = select(rows).where(rows.c.budget.is_(None), rows.c.seq > after, rows.c.kind == "repaired")
        return cls.of((Entry(*row) for row in connection.execute(asked)), more)

    @classmethod
    def of(cls, entries: Iterable[Entry], more: Iterable[tuple[int, int]] = ()) -> Acknowledged:
        """What these entries name."""
        now = tuple(more)
        found, made, lost = list(now), {}, set[int]()
        for entry in entries:
            if entry.sound() and (told := named_by(entry)) is not None:
                found += told[0]
                lost.update(told[1])
                made[entry.seq] = entry.hash
        return cls(_apart(found), made, lost, now=now)

    def covers(self, seq: int) -> bool:
        """Whether this entry was acknowledged."""
        at = bisect_right(self.ranges, (seq, 2**63)) - 1
        return at >= 0 and seq <= self.ranges[at][1]

    def is_lost(self, entry: Entry) -> bool:
        """Whether this stands for a lost entry that was acknowledged; remembered, where it does."""
        placed = is_hash(entry.hash) and entry == lost_entry(entry.seq, entry.previous, entry.hash)
        may = entry.seq in self.lost or any(first <= entry.seq <= last for first, last in self.now)
        if placed and may:
            self.met.append(entry.seq)
        return placed and may

    def met_up_to(self, seq: int) -> None:
        """The walk passed these entries: what acknowledges among them was met."""
        self.made = {at: hash for at, hash in self.made.items() if at > seq}

    def after(self, earlier: Acknowledged) -> Acknowledged:
        """What was acknowledged up to a book, which is walked no more, and since."""
        return attrs.evolve(self, ranges=_apart([*earlier.ranges, *self.ranges]), met=list(earlier.met))

    def before(self, seq: int) -> bool:
        """Whether some entry up to this number was."""
        return bool(self.ranges) and self.ranges[0][0] <= seq

    def lost_in(self, ranges: Iterable[Sequence[int]]) -> list[int]:
        """The lost entries that were met there."""
        return [seq for seq in self.met if any(first <= seq <= last for first, last in ranges)]

    def meet(self, entry: Entry, content: dict[str, Any]) -> None:
        """BrokenChain unless an entry that acknowledges is the one that was read before."""
        if content.get("ranges") and self.made.pop(entry.seq, None) != entry.hash:
            raise BrokenChain("what it acknowledges was not known before", entry.seq)
        if any(not first <= last < entry.seq for first, last in content.get("ranges", ())):
            raise BrokenChain("it acknowledges entries that come after it", entry.seq)
        if content.get("ranges") and self.lost_in(content["ranges"]) != content["lost"]:
            raise BrokenChain("other entries are lost than it says", entry.seq)


def _apart(ranges: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """The same numbers in ranges that do not meet, in order."""
    found: list[tuple[int, int]] = []
    for first, last in sorted(ranges):
        if found and first <= found[-1][1] + 1:
            first, last = found[-1][0], max(found.pop()[1], last)
        found.append((first, last))
    return found


def named_by(entry: Entry) -> tuple[list[tuple[int, int]], list[int]] | None:
    """The numbers that an entry names, and those that were lost; None for one that names none, or cannot be read."""
    try:
        content = entry.content
        found = [(one[0], one[1]) for one in content.get("ranges", ())]
        lost = list(content.get("lost", ()))
    except (BrokenChain, LookupError, TypeError):
        return None
    numbers = (*(number for pair in found for number in pair), *lost)
    return (found, lost) if found and all(type(number) is int for number in numbers) else None


def follow(book: MemoryBook, entry: Entry, budget: str, known: Acknowledged) -> None:
    """One more entry to a book that knows one budget alone."""
    content = entry.content
    if entry.kind == "repaired":
        charges = [one for one in content.get("charges") or () if one["budget"] == budget]
        content = {"charges": charges, "closed": [one for one in content.get("closed", ()) if one == budget]}
    (count if known.covers(entry.seq) else apply)(book, entry, content)
