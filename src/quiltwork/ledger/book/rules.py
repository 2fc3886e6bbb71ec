"""Whether an act may be done: who asks has the right, the budget is open, the charge fits.

Nothing here looks at data: a refusal tells nothing about anybody. A ledger is open to whoever reaches its database
until the first admin is named; then tokens rule. The library checks tokens for the programs that use it. Whoever holds
the password of the database can go around it: give that, and the signing key, only to the service, and the tokens to
people. Refusals of access are entries of the chain where whoever is refused can write to it at all: with the signing
key, and with rights to insert.

Adaptive budgets add up costs. What the protected change can touch costs at most what reads everything, plus the sums of
the `most` blocks that cost most, component by component; the filter's theorem needs that sum to keep below its limit on
every path. A planned budget was checked as a whole when it was opened: its releases may run as often as planned.

Reference: theory/granularity.md section 3.2.
"""

from __future__ import annotations

import heapq
import json
from collections import Counter
from datetime import datetime
from fractions import Fraction
from functools import lru_cache
from typing import Any, Final

import attrs

from quiltwork.compose.filters.opening import Cost, Filter, added
from quiltwork.compose.filters.windows import stated_from_json
from quiltwork.errors import AccessDenied, AlreadyRun, BudgetExceeded, InvalidParameter, NotOpen, Unsupported
from quiltwork.kinds import document
from quiltwork.ledger import names as words
from quiltwork.ledger.book import book as books
from quiltwork.ledger.book.book import Account, Book, Charge, Principal, Reservation, amount_text, amounts
from quiltwork.ledger.book.rights import OWN
from quiltwork.ledger.book.terms import Terms
from quiltwork.ledger.chain.entries import moment, parsed

Who = tuple[str, str]  # a principal's name, and which of its tokens was shown
ROLES: Final = ("viewer", "spender", "admin")
ACTS: Final = {"read": "viewer", "spend": "spender", "manage": "admin"}  # the least role for each act
NEARLY = Fraction(999_999, 1_000_000)
MOST = 2**53  # a forecast beyond that says nothing more


@document("forecast/1")
@attrs.frozen
class Forecast:
    """How many more of a release fit; None when it costs nothing."""

    budget: str
    count: int | None
    cost: str
    left: str
    state: str = "open"

    def to_json(self) -> dict[str, Any]:
        return {"schema": "quiltwork/forecast/1", **attrs.asdict(self)}

    def __bool__(self) -> bool:
        """Whether at least one more fits, now."""
        return self.state == "open" and self.count != 0

    def __str__(self) -> str:
        many = "any number" if self.count is None else f"{self.count:,}"
        closed = "" if self.state == "open" else f"; but the budget is {self.state}, and nothing can be spent from it"
        return f"{many} more fit into {self.budget!r}: each costs {self.cost}, {self.left} is left{closed}"


def may(role: Any, act: Any) -> bool:
    """Whether a role covers an act: viewers read, spenders also spend, admins also manage.

    An unknown role may nothing (a forged row must not open a door); an unknown act is a mistake in the calling code.
    """
    if not isinstance(act, str) or act not in ACTS:
        raise InvalidParameter("act", act, f"one of {', '.join(ACTS)}")
    return role in ROLES and ROLES.index(role) >= ROLES.index(ACTS[act])


def check_valid(principal: Principal, now: datetime) -> None:
    """AccessDenied once the token of a principal was revoked or has expired."""
    if principal.revoked:
        raise AccessDenied("signing in", f"the token of {principal.name!r} was revoked")
    if principal.expires is not None and now >= moment(principal.expires):
        raise AccessDenied("signing in", f"the token of {principal.name!r} has expired")


def check_right(
    book: Book, guarded: bool, who: Who | None, act: str, now: datetime, account: Account | None = None
) -> None:
    """AccessDenied unless who asks may do this now: tokens are checked again in every transaction."""
    if not guarded:
        return
    if who is None:
        raise AccessDenied(act, "this ledger asks for a token")
    principal = book.principal(who[0])
    if principal is None or principal.identity != who[1]:
        raise AccessDenied(act, f"the token of {who[0]!r} was replaced")
    check_valid(principal, now)
    if act == "spend" and account is not None and account.terms.rights.spenders:
        account.terms.rights.check_spender(account.terms.name, principal.name)
    owns = account is not None and principal.name in account.terms.owners and may(principal.role, "spend")
    if not may(principal.role, act) and not (act == "manage" and owns):
        raise AccessDenied(act, f"{principal.name!r} is a {principal.role}")


def check_own(book: Book, guarded: bool, who: str | None, made_by: str | None, act: str, account: Account) -> None:
    """AccessDenied for what somebody else holds or paid for: it is theirs, and the owners' and admins' of the budget.

    Otherwise whoever may spend gives back what another job is about to run on, or puts numbers under its key. Nobody
    in particular made what was made before there were principals.
    """
    if not guarded or made_by is None or who == made_by:
        return
    principal = None if who is None else book.principal(who)
    if principal is None or not (may(principal.role, "manage") or principal.name in account.terms.owners):
        raise AccessDenied(act, f"it is {made_by!r} who holds it, and {who!r} neither owns the budget nor is an admin")


def check_open(account: Account, now: datetime) -> None:
    """Refuse a budget that is paused, closed or past its time."""
    name, standing, expires = account.terms.name, account.standing, account.terms.expires
    if standing.state != "open":
        hint = "an admin or owner resumes it" if standing.state == "paused" else "open a new one"
        raise NotOpen(f"budget {name!r}", standing.state, hint)
    if expires is not None and now >= expires:
        raise NotOpen(f"budget {name!r}", f"expired since {expires.isoformat()}", "open a new one")


def check_move(found: Reservation, act: str) -> None:
    """Refuse what does not follow the status that a reservation has."""
    name = f"reservation {found.seq}"
    if found.status == books.LAPSED:
        raise NotOpen(name, "lapsed: its lease ended before it started", "reserve again")
    if found.status == books.REFUNDED:
        raise NotOpen(name, "refunded", "reserve again")
    needed = books.STARTED if act == "settle" else books.HELD
    if found.status == needed:
        return
    if act == "settle" and found.status == books.HELD:
        raise InvalidParameter("reservation", found.seq, "started", "start it first, or refund it")
    hint = "it may have run, so it stays spent" if act == "refund" else "nothing runs twice"
    raise AlreadyRun(name, f"it is {found.status}", hint)


def admit(book: Book, account: Account, charge: Charge) -> None:
    """BudgetExceeded when the charge does not fit; the book is not changed."""
    account = account.at(charge.period).fixed(charge)
    terms = account.terms
    if terms.kind == "planned":
        release = terms.release(str(charge.release))
        left = release.times - int(book.amount(terms.name, charge.period, release.name) or 0)
        if charge.times > left:
            needed, free = f"{charge.times} of them", f"{left} runs of {release.name!r}"
            hint = "what was planned has run; plan more in a new budget"
            raise BudgetExceeded(budget=f"{terms.name!r}", requested=needed, remaining=free, hint=hint)
        return
    kept = kept_by(account)
    total = worst(book, account, charge)
    if not kept.admits(total):
        gone, over = used(book, account, charge.blocks), room(book, account, charge.blocks)
        for digits in (6, 12, 24, 48):  # as many as it takes to see that it does not fit
            needed, free = terms.said(charge.cost, digits), terms.said_left(gone, over, digits)
            if needed != free:
                break
        hint = ""
        if terms.refresh is not None:
            begins = words.later(moment(account.standing.since), terms.refresh, account.standing.period + 1)
            hint = f"lower its cost, or wait for the next period, which begins {begins.isoformat(timespec='seconds')}"
        raise BudgetExceeded(budget=f"{terms.name!r}", requested=needed, remaining=free, hint=hint)


def check_quota(book: Book, account: Account, charge: Charge) -> None:
    """BudgetExceeded when the charge passes the quota of whoever spends it."""
    if charge.who is not None:
        account = account.fixed(charge)
        mine = amounts(book.amount(account.terms.name, charge.period, f"{OWN}{charge.who}"), len(charge.cost))
        account.terms.rights.check_quota(kept_by(account), account.terms.name, charge.who, added(mine, charge.cost))


def kept_by(account: Account) -> Filter:
    """The filter of an adaptive budget."""
    if account.terms.filter is None:
        raise Unsupported("a filter", f"budget {account.terms.name!r} is planned", "its plan is composed as a whole")
    return account.terms.filter


def worst(book: Book, account: Account, charge: Charge, times: int = 1, counted: Counter[str] | None = None) -> Cost:
    """What the protected change can cost at most once `times` such charges are taken.

    `counted` is how many blocks have paid each amount, when it is known already.
    """
    base, blocks, name, period = account.standing.spent, account.terms.blocks, account.terms.name, charge.period
    cost = tuple(times * one for one in charge.cost)
    if blocks is None:
        return added(base, cost)
    if charge.blocks is None:
        known = book.load_every_amount(name, period) if counted is None else counted
        return plus(added(base, cost), top(known, base, blocks.most))
    book.fetch(name, period, charge.blocks)
    touched = [book.amount(name, period, one) for one in charge.blocks]
    after = [added(amounts(text, len(base)), cost) for text in touched]
    if blocks.most == 1:  # the others kept below the limit before, and do not change
        return plus(base, tuple(map(max, *after)) if len(after) > 1 else after[0])
    others = (book.load_every_amount(name, period) if counted is None else counted).copy()
    others.subtract(text for text in touched if text is not None)
    others.update(amount_text(one) for one in after)
    return plus(base, top(others, base, blocks.most))


def top(found: Counter[str], like: Cost, most: int) -> Cost:
    """The sum of the `most` largest amounts, each component by itself: no choice of that many blocks costs more."""
    known = [(amounts(text, len(like)), count) for text, count in found.items() if count > 0]
    return tuple(_largest([(cost[j], count) for cost, count in known], most) for j in range(len(like)))


def _largest(values: list[tuple[Fraction, int]], most: int) -> Fraction:
    total = Fraction(0)
    for value, count in heapq.nlargest(min(most, len(values)), values):
        total += value * min(count, most)
        most -= min(count, most)
    return total


def plus(one: Cost, two: Cost) -> Cost:
    """Componentwise sum."""
    return tuple(a + b for a, b in zip(one, two, strict=True))


def forecast(book: Book, account: Account, charge: Charge) -> Forecast:
    """How many such charges fit one after the other."""
    account = account.at(charge.period).fixed(charge)
    terms = account.terms
    if terms.kind == "planned":
        release = terms.release(str(charge.release))
        left = release.times - int(book.amount(terms.name, account.standing.period, release.name) or 0)
        return Forecast(terms.name, left, f"one run of {release.name!r}", f"{left} of {release.times} runs")
    kept = kept_by(account)
    over = room(book, account, charge.blocks)
    left_over, cost = terms.said_left(used(book, account, charge.blocks), over), terms.said(charge.cost)
    if not any(charge.cost):
        return Forecast(terms.name, None, cost, left_over)
    counted = None if terms.blocks is None else book.load_every_amount(terms.name, account.standing.period)
    low, high = 0, 1
    while high <= MOST and kept.admits(worst(book, account, charge, high, counted)):
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        if kept.admits(worst(book, account, charge, middle, counted)):
            low = middle
        else:
            high = middle
    return Forecast(terms.name, low, cost, left_over)


def room(book: Book, account: Account, blocks: tuple[str, ...] | None) -> Cost:
    """What may still be charged to each of these blocks, or to everything."""
    kept, parts = kept_by(account), account.terms.blocks
    shares = 1 if parts is None or blocks is None else min(len(blocks), parts.most)  # each counts, up to `most`
    return kept.left(used(book, account, blocks), shares)


def used(book: Book, account: Account, blocks: tuple[str, ...] | None) -> Cost:
    """What the worst change costs so far that touches these blocks, or anything."""
    parts = account.terms.blocks
    if parts is not None and parts.most > 1 and blocks is not None and len(blocks) == 1:
        return _beside(book, account, blocks[0], parts.most)
    return worst(book, account, Charge(account.standing.period, kept_by(account).zero, blocks))


def _beside(book: Book, account: Account, block: str, most: int) -> Cost:
    """What the worst change costs that touches this block."""
    base, period = account.standing.spent, account.standing.period
    text = book.amount(account.terms.name, period, block)
    others = book.load_every_amount(account.terms.name, period)
    if text is not None:
        others[text] -= 1
    return plus(plus(base, amounts(text, len(base))), top(others, base, most - 1))


def check_translation(terms: Terms) -> None:
    """InvalidParameter when what is paid per entry does not keep the limit of a budget about secrets."""
    if terms.about is None or terms.filter is None:
        return
    if not terms.about.keeps(terms.filter, float(terms.limit.epsilon or 0.0), terms.limit.delta):
        given = terms.filter.shown(terms.filter.limit)
        raise InvalidParameter("filter", given, f"one that keeps the secrets at {terms.limit}")


def check_price(terms: Terms, charge: Charge, loss: dict[str, Any] | None) -> None:
    """InvalidParameter when a stored charge is not one that these terms take, or clearly less than its loss costs.

    Another release may bound a cost a little better or worse, so a millionth is let pass; a loss that this one cannot
    price stays as it was charged.
    """
    if charge.times < 1 or (terms.kind == "planned") != (charge.release is not None):
        raise InvalidParameter("charge", charge.fields(), f"one of the {terms.kind} budget {terms.name!r}")
    if charge.blocks is not None and (terms.blocks is None or terms.blocks.chosen(charge.blocks) != charge.blocks):
        raise InvalidParameter("blocks", charge.blocks, f"blocks of budget {terms.name!r}")
    if terms.filter is None:
        return
    if len(charge.cost) != len(terms.filter.zero):
        raise InvalidParameter("cost", charge.cost, "one amount of each unit")
    try:
        least = _least(terms.filter, json.dumps(loss, sort_keys=True), charge.times)
    except Unsupported:
        return
    if any(one < price for one, price in zip(charge.cost, least, strict=True)):
        raise InvalidParameter("cost", charge.cost, "what the loss costs")


@lru_cache(maxsize=1024)
def _least(kept: Filter, loss: str, times: int) -> Cost:
    return tuple(times * one * NEARLY for one in kept.cost(stated_from_json(parsed(loss))))
