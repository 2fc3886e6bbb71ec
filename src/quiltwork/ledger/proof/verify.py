"""Verification: the chain is walked from its first entry, replayed into an empty book, and held against every row.

A changed byte breaks the hash of its entry, a missing or moved entry breaks the numbers or the links, and a change of a
derived row differs from the replay. One signature, of the head, then vouches for all of it. Memory does not grow with
the number of entries.

What it cannot see without help: a database put back to an earlier state, head and signature included. The mark beside
the key shows it, and so does a receipt or a checkpoint that was kept elsewhere: give `receipts` or `since`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import attrs
from sqlalchemy import Connection, func, or_, select

from quiltwork.document.draw import notebook as markup
from quiltwork.errors import AccessDenied, BrokenChain, BudgetExceeded, InvalidParameter, NotOpen, QuiltworkError
from quiltwork.kinds import document
from quiltwork.ledger import names as words
from quiltwork.ledger.book import rules
from quiltwork.ledger.book.book import ENDED, Account, Charge, MemoryBook, reservation_row
from quiltwork.ledger.book.changes import apply
from quiltwork.ledger.book.terms import Terms
from quiltwork.ledger.chain.entries import GENESIS, Entry, canonical, moment
from quiltwork.ledger.chain.keys import is_public_key, signed_by
from quiltwork.ledger.chain.mark import Point
from quiltwork.ledger.chain.receipts import Receipt
from quiltwork.ledger.chain.statements import HEAD, Checkpoint, Facts
from quiltwork.ledger.chain.tree import Tree
from quiltwork.ledger.store import schema
from quiltwork.ledger.store.heads import access_of
from quiltwork.ledger.store.rows import entries_after

Progress = Callable[[int, int], None]
_ACTS = dict.fromkeys(
    ("spend", "reserve", "start", "settle", "refund", "lapse", "result"), "spend"
)  # all others manage


@document("verification/1")
@attrs.frozen
class Verification:
    """Whether everything is as it was written; if not, the first entry that is not, and why."""

    holds: bool
    entries: int
    first_bad: int | None = None
    problem: str | None = None
    signed: bool = False
    known: bool = False  # whether it was said, or at hand, whose key must have signed it

    def __bool__(self) -> bool:
        return self.holds

    def explain(self) -> str:
        """One line."""
        if self.holds:
            signed = "signed by the ledger's key" if self.signed else "not signed"
            if self.signed and not self.known:
                signed = "signed by the key that it names itself; say whose it must be to be sure"
            return f"All {self.entries:,} entries are as they were written; the chain is {signed}."
        if self.first_bad is None:
            return f"It does not hold: {self.problem}."
        return f"Entry {self.first_bad} is not as it was written: {self.problem}."

    def _repr_html_(self) -> str:
        return markup.block(markup.paragraphs([self.explain()]))

    def to_json(self) -> dict[str, Any]:
        return {"schema": "quiltwork/verification/1", **attrs.asdict(self)}


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


class Checker:
    """Entries one by one, from the first: each must follow from those before."""

    def __init__(self, book: MemoryBook | None = None) -> None:
        self.book = MemoryBook() if book is None else book
        self.seq, self.hash, self.time = 0, GENESIS, ""
        self.tree = Tree()

    def take(self, entry: Entry) -> None:
        """BrokenChain when this is not the next entry."""
        if entry.seq != self.seq + 1:
            raise BrokenChain(f"it is missing, or out of order (found {entry.seq})", self.seq + 1)
        if not all(isinstance(value, str) or value is None for value in attrs.astuple(entry)[1:]) or not entry.sound():
            raise BrokenChain("its hash is not that of its content", entry.seq)
        if entry.previous != self.hash:
            raise BrokenChain("it does not follow the entry before", entry.seq)
        if not _is_time(entry.time) or (entry.time < self.time and entry.kind != "clock"):
            raise BrokenChain("its time is none, or before that of the entry before", entry.seq)
        if (entry.seq == 1) != (entry.kind == "ledger"):
            raise BrokenChain("a ledger begins with one entry of kind 'ledger'", entry.seq)
        try:
            self._rule(entry)
            apply(self.book, entry)
        except BrokenChain:
            raise
        except QuiltworkError as error:
            raise BrokenChain(f"its content cannot be read ({error})", entry.seq) from None
        self.tree.append(bytes.fromhex(entry.hash))
        self.seq, self.hash, self.time = entry.seq, entry.hash, entry.time

    @property
    def facts(self) -> Facts:
        """What a head says that ends here."""
        access = access_of(self.book.principals.values())
        return Facts(self.book.identity, self.seq, self.time, self.hash, self.tree.root.hex(), access)

    def check_signature(self, signature: Any, what: str, message: bytes) -> bool:
        """Whether the ledger signs; BrokenChain when `what` ends here and is not signed as its key says."""
        public = self.book.public_key
        if public is None:
            if signature is not None:
                raise BrokenChain(f"{what} is signed by nobody's key", self.seq)
            return False
        if not signed_by(public, message, signature):
            raise BrokenChain(f"{what} is not signed by the ledger's key", self.seq)
        return True

    def _rule(self, entry: Entry) -> None:
        """Who acted was allowed to; no entry passes the limit of its budget, or takes less than its loss costs."""
        account = self.book.account(entry.budget) if entry.budget is not None else None
        self._check_who(entry, account)
        if entry.kind == "open":
            rules.check_translation(Terms.from_json(entry.content))
        if entry.kind not in ("spend", "reserve") or account is None:
            return
        try:
            content = entry.content
            charge = Charge.read(content)
            rules.check_price(account.fixed(charge).terms, charge, content["loss"])
            rules.check_open(account, moment(entry.time))
            rules.admit(self.book, account.at(charge.period), charge)
        except BudgetExceeded:
            raise BrokenChain(f"it passes the limit of budget {entry.budget!r}", entry.seq) from None
        except NotOpen:
            raise BrokenChain(f"budget {entry.budget!r} was not open", entry.seq) from None
        except (KeyError, TypeError, ValueError, AttributeError, ArithmeticError) as error:
            raise BrokenChain(f"its body is not that of a {entry.kind!r} entry ({error!r})", entry.seq) from None

    def _check_who(self, entry: Entry, account: Account | None) -> None:
        """Once there are principals, every act is one of theirs, while their token was good for it."""
        guarded = bool(self.book.principals)
        principal = self.book.principal(entry.principal) if entry.principal is not None else None
        who = None if principal is None else (principal.name, principal.identity)
        if entry.kind in ("denied", "format"):
            return
        try:
            rules.check_right(self.book, guarded, who, _ACTS.get(entry.kind, "manage"), moment(entry.time), account)
        except AccessDenied as denied:
            raise BrokenChain(f"{entry.principal!r} may not have done it: {denied.why}", entry.seq) from None
        if not guarded and entry.principal is not None:
            raise BrokenChain(f"nobody is called {entry.principal!r}", entry.seq)


def _is_time(text: str) -> bool:
    try:
        return bool(moment(text))
    except QuiltworkError:
        return False


class Kept:
    """Receipts that were kept elsewhere: each must be met on the way."""

    def __init__(self, receipts: Iterable[Receipt], book: MemoryBook, public: str | None = None) -> None:
        self._book, self._public = book, public
        self._waiting: dict[int, list[Receipt]] = {}
        for receipt in receipts:
            try:
                receipt.check(allow_unsigned=True)
            except BrokenChain as error:
                raise BrokenChain(f"the receipt of entry {receipt.seq!r} is not genuine: {error.problem}") from None
            self._waiting.setdefault(receipt.seq, []).append(receipt)

    def meet(self, entry: Entry) -> None:
        """BrokenChain when a receipt of this number is of another entry."""
        for receipt in self._waiting.pop(entry.seq, []):
            if receipt.hash != entry.hash:
                self._check_own(receipt)
                raise BrokenChain("it is not the entry of the receipt", entry.seq)

    def check_met(self) -> None:
        """BrokenChain when some were not met."""
        for seq in sorted(self._waiting):
            for receipt in self._waiting[seq]:
                self._check_own(receipt)
            raise BrokenChain("the receipt's entry is gone", seq)

    def _check_own(self, receipt: Receipt) -> None:
        """Only a receipt that this ledger wrote says which entry was changed."""
        doubt = "either it is not a receipt of this one, or this one was replaced"
        if receipt.ledger != self._book.identity:
            raise BrokenChain(f"the receipt of entry {receipt.seq} is of another ledger, {receipt.ledger!r}: {doubt}")
        if self._book.keys and receipt.public_key not in self._book.keys | ({self._public} - {None}):
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
        self._waiting: dict[int, list[tuple[str, str | None, str]]] = {}
        if known.point is not None:
            self._waiting[known.point.seq] = [(known.point.hash, None, "what was seen here before")]
        for one in known.checkpoints:
            one.check(allow_unsigned=True)
            self._waiting.setdefault(one.seq, []).append((one.hash, one.root, "the checkpoint"))

    def meet(self, entry: Entry) -> None:
        """BrokenChain when another history was seen up to this number."""
        for hash, root, what in self._waiting.pop(entry.seq, ()):
            if hash != entry.hash or root not in (None, self._checker.tree.root.hex()):
                self._check_own()
                raise BrokenChain(f"it is not the entry of {what}: the chain up to here was written anew", entry.seq)

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


def verified(connection: Connection, progress: Progress | None, known: Elsewhere | None = None) -> Verification:
    """The whole ledger in one consistent view, held against what is known of it from elsewhere."""
    checker, known = Checker(), Elsewhere() if known is None else known
    public = known.public_key
    total = int(connection.execute(select(func.count()).select_from(schema.entries)).scalar_one())
    try:
        kept, ends = Kept(known.receipts, checker.book, public), Ends(known, checker)
        for entry in entries_after(connection, None):
            checker.take(entry)
            kept.meet(entry)
            ends.meet(entry)
            if progress is not None and entry.seq % 1000 == 0:
                progress(entry.seq, total)
        kept.check_met()
        ends.check_met()
        if checker.seq != total:
            raise BrokenChain("there are entries without a place in the chain", checker.seq + 1)
        if public is not None and checker.book.public_key != public:
            raise BrokenChain("another key signs for this chain than the one that is known", checker.seq)
        signed = _head(connection, checker)
        check_rows(connection, checker)
    except BrokenChain as error:
        return Verification(False, checker.seq, error.seq, error.problem)
    except QuiltworkError as error:
        return Verification(False, checker.seq, checker.seq, str(error))
    if progress is not None:
        progress(total, total)
    return Verification(True, checker.seq, signed=signed, known=public is not None)


def _head(connection: Connection, checker: Checker) -> bool:
    heads = connection.execute(select(schema.head)).all()
    if len(heads) != 1 or heads[0].id != 1:
        raise BrokenChain("the head of the chain is missing or not alone", checker.seq)
    head, last, facts = heads[0], checker.seq, checker.facts
    if (head.seq, head.hash, head.time) != (last, checker.hash, checker.time):
        first = last + 1 if isinstance(head.seq, int) and head.seq > last else last
        raise BrokenChain("the head of the chain names another last entry", first)
    if head.public_key != checker.book.public_key:
        raise BrokenChain("the head of the chain names another key", last)
    peaks = "".join(peak.hex() for peak in checker.tree.peaks)
    if (head.root, head.peaks) != (facts.root, peaks):
        raise BrokenChain("the head of the chain names another tree", last)
    if head.access != facts.access:
        raise BrokenChain("the head of the chain says otherwise who may use the ledger", last)
    if head.signature is None and not checker.book.signs_heads:
        return False  # a copy of an old export, imported without its key
    return checker.check_signature(head.signature, "the head of the chain", facts.message(HEAD))


def check_rows(connection: Connection, checker: Checker, *, kept_tiles: bool = True) -> None:
    """Every derived row against the replay; a difference is laid at the last entry that could have written it."""
    book, last = checker.book, checker.seq
    for row in connection.execute(select(schema.budgets)):
        account = book.accounts.pop(row.name, None)
        if account is None:
            raise BrokenChain(f"a row of budget {row.name!r} was never written", last)
        mine = (account.opened, canonical(account.terms.to_json()), account.standing.text())
        if any(map(_odd, tuple(row)[1:], mine)):
            raise BrokenChain(f"the row of budget {row.name!r} says something else", account.standing.last)
    if book.accounts:
        name, account = min(book.accounts.items())
        raise BrokenChain(f"the row of budget {name!r} is missing", account.standing.last)
    _compare(connection, schema.tallies, {place: {"amount": value} for place, value in book.amounts.items()}, last)
    tiles = {(level, place): {"root": root.hex()} for level, place, root in checker.tree.tiles}
    if kept_tiles:
        _compare(connection, schema.tiles, tiles, last)
    _compare(connection, schema.principals, {(one.name,): attrs.asdict(one) for one in book.principals.values()}, last)
    status = schema.reservations.c.status
    active = {(one.seq,): reservation_row(one) for one in book.reservations.values()}
    _compare(connection, schema.reservations, active, last, or_(status.is_(None), status.not_in(ENDED)))
    rows = connection.execution_options(yield_per=1000).execute(select(schema.reservations).where(status.in_(ENDED)))
    found = 0
    for row in rows:
        found = (found + book.fingerprint(dict(row._mapping))) % 2**256
    if found != book.ended:
        raise BrokenChain("a row of a reservation that has ended is not as it was written", last)


def _odd(found: Any, expected: Any) -> bool:
    """Whether a cell is not exactly what it should be: SQLite takes any type anywhere."""
    return type(found) is not type(expected) or found != expected


def _compare(
    connection: Connection, table: Any, mine: dict[tuple[Any, ...], dict[str, Any]], last: int, where: Any = None
) -> None:
    keys = [column.name for column in table.primary_key]
    asked = select(table) if where is None else select(table).where(where)
    for row in connection.execute(asked).mappings():
        expected = mine.pop(tuple(row[name] for name in keys), None)
        if expected is None:
            raise BrokenChain(f"a row of {table.name} was never written", last)
        if any(_odd(row[name], value) for name, value in expected.items()):
            raise BrokenChain(f"a row of {table.name} says something else", last)
    if mine:
        raise BrokenChain(f"a row of {table.name} is missing", last)
