"""Budgets as a list shows them: how much is spent, in words and as a bar."""

from __future__ import annotations

import attrs

from quiltwork.errors import QuiltworkError
from quiltwork.ledger.book.balances import Balance
from quiltwork.ledger.book.budget import Budget
from quiltwork.ledger.ledger import Ledger
from quiltwork.web.service.problems import words_of

__all__ = ["Shown", "balances_of", "shown_of"]

MUCH = 0.8


@attrs.frozen
class Shown:
    """A budget in a list; the balance is None when it cannot be told, and `problem` says why."""

    budget: Budget
    balance: Balance | None
    problem: str = ""

    @property
    def name(self) -> str:
        return self.budget.name

    @property
    def state(self) -> str:
        return self.budget.state

    @property
    def share(self) -> float:
        """The share that is spent, between 0 and 1."""
        return 0.0 if self.balance is None else min(max(self.balance.used, 0.0), 1.0)

    @property
    def tone(self) -> str:
        """How a bar of this share looks."""
        return tone_of(self.share)

    @property
    def words(self) -> str:
        """Spent, of what, in the first unit."""
        if self.balance is None:
            return self.problem
        limit, spent, _ = self.balance.amounts[0].texts()
        return f"{self.balance.percent} spent: {spent} of {limit} ({self.balance.unit})"


def tone_of(share: float) -> str:
    """A bar that is nearly full looks so."""
    return "over" if share >= 1.0 else "much" if share >= MUCH else ""


def shown_of(ledger: Ledger, budget: Budget) -> Shown:
    """One budget; a balance that fails does not take the whole list away."""
    try:
        return Shown(budget, ledger.balance(budget.name))
    except QuiltworkError as error:
        return Shown(budget, None, words_of(error))


def balances_of(ledger: Ledger, most: int) -> tuple[list[Shown], int]:
    """At most so many budgets, open and new ones first; and how many there are."""
    every = ledger.budgets()
    chosen = sorted(every, key=lambda one: (one.state != "open", -one.opened.timestamp()))[:most]
    return [shown_of(ledger, budget) for budget in chosen], len(every)
