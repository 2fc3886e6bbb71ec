"""A line on the terminal while a design is searched: round, cost from both sides, cells."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

__all__ = ["reporting"]

Report = Callable[[int, float, float, int], None]


@contextmanager
def reporting(shown: bool | None) -> Iterator[Report | None]:
    """A reporter for `refine`: None (silent) unless standard error is a terminal or `shown` says so."""
    if shown is None:
        shown = sys.stderr.isatty()
    if not shown or importlib.util.find_spec("rich") is None:
        yield None
        return
    # by name: this room promises to compute without rich
    console = importlib.import_module("rich.console").Console(stderr=True)
    with console.status("designing") as status:

        def report(rounds: int, lower: float, upper: float, cells: int) -> None:
            status.update(f"designing: round {rounds}, cost between {lower:.6g} and {upper:.6g}, {cells} cells")

        yield report
