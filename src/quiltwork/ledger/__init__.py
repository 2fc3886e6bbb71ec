"""Budgets that last: opened once, spent by many, never overspent, every entry explained and checked.

Ledger(url)          the facade: open, spend, reserve, balance, history, verify, export ...
Blocks               a partition of the domain, each part with the whole budget
Receipt, Entry       what was written, and what vouches for it
adapters             losses from Opacus histories, dp_accounting events and OpenDP measurements

ledger -> requests (price) -> rules (fits?) -> writer (chain, head) -> store (transaction)
book (what entries change)  <- verify, transfer (replay)
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from quiltwork.ledger.book.balances import Balance
    from quiltwork.ledger.book.budget import Budget
    from quiltwork.ledger.book.rules import Forecast
    from quiltwork.ledger.book.terms import Blocks
    from quiltwork.ledger.chain.entries import Entry
    from quiltwork.ledger.chain.keys import SigningKey
    from quiltwork.ledger.chain.receipts import Receipt
    from quiltwork.ledger.ledger import Ledger
    from quiltwork.ledger.proof.verify import Verification

__all__ = ["Balance", "Blocks", "Budget", "Entry", "Forecast", "Ledger", "Receipt", "SigningKey", "Verification"]

_HOMES = {
    "Balance": "book.balances",
    "Blocks": "book.terms",
    "Budget": "book.budget",
    "Entry": "chain.entries",
    "Forecast": "book.rules",
    "Ledger": "ledger",
    "Receipt": "chain.receipts",
    "SigningKey": "chain.keys",
    "Verification": "proof.verify",
}


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        try:
            return getattr(import_module(f"quiltwork.ledger.{_HOMES[name]}"), name)
        except ModuleNotFoundError as error:
            if error.name in ("sqlalchemy", "cryptography", "psycopg", "argon2"):
                from quiltwork.errors import MissingExtra

                raise MissingExtra(error.name, "ledger") from None
            raise
    raise AttributeError(f"module 'quiltwork.ledger' has no attribute {name!r}")
