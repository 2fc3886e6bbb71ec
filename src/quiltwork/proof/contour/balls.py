"""Numbers as balls: what is typed, ends, normal laws, sums of waves.

Every function here returns balls that contain the truth. Floats only say where to look.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import contextmanager
from fractions import Fraction
from typing import Any, TypeVar, overload

from flint import acb, acb_mat, arb, ctx, fmpq


class Undecided(Exception):
    """No bound was found within the work allowed; says nothing about the number."""


class Budget:
    """Counted work: one unit is one product of balls. Runs are the same on every machine."""

    def __init__(self, work: float) -> None:
        self.left = float(work)

    def check(self, units: float) -> None:
        """Refuse before the work is begun."""
        if units > self.left:
            raise Undecided(f"{units:.3g} products of balls are needed, {self.left:.3g} are left")

    def spend(self, units: float) -> None:
        self.check(units)
        self.left -= units


Found = TypeVar("Found")


def with_share(budget: Budget, share: float, method: Callable[[Budget], Found]) -> Found:
    """A method that leaves work for those after it."""
    part = Budget(share * budget.left)
    try:
        return method(part)
    finally:
        budget.left -= share * budget.left - part.left


class Memory:
    """What was found once; whoever asks again is charged the same, so that no verdict depends on earlier questions."""

    def __init__(self) -> None:
        self._found: dict[Hashable, tuple[Any, float]] = {}

    def get(self, key: Hashable, budget: Budget, make: Callable[[], Found]) -> Found:
        if key in self._found:
            found, cost = self._found[key]
            budget.spend(cost)
        else:
            before = budget.left
            found = make()
            self._found[key] = found, before - budget.left
        result: Found = found
        return result


@contextmanager
def precision(bits: int) -> Iterator[None]:
    """Work at `bits`; flint's precision is global and is given back."""
    before = ctx.prec
    ctx.prec = bits
    try:
        yield
    finally:
        ctx.prec = before


def fraction(value: Any) -> Fraction:
    """The number as typed: a string is read as a decimal, a float by its shortest decimal."""
    return Fraction(repr(value) if isinstance(value, float) else value)


def exact(value: Any) -> arb:
    """A ball of the number as typed."""
    typed = fraction(value)
    return arb(fmpq(typed.numerator, typed.denominator))


def hi(x: arb) -> arb:
    return arb(x).upper()


def lo(x: arb) -> arb:
    return arb(x).lower()


def exactly(x: arb) -> tuple[Hashable, ...]:
    """What tells a ball from every other."""
    return (*x.mid().man_exp(), *x.rad().man_exp()) if x.is_finite() else (str(x),)


def near(x: arb) -> float:
    """A float close to x, to steer by."""
    return float(arb(x).mid())


def least(*values: arb) -> arb:
    """The smallest upper end; an end that is not a number counts as infinite."""
    found = arb("inf")
    for value in values:
        top = hi(value)
        if top < found:
            found = top
    return found


def around(radius: arb) -> acb:
    """The square ball of this radius about 0."""
    return acb(arb(0, hi(radius)), arb(0, hi(radius)))


def between(low: arb, high: arb) -> arb:
    return lo(low).union(hi(high))


def met(one: arb | None, other: arb) -> arb:
    """What two balls of one number share."""
    if one is None:
        return other
    low, high = lo(one).max(lo(other)), hi(one).min(hi(other))
    if low > high:
        raise Undecided("two sums contradict each other, please report it")
    return between(low, high)


Ball = TypeVar("Ball", arb, acb)


@overload
def total(values: Sequence[arb]) -> arb: ...
@overload
def total(values: Sequence[Ball], start: Ball) -> Ball: ...
def total(values: Sequence[Any], start: Any = None) -> Any:
    """The sum of balls, none of them a float's 0."""
    result = arb(0) if start is None else start
    for value in values:
        result = result + value
    return result


def normal_density(x: arb) -> arb:
    return (-(x * x) / 2).exp() / (2 * arb.pi()).sqrt()


def normal_below(x: arb) -> arb:
    """Phi(x) without cancellation."""
    return ((-x) / arb(2).sqrt()).erfc() / 2


def waves(weights: Sequence[arb], losses: Sequence[arb], step: arb, count: int, budget: Budget) -> list[acb]:
    """sum_k w_k e^{i j step l_k} for j < count: a matrix product over j = a B + b.

    Each factor is computed from its own angle, so no ball is turned more than once
    (theory/engine-faster.md section 3).
    """
    budget.spend(count * len(weights))
    if count == 0:
        return []
    width = math.isqrt(count - 1) + 1
    rows = -(-count // width)
    angles = [step * loss for loss in losses]
    left = [
        [acb(w) if a == 0 else acb(0, angle * (a * width)).exp() * w for w, angle in zip(weights, angles, strict=True)]
        for a in range(rows)
    ]
    right = [[acb(0, angle * b).exp() for b in range(width)] for angle in angles]
    product = acb_mat(left) * acb_mat(right)
    return [product[j // width, j % width] for j in range(count)]


def sinc_above(x: arb) -> arb:
    """At least |sin y / y| for every y >= x >= 0."""
    at = lo(x)
    if not at > 0.01:
        return arb(1)
    second = arb("0.2173")  # the largest |sin y / y| beyond the first zero is 0.21723...
    if at < 2.6:
        return hi(at.sin() / at).max(second)
    if at < 4.6:
        return second
    return hi(1 / at)


class LayerCake:
    """|phi(u)| <= 1 - sum_r w_r (1 - sbar(u len_r / 2)) for a law with a minorant of its density.

    Groups of neighbouring cells, each a (density from below, width from below); within a group running minima
    outwards from the mode make it unimodal, so it is a mixture of uniform laws (theory/engine.md section 2).
    """

    def __init__(self, groups: Sequence[Sequence[tuple[arb, arb]]]) -> None:
        self.layers: list[tuple[arb, arb]] = []
        for cells in groups:
            self._add([(_positive(d), _positive(w)) for d, w in cells])

    def _add(self, cells: list[tuple[arb, arb]]) -> None:
        density = [d for d, _ in cells]
        mode = max(range(len(cells)), key=lambda j: float(density[j]) if cells[j][1] > 0 else -1.0)
        for j in range(mode + 1, len(cells)):
            density[j] = lo(density[j].min(density[j - 1]))
        for j in range(mode - 1, -1, -1):
            density[j] = lo(density[j].min(density[j + 1]))
        # nearer cells first among equal floats: then the first cells of the order are always neighbours
        order = sorted(range(len(cells)), key=lambda j: (-float(density[j]), abs(j - mode)))
        length, level = arb(0), density[order[0]]
        for rank, j in enumerate(order):
            length = lo(length + cells[j][1])
            below = lo(level.min(density[order[rank + 1]])) if rank + 1 < len(order) else arb(0)
            weight = lo((level - below) * length)
            if weight > 0:
                self.layers.append((weight, length))
            level = below

    def above(self, u: arb) -> arb:
        """At least |phi| at every frequency from u on."""
        rest = arb(1)
        for weight, length in self.layers:
            rest = rest - weight * (1 - sinc_above(u * length / 2))
        rest = hi(rest)
        return rest if 0 < rest < 1 else arb(1)


def _positive(x: arb) -> arb:
    """The lower end, or 0 where it is not surely positive."""
    end = lo(x)
    return end if end > 0 else arb(0)
