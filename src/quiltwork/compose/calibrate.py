"""The least noise, or the most use, that meets a target: the returned value is on the safe side."""

from __future__ import annotations

import math
from collections.abc import Callable

from quiltwork import checks
from quiltwork.compose.loss import Loss
from quiltwork.errors import InvalidParameter, Unreachable

STEPS = 60
GROWTH = 4.0
LEAST, MOST = 1e-12, 1e12


def calibrate(
    make_loss: Callable[[float], Loss],
    epsilon: float,
    delta: float,
    *,
    start: float = 1.0,
    tolerance: float = 1e-8,
    integer: bool = False,
    rtol: float = 1e-6,
) -> float:
    """The parameter closest to the target from the safe side.

    `make_loss` is monotone in its parameter: noise (epsilon falls as it grows; the least value is returned) or use, such
    as a rate or a count (epsilon rises; the greatest is returned). Which one it is, is found out. The returned value's
    certified upper epsilon is at most `epsilon`; a value that is better by a factor 1 + `tolerance` is not known to be
    safe. With `integer` the parameter is a whole number, passed as int.
    """
    epsilon = checks.positive("epsilon", epsilon)
    delta = checks.probability("delta", delta)
    start = checks.positive("start", start)
    tolerance = checks.positive("tolerance", tolerance)
    if not callable(make_loss):
        raise InvalidParameter("make_loss", make_loss, "a function from a number to a loss")
    search = _Search(make_loss, epsilon, delta, rtol, integer)
    return search.counted(start) if integer else search.real(start, tolerance)


class _Search:
    """Bracketing and secant steps in the logs of the parameter and of epsilon."""

    def __init__(
        self, make_loss: Callable[[float], Loss], epsilon: float, delta: float, rtol: float, integer: bool
    ) -> None:
        self.make_loss, self.epsilon, self.delta, self.rtol = make_loss, epsilon, delta, rtol
        self.integer = integer

    def excess(self, value: float) -> float:
        """log of the certified epsilon over the target: at most 0 is safe. Values outside the domain are unsafe."""
        try:
            loss = self.make_loss(int(value) if self.integer else value)
        except InvalidParameter:
            return math.inf
        if not isinstance(loss, Loss):
            raise InvalidParameter("make_loss", make_loss_name(self.make_loss), "a function that returns a loss")
        upper = float(loss.epsilon(self.delta, rtol=self.rtol).upper)
        return math.log(max(upper, 1e-300) / self.epsilon)

    def real(self, start: float, tolerance: float) -> float:
        x, f = math.log(start), self.excess(start)
        step = math.log(GROWTH)
        falling = self._falls(x, f, step)
        safe, unsafe = self._bracket(x, f, step if falling else -step)
        return math.exp(self._narrow(safe, unsafe, tolerance))

    def _falls(self, x: float, f: float, step: float) -> bool:
        """Whether more of the parameter means less epsilon; compared close by, then farther."""
        for size in (0.1, 0.5, step):
            up, down = self.excess(math.exp(x + size)), self.excess(math.exp(x - size))
            if up != down and not (math.isinf(up) and math.isinf(down)):
                return up < down
        raise Unreachable(self._target(), "the values tried", "epsilon does not change with the parameter")

    def _bracket(self, x: float, f: float, toward_safe: float) -> tuple[tuple[float, float], tuple[float, float]]:
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
            raise Unreachable(self._target(), "the searched range", "every value tried is safe; the target is too loose")
        raise Unreachable(self._target(), f"[{LEAST:g}, {MOST:g}]", "even the most private value tried is above it")

    def _narrow(self, safe: tuple[float, float], unsafe: tuple[float, float], tolerance: float) -> float:
        """Secant steps aimed a hair inside the safe side, with bisection as the guard."""
        for i in range(STEPS):
            (a, fa), (b, fb) = safe, unsafe
            if abs(b - a) <= tolerance:
                break
            share = fa / (fa - fb) if math.isfinite(fb) and fa != fb and i % 5 != 4 else 0.5
            share = min(max(share - 0.25 * tolerance / abs(b - a), 0.0), 1.0)
            x = a + (b - a) * share
            if abs(x - a) < 0.3 * tolerance:  # the secant says the safe end is it: probe just beyond
                x = a + (b - a) * 0.9 * tolerance / abs(b - a)
            f = self.excess(math.exp(x))
            safe, unsafe = ((x, f), unsafe) if f <= 0 else (safe, (x, f))
        return safe[0]

    def counted(self, start: float) -> float:
        """The greatest safe whole number of at least 1 (use), or the least (noise)."""
        low = max(1, int(start))
        rising = self.excess(low) <= self.excess(2 * low)
        good = self.excess(low) <= 0
        step = 1
        if rising and not good and low > 1:
            low, good = 1, self.excess(1) <= 0
        if rising != good:
            raise Unreachable(self._target(), f"whole numbers from {low}", "lower the start") if rising else Unreachable(
                self._target(), f"whole numbers up to {low}", "every value tried is safe"
            )
        while step < MOST and (self.excess(low + step) <= 0) == good:
            step *= 2
        if step >= MOST:
            raise Unreachable(self._target(), f"whole numbers up to {MOST:g}")
        a, b = low + step // 2 if step > 1 else low, low + step
        while b - a > 1:
            middle = (a + b) // 2
            a, b = (middle, b) if (self.excess(middle) <= 0) == good else (a, middle)
        return a if rising else b

    def _target(self) -> str:
        return f"epsilon {self.epsilon:g} at delta {self.delta:g}"


def make_loss_name(function: object) -> str:
    """Something readable about a callable, for messages."""
    return getattr(function, "__name__", repr(function))
