"""Privacy profiles made of (epsilon, delta) points that hold together."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import attrs
import numpy as np

from quiltwork import checks
from quiltwork.checks import FloatArray
from quiltwork.curves.curve import BaseCurve, Ends
from quiltwork.curves.polygons.conjugate import Lines
from quiltwork.curves.polygons.hull import profile_hull, profile_slopes
from quiltwork.curves.polygons.tradeoff import TradeOff, array_key
from quiltwork.document.draw import notebook as markup
from quiltwork.document.draw import notebook as sketch
from quiltwork.errors import InvalidParameter
from quiltwork.kinds import document
from quiltwork.numbers.digits import at_most, single
from quiltwork.numbers.json import check_schema, json_numbers, plain_numbers
from quiltwork.numbers.rounding import UNIT, down, up

if TYPE_CHECKING:
    from quiltwork.curves.polygons.region import Region

_SCHEMA = "quiltwork/profile/1"
_METHOD = "exact profile"
_SHARP, _TINY = 1e-9, 1e-250  # deltas known less well than that, or smaller, count by their absolute error
_BELOW = 1e-9  # a delta may lie this far below 1 - e^epsilon by rounding; further down it is a mistake


def _epsilons(value: Any) -> FloatArray:
    # + 0.0 makes a copy and turns -0.0 into 0.0, so that equal values compare equal
    return checks.numbers("epsilons", value, "numbers (infinite allowed), not NaN", -np.inf, np.inf) + 0.0


def _deltas(value: Any) -> FloatArray:
    return checks.numbers("deltas", value, "numbers in [0, 1]", 0.0, 1.0) + 0.0


@document("profile/1", plain=True)
@attrs.frozen(repr=False)
class Profile(BaseCurve):
    """The worst curve under which every given (epsilon, delta) holds.

    With t = e^epsilon, D(t) is the lower convex envelope of the points (t_i, delta_i), an anchor where D = 1, and the
    direction (1, 0).  The anchor is t = 0, or t = -1 when the guarantee holds in both orders of the two worlds
    (`symmetric=True`, smaller curve); then D(t) = 1 - t + t D(1/t).  Points above the envelope say nothing new and are
    pruned; `epsilons` (ascending) and `deltas` are the active ones, `pruned` counts the others.  Points may come in any
    order.  A point at epsilon = inf bounds no finite epsilon and is pruned.

    `slack` is the relative and `floor` the absolute amount by which the true curve may lie below the stored one:
    rounding while pruning or mixing raises the curve, never lowers it.  Brackets take both into account.

    Reference: seed 002, Theorem 3 and Conjecture 1; theory/multi-constraints.md, section 2 (theorem and proof).

    Parameters
    ----------
    epsilons
        Where delta is known, rising.
    deltas
        Delta there.
    symmetric
        Whether both directions have it.
    slack
        What may be added to each delta for rounding.
    floor
        What delta never falls below.

    Examples
    --------
    >>> both = Profile([0.3, 0.15], [0.0, 0.02], symmetric=True)
    >>> both.delta(0.3).safe, both.epsilon(0.02).safe
    (0.0, 0.15)
    """

    _usual_plot: ClassVar[str] = "profile"
    epsilons: FloatArray = attrs.field(converter=_epsilons, eq=array_key)
    deltas: FloatArray = attrs.field(converter=_deltas, eq=array_key)
    symmetric: bool = attrs.field(default=False, kw_only=True)
    slack: float = attrs.field(default=0.0, kw_only=True)
    floor: float = attrs.field(default=0.0, kw_only=True)
    pruned: int = attrs.field(init=False, default=0, eq=False)

    def __attrs_post_init__(self) -> None:
        epsilons, deltas = self.epsilons, self.deltas
        if epsilons.ndim != 1 or epsilons.shape != deltas.shape:
            shapes = (epsilons.shape, deltas.shape)
            raise InvalidParameter("the shapes of epsilons and deltas", shapes, "two lists of one length")
        if not self.slack >= 0:
            raise InvalidParameter("slack", self.slack, "a number >= 0")
        if not 0 <= self.floor <= 1:
            raise InvalidParameter("floor", self.floor, "a number in [0, 1]")
        if self.symmetric and bool(np.any(epsilons < 0)):
            raise InvalidParameter(
                "epsilons",
                float(epsilons.min()),
                "at least 0 in a symmetric profile",
                "mirror them or drop `symmetric`",
            )
        deltas, lifted = _lifted(epsilons, deltas)
        epsilons, deltas, slack = _active(epsilons, deltas, self.symmetric)
        slack = slack + lifted * (1.0 + slack)
        slack = self.slack + slack * (1.0 + self.slack) if slack else self.slack
        pruned = self.epsilons.size - epsilons.size
        checks.settle(self, epsilons=epsilons, deltas=deltas, slack=slack, pruned=pruned)

    @cached_property
    def _lines(self) -> Lines:
        """What answers about type I errors, once they are asked for."""
        return Lines.of(self.epsilons, self.deltas, self.symmetric)

    @property
    def reveal(self) -> float:
        """D(inf): the probability of an outcome that one of the two worlds can never show."""
        return float(self.deltas[-1]) if self.deltas.size else 1.0

    def _delta(self, epsilon: FloatArray, rtol: float) -> Ends:
        """D(e^epsilon), exact up to outward rounding at every epsilon from -inf to inf."""
        lower, upper = self.stored(epsilon)
        if self.slack or self.floor:
            lower = np.maximum(down((lower - self.floor) / (1.0 + self.slack), 2), 0.0)
            lower = np.maximum(lower, down(-np.expm1(np.minimum(epsilon, 0.0)) * (1.0 - 4.0 * UNIT), 2))
        nowhere = epsilon == -np.inf
        lower, upper = np.where(nowhere, 1.0, np.minimum(lower, 1.0)), np.where(nowhere, 1.0, upper)
        return Ends(lower, upper, _METHOD)

    def stored(self, place: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Ends of the curve through the stored points, before slack and floor."""
        lower, upper = self._interpolated(np.abs(place) if self.symmetric else place)
        if self.symmetric:  # D(t) = 1 - t + t D(1/t): positive terms only
            back = np.minimum(place, 0.0)
            rest, share = -np.expm1(back), np.exp(back)
            mirrored = np.isfinite(place) & (place < 0)
            lower = np.where(mirrored, down((rest + share * lower) * (1.0 - 16.0 * UNIT), 2), lower)
            upper = np.where(mirrored, up((rest + share * upper) * (1.0 + 16.0 * UNIT), 2), upper)
        return lower, np.minimum(upper, 1.0)

    def _interpolated(self, place: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Linear interpolation in t; every exponent is a difference of epsilons and negative."""
        if not self.epsilons.size:
            return np.ones_like(place), np.ones_like(place)
        knots, deltas = self.epsilons, self.deltas
        right = np.searchsorted(knots, place, side="left")
        inside = right < knots.size
        right = np.minimum(right, knots.size - 1)
        rise, span, _ = self._segment(right)
        gone = np.where(inside, -np.expm1(np.where(inside, place - knots[right], 0.0)), 0.0)
        exact = ~inside | (place == knots[right])
        slope = np.where(exact, 0.0, rise / span)
        # a stated number may be read as the decimal typed or as its double: up to a unit of it either way
        with np.errstate(invalid="ignore"):
            blur = np.where(np.isfinite(place), UNIT * (np.abs(place) + np.abs(knots[right])), 0.0)
        lower = np.where(exact, deltas[right], down(deltas[right] + slope * (gone - blur) * (1.0 - 16.0 * UNIT), 2))
        upper = np.where(exact, deltas[right], up(deltas[right] + slope * (gone + blur) * (1.0 + 16.0 * UNIT), 2))
        return np.maximum(lower, deltas[right]), np.minimum(upper, 1.0)

    def _segment(self, right: Any) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Left of knot `right`: the rise in D, the width in t and the left end, both over t at the knot."""
        knots, deltas = self.epsilons, self.deltas
        left = np.maximum(right - 1, 0)
        first = right == 0
        rise = np.where(first, 1.0, deltas[left]) - deltas[right]
        inner = np.where(first, -1.0, knots[left] - knots[right])
        with np.errstate(under="ignore"):
            tail = np.exp(np.minimum(-knots[right], 0.0)) if self.symmetric else np.zeros_like(rise)
            span = np.where(first, 1.0 + tail, -np.expm1(inner))
            start = np.where(first, -tail, np.exp(inner))
        return rise, span, start

    def _epsilon(self, delta: FloatArray, rtol: float) -> Ends:
        """The smallest epsilon >= 0 with D(e^epsilon) <= delta; infinite below `reveal`."""
        lower, upper = self._inverse(delta)
        if self.slack or self.floor:
            lower, _ = self._inverse(np.minimum(up(delta * (1.0 + self.slack) + self.floor, 3), 1.0))
        return Ends(lower, upper, _METHOD)

    def _inverse(self, asked: FloatArray) -> tuple[FloatArray, FloatArray]:
        knots, deltas = self.epsilons, self.deltas
        nothing = np.where(asked >= 1.0, 0.0, np.inf)
        if not knots.size:
            return nothing, nothing
        right = knots.size - np.searchsorted(deltas[::-1], asked, side="right")
        inside = right < knots.size
        right = np.minimum(right, knots.size - 1)
        rise, span, start = self._segment(right)
        exact = asked == deltas[right]
        left_delta = np.where(right == 0, 1.0, deltas[np.maximum(right - 1, 0)])
        back = (asked - deltas[right]) / rise * span  # 1 - t / t_right
        ratio = (left_delta - asked) / rise * span + start  # t / t_right, from the other end
        near = back < 0.5
        with np.errstate(divide="ignore", invalid="ignore"):
            move = np.where(near, np.log1p(-np.where(near, back, 0.0)), np.log(np.maximum(ratio, 0.0)))
            radius = np.where(near, 64.0 * UNIT * back, 64.0 * UNIT)
            lower = np.where(exact, knots[right], down(knots[right] + (move - radius), 2))
            upper = np.where(exact, knots[right], up(knots[right] + (move + radius), 2))
        lower, upper = np.maximum(lower, 0.0), np.maximum(upper, 0.0)
        outside = ~inside | (asked >= 1.0)
        return np.where(outside, nothing, lower), np.where(outside, nothing, upper)

    def _beta(self, alpha: FloatArray) -> Ends:
        """The trade-off function f(alpha) = sup_t 1 - D(t) - t alpha, from the faces directly."""
        lower, upper = self._lines.beta(alpha)
        spare = self.slack + self.floor
        return Ends(lower, np.maximum(upper + spare, lower) if spare else upper, _METHOD)

    def tradeoff(self) -> TradeOff:
        """The same guarantee as a trade-off function.

        The convex conjugate is exact: edges of D become vertices of f.  Each vertex is rounded down and left, so the
        result never exceeds the true trade-off function, and `powers` keep small deltas to full relative precision.
        """
        return TradeOff(*self._lines.vertices(), hull=True)

    def region(self) -> Region:
        """The set of error pairs that some test may reach."""
        from quiltwork.curves.polygons.region import Region

        return Region(self)

    def unfolded(self) -> Profile:
        """The same curve without `symmetric`: every knot also mirrored below epsilon = 0."""
        if not self.symmetric or not self.epsilons.size:
            return self if not self.symmetric else Profile([0.0], [1.0])
        knots = np.union1d(self.epsilons, -self.epsilons)
        lower, upper = self.stored(knots)
        return from_ends(knots, lower / (1.0 + self.slack) * (1.0 - 4.0 * UNIT), upper, False, self.floor)

    def weights(self) -> tuple[float, FloatArray]:
        """The curve as a mixture: probability of a full reveal, then one weight for each of `epsilons`.

        Symmetric: weights of randomized responses RR(epsilon_j), seen by everyone (the n-constraint theorem).
        Otherwise: probability, in the first world, that the privacy loss equals epsilon_j.  Nearest floats, not
        bounds.

        Reference: theory/multi-constraints.md, section 2.
        """
        count = self.epsilons.size
        if not count:
            return 1.0, np.zeros(0)
        knots = np.concatenate(([-np.inf], self.epsilons, [np.inf]))
        deltas = np.concatenate(([1.0], self.deltas, self.deltas[-1:]))
        middle = np.arange(1, count + 1)
        before, after, _ = profile_slopes(knots, deltas, middle - 1, middle, middle + 1, self.symmetric)
        weights = before - after
        return self.reveal, weights * (1.0 + np.exp(-self.epsilons)) if self.symmetric else weights

    def _heading(self) -> str:
        kind = "in both orders of the two worlds" if self.symmetric else "in one order of the two worlds"
        points = zip(self.epsilons.tolist(), self.deltas.tolist(), strict=True)
        rows = [(single(epsilon), at_most(delta, 6)) for epsilon, delta in points]
        words = markup.paragraphs([f"Privacy profile through {len(rows):,} points, {kind}"])
        return words + markup.capped(("epsilon", "delta"), rows)

    def _sketch(self) -> str:
        end = max(1.05 * float(self.epsilons[-1]), 0.1) if self.epsilons.size else 1.0
        places = np.linspace(0.0, end, 121)
        return sketch.profile(places, np.asarray(self.delta(places).upper))

    def __repr__(self) -> str:
        kind = "symmetric" if self.symmetric else "one order"
        points = list(zip(self.epsilons.tolist(), self.deltas.tolist(), strict=True))
        shown = ", ".join(f"({epsilon:.6g}, {delta:.6g})" for epsilon, delta in points[:4])
        more = f", ... {len(points)} points" if len(points) > 4 else ""
        return f"<Profile {kind}: {shown or 'nothing hidden'}{more}>"

    def to_json(self) -> dict[str, Any]:
        """A plain dictionary; `from_json` gives back the same curve."""
        return {
            "schema": _SCHEMA,
            "epsilons": json_numbers(self.epsilons),
            "deltas": json_numbers(self.deltas),
            "symmetric": self.symmetric,
            "slack": json_numbers(self.slack),
            "floor": json_numbers(self.floor),
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Profile:
        """The inverse of `to_json`."""
        check_schema(data, _SCHEMA)
        epsilons, deltas = plain_numbers(data["epsilons"]), plain_numbers(data["deltas"])
        if np.size(epsilons) == 0:
            epsilons, deltas = np.zeros(1), np.ones(1)
        slack, floor = (float(plain_numbers(data.get(name, 0.0))) for name in ("slack", "floor"))
        return cls(epsilons, deltas, symmetric=bool(data["symmetric"]), slack=slack, floor=floor)


def from_ends(
    epsilons: FloatArray, lower: FloatArray, upper: FloatArray, symmetric: bool, floor: float = 0.0
) -> Profile:
    """The profile through upper ends, with what is left to the lower ends as slack and floor; `floor` comes on top.

    The true curve must be straight between these epsilons, so that a bound that holds at both ends holds between.
    """
    slack, rest = slack_and_floor(lower, upper)
    return with_room(epsilons, upper, slack, rest + floor, symmetric)


def with_room(epsilons: FloatArray, upper: FloatArray, slack: float, floor: float, symmetric: bool) -> Profile:
    """The profile through upper ends, with the room that `slack_and_floor` found."""
    return Profile(epsilons, upper, symmetric=symmetric, slack=slack, floor=min(up(floor), 1.0) if floor else 0.0)


def slack_and_floor(lower: FloatArray, upper: FloatArray) -> tuple[float, float]:
    """Small numbers with lower >= (upper - floor) / (1 + slack): relative where that is sharp, absolute elsewhere.

    A lower end may be negative: between the knots the curve may be lower than at any of them.
    """
    gap = upper - lower
    sharp = (gap <= _SHARP * lower) & (upper > _TINY)
    slack = float(np.max(gap[sharp] / lower[sharp], initial=0.0)) * (1.0 + 16.0 * UNIT)
    # the slack covers the sharp ones; computing what is left of them would leave a rounding, far above a tiny delta
    rest = np.where((gap > 0) & ~sharp, upper - lower * np.where(lower > 0, 1.0 + slack, 1.0), 0.0)
    floor = float(np.max(rest, initial=0.0)) * (1.0 + 16.0 * UNIT)
    return slack, min(up(floor, 4), 1.0) if floor else 0.0


def _lifted(epsilons: FloatArray, deltas: FloatArray) -> tuple[FloatArray, float]:
    """Deltas below 1 - e^epsilon by rounding are raised to it; by how much at most, relative."""
    if not bool(np.any(epsilons < 0)):
        return deltas, 0.0
    least = -np.expm1(np.minimum(epsilons, 0.0))
    if bool(np.any(deltas < least - _BELOW)):
        worst = int(np.argmax(least - deltas))
        given = (float(epsilons[worst]), float(deltas[worst]))
        raise InvalidParameter("a point (epsilon, delta)", given, "one with delta >= 1 - e^epsilon")
    floor = np.where(epsilons < 0, np.minimum(up(least, 4), 1.0), 0.0)
    # relative: least is 1 - t to a few units
    return np.maximum(deltas, floor), 16.0 * UNIT if bool(np.any(floor > deltas)) else 0.0


def _active(epsilons: FloatArray, deltas: FloatArray, symmetric: bool) -> tuple[FloatArray, FloatArray, float]:
    """Sort, keep what falls strictly, then keep the vertices of the envelope."""
    keep = (deltas < 1.0) & (epsilons < np.inf)
    if not keep.all():
        epsilons, deltas = epsilons[keep], deltas[keep]
    if bool(np.any(epsilons[1:] <= epsilons[:-1])):
        order = np.lexsort((deltas, epsilons))
        epsilons, deltas = epsilons[order], deltas[order]
    falling = np.ones(deltas.size, dtype=bool)
    falling[1:] = deltas[1:] < np.minimum.accumulate(deltas)[:-1]
    knots = np.concatenate(([-np.inf], epsilons[falling]))
    values = np.concatenate(([1.0], deltas[falling]))
    del epsilons, deltas, keep, falling
    index, slack = profile_hull(knots, values, symmetric)
    return knots[index[1:]], values[index[1:]], slack
