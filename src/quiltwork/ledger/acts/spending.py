"""Spending: priced before the ledger is locked, then taken at once, or reserved, started and settled by a job.

And the questions about it, which spend nothing and wait for no writer.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from typing import Any

import attrs

from quiltwork import checks
from quiltwork.compose.filters.opening import Cost, Filter
from quiltwork.compose.filters.windows import InWindows, WindowsFilter
from quiltwork.compose.filters.worst_of import WorstOf
from quiltwork.compose.loss import Loss
from quiltwork.compose.neighbors import check_neighbors
from quiltwork.curves.guarantee import Guarantee, same_words
from quiltwork.errors import AlreadyRun, BudgetExceeded, InvalidParameter, NotOpen, QuiltworkError, Unsupported
from quiltwork.ledger import names as words
from quiltwork.ledger.acts.advice import advised
from quiltwork.ledger.acts.connection import Session
from quiltwork.ledger.book import rules
from quiltwork.ledger.book.balances import Budget
from quiltwork.ledger.book.book import HELD, LAPSED, REFUNDED, Account, Charge, Reservation
from quiltwork.ledger.book.fixed import notion_of, priced
from quiltwork.ledger.book.terms import Terms
from quiltwork.ledger.chain.entries import Entry, canonical, stamp
from quiltwork.ledger.chain.receipts import Receipt
from quiltwork.ledger.store.refusals import Refusal
from quiltwork.ledger.store.rows import LiveBook, current, entry_at
from quiltwork.ledger.store.writer import Writer
from quiltwork.tables.guarantee import PlanGuarantee
from quiltwork.tables.worst_step.worst import Worst

TAB = "\t"  # before the number of a key that was freed
MOST_PRICED = 1024  # requests
LONGEST_LOSS = 2**20  # characters of its JSON: entries are read one by one, by people too


@attrs.frozen
class Priced:
    """What a loss costs under a filter, so many times."""

    kept: Filter
    loss: Loss | WorstOf
    times: int
    cost: Cost

    @classmethod
    def of(cls, kept: Filter, loss: Loss | WorstOf, times: int) -> Priced:
        """Under the filter; what that leaves open is chosen for this loss."""
        chosen = kept.chosen_for(loss * times)
        return cls(chosen, loss, times, tuple(times * one for one in chosen.cost(loss)))

    def under(self, kept: Filter) -> Priced:
        """The same under the filter as it is now."""
        return self if self.holds(kept) else Priced.of(kept, self.loss, self.times)

    def holds(self, kept: Filter) -> bool:
        """Whether the price is one under this filter."""
        return kept == self.kept or kept.allows(self.kept)


@attrs.frozen
class Request:
    """A spend of one budget with its cost; the period is known once the ledger is locked."""

    budget: str
    loss: dict[str, Any] | None  # of adaptive budgets: that of a planned release is in its plan
    release: str | None
    times: int
    priced: Priced | None  # of adaptive budgets
    blocks: tuple[str, ...] | None

    def charge(self, account: Account, now: datetime, who: str | None = None) -> Charge:
        """What it takes from the budget now; priced anew when another first release has chosen in the meantime."""
        period, kept = account.period(now), account.terms.filter
        if self.priced is None or kept is None:
            return Charge(period, (), self.blocks, self.release, self.times)
        priced = self.priced.under(kept)
        chosen = priced.kept.to_json() if kept.is_open else None
        rights = account.terms.rights
        mine = who if rights.quotas and rights.quota(who) else None
        return Charge(period, priced.cost, self.blocks, self.release, self.times, chosen, mine)

    def refused(self, error: BudgetExceeded, who: str | None) -> Refusal:
        """What is kept of it when it was more than was left."""
        what = str(self.release) if self.loss is None else canonical(self.loss)
        return Refusal(self.budget, who, what, self.times, error.requested, error.remaining)

    def body(self, charge: Charge, note: str) -> dict[str, Any]:
        """The content of its entry."""
        return {**charge.fields(), "loss": self.loss, "note": note}

    def check_same(self, entry: Entry, kind: str, charge: Charge, principal: str | None) -> None:
        """AlreadyRun unless the entry under the same key is this request, by the same principal, in this period."""
        mine, theirs = self.body(charge, ""), entry.content

        def agree(*names: str) -> bool:
            return all(canonical(_bare(mine[name])) == canonical(_bare(theirs.get(name))) for name in names)

        same = entry.kind == kind and agree("loss", "release", "times", "blocks")
        if same and entry.principal == principal and agree("period"):
            return
        why = "it was done by another principal or in an earlier period" if same else "it stands for another request"
        which = f"key {str(entry.key).partition(TAB)[0]!r} of budget {self.budget!r}"
        raise AlreadyRun(which, f"{why}, entry {entry.seq}", "give every release a key of its own")


def _bare(content: Any) -> Any:
    """A loss as it is stored, without the words for which change it was stated: a budget takes those of one change."""
    if not isinstance(content, dict):
        return content
    kept = {name: value for name, value in content.items() if name != "neighbors"}
    return {**kept, "losses": [_bare(one) for one in kept["losses"]]} if "losses" in kept else kept


def asked_for(session: Session, name: Any, act: str, loss: Any, release: Any, times: Any, blocks: Any) -> Request:
    """What is asked for; the same loss of the same budget is priced once."""
    terms = session.terms(name, act)
    plain = all(one is None or isinstance(one, str) for one in (release, blocks))
    if type(loss) is not Loss or type(times) is not int or not plain:
        return request(terms, loss, release, times, blocks)
    place = terms.name, id(loss), release, times, blocks
    known, under, made = session.priced.get(place, (None, None, None))
    if not isinstance(made, Request) or known is not loss or under is not terms:
        made = request(terms, loss, release, times, blocks)
        if len(session.priced) >= MOST_PRICED:
            session.priced.clear()
        session.priced[place] = loss, terms, made
    return made


def request(terms: Terms, loss: Any, release: Any, times: Any, blocks: Any) -> Request:
    """Check a spend against what was fixed at opening, and price it."""
    times = checks.count("times", times, least=1)
    if terms.kind == "planned":
        if blocks is not None:
            raise InvalidParameter("blocks", blocks, "left out", f"budget {terms.name!r} is planned")
        return Request(terms.name, None, _planned(terms, loss, release), times, None, None)
    if release is not None:
        raise InvalidParameter("release", release, "left out", f"budget {terms.name!r} is adaptive: say the loss")
    if terms.blocks is None and blocks is not None:
        raise InvalidParameter("blocks", blocks, "left out", f"budget {terms.name!r} has none")
    chosen = None if terms.blocks is None or blocks is None else terms.blocks.chosen(blocks)
    stated = _stated(terms, loss)
    written = stated.to_json()
    if len(canonical(written)) > LONGEST_LOSS:
        raise InvalidParameter("loss", "a very long one", "of at most a million characters of JSON")
    if terms.filter is None:
        raise Unsupported("spending", f"budget {terms.name!r} has no filter")
    return Request(terms.name, written, None, times, Priced.of(terms.filter, stated, times), chosen)


def _stated(terms: Terms, given: Any) -> Loss | WorstOf:
    """What is spent: a loss, a guarantee, or the losses of a plan as an entry has them."""
    found = _guaranteed(terms, given) if isinstance(given, Guarantee) else given
    if isinstance(found, WorstOf):
        if found is given:
            _check_vectors(terms, found)
        return found
    if found is not given and not found.parts:
        hint = "nothing about it is told, and nothing has to be spent"
        raise InvalidParameter("loss", "a guarantee", f"one that touches {terms.paid[1]}", hint)
    stated = words.loss(found)
    if found is given:  # a plan prices its queries for the change that it protects
        check_neighbors(stated, *terms.paid)
    return stated


def _check_vectors(terms: Terms, given: WorstOf) -> None:
    """Each loss of a plan, as an entry has them, must be about what the budget is paid in."""
    if isinstance(given, InWindows) and not isinstance(terms.filter, WindowsFilter):
        raise Unsupported(
            f"{given} in budget {terms.name!r}", "only a budget that pays for windows knows what they are",
            "spend the guarantee of the plan",
        )  # fmt: skip
    for loss in given.losses:
        check_neighbors(loss, *terms.paid)


def _guaranteed(terms: Terms, given: Guarantee) -> Loss | WorstOf:
    """The losses of a guarantee for what the budget protects; one about a secret is refused, for it does not add up."""
    if not isinstance(given.curve, Loss | Worst):
        raise Unsupported(
            f"spending a guarantee for {given.protects!r}",
            "a guarantee about a secret does not add up: two releases that each tell nothing about it can tell all of "
            "it together",
            "join the releases before they are translated (one plan, one loss of one entry), or open a budget with "
            "prior=... and spend the loss of one entry",
        )
    if terms.about is not None and isinstance(given, PlanGuarantee):
        return terms.about.paid(given, terms.filter)
    protects, where, _ = terms.paid
    known = notion_of(terms.notion)
    if isinstance(given, PlanGuarantee) and known is not None and given.notion != known:
        return priced(given.to(known).curve)  # derived anew from its queries, never from this guarantee
    if same_words(given.protects) != same_words(protects):
        hint = "derive it for that from its plan: guarantee.to(notion)" if isinstance(given, PlanGuarantee) else ""
        raise InvalidParameter("loss", f"a guarantee for {given.protects!r}", f"for {where}, {protects!r}", hint)
    return priced(given.curve)


def _planned(terms: Terms, loss: Any, release: Any) -> str:
    """The planned release that is meant: by its name, or by its loss when no other one has the same."""
    if isinstance(loss, Guarantee | WorstOf):
        shown = ", ".join(one.name for one in terms.plan[:8])
        hint = "what runs is named one by one, by release"
        raise InvalidParameter("loss", "a guarantee", f"left out: budget {terms.name!r} has a plan, {shown}", hint)
    if release is not None:
        found = terms.release(words.name("release", release))
        if loss is not None and not _same_loss(terms, words.loss(loss), found.loss):
            raise InvalidParameter("loss", loss, f"that of {found.name!r}, {found.loss}", "or left out")
        return found.name
    if loss is None:
        raise InvalidParameter("release", release, "the name of a planned release", "name what is about to run")
    stated = words.loss(loss)
    same = [one.name for one in terms.plan if _same_loss(terms, stated, one.loss)]
    if not same:
        shown = ", ".join(one.name for one in terms.plan[:8])
        raise InvalidParameter("loss", loss, f"that of a planned release of budget {terms.name!r}: {shown}")
    if len(same) > 1:
        raise InvalidParameter("release", release, "named", f"planned with that loss: {', '.join(same[:5])}")
    return same[0]


def _same_loss(terms: Terms, stated: Loss, planned: Loss) -> bool:
    """Also where only one of them says that it is about what the budget protects."""
    about = {same_words(one.neighbors) for one in (stated, planned) if one.neighbors}
    same = about <= {same_words(terms.paid[0])} and attrs.evolve(stated, neighbors=planned.neighbors) == planned
    return same or stated == planned


def taking(
    session: Session, asked: Request, note: str, key: str | None, lease: timedelta | None = None
) -> tuple[str, Callable[[Writer], Entry]]:
    """The key of a spend, and what is done for it in a transaction; with a lease it is only held."""
    note = words.note(note)
    chosen = uuid.uuid4().hex if key is None else words.name("key", key)
    kind = "spend" if lease is None else "reserve"

    def work(writer: Writer) -> Entry:
        account = _swept(writer, asked.budget)
        charge = asked.charge(account, writer.now, writer.principal)
        used, before = (chosen, None) if key is None else _under_key(writer, asked.budget, chosen)
        if before is not None:
            asked.check_same(before, kind, charge, writer.principal)
            return session.standing(writer, before)
        rules.check_open(account, writer.now)
        rules.admit(writer.book, account, charge)
        rules.check_quota(writer.book, account, charge)
        body = asked.body(charge, note)
        if lease is not None:  # no lease outlasts its period or its budget: what starts later counts in the wrong one
            body["until"] = stamp(min(words.later(writer.now, lease), *account.ends(writer.now)))
        return writer.append(kind, asked.budget, body, used)

    return chosen, work


def take(session: Session, asked: Request, note: str, key: str | None, lease: timedelta | None = None) -> Receipt:
    """Spend a request; with a lease it is only held."""
    chosen, work = taking(session, asked, note, key, lease)
    try:
        return session.write("spend", work, budget=asked.budget, key=chosen)
    except BudgetExceeded as refused:
        session.note_refusals([asked.refused(refused, session.name)])
        raise _advised(session, asked, refused) from None


def _advised(session: Session, asked: Request, refused: BudgetExceeded) -> BudgetExceeded:
    """The refusal with what would have taken the release."""
    if asked.priced is None:
        return refused
    try:
        terms = session.terms(asked.budget)
    except QuiltworkError:  # a ledger that is gone by now changes nothing about the refusal
        return refused

    def entries() -> Iterator[Entry]:
        return session.history(asked.budget, 0, None, None, None)

    hint = advised(refused, terms, entries, asked.priced.loss, asked.times)
    return BudgetExceeded(budget=refused.budget, requested=refused.requested, remaining=refused.remaining, hint=hint)


def _under_key(writer: Writer, budget: str, key: str) -> tuple[str, Entry | None]:
    """The entry that stands under a key, if any; a reservation that ended without a start frees it for another.

    The next one is written under the key, a tab and a number: nobody can ask for such a key.
    """
    used, number = key, 1
    while (found := writer.with_key(budget, used)) is not None:
        held = writer.book.reservation(found.seq) if found.kind == "reserve" else None
        if held is None or held.status not in (LAPSED, REFUNDED):
            return used, found
        number += 1
        used = f"{key}{TAB}{number}"
    return used, None


def _swept(writer: Writer, name: str) -> Account:
    """The budget, after reservations that never started gave back what they held."""
    account = writer.book.opened(name)
    if account.standing.held:
        for one in writer.book.over(name, stamp(writer.now)):
            writer.append("lapse", name, {"reservation": one.seq})
    return writer.book.opened(name)


def move(session: Session, seq: int, act: str, note: str = "") -> Receipt:
    """Start, settle or refund a reservation."""
    seq, note = checks.count("reservation", seq, least=1), words.note(note)
    budget = session.read(lambda book, now: _reserved(book, seq, act).budget, act="spend")

    def work(writer: Writer) -> Entry:
        found = _reserved(writer.book, seq, act)
        made, account = entry_at(writer.connection, seq), writer.book.opened(found.budget)
        by = None if made is None else made.principal
        rules.check_own(writer.book, writer.guarded, writer.principal, by, "spend", account)
        if found.status == HELD and found.until <= stamp(writer.now):
            raise NotOpen(f"reservation {seq}", "lapsed: its lease ended before it started", "reserve again")
        rules.check_move(found, act)
        if act == "start":
            rules.check_open(writer.book.opened(found.budget), writer.now)
        return writer.append(act, found.budget, {"reservation": seq, "note": note})

    return session.write("spend", work, budget=budget)


def _reserved(book: LiveBook, seq: int, act: str) -> Reservation:
    found = book.reservation(seq)
    if found is not None:
        return found
    entry = entry_at(book.connection, seq)
    if entry is not None and entry.kind == "spend" and act == "refund":
        raise AlreadyRun(
            f"entry {seq}", "nothing proves that this release never ran, so it stays spent",
            "reserve what may not run, and refund before it starts",
        )  # fmt: skip
    raise InvalidParameter("reservation", seq, "the number of a reservation of this ledger")


# ---- questions


def exceeds(book: LiveBook, now: datetime, asked: Request, who: str | None) -> bool:
    """Whether a spend would be refused, for its cost, for a quota, or because the budget is not open."""
    account = current(book, asked.budget, now)
    charge = asked.charge(account, now, who)
    try:
        rules.check_open(account, now)
        rules.admit(book, account, charge)
        rules.check_quota(book, account, charge)
    except (BudgetExceeded, NotOpen):
        return True
    return False


def forecast(book: LiveBook, now: datetime, asked: Request) -> rules.Forecast:
    """How many more of a request fit."""
    account = current(book, asked.budget, now)
    found = rules.forecast(book, account, asked.charge(account, now))
    return attrs.evolve(found, state=Budget.of(account, now).state)
