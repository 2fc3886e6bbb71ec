"""Mixtures on the line in 50 digits, and the test between two of them; nothing of the library decides anything here.

E_t(p||q) = P(W) - t Q(W) for the set W where p > t q.  The ends of W are looked for in floats and polished in many
digits.  Any W gives a value below the truth, so that an upper bound below it is surely wrong.
"""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import Any

import attrs
import numpy as np
from scipy.special import log_ndtr, logsumexp
from tests.truth.numbers import mp as more

from quiltwork.confounding.line.laws.components import Component, Laplace, Mixture, Normal, NormalLaplace, Uniform

mp = more.clone()
mp.prec = 170
TINY = mp.mpf(10) ** -40
GRID = 1201  # places for each component
KINDS: dict[str, Any] = {"normal": Normal, "laplace": Laplace, "both": NormalLaplace, "uniform": Uniform}


@attrs.frozen
class Part:
    """One component with its parameters as decimals; `added` is more variance of a normal one."""

    kind: str
    numbers: tuple[float, ...]
    added: Fraction = Fraction(0)

    def component(self) -> Component:
        """As the library takes it."""
        found: Component = KINDS[self.kind](*self.numbers)
        return found

    @property
    def exact(self) -> tuple[Any, ...]:
        """The decimals that were typed."""
        if not self.added:
            return tuple(mp.mpf(repr(number)) for number in self.numbers)
        square = Fraction(repr(self.numbers[1])) ** 2 + self.added
        return mp.mpf(repr(self.numbers[0])), mp.sqrt(mp.mpf(square.numerator) / square.denominator)

    @property
    def floats(self) -> tuple[float, ...]:
        """The same in floats."""
        return tuple(float(number) for number in self.exact)

    @property
    def kinks(self) -> tuple[Any, ...]:
        """Where the density jumps or bends."""
        return self.exact if self.kind == "uniform" else self.exact[:1] if self.kind == "laplace" else ()

    @property
    def places(self) -> np.ndarray:
        """Where the density changes."""
        numbers = self.floats
        if self.kind == "uniform":
            return np.linspace(*numbers, GRID)
        near = np.linspace(-12.0, 12.0, GRID)
        return numbers[0] + sum(numbers[1:]) * np.concatenate([near, near * 0.05, near * 40.0])

    def log_density(self, x: np.ndarray) -> np.ndarray:
        """In floats, to find the ends of W."""
        numbers = self.floats
        if self.kind == "uniform":
            low, high = numbers
            return np.where((x > low) & (x < high), -math.log(high - low), -np.inf)
        z, width = x - numbers[0], numbers[1]
        if self.kind == "normal":
            return -0.5 * (z / width) ** 2 - math.log(width * math.sqrt(2 * math.pi))
        if self.kind == "laplace":
            return -np.abs(z) / width - math.log(2 * width)
        ratio = width / numbers[2]
        sides = [side * z / numbers[2] + log_ndtr(-side * z / width - ratio) for side in (1, -1)]
        return 0.5 * ratio**2 + np.logaddexp(*sides) - math.log(2 * numbers[2])

    def density(self, x: Any) -> Any:
        """In many digits."""
        exact = self.exact
        if self.kind == "uniform":
            return 1 / (exact[1] - exact[0]) if exact[0] < x < exact[1] else mp.zero
        z, width = x - exact[0], exact[1]
        if self.kind == "normal":
            return mp.npdf(z / width) / width
        if self.kind == "laplace":
            return mp.exp(-abs(z) / width) / (2 * width)
        return sum(_side(z, width, exact[2], side) for side in (1, -1)) / (2 * exact[2])

    def below(self, x: Any) -> Any:
        """The distribution function."""
        if mp.isinf(x):
            return mp.one if x > 0 else mp.zero
        exact = self.exact
        if self.kind == "uniform":
            return min(max((x - exact[0]) / (exact[1] - exact[0]), mp.zero), mp.one)
        z, width = x - exact[0], exact[1]
        if self.kind == "normal":
            return mp.ncdf(z / width)
        if self.kind == "laplace":
            return mp.exp(z / width) / 2 if z < 0 else 1 - mp.exp(-z / width) / 2
        return mp.ncdf(z / width) + (_side(z, width, exact[2], 1) - _side(z, width, exact[2], -1)) / 2

    def mass(self, low: Any, high: Any) -> Any:
        """P(low < X < high), from the smaller tail: all but the uniform law are symmetric."""
        centre = self.exact[0]
        if self.kind == "uniform" or low < centre:
            return self.below(high) - self.below(low)
        return self.below(2 * centre - low) - self.below(2 * centre - high)


def _side(z: Any, sd: Any, scale: Any, side: int) -> Any:
    """e^(sd^2 / 2 scale^2 + side z / scale) Phi(-side z / sd - sd / scale), half of a normal plus a Laplace law."""
    return mp.exp((sd / scale) ** 2 / 2 + side * z / scale) * mp.ncdf(-side * z / sd - sd / scale)


@attrs.frozen
class Law:
    """A mixture of parts; weights are divided by their sum."""

    weights: tuple[Any, ...]
    parts: tuple[Part, ...]

    @property
    def shares(self) -> list[Any]:
        """The weights over their sum."""
        exact = [mp.mpf(weight) for weight in self.weights]
        return [weight / sum(exact) for weight in exact]

    def as_mixture(self) -> Mixture:
        """As the library takes it."""
        return Mixture(np.array(self.weights), [part.component() for part in self.parts])

    def wider(self, variance: Fraction) -> Law:
        """With Gaussian noise of this variance added to normal parts."""
        return attrs.evolve(self, parts=tuple(attrs.evolve(part, added=variance) for part in self.parts))

    def log_density(self, x: np.ndarray) -> np.ndarray:
        """In floats."""
        logs = np.array([part.log_density(x) for part in self.parts])
        with np.errstate(divide="ignore"):
            return np.asarray(logsumexp(logs + np.log(np.array(self.shares, dtype=float))[:, None], axis=0))

    def density(self, x: Any) -> Any:
        """In many digits."""
        return sum(share * part.density(x) for share, part in zip(self.shares, self.parts, strict=True))

    def mass(self, low: Any, high: Any) -> Any:
        """P(low < X < high)."""
        return sum(share * part.mass(low, high) for share, part in zip(self.shares, self.parts, strict=True))


@attrs.frozen
class Best:
    """The test that rejects q on W = {p > t q}."""

    odds: Any  # t
    p: Any  # P(W)
    q: Any  # Q(W)

    @property
    def delta(self) -> Any:
        """P(W) - t Q(W)."""
        return self.p - self.odds * self.q


def best_test(first: Law, second: Law, epsilon: Any, fine: int = 1) -> Best:
    """At one threshold e^epsilon, a double or in many digits; `fine` cells for each of the grid."""
    odds, parts = mp.exp(mp.mpf(epsilon)), (*first.parts, *second.parts)
    kinks = [float(kink) for part in parts for kink in part.kinks]
    grid = np.unique(np.concatenate([*(part.places for part in parts), kinks]))
    if fine > 1:
        grid = np.unique(np.concatenate([grid[:-1] + (grid[1:] - grid[:-1]) * step / fine for step in range(fine)]))
    points = np.sort(np.concatenate([grid, 0.5 * (grid[1:] + grid[:-1])]))
    with np.errstate(invalid="ignore"):
        signs = np.nan_to_num(first.log_density(points) - second.log_density(points), nan=-np.inf) > float(epsilon)
    turns = np.flatnonzero(signs[1:] != signs[:-1])
    marks = [-mp.inf, *(_turn(first, second, odds, *points[k : k + 2].tolist()) for k in turns), mp.inf]
    p = q = mp.zero
    for index, (low, high) in enumerate(itertools.pairwise(marks)):
        if bool(signs[0]) != bool(index % 2):
            p, q = p + first.mass(low, high), q + second.mass(low, high)
    return Best(odds, p, q)


def _turn(first: Law, second: Law, odds: Any, low: float, high: float) -> Any:
    """Where p - t q changes its sign between two doubles: at a jump, or by regula falsi (Illinois)."""

    def value(x: Any) -> Any:
        return first.density(x) - odds * second.density(x)

    hair = 1e-15 * (1.0 + abs(low))  # a decimal need not lie on the side of its double
    a, b = mp.mpf(low) - hair, mp.mpf(high) + hair
    for part in (*first.parts, *second.parts):
        for jump in part.kinks:
            if a <= jump <= b:
                before, after = value(jump - TINY), value(jump + TINY)
                if (before > 0) != (after > 0):
                    return jump
                a, b = (a, jump - TINY) if (value(a) > 0) != (before > 0) else (jump + TINY, b)
    f, g, last = value(a), value(b), 0
    if f * g > 0:
        return (a + b) / 2  # floats saw a turn that is none: any W will do
    for turn in range(200):
        if f == g or b - a < TINY * (1 + abs(a)):
            break
        x = (a + b) / 2 if turn % 4 == 3 else (a * g - b * f) / (g - f)
        h = value(x)
        if h == 0:
            return x
        if h * g > 0:
            b, g, f, last = x, h, (f / 2 if last == 1 else f), 1
        else:
            a, f, g, last = x, h, (g / 2 if last == -1 else g), -1
    return (a + b) / 2
