"""Epsilon at a delta, from the moments of the loss.

    delta(eps) = 1 / (2 pi i)  integral of  M(s) e^(-s eps) / (s (s + 1)) ds  over the line Re s = c > 0

By Poisson summation the trapezoidal rule with step 2 pi / R gives the sum of e^(c m R) delta(eps + m R) over all whole
m instead of the term with m = 0. The others are bounded: on the left delta is at most 1, on the right Chernoff says
delta(x) <= M(b) e^(-b x) for every b > 0. So c and R are chosen such that the bounds are below the digits asked for.
Where the sum over nodes ends is not bounded: two lines with other nodes must agree.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Sequence
from typing import Any

import mpmath

QUIET = 25  # nodes in a row that are too small to matter before the rest is left out
Parts = Sequence[tuple[Any, int]]  # moments of one release, and how often


@dataclasses.dataclass(frozen=True)
class Line:
    """A vertical line, its step, and log M at its nodes."""

    c: Any
    step: Any
    logs: list[Any]
    digits: int  # in which delta is summed: more than the answer has where terms are larger than their sum

    def delta(self, epsilon: Any) -> Any:
        terms = []
        for number, log in enumerate(self.logs):
            s = mpmath.mpc(self.c, number * self.step)
            terms.append(mpmath.re(mpmath.exp(log - s * epsilon) / (s * (s + 1))) / (1 if number else 2))
        return self.step / mpmath.pi * mpmath.fsum(terms)


def epsilon(parts: Parts, delta: str, direction: str, digits: int) -> tuple[Any, float]:
    """The answer, and on how many digits two different lines agree."""
    above = start(parts, delta, direction)
    rough = bisected(line(parts, delta, direction, 3, above), delta, above)
    rough = bisected(line(parts, delta, direction, 5, rough), delta, above)  # aliases depend on the answer
    lines = [line(parts, delta, direction, digits, rough, *moved) for moved in ((1.0, 1.0), (0.8, 1.3))]
    one, two = (solved(found, delta, rough) for found in lines)
    return one, agreement(one, two)


def bisected(line: Line, delta: str, high: float) -> float:
    """Roughly: where the sum falls below delta."""
    low, goal = 0.0, mpmath.mpf(delta)
    for _ in range(26):
        middle = (low + high) / 2
        low, high = (middle, high) if line.delta(middle) > goal else (low, middle)
    return (low + high) / 2


def agreement(one: Any, two: Any) -> float:
    return float(-mpmath.log10(abs(one / two - 1) + mpmath.mpf(10) ** (-mpmath.mp.dps)))


def start(parts: Parts, delta: str, direction: str) -> float:
    """Chernoff's epsilon, which is above the truth."""
    return min((real(parts, c, direction) - math.log(float(mpmath.mpf(delta)))) / c for c in _places(0.01, 400.0))


def real(parts: Parts, c: float, direction: str) -> float:
    """log M(c) in doubles."""
    return sum(count * part.real(c, direction) for part, count in parts)


def _places(low: float, high: float, factor: float = 1.12) -> list[float]:
    return [low * factor**j for j in range(int(math.log(high / low, factor)) + 1)]


def chosen(parts: Parts, delta: str, direction: str, digits: int, epsilon: float) -> tuple[float, float]:
    """The abscissa with the smallest R, and that R: few nodes, and aliases below the digits."""
    log_delta = float(mpmath.log(mpmath.mpf(delta)))
    wanted = digits * math.log(10) - log_delta
    places = _places(0.01, 400.0)
    logs = [real(parts, c, direction) - c * epsilon for c in places]
    best = (math.nan, math.inf)
    for i, c in enumerate(places[:-1]):
        left = wanted / c
        right = min(
            max(wanted + log, 0.0) / (b - c)
            for b, log in zip(places[i + 1 :], logs[i + 1 :], strict=True)
            if math.isfinite(log)
        )
        if max(left, right) < best[1]:
            best = c, max(left, right)
    return best


def line(
    parts: Parts, delta: str, direction: str, digits: int, epsilon: float, lower: float = 1.0, slack: float = 1.0
) -> Line:
    """Nodes until they are too small to matter; `lower` moves the line, `slack` makes everything finer."""
    c, reach = chosen(parts, delta, direction, digits + 2, epsilon)
    c, reach = c * lower, reach * slack / lower
    lost = (real(parts, c, direction) - c * epsilon - float(mpmath.log(mpmath.mpf(delta)))) / math.log(10)
    size = math.log10(sum(count for _, count in parts))
    precision = int(digits + max(lost, 0) + size + 12)
    with mpmath.workdps(precision):
        at, step = mpmath.mpf(c), 2 * mpmath.pi / mpmath.mpf(reach)
        floor = mpmath.log(mpmath.mpf(delta)) + at * epsilon - (digits + 3) * mpmath.ln10
        runs = [(part.along(at, step, direction, slack), count) for part, count in parts]
        logs: list[Any] = []
        quiet = 0
        while quiet < QUIET:
            weight = mpmath.log(step) - 2 * mpmath.log(abs(mpmath.mpc(at, len(logs) * step)))
            logs.append(mpmath.fsum(count * next(run) for run, count in runs))
            quiet = quiet + 1 if logs[-1].real + weight < floor else 0
    return Line(at, step, logs, precision)


def solved(line: Line, delta: str, guess: Any) -> Any:
    """The root in epsilon of log delta, by secants."""
    with mpmath.workdps(line.digits):
        goal = mpmath.log(mpmath.mpf(delta))
        gap = lambda epsilon: mpmath.log(line.delta(epsilon)) - goal  # noqa: E731
        return secant(gap, mpmath.mpf(guess), mpmath.mpf(guess) * (1 - mpmath.mpf("1e-4")))


def secant(function: Callable[[Any], Any], one: Any, two: Any) -> Any:
    """Until steps no longer shrink."""
    first, second = function(one), function(two)
    for _ in range(60):
        if second == first:
            break
        one, two, first = two, two - second * (two - one) / (second - first), second
        if abs(two - one) <= abs(two) * mpmath.mpf(10) ** (3 - mpmath.mp.dps):
            break
        second = function(two)
    return two
