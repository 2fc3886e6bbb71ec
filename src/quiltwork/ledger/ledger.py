"""`Ledger`: budgets that last, kept in a database, spent from by any number of people, jobs and machines."""

from __future__ import annotations

import copy
import os
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime
from types import TracebackType
from typing import Any, Self, TextIO, TypeVar

import attrs

from quiltwork import checks
from quiltwork.errors import BrokenChain, InvalidParameter, QuiltworkError, Unsupported
from quiltwork.kinds import not_written
from quiltwork.ledger import names as words
from quiltwork.ledger.acts import managing, many, mending, results, spending
from quiltwork.ledger.acts.reach import connect, examined, upgrade
from quiltwork.ledger.book.balances import Balance, Budget
from quiltwork.ledger.book.book import HELD, Principal, Reservation
from quiltwork.ledger.book.fixed import TableQueries, correlated
from quiltwork.ledger.book.rights import Rights
from quiltwork.ledger.book.rules import Forecast
from quiltwork.ledger.book.terms import (
    Blocks,
    Limit,
    Terms,
    check_about,
    check_kind,
    keeping,
    planned,
    protected,
)
from quiltwork.ledger.chain.entries import Entry, stamp
from quiltwork.ledger.chain.receipts import Receipt
from quiltwork.ledger.chain.statements import Checkpoint, ConsistencyProof
from quiltwork.ledger.proof import transfer
from quiltwork.ledger.proof.elsewhere import Elsewhere, checkpoints_of, public_key_of, receipts_of
from quiltwork.ledger.proof.verify import Depth, Verification, verified
from quiltwork.ledger.store.addresses import shown
from quiltwork.ledger.store.refusals import Refusal
from quiltwork.ledger.table_session import TableSession
from quiltwork.tables.plan import Plan

MOST_OWNERS = 100
Result = TypeVar("Result")


@not_written("it is an open connection", "keep its address; `ledger export` copies it")
class Ledger:
    """Budgets in a database. Every change is an entry of one hash chain, and is made in one transaction.

    `url` is `sqlite:///FILE` or `postgresql+psycopg://...`; a database without a ledger gets one. `key` is the file of
    the key that signs receipts: by default FILE.key beside a SQLite file, made with the ledger, and the file that
    QUILTWORK_LEDGER_KEY names for PostgreSQL. `token` says who asks, once a ledger has principals.

    A connection ends with its `with` block, or by `disconnect()`; `close(name)` closes a budget, for ever.

    Parameters
    ----------
    url
        Where it is.
    key
        The file of the key that signs receipts.
    token
        Who asks.
    clock
        What says the time, for tests.
    timeout
        Seconds to wait for other processes.

    Raises
    ------
    LedgerUnavailable
        The database cannot be reached, or holds no ledger of this version.

    Examples
    --------
    >>> import tempfile, os
    >>> from quiltwork import laplace
    >>> with tempfile.TemporaryDirectory() as folder, Ledger(f'sqlite:///{folder}/budgets.db') as ledger:
    ...     _ = ledger.open('patients', protects='one visit', epsilon=1.0)
    ...     receipt = ledger.spend('patients', laplace(10.0), note='weekly count')
    ...     round(ledger.balance('patients').epsilon, 6)
    0.1
    """

    def __init__(
        self,
        url: str,
        *,
        key: str | os.PathLike[str] | None = None,
        token: str | None = None,
        clock: Callable[[], datetime] | None = None,
        timeout: float = 30.0,
    ) -> None:
        self._session = connect(url, key, token, clock, timeout)

    @property
    def identity(self) -> str:
        """The name that the ledger was given when it was made; receipts carry it."""
        return self._session.identity

    @property
    def public_key(self) -> str | None:
        """The key that checks receipts of this ledger; None when it does not sign."""
        found: str | None = self._session.head().public_key
        return found

    @property
    def guarded(self) -> bool:
        """Whether tokens rule, that is whether anybody was admitted."""
        return self._session.believed().guarded

    # ---- whole budgets

    def open(
        self,
        name: str,
        *,
        protects: Any = None,
        epsilon: float | None = None,
        delta: float | None = None,
        rho: float | None = None,
        mu: float | None = None,
        kind: str | None = None,
        filter: str | None = None,
        order: float | None = None,
        reveal: float = 0.0,
        expects: Any = None,
        units: Any = None,
        most: int | None = None,
        plan: Any = None,
        prior: Any = None,
        secrets: Any = None,
        person: Any = None,
        when: Any = None,
        expires: datetime | None = None,
        refresh: Any = None,
        blocks: Blocks | None = None,
        owners: Iterable[str] = (),
        spenders: Iterable[str] = (),
        quotas: Any = None,
        note: str = "",
    ) -> Budget:
        """Open a budget: (epsilon, delta), epsilon alone, rho or mu, for what `protects` says.

        Every loss that is spent must be stated for that protected change; the ledger cannot see what a release reads.

        Adaptive: later releases may depend on earlier results, so that only a proven filter is used; `filter`, `order`
        and `reveal` choose it. (epsilon, delta) is kept by several Rényi orders, which suit the first release, or what
        the budget `expects`. With `units` it is for runs of one loss, composed exactly, at most `most` of them or as
        many as the limit allows. Planned: `plan` lists every release, (name, loss) or (name, loss, times), and the
        tight composition of all of them must keep the limit now; from then on nothing else may be released. A table
        plan is taken as it is: each of its queries may run once.

        With a `prior` the limit is about secrets, the value of each entry unless `secrets` says others, in records
        that are correlated as it says. It is translated once, and paid per entry: losses are stated for one entry that
        changes alone. Table plans are taken where `person` and `when` name the columns that order the records.

        `spenders` are the principals who may spend from it, all whose role allows it when none is named; `quotas` are
        shares of the limit for some of them, in each period, such as {"nightly": "1/4"}. `rights` changes both.
        """
        tuned = (filter, order, checks.probability("reveal", reveal))
        about = correlated(prior, secrets, person, when)
        table = TableQueries.of(plan) if isinstance(plan, Plan) else None
        kind = check_kind(kind, plan, tuned, blocks)
        stated = Limit.stated(epsilon, delta, rho, mu)
        if about is not None:
            check_about(Limit.of(**stated), refresh, blocks)
        limit, kept = keeping(stated, kind, tuned, expects, units, most, about)
        said, notion = protected(protects, about, table)
        terms = Terms(
            name=words.name("name", name),
            kind=kind,
            limit=limit,
            filter=kept,
            plan=() if plan is None else planned(plan),
            protects=said,
            notion=notion,
            expires=None if expires is None else words.moment("expires", expires),
            refresh=None if refresh is None else words.span("refresh", refresh),
            blocks=blocks,
            owners=words.names("owners", owners, MOST_OWNERS),
            note=words.note(note),
            about=about,
            table=table,
            rights=Rights.of(spenders, quotas),
        )
        if terms.rights.quotas and terms.filter is None:
            raise Unsupported("a quota of a planned budget", "its plan says what runs", "name its spenders alone")
        managing.open_budget(self._session, terms)
        return self.budget(terms.name)

    def budget(self, name: str) -> Budget:
        """One budget."""
        name = words.name("budget", name)
        return self._session.read(lambda book, now: Budget.of(book.opened(name), now))

    def budgets(self, *, find: str = "", after: str | None = None, limit: int | None = None) -> tuple[Budget, ...]:
        """In the order of opening: all, or those after one of them, at most so many.

        With `find` those whose name or protection holds a text, whatever the case of its letters.
        """
        asked = words.note(find), None if after is None else words.name("budget", after)
        most = None if limit is None else checks.count("limit", limit)
        return self._session.read(
            lambda book, now: tuple(Budget.of(account, now) for account in book.listed(*asked, most))
        )

    def rights(self, name: str, *, spenders: Iterable[str] = (), quotas: Any = None, note: str = "") -> Receipt:
        """Who may spend from a budget from now on, and the shares of those who have a quota, as in `open`.

        For admins and its owners. What somebody spent under a quota stays counted; a new quota counts from now on.
        """
        return managing.set_rights(self._session, name, Rights.of(spenders, quotas), note)

    def pause(self, name: str, note: str = "") -> Receipt:
        """Nothing can be spent until it is resumed."""
        return managing.change(self._session, name, "pause", note)

    def resume(self, name: str, note: str = "") -> Receipt:
        """Spending goes on."""
        return managing.change(self._session, name, "resume", note)

    def close(self, name: str = "", note: str = "") -> Receipt:
        """Nothing can be spent from this budget any more, ever. A connection is closed by `disconnect`."""
        given: Any = name
        if isinstance(given, str) and not given:
            hint = "a connection ends with its `with` block, or by disconnect()"
            raise InvalidParameter("name", name, "the name of the budget that is to be closed for ever", hint)
        return managing.change(self._session, name, "close", note)

    # ---- spending

    def _request(self, name: str, act: str, loss: Any, release: Any, times: int, blocks: Any) -> spending.Request:
        return spending.asked_for(self._session, name, act, loss, release, times, blocks)

    def spend(
        self,
        name: str,
        loss: Any = None,
        *,
        release: str | None = None,
        times: int = 1,
        blocks: Any = None,
        note: str = "",
        key: str | None = None,
    ) -> Receipt:
        """Take the cost of a release that is about to run; BudgetExceeded takes nothing.

        `loss` is what the release tells about the change that the budget protects, the whole of it: if that is a person
        with four records, the loss for one record is not enough (`loss.group(4)` is).

        The same `key` with the same request is done once: the first receipt is returned again, and pays for one run. A
        job that may be started twice needs `run`, or `reserve` and `start`, which begin once.
        """
        return spending.take(self._session, self._request(name, "spend", loss, release, times, blocks), note, key)

    def spend_many(self, asks: Iterable[Any], *, together: bool = False) -> list[Receipt | QuiltworkError]:
        """Many spends in one transaction; each ask is (budget, loss), or a mapping with the keywords of `spend`.

        The answers come in the same order: a receipt, or the error that `spend` would raise, which leaves no trace.
        Each ask is held against what those before it left. With `together` all are granted or none, and the first
        refusal is raised. The receipts share one signature, with a path for each (`BatchReceipt`).
        """
        return many.spend_many(self._session, asks, together)

    def reserve(
        self,
        name: str,
        loss: Any = None,
        *,
        lease: Any,
        release: str | None = None,
        times: int = 1,
        blocks: Any = None,
        note: str = "",
        key: str | None = None,
    ) -> Receipt:
        """Hold the cost for a job that will `start` within the lease; if it does not, the budget gets it back.

        The receipt's `seq` is the number to start, settle or refund it by.
        """
        asked = self._request(name, "spend", loss, release, times, blocks)
        return spending.take(self._session, asked, note, key, words.span("lease", lease))

    def start(self, seq: int) -> Receipt:
        """The job of a reservation begins: once, and never after its lease. From now on it counts as run."""
        return spending.move(self._session, seq, "start")

    def settle(self, seq: int, note: str = "") -> Receipt:
        """The job of a reservation is over."""
        return spending.move(self._session, seq, "settle", note)

    def refund(self, seq: int, note: str = "") -> Receipt:
        """Give back what a reservation holds that never started; anything else may have run and stays spent."""
        return spending.move(self._session, seq, "refund", note)

    def run(
        self,
        name: str,
        loss: Any,
        call: Callable[[], Result],
        *,
        lease: Any = 3600,
        release: str | None = None,
        times: int = 1,
        blocks: Any = None,
        note: str = "",
        key: str | None = None,
    ) -> Result:
        """Reserve, start, call and settle. A refusal calls nothing; what was called stays spent, even if it fails.

        With a `key` it runs at most once, however often it is asked for: AlreadyRun the second time.
        """
        if not callable(call):
            raise InvalidParameter("call", call, "a function without arguments")
        options: dict[str, Any] = {"release": release, "times": times, "blocks": blocks, "note": note, "key": key}
        held = self.reserve(name, loss, lease=lease, **options)
        self.start(held.seq)
        result = call()
        self.settle(held.seq)
        return result

    def keep_result(self, name: str, key: str, value: Any) -> Any:
        """Keep the numbers of a release under the key that paid for it; what was kept first stays, and is returned."""
        return results.keep(self._session, name, key, value)

    def session(self, name: str, plan: Plan) -> TableSession:
        """Adaptive use of a plan's table and notion, query by query, that lasts as long as the ledger.

        The budget must have been opened with `blocks_by(column, neighbors)`, for what the notion protects.
        """
        return TableSession.of(self, self._session.terms(name), plan)

    # ---- questions, which spend nothing and wait for no writer

    def result(self, name: str, key: str) -> Any:
        """The numbers that were kept under the key of a release; None when nothing was."""
        return results.result(self._session, name, key)

    def would_exceed(
        self, name: str, loss: Any = None, *, release: str | None = None, times: int = 1, blocks: Any = None
    ) -> bool:
        """Whether such a spend would be refused now, for its cost or a quota, or because the budget is not open."""
        asked = self._request(name, "read", loss, release, times, blocks)
        return self._session.read(lambda book, now: spending.exceeds(book, now, asked, self._session.name))

    def forecast(self, name: str, loss: Any = None, *, release: str | None = None, blocks: Any = None) -> Forecast:
        """How many more of this release fit."""
        asked = self._request(name, "read", loss, release, 1, blocks)
        return self._session.read(lambda book, now: spending.forecast(book, now, asked))

    def reservations(self, name: str | None = None) -> tuple[Reservation, ...]:
        """Reservations that have not ended: held ones, and started ones that nobody settled."""
        if name is not None:
            self._session.terms(name)
        found, now = self._session.read(lambda book, now: (book.open_reservations(name), stamp(now)))
        return tuple(one for one in found if one.status != HELD or one.until > now)

    def balance(self, name: str, block: str | None = None) -> Balance:
        """What was spent and what is left now, of everything or of one block."""
        return self._session.balance(words.name("budget", name), block)

    def history(
        self,
        name: str | None = None,
        *,
        after: int = 0,
        limit: int | None = None,
        last: int | None = None,
        before: int | None = None,
    ) -> Iterator[Entry]:
        """Entries in order, of one budget or of all: those after a number, at most so many, or only the last ones.

        With `before` the last ones are those before that number.
        """
        return self._session.history(name, after, limit, last, before)

    def refusals(self, name: str | None = None, *, last: int = 100, before: int | None = None) -> tuple[Refusal, ...]:
        """Spends that were refused for their cost, newest first: who asked for what, when, and how much was left.

        They are notes beside the chain, the newest ten thousand; refusals of access are entries of it. With `before`
        those before that number.
        """
        return self._session.refusals(name, last, before)

    def receipt(self, seq: int) -> Receipt:
        """The receipt of an entry, once more."""
        return self._session.receipt(seq)

    # ---- whether everything is as it was written

    def verify(
        self,
        *,
        public_key: str | None = None,
        progress: Callable[[int, int], None] | None = None,
        receipts: Iterable[Receipt] = (),
        since: Any = (),
        full: bool = False,
        new: bool = False,
    ) -> Verification:
        """Whether every entry and every row is as it was written; what was kept elsewhere must be in the chain too.

        `public_key` is the key that must have signed it: by default that of the private key at hand. Without either, a
        chain that somebody signed anew with a key of his own looks fine. `receipts` and `since`, a checkpoint or
        several, show a chain that was cut, put back or written anew.

        Every entry is hashed again. Those up to the end of the last verification are not replayed once more, for its
        book was kept beside the key, sealed; `full` replays them too. With `new` they are not even read: that is fast,
        and finds no edit of an entry that was read before.
        """
        kept, session = receipts_of(receipts), self._session
        if progress is not None and not callable(progress):
            raise InvalidParameter("progress", progress, "a function of two numbers")
        public = public_key_of(public_key) or (None if session.key is None else session.key.public)
        known = Elsewhere(public, session.trust.known, kept, checkpoints_of(since))
        if full and new:
            raise InvalidParameter("new", True, "left out when everything is replayed", "at most one of full and new")
        depth: Depth = "full" if full else "new" if new else "whole"
        try:
            return session.examine(lambda connection: verified(connection, progress, known, session.shelf(), depth))
        except BrokenChain as error:
            return Verification(False, 0, error.seq, error.problem)

    def checkpoint(self) -> Checkpoint:
        """Where the chain ends now, signed: keep it elsewhere, and hold the ledger against it later."""
        return self._session.read(lambda book, now: self._session.checkpoint(book.connection))

    def consistency(self, since: Any) -> ConsistencyProof:
        """That the chain continues that of an older checkpoint; BrokenChain when it does not."""
        return self._session.consistency(Checkpoint.read(since))

    def rotate(self, key: str | os.PathLike[str]) -> Receipt:
        """Let another key sign from now on: the one of this file, which is made when it does not exist.

        Whoever else writes to the ledger needs the new file from then on; old receipts stay valid for the old key.
        """
        return managing.rotate(self._session, key)

    def accept_clock(self, note: str) -> Receipt:
        """Go on from the time that the clock shows now, although the last entry says a later one.

        For a ledger that was written to by a machine whose clock was ahead: until its time has come, everything else
        raises ClockWentBack. What budgets were charged in periods that have not begun counts in that of now, where it
        was released; so nothing is refreshed a second time, and no budget waits for a date that was wrong.
        """
        body = {"note": checks.text("note", words.note(note), "a remark that says what happened"), "merges": True}
        return self._session.write("manage", lambda writer: writer.append("clock", None, body), backwards=True)

    def export(self, stream: TextIO, progress: Callable[[int, int], None] | None = None) -> int:
        """Write the chain as JSON lines; returns how many entries."""
        return self._session.examine(lambda connection: transfer.export(connection, stream, progress))

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
        transfer.restore(url, lines, key, public_key, receipts)
        return cls(url, key=key)

    @classmethod
    def examine(cls, url: str) -> Self:
        """An existing ledger, to verify or export it: nobody is believed, nothing is refused, nothing is written."""
        made = cls.__new__(cls)
        made._session = examined(url, 30.0)
        return made

    @staticmethod
    def upgrade(url: str, *, key: str | os.PathLike[str] | None = None) -> str:
        """Bring a ledger of an older version to this one, after a full verification; returns the version it had."""
        return upgrade(url, key)

    @staticmethod
    def repair(
        url: str,
        *,
        key: str | os.PathLike[str] | None = None,
        token: str | None = None,
        kept: Iterable[Any] = (),
        acknowledge: Iterable[Any] = (),
        charges: Any = None,
        note: str = "",
    ) -> Receipt:
        """After `verify` named what somebody changed in the database: put right what can be, and say what cannot.

        Derived rows, those about people too, are written anew from the chain. Entries that were edited or deleted come
        back, byte for byte, from `kept`: receipts, or entries of an export. Whatever else `verify` names is to be
        acknowledged, by number or as (first, last): such an entry counts and gives nothing, for ever, and every
        verification names it. What lost ones spent is said by `charges`, losses by budget; without them every open
        budget is closed. An admin's `token` is asked for where there are principals; all of it is one entry.
        """
        session = connect(url, key, None, None, 30.0)
        try:
            return mending.repair(session, token, kept, acknowledge, charges, note)
        finally:
            session.store.dispose()

    # ---- who may use it

    def admit(self, name: str, role: str, *, expires: datetime | None = None) -> str:
        """Name a principal (viewer, spender or admin); returns its token, which is shown this once.

        The first one must be an admin: from then on every use of the ledger asks for a token. A principal that is
        admitted again gets a new token, and the old one ends.
        """
        return managing.admit(self._session, name, role, expires)

    def revoke(self, name: str) -> Receipt:
        """The token of a principal ends now."""
        return managing.revoke(self._session, name)

    def principals(self) -> tuple[Principal, ...]:
        """Everybody who was admitted."""
        return self._session.read(lambda book, now: book.everybody())

    def me(self) -> Principal | None:
        """Who uses the ledger; None for nobody in particular. AccessDenied when the token has ended meanwhile."""
        name = self._session.name
        found = self._session.read(lambda book, now: None if name is None else book.principal(name))
        return None if found is None else attrs.evolve(found, stored="")

    def sign_in(self, token: str) -> Self:
        """The same ledger, used by whom the token names; AccessDenied for a token that is not known."""
        other = copy.copy(self)
        other._session = self._session.signed_in(token)
        return other

    # ---- the connection

    def disconnect(self) -> None:
        """Close every connection of this process; the next question opens one again."""
        self._session.store.dispose()

    def dispose(self) -> None:
        """The same as `disconnect`."""
        self.disconnect()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.disconnect()

    def __repr__(self) -> str:
        return f"Ledger({shown(self._session.store.url)!r})"
