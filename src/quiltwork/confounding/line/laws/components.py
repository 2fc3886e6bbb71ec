"""Laws on the line: components, what each can do, the kinds of them, and mixtures.

A component is one unimodal law of a number.  It bounds its density on cells (unimodal: the least value is at an end,
the largest at an end or the mode), knows its probabilities from the smaller tail, and what it becomes when independent
noise is added.  Parameters are read as the decimals typed; `exact` holds them as fractions, so that two components are
the same only when they truly are.

Reference: theory/confounding.md section 1.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any, ClassVar

import attrs
import numpy as np

from quiltwork import checks
from quiltwork.checks import FloatArray
from quiltwork.confounding.line.laws.densities import (
    LaplaceShapes,
    NormalLaplaceShapes,
    NormalShapes,
    Shapes,
    UniformShapes,
)
from quiltwork.errors import InvalidParameter, Unsupported
from quiltwork.kinds import document
from quiltwork.numbers import stated
from quiltwork.numbers.laws import TOLERANCE, Laws
from quiltwork.numbers.rounding import UNIT

Readers = dict[str, Callable[[str, Any], Fraction]]

UNDERFLOW = 1e-300
MAX_SIZE = 1e100
MAX_RELATIVE_WIDTH = 1e-6  # how well probabilities of values must be known that get noise
MIN_WEIGHT = 1e-300  # smaller ones are not known to a few units: doubles lose their digits there


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


def _square(name: str, value: Any) -> Fraction:
    return size(name, value) ** 2


@attrs.frozen(eq=False)
class Component:
    """One unimodal law; `exact` are its parameters as fractions, the location first."""

    kind: ClassVar[str] = ""
    _parameters: ClassVar[Readers] = {}  # the fields, and how each is read exactly
    _shapes: ClassVar[Callable[..., Shapes] | None] = None  # of many components at once, from columns of these fields
    exact: tuple[Fraction, ...] = attrs.field(default=(), repr=False, kw_only=True)

    def __attrs_post_init__(self) -> None:
        """Store the fractions, and plain floats in the fields."""
        exact = self.exact or (read(name, getattr(self, name)) for name, read in self._parameters.items())
        checks.settle(self, exact=tuple(exact))
        self._check()
        checks.settle(self, **{name: float(getattr(self, name)) for name in self._parameters})

    def _check(self) -> None:
        """Refuse what doubles cannot tell apart; the location comes first, then the spreads."""
        spreads = [float(getattr(self, name)) for name in self._parameters][1:]
        if spreads:
            placed(self.exact[0], max(spreads))

    @property
    def support(self) -> tuple[float, float]:
        """Both ends of where the density is positive."""
        return -math.inf, math.inf

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
        if cls._shapes is None:
            raise Unsupported(f"the density of {cls.__name__}", "it has none", "add noise to it")
        return cls._shapes(*([getattr(part, name) for part in parts] for name in cls._parameters))

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


@document("point/1")
@attrs.frozen
class Point(Component):
    """A number that is known exactly; with noise it has a density."""

    kind: ClassVar[str] = "point"
    _parameters: ClassVar[Readers] = {"value": exactly}
    value: float

    @classmethod
    def of(cls, value: Fraction) -> Point:
        """At an exact fraction."""
        return cls(float(value), exact=(value,))

    def plus_gaussian(self, variance: Any) -> Component:
        return Normal.of(self.exact[0], exactly("variance", variance))

    def plus_laplace(self, scale: Any) -> Component:
        return Laplace.of(self.exact[0], exactly("scale", scale))

    def times(self, weight: Fraction) -> Component:
        return Point.of(weight * self.exact[0])

    def sample(self, rng: np.random.Generator, count: int) -> FloatArray:
        return np.full(count, self.value)


@document("normal/1")
@attrs.frozen
class Normal(Component):
    """A normal law; `exact` is (mean, variance).

    >>> Normal(0.0, 0.3).plus_gaussian(0.25).exact[1]
    Fraction(17, 50)
    """

    kind: ClassVar[str] = "normal"
    _parameters: ClassVar[Readers] = {"mean": exactly, "sd": _square}
    _shapes = NormalShapes
    mean: float
    sd: float

    @classmethod
    def of(cls, mean: Fraction, variance: Fraction) -> Normal:
        """From exact fractions."""
        return cls(float(mean), root(variance), exact=(mean, variance))

    def plus_gaussian(self, variance: Any) -> Component:
        return Normal.of(self.exact[0], self.exact[1] + exactly("variance", variance))

    def plus_laplace(self, scale: Any) -> Component:
        return NormalLaplace.of(self.exact[0], self.exact[1], exactly("scale", scale))

    def times(self, weight: Fraction) -> Component:
        return Normal.of(weight * self.exact[0], weight**2 * self.exact[1])

    def sample(self, rng: np.random.Generator, count: int) -> FloatArray:
        return rng.normal(self.mean, self.sd, count)


@document("laplace/1")
@attrs.frozen
class Laplace(Component):
    """A Laplace law; `exact` is (mean, scale)."""

    kind: ClassVar[str] = "laplace"
    _parameters: ClassVar[Readers] = {"mean": exactly, "scale": size}
    _shapes = LaplaceShapes
    mean: float
    scale: float

    @classmethod
    def of(cls, mean: Fraction, scale: Fraction) -> Laplace:
        """From exact fractions."""
        return cls(float(mean), float(size("scale", scale)), exact=(mean, scale))

    def plus_gaussian(self, variance: Any) -> Component:
        return NormalLaplace.of(self.exact[0], exactly("variance", variance), self.exact[1])

    def times(self, weight: Fraction) -> Component:
        return Laplace.of(weight * self.exact[0], abs(weight) * self.exact[1])

    def sample(self, rng: np.random.Generator, count: int) -> FloatArray:
        return rng.laplace(self.mean, self.scale, count)


@document("normal_laplace/1")
@attrs.frozen
class NormalLaplace(Component):
    """A normal plus an independent Laplace variable; `exact` is (mean, variance of the normal, scale)."""

    kind: ClassVar[str] = "normal-laplace"
    _parameters: ClassVar[Readers] = {"mean": exactly, "sd": _square, "scale": size}
    _shapes = NormalLaplaceShapes
    mean: float
    sd: float
    scale: float

    @classmethod
    def of(cls, mean: Fraction, variance: Fraction, scale: Fraction) -> NormalLaplace:
        """From exact fractions."""
        sd, spread = root(variance), float(size("scale", scale))
        return cls(float(mean), sd, spread, exact=(mean, variance, scale))

    def plus_gaussian(self, variance: Any) -> Component:
        return NormalLaplace.of(self.exact[0], self.exact[1] + exactly("variance", variance), self.exact[2])

    def times(self, weight: Fraction) -> Component:
        return NormalLaplace.of(weight * self.exact[0], weight**2 * self.exact[1], abs(weight) * self.exact[2])

    def sample(self, rng: np.random.Generator, count: int) -> FloatArray:
        return rng.normal(self.mean, self.sd, count) + rng.laplace(0.0, self.scale, count)


@document("uniform/1")
@attrs.frozen
class Uniform(Component):
    """Uniform between two ends; `exact` is (low, high)."""

    kind: ClassVar[str] = "uniform"
    _parameters: ClassVar[Readers] = {"low": exactly, "high": exactly}
    _shapes = UniformShapes
    low: float
    high: float

    def _check(self) -> None:
        low, high = self.exact
        if not low < high:
            raise InvalidParameter("the ends of a uniform law", (self.low, self.high), "low < high")
        if high - low < max(abs(low), abs(high)) / 10**6:
            raise InvalidParameter(
                "the ends of a uniform law", (self.low, self.high), "apart by 1e-6 of their size", "shift the data"
            )

    @property
    def support(self) -> tuple[float, float]:
        return self.low, self.high

    def times(self, weight: Fraction) -> Component:
        ends = sorted(weight * end for end in self.exact)
        return Uniform(float(ends[0]), float(ends[1]), exact=tuple(ends))

    def sample(self, rng: np.random.Generator, count: int) -> FloatArray:
        return rng.uniform(self.low, self.high, count)


def shares(value: Any) -> FloatArray:
    """The weights of components, as stated."""
    allowed = "a list of numbers in [0, 1], one for each component"
    found = checks.numbers("weights", value, allowed, 0.0, 1.0)
    if found.ndim != 1:
        raise InvalidParameter("weights", value, allowed)
    return found


def total(weights: FloatArray) -> float:
    """Their sum, which is one to a tolerance."""
    found = math.fsum(weights)
    if not abs(found - 1.0) <= TOLERANCE:
        raise InvalidParameter("the sum of weights", found, "1", "divide them by their sum")
    return found


def _large_shares(value: Any) -> FloatArray:
    found = shares(value)
    if bool(np.any((found > 0) & (found < MIN_WEIGHT))):
        raise InvalidParameter("a positive weight", float(found[found > 0].min()), "at least 1e-300", "use zero")
    return found


def _parts(value: Any) -> tuple[Component, ...]:
    parts = tuple(checks.listed("components", value, "a list of components"))
    for part in parts:
        if not isinstance(part, Component):
            raise InvalidParameter("a component", part, "Normal, Laplace, NormalLaplace, Uniform, Unimodal or Point")
    return parts


@document("line_mixture/1", restore="weights")
@attrs.frozen(eq=False, repr=False)
class Mixture:
    """A law that picks component i with probability weights[i].

    >>> Mixture([0.5, 0.5], [Normal(-1.0, 0.3), Normal(1.0, 0.3)]).plus_gaussian(0.25)
    <Mixture of 2 components>
    """

    weights: FloatArray = attrs.field(converter=_large_shares)
    components: tuple[Component, ...] = attrs.field(converter=_parts)
    # the weights in fractions, if None the decimals typed, and nothing when they are not known so well; and by how many
    # units of roundoff the weights may be off, besides the few of any stated number
    exact: tuple[Fraction, ...] | None = attrs.field(default=None, kw_only=True)
    units: float = attrs.field(default=0.0, kw_only=True)

    def __attrs_post_init__(self) -> None:
        weights, parts = self.weights, self.components
        if len(parts) != weights.size:
            raise InvalidParameter("components", len(parts), f"as many as weights, {weights.size}")
        sum_of_all, kept = total(weights), np.flatnonzero(weights)
        exact = tuple(stated.typed(weight) for weight in weights) if self.exact is None else self.exact
        whole = sum(exact)
        exact = tuple(exact[i] / whole for i in kept) if exact else ()
        weights = weights[kept] if sum_of_all == 1.0 else weights[kept] / sum_of_all
        checks.settle(self, exact=exact, weights=weights, components=tuple(parts[i] for i in kept))

    @classmethod
    def of(cls, law: Any) -> Mixture:
        """A mixture as it is, a component as a mixture of one."""
        if isinstance(law, Component):
            return cls([1.0], [law])
        if not isinstance(law, Mixture):
            raise InvalidParameter("a law", law, "a Mixture or one component")
        return law

    def _mapped(self, change: Callable[[Component], Component]) -> Mixture:
        return Mixture(self.weights, [change(part) for part in self.components], exact=self.exact, units=self.units)

    def plus_gaussian(self, variance: Any) -> Mixture:
        """After adding independent Gaussian noise of this variance."""
        return self._mapped(lambda part: part.plus_gaussian(variance))

    def plus_laplace(self, scale: Any) -> Mixture:
        """After adding independent Laplace noise of this scale."""
        return self._mapped(lambda part: part.plus_laplace(scale))

    def times(self, weight: Fraction) -> Mixture:
        """The law of a multiple."""
        return self._mapped(lambda part: part.times(weight))

    def sample(self, rng: np.random.Generator, count: int) -> FloatArray:
        """Draws for simulations."""
        picked = rng.multinomial(count, self.weights / self.weights.sum())
        return rng.permutation(
            np.concatenate([part.sample(rng, int(n)) for part, n in zip(self.components, picked, strict=True)])
        )

    def __repr__(self) -> str:
        return f"<Mixture of {len(self.components)} component{'s' if len(self.components) > 1 else ''}>"


def table_weights(rows: Laws) -> list[tuple[FloatArray, tuple[Fraction, ...], float]]:
    """Each row as plain weights, as fractions if these are known, and by how many units the weights may be off."""
    low, high = rows.masses
    wide = (rows.possible) & (high - low > MAX_RELATIVE_WIDTH * low)
    if bool(wide.any()):
        raise InvalidParameter(
            "a positive probability",
            float(high[wide].min()),
            f"known to {MAX_RELATIVE_WIDTH:g} of itself, at least 1e-300",
            "take it as zero, or join it with another value",
        )
    units = ((high - low) / np.where(low > 0, low, 1.0) / UNIT).max(axis=1)
    exact = [()] * len(low) if rows.exact is None else [tuple(row) for row in rows.exact]
    return list(zip(rows.values, exact, units.tolist(), strict=True))
