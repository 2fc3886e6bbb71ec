"""How far long work has come: told to a callback, and drawn on standard error when somebody watches.

Rooms that compute report to `Progress`; who draws is decided above them.  Here a plain line is drawn; the command line
puts its own drawer in the place of it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Generator, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Protocol

_WIDTH = 30  # characters of a bar


class Progress(Protocol):
    """Told how much is done, of how much; words, where given, take the place of the label."""

    def __call__(self, done: float, total: float, words: str = "") -> None: ...


Drawer = Callable[[str], AbstractContextManager[Progress]]


@contextmanager
def plain_line(label: str) -> Iterator[Progress]:
    """One line on standard error that is written again and again, and wiped in the end."""
    longest = 0

    def draw(done: float, total: float, words: str = "") -> None:
        nonlocal longest
        share = min(max(done / total, 0.0), 1.0) if total else 1.0
        line = f"{words or label} [{'#' * round(_WIDTH * share):<{_WIDTH}}] {share:.0%}"
        longest = max(longest, len(line))
        print("\r" + line.ljust(longest), end="", file=sys.stderr, flush=True)

    try:
        yield draw
    finally:
        if longest:
            print("\r" + " " * longest + "\r", end="", file=sys.stderr, flush=True)


_drawers: list[Drawer] = [plain_line]


def draw_with(drawer: Drawer) -> None:
    """From now on progress is drawn like this."""
    _drawers[:] = [drawer]


@contextmanager
def reporting(label: str, shown: bool | None = None) -> Iterator[Progress | None]:
    """A callback that draws; None when nobody watches.

    `shown=None` draws when standard error is a terminal, so that pipes and log files stay clean; True draws always,
    False never.
    """
    if not (sys.stderr.isatty() if shown is None else shown):
        yield None
        return
    with _drawers[0](label) as progress:
        yield progress


def steps(count: int, label: str, shown: bool | None = None) -> Generator[int, None, None]:
    """0, 1, ..., count - 1, with a bar that moves when a step is done; one step could only jump from nothing to all.

    >>> list(steps(3, "counting", shown=False))
    [0, 1, 2]
    """
    with reporting(label, False if shown is None and count <= 1 else shown) as progress:
        for step in range(count):
            if progress is not None:
                progress(step, count)
            yield step
