"""What a ledger tells: budgets, balances and forecasts, as frozen values with plain words."""

from __future__ import annotations

from datetime import datetime
from fractions import Fraction
from typing import Any

import attrs

from quiltwork.compose.filters import Cost, Filter
from quiltwork.compose.loss import compose
from quiltwork.compose.path_costs import short
from quiltwork.curves.bracket import Bracket, Quantity
from quiltwork.curves.digits import at_most, pair, single
from quiltwork.curves.plain import json_numbers
from quiltwork.curves.rounding import down, up
from quiltwork.errors import InvalidParameter
from quiltwork.ledger import rules, words
from quiltwork.ledger.book import Account, Book
from quiltwork.ledger.entries import moment, stamp
from quiltwork.ledger.terms import Terms
from quiltwork.losses.decimals import at_least as typed_at_least

__all__ = ["Balance", "Budget", "balance_of"]

USUAL = 1e-6  # the odometer's delta for budgets that state none


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
    def of(cls, account: Account) -> Budget:
        standing = account.standing
        return cls(account.terms, standing.state, moment(standing.since), standing.entries)

    def explain(self) -> str:
        """Its promise in plain language."""
        terms = self.terms
        lines = [f"Budget {terms.name!r} ({self.state}): {terms.limit}.", f"Protected: {terms.protects}."]
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
                f"Refreshed every {terms.refresh}: the promise is for one period, and n periods together are n budgets."
            )
        if terms.expires is not None:
            lines.append(f"Expires {terms.expires.isoformat()}.")
        return "\n".join(lines)

    def to_json(self) -> dict[str, Any]:
        return {
            **self.terms.to_json(), "state": self.state, "opened": stamp(self.opened), "entries": self.entries
        }  # fmt: skip

    def __str__(self) -> str:
        return f"{self.name}: {self.terms.limit} ({self.kind}, {self.state})"


@attrs.frozen
class Balance:
    """What was spent and what is left, of a whole budget or of one block.

    `spent` and `left` are in `unit`. For adaptive budgets that is the currency of the filter, in which costs add up
    exactly; `reading` is the odometer, a bound on the realised loss of this period so far, at all times at once, except
    with probability `delta`. For planned budgets `spent` is the certified composition of what ran, as if its choice had
    been fixed too; the promise is that of the whole plan, and nothing is read.
    """

    budget: Budget
    unit: str
    limit: Bracket
    spent: Bracket
    left: Bracket
    reading: float | None
    delta: float
    held: int
    period: int
    period_ends: datetime | None
    block: str | None
    runs: dict[str, tuple[int, int]]  # of planned releases: how often they ran, of how often they may

    @property
    def used(self) -> float:
        """The share of the budget that is spent, rounded up."""
        most, spent = _typed(self.limit.lower), _typed(self.spent.upper)
        return typed_at_least(spent / most)

    def explain(self) -> str:
        """In plain language, numbers rounded to the safe side."""
        whole = f"budget {self.budget.name!r}" + (f", {self._label} {self.block!r}" if self.block else "")
        lines = [
            f"Of {whole} {short(100 * _typed(min(self.used, 1.0)), digits=3)}% is spent: "
            f"{self.unit} {short(_typed(self.spent.upper), digits=4)} of {single(float(self.limit.lower))}, "
            f"at least {short(_typed(max(float(self.left.lower), 0.0)), left=True, digits=4)} is left."
        ]
        if self.reading is not None:
            lines.append(
                f"Odometer: {self._since}, the privacy loss is at most {at_most(self.reading)}"
                + (f", except with probability {single(self.delta)}." if self.delta else ".")
            )
        else:
            lines.append(
                "That is what ran, if its choice and order did not depend on results; in any case the whole plan "
                "keeps the limit."
            )
        if self.held:
            many = "1 reservation has" if self.held == 1 else f"{self.held} reservations have"
            lines.append(f"{many} not started; what is held counts as spent until the lease ends.")
        if self.period_ends is not None:
            lines.append(f"Period {self.period + 1} ends {self.period_ends.isoformat()}.")
        return "\n".join(lines)

    @property
    def _since(self) -> str:
        what = "whatever happened" if self.block is None else f"whatever read {self._label} {self.block!r}"
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
            "unit": self.unit,
            "limit": self.limit.to_json(),
            "spent": self.spent.to_json(),
            "left": self.left.to_json(),
            "used": json_numbers(self.used),
            "reading": None if self.reading is None else json_numbers(self.reading),
            "delta": self.delta,
            "held": self.held,
            "period": self.period,
            "period_ends": None if self.period_ends is None else stamp(self.period_ends),
            "block": self.block,
            "runs": {name: list(pair) for name, pair in self.runs.items()},
        }

    def _repr_html_(self) -> str:
        import html

        return "".join(f"<p>{html.escape(line)}</p>" for line in self.explain().splitlines())

    def __str__(self) -> str:
        spent = pair(float(self.spent.lower), float(self.spent.upper))
        return f"{self.budget.name}: {self.unit} {spent} of {single(float(self.limit.lower))} spent"


def balance_of(book: Book, account: Account, now: datetime, block: str | None) -> Balance:
    """The balance of a budget, or of one of its blocks, in the period of `now`."""
    terms = account.terms
    account = account.at(account.period(now))
    ends = None
    if terms.refresh is not None:
        ends = words.later(moment(account.standing.since), terms.refresh, account.standing.period + 1)
    runs: dict[str, tuple[int, int]] = {}
    if terms.filter is None:
        if block is not None:
            raise InvalidParameter("block", block, "left out", f"budget {terms.name!r} has none")
        unit, limit, spent, delta = _planned(book, account, runs)
        left = Bracket(
            down(float(limit.lower) - float(spent.upper)), up(float(limit.upper) - float(spent.lower)), "room"
        )
        reading = None
    else:
        kept = terms.filter
        if block is not None and terms.blocks is None:
            raise InvalidParameter("block", block, "left out", f"budget {terms.name!r} has none")
        chosen = None if block is None or terms.blocks is None else terms.blocks.chosen(words.name("block", block))
        over = rules.room(book, account, chosen)
        used: Cost = tuple(most - one for most, one in zip(kept.limit, over, strict=True))
        unit, limit, spent, left = kept.units[0], _around(kept.limit[0]), _around(used[0]), _around(over[0], "room")
        delta = _rare(kept, terms.limit.delta)
        reading = kept.reading(used, delta)
    return Balance(
        Budget.of(account), unit, limit, spent, left, reading, delta, account.standing.held,
        account.standing.period, ends, block, runs,
    )  # fmt: skip


def _rare(kept: Filter, delta: float | None) -> float:
    """The probability with which the odometer may err: that of the budget, where it has a finite reading then."""
    if kept.kind == "pure":
        return 2.0 * (delta or 0.0)  # at the budget's own delta an (epsilon, delta) release bounds nothing
    return delta or USUAL


def _planned(book: Book, account: Account, runs: dict[str, tuple[int, int]]) -> tuple[str, Bracket, Bracket, float]:
    """The certified composition of what ran, in the unit of the limit."""
    terms, period = account.terms, account.standing.period
    found = book.load_amounts(terms.name, period, tuple(one.name for one in terms.plan))
    ran = []
    for one in terms.plan:
        times = int(book.amounts.get((terms.name, period, one.name), found.get(one.name, "0")))
        runs[one.name] = (times, one.times)
        ran.append(times * one.loss)
    total, limit = compose(*ran), terms.limit
    if limit.kind == "approximate":
        delta = float(limit.delta or 0.0)
        epsilon = Fraction(repr(limit.epsilon))
        return f"epsilon at delta {delta:g}", _around(epsilon), total.epsilon(delta), delta
    kept = limit.filter()
    cost = kept.cost(total)
    return kept.units[0], _around(kept.limit[0]), _around(cost[0]), 0.0


def _typed(number: Any) -> Fraction:
    """A double as the decimal that one would type."""
    return Fraction(repr(float(number)))


def _around(amount: Fraction, quantity: Quantity = "cost") -> Bracket:
    """Doubles on both sides of an exact amount; the same twice when it is a double as typed."""
    near = float(amount)
    if Fraction(repr(near)) == amount:
        return Bracket(near, near, quantity)
    return Bracket(down(near), up(near), quantity)
