"""Bounds in closed form for the mean S of t ratios X of Gaussian steps: where integrals have no digits left.

X = e^(s x - s^2/2) under Q, x standard normal; under P one of the steps has x of mean s. C(b) = E_Q(X - b)+ is the
hockey stick of one step at log b, and (S - v)+ is at most what each of these says (v > 1 for all but the first two):

    below   C of gdp(s / sqrt t), the sum of all outputs;  1 - v;
            q^(t-1) C(K),   q = Q(X <= c), K = t v - (t-1) E[X | X <= c] >= c = 1 + t (v-1):
            one step alone exceeds c, and the others are replaced by their mean (Jensen).
    above   C(v), one step (Jensen);
            C(b) + M(m, b)^t e^(-t m (v-1) - 1) / (t m),   M(m, b) = E e^(m (min(X, b) - 1)):
            ratios are cut at b, which costs at most C(b), and the rest has exponential moments (Chernoff);
            C(t (v - r)) + P(two of the X > c) + P(T > r),   T = mean of min(X, c):
            either all but the largest ratio together are at most t r, or two exceed c, or T does exceed r, and
            E_Q[S; A] = P(A); P(T > r) <= e^(m (c-1)) M(m, c)^(t-1) e^(-t m (r-1)).
    S       max(X)/t <= S <= max(X);   Q(S > v) <= E(S - v')+ / (v - v') and P(S > v) <= v times that, v' < v.

The factors 1 +- 1e-12 and 1e-9 are rounding: some thousand units for some ten operations.

Reference: theory, sampling, section 7.
"""

from __future__ import annotations

import math
from functools import cached_property

import numpy as np
from scipy.special import log_ndtr, ndtr

from quiltwork.checks import FloatArray
from quiltwork.losses.families.gaussian import log_stick
from quiltwork.numbers.rounding import UNIT

EXPONENT = 600.0  # losses beyond are known by one step alone
DEVIATIONS = np.concatenate((np.linspace(1.5, 12.0, 22), np.linspace(13.0, 37.0, 13)))  # at which ratios are cut
MOMENTS = 100  # exponential moments that are tried
CELL = 0.04  # of x, in sums of them
ROWS = 64  # values of v at a time
LARGEST_CUT = 40.0  # log b
SHARE = 1e-3  # of the lower bound, that P(T > r) may have
UNSEEN = 1e-21  # hockey sticks beyond which no integral has a digit
NEAR = 0.9  # of v - 1, where Markov's inequality starts
FARTHEST_LOSS = 60.0
LEAST = 1e-300
Two = tuple[FloatArray, FloatArray]  # lower and upper ends


def gaussian_stick(mu: float, loss: FloatArray) -> Two:
    """Ends of the hockey stick of G_mu."""
    with np.errstate(all="ignore"):
        value, error = log_stick(mu, loss)
        most = np.exp(log_ndtr(mu / 2 - loss / mu) * (1 - 1e-12) + 1e-12)
        low, high = np.exp(value - error), np.exp(value + error)
        low, high = np.where(np.isnan(low), 0.0, low), np.where(np.isnan(high), 1.0, high)
    return low, np.minimum(high, most)


class AllocationBounds:
    """Of one of `steps` Gaussian steps of sensitivity mu."""

    def __init__(self, mu: float, steps: int) -> None:
        self.mu, self.steps = mu, steps
        self.less, self.more = mu * (1 - 4 * UNIT), mu * (1 + 4 * UNIT)  # mu itself is rounded

    # ---- E_Q(S - v)+ and E_Q(v - S)+ / v, by the loss l = log v

    def call(self, loss: FloatArray) -> Two:
        """E_Q(S - v)+."""
        excess = np.expm1(np.clip(loss, -EXPONENT, EXPONENT))
        low = np.maximum(gaussian_stick(self.less / math.sqrt(self.steps), loss)[0], -excess * (1 - 1e-12))
        high = gaussian_stick(self.more, loss)[1]
        over = (loss > 1e-9) & (loss < EXPONENT)
        if over.any():
            low[over] = np.maximum(low[over], self._alone(excess[over]))
            for part in np.array_split(np.nonzero(over)[0], -(-int(over.sum()) // ROWS)):
                ends = self._chernoff(excess[part]), self._largest(excess[part], low[part])
                high[part] = np.minimum(high[part], np.fmin(*ends))
        return np.minimum(low, high), high

    def put(self, loss: FloatArray) -> Two:
        """E_Q(v - S)+ / v: the hockey stick of adding the record, at -l."""
        low = gaussian_stick(self.less / math.sqrt(self.steps), -loss)[0]
        high = gaussian_stick(self.more, -loss)[1]
        return np.minimum(low, high), high

    def _alone(self, excess: FloatArray) -> FloatArray:
        """One step alone exceeds c = 1 + t (v-1)."""
        t, mu = float(self.steps), self.mu
        with np.errstate(all="ignore"):
            place = np.log1p(t * excess) / mu  # of c
            above, beyond = (ndtr(-place + shift) * (1 + 1e-12) for shift in (mu / 2, -mu / 2))  # P(X > c), Q(X > c)
            missing = above / np.maximum(1 - beyond, 1e-300)  # at least 1 - E[X | X <= c]
            strike = np.log1p((t * excess + (t - 1) * missing) * (1 + 1e-12))
            low = gaussian_stick(self.less, strike * (1 + 1e-13))[0] * np.exp((t - 1) * np.log1p(-beyond) * (1 + 1e-12))
        return np.where(np.isfinite(low), low * (1 - 1e-9), 0.0)

    @cached_property
    def _cuts(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """log b, b - 1, and C(b) from above, for the b at which ratios are cut."""
        cut = self.mu * DEVIATIONS - self.mu**2 / 2
        cut = cut[(cut > 1e-3 * self.mu) & (cut < EXPONENT)]
        return cut, np.expm1(cut), gaussian_stick(self.more, cut)[1]

    @cached_property
    def _powers(self) -> tuple[FloatArray, FloatArray]:
        """log E e^(m (min(X, b) - 1)) from above, for each cut b and several m; and t m.

        With w = m (min(X, b) - 1), E e^w <= 1 + E[e^w - 1 - w]: the mean of w is at most 0. On a cell of x the bracket
        is largest at an end, and masses of cells are known.
        """
        mu, cut = self.mu, self._cuts[0]
        x = np.append(np.arange(-9.0, DEVIATIONS[-1], CELL), DEVIATIONS[-1])
        edges = np.append(x, cut / mu + mu / 2)  # cuts are edges
        order = np.argsort(edges, kind="stable")
        edges = edges[order]
        mass = np.where(edges[:-1] > 0, ndtr(-edges[:-1]) - ndtr(-edges[1:]), ndtr(edges[1:]) - ndtr(edges[:-1]))
        mass = np.maximum(mass, 0.0) + 1e-13 * ndtr(-np.abs(edges[:-1]))
        moments = np.geomspace(0.2 / math.exp(min(float(cut[-1]), LARGEST_CUT)), 80.0 / min(mu, 1.0), MOMENTS)
        place = np.argsort(order, kind="stable")[x.size :]  # of the cuts among the edges
        over = np.expm1(np.minimum(mu * edges - mu * mu / 2, EXPONENT))
        with np.errstate(all="ignore"):
            w = np.outer(moments, over)
            bent = np.where(np.abs(w) < 0.02, w * w * 0.51, (np.expm1(w) - w) * (1 + 1e-12))
            before = ndtr(edges[0]) * np.maximum(bent[:, :1], np.expm1(-moments)[:, None] + moments[:, None])
            inside = np.cumsum(np.maximum(bent[:, :-1], bent[:, 1:]) * mass, axis=1)
            total = before + np.concatenate((np.zeros((moments.size, 1)), inside), axis=1)[:, place]
            total = total + bent[:, place] * ndtr(-edges[place]) * (1 + 1e-12)
            power = np.log1p(total.T) * (1 + 1e-9)
        return np.where(np.isnan(power), np.inf, power), self.steps * moments

    def _chernoff(self, excess: FloatArray) -> FloatArray:
        """Ratios above b are cut off."""
        rest, (power, tilt) = self._cuts[2], self._powers
        if not rest.size:
            return np.full(excess.size, np.inf)
        base = self.steps * power - 1 + 1e-9 - np.log(tilt)
        least = (base - np.multiply.outer(excess * (1 - 1e-12), tilt)[:, None, :]).min(axis=2)
        found: FloatArray = (rest + np.exp(np.minimum(least, EXPONENT))).min(axis=1) * (1 + 1e-9)
        return found

    def _largest(self, excess: FloatArray, low: FloatArray) -> FloatArray:
        """The largest ratio, and the others together."""
        cut, over, _ = self._cuts
        if not over.size:
            return np.full(excess.size, np.inf)
        t, mu = float(self.steps), self.mu
        power, tilt = self._powers
        level = SHARE * np.maximum(low, 1e-290)
        with np.errstate(all="ignore"):
            above, beyond = (ndtr(shift - cut / mu) for shift in (mu / 2, -mu / 2))  # of one step, P and Q
            twice = ((t - 1) * above * beyond + 0.5 * (t - 1) * (t - 2) * beyond**2) * (1 + 1e-12)
            base = np.outer(over, tilt / t) + (t - 1) * power + 1e-9
            rest = ((base - np.log(level)[:, None, None]) / tilt).min(axis=2) * (1 + 1e-12)  # r - 1, for each v and c
            strike = np.log(t * (excess[:, None] * (1 - 1e-12) - rest))
            strike = np.where(np.isfinite(strike), strike, -EXPONENT) - 1e-12
            whole = gaussian_stick(self.more, strike.ravel())[1].reshape(strike.shape)
            found: FloatArray = (whole + twice + level[:, None]).min(axis=1) * (1 + 1e-9)
        return found

    @cached_property
    def _falls(self) -> Two:
        """Losses, and upper ends of E_Q(S - v)+ there, which fall."""
        spread = math.sqrt(math.expm1(min(self.mu**2, 2.0)) / self.steps)
        places = np.log1p(spread * np.geomspace(0.5, 1e4, 40))
        top = FARTHEST_LOSS if self.mu < 4 else EXPONENT
        places = np.append(places, np.linspace(places[-1], max(top, 2 * places[-1]), 24)[1:])
        return places, np.minimum.accumulate(self.call(places)[1])

    @cached_property
    def unseen(self) -> float:
        """The loss from which on no integral of E_Q(S - v)+ has a digit."""
        places, high = self._falls
        small = high < UNSEEN
        return float(places[int(np.argmax(small))]) if small.any() else float(places[-1])

    # ---- tails

    def over(self, loss: FloatArray) -> FloatArray:
        """Q(S > v), and P(S > v) / v, from above by Markov's inequality; infinite where no E_Q(S - v')+ is known."""
        places, high = self._falls
        start = np.log1p(NEAR * np.expm1(np.clip(loss, 0.0, EXPONENT)))
        at = np.searchsorted(places, start, side="right") - 1
        safe = np.maximum(at, 0)
        with np.errstate(all="ignore"):
            gap = np.exp(places[safe]) * np.expm1(np.minimum(loss, EXPONENT) - places[safe])
            found = high[safe] / gap * (1 + 1e-9)
        return np.where((at >= 0) & (gap > 0), found, np.inf)

    def tails(self, loss: FloatArray) -> list[Two]:
        """Q(S <= v), P(S <= v), Q(S > v), P(S > v)."""
        mu, t = self.mu, self.steps
        ends = []
        for at in (loss / mu, (loss + math.log(t)) / mu):
            without = log_ndtr(at + mu / 2)
            ends.append((t * without, log_ndtr(at - mu / 2) + (t - 1) * without))
        found: list[Two] = []
        with np.errstate(all="ignore"):
            for law in range(2):
                low, high = (end[law] * (1 + sign * 1e-12) for end, sign in zip(ends, (1, -1), strict=True))
                found.append((np.exp(low) * (1 - 1e-12), np.exp(high) * (1 + 1e-12)))
            over = self.over(loss)
            mean = np.exp(np.clip(loss, -EXPONENT, EXPONENT)) * (1 + 1e-12)
            for law, most in enumerate((over, over * mean)):
                high, low = (end[law] * (1 + sign * 1e-12) for end, sign in zip(ends, (1, -1), strict=True))
                upper = np.fmin(-np.expm1(high) * (1 + 1e-12), most)
                found.append((np.minimum(-np.expm1(low) * (1 - 1e-12), upper), upper))
        return found
