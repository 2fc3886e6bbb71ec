"""The officer's desk: what needs a look, the whole history with a filter, people and tokens, and reservations."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from fractions import Fraction
from typing import Annotated, Any

import attrs
from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from quiltwork.compose.filters.costs import short
from quiltwork.curves.guarantee import same_words
from quiltwork.errors import QuiltworkError
from quiltwork.ledger.book.balances import Budget
from quiltwork.ledger.chain.entries import Entry, parsed
from quiltwork.ledger.ledger import Ledger
from quiltwork.ledger.store.refusals import Refusal
from quiltwork.numbers.stated import typed
from quiltwork.report.pages.budget_history import said
from quiltwork.web.api.models import Number
from quiltwork.web.pages.budget_view import WHAT, Line, held, line_of
from quiltwork.web.pages.budgets import Shown
from quiltwork.web.pages.forms import Message, Sent, attempt, time
from quiltwork.web.pages.releases import PAGE, SCAN, released, saved_csv, walked
from quiltwork.web.service.access import Asks, Caller, Reads, Sends, site_of

router = APIRouter(include_in_schema=False)

MOST_ROWS = 100_000  # of one CSV file
MOST_SHOWN = 16_384  # budgets: as many balances as are kept
MUCH = 0.8  # the share of a budget from which on the desk warns
ABOUT_PEOPLE = {"admit": "admitted", "revoke": "token ended", "ledger": "ledger made", "rotate": "key changed"}
KINDS = {**WHAT, **ABOUT_PEOPLE}
REFUSED = ("number", "time", "budget", "principal", "what", "times", "requested", "remaining")
COLUMNS = ("entry", "time", "budget", "what", "who", "details", "cost", "note")


@attrs.frozen
class Total:
    """Budgets that protect the same, added up: what all of them together promise, and what each says was spent.

    Whoever uses several adaptive budgets at once is an adversary against interactive mechanisms that run side by side;
    epsilons and deltas of their limits add up then. Reference: Vadhan and Wang 2021; Lyu 2022, Theorem 2 (concurrent
    composition of interactive (epsilon, delta)-DP mechanisms).
    """

    protects: str
    names: tuple[str, ...]
    limit: str
    spent: str
    delta: str
    used: float
    others: tuple[str, ...]  # with a limit in another unit, or of one period: not in the sum


def totals(shown: Iterable[Shown]) -> list[Total]:
    """One for each protected change that several budgets are about, where some of them add up."""
    groups: dict[str, list[Shown]] = defaultdict(list)
    for one in shown:
        groups[same_words(one.budget.terms.protects)].append(one)
    return [_total(many) for many in groups.values() if len(many) > 1 and any(map(_adds, many))]


def _total(many: list[Shown]) -> Total:
    added = [one for one in many if _adds(one)]
    names = tuple(one.budget.name for one in added)
    limits = [one.budget.terms.limit for one in added]
    limit = sum((typed(one.epsilon or 0.0) for one in limits), Fraction(0))
    delta = sum((typed(one.delta or 0.0) for one in limits), Fraction(0))
    spent = sum((typed(one.balance.epsilon or 0.0) for one in added if one.balance is not None), Fraction(0))
    rest = tuple(one.budget.name for one in many if one.budget.name not in names)
    share = float(spent / limit) if limit else 0.0
    protects = many[0].budget.terms.protects
    return Total(protects, names, short(limit, digits=4), short(spent, digits=4), short(delta, digits=3), share, rest)


def _adds(one: Shown) -> bool:
    """Whether it is stated in epsilon, once for all time, for what it protects itself: secrets do not add up."""
    terms = one.budget.terms
    stated = one.balance is not None and one.balance.epsilon is not None
    return stated and terms.refresh is None and terms.about is None


@router.get("/desk")
def desk(request: Request, who: Reads) -> Response:
    """Budgets that are nearly spent, totals over budgets about the same people, refusals, and reservations."""
    ledger = who.book
    rows, count = ledger._session.balances("", 0, MOST_SHOWN)
    shown = [Shown.told(*row) for row in rows]
    much = sorted((one for one in shown if one.used >= MUCH and one.budget.state == "open"), key=lambda one: -one.used)
    denied, _ = _page(ledger, {"kind": "denied"}, None, 10)
    return site_of(request).page(
        request, "desk.html", much=much, totals=totals(shown), denied=denied,
        refused=_asked_for(ledger.refusals(last=10)),
        problems=[one for one in shown if one.problem],
        reservations=held(who, ledger), count=count, releases=released(ledger, None, 5)[0],
    )  # fmt: skip


# ---- the whole history


@router.get("/history")
def history(
    request: Request,
    who: Reads,
    name: Annotated[str, Query(max_length=200)] = "",
    kind: Annotated[str, Query(max_length=20)] = "",
    by: Annotated[str, Query(max_length=200)] = "",
    before: Annotated[Number | None, Query()] = None,
) -> Response:
    """Entries of all budgets, newest first."""
    asked = {"name": name.strip(), "kind": kind, "by": by.strip()}
    problem = None
    try:
        lines, older = _page(who.book, asked, before, PAGE)
    except QuiltworkError as error:
        lines, older, problem = [], None, str(error)
    return site_of(request).page(
        request, "history.html", asked=asked, lines=lines, older=older, newest=before is None, kinds=KINDS,
        problem=problem,
    )  # fmt: skip


@router.get("/history.csv")
def history_csv(
    who: Reads,
    request: Request,
    name: Annotated[str, Query(max_length=200)] = "",
    kind: Annotated[str, Query(max_length=20)] = "",
    by: Annotated[str, Query(max_length=200)] = "",
) -> Response:
    """The same as a file for a spreadsheet, oldest first."""
    asked = {"name": name.strip(), "kind": kind, "by": by.strip()}
    with site_of(request).slowly():
        words = _Words(who.book)
        rows = []
        for entry in who.book.history(asked["name"] or None, limit=MOST_ROWS):
            if _fits(entry, asked):
                line = words.line(entry)
                cells = (line.seq, line.moment, entry.budget or "", line.what, line.who)
                rows.append((*cells, line.details, line.cost, line.note))
    return saved_csv("history.csv", COLUMNS, rows)


def _fits(entry: Entry, asked: dict[str, str]) -> bool:
    return (not asked.get("kind") or entry.kind == asked["kind"]) and (
        not asked.get("by") or (entry.principal or "").casefold() == asked["by"].casefold()
    )


def _page(ledger: Ledger, asked: dict[str, str], before: int | None, size: int) -> tuple[list[Line], int | None]:
    """Lines that fit, newest first, and the number before which to go on; None at the end."""
    lines: list[Line] = []
    words, count, last = _Words(ledger), 0, None
    for entry in walked(ledger, asked.get("name") or None, before):
        if len(lines) == size:
            return lines, last
        count, last = count + 1, entry.seq
        if _fits(entry, asked):
            lines.append(words.line(entry))
    return lines, last if count >= SCAN and last not in (None, 1) else None


class _Words:
    """Lines of entries of any budget; what was fixed at its opening is read once."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger, self._known = ledger, dict[str, Budget]()

    def line(self, entry: Entry) -> Line:
        if entry.budget is not None and entry.budget not in self._known:
            self._known[entry.budget] = self._ledger.budget(entry.budget)
        if entry.budget is not None:
            return attrs.evolve(line_of(entry, self._known[entry.budget].terms), budget=entry.budget)
        found = line_of(attrs.evolve(entry, kind="clock"), None) if entry.kind == "clock" else line_of(entry, None)
        return attrs.evolve(found, what=KINDS.get(entry.kind, entry.kind))


# ---- refusals for cost, reservations, people


@router.get("/refusals")
def refusals(
    request: Request,
    who: Reads,
    name: Annotated[str, Query(max_length=200)] = "",
    before: Annotated[Number | None, Query()] = None,
) -> Response:
    """Spends that were more than was left, newest first."""
    found = who.book.refusals(name.strip() or None, last=PAGE + 1, before=before)
    older = found[PAGE - 1].number if len(found) > PAGE else None
    return site_of(request).page(
        request,
        "refusals.html",
        refused=_asked_for(found[:PAGE]),
        older=older,
        newest=before is None,
        name=name.strip(),
    )


def _asked_for(found: Iterable[Refusal]) -> list[Refusal]:
    """With the losses in words."""
    return [attrs.evolve(one, what=_loss(one.what)) for one in found]


def _loss(what: str) -> str:
    """The name of a planned release, and a loss that is too long to be kept whole, stay as they are."""
    try:
        return said(parsed(what)) if what.startswith("{") else what
    except QuiltworkError:
        return what


@router.get("/refusals.csv")
def refusals_csv(who: Reads, name: Annotated[str, Query(max_length=200)] = "") -> Response:
    """The same as a file for a spreadsheet."""
    found = who.book.refusals(name.strip() or None, last=MOST_ROWS)
    return saved_csv("refusals.csv", REFUSED, ([getattr(one, column) for column in REFUSED] for one in found))


@router.get("/reservations")
def reservations(request: Request, who: Asks) -> Response:
    """Everything that is held for jobs, of all budgets."""
    return site_of(request).page(request, "reservations.html", reservations=held(who, who.book))


@router.get("/people")
def people(request: Request, who: Asks) -> Response:
    """Everybody who was admitted, with the role and the end of each token."""
    return _people(request, who)


@router.post("/people")
def changed(request: Request, who: Sends, sent: Sent) -> Response:
    """Admit somebody, whose token is shown this once, or end a token; for admins."""
    ledger, name = who.book, sent.line("name")

    def act() -> tuple[Message, str]:
        if sent.line("act") == "revoke":
            ledger.revoke(name)
            return Message("good", f"The token of {name} has ended."), ""
        until = time("Expires", sent.line("expires")) if sent.line("expires") else None
        token = ledger.admit(name, sent.line("role"), expires=until)
        return Message("good", f"{name} is admitted as {sent.line('role')}."), token

    found = attempt(act)
    message, token = (found, "") if isinstance(found, Message) else found
    return _people(request, who, message=message, token=token, typed={} if token else sent)


def _people(
    request: Request, who: Caller, *, message: Message | None = None, token: str = "", typed: Any = None
) -> Response:
    every = who.book.principals()
    return site_of(request).page(
        request, "people.html", 200 if message is None else message.status, people=every, message=message, token=token,
        typed=typed or {}, may_manage=who.may("manage"),
    )  # fmt: skip
