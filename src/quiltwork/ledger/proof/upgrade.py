"""From a ledger of version 0.1 to one whose head is a statement of its own kind.

Heads of version 0.1 were signed like receipts, so that a chain which somebody cut behind a receipt looked whole. An
upgrade vouches for everything before it. So the old ledger is verified as a whole first, and held against the mark, if
one was kept: a ledger that was set back to the old form on purpose is refused. Where receipts were kept elsewhere,
verify with them before.

Reference: theory/ledger.md section 2.11.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import Connection, insert, text

from quiltwork.errors import BrokenChain, InvalidParameter
from quiltwork.ledger.book.changes import FORMAT
from quiltwork.ledger.chain.entries import Entry, moment
from quiltwork.ledger.chain.keys import SigningKey
from quiltwork.ledger.chain.mark import Point
from quiltwork.ledger.chain.receipts import message
from quiltwork.ledger.proof.checker import Checker
from quiltwork.ledger.proof.derived import check_rows
from quiltwork.ledger.store import schema
from quiltwork.ledger.store.heads import Ended
from quiltwork.ledger.store.migrations import upgrade
from quiltwork.ledger.store.rows import entries_after

OLD_HEAD = text("SELECT seq, time, hash, signature, public_key, guarded FROM ledger_head WHERE id = 1")


def upgraded(connection: Connection, now: datetime, key: SigningKey | None, point: Point | None) -> Ended:
    """Verify the old ledger, bring its tables to the newest form, and sign its head anew: all in one transaction."""
    checker = Checker()
    for entry in entries_after(connection, None):
        checker.take(entry)
        if point is not None and point.seq == entry.seq and point.hash != entry.hash:
            raise BrokenChain("it is not the entry that was seen here before: it was written anew", entry.seq)
    if point is not None and point.seq > checker.seq:
        raise BrokenChain(f"entries up to {point.seq} were seen here: it was put back to an earlier state", checker.seq)
    if checker.book.signs_heads:
        raise BrokenChain("the ledger was set back to an older form: restore it", checker.seq)
    _check_old_head(connection, checker)
    check_rows(connection, checker, kept_tiles=False)
    upgrade(connection)
    return begin_anew(connection, checker, key, now)


def _check_old_head(connection: Connection, checker: Checker) -> None:
    head = connection.execute(OLD_HEAD).one_or_none()
    mine = (checker.seq, checker.time, checker.hash, checker.book.public_key, int(bool(checker.book.principals)))
    if head is None or (head.seq, head.time, head.hash, head.public_key, head.guarded) != mine:
        raise BrokenChain("the head of the chain is not that of its last entry", checker.seq)
    old = message(checker.book.identity, checker.hash)
    checker.check_signature(head.signature, "the head of the chain", old)


def begin_anew(connection: Connection, checker: Checker, key: SigningKey | None, now: datetime | None = None) -> Ended:
    """Write the entry from which on heads are of their own kind, and the first such head.

    Without the key that signs, for a copy, the head stays as it is and is not signed: such a copy can only be read.
    """
    public = checker.book.public_key
    if key is not None and key.public != public:
        raise InvalidParameter("key", key.public, "the file of the key that signs for this ledger")
    if public is None or key is not None:
        time = moment(checker.time) if now is None else max(now, moment(checker.time))
        entry = Entry.made(
            previous=checker.hash, seq=checker.seq + 1, time=time, kind="format",
            budget=None, principal=None, key=None, body=FORMAT,
        )  # fmt: skip
        checker.take(entry)
        connection.execute(insert(schema.entries), entry.row())
    people: dict[str, Any] = dict(checker.book.principals)
    ended = Ended.of(checker.facts, checker.tree, people, public, key)
    ended.begin(connection)
    return ended
