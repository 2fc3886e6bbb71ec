"""The book of a replay, kept beside the key and sealed, so that the next verification replays only what is new.

If entries 1 to N hash to the chain whose hash at N is the book's, then replaying them gives the book: they are the same
bytes, and a replay is a function of the bytes and of the release, which the book names. So a verification that hashes
every entry again, and replays those after N, finds what a full replay finds.

The seal is a MAC under a key that is derived from the one that signs: nobody else writes a book that is believed. A
book that is old, damaged, sealed by another key or of another release is as good as none.

Reference: theory/ledger.md section 2.6 (Lemma 5); RFC 5869 (HKDF).
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import attrs

from quiltwork import __version__
from quiltwork.files import whole_file
from quiltwork.ledger.book.book import Charge, MemoryBook, Principal, Reservation, exact, reservation_row
from quiltwork.ledger.chain.entries import parsed
from quiltwork.ledger.chain.tree import Tree
from quiltwork.ledger.proof.checker import Checker
from quiltwork.ledger.store.acknowledged import Acknowledged

PURPOSE: Final = b"quiltwork/book/1"
Json = dict[str, Any]


@attrs.frozen
class Shelf:
    """Where the book of one ledger is kept, and what seals it."""

    place: str
    secret: bytes = attrs.field(repr=False)

    def _seal(self, body: bytes) -> bytes:
        return hmac.new(self.secret, body, hashlib.sha256).hexdigest().encode("ascii")

    def read(self) -> Checker | None:
        """A replay up to where the book ends; None without a book of this release under this seal."""
        try:
            seal, _, body = Path(self.place).read_bytes().partition(b"\n")
        except OSError:
            return None
        if not hmac.compare_digest(seal, self._seal(body)):
            return None
        found = json.loads(body)
        return _opened(found) if found["release"] == __version__ else None

    def keep(self, checker: Checker) -> None:
        """Write it, where that can be done: without a book everything is replayed."""
        body = json.dumps(_written(checker), separators=(",", ":")).encode("ascii")
        with suppress(OSError), whole_file(Path(self.place), binary=True) as stream:
            os.fchmod(stream.fileno(), 0o600)
            stream.write(self._seal(body) + b"\n" + body)


def _written(checker: Checker) -> Json:
    book, tree = checker.book, checker.tree
    return {
        "release": __version__,
        "end": [checker.seq, checker.hash, checker.time],
        "peaks": [peak.hex() for peak in tree.peaks],
        "tiles": [[level, place, root.hex()] for level, place, root in tree.tiles],
        "ledger": [book.identity, book.public_key, sorted(book.keys), book.signs_heads],
        "ended": [book.secret.hex(), str(book.ended)],
        "accounts": book.account_rows(),
        "amounts": [[*place, amount] for place, amount in book.amounts.items()],
        "reservations": [reservation_row(one) for one in book.reservations.values()],
        "principals": [attrs.astuple(one) for one in book.principals.values()],
        "acknowledged": [checker.acknowledged.ranges, checker.acknowledged.met],
        "costs": {
            name: [[at, *map(str, cost)] for at, cost in periods.items()] for name, periods in book.costs.items()
        },
    }


def _opened(found: Json) -> Checker:
    secret, ended = found["ended"]
    book = MemoryBook(bytes.fromhex(secret))
    book.ended = int(ended)
    book.identity, book.public_key, keys, book.signs_heads = found["ledger"]
    book.keys.update(keys)
    book.sealed = {name: tuple(row) for name, row in found["accounts"].items()}
    for budget, period, name, amount in found["amounts"]:
        book.put_amount(budget, period, name, amount)
    for row in found["reservations"]:
        book.put_reservation(Reservation(**{**row, "charge": Charge.read(parsed(row["charge"]))}))
    for name, periods in found["costs"].items():
        book.costs[name] = {at: tuple(map(exact, cost)) for at, *cost in periods}
    for row in found["principals"]:
        book.put_principal(Principal(*row))
    ranges, met = found.get("acknowledged", ((), ()))
    checker = Checker(book, Acknowledged([(first, last) for first, last in ranges], met=list(met)))
    checker.seq, checker.hash, checker.time = found["end"]
    checker.tree = Tree(checker.seq, map(bytes.fromhex, found["peaks"]))
    checker.tree.tiles = [(level, place, bytes.fromhex(root)) for level, place, root in found["tiles"]]
    return checker
