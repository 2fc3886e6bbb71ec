"""What every act has of a ledger: its store, its key, who asks, transactions on it, and its entries read back."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from datetime import datetime
from typing import Any, TypeVar

import attrs
from sqlalchemy import Connection

from quiltwork import checks
from quiltwork.errors import AccessDenied, BrokenChain, InvalidParameter, LedgerUnavailable, QuiltworkError
from quiltwork.ledger import names as words
from quiltwork.ledger import tokens
from quiltwork.ledger.acts.trust import Trust
from quiltwork.ledger.acts.turns import Act, Turns, result_of
from quiltwork.ledger.book import rules
from quiltwork.ledger.book.balances import Balance, Budget, balance_of
from quiltwork.ledger.book.book import Account
from quiltwork.ledger.book.terms import Terms
from quiltwork.ledger.chain.entries import Entry
from quiltwork.ledger.chain.keys import SigningKey
from quiltwork.ledger.chain.mark import MARK_VARIABLE, Mark, Point
from quiltwork.ledger.chain.receipts import Receipt
from quiltwork.ledger.chain.statements import Checkpoint, ConsistencyProof
from quiltwork.ledger.proof.sealed import PURPOSE, Shelf
from quiltwork.ledger.store.acknowledged import Acknowledged
from quiltwork.ledger.store.addresses import file_of, shown
from quiltwork.ledger.store.heads import Believed
from quiltwork.ledger.store.refusals import Refusal, keep, newest_first
from quiltwork.ledger.store.rows import (
    LiveBook,
    current,
    entries_about,
    entry_at,
    first_entries,
    in_batches,
    newest_entries,
)
from quiltwork.ledger.store.store import Locked, Store, read_head
from quiltwork.ledger.store.tiles import StoredTree
from quiltwork.ledger.store.writer import Writer

KEY_VARIABLE = "QUILTWORK_LEDGER_KEY"
MOST_LAST = 100_000  # entries that are read in one view
NOT_KNOWN = "the token is not known"
KeyFile = str | os.PathLike[str]
Result = TypeVar("Result")


def key_file(store: Store, key: KeyFile | None) -> KeyFile | None:
    """As it is given, as the environment names it, or beside a SQLite file."""
    file = file_of(store.url)
    return key or os.environ.get(KEY_VARIABLE) or (None if file is None else f"{file}.key")


def mark_folder(store: Store, key: KeyFile | None) -> str | None:
    """Beside the key, or where it is said."""
    place = key_file(store, key)
    return os.environ.get(MARK_VARIABLE) or (None if place is None else f"{os.fspath(place)}.mark")


@attrs.define(eq=False)
class Session:
    """What every act needs: one transaction, one entry, one signed head."""

    store: Store
    identity: str
    key: SigningKey | None
    trust: Trust
    who: rules.Who | None = None
    known: dict[str, Terms] = attrs.Factory(dict)
    priced: dict[Any, Any] = attrs.Factory(dict)  # requests, with the loss and the terms that they are for
    turns: Turns = attrs.Factory(Turns)
    examining: bool = False  # nothing is believed then, and nothing written
    notes: Callable[[str], bool] | None = None  # whether one more refusal of access to somebody is written down

    @property
    def name(self) -> str | None:
        """Of the principal who asks, if any."""
        return None if self.who is None else self.who[0]

    def signed_in(self, token: str, strangers: bool = True) -> Session:
        """The same ledger, used by whom the token names; AccessDenied for a token that is not known.

        A refusal is an entry; of a token that is nobody's only where `strangers` are noted.
        """
        before = self.trust.known
        try:
            with self.store.reading() as connection:
                believed = self.trust.follow(connection, read_head(connection), before, self.key)
                return attrs.evolve(self, who=whose(believed, token, self.store.now(connection)))
        except AccessDenied as denied:
            if strangers or denied.why != NOT_KNOWN:
                self.note_denial(denied, None)
            raise

    def head(self) -> Any:
        """Where the chain ends, for whoever asks, once it is believed."""
        return self._looked()[0]

    def believed(self) -> Believed:
        """What the head stands for, for whoever asks."""
        return self._looked()[1]

    def _looked(self) -> tuple[Any, Believed]:
        before = self.trust.known
        with self.store.reading() as connection:
            head = read_head(connection)
            return head, self.trust.follow(connection, head, before, self.key)

    def write(
        self,
        act: str,
        work: Callable[[Writer], Entry],
        *,
        budget: str | None = None,
        key: str | None = None,
        alone: bool = False,
        backwards: bool = False,
    ) -> Receipt:
        """Everything in one transaction: who asks is checked, the entry is made, the head is signed."""
        waits = Act(self, act, work, budget, key, alone=alone or backwards, backwards=backwards)
        self.turns.run([waits])
        return Receipt.issued(self.identity, result_of(waits), self.key)

    def writer(self, locked: Locked, before: Point | None, backwards: bool = False) -> Writer:
        """Onto a head that is believed."""
        if self.examining:
            raise InvalidParameter("ledger", "one that is examined", "one that is opened", "nothing is written to it")
        self.check_key(locked.head.public_key)
        believed = self.trust.follow(locked.connection, locked.head, before, self.key)
        return Writer(locked, believed, self.key, self.name, backwards, self.trust.accounts(locked.head))

    def check_key(self, public: str | None) -> None:
        if public is None and self.key is not None:
            raise BrokenChain("the ledger is not signed any more: it was replaced")
        if public is not None and (self.key is None or self.key.public != public):
            raise InvalidParameter(
                "key", None, "the file of the key that signs for this ledger", "without it the ledger can only be read"
            )

    def read(self, work: Callable[[LiveBook, datetime], Result], *, act: str = "read", again: bool = True) -> Result:
        """One consistent view, for those who may read; `act` is what it is needed for."""
        before = self.trust.known
        try:
            with self.store.reading() as connection:
                now = self.store.now(connection)
                if self.examining:
                    return work(LiveBook(connection), now)
                head = read_head(connection)
                believed = self.trust.follow(connection, head, before, self.key)
                book = LiveBook(connection, believed.people, head)
                rules.check_right(book, believed.guarded, self.who, "read", now)
                return work(book, now)
        except AccessDenied as refused:
            denied = AccessDenied(act, refused.why)
            self.note_denial(denied, None)
            raise denied from None
        except LedgerUnavailable as error:
            if again and self.is_stale(error):
                self.store.dispose()
                return self.read(work, act=act, again=False)
            raise

    def balance(self, name: str, block: Any) -> Balance:
        """The balance of a budget; kept while the head is the same, and no lease, period or expiry ends."""
        if block is not None and not isinstance(block, str):
            return self.read(lambda book, now: balance_of(book, current(book, name, now), now, block))
        found = None
        with suppress(LedgerUnavailable):  # the usual way says so, or finds a fresh connection
            found = self.kept_balance(name, block, *self.store.glance())
        return self.read(lambda book, now: self._balance(book, now, name, block)) if found is None else found

    def kept_balance(self, name: str, block: str | None, head: Any, now: datetime) -> Balance | None:
        """The balance that was computed under this head, for those who may read."""
        found: Balance | None = self.trust.kept((name, block), head, now)
        believed = None if found is None or self.examining else self.trust.recognised(head)
        if believed is None:
            return None
        try:
            rules.check_right(LiveBook(None, believed.people), believed.guarded, self.who, "read", now)
        except AccessDenied:  # the usual way says so, and notes it
            return None
        return found

    def balances(self, find: str, skip: int, limit: int) -> tuple[list[tuple[Budget, Balance | QuiltworkError]], int]:
        """Budgets, open ones first, each with its balance or why there is none; and how many there are in all."""

        def shown(book: LiveBook, now: datetime, name: str) -> Balance | QuiltworkError:
            try:
                return self._balance(book, now, name, None)
            except QuiltworkError as error:  # one that fails does not take the whole list away
                return error

        def work(book: LiveBook, now: datetime) -> tuple[list[tuple[Budget, Balance | QuiltworkError]], int]:
            accounts, count = book.paged(find, skip, limit)
            budgets = [Budget.of(account, now) for account in accounts]
            return [(one, shown(book, now, one.name)) for one in budgets], count

        return self.read(work)

    def _balance(self, book: LiveBook, now: datetime, name: str, block: str | None) -> Balance:
        """Computed anew only where the budget has an entry more than the one that is kept."""
        account = current(book, name, now)
        if account.standing.held or self.examining:
            return balance_of(book, account, now, block)
        place, terms = (name, block), account.terms
        # without tallies beside it a balance follows from what was fixed and from the standing alone
        found = None if terms.blocks is not None or terms.filter is None else self.trust.kept_of(place, account, now)
        found = found or balance_of(book, account, now, block)
        self.trust.keep(place, book.head, account, now, found)
        return found

    @staticmethod
    def is_stale(error: LedgerUnavailable) -> bool:
        """Whether the connection was gone, and its transaction with it: it can be done once more on a fresh one."""
        cause = error.__cause__
        code = getattr(getattr(cause, "orig", None), "sqlstate", None)
        return bool(getattr(cause, "connection_invalidated", False)) or code in ("57P01", "57P02")

    def standing(self, writer: Writer, entry: Entry) -> Entry:
        """An entry that was there before, once it is vouched for; one of this very transaction needs no look."""
        return entry if writer.added(entry) else self.vouched(writer.connection, entry).entry

    def examine(self, work: Callable[[Connection], Result]) -> Result:
        """One consistent view for whoever checks it: what is to be found there must not keep anybody from looking."""
        with suppress(BrokenChain):
            self.read(lambda book, now: None)
        with self.store.reading() as connection:
            return work(connection)

    def shelf(self) -> Shelf | None:
        """Where the book of the last verification is: beside the mark, for whoever has the key."""
        mark = self.trust.mark
        return None if mark is None or self.key is None else Shelf(mark.book, self.key.derived(PURPOSE))

    def begin_mark(self, key: KeyFile) -> None:
        """Keep the mark beside another key from now on."""
        folder, known = mark_folder(self.store, key), self.trust.known
        if folder is not None and known is not None:
            self.trust.mark = Mark(folder, self.identity, shown(self.store.url))
            self.trust.mark.rise(known)

    def note_denial(self, denied: AccessDenied, budget: str | None) -> None:
        """Refusals of access are entries too; that they cannot be written must not hide the refusal."""
        before = self.trust.known
        if self.notes is not None and not self.notes(self.name or ""):
            return
        with suppress(QuiltworkError):
            with self.store.writing() as locked:
                writer = self.writer(locked, before)
                known = None if budget is None or writer.book.account(budget) is None else budget
                writer.append("denied", known, {"act": denied.act, "why": denied.why})
                ended = writer.finish()
            if ended is not None:
                self.trust.wrote(ended)

    def note_refusals(self, refused: Sequence[Refusal]) -> None:
        """What was more than was left, for people to look at; that it cannot be kept must not hide the refusal."""
        if refused:
            with suppress(QuiltworkError), self.store.writing() as locked:
                keep(locked.connection, locked.now, refused)

    def refusals(self, name: str | None, last: int, before: int | None) -> tuple[Refusal, ...]:
        """The newest, of one budget or of all."""
        name = None if name is None else words.name("budget", name)
        most = checks.count("last", last, least=1)
        until = None if before is None else checks.count("before", before, least=1)
        return self.read(lambda book, now: newest_first(book.connection, name, until, most))

    def vouched(self, connection: Connection, entry: Entry) -> Receipt:
        """The receipt of an entry that stands in the chain: a row that was only put there is not signed."""
        head = read_head(connection)
        facts = self.trust.follow(connection, head, None, self.key).facts
        StoredTree(connection).check_included(entry, facts)
        return Receipt.issued(self.identity, entry, self.key)

    def checkpoint(self, connection: Connection) -> Checkpoint:
        """Where the chain ends in this view."""
        facts = self.trust.follow(connection, read_head(connection), None, self.key).facts
        if self.key is None and self.trust.public_key is not None:
            raise InvalidParameter("key", None, "the file of the key that signs for this ledger")
        return Checkpoint.issued(facts, self.key)

    def consistency(self, older: Checkpoint) -> ConsistencyProof:
        """That the chain of now continues the one of a checkpoint."""
        older.check(allow_unsigned=True)
        if older.ledger != self.identity:
            raise BrokenChain(f"the checkpoint is of another ledger, {older.ledger!r}")
        return self.read(lambda book, now: self.continued(book.connection, older.seq, older.root))

    def continued(self, connection: Connection, seq: int, root: str) -> ConsistencyProof:
        """That the chain in this view continues the one that ended with an entry and had this root."""
        facts = self.trust.follow(connection, read_head(connection), None, self.key).facts
        if seq > facts.seq:
            raise BrokenChain(f"the ledger ends with entry {facts.seq}: it was put back", facts.seq + 1)
        return StoredTree(connection).proof(seq, root, facts)

    def terms(self, name: Any, act: str = "read") -> Terms:
        """What was fixed when a budget was opened."""
        name = words.name("budget", name)
        if name in self.known:
            return self.known[name]
        found = self.read(lambda book, now: book.opened(name), act=act)
        self.learn(found)
        return found.terms

    def learn(self, account: Account | None) -> None:
        """Keep what is fixed about a budget, once nothing is left to be chosen with its first release."""
        if account is not None and (account.terms.filter is None or not account.terms.filter.is_open):
            self.known[account.terms.name] = account.terms

    def receipt(self, seq: int) -> Receipt:
        """The receipt of an entry, once more."""
        seq = checks.count("seq", seq, least=1)

        def work(book: LiveBook, now: datetime) -> Receipt:
            entry = entry_at(book.connection, seq)
            if entry is None:
                raise InvalidParameter("seq", seq, "the number of an entry")
            return self.vouched(book.connection, entry)

        return self.read(work)

    def makers(self, numbers: Iterable[int]) -> dict[int, str | None]:
        """Who made each of these entries."""
        every = tuple(numbers)

        def work(book: LiveBook, now: datetime) -> dict[int, str | None]:
            found = {seq: entry_at(book.connection, seq) for seq in every}
            return {seq: None if entry is None else entry.principal for seq, entry in found.items()}

        return self.read(work)

    def about(self, name: str, after: int) -> Iterator[Entry]:
        """Every entry after a number that changes a budget."""

        def batch(last: int | None, most: int) -> list[Entry]:
            return self.read(lambda book, now: entries_about(book.connection, name, last or 0, most))

        return in_batches(batch, after, None)

    def acknowledged(self) -> Acknowledged:
        """What was acknowledged after a break."""
        return self.read(lambda book, now: Acknowledged.read(book.connection))

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


def whose(believed: Believed, token: Any, now: datetime) -> rules.Who:
    """Whose token this is."""
    identity = tokens.identity_of(token)
    found = next((one for one in believed.people.values() if one.identity == identity), None)
    if found is None or not tokens.matches(token, found.stored, believed.facts.ledger):
        raise AccessDenied("signing in", NOT_KNOWN)
    rules.check_valid(found, now)
    return found.name, found.identity
