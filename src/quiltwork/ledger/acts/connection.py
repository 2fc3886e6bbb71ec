"""A ledger that is reached: its store, its key, who asks, transactions on it, and its entries read back."""

from __future__ import annotations

import os
import uuid
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import datetime
from typing import Any, TypeVar

import attrs
from sqlalchemy import Connection, insert, select

from quiltwork import checks
from quiltwork.errors import AccessDenied, BrokenChain, InvalidParameter, LedgerUnavailable, QuiltworkError
from quiltwork.ledger import names as words
from quiltwork.ledger import tokens
from quiltwork.ledger.book import rules
from quiltwork.ledger.book.book import Principal
from quiltwork.ledger.book.terms import Terms
from quiltwork.ledger.chain.entries import GENESIS, Entry, Receipt, message
from quiltwork.ledger.chain.keys import SigningKey
from quiltwork.ledger.store import schema
from quiltwork.ledger.store.addresses import address, file_of
from quiltwork.ledger.store.rows import LiveBook, Writer, entry_at, first_entries, in_batches, newest_entries
from quiltwork.ledger.store.store import Clock, Store, read_head

KEY_VARIABLE = "QUILTWORK_LEDGER_KEY"
MOST_LAST = 100_000  # entries that are read in one view
KeyFile = str | os.PathLike[str]
Result = TypeVar("Result")


class Seen:
    """The newest head that a ledger showed: it must not show an earlier one later."""

    def __init__(self) -> None:
        self.newest: tuple[int, str] = (0, "")

    def check(self, head: Any, before: tuple[int, str]) -> None:
        """BrokenChain for a head that is older than one seen before, or as old and another."""
        if head.seq < before[0] or (head.seq == before[0] and head.hash != before[1]):
            raise BrokenChain(
                f"the ledger was put back to an earlier state: entry {before[0]} was seen, now it ends with {head.seq}",
                head.seq + 1 if head.seq < before[0] else head.seq,
            )
        self.note(head.seq, head.hash)

    def note(self, seq: int, hash: str) -> None:
        """Remember a head, or an entry that was the head for a moment."""
        if seq > self.newest[0]:
            self.newest = (seq, hash)


def connect(url: str, key: KeyFile | None, token: str | None, clock: Clock | None, timeout: float) -> Session:
    """Reach the ledger of a database, which is made where there is none, as whom the token names."""
    store = Store(address(url), checks.positive("timeout", timeout), clock)
    found = store.version()
    if found is None:
        store.make(lambda connection: _begin(connection, store, key))
    else:
        store.check_version(found)
    with store.reading() as connection:
        first, head = entry_at(connection, 1), read_head(connection)
    identity = str(first.content["id"]) if first is not None else ""
    session = Session(store, identity, _signing_key(store, key, head.public_key))
    return session if token is None else session.signed_in(token)


def _begin(connection: Connection, store: Store, key: KeyFile | None) -> None:
    """The first entry: the ledger's identity and the key that signs for it."""
    place = _key_file(store, key)
    signing = None if place is None else SigningKey.load(place) if os.path.exists(place) else SigningKey.create(place)
    identity = uuid.uuid4().hex
    public = None if signing is None else signing.public
    entry = Entry.made(
        previous=GENESIS, seq=1, time=store.now(connection), kind="ledger",
        budget=None, principal=None, key=None, body={"id": identity, "public_key": public},
    )  # fmt: skip
    connection.execute(insert(schema.entries), attrs.asdict(entry))
    signature = None if signing is None else signing.signature(message(identity, entry.hash))
    made = {"id": 1, "seq": 1, "time": entry.time, "hash": entry.hash, "signature": signature}
    connection.execute(insert(schema.head), {**made, "public_key": public, "guarded": 0})


def _key_file(store: Store, key: KeyFile | None) -> KeyFile | None:
    file = file_of(store.url)
    return key or os.environ.get(KEY_VARIABLE) or (None if file is None else f"{file}.key")


def _signing_key(store: Store, key: KeyFile | None, public: str | None) -> SigningKey | None:
    """The private key that belongs to the ledger; None when it is not here, and then only reading is possible."""
    place = _key_file(store, key)
    if place is None or (key is None and not os.path.exists(place)):
        return None
    if public is None:
        raise BrokenChain(
            f"the ledger is not signed, although there is a key for it, {place}: was it replaced? If it never was "
            "signed, leave the key out and rotate to it"
        )
    found = SigningKey.load(place)
    if found.public == public:
        return found
    if key is not None:
        raise InvalidParameter("key", str(place), "the file of the key that signs for this ledger")
    raise BrokenChain(
        f"another key signs for this ledger than that of {place}: after a rotation give the new file, otherwise it "
        "was replaced"
    )


@attrs.define(eq=False)
class Session:
    """What every act needs: one transaction, one entry, one signed head."""

    store: Store
    identity: str
    key: SigningKey | None
    who: rules.Who | None = None
    seen: Seen = attrs.Factory(Seen)
    known: dict[str, Terms] = attrs.Factory(dict)

    @property
    def name(self) -> str | None:
        """Of the principal who asks, if any."""
        return None if self.who is None else self.who[0]

    def signed_in(self, token: str) -> Session:
        """The same ledger, used by whom the token names; AccessDenied for a token that is not known."""
        try:
            with self.store.reading() as connection:
                return attrs.evolve(self, who=_sign_in(connection, token, self.store.now(connection)))
        except AccessDenied as denied:
            self._note_denial(denied, None)
            raise

    def head(self) -> Any:
        """Where the chain ends, for whoever asks."""
        with self.store.reading() as connection:
            return read_head(connection)

    def write(
        self,
        act: str,
        work: Callable[[Writer], Entry],
        *,
        budget: str | None = None,
        key: str | None = None,
        again: bool = True,
        backwards: bool = False,
    ) -> Receipt:
        """Everything in one transaction: who asks is checked, the entry is made, the head is signed."""
        made: list[Entry] = []
        try:
            with self.store.writing(key) as locked:
                self._check_key(locked.head.public_key)
                self.seen.check(locked.head, self.seen.newest)
                writer = Writer(locked, self.identity, self.key, self.name, backwards)
                account = None if budget is None else writer.book.account(budget)
                rules.check_right(writer.book, writer.guarded, self.who, act, writer.now, account)
                made.append(work(writer))
                writer.finish()
        except AccessDenied as denied:
            self._note_denial(denied, budget)
            raise
        except LedgerUnavailable as error:
            if not error.certain:
                self._look_again(error, made[0])
            elif again and _stale(error):
                self.store.dispose()
                return self.write(act, work, budget=budget, key=key, again=False, backwards=backwards)
            else:
                raise
        self.seen.note(made[0].seq, made[0].hash)
        return Receipt.issued(self.identity, made[0], self.key)

    def _check_key(self, public: str | None) -> None:
        if public is None and self.key is not None:
            raise BrokenChain("the ledger is not signed any more: it was replaced")
        if public is not None and (self.key is None or self.key.public != public):
            raise InvalidParameter(
                "key", None, "the file of the key that signs for this ledger", "without it the ledger can only be read"
            )

    def _look_again(self, error: LedgerUnavailable, mine: Entry) -> None:
        """After a connection broke while committing: return when the very same entry was written, else raise.

        Waiting for the lock of the head means waiting for the end of the transaction that held it.
        """
        try:
            with self.store.writing() as locked:
                found = entry_at(locked.connection, mine.seq)
        except LedgerUnavailable:
            raise error from None
        if found is None or found.hash != mine.hash:
            raise LedgerUnavailable(error.problem, error.hint) from None

    def read(self, work: Callable[[LiveBook, datetime], Result], *, act: str = "read", again: bool = True) -> Result:
        """One consistent view, for those who may read; `act` is what it is needed for."""
        before = self.seen.newest
        try:
            with self.store.reading() as connection:
                now, head = self.store.now(connection), read_head(connection)
                self.seen.check(head, before)
                book = LiveBook(connection)
                rules.check_right(book, bool(head.guarded), self.who, "read", now)
                return work(book, now)
        except AccessDenied as refused:
            denied = AccessDenied(act, refused.why)
            self._note_denial(denied, None)
            raise denied from None
        except LedgerUnavailable as error:
            if again and _stale(error):
                self.store.dispose()
                return self.read(work, act=act, again=False)
            raise

    def _note_denial(self, denied: AccessDenied, budget: str | None) -> None:
        """Refusals of access are entries too; that they cannot be written must not hide the refusal."""
        with suppress(QuiltworkError), self.store.writing() as locked:
            self._check_key(locked.head.public_key)
            writer = Writer(locked, self.identity, self.key, self.name)
            known = None if budget is None or writer.book.account(budget) is None else budget
            writer.append("denied", known, {"act": denied.act, "why": denied.why})
            writer.finish()

    def vouched(self, connection: Connection, entry: Entry) -> Receipt:
        """The receipt of an entry that stands in the chain: a row that was only put there is not signed."""
        after, head = entry_at(connection, entry.seq + 1), read_head(connection)
        if not entry.sound() or entry.hash != (head.hash if after is None else after.previous):
            raise BrokenChain("it is not as it was written: run verify", entry.seq)
        return Receipt.issued(self.identity, entry, self.key)

    def terms(self, name: Any, act: str = "read") -> Terms:
        """What was fixed when a budget was opened; kept, once nothing is left to be chosen with its first release."""
        name = words.name("budget", name)
        if name in self.known:
            return self.known[name]
        found = self.read(lambda book, now: book.opened(name), act=act).terms
        if found.filter is None or not found.filter.is_open:
            self.known[name] = found
        return found

    def receipt(self, seq: int) -> Receipt:
        """The receipt of an entry, once more."""
        seq = checks.count("seq", seq, least=1)

        def work(book: LiveBook, now: datetime) -> Receipt:
            entry = entry_at(book.connection, seq)
            if entry is None:
                raise InvalidParameter("seq", seq, "the number of an entry")
            return self.vouched(book.connection, entry)

        return self.read(work)

    def history(
        self, name: str | None, after: int, limit: int | None, last: int | None, before: int | None
    ) -> Iterator[Entry]:
        """Entries in order: those after a number, at most so many, or only the last ones."""
        after = checks.count("after", after)
        before = None if before is None else checks.count("before", before, least=1)
        if before is not None and last is None:
            raise InvalidParameter("before", before, "given with last", "how many entries before it?")
        limit = None if limit is None else checks.count("limit", limit)
        if name is not None:
            self.terms(name)
        if last is not None:
            count = checks.count("last", last)
            if count > MOST_LAST or after or limit is not None:
                raise InvalidParameter("last", last, f"at most {MOST_LAST:,}, and without after and limit")
            return iter(self.read(lambda book, now: newest_entries(book.connection, name, count, before)))
        self.read(lambda book, now: None)  # who may not read is told so before the first entry

        def batch(after: int | None, count: int) -> list[Entry]:
            """A short view: entries never change, and nobody keeps a transaction open between two batches."""
            return self.read(lambda book, now: first_entries(book.connection, after, name, count))

        return in_batches(batch, after, limit)


def _sign_in(connection: Connection, token: Any, now: datetime) -> rules.Who:
    """Whose token this is; every refusal costs as much time as a match."""
    identity = tokens.identity_of(token)
    asked = select(schema.principals).where(schema.principals.c.identity == (identity or ""))
    row = connection.execute(asked).first()
    found = None if row is None else Principal(*row)
    fits = tokens.matches(token, tokens.decoy() if found is None else found.stored)
    if found is None or not fits:
        raise AccessDenied("signing in", "the token is not known")
    rules.check_valid(found, now)
    return found.name, found.identity


def _stale(error: LedgerUnavailable) -> bool:
    """Whether the connection was gone, and its transaction with it: it can be done once more on a fresh one."""
    cause = error.__cause__
    code = getattr(getattr(cause, "orig", None), "sqlstate", None)
    return bool(getattr(cause, "connection_invalidated", False)) or code in ("57P01", "57P02")
