"""The bars that are stated in transforms: CPU time over one real FFT there and back of 2^17 points, in one process."""

from __future__ import annotations

import json
import statistics
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from scipy import fft

import quiltwork as qw
from benchmarks import cases
from benchmarks.report import Bar, at_most
from benchmarks.timing import interleaved

RARE = Path(__file__).parents[1] / "tests" / "compose" / "test_jump_contour.truths.json"
SAMPLE = np.random.default_rng(0).random(1 << 17)
ROUNDED = 1e-14  # of a truth that is read as a double
OTHERS: dict[str, tuple[Callable[[], qw.Loss], float, float, float]] = {  # delta, FFTs, width
    "discrete Gaussian 5000, sensitivity 3, x 100": (lambda: 100 * qw.discrete_gaussian(5000, 3), 1e-5, 3, 1e-6),
    "Laplace scale 50 x 300": (lambda: 300 * qw.laplace(50.0), 1e-5, 12, 1e-6),
    "Laplace scale 3 x 20": (lambda: 20 * qw.laplace(3.0), 1e-5, 12, 1e-6),
}


def bars(repeats: int) -> Iterator[Bar]:
    """Rare releases with known values, DP-SGD by its length, discrete and Laplace noise, a question asked again."""
    yield from rare(min(repeats, 3))
    for power in range(1, 9):
        call = lambda power=power: cases.dpsgd(1.0, 0.002, 10**power).epsilon(1e-5)  # noqa: E731
        value, units = timed(call, repeats)
        yield at_most(f"DP-SGD sigma 1, rate 0.002, T 1e{power}", 8 if power < 5 else 1, units, " FFTs", width(value))
    for name, (loss, delta, most, wide) in OTHERS.items():
        value, units = timed(lambda loss=loss, delta=delta: loss().epsilon(delta), repeats)
        yield at_most(name, most, units, " FFTs")
        yield at_most(f"{name}, width", wide, value.relative_width, "")
    yield from again(repeats)


def rare(repeats: int) -> Iterator[Bar]:
    """Values of reference/engine-rare.json."""
    inside, widths, units = 0, [], []
    rows = json.loads(RARE.read_text(encoding="utf-8"))
    for sigma, rate, count, delta, direction, truth in rows:
        asked = float(sigma), float(rate), count, direction, float(delta)
        value, cost = timed(lambda asked=asked: cases.dpsgd(*asked[:3]).direction(asked[3]).epsilon(asked[4]), repeats)
        inside += value.lower <= float(truth) * (1 + ROUNDED) and float(truth) * (1 - ROUNDED) <= value.upper
        widths.append(value.relative_width)
        units.append(cost)
    yield Bar("rare releases that hold the truth", "all", f"{inside} of {len(rows)}", inside == len(rows), must=True)
    yield at_most("rare releases, widest bracket", 1e-4, max(widths), "")
    yield at_most("rare releases, median", 20, statistics.median(units), " FFTs")
    yield at_most("rare releases, worst", 200, max(units), " FFTs")


def again(repeats: int) -> Iterator[Bar]:
    """The same question to the same loss once more."""
    loss = cases.dpsgd(0.8, 0.01, 10_000)
    loss.epsilon(1e-5)
    found = interleaved(
        {"again": lambda: loss.epsilon(1e-5), "first": lambda: cases.dpsgd(0.8, 0.01, 10_000).epsilon(1e-5)}, repeats
    )
    yield at_most("asked again, over the first time", 0.05, found["again"].seconds / found["first"].seconds)


def timed(call: Callable[[], Any], repeats: int) -> tuple[Any, float]:
    """An answer and its cost in transforms, measured in turn."""
    found = interleaved({"asked": call, "fft": lambda: fft.irfft(fft.rfft(SAMPLE), SAMPLE.size)}, repeats)
    return found["asked"].value, found["asked"].seconds / found["fft"].seconds


def width(value: Any) -> str:
    """Of a bracket, in words."""
    return f", width {value.relative_width:.1e}"
