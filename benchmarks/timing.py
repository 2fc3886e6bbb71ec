"""Medians of interleaved calls in one process.

Times are CPU time of this process on one thread: other jobs on the machine disturb it least, and on an idle machine it
equals the time on the wall. Peers take turns with ours, so that a slow minute hits both.
"""

import contextlib
import dataclasses
import io
import statistics
import time
import tracemalloc
import warnings
from collections.abc import Callable, Mapping
from typing import Any

from benchmarks.beside.limits import TooSlow, limited

PATIENCE = 12.0  # seconds that one call may take over all its repeats; what takes longer runs once
SHORT, MOST = 0.01, 20  # calls under this many seconds are timed in batches of about that length, of so many at most


@dataclasses.dataclass(frozen=True)
class Timing:
    """What a call returned and how long it took; `refusal` is the message of the exception it raised instead."""

    seconds: float
    value: Any
    repeats: int
    refusal: str = ""

    @property
    def milliseconds(self) -> float:
        return 1e3 * self.seconds


def interleaved(
    calls: Mapping[str, Callable[[], Any]], repeats: int, patience: float = PATIENCE, limit: float | None = None
) -> dict[str, Timing]:
    """Each call once to warm up, then all in turn; a call that takes seconds gets fewer turns.

    With a `limit`, a first call that takes more seconds of CPU, or 4 GB more, is stopped and counts as a refusal, and
    so does any exception; without one only the errors that a method is known to refuse with do.
    """
    first = {name: _once(call, limit) for name, call in calls.items()}
    turns = {
        name: 0 if timing.refusal else min(repeats, int(patience / timing.seconds)) for name, timing in first.items()
    }
    batches = {name: max(1, min(MOST, int(SHORT / timing.seconds))) for name, timing in first.items()}
    seconds: dict[str, list[float]] = {name: [] for name in calls}
    for turn in range(repeats):
        for name, call in calls.items():
            if turn < turns[name]:
                seconds[name].append(_once(call, None, batches[name]).seconds)
    return {
        name: dataclasses.replace(first[name], seconds=statistics.median(taken), repeats=len(taken))
        if (taken := seconds[name])
        else first[name]
        for name in calls
    }


def _once(call: Callable[[], Any], limit: float | None, batch: int = 1) -> Timing:
    """One call, or the mean of a batch."""
    bounds = limited(limit) if limit else contextlib.nullcontext()
    refused = Exception if limit else (ArithmeticError, ValueError, RuntimeError)
    with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):  # some peers print while they search
        warnings.simplefilter("ignore")  # peers warn about overflow on their way to infinity
        begin = time.process_time()
        try:
            with bounds:
                for _ in range(batch - 1):
                    call()
                value, refusal = call(), ""
        except TooSlow:
            value, refusal = None, f"more than {limit:g} s"
        except MemoryError:
            value, refusal = None, "more than 4 GB"
        except refused as error:
            value, refusal = None, f"{type(error).__name__}: {' '.join(str(error).split())[:45]}"
        return Timing(max((time.process_time() - begin) / batch, 1e-7), value, 1, refusal)


def peak_megabytes(call: Callable[[], Any]) -> float:
    """Most memory that Python and numpy held at once during the call, above what they held before."""
    call()  # imports and caches of numpy are not the query's
    tracemalloc.start()
    try:
        call()
        return tracemalloc.get_traced_memory()[1] / 1e6
    finally:
        tracemalloc.stop()
