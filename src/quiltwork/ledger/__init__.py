"""Budgets that last: opened once, spent by many, never overspent, every entry explained and checked.

Ledger(url)          the facade: open, spend, reserve, balance, history, verify, export ...
Blocks               a partition of the domain, each part with the whole budget
TableSession         queries on one table admitted one by one, charged to the blocks that they read
Receipt, Entry       what was written, and what vouches for it
Checkpoint           the end of the chain, signed, for others to keep

ledger -> requests (price) -> rules (fits?) -> writer (chain, head) -> store (transaction)
book (what entries change)  <- verify, transfer (replay)
"""

from __future__ import annotations

import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any

from quiltwork.errors import missing

if TYPE_CHECKING:
    from quiltwork.ledger.book.balances import Balance, Budget
    from quiltwork.ledger.book.rules import Forecast
    from quiltwork.ledger.book.terms import Blocks
    from quiltwork.ledger.chain.entries import Entry
    from quiltwork.ledger.chain.keys import SigningKey
    from quiltwork.ledger.chain.receipts import BatchReceipt, Receipt
    from quiltwork.ledger.chain.statements import Checkpoint, ConsistencyProof
    from quiltwork.ledger.ledger import Ledger
    from quiltwork.ledger.proof.verify import Verification
    from quiltwork.ledger.store.refusals import Refusal
    from quiltwork.ledger.table_session import TableSession, blocks_by

__all__ = [
    "Balance",
    "BatchReceipt",
    "Blocks",
    "Budget",
    "Checkpoint",
    "ConsistencyProof",
    "Entry",
    "Forecast",
    "Ledger",
    "Receipt",
    "Refusal",
    "SigningKey",
    "TableSession",
    "Verification",
    "blocks_by",
]

_HOMES = {
    "Balance": "book.balances",
    "BatchReceipt": "chain.receipts",
    "Blocks": "book.terms",
    "Budget": "book.balances",
    "Checkpoint": "chain.statements",
    "ConsistencyProof": "chain.statements",
    "Entry": "chain.entries",
    "Forecast": "book.rules",
    "Ledger": "ledger",
    "Receipt": "chain.receipts",
    "Refusal": "store.refusals",
    "SigningKey": "chain.keys",
    "TableSession": "table_session",
    "Verification": "proof.verify",
    "blocks_by": "table_session",
}


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        try:
            return getattr(import_module(f"quiltwork.ledger.{_HOMES[name]}"), name)
        except ModuleNotFoundError as error:
            raise missing(error) from None
    if name == "adapters":  # a room of its own now, which answers here as well
        return sys.modules[f"{__name__}.{name}"]
    raise AttributeError(f"module 'quiltwork.ledger' has no attribute {name!r}")
