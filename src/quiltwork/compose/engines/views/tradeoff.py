"""The trade-off function: beta(alpha) = max over t of c(t) = C(t) - t alpha, C(t) = 1 - D(t), t = e^eps.

Any t gives a lower bound. c is concave, so three points around the maximum bound it from above: if c rises from t0 to
t1 and falls to t2, then c <= c(t1) + (c(t1)-c(t0)) (t2-t1)/(t1-t0) on the right of t1, and likewise on the left.
Three ways to write c keep every digit, also far below 1e-13:

    large eps    1 - reveal - D - t alpha
    middle       C - t alpha
    small eps    t ((1 - vanish - alpha) - D'(1/t)),   D' the hockey stick with the worlds exchanged.

Reference: theory/engine.md section 10 (beta), with the middle and the small side as designed there.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Literal

import attrs
import numpy as np
from scipy.special import erfcx

from quiltwork.checks import FloatArray
from quiltwork.compose.engines.engine import Declined, Engine, Knots, View
from quiltwork.compose.engines.views.solve import LEAST, Landmarks, SteeredEngine, landmarks, left_log_space, search
from quiltwork.compose.releases import Known, mirrored
from quiltwork.curves.curve import Ends
from quiltwork.numbers.rounding import UNIT

Region = Literal["large", "middle", "small"]
Flags = np.ndarray[tuple[int], np.dtype[np.bool_]]
SPREADS = np.linspace(-6.0, 6.0, 121)  # from the centre of a view, where maxima are looked for
SPACINGS = (3e-7, 3e-5, 3e-4, 1e-3, 3e-3, 1e-2, 2e-2, 4e-2, 8e-2, 0.16, 0.3, 0.6, 1.2, 3.0)
NARROW = 1e-6  # relative width at which a maximum is enclosed well enough
LOG_WIDTH = 1e-4  # asked of a view: log D or log C to this width
MAX_VIEWS = 40  # for one array of questions
MAX_KINKS = 64  # questions whose maximum is looked for point by point
KINK_PLACES = np.linspace(-1.0, 1.0, 25)
UNDERFLOW = 690.0  # up to here e^-epsilon is a normal double


class ViewEngine(SteeredEngine):
    """An engine whose views answer all three questions."""

    def beta(self, alpha: FloatArray, mirror: Callable[[], Engine]) -> Ends:
        lower, upper, todo = self.beta_edges(alpha)
        if todo.any():
            lower[todo], best = self._beta(alpha[todo], mirror)
            upper[todo] = np.minimum(upper[todo], best)
        return Ends(np.minimum(lower, upper), np.where(todo, np.maximum(upper, LEAST), upper), self.method)

    @property
    def vanish(self) -> tuple[float, float]:
        """Ends of the mass that Q alone can show."""
        return Known.of(mirrored(self.pairs)).reveal

    def beta_edges(self, alpha: FloatArray) -> tuple[FloatArray, FloatArray, Flags]:
        """Ends that follow from reveal masses alone, and where more is to be found out."""
        reveal = self.known.reveal
        lower, upper = np.zeros(alpha.size), np.nextafter(1.0 - alpha, 2.0)
        # a stated reveal mass is a decimal, and only its double is known here
        kept = [1.0 - end + way * UNIT * end for end, way in zip(reveal, (1, -1), strict=True)]
        upper = np.minimum(upper, kept[0] * (1 + 2 * UNIT))
        lower[alpha == 0] = max(kept[1], 0.0) * (1 - 2 * UNIT)
        hidden = (1.0 - alpha <= self.vanish[0] * (1 - 4 * UNIT)) | (alpha == 1)
        upper[hidden] = 0.0
        return lower, upper, (alpha > 0) & ~hidden

    def _beta(self, alpha: FloatArray, mirror: Callable[[], Engine]) -> tuple[FloatArray, FloatArray]:
        """Ends for alphas inside."""
        return TwoDirections.of(self, mirror()).beta(alpha)


@attrs.frozen(eq=False)
class TwoDirections:
    """A composition and its mirror image."""

    one: Engine
    mirror: Engine
    place: Landmarks
    mirror_place: Landmarks

    @classmethod
    def of(cls, one: Engine, mirror: Engine) -> TwoDirections:
        return cls(one, mirror, landmarks(one), landmarks(mirror))

    @property
    def vanish(self) -> tuple[float, float]:
        """Ends of the mass that Q alone can show."""
        return self.mirror.known.reveal

    def beta(self, alpha: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Certified ends at each alpha in (0, 1 - vanish)."""
        lower, upper = np.zeros(alpha.size), np.full(alpha.size, np.inf)
        todo = _straight_ends(self, alpha, lower, upper)
        regions = _regions(self, alpha)
        for _ in range(MAX_VIEWS):
            waiting = np.nonzero(todo)[0]
            if not waiting.size:
                break
            first = int(waiting[np.argmin(alpha[waiting])])
            same = waiting[regions[waiting] == regions[first]]
            region: Region = ("large", "middle", "small")[int(regions[first])]
            low, high, near = _serve(self, region, alpha[same], float(alpha[first]))
            lower[same] = np.maximum(lower[same], low)
            upper[same] = np.minimum(upper[same], high)
            todo[same[near]] = False
            todo[first] = False
        return lower, upper


def _straight_ends(test: TwoDirections, alpha: FloatArray, lower: FloatArray, upper: FloatArray) -> Flags:
    """With an atom at the largest loss, beta is a straight line near alpha = 0, and likewise near alpha = 1."""
    with np.errstate(all="ignore"):
        case, mirror = test.one.known, test.mirror.known
        first = np.log(alpha) <= case.log_top_mass - case.top - 1e-9
        wrong = case.top_room + 16 * UNIT * (1 + abs(case.top))
        fall = alpha * math.exp(min(case.top, 700.0))
        lower[first] = np.maximum(1.0 - case.reveal[1] - fall * (1 + wrong) - 4 * UNIT, 0.0)[first]
        upper[first] = np.minimum(upper, 1.0 - case.reveal[0] - fall * (1 - wrong) + 4 * UNIT)[first]
        rest_low, rest_high = 1.0 - alpha - test.vanish[1], 1.0 - alpha - test.vanish[0]
        last = ~first & (np.log(np.maximum(rest_high, 1e-320)) <= mirror.log_top_mass - 1e-9)
        wrong = mirror.top_room + 16 * UNIT * (1 + abs(mirror.top))
        slope = math.exp(-min(mirror.top, 745.0))
        lost = 4 * UNIT * test.vanish[1]
        lower[last] = np.maximum(slope * (1 - wrong) * (rest_low - lost), 0.0)[last]
        upper[last] = np.minimum(upper, slope * (1 + wrong) * (rest_high + lost))[last]
    rest: Flags = ~first & ~last
    return rest


def _on_knots(
    test: TwoDirections, view: View, region: Region, alpha: FloatArray, knots: Knots
) -> tuple[FloatArray, FloatArray, Flags]:
    """c is linear between knots, so its maximum is at one of them: look at the few around the estimate."""
    points, inside = knots.losses, knots.inside
    sign = -1.0 if region == "small" else 1.0
    low, high = _values(test, view, region, sign * points.ravel(), np.repeat(alpha, points.shape[1]))
    low = np.where(inside, low.reshape(points.shape), -np.inf)
    high = np.where(inside, high.reshape(points.shape), -np.inf)
    top = low.max(axis=1)
    # rising before the window and falling after it: nothing outside is larger
    first_seen, last_seen = high[:, 0], high[:, -1]
    enclosed = (first_seen <= top) & (last_seen <= top) & (inside[:, 0] | knots.open_left)
    near = np.abs(points[:, points.shape[1] // 2] - view.centre) <= 5 * view.spread
    return np.maximum(top, 0.0), np.where(enclosed & near, np.maximum(high.max(axis=1), 0.0), 1.0), near


def _log_levels(test: TwoDirections, region: Region, alpha: FloatArray) -> FloatArray:
    """Log of the mass of S that the best test rejects: under Q, or under P of the mirror."""
    with np.errstate(divide="ignore"):
        return np.log(np.maximum(1.0 - alpha - test.vanish[1], 1e-300) if region == "small" else alpha)


def _log_level(engine: Engine, shift: float) -> Callable[[FloatArray], FloatArray]:
    """Saddle estimate of log Q(S > mean) (shift 1) or log P(S > mean) (shift 0) as a function of the tilt."""

    def level(theta: FloatArray) -> FloatArray:
        log_mgf, mean, variance = engine.moments(theta)
        mills = erfcx((theta + shift) * np.sqrt(variance) / math.sqrt(2.0))
        return log_mgf - (theta + shift) * mean + np.log(np.maximum(0.5 * mills, 1e-300))

    return level


def _regions(test: TwoDirections, alpha: FloatArray) -> FloatArray:
    """0 large, 1 middle, 2 small."""
    if not test.place.split:
        return np.where(alpha <= 0.5, 0.0, 2.0)
    log_large = float(_log_level(test.one, 1.0)(np.array([0.8 / test.place.spread]))[0])
    log_small = float(_log_level(test.mirror, 0.0)(np.array([0.8 / test.mirror_place.spread]))[0])
    with np.errstate(divide="ignore"):
        rest = np.log(np.maximum(1.0 - alpha - test.vanish[1], 1e-300))
        large, small = np.log(alpha) < log_large, rest < log_small
    return np.where(large, 0.0, np.where(small, 2.0, 1.0))


def _view(test: TwoDirections, region: Region, alpha: float) -> View:
    engine, place = (test.mirror, test.mirror_place) if region == "small" else (test.one, test.place)
    if region == "middle":
        margin = min(0.4, 0.8 / place.spread)
        grid = np.linspace(-1.0 + margin, -margin, 9)
        levels = np.minimum.accumulate(_log_level(engine, 1.0)(grid))
        theta = float(np.interp(-math.log(alpha), -levels, grid))
    else:
        level = _log_level(engine, 1.0 if region == "large" else 0.0)
        rest = alpha if region == "large" else max(1.0 - alpha - test.vanish[1], 1e-300)
        theta = search(level, math.log(rest), 0.8 / place.spread)
    view = engine.view(theta, LOG_WIDTH)
    if view is None:
        raise Declined
    return view


def _serve(
    test: TwoDirections, region: Region, alpha: FloatArray, first: float
) -> tuple[FloatArray, FloatArray, Flags]:
    """Bounds for all alphas from one view, and for which of them the view is near enough to be final."""
    view = _view(test, region, first)
    knots = view.knots(_log_levels(test, region, alpha), under_q=region != "small")
    if knots is not None:
        return _on_knots(test, view, region, alpha, knots)
    points, near = _maxima(test, view, region, alpha)
    low, high = np.zeros(alpha.size), np.ones(alpha.size)
    _enclose(test, view, region, alpha, points, low, high)
    poor = np.nonzero(high - low > 1e-3 * high)[0]
    if 0 < poor.size <= MAX_KINKS:  # few releases with atoms: the maximum sits on a kink that no spline can see
        better = _hunt(test, view, region, alpha[poor], points[poor])
        part_low, part_high = low[poor], high[poor]
        _enclose(test, view, region, alpha[poor], better, part_low, part_high)
        low[poor], high[poor] = part_low, part_high
    return low, high, near


def _enclose(
    test: TwoDirections,
    view: View,
    region: Region,
    alpha: FloatArray,
    points: FloatArray,
    low: FloatArray,
    high: FloatArray,
) -> None:
    """Tighten low and high in place from three points around each estimate, closest first."""
    open_ = np.ones(alpha.size, dtype=bool)
    for spacing in SPACINGS:
        todo = np.nonzero(open_)[0]
        if not todo.size:
            break
        gap = spacing * view.spread
        at = np.concatenate([points[todo] - gap, points[todo], points[todo] + gap])
        c_low, c_high = _values(test, view, region, at, np.tile(alpha[todo], 3))
        size = todo.size
        low[todo] = np.maximum(low[todo], c_low.reshape(3, size).max(axis=0))
        bound = _concave(c_low.reshape(3, size), c_high.reshape(3, size), at.reshape(3, size))
        high[todo] = np.minimum(high[todo], bound)
        open_[todo] = high[todo] - low[todo] > NARROW * high[todo]


def _hunt(test: TwoDirections, view: View, region: Region, alpha: FloatArray, points: FloatArray) -> FloatArray:
    """Better estimates of the maxima by looking at c itself on shrinking rows of points."""
    for radius in (3.0, 0.4, 0.05, 0.006, 0.0008):
        rows: FloatArray = points[:, None] + radius * view.spread * KINK_PLACES[None, :]
        low, high = _values(test, view, region, rows.ravel(), np.repeat(alpha, KINK_PLACES.size))
        middle = np.where(np.isfinite(low) & np.isfinite(high), 0.5 * (low + high), -np.inf).reshape(rows.shape)
        points = rows[np.arange(points.size), middle.argmax(axis=1)]
    return points


def _concave(low: FloatArray, high: FloatArray, at: FloatArray) -> FloatArray:
    """An upper bound of a concave function of t = e^x from three enclosed points, 1 where none follows."""
    left, right = -np.expm1(at[0] - at[1]), np.expm1(at[2] - at[1])  # steps of t, in units of the middle one
    with np.errstate(all="ignore"):
        beyond_right = high[1] + np.maximum(high[1] - low[0], 0.0) * right / left
        beyond_left = high[1] + np.maximum(high[1] - low[2], 0.0) * left / right
    enclosed = (low[1] >= high[0]) & (low[1] >= high[2])
    return np.where(enclosed, np.maximum(beyond_right, beyond_left) * (1 + 8 * UNIT), 1.0)


def _values(
    test: TwoDirections, view: View, region: Region, epsilon: FloatArray, alpha: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Certified ends of c."""
    low, high = left_log_space(view.logs(-epsilon if region == "small" else epsilon))
    with np.errstate(over="ignore", invalid="ignore"):
        t = np.exp(epsilon)
        slack = 8 * UNIT * (1 + np.abs(epsilon)) + view.nudge
        if region == "middle":
            cost = t * alpha
            return low - cost * (1 + slack), high - cost * (1 - slack)
        if region == "large":
            cost = t * alpha
            return (
                1.0 - test.one.known.reveal[1] - high - cost * (1 + slack) - 8 * UNIT,
                1.0 - test.one.known.reveal[0] - low - cost * (1 - slack) + 8 * UNIT,
            )
        rest_low, rest_high = 1.0 - alpha - test.vanish[1], 1.0 - alpha - test.vanish[0]
        wrong = 8 * UNIT * (rest_high + high + test.vanish[1])
        lower, upper = rest_low - high - wrong, rest_high - low + wrong
        down, up = t * (1 - slack), t * (1 + slack)
        seen = epsilon > -UNDERFLOW  # three zeros that are only underflows would enclose a maximum of zero
        low, high = np.where(lower > 0, down, up) * lower, np.where(upper > 0, up, down) * upper
        return np.where(seen, low, -np.inf), np.where(seen, high, np.inf)


def _maxima(test: TwoDirections, view: View, region: Region, alpha: FloatArray) -> tuple[FloatArray, Flags]:
    """Where c is largest for each alpha (an estimate, from a spline of the logs), and whether the scan reaches it."""
    from scipy.interpolate import CubicSpline  # slow to import, and only needed here

    scan = view.centre + view.spread * SPREADS
    middle = view.middle(scan)
    keep = np.isfinite(middle)
    if keep.sum() < 4 or not bool(np.all(np.diff(scan) > 0)):
        raise Declined
    spline = CubicSpline(scan[keep], middle[keep])
    fine = np.linspace(scan[keep][0], scan[keep][-1], 12 * SPREADS.size)
    value, slope = spline(fine), spline(fine, 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        if region == "large":  # Q(S > eps) = -e^-eps dD/deps
            level = value + np.log(np.maximum(-slope, 1e-300)) - fine
        elif region == "middle":
            level = value + np.log(np.clip(slope, 1e-300, 1.0)) - fine
        else:  # in the mirror, P'(S' > eps') = D' - dD'/deps'
            level = value + np.log(np.maximum(1.0 - slope, 1e-300))
        target = _log_levels(test, region, alpha)
    level = np.minimum.accumulate(np.where(np.isnan(level), np.inf, level))
    at = np.interp(-target, -level, fine)
    near = np.abs(at - view.centre) <= 4.5 * view.spread
    return (-at if region == "small" else at), near
