"""The laws that a component of a mixture may have: a point, normal, Laplace, the sum of both, uniform, the user's own.

Reference: theory/confounding.md section 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any, ClassVar

import attrs
import numpy as np

from quiltwork.checks import FloatArray
from quiltwork.confounding.line.laws.component import Component, exactly, masses, placed, root, size
from quiltwork.confounding.line.laws.densities import LaplaceShapes, NormalShapes, Shapes, UniformShapes
from quiltwork.confounding.line.laws.mixture import Mixture
from quiltwork.confounding.line.laws.normal_laplace import NormalLaplaceShapes
from quiltwork.confounding.line.laws.user import Unimodal
from quiltwork.errors import InvalidParameter
from quiltwork.kinds import document

__all__ = [
    "Component",
    "Laplace",
    "Mixture",
    "Normal",
    "NormalLaplace",
    "Point",
    "Uniform",
    "Unimodal",
    "exactly",
    "masses",
]


def _keep(component: Any, exact: tuple[Fraction, ...], *names: str) -> None:
    """Store the fractions, and plain floats in the named fields."""
    object.__setattr__(component, "exact", tuple(exact))
    for name in names:
        object.__setattr__(component, name, float(getattr(component, name)))


@document("point/1")
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


@document("normal/1")
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
        _keep(self, self.exact or (exactly("mean", self.mean), size("sd", self.sd) ** 2), "mean", "sd")
        placed(self.exact[0], self.sd)

    @classmethod
    def of(cls, mean: Fraction, variance: Fraction) -> Normal:
        """From exact fractions."""
        return cls(float(mean), root(variance), exact=(mean, variance))

    @classmethod
    def shapes(cls, parts: Sequence[Any]) -> Shapes:
        return NormalShapes([part.mean for part in parts], [part.sd for part in parts])

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
    mean: float = attrs.field()
    scale: float = attrs.field()
    exact: tuple[Fraction, ...] = attrs.field(default=(), repr=False, kw_only=True)

    def __attrs_post_init__(self) -> None:
        _keep(self, self.exact or (exactly("mean", self.mean), size("scale", self.scale)), "mean", "scale")
        placed(self.exact[0], self.scale)

    @classmethod
    def of(cls, mean: Fraction, scale: Fraction) -> Laplace:
        """From exact fractions."""
        return cls(float(mean), float(size("scale", scale)), exact=(mean, scale))

    @classmethod
    def shapes(cls, parts: Sequence[Any]) -> Shapes:
        return LaplaceShapes([part.mean for part in parts], [part.scale for part in parts])

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
    mean: float = attrs.field()
    sd: float = attrs.field()
    scale: float = attrs.field()
    exact: tuple[Fraction, ...] = attrs.field(default=(), repr=False, kw_only=True)

    def __attrs_post_init__(self) -> None:
        exact = self.exact or (exactly("mean", self.mean), size("sd", self.sd) ** 2, size("scale", self.scale))
        _keep(self, exact, "mean", "sd", "scale")
        placed(self.exact[0], max(self.sd, self.scale))

    @classmethod
    def of(cls, mean: Fraction, variance: Fraction, scale: Fraction) -> NormalLaplace:
        """From exact fractions."""
        sd, spread = root(variance), float(size("scale", scale))
        return cls(float(mean), sd, spread, exact=(mean, variance, scale))

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


@document("uniform/1")
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
