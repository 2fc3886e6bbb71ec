"""Laws of one number: unimodal components and their mixtures.

A component knows its density, bounds it on cells (unimodal: the least value is at an end, the largest at an end or the
mode), its probabilities from the smaller tail, and what it becomes when independent noise is added.  Parameters are read
as the decimals typed; `exact` holds them as fractions, so that two components are the same only when they truly are.

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
from quiltwork.confounding.laws import fraction
from quiltwork.confounding.shapes import (
    LaplaceShapes,
    NormalLaplaceShapes,
    NormalShapes,
    Shapes,
    UniformShapes,
    UserShapes,
)
from quiltwork.curves.rounding import UNIT
from quiltwork.errors import InvalidParameter, Unsupported

__all__ = ["Component", "Laplace", "Mixture", "Normal", "NormalLaplace", "Point", "Uniform", "Unimodal", "exactly"]

SUM = 1e-9  # weights may miss one by this much; they are then divided by their sum
TINY = 1e-300
FARTHEST = 1e100


def exactly(name: str, value: Any) -> Fraction:
    """The number that was typed, as a fraction."""
    found = None if isinstance(value, str) else fraction(value)
    if found is None or abs(found) > FARTHEST:
        raise InvalidParameter(name, value, "a finite number, at most 1e100 in size")
    return found


def _size(name: str, value: Any) -> Fraction:
    found = exactly(name, value)
    if not 1e-100 <= found:
        raise InvalidParameter(name, value, "in [1e-100, 1e100]")
    return found


def _root(square: Fraction) -> float:
    """A double within two units of the square root."""
    shift = (square.denominator.bit_length() - square.numerator.bit_length()) // 2 + 64
    scaled = square * Fraction(4) ** shift
    return float(Fraction(math.isqrt(scaled.numerator // scaled.denominator)) / Fraction(2) ** shift)


class Component:
    """One unimodal law; `exact` are its parameters as fractions, the location first."""

    kind: ClassVar[str] = ""
    exact: tuple[Fraction, ...]

    def density(self, a: Any, b: Any) -> tuple[FloatArray, FloatArray]:
        """Bounds on the density over each cell [a, b], rounded outward."""
        low, high = _cells(a, b)
        shapes = self.shapes([self])
        (at_low, error), (at_high, other) = (shapes.log_density(end) for end in (low, high))
        inside = (low <= shapes.mode_high) & (high >= shapes.mode_low)
        wrong = np.maximum(error, other) + 4.0 * UNIT
        least = np.exp(np.minimum(at_low, at_high)) * (1.0 - wrong) - TINY
        most = np.exp(np.where(inside, shapes.peak, np.maximum(at_low, at_high))) * (1.0 + wrong) + TINY
        return np.maximum(least[0], 0.0), most[0]

    def probability(self, a: Any, b: Any) -> tuple[FloatArray, FloatArray]:
        """Bounds on P(a < X < b), from the smaller tail; ends may be infinite."""
        low, high = _cells(a, b)
        top, share, error = masses(self.shapes([self]), low, high)
        size = np.exp(top[0])
        value, wrong = size * share[0], size * (error[0] + 8.0 * UNIT * share[0]) + TINY
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


def _cells(a: Any, b: Any) -> tuple[FloatArray, FloatArray]:
    low = checks.numbers("a", a, "numbers, not NaN", -math.inf, math.inf)
    high = checks.numbers("b", b, "numbers, not NaN", -math.inf, math.inf)
    low, high = np.broadcast_arrays(np.atleast_1d(low), np.atleast_1d(high))
    if bool(np.any(low > high)):
        raise InvalidParameter("the cells", (a, b), "a <= b")
    return np.ravel(low), np.ravel(high)


def masses(shapes: Shapes, a: FloatArray, b: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """P(a < X < b) = e^top share, and the error of the share; (k, n) arrays.

    On one side of the centre it is the difference of two tails, e^inner (1 - e^gap) with gap = outer - inner: off by the
    error of the inner tail, and by e^gap times that of both.  Across the centre it is 1 minus both tails.
    """
    (at_a, wrong_a), (at_b, wrong_b) = shapes.log_tail(a), shapes.log_tail(b)
    right, left = a >= shapes.centre, b < shapes.centre
    across = ~(right | left)
    inner, outer = np.where(right, at_a, at_b), np.where(right, at_b, at_a)
    inner_wrong, outer_wrong = np.where(right, wrong_a, wrong_b), np.where(right, wrong_b, wrong_a)
    with np.errstate(invalid="ignore", under="ignore", over="ignore"):
        gap = np.where(np.isfinite(inner), np.minimum(outer - inner, 0.0), 0.0)
        below, above = np.exp(np.where(across, at_a, -np.inf)), np.exp(np.where(across, at_b, -np.inf))
        share = np.where(across, np.maximum(1.0 - below - above, 0.0), -np.expm1(gap))
        error = inner_wrong + np.exp(gap) * (inner_wrong + outer_wrong)
        error = np.where(across, below * wrong_a + above * wrong_b, error) + 8.0 * UNIT
        top = np.where(across, 0.0, inner)
        floor = np.where(np.isfinite(top), 4.0 * shapes.tail_error * np.exp(-np.maximum(top, -700.0)), 0.0)
    return top, share, error + floor


@attrs.frozen
class Point(Component):
    """A number that is known exactly; with noise it has a density."""

    kind: ClassVar[str] = "point"
    value: float = attrs.field()
    exact: tuple[Fraction, ...] = attrs.field(default=(), repr=False, kw_only=True)

    def __attrs_post_init__(self) -> None:
        _keep(self, self.exact or (exactly("value", self.value),), "value")

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


@attrs.frozen
class Normal(Component):
    """A normal law; `exact` is (mean, variance).

    >>> Normal(0.0, 0.3).plus_gaussian(0.25).exact[1]
    Fraction(17, 50)
    """

    kind: ClassVar[str] = "normal"
    mean: float = attrs.field()
    sd: float = attrs.field()
    exact: tuple[Fraction, ...] = attrs.field(default=(), repr=False, kw_only=True)

    def __attrs_post_init__(self) -> None:
        _keep(self, self.exact or (exactly("mean", self.mean), _size("sd", self.sd) ** 2), "mean", "sd")

    @classmethod
    def of(cls, mean: Fraction, variance: Fraction) -> Normal:
        """From exact fractions."""
        return cls(float(mean), _root(_size("variance", variance)), exact=(mean, variance))

    @classmethod
    def shapes(cls, parts: Sequence[Any]) -> Shapes:
        return NormalShapes([part.mean for part in parts], [part.sd for part in parts])

    def plus_gaussian(self, variance: Any) -> Component:
        return Normal.of(self.exact[0], self.exact[1] + exactly("variance", variance))

    def plus_laplace(self, scale: Any) -> Component:
        return NormalLaplace.of(*self.exact, exactly("scale", scale))

    def times(self, weight: Fraction) -> Component:
        return Normal.of(weight * self.exact[0], weight**2 * self.exact[1])

    def sample(self, rng: np.random.Generator, count: int) -> FloatArray:
        return rng.normal(self.mean, self.sd, count)


@attrs.frozen
class Laplace(Component):
    """A Laplace law; `exact` is (mean, scale)."""

    kind: ClassVar[str] = "laplace"
    mean: float = attrs.field()
    scale: float = attrs.field()
    exact: tuple[Fraction, ...] = attrs.field(default=(), repr=False, kw_only=True)

    def __attrs_post_init__(self) -> None:
        _keep(self, self.exact or (exactly("mean", self.mean), _size("scale", self.scale)), "mean", "scale")

    @classmethod
    def of(cls, mean: Fraction, scale: Fraction) -> Laplace:
        """From exact fractions."""
        return cls(float(mean), float(_size("scale", scale)), exact=(mean, scale))

    @classmethod
    def shapes(cls, parts: Sequence[Any]) -> Shapes:
        return LaplaceShapes([part.mean for part in parts], [part.scale for part in parts])

    def plus_gaussian(self, variance: Any) -> Component:
        return NormalLaplace.of(self.exact[0], exactly("variance", variance), self.exact[1])

    def times(self, weight: Fraction) -> Component:
        return Laplace.of(weight * self.exact[0], abs(weight) * self.exact[1])

    def sample(self, rng: np.random.Generator, count: int) -> FloatArray:
        return rng.laplace(self.mean, self.scale, count)


@attrs.frozen
class NormalLaplace(Component):
    """A normal plus an independent Laplace variable; `exact` is (mean, variance of the normal, scale)."""

    kind: ClassVar[str] = "normal-laplace"
    mean: float = attrs.field()
    sd: float = attrs.field()
    scale: float = attrs.field()
    exact: tuple[Fraction, ...] = attrs.field(default=(), repr=False, kw_only=True)

    def __attrs_post_init__(self) -> None:
        exact = self.exact or (exactly("mean", self.mean), _size("sd", self.sd) ** 2, _size("scale", self.scale))
        _keep(self, exact, "mean", "sd", "scale")

    @classmethod
    def of(cls, mean: Fraction, variance: Fraction, scale: Fraction) -> NormalLaplace:
        """From exact fractions."""
        sd, size = _root(_size("variance", variance)), float(_size("scale", scale))
        return cls(float(mean), sd, size, exact=(mean, variance, scale))

    @classmethod
    def shapes(cls, parts: Sequence[Any]) -> Shapes:
        columns = ([part.mean for part in parts], [part.sd for part in parts], [part.scale for part in parts])
        return NormalLaplaceShapes(*columns)

    def plus_gaussian(self, variance: Any) -> Component:
        return NormalLaplace.of(self.exact[0], self.exact[1] + exactly("variance", variance), self.exact[2])

    def times(self, weight: Fraction) -> Component:
        return NormalLaplace.of(weight * self.exact[0], weight**2 * self.exact[1], abs(weight) * self.exact[2])

    def sample(self, rng: np.random.Generator, count: int) -> FloatArray:
        return rng.normal(self.mean, self.sd, count) + rng.laplace(0.0, self.scale, count)


@attrs.frozen
class Uniform(Component):
    """Uniform between two ends; `exact` is (low, high)."""

    kind: ClassVar[str] = "uniform"
    low: float = attrs.field()
    high: float = attrs.field()
    exact: tuple[Fraction, ...] = attrs.field(default=(), repr=False, kw_only=True)

    def __attrs_post_init__(self) -> None:
        low, high = self.exact or (exactly("low", self.low), exactly("high", self.high))
        if not low < high:
            raise InvalidParameter("the ends of a uniform law", (self.low, self.high), "low < high")
        if high - low < max(abs(low), abs(high)) / 10**6:
            raise InvalidParameter(
                "the ends of a uniform law", (self.low, self.high), "apart by 1e-6 of their size", "shift the data"
            )
        _keep(self, (low, high), "low", "high")

    @classmethod
    def shapes(cls, parts: Sequence[Any]) -> Shapes:
        return UniformShapes([part.low for part in parts], [part.high for part in parts])

    def times(self, weight: Fraction) -> Component:
        ends = sorted(weight * end for end in self.exact)
        return Uniform(float(ends[0]), float(ends[1]), exact=tuple(ends))

    def sample(self, rng: np.random.Generator, count: int) -> FloatArray:
        return rng.uniform(self.low, self.high, count)


def _keep(component: Any, exact: tuple[Fraction, ...], *names: str) -> None:
    """Store the fractions, and plain floats in the named fields."""
    object.__setattr__(component, "exact", tuple(exact))
    for name in names:
        object.__setattr__(component, name, float(getattr(component, name)))


@attrs.frozen(eq=False)
class Unimodal(Component):
    """The user's own density: rising up to the mode, falling after it, with both tails.

    `accuracy` is the relative error that its three functions are trusted to; the answers are certified given that.
    """

    kind: ClassVar[str] = "user"
    pdf: Callable[[FloatArray], Any]
    cdf: Callable[[FloatArray], Any]
    sf: Callable[[FloatArray], Any]
    mode: float = attrs.field(converter=lambda value: checks.real("mode", value))
    support: tuple[float, float] = (-math.inf, math.inf)
    accuracy: float = 1e-12
    draws: Callable[[np.random.Generator, int], Any] | None = None
    spread: float = attrs.field(init=False, default=1.0)
    logs: Any = attrs.field(default=None, repr=False, kw_only=True)
    exact: tuple[Fraction, ...] = attrs.field(default=(), repr=False, init=False)

    def __attrs_post_init__(self) -> None:
        low, high = (float(end) for end in self.support)
        if not low <= self.mode <= high or low == high:
            raise InvalidParameter("mode", self.mode, f"inside the support {self.support}")
        accuracy = checks.positive("accuracy", self.accuracy)
        if not 1e-15 <= accuracy <= 1e-3:
            raise InvalidParameter("accuracy", self.accuracy, "in [1e-15, 1e-3]")
        peak = float(np.asarray(self.pdf(np.array([self.mode])), dtype=float)[0])
        if not 0.0 < peak < math.inf:
            raise InvalidParameter("the density at the mode", peak, "positive and finite")
        whole = self._number(self.cdf) + self._number(self.sf)
        if not abs(whole - 1.0) <= 1e-6:
            raise InvalidParameter("cdf + sf at the mode", whole, "1", "they must belong to one law")
        object.__setattr__(self, "spread", 1.0 / (2.5 * peak))

    def _number(self, function: Callable[[FloatArray], Any]) -> float:
        return float(np.asarray(function(np.array([self.mode])), dtype=float)[0])

    @classmethod
    def of(cls, dist: Any, mode: float, *, accuracy: float = 1e-12) -> Unimodal:
        """From a frozen scipy distribution with this mode."""
        low, high = dist.support()
        return cls(
            dist.pdf, dist.cdf, dist.sf, mode, (float(low), float(high)), accuracy,
            lambda rng, count: dist.rvs(size=count, random_state=rng), logs=(dist.logpdf, dist.logcdf, dist.logsf),
        )  # fmt: skip

    @classmethod
    def shapes(cls, parts: Sequence[Any]) -> Shapes:
        (part,) = parts
        plain = (part.pdf, part.cdf, part.sf)
        logs = part.logs or tuple(_logged(function) for function in plain)
        return UserShapes(*logs, part.mode, part.spread, part.accuracy, part.support)

    def sample(self, rng: np.random.Generator, count: int) -> FloatArray:
        return super().sample(rng, count) if self.draws is None else np.asarray(self.draws(rng, count), dtype=float)


def _logged(function: Callable[[FloatArray], Any]) -> Callable[[FloatArray], FloatArray]:
    def log(x: FloatArray) -> FloatArray:
        with np.errstate(divide="ignore"):
            return np.log(np.asarray(function(x), dtype=float))

    return log


@attrs.frozen(eq=False, repr=False)
class Mixture:
    """A law that picks component i with probability weights[i].

    >>> Mixture([0.5, 0.5], [Normal(-1.0, 0.3), Normal(1.0, 0.3)]).plus_gaussian(0.25)
    <Mixture of 2 components>
    """

    weights: FloatArray
    components: tuple[Component, ...]

    def __init__(self, weights: Any, components: Sequence[Component]) -> None:
        shares = checks.numbers("weights", weights, "numbers in [0, 1], one for each component", 0.0, 1.0)
        parts = tuple(components) if isinstance(components, Sequence) else ()
        if shares.ndim != 1 or len(parts) != shares.size:
            raise InvalidParameter("components", len(parts), f"as many as weights, {shares.size}")
        for part in parts:
            if not isinstance(part, Component):
                raise InvalidParameter("a component", part, "Normal, Laplace, NormalLaplace, Uniform, Unimodal or Point")
        total = math.fsum(shares)
        if not abs(total - 1.0) <= SUM:
            raise InvalidParameter("the sum of weights", total, "1", "divide them by their sum")
        kept = np.flatnonzero(shares)
        shares = shares[kept] if total == 1.0 else shares[kept] / total
        shares.setflags(write=False)
        self.__attrs_init__(shares, tuple(parts[i] for i in kept))

    @classmethod
    def of(cls, law: Any) -> Mixture:
        """A mixture as it is, a component as a mixture of one."""
        if isinstance(law, Component):
            return cls([1.0], [law])
        if not isinstance(law, Mixture):
            raise InvalidParameter("a law", law, "a Mixture or one component")
        return law

    def _mapped(self, change: Callable[[Component], Component]) -> Mixture:
        return Mixture(self.weights, [change(part) for part in self.components])

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
