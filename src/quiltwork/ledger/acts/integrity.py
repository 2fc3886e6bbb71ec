"""Verification, export and import."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from typing import Any, Self, TextIO

from sqlalchemy import Connection

from quiltwork import checks
from quiltwork.errors import (
    BrokenChain,
    InvalidParameter,
)
from quiltwork.ledger import names as words
from quiltwork.ledger.acts.connection import Connected
from quiltwork.ledger.book.changes import handover
from quiltwork.ledger.chain.entries import Entry
from quiltwork.ledger.chain.keys import SigningKey, is_public_key
from quiltwork.ledger.chain.receipts import Receipt
from quiltwork.ledger.proof import transfer
from quiltwork.ledger.proof.verify import Verification, verified
from quiltwork.ledger.store import addresses
from quiltwork.ledger.store.addresses import address
from quiltwork.ledger.store.store import Store
from quiltwork.ledger.store.writer import Writer

__all__ = ["Integrity"]


class Integrity(Connected):
    """Acts that show, or carry over, that everything is as it was written."""

    def verify(
        self,
        *,
        public_key: str | None = None,
        progress: Callable[[int, int], None] | None = None,
        receipts: Iterable[Receipt] = (),
    ) -> Verification:
        """Whether every entry and every row is as it was written; receipts kept elsewhere must be in the chain too.

        `public_key` is the key that must have signed it: by default that of the private key at hand. Without either, a
        chain that somebody signed anew with a key of his own looks fine.
        """
        shown = _receipts(receipts)
        if progress is not None and not callable(progress):
            raise InvalidParameter("progress", progress, "a function of two numbers")
        known = _public(public_key) or (None if self._key is None else self._key.public)
        try:
            return self._read(lambda book, now: verified(book.connection, progress, shown, known))
        except BrokenChain as error:
            return Verification(False, 0, error.seq, error.problem)

    def rotate(self, key: str | os.PathLike[str]) -> Receipt:
        """Let another key sign from now on: the one of this file, which is made when it does not exist.

        Whoever else writes to the ledger needs the new file from then on; old receipts stay valid for the old key.
        """
        place = words.path("key", key)

        def work(writer: Writer) -> Entry:
            new = SigningKey.load(place) if os.path.exists(place) else SigningKey.create(place)
            if new.public == writer.book.public_key:
                raise InvalidParameter("key", str(key), "another key than the one that signs now")
            agreed = None if self._key is None else self._key.signature(handover(self.identity, new.public))
            writer.signing_key = new
            return writer.append("key", None, {"public_key": new.public, "agreed": agreed})

        made = self._write("manage", work)
        self._key = SigningKey.load(place)
        return Receipt.issued(self.identity, made.entry, self._key)

    def accept_clock(self, note: str) -> Receipt:
        """Go on from the time that the clock shows now, although the last entry says a later one.

        For a ledger that was written to by a machine whose clock was ahead: until its time has come, everything else
        raises ClockWentBack. Periods that were begun stay begun; nothing is refreshed a second time.
        """
        said = checks.text("note", words.note(note), "a remark that says what happened")
        return self._write("manage", lambda writer: writer.append("clock", None, {"note": said}), backwards=True)

    def export(self, stream: TextIO, progress: Callable[[int, int], None] | None = None) -> int:
        """Write the chain as JSON lines; returns how many entries."""
        return self._read(lambda book, now: transfer.export(book.connection, stream, progress))

    @classmethod
    def restore(
        cls,
        url: str,
        lines: Iterable[str],
        *,
        key: str | os.PathLike[str] | None = None,
        public_key: str | None = None,
        receipts: Iterable[Receipt] = (),
    ) -> Self:
        """A new ledger from exported lines; refused, and nothing made, when they do not hold together.

        `public_key` is the key that must have signed them, `receipts` are some that must be among them: an older export
        is then refused too. The copy has the principals of the export, and asks for their tokens.
        """
        shown, public_key = _receipts(receipts), _public(public_key)
        store = Store(address(url), 30.0, None)
        try:
            if store.version() is not None:
                raise InvalidParameter("url", addresses.shown(store.url), "a database without a ledger")
            made = [False]

            def fill(connection: Connection) -> None:
                public = transfer.load(connection, lines, shown, public_key)
                if key is not None and SigningKey.load(key).public != public:
                    raise InvalidParameter("key", str(key), "the file of the key that signs for this ledger")
                if public_key is not None and public_key != public:
                    raise BrokenChain("another key signed this export than the one that is known")
                made[0] = True

            store.make(fill)
            if not made[0]:
                raise InvalidParameter("url", addresses.shown(store.url), "a database without a ledger")
        finally:
            store.dispose()
        return cls(url, key=key)


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
