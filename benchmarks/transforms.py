"""The bars that are stated in transforms: CPU time over one real FFT there and back of 2^17 points, in one process."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from scipy import fft

import quiltwork as qw
from benchmarks import cases
from benchmarks.report import Bar, at_most
from benchmarks.timing import interleaved

SAMPLE = np.random.default_rng(0).random(1 << 17)
OTHERS: dict[str, tuple[Callable[[], qw.Loss], float, float, float]] = {  # delta, FFTs, width
    "discrete Gaussian 5000, sensitivity 3, x 100": (lambda: 100 * qw.discrete_gaussian(5000, 3), 1e-5, 3, 1e-6),
    "Laplace scale 50 x 300": (lambda: 300 * qw.laplace(50.0), 1e-5, 12, 1e-6),
    "Laplace scale 3 x 20": (lambda: 20 * qw.laplace(3.0), 1e-5, 12, 1e-6),
}


def bars(repeats: int) -> Iterator[Bar]:
    """Discrete and Laplace noise, and a question asked again; sampled Gaussians are in `few`."""
    for name, (loss, delta, most, wide) in OTHERS.items():
        value, units = timed(lambda loss=loss, delta=delta: loss().epsilon(delta), repeats)
        yield at_most(name, most, units, " FFTs")
        yield at_most(f"{name}, width", wide, value.relative_width, "")
    yield from again(repeats)


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
