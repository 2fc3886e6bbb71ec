"""Trade-off functions made of straight pieces, given by their vertices."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import attrs
import numpy as np

from quiltwork import checks
from quiltwork.checks import FloatArray
from quiltwork.curves.curve import BaseCurve, Ends
from quiltwork.curves.polygons.conjugate import certified_epsilon
from quiltwork.curves.polygons.hull import falls, tradeoff_hull
from quiltwork.document.charts import ERRORS
from quiltwork.document.draw import notebook as markup
from quiltwork.errors import InvalidParameter
from quiltwork.kinds import document
from quiltwork.numbers.digits import at_least
from quiltwork.numbers.json import check_schema, json_numbers, plain_numbers
from quiltwork.numbers.rounding import UNIT, difference, down, scaled, up

if TYPE_CHECKING:
    from quiltwork.curves.polygons.profile import Profile
    from quiltwork.curves.polygons.region import Region

_SCHEMA = "quiltwork/tradeoff/1"
_METHOD = "exact trade-off"
_DENT = 1e-12  # a vertex may lie this far above its neighbours' chord by rounding; further up it is a mistake


def _alphas(value: Any) -> FloatArray:
    return checks.numbers("alphas", value, "numbers in [0, 1]", 0.0, 1.0) + 0.0


def _betas(value: Any) -> FloatArray:
    return checks.numbers("betas", value, "numbers in [0, 1]", 0.0, 1.0) + 0.0


def _powers(value: Any) -> FloatArray:
    return np.zeros(0) if value is None else checks.numbers("powers", value, "numbers in [0, 1]", 0.0, 1.0) + 0.0


def array_key(array: FloatArray) -> bytes:
    """What tells one array from another."""
    return array.tobytes()


@document("tradeoff/1", plain=True)
@attrs.frozen(repr=False)
class TradeOff(BaseCurve):
    """The convex decreasing function through the vertices (alpha_i, beta_i), from (0, f(0)) to (1, 0).

    f(alpha) is the least type II error of a test with type I error alpha.  Vertices must be convex; with `hull=True`
    any points are taken and f is their lower convex hull.  A last vertex (a, 0) with a < 1 is continued to (1, 0).

    `powers` = 1 - betas matter only where beta > 1/2: there they, not the betas, define the vertex, so that a delta far
    below 1e-16 survives.  They are computed (without loss) when not given.

    Parameters
    ----------
    alphas
        Type I errors, rising.
    betas
        The least type II errors there.
    powers
        1 - beta, where its digits matter.
    hull
        Whether the lower hull of the points is taken.

    Examples
    --------
    >>> coin = TradeOff([0.0, 0.25, 1.0], [1.0, 0.25, 0.0])
    >>> coin.beta(0.25).safe, round(coin.epsilon(0.0).safe, 6)
    (0.25, 1.098612)
    """

    alphas: FloatArray = attrs.field(converter=_alphas, eq=array_key)
    betas: FloatArray = attrs.field(converter=_betas, eq=array_key)
    powers: FloatArray = attrs.field(converter=_powers, eq=array_key, default=None)
    hull: bool = attrs.field(default=False, kw_only=True, eq=False)
    _slopes: FloatArray = attrs.field(init=False, eq=False)

    def __attrs_post_init__(self) -> None:
        alphas, betas, powers = self.alphas, self.betas, self.powers
        if alphas.ndim != 1 or alphas.shape != betas.shape:
            shapes = (alphas.shape, betas.shape)
            raise InvalidParameter("the shapes of alphas and betas", shapes, "two lists of one length")
        if not powers.size:
            powers = 1.0 - betas
        if powers.shape != betas.shape or bool(np.any(np.abs(betas - (1.0 - powers)) > _DENT)):
            raise InvalidParameter("powers", powers, "1 - betas, one for each")
        high = (betas > 0.5) & (powers < 0.5)
        betas, powers = np.where(high, 1.0 - powers, np.minimum(betas, 0.5)), np.where(high, powers, 1.0 - betas)
        if self.hull:
            order = np.lexsort((betas, -powers, alphas))
            alphas, betas, powers = alphas[order], betas[order], powers[order]
            fresh = np.concatenate(([True], np.diff(alphas) > 0))
            alphas, betas, powers = alphas[fresh], betas[fresh], powers[fresh]
            sinks = (betas <= np.minimum.accumulate(betas)) & (powers >= np.maximum.accumulate(powers))
            alphas, betas, powers = alphas[sinks], betas[sinks], powers[sinks]
        elif bool(np.any(np.diff(alphas) <= 0)) or bool(np.any(np.diff(betas) > 0)):
            raise InvalidParameter(
                "the vertices", "a list that turns back", "sorted, alphas rising and betas falling", "or pass hull=True"
            )
        if alphas[0] != 0 or betas[-1] != 0:
            ends = ((float(alphas[0]), float(betas[0])), (float(alphas[-1]), float(betas[-1])))
            raise InvalidParameter("the first and last vertex", ends, "(0, f(0)) and (1, 0)")
        if alphas[-1] < 1:
            alphas, betas, powers = np.append(alphas, 1.0), np.append(betas, 0.0), np.append(powers, 1.0)
        index = tradeoff_hull(alphas, betas, powers)
        if not self.hull:
            _refuse_dents(alphas, betas, index)
        alphas, betas, powers = alphas[index], betas[index], powers[index]
        steps = np.arange(len(index) - 1)
        drop, run = falls(betas, powers, steps, steps + 1), np.diff(alphas)
        with np.errstate(divide="ignore", over="ignore", under="ignore"):
            ratio = drop / run
            usual = (ratio > 1e-290) & (ratio < 1e290)
            slopes = np.where(usual, np.log(ratio), np.log(drop) - np.log(run))
        checks.settle(self, alphas=alphas, betas=betas, powers=powers, _slopes=slopes)

    @property
    def vertices(self) -> FloatArray:
        """The vertices as rows (alpha, beta)."""
        return np.column_stack((self.alphas, self.betas))

    def _beta(self, alpha: FloatArray) -> Ends:
        """f(alpha) by interpolation, exact up to outward rounding."""
        right = np.maximum(np.searchsorted(self.alphas, alpha, side="left"), 1)
        left = right - 1
        ends, start = self.betas[right], alpha == 0
        share = (self.alphas[right] - alpha) / (self.alphas[right] - self.alphas[left])
        value = np.where(start, self.betas[0], ends + falls(self.betas, self.powers, left, right) * share)
        exact = (alpha == self.alphas[right]) | start
        exact &= np.where(start, self._is_exact(0), self._is_exact(right))
        return Ends(
            np.where(exact, value, np.maximum(down(value * (1.0 - 16.0 * UNIT), 2), 0.0)),
            np.where(exact, value, up(value * (1.0 + 16.0 * UNIT), 2)),
            _METHOD,
        )

    def _is_exact(self, index: Any) -> Any:
        """Whether betas[index] is the vertex itself and not a rounding of 1 - power."""
        return (self.betas[index] <= 0.5) | (difference(1.0, self.powers[index])[1] == 0)

    def _delta(self, epsilon: FloatArray, rtol: float) -> Ends:
        """D(t) = sup_a 1 - f(a) - t a, attained at a vertex."""
        return Ends(*self._supremum(epsilon), _METHOD)

    def _supremum(self, place: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Between the last surely and the last possibly steeper segment; see `Lines.beta` for the argument."""
        error = _slope_error(self._slopes)
        least = np.searchsorted(np.maximum.accumulate(-self._slopes + error), -place, side="left")
        most = np.searchsorted(np.maximum.accumulate(-self._slopes - error), -place, side="right")
        bare = -np.expm1(np.minimum(place, 0.0))  # 1 - t, the vertex (1, 0)
        lower, upper = np.where(bare > 0, down(bare * (1.0 - 4.0 * UNIT)), 0.0), np.zeros_like(bare)
        for index in (least, np.minimum(least + 1, most), most):
            low, high = self._vertex(index, place)
            lower, upper = np.maximum(lower, low), np.maximum(upper, high)
        reach = np.minimum(scaled(place, self.alphas[most])[0], 2.0)
        upper = np.where(most - least > 1, up(upper + 256.0 * UNIT * reach), upper)
        certain = place == -np.inf
        return np.where(certain, 1.0, np.minimum(lower, 1.0)), np.where(certain, 1.0, np.minimum(upper, 1.0))

    def _vertex(self, index: Any, place: FloatArray) -> tuple[FloatArray, FloatArray]:
        power, alpha = self.powers[index], self.alphas[index]
        taken, error = scaled(place, alpha)
        error = np.where(taken > 2.0, 0.0, error)
        value, more = difference(power, np.minimum(taken, 2.0))
        held, lost = difference(1.0, self.betas[index])
        given = (self.betas[index] > 0.5) | ((lost == 0) & (held == power))
        error = error + np.where(given, 0.0, 2.0 * UNIT * power)
        exact = (error == 0) & (more == 0)
        low = np.where(exact, value, down(value - error, 2))
        high = np.where(exact, value, up(value + error, 2))
        last = index == len(self.alphas) - 1  # 1 - t without cancellation
        rest = -np.expm1(np.minimum(place, 0.0))
        low = np.where(last, np.where(rest > 0, down(rest * (1.0 - 4.0 * UNIT)), 0.0), low)
        high = np.where(last, np.where(rest > 0, up(rest * (1.0 + 4.0 * UNIT)), 0.0), high)
        return low, high

    def _epsilon(self, delta: FloatArray, rtol: float) -> Ends:
        """The slope of the steepest line from (0, 1 - delta) that supports f; verified by `delta` on both sides."""
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            taken = np.exp(np.minimum(self._slopes + np.log(self.alphas[1:]), 0.0))
            crossings = np.maximum.accumulate(self.powers[1:] - taken)  # D at the slope of each segment
            index = np.clip(np.searchsorted(crossings, delta, side="right"), 1, len(self.alphas) - 1)
            gap = difference(self.powers[index], delta)[0]
            guess = np.log(np.maximum(gap, 0.0)) - np.log(self.alphas[index])
        guess = np.where(np.isfinite(guess), guess, 0.0)
        lower, upper = certified_epsilon(self._supremum, delta, guess, (64.0 + 8.0 * np.abs(guess)) * UNIT)
        beyond = self._supremum(np.full_like(delta, np.inf))
        never, maybe = beyond[0] > delta, beyond[1] > delta
        lower, upper = np.where(never, np.inf, lower), np.where(maybe, np.inf, upper)
        lower, upper = np.where(delta >= 1.0, 0.0, lower), np.where(delta >= 1.0, 0.0, upper)
        return Ends(lower, upper, _METHOD)

    def profile(self, *, symmetric: bool = False) -> Profile:
        """The same guarantee as a profile: slopes of f become knots of D.

        Exact up to rounding, never below the true curve: D is evaluated from above at each knot, and a knot is moved
        right by its error, to where D is surely given by the vertex on its left (no cancellation).  With
        `symmetric=True` only slopes of at least 1 are kept, which is sound only when f is its own inverse.
        """
        from quiltwork.curves.polygons.profile import Profile, slack_and_floor

        if symmetric and not self.is_symmetric():
            raise InvalidParameter(
                "symmetric",
                symmetric,
                "False for a trade-off function that differs from its inverse",
                "call .symmetrised() first",
            )
        finite = np.isfinite(self._slopes)
        knots, ends = self._slopes[finite], self.alphas[1:][finite]
        moved = 2.0 * _slope_error(knots)
        knots = knots + moved
        if symmetric:
            kept = knots > 0
            knots, ends, moved = (np.append(x[kept], 0.0) for x in (knots, ends, moved))
        if not knots.size:
            return Profile([0.0], [1.0])
        lower, upper = self._supremum(knots)
        # left of a moved knot the chord may exceed D by the move times the slope t alpha, which is at most 1
        excess = upper - lower + 2.0 * moved * np.minimum(scaled(knots, ends)[0], 1.0)
        slack, floor = slack_and_floor(upper - excess, upper)
        return Profile(knots, upper, symmetric=symmetric, slack=slack, floor=floor)

    def inverse(self) -> TradeOff:
        """The test with the two worlds exchanged: f^-1(b) = inf{a : f(a) <= b}; betas are rounded down."""
        heights = np.where(self._is_exact(slice(None)), self.betas, down(self.betas))
        return TradeOff(np.append(heights, 1.0), np.append(self.alphas, 0.0), hull=True)

    def symmetrised(self) -> TradeOff:
        """What holds in both orders: the lower convex hull of f and its inverse."""
        other = self.inverse()
        return TradeOff(
            np.concatenate((self.alphas, other.alphas)),
            np.concatenate((self.betas, other.betas)),
            np.concatenate((self.powers, other.powers)),
            hull=True,
        )

    def is_symmetric(self, tolerance: float = 1e-12) -> bool:
        """Whether f is its own inverse, up to rounding: each vertex of one within `tolerance` of the other's region."""
        other = self.inverse()
        reached = self.beta(np.minimum(other.alphas + tolerance, 1.0)).lower
        return bool(np.all(reached <= other.betas + tolerance))

    def region(self) -> Region:
        """The set of error pairs that some test may reach."""
        return self.profile().region()

    def _heading(self) -> str:
        rows = [(at_least(alpha, 6), at_least(beta, 6)) for alpha, beta in self.vertices.tolist()]
        words = markup.paragraphs([f"Trade-off function with {len(rows):,} vertices"])
        return words + markup.capped((ERRORS[0], f"{ERRORS[1]}, at least"), rows)

    def __repr__(self) -> str:
        points = self.vertices.tolist()
        shown = ", ".join(f"({alpha:.6g}, {beta:.6g})" for alpha, beta in points[:5])
        return f"<TradeOff {shown}{f', ... {len(points)} vertices' if len(points) > 5 else ''}>"

    def to_json(self) -> dict[str, Any]:
        """A plain dictionary; `from_json` gives back the same curve."""
        return {
            "schema": _SCHEMA,
            "alphas": json_numbers(self.alphas),
            "betas": json_numbers(self.betas),
            "powers": json_numbers(self.powers),
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> TradeOff:
        """The inverse of `to_json`."""
        check_schema(data, _SCHEMA)
        return cls(plain_numbers(data["alphas"]), plain_numbers(data["betas"]), plain_numbers(data["powers"]))


def _slope_error(slopes: FloatArray) -> FloatArray:
    """Bound on the absolute error of the logarithm of a slope."""
    return np.where(np.isinf(slopes), 0.0, (32.0 + 8.0 * np.abs(slopes)) * UNIT)


def _refuse_dents(alphas: FloatArray, betas: FloatArray, index: Any) -> None:
    """Vertices that fell off the hull by more than rounding mean the caller's function is not convex."""
    dent = betas - np.interp(alphas, alphas[index], betas[index])
    worst = int(np.argmax(dent))
    if dent[worst] > _DENT:
        given = (float(alphas[worst]), float(betas[worst]))
        raise InvalidParameter(
            "a vertex", given, "below the chord of its neighbours (convex)", "pass hull=True to take the lower hull"
        )
