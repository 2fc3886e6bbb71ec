"""One transaction on the chain: entries are added to its end, rows follow from them, and the new head is signed."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import bindparam, insert

from quiltwork.errors import ClockWentBack
from quiltwork.ledger.book.book import Account
from quiltwork.ledger.book.changes import apply
from quiltwork.ledger.chain.entries import Entry, moment, stamp
from quiltwork.ledger.chain.keys import SigningKey
from quiltwork.ledger.chain.statements import Facts
from quiltwork.ledger.chain.tree import Tree
from quiltwork.ledger.store import schema
from quiltwork.ledger.store.heads import NEW_HEAD, Believed, Ended, access_of, head_row, write_tiles
from quiltwork.ledger.store.rows import STANDING, LiveBook, entry_with_key
from quiltwork.ledger.store.store import Locked

TOLERANCE = timedelta(minutes=1)  # clocks of several machines differ a little; times in the chain never go back

# a spend in one round trip: the lock of the head is held for as short as can be
_ALL_AT_ONCE = NEW_HEAD.add_cte(
    insert(schema.entries).values({name: bindparam(name) for name in schema.entries.c.keys()}).cte("new_entry"),  # noqa: SIM118
    STANDING.cte("new_standing"),
)


class Writer:
    """Adds entries; nothing is written until `finish`. What stands in the chain already was believed before."""

    def __init__(
        self,
        locked: Locked,
        believed: Believed,
        key: SigningKey | None,
        principal: str | None,
        backwards: bool = False,
        known: Mapping[str, Account] | None = None,
    ) -> None:
        self.connection, self._believed, self._head = locked.connection, believed, locked.head
        facts, point = believed.facts, believed.point
        self.now = locked.now if backwards else _not_before(locked.now, moment(facts.time))
        self.principal, self.signing_key = principal, key
        self.book = LiveBook(self.connection, believed.people, locked.head, known)
        self.book.public_key, self.book.identity = locked.head.public_key, facts.ledger
        self._seq, self._hash = facts.seq, facts.hash
        self._tree = Tree(point.seq, point.peaks, keep=True)
        self._entries: list[Entry] = []
        self._keys: dict[tuple[str, str], Entry] = {}  # of entries that the database does not have yet
        self.whole = True  # False while an entry is half applied

    @property
    def guarded(self) -> bool:
        """Whether tokens rule, that is whether anybody was admitted."""
        return bool(self.book.principals)

    def append(self, kind: str, budget: str | None, body: Mapping[str, Any], key: str | None = None) -> Entry:
        """One more entry, already applied to the book."""
        entry = Entry.made(
            previous=self._hash, seq=self._seq + 1, time=self.now, kind=kind,
            budget=budget, principal=self.principal, key=key, body=body,
        )  # fmt: skip
        self.whole = False
        apply(self.book, entry, dict(body))
        self._entries.append(entry)
        if budget is not None and key is not None:
            self._keys[budget, key] = entry
        self.whole = True
        self._tree.append(bytes.fromhex(entry.hash))
        self._seq, self._hash = entry.seq, entry.hash
        return entry

    @property
    def count(self) -> int:
        """How many entries were added."""
        return len(self._entries)

    @property
    def first(self) -> Entry:
        """The first entry that was added."""
        return self._entries[0]

    def added(self, entry: Entry) -> bool:
        """Whether an entry was added here: the database does not know it yet."""
        return bool(self._entries) and entry.seq >= self._entries[0].seq

    def with_key(self, budget: str, key: str) -> Entry | None:
        """The entry that stands under a key, be it in the database or added here."""
        return self._keys.get((budget, key)) or entry_with_key(self.connection, budget, key)

    def finish(self) -> Ended | None:
        """Write the entries, what follows from them, and the signed head; None when there is nothing to write."""
        if not self._entries:
            return None
        people = self.book.principals
        access = access_of(people.values()) if self.book.changed_people else self._believed.facts.access
        root = self._tree.root.hex()
        facts = Facts(self.book.identity, self._seq, stamp(self.now), self._hash, root, access)
        of = (facts, self._tree, people, self.book.public_key, self.signing_key)
        ended = Ended.of(*of, self.first.seq, head_row(self._head))
        write_tiles(self.connection, self._tree)
        alone = len(self._entries) == 1 and self.connection.dialect.name == "postgresql"
        if alone and (standing := self.book.only_standing()) is not None:
            entry = self._entries[0].row()
            self.connection.execute(_ALL_AT_ONCE, {**entry, **standing, **ended.new_values()})
            return ended
        self.connection.execute(insert(schema.entries), [entry.row() for entry in self._entries])
        self.book.flush()
        self.connection.execute(NEW_HEAD, ended.new_values())
        return ended


def _not_before(now: datetime, last: datetime) -> datetime:
    if now < last - TOLERANCE:
        raise ClockWentBack(stamp(now), stamp(last))
    return max(now, last)
