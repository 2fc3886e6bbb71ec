"""Random finite worlds and releases with their tables in whole numbers: zeros, tiny entries, priors, dependence."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import attrs
import numpy as np
from tests.soundness.confounding_truth import ZERO, Table, beside

from quiltwork.confounding import World, adaptive, repeated, within

Fractions = list[list[Fraction]]
DENOMINATORS = (4, 10, 12, 60, 97, 1000, 2**20, 10**9)


@attrs.frozen(eq=False)
class Place:
    """A world as the library sees it and as it is."""

    world: World
    data: Table  # all rows, prior after prior
    pairs: list[tuple[int, int]]
    secret: Fractions

    def to_json(self) -> dict[str, Any]:
        """All that is needed to look at it again."""
        return {"secret": texts(self.secret), "data": texts(self.data.fractions), "pairs": self.pairs}


@attrs.frozen(eq=False)
class Case:
    """A world with a release, as the library sees them and as they are."""

    place: Place
    release: Any
    channel: Table  # all outputs together
    parts: list[Table]  # each mechanism alone
    rational: bool
    uses: int = 1  # of the one mechanism, which ignoring the confounder takes for independent given the secret

    @property
    def product(self) -> Table:
        """P(all outputs | secret) if every effective mechanism drew on its own."""
        if self.uses > 1:
            return _several(self.place.data.through(self.parts[0]), self.uses)
        return beside(*(self.place.data.through(part) for part in self.parts))

    @property
    def rows(self) -> Table:
        """P(all outputs | secret)."""
        return self.place.data.through(self.channel)

    @property
    def size(self) -> int:
        """For picking the smallest counterexample."""
        return math.prod(self.place.data.shape) * self.channel.shape[1]

    def to_json(self) -> dict[str, Any]:
        """All that is needed to look at it again."""
        return {**self.place.to_json(), "channel": texts(self.channel.fractions), "release": repr(self.release)}


def texts(table: Fractions) -> list[list[str]]:
    """Fractions as texts."""
    return [[str(entry) for entry in row] for row in table]


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
                faintest = 345 if rng.random() < 0.1 else 40
                small = Fraction(int(rng.integers(1, 9)), 10 ** int(rng.integers(8, faintest)))
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
    """What the world is asked to protect, and all ordered pairs of possible secrets that follow."""
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


def world(
    rng: np.random.Generator,
    *,
    floats: bool = False,
    priors: int | None = None,
    inputs: int | None = None,
    least: int = 2,
    most: int = 6,
) -> Place:
    """A random world: 2 to 4 secrets, up to `most` values of the data, one to three priors."""
    count = int(rng.integers(2, 5 if most > 4 else 4))
    size = int(rng.integers(least, most + 1)) if inputs is None else inputs
    stack = int(rng.choice([1, 1, 1, 2, 3])) if priors is None else priors
    tables = [table(rng, count, size) for _ in range(stack)]
    shares = [law(rng, count, zeros=False) for _ in range(stack)]
    if count > 2 and rng.random() < 0.1:  # a secret that cannot be is in no pair
        shares = [[*share[:-2], share[-2] + share[-1], ZERO] for share in shares]
    asked, pairs = _pairs(rng, count, [share > 0 for share in shares[0]])
    given: Any = tables
    if floats:
        read = [as_floats(rng, part) for part in tables]
        given, tables = np.array([part for part, _ in read]), [part for _, part in read]
    found = World(secret=shares, data=given[0] if stack == 1 else given, pairs=asked)
    ordered = [(i + t * count, j + t * count) for t in range(stack) for i, j in pairs]
    return Place(found, Table.of(row for part in tables for row in part), ordered, shares)


def as_floats(rng: np.random.Generator, exact: Fractions) -> tuple[np.ndarray, Fractions]:
    """Rows as doubles, and what they mean: the doubles, or the decimals that were typed, over their sum."""
    given = [[float(entry) for entry in row] for row in exact]
    read: Callable[[float], Fraction] = Fraction if rng.random() < 0.5 else lambda value: Fraction(repr(value))
    meant = [[read(value) for value in row] for row in given]
    return np.array(given), [[value / sum(row) for value in row] for row in meant]


def independent(rng: np.random.Generator, *, floats: bool = False) -> Case:
    """One to three mechanisms with noise of their own."""
    place = world(rng, floats=floats)
    inputs, count = place.world.inputs, int(rng.integers(1, 4))
    parts = [table(rng, inputs, int(rng.integers(2, 5 if count < 3 else 4))) for _ in range(count)]
    given: list[Any] = parts
    if floats:
        both = [as_floats(rng, part) for part in parts]
        given, parts = [part for part, _ in both], [part for _, part in both]
    exact = [Table.of(part) for part in parts]
    return Case(place, place.world.release(*given), beside(*exact), exact, not floats)


def floating(rng: np.random.Generator) -> Case:
    """The same in floats."""
    return independent(rng, floats=True)


def dependent(rng: np.random.Generator) -> Case:
    """Two mechanisms with any joint law."""
    place = world(rng)
    sizes = [int(rng.integers(2, 4)) for _ in range(2)]
    joint = table(rng, place.world.inputs, math.prod(sizes))
    exact = Table.of(joint)
    marks = list(itertools.product(*map(range, sizes)))
    parts = [exact.grouped([mark[k] for mark in marks]) for k in range(2)]
    return Case(place, place.world.release(joint=joint, outputs=sizes), exact, parts, True)


def adapting(rng: np.random.Generator) -> Case:
    """A second mechanism that is chosen after the first output."""
    place = world(rng)
    inputs = place.world.inputs
    first = table(rng, inputs, int(rng.integers(2, 4)))
    then = [table(rng, inputs, int(rng.integers(1, 4))) for _ in first[0]]
    joint = Table.of([first[x][y] * entry for y in range(len(then)) for entry in then[y][x]] for x in range(inputs))
    if rng.random() < 0.5:
        found = place.world.release(joint=adaptive(first, then))
    else:
        found = place.world.release(first).then_adaptive(then)
    return Case(place, found, joint, [joint], True)


def repeating(rng: np.random.Generator) -> Case:
    """Up to 40 uses of one mechanism; few are listed one by one, which the library does not do."""
    floats = bool(rng.random() < 0.5)
    place = world(rng, floats=floats)
    size = int(rng.integers(2, 4))
    times = int(rng.choice([1, 2, 3, 5, 6, 12, 40] if size == 2 else [1, 2, 3, 4, 7]))
    one = table(rng, place.world.inputs, size)
    given: Any = one
    if floats:
        given, one = as_floats(rng, one)
    exact = Table.of(one)
    release = place.world.release(repeated(given, times))
    return Case(place, release, _several(exact, times), [exact], not floats, times)


def _several(one: Table, times: int) -> Table:
    """Some uses with noise of their own: listed, or counted when they are many."""
    return beside(*[one] * times) if one.shape[1] ** times <= 64 else _counted(one, times)


def _counted(one: Table, times: int) -> Table:
    """The law of how often each output came."""
    ways = [way for way in itertools.product(range(times + 1), repeat=one.shape[1]) if sum(way) == times]
    factors = [math.factorial(times) // math.prod(map(math.factorial, way)) for way in ways]
    rows = tuple(
        tuple(f * math.prod(p**n for p, n in zip(row, way, strict=True)) for f, way in zip(factors, ways, strict=True))
        for row in one.rows
    )
    return Table(rows, one.unit**times)


def extended(rng: np.random.Generator) -> Case:
    """A release to which mechanisms are added later."""
    place = world(rng)
    parts = [table(rng, place.world.inputs, int(rng.integers(2, 4))) for _ in range(3)]
    exact = [Table.of(part) for part in parts]
    return Case(place, place.world.release(parts[0]).then(*parts[1:]), beside(*exact), exact, True)


KINDS: dict[str, Callable[[np.random.Generator], Case]] = {
    "fractions": independent,
    "floats": floating,
    "joint law": dependent,
    "adaptive": adapting,
    "repeated": repeating,
    "extended": extended,
}
