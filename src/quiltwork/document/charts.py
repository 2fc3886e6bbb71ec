"""Places and words of charts: dense where curves bend, and such that a place can be said without rounding it."""

from __future__ import annotations

from typing import Any

import numpy as np

from quiltwork.checks import FloatArray
from quiltwork.document.blocks import Axis, Trace
from quiltwork.numbers.digits import single

POINTS = 161
ERRORS = ("false alarms (type I error)", "misses (type II error)")  # the names of both errors on every surface
ALARMS, MISSES = (Axis(words, 0.0, 1.0) for words in ERRORS)


def cosine(count: int = POINTS) -> FloatArray:
    """Places in [0, 1], dense near both ends, where trade-off functions bend."""
    return spoken(0.5 - 0.5 * np.cos(np.linspace(0.0, np.pi, count)))


def spoken(places: Any) -> FloatArray:
    """Places with five digits: what is asked at such a place can be said in words without rounding the place."""
    return np.array([float(f"{place:.5g}") for place in np.ravel(places)])


def blind_guessing() -> Trace:
    """The trade-off function of somebody who guesses blindly: perfect privacy."""
    return Trace("blind guessing", (0.0, 1.0), (1.0, 0.0), "muted", dash="dash")


def at(delta: float) -> str:
    """The delta of an answer, in words."""
    return f"at delta {single(delta)}"
