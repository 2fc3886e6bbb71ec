"""Laws of the loss of one release under P, as the contour needs them: transforms in balls, decay, range.

M(z) = E_P[e^{zL}]. `spectrum` gives M(theta) and M(theta + iu)/M(theta) on u = 0, step, 2 step, ...; `decay` a bound of
|M(theta + iu)|/M(theta) for every u >= U, `scattered` one of what is left without the `points`, which need not decay;
`rough` a float of log M that only steers.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import cached_property

import numpy as np
from flint import acb, arb, ctx

from quiltwork.proof.contour.balls import Budget, Memory, Undecided, exact, exactly, hi, near, total, waves

Decay = Callable[[arb], arb]


class Law:
    """One release. `reveal` is P(L = inf); M leaves that mass out."""

    reveal: arb = arb(0)
    vanish: arb = arb(0)  # Q(L = -inf)
    smallest: arb | None = None
    largest: arb | None = None
    points: Sequence[tuple[arb, arb]] = ()  # mass and loss of what has mass
    finite = False  # nothing but points
    steps: tuple[Fraction, Fraction] | None = None  # L lies on offset + step Z, both as typed

    def moment(self, t: arb, budget: Budget) -> arb:
        """M(t) for real t >= 0."""
        return self._moments.get((ctx.prec, *exactly(t)), budget, lambda: self._moment(t, budget))

    @cached_property
    def _moments(self) -> Memory:
        return Memory()

    def _moment(self, t: arb, budget: Budget) -> arb:
        raise NotImplementedError

    def spectrum(self, theta: arb, step: arb, count: int, budget: Budget) -> tuple[arb, list[acb]]:
        raise NotImplementedError

    def decay(self, theta: arb, budget: Budget) -> Decay:
        """No bound below 1 is known of an atomic law."""
        return lambda _: arb(1)

    def scattered(self, theta: arb, budget: Budget) -> Decay:
        """The same for what is on no point."""
        if self.finite:
            return lambda _: arb(0)
        if self.points:
            raise Undecided("points that are not told apart")
        return self.decay(theta, budget)

    def rough(self, t: float) -> float:
        raise NotImplementedError


class Explicit(Law):
    """M(z) is a formula of z."""

    def transform(self, z: acb) -> acb:
        raise NotImplementedError

    def _moment(self, t: arb, budget: Budget) -> arb:
        budget.spend(1)
        return self.transform(acb(t)).real

    def spectrum(self, theta: arb, step: arb, count: int, budget: Budget) -> tuple[arb, list[acb]]:
        budget.spend(count)
        at = self.moment(theta, budget)
        return at, [acb(1)] + [self.transform(acb(theta, step * j)) / acb(at) for j in range(1, count)]

    def rough(self, t: float) -> float:
        return near(self.transform(acb(t)).real.log())


class Gaussian(Explicit):
    """L ~ N(mu^2/2, mu^2)."""

    def __init__(self, mu: arb) -> None:
        self.variance = mu * mu

    def transform(self, z: acb) -> acb:
        return (self.variance / 2 * z * (z + 1)).exp()

    def decay(self, theta: arb, budget: Budget) -> Decay:
        return lambda u: hi((-self.variance / 2 * u * u).exp())

    def rough(self, t: float) -> float:
        return near(self.variance) / 2 * t * (t + 1)


class Laplace(Explicit):
    """Atoms 1/2 at e and e^{-e}/2 at -e, density e^{(l-e)/2}/4 between."""

    def __init__(self, top: arb) -> None:
        self.top, self.largest, self.smallest = top, top, -top
        self.points = [(arb(1) / 2, top), ((-top).exp() / 2, -top)]

    def transform(self, z: acb) -> acb:
        e, h = self.top, z + arb(1) / 2
        between = ((h * e).exp() - (-h * e).exp()) / h
        return ((z * e).exp() + (-(z + 1) * e).exp()) / 2 + acb(-e / 2).exp() * between / 4

    def decay(self, theta: arb, budget: Budget) -> Decay:
        rest = self.scattered(theta, budget)
        atoms = total([p * (theta * x).exp() for p, x in self.points]) / self.moment(theta, budget)
        return lambda u: hi(atoms + rest(u)).min(arb(1))

    def scattered(self, theta: arb, budget: Budget) -> Decay:
        e = self.top
        density = (-e / 2).exp() * ((theta + arb(1) / 2) * e).cosh() / 2  # integrated once: (2 cosh)/(4 |h|)
        most = density / self.moment(theta, budget)
        return lambda u: hi(most / u).min(arb(1))

    def rough(self, t: float) -> float:
        e, h = near(self.top), t + 0.5
        inside = math.exp(-(2 * t + 1) * e)
        return t * e + math.log((1 + inside) / 2 + (1 - inside) / (4 * h))


class Exponential(Explicit):
    """Above every mechanism of bounded range: density e^{l/2}/(4 sinh(e/2)) on [-e, e] (theory/sampling.md 2.1)."""

    def __init__(self, epsilon: arb) -> None:
        self.top, self.largest, self.smallest = epsilon, epsilon, -epsilon

    def transform(self, z: acb) -> acb:
        e, h = self.top, z + arb(1) / 2
        return ((h * e).exp() - (-h * e).exp()) / (4 * h * (e / 2).sinh())

    def decay(self, theta: arb, budget: Budget) -> Decay:
        h = theta + arb(1) / 2
        ratio = h * (h * self.top).cosh() / (h * self.top).sinh()
        return lambda u: hi(ratio / u).min(arb(1))


class Finite(Law):
    """Finitely many losses; `losses` as typed where they are known so."""

    finite = True

    def __init__(self, pairs: Sequence[tuple[arb, arb]], stated: Sequence[Fraction | None] | None = None) -> None:
        stated = list(stated) if stated is not None else [None] * len(pairs)
        self.pairs, self.stated = list(pairs), stated
        self.reveal = total([p for p, q in pairs if q.is_zero()])
        self.vanish = total([q for p, q in pairs if p.is_zero()])
        kept = [(p, q, s) for (p, q), s in zip(pairs, stated, strict=True) if not q.is_zero() and not p.is_zero()]
        self.points = [(p, exact(s) if s is not None else (p / q).log()) for p, q, s in kept]
        if not self.points:
            raise Undecided("no outcome is shared by both laws")
        self.largest = max((hi(x) for _, x in self.points), key=float)
        self.smallest = -max((hi(-x) for _, x in self.points), key=float)
        self._masses = np.array([near(p) for p, _ in self.points])
        self._losses = np.array([near(x) for _, x in self.points])
        known = [s for _, _, s in kept]
        if all(s is not None for s in known):
            values = [s for s in known if s is not None]
            gaps = [s - values[0] for s in values if s != values[0]]
            self.steps = (values[0], common(gaps) if gaps else Fraction(0))

    def swapped(self) -> Finite:
        return Finite([(q, p) for p, q in self.pairs], [None if s is None else -s for s in self.stated])

    def sampled(self, rate: arb) -> Finite:
        """With chance `rate` the first law, else the second, against the second."""
        return Finite([((1 - rate) * q + rate * p, q) for p, q in self.pairs])

    def _moment(self, t: arb, budget: Budget) -> arb:
        budget.spend(len(self.points))
        return total([p * (t * x).exp() for p, x in self.points])

    def spectrum(self, theta: arb, step: arb, count: int, budget: Budget) -> tuple[arb, list[acb]]:
        at = self.moment(theta, budget)
        weights = [p * (theta * x).exp() / at for p, x in self.points]
        return at, waves(weights, [x for _, x in self.points], step, count, budget)

    def rough(self, t: float) -> float:
        exponents = t * self._losses
        top = exponents.max()
        return float(top + np.log((self._masses * np.exp(exponents - top)).sum()))


class Revealing(Law):
    """Everything is told: no loss is finite."""

    reveal = vanish = arb(1)

    def _moment(self, t: arb, budget: Budget) -> arb:
        return arb(0)

    def spectrum(self, theta: arb, step: arb, count: int, budget: Budget) -> tuple[arb, list[acb]]:
        return arb(0), [acb(0)] * count

    def rough(self, t: float) -> float:
        return -math.inf


class DiscreteGaussian(Explicit):
    """M(z) = e^{v z(z+1)/2} theta3(z)/theta3(0) by Poisson summation (theory/engine-faster.md section 5)."""

    def __init__(self, sigma: Fraction, sensitivity: int) -> None:
        self.sigma, self.move = exact(sigma), sensitivity
        self.variance = exact(Fraction(sensitivity) ** 2 / sigma**2)
        step = Fraction(sensitivity) / sigma**2
        self.steps = (Fraction(sensitivity) * step / 2, step)
        self.at_zero = self._theta(acb(0))

    def _theta(self, z: acb) -> acb:
        """sum_n e^{-2 pi^2 sigma^2 n^2 + 2 pi i n z Delta}; the terms beyond the last fall by ratios below 1/2."""
        rate = 2 * arb.pi() ** 2 * self.sigma**2
        turn = acb(0, 2 * arb.pi() * self.move) * z
        grow = 2 * arb.pi() * self.move * abs(z.imag)
        result = acb(1)
        for n in range(1, 4000):
            result += acb(-rate * n * n).exp() * ((turn * n).exp() + (-turn * n).exp())
            first = (-rate * (n + 1) ** 2 + (n + 1) * grow).exp() * 2
            if (-rate * (2 * n + 3) + grow).exp() < 0.5 and first < arb(2) ** -400 * (1 + abs(result)):
                return result + acb(arb(0, hi(2 * first)), arb(0, hi(2 * first)))
        raise Undecided("a theta sum does not settle")

    def transform(self, z: acb) -> acb:
        """Brought to |Im z| <= pi sigma^2/Delta first: one period turns M by e^{i pi Delta}."""
        period = 2 * arb.pi() * self.sigma**2 / self.move
        turns = round(near(z.imag / period))
        z = z - acb(0, period * turns)
        value = (self.variance * z * (z + 1) / 2).exp() * self._theta(z) / self.at_zero
        return -value if (turns * self.move) % 2 else value

    def rough(self, t: float) -> float:
        """theta3(t) <= theta3(0), close to it for sigma of 1 or more."""
        return near(self.variance) / 2 * t * (t + 1)


class Mixture(Law):
    """Which of several releases was run is seen: P-laws add with their weights."""

    def __init__(self, parts: Sequence[tuple[arb, Law]]) -> None:
        self.parts = list(parts)
        self.reveal = total([w * law.reveal for w, law in parts])
        self.vanish = total([w * law.vanish for w, law in parts])
        if all(law.largest is not None for _, law in parts):
            self.largest = max((hi(law.largest) for _, law in parts if law.largest is not None), key=float)
        if all(law.smallest is not None for _, law in parts):
            self.smallest = -max((hi(-law.smallest) for _, law in parts if law.smallest is not None), key=float)
        self.points = [(w * p, x) for w, law in parts for p, x in law.points]
        self.finite = all(law.finite for _, law in parts)

    def _moment(self, t: arb, budget: Budget) -> arb:
        return total([w * law.moment(t, budget) for w, law in self.parts])

    def spectrum(self, theta: arb, step: arb, count: int, budget: Budget) -> tuple[arb, list[acb]]:
        found = [(w, *law.spectrum(theta, step, count, budget)) for w, law in self.parts]
        at = total([w * m for w, m, _ in found])
        shares = [acb(w * m / at) for w, m, _ in found]
        return at, [
            total([share * values[j] for share, (_, _, values) in zip(shares, found, strict=True)], acb(0))
            for j in range(count)
        ]

    def decay(self, theta: arb, budget: Budget) -> Decay:
        found = [(w * law.moment(theta, budget), law.decay(theta, budget)) for w, law in self.parts]
        at = total([m for m, _ in found])
        return lambda u: hi(total([m * bound(u) for m, bound in found]) / at).min(arb(1))

    def scattered(self, theta: arb, budget: Budget) -> Decay:
        found = [(w * law.moment(theta, budget), law.scattered(theta, budget)) for w, law in self.parts]
        at = self.moment(theta, budget)
        return lambda u: hi(total([m * bound(u) for m, bound in found]) / at)

    def rough(self, t: float) -> float:
        logs = np.array([math.log(max(near(w), 1e-300)) + law.rough(t) for w, law in self.parts])
        return float(np.logaddexp.reduce(logs))


def common(values: Sequence[Fraction]) -> Fraction:
    """The largest number of which all are whole multiples."""
    found = Fraction(0)
    for value in values:
        top = math.gcd(found.numerator * value.denominator, value.numerator * found.denominator)
        found = Fraction(top, found.denominator * value.denominator)
    return abs(found)
