"""What a design truly does, in rational arithmetic and from the inputs alone: no table of the library is used.

A float may be read as the decimal typed or as its double; rows are divided by their exact sums.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np

from quiltwork.confounding.world import World

Table = list[list[Fraction]]
Tensor = list[Table]


def typed(value: Any) -> Fraction:
    """The decimal that was typed."""
    return Fraction(repr(float(value))) if isinstance(value, float) else Fraction(value)


def double(value: Any) -> Fraction:
    """The binary number itself."""
    return Fraction(value)


READINGS: tuple[Callable[[Any], Fraction], ...] = (typed, double)


def normalised(table: Any, read: Callable[[Any], Fraction] = typed) -> Table:
    """Rows divided by their exact sums."""
    rows = [
        [read(entry if isinstance(entry, (str, Fraction, int)) else float(entry)) for entry in row] for row in table
    ]
    return [[entry / sum(row) for entry in row] for row in rows]


def together(tables: Sequence[Table], inputs: int) -> Table:
    """The joint channel of mechanisms with noise of their own."""
    found = [[Fraction(1)] for _ in range(inputs)]
    for table in tables:
        found = [[a * b for a in one for b in two] for one, two in zip(found, table, strict=True)]
    return found


def tensor(data: Table, channel: Table, reads: str, secrets: int) -> Tensor:
    """P(input, earlier output | row): [row][input][y]."""
    inputs, old = len(channel), len(channel[0])
    plain = [[[row[x] * channel[x][y] for y in range(old)] for x in range(inputs)] for row in data]
    if reads == "data":
        return plain
    if reads == "secret":
        none = [Fraction(0)] * old
        laws = [[sum(part[x][y] for x in range(inputs)) for y in range(old)] for part in plain]
        return [[law if s == r % secrets else none for s in range(secrets)] for r, law in enumerate(laws)]
    return [
        [[part[x][y] if y == seen else Fraction(0) for seen in range(old)] for x in range(inputs) for y in range(old)]
        for part in plain
    ]


def laws_after(joint: Tensor, channel: Table) -> Table:
    """The law of (y, z) for each row."""
    old, new = len(joint[0][0]), len(channel[0])
    return [
        [
            sum((part[x][y] * channel[x][z] for x in range(len(channel)) if part[x][y]), Fraction(0))
            for y in range(old)
            for z in range(new)
        ]
        for part in joint
    ]


def odds_below(epsilon: float, read: Callable[[Any], Fraction] = typed) -> Fraction:
    """e^epsilon to 50 digits, from below."""
    asked = read(epsilon)
    with mpmath.workdps(80):
        value = mpmath.exp(mpmath.mpf(asked.numerator) / asked.denominator)
        return Fraction(int(mpmath.floor(value * mpmath.mpf(10) ** 50)), 10**50)


def worst(laws: Table, pairs: Any, odds: Fraction) -> Fraction:
    """The largest hockey stick."""
    zero = Fraction(0)
    return max(sum((max(a - odds * b, zero) for a, b in zip(laws[i], laws[j], strict=True)), zero) for i, j in pairs)


class Truth:
    """A world and a release, read one way."""

    def __init__(
        self,
        world: World,
        data: Any,
        channels: Sequence[Any] = (),
        *,
        secret: Any = None,
        reads: str = "data",
        read: Callable[[Any], Fraction] = typed,
    ) -> None:
        stacked = [data] if np.ndim(np.array(data, dtype=object)) == 2 else list(data)
        self.world, self.read = world, read
        self.rows = [row for table in stacked for row in normalised(table, read)]
        channel = together([normalised(table, read) for table in channels], len(self.rows[0]))
        self.joint = tensor(self.rows, channel, reads, world.count)
        below = math.lcm(*(entry.denominator for part in self.joint for row in part for entry in row))
        whole = [[[int(entry * below) for entry in row] for row in part] for part in self.joint]
        self.below, self.whole = below, np.array(whole, dtype=object)
        share = Fraction(1, world.count)
        priors = [[share] * world.count] if secret is None else secret
        priors = priors if isinstance(priors[0], (list, tuple)) else [priors]
        self.priors = normalised(list(priors) * (len(stacked) if len(priors) == 1 else 1), read)

    def odds(self, epsilon: Any = None, odds: Any = None) -> Fraction:
        """e^epsilon."""
        return Fraction(odds) if odds is not None else odds_below(epsilon, self.read)

    def before(self, odds: Fraction) -> Fraction:
        """delta of what was released before."""
        nothing = [[Fraction(1)] for _ in self.joint[0]]
        return worst(laws_after(self.joint, nothing), self.world.ordered, odds)

    def delta(self, design: Any, odds: Fraction) -> Fraction:
        """delta of everything together with the table of this design; in whole numbers, for speed."""
        table = np.array(design.counts.tolist(), dtype=object)
        laws = [(part.T @ table).ravel() for part in self.whole]
        top, bottom = odds.numerator, odds.denominator
        most = max(sum(v for v in (bottom * laws[i] - top * laws[j]).tolist() if v > 0) for i, j in self.world.ordered)
        return Fraction(most, bottom * self.below << design.bits)

    def law(self, prior: int) -> list[Fraction]:
        """P(input) under one prior."""
        count = self.world.count
        return [
            sum((self.priors[prior][s] * sum(self.joint[prior * count + s][x]) for s in range(count)), Fraction(0))
            for x in range(len(self.joint[0]))
        ]

    def weights(self, cost: Table) -> Tensor:
        """P(input) cost[input][z] for each prior."""
        return [
            [[chance * entry for entry in row] for chance, row in zip(self.law(prior), cost, strict=True)]
            for prior in range(len(self.priors))
        ]

    def cost(self, design: Any) -> Fraction:
        """The expected cost, the worst over the priors."""
        channel, table = fractions_of(design), design.task.cost.exact.tolist()
        return max(
            sum((w * g for a, b in zip(prior, channel, strict=True) for w, g in zip(a, b, strict=True)), Fraction(0))
            for prior in self.weights(table)
        )


def fractions_of(design: Any) -> Table:
    """The table that is drawn from: whole numbers over 2^bits."""
    return [[Fraction(int(entry), 1 << design.bits) for entry in row] for row in design.counts]


def assert_holds(
    design: Any,
    world: World,
    data: Any,
    channels: Sequence[Any] = (),
    *,
    delta: Any,
    epsilon: Any = None,
    odds: Any = None,
    secret: Any = None,
    reads: str = "data",
) -> None:
    """The table is one of laws, meets the target, and neither its delta nor its cost is understated.

    Floats are read both ways, except where the certificate itself is in fractions: those are of the decimals typed.
    """
    assert (design.counts >= 0).all()
    assert (design.counts.sum(axis=1) == 1 << design.bits).all()
    for read in READINGS if design.delta.method != "exact fractions" else (typed,):
        truth = Truth(world, data, channels, secret=secret, reads=reads, read=read)
        real = truth.delta(design, truth.odds(epsilon, odds))
        allowed = (read(delta) if isinstance(delta, float) else Fraction(delta)) + Fraction(1, 10**45)
        assert real <= allowed
        assert Fraction(float(design.delta.lower)) <= real + Fraction(1, 10**45)
        assert real <= Fraction(float(design.delta.upper)) + Fraction(1, 10**45)
        paid = truth.cost(design)
        assert paid <= Fraction(design.cost)
        assert design.lower_bound is None or Fraction(design.lower_bound) <= paid


# ---- the smooth worlds C1 to C4 of theory/confounding.md section 4


def smooth(secrets: int, values: int, outputs: Sequence[int], spreads: Sequence[float]) -> tuple[World, list[Any]]:
    """Normal shapes on grids: the secret shifts the data, and each mechanism adds rounded noise."""
    x, means = np.linspace(-1, 1, values), np.linspace(-0.25, 0.25, secrets)
    data = np.exp(-((x[None, :] - means[:, None]) ** 2) / (2 * 0.35**2))
    channels = []
    for count, spread in zip(outputs, spreads, strict=True):
        y = np.linspace(-1.5, 1.5, count)
        table = np.exp(-((y[None, :] - x[:, None]) ** 2) / (2 * spread**2))
        channels.append(table / table.sum(axis=1, keepdims=True))
    return World(data=data / data.sum(axis=1, keepdims=True), values=x), channels


CASES = {
    # name: (secrets, values, outputs, spreads), epsilon, delta, LP, no information, at x, Laplace, Gauss
    "C1": ((2, 16, (8, 8), (1.0, 1.0)), 1.0, 0.02, 0.13730, 0.17739, 0.17739, 0.15370, 0.15206),
    "C2": ((2, 16, (6, 6), (3.0, 3.0)), 1.0, 0.02, 0.06724, 0.17739, 0.16989, 0.11439, 0.12386),
    "C3": ((3, 16, (8, 8), (2.0, 2.0)), 1.0, 0.01, 0.08150, 0.15965, 0.15965, 0.11550, 0.12232),
    "C4": ((2, 32, (8, 8), (1.5, 1.5)), 0.5, 0.05, 0.12155, 0.17105, 0.17105, 0.14771, 0.14768),
}


# ---- four programs with exact primal and dual certificates, theory/confounding.md section 4

F = Fraction
BINARY = [["1/2", "3/10", "3/20", "1/20"], ["1/20", "3/20", "3/10", "1/2"]]
TERNARY = [BINARY[0], ["1/5", "3/10", "3/10", "1/5"], BINARY[1]]
ONE = [["3/5", "2/5"], ["11/20", "9/20"], ["9/20", "11/20"], ["2/5", "3/5"]]
TWO = [
    ["33/100", "27/100", "11/50", "9/50"],
    ["11/40", "11/40", "9/40", "9/40"],
    ["9/40", "9/40", "11/40", "11/40"],
    ["9/50", "11/50", "27/100", "33/100"],
]
REFERENCE = {
    # name: data, channel, cost, delta, optimum at odds 2
    "one release, absolute": (BINARY, ONE, "absolute", F(1, 20), F(627, 1240)),
    "one release, zero-one": (BINARY, ONE, "zero-one", F(1, 20), F(209, 1240)),
    "nothing before": (BINARY, None, "absolute", F(0), F(22, 45)),
    "three secrets": (TERNARY, TWO, "absolute", F(1, 20), F(57, 124)),
}
