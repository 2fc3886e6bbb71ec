"""Timing: what a call that fails, late or early, does to the numbers."""

from __future__ import annotations

import contextlib
import gc
import itertools
from collections.abc import Callable, Iterator

import pytest
from benchmarks import timing
from benchmarks.timing import Timing, interleaved


def failing(after: int, error: Exception) -> Callable[[], float]:
    """A call that answers so many times and then raises."""
    calls = itertools.count()

    def call() -> float:
        if next(calls) >= after:
            raise error
        return 1.0

    return call


def slept(seconds: float) -> None:
    begin = timing.time.process_time()
    while timing.time.process_time() - begin < seconds:
        pass


def test_any_error_of_a_peer_is_a_refusal_only_under_a_limit() -> None:
    calls = {"": lambda: {}["gamma"]}
    assert interleaved(calls, 1, limit=5.0)[""].refusal == "KeyError: 'gamma'"
    with pytest.raises(KeyError):
        interleaved(calls, 1)


@pytest.mark.parametrize("error", [ValueError("no"), KeyError("gamma")])
def test_a_refusal_at_a_later_turn_is_a_refusal(error: Exception) -> None:
    found = interleaved({"late": failing(2, error), "good": lambda: 2.0}, 4, limit=5.0)
    assert found["late"].refusal.startswith(type(error).__name__)
    assert found["late"].value is None
    assert (found["good"].value, found["good"].refusal, found["good"].repeats) == (2.0, "", 4)


def test_a_refusal_at_a_later_turn_counts_without_a_limit_too() -> None:
    assert interleaved({"": failing(1, ValueError("no"))}, 3)[""].refusal == "ValueError: no"


def test_the_limit_of_a_batch_is_that_of_its_calls(monkeypatch: pytest.MonkeyPatch) -> None:
    limits: list[float] = []

    @contextlib.contextmanager
    def watched(seconds: float) -> Iterator[None]:
        limits.append(seconds)
        yield

    monkeypatch.setattr(timing, "limited", watched)
    interleaved({"": lambda: slept(0.001)}, 2, limit=0.5)
    first, second, *others = limits  # the second call says how long a batch is
    assert first == second == 0.5
    assert len(others) == 2
    assert all(limit > 2 * first for limit in others)


def test_a_first_call_is_told_apart() -> None:
    assert interleaved({"": lambda: 1.0}, 0)[""].n == "1 (first)"
    assert interleaved({"": lambda: 1.0}, 1)[""].n == "1"
    assert Timing(0.1, None, 3).n == "3"


def test_setting_limits_is_not_timed(monkeypatch: pytest.MonkeyPatch) -> None:
    @contextlib.contextmanager
    def slow(seconds: float) -> Iterator[None]:
        slept(0.2)
        yield
        slept(0.2)

    monkeypatch.setattr(timing, "limited", slow)
    assert interleaved({"": lambda: 1.0}, 0, limit=5.0)[""].seconds < 0.1


def test_memory_in_use_is_not_searched_during_the_calls() -> None:
    before = gc.get_freeze_count()
    assert interleaved({"": gc.get_freeze_count}, 0)[""].value > before
    assert gc.get_freeze_count() == 0


def test_a_warm_call_is_not_called_twice() -> None:
    for warm, expected in ((True, 1), (False, 2)):
        calls = itertools.count(1)
        timing.peak_megabytes(lambda calls=calls: next(calls), warm)
        assert next(calls) == expected + 1
