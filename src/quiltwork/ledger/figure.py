"""The picture of a budget over time: what was spent, the limit, and when it was paused or closed."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from quiltwork.document.draw.style import COLOURS, rendered
from quiltwork.ledger.acts.history import Course

__all__ = ["draw_course", "drawn"]

SIZE = (7.2, 3.6)
MOST_MARKS = 12
SHORT = timedelta(minutes=10)
FEW = 40  # steps up to which each has its dot


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
