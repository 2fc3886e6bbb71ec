"""The course of a budget: what was spent after each of its entries, when it was paused or closed, and its picture."""

from __future__ import annotations

import math
import threading
from datetime import datetime, timedelta
from typing import Any

import attrs

from quiltwork.document.draw.style import COLOURS, rendered
from quiltwork.ledger.book.balances import Balance, Budget, balance_of
from quiltwork.ledger.book.book import MemoryBook
from quiltwork.ledger.chain.entries import moment, stamp
from quiltwork.ledger.ledger import Ledger
from quiltwork.ledger.store.acknowledged import Acknowledged, follow
from quiltwork.numbers.json import json_numbers

POINTS = {"adaptive": 400, "planned": 40}  # a planned total is composed anew at each point
MARKS = {"pause": "paused", "resume": "resumed", "close": "closed"}
SIZE = (7.2, 3.6)
MOST_MARKS = 12
SHORT = timedelta(minutes=10)
FEW = 40  # steps up to which each has its dot


@attrs.frozen
class Course:
    """Spent after each of some entries, and when the budget was paused or closed."""

    times: list[datetime]
    spent: list[float]
    changes: list[tuple[datetime, str]]
    last: Balance

    def to_json(self) -> dict[str, Any]:
        """Versioned, plain values."""
        return {
            "schema": "quiltwork/course/1",
            "budget": self.last.budget.name,
            "unit": self.last.unit,
            "limit": json_numbers(self.last.limit.lower),
            "times": [stamp(time) for time in self.times],
            "spent": json_numbers(self.spent),
            "changes": [{"time": stamp(time), "what": word} for time, word in self.changes],
        }


def followed(ledger: Ledger, name: str) -> Course:
    """Replay the entries of a budget, and ask for its balance after every so many of them and after the last."""
    return Following(ledger.budget(name)).gone_on(ledger)


class Following:
    """A course that is continued where it ended: every entry is read once, however often the course is asked for."""

    def __init__(self, budget: Budget) -> None:
        self._budget, self._lock = budget, threading.Lock()
        self._begin(Acknowledged())

    def _begin(self, known: Acknowledged) -> None:
        self._book, self._known = MemoryBook(), known
        self._every = math.ceil(self._budget.entries / POINTS[self._budget.kind])  # entries from one point to the next
        self._count = self._after = 0
        self._points: list[tuple[datetime, float]] = []
        self._changes: list[tuple[datetime, str]] = []
        self._last: Balance | None = None  # at the last point

    def gone_on(self, ledger: Ledger) -> Course:
        """Up to the newest entry."""
        name, session = self._budget.name, ledger._session
        with self._lock:
            known = session.acknowledged()
            if known.ranges != self._known.ranges:  # entries that were read count otherwise since
                self._begin(known)
            time = None
            for entry in session.about(name, self._after):
                follow(self._book, entry, name, known)
                self._after = entry.seq
                if self._book.account(name) is None:
                    continue
                self._count, time = self._count + 1, moment(entry.time)
                if entry.kind in MARKS:
                    self._changes.append((time, MARKS[entry.kind]))
                if not self._count % self._every or self._count == 1:
                    self._add(time)
            if time is not None:
                self._now = time
            points, last = self._points.copy(), self._last
            if self._count % self._every and self._count > 1:  # the last entry, until others follow
                last = self._at(self._now, points)
            if last is None:  # a budget has at least the entry that opened it
                last = ledger.balance(name)
            return Course([time for time, _ in points], [spent for _, spent in points], self._changes.copy(), last)

    def _add(self, time: datetime) -> None:
        self._last = self._at(time, self._points)
        if len(self._points) > 2 * POINTS[self._budget.kind]:
            self._every *= 2
            del self._points[1:-1:2]

    def _at(self, now: datetime, points: list[tuple[datetime, float]]) -> Balance | None:
        """One more point; a fresh budget begins with nothing spent."""
        account, last = self._book.account(self._budget.name), self._last
        if account is None:
            return last
        found = balance_of(self._book, account, now, None)
        if last is not None and found.period > last.period and last.period_ends is not None:
            points.append((last.period_ends, 0.0))
        points.append((now, float(found.spent.upper)))
        return found


def drawn(course: Course, kind: str) -> bytes:
    """The course of one budget as a file; the same history gives the same bytes."""

    def draw(figure: Any) -> None:
        axes = figure.subplots()
        draw_course(course, axes)
        title = f"{course.last.budget.name} ({course.last.budget.terms.limit}): {course.last.percent} is spent"
        axes.set_title(title.replace("$", r"\$"), loc="left", fontsize=10.5)  # a title is text, never mathematics

    return rendered(SIZE, draw, kind, "ledger")


def draw_course(course: Course, axes: Any) -> None:
    """Spent over time as steps, on axes that are there."""
    from matplotlib import dates

    tools: Any = dates  # it carries no types
    limit = float(course.last.limit.lower)
    times, spent = course.times, course.spent
    axes.step(times, spent, where="post", color=COLOURS["accent"], linewidth=1.6, label="spent")
    axes.fill_between(times, spent, step="post", color=COLOURS["accent"], alpha=0.12, linewidth=0)
    if len(times) <= FEW:
        axes.plot(times, spent, linestyle="none", marker="o", markersize=3.5, color=COLOURS["accent"])
    axes.axhline(limit, color=COLOURS["bad"], linewidth=1.2, linestyle=(0, (4, 2)), label="limit")
    for when, word in course.changes[:MOST_MARKS]:
        axes.axvline(when, color=COLOURS["muted"], linewidth=0.9, linestyle=":")
        place = {"rotation": 90, "va": "bottom", "ha": "right", "fontsize": 8, "color": COLOURS["muted"]}
        axes.text(when, 0.03, word + " ", transform=axes.get_xaxis_transform(), **place)
    locator = tools.AutoDateLocator()
    axes.xaxis.set_major_locator(locator)
    axes.xaxis.set_major_formatter(tools.ConciseDateFormatter(locator))
    if times and times[-1] - times[0] < SHORT:  # no axis of years around one moment
        axes.set_xlim(times[0] - SHORT / 2, times[-1] + SHORT / 2)
    axes.set_ylim(0.0, 1.08 * limit)
    axes.set_xlabel("time (UTC)")
    axes.set_ylabel(course.last.unit)
    axes.legend(loc="lower right", bbox_to_anchor=(1.0, 1.0), ncols=2, borderaxespad=0.2)
