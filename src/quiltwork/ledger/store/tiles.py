"""Any node of the tree over the entries, from what a database keeps: the entries, and a row for each full subtree.

The rows follow from the entries like any other, so that a proof made of them is held against the signed root before it
is given out. A row stands for 256, 65,536, ... entries; a proof reads at most 256 hashes for each of those powers.

Reference: theory/ledger.md section 2.2.
"""

from __future__ import annotations

from sqlalchemy import Connection, select

from quiltwork.errors import BrokenChain
from quiltwork.ledger.chain.entries import Entry
from quiltwork.ledger.chain.statements import ConsistencyProof, Facts
from quiltwork.ledger.chain.tree import TILE, consistency, continues, includes, inclusion, leaf, parent
from quiltwork.ledger.store import schema
from quiltwork.ledger.store.heads import digest_of, hashes_between


class StoredTree:
    """The tree as a database keeps it; each row is read once."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._known: dict[tuple[int, int], bytes] = {}

    def node(self, level: int, index: int) -> bytes:
        """The root of a complete subtree."""
        if (level, index) not in self._known:
            base = level - level % TILE
            first, count = index << level - base, 1 << level - base
            row = self._leaves(first, count) if base == 0 else self._tiles(base // TILE, first, count)
            while len(row) > 1:
                row = [parent(one, two) for one, two in zip(row[::2], row[1::2], strict=True)]
            self._known[level, index] = row[0]
        return self._known[level, index]

    def _leaves(self, first: int, count: int) -> list[bytes]:
        return [leaf(hash) for hash in hashes_between(self._connection, first, first + count)]

    def _tiles(self, level: int, first: int, count: int) -> list[bytes]:
        columns = schema.tiles.c
        asked = select(columns.root).where(columns.level == level, columns.place.between(first, first + count - 1))
        found = self._connection.execute(asked.order_by(columns.place)).scalars().all()
        if len(found) != count:
            raise BrokenChain("rows of the tree over the entries are missing: run repair")
        return [digest_of(root, 0) for root in found]

    def check_included(self, entry: Entry, facts: Facts) -> None:
        """BrokenChain when an entry is not the one that the signed root stands for."""
        path = inclusion(entry.seq - 1, facts.seq, self.node)
        content = digest_of(entry.hash, entry.seq)
        if not entry.sound() or not includes(content, entry.seq - 1, facts.seq, path, bytes.fromhex(facts.root)):
            raise BrokenChain("it is not as it was written: run verify", entry.seq)

    def proof(self, first: int, old_root: str, facts: Facts) -> ConsistencyProof:
        """That the chain continues an older one; BrokenChain when it does not."""
        path = consistency(first, facts.seq, self.node)
        if not continues(first, bytes.fromhex(old_root), facts.seq, bytes.fromhex(facts.root), path):
            raise BrokenChain(f"the chain does not continue the one of entry {first}: it was written anew", first)
        return ConsistencyProof(first, facts.seq, tuple(one.hex() for one in path))
