"""One transaction on the chain: entries are added to its end, the book follows, and the new head is signed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import bindparam, insert, update

from quiltwork.errors import BrokenChain, ClockWentBack
from quiltwork.ledger.book.changes import apply
from quiltwork.ledger.book.terms import Terms
from quiltwork.ledger.chain.entries import Entry, moment, stamp
from quiltwork.ledger.chain.keys import SigningKey
from quiltwork.ledger.chain.receipts import message
from quiltwork.ledger.store import schema
from quiltwork.ledger.store.rows import STANDING, LiveBook
from quiltwork.ledger.store.store import Locked

__all__ = ["TOLERANCE", "Writer"]

TOLERANCE = timedelta(minutes=1)  # clocks of several machines differ a little; times in the chain never go back

_NEW_ENTRIES = insert(schema.entries)
_NEW_HEAD = (
    update(schema.head)
    .where(schema.head.c.id == 1)
    .values({name: bindparam(f"new_{name}") for name in ("seq", "time", "hash", "signature", "public_key", "guarded")})
)
# a spend in one round trip: the lock of the head is held for as short as can be
_ALL_AT_ONCE = _NEW_HEAD.add_cte(
    insert(schema.entries).values({name: bindparam(name) for name in schema.entries.c.keys()}).cte("new_entry"),  # noqa: SIM118
    STANDING.cte("new_standing"),
)


class Writer:
    """Adds entries; nothing is written until `finish`."""

    def __init__(
        self,
        locked: Locked,
        identity: str,
        key: SigningKey | None,
        parse: Callable[[str], Terms],
        backwards: bool = False,
    ) -> None:
        head, connection = locked.head, locked.connection
        self.connection, self.head = connection, head
        self.now = locked.now if backwards else _not_before(locked.now, moment(head.time))
        if key is not None and head.signature != key.signature(message(identity, head.hash)):
            # signing on top of it would vouch for whatever somebody without the key put there
            raise BrokenChain("the head of the chain is not signed by the ledger's key: run verify", int(head.seq))
        self.principal: str | None = None
        self.guarded: bool = bool(head.guarded)
        self.book = LiveBook(connection, parse)
        self.book.public_key, self.book.identity = head.public_key, identity
        self.signing_key = key
        self._seq, self._hash = int(head.seq), str(head.hash)
        self._entries: list[Entry] = []

    def append(self, kind: str, budget: str | None, body: Mapping[str, Any], key: str | None = None) -> Entry:
        """One more entry, already applied to the book."""
        entry = Entry.made(
            previous=self._hash, seq=self._seq + 1, time=self.now, kind=kind,
            budget=budget, principal=self.principal, key=key, body=body,
        )  # fmt: skip
        apply(self.book, entry)
        self._entries.append(entry)
        self._seq, self._hash = entry.seq, entry.hash
        return entry

    def finish(self) -> None:
        """Write the entries, what follows from them, and the signed head."""
        if not self._entries:
            return
        public = self.book.public_key
        signature = None
        if public is not None and self.signing_key is not None:
            signature = self.signing_key.signature(message(self.book.identity, self._hash))
        head = {
            "new_seq": self._seq,
            "new_time": stamp(self.now),
            "new_hash": self._hash,
            "new_signature": signature,
            "new_public_key": public,
            "new_guarded": int(self.guarded),
        }
        standing = self.book.only_standing() if len(self._entries) == 1 else None
        if standing is not None and self.connection.dialect.name == "postgresql":
            self.connection.execute(_ALL_AT_ONCE, {**_columns(self._entries[0]), **standing, **head})
            return
        self.connection.execute(_NEW_ENTRIES, [_columns(entry) for entry in self._entries])
        self.book.flush()
        self.connection.execute(_NEW_HEAD, head)


def _columns(entry: Entry) -> dict[str, Any]:
    return {name: getattr(entry, name) for name in schema.entries.c.keys()}  # noqa: SIM118


def _not_before(now: datetime, last: datetime) -> datetime:
    if now < last - TOLERANCE:
        raise ClockWentBack(stamp(now), stamp(last))
    return max(now, last)
