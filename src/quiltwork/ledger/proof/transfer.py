"""Export and import: the chain as JSON lines, checked on the way out and on the way in.

The first line is a header, then one line an entry, the last line is the signed head. A file that was cut, reordered or
edited is refused, with the line's entry named, and nothing is imported.

Exports of version 0.1 end with a signature like that of any receipt, so that one which was cut may look whole: they are
read where the key is at hand that signs the new head, and only a receipt or a checkpoint says that nothing is missing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from io import TextIOBase
from typing import Any, TextIO

from sqlalchemy import Connection, insert, update

from quiltwork.errors import BrokenChain, InvalidParameter
from quiltwork.ledger.book.book import MemoryBook, Reservation, reservation_row
from quiltwork.ledger.chain.entries import Entry, canonical, parsed
from quiltwork.ledger.chain.keys import SigningKey
from quiltwork.ledger.chain.receipts import Receipt
from quiltwork.ledger.chain.receipts import message as receipt_message
from quiltwork.ledger.chain.statements import HEAD
from quiltwork.ledger.proof.checker import Checker
from quiltwork.ledger.proof.elsewhere import Kept, public_key_of, receipts_of
from quiltwork.ledger.proof.upgrade import begin_anew
from quiltwork.ledger.store import schema
from quiltwork.ledger.store.acknowledged import Acknowledged
from quiltwork.ledger.store.addresses import address, shown
from quiltwork.ledger.store.heads import Ended
from quiltwork.ledger.store.rows import LiveBook, entries_after, entry_at
from quiltwork.ledger.store.store import Store, read_head

SCHEMA = "quiltwork/ledger-export/2"
OLD_SCHEMA = "quiltwork/ledger-export/1"
BATCH = 2000


def export(connection: Connection, stream: TextIO, progress: Callable[[int, int], None] | None = None) -> int:
    """Write every entry; returns how many."""
    head = read_head(connection)
    if not isinstance(stream, TextIOBase) and not hasattr(stream, "encoding"):
        raise InvalidParameter("stream", stream, "a text stream, such as a file opened for writing")
    made = Acknowledged.read(connection).made  # who reads line by line must know of them before
    repaired = [entry.to_json() for seq in made if (entry := entry_at(connection, seq)) is not None]
    known = {"acknowledged": repaired} if repaired else {}
    stream.write(canonical({"schema": SCHEMA, "entries": head.seq, **known}) + "\n")
    count = 0
    for count, entry in enumerate(entries_after(connection, 0), start=1):
        stream.write(canonical(entry.to_json()) + "\n")
        if progress is not None and count % 1000 == 0:
            progress(count, head.seq)
    facts = {name: getattr(head, name) for name in ("seq", "time", "hash", "root", "access", "signature")}
    closing = {"schema": SCHEMA, **facts}
    stream.write(canonical(closing) + "\n")
    return count


def restore(url: str, lines: Iterable[str], key: Any, public_key: Any, receipts: Iterable[Receipt]) -> None:
    """Fill a database that has no ledger from exported lines; nothing is made when they do not hold together."""
    kept, public_key = receipts_of(receipts), public_key_of(public_key)
    store = Store(address(url), 30.0, None)
    try:
        if store.version() is not None:
            raise InvalidParameter("url", shown(store.url), "a database without a ledger")
        made = [False]

        def fill(connection: Connection) -> None:
            signing = None if key is None else SigningKey.load(key)
            public = load(connection, lines, kept, public_key, signing)
            if signing is not None and signing.public != public:
                raise InvalidParameter("key", str(key), "the file of the key that signs for this ledger")
            if public_key is not None and public_key != public:
                raise BrokenChain("another key signed this export than the one that is known")
            made[0] = True

        store.make(fill)
        if not made[0]:
            raise InvalidParameter("url", shown(store.url), "a database without a ledger")
    finally:
        store.dispose()


def load(
    connection: Connection,
    lines: Iterable[str],
    receipts: Iterable[Receipt] = (),
    public: str | None = None,
    key: SigningKey | None = None,
) -> str | None:
    """Fill an empty ledger; returns its public key. BrokenChain when a line does not hold: undo the transaction."""
    header, rest = _header(lines)
    checker = Checker(Retiring(connection), _acknowledged(header))
    kept = Kept(receipts, checker.book, public)
    waiting: list[dict[str, Any]] = []
    closing: dict[str, Any] | None = None
    for line in rest:
        if closing is not None:
            raise BrokenChain("lines follow the head of the export", checker.seq)
        value = _value(line, checker.seq + 1)
        if value.get("schema") == header["schema"]:
            closing = value
            continue
        try:
            entry = Entry.from_json(value)
        except InvalidParameter as error:
            raise BrokenChain(f"its line cannot be read ({error})", checker.seq + 1) from None
        checker.take(entry)
        kept.meet(entry.seq, entry.hash)
        waiting.append({name: value[name] for name in schema.entries.c.keys()})  # noqa: SIM118
        if len(waiting) >= BATCH:
            connection.execute(insert(schema.entries), waiting)
            waiting.clear()
    checker.check_acknowledged()
    _check_end(checker, header, closing)
    kept.check_met()
    if waiting:
        connection.execute(insert(schema.entries), waiting)
    write_rows(connection, checker)
    if header["schema"] == SCHEMA:
        Ended.of(checker.facts, checker.tree, {}, checker.book.public_key, None).begin(connection)
        connection.execute(update(schema.head).values(signature=(closing or {}).get("signature")))
    else:
        begin_anew(connection, checker, key)
    return checker.book.public_key


def _header(lines: Iterable[str]) -> tuple[dict[str, Any], Iterator[str]]:
    rest = _texts(lines)
    first = next(rest, "")
    value = _value(first, 0)
    if value.get("schema") not in (SCHEMA, OLD_SCHEMA) or "entries" not in value:
        raise InvalidParameter("the export", first[:80], f"JSON lines that begin with a header of schema {SCHEMA!r}")
    return value, rest


def _acknowledged(header: dict[str, Any]) -> Acknowledged:
    """What the entries acknowledge that the header repeats; each must be met among the lines."""
    told = header.get("acknowledged", [])
    if not isinstance(told, list):
        raise InvalidParameter("the export", "a header", "one with a list of entries that acknowledge others")
    return Acknowledged.of(map(Entry.from_json, told))


def _texts(lines: Iterable[str]) -> Iterator[str]:
    """Lines that are not blank."""
    if isinstance(lines, (str, bytes)) or not isinstance(lines, Iterable):
        raise InvalidParameter("the export", lines, "lines of text, such as an open file")
    for line in lines:
        if not isinstance(line, str):
            raise InvalidParameter("the export", line, "lines of text, such as an open file")
        if line.strip():
            yield line


def _value(line: str, seq: int) -> dict[str, Any]:
    try:
        value = parsed(line)
    except InvalidParameter as error:
        if seq == 0:
            raise InvalidParameter("the export", line[:80], "JSON lines of a ledger", error.hint) from None
        raise BrokenChain("its line is no JSON", seq) from None
    if not isinstance(value, dict):
        raise BrokenChain("its line is no JSON object", seq)
    return value


def _check_end(checker: Checker, header: dict[str, Any], closing: dict[str, Any] | None) -> None:
    if closing is None or header["entries"] != checker.seq or checker.seq == 0:
        raise BrokenChain("the export was cut off: entries or its last line are missing", checker.seq + 1)
    if (closing.get("seq"), closing.get("hash")) != (checker.seq, checker.hash):
        raise BrokenChain("the export's last line names another last entry", checker.seq)
    if header["schema"] == SCHEMA:
        facts, named = checker.facts, ("time", "root", "access")
        if any(closing.get(name) != getattr(facts, name) for name in named):
            raise BrokenChain("the export's last line names another end", checker.seq)
        checker.check_signature(closing.get("signature"), "the export", facts.message(HEAD))
        return
    if checker.book.signs_heads:
        raise BrokenChain("the export's last line is of an older kind than its entries", checker.seq)
    old = receipt_message(checker.book.identity, checker.hash)
    checker.check_signature(closing.get("signature"), "the export", old)


def write_rows(connection: Connection, checker: Checker) -> None:
    book, replayed = LiveBook(connection), checker.book
    for account in replayed.accounts.values():
        book.put_account(account)
    for place, amount in replayed.amounts.items():
        book.put_amount(*place, amount)
    for reservation in replayed.reservations.values():
        book.put_reservation(reservation)
    for principal in replayed.principals.values():
        book.put_principal(principal)
    book.flush()


class Retiring(MemoryBook):
    """Writes the rows of ended reservations at once, so that they need not be remembered."""

    def __init__(self, connection: Connection) -> None:
        super().__init__()
        self._connection = connection

    def retire(self, reservation: Reservation) -> None:
        super().retire(reservation)
        self._connection.execute(insert(schema.reservations), reservation_row(reservation))
