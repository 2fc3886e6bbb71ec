"""Independent noise on each share, Gaussian or Laplace, with its certified curve; and its ends: a constant, or none.

With prices kappa_j the noise is spread so that the priced error sum_j kappa_j E|noise_j| is least for its guarantee:
sigma_j = sigma kappa_j^(-1/3) at a given sum_j sigma_j^-2, scale_j = scale kappa_j^(-1/2) at a given sum_j 1/scale_j.
kappa_j says how much an error in attribute j costs; 0 says that nobody needs it, and then it is not published at all:
its reference frequency stands in, which tells nothing about members.

A defence that is worse than a constant at its own error is useless; that is the test every learned defence must pass.

Reference: theory/game.md sections 0 (item 2), 1 (Theorem 3: mu^2 = sum_j M_j^2, sensitivity 1/K' a coordinate) and 4;
seed 004 P.3 (position-dependent weights).
"""

from __future__ import annotations

import math
from typing import Any, ClassVar, Literal

import attrs
import numpy as np

from quiltwork import checks
from quiltwork.checks import FloatArray
from quiltwork.compose.constructors import gdp, laplace
from quiltwork.compose.loss import Loss, compose
from quiltwork.curves.guarantee import Guarantee
from quiltwork.errors import InvalidParameter, Unsupported
from quiltwork.game.defenders.certificates import (
    MIN_MU,
    Neighbours,
    PlainDefence,
    Rows,
    farthest,
    neighbours,
    statistic_of,
    widest,
)
from quiltwork.game.people.population import Population, Statistic
from quiltwork.game.releases import Channel
from quiltwork.kinds import document
from quiltwork.numbers.rounding import UNIT, down, up

_HIGHEST = 1e6


def stated(weights: Any) -> tuple[float, ...] | None:
    """Prices as a tuple of numbers, or None when all attributes cost the same."""
    if weights is None:
        return None
    values = checks.numbers("weights", weights, f"numbers in [0, {_HIGHEST:g}], one an attribute", 0.0, _HIGHEST)
    if values.ndim != 1:
        raise InvalidParameter("weights", f"shape {values.shape}", "a list of numbers, one an attribute")
    if bool(np.any((values > 0) & (values < 1 / _HIGHEST))):
        raise InvalidParameter("weights", weights, f"0, or from {1 / _HIGHEST:g} to {_HIGHEST:g}")
    return tuple(float(value) for value in values)


def prices(weights: tuple[float, ...] | None, attributes: int) -> FloatArray:
    """One price an attribute."""
    if weights is None:
        return np.ones(attributes)
    if len(weights) != attributes:
        raise InvalidParameter("weights", len(weights), f"{attributes} numbers, one an attribute")
    return np.asarray(weights, dtype=float)


HALF_NORMAL = math.sqrt(2.0 / math.pi)  # E|z| of a standard normal z
POOL = "the candidates' rows are public; the guarantee is for this pool of candidates and no other"


@attrs.frozen
class _Independent:
    """Noise of one family on each share; shares of price 0 are replaced by their reference frequencies."""

    _family: ClassVar[Literal["gaussian", "laplace"]]

    @property
    def name(self) -> str:
        """With its size."""
        size, weights = attrs.astuple(self, recurse=False)
        return f"{self._family.title()} {size:g}" + ("" if weights is None else ", weighted")

    def prepare(self, population: Population | Statistic, *, denominator: str = "members") -> PlainDefence:
        """The defence of one statistic."""
        size, weights = attrs.astuple(self, recurse=False)
        statistic = statistic_of(population, denominator)
        price = prices(weights, statistic.population.size[1])
        kept = price > 0
        power, variance, proof = _FAMILIES[self._family]
        sizes = np.where(kept, size * np.where(kept, price, 1.0) ** power, 0.0)
        centre = np.where(kept, 0.0, statistic.population.frequencies)
        channel = Channel(self._family, variance * sizes**2, kept.astype(float), centre)
        return PlainDefence(self.name, statistic, channel, lambda rows: proof(statistic, sizes, kept, rows))


@document("gaussian_defender/1")
@attrs.frozen
class Gaussian(_Independent):
    """Gaussian noise of standard deviation `sigma` on each share."""

    sigma: float = attrs.field(validator=checks.field(checks.moderate))
    weights: tuple[float, ...] | None = attrs.field(default=None, converter=stated)

    _family = "gaussian"

    @classmethod
    def at_error(cls, error: float) -> Gaussian:
        """The noise whose mean absolute value is `error`, before clipping."""
        return cls(checks.moderate("error", error) / HALF_NORMAL)


@document("laplace_defender/1")
@attrs.frozen
class Laplace(_Independent):
    """Laplace noise of this scale on each share."""

    scale: float = attrs.field(validator=checks.field(checks.moderate))
    weights: tuple[float, ...] | None = attrs.field(default=None, converter=stated)

    _family = "laplace"

    @classmethod
    def at_error(cls, error: float) -> Laplace:
        """The noise whose mean absolute value is `error`, before clipping."""
        return cls(checks.moderate("error", error))


def _gaussian_proof(statistic: Statistic, spread: FloatArray, kept: Any, rows: Rows | None) -> Guarantee:
    """mu = the widest move in units of the noise."""
    moves = neighbours(statistic)
    chosen = asked_rows(rows)
    if not kept.any():
        return nothing(moves)
    precision = np.where(kept, 1.0 / np.where(kept, spread, 1.0), 0.0)
    if chosen == "any" or moves.whole:
        mu = up(moves.step * math.sqrt(float(np.sum(precision**2)) * (1.0 + 2.0 * len(precision) * UNIT)), 4)
        pair = None
    else:
        mu, pair = widest(moves, "pool", up(precision))
    because = "Gaussian noise: theory/game.md section 1, Theorem 3 corrected"
    return promise(moves, gdp(max(mu, MIN_MU)), chosen, pair, because)


def _laplace_proof(statistic: Statistic, scales: FloatArray, kept: Any, rows: Rows | None) -> Guarantee:
    """Each share that can move is a Laplace mechanism of its own; they compose exactly."""
    moves = neighbours(statistic)
    chosen = asked_rows(rows)
    count = int(kept.sum())
    pair = None
    equal = count > 0 and bool(np.all(scales[kept] == scales[kept][0]))
    if chosen == "pool" and equal and not moves.whole and statistic.population.binary:
        count, pair = _most_shares(moves, kept)
    if count == 0:
        return nothing(moves)
    values, counts = (scales[kept][:1], [count]) if equal else np.unique(scales[kept], return_counts=True)
    # more noise than curves take counts as the most they do
    steps = [max(moves.step, up(MIN_MU * float(value), 2)) for value in values]
    parts = [int(n) * laplace(down(float(value)), step) for value, n, step in zip(values, counts, steps, strict=True)]
    return promise(moves, compose(*parts), chosen, pair, "composition of Laplace mechanisms, one a share")


# the power of a price that the noise is spread by, its variance at size 1, and its certificate
_FAMILIES = {"gaussian": (-1.0 / 3.0, 1.0, _gaussian_proof), "laplace": (-0.5, 2.0, _laplace_proof)}


def _most_shares(moves: Neighbours, kept: Any) -> tuple[int, tuple[int, int]]:
    """The largest number of shares that one change moves: counts of zeros and ones, which are exact."""
    square, pair = farthest(moves.rows[:, kept], moves.swap)
    return round(square), pair


def asked_rows(rows: Rows | None) -> Rows:
    """What a certificate is asked for; any rows if nothing is said."""
    return "any" if rows is None else checks.one_of("rows", rows, ("any", "pool"))


def nothing(moves: Neighbours, assumes: tuple[str, ...] = ()) -> Guarantee:
    """The promise of a constant."""
    return Guarantee(compose(), moves.protects, assumes, ("what is released does not depend on the members",))


def promise(moves: Neighbours, loss: Loss, rows: Rows, pair: tuple[int, int] | None, because: str) -> Guarantee:
    """The loss of noise, with the words that make it a promise."""
    assumes = (POOL,) if rows == "pool" else ("attributes are in [0, 1]",)
    witness = None if pair is None else f"candidate {pair[0]}"
    if pair is not None and moves.swap:
        witness = f"{witness} in the place of candidate {pair[1]}"
    return Guarantee(loss, moves.protects, assumes, (because,), witness)


@document("constant_defender/1")
@attrs.frozen
class Constant:
    """The mean over all candidates (`at="candidates"`, whose rows are then public), or the reference frequencies."""

    at: Literal["candidates", "reference"] = attrs.field(
        default="candidates", validator=checks.field(checks.one_of, ("candidates", "reference"))
    )

    @property
    def name(self) -> str:
        """What is published."""
        return "constant: candidates' mean" if self.at == "candidates" else "constant: reference frequencies"

    def prepare(self, population: Population | Statistic, *, denominator: str = "members") -> PlainDefence:
        """The defence of one statistic."""
        statistic = statistic_of(population, denominator)
        attributes = statistic.population.size[1]
        centre = statistic.mean if self.at == "candidates" else statistic.population.frequencies
        channel = Channel("none", np.zeros(attributes), np.zeros(attributes), centre)
        assumes = POOL if self.at == "candidates" else "the reference sample is public"

        def prove(rows: Rows | None) -> Guarantee:
            asked_rows(rows)
            return nothing(neighbours(statistic), (assumes,))

        return PlainDefence(self.name, statistic, channel, prove)


@document("exact_defender/1")
@attrs.frozen
class Exact:
    """No defence: the statistic itself."""

    @property
    def name(self) -> str:
        """None at all."""
        return "no defence"

    def prepare(self, population: Population | Statistic, *, denominator: str = "members") -> PlainDefence:
        """The release without noise."""
        statistic = statistic_of(population, denominator)
        attributes = statistic.population.size[1]
        channel = Channel("none", np.zeros(attributes), np.ones(attributes), np.zeros(attributes))

        def prove(rows: Rows | None) -> Guarantee:
            raise Unsupported("a certificate of a release without noise", "it protects nobody")

        return PlainDefence(self.name, statistic, channel, prove)
