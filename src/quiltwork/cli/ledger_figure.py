"""The picture that `quiltwork ledger history NAME --figure` writes: what was spent of a budget over time."""

from __future__ import annotations

import io
import math
from collections.abc import Iterator
from datetime import datetime
from typing import Any

import attrs

from quiltwork.errors import MissingExtra
from quiltwork.ledger.balances import Balance, balance_of
from quiltwork.ledger.book import MemoryBook
from quiltwork.ledger.changes import apply
from quiltwork.ledger.entries import moment
from quiltwork.ledger.ledger import Ledger

SIZE = (7.2, 3.6)
POINTS = {"adaptive": 400, "planned": 40}  # a planned total is composed anew at each point
INK, WARM, MUTED, FAINT = "#1f4e79", "#b3342d", "#8a8f98", "#555a63"
MOST_MARKS = 12
MARKS = {"pause": "paused", "resume": "resumed", "close": "closed"}


@attrs.frozen
class Course:
    """Spent after each of some entries, and when the budget was paused or closed."""

    times: list[datetime]
    spent: list[float]
    changes: list[tuple[datetime, str]]
    last: Balance


def drawn(ledger: Ledger, name: str, kind: str) -> bytes:
    """The course of one budget; the same history gives the same bytes."""
    try:
        import matplotlib
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingExtra("matplotlib", "report") from None
    course = followed(ledger, name)
    dates = {"svg": {"Date": None}, "pdf": {"CreationDate": None}, "png": {}}
    style: dict[Any, Any] = {"svg.fonttype": "none", "svg.hashsalt": "ledger", "font.size": 9.5}
    with matplotlib.rc_context({**style, "axes.spines.top": False, "axes.spines.right": False}):
        figure = Figure(figsize=SIZE, layout="constrained")
        _draw(course, figure.subplots())
        buffer = io.BytesIO()
        figure.savefig(buffer, format=kind, metadata=dates[kind], dpi=160)
    return buffer.getvalue()


def followed(ledger: Ledger, name: str) -> Course:
    """Replay the entries of a budget, and ask for its balance along the way."""
    budget = ledger.budget(name)
    every = math.ceil(budget.entries / POINTS[budget.kind])
    times: list[datetime] = []
    spent: list[float] = []
    changes: list[tuple[datetime, str]] = []
    last: Balance | None = None
    for now, what, found in _balances(ledger, name, every, budget.entries):
        if what in MARKS:
            changes.append((now, MARKS[what]))
        if found is None:
            continue
        if last is not None and found.period > last.period and last.period_ends is not None:
            times.append(last.period_ends)  # a fresh budget begins with nothing spent
            spent.append(0.0)
        times.append(now)
        spent.append(float(found.spent.upper))
        last = found
    if last is None:  # a budget has at least the entry that opened it
        last = ledger.balance(name)
    return Course(times, spent, changes, last)


def _balances(ledger: Ledger, name: str, every: int, total: int) -> Iterator[tuple[datetime, str, Balance | None]]:
    """Each entry, with the balance after every so many of them and after the last."""
    book = MemoryBook()
    for index, entry in enumerate(ledger.history(name), start=1):
        apply(book, entry)
        now = moment(entry.time)
        account = book.account(name)
        wanted = account is not None and (index % every == 0 or index in (1, total))
        yield now, entry.kind, balance_of(book, account, now, None) if wanted and account is not None else None


def _draw(course: Course, axes: Any) -> None:
    from matplotlib import dates

    tools: Any = dates  # it carries no types
    limit = float(course.last.limit.lower)
    times, spent = course.times, course.spent
    axes.step(times, spent, where="post", color=INK, linewidth=1.6, label="spent")
    axes.fill_between(times, spent, step="post", color=INK, alpha=0.12, linewidth=0)
    if len(times) <= 40:
        axes.plot(times, spent, linestyle="none", marker="o", markersize=3.5, color=INK)
    axes.axhline(limit, color=WARM, linewidth=1.2, linestyle=(0, (4, 2)), label="limit")
    for when, word in course.changes[:MOST_MARKS]:
        axes.axvline(when, color=MUTED, linewidth=0.9, linestyle=":")
        place = {"rotation": 90, "va": "bottom", "ha": "right", "fontsize": 8, "color": FAINT}
        axes.text(when, 0.03, word + " ", transform=axes.get_xaxis_transform(), **place)
    locator = tools.AutoDateLocator()
    axes.xaxis.set_major_locator(locator)
    axes.xaxis.set_major_formatter(tools.ConciseDateFormatter(locator))
    axes.set_ylim(0.0, 1.08 * limit)
    axes.set_xlabel("time (UTC)")
    axes.set_ylabel(course.last.unit)
    title = f"{course.last.budget.name} ({course.last.budget.terms.limit}): {course.last.percent} is spent"
    axes.set_title(title.replace("$", r"\$"), loc="left", fontsize=10.5)  # a title is text, never mathematics
    axes.legend(frameon=False, loc="lower right", bbox_to_anchor=(1.0, 1.0), ncols=2, borderaxespad=0.2)
