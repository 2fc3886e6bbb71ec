"""The row of the head: what it says, what else must be read to believe it, and what it stands for once believed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from operator import attrgetter
from typing import Any

import attrs
from sqlalchemy import Connection, bindparam, insert, select, update

from quiltwork.errors import BrokenChain, QuiltworkError
from quiltwork.ledger.book.book import Principal
from quiltwork.ledger.chain.entries import Entry
from quiltwork.ledger.chain.keys import SigningKey
from quiltwork.ledger.chain.mark import Point
from quiltwork.ledger.chain.receipts import BATCH_SCHEMA, BatchReceipt
from quiltwork.ledger.chain.statements import HEAD, Facts, access_digest
from quiltwork.ledger.chain.tree import Tree, inclusion, levels, root_of
from quiltwork.ledger.store import schema

COLUMNS = tuple(column.name for column in schema.head.columns)
BATCH = 10_000
DIGEST = 32  # bytes
NEW_HEAD = (
    update(schema.head)
    .where(schema.head.c.id == 1)
    .values({name: bindparam(f"new_{name}") for name in COLUMNS if name != "id"})
)


@attrs.frozen
class Believed:
    """A head that was held against the key, against what was known before, and against the rows about people."""

    facts: Facts
    point: Point
    people: Mapping[str, Principal]

    @property
    def guarded(self) -> bool:
        """Whether tokens rule, that is whether anybody was admitted."""
        return bool(self.people)


@attrs.frozen
class Ended:
    """The end of a transaction: the row of its head, and what it stands for. `tree` proves what was written in it."""

    row: tuple[Any, ...]
    believed: Believed
    public_key: str | None
    tree: Tree
    first: int  # number of the first entry that was written with it
    before: tuple[Any, ...] = ()  # the row of the head that it continues

    @classmethod
    def of(
        cls,
        facts: Facts,
        tree: Tree,
        people: Mapping[str, Principal],
        public: str | None,
        key: SigningKey | None,
        first: int = 1,
        before: tuple[Any, ...] = (),
    ) -> Ended:
        """With the signature of the key, where there is one."""
        signature = None if public is None or key is None else key.signature(facts.message(HEAD))
        peaks = "".join(peak.hex() for peak in tree.peaks)
        row = (1, facts.seq, facts.time, facts.hash, signature, public, facts.root, peaks, facts.access)
        return cls(row, Believed(facts, Point(facts.seq, facts.hash, tree.peaks), people), public, tree, first, before)

    def receipts(self, entries: Iterable[Entry], key: SigningKey | None) -> Iterator[BatchReceipt]:
        """Of entries that were written with this head: one signature for all of them."""
        facts = self.believed.facts
        public = None if key is None else key.public
        signature = None if key is None else key.signature(facts.message(BATCH_SCHEMA))
        for entry in entries:
            path = tuple(one.hex() for one in inclusion(entry.seq - 1, facts.seq, self.tree.node))
            yield BatchReceipt(
                ledger=facts.ledger, **entry.row(), public_key=public, signature=signature, end=facts, path=path
            )

    def values(self) -> dict[str, Any]:
        """The columns of the row."""
        return dict(zip(COLUMNS, self.row, strict=True))

    def new_values(self) -> dict[str, Any]:
        """The parameters of NEW_HEAD."""
        return {f"new_{name}": value for name, value in self.values().items() if name != "id"}

    def begin(self, connection: Connection) -> None:
        """Write the row where there is none yet."""
        connection.execute(insert(schema.head), self.values())
        write_tiles(connection, self.tree)


def write_tiles(connection: Connection, tree: Tree) -> None:
    """Keep the subtrees of 256, 65,536, ... leaves that were completed, so that later proofs read little."""
    if tree.tiles:
        rows = [{"level": level, "place": place, "root": root.hex()} for level, place, root in tree.tiles]
        connection.execute(insert(schema.tiles), rows)


_cells = attrgetter(*COLUMNS)


def head_row(head: Any) -> tuple[Any, ...]:
    """The cells of the head, and nothing that was read beside them."""
    found: tuple[Any, ...] = _cells(head)
    return found


def head_facts(identity: str, head: Any) -> tuple[Facts, tuple[bytes, ...]]:
    """What the head says, and the peaks of its tree; BrokenChain when they do not fit each other."""
    cells = (head.time, head.hash, head.root, head.peaks, head.access)
    try:
        raw = bytes.fromhex(head.peaks) if all(type(cell) is str for cell in cells) else b""
    except ValueError:
        raw = b""
    peaks = tuple(raw[at : at + DIGEST] for at in range(0, len(raw), DIGEST))
    fits = type(head.seq) is int and 0 < head.seq < 2**63 and len(raw) == DIGEST * len(levels(head.seq))
    if not fits or head.peaks != raw.hex() or root_of(peaks).hex() != head.root:
        raise BrokenChain("the head of the chain cannot be read: restore the ledger from an export")
    return Facts(identity, head.seq, head.time, head.hash, head.root, head.access), peaks


def hashes_between(connection: Connection, first: int, last: int) -> Iterator[bytes]:
    """The hashes of the entries after one number, up to another, in order; BrokenChain where one is missing."""
    columns = schema.entries.c
    while first < last:
        asked = select(columns.seq, columns.hash).where(columns.seq > first, columns.seq <= last)
        rows = connection.execute(asked.order_by(columns.seq).limit(BATCH)).all()
        if not rows:
            raise BrokenChain("it is missing", first + 1)
        for seq, hash in rows:
            if seq != first + 1:
                raise BrokenChain("it is missing", first + 1)
            yield digest_of(hash, seq)
            first = seq


def rows_between(connection: Connection, first: int, last: int) -> Iterator[Any]:
    """The rows of the entries after one number, up to another, as they are; fewer where some are missing."""
    columns = schema.entries.c
    while first < last:
        asked = select(schema.entries).where(columns.seq > first, columns.seq <= last)
        rows = connection.execute(asked.order_by(columns.seq).limit(BATCH)).all()
        if not rows:
            return
        yield from rows
        first = rows[-1].seq


def digest_of(hash: Any, seq: int) -> bytes:
    """The bytes of an entry's hash; BrokenChain for what is none."""
    try:
        raw = bytes.fromhex(hash)
    except (TypeError, ValueError):
        raw = b""
    if len(raw) != DIGEST:
        raise BrokenChain("its hash is not that of its content", seq)
    return raw


def key_entries(connection: Connection, first: int, last: int) -> list[Entry]:
    """Entries that changed the key, after one number and up to another."""
    columns = schema.entries.c
    asked = select(schema.entries).where(columns.kind == "key", columns.seq > first, columns.seq <= last)
    return [Entry(*row) for row in connection.execute(asked.order_by(columns.seq))]


def access_of(people: Iterable[Principal]) -> str:
    """The digest of who may use a ledger, as its head signs it."""
    return access_digest(attrs.astuple(one) for one in people)


def people_of(connection: Connection, access: str) -> dict[str, Principal] | None:
    """Everybody who was admitted; None when the rows do not have this digest."""
    people = {row.name: Principal(*row) for row in connection.execute(select(schema.principals))}
    try:
        return people if access_of(people.values()) == access else None
    except (QuiltworkError, TypeError):  # cells of any type that somebody put there
        return None
