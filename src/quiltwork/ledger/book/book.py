"""What follows from the entries: the standing of each budget, tallies, reservations, principals."""

from __future__ import annotations

import hashlib
import os
import re
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from fractions import Fraction
from functools import lru_cache
from typing import Any, TypeVar

import attrs

from quiltwork.compose.filters.opening import Cost, filter_from_json
from quiltwork.errors import InvalidParameter
from quiltwork.ledger import names as words
from quiltwork.ledger.book.rights import OWN
from quiltwork.ledger.book.terms import Terms
from quiltwork.ledger.chain.entries import canonical, moment, parsed

HELD, STARTED, SETTLED, REFUNDED, LAPSED = "held", "started", "settled", "refunded", "lapsed"
_AMOUNT = re.compile(r"[0-9]{1,2000}(/[1-9][0-9]{0,1999})?")
Key = TypeVar("Key")
Found = TypeVar("Found")
ENDED = (SETTLED, REFUNDED, LAPSED)
AccountRow = tuple[int, str, str, int]  # entry that opened it, terms, standing, number of its newest entry


@lru_cache(maxsize=8192)
def exact(text: str) -> Fraction:
    """An amount as it is stored; any other spelling, such as one that takes forever to read, is refused."""
    if not _AMOUNT.fullmatch(text):
        raise InvalidParameter("an amount", text, "a fraction such as 1/32")
    return Fraction(text)


@attrs.frozen
class Standing:
    """Where a budget stands: what every block has paid in this period, and whether it is open."""

    since: str  # when it was opened
    state: str = "open"
    period: int = 0
    spent: Cost = ()
    held: int = 0  # reservations that have neither started nor ended
    entries: int = 0
    last: int = 0  # number of its newest entry

    def text(self) -> str:
        """As it is stored."""
        return canonical({**{name: getattr(self, name) for name in _STANDING}, "spent": list(map(str, self.spent))})

    @classmethod
    def read(cls, text: str) -> Standing:
        """The inverse of text."""
        value = parsed(text)
        return cls(**{**value, "spent": tuple(map(exact, value["spent"]))})


@attrs.frozen
class Account:
    """A budget: what was fixed at opening, and where it stands."""

    terms: Terms
    standing: Standing
    opened: int  # number of the entry that opened it

    def period(self, now: datetime) -> int:
        """How many refresh periods have passed; never fewer than the entries have seen."""
        if self.terms.refresh is None:
            return self.standing.period
        return max(self.standing.period, (now - moment(self.standing.since)) // self.terms.refresh)

    def ends(self, now: datetime) -> list[datetime]:
        """When the period and the budget end, those that do; the end of time among them."""
        found = [datetime.max.replace(tzinfo=UTC)]
        if self.terms.expires is not None:
            found.append(self.terms.expires)
        if self.terms.refresh is not None:
            found.append(words.later(moment(self.standing.since), self.terms.refresh, self.period(now) + 1))
        return found

    def at(self, period: int) -> Account:
        """The same budget in this period: a new one starts with nothing spent."""
        if period <= self.standing.period:
            return self
        spent = tuple(Fraction(0) for _ in self.standing.spent)
        return self.standing_at(period=period, spent=spent)

    def fixed(self, charge: Charge) -> Account:
        """The same budget once the first charge has chosen what its filter left open; it may change nothing else."""
        if charge.filter is None:
            return self
        kept, chosen = self.terms.filter, filter_from_json(charge.filter)
        if kept is None or not kept.is_open or chosen.is_open or not kept.allows(chosen):
            raise InvalidParameter("filter", charge.filter, "a choice that the budget leaves open")
        return attrs.evolve(self.standing_at(spent=chosen.zero), terms=attrs.evolve(self.terms, filter=chosen))

    def standing_at(self, **changes: Any) -> Account:
        """The same budget with some of its standing changed."""
        return attrs.evolve(self, standing=attrs.evolve(self.standing, **changes))


@attrs.frozen
class Charge:
    """What one spend takes: a cost from everything or from blocks, or runs of a planned release."""

    period: int
    cost: Cost = ()
    blocks: tuple[str, ...] | None = None
    release: str | None = None
    times: int = 1
    filter: dict[str, Any] | None = None  # what was chosen about the budget's filter, of the charge that chose it
    who: str | None = None  # whose quota it counts to, of a principal that has one

    def fields(self) -> dict[str, Any]:
        """As an entry holds it."""
        blocks = None if self.blocks is None else list(self.blocks)
        plain = {name: getattr(self, name) for name in _CHARGE}
        found = {**plain, "cost": list(map(str, self.cost)), "blocks": blocks}
        return {name: one for name, one in found.items() if one is not None or name not in ("filter", "who")}

    @classmethod
    def read(cls, value: Mapping[str, Any]) -> Charge:
        """From the body of an entry."""
        cost, blocks = tuple(map(exact, value["cost"])), value["blocks"]
        named = None if blocks is None else tuple(blocks)
        told = value["release"], value["times"], value.get("filter"), value.get("who")
        return cls(value["period"], cost, named, *told)


@attrs.frozen
class Reservation:
    """Budget held for a job until it starts, or until its lease ends."""

    seq: int
    budget: str
    status: str
    until: str
    charge: Charge


@attrs.frozen
class Principal:
    """Somebody who may use the ledger."""

    name: str
    role: str
    identity: str
    stored: str
    expires: str | None
    revoked: int = 0


_STANDING, _CHARGE = (tuple(field.name for field in attrs.fields(kind)) for kind in (Standing, Charge))


def reservation_row(reservation: Reservation) -> dict[str, Any]:
    """A reservation as its table holds it."""
    return {**attrs.asdict(reservation), "charge": canonical(reservation.charge.fields())}


def _known(rows: dict[Key, Found], key: Key, load: Callable[[Key], Found | None]) -> Found | None:
    """A row that is kept, or read now."""
    if key not in rows and (found := load(key)) is not None:
        rows[key] = found
    return rows.get(key)


class Book(ABC):
    """Derived rows, read when asked for and kept; `changed` remembers which to write back."""

    def __init__(self) -> None:
        self.accounts: dict[str, Account] = {}
        self.amounts: dict[tuple[str, int, str], str] = {}
        self.reservations: dict[int, Reservation] = {}
        self.principals: dict[str, Principal] = {}
        self.changed: dict[tuple[str, Any], None] = {}
        self.identity = ""
        self.public_key: str | None = None
        self.keys: set[str] = set()  # every key that signed for the ledger
        self.signs_heads = False  # whether heads are statements of their own kind, as they are since version 0.2

    # ---- what is stored elsewhere: nothing, unless a book says so

    def load_account(self, name: str) -> Account | None:
        """A budget's row."""
        return None

    def load_amounts(self, budget: str, period: int, names: tuple[str, ...]) -> dict[str, str]:
        """Tallies by name; those that do not exist are left out."""
        return {}

    @abstractmethod
    def load_every_amount(self, budget: str, period: int) -> Counter[str]:
        """How many tallies of a budget have each amount."""

    def load_reservation(self, seq: int) -> Reservation | None:
        """A reservation's row."""
        return None

    # ---- what a clock that had been ahead asks for

    @abstractmethod
    def refreshing(self) -> list[Account]:
        """Every budget that is refreshed."""

    @abstractmethod
    def paid(self, budget: str) -> dict[int, Cost]:
        """What every block has paid, in each period of a budget that is refreshed."""

    @abstractmethod
    def tallies(self, budget: str, first: int) -> list[tuple[int, str, str]]:
        """Period, name and amount of the tallies from a period on, in order."""

    @abstractmethod
    def held(self, budget: str) -> list[Reservation]:
        """Reservations that neither started nor ended, in order."""

    def begin_again(self, budget: str, period: int) -> None:
        """The periods after this one have not begun."""
        return None

    # ---- what is known

    def account(self, name: str) -> Account | None:
        return _known(self.accounts, name, self.load_account)

    def opened(self, name: str) -> Account:
        """A budget that must be there."""
        account = self.account(name)
        if account is None:
            hint = "list them to see their names"
            raise InvalidParameter("budget", name, "the name of a budget of this ledger", hint)
        return account

    def fetch(self, budget: str, period: int, names: tuple[str, ...]) -> None:
        """Read several tallies at once."""
        missing = tuple(name for name in names if (budget, period, name) not in self.amounts)
        if missing:
            found = self.load_amounts(budget, period, missing)
            self.amounts.update({(budget, period, name): amount for name, amount in found.items()})

    def amount(self, budget: str, period: int, name: str) -> str | None:
        place = (budget, period, name)
        if place not in self.amounts and (found := self.load_amounts(budget, period, (name,))):
            self.amounts[place] = found[name]
        return self.amounts.get(place)

    def reservation(self, seq: int) -> Reservation | None:
        return _known(self.reservations, seq, self.load_reservation)

    def principal(self, name: str) -> Principal | None:
        return self.principals.get(name)

    def mark(self, kind: str, place: Any) -> None:
        """Remember that a row must be written back."""
        self.changed[kind, place] = None

    def retire(self, reservation: Reservation) -> None:
        """A reservation has ended; its row stays as it is from now on."""
        return None

    def put_account(self, account: Account) -> None:
        self.accounts[account.terms.name] = account
        self.mark("account", account.terms.name)

    def put_amount(self, budget: str, period: int, name: str, amount: str) -> None:
        self.amounts[budget, period, name] = amount
        self.mark("amount", (budget, period, name))

    def put_reservation(self, reservation: Reservation) -> None:
        self.reservations[reservation.seq] = reservation
        self.mark("reservation", reservation.seq)

    def put_principal(self, principal: Principal) -> None:
        self.principals[principal.name] = principal
        self.mark("principal", principal.name)


class MemoryBook(Book):
    """A book that starts empty: everything it knows was applied to it.

    Ended reservations are not kept, only the sum of their hashes: memory does not grow with the number of jobs. Rows of
    budgets that were sealed by an earlier replay are read when an entry needs them.
    """

    def __init__(self, secret: bytes | None = None) -> None:
        super().__init__()
        self.ended = 0
        self.sealed: dict[str, AccountRow] = {}
        self.costs: dict[str, dict[int, Cost]] = {}  # of budgets that are refreshed, by period
        self._counts: dict[tuple[str, int], Counter[str]] = {}
        # so that nobody can look for rows whose numbers sum up alike
        self.secret = os.urandom(32) if secret is None else secret

    def load_account(self, name: str) -> Account | None:
        row = self.sealed.get(name)
        return None if row is None else Account(Terms.from_json(parsed(row[1])), Standing.read(row[2]), row[0])

    def account_rows(self) -> dict[str, AccountRow]:
        """Every budget as its table holds it."""
        found = {
            name: (one.opened, canonical(one.terms.to_json()), one.standing.text(), one.standing.last)
            for name, one in self.accounts.items()
        }
        return self.sealed | found

    def live(self) -> list[str]:
        """Budgets that are not closed."""
        return sorted(name for name in self.account_rows() if self.opened(name).standing.state != "closed")

    def fingerprint(self, row: dict[str, Any]) -> int:
        """A number that stands for a row."""
        return int.from_bytes(hashlib.blake2b(canonical(row).encode(), key=self.secret, digest_size=32).digest())

    def mark(self, kind: str, place: Any) -> None:
        return None

    def put_account(self, account: Account) -> None:
        super().put_account(account)
        if account.terms.refresh is not None:
            self.costs.setdefault(account.terms.name, {})[account.standing.period] = account.standing.spent

    def refreshing(self) -> list[Account]:
        return [self.opened(name) for name in sorted(self.costs)]

    def paid(self, budget: str) -> dict[int, Cost]:
        return self.costs[budget]

    def tallies(self, budget: str, first: int) -> list[tuple[int, str, str]]:
        found = [(place[1], place[2], one) for place, one in self.amounts.items() if place[0] == budget]
        return sorted(one for one in found if one[0] >= first)

    def held(self, budget: str) -> list[Reservation]:
        return [one for one in self.reservations.values() if one.budget == budget and one.status == HELD]

    def begin_again(self, budget: str, period: int) -> None:
        self.costs[budget] = {at: cost for at, cost in self.costs[budget].items() if at <= period}

    def retire(self, reservation: Reservation) -> None:
        self.ended = (self.ended + self.fingerprint(reservation_row(reservation))) % 2**256
        del self.reservations[reservation.seq]

    def load_every_amount(self, budget: str, period: int) -> Counter[str]:
        return self._counts.setdefault((budget, period), Counter()).copy()

    def put_amount(self, budget: str, period: int, name: str, amount: str) -> None:
        if name.startswith(OWN):  # it is no block's
            super().put_amount(budget, period, name, amount)
            return
        counts = self._counts.setdefault((budget, period), Counter())
        before = self.amounts.get((budget, period, name))
        if before is not None:
            counts[before] -= 1
            if not counts[before]:
                del counts[before]
        counts[amount] += 1
        super().put_amount(budget, period, name, amount)


def amounts(text: str | None, size: int) -> Cost:
    """The amounts of a tally; nothing when there is none yet."""
    return tuple(Fraction(0) for _ in range(size)) if text is None else tuple(map(exact, text.split()))


def amount_text(cost: Cost) -> str:
    """The inverse of amounts."""
    return " ".join(map(str, cost))
