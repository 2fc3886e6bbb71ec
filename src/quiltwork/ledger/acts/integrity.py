"""Verification, export and import."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from typing import Any

from sqlalchemy import Connection

from quiltwork.errors import BrokenChain, InvalidParameter
from quiltwork.ledger import names as words
from quiltwork.ledger.acts.connection import KeyFile, Session
from quiltwork.ledger.book.changes import handover
from quiltwork.ledger.chain.entries import Entry
from quiltwork.ledger.chain.keys import SigningKey, is_public_key
from quiltwork.ledger.chain.receipts import Receipt
from quiltwork.ledger.proof import transfer
from quiltwork.ledger.proof.verify import Verification, verified
from quiltwork.ledger.store.addresses import address, shown
from quiltwork.ledger.store.rows import Writer
from quiltwork.ledger.store.store import Store

__all__ = ["restore", "rotate", "verify"]


def verify(
    session: Session, public_key: Any, progress: Callable[[int, int], None] | None, receipts: Iterable[Receipt]
) -> Verification:
    """Whether every entry and every row is as it was written, and signed by the key that is known."""
    kept = _receipts(receipts)
    if progress is not None and not callable(progress):
        raise InvalidParameter("progress", progress, "a function of two numbers")
    known = _public(public_key) or (None if session.key is None else session.key.public)
    try:
        return session.read(lambda book, now: verified(book.connection, progress, kept, known))
    except BrokenChain as error:
        return Verification(False, 0, error.seq, error.problem)


def rotate(session: Session, key: KeyFile) -> Receipt:
    """Let the key of another file sign from now on; it is made when it does not exist."""
    place = words.path("key", key)

    def work(writer: Writer) -> Entry:
        new = SigningKey.load(place) if os.path.exists(place) else SigningKey.create(place)
        if new.public == writer.book.public_key:
            raise InvalidParameter("key", str(key), "another key than the one that signs now")
        agreed = None if session.key is None else session.key.signature(handover(session.identity, new.public))
        writer.signing_key = new
        return writer.append("key", None, {"public_key": new.public, "agreed": agreed})

    made = session.write("manage", work)
    session.key = SigningKey.load(place)
    return Receipt.issued(session.identity, made.entry, session.key)


def restore(url: str, lines: Iterable[str], key: KeyFile | None, public_key: Any, receipts: Iterable[Receipt]) -> None:
    """Fill a database that has no ledger from exported lines; nothing is made when they do not hold together."""
    kept, public_key = _receipts(receipts), _public(public_key)
    store = Store(address(url), 30.0, None)
    try:
        if store.version() is not None:
            raise InvalidParameter("url", shown(store.url), "a database without a ledger")
        made = [False]

        def fill(connection: Connection) -> None:
            public = transfer.load(connection, lines, kept, public_key)
            if key is not None and SigningKey.load(key).public != public:
                raise InvalidParameter("key", str(key), "the file of the key that signs for this ledger")
            if public_key is not None and public_key != public:
                raise BrokenChain("another key signed this export than the one that is known")
            made[0] = True

        store.make(fill)
        if not made[0]:
            raise InvalidParameter("url", shown(store.url), "a database without a ledger")
    finally:
        store.dispose()


def _public(given: Any) -> str | None:
    if given is not None and not is_public_key(given):
        raise InvalidParameter("public_key", given, "a public key (base64 of 32 bytes)")
    return None if given is None else str(given)


def _receipts(given: Any) -> tuple[Receipt, ...]:
    found = words.listed("receipts", given, "receipts of this ledger")
    for receipt in found:
        if not isinstance(receipt, Receipt):
            raise InvalidParameter("receipts", receipt, "receipts of this ledger")
    return found
