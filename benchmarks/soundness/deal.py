"""Rooms take turns by the time they have used, and so do the kinds of a room; workers are processes of their own."""

from __future__ import annotations

import contextlib
import multiprocessing
import multiprocessing.pool
import queue
import signal
import time
from collections.abc import Callable
from typing import Any

import attrs

from benchmarks.soundness.turns import Slice, Tally, run

SLICE = 1.5  # seconds that a worker spends on one kind before it hands back
GRACE = 4.0  # seconds that are waited for slices at the end
Progress = Callable[[float, "Outcome"], None]


@attrs.define
class Outcome:
    """Everything that was counted."""

    kinds: dict[str, Tally] = attrs.field(factory=dict)
    claims: dict[str, list[int]] = attrs.field(factory=dict)
    failures: list[dict[str, Any]] = attrs.field(factory=list)
    cut: int = 0
    seconds: float = 0.0

    @property
    def checks(self) -> int:
        """Of all kinds."""
        return sum(tally.checks for tally in self.kinds.values())

    def book(self, found: Slice) -> None:
        """Add what a worker found."""
        self.kinds[found.title].merge(found.tally)
        for claim, (checks, wrong) in found.claims.items():
            count = self.claims.setdefault(claim, [0, 0])
            count[0], count[1] = count[0] + checks, count[1] + wrong
        self.failures += found.failures


class Dealer:
    """Which kind comes next: in the room with the least time the kind with the least time."""

    def __init__(self, rooms: dict[str, list[str]], seed: int) -> None:
        self.rooms, self.seed, self.block = rooms, seed, 0
        self.spent = {title: 0.0 for titles in rooms.values() for title in titles}

    def next(self) -> tuple[str, int, int]:
        """Title, seed and block; a slice on its way counts at once."""
        titles = min(self.rooms.values(), key=lambda each: sum(map(self.spent.__getitem__, each)))
        title = min(titles, key=self.spent.__getitem__)
        self.spent[title] += SLICE
        self.block += 1
        return title, self.seed, self.block

    def book(self, found: Slice) -> None:
        """What it really took."""
        self.spent[found.title] += found.tally.seconds - SLICE


def ready() -> None:
    """A worker: interrupts are for the one who deals."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def work(title: str, seed: int, block: int) -> Slice:
    """One slice, in a worker."""
    from benchmarks.soundness.every import KINDS

    return run(KINDS[title], seed, block, SLICE)


def campaign(
    rooms: dict[str, list[str]], seed: int, seconds: float, workers: int, checks: int | None, progress: Progress
) -> Outcome:
    """Deal until the time is over or enough was checked; what is still on its way then is cut off."""
    begin, dealer = time.monotonic(), Dealer(rooms, seed)
    outcome = Outcome({title: Tally() for title in dealer.spent})
    finished: queue.SimpleQueue[Any] = queue.SimpleQueue()
    out = 0
    with multiprocessing.get_context("spawn").Pool(workers, ready, maxtasksperchild=150) as pool:

        def deal() -> None:
            pool.apply_async(work, dealer.next(), callback=finished.put, error_callback=finished.put)

        def collect(wait: float) -> bool:
            with contextlib.suppress(queue.Empty):
                answer = finished.get(timeout=wait)
                if isinstance(answer, BaseException):
                    raise answer
                outcome.book(answer)
                dealer.book(answer)
                return True
            return False

        for _ in range(workers + 1):
            deal()
            out += 1
        while (time.monotonic() - begin) < seconds and (checks is None or outcome.checks < checks):
            if collect(0.5):
                deal()
            progress(time.monotonic() - begin, outcome)
        end = time.monotonic() + GRACE
        while out and time.monotonic() < end:
            out -= collect(0.2)
        outcome.cut = max(0, out - 1)  # one slice waits in the queue and has not begun
        outcome.seconds = time.monotonic() - begin
    return outcome
