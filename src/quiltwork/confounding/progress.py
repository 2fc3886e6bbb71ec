"""A bar on the terminal while a design is searched: cost from both sides, how far the gap has closed, time left."""

from __future__ import annotations

import importlib
import importlib.util
import math
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

__all__ = ["closed", "reporting"]

Report = Callable[[int, float, float, int], None]


@contextmanager
def reporting(shown: bool | None, gap: float = 1e-6) -> Iterator[Report | None]:
    """A reporter for `refine`: None (silent) unless standard error is a terminal or `shown` says so.

    The gap closes about as fast on a logarithmic scale all along, so that is what the bar measures.
    """
    if shown is None:
        shown = sys.stderr.isatty()
    if not shown or importlib.util.find_spec("rich") is None:
        yield None
        return
    # by name: this room promises to compute without rich
    console = importlib.import_module("rich.console").Console(stderr=True)
    tools = importlib.import_module("rich.progress")
    columns = (tools.TextColumn("{task.description}"), tools.BarColumn(), tools.TimeRemainingColumn())
    with tools.Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task("designing", total=None)
        first: list[float] = []

        def report(rounds: int, lower: float, upper: float, cells: int) -> None:
            now = _relative(lower, upper)
            first.append(now)
            words = f"round {rounds}, {cells} cells, cost {lower:.5g} to {upper:.5g}"
            bar.update(task, description=words, completed=closed(first[0], now, gap), total=1.0)

        yield report


def closed(first: float, now: float, gap: float) -> float:
    """The share of the way from the first gap to the wanted one, in logarithms.

    >>> closed(1e-1, 1e-2, 1e-3), closed(1e-1, 1e-4, 1e-3), closed(math.inf, 1.0, 1e-3)
    (0.5, 1.0, 0.0)
    """
    if not math.isfinite(first) or not math.isfinite(now):
        return 0.0
    least = max(gap, 1e-15)
    if now <= least:
        return 1.0
    return max(0.0, math.log(first / now) / math.log(first / least)) if first > now else 0.0


def _relative(lower: float, upper: float) -> float:
    if not (math.isfinite(lower) and math.isfinite(upper)):
        return math.inf
    return (upper - lower) / max(abs(upper), sys.float_info.min)
