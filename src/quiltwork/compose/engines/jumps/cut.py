"""One Gaussian release on a small sample, cut smoothly in three: usual losses, jumps, and jumps that decide alone.

With x standard normal under Q, w = 1 - q + q e^(x/s - 1/(2 s^2)) and loss L = log w (the record is removed), the law
P = N w is the sum of three positive measures that are analytic in x, with cut-offs of one width tau at c1 < c2:

    A = N w Phi((c1-x)/tau),  B = N w [Phi((x-c1)/tau) - Phi((x-c2)/tau)],  C = N w Phi((x-c2)/tau).

The divergence is linear in the measure, so that T releases have D = D_(A^T) + D_F + D_C with F = (A+B)^T - A^T (some
jump, none in C) and D_C of what has a loss in C.

**A floor b of all other losses.** S >= T log(1-q). Bennett: (w^-t - 1 + t(w-1))/(w-1)^2 falls in w >= 1-q, E_Q w = 1
and Var_Q w = q^2 (e^(1/s^2) - 1), so that E_Q w^-t <= 1 + (e^(1/s^2) - 1)((1-q)^-t - 1 - tq), and Q^n(S < -b) <= e^-v
for b = (T log E w^-t + v)/t and every n <= T (the expectation is at least 1).

**D_C.** (1 - e^y)+ = 1 - e^y + (e^y - 1)+, hence D_C(eps) = P(C) - e^eps Q(C) + R with masses of "some loss in C",
and 0 <= R <= e^eps Q(some in C, S < eps) <= e^eps T C1 (e^-v + Q(x < x* | C)), x* the place of the loss eps + b. Given
X + tau Z >= c2, X is stochastically above its law at equality, so that with r^2 = 1 + tau^2

    Q(x < x* | C) <= Phi((x* - c2/r^2) r/tau).

**Real tilts.** For a real power, |w(x+iy)| <= w(x) and |Phi(a+ib)| <= e^(b^2/2) Phi(a): the trapezoid rule of step h
errs by at most 2 e^(y^2 (1 + 1/tau^2)/2) / (e^(2 pi y/h) - 1), relatively, for every y < pi s. With h = .3 tau and
y = (2 pi/h)/(1 + 1/tau^2) <= 21 tau < pi s that is below e^-170.

Reference: theory/engine-faster.md section 4.
"""

from __future__ import annotations

import math
from functools import cached_property

import numpy as np
from scipy.special import log_ndtr, ndtr

from quiltwork.checks import FloatArray
from quiltwork.losses.transforms.transform import LARGEST, TooCostly, layer_cake, layered_decay
from quiltwork.numbers.rounding import UNIT

HALF_LOG_2PI = 0.5 * math.log(2 * math.pi)
STRIPS = np.array([0.01, 0.02, 0.04, 0.08, 0.15, 0.25, 0.4, 0.6, 0.85, 1.2, 1.7])  # shifts of x, in units of s
SINES, COSINES = np.sin(STRIPS)[:, None], np.cos(STRIPS)[:, None]
FIRST = -9.5  # where cells begin: what lies left of it is less than Phi(-9.5)
BEYOND = 7.6  # widths of the cut-off between x* and C
NEAR, MIDDLE = 60, 260  # cells left of the jumps, and around them
FAR = (np.geomspace(1.0, 400.0, 40) - 1) / 399.0  # edges right of them, from 0 to 1
ROOM = 1e-10  # relative, for rounded sums of exponentials whose exponents are below 700
UNLIKELY = 40.0  # log of what may go wrong beside delta
TINY = 1e-300  # of a cut-off: below it there is underflow
WIDEST = 0.45  # step between nodes
FAINT = 75.0  # log of what cells may lie below the largest one, before their decay no longer counts
NEGLIGIBLE = 1e-24  # of a part, that nodes may leave out


class Cut:
    """The three parts of one release, their masses under P and Q after `count` releases, and D_C."""

    def __init__(self, sigma: float, rate: float, count: int, epsilon: float, ratio: float, width: float, v: float):
        self.sigma, self.rate, self.count, self.unlikely = sigma, rate, count, v
        self.ratio, self.width = ratio, width
        self.tau = tau = min(width * sigma, 0.5)
        self.r = r = math.sqrt(1 + tau * tau)
        self.floor = floor_of(sigma, rate, count, v)
        edge = self.place(epsilon - self.floor)
        self.c2 = (edge + BEYOND * tau / r) * r * r  # N Phi((x-c2)/tau) is centred at c2/r^2, with width tau/r
        self.c1 = min(self.place(epsilon / ratio), edge - 0.3 * tau) * r * r
        if not (math.isfinite(self.c2) and self.c1 / r**2 >= 0.8 and self.c2 < 300):
            raise TooCostly
        (b0, b1), (c0, c1) = self._jumps(), self._alone()
        if not (b1 > 0 and b0 > 0 and b0 + c0 < 0.9 and b1 + c1 < 0.9):
            raise TooCostly
        size = max(self.c1**2, (self.c2 / r) ** 2, ((1 / sigma - self.c2) / r) ** 2) + (self.c1 - 1 / sigma) ** 2
        near = max(self._lost(0.0, b1), rate * self._lost(1 / sigma, b0))  # by differences of two cdfs
        self.wrong = (64 + 4 * size) * UNIT * (1 + near) * (1 + count * max(b0 + c0, b1 + c1))
        keep = [count * math.log1p(-c) for c in (c0, c1)]
        self.alone = -math.expm1(keep[0]), -math.expm1(keep[1])
        self.alone_once = c1
        left = [count * math.log1p(-b / (1 - c)) for b, c in ((b0, c0), (b1, c1))]
        self.jumps = math.exp(keep[0]) * -math.expm1(left[0]), math.exp(keep[1]) * -math.expm1(left[1])
        self.usual = math.exp(keep[0] + left[0]), math.exp(keep[1] + left[1])

    def _alone(self) -> tuple[float, float]:
        q = float(ndtr(-self.c2 / self.r))
        return (1 - self.rate) * q + self.rate * float(ndtr((1 / self.sigma - self.c2) / self.r)), q

    def _jumps(self) -> tuple[float, float]:
        jumps, others = (more - less for more, less in map(self._cdfs, (1 / self.sigma, 0.0)))
        return (1 - self.rate) * others + self.rate * jumps, others

    def _cdfs(self, mean: float) -> tuple[float, float]:
        """Two cdfs whose difference is the mass between both cut-offs, from the end where both are small."""
        more, less = (mean - self.c1) / self.r, (mean - self.c2) / self.r
        more, less = (-less, -more) if more + less > 0 else (more, less)
        return float(ndtr(more)), float(ndtr(less))

    def _lost(self, mean: float, mass: float) -> float:
        """What these cdfs weigh together, in parts of a mass that is computed from their difference."""
        return sum(self._cdfs(mean)) / mass

    def place(self, loss: float) -> float:
        """x with log w = loss."""
        odds = math.expm1(loss) + self.rate if loss < 700 else math.inf
        if odds <= 0:
            raise TooCostly
        exponent = math.log(odds / self.rate) if math.isfinite(odds) else loss - math.log(self.rate)
        return self.sigma * exponent + 0.5 / self.sigma

    def log_w(self, x: FloatArray) -> FloatArray:
        """The loss, accurate for small rates and for large exponents."""
        a = x / self.sigma - 0.5 / self.sigma**2
        small = np.log1p(self.rate * np.expm1(np.minimum(a, LARGEST)))
        large = a + math.log(self.rate) + np.log1p((1 - self.rate) / self.rate * np.exp(-np.maximum(a, LARGEST)))
        loss: FloatArray = np.where(a < LARGEST, small, large)
        return loss

    def far(self, epsilon: float) -> tuple[float, float]:
        """Ends of D_C."""
        grown = math.exp(epsilon) if epsilon < 700 else math.inf
        place = self.place(epsilon - self.floor)
        late = float(ndtr((place - self.c2 / self.r**2) * self.r / self.tau + 1e-9)) * (1 + 1e-9)
        rest = grown * self.count * self.alone_once * (late + math.exp(-self.unlikely)) * (1 + ROOM)
        value = self.alone[0] - grown * self.alone[1]
        rounding = (self.wrong + 4 * UNIT * (1 + abs(epsilon))) * (self.alone[0] + grown * self.alone[1])
        return value - rounding, value + rounding + rest

    def cut_off(self, x: FloatArray, part: int) -> tuple[FloatArray, FloatArray]:
        """That of A (part 0) or of B (part 1), and by how many units of roundoff it may be off.

        A difference of two cdfs is taken where both are small, and what they lose is counted on its own scale.
        """
        first, slip = (x - self.c1) / self.tau, 4 * np.abs(x) / self.tau  # arguments are rounded on the scale of x
        if not part:
            return _seen(ndtr(-first), _cdf_error(-first, slip))
        second = (x - self.c2) / self.tau
        right = first + second > 0
        more, less = np.where(right, -second, first), np.where(right, -first, second)
        large, small = ndtr(more), ndtr(less)
        found = np.maximum(large - small, 0.0)
        wrong = large * _cdf_error(more, slip) + small * _cdf_error(less, slip)
        return _seen(found, wrong / np.maximum(found, TINY))


def _seen(found: FloatArray, units: FloatArray) -> tuple[FloatArray, FloatArray]:
    """What may have underflowed is as large as the least that counts, and may be off by twice that."""
    return np.maximum(found, TINY), np.where(found < TINY, 2 / UNIT, units)


def _cdf_error(at: FloatArray, slip: FloatArray) -> FloatArray:
    """Units that a normal cdf is off by, relatively: its own, and those of its argument, whose slope is at most 1+|at|.

    The first were measured: up to 8 + 2 at^2 in the small tail.
    """
    tail: FloatArray = np.maximum(-at, 0.0)
    return 16 + 4 * tail * tail + slip * (1 + tail)


def floor_of(sigma: float, rate: float, count: int, v: float) -> float:
    """What all losses together hardly ever fall below: surely, or with probability e^-v under Q."""
    surely = count * math.log1p(-rate) * (1 + 4 * UNIT)
    if 1 / sigma**2 > 600:
        return surely
    t = np.geomspace(1e-5, 30.0, 40) / rate
    grown = math.expm1(1 / sigma**2) * (np.expm1(-t * math.log1p(-rate)) - t * rate) * (1 + 1e-9)
    b = (count * np.log1p(np.maximum(grown, 0.0)) + v) / t
    return max(surely, -float(b.min()) * (1 + 1e-12))


class Cells:
    """Upper Riemann cells of A and B in logarithms, and trapezoid nodes for real tilts."""

    def __init__(self, cut: Cut) -> None:
        self.cut, tau = cut, cut.tau
        start = max(cut.c1 / cut.r**2 - 8 * tau, FIRST + 1.0)
        self.last = end = cut.c2 / cut.r**2 + 9 * tau
        near, middle = np.linspace(FIRST, start, NEAR + 1), np.linspace(start, end, MIDDLE + 1)
        far = end + max(cut.c2 + 60.0 - end, 60.0) * FAR
        self.edges = edges = np.concatenate((near[:-1], middle, far[1:]))
        self.first_far = near.size - 1 + middle.size - 1  # the first cell right of the last node
        self.losses = cut.log_w(edges)
        log_normal = -0.5 * edges * edges - HALF_LOG_2PI
        peak = np.maximum(log_normal[:-1], log_normal[1:])
        peak[(edges[:-1] < 0) & (edges[1:] > 0)] = -HALF_LOG_2PI
        self.peak, self.widths = peak + 1e-9, np.diff(edges)  # 1e-9: rounding of these logarithms
        self.log_masses = self.peak + np.log(self.widths)
        self.usual = log_ndtr((cut.c1 - edges[:-1]) / tau) + 1e-9  # falls
        self.jumps = np.minimum(log_ndtr((edges[1:] - cut.c1) / tau), log_ndtr((cut.c2 - edges[:-1]) / tau)) + 1e-9
        self.first_jumps = float(log_ndtr((FIRST + 1.0 - cut.c1) / tau))  # log, of all that lies left of the cells
        self.rest = float(ndtr(FIRST + WIDEST + 0.05))  # under N, of all nodes that lie left of the cells
        self.odds = cut.rate * np.exp(np.minimum(edges / cut.sigma - 0.5 / cut.sigma**2, 600.0))
        self._nodes: tuple[FloatArray, ...] | None = None

    @cached_property
    def turns(self) -> FloatArray:
        """arg w on each line x + iy, at the edges."""
        turns: FloatArray = np.arctan2(self.odds * SINES, 1 - self.cut.rate + self.odds * COSINES)
        return turns

    def _tail(self, theta: FloatArray, step: float) -> FloatArray:
        """log of int N w^(1+theta) Phi((c2-x)/tau) right of the cells, or of such a sum of nodes.

        The slope of the logarithm of the first and last factor falls, that of w is at most 1/s: an exponential above.
        """
        cut, edge = self.cut, float(self.edges[-1])
        at = (cut.c2 - edge) / cut.tau
        slope = -edge - max(-at, 0.0) / cut.tau + (1 + theta) / cut.sigma
        top = -0.5 * edge * edge + (1 + theta) * float(self.losses[-1]) + float(log_ndtr(at)) + 1e-9
        with np.errstate(all="ignore"):
            return np.where(slope < -1e-3, top + np.log(step - 1 / slope), np.inf)

    def missing(self, theta: FloatArray, step: float) -> tuple[FloatArray, FloatArray]:
        """What nodes leave out of A and of B at both ends: a cell holds at most width/step + 1 of them."""
        first = self.first_far
        with np.errstate(over="ignore"):
            logs = self.peak[first:] + np.log(self.widths[first:] + step)
            logs = logs + np.multiply.outer(1 + theta, self.losses[first + 1 :])
            right = np.exp(self._tail(theta, step))
            usual, jumps = ((np.exp(logs + part[first:])).sum(axis=-1) + right for part in (self.usual, self.jumps))
        return usual + self.rest, jumps + self.rest * math.exp(self.first_jumps)

    def above(self, theta: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Upper bounds of A and B at real tilts."""
        cut = self.cut
        step = 0.3 * cut.tau
        if self._nodes is None:
            x = step * np.arange(math.floor(-9.3 / step), math.ceil(self.last / step) + 1)
            self._nodes = (
                cut.log_w(x),
                step * np.exp(-HALF_LOG_2PI - 0.5 * x * x),
                *(cut.cut_off(x, part)[0] for part in (0, 1)),
            )
        losses, normal, usual, jumps = self._nodes
        with np.errstate(over="ignore", invalid="ignore"):
            found = np.exp(np.multiply.outer(1 + theta, losses)) * normal
            a, b = found @ usual, found @ jumps
            left_a, left_b = self.missing(theta, step)
            return a * (1 + ROOM) + left_a, b * (1 + 1e-9) + left_b

    def decay(self, theta: float, cutoff: FloatArray) -> FloatArray:
        """sup over u >= each cutoff of |B(theta+iu)|, by the shift x -> x + iy: e^(-u arg w) falls in u."""
        cut = self.cut
        logs = self.log_masses + (1 + theta) * self.losses[1:] + self.jumps
        large = logs > logs.max() - FAINT  # the others are added as they are
        turn = self.turns[:, :-1][:, large] * (1 - 1e-12)
        with np.errstate(over="ignore", divide="ignore"):
            total = np.exp(logs[large] - np.multiply.outer(cutoff, turn)).sum(axis=-1) + np.exp(logs[~large]).sum()
            total = total + self.rest * math.exp(self.first_jumps) + np.exp(self._tail(np.array([theta]), 0.0))
            size = np.log(total) + 0.5 * (STRIPS * cut.sigma) ** 2 * (1 + 1 / cut.tau**2)
            bound: FloatArray = np.exp(size.min(axis=-1)) * (1 + 1e-9)
        return bound

    def kept(self, theta: float, step: float, part: int, size: float) -> tuple[float, float, float]:
        """Where nodes of A or of B begin and end, and what those left out weigh: NEGLIGIBLE of this size, if possible.

        A cell holds at most width/step + 1 nodes.
        """
        with np.errstate(over="ignore"):
            cells = np.exp(self.peak + np.log(self.widths + step) + (1 + theta) * self.losses[1:] + self._part(part))
            left = self.rest * math.exp(part * self.first_jumps) + np.append(0.0, cells.cumsum())
            right = np.exp(self._tail(np.array([theta]), step)) + np.append(cells[::-1].cumsum()[::-1], 0.0)
        first = max(int(np.searchsorted(left, NEGLIGIBLE * size, side="right")) - 1, 0)
        last = max(int(np.searchsorted(-right, -NEGLIGIBLE * size)), first + 1)
        last = min(last, self.first_far)
        return float(self.edges[first]), float(self.edges[last]), float(left[first] + right[last]) * (1 + ROOM)

    def _part(self, part: int) -> FloatArray:
        return self.jumps if part else self.usual

    def step(self, theta: float, cutoff: float, part: int, size: float, need: float) -> float:
        """A step at which the trapezoid rule errs by e^-need, relative to this size of A or of B, for |u| <= cutoff.

        On the lines at +-y, |w^z| <= w^Re z e^(U arg w); the error is at most 2 I(y) / (e^(2 pi y/h) - 1).
        """
        cut = self.cut
        turn = self.turns[:, 1:] * (1 + 1e-12)
        ends = np.logaddexp(
            cutoff * turn[:, 0] + math.log(self.rest), cutoff * STRIPS + float(self._tail(np.array([theta]), 0.0)[0])
        )
        grown = self.log_masses + (1 + theta) * self.losses[1:] + self._part(part) + cutoff * turn
        top = np.maximum(grown.max(axis=1), ends)
        total = top + np.log(np.exp(grown - top[:, None]).sum(axis=1) + np.exp(ends - top)) - math.log(size)
        total = np.maximum(total, 0.0) + 0.5 * (STRIPS * cut.sigma) ** 2 * (1 + 1 / cut.tau**2)
        return min(float((2 * math.pi * STRIPS * cut.sigma / (total + need + math.log(2.2))).max()), WIDEST)

    def fading(self, theta: float, size: float, cutoff: FloatArray) -> FloatArray:
        """log of a bound on |A(theta+iu)| / size for all u >= each cutoff: the layer cake of its loss density."""
        cut = self.cut
        edges = np.linspace(-7.5, min(self.last, max(theta / cut.sigma, 0.0) + 8.0), 121)
        losses = cut.log_w(edges)
        normal = np.minimum(-0.5 * edges[:-1] ** 2, -0.5 * edges[1:] ** 2) - HALF_LOG_2PI
        slope = math.log(cut.rate / cut.sigma) + edges / cut.sigma - 0.5 / cut.sigma**2 - losses  # log dL/dx, grows
        logs = (
            normal + (1 + theta) * losses[:-1] + log_ndtr((cut.c1 - edges[1:]) / cut.tau) - math.log(size) - slope[1:]
        )
        widths = np.diff(losses)
        density = np.where(widths > 0, np.exp(np.minimum(logs, 600.0)), 0.0) * (1 - 1e-7)  # widths are differences
        return layered_decay(*layer_cake(widths, density), 1.0)(cutoff)


class Light:
    """An upper bound of D_(A^T): Chernoff's, or one loss above some b and Chernoff's bound below it."""

    def __init__(self, cells: Cells, tilts: FloatArray, logs: FloatArray) -> None:
        self.tilts, self.plain = tilts, logs
        count, losses = cells.cut.count, cells.losses[1:]
        base = cells.log_masses + cells.usual
        at = np.arange(NEAR, base.size - 2, 3)
        with np.errstate(over="ignore"):
            beyond = np.exp(base + losses)[::-1].cumsum()[::-1] + np.exp(cells._tail(np.zeros(1), 0.0))
            below = np.exp(base + np.multiply.outer(1 + tilts, losses)).cumsum(axis=1) + cells.rest
            self.beyond, self.below = count * beyond[at + 1] * (1 + ROOM), count * (np.log(below[:, at]) + ROOM)

    def __call__(self, epsilon: float) -> float:
        plain = float((self.plain - self.tilts * epsilon).min())
        split = (self.below - self.tilts[:, None] * epsilon).min(axis=0)
        both = np.exp(np.minimum(split, 0.0)) + self.beyond
        return min(math.exp(min(plain, 0.0)), float(both.min())) * (1 + ROOM)
