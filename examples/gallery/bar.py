"""How the run goes: one line that moves on a terminal, one line for each study elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TextIO

import attrs

from examples.gallery.item import Effort, Study
from examples.gallery.keep import Outcome
from examples.gallery.run import Watcher, expected

TRUSTED = 0.05  # the share of the work after which its own pace says how long the rest takes


@attrs.define
class Pace:
    """How much is done, by the seconds that were expected, and how long the rest takes."""

    studies: Sequence[Study]
    effort: Effort
    workers: int
    clock: Callable[[], float] = time.monotonic
    done: int = 0  # items
    failed: int = 0
    fresh: float = 0.0  # expected seconds of what this run has measured
    taken: float = 0.0  # of what earlier runs have
    running: dict[str, float] = attrs.field(factory=dict)
    start: float = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        self.start = self.clock()

    @property
    def items(self) -> int:
        return sum(len(study.items) for study in self.studies)

    @property
    def total(self) -> float:
        return sum(expected(study, self.effort) for study in self.studies) or 1.0

    def begun(self, study: Study) -> None:
        self.running[study.name] = self.clock()

    def ended(self, outcome: Outcome) -> None:
        self.running.pop(outcome.study.name, None)
        self.done += len(outcome.study.items)
        self.failed += len(outcome.study.items) if outcome.problem else 0
        if outcome.kept:
            self.taken += expected(outcome.study, self.effort)
        else:
            self.fresh += expected(outcome.study, self.effort)

    def share(self) -> float:
        """Of all work; a study that runs counts for the time it has had, never for more than is expected of it."""
        return min((self.taken + self.fresh + self._begun()) / self.total, 1.0)

    def left(self) -> float:
        """Seconds until the end, by the pace of this run once there is one."""
        fresh = self.fresh + self._begun()
        rest = max(self.total - self.taken - fresh, 0.0)
        if fresh > TRUSTED * (self.total - self.taken):
            return rest * (self.clock() - self.start) / fresh
        return rest / max(self.workers, 1)

    def _begun(self) -> float:
        now = self.clock()
        return sum(
            min(now - self.running[study.name], 0.95 * expected(study, self.effort))
            for study in self.studies
            if study.name in self.running
        )


def span(seconds: float) -> str:
    """A length of time as people say it."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"


def short(study: Study) -> str:
    """A study in a few words: room, module, function."""
    return " ".join(study.name.split(".")[2:]).replace("_", " ")


@attrs.define
class Lines:
    """One plain line for each study that ends."""

    pace: Pace
    out: TextIO

    def begun(self, study: Study) -> None:
        self.pace.begun(study)

    def ended(self, outcome: Outcome) -> None:
        self.pace.ended(outcome)
        how = "taken from an earlier run" if outcome.kept else f"{outcome.seconds:.1f} s"
        how = f"FAILED: {outcome.problem}" if outcome.problem else how
        print(f"{self.pace.done}/{self.pace.items} {short(outcome.study)}: {how}", file=self.out, flush=True)

    def tick(self) -> None:
        """Nothing moves."""


@attrs.define
class Moving:
    """The line on a terminal."""

    pace: Pace
    shown: Any
    task: Any

    def begun(self, study: Study) -> None:
        self.pace.begun(study)
        self.tick()

    def ended(self, outcome: Outcome) -> None:
        self.pace.ended(outcome)
        if outcome.problem:
            from rich.markup import escape

            self.shown.console.print(f"[red]failed[/] {escape(short(outcome.study))}: {escape(outcome.problem)}")
        self.tick()

    def tick(self) -> None:
        pace = self.pace
        names = {study.name: short(study) for study in pace.studies}
        self.shown.update(
            self.task,
            completed=pace.share(),
            items=f"{pace.done}/{pace.items} items",
            left=f"{span(pace.left())} left",
            doing=", ".join(names[name] for name in pace.running),
        )


@contextmanager
def watched(studies: Sequence[Study], effort: Effort, workers: int) -> Iterator[Watcher]:
    """Who shows the run to the person that waits for it."""
    pace = Pace(studies, effort, workers)
    if not sys.stderr.isatty():
        yield Lines(pace, sys.stderr)
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn
    from rich.table import Column

    columns = (
        BarColumn(bar_width=20, table_column=Column(no_wrap=True)),
        TaskProgressColumn(table_column=Column(no_wrap=True)),
        TextColumn("{task.fields[items]}", table_column=Column(no_wrap=True)),
        TextColumn("{task.fields[left]}", table_column=Column(no_wrap=True)),
        TextColumn(
            "[dim]{task.fields[doing]}", markup=True, table_column=Column(no_wrap=True, overflow="ellipsis", ratio=1)
        ),
    )
    with Progress(*columns, console=Console(file=sys.stderr), transient=True, expand=True) as shown:
        task = shown.add_task("", total=1.0, items="", left="", doing="")
        yield Moving(pace, shown, task)
