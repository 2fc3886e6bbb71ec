"""A bar with the time that is left: only on a terminal, nothing when piped."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager

from quiltwork.progress import Progress, reporting

__all__ = ["Advance", "draw", "progress"]

Advance = Callable[[int, int], None]


@contextmanager
def draw(label: str) -> Iterator[Progress]:
    """A bar by rich: the drawer that the command line gives to all rooms."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Bar(*columns, console=Console(file=sys.stderr, force_terminal=True), transient=True) as bar:
        task = bar.add_task(label, total=None)
        yield lambda done, total, words="": bar.update(task, completed=done, total=total, description=words or label)


def progress(words: str) -> AbstractContextManager[Advance | None]:
    """A function that is told how much is done, of how much; None when nobody watches."""
    return reporting(words)
