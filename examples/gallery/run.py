"""Studies dealt to processes, the longest first; what is finished is kept at once."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import time
from collections.abc import Iterator, Sequence
from multiprocessing.connection import Connection, wait
from typing import Any, Protocol

import attrs

from examples.gallery.item import Effort, Study
from examples.gallery.keep import Outcome, Shelf, read_findings
from examples.gallery.sources import fingerprint
from examples.gallery.worker import work

# Workers share the cores already; threads of their own would only wait for each other.
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")
ALONE = {**dict.fromkeys(THREADS, "1"), "MPLBACKEND": "Agg"}
TICK = 0.5  # seconds between two looks at the clock
PATIENCE = 5.0  # seconds that a process has to end


Answer = tuple[Any, str, str, float]  # findings, the problem, its story, seconds


class Watcher(Protocol):
    """Who is told how the run goes."""

    def begun(self, study: Study) -> None: ...

    def ended(self, outcome: Outcome) -> None: ...

    def tick(self) -> None: ...


def expected(study: Study, effort: Effort) -> float:
    """Seconds that a study takes on one core."""
    return float(effort.pick(*study.seconds))


def run(
    studies: Sequence[Study], effort: Effort, shelf: Shelf, workers: int, watcher: Watcher, again: bool = False
) -> list[Outcome]:
    """Every study measured, or taken from the shelf; in the order given."""
    prints = {study.name: fingerprint(study, effort) for study in studies}
    done: dict[str, Outcome] = {}
    for study in studies:
        earlier = None if again else shelf.read(study, prints[study.name])
        if earlier is not None:
            done[study.name] = earlier
            watcher.ended(earlier)
    rest = sorted(
        (study for study in studies if study.name not in done), key=lambda study: expected(study, effort), reverse=True
    )
    with _hired(min(workers, len(rest)), effort) as crew:
        for study, answer in _dealt(rest, crew, watcher):
            done[study.name] = _settled(study, answer, shelf, prints[study.name])
            watcher.ended(done[study.name])
    return [done[study.name] for study in studies]


def _settled(study: Study, answer: Answer, shelf: Shelf, mark: str) -> Outcome:
    findings, problem, story, seconds = answer
    if problem:
        shelf.note(study, story)
        return Outcome(study, {}, problem, seconds)
    shelf.write(study, mark, findings, seconds)
    return Outcome(study, read_findings(study, findings), seconds=seconds)


@attrs.define
class _Worker:
    """A process, the pipe to it, and what it is doing."""

    process: Any
    pipe: Connection
    study: Study | None = None
    since: float = 0.0
    gone: bool = False

    def give(self, study: Study) -> None:
        self.study, self.since = study, time.perf_counter()
        with contextlib.suppress(OSError):  # of a process that is gone: its answer will say so
            self.pipe.send((study.measure.__module__, study.measure.__qualname__, {item.key for item in study.items}))

    def answer(self) -> Answer:
        """What it found; if the process is gone, that is the problem."""
        try:
            found: Answer = self.pipe.recv()
        except (EOFError, OSError):
            self.gone = True
            self.process.join(PATIENCE)
            problem = f"its process ended with code {self.process.exitcode}"
            return {}, problem, f"{problem}\n", time.perf_counter() - self.since
        return found


@attrs.define
class _Crew:
    effort: Effort
    workers: list[_Worker] = attrs.field(factory=list)

    def hire(self) -> _Worker:
        spawn = multiprocessing.get_context("spawn")
        ours, theirs = spawn.Pipe()
        process = spawn.Process(target=work, args=(theirs, self.effort), daemon=True)
        with _deaf():
            process.start()
        theirs.close()  # so that the end of the process is seen
        worker = _Worker(process, ours)
        self.workers.append(worker)
        return worker

    def replaced(self, worker: _Worker, wanted: bool) -> _Worker | None:
        """Another process in the place of one that is gone, if there is work for it."""
        self.workers.remove(worker)
        worker.pipe.close()
        return self.hire() if wanted else None


@contextlib.contextmanager
def _deaf() -> Iterator[None]:
    """Processes that are started here never hear Ctrl+C: the first process ends them."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextlib.contextmanager
def _hired(count: int, effort: Effort) -> Iterator[_Crew]:
    """Processes with one thread each, all ended at the end, however it comes."""
    crew = _Crew(effort)
    before = {name: os.environ.get(name) for name in ALONE}
    os.environ.update(ALONE)
    try:
        for _ in range(count):
            crew.hire()
        yield crew
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
        for worker in crew.workers:
            worker.process.terminate()
        for worker in crew.workers:
            worker.process.join(PATIENCE)
            if worker.process.is_alive():
                worker.process.kill()
                worker.process.join()
            worker.pipe.close()


def _dealt(rest: Sequence[Study], crew: _Crew, watcher: Watcher) -> Iterator[tuple[Study, Answer]]:
    """Each study with its answer, as they come in."""
    waiting = list(rest)

    def next_for(worker: _Worker) -> None:
        worker.study = None
        if waiting:
            worker.give(waiting[0])
            watcher.begun(waiting.pop(0))

    for worker in list(crew.workers):
        next_for(worker)
    while busy := {worker.pipe: worker for worker in crew.workers if worker.study is not None}:
        ready = wait(list(busy), TICK)
        watcher.tick()
        for pipe in ready:
            worker = busy[pipe]  # type: ignore[index]
            study, answer = worker.study, worker.answer()
            free = crew.replaced(worker, bool(waiting)) if worker.gone else worker
            if free is not None:
                next_for(free)
            if study is not None:
                yield study, answer
