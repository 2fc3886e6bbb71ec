"""Spends that were refused for their cost: who asked for what, when, and how much was left.

Nothing happened, so that they are no entries: the chain stays what was granted. Whoever looks after budgets wants to
see them all the same. The newest are kept, in the words of the refusal; they are not signed, nothing follows from them.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

import attrs
from sqlalchemy import Connection, delete, func, insert, select

from quiltwork.kinds import not_written
from quiltwork.ledger.chain.entries import stamp
from quiltwork.ledger.store import schema

MOST_KEPT = 10_000
LONGEST = 2000  # characters of what was asked for


@not_written("it is a note beside the chain", "the page of refusals saves them as CSV")
@attrs.frozen
class Refusal:
    """A spend that was more than was left, or more than a quota."""

    budget: str
    principal: str | None
    what: str  # the loss as JSON, or the name of a planned release
    times: int
    requested: str
    remaining: str
    time: str = ""
    number: int = 0


def keep(connection: Connection, now: datetime, refused: Sequence[Refusal]) -> None:
    """One more each; the oldest go."""
    number, newest = schema.refusals.c.number, refused[-MOST_KEPT:]
    last = connection.execute(select(func.max(number))).scalar_one() or 0
    rows = [
        attrs.asdict(attrs.evolve(one, number=last + at, time=stamp(now), what=one.what[:LONGEST]))
        for at, one in enumerate(newest, start=1)
    ]
    connection.execute(insert(schema.refusals), rows)
    connection.execute(delete(schema.refusals).where(number <= last + len(newest) - MOST_KEPT))


def newest_first(connection: Connection, budget: str | None, before: int | None, limit: int) -> tuple[Refusal, ...]:
    """The newest, or those before a number, of one budget or of all."""
    rows = schema.refusals
    asked = select(rows).order_by(rows.c.number.desc()).limit(limit)
    if budget is not None:
        asked = asked.where(rows.c.budget == budget)
    if before is not None:
        asked = asked.where(rows.c.number < before)
    return tuple(Refusal(**row) for row in connection.execute(asked).mappings())
