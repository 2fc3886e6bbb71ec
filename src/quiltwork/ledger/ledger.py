"""`Ledger`: budgets that last, kept in a database, spent from by any number of people, jobs and machines."""

from __future__ import annotations

from quiltwork.kinds import not_written
from quiltwork.ledger.acts.integrity import Integrity
from quiltwork.ledger.acts.opening import Opening
from quiltwork.ledger.acts.principals import People
from quiltwork.ledger.acts.questions import Asking
from quiltwork.ledger.acts.spending import Spending

__all__ = ["Ledger"]


@not_written("it is an open connection", "keep its address; `ledger export` copies it")
class Ledger(Opening, Spending, Asking, Integrity, People):
    """Budgets in a database. Every change is an entry of one hash chain, and is made in one transaction.

    `url` is `sqlite:///FILE` or `postgresql+psycopg://...`; a database without a ledger gets one. `key` is the file of
    the key that signs receipts: by default FILE.key beside a SQLite file, made with the ledger, and the file that
    QUILTWORK_LEDGER_KEY names for PostgreSQL. `token` says who asks, once a ledger has principals.
    """
