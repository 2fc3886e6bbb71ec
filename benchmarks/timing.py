"""Medians of interleaved calls in one process.

Times are CPU time of this process on one thread: other jobs on the machine disturb it least, and on an idle machine it
equals the time on the wall. Peers take turns with ours, so that a slow minute hits both.
"""

import contextlib
import dataclasses
import gc
import io
import statistics
import time
import tracemalloc
import warnings
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from benchmarks.beside.limits import GIGABYTES, TooSlow, limited

PATIENCE = 12.0  # seconds that one call may take over all its repeats; what takes longer runs once
SHORT, MOST = 0.01, 20  # calls under this many seconds are timed in batches of about that length, of so many at most
LOADING = 0.5  # seconds of a first call, up to which a second one says how long a batch shall be


@dataclasses.dataclass(frozen=True)
class Timing:
    """What a call returned and how long it took; `refusal` is the message of the exception it raised instead.

    `repeats`: timed calls after the first; without any, the time is that of the first, in which caches were cold.
    """

    seconds: float
    value: Any
    repeats: int = 0
    refusal: str = ""

    @property
    def milliseconds(self) -> float:
        return 1e3 * self.seconds

    @property
    def n(self) -> str:
        return str(self.repeats or "1 (first)")


def interleaved(
    calls: Mapping[str, Callable[[], Any]], repeats: int, patience: float = PATIENCE, limit: float | None = None
) -> dict[str, Timing]:
    """Each call once to warm up, then all in turn; a call that takes seconds gets fewer turns.

    With a `limit`, a call that takes more seconds of CPU, or 4 GB more of address space, is stopped and counts as a
    refusal, and so does any exception; without one only the errors that a method is known to refuse with do. A method
    that refuses at any turn has refused.
    """
    with undisturbed():
        first = {name: _once(call, limit) for name, call in calls.items()}
        turns = {name: min(repeats, int(patience / timing.seconds)) for name, timing in first.items()}
        warm = {  # what the first call loads is not what a call takes
            name: _once(calls[name], limit) if turns[name] and timing.seconds < LOADING else timing
            for name, timing in first.items()
        }
        batches = {name: max(1, min(MOST, int(SHORT / timing.seconds))) for name, timing in warm.items()}
        seconds: dict[str, list[float]] = {name: [] for name in calls}
        for turn in range(repeats):
            for name, call in calls.items():
                if turn < turns[name] and not first[name].refusal:
                    again = _once(call, limit, batches[name])
                    seconds[name].append(again.seconds)
                    if again.refusal:
                        first[name] = again
    return {
        name: dataclasses.replace(timing, seconds=statistics.median(seconds[name]), repeats=len(seconds[name]))
        if seconds[name] and not timing.refusal
        else timing
        for name, timing in first.items()
    }


@contextlib.contextmanager
def undisturbed() -> Iterator[None]:
    """What is in memory now is not searched for garbage again and again during the calls."""
    gc.collect()
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()


def _once(call: Callable[[], Any], limit: float | None, batch: int = 1) -> Timing:
    """One call, or the mean of a batch, which gets the limit as often."""
    bounds = limited(limit * batch) if limit else contextlib.nullcontext()
    refused = Exception if limit else (ArithmeticError, ValueError, RuntimeError)
    begin = time.process_time()
    with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):  # some peers print while they search
        warnings.simplefilter("ignore")  # peers warn about overflow on their way to infinity
        try:
            with bounds:
                begin = time.process_time()  # setting limits is not part of the call
                for _ in range(batch - 1):
                    call()
                value, refusal = call(), ""
                taken = time.process_time() - begin
        except TooSlow:
            value, refusal, taken = None, f"more than {limit:g} s", time.process_time() - begin
        except MemoryError:
            value, refusal, taken = None, f"more than {GIGABYTES:g} GB", time.process_time() - begin
        except refused as error:
            words = f"{type(error).__name__}: {' '.join(str(error).split())[:45]}"
            value, refusal, taken = None, words, time.process_time() - begin
    return Timing(max(taken / batch, 1e-7), value, 0, refusal)


def peak_megabytes(call: Callable[[], Any], warm: bool = False) -> float:
    """Most memory that Python and numpy held at once during the call, above what they held before.

    Unless it is `warm` already, it is called once before: imports and caches of numpy are not the query's.
    """
    if not warm:
        call()
    tracemalloc.start()
    try:
        call()
        return tracemalloc.get_traced_memory()[1] / 1e6
    finally:
        tracemalloc.stop()


def quiet(call: Callable[[], Any]) -> Callable[[], Any]:
    """The same call, without what it prints and warns."""
    return lambda: _once(call, None)
