"""Tails of normal numbers in a bin plus Gaussian noise: bivariate normal rectangles with a proven error.

In the notation of `density`, with u = (x - e)/s, g = s/sqrt v and t = (y - x)/sqrt v = (y - e)/sqrt v - g u,

    P(Y > y) = (1/P') integral over the bin of q(u) du,    q(u) = e^(-u (u + 2 xi_e)/2) Phi(-t).

All terms are positive.  log q is concave: q(u) <= q(p) e^(k (u - p)) for any place p, k = (log q)'(p).  Let p be about
where q is largest in the bin.  The integral is taken over J, a part of the bin around p:

    where q has fallen by e^-41 or so the rest is left out: beyond an end of J with slope k away from it, q/|k| at most;
    where t < -9, Phi(-t) is one to 2e-19, and the rest of the bin is a window (`window`);
    J itself is cut into equal panels for the Gauss-Legendre rule, with the error proved below.

A place is kept as the pair (u, t), taken from an end of the bin (t = (y - l)/sqrt v) or, in the middle, from y when
g >= 1 and from u otherwise, so that neither loses digits to the other; it is right to 8 units of what it is made from.

Truncation of the rule, for n nodes and N panels of half-length h.  erfcx(z) = (2/sqrt pi) integral of e^(-2 z r - r^2)
dr over r > 0 gives |erfcx(z)| <= erfcx(Re z), so that |Phi(-(t + i r))| <= e^(r^2/2) Phi(-t), and |q(u + i r)| <= q(u)
e^((1 + g^2) r^2/2) for real u and r.  In the Bernstein ellipse of parameter R around a panel, |r| <= B = h (R - 1/R)/2
and u is within A = h (R + 1/R)/2 of the panel's middle; hence |q| <= M = q(p) e^(|k| (d + A - h) + (1 + g^2) B^2/2)
with d the distance from p to that end of J towards which the tangent at p rises.  Chebyshev coefficients of q on the
panel are at most 2 M R^-m.  The rule is exact to degree 2n - 1 and, like the integral, zero for odd ones; its weights
are positive and sum to two, and the integral of an even T_m is at most 2/(m^2 - 1) in size.  So the error of a panel is
at most

    h 4 (1 + 1/(4n^2 - 1)) M R^-2n / (1 - R^-2),        and N h is half the length of J.

Any R > 1 serves; the one used nearly minimises the bound, and panels are short enough (3 w, and a fall of e^-8) to make
it 1e-16.  Neither p nor R has to be right for the bound to hold.

Rounding.  Errors e_u, e_t of the pair (u, t), in units, move log q by |u + xi_e| e_u + (max(t, 0) + 1) e_t; the
exponent adds 8 units of itself, erfcx, weights and sums 96.

Reference: Owen 1956 for the conditional form; Trefethen 2013, theorem 19.3, for the bound (proved above).
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import attrs
import numpy as np
from scipy.special import erfcx

from quiltwork.checks import FloatArray
from quiltwork.confounding.line.binned.window import MIDDLE, OWN, lever, window
from quiltwork.errors import NotCertified
from quiltwork.numbers.rounding import UNIT

if TYPE_CHECKING:
    from quiltwork.confounding.line.binned.density import SliceShapes

# Gauss-Legendre, 16 nodes, rounded from 40 digits
NODES = np.array([
    0.0950125098376374402, 0.2816035507792589132, 0.4580167776572273863, 0.6178762444026437484,
    0.7554044083550030339, 0.8656312023878317439, 0.9445750230732325761, 0.9894009349916499326,
])  # fmt: skip
WEIGHTS = np.array([
    0.1894506104550684963, 0.1826034150449235889, 0.1691565193950025382, 0.1495959888165767321,
    0.1246289712555338720, 0.0951585116824927848, 0.0622535239386478929, 0.0271524594117540949,
])  # fmt: skip
NODES, WEIGHTS = np.concatenate((-NODES[::-1], NODES)), np.concatenate((WEIGHTS[::-1], WEIGHTS))
COUNT = NODES.size
ROOT2 = math.sqrt(2.0)
PANELS = 64
CHUNK = 2_000_000  # numbers held at once
MILLS = math.sqrt(2.0 / math.pi)
FALL = 41.0
ONE, BEYOND = -9.0, -12.0  # t where Phi(-t) is taken for one, if the bin goes on beyond the second
BEND = 0.636  # (log Phi(-t))'' <= -2/pi for t >= 0
STEPS = 6
MAX_NOISE_SDS = 1e140  # sds of the noise, where squares overflow and nothing is left
LOST = 1e3  # an error that says nothing is known


@attrs.frozen(eq=False)
class Sided:
    """The numbers of each component, as seen by a right tail."""

    near: FloatArray
    low: FloatArray
    high: FloatArray
    rest_near: FloatArray
    rest_low: FloatArray
    rest_high: FloatArray
    past_low: FloatArray
    past_high: FloatArray
    xi: FloatArray
    sd: FloatArray
    noise: FloatArray
    g: FloatArray
    c: FloatArray
    width: FloatArray

    def picked(self, rows: np.ndarray) -> Sided:
        return Sided(*(getattr(self, field.name)[rows] for field in attrs.fields(Sided)))


@attrs.frozen(eq=False)
class Panels:
    """J: where it starts or ends (a pair u, t), which way it goes, how long it is, and its errors in units."""

    u: FloatArray
    t: FloatArray
    way: FloatArray
    length: FloatArray
    error_u: FloatArray
    error_t: FloatArray


def gauss(k: Sided, panels: Panels, slope: FloatArray, log_q: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """The integral over J, over q at its largest; its rounding in units; and the number of panels."""
    parts = np.maximum(panels.length / (3.0 * k.c), panels.length * np.abs(slope) / 8.0)
    parts = np.clip(np.ceil(np.where(np.isfinite(parts), parts, 1.0)), 1, PANELS)
    total, units = np.empty(parts.shape), np.empty(parts.shape)
    for count in np.unique(parts):
        which = np.flatnonzero(parts == count)
        steps = ((2.0 * np.arange(count)[:, None] + 1.0 + NODES) / (2.0 * count)).ravel()
        weights = np.tile(WEIGHTS, int(count)) / (2.0 * count)
        some, length = max(CHUNK // steps.size, 1), panels.length
        for at in range(0, which.size, some):
            pick = which[at : at + some]
            way, xi, g = panels.way[pick, None], k.xi[pick, None], k.g[pick, None]
            far = length[pick, None] * steps
            u, t = panels.u[pick, None] + way * far, panels.t[pick, None] - way * g * far
            above = np.maximum(t, 0.0)
            small = np.exp(-0.5 * t * t)
            mills = 0.5 * erfcx(np.abs(t) / ROOT2)
            exponent = 0.5 * (u * (u + 2.0 * xi) + above * above)
            share = np.exp(-exponent - log_q[pick, None]) * np.where(t > 0, mills, 1.0 - small * mills)
            rough = 8.0 * exponent + np.abs(u + xi) * panels.error_u[pick, None]
            rough = rough + (above + 1.0) * panels.error_t[pick, None]
            plain = share @ weights
            total[pick] = length[pick] * plain
            units[pick] = 96.0 + 2.0 * steps.size + np.where(plain > 0, (share * rough) @ weights / plain, 0.0)
    return total, units, parts


def truncation(k: Sided, length: FloatArray, parts: FloatArray, slope: FloatArray, rise: FloatArray) -> FloatArray:
    """The bound of the rule over J, over q at its largest."""
    half = 0.5 * length / parts
    steep, bent = np.abs(slope) * half, (half / k.c) ** 2
    size = np.clip(4.0 * COUNT / (0.5 * steep + np.sqrt(0.25 * steep**2 + 2.0 * COUNT * bent)), 1.5, 1e3)
    log = np.abs(slope) * rise + steep * (0.5 * (size + 1.0 / size) - 1.0) + bent * (size - 1.0 / size) ** 2 / 8.0
    log = log - 2.0 * COUNT * np.log(size) - np.log1p(-(size**-2.0))
    return 0.5 * length * 4.01 * np.exp(np.minimum(log, 700.0))


def _hazard(t: FloatArray) -> FloatArray:
    answer: FloatArray = MILLS / erfcx(np.maximum(t, -30.0) / ROOT2)
    return answer


def _peak(z: FloatArray, g: FloatArray) -> FloatArray:
    """About where t + g^2 hazard(t) = z, the largest q of all: Newton's rule, on logs where the hazard is small."""
    square = g * g
    wide = np.sqrt(z * z + (1.0 + square) * 2.55)
    t = (z + 0.5 * square * np.where(z > 0, -(1.0 + square) * 2.55 / (z + wide), z - wide)) / (1.0 + square)
    t = np.maximum(t, ONE)
    for _ in range(STEPS):
        hazard = _hazard(t)
        rest = z - t
        plain = (square * hazard - rest) / (1.0 + square * hazard * (hazard - t))
        curved = (t < 0) & (g > 1) & (rest > 0)
        positive = np.where(curved, rest, 1.0)
        logs = (np.log(hazard) + 2.0 * np.log(g) - np.log(positive)) / (hazard - t + 1.0 / positive)
        t = np.maximum(t - np.where(curved, logs, plain), ONE)
    return t


class Tails:
    """P(Y > y) and P(Y < y) of many components."""

    def __init__(self, shapes: SliceShapes) -> None:
        ends = [f"{kind}{end}" for kind in ("", "rest_", "past_") for end in ("low", "high")]
        names = [*ends, "near", "rest_near", "sd", "noise", "c"]
        flat = {name: getattr(shapes, name)[:, 0] for name in names}
        flat |= {"xi": shapes.xi_near[:, 0], "g": shapes.ratio[:, 0], "width": (shapes.width / shapes.sd)[:, 0]}
        self._right = Sided(**flat)
        pairs = (("near", "near"), ("xi", "xi"), ("low", "high"), ("past_low", "past_high"), ("rest_low", "rest_high"))
        mirrored = {one: -flat[two] for one, two in (*pairs, *((b, a) for a, b in pairs), ("rest_near", "rest_near"))}
        self._left = Sided(**(flat | mirrored))
        self._whole, self._units = shapes.log_whole[:, 0], shapes.whole_units[:, 0]

    def log_tail(self, rows: np.ndarray, places: FloatArray, side: int) -> tuple[FloatArray, FloatArray]:
        """Log of P(Y > y) (side 1) or P(Y < y) (side -1) for pairs of a component and a place y, and its error."""
        value, error = np.full(places.shape, -np.inf), np.zeros(places.shape)
        ends = np.isinf(places)
        value[ends & (places * side < 0)] = 0.0
        columns = self._right if side > 0 else self._left
        wanted = np.flatnonzero(~ends)
        for at in range(0, wanted.size, CHUNK // (4 * COUNT)):
            part = wanted[at : at + CHUNK // (4 * COUNT)]
            row = rows[part]
            with np.errstate(over="ignore", under="ignore", invalid="ignore", divide="ignore"):
                log, wrong = _integral(columns.picked(row), side * places[part])
                wrong = wrong + UNIT * (self._units[row] + 8.0 + 4.0 * np.abs(self._whole[row]))
                log = log - self._whole[row]
                wrong = np.where(wrong < 0.5, -np.log1p(-np.minimum(wrong, 0.5)), LOST)
                far = np.abs((side * places[part] - columns.near[row]) / columns.noise[row]) > MAX_NOISE_SDS
            if bool(np.any(np.isnan(log) & ~far)):
                raise NotCertified("a tail of a slice", "it is not a number: please report this as a bug")
            nothing = ~(log > -1e300)
            value[part] = np.where(nothing, -np.inf, np.minimum(log, 0.0))
            error[part] = np.where(nothing, 0.0, wrong)
        return value, error


def _integral(k: Sided, y: FloatArray) -> tuple[FloatArray, FloatArray]:
    """log of the integral of q over the bin, and a bound on its relative error."""
    beyond = (y - k.near) - k.rest_near
    scaled, apart = beyond / k.sd, beyond / k.noise
    t_low, t_high = ((y - k.low) - k.rest_low) / k.noise, ((y - k.high) - k.rest_high) / k.noise
    zone = (t_high < BEYOND) & (t_low > ONE + 1.0)
    bottom = np.where(zone, ONE, t_high)
    t = np.clip(_peak(apart + k.g * k.xi, k.g), bottom, np.maximum(t_low, bottom))
    at_low, at_high = t >= t_low, (t <= t_high) & ~zone
    u = np.where(at_low, k.past_low, np.where(at_high, k.past_high, scaled - t / k.g))
    fine = k.g >= 1.0
    t = np.where(at_low | at_high | fine, t, apart - k.g * u)
    before = np.where(at_low, 0.0, np.where(at_high, k.width, np.where(fine, (t_low - t) / k.g, u - k.past_low)))
    after = np.where(fine | zone, (t - bottom) / k.g, k.past_high - u)
    after = np.where(at_high, 0.0, np.where(at_low & ~zone, k.width, after))
    slope = -(u + k.xi) + k.g * _hazard(t)
    bulk = np.sqrt(2.0 * FALL / (1.0 + BEND * k.g**2))
    reach = np.maximum(-t, 0.0) / k.g + bulk
    reach_low = np.where(slope > 0, np.minimum(reach, FALL / slope), reach)
    reach = np.where(bulk * k.g <= t, bulk, math.sqrt(2.0 * FALL))
    reach_high = np.where(slope < 0, np.minimum(reach, -FALL / slope), reach)
    from_low, to_high = before <= reach_low, after <= reach_high
    before, after = np.clip(np.minimum(before, reach_low), 0.0, None), np.clip(np.minimum(after, reach_high), 0.0, None)
    panels = _placed(k, scaled, apart, (t_low, t_high), (u, t), (from_low, to_high & ~zone), (before, after))

    log_q, _ = _logs(k, u, t)
    total, units, parts = gauss(k, panels, slope, log_q)
    cut_short = truncation(k, panels.length, parts, slope, np.where(slope < 0, before, after))
    first = panels.u - np.where(panels.way < 0, panels.length, 0.0)
    above = panels.t + np.where(panels.way < 0, k.g * panels.length, 0.0)
    left_out = np.where(from_low, 0.0, _beyond(k, first, above, log_q, 1.0))
    last, below = first + panels.length, above - k.g * panels.length
    left_out = left_out + np.where(to_high, 0.0, _beyond(k, last, below, log_q, -1.0))
    wrong = UNIT * units + 2.0 * (cut_short + left_out) / total
    found = log_q + np.log(total)
    flat = zone & to_high
    if bool(flat.any()):
        more, unsure = _flat(k.picked(flat), last[flat], (panels.error_u + 8.0 * (np.abs(last) + panels.length))[flat])
        both = np.logaddexp(found[flat], more)
        wrong[flat] = wrong[flat] * np.exp(found[flat] - both) + unsure * np.exp(more - both) + 8.0 * UNIT
        found[flat] = both
    return found, wrong + UNIT * (8.0 + 4.0 * np.abs(log_q))


def _placed(
    k: Sided, scaled: FloatArray, apart: FloatArray, ends: tuple[FloatArray, FloatArray],
    peak: tuple[FloatArray, FloatArray], reached: tuple[np.ndarray, np.ndarray], sides: tuple[FloatArray, FloatArray],
) -> Panels:  # fmt: skip
    """J from its lower end, or from its upper one where only that is an end of the bin."""
    (u, t), (from_low, to_high), (before, after) = peak, reached, sides
    fine = k.g >= 1.0
    t_start = t + k.g * before
    u_start = np.where(fine, scaled - t_start / k.g, u - before)
    t_start = np.where(fine, t_start, apart - k.g * u_start)
    error_u = np.where(fine, 8.0 * (np.abs(scaled) + np.abs(t_start) / k.g), 0.0)
    error_t = np.where(fine, 0.0, 8.0 * (np.abs(apart) + k.g * np.abs(u_start)))
    back = to_high & ~from_low
    picks = [from_low, back]
    length = np.where(from_low & to_high, k.width, before + after)
    u_end, t_end = np.select(picks, [k.past_low, k.past_high], u_start), np.select(picks, list(ends), t_start)
    error_u = np.where(from_low | back, 0.0, error_u) + 8.0 * (np.abs(u_end) + length)
    error_t = np.where(from_low | back, 0.0, error_t) + 8.0 * (np.abs(t_end) + k.g * length)
    return Panels(u_end, t_end, np.where(back, -1.0, 1.0), length, error_u, error_t)


def _logs(k: Sided, u: FloatArray, t: FloatArray) -> tuple[FloatArray, FloatArray]:
    """log q and (log q)'."""
    tail = np.log(0.5 * erfcx(np.abs(t) / ROOT2))
    tail = np.where(t > 0, tail - 0.5 * t * t, np.log1p(-np.exp(np.minimum(tail - 0.5 * t * t, 0.0))))
    return tail - 0.5 * u * (u + 2.0 * k.xi), k.g * _hazard(t) - (u + k.xi)


def _beyond(k: Sided, u: FloatArray, t: FloatArray, log_q: FloatArray, sign: float) -> FloatArray:
    """What is left out beyond an end of J, over q at its largest: q/|slope|, if the slope has the right sign."""
    log, slope = _logs(k, u, t)
    return np.where(sign * slope > 0, np.exp(log - log_q) / np.abs(slope), np.inf)


def _flat(k: Sided, u: FloatArray, error_u: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The part of the bin from u on, where Phi(-t) is one: a window, and a bound on its relative error.

    Its lower end is off by e_u units, which count with the density there (of a short window: at most e/length).
    """
    end, length = k.past_high, k.past_high - u
    a, b = u + k.xi, end + k.xi
    middle = 0.5 * (u + end)
    found = window(a[:, None], b[:, None], (middle + k.xi)[:, None], length[:, None])
    falls = [np.zeros_like(u), *(0.5 * place * (place + 2.0 * k.xi) for place in (u, end, middle))]
    fallen = np.choose(found.reference[:, 0], falls)
    error_b = np.where(np.isfinite(b), 8.0 * np.abs(b), 0.0)
    moved = lever(a[:, None], b[:, None], length[:, None], found.reference, error_u[:, None], error_b[:, None])[:, 0]
    placed = error_u * np.where(found.reference[:, 0] == MIDDLE, 3.0 / length, found.low[:, 0])
    units = OWN + 16.0 * np.abs(fallen) + moved + 2.0 * placed + 4.0 * np.abs(found.log[:, 0])
    return found.log[:, 0] - fallen, UNIT * units + 1e-18
