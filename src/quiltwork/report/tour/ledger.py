"""Sixth stop: a budget in a ledger on disk; spent, refused, verified. The ledger is gone afterwards."""

from __future__ import annotations

import tempfile
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

from quiltwork.compose.constructors import gaussian, laplace
from quiltwork.document.blocks import Block, Fact, Facts, Grid, Words
from quiltwork.document.draw.svg import picture
from quiltwork.errors import BudgetExceeded
from quiltwork.ledger import Ledger
from quiltwork.ledger.acts.history import followed
from quiltwork.ledger.figure import draw_course
from quiltwork.numbers.digits import single
from quiltwork.report.tour.stop import Told, ask_again

WIDE = (7.2, 3.2)
NAME, EPSILON, DELTA = "patients", 1.0, 1e-6
WEEKS = 10


class _Clock:
    """A clock that the story sets."""

    def __init__(self) -> None:
        self.now = datetime(2026, 1, 5, 9, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.now


def told() -> Told:
    """Open, spend, be refused, verify."""
    clock = _Clock()
    with tempfile.TemporaryDirectory() as folder:
        ledger = Ledger(f"sqlite:///{Path(folder).as_posix()}/tour.db", clock=clock)
        try:
            return _story(ledger, clock)
        finally:
            ledger.dispose()


def _story(ledger: Ledger, clock: _Clock) -> Told:
    ledger.open(NAME, epsilon=EPSILON, delta=DELTA, protects="one patient, added or removed")
    for week in range(WEEKS):
        clock.now += timedelta(days=7)
        ledger.spend(NAME, gaussian(30.0), note=f"counts of week {week + 1}")
    refused = ""
    try:
        ledger.spend(NAME, laplace(1.0), note="a question too many")
    except BudgetExceeded as error:
        refused = str(error)
    clock.now += timedelta(days=7)
    ledger.spend(NAME, laplace(20.0), note="the same question, with more noise")
    balance, entries = ledger.balance(NAME), list(ledger.history(NAME))
    checked = ledger.verify()
    spent = sum(entry.kind == "spend" for entry in entries)
    line = (
        f"{spent} releases granted and 1 refused: {balance.percent} of epsilon {single(EPSILON)} is spent; every entry "
        "is as it was written"
    )
    words = (
        "A budget is opened once and spent by many. Later questions may depend on earlier answers. What does not fit "
        "is refused before any noise is drawn, and a refusal costs nothing. Every entry is signed and chained to the "
        "one before, so that a changed file is noticed."
    )
    facts = Facts(
        [
            Fact("Spent", balance.percent, f"of epsilon {single(EPSILON)} at delta {single(DELTA)}"),
            Fact(
                "Chain",
                "holds" if checked else "broken",
                f"{checked.entries} entries, signed",
                "good" if checked else "bad",
            ),
        ]
    )
    course = followed(ledger, NAME)
    rows = [(f"{entry.seq}", entry.time[:10], entry.kind, _note(entry)) for entry in entries[-4:]]
    drawn = picture(
        "budget",
        "What was spent of the budget over time, and its limit",
        "Each step is a release that was granted.",
        partial(draw_course, course),
        WIDE,
    )
    blocks: list[Block] = [
        Words(words),
        facts,
        drawn,
        Words(f"Refused: {refused}."),
        Grid((("Entry", "number"), "Day", "What", "Note"), rows, "The last entries of the ledger."),
        Words(checked.explain()),
        *ask_again(
            f"quiltwork ledger open {NAME} --epsilon {EPSILON:g} --delta {DELTA:g} --protects 'one patient'",
            f"quiltwork ledger spend {NAME} 'gaussian: {{sigma: 30}}'",
            "quiltwork ledger verify",
        ),
    ]
    numbers = {"spent": spent, "refused": refused, "used": balance.used, "holds": bool(checked)}
    return Told(line, blocks, numbers)


def _note(entry: object) -> str:
    content = getattr(entry, "content", {})
    return str(content.get("note") or "")
