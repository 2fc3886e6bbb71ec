"""A budget as a ledger shows it; what was spent of it and what is left, in every unit that its filter counts."""

from __future__ import annotations

import math
from datetime import datetime
from fractions import Fraction
from typing import Any

import attrs

from quiltwork.compose.filters.costs import short
from quiltwork.compose.filters.opening import Filter
from quiltwork.curves.bracket import Bracket, Quantity
from quiltwork.document.draw import notebook as markup
from quiltwork.errors import InvalidParameter
from quiltwork.kinds import document
from quiltwork.ledger import names as words
from quiltwork.ledger.book import rules
from quiltwork.ledger.book.book import Account, Book
from quiltwork.ledger.book.fixed import priced
from quiltwork.ledger.book.terms import Terms
from quiltwork.ledger.chain.entries import moment, stamp
from quiltwork.numbers.digits import single
from quiltwork.numbers.json import json_numbers
from quiltwork.numbers.rounding import down, up
from quiltwork.numbers.stated import typed, typed_above
from quiltwork.pufferfish.prior import ENTRY

ENDLESS = Fraction(10**150)  # stands for an infinite amount
USUAL = 1e-6  # the odometer's delta for budgets that state none


@document("budget_view/1")
@attrs.frozen
class Budget:
    """A budget: what was fixed when it was opened, and whether it is open."""

    terms: Terms
    state: str
    opened: datetime
    entries: int

    @property
    def name(self) -> str:
        return self.terms.name

    @property
    def kind(self) -> str:
        """Adaptive or planned."""
        return self.terms.kind

    @classmethod
    def of(cls, account: Account, now: datetime) -> Budget:
        """The budget now: an open one may have expired."""
        standing, expires = account.standing, account.terms.expires
        over = standing.state == "open" and expires is not None and now >= expires
        return cls(account.terms, "expired" if over else standing.state, moment(standing.since), standing.entries)

    def explain(self) -> str:
        """Its promise in plain language."""
        terms = self.terms
        lines = [f"Budget {terms.name!r} ({self.state}): {terms.limit}.", f"Protected: {terms.protects}."]
        if terms.about is not None:
            paid = "" if terms.table is not None else f" Paid per entry: a loss is stated for {ENTRY}."
            lines.append(f"Assumed: {terms.about.laws()[0].words}.{paid}")
        if terms.filter is not None:
            lines.append(
                "Adaptive: later releases may depend on earlier results. Kept by a filter: "
                f"{terms.filter.because}; limit {terms.filter.shown(terms.filter.limit, left=True)}."
            )
        else:
            runs = sum(one.times for one in terms.plan)
            lines.append(
                f"Planned: {runs} runs of {len(terms.plan)} releases, fixed at opening and composed as a whole."
            )
        if terms.blocks is not None:
            touched = "one block" if terms.blocks.most == 1 else f"{terms.blocks.most} blocks"
            lines.append(
                f"Each {terms.blocks.label} has the whole budget; the protected change touches at most {touched}."
            )
        if terms.refresh is not None:
            lines.append(
                f"Refreshed every {words.length(terms.refresh)}: the promise is for one period, and n periods together "
                "are n budgets."
            )
        if terms.expires is not None:
            lines.append(f"Expires {terms.expires.isoformat()}.")
        if terms.rights:
            lines.append(f"Spent from by {terms.rights}.")
        return "\n".join(lines)

    def to_json(self) -> dict[str, Any]:
        return {
            **self.terms.to_json(), "state": self.state, "opened": stamp(self.opened), "entries": self.entries
        }  # fmt: skip

    def _repr_html_(self) -> str:
        return markup.block(markup.paragraphs(self.explain().splitlines()))

    def __str__(self) -> str:
        return f"{self.name}: {self.terms.limit} ({self.kind}, {self.state})"

    def __repr__(self) -> str:
        return f"<Budget {self}>"


@document("balance_amount/1")
@attrs.frozen
class Amount:
    """Limit, spent and left in one unit; texts are rounded to the safe side."""

    unit: str
    limit: Bracket
    spent: Bracket
    left: Bracket

    @property
    def used(self) -> float:
        """The share that is spent, rounded up."""
        most, spent = typed(float(self.limit.lower)), typed(float(self.spent.upper))
        return typed_above(spent / most) if most else 0.0

    @property
    def percent(self) -> str:
        """The share that is spent, rounded up in its third digit."""
        return short(100 * typed(min(self.used, 1.0)), digits=3) + "%"

    def texts(self, digits: int = 6) -> tuple[str, str, str]:
        """Limit, spent and left; with more digits where rounding up would make what was spent pass the limit."""
        most, spent = typed(float(self.limit.lower)), typed(float(self.spent.upper))
        left = max(typed(float(self.left.lower)), Fraction(0))
        finer = (digits, 9, 12, 17) if spent <= most else (digits,)
        for count in finer:
            limit, gone = short(most, left=True, digits=count), short(spent, digits=count)
            if Fraction(gone) <= Fraction(limit):
                break
        return limit, gone, short(left, left=True, digits=digits)

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        brackets = {name: getattr(self, name).to_json() for name in ("limit", "spent", "left")}
        return {"unit": self.unit, **brackets, "used": json_numbers(self.used)}


@document("balance/2")
@attrs.frozen
class Balance:
    """What was spent and what is left, of a whole budget or of one block.

    `amounts` has one entry for each unit; `unit`, `limit`, `spent` and `left` are those of the first: epsilon at the
    budget's delta, where it states epsilon. After it come the currencies of the filter, in which costs add up exactly.
    Kept by several orders, that epsilon holds at every moment, whatever was chosen (an odometer). Other filters have a
    `reading` beside it, a bound on the realised loss of this period so far, at all times at once, except with
    probability `delta`; their epsilon is that of so much, fixed in advance. For planned budgets `spent` is the
    certified composition of what ran, as if its choice had been fixed too; the promise is that of the whole plan.
    """

    budget: Budget
    amounts: tuple[Amount, ...]
    reading: float | None
    delta: float
    held: int
    period: int
    period_ends: datetime | None
    block: str | None
    runs: dict[str, tuple[int, int]]  # of planned releases: how often they ran, of how often they may

    @property
    def unit(self) -> str:
        return self.amounts[0].unit

    @property
    def limit(self) -> Bracket:
        return self.amounts[0].limit

    @property
    def spent(self) -> Bracket:
        return self.amounts[0].spent

    @property
    def left(self) -> Bracket:
        return self.amounts[0].left

    @property
    def epsilon(self) -> float | None:
        """What is spent, as epsilon at the budget's delta, rounded up; None in rho or mu."""
        return float(self.spent.upper) if self._in_epsilon else None

    @property
    def epsilon_left(self) -> float | None:
        """What is left, as epsilon at the budget's delta, rounded down; None in rho or mu."""
        return max(float(self.left.lower), 0.0) if self._in_epsilon else None

    @property
    def _in_epsilon(self) -> bool:
        return self.budget.terms.limit.epsilon is not None

    def __bool__(self) -> bool:
        """Whether something can still be spent: the budget is open, and some of its first unit, or a run, is left."""
        left = float(self.left.lower) > 0 if not self.runs else any(ran < most for ran, most in self.runs.values())
        return self.budget.state == "open" and left

    @property
    def used(self) -> float:
        """The share of the budget that is spent, rounded up: of the unit that is spent most."""
        return max(amount.used for amount in self.amounts)

    @property
    def percent(self) -> str:
        """The same in words."""
        return max(self.amounts, key=lambda amount: amount.used).percent

    @property
    def read(self) -> str:
        """The odometer's reading, rounded up; empty when there is none."""
        if self.reading is None:
            return ""
        return "inf" if self.reading == float("inf") else short(typed(self.reading), digits=4)

    def explain(self) -> str:
        """In plain language, numbers rounded to the safe side."""
        whole = f"budget {self.budget.name!r}" + (f", {self._label} {self.block!r}" if self.block else "")
        said = []
        for amount in self.amounts:
            limit, spent, left = amount.texts()
            said.append(f"{spent} of {limit} ({amount.unit}), at least {left} is left")
        lines = [f"Of {whole} {self.percent} is spent: {'; '.join(said)}."]
        kept, secret = self.budget.terms.filter, self.budget.terms.about is not None
        if self.epsilon is not None and kept is not None and (secret or kept.units[0] != "epsilon"):
            told = "tells about the secrets" if secret else "tells"
            lines.append(f"As epsilon that is what so much, fixed in advance, {told}; in any case the limit is kept.")
        if self.reading is not None:
            lines.append(
                f"Odometer: {self._since}, the privacy loss{self._whose} is at most {self.read}"
                + (f", except with probability {single(self.delta)}." if self.delta else ".")
            )
        elif kept is not None and kept.always_reads and not secret:
            lines.append("That holds at every moment, whatever was chosen after earlier results (an odometer).")
        elif kept is None:
            lines.append(
                "That is what ran, if its choice and order did not depend on results; in any case the whole plan "
                "keeps the limit."
            )
        if self.held:
            many = "1 reservation has" if self.held == 1 else f"{self.held} reservations have"
            lines.append(f"{many} not started; what is held counts as spent until the lease ends.")
        if self.period_ends is not None:
            lines.append(f"Period {self.period + 1} ends {self.period_ends.isoformat()}.")
        if self.budget.state != "open":
            lines.append(f"The budget is {self.budget.state}: nothing can be spent from it.")
        return "\n".join(lines)

    @property
    def _whose(self) -> str:
        return "" if self.budget.terms.about is None else " of one entry"

    @property
    def _since(self) -> str:
        blocks = self.budget.terms.blocks
        what = "whatever happened" if self.block is None else f"whatever read {self._label} {self.block!r}"
        if self.block is not None and blocks is not None and blocks.most > 1:
            what += f" and those {blocks.most - 1} beside it that are spent most"
        return f"{what} {'in this period' if self.budget.terms.refresh is not None else 'so far'}"

    @property
    def _label(self) -> str:
        return "block" if self.budget.terms.blocks is None else self.budget.terms.blocks.label

    def to_json(self) -> dict[str, Any]:
        """Versioned, plain values."""
        return {
            "schema": "quiltwork/balance/1",
            "budget": self.budget.name,
            "kind": self.budget.kind,
            "state": self.budget.state,
            "protects": self.budget.terms.protects,
            **self.amounts[0].to_json(),
            "used": json_numbers(self.used),
            "epsilon": None if self.epsilon is None else json_numbers(self.epsilon),
            "epsilon_left": None if self.epsilon_left is None else json_numbers(self.epsilon_left),
            "amounts": [amount.to_json() for amount in self.amounts],
            "reading": None if self.reading is None else json_numbers(self.reading),
            "delta": self.delta,
            "held": self.held,
            "period": self.period,
            "period_ends": None if self.period_ends is None else stamp(self.period_ends),
            "block": self.block,
            "runs": {name: list(pair) for name, pair in self.runs.items()},
        }

    def _repr_html_(self) -> str:
        rows = [(amount.unit, *amount.texts(), amount.percent) for amount in self.amounts]
        table = markup.table(("unit", "limit", "spent, at most", "left, at least", "used, at most"), rows)
        share = min(max(self.used, 0.0), 1.0)
        bar = (
            '<div role="img" aria-label="share that is spent" '
            'style="height:.5em;max-width:24em;border:1px solid currentColor;border-radius:.25em">'
            f'<div style="height:100%;width:{100 * share:.2f}%;background:currentColor;opacity:.55"></div></div>'
        )
        return markup.block(markup.paragraphs(self.explain().splitlines()), bar, table)

    def __str__(self) -> str:
        limit, spent, _ = self.amounts[0].texts()
        return f"{self.budget.name}: {self.unit} {spent} of {limit} spent"

    def __repr__(self) -> str:
        return f"<Balance of {self}>"


def balance_of(book: Book, account: Account, now: datetime, block: str | None) -> Balance:
    """The balance of a budget, or of one of its blocks, in the period of `now`."""
    terms = account.terms
    account = account.at(account.period(now))
    ends = None
    if terms.refresh is not None:
        ends = words.later(moment(account.standing.since), terms.refresh, account.standing.period + 1)
    runs: dict[str, tuple[int, int]] = {}
    if block is not None and terms.blocks is None:
        raise InvalidParameter("block", block, "left out", f"budget {terms.name!r} has none")
    if terms.filter is None:
        amounts, delta = _planned(book, account, runs)
        reading = None
    else:
        kept = terms.filter
        chosen = None if block is None or terms.blocks is None else terms.blocks.chosen(words.name("block", block))
        gone, over = rules.used(book, account, chosen), rules.room(book, account, chosen)
        counted = [(unit + terms.whose, most, rest) for unit, most, rest in kept.amounts(over)]
        epsilon, whole = terms.epsilon(gone), terms.limit.epsilon
        if epsilon is not None and whole is not None:
            at, most = terms.limit.delta, typed(whole)
            spent = ENDLESS if math.isinf(epsilon) else typed(epsilon)  # past the limit only after a break
            counted.insert(0, (f"epsilon at delta {at:g}" if at else "epsilon", most, most - spent))
        amounts = tuple(
            Amount(unit, _around(most), _around(most - rest), _around(rest, "room")) for unit, most, rest in counted
        )
        delta, reading = _rare(kept, terms.limit.delta), None
        if kept.has_reading and kept.admits(gone):
            reading = kept.reading(tuple(most - one for most, one in zip(kept.limit, over, strict=True)), delta)
    shown, standing = Budget.of(account, now), account.standing
    return Balance(shown, amounts, reading, delta, standing.held, standing.period, ends, block, runs)


def _rare(kept: Filter, delta: float | None) -> float:
    """The probability with which the odometer may err: that of the budget, where it has a finite reading then."""
    if kept.kind == "pure":
        return 2.0 * (delta or 0.0)  # at the budget's own delta an (epsilon, delta) release bounds nothing
    return delta or USUAL


def _planned(book: Book, account: Account, runs: dict[str, tuple[int, int]]) -> tuple[tuple[Amount, ...], float]:
    """The certified composition of what ran, in the unit of the limit."""
    terms, period = account.terms, account.standing.period
    found = book.load_amounts(terms.name, period, tuple(one.name for one in terms.plan))
    for one in terms.plan:
        times = int(book.amounts.get((terms.name, period, one.name), found.get(one.name, "0")))
        runs[one.name] = (times, one.times)
    total, limit = terms.total({name: times for name, (times, _) in runs.items()}), terms.limit
    if limit.kind == "approximate" or terms.about is not None:
        delta = float(limit.delta or 0.0)
        whole, spent = typed(float(limit.epsilon or 0.0)), total.epsilon(delta)
        rest = [whole - typed(float(end)) for end in (spent.upper, spent.lower)]
        left = Bracket(float(_around(rest[0]).lower), float(_around(rest[1]).upper), "room")
        return (Amount(f"epsilon at delta {delta:g}", _around(whole), spent, left),), delta
    kept = limit.filter()
    cost = kept.cost(priced(total))[0]
    return (Amount(kept.units[0], _around(kept.limit[0]), _around(cost), _around(kept.limit[0] - cost, "room")),), 0.0


def _around(amount: Fraction, quantity: Quantity = "cost") -> Bracket:
    """Doubles on both sides of an exact amount; the same twice when it is a double as typed."""
    near = float(amount)
    if typed(near) == amount:
        return Bracket(near, near, quantity)
    return Bracket(down(near), up(near), quantity)
