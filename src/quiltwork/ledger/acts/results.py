"""Numbers that were released, kept in the chain under the key that paid for them: the first ones stay.

They are written before anybody sees them, so that a job which died and runs again shows the numbers that it would have
shown, and never a second draw. Published numbers hold nothing that is to be hidden.

Reference: theory/release.md section 9.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

from quiltwork.errors import InvalidParameter, NotOpen
from quiltwork.ledger import names as words
from quiltwork.ledger.acts.connection import Session
from quiltwork.ledger.acts.spending import TAB
from quiltwork.ledger.book import rules
from quiltwork.ledger.chain.entries import Entry
from quiltwork.ledger.store.rows import LiveBook, entry_with_key
from quiltwork.ledger.store.writer import Writer
from quiltwork.spec.files.file import loads
from quiltwork.spec.objects.documents import dumps

LONGEST_RESULT = 48 * 2**20  # characters of one result


def _place(key: Any) -> str:
    """The key of the entry with the numbers: nobody can ask for such a key."""
    return f"{words.name('key', key)}{TAB}result"


def result(session: Session, budget: str, key: str) -> Any:
    """What was kept under a key; None when nothing was."""
    budget, place = session.terms(budget).name, _place(key)

    def work(book: LiveBook, now: datetime) -> str | None:
        found = entry_with_key(book.connection, budget, place)
        return None if found is None else str(session.vouched(book.connection, found).content["document"])

    text = session.read(work)
    return None if text is None else loads(text)


def keep(session: Session, budget: str, key: str, value: Any) -> Any:
    """Keep a value under the key of a spend, unless one is kept already; what is kept is returned."""
    budget, place, paid = session.terms(budget).name, _place(key), words.name("key", key)
    text = dumps(value, "json")
    if len(text) > LONGEST_RESULT:
        raise InvalidParameter(
            "result", f"{len(text):,} characters", f"at most {LONGEST_RESULT:,}", "publish fewer groups"
        )

    def work(writer: Writer) -> Entry:
        before = writer.with_key(budget, place)
        if before is not None:
            return session.standing(writer, before)
        spent = writer.with_key(budget, paid)
        if spent is None or spent.kind != "spend":
            raise NotOpen(f"key {key!r} of budget {budget!r}", "paid for nothing", "spend under the key first")
        account = writer.book.opened(budget)
        rules.check_own(writer.book, writer.guarded, writer.principal, spent.principal, "spend", account)
        return writer.append("result", budget, {"paid": spent.seq, "document": text}, place)

    return loads(str(session.write("spend", work, budget=budget).content["document"]))
