"""A Merkle tree over the hashes of a ledger's entries: entry `seq` is leaf `seq - 1`.

The *peaks* of a tree of n leaves are its largest complete subtrees from left to right, one for each 1 in the binary
form of n. They are all that appending needs; with the new leaves they are all that proofs of the new leaves need. Two
trees of one size with one root have the same leaves, unless somebody found a collision of SHA-256; and each peak of m
leaves is a node of the tree of any n >= m leaves. So whoever keeps the peaks of m and reads the leaves m + 1 to n knows
whether a root of n leaves continues the same first m.

Reference: RFC 9162, section 2.1; theory/ledger.md sections 2.2 (Lemma 2) and 2.4 (Theorem 4).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from hashlib import sha256
from typing import Final

EMPTY: Final = sha256(b"").digest()
TILE: Final = 8  # levels between two rows of complete subtrees that are kept
Node = Callable[[int, int], bytes]  # root of the leaves [index << level, (index + 1) << level)


def leaf(content: bytes) -> bytes:
    """The hash of a leaf."""
    return sha256(b"\x00" + content).digest()


def parent(left: bytes, right: bytes) -> bytes:
    """The hash of two subtrees side by side."""
    return sha256(b"\x01" + left + right).digest()


def root_of(peaks: Sequence[bytes]) -> bytes:
    """The root, from the peaks."""
    if not peaks:
        return EMPTY
    value = peaks[-1]
    for peak in peaks[-2::-1]:
        value = parent(peak, value)
    return value


class Tree:
    """A tree that grows. With `keep` its new complete subtrees stay in `nodes`, for proofs of what was appended."""

    def __init__(self, size: int = 0, peaks: Iterable[bytes] = (), *, keep: bool = False) -> None:
        self.size, self._peaks, self._keep = size, list(peaks), keep
        self.nodes: dict[tuple[int, int], bytes] = {}
        self.tiles: list[tuple[int, int, bytes]] = []  # subtrees of 256 ** level leaves that were completed
        if keep:
            at = 0
            for level, peak in zip(levels(size), self._peaks, strict=True):
                self.nodes[level, at >> level] = peak
                at += 1 << level

    def append(self, content: bytes) -> None:
        """One more leaf."""
        level, index, value = 0, self.size, leaf(content)
        if self._keep:
            self.nodes[0, index] = value
        while index & 1:
            value = parent(self._peaks.pop(), value)
            level, index = level + 1, index >> 1
            if self._keep:
                self.nodes[level, index] = value
            if not level % TILE:
                self.tiles.append((level // TILE, index, value))
        self._peaks.append(value)
        self.size += 1

    @property
    def peaks(self) -> tuple[bytes, ...]:
        return tuple(self._peaks)

    @property
    def root(self) -> bytes:
        return root_of(self._peaks)

    def node(self, level: int, index: int) -> bytes:
        """A complete subtree that is kept."""
        return self.nodes[level, index]


def levels(size: int) -> list[int]:
    """The heights of the peaks, from left to right."""
    return [level for level in reversed(range(size.bit_length())) if size >> level & 1]


def _spanned(low: int, high: int, node: Node) -> bytes:
    """Root of the leaves [low, high), where low is a multiple of the least power of two that covers them."""
    count = high - low
    if not count & (count - 1):
        return node(count.bit_length() - 1, low // count)
    half = 1 << (count - 1).bit_length() - 1
    return parent(_spanned(low, low + half, node), _spanned(low + half, high, node))


def inclusion(index: int, size: int, node: Node) -> list[bytes]:
    """The path of a leaf to the root, from the leaf upwards."""

    def path(low: int, high: int) -> list[bytes]:
        if high - low == 1:
            return []
        half = 1 << (high - low - 1).bit_length() - 1
        if index < low + half:
            return [*path(low, low + half), _spanned(low + half, high, node)]
        return [*path(low + half, high), _spanned(low, low + half, node)]

    return path(0, size)


def consistency(old: int, size: int, node: Node) -> list[bytes]:
    """What shows that the tree of `size` leaves continues the one of `old` leaves, 0 < old <= size."""

    def path(low: int, high: int, whole: bool) -> list[bytes]:
        if old == high:
            return [] if whole else [_spanned(low, high, node)]
        half = 1 << (high - low - 1).bit_length() - 1
        if old <= low + half:
            return [*path(low, low + half, whole), _spanned(low + half, high, node)]
        return [*path(low + half, high, False), _spanned(low, low + half, node)]

    return path(0, size, True) if old < size else []


def includes(content: bytes, index: int, size: int, proof: Sequence[bytes], root: bytes) -> bool:
    """Whether a path leads from a leaf of this place to the root of a tree of this size (RFC 9162, 2.1.3.2)."""
    if not 0 <= index < size:
        return False
    at, last, value = index, size - 1, leaf(content)
    for one in proof:
        if last == 0:
            return False
        if at & 1 or at == last:
            value = parent(one, value)
            while not at & 1 and at:
                at, last = at >> 1, last >> 1
        else:
            value = parent(value, one)
        at, last = at >> 1, last >> 1
    return last == 0 and value == root


def continues(old: int, old_root: bytes, size: int, root: bytes, proof: Sequence[bytes]) -> bool:
    """Whether the tree with this root begins with the leaves of the older one (RFC 9162, 2.1.4.2)."""
    if not 0 < old <= size:
        return False
    if old == size:
        return not proof and old_root == root
    if not proof:
        return False
    path = list(proof) if old & (old - 1) else [old_root, *proof]
    at, last = old - 1, size - 1
    while at & 1:
        at, last = at >> 1, last >> 1
    first = second = path[0]
    for one in path[1:]:
        if last == 0:
            return False
        if at & 1 or at == last:
            first, second = parent(one, first), parent(one, second)
            while not at & 1 and at:
                at, last = at >> 1, last >> 1
        else:
            second = parent(second, one)
        at, last = at >> 1, last >> 1
    return last == 0 and first == old_root and second == root
