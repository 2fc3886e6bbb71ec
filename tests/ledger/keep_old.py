"""Writes `kept_by_0_1.json`: a SQLite ledger as version 0.1 wrote it, with every kind of row, its key, its people.

    git archive v0.1-code src tests | tar x -C OLD && PYTHONPATH=OLD/src:OLD python tests/ledger/keep_old.py

where `v0.1-code` is any commit whose schema is version 0001. Kept as text, so that a reader sees what is in it.
"""

from __future__ import annotations

import json
import sqlite3
import tempfile
from contextlib import closing
from pathlib import Path

from tests.ledger.rich import rich

from quiltwork.ledger import tokens
from quiltwork.ledger.store import schema


def main() -> None:
    assert schema.HEAD == "0001", "this is written by the code of version 0.1"
    tokens.MEMORY_COST, tokens.TIME_COST = 64, 1  # cheap to check again; the form is the same
    with tempfile.TemporaryDirectory() as folder:
        file, key = Path(folder) / "budgets.db", Path(folder) / "budgets.db.key"
        made = rich(f"sqlite:///{file}", key)
        identity = made.ledger.identity
        receipts = [receipt.to_json() for receipt in made.receipts]
        made.ledger.dispose()
        with closing(sqlite3.connect(file)) as raw:
            script = list(raw.iterdump())
        people = {"admin": made.admin, "spender": made.spender, "viewer": made.viewer}
        value = {"identity": identity, "key": key.read_text(), "people": people, "receipts": receipts}
    place = Path.cwd() / "kept_by_0_1.json"
    place.write_text(json.dumps({**value, "sql": script}, indent=0) + "\n")


if __name__ == "__main__":
    main()
