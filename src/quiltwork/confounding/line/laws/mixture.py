"""Mixtures of laws on the line."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import attrs
import numpy as np

from quiltwork import checks
from quiltwork.checks import FloatArray
from quiltwork.confounding.line.laws.component import Component
from quiltwork.errors import InvalidParameter
from quiltwork.kinds import document
from quiltwork.numbers.laws import TOLERANCE, Laws
from quiltwork.numbers.rounding import UNIT
from quiltwork.numbers.stated import typed

__all__ = ["Mixture", "table_weights"]

MAX_RELATIVE_WIDTH = 1e-6  # how well probabilities of values must be known that get noise
MIN_WEIGHT = 1e-300  # smaller ones are not known to a few units: doubles lose their digits there


def _shares(value: Any) -> FloatArray:
    allowed = "a list of numbers in [0, 1], one for each component"
    found = checks.numbers("weights", value, allowed, 0.0, 1.0)
    if found.ndim != 1:
        raise InvalidParameter("weights", value, allowed)
    if bool(np.any((found > 0) & (found < MIN_WEIGHT))):
        raise InvalidParameter("a positive weight", float(found[found > 0].min()), "at least 1e-300", "use zero")
    return found


def _parts(value: Any) -> tuple[Component, ...]:
    if isinstance(value, (str, bytes)) or not hasattr(value, "__iter__"):
        raise InvalidParameter("components", value, "a list of components")
    parts = tuple(value)
    for part in parts:
        if not isinstance(part, Component):
            raise InvalidParameter("a component", part, "Normal, Laplace, NormalLaplace, Uniform, Unimodal or Point")
    return parts


@document("line_mixture/1", restore="weights")
@attrs.frozen(eq=False, repr=False)
class Mixture:
    """A law that picks component i with probability weights[i].

    >>> from quiltwork.confounding.line.laws.components import Normal
    >>> Mixture([0.5, 0.5], [Normal(-1.0, 0.3), Normal(1.0, 0.3)]).plus_gaussian(0.25)
    <Mixture of 2 components>
    """

    weights: FloatArray = attrs.field(converter=_shares)
    components: tuple[Component, ...] = attrs.field(converter=_parts)
    # the weights in fractions, if None the decimals typed, and nothing when they are not known so well; and by how many
    # units of roundoff the weights may be off, besides the few of any stated number
    exact: tuple[Fraction, ...] | None = attrs.field(default=None, kw_only=True)
    units: float = attrs.field(default=0.0, kw_only=True)

    def __attrs_post_init__(self) -> None:
        shares, parts = self.weights, self.components
        if len(parts) != shares.size:
            raise InvalidParameter("components", len(parts), f"as many as weights, {shares.size}")
        total = math.fsum(shares)
        if not abs(total - 1.0) <= TOLERANCE:
            raise InvalidParameter("the sum of weights", total, "1", "divide them by their sum")
        kept = np.flatnonzero(shares)
        exact = tuple(typed(share) for share in shares) if self.exact is None else self.exact
        whole = sum(exact)
        object.__setattr__(self, "exact", tuple(exact[i] / whole for i in kept) if exact else ())
        shares = shares[kept] if total == 1.0 else shares[kept] / total
        shares.setflags(write=False)
        object.__setattr__(self, "weights", shares)
        object.__setattr__(self, "components", tuple(parts[i] for i in kept))

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
