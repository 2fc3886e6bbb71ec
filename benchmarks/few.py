"""Sampled Gaussians from a few rare steps to a hundred million, in real FFTs of 2^17 points; many-digit values inside.

The values are those of the tests of jumps on the contour (two bent contours in ball arithmetic).
"""

import functools
import json
import statistics
from collections.abc import Iterator
from pathlib import Path

import mpmath
import numpy as np
from scipy import fft

import quiltwork as qw
from benchmarks import cases
from benchmarks.report import Bar, Line, at_most
from benchmarks.timing import interleaved
from benchmarks.verdicts import BOTH

SIZE = 1 << 17
ROWS = json.loads((Path(__file__).parents[1] / "tests/compose/test_jump_contour.truths.json").read_text("utf-8"))
SIGMA, RATE, DELTA = 1.0, 0.002, 1e-5


def bars(repeats: int) -> Iterator[Line | Bar]:
    """Steps by powers of ten, then the reference questions."""
    sample = np.random.default_rng(0).random(SIZE)
    unit = {"fft": lambda: fft.irfft(fft.rfft(sample), SIZE)}
    steps = {power: functools.partial(asked, cases.dpsgd(SIGMA, RATE, 10**power), DELTA) for power in range(1, 9)}
    rows = {tuple(row): functools.partial(asked, _loss(row), float(row[3])) for row in ROWS}
    found = interleaved(unit | steps | rows, repeats, 1.0)
    one = found["fft"].seconds
    for power in steps:
        timing, name = found[power], f"DP-SGD sigma {SIGMA:g}, rate {RATE:g}, T 1e{power}, delta {DELTA:g}"
        width = timing.value.relative_width
        yield Line.of(name, f"quiltwork ({timing.value.method})", timing, 1.0, width=width, certified=BOTH)
        yield at_most(f"real FFTs of 2^17 points, {name}", 8 if power < 5 else 1, timing.seconds / one)
    inside = [_inside(found[row].value, row[5]) for row in rows]
    cost, width = ([value(found[row]) / by for row in rows] for value, by in ((_seconds, one), (_width, 1.0)))
    name = f"{len(rows)} questions about few or rare steps"
    yield Bar(f"brackets that hold many-digit values, {name}", "all", f"{sum(inside)}", all(inside), must=True)
    yield at_most(f"widest bracket, {name}", 1e-4, max(width), "")
    yield at_most(f"median of real FFTs of 2^17 points, {name}", 20, statistics.median(cost))
    yield at_most(f"most real FFTs of 2^17 points, {name}", 200, max(cost))


def asked(loss: qw.Loss, delta: float) -> qw.Bracket:
    """A first answer: the curve remembers, a copy does not."""
    return qw.Loss(loss.parts, loss.side).epsilon(delta)


def _loss(row: list) -> qw.Loss:
    sigma, rate, count, _, direction, _ = row
    return cases.dpsgd(float(sigma), float(rate), count).direction(direction)


def _inside(bracket: qw.Bracket, truth: str) -> bool:
    with mpmath.workdps(25):
        exact = mpmath.mpf(truth)
        return bool(bracket.lower * (1 - mpmath.mpf("1e-15")) <= exact <= bracket.upper * (1 + mpmath.mpf("1e-15")))


def _seconds(timing) -> float:
    return timing.seconds


def _width(timing) -> float:
    return timing.value.relative_width
