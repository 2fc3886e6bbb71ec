"""What each entry changes: the only code that says so.

Writing applies an entry to rows of the database, verification applies it to an empty book in memory and compares: a row
that nobody wrote cannot stay unnoticed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from datetime import timedelta
from fractions import Fraction
from typing import Any

import attrs

from quiltwork.compose.filters.opening import Cost, added
from quiltwork.errors import BrokenChain
from quiltwork.ledger.book import book as books
from quiltwork.ledger.book.book import Account, Book, Charge, Principal, Reservation, Standing, amount_text, amounts
from quiltwork.ledger.book.rights import OWN, Rights
from quiltwork.ledger.book.terms import Terms
from quiltwork.ledger.chain.entries import Entry, moment, stamp
from quiltwork.ledger.chain.keys import is_public_key, signed_by

FORMAT = {"head": 1, "tree": 1}  # of the head's statement and of the tree over the entries


def apply(book: Book, entry: Entry, content: dict[str, Any] | None = None) -> None:
    """Bring the book up to date with one more entry; BrokenChain when it cannot follow from those before.

    `content` is that of the entry, where it was read already.
    """
    change = _CHANGES.get(entry.kind)
    if change is None:
        raise BrokenChain(f"its kind {entry.kind!r} is unknown", entry.seq)
    try:
        change(book, entry, entry.content if content is None else content)
    except (KeyError, TypeError, ValueError, AttributeError, ArithmeticError) as error:
        if isinstance(error, BrokenChain):
            raise
        raise BrokenChain(f"its body is not that of a {entry.kind!r} entry ({error!r})", entry.seq) from None
    if entry.budget is not None and (account := book.account(entry.budget)) is not None:
        book.put_account(account.standing_at(entries=account.standing.entries + 1, last=entry.seq))


def count(book: Book, entry: Entry, content: dict[str, Any]) -> None:
    """What an entry that broke a rule still changes, once that was acknowledged: it counts, and gives nothing.

    Costs count, also past the limit; what starts or ends has done so; nothing comes back, and nobody is let in.
    """
    if entry.kind in COSTS and entry.budget is not None and (account := book.account(entry.budget)) is not None:
        try:
            charge = attrs.evolve(Charge.read(content), period=account.period(moment(entry.time)))
            _charged(book, account, charge)
            if entry.kind == "reserve":
                _hold(book, entry, content, charge)
        except (KeyError, TypeError, ValueError, AttributeError, ArithmeticError) as error:
            raise BrokenChain(f"what it cost cannot be read ({error!r}): nothing can stand for it", entry.seq) from None
    elif (change := _COUNTED.get(entry.kind)) is not None:
        with suppress(BrokenChain):
            change(book, entry, content)
    if entry.budget is not None and (account := book.account(entry.budget)) is not None:
        book.put_account(account.standing_at(entries=account.standing.entries + 1, last=entry.seq))


def _account(book: Book, entry: Entry) -> Account:
    account = None if entry.budget is None else book.account(entry.budget)
    if account is None:
        raise BrokenChain(f"budget {entry.budget!r} was never opened", entry.seq)
    return account


def _ledger(book: Book, entry: Entry, content: dict[str, Any]) -> None:
    if entry.seq != 1:
        raise BrokenChain("a ledger begins once", entry.seq)
    book.identity, book.public_key = str(content["id"]), content["public_key"]
    book.keys.update({book.public_key} - {None})
    book.signs_heads = "format" in content


def _format(book: Book, entry: Entry, content: dict[str, Any]) -> None:
    """From here on heads are statements of their own kind: an older kind is never taken again."""
    if book.signs_heads or content != FORMAT:
        raise BrokenChain("heads are signed in this way already, or in another", entry.seq)
    book.signs_heads = True


def _key(book: Book, entry: Entry, content: dict[str, Any]) -> None:
    """Another key signs from now on; the one before must have agreed."""
    public = content["public_key"]
    agreed = book.public_key is None or signed_by(book.public_key, handover(book.identity, public), content["agreed"])
    if not is_public_key(public) or not agreed:
        raise BrokenChain("the key before did not sign for this one", entry.seq)
    book.public_key = public
    book.keys.add(public)


def handed_over(identity: str, before: str | None, after: str, entries: Iterable[Entry]) -> bool:
    """Whether these entries, in order, lead from one key to another, each agreed to by the key before."""
    for entry in entries:
        try:
            public, agreed = entry.content["public_key"], entry.content["agreed"]
        except (BrokenChain, KeyError):
            return False
        if not entry.sound() or (before is not None and not signed_by(before, handover(identity, public), agreed)):
            return False
        before = public
    return before == after


def handover(identity: str, public: str) -> bytes:
    """What a key signs when another one takes its place."""
    return f"quiltwork/key/1\n{identity}\n{public}".encode()


def _open(book: Book, entry: Entry, content: dict[str, Any]) -> None:
    terms = Terms.from_json(content)
    if terms.name != entry.budget or book.account(terms.name) is not None:
        raise BrokenChain(f"budget {entry.budget!r} cannot be opened here", entry.seq)
    spent = () if terms.filter is None else terms.filter.zero
    book.put_account(Account(terms, Standing(entry.time, spent=spent), entry.seq))


def _spend(book: Book, entry: Entry, content: dict[str, Any]) -> None:
    account, charge = _account(book, entry), Charge.read(content)
    if charge.period != account.period(moment(entry.time)):
        raise BrokenChain(f"it is charged to another period, {charge.period}", entry.seq)
    _charged(book, account, charge)


def _charged(book: Book, account: Account, charge: Charge) -> None:
    if charge.filter is not None:
        account = account.fixed(charge)
        book.put_account(account)
        book.mark("terms", account.terms.name)
    _take(book, account, charge)


def _take(book: Book, account: Account, charge: Charge, sign: int = 1) -> None:
    terms = account.terms
    account = account.at(charge.period)
    if charge.period < account.standing.period:
        return  # returned to a period that is over
    if charge.who is not None:
        mine = amounts(book.amount(terms.name, charge.period, f"{OWN}{charge.who}"), len(charge.cost))
        book.put_amount(terms.name, charge.period, f"{OWN}{charge.who}", amount_text(changed(mine, charge.cost, sign)))
    if terms.kind == "planned":
        used = int(book.amount(terms.name, charge.period, str(charge.release)) or 0)
        book.put_amount(terms.name, charge.period, str(charge.release), str(used + sign * charge.times))
    elif charge.blocks is None:
        account = account.standing_at(spent=changed(account.standing.spent, charge.cost, sign))
    else:
        book.fetch(terms.name, charge.period, charge.blocks)
        for name in charge.blocks:
            before = amounts(book.amount(terms.name, charge.period, name), len(charge.cost))
            book.put_amount(terms.name, charge.period, name, amount_text(changed(before, charge.cost, sign)))
    book.put_account(account)


def give_back(book: Book, held: Reservation) -> None:
    """What a reservation holds returns to its budget, which holds one fewer."""
    account = book.account(held.budget)
    if account is not None:
        _take(book, account, held.charge, -1)
        _held(book, book.account(held.budget) or account, -1)


def changed(spent: Cost, cost: Cost, sign: int) -> Cost:
    """A total with a cost added, or one that was added before taken away again."""
    return added(spent, cost) if sign > 0 else tuple(a - b for a, b in zip(spent, cost, strict=True))


def _reserve(book: Book, entry: Entry, content: dict[str, Any]) -> None:
    _spend(book, entry, content)
    _hold(book, entry, content, Charge.read(content))


def _hold(book: Book, entry: Entry, content: dict[str, Any], charge: Charge) -> None:
    until = stamp(moment(content["until"]))
    book.put_reservation(Reservation(entry.seq, str(entry.budget), books.HELD, until, charge))
    _held(book, _account(book, entry), 1)


def _held(book: Book, account: Account, change: int) -> None:
    book.put_account(account.standing_at(held=account.standing.held + change))


def _moved(before: str, after: str, back: bool = False) -> Callable[[Book, Entry, dict[str, Any]], None]:
    """A reservation goes from one status to the next, and gives its charge back or not; held ones mind the lease."""

    def change(book: Book, entry: Entry, content: dict[str, Any]) -> None:
        found = book.reservation(content["reservation"])
        if found is None or found.budget != entry.budget or found.status != before:
            raise BrokenChain(f"there is no reservation that could be {after} here", entry.seq)
        if after == books.STARTED and _account(book, entry).standing.state != "open":
            raise BrokenChain(f"budget {entry.budget!r} was not open", entry.seq)
        if before == books.HELD and (after == books.LAPSED) != (entry.time >= found.until):
            raise BrokenChain(f"a lease until {found.until} does not allow this", entry.seq)
        if back:
            _take(book, _account(book, entry), found.charge, -1)
        if before == books.HELD:
            _held(book, _account(book, entry), -1)
        book.put_reservation(attrs.evolve(found, status=after))
        if after != books.STARTED:
            book.retire(attrs.evolve(found, status=after))

    return change


def _state(before: tuple[str, ...], after: str) -> Callable[[Book, Entry, dict[str, Any]], None]:
    def change(book: Book, entry: Entry, content: dict[str, Any]) -> None:
        account = _account(book, entry)
        if account.standing.state not in before:
            raise BrokenChain(f"a budget that is {account.standing.state} cannot become {after}", entry.seq)
        book.put_account(account.standing_at(state=after))

    return change


def _rights(book: Book, entry: Entry, content: dict[str, Any]) -> None:
    """Who may spend from now on, and how much each; what was charged to a quota stays charged."""
    account = _account(book, entry)
    terms = attrs.evolve(account.terms, rights=Rights.from_json(content["rights"]))
    book.put_account(attrs.evolve(account, terms=terms))
    book.mark("terms", terms.name)


def _admit(book: Book, entry: Entry, content: dict[str, Any]) -> None:
    book.put_principal(
        Principal(content["name"], content["role"], content["identity"], content["stored"], content["expires"])
    )


def _revoke(book: Book, entry: Entry, content: dict[str, Any]) -> None:
    found = book.principal(content["name"])
    if found is None:
        raise BrokenChain(f"nobody is called {content['name']!r}", entry.seq)
    book.put_principal(attrs.evolve(found, revoked=1))


def _repaired(book: Book, entry: Entry, content: dict[str, Any]) -> None:
    """What lost entries are taken to have spent, or the end of budgets that they may have spent from."""
    for one in content.get("charges") or ():
        charge, account = Charge.read(one), book.account(one["budget"])
        if account is None or charge.period != account.period(moment(entry.time)):
            raise BrokenChain(f"it is charged to no budget, or to another period, {charge.period}", entry.seq)
        _charged(book, account, charge)
    for name in content.get("closed", ()):
        if (account := book.account(name)) is not None:
            book.put_account(account.standing_at(state="closed"))


def _clock(book: Book, entry: Entry, content: dict[str, Any]) -> None:
    """The clock had been ahead: what was charged to periods that have not begun was charged in the one of now.

    Those releases did happen in it, so that no period is refreshed twice, and none is dead until a date that was wrong.
    The sum may pass the limit: then nothing is left before the next period. Reference: theory/ledger.md section 2.10.
    """
    if not content.get("merges"):
        return  # one of version 0.1: its budgets stayed in the later period
    now = moment(entry.time)
    for account in book.refreshing():
        terms, standing = account.terms, account.standing
        true = max((now - moment(standing.since)) // (terms.refresh or timedelta.max), 0)
        if true < standing.period:
            _merge(book, account, true)


def _merge(book: Book, account: Account, period: int) -> None:
    """One period of all from this one on."""
    name = account.terms.name
    costs = [cost for at, cost in book.paid(name).items() if at >= period and any(cost)]
    spent = tuple(sum(column, Fraction(0)) for column in zip(*costs, strict=True)) or account.standing.spent
    sums: dict[str, str] = {}
    for at, label, amount in book.tallies(name, period):
        if account.terms.kind == "planned":
            sums[label], none = str(int(sums.get(label, 0)) + int(amount)), "0"
        else:
            cost = amounts(amount, 0)
            none = amount_text(amounts(None, len(cost)))
            sums[label] = amount_text(added(amounts(sums.get(label), len(cost)), cost))
        if at > period:
            book.put_amount(name, at, label, none)
    for label, amount in sums.items():
        book.put_amount(name, period, label, amount)
    for held in book.held(name):
        book.put_reservation(attrs.evolve(held, charge=attrs.evolve(held.charge, period=period)))
    book.begin_again(name, period)
    book.put_account(account.standing_at(period=period, spent=spent))


def _nothing(book: Book, entry: Entry, content: dict[str, Any]) -> None:
    return None


_CHANGES: dict[str, Callable[[Book, Entry, dict[str, Any]], None]] = {
    "ledger": _ledger,
    "key": _key,
    "format": _format,
    "open": _open,
    "spend": _spend,
    "reserve": _reserve,
    "start": _moved(books.HELD, books.STARTED),
    "settle": _moved(books.STARTED, books.SETTLED),
    "refund": _moved(books.HELD, books.REFUNDED, back=True),
    "lapse": _moved(books.HELD, books.LAPSED, back=True),
    "pause": _state(("open",), "paused"),
    "resume": _state(("paused",), "open"),
    "close": _state(("open", "paused"), "closed"),
    "rights": _rights,
    "admit": _admit,
    "revoke": _revoke,
    "denied": _nothing,
    "clock": _clock,
    "result": _nothing,
    "repaired": _repaired,
}
COSTS = ("spend", "reserve")
_COUNTED = {
    **{kind: _CHANGES[kind] for kind in ("start", "settle", "pause", "close", "revoke", "key")},
    "refund": _moved(books.HELD, books.REFUNDED),
    "lapse": _moved(books.HELD, books.LAPSED),
}
