"""Independent noise on each share: Gaussian and Laplace, with their certified curves.

With prices kappa_j the noise is spread so that the priced error sum_j kappa_j E|noise_j| is least for its guarantee:
sigma_j = sigma kappa_j^(-1/3) at a given sum_j sigma_j^-2, scale_j = scale kappa_j^(-1/2) at a given sum_j 1/scale_j.

Reference: theory/game.md sections 0 (item 2) and 1 (Theorem 3: mu^2 = sum_j M_j^2, sensitivity 1/K' a coordinate).

Prices of the attributes: kappa_j says how much an error in attribute j costs; 0 says that nobody needs it.

An attribute of price 0 is not published at all: its reference frequency stands in, which tells nothing about members.

Reference: seed 004 P.3 (position-dependent weights); theory/game.md section 4.
"""

from __future__ import annotations

import math
from typing import Any

import attrs
import numpy as np

from quiltwork import checks
from quiltwork.checks import FloatArray
from quiltwork.compose.constructors import gdp, laplace
from quiltwork.compose.loss import Loss, compose
from quiltwork.curves.guarantee import Guarantee
from quiltwork.errors import InvalidParameter
from quiltwork.game.defenders.certified_channel import PlainDefence, statistic_of
from quiltwork.game.defenders.distances import MIN_MU, Neighbours, Rows, neighbours, widest
from quiltwork.game.people.population import Population
from quiltwork.game.people.statistic import Statistic
from quiltwork.game.releases.channel import Channel
from quiltwork.kinds import document
from quiltwork.numbers.rounding import UNIT, down, up

__all__ = ["Gaussian", "Laplace", "prices", "stated"]

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


_HALF_NORMAL = math.sqrt(2.0 / math.pi)  # E|z| of a standard normal z
POOL = "the candidates' rows are public; the guarantee is for this pool of candidates and no other"


@document("gaussian_defender/1")
@attrs.frozen
class Gaussian:
    """Gaussian noise of standard deviation `sigma` on each share."""

    sigma: float
    weights: tuple[float, ...] | None = attrs.field(default=None, converter=stated)

    def __attrs_post_init__(self) -> None:
        checks.moderate("sigma", self.sigma)

    @classmethod
    def at_error(cls, error: float) -> Gaussian:
        """The noise whose mean absolute value is `error`, before clipping."""
        return cls(checks.moderate("error", error) / _HALF_NORMAL)

    @property
    def name(self) -> str:
        """With its size."""
        return f"Gaussian {self.sigma:g}" + ("" if self.weights is None else ", weighted")

    def prepare(self, population: Population | Statistic, *, denominator: str = "members") -> PlainDefence:
        """The defence of one statistic."""
        statistic = statistic_of(population, denominator)
        price = prices(self.weights, statistic.population.size[1])
        kept = price > 0
        spread = np.where(kept, self.sigma * np.where(kept, price, 1.0) ** (-1.0 / 3.0), 0.0)
        channel = _independent("gaussian", spread**2, kept, statistic)
        return PlainDefence(self.name, statistic, channel, lambda rows: _gaussian_proof(statistic, spread, kept, rows))


@document("laplace_defender/1")
@attrs.frozen
class Laplace:
    """Laplace noise of this scale on each share."""

    scale: float
    weights: tuple[float, ...] | None = attrs.field(default=None, converter=stated)

    def __attrs_post_init__(self) -> None:
        checks.moderate("scale", self.scale)

    @classmethod
    def at_error(cls, error: float) -> Laplace:
        """The noise whose mean absolute value is `error`, before clipping."""
        return cls(checks.moderate("error", error))

    @property
    def name(self) -> str:
        """With its size."""
        return f"Laplace {self.scale:g}" + ("" if self.weights is None else ", weighted")

    def prepare(self, population: Population | Statistic, *, denominator: str = "members") -> PlainDefence:
        """The defence of one statistic."""
        statistic = statistic_of(population, denominator)
        price = prices(self.weights, statistic.population.size[1])
        kept = price > 0
        scales = np.where(kept, self.scale * np.where(kept, price, 1.0) ** -0.5, 0.0)
        channel = _independent("laplace", 2.0 * scales**2, kept, statistic)
        return PlainDefence(self.name, statistic, channel, lambda rows: _laplace_proof(statistic, scales, kept, rows))


def _independent(family: Any, variance: FloatArray, kept: Any, statistic: Statistic) -> Channel:
    """Noise on each share; shares that are not published are replaced by their reference frequencies."""
    centre = np.where(kept, 0.0, statistic.population.frequencies)
    return Channel(family, variance, kept.astype(float), centre)


def _gaussian_proof(statistic: Statistic, spread: FloatArray, kept: Any, rows: Rows | None) -> Guarantee:
    """mu = the widest move in units of the noise."""
    moves = neighbours(statistic)
    chosen = asked_rows(rows)
    if not kept.any():
        return _nothing(moves)
    precision = np.where(kept, 1.0 / np.where(kept, spread, 1.0), 0.0)
    if chosen == "any" or moves.whole:
        mu = up(moves.step * math.sqrt(float(np.sum(precision**2)) * (1.0 + 2.0 * len(precision) * UNIT)), 4)
        pair = None
    else:
        mu, pair = widest(moves, "pool", up(precision))
    return _guarantee(
        moves, gdp(max(mu, MIN_MU)), chosen, pair, "Gaussian noise: theory/game.md section 1, Theorem 3 corrected"
    )


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
        return _nothing(moves)
    values, counts = (scales[kept][:1], [count]) if equal else np.unique(scales[kept], return_counts=True)
    parts = [int(n) * _one_share(float(value), moves.step) for value, n in zip(values, counts, strict=True)]
    return _guarantee(moves, compose(*parts), chosen, pair, "composition of Laplace mechanisms, one a share")


def _one_share(scale: float, step: float) -> Loss:
    """Laplace noise on one share, where more noise than curves take counts as the most they do."""
    return laplace(down(scale), max(step, up(MIN_MU * scale, 2)))


def _most_shares(moves: Neighbours, kept: Any) -> tuple[int, tuple[int, int]]:
    """The largest number of shares that one change moves: counts of zeros and ones, which are exact."""
    rows = moves.rows[:, kept]
    ones = rows.sum(axis=1)
    if not moves.swap:
        most = int(np.argmax(ones))
        return int(ones[most]), (most, most)
    differ = ones[:, None] + ones[None, :] - 2.0 * (rows @ rows.T)
    first, second = (int(index) for index in np.unravel_index(int(np.argmax(differ)), differ.shape))
    return round(float(differ[first, second])), (first, second)


def asked_rows(rows: Rows | None) -> Rows:
    """What a certificate is asked for; any rows if nothing is said."""
    if rows not in (None, "any", "pool"):
        raise InvalidParameter("rows", rows, "'any' or 'pool'")
    return "any" if rows is None else rows


def _nothing(moves: Neighbours) -> Guarantee:
    return Guarantee(compose(), moves.protects, (), ("what is released does not depend on the members",))


def _guarantee(moves: Neighbours, loss: Loss, rows: Rows, pair: tuple[int, int] | None, because: str) -> Guarantee:
    assumes = (POOL,) if rows == "pool" else ("attributes are in [0, 1]",)
    witness = None
    if pair is not None:
        words = f"candidate {pair[0]} in the place of candidate {pair[1]}" if moves.swap else f"candidate {pair[0]}"
        witness = words
    return Guarantee(loss, moves.protects, assumes, (because,), witness)
