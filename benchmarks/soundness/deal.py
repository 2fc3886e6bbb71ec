"""Which kind comes next: each once, in random order, then the one with the least time for its weight."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import attrs
import numpy as np

from benchmarks.soundness.turns import PATIENCE, SMALLER, Slice, Tally, run
from benchmarks.soundness.workers import Lost, Workers

FIRST = 0.4  # seconds of a kind in the first pass, in which each has at least one case
SLICE = 1.5  # seconds that a worker spends on one kind before it hands back
GRACE = 4.0  # seconds that are waited for slices at the end
STUCK = 3 * (PATIENCE + 2 * SMALLER)  # seconds after which a worker is given up: alarms do not interrupt foreign code
LIGHT = ("spec", "report", "data", "mechanisms: rounding")  # rooms and kinds that publish no bound of their own
Progress = Callable[[float, "Outcome"], None]


def weight(title: str) -> float:
    """A quarter of the time for kinds that only write, print, count or round."""
    return 0.25 if title in LIGHT or title.partition(":")[0] in LIGHT else 1.0


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

    @property
    def all_asked(self) -> bool:
        """Whether each kind had a case."""
        return all(tally.cases for tally in self.kinds.values())

    @property
    def silent(self) -> list[str]:
        """Kinds without a single check."""
        return [title for title, tally in self.kinds.items() if not tally.checks]

    @property
    def late(self) -> list[str]:
        """Kinds of which every case was cut off."""
        return [title for title, tally in self.kinds.items() if tally.cases and tally.late == tally.cases]

    def book(self, found: Slice) -> None:
        """Add what a worker found."""
        self.kinds[found.title].merge(found.tally)
        for claim, (checks, wrong) in found.claims.items():
            count = self.claims.setdefault(claim, [0, 0])
            count[0], count[1] = count[0] + checks, count[1] + wrong
        self.failures += found.failures


class Dealer:
    """Kinds take turns by the time that they have used, over their weight; a permutation of the seed breaks ties."""

    def __init__(self, titles: list[str], seed: int) -> None:
        self.seed, self.block = seed, 0
        order = np.random.default_rng([seed, 1]).permutation(len(titles))
        self.spent = {titles[i]: 0.0 for i in order}
        self.due = list(self.spent)[::-1]  # of the first pass

    def next(self) -> tuple[str, int, int, float]:
        """Title, seed, block and seconds; a slice on its way counts at once."""
        seconds = FIRST if self.due else SLICE
        title = self.due.pop() if self.due else min(self.spent, key=lambda each: self.spent[each] / weight(each))
        self.spent[title] += seconds
        self.block += 1
        return title, self.seed, self.block, seconds

    def book(self, found: Slice, promised: float) -> None:
        """What it really took."""
        self.spent[found.title] += found.tally.seconds - promised


def work(title: str, seed: int, block: int, seconds: float) -> Slice:
    """One slice, in a worker."""
    from benchmarks.soundness.every import KINDS

    return run(KINDS[title], seed, block, seconds)


def lost(title: str, seed: int, block: int, found: Lost) -> Slice:
    """A slice without an answer is an error, with what is needed to run it again."""
    room, _, kind = title.partition(": ")
    origin = {"room": room, "kind": kind, "seed": seed, "block": block, "turn": 0, "lost": True}
    words = {"claim": "an answer", "error": "Lost", "note": f"{title}, block {block}: {found.why}", "size": 0}
    return Slice(title, Tally(cases=1, errors=1, seconds=found.seconds), {}, [{**origin, **words}])


def campaign(
    titles: list[str], seed: int, seconds: float, workers: int, progress: Progress,
    job: Callable[[str, int, int, float], Slice] = work, stuck: float = STUCK,
) -> Outcome:  # fmt: skip
    """Deal until the time is over; what is still on its way then is cut off."""
    begin, dealer = time.monotonic(), Dealer(titles, seed)
    outcome = Outcome({title: Tally() for title in titles})
    with Workers(workers, job, stuck) as crew:

        def collect(wait: float) -> None:
            for (title, _, block, promised), answer in crew.answers(wait):
                found = lost(title, seed, block, answer) if isinstance(answer, Lost) else answer
                outcome.book(found)
                dealer.book(found, promised)

        while time.monotonic() - begin < seconds:
            while crew.free:
                crew.give(dealer.next())
            collect(0.5)
            progress(time.monotonic() - begin, outcome)
        end = time.monotonic() + GRACE
        while crew.busy and time.monotonic() < end:
            collect(0.2)
        outcome.cut, outcome.seconds = crew.busy, time.monotonic() - begin
    return outcome
