"""The report of a budget: what is left, what fits, how it was spent over time, and what was done."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from quiltwork.compose.filters.windows import stated_from_json
from quiltwork.document.blocks import Block, Cell, Fact, Facts, Grid, Picture, Section, Words
from quiltwork.document.draw.svg import picture
from quiltwork.document.page import Report
from quiltwork.document.parts import SUMMARY, why
from quiltwork.errors import BrokenChain, QuiltworkError
from quiltwork.ledger.book.balances import Balance
from quiltwork.ledger.chain.entries import Entry
from quiltwork.ledger.course import Course, draw_course, followed
from quiltwork.ledger.ledger import Ledger
from quiltwork.report.pages.budget_history import clean, details, said, second

SHOWN = 50  # entries of the history
LOOKED_AT = 500  # entries among which releases are looked for, to forecast more of them
FORECASTS = 5
EVERY_TIME = (
    "Every entry names the hash of the one before, so that no entry can be changed later without being noticed; "
    "quiltwork ledger verify recomputes the chain and every sum."
)


def budget_report(ledger: Ledger, name: str) -> Report:
    """Everything that a ledger says about one of its budgets."""
    course = followed(ledger, name)
    balance = ledger.balance(name)
    budget = balance.budget
    kept = list(ledger.history(name, last=LOOKED_AT))
    fitting = forecasts(ledger, balance, kept)
    terms = budget.terms
    sections = [
        Section(SUMMARY, [Facts(_facts(balance)), _amounts(balance)]),
        Section("In plain words", [*_paragraphs(budget.explain()), *_paragraphs(balance.explain())]),
        Section("Over time", [course_picture(name, course)]),
        *_planned(balance),
        *_forecast(fitting),
        Section("What was done", [history_grid(kept[-SHOWN:], budget.entries)]),
        *why([*([] if terms.filter is None else [terms.filter.because]), EVERY_TIME]),
    ]
    data = {
        "kind": "budget",
        "budget": budget.to_json(),
        "balance": balance.to_json(),
        "course": course.to_json(),
        "forecasts": [{"release": words, "count": count, "cost": cost} for words, count, cost in fitting],
    }
    return Report(f"Budget {name}", f"{terms.limit}, {budget.kind}. Protected: {terms.protects}.", sections, data)


def course_picture(name: str, course: Course) -> Picture:
    """What was spent over time, and the limit."""
    title = f"Budget {name} over time: what was spent, and the limit"
    caption = "What was spent after each entry, rounded up; the dashed line is the limit."
    return picture("budget", title, caption, partial(draw_course, course))


def _paragraphs(text: str) -> list[Block]:
    return [Words(line) for line in text.splitlines() if not line.startswith("Protected:")]


def _facts(balance: Balance) -> list[Fact]:
    limit, _, left = balance.amounts[0].texts()
    state = balance.budget.state
    facts = [
        Fact("Spent", balance.percent, f"of {limit} ({balance.unit})", "bad" if balance.used >= 1 else ""),
        Fact("Left at least", left, balance.unit),
        Fact(
            "State",
            state,
            "" if state == "open" else "nothing can be spent from it",
            "good" if state == "open" else "bad",
        ),
    ]
    kept = balance.budget.terms.filter
    if kept is not None and kept.always_reads:
        facts.append(Fact("Odometer", f"at most {balance.amounts[0].texts(4)[1]}", f"{balance.unit}, at every moment"))
    if balance.reading is not None:
        beyond = f"except with probability {balance.delta:g}" if balance.delta else "always"
        facts.append(Fact("Odometer", f"at most {balance.read}", f"the privacy loss so far, {beyond}"))
    if balance.held:
        facts.append(Fact("Held", f"{balance.held:,}", "reservations that have not started; they count as spent"))
    return facts


def _amounts(balance: Balance) -> Block:
    rows = [(one.unit, *one.texts(), Cell(one.percent, share=min(one.used, 1.0))) for one in balance.amounts]
    columns = ("Counted in", ("Limit", "number"), ("Spent", "number"), ("Left", "number"), ("Used", "number"))
    return Grid(columns, rows, "Spent is rounded up, what is left is rounded down.")


def _planned(balance: Balance) -> list[Section]:
    if not balance.runs:
        return []
    rows = [(one.name, said(one.loss.to_json()), *balance.runs[one.name]) for one in balance.budget.terms.plan]
    columns = ("Release", "Mechanism", ("Ran", "number"), ("Planned", "number"))
    caption = "What was fixed when the budget was opened; nothing else can be spent from it."
    return [Section("The plan", [Grid(columns, rows, caption)])]


def forecasts(ledger: Ledger, balance: Balance, entries: Sequence[Entry]) -> list[tuple[str, int | None, str]]:
    """The releases that were made last, how many more of each fit (None: any number), and what one costs."""
    name = balance.budget.name
    found: dict[str, tuple[str, int | None, str]] = {}
    if balance.budget.terms.filter is None:
        return []
    for entry in reversed(entries):
        try:
            content = entry.content if entry.kind in ("spend", "reserve") else {}
            key = _release(content)
            if key is None or key in found or len(found) == FORECASTS:
                continue
            more = ledger.forecast(name, stated_from_json(content["loss"]), blocks=content["blocks"])
        except (QuiltworkError, BrokenChain, KeyError, TypeError, ValueError):  # a forecast is no answer to a bad entry
            continue
        found[key] = (key, more.count, more.cost)
    return list(found.values())


def _release(content: dict[str, Any]) -> str | None:
    if not content or content.get("loss") is None:
        return None
    blocks = content["blocks"]
    where = "" if blocks is None else f" in {', '.join(map(str, blocks[:3]))}{' ...' if len(blocks) > 3 else ''}"
    return clean(said(content["loss"]) + where)


def _forecast(found: list[tuple[str, int | None, str]]) -> list[Section]:
    if not found:
        return []
    rows = [(words, "any number" if count is None else count, cost) for words, count, cost in found]
    caption = "How many more of each release fit, if nothing else is spent; the releases that were made last."
    return [Section("What still fits", [Grid(("Release", ("More", "number"), "One costs"), rows, caption)])]


def history_grid(kept: Sequence[Entry], total: int) -> Grid:
    """The newest of so many entries, newest first."""
    people = any(entry.principal is not None for entry in kept)
    rows = []
    for entry in reversed(kept):
        cells: list[str | int] = [entry.seq, second(entry.time), clean(entry.kind)]
        cells += [clean(entry.principal or "-", 40)] if people else []
        rows.append([*cells, details(entry)])
    columns = (("Entry", "number"), "Time (UTC)", "What", *(["Who"] if people else []), "Details")
    some = "" if len(kept) >= total else f" The last {len(kept):,} of {total:,} entries."
    return Grid(columns, rows, f"Newest first.{some}")
