"""Processes that do one task at a time: who dies or hangs is known by the task, which is handed back as lost."""

from __future__ import annotations

import contextlib
import multiprocessing
import signal
import time
from collections.abc import Callable
from multiprocessing.connection import Connection, wait
from typing import Any

import attrs

Task = tuple[Any, ...]
LIVES = 150  # tasks of one process: what leaks ends with it
READY = "ready"  # the first word of a process, once it has imported what it needs


@attrs.frozen
class Lost:
    """A task without an answer, and why."""

    why: str
    seconds: float


@attrs.define
class Worker:
    """A process, its pipe, and the task on its way."""

    process: Any
    pipe: Connection
    task: Task | None = None
    since: float = 0.0
    done: int = 0


def serve(pipe: Connection, job: Callable[..., Any]) -> None:
    """The life of a process; interrupts are for the one who deals."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    pipe.send(READY)
    while (task := pipe.recv()) is not None:
        try:
            answer = job(*task)
        except Exception as error:
            answer = Lost(f"{type(error).__name__}: {error}", 0.0)
        pipe.send(answer)


class Workers:
    """A few processes; a task is given to a free one, and what comes back is paired with it."""

    def __init__(self, count: int, job: Callable[..., Any], patience: float) -> None:
        self.job, self.patience = job, patience
        self.all = [self._born() for _ in range(count)]

    def __enter__(self) -> Workers:
        return self

    def __exit__(self, *_: object) -> None:
        for worker in self.all:
            worker.process.kill()
        for worker in self.all:
            worker.process.join()

    @property
    def free(self) -> int:
        """Processes without a task."""
        return sum(worker.task is None for worker in self.all)

    @property
    def busy(self) -> int:
        """Processes with one."""
        return len(self.all) - self.free

    def give(self, task: Task) -> None:
        """To a free process."""
        worker = next(each for each in self.all if each.task is None)
        worker.task, worker.since = task, time.monotonic()
        with contextlib.suppress(OSError):  # a process that is no more: the end of its pipe says so
            worker.pipe.send(task)

    def answers(self, seconds: float) -> list[tuple[Task, Any]]:
        """What came back within this time, as soon as there is something; losses among it."""
        busy = [worker for worker in self.all if worker.task is not None]
        ready = wait([worker.pipe for worker in busy], seconds)
        now = time.monotonic()
        found = []
        for worker in busy:
            if worker.pipe in ready:
                task, answer = worker.task or (), self._read(worker, now)
                found += [] if answer == READY else [(task, answer)]
            elif now - worker.since > self.patience:
                found.append((worker.task or (), Lost(f"no end within {self.patience:g} s", now - worker.since)))
                self._replace(worker)
        return found

    def _read(self, worker: Worker, now: float) -> Any:
        try:
            answer = worker.pipe.recv()
        except (EOFError, OSError):
            worker.process.join()
            code = worker.process.exitcode
            self._replace(worker)
            name = f"signal {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"
            return Lost(f"the process ended with {name}", now - worker.since)
        if answer == READY:
            worker.since = now
            return answer
        worker.task, worker.done = None, worker.done + 1
        if worker.done >= LIVES:
            self._replace(worker)
        return answer

    def _born(self) -> Worker:
        context = multiprocessing.get_context("spawn")
        here, there = context.Pipe()
        process = context.Process(target=serve, args=(there, self.job), daemon=True)
        process.start()
        there.close()  # so that the end of the process is the end of the pipe
        return Worker(process, here)

    def _replace(self, worker: Worker) -> None:
        worker.process.kill()
        worker.process.join()
        worker.pipe.close()
        self.all[self.all.index(worker)] = self._born()
