"""Sides of an entry in a chain: what the entries before or after it can add, from one side to the next.

A side of n entries adds at most (d - 1) e + Psi of the law d steps on, at slopes e + (the side of n - d), d <= n;
Psi_K(s)(u, v) is the log of the largest (K_u . g) / (K_v . g) with g(y) <= e^s(y, w) g(w). That is at most log x if,
with g least at w, the sum of max over g(y) in [1, e^s(y, w)] of (K_u(y) - x K_v(y)) g(y) is not positive for any w.
Any sides that the step maps to something no larger bound those of every length.

Reference: theory/pufferfish.md 3.5.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from quiltwork.proof.balls import ball, guess
from quiltwork.proof.fields import Refused

MOST_STEPS = 3_000  # that are followed one by one
MOST_WORK = 4_000_000  # steps times the fourth power of the states
LONGEST = 4  # steps at a time
NEAR = 120  # bits to which a quotient is guessed, and a side has settled
Kernel = list[list[Any]]  # rows of balls
Side = list[list[Any]]  # for each ordered pair of states, a ball above what this side adds


class Alike:
    """Sides of 0, 1, 2, ... entries along one kernel, until they settle."""

    def __init__(self, kernel: Kernel, e: Any) -> None:
        self.e = e
        self.most = min(MOST_STEPS, MOST_WORK // len(kernel) ** 4)  # steps that are followed one by one
        self.powers = [kernel]
        while len(self.powers) < (1 if len(kernel) == 2 else LONGEST):
            self.powers.append(product(self.powers[-1], kernel))
        self.sides = [none(len(kernel))]
        self._endless: Side | None = None

    def of(self, count: int | None) -> Side:
        """The side of so many entries; None for any number."""
        if count is None:
            return self.endless
        while len(self.sides) <= min(count, self.most):
            new = self._next(self.sides, len(self.sides))
            self.sides.append(new)
            if _near(new, self.sides[-2]):
                break
        return self.sides[count] if count < len(self.sides) else self.endless

    @property
    def endless(self) -> Side:
        """Of any number: what the step maps to something no larger, found a hair above the last side."""
        if self._endless is None:
            while len(self.sides) < self.most:
                self.of(len(self.sides))
                if _near(self.sides[-1], self.sides[-2]):
                    break
            for hair in (NEAR - 20, 60, 40, 20, 10):
                more, least = (ball(Fraction(1, 2**bits)) for bits in (hair, NEAR - 20))
                tried = [[x * (1 + more) + least for x in row] for row in self.sides[-1]]
                image = self._next([tried] * (len(self.powers) + 1), len(self.powers))
                if all(a <= b for one, two in zip(image, tried, strict=True) for a, b in zip(one, two, strict=True)):
                    self._endless = image
                    break
            else:
                raise Refused("a side of a chain that does not settle")
        return self._endless

    def _next(self, sides: Sequence[Side], count: int) -> Side:
        found = None
        for d, kernel in enumerate(self.powers[:count], 1):
            one = step(kernel, slopes(self.e, sides[count - d]))
            one = [[x + (d - 1) * self.e if u != v else x for v, x in enumerate(row)] for u, row in enumerate(one)]
            found = one if found is None else [[x.min(y) for x, y in zip(a, b, strict=True)]
                                               for a, b in zip(found, one, strict=True)]  # fmt: skip
        if found is None:
            raise Refused("a side without entries")
        return found


def product(one: Kernel, other: Kernel) -> Kernel:
    return [[sum((p * row[y] for p, row in zip(mine, other, strict=True)), ball(0)) for y in range(len(other[0]))]
            for mine in one]  # fmt: skip


def none(count: int) -> Side:
    return [[ball(0)] * count for _ in range(count)]


def slopes(e: Any, side: Side) -> Side:
    return [[x + e if u != v else ball(0) for v, x in enumerate(row)] for u, row in enumerate(side)]


def _near(one: Side, other: Side) -> bool:
    hair = ball(Fraction(1, 2**NEAR))
    return all(abs(x - y) <= hair for a, b in zip(one, other, strict=True) for x, y in zip(a, b, strict=True))


def step(kernel: Kernel, slopes: Side) -> Side:
    """Psi for every ordered pair of states; slopes[y][w] bounds log g(y) / g(w)."""
    most = [[slope.exp() for slope in row] for row in slopes]
    found = none(len(kernel))
    for u, mine in enumerate(kernel):
        for v, theirs in enumerate(kernel):
            if u != v:
                found[u][v] = _quotient(mine, theirs, most).log().upper()
    return found


def _quotient(mine: list[Any], theirs: list[Any], most: Side) -> Any:
    """A number that no (mine . g) / (theirs . g) exceeds: guessed from sets of large quotients, then shown."""
    places = range(len(mine))
    order = sorted(places, key=lambda y: -_odds(mine[y], theirs[y]))
    best = ball(1)
    for w in places:
        above, below = ball(1), ball(1)  # g = 1 everywhere
        for y in order:
            above += mine[y] * (most[y][w] - 1)
            below += theirs[y] * (most[y][w] - 1)
            best = best.max(above / below)
    for bits in (NEAR, NEAR // 2, 40):
        x = best.upper() * (1 + ball(Fraction(1, 2**bits)))
        gains = [p - x * q for p, q in zip(mine, theirs, strict=True)]
        if all(sum((gain.max(gain * most[y][w]) for y, gain in enumerate(gains)), ball(0)) <= 0 for w in places):
            return x
    raise Refused("a quotient that is not bounded at these bits")


def _odds(p: Any, q: Any) -> float:
    above, below = guess(p), guess(q)
    return above / below if below > 0 else float("inf") if above > 0 else 0.0
