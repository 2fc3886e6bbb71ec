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
from scipy.special import log_ndtr

from quiltwork.checks import FloatArray
from quiltwork.compose.accountant.solve import LEAST, Case, Declined, left_log_space
from quiltwork.compose.engines import listed as exact
from quiltwork.compose.engines.atoms import enumerate_atoms
from quiltwork.compose.engines.closed import GaussianEngine, SingleEngine
from quiltwork.compose.engines.engine import Engine, Landmarks, View, landmarks, search
from quiltwork.compose.engines.fft import LatticeView
from quiltwork.compose.engines.listed import ExactEngine, ExactLaw
from quiltwork.losses.dominating_pair import Pair
from quiltwork.numbers.rounding import UNIT

Region = Literal["large", "middle", "small"]
SCAN = np.linspace(-6.0, 6.0, 121)
SPACINGS = (3e-7, 3e-5, 3e-4, 1e-3, 3e-3, 1e-2, 2e-2, 4e-2, 8e-2, 0.16, 0.3, 0.6, 1.2, 3.0)
GOOD = 1e-6
SHARP = 1e-4  # asked of a view: log D or log C to this width
VIEWS = 40
KNOTS = 4
FEW = 64
LIST = 100_000  # values of a single finite release
HUNT = np.linspace(-1.0, 1.0, 25)
UNDERFLOW = 690.0  # up to here e^-epsilon is a normal double


@attrs.frozen(eq=False)
class Test:
    """A composition and its mirror image, with the mass that P or Q alone can show."""

    case: Case
    mirror: Case
    place: Landmarks
    mirror_place: Landmarks

    @classmethod
    def of(cls, case: Case, mirror: Case) -> Test:
        return cls(case, mirror, landmarks(case.engine), landmarks(mirror.engine))

    @property
    def vanish(self) -> tuple[float, float]:
        return self.mirror.reveal


def beta(case: Case, mirror: Case, alpha: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Certified ends of beta at each alpha in [0, 1]."""
    test = Test.of(case, mirror)
    lower, upper = np.zeros(alpha.size), np.nextafter(1.0 - alpha, 2.0)
    # a stated reveal mass is a decimal, and only its double is known here
    kept = [1.0 - end + way * UNIT * end for end, way in zip(case.reveal, (1, -1), strict=True)]
    upper = np.minimum(upper, kept[0] * (1 + 2 * UNIT))
    lower[alpha == 0] = max(kept[1], 0.0) * (1 - 2 * UNIT)
    hidden = (1.0 - alpha <= test.vanish[0] * (1 - 4 * UNIT)) | (alpha == 1)
    upper[hidden] = 0.0
    todo = (alpha > 0) & ~hidden
    if isinstance(case.engine, GaussianEngine):
        lower[todo], upper[todo] = _gaussian(case.engine.mu, alpha[todo])
        return np.minimum(lower, upper), np.where(todo, np.maximum(upper, LEAST), upper)
    listed = _listed(case.engine)
    if listed is not None or isinstance(case.engine, SingleEngine):
        if listed is not None:
            lower[todo], best = exact.beta(listed, mirror.reveal, alpha[todo])
        elif isinstance(case.engine, SingleEngine):
            lower[todo], best = _single(case.engine.pair, alpha[todo])
        upper[todo] = np.minimum(upper[todo], best)
        return np.minimum(lower, upper), np.where(todo, np.maximum(upper, LEAST), upper)
    open_ = todo.copy()
    todo = _straight_ends(test, alpha, todo, lower, upper)
    regions = _regions(test, alpha)
    for _ in range(VIEWS):
        waiting = np.nonzero(todo)[0]
        if not waiting.size:
            break
        first = int(waiting[np.argmin(alpha[waiting])])
        same = waiting[regions[waiting] == regions[first]]
        region: Region = ("large", "middle", "small")[int(regions[first])]
        low, high, near = _serve(test, region, alpha[same], float(alpha[first]))
        lower[same] = np.maximum(lower[same], low)
        upper[same] = np.minimum(upper[same], high)
        todo[same[near]] = False
        todo[first] = False
    return np.minimum(lower, upper), np.where(open_, np.maximum(upper, LEAST), upper)


def _listed(engine: Engine) -> ExactLaw | None:
    """The list of all values, of a composition that has one or of a single finite release."""
    if isinstance(engine, ExactEngine):
        return engine.law
    if isinstance(engine, SingleEngine):
        atoms = enumerate_atoms([(engine.pair, 1)], LIST)
        return None if atoms is None else ExactLaw(atoms)
    return None


Flags = np.ndarray[tuple[int], np.dtype[np.bool_]]


def _straight_ends(test: Test, alpha: FloatArray, todo: Flags, lower: FloatArray, upper: FloatArray) -> Flags:
    """With an atom at the largest loss, beta is a straight line near alpha = 0, and likewise near alpha = 1."""
    with np.errstate(all="ignore"):
        case, mirror = test.case, test.mirror
        first = todo & (np.log(alpha) <= case.log_top_mass - case.top - 1e-9)
        wrong = case.top_room + 16 * UNIT * (1 + abs(case.top))
        fall = alpha * math.exp(min(case.top, 700.0))
        lower[first] = np.maximum(1.0 - case.reveal[1] - fall * (1 + wrong) - 4 * UNIT, 0.0)[first]
        upper[first] = np.minimum(upper, 1.0 - case.reveal[0] - fall * (1 - wrong) + 4 * UNIT)[first]
        rest_low, rest_high = 1.0 - alpha - test.vanish[1], 1.0 - alpha - test.vanish[0]
        last = todo & ~first & (np.log(np.maximum(rest_high, 1e-320)) <= mirror.log_top_mass - 1e-9)
        wrong = mirror.top_room + 16 * UNIT * (1 + abs(mirror.top))
        slope = math.exp(-min(mirror.top, 745.0))
        lost = 4 * UNIT * test.vanish[1]
        lower[last] = np.maximum(slope * (1 - wrong) * (rest_low - lost), 0.0)[last]
        upper[last] = np.minimum(upper, slope * (1 + wrong) * (rest_high + lost))[last]
    rest: Flags = todo & ~first & ~last
    return rest


def _gaussian(mu: float, alpha: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Phi(Phi^-1(1 - alpha) - mu), with the quantile's error pushed through the steepest slope."""
    from scipy.special import ndtri_exp

    with np.errstate(divide="ignore"):
        quantile = np.where(alpha < 0.5, -ndtri_exp(np.log(alpha)), ndtri_exp(np.log1p(-alpha)))
    x = quantile - mu
    wrong = 16 * UNIT * (1 + np.abs(quantile) + mu) + 1e-14 * np.abs(quantile)
    return np.exp(log_ndtr(x - wrong)) * (1 - 64 * UNIT), np.exp(log_ndtr(x + wrong)) * (1 + 64 * UNIT)


def _single(pair: Pair, alpha: FloatArray) -> tuple[FloatArray, FloatArray]:
    """One release: the threshold by bisection on Q's tail; below by c there, above by the two tests next to it.

    Levels are kept as gap = Q(L > eps) - alpha, from the upper tail for small alpha and from the lower tail
    (1 - vanish - alpha - Q(L <= eps)) for large alpha, so that neither end loses digits.
    """
    small = alpha <= 0.5
    rest = 1.0 - alpha - pair.vanish

    def gap(loss: FloatArray, direction: float) -> FloatArray:
        wrong = direction * 2 * pair.tail_error(loss)
        upper, lower = pair.above(loss)[1] * (1 + wrong), pair.below(loss)[1] * (1 - wrong)
        slack = direction * 8 * UNIT
        return np.where(small, upper - alpha * (1 - slack), rest * (1 + slack) + slack * pair.vanish - lower)

    left, right = np.full(alpha.size, -1.0), np.full(alpha.size, 1.0)
    for _ in range(40):
        left = np.where(gap(left, 1.0) <= 0, 4 * left, left)
        right = np.where(gap(right, 1.0) > 0, 4 * right, right)
    for _ in range(110):
        middle = 0.5 * (left + right)
        over = gap(middle, 1.0) > 0
        left, right = np.where(over, middle, left), np.where(over, right, middle)
    hair = 8 * UNIT * (1 + np.abs(right)) + pair.rounding
    left, right = left - hair, right + hair
    with np.errstate(over="ignore", invalid="ignore"):
        wrong = 2 * pair.tail_error(right)
        below, t = pair.below(right)[0], np.exp(right)
        slope = t * (1 + 8 * UNIT * (1 + np.abs(right)))  # the gap is negative there: steeper is safer
        lower = below * (1 - wrong) + slope * np.minimum(gap(right, -1.0), 0.0)
        # tests with levels on both sides of alpha: their mixture has exactly level alpha
        gap_1, gap_0 = gap(right, 1.0), gap(left, 1.0)
        miss_1, miss_0 = below * (1 + wrong), pair.below(left)[0] * (1 + 2 * pair.tail_error(left))
        share = np.clip(gap_0 / (gap_0 - gap_1), 0.0, 1.0)
        mixed = miss_0 + share * (miss_1 - miss_0)
    usable = (gap_1 <= 0) & (gap_0 >= 0) & np.isfinite(mixed)
    upper = np.where(usable, mixed * (1 + 8 * UNIT), np.where(gap_1 <= 0, miss_1, 1.0))
    return np.maximum(np.where(np.isfinite(lower), lower, 0.0), 0.0), upper


def _on_lattice(
    test: Test, view: LatticeView, region: Region, alpha: FloatArray
) -> tuple[FloatArray, FloatArray, Flags]:
    """c is linear between lattice points, so its maximum is at one of them: look at the few around the estimate."""
    law = view.upper
    with np.errstate(divide="ignore"):
        if region == "small":
            level = law.log_mgf - law.theta * law.centre + law.log_near[1:]
            target = np.log(np.maximum(1.0 - alpha - test.vanish[1], 1e-300))
        else:
            level = law.log_mgf - (law.theta + 1) * law.centre + law.log_far[1:]
            target = np.log(alpha)
    best = np.searchsorted(-level, -target)  # the first point whose tail is at most alpha
    window = np.arange(-KNOTS, KNOTS + 1)
    index = best[:, None] + window[None, :]
    inside = (index >= 0) & (index < law.losses.size)
    points = law.losses[np.clip(index, 0, law.losses.size - 1)]
    sign = -1.0 if region == "small" else 1.0
    low, high = _values(test, view, region, sign * points.ravel(), np.repeat(alpha, window.size))
    low = np.where(inside, low.reshape(points.shape), -np.inf)
    high = np.where(inside, high.reshape(points.shape), -np.inf)
    top = low.max(axis=1)
    # rising before the window and falling after it: nothing outside is larger
    first_seen, last_seen = high[:, 0], high[:, -1]
    enclosed = (first_seen <= top) & (last_seen <= top) & (inside[:, 0] | (law.whole and law.ends[0] == -math.inf))
    near = np.abs(points[:, KNOTS] - view.centre) <= 5 * view.spread
    return np.maximum(top, 0.0), np.where(enclosed & near, np.maximum(high.max(axis=1), 0.0), 1.0), near


def _log_level(case: Case, shift: float) -> Callable[[FloatArray], FloatArray]:
    """Saddle estimate of log Q(S > mean) (shift 1) or log P(S > mean) (shift 0) as a function of the tilt."""
    from scipy.special import erfcx

    def level(theta: FloatArray) -> FloatArray:
        log_mgf, mean, variance = case.engine.moments(theta)
        mills = erfcx((theta + shift) * np.sqrt(variance) / math.sqrt(2.0))
        return log_mgf - (theta + shift) * mean + np.log(np.maximum(0.5 * mills, 1e-300))

    return level


def _regions(test: Test, alpha: FloatArray) -> FloatArray:
    """0 large, 1 middle, 2 small."""
    if not test.place.split:
        return np.where(alpha <= 0.5, 0.0, 2.0)
    log_large = float(_log_level(test.case, 1.0)(np.array([0.8 / test.place.spread]))[0])
    log_small = float(_log_level(test.mirror, 0.0)(np.array([0.8 / test.mirror_place.spread]))[0])
    with np.errstate(divide="ignore"):
        rest = np.log(np.maximum(1.0 - alpha - test.vanish[1], 1e-300))
        large, small = np.log(alpha) < log_large, rest < log_small
    return np.where(large, 0.0, np.where(small, 2.0, 1.0))


def _view(test: Test, region: Region, alpha: float) -> View:
    case, place = (test.mirror, test.mirror_place) if region == "small" else (test.case, test.place)
    if region == "middle":
        margin = min(0.4, 0.8 / place.spread)
        grid = np.linspace(-1.0 + margin, -margin, 9)
        levels = np.minimum.accumulate(_log_level(case, 1.0)(grid))
        theta = float(np.interp(-math.log(alpha), -levels, grid))
    else:
        level = _log_level(case, 1.0 if region == "large" else 0.0)
        rest = alpha if region == "large" else max(1.0 - alpha - test.vanish[1], 1e-300)
        theta = search(level, math.log(rest), 0.8 / place.spread)
    view = case.engine.view(theta, SHARP)
    if view is None:
        raise Declined
    return view


def _serve(test: Test, region: Region, alpha: FloatArray, first: float) -> tuple[FloatArray, FloatArray, Flags]:
    """Bounds for all alphas from one view, and for which of them the view is near enough to be final."""
    view = _view(test, region, first)
    if isinstance(view, LatticeView):
        return _on_lattice(test, view, region, alpha)
    points, near = _maxima(test, view, region, alpha)
    low, high = np.zeros(alpha.size), np.ones(alpha.size)
    _enclose(test, view, region, alpha, points, low, high)
    poor = np.nonzero(high - low > 1e-3 * high)[0]
    if 0 < poor.size <= FEW:  # few releases with atoms: the maximum sits on a kink that no spline can see
        better = _hunt(test, view, region, alpha[poor], points[poor])
        part_low, part_high = low[poor], high[poor]
        _enclose(test, view, region, alpha[poor], better, part_low, part_high)
        low[poor], high[poor] = part_low, part_high
    return low, high, near


def _enclose(
    test: Test, view: View, region: Region, alpha: FloatArray, points: FloatArray, low: FloatArray, high: FloatArray
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
        open_[todo] = high[todo] - low[todo] > GOOD * high[todo]


def _hunt(test: Test, view: View, region: Region, alpha: FloatArray, points: FloatArray) -> FloatArray:
    """Better estimates of the maxima by looking at c itself on shrinking rows of points."""
    for radius in (3.0, 0.4, 0.05, 0.006, 0.0008):
        rows: FloatArray = points[:, None] + radius * view.spread * HUNT[None, :]
        low, high = _values(test, view, region, rows.ravel(), np.repeat(alpha, HUNT.size))
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
    test: Test, view: View, region: Region, epsilon: FloatArray, alpha: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Certified ends of c."""
    low, high = left_log_space(view.logs(-epsilon if region == "small" else epsilon))
    with np.errstate(over="ignore", invalid="ignore"):
        t = np.exp(epsilon)
        slack = 8 * UNIT * (1 + np.abs(epsilon)) + (view.upper.nudge if isinstance(view, LatticeView) else 0.0)
        if region == "middle":
            cost = t * alpha
            return low - cost * (1 + slack), high - cost * (1 - slack)
        if region == "large":
            cost = t * alpha
            return (
                1.0 - test.case.reveal[1] - high - cost * (1 + slack) - 8 * UNIT,
                1.0 - test.case.reveal[0] - low - cost * (1 - slack) + 8 * UNIT,
            )
        rest_low, rest_high = 1.0 - alpha - test.vanish[1], 1.0 - alpha - test.vanish[0]
        wrong = 8 * UNIT * (rest_high + high + test.vanish[1])
        lower, upper = rest_low - high - wrong, rest_high - low + wrong
        down, up = t * (1 - slack), t * (1 + slack)
        seen = epsilon > -UNDERFLOW  # three zeros that are only underflows would enclose a maximum of zero
        low, high = np.where(lower > 0, down, up) * lower, np.where(upper > 0, up, down) * upper
        return np.where(seen, low, -np.inf), np.where(seen, high, np.inf)


def _maxima(test: Test, view: View, region: Region, alpha: FloatArray) -> tuple[FloatArray, Flags]:
    """Where c is largest for each alpha (an estimate, from a spline of the logs), and whether the scan reaches it."""
    from scipy.interpolate import CubicSpline  # slow to import, and only needed here

    scan = view.centre + view.spread * SCAN
    middle = view.middle(scan)
    keep = np.isfinite(middle)
    if keep.sum() < 4 or not bool(np.all(np.diff(scan) > 0)):
        raise Declined
    spline = CubicSpline(scan[keep], middle[keep])
    fine = np.linspace(scan[keep][0], scan[keep][-1], 12 * SCAN.size)
    value, slope = spline(fine), spline(fine, 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        if region == "large":  # Q(S > eps) = -e^-eps dD/deps
            level = value + np.log(np.maximum(-slope, 1e-300)) - fine
            target = np.log(alpha)
        elif region == "middle":
            level = value + np.log(np.clip(slope, 1e-300, 1.0)) - fine
            target = np.log(alpha)
        else:  # in the mirror, P'(S' > eps') = D' - dD'/deps'
            level = value + np.log(np.maximum(1.0 - slope, 1e-300))
            target = np.log(np.maximum(1.0 - alpha - test.vanish[1], 1e-300))
    level = np.minimum.accumulate(np.where(np.isnan(level), np.inf, level))
    at = np.interp(-target, -level, fine)
    near = np.abs(at - view.centre) <= 4.5 * view.spread
    return (-at if region == "small" else at), near
