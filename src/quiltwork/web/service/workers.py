"""Work that takes long runs in processes of its own, with a limit on time and memory.

A plan that somebody pasted may be hostile or merely huge. It is accounted in another process, which is ended when the
time is over; the service goes on answering. Processes are kept between questions: a small answer costs no start.

This file is both sides: the service, and the process that it starts, which reads questions from its standard input and
writes answers to its standard output.
"""

from __future__ import annotations

import math
import os
import pickle
import signal
import struct
import subprocess
import sys
import threading
import traceback
import weakref
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib import import_module
from typing import IO, Any

from quiltwork.errors import QuiltworkError, Unsupported
from quiltwork.web.service.limits import Turns
from quiltwork.web.service.problems import Busy, Failed, TooLong

LENGTH = struct.Struct("<Q")
PATIENCE = 10.0  # seconds that a question waits for a free process
MOST_WAITING = 4
IN_USE = "every process that computes is in use: ask again in a moment"
MOST_OF_ONE = 2
GRACE = 5.0


class Workers:
    """At most `count` processes; `run` waits for one, asks it, and gives its answer."""

    def __init__(self, count: int, seconds: float, memory: int) -> None:
        self._seconds, self._memory = seconds, memory
        self._free = Turns(count, PATIENCE, IN_USE)
        self._places = Turns(count + MOST_WAITING, 0.0, IN_USE)  # each who waits keeps a thread that others need
        self._lock = threading.Lock()
        self._idle: list[_Process] = []
        self._every: set[_Process] = set()
        self._asking: Counter[str] = Counter()
        self._closed = False
        weakref.finalize(self, _end, self._every)  # of a service that was never shut down in order

    def run(self, work: str, *arguments: Any, seconds: float | None = None, who: str = "") -> Any:
        """The answer of `package.module:function` to these arguments; TooLong when the time is over.

        `who` asks: nobody has more than two questions here at a time, so that there is room for others.
        """
        limit = self._seconds if seconds is None else seconds
        with self._turn(who), self._places.taken(), self._free.taken(), self._process() as process:
            return process.ask(work, arguments, limit)

    @property
    def busy(self) -> int:
        """Questions that are being answered, or wait for a process."""
        with self._lock:
            return self._asking.total()

    @contextmanager
    def _turn(self, who: str) -> Iterator[None]:
        with self._lock:
            if who and self._asking[who] >= MOST_OF_ONE:
                raise Busy("other questions of yours are being answered: ask again in a moment")
            self._asking[who] += 1
        try:
            yield
        finally:
            with self._lock:
                self._asking[who] -= 1
                if not self._asking[who]:
                    del self._asking[who]

    @contextmanager
    def _process(self) -> Iterator[_Process]:
        """An idle process, or a new one."""
        with self._lock:
            process = self._idle.pop() if self._idle else None
        if process is None or not process.alive:
            process = self._started()
        try:
            yield process
        finally:
            self._put_back(process)

    def _started(self) -> _Process:
        with self._lock:
            if self._closed:
                raise Busy("the service is ending")
            process = _Process(self._memory)
            self._every.add(process)
        return process

    def _put_back(self, process: _Process) -> None:
        with self._lock:
            if process.alive and not self._closed:
                self._idle.append(process)
                return
            self._every.discard(process)
        process.end()

    def warm(self) -> None:
        """Start one process and load what most answers need."""
        with suppress(QuiltworkError):
            self.run("quiltwork.web.service.workers:ready")

    def close(self) -> None:
        """End every process, also those in use: whoever waits for an answer is told that there is none."""
        with self._lock:
            self._closed = True
            self._idle = []
        _end(self._every)


class _Process:
    """One process that answers questions, one after the other."""

    def __init__(self, memory: int) -> None:
        command = [sys.executable, "-m", "quiltwork.web.service.workers", str(memory)]
        # in a group of its own: Ctrl+C on the terminal is for the service, which ends its processes in order
        pipes: Any = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        # it reads what strangers wrote: where the ledger is, and the key that signs, are none of its business
        known = {name: value for name, value in os.environ.items() if not name.startswith("QUILTWORK_")}
        self._child = subprocess.Popen(command, start_new_session=True, env=known, **pipes)
        self._usable = True

    @property
    def alive(self) -> bool:
        return self._usable and self._child.poll() is None

    def ask(self, work: str, arguments: tuple[Any, ...], seconds: float) -> Any:
        """The answer; a process that gave none is not asked again."""
        expired = threading.Event()

        def stop() -> None:
            expired.set()
            self._child.kill()

        timer = threading.Timer(seconds, stop)
        timer.daemon = True
        timer.start()
        try:
            send(self._child.stdin, (work, arguments, seconds))
            done, value = receive(self._child.stdout)
        except (OSError, EOFError, ValueError):  # ValueError: the service is ending, and closed the pipe meanwhile
            self._usable = False
            if expired.is_set():
                raise TooLong(seconds) from None
            raise TooLong(None) from None  # it ran out of memory
        except BaseException:
            self._usable = False
            raise
        finally:
            timer.cancel()
        if done:
            return value
        raise value

    def end(self) -> None:
        self._usable = False
        with suppress(OSError):
            self._child.kill()
        for stream in (self._child.stdin, self._child.stdout):
            with suppress(OSError):
                stream.close()  # type: ignore[union-attr]
        with suppress(subprocess.TimeoutExpired):
            self._child.wait(GRACE)


def _end(processes: set[_Process]) -> None:
    while processes:
        processes.pop().end()


def send(stream: IO[bytes] | None, value: Any) -> None:
    """One value, with its length before it."""
    raw = pickle.dumps(value)
    if stream is None:
        raise EOFError
    stream.write(LENGTH.pack(len(raw)) + raw)
    stream.flush()


def receive(stream: IO[bytes] | None) -> Any:
    """The next value; EOFError when there is none. Both ends are our own processes, so that unpickling is safe."""
    head = b"" if stream is None else stream.read(LENGTH.size)
    if stream is None or len(head) < LENGTH.size:
        raise EOFError
    size = LENGTH.unpack(head)[0]
    raw = stream.read(size)
    if len(raw) < size:
        raise EOFError
    return pickle.loads(raw)


ROOM = "quiltwork.web."
ALARM = 5  # seconds


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
            _alarm(math.ceil(seconds) + ALARM)  # the service ends what takes too long; this is for when it cannot
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
