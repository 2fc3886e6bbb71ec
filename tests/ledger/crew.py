"""Processes for the tests: warm, started together, each with its own engine.

They are forked from a server that has imported everything and has opened nothing, so that a process costs milliseconds,
and no lock, thread or connection of the test goes with it.
"""

from __future__ import annotations

import multiprocessing
import os
import traceback
from collections.abc import Callable, Sequence
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from multiprocessing.synchronize import Barrier
from typing import Any

PRELOADED = [
    "numpy",
    "quiltwork.ledger.ledger",
    "sqlite3",
    "sqlalchemy.dialects.sqlite.pysqlite",
    "sqlalchemy.dialects.postgresql.psycopg",
    "alembic.command",
    "cryptography.hazmat.primitives.asymmetric.ed25519",
    "pytest",
]

_processes = multiprocessing.get_context("forkserver" if os.name == "posix" else "spawn")
if os.name == "posix":
    _processes.set_forkserver_preload(PRELOADED)


def launched(task: Callable[..., object], *given: Any) -> BaseProcess:
    """A process that runs the task, a plain function of a module."""
    process = _processes.Process(target=task, args=given, daemon=True)
    process.start()
    return process


def together(task: Callable[..., Any], given: Sequence[tuple[Any, ...]], patience: float = 300.0) -> list[Any]:
    """What task(ready, *arguments) returns in a process for each arguments; ready() waits for all the others."""
    barrier = _processes.Barrier(len(given))
    pipes = [_processes.Pipe(duplex=False) for _ in given]
    crew = [
        launched(_run, task, barrier, sender, arguments) for (_, sender), arguments in zip(pipes, given, strict=True)
    ]
    for _, sender in pipes:
        sender.close()
    try:
        answers = [_received(receiver, patience) for receiver, _ in pipes]
    finally:
        for process in crew:
            process.join(5.0)
            process.kill()
            process.join()
            process.close()
        for receiver, _ in pipes:
            receiver.close()
    problems = [problem for _, problem in answers if problem is not None]
    if problems:  # whoever waited for the one that failed only says that its barrier broke
        raise RuntimeError("a process failed:\n" + min(problems, key=lambda words: "BrokenBarrierError" in words))
    return [value for value, _ in answers]


def _run(task: Callable[..., Any], barrier: Barrier, sender: Connection, given: tuple[Any, ...]) -> None:
    try:
        sender.send((task(barrier.wait, *given), None))
    except BaseException:
        barrier.abort()
        sender.send((None, traceback.format_exc()))


def _received(receiver: Connection, patience: float) -> tuple[Any, str | None]:
    if not receiver.poll(patience):
        raise TimeoutError(f"a process did not answer within {patience:.0f} s")
    value, problem = receiver.recv()
    return value, problem
