"""Medians of interleaved calls in one process.

Times are CPU time of this process on one thread: other jobs on the machine disturb it least, and on an idle machine it
equals the time on the wall. Peers take turns with ours, so that a slow minute hits both.
"""

import dataclasses
import statistics
import time
import tracemalloc
import warnings
from collections.abc import Callable, Mapping
from typing import Any

PATIENCE = 12.0  # seconds that one call may take over all its repeats; what takes longer runs once


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


def interleaved(calls: Mapping[str, Callable[[], Any]], repeats: int, patience: float = PATIENCE) -> dict[str, Timing]:
    """Each call once to warm up, then all in turn; a call that takes seconds gets fewer turns."""
    first = {name: _once(call) for name, call in calls.items()}
    turns = {
        name: 0 if timing.refusal else min(repeats, int(patience / timing.seconds)) for name, timing in first.items()
    }
    seconds: dict[str, list[float]] = {name: [] for name in calls}
    for turn in range(repeats):
        for name, call in calls.items():
            if turn < turns[name]:
                seconds[name].append(_once(call).seconds)
    return {
        name: dataclasses.replace(first[name], seconds=statistics.median(taken), repeats=len(taken))
        if (taken := seconds[name])
        else first[name]
        for name in calls
    }


def _once(call: Callable[[], Any]) -> Timing:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # peers warn about overflow on their way to infinity
        begin = time.process_time()
        try:
            value, refusal = call(), ""
        except (ArithmeticError, ValueError, RuntimeError) as error:
            value, refusal = None, f"{type(error).__name__}: {' '.join(str(error).split())[:45]}"
        return Timing(time.process_time() - begin, value, 1, refusal)


def peak_megabytes(call: Callable[[], Any]) -> float:
    """Most memory that Python and numpy held at once during the call, above what they held before."""
    call()  # imports and caches of numpy are not the query's
    tracemalloc.start()
    try:
        call()
        return tracemalloc.get_traced_memory()[1] / 1e6
    finally:
        tracemalloc.stop()
