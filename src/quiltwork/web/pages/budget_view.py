"""Everything that the page of one budget shows.

Entries of the ledger are lines that people read; what cannot be read is said to be so, never hidden.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import attrs
import numpy as np
from scipy.special import expit

from quiltwork.errors import QuiltworkError
from quiltwork.ledger.book.book import Charge, Reservation
from quiltwork.ledger.book.terms import Limit, Terms
from quiltwork.ledger.chain.entries import Entry, canonical
from quiltwork.ledger.ledger import Ledger
from quiltwork.numbers.digits import at_least, at_most
from quiltwork.numbers.rounding import down, up
from quiltwork.report.pages.budget_history import details, said, second
from quiltwork.web.pages.forms import Message
from quiltwork.web.pages.losses import EXAMPLE, WRITTEN, offered
from quiltwork.web.service.access import Caller

PAGE = 25  # entries on one page
MOST_BOXES = 24  # blocks that are offered one by one
WHAT = {
    "open": "opened",
    "spend": "spent",
    "reserve": "reserved",
    "start": "started",
    "settle": "settled",
    "refund": "given back",
    "lapse": "lease ended",
    "pause": "paused",
    "resume": "resumed",
    "close": "closed",
    "denied": "access denied",
    "clock": "clock set",
    "result": "published",
    "rights": "rights set",
    "repaired": "repaired",
    "lost": "lost",
}
ALARMS = (0.01, 0.05, 0.1, 0.25)
WEAK = 0.5  # a budget that lets a test at 5% false alarms find more than half promises little
LEFT, TOP, SQUARE = 52, 12, 288  # of the square that is drawn, in the units of its picture
TONES = {"denied": "denied", "close": "closed", "pause": "paused", "refund": "good", "lapse": "good", "open": "open"}


@attrs.frozen
class Line:
    """One entry: its number and time, what happened, what it was, what it cost, who did it, and the note."""

    seq: int
    time: str
    moment: str
    what: str
    tone: str
    details: str
    cost: str
    who: str
    note: str
    budget: str = ""


def values(
    who: Caller,
    ledger: Ledger,
    name: str,
    *,
    block: str | None = None,
    before: int | None = None,
    typed: Mapping[str, str] | None = None,
    message: Message | None = None,
    answer: Message | None = None,
) -> dict[str, Any]:
    """The values of the template; `typed`, `message` and `answer` belong to a form that was just sent."""
    balance = ledger.balance(name, block)
    budget = balance.budget
    terms = budget.terms
    names = (terms.blocks.names if terms.blocks is not None else None) or ()
    lines, older = history(ledger, terms, before)
    owns = who.name in terms.owners and who.may("spend")
    return {
        "budget": budget,
        "terms": terms,
        "balance": balance,
        "words": balance.explain().splitlines(),
        "promise_words": budget.explain().splitlines(),
        "block": block or "",
        "promise": promised(terms.limit),
        "runs": [(one.name, said(one.loss.to_json()), *balance.runs[one.name]) for one in terms.plan],
        "kinds": () if terms.filter is None else offered(terms.filter),
        "written": WRITTEN,
        "example": EXAMPLE,
        "block_boxes": names if len(names) <= MOST_BOXES else (),
        "reservations": held(who, ledger, name),
        "lines": lines,
        "named": any(line.who for line in lines),
        "older": older,
        "newest": before is None,
        "may_spend": who.may("spend"),
        "may_manage": who.may("manage") or owns,
        "typed": typed or {},
        "message": message,
        "answer": answer,
        "once": fresh(),
    }


def fresh() -> str:
    """A word that a form carries, so that sending it twice spends once."""
    return secrets.token_hex(12)


def history(ledger: Ledger, terms: Terms, before: int | None) -> tuple[list[Line], int | None]:
    """Entries before a number, newest first, and the number before which older ones stand; None when there are none.

    Pages go by the number of an entry: the last page of a long history costs no more than the first.
    """
    found = list(ledger.history(terms.name, last=PAGE + 1, before=before))
    older = found[1].seq if len(found) > PAGE else None
    return [line_of(entry, terms) for entry in reversed(found[-PAGE:])], older


def done(ledger: Ledger, name: str, seq: int, again: bool = False) -> Message | None:
    """What the entry of this number did, if it is one of this budget's."""
    try:
        entry = ledger.receipt(seq).entry
        terms = ledger.budget(name).terms
    except QuiltworkError:
        return None
    if entry.budget != name or entry.kind == "denied":
        return None
    line = line_of(entry, terms)
    cost = f", cost {line.cost}" if line.cost else ""
    if again:
        return Message(
            "warn",
            f"This was sent before. Entry {seq} was written then; nothing more was spent.",
            "If the same release runs once more, load this page again and spend once more.",
        )
    return Message("good", f"Done: entry {seq}, {line.what}.", f"{line.details}{cost}".strip(", "))


def line_of(entry: Entry, terms: Terms | None) -> Line:
    """The line of an entry; costs are in epsilon where the budget is, and in the units of its filter."""
    what, tone = WHAT.get(entry.kind, entry.kind), TONES.get(entry.kind, "")
    cost = note = ""
    try:
        content = entry.content
        note = str(content.get("note", ""))  # on a line of its own: notes are long, and typed by people
        words = details(attrs.evolve(entry, body=canonical({**content, "note": ""})))
        cost = "" if terms is None else _cost(entry.kind, content, terms)
    except (QuiltworkError, KeyError, TypeError, ValueError, AttributeError):
        words, tone = "cannot be read: verify the ledger", "denied"
    return Line(entry.seq, second(entry.time), entry.time, what, tone, words, cost, entry.principal or "", note)


def _cost(kind: str, content: dict[str, Any], terms: Terms) -> str:
    if kind not in ("spend", "reserve") or terms.filter is None:
        return ""
    return terms.said(Charge.read(content).cost)


@attrs.frozen
class Held:
    """A reservation: what it holds in words, when its lease ends, who made it, and whether who looks may move it."""

    seq: int
    budget: str
    status: str
    what: str
    until: str
    by: str
    mine: bool


def held(who: Caller, ledger: Ledger, name: str | None = None) -> list[Held]:
    """Reservations that have not ended, of one budget or of all."""
    found = ledger.reservations(name)
    terms = {name: ledger.budget(name).terms for name in {one.budget for one in found}}
    made = ledger._session.makers(one.seq for one in found)
    return [_held(one, terms[one.budget], made[one.seq], who) for one in found]


def _held(one: Reservation, terms: Terms, by: str | None, who: Caller) -> Held:
    charge = one.charge
    if terms.filter is None:
        what = f"{charge.times:,} x {charge.release}" if charge.times > 1 else str(charge.release)
    else:
        what = terms.said(charge.cost)
    where = "" if charge.blocks is None else f", in {', '.join(charge.blocks[:6])}"
    mine = by is None or who.name in (by, *terms.owners) or who.may("manage")
    return Held(one.seq, one.budget, one.status, what + where, second(one.until), by or "", who.may("spend") and mine)


@attrs.frozen
class Promise:
    """What a budget promises against somebody who tests for the protected change: its trade-off curve.

    For every test with type I error alpha the type II error is at least beta(alpha). The points that are drawn are
    lower ends of certified brackets, corners among them, and so close together that the lines between them cannot be
    told from the curve by eye. A guess after a fair coin is right with probability at most (1 + delta(0)) / 2.

    Reference: Dong, Roth and Su 2022, Definition 2.1 and Proposition 2.4 (trade-off functions); Kairouz, Oh and
    Viswanath 2015, section 2 (operational meaning).
    """

    curve: tuple[tuple[float, float], ...]  # alpha and a lower bound on beta
    line: str
    area: str
    marks: tuple[tuple[float, float], ...]
    rows: tuple[tuple[str, str], ...]  # false alarms in percent, missed at least, in percent
    alarm: str
    missed: str
    right: str
    weak: bool


@lru_cache(maxsize=256)
def promised(limit: Limit) -> Promise:
    """The promise of a limit; it never changes, so it is drawn once."""
    loss = limit.loss()
    alpha = np.unique(np.concatenate([np.geomspace(1e-6, 0.02, 60), np.linspace(0.0, 1.0, 251), _corners(limit)]))
    beta = np.clip(np.asarray(loss.beta(alpha).lower, dtype=float), 0.0, 1.0)
    named = [max(float(loss.beta(alarm).lower), 0.0) for alarm in ALARMS]
    right = min(up((1.0 + float(loss.delta(0.0).upper)) / 2.0), 1.0)
    curve = tuple(zip(alpha.tolist(), beta.tolist(), strict=True))
    line = "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in (_place(*point) for point in curve))
    return Promise(
        curve=curve,
        line=line,
        area=f"{line}L{LEFT} {TOP + SQUARE}Z",
        marks=tuple(_place(x, y) for x, y in zip(ALARMS, named, strict=True)),
        rows=tuple((f"{100 * x:g}", _missed(y)) for x, y in zip(ALARMS, named, strict=True)),
        alarm="5",
        missed=_missed(named[1]),
        right=at_most(min(up(100 * right), 100.0), 3),
        weak=named[1] < WEAK,
    )


def _corners(limit: Limit) -> list[float]:
    """Where the curve of an (epsilon, delta) promise bends, and where it meets zero."""
    if limit.epsilon is None:
        return []
    rest = 1.0 - float(limit.delta or 0.0)
    return [rest * float(expit(-limit.epsilon)), rest]


def _missed(beta: float) -> str:
    return at_least(max(down(100 * beta), 0.0), 3)


def _place(alpha: float, beta: float) -> tuple[float, float]:
    return LEFT + SQUARE * alpha, TOP + SQUARE * (1.0 - beta)
