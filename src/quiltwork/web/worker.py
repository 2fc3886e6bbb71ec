"""A process that computes for the service: questions on its standard input, answers on its standard output."""

from __future__ import annotations

import math
import os
import pickle
import signal
import sys
import traceback
from contextlib import suppress
from importlib import import_module
from typing import IO, Any

from quiltwork.errors import QuiltworkError, Unsupported
from quiltwork.web.problems import Failed
from quiltwork.web.workers import receive, send

ROOM = "quiltwork.web."
GRACE = 5


def ready() -> bool:
    """Load what most answers need, before anybody waits for it."""
    import quiltwork.report
    import quiltwork.spec  # noqa: F401

    return True


def answer(work: str, arguments: tuple[Any, ...]) -> tuple[bool, Any]:
    """What the function gives, or what it refuses. Anything else that goes wrong is told by its kind alone."""
    module, _, name = work.partition(":")
    if not module.startswith(ROOM):
        return False, Unsupported(work, "it is not work of this service")
    try:
        return True, getattr(import_module(module), name)(*arguments)
    except QuiltworkError as error:
        return False, error
    except (MemoryError, RecursionError):
        return False, Unsupported("this question", "it needs more memory than one answer may use", "ask for less")
    except Exception:
        traceback.print_exc()  # a mistake of ours: for the log, never for the page
        return False, Failed("an answer could not be computed")


def main() -> None:
    """Answer until the service closes the pipe."""
    questions, answers = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what a library prints must not look like an answer
    _limit(int(sys.argv[1]))
    while True:
        try:
            work, arguments, seconds = receive(questions)
            _alarm(math.ceil(seconds) + GRACE)  # the service ends what takes too long; this is for when it cannot
            _reply(answers, answer(work, arguments))
            _alarm(0)
        except (EOFError, BrokenPipeError):
            os._exit(0)  # the service has ended; what is left in the pipe is for nobody


def _reply(stream: IO[bytes], found: tuple[bool, Any]) -> None:
    """An answer that cannot be sent, such as an error about a function, is a mistake of ours."""
    try:
        send(stream, found)
    except (TypeError, AttributeError, ValueError, pickle.PicklingError):
        traceback.print_exc()
        send(stream, (False, Failed("an answer could not be computed")))


def _alarm(seconds: int) -> None:
    """The process ends after so many seconds, where the system can do that."""
    if hasattr(signal, "alarm"):
        signal.alarm(seconds)


def _limit(memory: int) -> None:
    """A process that asks for more gets MemoryError; not every system can say so."""
    with suppress(ImportError, ValueError, OSError):
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (memory, memory))


if __name__ == "__main__":
    main()
