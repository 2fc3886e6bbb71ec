"""Dominating pairs on the line: two mixtures of one noise, moved to several places.

P = sum p_k N(. - c_k) against Q = sum q_k N(. - c_k), where N is Gaussian of standard deviation 1 or Laplace of scale 1
and the likelihood ratio rises with the output x.  Such a pair is the worst one where records take part at random: for
mean queries bounded by the places, the largest move in each component gives the largest hockey-stick divergence, at
every epsilon and in any dimension (one test, many means).

The privacy loss L(x) (moved_ratio.py) rises with x: {L > l} is a half-line x > x(l). All masses are tails of N at x(l):
an x that is off by a rounding is the place of a loss l' that is off by one, and `_place` says by how much at most.

Reference: theory/sampling.md sections 1.1, 3 and 6.
"""

from __future__ import annotations

import attrs
import numpy as np

from quiltwork.checks import FloatArray
from quiltwork.losses.dominating_pair import EMPTY, TAIL_ULPS, Cells, Pair
from quiltwork.losses.moved_ratio import MovedRatio, Noise
from quiltwork.numbers.rounding import UNIT

TABLE = 2048  # places at which the loss is known from the start
NEWTON_STEPS, WIDENINGS = 60, 24
LARGEST_EXPONENT = 700.0
SURE = 9.0  # standard deviations


@attrs.frozen(eq=False)
class Spot:
    """Where the loss is reached: certainly between `left` and `right`, and how far the loss at `x` may be from it."""

    x: FloatArray
    left: FloatArray
    right: FloatArray
    miss: FloatArray


class MovedNoisePair(MovedRatio, Pair):
    """Mixtures p and q of one noise at the same places; the likelihood ratio rises with the output."""

    def __init__(
        self,
        noise: Noise,
        places: FloatArray,
        p: FloatArray,
        q: FloatArray,
        gaps: FloatArray,
        reading: float = 0.0,
    ) -> None:
        super().__init__(noise, places, p, q, gaps, reading)
        self._ends = float(places[0]) - noise.reach, float(places[-1]) + noise.reach
        if noise.bounded:
            (low, high), wrong = self.loss(np.array(self._ends))
            self.low, self.high = float(low - wrong[0]), float(high + wrong[1])  # outward: there are atoms
            self._rounding = 2.0 * float(wrong.max())
        else:
            low, high = self.low, self.high = self.far_ends()
            # moments are jointly convex in both laws: no pair of moves is farther apart
            self.tail_mu = float(places[-1] - places[0]) * (1 + 4 * UNIT)
            self._rounding = 2 * max(map(self._end_room, (low, high)))
        self._table = np.linspace(*self._ends, TABLE)
        self._losses = np.maximum.accumulate(self.loss(self._table)[0])

    # ---- the loss and its inverse

    def _rate(self, x: FloatArray) -> FloatArray:
        """dL/dx: it steers, and certifies nothing."""
        logs, slopes = self.noise.log_ratio(self._c, x), self.noise.slope(self._c, x)
        found = []
        for weights in (self._p, self._q):
            terms = np.log(np.maximum(weights, 1e-300)) + logs
            shares = np.exp(terms - terms.max(axis=0))
            found.append((shares * slopes).sum(axis=0) / shares.sum(axis=0))
        return np.asarray(found[0] - found[1])

    def _spot(self, loss: FloatArray) -> Spot:
        """Newton's method inside a shrinking bracket, then steps outward until both signs are certain."""
        first, last = self._ends
        x = np.where(loss < self._losses[0], first, last)
        inside = (loss >= self._losses[0]) & (loss < self._losses[-1])
        at = loss[inside]
        index = np.clip(np.searchsorted(self._losses, at, side="right"), 1, TABLE - 1)
        low, high = self._table[index - 1].copy(), self._table[index].copy()
        span = self._losses[index] - self._losses[index - 1]
        with np.errstate(all="ignore"):
            share = np.where(span > 0, (at - self._losses[index - 1]) / span, 0.5)
        guess = low + np.clip(share, 0.0, 1.0) * (high - low)
        left = np.arange(at.size)
        for _ in range(NEWTON_STEPS):
            value, wrong = self.loss(guess[left])
            miss = value - at[left]
            low[left], high[left] = (
                np.where(miss <= 0, guess[left], low[left]),
                np.where(miss >= 0, guess[left], high[left]),
            )
            with np.errstate(all="ignore"):
                step = guess[left] - miss / self._rate(guess[left])
            good = (step > low[left]) & (step < high[left])
            step = np.where(good, step, 0.5 * (low[left] + high[left]))
            open_ = (np.abs(miss) > wrong) & (high[left] - low[left] > 2 * UNIT * np.abs(guess[left]))
            guess[left[open_]] = step[open_]
            left = left[open_]
            if not left.size:
                break
        x[inside] = guess
        return self._certain(loss, x)

    def _certain(self, loss: FloatArray, x: FloatArray) -> Spot:
        """Ends between which the threshold lies for certain; infinite where none was found.

        Beyond the outermost places a bounded loss is constant, and of a Gaussian no double is left.
        """
        ends, found = self._ends, []
        lost = np.zeros(x.size, dtype=bool)
        value, wrong = self.loss(x)
        with np.errstate(all="ignore"):
            width = 2.0 * (np.abs(value - loss) + wrong) / self._rate(x) + 2 * UNIT * np.abs(x)
            width = np.where(width > 0, np.minimum(width, 2.0**-20), 2.0**-20)  # a flat loss asks for more below
        miss = np.abs(value - loss) + wrong
        for sign, end in ((-1.0, ends[0]), (1.0, ends[1])):
            away, side = width.copy(), np.full(x.size, sign * np.inf)
            left = np.arange(x.size)
            for _ in range(WIDENINGS):
                tried = np.clip(x[left] + sign * away[left], *ends)
                value, wrong = self.loss(tried)
                gap = sign * (value - loss[left])
                sure = gap >= wrong
                side[left[sure]] = tried[sure]
                miss[left[sure]] = np.maximum(miss[left[sure]], gap[sure] + wrong[sure])
                over = ~sure & (tried == end)
                if self.noise.bounded:
                    miss[left[over]] = np.maximum(miss[left[over]], np.abs(gap[over]) + wrong[over])
                left = left[~sure & ~over]
                if not left.size:
                    break
                away[left] *= 8.0
            lost[left] = True
            found.append(side)
        return Spot(x, found[0], found[1], np.where(lost, np.inf, miss))

    # ---- tails

    def _above(self, x: FloatArray) -> FloatArray:
        """The mass beyond x of every component."""
        return self.noise.above(self._c, x)

    def _below(self, x: FloatArray) -> FloatArray:
        return self.noise.above(-self._c, -x)

    def _outside(self, loss: FloatArray, x: FloatArray) -> FloatArray:
        """x with the ends of the support: nothing lies beyond the largest loss, everything above the least."""
        return np.where(loss >= self.high, np.inf, np.where(loss < self.low, -np.inf, x))

    def above(self, loss: FloatArray) -> tuple[FloatArray, FloatArray]:
        mass = self._above(self._outside(loss, self._spot(loss).x))
        return (self._p * mass).sum(axis=0), (self._q * mass).sum(axis=0)

    def below(self, loss: FloatArray) -> tuple[FloatArray, FloatArray]:
        mass = self._below(self._outside(loss, self._spot(loss).x))
        return (self._p * mass).sum(axis=0), (self._q * mass).sum(axis=0)

    def tail_error(self, loss: FloatArray) -> FloatArray:
        """Rounding of the tails, and what lies between the two ends of where the threshold may be."""
        spot, worst = self._spot(loss), np.zeros(loss.shape)
        ulps = UNIT * (self.noise.ulps(self._c, spot.x) + self._terms)
        for tails in (self._above, self._below):
            mass, ends = tails(spot.x), (tails(spot.left), tails(spot.right))
            slip = np.abs(ends[0] - ends[1]) + 2 * ulps * np.maximum(*ends)
            for weights in (self._p, self._q):
                total = (weights * mass).sum(axis=0)
                with np.errstate(all="ignore"):
                    error = (weights * (slip + ulps * mass)).sum(axis=0) / total
                worst = np.maximum(worst, np.where(np.isfinite(error), error, 0.0))
        known = (loss >= self.high) | (loss < self.low)  # outside of the support
        return np.where(known, TAIL_ULPS * UNIT, np.maximum(worst, TAIL_ULPS * UNIT))

    # ---- hockey sticks

    def stick(self, loss: FloatArray) -> FloatArray:
        return self._stick(loss)[0]

    def stick_error(self, loss: FloatArray) -> FloatArray:
        return self._stick(loss)[1]

    def _stick(self, loss: FloatArray) -> tuple[FloatArray, FloatArray]:
        """sum (g_k - (e^l - 1) q_k) N_k(x, inf), and its relative error.

        At an x beside the true threshold the sum is too small by at most the mass between times |1 - e^(l-L)| there;
        where no place beside it is certain, value and truth are both at most the mass beyond what is.
        Gaps sum to 0, so that sum g_k N_k(x, inf) = -sum g_k N_k(-inf, x): the smaller side keeps its digits.
        """
        spot = self._spot(loss)
        grown = np.expm1(np.minimum(loss, LARGEST_EXPONENT))
        above, below = self._above(spot.x), self._below(spot.x)
        left = spot.x < 0
        side = np.where(left, -below, above)
        with np.errstate(all="ignore"):
            seen = (self._q * above).sum(axis=0)
            value = (self._g * side).sum(axis=0) - grown * seen
            ulps = UNIT * (self.noise.ulps(self._c, spot.x) + 2 * self._terms)
            rounding = (np.abs(self._g) * np.abs(side) * ulps).sum(axis=0)
            rounding += np.abs(grown) * (self._q * above * ulps).sum(axis=0)
            ends = self._above(spot.left), self._above(spot.right)
            between = (self._p * (ends[0] - ends[1] + 2 * ulps * ends[0])).sum(axis=0)
            most = (self._p * ends[0] * (1 + 2 * ulps)).sum(axis=0)
            short = np.minimum(between * np.expm1(np.minimum(spot.miss, LARGEST_EXPONENT)), most)
            total = (self._p * above).sum(axis=0)
            least = np.maximum(-np.expm1(np.minimum(loss, 0.0)), 0.0)
            plain = np.clip(value, least, np.maximum(total, least))
            wrong = rounding + short
            value = np.maximum(plain, wrong)  # a relative error of 0 would say nothing
            error = (wrong + value - plain) / np.maximum(value, 1e-300)
        beyond, before, huge = loss >= self.high, loss < self.low, loss > LARGEST_EXPONENT
        value = np.where(beyond, 0.0, np.where(before, least, np.where(huge, total, value)))
        error = np.where(beyond | before, 64 * UNIT, np.where(huge, 1.0, error))
        return value, np.where(np.isfinite(error), np.maximum(error, 64 * UNIT), 1e300)

    # ---- cells and atoms

    def cells(self, edges: FloatArray) -> Cells:
        """Components between the places of the edges, each from the side where its tail is smaller."""
        spot = self._spot(edges)
        first, last = self._ends
        x = self._outside(edges, spot.x)
        sides = spot.left, spot.right
        if self.noise.bounded:
            x, sides = np.clip(x, first, last), (np.clip(sides[0], first, last), np.clip(sides[1], first, last))
        above, below = self._above(x), self._below(x)
        right = (above < below)[:, 1:]
        mass = np.maximum(np.where(right, above[:, :-1] - above[:, 1:], below[:, 1:] - below[:, :-1]), 0.0)
        ulps = UNIT * (self.noise.ulps(self._c, np.where(np.isfinite(x), x, 0.0)) + self._terms)
        tail = np.minimum(above, below) * ulps
        slips = [np.abs(side(sides[0]) - side(sides[1])) for side in (self._above, self._below)]
        slip = np.where(above < below, *slips) + 4 * tail  # the larger side rounds to 0 what the smaller one shows
        slip = np.where((edges >= self.low) & (edges < self.high), slip, 0.0)  # outside of the support all is known
        wrong = (tail[:, :-1] + tail[:, 1:] + slip[:, :-1] + slip[:, 1:]) * (1 + 2 * self._terms * UNIT)
        with np.errstate(over="ignore", invalid="ignore"):
            grown = np.expm1(edges[:-1])
            whole = (self._p * mass).sum(axis=0)
            sizes = np.abs(self._g) + np.abs(grown) * self._q
            stick = ((self._g - grown * self._q) * mass).sum(axis=0)
            error = (sizes * (wrong + 2 * self._terms * UNIT * mass)).sum(axis=0)
        mass_error = (self._p * (wrong + self._terms * UNIT * mass)).sum(axis=0)
        known = np.isfinite(stick) & np.isfinite(error)
        # where e^edge overflows the stick is known only to be at most the mass
        return Cells(
            whole,
            np.where(known, np.clip(stick, 0.0, whole), whole),
            mass_error,
            np.where(known, error, whole + mass_error),
        )

    # ---- moments

    def log_moment_bounds(self, theta: float) -> tuple[float, float]:
        """For Gaussian noise, bounds that meet at high orders, where one move decides.

        Above: Q is at least one of its components, and the norm of a mixture at most the mixture of the norms,
        M <= q_m^(-theta) (sum_k p_k e^(theta (c_k - c_m)^2 / 2))^(1 + theta).  Below: P is at least its last component,
        and beyond t, where the other components of Q fade beside the last, Q <= f(t) N(. - c_m).
        """
        low, high = super().log_moment_bounds(theta)
        if self.noise.bounded or theta <= 0:
            return low, high
        with np.errstate(all="ignore"):
            log_p, log_q, c = np.log(self.p), np.log(self.q), self.places
            norms = 0.5 * theta * np.subtract.outer(c, c) ** 2 + log_p[:, None]
            above = (1.0 + theta) * np.logaddexp.reduce(norms, axis=0) - theta * log_q
            size = (1.0 + theta) * (np.max(np.where(np.isfinite(norms), np.abs(norms), 0.0)) + self._terms)
            hair = 8 * UNIT * (size + theta * np.abs(np.where(self.q > 0, log_q, 0.0)))
            high = min(high, float(np.min(np.where(self.q > 0, above + hair, np.inf))))
            last, base = int(np.flatnonzero(self.p > 0)[-1]), int(np.flatnonzero(self.q > 0)[-1])
            gap, centre = c[last] - c[base], (1.0 + theta) * c[last] - theta * c[base]
            t = centre - SURE  # all but 1e-18 of that component's tilted law lies beyond
            fade = log_q - (c[base] - c) * (t - 0.5 * (c[base] + c))
            kept = float(np.logaddexp.reduce(fade[self.q > 0]))
            below = (1.0 + theta) * log_p[last] + 0.5 * theta * (1.0 + theta) * gap**2 - theta * kept
            room = size + theta * float(np.max(np.where(self.q > 0, np.abs(fade) + np.abs(c[base] * t), 0.0))) + 64
            below -= 16 * UNIT * (room + abs(below))
        return (max(low, float(below)) if self.p[-1] > 0 and self.q[base] > 0 else low), high

    def atoms(self) -> tuple[FloatArray, FloatArray]:
        if not self.noise.bounded:
            return EMPTY, EMPTY
        ends = np.array(self._ends)
        left, right = (self._p * self._below(ends[:1])).sum(), (self._p * self._above(ends[1:])).sum()
        return np.array([self.low, self.high]), np.array([left, right])

    @property
    def rounding(self) -> float:
        return self._rounding

    def swapped(self) -> Pair:
        """The line read from the other end."""
        places, gaps = -self.places[::-1], -self.gaps[::-1]
        return MovedNoisePair(self.noise, places, self.q[::-1], self.p[::-1], gaps, self.reading)
