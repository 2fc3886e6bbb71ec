"""A bar for work that takes long: only on a terminal, and only if rich is installed."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Generator

__all__ = ["steps"]


def steps(count: int, label: str, shown: bool | None = None) -> Generator[int, None, None]:
    """0, 1, ..., count - 1, with a bar on standard error that moves when a step is done.

    `shown=None` draws it when standard error is a terminal, so that pipes and log files stay clean, and not for one
    step, which could only jump from nothing to all; True draws it always, False never.
    """
    if shown is None:
        shown = count > 1 and sys.stderr.isatty()
    if not shown or importlib.util.find_spec("rich") is None:
        yield from range(count)
        return
    # by name: rooms that promise to compute without rich import this one
    console = importlib.import_module("rich.console").Console(stderr=True, force_terminal=True)
    track = importlib.import_module("rich.progress").track
    yield from track(range(count), description=label, console=console, transient=True)
