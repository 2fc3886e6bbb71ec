"""Equal discrete Gaussians by sums over one period of their lattice.

The sum S of k losses lives on first + b Z with b = Delta/sigma^2.  With M(z) = E e^(zS), z_j = theta + 2 pi i j / W,
W = N b and s0 the least point of the lattice above epsilon,

    (1/N) sum_j M(z_j) e^(-z_j s0) [1/(1 - e^(-z_j b)) - e^(eps - s0)/(1 - e^(-(z_j + 1) b))]
        = sum_m e^(theta m W) D(eps + m W),

all terms on the right >= 0: those with m != 0 are the alias, bounded by Chernoff.  M is e^(v z (z+1)/2) times a ratio
of theta sums, v = (Delta/sigma)^2; |M| beyond a frequency u is at most M(theta) times that of a wrapped normal law,
which falls on [0, pi].

Reference: theory/engine-faster.md section 5.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

from quiltwork.proof.balls import BITS, Enclosure, ball, flint, guess
from quiltwork.proof.description import Composition, Release
from quiltwork.proof.fields import Refused

MAX_TERMS = 100_000
DIGITS = 40  # of D that are wanted


class _Law:
    def __init__(self, release: Release, count: int) -> None:
        sigma, shift = release.number("sigma"), release.number("sensitivity")
        if not Fraction(1, 5) <= sigma <= 10**9:
            raise Refused("a discrete Gaussian this narrow or wide")
        self.sigma, self.shift, self.count = sigma, int(shift), count
        self.square, self.step = (shift / sigma) ** 2, shift / sigma**2
        self.first = count * self.square / 2
        self.fade = 2 * ball(flint().arb.pi()) ** 2 * ball(sigma**2)
        self.terms = math.ceil(math.sqrt(0.7 * BITS / min(guess(self.fade), 1e6))) + 3
        self.whole = self.theta(flint().acb(0)).real

    def theta(self, z: Any) -> Any:
        """sum_n e^(-2 pi^2 sigma^2 n^2 + 2 pi i n z Delta)."""
        acb, n = flint().acb, self.terms
        turn = acb(0, 2 * flint().arb.pi() * self.shift) * z
        total = acb(1)
        for i in range(1, n):
            total += (-self.fade * i * i + i * turn).exp() + (-self.fade * i * i - i * turn).exp()
        grow = abs(turn.real)
        ratio = (-self.fade * (2 * n + 1) + grow).exp()
        if not ratio < 0.5:
            raise Refused("a theta sum that converges slowly")
        tail = (4 * (-self.fade * n * n + n * grow).exp()).upper()
        wide = flint().arb(0, tail)
        return total + acb(wide, wide)

    def moment(self, z: Any) -> Any:
        one = (ball(self.square) * z * (z + 1) / 2).exp() * self.theta(z) / self.whole
        return one**self.count

    def log_moment_above(self, t: Any) -> Any:
        """k v t (t+1)/2: theta(t) <= theta(0) for real t."""
        return self.count * ball(self.square) * t * (t + 1) / 2

    def size_beyond(self, theta: Any, u: Any) -> Any:
        """A bound on |M(theta + i u')|, u <= u' <= pi/b: the wrapped normal law at u b over the tilted theta sum."""
        angle = (u * ball(self.step)).lower()
        square = ball(self.sigma**2)
        wrapped = sum(
            ((-square * (angle + 2 * flint().arb.pi() * n) ** 2 / 2).exp() for n in range(-self.terms, self.terms + 1)),
            ball(0),
        )
        wrapped += (2 * (-self.fade * self.terms**2).exp()).upper()
        tilted = self.theta(flint().acb(theta)).real
        return abs(self.moment(flint().acb(theta))) * (wrapped / tilted) ** self.count


def divergence(release: Release, count: int, epsilon: Any) -> Any:
    """A ball of D(epsilon) of `count` equal discrete Gaussians."""
    law = _Law(release, count)
    if guess(epsilon) < 0:  # symmetric: D(-e) = 1 - e^-e + e^-e D(e)
        e = -ball(epsilon)
        return -(-e).expm1() + (-e).exp() * divergence(release, count, -epsilon)
    start = _first_above(law, epsilon)
    spread = math.sqrt(count * float(law.square))
    tilt = max((guess(epsilon) - count * float(law.square) / 2) / spread**2 + 0.7 / spread, 0.3 / spread)
    reach = math.sqrt(2 * (2.303 * DIGITS + 25 + 2 * abs(math.log(tilt * float(law.step)))))
    period = 2.5 * reach * spread + reach**2 / 2 / min(tilt, reach / spread)
    points = math.ceil(period / float(law.step)) + 2
    return _sum(law, ball(epsilon), start, tilt, reach / spread, points)


def _first_above(law: _Law, epsilon: Any) -> Fraction:
    """The least point of the lattice that is above epsilon (or at it: there the summand is 0)."""
    if isinstance(epsilon, Fraction):
        return law.first + law.step * math.ceil((epsilon - law.first) / law.step)
    found = law.first + law.step * math.ceil((guess(epsilon) - float(law.first)) / float(law.step))
    for move in (-1, 0, 1):
        here = found + move * law.step
        if ball(here) > epsilon and ball(here - law.step) < epsilon:
            return here
    raise Refused("an epsilon at a point of the lattice")


def _sum(law: _Law, e: Any, start: Fraction, tilt: float, width: float, points: int) -> Any:
    arb, acb = flint().arb, flint().acb
    theta, step, first = arb(tilt), ball(law.step), ball(start)
    period = points * step
    turn = 2 * arb.pi() / period
    terms = min(math.ceil(width * 1.15 / guess(turn)) + 1, points // 2 + 1)
    if terms > MAX_TERMS:
        raise Refused("a sum of too many terms")
    total = arb(0)
    for j in range(terms):
        z = acb(theta, turn * j)
        ends = 1 - (-z * step).exp(), 1 - (-(z + 1) * step).exp()
        term = (law.moment(z) * (-z * first).exp() * (1 / ends[0] - (e - first).exp() / ends[1])).real
        once = j == 0 or (2 * j == points)
        total += term if once else 2 * term
    total /= points
    if terms < points // 2 + 1:
        kernel = 1 / -(-theta * step).expm1() + 1 / -(-(theta + 1) * step).expm1()
        tail = law.size_beyond(theta, turn * terms) * (-theta * first).exp() * kernel
        total += arb(0, tail.upper())
    alias = arb(0)
    for s in (width, -min(tilt, width)):
        moved, size = theta + arb(s), arb(abs(s))
        if s < 0 and tilt <= width:
            moved = arb(0)
        log = law.log_moment_above(moved) - moved * e - size * period
        alias += (log.exp() / -(-size * period).expm1()).upper()
    return (total - alias).union(total)


def judge(composition: Composition, epsilon: Fraction) -> Enclosure | None:
    """The enclosure for equal discrete Gaussians, or None."""
    first = composition.releases[0]
    if first.kind != "discrete_gaussian":
        return None
    laws = {(r.kind, r.number("sigma"), r.number("sensitivity")) for r in composition.releases if r.kind == first.kind}
    if len(laws) > 1 or any(r.kind != first.kind for r in composition.releases):
        return None
    count = sum(release.count for release in composition.releases)
    return Enclosure.of(divergence(first, count, epsilon), "theta sums over one period of the lattice")
