"""The least noise, or the most use, that meets a target: the returned value is on the safe side."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import attrs

from quiltwork import checks
from quiltwork.curves.curve import Curve
from quiltwork.errors import InvalidParameter, Unreachable
from quiltwork.numbers.rounding import UNIT

Point = tuple[float, float]  # log of the parameter, log of epsilon over its target
STEPS = 60
GROWTH = 4.0
LEAST, MOST = 1e-12, 1e12


def calibrate(
    make_loss: Callable[[float], Curve],
    epsilon: float | None = None,
    delta: float | None = None,
    *,
    advantage: float | None = None,
    alpha: float | None = None,
    beta: float | None = None,
    start: float = 1.0,
    tolerance: float = 1e-8,
    integer: bool = False,
    rtol: float = 1e-6,
) -> float:
    """The parameter closest to the target from the safe side.

    `make_loss` returns a loss, or another curve such as a guarantee, and is monotone in its parameter: noise (epsilon
    falls as it grows; the least value is returned) or use, such as a rate or a count (epsilon rises; the greatest is
    returned). Which one it is, is found out. The returned value's certified upper epsilon is at most `epsilon`, and it
    lies within about `tolerance` (relative) of the last value for which that holds. With `integer` the parameter is a
    whole number, passed as int.

    The target is `epsilon` at `delta`; or `advantage`, the most by which a membership attacker's true positive rate may
    exceed the false positive rate; or `alpha` and `beta`: no test of type I error alpha has a type II error below beta.

    Parameters
    ----------
    make_loss
        From a number to a loss or another curve, monotone.
    epsilon
        What the certified upper end may be at most.
    delta
        The delta at which epsilon is asked.
    advantage
        In their place, the most advantage of a membership attacker.
    alpha
        In their place, a type I error.
    beta
        The least type II error at alpha.
    start
        A first guess.
    tolerance
        How near to the best parameter, relative.
    integer
        Whether the parameter is a whole number.
    rtol
        How finely each epsilon is asked.

    Returns
    -------
    float
        The parameter; an int when `integer`.

    Raises
    ------
    Unreachable
        No parameter meets the target.

    Examples
    --------
    >>> from quiltwork import gaussian
    >>> round(calibrate(gaussian, epsilon=1.0, delta=1e-6), 4)
    4.2247
    """
    target = _target(epsilon, delta, advantage, alpha, beta)
    start = checks.positive("start", start)
    tolerance = checks.positive("tolerance", tolerance)
    if not callable(make_loss):
        raise InvalidParameter("make_loss", make_loss, "a function from a number to a loss")
    make_loss(int(start) if integer else start)  # an error here is the caller's, not a value to avoid
    search = _Search(make_loss, target, rtol, integer)
    return search.counted(start) if integer else search.real(start, tolerance)


@attrs.frozen
class Target:
    """What is to be met: a name for it, and the certified size of a curve over its limit."""

    words: str
    limit: float
    size: Callable[[Curve, float], float]  # of a curve, at a width


def _target(epsilon: Any, delta: Any, advantage: Any, alpha: Any, beta: Any) -> Target:
    given = tuple(one is not None for one in (epsilon, delta, advantage, alpha, beta))
    if given == (True, True, False, False, False):
        limit, at = checks.positive("epsilon", epsilon), checks.probability("delta", delta)
        words = f"epsilon {limit:g} at delta {at:g}"
        return Target(words, limit, lambda curve, rtol: float(curve.epsilon(at, rtol=rtol).upper))
    if given == (False, False, True, False, False):
        limit = checks.rate("advantage", advantage, "it is a difference of two probabilities")
        return Target(f"advantage {limit:g}", limit, lambda curve, rtol: float(curve.delta(0.0, rtol=rtol).upper))
    if given == (False, False, False, True, True):
        first, second = checks.probability("alpha", alpha), checks.probability("beta", beta)
        if not second < 1 - first:
            raise InvalidParameter("beta", beta, f"below 1 - alpha, {1 - first:g}", "guessing reaches that")
        words = f"type II error {second:g} at type I error {first:g}"
        return Target(words, 1 - second, lambda curve, _: _power(float(curve.beta(first).lower), second))
    for name, value, other in (("epsilon", epsilon, delta), ("delta", delta, epsilon)):
        if value is None and other is not None:
            raise InvalidParameter(name, None, "a number", "epsilon and delta belong together")
    raise InvalidParameter("the target", "something else", "epsilon and delta, or advantage, or alpha and beta")


def _power(error: float, wanted: float) -> float:
    """1 - error, of which doubles cannot tell small errors apart: the wanted one is met only if it really is."""
    return min(1 - error, 1 - wanted) if error >= wanted else max(1 - error, math.nextafter(1 - wanted, 2.0))


class _Search:
    """Bracketing and secant steps in the logs of the parameter and of what is to be met."""

    def __init__(self, make_loss: Callable[[float], Curve], target: Target, rtol: float, integer: bool) -> None:
        self.make_loss, self.target, self.rtol = make_loss, target, rtol
        self.integer = integer

    def excess(self, value: float) -> float:
        """log of the certified size over the target: at most 0 is safe. Values outside the domain are unsafe."""
        try:
            loss = self.make_loss(int(value) if self.integer else value)
        except InvalidParameter:
            return math.inf
        if not isinstance(loss, Curve):
            raise InvalidParameter("make_loss", make_loss_name(self.make_loss), "a function that returns a loss")
        size, limit = self.target.size(loss, self.rtol), self.target.limit
        over = math.log(max(size, 1e-300) / limit)
        return max(over, UNIT) if size > limit else over  # the quotient may round to 1

    def real(self, start: float, tolerance: float) -> float:
        here = math.log(start), self.excess(start)
        there = self._other(*here)
        falling = (there[1] < here[1]) == (there[0] > here[0])
        if (here[1] <= 0) != (there[1] <= 0):
            safe, unsafe = (here, there) if here[1] <= 0 else (there, here)
        else:
            step = math.log(GROWTH)
            nearer = min(here, there, key=lambda point: abs(point[1]))
            safe, unsafe = self._bracket(*nearer, step if falling else -step)
        return math.exp(self._narrow(safe, unsafe, tolerance))

    def _other(self, x: float, f: float) -> Point:
        """A second point with a different epsilon: it tells which way the parameter works."""
        for steps in range(1, 1 + round(math.log(MOST) / math.log(GROWTH))):
            for size in (steps * math.log(GROWTH), -steps * math.log(GROWTH)):
                other = self.excess(math.exp(x + size))
                if other != f and math.isfinite(other):
                    return x + size, other
        stuck = "epsilon does not change with the parameter"
        if math.isinf(f):
            stuck = f"none of them meets {self.target.words}: epsilon is infinite; a larger delta may help"
        raise Unreachable(self.target.words, "the range searched", stuck)

    def _bracket(self, x: float, f: float, toward_safe: float) -> tuple[Point, Point]:
        """One safe and one unsafe end, in logs, by growing steps."""
        here = (x, f)
        move = toward_safe if f > 0 else -toward_safe
        for _ in range(STEPS):
            nxt = here[0] + move
            if not math.log(LEAST) <= nxt <= math.log(MOST):
                break
            there = (nxt, self.excess(math.exp(nxt)))
            if (there[1] <= 0) != (here[1] <= 0):
                return (there, here) if there[1] <= 0 else (here, there)
            here = there
        if f <= 0:
            raise Unreachable(
                self.target.words, "the searched range", "every value tried is safe; the target is too loose"
            )
        raise Unreachable(self.target.words, f"[{LEAST:g}, {MOST:g}]", "even the most private value tried is above it")

    def _narrow(self, safe: Point, unsafe: Point, tolerance: float) -> float:
        """Inverse interpolation through the latest points, kept inside the bracket, until the safe end is close."""
        seen = [unsafe, safe]
        for i in range(STEPS):
            (a, fa), (b, fb) = safe, unsafe
            slope = (fb - fa) / (b - a) if math.isfinite(fb) else math.inf
            if abs(b - a) <= tolerance or (i and abs(fa) <= 0.5 * tolerance * abs(slope)):
                break
            x = _interpolated(seen[-3:]) if i % 8 != 7 else math.nan
            inward = math.copysign(0.25 * tolerance, a - b)  # aim a hair inside the safe side
            if not min(a, b) < x + inward < max(a, b):
                x = 0.5 * (a + b) - inward
            point = x + inward, self.excess(math.exp(x + inward))
            seen.append(point)
            safe, unsafe = (point, unsafe) if point[1] <= 0 else (safe, point)
        return safe[0]

    def counted(self, start: float) -> float:
        """The greatest safe whole number of at least 1 (use), or the least (noise)."""
        here = max(1, int(start))
        rising = self.excess(here) <= self.excess(2 * here)
        if rising:
            if self.excess(1) > 0:
                raise Unreachable(self.target.words, "whole numbers from 1", "even one is too many")
            return self._boundary(1, True)
        return 1 if self.excess(1) <= 0 else self._boundary(1, False) + 1

    def _boundary(self, first: int, safe: bool) -> int:
        """The last whole number from `first` on that is as safe (or unsafe) as it, by doubling and bisection."""
        step = 1
        while (self.excess(first + step) <= 0) == safe:
            step *= 2
            if step > MOST:
                raise Unreachable(self.target.words, f"whole numbers up to {MOST:g}")
        low, high = first + step // 2, first + step
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if (self.excess(middle) <= 0) == safe else (low, middle)
        return low


def _interpolated(points: list[Point]) -> float:
    """Where the inverse function through the points (x as a polynomial of f) has f = 0; NaN when it is not defined."""
    if any(not math.isfinite(f) for _, f in points) or len({f for _, f in points}) < len(points):
        return math.nan
    total = 0.0
    for i, (x, f) in enumerate(points):
        for j, (_, other) in enumerate(points):
            if j != i:
                x *= other / (other - f)
        total += x
    return total


def make_loss_name(function: object) -> str:
    """Something readable about a callable, for messages."""
    return getattr(function, "__name__", repr(function))
