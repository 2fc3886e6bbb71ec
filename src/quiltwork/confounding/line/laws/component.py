"""One unimodal law of a number: what every component of a mixture can do.

A component bounds its density on cells (unimodal: the least value is at an end, the largest at an end or the mode),
knows its probabilities from the smaller tail, and what it becomes when independent noise is added.  Parameters are read
as the decimals typed; `exact` holds them as fractions, so that two components are the same only when they truly are.

Reference: theory/confounding.md section 1.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np

from quiltwork import checks
from quiltwork.checks import FloatArray
from quiltwork.confounding.line.laws.densities import Shapes
from quiltwork.errors import InvalidParameter, Unsupported
from quiltwork.numbers import stated
from quiltwork.numbers.rounding import UNIT

__all__ = ["Component", "exactly", "masses", "placed", "root", "size"]

UNDERFLOW = 1e-300
MAX_SIZE = 1e100


def exactly(name: str, value: Any) -> Fraction:
    """The number that was typed, as a fraction."""
    found = None if isinstance(value, str) else stated.fraction(value)
    if found is None or abs(found) > MAX_SIZE:
        raise InvalidParameter(name, value, "a finite number, at most 1e100 in size")
    return found


def size(name: str, value: Any) -> Fraction:
    """A spread: products of four of them must stay in the range of doubles."""
    found = exactly(name, value)
    if not 1e-50 <= found <= 1e50:
        raise InvalidParameter(name, value, "in [1e-50, 1e50]")
    return found


def placed(location: Fraction, spread: float | Fraction) -> None:
    """Refuse a location that doubles cannot tell apart on the scale of the spread."""
    if abs(location) > 10**12 * Fraction(spread):
        raise InvalidParameter(
            "a location", float(location), f"at most 1e12 times the spread {float(spread):g}", "shift the data"
        )


def root(square: Fraction) -> float:
    """A double within two units of the square root of a variance."""
    if not 1e-100 <= square <= 1e100:
        raise InvalidParameter("variance", float(square), "in [1e-100, 1e100]")
    return float(stated.root(square, bits=63)[0])


class Component:
    """One unimodal law; `exact` are its parameters as fractions, the location first."""

    kind: ClassVar[str] = ""
    exact: tuple[Fraction, ...]

    def density(self, a: Any, b: Any) -> tuple[FloatArray, FloatArray]:
        """Bounds on the density over each cell [a, b], rounded outward."""
        low, high = _cells(a, b)
        shapes = self.shapes([self])
        (at_low, error), (at_high, other) = (_log_density(shapes, end) for end in (low, high))
        inside = (low <= shapes.mode_high) & (high >= shapes.mode_low)
        bottom, top = np.minimum(at_low, at_high), np.where(inside, shapes.peak, np.maximum(at_low, at_high))
        # where a density is zero its stated error says nothing: the least value is 0, the largest that of the other end
        known, also = (np.where(np.isfinite(at), wrong, 0.0) for at, wrong in ((at_low, error), (at_high, other)))
        wrong = np.maximum(known, also) + 4.0 * UNIT
        least = np.where(np.isfinite(bottom), np.exp(bottom) * (1.0 - wrong) - UNDERFLOW, 0.0)
        most = np.exp(top) * (1.0 + wrong) + UNDERFLOW
        return np.maximum(least[0], 0.0), most[0]

    def probability(self, a: Any, b: Any) -> tuple[FloatArray, FloatArray]:
        """Bounds on P(a < X < b), from the smaller tail; ends may be infinite."""
        low, high = _cells(a, b)
        top, share, error = masses(self.shapes([self]), low, high)
        size = np.exp(top[0])
        value, wrong = size * share[0], size * (error[0] + 8.0 * UNIT * share[0]) + UNDERFLOW
        return np.maximum(value - wrong, 0.0), np.minimum(value + wrong, 1.0)

    @classmethod
    def shapes(cls, parts: Sequence[Any]) -> Shapes:
        """All of these at once; they are of this kind."""
        raise Unsupported(f"the density of {cls.__name__}", "it has none", "add noise to it")

    def plus_gaussian(self, variance: Any) -> Component:
        """The law after adding independent Gaussian noise of this variance."""
        raise Unsupported(f"{self!r} with Gaussian noise", "the sum has no closed form here", "use release.bound()")

    def plus_laplace(self, scale: Any) -> Component:
        """The law after adding independent Laplace noise of this scale."""
        raise Unsupported(f"{self!r} with Laplace noise", "the sum has no closed form here", "use release.bound()")

    def times(self, weight: Fraction) -> Component:
        """The law of `weight` (not zero) times the number."""
        raise Unsupported(f"a multiple of {self!r}", "it has no closed form here")

    def sample(self, rng: np.random.Generator, count: int) -> FloatArray:
        """Draws for simulations; never for protecting anyone."""
        raise Unsupported(f"draws from {self!r}", "no way to draw was given")


def _log_density(shapes: Shapes, x: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Log densities and errors; at infinity a density is zero."""
    far = np.isinf(x)
    value, error = shapes.log_density(np.where(far, shapes.centre[0, 0], x))
    return np.where(far, -np.inf, value), error


def _cells(a: Any, b: Any) -> tuple[FloatArray, FloatArray]:
    low = checks.numbers("a", a, "numbers, not NaN", -math.inf, math.inf)
    high = checks.numbers("b", b, "numbers, not NaN", -math.inf, math.inf)
    low, high = np.broadcast_arrays(np.atleast_1d(low), np.atleast_1d(high))
    if bool(np.any(low > high)):
        raise InvalidParameter("the cells", (a, b), "a <= b")
    return np.ravel(low), np.ravel(high)


def masses(shapes: Shapes, a: FloatArray, b: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """P(a < X < b) = e^top share, and the error of the share; (k, n) arrays.

    On one side of the centre it is the difference of two tails, e^inner (1 - e^gap) with gap = outer - inner: off by
    the error of the inner tail, and by e^gap times that of both.  Across the centre it is the sum of both sides.
    """
    (at_a, wrong_a), (at_b, wrong_b) = shapes.log_tail(a), shapes.log_tail(b)
    right, left = a >= shapes.centre, b < shapes.centre
    across = ~(right | left)
    inner, outer = np.where(right, at_a, at_b), np.where(right, at_b, at_a)
    inner_wrong, outer_wrong = np.where(right, wrong_a, wrong_b), np.where(right, wrong_b, wrong_a)
    with np.errstate(invalid="ignore", under="ignore", over="ignore"):
        gap = np.where(np.isfinite(inner), np.minimum(outer - inner, 0.0), 0.0)
        share, error = -np.expm1(gap), inner_wrong + np.exp(gap) * (inner_wrong + outer_wrong)
        top = np.where(across, 0.0, inner)
        floor = np.where(np.isfinite(top), 4.0 * shapes.tail_error * np.exp(-np.maximum(top, -700.0)), 0.0)
        if bool(across.any()):
            (below, low_wrong), (above, high_wrong) = shapes.from_centre(a), shapes.from_centre(b)
            share = np.where(across, np.minimum(below + above, 1.0), share)
            error = np.where(across, low_wrong + high_wrong, error)
    error = error + 8.0 * UNIT * share
    return top, share, error + floor
