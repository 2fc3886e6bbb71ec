"""Counterexamples made smaller: lists lose entries, whole numbers shrink, floats lose digits, while the failure stays.

A case is plain JSON. What is proposed may make no sense (weights that pass their unit, an empty list): then it does not
fail in the same way, and is dropped.
"""

from __future__ import annotations

import copy
import json
import math
from collections.abc import Callable, Iterator
from typing import Any

Path = tuple[Any, ...]


def size_of(case: Any) -> int:
    """How much there is to read."""
    return len(json.dumps(case, default=str))


def minimised(case: Any, fails: Callable[[Any], Any], tries: int = 2000) -> Any:
    """A case that still fails and of which no single step fails, or the smallest one after so many tries."""
    best = json.loads(json.dumps(case))
    if not fails(best):
        return case
    moved = True
    while moved:
        moved = False
        for proposed in proposals(best):
            tries -= 1
            if tries < 0:
                return best
            if fails(proposed):
                best, moved = proposed, True
                break
    return best


def proposals(case: Any) -> Iterator[Any]:
    """Simpler cases, the boldest first."""
    places = list(_walk(case, ()))
    lists = [(path, value) for path, value in places if isinstance(value, list) and value]
    for path, value in sorted(lists, key=lambda item: -size_of(item[1])):
        half = len(value) // 2
        if len(value) > 1:
            yield _with(case, path, value[:half])
            yield _with(case, path, value[half:])
        if len(value) > 3:
            quarter = len(value) // 4
            yield from (_with(case, path, value[:at] + value[at + quarter :]) for at in range(0, len(value), quarter))
    for path, value in lists:
        for index in range(len(value)):
            yield _with(case, path, value[:index] + value[index + 1 :])
    for path, value in places:
        if isinstance(value, int) and not isinstance(value, bool):
            yield from (_with(case, path, smaller) for smaller in _integers(value))
        elif isinstance(value, float) and math.isfinite(value):
            yield from (_with(case, path, simpler) for simpler in _floats(value))


def _integers(value: int) -> Iterator[int]:
    seen = {value}
    sign = 1 if value >= 0 else -1
    for smaller in (0, 1, sign * (abs(value) // 2), value - sign):
        if smaller not in seen and abs(smaller) < max(abs(value), 1):
            seen.add(smaller)
            yield smaller


def _floats(value: float) -> Iterator[float]:
    short = len(repr(value))
    for simpler in (0.0, 1.0, *(float(f"{value:.{digits}g}") for digits in (1, 2, 3, 5, 8))):
        if len(repr(simpler)) < short:
            yield simpler


def _walk(value: Any, path: Path) -> Iterator[tuple[Path, Any]]:
    yield path, value
    children = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, child in children:
        yield from _walk(child, (*path, key))


def _with(case: Any, path: Path, value: Any) -> Any:
    if not path:
        return copy.deepcopy(value)
    made = copy.deepcopy(case)
    place = made
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    return made
