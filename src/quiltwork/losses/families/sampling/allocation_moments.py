"""Moments of the mean S of t ratios X of Gaussian steps: exact sums at whole orders, convexity between them.

n labels, each of one of t steps: E_Q S^n = t^-n sum of e^(s^2 c) over all, c the number of pairs that share a label.
That is n! times the coefficient of y^n in (sum_k e^(s^2 k(k-1)/2) (y/t)^k / k!)^t, a power of a series of positive
terms: nothing is lost but rounding. K(a) = log E_Q S^a is convex with K(0) = K(1) = 0, so that between whole orders it
lies under their chord and above the chords beside them, extended. At any order the sum of all outputs, N(s / sqrt t),
loses no more and one step alone (Jensen) no less. Beyond the sums, where one ratio decides: (sum X)^a >= sum X^a,
and E_Q S^a = E_P X (S)^(a-1) with one X from P, whose norms add up (Minkowski) to those of one step, hence

    e^(-(a-1) log t) <= E_Q S^a / E_Q X^a <= (1/t + (1 - 1/t) e^(-s^2))^(a-1),   a >= 2.

At whole orders, labels of which one occurs n - j >= n/2 times are at most t C(n, j) (t-1)^j, with at most
n(n-1)/2 - j(n-j) pairs; all others have at most n^2/4.  So, with pairs counted for all of them,

    E_Q S^n <= t^(1-n) e^(s^2 n(n-1)/2) (1 + (t-1) e^(-s^2 n/2))^n + e^(s^2 n^2/4).

Adding the record, E_Q S^-theta is at most the moment of the geometric mean.  That is independent of the deviations of
the t outputs from their mean, under which shrinking them to the variance 1/(1 + c), c = theta s^2/t, gives by Gibbs'
inequality log E_Q S^-theta >= theta^2 s^2/(2t) + theta s^2/2 - (t-1)/2 log(1 + c).  And

    E_Q S^-theta = 1/Gamma(theta) int z^(theta-1) (E e^(-z X/t))^t dz,

whose integrand is log-concave in y = log z.  By sums over a grid of y: of a function with one peak, at most h times the
sum of all values and of the peak, which is at most e^(theta h) of a value, since the power falls; of one that is
log-concave, at least h times the geometric mean of the ends of each cell.

Rounding: a coefficient of order n has n factors that are not 1; a product of two series adds one operation for each of
its terms, of the size of their logarithms.

Reference: theory, sampling, sections 7.2 and 9.
"""

from __future__ import annotations

import math
from functools import lru_cache

import attrs
import numpy as np
from scipy.special import gammaln

from quiltwork.checks import FloatArray
from quiltwork.losses.transforms.lognormal import Lognormal, lognormal
from quiltwork.numbers.rounding import UNIT

LENGTHS = (16, 64, 256, 512)  # orders up to which moments are summed up
LONG = (1024, 2048)  # the same where one order is worth a second or two
SHARP = 1e-3  # relative width at which closed forms are enough
CELL, LEAST_POWER = 0.01, 1e-6  # of log z; up to which the power counts as 1
FINE, NEAR = 1000, 60.0  # cells where nearly all of the integral is, and how far below its top the rest is
Ends = tuple[float, float]


def removed_moment(mu: float, steps: int, order: float, long: bool = False) -> Ends:
    """Ends of log E_Q S^order, order > 0; with `long` sums go further where closed forms are wide."""
    if math.isinf(order):
        return 0.0, math.inf
    low, high = _gaussian(mu, steps, order * (order - 1))
    last = math.floor(order)
    if order < 1:
        return low, high
    length = next((n for n in LENGTHS + LONG if n >= last + 2), 0)
    if length not in LENGTHS:
        least, most = _one_decides(mu, steps, order)
        low, high = max(low, least), min(high, most)
        if not (long and length) or high - low <= SHARP * high:
            return low, high
    below, above = _whole_orders(mu, steps, length)
    if order == last:
        return max(low, float(below[last])), min(high, float(above[last]))
    share = order - last
    chord = (1 - share) * above[last] + share * above[last + 1]
    before = below[last] + share * (below[last] - above[last - 1])
    after = below[last + 1] - (1 - share) * (above[last + 2] - below[last + 1])
    hair = 8 * UNIT * (1 + abs(float(above[last + 2])))
    return max(low, float(before) - hair, float(after) - hair), min(high, float(chord) + hair)


def _one_decides(mu: float, steps: int, order: float) -> Ends:
    """Ends where the largest ratio decides, order >= 2."""
    whole = mu * mu / 2 * order
    ends = whole - math.log(steps), whole + math.log(1 / steps + (1 - 1 / steps) * math.exp(-mu * mu))
    hair = 32 * UNIT * (1 + whole + math.log(steps))
    low, high = (order - 1) * (ends[0] - hair), (order - 1) * (ends[1] + hair)
    first, last = math.floor(order), math.ceil(order)
    chord = [_one_most(mu, steps, n) for n in (first, last)]
    share = order - first
    return low, min(high, (1 - share) * chord[0] + share * chord[1])


def _one_most(mu: float, steps: int, n: int) -> float:
    """log E_Q S^n from above, n >= 2, sharp where one label nearly always is most of them."""
    square, log_steps = mu * mu * (1 + 8 * UNIT), math.log(steps)
    many = n * math.log1p((steps - 1) * math.exp(-mu * mu * (1 - 8 * UNIT) * n / 2))
    one = (1 - n) * log_steps + square * n * (n - 1) / 2 + many
    size = n * log_steps + square * n * n + many
    return float(np.logaddexp(one, square * n * n / 4)) + 64 * UNIT * (1 + size)


def added_moment(mu: float, steps: int, theta: float, long: bool = False) -> Ends:
    """Ends of log E_Q S^-theta, theta > -1; with `long` the integral is refined, from both sides."""
    low, high = _gaussian(mu, steps, theta * (1 + theta))
    if theta <= 0:
        return low, high
    whole, spread = mu * mu * theta * (1 + theta / steps) / 2, (steps - 1) / 2 * math.log1p(mu * mu * theta / steps)
    low = max(low, whole - spread - 32 * UNIT * (whole + spread))
    high = min(high, whole * (1 + 24 * UNIT), _inverse_most(mu, steps, theta))
    if long:
        least, most = _inverse_moment(mu, steps, theta)
        low, high = max(low, least), min(high, most)
    return low, max(low, high)


def _inverse_most(mu: float, steps: int, theta: float) -> float:
    """log E_Q S^-theta from above by the integral: for high orders, where closed forms are far off."""
    powers = _laplace_powers(mu, steps)
    if not powers.fall > theta * (1 + 1e-6) or theta * CELL > 700.0:
        return math.inf
    above = theta * powers.y + powers.power
    top = float(above.max())
    inside = top + math.log(CELL * (float(np.exp(above - top).sum()) + math.exp(theta * CELL)))
    left, right = theta * float(powers.y[0]) - math.log(theta), float(above[-1]) - math.log(powers.fall - theta)
    size = abs(top) + abs(left) + theta * float(np.abs(powers.y).max()) + float(gammaln(theta) + theta)
    return float(np.logaddexp.reduce([inside, left, right]) - gammaln(theta)) + 1e-9 + 64 * UNIT * size


def _inverse_moment(mu: float, steps: int, theta: float) -> Ends:
    """Ends of the same, with finer cells where nearly all of the integral is."""
    powers = _laplace_powers(mu, steps)
    y, above = powers.y, theta * powers.y + powers.power
    rise = min(theta * CELL, 700.0)
    near = np.flatnonzero(above > above.max() - NEAR - rise)
    first, last = max(int(near[0]) - 1, 0), min(int(near[-1]) + 1, y.size - 1)
    fine = np.linspace(y[first], y[last], FINE + 1)
    low, high = powers.at(fine, theta)
    top, width = float(high.max()), float(fine[-1] - fine[0]) / FINE
    # a cell without the peak is at most its larger end, and the peak is in one of them
    inside = top + math.log(width * (float(np.exp(high - top).sum()) + math.exp(min(theta * width, 700.0))))
    rest = np.exp(np.concatenate((above[: first + 1], above[last:])) - top)
    outside = top + math.log(CELL * (2 * float(rest.sum()) + math.exp(rise) * float(rest.max())) + 1e-300)
    left = theta * float(y[0]) - math.log(theta)  # the power is at most 1
    size = abs(top) + abs(left) + theta * float(np.abs(y).max()) + float(gammaln(theta) + theta)
    hair = 1e-9 + 64 * UNIT * size
    middles = np.exp(0.5 * (low[1:] + low[:-1]) - top)
    least = top + math.log(width * float(middles.sum()) + 1e-300) - float(gammaln(theta)) - hair
    if not powers.fall > theta * (1 + 1e-6) or theta * CELL > 700.0:
        return least, math.inf
    right = float(above[-1]) - math.log(powers.fall - theta)
    return least, float(np.logaddexp.reduce([inside, outside, left, right]) - gammaln(theta)) + hair


@attrs.frozen(eq=False)
class _Powers:
    """Places y = log z, log (E e^(-z X/t))^t there from above, and how fast that falls at least beyond the last."""

    law: Lognormal
    steps: int
    y: FloatArray
    power: FloatArray
    fall: float

    def at(self, y: FloatArray, theta: float) -> tuple[FloatArray, FloatArray]:
        """theta y + log of the power, from below and from above."""
        r = np.exp(y - math.log(self.steps))
        low, high = self.law.log_ends(r)
        high = np.minimum(high, self.law.psi_above(r) - r * (1 - 8 * UNIT)) * (1 - 8 * UNIT)
        return theta * y + self.steps * low * (1 + 8 * UNIT), theta * y + self.steps * np.minimum(high, 0.0)


@lru_cache(maxsize=8)
def _laplace_powers(mu: float, steps: int) -> _Powers:
    """From where the power is nearly 1."""
    law = lognormal(mu)
    y = np.arange(math.log(law.rates[0]), math.log(law.rates[-1]), CELL)
    power = _Powers(law, steps, y, y, 0.0).at(y + math.log(steps), 0.0)[1]
    kept = np.append(np.flatnonzero(power < -LEAST_POWER), y.size - 1)[0]
    fall = steps * float(law.decline(np.exp(y[-1:]))[0])
    return _Powers(law, steps, y[kept:] + math.log(steps), power[kept:], fall)


def _gaussian(mu: float, steps: int, size: float) -> Ends:
    """`size` times half of mu^2 of the sum of all outputs, and of one step; exchanged where it is negative."""
    ends = (mu * mu / 2 * size / steps * (1 - 24 * UNIT), mu * mu / 2 * size * (1 + 24 * UNIT))
    return ends if size >= 0 else (ends[1], ends[0])


@lru_cache(maxsize=32)
def _whole_orders(mu: float, steps: int, most: int) -> tuple[FloatArray, FloatArray]:
    """Ends of log E_Q S^n for n = 0 ... most."""
    n = np.arange(most + 1.0)
    grown, factorial, spread = mu * mu * n * (n - 1) / 2, gammaln(n + 1), n * math.log(steps)
    total: FloatArray = np.where(n == 0, 0.0, -np.inf)
    wrong: FloatArray = np.zeros(n.size)
    square: FloatArray = grown - factorial - spread
    square_wrong: FloatArray = 16 * UNIT * (grown + factorial + spread)
    left = steps
    while True:
        if left & 1:
            total, wrong = _product((total, wrong), (square, square_wrong))
        left >>= 1
        if not left:
            break
        square, square_wrong = _product((square, square_wrong), (square, square_wrong))
    log, wrong = total + factorial, wrong + 16 * UNIT * (factorial + np.abs(total)) + 4 * UNIT
    low, high = np.maximum(log - wrong, 0.0), np.maximum(log + wrong, 0.0)
    low[:2] = high[:2] = 0.0
    second = math.log1p(math.expm1(mu * mu) / steps) if mu * mu < 700 else float(log[2])
    low[2:] = np.maximum(low[2:], (n[2:] - 1) * second * (1 - 32 * UNIT))  # K is convex, and 0 at 1
    high[2] = max(min(float(high[2]), second * (1 + 32 * UNIT)), float(low[2]))
    return low, high


def _product(one: tuple[FloatArray, FloatArray], two: tuple[FloatArray, FloatArray]) -> tuple[FloatArray, FloatArray]:
    """Logs of the coefficients of a product of two series with positive terms, and their errors."""
    size = one[0].size
    place = np.arange(size)[:, None] - np.arange(size)[None, :]
    inside = place >= 0
    logs = np.where(inside, one[0][None, :] + two[0][place], -np.inf)
    errors = np.where(inside & np.isfinite(logs), one[1][None, :] + two[1][place], 0.0)
    top = logs.max(axis=1)
    value = top + np.log(np.exp(logs - top[:, None]).sum(axis=1))
    largest = np.abs(one[0], where=np.isfinite(one[0]), out=np.zeros(size))
    largest = np.maximum(np.maximum.accumulate(largest), np.maximum.accumulate(np.abs(two[0])))
    return value, errors.max(axis=1) + UNIT * (16 + 2 * np.arange(size) + 8 * largest)
