"""Continuous noise on the data, and what several noises amount to: readings of weighted sums.

Gaussian noises on one number x are equivalent to one noise on x: for y_i = c_i x + n_i with Cov(n) = N the precision is
c' N^-1 c, that is the sum of 1/sigma_i^2 when they are independent.  So any number of releases is one release.

Reference: theory/confounding.md section 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import attrs

from quiltwork import checks
from quiltwork.confounding.line.gaussian import separations
from quiltwork.confounding.line.laws.components import exactly
from quiltwork.confounding.line.laws.vectors import Row, Square, exact_matrix
from quiltwork.errors import InvalidParameter
from quiltwork.kinds import document

KINDS = ("gaussian", "laplace")


@document("noise/1")
@attrs.frozen
class Noise:
    """Noise of this kind and scale (standard deviation, or Laplace scale; 0 releases the value itself)."""

    kind: str
    scale: float
    reads: tuple[float, ...] | None = None


def noise(kind: str, scale: float, reads: Any = None) -> Noise:
    """Noise on the data: `reads` are the weights of the coordinates that are read, all of x if it is a number."""
    checks.one_of("kind", kind, KINDS)
    spread = checks.non_negative("scale", scale)
    if reads is None:
        return Noise(kind, spread)
    weights = checks.numbers("reads", reads, "finite weights, one for each coordinate", -1e100, 1e100)
    return Noise(kind, spread, tuple(float(weight) for weight in weights.ravel()))


@document("readings/1")
@attrs.frozen
class Readings:
    """Each row is read and gets noise of this kind and scale; Gaussian noises may be correlated."""

    rows: tuple[Row, ...]
    kinds: tuple[str, ...]
    scales: tuple[Fraction, ...]
    correlation: Square | None = None

    @property
    def gaussian(self) -> bool:
        """Whether all noise is Gaussian."""
        return all(kind == "gaussian" for kind in self.kinds)

    def covariance(self) -> list[list[Fraction]]:
        """Of the noises, when all are Gaussian."""
        count = len(self.scales)
        tied = self.correlation or identity(count)
        return [[self.scales[i] * self.scales[j] * tied[i][j] for j in range(count)] for i in range(count)]

    def direction(self) -> tuple[Row, list[Fraction]] | None:
        """One row r and multiples c_i with rows_i = c_i r, when all readings are of one number; None otherwise."""
        base = next((row for row in self.rows if any(row)), None)
        if base is None:
            return self.rows[0], [Fraction(0)] * len(self.rows)
        pivot = next(index for index, value in enumerate(base) if value)
        factors = [row[pivot] / base[pivot] for row in self.rows]
        alike = all(
            value == factor * of for row, factor in zip(self.rows, factors, strict=True)
            for value, of in zip(row, base, strict=True)
        )  # fmt: skip
        return (base, factors) if alike else None

    def precision(self, factors: Sequence[Fraction]) -> Fraction | None:
        """c' N^-1 c of Gaussian noises; None when some combination has no noise."""
        zero = [Fraction(0)] * len(factors)
        return separations(self.covariance(), [zero, list(factors)])[0][1]


def readings(noises: Sequence[Any], correlation: Any, dimension: int) -> Readings:
    """From what the user wrote: numbers (Gaussian noise of this standard deviation on x) and Noise values."""
    if not noises:
        raise InvalidParameter("noises", "none", "at least one noise", "a number is the sd of Gaussian noise on x")
    found: list[tuple[Row, str, Fraction]] = []
    for given in noises:
        one = given if isinstance(given, Noise) else Noise("gaussian", checks.non_negative("a noise", given))
        scale = exactly("scale", one.scale)
        found += [(row, one.kind, scale) for row in _rows(one, dimension)]
    rows, kinds, scales = zip(*found, strict=True)
    matrix = None
    if correlation is not None:
        matrix = exact_matrix("correlation", correlation, len(rows))
        if any(matrix[i][i] != 1 for i in range(len(rows))):
            raise InvalidParameter("correlation", [float(matrix[i][i]) for i in range(len(rows))], "1 on the diagonal")
        if any(kind != "gaussian" for kind in kinds):
            raise InvalidParameter("correlation", correlation, "given for Gaussian noises only")
        separations(matrix, [[Fraction(0)] * len(rows)])  # refuses what is no correlation
    return Readings(rows, kinds, scales, matrix)


def identity(size: int) -> Square:
    """The identity matrix in fractions."""
    return tuple(tuple(Fraction(int(i == j)) for j in range(size)) for i in range(size))


def _rows(one: Noise, dimension: int) -> list[Row]:
    if one.reads is None:
        return list(identity(dimension))
    if len(one.reads) != dimension:
        raise InvalidParameter("reads", one.reads, f"{dimension} weights, one for each coordinate")
    return [tuple(exactly("a weight in reads", weight) for weight in one.reads)]
