"""Replay: entries one by one, from the first; each must follow from those before, and be allowed by them."""

from __future__ import annotations

from operator import attrgetter
from typing import Any

from quiltwork.errors import AccessDenied, BrokenChain, BudgetExceeded, NotOpen, QuiltworkError
from quiltwork.ledger.book import rules
from quiltwork.ledger.book.book import Account, Charge, MemoryBook
from quiltwork.ledger.book.changes import apply, count
from quiltwork.ledger.book.terms import Terms
from quiltwork.ledger.chain.entries import GENESIS, Entry, moment
from quiltwork.ledger.chain.keys import signed_by
from quiltwork.ledger.chain.statements import Facts
from quiltwork.ledger.chain.tree import Tree
from quiltwork.ledger.store.acknowledged import Acknowledged
from quiltwork.ledger.store.heads import access_of

_ACTS = dict.fromkeys(
    ("spend", "reserve", "start", "settle", "refund", "lapse", "result"), "spend"
)  # all others manage


_texts = attrgetter("time", "kind", "budget", "principal", "key", "body", "previous", "hash")


class Checker:
    """Entries one by one, from the first: each must follow from those before."""

    def __init__(self, book: MemoryBook | None = None, acknowledged: Acknowledged | None = None) -> None:
        self.book = MemoryBook() if book is None else book
        self.acknowledged = Acknowledged() if acknowledged is None else acknowledged
        self.seq, self.hash, self.time = 0, GENESIS, ""
        self.tree = Tree()

    def take(self, entry: Entry) -> None:
        """BrokenChain when this is not the next entry."""
        if entry.seq != self.seq + 1:
            raise BrokenChain(f"it is missing, or out of order (found {entry.seq})", self.seq + 1)
        known = self.acknowledged.covers(entry.seq)
        if known and entry.previous == self.hash and self.acknowledged.is_lost(entry):
            self._go_on(entry, self.time)
            return
        if not all(isinstance(value, str) or value is None for value in _texts(entry)) or not entry.sound():
            raise BrokenChain("its hash is not that of its content", entry.seq)
        if entry.previous != self.hash:
            raise BrokenChain("it does not follow the entry before", entry.seq)
        if not _is_time(entry.time) or (entry.time < self.time and entry.kind != "clock"):
            raise BrokenChain("its time is none, or before that of the entry before", entry.seq)
        if (entry.seq == 1) != (entry.kind == "ledger"):
            raise BrokenChain("a ledger begins with one entry of kind 'ledger'", entry.seq)
        try:
            content = entry.content
            if known:
                count(self.book, entry, content)
            else:
                self._rule(entry, content)
                apply(self.book, entry, content)
        except BrokenChain:
            raise
        except QuiltworkError as error:
            raise BrokenChain(f"its content cannot be read ({error})", entry.seq) from None
        self._go_on(entry, entry.time)

    def _go_on(self, entry: Entry, time: str) -> None:
        self.tree.append(bytes.fromhex(entry.hash))
        self.seq, self.hash, self.time = entry.seq, entry.hash, time

    def check_acknowledged(self) -> None:
        """BrokenChain when what acknowledges an entry was not met."""
        for seq in self.acknowledged.made:
            raise BrokenChain("it acknowledges entries, and has no place in the chain", seq)

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

    def _rule(self, entry: Entry, content: dict[str, Any]) -> None:
        """Who acted was allowed to; no entry passes the limit of its budget, or takes less than its loss costs."""
        account = self.book.account(entry.budget) if entry.budget is not None else None
        self._check_who(entry, account)
        if entry.kind == "open":
            rules.check_translation(Terms.from_json(content))
        if entry.kind == "repaired" and content.get("ranges"):
            self._check_repaired(entry, content)
        if entry.kind not in ("spend", "reserve") or account is None:
            return
        try:
            charge = Charge.read(content)
            rules.check_price(account.fixed(charge).terms, charge, content["loss"])
            rules.check_open(account, moment(entry.time))
            rules.admit(self.book, account.at(charge.period), charge)
            if charge.who != (entry.principal if account.terms.rights.quota(entry.principal) else None):
                raise BrokenChain("it counts to the quota of somebody else, or to none", entry.seq)
            rules.check_quota(self.book, account, charge)
        except BudgetExceeded:
            raise BrokenChain(f"it passes the limit of budget {entry.budget!r}", entry.seq) from None
        except NotOpen:
            raise BrokenChain(f"budget {entry.budget!r} was not open", entry.seq) from None
        except (KeyError, TypeError, ValueError, AttributeError, ArithmeticError) as error:
            raise BrokenChain(f"its body is not that of a {entry.kind!r} entry ({error!r})", entry.seq) from None

    def _check_repaired(self, entry: Entry, content: dict[str, Any]) -> None:
        """What lost entries may have spent is charged at its price, or every budget ends that could spend."""
        self.acknowledged.meet(entry, content)
        for one in content["charges"] or ():
            charge, account = Charge.read(one), self.book.opened(one["budget"])
            rules.check_price(account.fixed(charge).terms, charge, one["loss"])
        if content["lost"] and content["charges"] is None and set(self.book.live()) - set(content["closed"]):
            raise BrokenChain("entries were lost, and budgets that they may have spent from go on", entry.seq)

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
