"""Few or rare sampled Gaussians: the release is cut three ways and large losses are counted apart.

With one width tau both cut-offs leave positive parts A + B + C = P, analytic in x (theory/engine-faster.md section 4):
D = D_{A^T} + D_F + D_C, F = (A+B)^T - A^T (a jump, none of them in C), D_C (some release in C) in closed form.
"""

from __future__ import annotations

import math

import numpy as np
from flint import acb, arb, ctx
from scipy import special

from quiltwork.proof.contour.balls import (
    Budget,
    Undecided,
    around,
    between,
    hi,
    least,
    lo,
    met,
    near,
    normal_below,
    total,
    waves,
)
from quiltwork.proof.contour.gaussians import MovedGaussians
from quiltwork.proof.contour.line import line

RATIOS = (1.4, 2.0, 3.0, 4.5, 7.0, 11.0, 17.0)
WIDTHS = (0.12, 0.05, 0.02)
STEERED = 3e5  # products of balls that the steering of one cut is counted as
MARGIN = 8.5  # widths between the upper cut and the least x whose loss is enough by itself


class Kept(MovedGaussians):
    """A (below c1), or B (between c1 and c2) where `low` is given; not a probability law."""

    def __init__(self, whole: MovedGaussians, low: arb | None, high: arb, width: arb) -> None:
        super().__init__([(p, c) for p, c, _ in whole.w.parts], [(arb(1), arb(0))])
        self.low, self.high, self.width = low, high, width
        self.smallest, self.reveal = whole.smallest, arb(0.5)  # some mass is missing: no alias is known exactly

    def _kept(self, x: arb) -> arb:
        if self.low is None:
            return normal_below((self.high - x) / self.width)
        a, b = (x - self.low) / self.width, (x - self.high) / self.width
        return normal_below(a) - normal_below(b) if x < self.low else normal_below(-b) - normal_below(-a)

    def _kept_most(self, a: arb, b: arb) -> arb:
        most = normal_below((self.high - a) / self.width)
        return most if self.low is None else least(most, normal_below((b - self.low) / self.width))

    def _kept_least(self, a: arb, b: arb) -> arb:
        return normal_below((self.high - b) / self.width) if self.low is None else arb(0)

    def _kept_lift(self, y: arb) -> arb:
        """|Phi(a + ib) - Phi(a' + ib)| <= e^{b^2/2} (Phi(a) - Phi(a'))."""
        return (y * y / (2 * self.width * self.width)).exp()

    def _right_tail(self, t: arb, x: arb) -> arb:
        """Beyond x the cut-off falls at least like e^{-v/tau}, v = (x - c)/tau (Mills)."""
        v = (x - self.high) / self.width
        slope = (1 + t) * self.w.steepest - v / self.width
        if not (v > 0 and x >= slope):
            raise Undecided("the last node does not reach beyond the cut")
        at = (1 + t) * self.w.log(x) + slope * slope / 2 - slope * x
        return at.exp() * normal_below(slope - x) * normal_below(-v)

    def _left_tail(self, t: arb, x: arb) -> arb:
        whole = super()._left_tail(t, x)
        return whole if self.low is None else whole * normal_below((x - self.low) / self.width)

    # steering

    def _curve(self, t: float, x: np.ndarray) -> np.ndarray:
        tau = near(self.width)
        result = super()._curve(t, x) + special.log_ndtr((near(self.high) - x) / tau)
        return result if self.low is None else np.asarray(result + special.log_ndtr((x - near(self.low)) / tau))

    def _reach(self, t: float, more: float = 0.0) -> tuple[np.ndarray, np.ndarray]:
        spread = near(self.width)
        far = math.sqrt(2 * (math.log(2) * ctx.prec + more)) + 2
        left = -far if self.low is None else max(-far, near(self.low) - far * spread - 2)
        x = np.linspace(left, self._furthest(t) + far * spread, 3001)
        return x, self._curve(t, x)

    def _furthest(self, t: float) -> float:
        c, tau = near(self.high), near(self.width)
        slope = (1 + t) * near(self.w.steepest)
        return max(c + 2 * tau, (slope * tau**2 + c) / (1 + tau**2) + 0.1 * tau)

    def _heights(self, widest: float) -> list[float]:
        steps = [near(self.width) * k for k in (0.1, 0.2, 0.5, 1, 2, 4, 6, 8, 11, 14, 18)]
        return [y for y in steps if y * widest < 3.0] or [2.8 / widest]

    def _lift(self, y: float) -> float:
        return y * y / (2 * near(self.width) ** 2)

    def far(self, t: arb, u: arb, y: arb, budget: Budget) -> arb:
        """At least |M(t + iv)| for every v >= u: the path moved up by y, where w turns."""
        plan = self._plan(near(t), 0.0)
        cells = 400
        budget.spend(3 * cells)
        edges = [plan.low + (plan.high - plan.low) * j / cells for j in range(cells + 1)]
        grown = [(1 + t) * self.w.log(arb(x)) for x in edges]
        turns = [self.w.turn(arb(x), y) for x in edges]
        result = arb(0)
        for j in range(cells):
            a, b = edges[j], edges[j + 1]
            closest = 0.0 if a <= 0 <= b else min(abs(a), abs(b))
            value = (grown[j + 1] - u * turns[j] - arb(closest) ** 2 / 2).exp() * (arb(b) - arb(a))
            result += value * self._kept_most(arb(a), arb(b))
        result /= (2 * arb.pi()).sqrt()
        result += self._left_tail(t, arb(edges[0]))
        result += self._right_tail(t, arb(edges[-1])) * (-u * turns[-1]).exp()
        return hi(result * (y * y / 2).exp() * self._kept_lift(y))

    def far_roughly(self, t: float, us: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(log bound, height) at each frequency, by floats."""
        x, g = self._reach(t)
        f = g - x * x / 2 + math.log((x[1] - x[0]) / math.sqrt(2 * math.pi))
        best, heights = np.full(len(us), np.inf), np.zeros(len(us))
        for y in [near(self.width) * k for k in (0.3, 0.6, 1, 1.5, 2, 3, 4, 6, 8, 11)]:
            if y * near(self.w.steepest) >= 3.1:
                continue
            turn = self.w.turn_roughly(x, y)
            value = np.logaddexp.reduce(f[None, :] - us[:, None] * turn[None, :], axis=1) + y * y / 2 + self._lift(y)
            heights = np.where(value < best, y, heights)
            best = np.minimum(best, value)
        return best, heights


def cut(whole: MovedGaussians, count: int, eps: arb, accuracy: float, budget: Budget) -> arb:
    """The narrowest ball over a few cuts; stops at the first that is narrow enough."""
    if whole.smallest is None or not whole.v.trivial or not eps > 0:
        raise Undecided("no cut")
    best: arb | None = None
    cuts = [(width, ratio, False) for width in WIDTHS for ratio in RATIOS]
    for width, ratio, anyway in cuts + [(width, RATIOS[-1], True) for width in WIDTHS]:
        try:
            budget.spend(STEERED)
            found = _cut_at(whole, count, eps, accuracy, width, ratio, anyway, budget)
        except (Undecided, OverflowError, ValueError):
            continue
        best = met(best, found)
        if hi(best) - lo(best) <= 2 * accuracy * hi(best):
            return best
    if best is None:
        raise Undecided("no cut was good enough")
    return best


def _place(whole: MovedGaussians, loss: float) -> float:
    """The x of a loss, by floats."""
    low, high = -60.0, 60.0
    while whole.w.roughly(np.array([high]))[0] < loss:
        high *= 2
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if whole.w.roughly(np.array([middle]))[0] < loss else (low, middle)
    return high


def _cut_at(
    whole: MovedGaussians,
    count: int,
    eps: arb,
    accuracy: float,
    width: float,
    ratio: float,
    anyway: bool,
    budget: Budget,
) -> arb:
    if whole.smallest is None:
        raise Undecided("no smallest loss")
    bottom = count * whole.smallest
    tau = arb(width / near(whole.w.steepest))
    root = (1 + tau * tau).sqrt()
    star = arb(_place(whole, near(eps - bottom)) + 1e-9)
    if not whole.w.log(star) >= eps - bottom:
        raise Undecided("threshold")
    c1 = arb(_place(whole, near(eps) / ratio))
    c2 = arb(near(root * root * (star + MARGIN * tau / root)))
    if not c2 - c1 > tau:
        raise Undecided("no room between the cuts")
    means = [(p, c) for p, c, _ in whole.w.parts]
    beyond = total([p * normal_below((c - c2) / root) for p, c in means])
    beyond_q = normal_below(-c2 / root)
    # some release in C: exact but for what lies below the threshold
    jump = -(count * (-beyond).log1p()).expm1() + eps.exp() * (count * (-beyond_q).log1p()).expm1()
    miss = _missed(eps, count, beyond_q, star, c2, tau)
    below = Kept(whole, None, c1, tau)
    middle = Kept(whole, c1, c2, tau)
    above = total([p * normal_below((c1 - c) / root) for p, c in means])
    mass = (count * (-beyond).log1p()).exp() - above**count
    mass_q = (count * (-beyond_q).log1p()).exp() - normal_below(c1 / root) ** count
    if not anyway and not _negligible(below, middle, count, near(eps), accuracy):
        raise Undecided("losses below the cut matter")
    low, high = _jumps(below, middle, count, eps, accuracy, bottom, mass, mass_q, near(jump), budget)
    sofar = lo(low + jump)
    rest_low, rest_high = _no_jump(below, count, eps, accuracy, float(sofar), budget)
    lower = lo(low + jump + rest_low)
    return between(lower if lower > 0 else arb(0), hi(high + jump + miss + rest_high))


def _missed(eps: arb, count: int, beyond: arb, star: arb, cut: arb, tau: arb) -> arb:
    """At most what is lost where a release in C lies below the threshold: e^eps Q(some release in C has x < star)."""
    square = 1 + tau * tau
    return hi(eps.exp() * count * beyond * normal_below((star - cut / square) * square.sqrt() / tau))


def _no_jump(below: Kept, count: int, eps: arb, accuracy: float, size: float, budget: Budget) -> tuple[arb, arb]:
    """D of A^T: Chernoff where that is small beside the rest, else its own line."""
    exponents = np.geomspace(0.05, 3e4, 60)
    heights = []
    for t in exponents:
        value = count * below.rough(float(t)) - t * near(eps)
        heights.append(value if math.isfinite(value) else math.inf)
    t = arb(float(exponents[int(np.argmin(heights))]))
    peak = t * (t / (1 + t)).log() - (1 + t).log()
    bound = hi((count * below.moment(t, budget).log() - t * eps + peak).exp())
    if size > 0 and bound < 0.2 * accuracy * size:
        return arb(0), bound
    try:
        found = line([(below, count)], eps, accuracy, budget)
    except Undecided:
        return arb(0), bound
    return lo(found), lo(hi(found).min(bound))


def _negligible(below: Kept, middle: Kept, count: int, eps: float, accuracy: float) -> bool:
    """Whether Chernoff's bound of A^T is small beside that of the jumps, by floats."""
    with np.errstate(all="ignore"):
        few = [count * below.rough(t) - t * eps for t in np.geomspace(0.5, 2e4, 24)]
        many = [
            _log_jumps(below.rough(t), middle.rough(t), count) - t * eps - math.log(t * (t + 1))
            for t in np.geomspace(0.05, 1e3, 20)
        ]
    return bool(np.nanmin(few) < np.nanmin(many) + math.log(accuracy) - 5)


def _log_jumps(a: float, b: float, count: int) -> float:
    """log((A+B)^T - A^T) of logarithms."""
    if b - a < -30:
        return count * a + math.log(count) + b - a
    grown = count * float(np.logaddexp(0.0, b - a))
    return count * a + (math.log(math.expm1(grown)) if grown < 30 else grown)


def _jumps(
    below: Kept,
    middle: Kept,
    count: int,
    eps: arb,
    accuracy: float,
    bottom: arb,
    mass: arb,
    mass_q: arb,
    jump: float,
    budget: Budget,
) -> tuple[arb, arb]:
    """D_F by one line."""
    at = near(eps)

    def size(t: float) -> float:
        return _log_jumps(below.rough(t), middle.rough(t), count)

    rungs = np.geomspace(0.02, 3e3, 48)
    sizes = np.array([size(float(t)) for t in rungs])
    chernoff = sizes - rungs * at - np.log(rungs * (rungs + 1))
    best = int(np.nanargmin(np.where(np.isfinite(chernoff), chernoff, np.inf)))
    goal_log = math.log(accuracy * 0.05) + chernoff[best] - 3
    choice: tuple[float, float, float, float] | None = None
    for j in range(max(best - 14, 0), min(best + 4, len(rungs) - 1)):
        # a gentler tilt has shorter periods on the right but a larger sum
        steeper = [k for k in range(j + 1, len(rungs)) if math.isfinite(sizes[k])]
        reach = min((sizes[k] - goal_log - rungs[k] * at) / (rungs[k] - rungs[j]) for k in steeper)
        w = 1.02 * max(reach, at - near(bottom)) + 1e-9
        cost = w * math.sqrt(max(sizes[j] - rungs[j] * at - goal_log, 1.0))
        if sizes[j] - rungs[j] * at - goal_log > 60 + math.log(1 / accuracy):
            continue
        if choice is None or cost < choice[0]:
            k = min(steeper, key=lambda k: (sizes[k] - goal_log - rungs[k] * at) / (rungs[k] - rungs[j]))
            choice = (cost, float(rungs[j]), float(rungs[k]), w)
    if choice is None:
        raise Undecided("no tilt")
    _, tilt, steep, w = choice
    theta, further, period = arb(tilt), arb(steep), arb(w)
    step = 2 * arb.pi() / period
    us = np.geomspace(1.0, 1e6, 240) * near(step)
    bounds, heights = middle.far_roughly(tilt, us)
    base = below.rough(tilt)
    tails = np.array([_log_jumps(base, b, count) for b in bounds]) - tilt * at - np.log(us)
    enough = np.flatnonzero(tails <= goal_log - 1)
    if len(enough) == 0:
        raise Undecided("jumps do not decay")
    last = int(enough[0])
    n = math.ceil(us[last] / near(step)) + 2
    budget.spend(3 * n)
    high = hi(step * n)
    a, b = (_values(law, theta, step, n, high, budget) for law in (below, middle))
    turns = waves([arb(1)], [-eps], step, n, budget)
    terms = []
    for j in range(n):
        z = acb(theta, step * j)
        terms.append((((a[j] + b[j]) ** count - a[j] ** count) * turns[j] / (z * (z + 1))).real)
    value = (total(terms) - terms[0] / 2) * step / arb.pi()
    u = lo(step * (n - 1))
    far = middle.far(theta, u, arb(float(heights[last])), budget)
    still = hi(below.moment(theta, budget))
    tail = hi(((still + far) ** count - still**count) / (arb.pi() * u))
    scale = (-theta * eps).exp()
    # right aliases by Chernoff at a steeper tilt; left ones are known below the smallest loss
    top = hi(
        (below.moment(further, budget) + middle.moment(further, budget)) ** count
        - lo(below.moment(further, budget)) ** count
    )
    peak = (further * (further / (1 + further)).log()).exp() / (1 + further)
    s = further - theta
    right = hi(peak * top * (-further * eps - s * period).exp() / (1 - (-s * period).exp()))
    x, y = (-theta * period).exp(), (-(theta + 1) * period).exp()
    if not eps - period <= bottom:
        raise Undecided("a period shorter than the losses")
    left = mass * x / (1 - x) - eps.exp() * mass_q * y / (1 - y)
    return lo(scale * (value - tail) - right - left), hi(scale * (value + tail) - left)


def _values(law: Kept, theta: arb, step: arb, n: int, high: arb, budget: Budget) -> list[acb]:
    weights, losses, error, size = law.table(theta, high, budget, n)
    ball, scale = around(error), acb(size.exp())
    return [(value + ball) * scale for value in waves(weights, losses, step, n, budget)]
