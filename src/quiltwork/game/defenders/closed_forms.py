"""Noise that follows the data's own covariance: water-filling, and Gaussian rate-distortion (shrink, then add noise).

With Cov(x) = U diag(s) U' over the prior:

    water-filling     noise variance nu_i = (-s_i + sqrt(s_i^2 + 2 s_i t)) / 2, which minimises leakage plus error;
    rate-distortion   D_i = min(t, s_i), a_i = 1 - D_i / s_i:  x -> centre + U (a U'(x - centre) + sqrt(a D) z),
                      which leaks 1/2 sum_i log(s_i / D_i) and is optimal for mutual information against mean square
                      error when x is normal.

t is found by bisection so that the mean absolute error before clipping is the one asked for.  Noise follows the pool of
candidates, so the certificate is for this pool: mu = max over swaps of |sqrt(a / D) U'(d_k - d_l)| / n.

Reference: theory/game.md section 4, closed forms and certificate.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import ClassVar

import attrs
import numpy as np

from quiltwork import checks
from quiltwork.checks import FloatArray
from quiltwork.compose.constructors import gdp
from quiltwork.curves.guarantee import Guarantee
from quiltwork.errors import InvalidParameter, Unsupported
from quiltwork.game.defenders.certificates import PlainDefence, Rows, neighbours, statistic_of, widest
from quiltwork.game.defenders.noise import HALF_NORMAL, POOL, nothing, prices, stated
from quiltwork.game.people.population import Population, Statistic
from quiltwork.game.releases import Channel
from quiltwork.kinds import document
from quiltwork.numbers.rounding import down, up

_RANK = 1e-10  # of the largest variance: directions below it are not released at all
_ALIKE_ROWS = 1e-13  # of the rows' own size: differences below it are rounding, and the candidates count as alike
_MAX_LEVEL_RANGE = 1e200  # levels are sought within this factor of the largest variance
_HALVINGS = 200

Shape = Callable[[FloatArray, float], tuple[FloatArray, FloatArray, FloatArray]]  # scales, noise, errors of directions


def _distortion(variances: FloatArray, level: float) -> tuple[FloatArray, FloatArray, FloatArray]:
    error = np.minimum(level, variances)
    scale = np.where(error < variances, 1.0 - error / variances, 0.0)
    return scale, scale * error, error


def _filling(variances: FloatArray, level: float) -> tuple[FloatArray, FloatArray, FloatArray]:
    # (-s + sqrt(s^2 + 2 s t)) / 2 without cancellation
    noise = variances * level / (variances + np.sqrt(variances * (variances + 2.0 * level)))
    return np.ones_like(variances), noise, noise


_SHAPES: dict[str, Shape] = {"rate-distortion": _distortion, "water-filling": _filling}


@attrs.frozen
class _AtError:
    """What both closed forms are told: a mean absolute error before clipping, and prices of the attributes."""

    error: float = attrs.field(validator=checks.field(checks.moderate))
    weights: tuple[float, ...] | None = attrs.field(default=None, converter=stated)

    kind: ClassVar[str]

    @property
    def name(self) -> str:
        """With its error."""
        return f"{self.kind} {self.error:g}" + ("" if self.weights is None else ", weighted")

    def prepare(self, population: Population | Statistic, *, denominator: str = "members") -> PlainDefence:
        """The defence of one statistic; rate-distortion at an error that the mean itself meets is the constant."""
        statistic, shape = statistic_of(population, denominator), _SHAPES[self.kind]
        price = prices(self.weights, statistic.population.size[1])
        kept = price > 0
        if not kept.any():
            raise InvalidParameter("weights", "all 0", "some attribute with a price: otherwise publish a constant")
        basis, singular, _ = np.linalg.svd(statistic.factor * price[:, None], full_matrices=False)
        variances = singular**2
        strong = (variances > _RANK * variances.max(initial=0.0)) & (singular > _ALIKE_ROWS * _size(statistic, price))
        centre = np.where(kept, statistic.mean, statistic.population.frequencies)
        basis, variances = basis[:, strong], variances[strong]
        scale: FloatArray = np.zeros(0)
        noise = scale
        if strong.any():  # else all candidates are alike: the mean is the statistic
            scale, noise, _ = shape(variances, _level(self.error, basis, variances, shape))
        inverse = np.where(kept, 1.0 / np.where(kept, price, 1.0), 0.0)
        channel = Channel("gaussian", noise, scale, centre, basis * price[:, None], basis * inverse[:, None])
        return PlainDefence(self.name, statistic, channel, lambda rows: _proof(statistic, channel, rows))


@document("rate_distortion/1")
class RateDistortion(_AtError):
    """The least leakage for a mean absolute error: shrink towards the mean, then add noise, direction by direction."""

    kind = "rate-distortion"


@document("water_filling/1")
class WaterFilling(_AtError):
    """Noise alone, more of it where the statistic varies more."""

    kind = "water-filling"


def _size(statistic: Statistic, price: FloatArray) -> float:
    """The size that the factor of the statistic would have without subtracting the mean."""
    rows, people = statistic.population.candidates, statistic.population.size[0]
    rates = statistic.population.prior.rates(people)
    step = 2.0 / people if statistic.denominator == "fixed" else 1.0 / float(rates.sum())
    return step * float(np.linalg.norm(rows * price * np.sqrt(statistic.variances)[:, None]))


def _level(error: float, basis: FloatArray, variances: FloatArray, shape: Shape) -> float:
    """t with sqrt(2/pi) mean_j sd_j = error, by bisection; beyond every variance for an error that needs no data."""
    squares = basis**2

    def reached(level: float) -> float:
        return HALF_NORMAL * float(np.mean(np.sqrt(squares @ shape(variances, level)[2])))

    most = float(variances.max())
    low, high = max(most / _MAX_LEVEL_RANGE, 1e-300), 2.0 * most
    while reached(high) < error:
        if shape is _distortion:
            return high
        if high > _MAX_LEVEL_RANGE * most:
            raise InvalidParameter("error", error, f"at most {reached(high):.3g} for these candidates")
        high *= 16.0
    for _ in range(_HALVINGS):
        middle = math.sqrt(low) * math.sqrt(high)  # their product could underflow
        if not low < middle < high:
            break
        low, high = (middle, high) if reached(middle) < error else (low, middle)
    return low


def _proof(statistic: Statistic, channel: Channel, rows: Rows | None) -> Guarantee:
    """The output is a function of scale * B'(x - centre) + independent noise: mu is the widest move of that."""
    moves = neighbours(statistic)
    if rows == "any":
        raise Unsupported("a guarantee for any rows", "this noise follows the candidates' rows", "ask for rows='pool'")
    if rows not in (None, "pool"):
        raise InvalidParameter("rows", rows, "'pool'")
    if moves.whole:
        raise Unsupported(
            "a certificate for means of a random number of members",
            "one person may be all of the data",
            "use the exactly-half prior or a fixed denominator",
        )
    active = channel.scale > 0
    if not active.any() or channel.basis is None:
        return nothing(moves, (POOL,))
    strength = up(channel.scale[active] / down(np.sqrt(channel.variance[active])), 2)
    mu, pair = widest(moves, "pool", channel.basis[:, active] * strength)
    witness = None if pair is None else f"candidates {pair[0]} and {pair[1]}"
    because = "theory/game.md section 4: Gaussian noise in the basis of the statistic, certificate for swaps"
    return Guarantee(gdp(up(mu, 2)), moves.protects, (POOL,), (because,), witness)
