"""Connections and fork do not mix: idle ones are closed before a process forks, and acts in progress are waited for.

A forked child inherits SQLite's belief that it holds locks which only its parent has: the parent's last close would
then delete the write-ahead log under the child, and with it what was granted there.
"""

from __future__ import annotations

import os
import threading
import time
import weakref
from collections import Counter
from collections.abc import Callable

__all__ = ["Gate", "close_idle"]

PATIENCE = 10.0  # seconds that a fork waits for acts of other threads


class Gate:
    """Acts pass through it; while a process forks, nobody does. `close` ends the idle connections."""

    def __init__(self, close: Callable[[], None]) -> None:
        self.close = close
        self._reset()
        _GATES.add(self)

    def _reset(self) -> None:
        self._changed = threading.Condition()
        self._inside: Counter[int] = Counter()  # by thread: an act may ask for another one
        self._forking = False

    def __enter__(self) -> None:
        mine = threading.get_ident()
        with self._changed:
            while self._forking and not self._inside[mine]:
                self._changed.wait()
            self._inside[mine] += 1

    def __exit__(self, *_: object) -> None:
        mine = threading.get_ident()
        with self._changed:
            self._inside[mine] -= 1
            if not self._inside[mine]:
                del self._inside[mine]
                self._changed.notify_all()

    def before_fork(self) -> None:
        """Wait for the acts of other threads, then close what is idle."""
        mine, end = threading.get_ident(), time.monotonic() + PATIENCE
        with self._changed:
            self._forking = True
            while any(thread != mine for thread in self._inside) and time.monotonic() < end:
                self._changed.wait(timeout=max(0.0, end - time.monotonic()))
        self.close()

    def after_in_parent(self) -> None:
        """Go on."""
        with self._changed:
            self._forking = False
            self._changed.notify_all()

    def after_in_child(self) -> None:
        """The threads that were inside do not exist here."""
        self._reset()


def close_idle() -> None:
    """Close every idle connection of this process, of all ledgers."""
    for gate in list(_GATES):
        gate.close()


_GATES: weakref.WeakSet[Gate] = weakref.WeakSet()


def _each(act: Callable[[Gate], None]) -> Callable[[], None]:
    def run() -> None:
        for gate in list(_GATES):
            act(gate)

    return run


if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_each(Gate.before_fork),
        after_in_parent=_each(Gate.after_in_parent),
        after_in_child=_each(Gate.after_in_child),
    )
