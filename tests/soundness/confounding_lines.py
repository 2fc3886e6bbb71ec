"""Continuous worlds against 70 digits: mixtures on the line, finite data with noise, and normal vectors.

E_t(p||q) = P(W) - t Q(W) for the set W where p > t q.  The ends of W are looked for in floats and polished in many digits.
Any W gives a value below the truth, so that an upper end below it is surely wrong; a lower end above it is looked at
again on a finer grid before it counts.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

import attrs
import numpy as np
from scipy.special import log_ndtr, logsumexp
from tests.soundness.confounding_checks import Check
from tests.truth import closed
from tests.truth.numbers import mp as many

from quiltwork.confounding import World, noise
from quiltwork.confounding.components import Component, Laplace, Mixture, Normal, NormalLaplace, Uniform
from quiltwork.confounding.enclosure import stick

GRID = 1201  # places for each component
mp = many.clone()
mp.prec = 170
TINY = mp.mpf(10) ** -40


@attrs.frozen
class Part:
    """One component with its parameters as decimals."""

    kind: str
    numbers: tuple[float, ...]

    @property
    def exact(self) -> tuple[Any, ...]:
        """The decimals that were typed."""
        return tuple(mp.mpf(repr(number)) for number in self.numbers)

    def component(self) -> Component:
        """As the library takes it."""
        kinds: dict[str, Any] = {"normal": Normal, "laplace": Laplace, "both": NormalLaplace, "uniform": Uniform}
        return kinds[self.kind](*self.numbers)

    @property
    def places(self) -> np.ndarray:
        """Where its density changes."""
        if self.kind == "uniform":
            return np.linspace(*self.numbers, GRID)
        spread = sum(self.numbers[1:])
        near = np.linspace(-12.0, 12.0, GRID)
        return self.numbers[0] + spread * np.concatenate([near, near * 0.05, near * 40.0])

    @property
    def kinks(self) -> tuple[float, ...]:
        """Where the density jumps or bends."""
        return self.numbers if self.kind == "uniform" else self.numbers[:1] if self.kind == "laplace" else ()

    @property
    def exact_kinks(self) -> tuple[Any, ...]:
        """The same as decimals."""
        return self.exact if self.kind == "uniform" else self.exact[:1] if self.kind == "laplace" else ()

    def log_density(self, x: np.ndarray) -> np.ndarray:
        """In floats, to find the ends of W."""
        if self.kind == "uniform":
            low, high = self.numbers
            return np.where((x > low) & (x < high), -math.log(high - low), -np.inf)
        z = x - self.numbers[0]
        if self.kind == "normal":
            return -0.5 * (z / self.numbers[1]) ** 2 - math.log(self.numbers[1] * math.sqrt(2 * math.pi))
        if self.kind == "laplace":
            return -np.abs(z) / self.numbers[1] - math.log(2 * self.numbers[1])
        sd, scale = self.numbers[1:]
        ratio = sd / scale
        sides = [side * z / scale + log_ndtr(-side * z / sd - ratio) for side in (1, -1)]
        return 0.5 * ratio**2 + np.logaddexp(*sides) - math.log(2 * scale)

    def density(self, x: Any) -> Any:
        """In many digits."""
        if self.kind == "uniform":
            low, high = self.exact
            return 1 / (high - low) if low < x < high else mp.zero
        z, width = x - self.exact[0], self.exact[1]
        if self.kind == "normal":
            return mp.npdf(z / width) / width
        if self.kind == "laplace":
            return mp.exp(-abs(z) / width) / (2 * width)
        scale = self.exact[2]
        return sum(self._side(z, width, scale, side) for side in (1, -1)) / (2 * scale)

    @staticmethod
    def _side(z: Any, sd: Any, scale: Any, side: int) -> Any:
        """e^(sd^2 / 2 scale^2 + side z / scale) Phi(-side z / sd - sd / scale)."""
        return mp.exp((sd / scale) ** 2 / 2 + side * z / scale) * mp.ncdf(-side * z / sd - sd / scale)

    def below(self, x: Any) -> Any:
        """The distribution function."""
        if mp.isinf(x):
            return mp.one if x > 0 else mp.zero
        if self.kind == "uniform":
            low, high = self.exact
            return min(max((x - low) / (high - low), mp.zero), mp.one)
        z, width = x - self.exact[0], self.exact[1]
        if self.kind == "normal":
            return mp.ncdf(z / width)
        if self.kind == "laplace":
            return mp.exp(z / width) / 2 if z < 0 else 1 - mp.exp(-z / width) / 2
        scale = self.exact[2]
        return mp.ncdf(z / width) + (self._side(z, width, scale, 1) - self._side(z, width, scale, -1)) / 2


    def mass(self, low: Any, high: Any) -> Any:
        """P(low < X < high), from the smaller tail: all but the uniform law are symmetric."""
        if self.kind == "uniform" or low < self.exact[0]:
            return self.below(high) - self.below(low)
        return self.below(2 * self.exact[0] - low) - self.below(2 * self.exact[0] - high)


@attrs.frozen
class Law:
    """A mixture of parts."""

    weights: tuple[float, ...]
    parts: tuple[Part, ...]

    @property
    def shares(self) -> list[Any]:
        """The weights over their sum."""
        exact = [mp.mpf(weight) for weight in self.weights]
        return [weight / sum(exact) for weight in exact]

    def mixture(self) -> Mixture:
        """As the library takes it."""
        return Mixture(np.array(self.weights), [part.component() for part in self.parts])

    def log_density(self, x: np.ndarray) -> np.ndarray:
        """In floats."""
        logs = np.array([part.log_density(x) for part in self.parts])
        with np.errstate(divide="ignore"):
            return logsumexp(logs + np.log(np.array(self.weights))[:, None], axis=0)

    def density(self, x: Any) -> Any:
        """In many digits."""
        return sum(share * part.density(x) for share, part in zip(self.shares, self.parts, strict=True))

    def mass(self, low: Any, high: Any) -> Any:
        """P(low < X < high)."""
        return sum(share * part.mass(low, high) for share, part in zip(self.shares, self.parts, strict=True))


@attrs.frozen
class Truth:
    """P and Q of W = {p > t q}, with t."""

    odds: Any
    p: Any
    q: Any

    @property
    def delta(self) -> Any:
        """P(W) - t Q(W)."""
        return self.p - self.odds * self.q


def truth_at(first: Law, second: Law, epsilon: float, fine: int = 1) -> Truth:
    """The test at one threshold."""
    odds = mp.exp(mp.mpf(epsilon))
    parts = (*first.parts, *second.parts)
    grid = np.unique(np.concatenate([*(part.places for part in parts), *(np.array(part.kinks) for part in parts)]))
    if fine > 1:
        grid = np.unique(np.concatenate([grid[:-1] + (grid[1:] - grid[:-1]) * step / fine for step in range(fine)]))
    middles = np.sort(np.concatenate([grid, 0.5 * (grid[1:] + grid[:-1])]))
    with np.errstate(invalid="ignore"):
        signs = np.nan_to_num(first.log_density(middles) - second.log_density(middles), nan=-np.inf) > epsilon
    turns = np.flatnonzero(signs[1:] != signs[:-1])
    ends = [_zero(first, second, odds, float(middles[k]), float(middles[k + 1])) for k in turns]
    marks = [-mp.inf, *ends, mp.inf]
    inside = [bool(signs[0]) ^ bool(index % 2) for index in range(len(marks) - 1)]
    p = q = mp.zero
    for wanted, low, high in zip(inside, marks, marks[1:], strict=False):
        if wanted:
            p, q = p + first.mass(low, high), q + second.mass(low, high)
    return Truth(odds, p, q)


def _zero(first: Law, second: Law, odds: Any, low: float, high: float) -> Any:
    """Where p - t q changes its sign between two doubles: at a jump, or by regula falsi (Illinois)."""

    def value(x: Any) -> Any:
        return first.density(x) - odds * second.density(x)

    hair = 1e-15 * (1.0 + abs(low))  # a decimal need not lie on the side of its double
    a, b = mp.mpf(low) - hair, mp.mpf(high) + hair
    for part in (*first.parts, *second.parts):
        for jump in part.exact_kinks:
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


@attrs.frozen
class Line:
    """Two or three laws, and the noises added to them; `laws` are those of what is seen."""

    laws: tuple[Law, ...]
    release: Any

    @property
    def size(self) -> int:
        """For picking the smallest counterexample."""
        return sum(len(law.parts) for law in self.laws)

    def to_json(self) -> dict[str, Any]:
        """All that is needed to look at it again."""
        return {"laws": [[[w, p.kind, *p.numbers] for w, p in zip(law.weights, law.parts, strict=True)]
                         for law in self.laws], "release": repr(self.release)}  # fmt: skip


def _number(rng: np.random.Generator, value: float) -> float:
    """Few digits, or all of them."""
    return float(f"{value:.3g}") if rng.random() < 0.5 else float(value)


def _part(rng: np.random.Generator, kinds: tuple[str, ...]) -> Part:
    kind = str(rng.choice(kinds))
    mean, width, more = (_number(rng, value) for value in (rng.normal(), *np.exp(rng.uniform(-2.5, 1.0, 2))))
    return Part(kind, {"normal": (mean, width), "laplace": (mean, width), "both": (mean, width, more),
                       "uniform": (mean, mean + width)}[kind])  # fmt: skip


def _law(rng: np.random.Generator, kinds: tuple[str, ...], shared: Law | None = None) -> Law:
    count = int(rng.integers(1, 4))
    parts = [_part(rng, kinds) for _ in range(count)]
    if shared is not None and rng.random() < 0.4:  # the same component under both secrets, with another weight
        parts[0] = shared.parts[0]
    if shared is not None and rng.random() < 0.1:
        return attrs.evolve(shared, weights=tuple(np.roll(shared.weights, 1)))
    weights = rng.dirichlet(np.full(count, rng.choice([0.5, 5.0])))
    return Law(tuple(float(w) for w in (np.round(weights, 3) + 1e-3 if rng.random() < 0.5 else weights + 1e-12)), tuple(parts))


def _normal(law: Law) -> Law:
    """Weights that sum to one closely enough for the library."""
    total = math.fsum(law.weights)
    return attrs.evolve(law, weights=tuple(weight / total for weight in law.weights))


def mixture(rng: np.random.Generator) -> Line:
    """Any mixtures, released as they are."""
    kinds = ("normal", "normal", "laplace", "both", "uniform")
    first = _normal(_law(rng, kinds))
    return Line((first, _normal(_law(rng, kinds, first))), None)


def observed(rng: np.random.Generator) -> Line:
    """Normal mixtures seen through several Gaussian noises, whose precisions add."""
    first = _normal(_law(rng, ("normal",)))
    laws = (first, *(_normal(_law(rng, ("normal",), first)) for _ in range(int(rng.choice([1, 1, 2])))))
    scales = [_number(rng, float(np.exp(rng.uniform(-1.5, 1.5)))) for _ in range(int(rng.integers(1, 4)))]
    release = World.mixture([law.mixture() for law in laws]).release(*scales)
    variance = 1 / sum(1 / Fraction(repr(scale)) ** 2 for scale in scales)
    return Line(tuple(_spread(law, variance) for law in laws), release)


def noisy(rng: np.random.Generator) -> Line:
    """Finite data with one Laplace noise or several Gaussian ones."""
    count, inputs = int(rng.choice([2, 2, 3])), int(rng.integers(2, 6))
    values = [_number(rng, value) for value in np.sort(rng.normal(0.0, 2.0, inputs))]
    data = rng.dirichlet(np.ones(inputs), count)
    world = World(data=data, values=values)
    if rng.random() < 0.5:
        scale = _number(rng, float(np.exp(rng.uniform(-1.0, 1.5))))
        release = world.release(noise("laplace", scale))
        parts = tuple(Part("laplace", (value, scale)) for value in values)
        return Line(tuple(Law(tuple(map(float, row)), parts) for row in data), release)
    scales = [_number(rng, float(np.exp(rng.uniform(-1.0, 1.5)))) for _ in range(int(rng.integers(1, 3)))]
    release = world.release(*(noise("gaussian", scale) for scale in scales))
    variance = 1 / sum(1 / Fraction(repr(scale)) ** 2 for scale in scales)
    points = [Law(tuple(map(float, row)), tuple(Part("normal", (value, 0.0)) for value in values)) for row in data]
    return Line(tuple(_spread(law, variance) for law in points), release)


def _spread(law: Law, variance: Fraction) -> Law:
    """With Gaussian noise of this variance added to each normal part."""
    return attrs.evolve(law, parts=tuple(Wider("normal", part.numbers, variance) for part in law.parts))


@attrs.frozen
class Wider(Part):
    """A normal part with more variance."""

    added: Fraction = Fraction(0)

    @property
    def exact(self) -> tuple[Any, ...]:
        """The mean and the root of the summed variances."""
        square = Fraction(repr(self.numbers[1])) ** 2 + self.added
        return mp.mpf(repr(self.numbers[0])), mp.sqrt(mp.mpf(square.numerator) / square.denominator)

    @property
    def places(self) -> np.ndarray:
        """Where its density changes."""
        return Part("normal", self._plain).places

    @property
    def _plain(self) -> tuple[float, float]:
        return self.numbers[0], math.sqrt(self.numbers[1] ** 2 + float(self.added))

    def log_density(self, x: np.ndarray) -> np.ndarray:
        """In floats."""
        return Part("normal", self._plain).log_density(x)


KINDS: dict[str, Callable[[np.random.Generator], Line]] = {
    "mixtures": mixture,
    "mixtures, Gaussian noises": observed,
    "finite data, noises": noisy,
}


def enclosed(case: Line, rng: np.random.Generator) -> Iterator[Check]:
    """delta, epsilon and beta hold the truth."""
    pairs = [(i, j) for i in case.laws for j in case.laws if i is not j]
    for epsilon in (0.0, float(rng.exponential(1.0)), float(rng.uniform(-2.0, 6.0))):
        exact = max(truth_at(i, j, epsilon).delta for i, j in pairs) if case.release else None
        if exact is None:
            first, second = case.laws
            exact = truth_at(first, second, epsilon).delta
            low, high = stick(first.mixture(), second.mixture(), epsilon)
        else:
            found = case.release.delta(epsilon)
            low, high = float(found.lower), float(found.upper)
        note = f"epsilon {epsilon!r}, [{low!r}, {high!r}]"
        yield Check("enclosure: delta, upper end", high >= exact - TINY, _room(high, exact, high - low), note)
        if low > exact:  # a part of W may have been missed
            again = [truth_at(i, j, epsilon, fine=20).delta for i, j in (pairs if case.release else pairs[:1])]
            exact = max(again)
        yield Check("enclosure: delta, lower end", low <= exact + TINY, _room(exact, low, high - low), note)
        if case.release is None:
            yield Check("enclosure: width", high - low <= 1e-9, math.nan, note)
    if case.release is not None:
        yield from _inverse(case, pairs, rng)


def _room(large: Any, small: Any, width: float) -> float:
    """How far inside, over the width of the enclosure."""
    return float((mp.mpf(large) - small) / width) if width > 0 else math.nan


def _inverse(case: Line, pairs: Any, rng: np.random.Generator) -> Iterator[Check]:
    share = float(10.0 ** rng.uniform(-6, -0.5))
    found = case.release.epsilon(share)
    top, bottom = float(found.upper), float(found.lower)
    if math.isfinite(top):
        above = max(truth_at(i, j, top).delta for i, j in pairs)
        yield Check("enclosure: epsilon, upper end", above <= share, float(share - above) / share, f"delta {share!r}")
    if bottom > 0:
        below = max(truth_at(i, j, bottom).delta for i, j in pairs)
        yield Check("enclosure: epsilon, lower end", below >= share * (1 - mp.mpf("1e-12")),
                    float(below - share) / share, f"delta {share!r}")  # fmt: skip
    i, j = pairs[rng.integers(len(pairs))]
    test = truth_at(i, j, float(rng.exponential(1.0)))
    alpha = float(test.q)
    reached = 1 - test.p + test.odds * (test.q - mp.mpf(alpha))
    if 0 < alpha < 1:
        bracket = case.release.beta(alpha)
        yield Check("enclosure: beta, lower end", float(bracket.lower) <= reached + 1e-20, float(reached - bracket.lower),
                    f"alpha {alpha!r}")  # fmt: skip


# ---- closed forms


@attrs.frozen(eq=False)
class Vectors:
    """Normal data with one covariance, seen through Gaussian noises."""

    release: Any
    mu: Any
    words: dict[str, Any]

    size = 1

    def to_json(self) -> dict[str, Any]:
        """All that is needed to look at it again."""
        return self.words


def vectors(rng: np.random.Generator) -> Vectors:
    """Decimals of three digits, so that mu^2 is a fraction that mpmath can solve for."""
    size, count, noises = int(rng.integers(1, 4)), int(rng.integers(2, 4)), int(rng.integers(1, 4))
    means = np.round(rng.normal(0.0, 1.0, (count, size)), 3)
    root = np.round(rng.normal(0.0, 1.0, (size, size)), 1)
    square = np.round(root @ root.T + 0.01 * np.eye(size), 3)
    scales = [float(f"{np.exp(rng.uniform(-1.5, 1.5)):.3g}") for _ in range(noises)]
    world = World.gaussian(means.tolist(), square.tolist())
    release = world.release(*scales)
    exact = [[mp.mpf(repr(float(value))) for value in row] for row in square]
    precision = sum(1 / mp.mpf(repr(scale)) ** 2 for scale in scales)
    covariance = mp.matrix([[exact[i][j] + (1 / precision if i == j else 0) for j in range(size)] for i in range(size)])
    best = mp.zero
    for i in range(count):
        for j in range(i):
            gap = mp.matrix([mp.mpf(repr(float(a))) - mp.mpf(repr(float(b))) for a, b in
                             zip(means[i], means[j], strict=True)])  # fmt: skip
            best = max(best, (gap.T * mp.lu_solve(covariance, gap))[0])
    words = {"means": means.tolist(), "covariance": square.tolist(), "noises": scales}
    return Vectors(release, mp.sqrt(best), words)


def closed_form(case: Vectors, rng: np.random.Generator) -> Iterator[Check]:
    """delta and epsilon of N(mu, 1) against N(0, 1)."""
    for epsilon in (0.0, float(rng.exponential(2.0))):
        exact, found = closed.gaussian_delta(case.mu, epsilon), case.release.delta(epsilon)
        width = float(found.upper) - float(found.lower)
        yield Check("closed form: delta, upper end", found.upper >= exact, _room(found.upper, exact, width), f"epsilon {epsilon!r}")
        yield Check("closed form: delta, lower end", found.lower <= exact, _room(exact, found.lower, width), f"epsilon {epsilon!r}")
    share = float(10.0 ** rng.uniform(-9, -0.3))
    exact, found = closed.gaussian_epsilon(case.mu, share), case.release.epsilon(share)
    exact = max(exact, 0)
    width = float(found.upper) - float(found.lower)
    yield Check("closed form: epsilon, upper end", found.upper >= exact, _room(found.upper, exact, width), f"delta {share!r}")
    yield Check("closed form: epsilon, lower end", found.lower <= exact, _room(exact, found.lower, width), f"delta {share!r}")
