"""What is known of a ledger from elsewhere: receipts, checkpoints, and the mark. Each must be met in the chain."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import Any

import attrs

from quiltwork.errors import BrokenChain, InvalidParameter
from quiltwork.ledger import names as words
from quiltwork.ledger.book.book import MemoryBook
from quiltwork.ledger.chain.keys import is_public_key
from quiltwork.ledger.chain.mark import Point
from quiltwork.ledger.chain.receipts import Receipt
from quiltwork.ledger.chain.statements import Checkpoint, Facts
from quiltwork.ledger.chain.tree import root_of
from quiltwork.ledger.proof.checker import Checker
from quiltwork.ledger.store.tiles import StoredTree


def public_key_of(given: Any) -> str | None:
    """A public key, if one was named."""
    if given is not None and not is_public_key(given):
        raise InvalidParameter("public_key", given, "a public key (base64 of 32 bytes)")
    return None if given is None else str(given)


def receipts_of(given: Any) -> tuple[Receipt, ...]:
    """Receipts that were kept elsewhere."""
    found = words.listed("receipts", given, "receipts of this ledger")
    for receipt in found:
        if not isinstance(receipt, Receipt):
            raise InvalidParameter("receipts", receipt, "receipts of this ledger")
    return found


def checkpoints_of(given: Any) -> tuple[Checkpoint, ...]:
    """One checkpoint or several, as objects, JSON or files."""
    one = isinstance(given, (Checkpoint, Mapping, str, os.PathLike))
    return tuple(map(Checkpoint.read, (given,) if one else words.listed("since", given, "checkpoints of this ledger")))


class Kept:
    """Receipts that were kept elsewhere: each must be met on the way."""

    def __init__(self, receipts: Iterable[Receipt], book: MemoryBook, public: str | None = None) -> None:
        self.book, self._public = book, public
        self._waiting: dict[int, list[Receipt]] = {}
        for receipt in receipts:
            try:
                receipt.check(allow_unsigned=True)
            except BrokenChain as error:
                raise BrokenChain(f"the receipt of entry {receipt.seq!r} is not genuine: {error.problem}") from None
            self._waiting.setdefault(receipt.seq, []).append(receipt)

    def waiting(self) -> list[int]:
        """Numbers of the receipts that were not met."""
        return sorted(self._waiting)

    def meet(self, seq: int, hash: str) -> None:
        """BrokenChain when a receipt of this number is of another entry."""
        for receipt in self._waiting.pop(seq, ()):
            if receipt.hash != hash:
                self._check_own(receipt)
                raise BrokenChain("it is not the entry of the receipt", seq)

    def check_met(self) -> None:
        """BrokenChain when some were not met."""
        for seq in sorted(self._waiting):
            for receipt in self._waiting[seq]:
                self._check_own(receipt)
            raise BrokenChain("the receipt's entry is gone", seq)

    def _check_own(self, receipt: Receipt) -> None:
        """Only a receipt that this ledger wrote says which entry was changed."""
        doubt = "either it is not a receipt of this one, or this one was replaced"
        if receipt.ledger != self.book.identity:
            raise BrokenChain(f"the receipt of entry {receipt.seq} is of another ledger, {receipt.ledger!r}: {doubt}")
        if self.book.keys and receipt.public_key not in self.book.keys | ({self._public} - {None}):
            raise BrokenChain(f"the receipt of entry {receipt.seq} is not signed by a key of this ledger: {doubt}")


@attrs.frozen
class Elsewhere:
    """What is known of a ledger from elsewhere: its key, an end of its chain, receipts and checkpoints of it."""

    public_key: str | None = None
    point: Point | None = None  # of the mark, or of this process
    receipts: tuple[Receipt, ...] = ()
    checkpoints: tuple[Checkpoint, ...] = ()


class Ends:
    """Ends of the chain that were seen before: each must be met on the way."""

    def __init__(self, known: Elsewhere, checker: Checker) -> None:
        self._checker, self._known = checker, known
        self._waiting: dict[int, list[tuple[str, str, str]]] = {}
        if (point := known.point) is not None:
            self._waiting[point.seq] = [(point.hash, root_of(point.peaks).hex(), "what was seen here before")]
        for one in known.checkpoints:
            one.check(allow_unsigned=True)
            self._waiting.setdefault(one.seq, []).append((one.hash, one.root, "the checkpoint"))

    def waiting(self) -> list[int]:
        """Numbers of the ends that were not met."""
        return sorted(self._waiting)

    def meet(self, seq: int, hash: str) -> None:
        """BrokenChain when another history was seen up to this number."""
        for end, root, what in self._waiting.pop(seq, ()):
            if hash != end or root != self._checker.tree.root.hex():
                self._check_own()
                raise BrokenChain(f"it is not the entry of {what}: the chain up to here was written anew", seq)

    def meet_earlier(self, tree: StoredTree, facts: Facts) -> None:
        """Those that end before what was read: the tree of now must continue theirs."""
        for seq in [seq for seq in self._waiting if seq <= facts.seq]:
            for _, root, _ in self._waiting.pop(seq):
                self._check_own()
                tree.proof(seq, root, facts)

    def check_met(self) -> None:
        """BrokenChain when the chain ends before one of them."""
        self._check_own()
        for seq, ends in sorted(self._waiting.items()):
            first = self._checker.seq + 1
            gone = f"entries {first} to {seq} are" if first < seq else "it is"
            problem = f"{gone} missing: {ends[0][2]} ends with entry {seq}"
            raise BrokenChain(f"{problem}. It was put back to an earlier state", first)

    def _check_own(self) -> None:
        """Only a checkpoint that this ledger signed says anything about it."""
        book = self._checker.book
        keys = book.keys | ({self._known.public_key} - {None})
        for one in self._known.checkpoints:
            if one.ledger != book.identity:
                raise BrokenChain(f"the checkpoint of entry {one.seq} is of another ledger, {one.ledger!r}")
            if keys and one.public_key not in keys:
                raise BrokenChain(f"the checkpoint of entry {one.seq} is not signed by a key of this ledger")
