"""Entries of a ledger as lines that people read; what cannot be read is said to be so, never hidden."""

from __future__ import annotations

from typing import Any

import attrs

from quiltwork.compose.filters.opening import Filter
from quiltwork.errors import QuiltworkError
from quiltwork.ledger.book.book import Charge
from quiltwork.ledger.chain.entries import Entry, canonical
from quiltwork.report.pages.budget_history import details

__all__ = ["Line", "line_of", "minute"]

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
}
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


def line_of(entry: Entry, kept: Filter | None) -> Line:
    """The line of an entry; costs are in the units of the budget's filter."""
    what, tone = WHAT.get(entry.kind, entry.kind), TONES.get(entry.kind, "")
    cost = note = ""
    try:
        content = entry.content
        note = str(content.get("note", ""))  # on a line of its own: notes are long, and typed by people
        words = details(attrs.evolve(entry, body=canonical({**content, "note": ""})))
        cost = _cost(entry.kind, content, kept)
    except (QuiltworkError, KeyError, TypeError, ValueError, AttributeError):
        words, tone = "cannot be read: verify the ledger", "denied"
    return Line(entry.seq, minute(entry.time), entry.time, what, tone, words, cost, entry.principal or "", note)


def minute(time: str) -> str:
    """A stored time to the second, in UTC, without the letters of ISO."""
    return time[:19].replace("T", " ")


def _cost(kind: str, content: dict[str, Any], kept: Filter | None) -> str:
    if kind not in ("spend", "reserve") or kept is None:
        return ""
    return kept.shown(Charge.read(content).cost)
