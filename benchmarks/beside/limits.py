"""A call that may not take more than so much time and memory: one peer must not stop the run.

Both limits act inside this process, so that everybody is timed in one. The clock is that of the CPU, with the wall for
calls that wait; it is looked at between two steps of Python, so that a long step of compiled code ends late. The limit
of memory is that of the address space: an allocation above it fails with a MemoryError instead of taking the machine
down.
"""

from __future__ import annotations

import contextlib
import resource
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

GIGABYTE = 1 << 30
GIGABYTES = 4.0  # of address space, which is more than what is in use
WALL = 4.0  # seconds on the wall for each second of CPU time, on a machine that others use too
LOOK = 0.05  # seconds between two looks at the clock
STATUS = Path("/proc/self/status")


class TooSlow(BaseException):
    """The alarm; no library catches it by catching Exception."""


@contextlib.contextmanager
def limited(seconds: float, gigabytes: float = GIGABYTES) -> Iterator[None]:
    """Raises TooSlow or MemoryError inside the block."""
    cpu, wall = time.process_time(), time.monotonic()

    def look(*_: Any) -> None:
        if time.process_time() - cpu > seconds or time.monotonic() - wall > WALL * seconds:
            raise TooSlow

    before = signal.signal(signal.SIGALRM, look)
    # a timer on the wall that looks at the CPU clock: a timer of CPU time would make that clock coarse
    signal.setitimer(signal.ITIMER_REAL, LOOK, LOOK)
    try:
        with _memory(gigabytes):
            yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@contextlib.contextmanager
def _memory(gigabytes: float) -> Iterator[None]:
    if sys.platform != "linux":
        yield
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    wanted = address_space() + int(gigabytes * GIGABYTE)
    resource.setrlimit(resource.RLIMIT_AS, (wanted if hard == resource.RLIM_INFINITY else min(wanted, hard), hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


def address_space() -> int:
    """Bytes that this process has mapped now."""
    line = next(line for line in STATUS.read_text(encoding="ascii").splitlines() if line.startswith("VmSize"))
    return 1024 * int(line.split()[1])
