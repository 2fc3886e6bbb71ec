"""Random finite worlds and releases, each with its tables in fractions: zeros, tiny entries, several priors, dependence."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import attrs
import numpy as np
from tests.soundness import confounding_truth as truth

from quiltwork.confounding import World, adaptive, repeated, within

Fractions = list[list[Fraction]]
DENOMINATORS = (4, 10, 12, 60, 97, 1000, 2**20, 10**9)


@attrs.frozen(eq=False)
class Case:
    """A world with a release, as the library sees them and as they are."""

    world: World
    release: Any
    data: Fractions  # all rows, prior after prior
    pairs: list[tuple[int, int]]
    channel: Fractions  # all outputs together
    parts: list[Fractions]  # each mechanism alone
    rational: bool

    @property
    def rows(self) -> Fractions:
        """P(all outputs | secret)."""
        return truth.through(self.data, self.channel)

    @property
    def size(self) -> int:
        """For picking the smallest counterexample."""
        return len(self.data) * len(self.channel) * len(self.channel[0])

    def to_json(self) -> dict[str, Any]:
        """All that is needed to look at it again."""
        tables = {"data": self.data, "channel": self.channel}
        found = {name: [[str(x) for x in row] for row in table] for name, table in tables.items()}
        return {**found, "pairs": [list(pair) for pair in self.pairs], "release": repr(self.release)}


def law(rng: np.random.Generator, size: int, *, zeros: bool = True) -> list[Fraction]:
    """One random law in fractions: plain, with zeros, with tiny entries, or with large steps between its entries."""
    kind = rng.choice(["plain", "zeros", "tiny", "steep"], p=[0.5, 0.2, 0.15, 0.15])
    if kind == "steep":
        weights = [Fraction(10) ** -int(rng.integers(0, 12)) * int(rng.integers(1, 10)) for _ in range(size)]
        total = sum(weights)
        return [weight / total for weight in weights]
    whole = int(rng.choice(DENOMINATORS))
    counts = rng.multinomial(whole, rng.dirichlet(np.full(size, rng.choice([0.3, 1.0, 5.0]))))
    found = [Fraction(int(count), whole) for count in counts]
    if kind == "plain" or not zeros:
        found = [(entry + Fraction(1, 50 * size)) / (1 + Fraction(1, 50)) for entry in found]
    if kind == "tiny":
        most = int(np.argmax(counts))
        for index in range(size):
            if index != most and rng.random() < 0.5:
                small = Fraction(int(rng.integers(1, 9)), 10 ** int(rng.integers(8, 345 if rng.random() < 0.1 else 40)))
                found[most] += found[index] - small
                found[index] = small
    return found


def table(rng: np.random.Generator, rows: int, columns: int) -> Fractions:
    """Rows of random laws; now and then two equal ones."""
    found = [law(rng, columns) for _ in range(rows)]
    if rng.random() < 0.1:
        found[-1] = list(found[0])
    return found


def _pairs(rng: np.random.Generator, count: int, possible: list[bool]) -> tuple[Any, list[tuple[int, int]]]:
    """What the world is asked to protect, and all ordered pairs that follow; one at least is of possible secrets."""
    every = [(i, j) for i in range(count) for j in range(count) if i != j]
    kind = rng.choice(["all", "listed", "within"])
    asked: Any = "all"
    if kind == "listed":
        asked = [(0, 1), *(pair for pair in every if pair[0] < pair[1] and pair != (0, 1) and rng.random() < 0.5)]
        every = [pair for i, j in asked for pair in ((i, j), (j, i))]
    elif kind == "within":
        asked = within(lambda i, j: abs(i - j), 1)
        every = [(i, j) for i, j in every if abs(i - j) <= 1]
    return asked, [(i, j) for i, j in every if possible[i] and possible[j]]


def world(rng: np.random.Generator, *, floats: bool = False, priors: int | None = None, small: bool = False) -> Any:
    """A world, its rows and its pairs in fractions."""
    count, inputs = int(rng.integers(2, 4 if small else 5)), int(rng.integers(2, 5 if small else 7))
    stack = int(rng.choice([1, 1, 1, 2, 3])) if priors is None else priors
    tables = [table(rng, count, inputs) for _ in range(stack)]
    shares = [law(rng, count, zeros=False) for _ in range(stack)]
    if count > 2 and rng.random() < 0.1:  # a secret that cannot be is in no pair
        shares = [[*share[:-2], share[-2] + share[-1], Fraction(0)] for share in shares]
    asked, pairs = _pairs(rng, count, [share > 0 for share in shares[0]])
    exact = tables
    given: Any = tables
    if floats:
        given, exact = zip(*(as_floats(rng, part) for part in tables), strict=True)
    found = World(secret=shares, data=np.array(given[0]) if stack == 1 and floats else given[0] if stack == 1 else
                  (np.array(given) if floats else list(given)), pairs=asked)  # fmt: skip
    rows = [row for part in exact for row in part]
    ordered = [(i + t * count, j + t * count) for t in range(stack) for i, j in pairs]
    return found, rows, ordered


def as_floats(rng: np.random.Generator, exact: Fractions) -> tuple[Any, Fractions]:
    """Rows as doubles, and what they mean: the doubles, or the decimals that were typed, over their sum."""
    given = [[float(entry) for entry in row] for row in exact]
    read: Callable[[float], Fraction] = Fraction if rng.random() < 0.5 else lambda value: Fraction(repr(value))
    meant = [[read(value) for value in row] for row in given]
    return given, [[value / sum(row) for value in row] for row in meant]


def independent(rng: np.random.Generator, *, floats: bool = False) -> Case:
    """One to three mechanisms with noise of their own."""
    place, data, pairs = world(rng, floats=floats)
    parts = [table(rng, place.inputs, int(rng.integers(2, 5))) for _ in range(int(rng.integers(1, 4)))]
    given: list[Any] = parts
    if floats:
        both = [as_floats(rng, part) for part in parts]
        given, parts = [np.array(part) for part, _ in both], [part for _, part in both]
    return Case(place, place.release(*given), data, pairs, truth.beside(parts), parts, not floats)


def floating(rng: np.random.Generator) -> Case:
    """The same in floats."""
    return independent(rng, floats=True)


def dependent(rng: np.random.Generator) -> Case:
    """Two mechanisms with any joint law."""
    place, data, pairs = world(rng)
    sizes = [int(rng.integers(2, 4)) for _ in range(2)]
    joint = table(rng, place.inputs, math.prod(sizes))
    marks = list(itertools.product(*map(range, sizes)))
    parts = [
        [[sum((p for p, y in zip(row, marks, strict=True) if y[k] == z), truth.ZERO) for z in range(sizes[k])]
         for row in joint]
        for k in range(2)
    ]  # fmt: skip
    return Case(place, place.release(joint=joint, outputs=sizes), data, pairs, joint, parts, True)


def adapting(rng: np.random.Generator) -> Case:
    """A second mechanism that is chosen after the first output."""
    place, data, pairs = world(rng)
    first = table(rng, place.inputs, int(rng.integers(2, 4)))
    then = [table(rng, place.inputs, int(rng.integers(1, 4))) for _ in first[0]]
    joint = [
        [first[x][y] * entry for y in range(len(then)) for entry in then[y][x]] for x in range(place.inputs)
    ]  # fmt: skip
    if rng.random() < 0.5:
        found = place.release(joint=adaptive(first, then))
    else:
        found = place.release(first).then_adaptive(then)
    return Case(place, found, data, pairs, joint, [joint], True)


def repeating(rng: np.random.Generator, *, floats: bool | None = None) -> Case:
    """Up to 40 uses of one mechanism; up to six are listed one by one, which the library does not do."""
    floats = bool(rng.random() < 0.5) if floats is None else floats
    place, data, pairs = world(rng, floats=floats)
    size = int(rng.integers(2, 4))
    times = int(rng.choice([1, 2, 3, 5, 6, 12, 40] if size == 2 else [1, 2, 3, 4, 7]))
    one = table(rng, place.inputs, size)
    given: Any = one
    if floats:
        given, one = as_floats(rng, one)
        given = np.array(given)
    joint = truth.beside([one] * times) if times <= 6 - size + 2 else [_counted(row, times) for row in one]
    return Case(place, place.release(repeated(given, times)), data, pairs, joint, [joint], not floats)


def _counted(row: list[Fraction], times: int) -> list[Fraction]:
    """The law of how often each output came."""
    ways = (way for way in itertools.product(range(times + 1), repeat=len(row)) if sum(way) == times)
    return [
        Fraction(math.factorial(times), math.prod(map(math.factorial, way)))
        * math.prod((p**n for p, n in zip(row, way, strict=True)), start=Fraction(1))
        for way in ways
    ]


def extended(rng: np.random.Generator) -> Case:
    """A release to which mechanisms are added later."""
    place, data, pairs = world(rng)
    parts = [table(rng, place.inputs, int(rng.integers(2, 4))) for _ in range(3)]
    return Case(
        place, place.release(parts[0]).then(parts[1], parts[2]), data, pairs, truth.beside(parts), parts, True
    )  # fmt: skip


KINDS: dict[str, Callable[[np.random.Generator], Case]] = {
    "independent, fractions": independent,
    "independent, floats": floating,
    "joint law": dependent,
    "adaptive": adapting,
    "repeated": repeating,
    "extended": extended,
}
