"""Normal laws of several numbers at once, and mixtures of them, with parameters as exact fractions."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import attrs
import numpy as np

from quiltwork.checks import FloatArray, settle
from quiltwork.confounding.line.gaussian import product, separations
from quiltwork.confounding.line.laws.components import Component, Mixture, Normal, Point, exactly, shares, total
from quiltwork.errors import InvalidParameter
from quiltwork.kinds import document

MAX_COORDINATES = 64

Row = tuple[Fraction, ...]
Square = tuple[Row, ...]


def exact_vector(name: str, values: Any) -> Row:
    """Numbers as the decimals typed; one number is a vector of one."""
    if isinstance(values, (str, bytes)):
        raise InvalidParameter(name, values, "a number or a vector of numbers")
    listed = list(np.ravel(np.asarray(values, dtype=object))) if np.ndim(values) else [values]
    if not 1 <= len(listed) <= MAX_COORDINATES or np.ndim(values) > 1:
        raise InvalidParameter(name, values, f"a number, or a vector of 1 to {MAX_COORDINATES} numbers")
    return tuple(exactly(name, value) for value in listed)


def exact_matrix(name: str, values: Any, size: int) -> Square:
    """A symmetric matrix of this size, as the decimals typed."""
    given = np.asarray(values, dtype=object)
    if given.shape != (size, size):
        raise InvalidParameter(f"the shape of {name}", given.shape, f"({size}, {size})")
    rows = tuple(tuple(exactly(name, entry) for entry in row) for row in given)
    if any(rows[i][j] != rows[j][i] for i in range(size) for j in range(i)):
        raise InvalidParameter(name, "a matrix that is not symmetric", "symmetric")
    return rows


def _shares(value: Any) -> FloatArray:
    found = shares(value)
    return found / total(found)


def _places(value: Any) -> tuple[Row, ...]:
    return tuple(exact_vector("a mean", mean) for mean in _listed(value))


def _listed(value: Any) -> tuple[Any, ...]:
    if isinstance(value, (str, bytes)) or not hasattr(value, "__len__") or not len(value):
        raise InvalidParameter("means and covariances", value, "lists, with one entry for each component")
    return tuple(value)


@document("normal_vectors/1", restore="weights")
@attrs.frozen(eq=False, repr=False)
class NormalVectors:
    """A mixture of normal laws of vectors; one component is the ordinary case.

    >>> NormalVectors([1.0], [[0, 0]], [[[1, 0.5], [0.5, 1]]]).read((Fraction(1), Fraction(1))).components[0].exact[1]
    Fraction(3, 1)
    """

    weights: FloatArray = attrs.field(converter=_shares)
    means: tuple[Row, ...] = attrs.field(converter=_places)
    covariances: tuple[Square, ...] = attrs.field(converter=_listed)

    def __attrs_post_init__(self) -> None:
        counts = (self.weights.size, len(self.means), len(self.covariances))
        if len(set(counts)) > 1:
            raise InvalidParameter("weights, means and covariances", counts, "as many of each")
        size = len(self.means[0])
        if any(len(place) != size for place in self.means):
            raise InvalidParameter("the means", [len(place) for place in self.means], "vectors of one length")
        squares = tuple(exact_matrix("a covariance", matrix, size) for matrix in self.covariances)
        for square in set(squares):
            separations(square, [self.means[0]])  # refuses a matrix with a negative direction
        settle(self, covariances=squares)

    @property
    def dimension(self) -> int:
        """How many coordinates there are."""
        return len(self.means[0])

    def read(self, weights: Row) -> Mixture:
        """The law of a weighted sum of the coordinates."""

        def one(mean: Row, square: Square) -> Component:
            place = product([weights], [[value] for value in mean])[0][0]
            spread = product(product([weights], square), [[weight] for weight in weights])[0][0]
            return Normal.of(place, spread) if spread > 0 else Point.of(place)

        parts = [one(*pair) for pair in zip(self.means, self.covariances, strict=True)]
        return Mixture(self.weights, parts, exact=None if len(parts) == 1 else ())  # several were divided by their sum

    def __repr__(self) -> str:
        return f"<NormalVectors: {len(self.means)} in {self.dimension} dimensions>"
