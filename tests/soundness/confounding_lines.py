"""Continuous worlds against 50 digits: mixtures on the line, finite data with noise, and normal vectors."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

import attrs
import numpy as np
from tests.soundness.confounding_checks import Check
from tests.soundness.confounding_laws import TINY, Law, Part, best_test, mp
from tests.truth import closed
from tests.truth.numbers import mp as more

from quiltwork.confounding import World, noise
from quiltwork.confounding.line.enclosure.cut import stick

ALL = ("normal", "normal", "laplace", "both", "uniform")
WIDTH = 1e-9  # promised for the enclosure of one delta


@attrs.frozen
class Line:
    """The laws of what is seen given each secret, and the library's release (None: only the two laws)."""

    laws: tuple[Law, ...]
    release: Any

    @property
    def size(self) -> int:
        """For picking the smallest counterexample."""
        return sum(len(law.parts) for law in self.laws)

    @property
    def pairs(self) -> list[tuple[Law, Law]]:
        """What is told apart."""
        if self.release is None:
            return [(self.laws[0], self.laws[1])]
        return [(one, two) for i, one in enumerate(self.laws) for j, two in enumerate(self.laws) if i != j]

    def delta(self, epsilon: float, fine: int = 1) -> Any:
        """The truth."""
        return max(best_test(one, two, epsilon, fine).delta for one, two in self.pairs)

    def to_json(self) -> dict[str, Any]:
        """All that is needed to look at it again."""
        laws = [
            [[w, p.kind, *p.numbers, str(p.added)] for w, p in zip(law.weights, law.parts, strict=True)]
            for law in self.laws
        ]
        return {"laws": laws, "release": repr(self.release)}


def _number(rng: np.random.Generator, value: float) -> float:
    """Few digits, or all of them."""
    return float(f"{value:.3g}") if rng.random() < 0.5 else float(value)


def _part(rng: np.random.Generator, kinds: tuple[str, ...]) -> Part:
    kind = str(rng.choice(kinds))
    mean, width, scale = (_number(rng, value) for value in (rng.normal(), *np.exp(rng.uniform(-2.5, 1.0, 2))))
    if kind == "uniform":
        return Part(kind, (mean, mean + width))
    return Part(kind, (mean, width, scale) if kind == "both" else (mean, width))


def _law(rng: np.random.Generator, kinds: tuple[str, ...], shared: Law | None = None) -> Law:
    count = int(rng.integers(1, 4))
    parts = [_part(rng, kinds) for _ in range(count)]
    if shared is not None and rng.random() < 0.4:  # the same component under both secrets, with another weight
        parts[0] = shared.parts[0]
    if shared is not None and rng.random() < 0.1:
        return attrs.evolve(shared, weights=(*shared.weights[1:], shared.weights[0]))
    weights = rng.dirichlet(np.full(count, rng.choice([0.5, 5.0])))
    weights = np.round(weights, 3) + 1e-3 if rng.random() < 0.5 else weights + 1e-12
    return Law(tuple(float(weight) for weight in weights / math.fsum(weights)), tuple(parts))


def _scales(rng: np.random.Generator, most: int) -> list[float]:
    return [_number(rng, float(np.exp(rng.uniform(-1.5, 1.5)))) for _ in range(int(rng.integers(1, most + 1)))]


def _variance(scales: list[float]) -> Fraction:
    """Of the mean weighted by precisions, which tells all that the readings tell."""
    return 1 / sum(1 / Fraction(repr(scale)) ** 2 for scale in scales)


def mixtures(rng: np.random.Generator) -> Line:
    """Any two mixtures."""
    first = _law(rng, ALL)
    return Line((first, _law(rng, ALL, first)), None)


def observed(rng: np.random.Generator) -> Line:
    """Normal mixtures seen through several Gaussian noises, whose precisions add."""
    first = _law(rng, ("normal",))
    laws = [first, *(_law(rng, ("normal",), first) for _ in range(int(rng.choice([1, 1, 2]))))]
    scales = _scales(rng, 3)
    release = World.mixture([law.as_mixture() for law in laws]).release(*scales)
    return Line(tuple(law.wider(_variance(scales)) for law in laws), release)


def noisy(rng: np.random.Generator) -> Line:
    """Finite data with one Laplace noise or several Gaussian ones."""
    count, inputs = int(rng.choice([2, 2, 3])), int(rng.integers(2, 6))
    values = [_number(rng, value) for value in np.sort(rng.normal(0.0, 2.0, inputs))]
    data = rng.dirichlet(np.ones(inputs), count)
    world, rows = World(data=data, values=values), [tuple(map(float, row)) for row in data]
    if rng.random() < 0.5:
        (scale,) = _scales(rng, 1)
        parts = tuple(Part("laplace", (value, scale)) for value in values)
        return Line(tuple(Law(row, parts) for row in rows), world.release(noise("laplace", scale)))
    scales = _scales(rng, 2)
    parts = tuple(Part("normal", (value, 0.0), _variance(scales)) for value in values)
    release = world.release(*(noise("gaussian", scale) for scale in scales))
    return Line(tuple(Law(row, parts) for row in rows), release)


KINDS: dict[str, Callable[[np.random.Generator], Line]] = {
    "mixtures": mixtures,
    "Gaussian noises": observed,
    "finite data": noisy,
}


def _room(large: Any, small: Any, width: float) -> float:
    """How far inside, over the width of the bracket."""
    return float((mp.mpf(large) - small) / width) if width > 1e-30 else math.nan


def enclosed(case: Line, rng: np.random.Generator) -> Iterator[Check]:
    """delta, epsilon and beta hold the truth."""
    for epsilon in (0.0, float(rng.exponential(1.0)), float(rng.uniform(-2.0, 6.0)))[rng.integers(3) :]:
        if case.release is None:
            low, high = stick(*(law.as_mixture() for law in case.laws), epsilon)
        else:
            found = case.release.delta(epsilon)
            low, high = float(found.lower), float(found.upper)
        exact = case.delta(epsilon)
        note = f"epsilon {epsilon!r}, [{low!r}, {high!r}]"
        yield Check("enclosure: delta, upper end", bool(high >= exact - TINY), _room(high, exact, high - low), note)
        if low > exact:  # a part of W may have been missed
            exact = case.delta(epsilon, fine=20)
        yield Check("enclosure: delta, lower end", bool(low <= exact + TINY), _room(exact, low, high - low), note)
        yield Check("enclosure: width", high - low <= WIDTH, note=note)
    if case.release is not None:
        yield from _inverse(case, rng)


def _inverse(case: Line, rng: np.random.Generator) -> Iterator[Check]:
    share = float(10.0 ** rng.uniform(-6, -0.5))
    found, note = case.release.epsilon(share), f"delta {share!r}"
    if math.isfinite(float(found.upper)):
        above = case.delta(float(found.upper))
        yield Check("enclosure: epsilon, upper end", bool(above <= share), float(share - above) / share, note)
    if float(found.lower) > 0:
        below = case.delta(float(found.lower))
        right = bool(below >= share * (1 - mp.mpf("1e-12")))
        yield Check("enclosure: epsilon, lower end", right, float(below - share) / share, note)
    one, two = case.pairs[rng.integers(len(case.pairs))]
    test = best_test(one, two, float(rng.exponential(1.0)))
    alpha = float(test.q)
    if 0 < alpha < 1:  # the double next to Q(W) is reached along the tangent
        reached = 1 - test.p + test.odds * (test.q - mp.mpf(alpha))
        low = float(case.release.beta(alpha).lower)
        right = bool(low <= reached + mp.mpf("1e-20"))
        yield Check("enclosure: beta, lower end", right, float(reached - low), f"alpha {alpha!r}")


# ---- closed forms


@attrs.frozen(eq=False)
class Vectors:
    """Normal data with one covariance, seen through Gaussian noises: N(mu, 1) against N(0, 1)."""

    release: Any
    mu: Any
    words: dict[str, Any]

    @property
    def size(self) -> int:
        """For picking the smallest counterexample."""
        return sum(np.size(value) for value in self.words.values())

    def to_json(self) -> dict[str, Any]:
        """All that is needed to look at it again."""
        return self.words


def vectors(rng: np.random.Generator) -> Vectors:
    """Decimals of three digits; the linear system for mu is solved in 70."""
    size, count = int(rng.integers(1, 4)), int(rng.integers(2, 4))
    means = np.round(rng.normal(0.0, 1.0, (count, size)), 3)
    root = np.round(rng.normal(0.0, 1.0, (size, size)), 1)
    square = np.round(root @ root.T + 0.01 * np.eye(size), 3)
    scales = [float(f"{scale:.3g}") for scale in _scales(rng, 3)]
    added = _variance(scales)
    spread = more.matrix([[more.mpf(repr(float(value))) for value in row] for row in square])
    spread += more.eye(size) * (more.mpf(added.numerator) / added.denominator)
    best = more.zero
    for i in range(count):
        for j in range(i):
            pairs = zip(means[i].tolist(), means[j].tolist(), strict=True)
            gap = more.matrix([more.mpf(repr(a)) - more.mpf(repr(b)) for a, b in pairs])
            best = max(best, (gap.T * more.lu_solve(spread, gap))[0])
    release = World.gaussian(means.tolist(), square.tolist()).release(*scales)
    words = {"means": means.tolist(), "covariance": square.tolist(), "noises": scales}
    return Vectors(release, more.sqrt(best), words)


def closed_form(case: Vectors, rng: np.random.Generator) -> Iterator[Check]:
    """delta, epsilon and beta of N(mu, 1) against N(0, 1)."""
    for epsilon in (0.0, float(rng.exponential(2.0))):
        exact, found = closed.gaussian_delta(case.mu, epsilon), case.release.delta(epsilon)
        yield from _ends("closed form: delta", found, exact, f"epsilon {epsilon!r}")
    share = float(10.0 ** rng.uniform(-9, -0.3))
    exact = max(closed.gaussian_epsilon(case.mu, share), 0)
    yield from _ends("closed form: epsilon", case.release.epsilon(share), exact, f"delta {share!r}")
    alpha = float(rng.uniform())
    exact = closed.gaussian_beta(case.mu, alpha)
    yield from _ends("closed form: beta", case.release.beta(alpha), exact, f"alpha {alpha!r}")


def _ends(claim: str, found: Any, exact: Any, note: str) -> Iterator[Check]:
    low, high = float(found.lower), float(found.upper)
    yield Check(f"{claim}, upper end", bool(high >= exact), _room(high, exact, high - low), note)
    yield Check(f"{claim}, lower end", bool(low <= exact), _room(exact, low, high - low), note)
