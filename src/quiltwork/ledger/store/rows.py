"""The rows of a ledger: entries read back, and derived rows, read for a transaction and written where they changed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from functools import lru_cache
from typing import Any

import attrs
from sqlalchemy import (
    Connection,
    Row,
    Select,
    Table,
    bindparam,
    case,
    cast,
    delete,
    func,
    insert,
    or_,
    select,
    true,
    update,
)
from sqlalchemy.dialects import postgresql, sqlite

from quiltwork.compose.filters.opening import Cost
from quiltwork.ledger.book.book import (
    ENDED,
    HELD,
    Account,
    Book,
    Charge,
    MemoryBook,
    Principal,
    Reservation,
    Standing,
    reservation_row,
)
from quiltwork.ledger.book.changes import give_back
from quiltwork.ledger.book.rights import OWN
from quiltwork.ledger.book.terms import Terms
from quiltwork.ledger.chain.entries import Entry, canonical, parsed, stamp
from quiltwork.ledger.store import schema
from quiltwork.ledger.store.acknowledged import Acknowledged, follow


def _where(table: Table, *names: str) -> Select[Any]:
    """Rows whose columns have the values of the parameters of the same names."""
    return select(table).where(*(table.c[name] == bindparam(name) for name in names))


_BUDGET = _where(schema.budgets, "name")
_PERIOD = _where(schema.tallies, "budget", "period")
_TALLIES = _PERIOD.where(schema.tallies.c.name.in_(bindparam("names", expanding=True)))
_EVERY_TALLY = (
    _PERIOD.where(schema.tallies.c.name.not_like(f"{OWN}%"))  # of every block
    .with_only_columns(schema.tallies.c.amount, func.count())
    .group_by(schema.tallies.c.amount)
)
_RESERVATION = _where(schema.reservations, "seq")
_WAITING = (
    _where(schema.reservations, "budget")
    .where(schema.reservations.c.status == "held", schema.reservations.c.until <= bindparam("now"))
    .order_by(schema.reservations.c.seq)
)
_ENTRY = _where(schema.entries, "seq")
_KEY = _where(schema.entries, "budget", "key")
STANDING = (
    update(schema.budgets).where(schema.budgets.c.name == bindparam("which")).values(standing=bindparam("standing"))
)
_TERMS = update(schema.budgets).where(schema.budgets.c.name == bindparam("which")).values(terms=bindparam("terms"))
_STATUS = (
    update(schema.reservations)
    .where(schema.reservations.c.seq == bindparam("which"))
    .values(status=bindparam("status"), charge=bindparam("charge"))
)


@lru_cache(maxsize=16_384)
def _terms(text: str) -> Terms:
    """Terms never change, so their text is read once."""
    return Terms.from_json(parsed(text))


_WRITTEN: dict[str, Standing] = {}  # by their texts: what this process wrote last it need not read again
MOST_WRITTEN = 1024
STATES = ("open", "paused", "closed")  # in which budgets are listed


def _written(standing: Standing) -> str:
    """A standing as it is stored."""
    if len(_WRITTEN) >= MOST_WRITTEN:
        _WRITTEN.clear()
    text = standing.text()
    _WRITTEN[text] = standing
    return text


def entry_at(connection: Connection, seq: int) -> Entry | None:
    """The entry of this number."""
    row = connection.execute(_ENTRY, {"seq": seq}).first()
    return None if row is None else Entry(*row)


def entry_with_key(connection: Connection, budget: str, key: str) -> Entry | None:
    """The entry that was written under a key."""
    row = connection.execute(_KEY, {"budget": budget, "key": key}).first()
    return None if row is None else Entry(*row)


def first_entries(connection: Connection, after: int | None, budget: str | None, count: int) -> list[Entry]:
    """The first entries after a number, or of all, in order."""
    number = schema.entries.c.seq
    return _some(connection, budget, count, number.is_not(None) if after is None else number > after, number)


def entries_about(connection: Connection, budget: str, after: int, most: int) -> list[Entry]:
    """The first entries after a number that change a budget: its own, clocks that were accepted, and repairs."""
    rows = schema.entries.c
    others = rows.budget.is_(None) & rows.kind.in_(("clock", "repaired"))
    asked = select(schema.entries).where((rows.budget == budget) | others, rows.seq > after).order_by(rows.seq)
    return [Entry(*row) for row in connection.execute(asked.limit(most))]


def newest_entries(connection: Connection, budget: str | None, count: int, before: int | None = None) -> list[Entry]:
    """The last entries, or the last before a number, in order."""
    number = schema.entries.c.seq
    return _some(connection, budget, count, true() if before is None else number < before, number.desc())[::-1]


def _some(connection: Connection, budget: str | None, count: int, where: Any, order: Any) -> list[Entry]:
    asked = select(schema.entries).where(where).order_by(order).limit(count)
    if budget is not None:
        asked = asked.where(schema.entries.c.budget == budget)
    return [Entry(*row) for row in connection.execute(asked)]


def in_batches(
    read: Callable[[int | None, int], list[Entry]], after: int | None, limit: int | None, batch: int = 1000
) -> Iterator[Entry]:
    """Entries after a number, at most so many, read in batches so that memory stays small."""
    left = limit
    while left is None or left > 0:
        found = read(after, batch if left is None else min(batch, left))
        yield from found
        if len(found) < batch:
            return
        after, left = found[-1].seq, None if left is None else left - len(found)


def entries_after(
    connection: Connection, after: int | None, budget: str | None = None, limit: int | None = None, batch: int = 1000
) -> Iterator[Entry]:
    """Entries in order."""
    return in_batches(lambda last, count: first_entries(connection, last, budget, count), after, limit, batch)


class LiveBook(Book):
    """The derived rows of a database, inside one transaction."""

    def __init__(
        self,
        connection: Any,
        people: Mapping[str, Principal] | None = None,
        head: Any = None,
        known: Mapping[str, Account] | None = None,
    ) -> None:
        super().__init__()
        self.connection, self.head, self._known = connection, head, known or {}
        self.principals.update(people or {})  # those that the head is signed for, never what rows say
        self._stored: set[tuple[str, Any]] = set()  # rows that exist, so that they are updated
        self._read: dict[tuple[str, int, str], str] = {}  # tallies as the database has them

    def load_account(self, name: str) -> Account | None:
        if (known := self._known.get(name)) is not None:
            self._stored.add(("account", name))
            return known
        row = self.connection.execute(_BUDGET, {"name": name}).first()
        return None if row is None else self._account(row)

    def _account(self, row: Row[Any]) -> Account:
        """A budget as its row has it, unless this transaction knows better."""
        self._stored.add(("account", row.name))
        read = Account(_terms(row.terms), _WRITTEN.get(row.standing) or Standing.read(row.standing), row.opened)
        return self.accounts.setdefault(row.name, read)

    def load_amounts(self, budget: str, period: int, names: tuple[str, ...]) -> dict[str, str]:
        asked = {"budget": budget, "period": period, "names": list(names)}
        found = {row.name: row.amount for row in self.connection.execute(_TALLIES, asked)}
        self._read.update({(budget, period, name): amount for name, amount in found.items()})
        return found

    def load_every_amount(self, budget: str, period: int) -> Counter[str]:
        rows = self.connection.execute(_EVERY_TALLY, {"budget": budget, "period": period})
        found = Counter({row[0]: row[1] for row in rows})
        for kind, place in self.changed:  # what the database does not know yet
            if kind == "amount" and place[:2] == (budget, period) and not place[2].startswith(OWN):
                found[self.amounts[place]] += 1
                if place in self._read:
                    found[self._read[place]] -= 1
        return found

    def load_reservation(self, seq: int) -> Reservation | None:
        row = self.connection.execute(_RESERVATION, {"seq": seq}).first()
        if row is None:
            return None
        self._stored.add(("reservation", seq))
        return _reservation(row)

    def over(self, budget: str, now: str) -> list[Reservation]:
        """Reservations that never started and whose lease has ended."""
        found = [_reservation(row) for row in self.connection.execute(_WAITING, {"budget": budget, "now": now})]
        for one in found:
            self._stored.add(("reservation", one.seq))
            self.reservations.setdefault(one.seq, one)
        return [self.reservations[one.seq] for one in found if self.reservations[one.seq].status == "held"]

    def open_reservations(self, budget: str | None) -> tuple[Reservation, ...]:
        """Those that have not ended, of one budget or of all."""
        asked = select(schema.reservations).where(schema.reservations.c.status.not_in(ENDED))
        if budget is not None:
            asked = asked.where(schema.reservations.c.budget == budget)
        return tuple(map(_reservation, self.connection.execute(asked.order_by(schema.reservations.c.seq))))

    def listed(self, find: str, after: str | None, limit: int | None) -> list[Account]:
        """Budgets in the order of opening, after one of them; whose name or protection holds a text."""
        opened = schema.budgets.c.opened
        asked = select(schema.budgets).where(self._found(find)).order_by(opened).limit(limit)
        if after is not None:
            asked = asked.where(opened > self.opened(after).opened)
        return [self._account(row) for row in self.connection.execute(asked)]

    def paged(self, find: str, skip: int, limit: int) -> tuple[list[Account], int]:
        """The same, open ones first, from a place on; and how many there are."""
        rows, where = schema.budgets, self._found(find)
        state = case(*((rows.c.standing.contains(f'"state":"{one}"'), at) for at, one in enumerate(STATES)))
        asked = select(rows).where(where).order_by(state, rows.c.opened).offset(skip).limit(limit)
        count = self.connection.execute(select(func.count()).select_from(rows).where(where)).scalar_one()
        return [self._account(row) for row in self.connection.execute(asked)], int(count)

    def _found(self, find: str) -> Any:
        """Whether the name or what is protected holds a text, whatever the case of its letters."""
        if not find:
            return true()
        terms, name = schema.budgets.c.terms, schema.budgets.c.name
        if self.connection.dialect.name == "sqlite":
            protects = func.json_extract(terms, "$.protects")
        else:
            protects = cast(terms, postgresql.JSON)["protects"].astext
        folded = ((func.lower(one), find.lower()) for one in (name, protects))  # databases fold ASCII alone, or more
        return or_(*(one.contains(text, autoescape=True) for one, text in (*folded, (name, find), (protects, find))))

    def refreshing(self) -> list[Account]:
        return [one for one in self.listed("", None, None) if one.terms.refresh is not None]

    def paid(self, budget: str) -> dict[int, Cost]:
        """By a replay of its entries: rows keep the newest period alone."""
        book, known = MemoryBook(), Acknowledged.read(self.connection)
        for entry in in_batches(lambda after, most: entries_about(self.connection, budget, after or 0, most), 0, None):
            follow(book, entry, budget, known)
        return book.paid(budget)

    def tallies(self, budget: str, first: int) -> list[tuple[int, str, str]]:
        rows = schema.tallies
        asked = select(rows.c.period, rows.c.name, rows.c.amount).where(rows.c.budget == budget, rows.c.period >= first)
        return sorted((row[0], row[1], row[2]) for row in self.connection.execute(asked))

    def held(self, budget: str) -> list[Reservation]:
        found = [one for one in self.open_reservations(budget) if one.status == HELD]
        for one in found:
            self._stored.add(("reservation", one.seq))
        return found

    def everybody(self) -> tuple[Principal, ...]:
        """Everybody who was admitted, without the hashes of their tokens."""
        return tuple(attrs.evolve(self.principals[name], stored="") for name in sorted(self.principals))

    # ---- writing back

    def flush(self) -> None:
        """Write what changed."""
        tallies = []
        for place in self.changed:
            kind, name = place
            if kind == "account":
                self._write_account(place, self.accounts[name])
            elif kind == "terms":  # what a budget left open was chosen
                terms = canonical(self.accounts[name].terms.to_json())
                self.connection.execute(_TERMS, {"which": name, "terms": terms})
                _terms(terms)  # read once, now rather than with the next spend
            elif kind == "reservation":
                self._write_reservation(place, self.reservations[name])
            elif kind == "principal":
                self._upsert(schema.principals, [attrs.asdict(self.principals[name])])
            else:
                budget, period, label = name
                tallies.append({"budget": budget, "period": period, "name": label, "amount": self.amounts[name]})
                self._read[name] = self.amounts[name]
        self.changed.clear()
        if tallies:
            self._upsert(schema.tallies, tallies)

    @property
    def changed_people(self) -> bool:
        """Whether somebody was admitted or revoked in this transaction."""
        return any(kind == "principal" for kind, _ in self.changed)

    def only_standing(self) -> dict[str, str] | None:
        """The parameters of STANDING when nothing else is to be written."""
        if len(self.changed) != 1:
            return None
        place = next(iter(self.changed))
        if place[0] != "account" or place not in self._stored:
            return None
        return {"which": place[1], "standing": _written(self.accounts[place[1]].standing)}

    def _write_account(self, place: tuple[str, Any], account: Account) -> None:
        name, standing = account.terms.name, _written(account.standing)
        if place in self._stored:
            self.connection.execute(STANDING, {"which": name, "standing": standing})
            return
        terms = canonical(account.terms.to_json())
        made = {"name": name, "opened": account.opened, "terms": terms, "standing": standing}
        self.connection.execute(insert(schema.budgets), made)
        self._stored.add(place)

    def _write_reservation(self, place: tuple[str, Any], reservation: Reservation) -> None:
        if place in self._stored:
            charge = canonical(reservation.charge.fields())
            told = {"which": reservation.seq, "status": reservation.status, "charge": charge}
            self.connection.execute(_STATUS, told)
            return
        self.connection.execute(insert(schema.reservations), reservation_row(reservation))
        self._stored.add(place)

    def _upsert(self, table: Any, rows: list[dict[str, Any]]) -> None:
        """Insert, or replace the row of the same primary key."""
        dialect: Any = sqlite if self.connection.dialect.name == "sqlite" else postgresql
        made = dialect.insert(table)
        keys = [column.name for column in table.primary_key]
        values = {column.name: made.excluded[column.name] for column in table.columns if column.name not in keys}
        self.connection.execute(made.on_conflict_do_update(index_elements=keys, set_=values), rows)


def current(book: LiveBook, name: str, now: datetime) -> Account:
    """The budget as of now: leases that ended count as given back although nobody wrote it down yet."""
    account = book.opened(name)
    if account.standing.held:
        for one in book.over(name, stamp(now)):
            give_back(book, one)
    return book.opened(name)


def _reservation(row: Row[Any]) -> Reservation:
    return Reservation(row.seq, row.budget, row.status, row.until, Charge.read(parsed(row.charge)))


# ---- sessions of a service that signed out: what every process that serves the ledger must know


def signed_out(connection: Connection, hash: str) -> bool:
    """Whether this session signed out."""
    return connection.execute(select(schema.sessions).where(schema.sessions.c.id == hash)).first() is not None


def sign_out(connection: Connection, hash: str, until: float, now: float) -> None:
    """It signs out; those that would be over by now are forgotten."""
    rows = schema.sessions
    connection.execute(delete(rows).where(or_(rows.c.until < now, rows.c.id == hash)))
    connection.execute(insert(rows), {"id": hash, "until": until})
