"""The design problem as a small linear program in rational numbers, and back.

With a[p, y, x] = M[i, x, y] - odds M[j, x, y] for the pair p = (i, j), the constraints are hinges
sum_yz (a[p, y] . g[:, z])_+ <= delta.  Without loss:

- a[p, y] <= 0: the hinge is always zero; a[p, y] >= 0: it always sums to a constant over z, since sum_z g[x, z] = 1;
- outputs y of one pair with proportional a[p, y] share one hinge, since (c v)_+ = c (v)_+ for c >= 0 (this merges
  proportional columns of the existing channel, and more);
- a pair whose hinges sum to at most delta whatever g is cannot bind;
- a pair with nothing left for its hinges (delta = 0, say) needs a . g[:, z] <= 0 and no further variable.

One output z0 is eliminated by g[x, z0] = 1 - sum of the others, so that g = 0 is a channel that tells nothing.

Reference: theory/confounding.md section 4.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

import attrs
import numpy as np

from quiltwork.kinds import document

Integers = np.ndarray[Any, np.dtype[np.object_]]
Fractions = np.ndarray[Any, np.dtype[np.object_]]


@document("exact_duals/1")
@attrs.frozen
class Duals:
    """Multipliers that prove the lower bound: 0 <= hinges[p][y][z] <= pairs[p], and priors a law."""

    priors: tuple[Fraction, ...]
    pairs: tuple[Fraction, ...]
    hinges: tuple[tuple[tuple[Fraction, ...], ...], ...]


@attrs.frozen
class Hinges:
    """What is left of one pair: rays with their weights, and how much the hinges may sum to."""

    rays: tuple[dict[int, Fraction], ...]  # directions over x, of absolute sum one
    weights: tuple[Fraction, ...]  # how much of each direction there is
    members: tuple[tuple[int, ...], ...]  # the outputs y of each ray
    always: tuple[int, ...]  # outputs whose hinge is never zero
    room: Fraction  # delta minus what those always take

    @property
    def binding(self) -> bool:
        """Whether some channel might break the constraint."""
        gains = (sum(entry for entry in ray.values() if entry > 0) for ray in self.rays)
        return sum(weight * gain for weight, gain in zip(self.weights, gains, strict=True)) > self.room


def whole(array: Fractions) -> tuple[Integers, int]:
    """Numerators over one common denominator."""
    values: list[Fraction] = array.ravel().tolist()
    unit = math.lcm(*(value.denominator for value in values))
    numerators = np.empty(len(values), dtype=object)
    numerators[:] = [int(value * unit) for value in values]
    return numerators.reshape(array.shape), unit


def signed(joint: Fractions, pairs: Sequence[tuple[int, int]], odds: Fraction) -> tuple[Integers, int]:
    """a[p, y, x] as numerators over one denominator."""
    table, unit = whole(joint.transpose(0, 2, 1))
    first, second = [i for i, _ in pairs], [j for _, j in pairs]
    return odds.denominator * table[first] - odds.numerator * table[second], unit * odds.denominator


def hinges_of(table: Integers, unit: int, delta: Fraction) -> Hinges:
    """The hinges of one pair from its numerators (Y, X)."""
    merged: dict[tuple[int, ...], tuple[int, list[int]]] = {}
    always, taken = [], 0
    for y, row in enumerate(table):
        if all(entry <= 0 for entry in row):
            continue
        if all(entry >= 0 for entry in row):
            always.append(y)
            taken += sum(row)
            continue
        common = math.gcd(*row)
        ray = tuple(entry // common for entry in row)
        weight, members = merged.get(ray, (0, []))
        merged[ray] = (weight + common, [*members, y])
    sizes = [sum(abs(entry) for entry in ray) for ray in merged]
    return Hinges(
        tuple(
            {x: Fraction(entry, size) for x, entry in enumerate(ray) if entry}
            for ray, size in zip(merged, sizes, strict=True)
        ),
        tuple(Fraction(weight * size, unit) for (weight, _), size in zip(merged.values(), sizes, strict=True)),
        tuple(tuple(members) for _, members in merged.values()),
        tuple(always),
        delta - Fraction(taken, unit),
    )


@attrs.frozen
class Layout:
    """Where the variables stand: g[x, z] without z0, then the worst cost, then one u for each hinge and output."""

    inputs: int
    outputs: int
    dropped: int  # z0
    priors: int

    def channel(self, x: int, z: int) -> int:
        """The column of g[x, z], for z other than z0."""
        return x * (self.outputs - 1) + z - (z > self.dropped)

    @property
    def worst(self) -> int:
        """The column of the worst cost over several priors."""
        return self.inputs * (self.outputs - 1)

    @property
    def first_hinge(self) -> int:
        """The first column of a hinge."""
        return self.worst + (self.priors > 1)

    def product(self, vector: Mapping[int, Fraction], z: int) -> tuple[dict[int, Fraction], Fraction]:
        """sum_x vector[x] g[x, z] in the variables kept: coefficients and a constant."""
        if z != self.dropped:
            return {self.channel(x, z): value for x, value in vector.items()}, Fraction(0)
        others = [other for other in range(self.outputs) if other != z]
        return {self.channel(x, other): -value for other in others for x, value in vector.items()}, sum(
            vector.values(), Fraction(0)
        )


@attrs.frozen(eq=False)
class Written:
    """The program min c x, A x <= b, x >= 0 in fractions, with what is needed to read its answer."""

    layout: Layout
    rows: list[dict[int, Fraction]]
    right: list[Fraction]
    costs: list[Fraction]
    scale: Fraction  # one unit of the program's cost
    pairs: tuple[Hinges, ...]
    places: tuple[tuple[int, int | None] | None, ...]  # first hinge row and sum row of each pair that may bind

    def channel(self, values: Sequence[Fraction]) -> tuple[tuple[Fraction, ...], ...]:
        """g from the values of the variables."""
        width, dropped, found = self.layout.outputs - 1, self.layout.dropped, []
        for x in range(self.layout.inputs):
            row = tuple(values[x * width : (x + 1) * width])
            found.append((*row[:dropped], 1 - sum(row, Fraction(0)), *row[dropped:]))
        return tuple(found)

    def duals(self, prices: Sequence[Fraction], outputs_before: int) -> Duals:
        """The multipliers of the design problem from the prices of the rows."""
        layout = self.layout
        start = layout.inputs
        priors = tuple(prices[start : start + layout.priors]) if layout.priors > 1 else (Fraction(1),)
        largest, hinges = [], []
        for pair, place in zip(self.pairs, self.places, strict=True):
            table = [[Fraction(0)] * layout.outputs for _ in range(outputs_before)]
            most = Fraction(0)
            if place is not None:
                row, total = place
                for index, (weight, members) in enumerate(zip(pair.weights, pair.members, strict=True)):
                    at = row + index * layout.outputs
                    values = [price * self.scale / weight for price in prices[at : at + layout.outputs]]
                    most = max(most, *values)
                    for y in members:
                        table[y] = values
                most = most if total is None else prices[total] * self.scale
                for y in pair.always:
                    table[y] = [most] * layout.outputs
            largest.append(most)
            hinges.append(tuple(tuple(row) for row in table))
        return Duals(priors, tuple(largest), tuple(hinges))


def rows_needed(pairs: Sequence[Hinges], shape: tuple[int, ...]) -> int:
    """How many inequalities the program has, for weights of this shape."""
    count, inputs, outputs = shape
    hinges = sum(len(pair.rays) * outputs + (pair.room > 0) for pair in pairs if pair.binding)
    return inputs + (count if count > 1 else 0) + hinges


def written(pairs: Sequence[Hinges], weights: Fractions) -> Written:
    """The program of these hinges and weights (T, X, Z)."""
    least = weights.min(axis=(0, 2))
    spread = (weights - least[None, :, None]).max()
    scale = Fraction(spread) if spread else Fraction(1)
    # every cost at least 1: then the worst cost is positive, and the prices of the priors sum to exactly one
    costs = (weights - least[None, :, None]) / scale + 1
    count, inputs, outputs = weights.shape
    # the cheapest constant channel is the origin, from which the pivots start at worst
    dropped = min(range(outputs), key=lambda z: max(sum(costs[t, :, z]) for t in range(count)))
    layout = Layout(inputs, outputs, dropped, count)
    rows: list[dict[int, Fraction]] = [
        {layout.channel(x, z): Fraction(1) for z in range(outputs) if z != dropped} for x in range(inputs)
    ]
    right = [Fraction(1)] * inputs
    objective = [Fraction(0)] * layout.first_hinge
    for prior in costs:
        row = {
            layout.channel(x, z): Fraction(prior[x, z] - prior[x, dropped])
            for x in range(inputs)
            for z in range(outputs)
            if z != dropped
        }
        if count == 1:
            for column, value in row.items():
                objective[column] = value
        else:
            rows.append({**row, layout.worst: Fraction(-1)})
            right.append(-Fraction(sum(prior[:, dropped])))
            objective[layout.worst] = Fraction(1)
    places: list[tuple[int, int | None] | None] = []
    for pair in pairs:
        places.append(_add_pair(pair, layout, rows, right, objective) if pair.binding else None)
    return Written(layout, rows, right, objective, scale, tuple(pairs), tuple(places))


def _add_pair(
    pair: Hinges, layout: Layout, rows: list[dict[int, Fraction]], right: list[Fraction], objective: list[Fraction]
) -> tuple[int, int | None]:
    """The rows ray . g[:, z] <= u (or <= 0 without room) and the row of their sum."""
    first = len(rows)
    total: dict[int, Fraction] = {}
    for ray, weight in zip(pair.rays, pair.weights, strict=True):
        for z in range(layout.outputs):
            row, constant = layout.product(ray, z)
            if pair.room > 0:
                row[len(objective)] = Fraction(-1)
                total[len(objective)] = weight
                objective.append(Fraction(0))
            rows.append(row)
            right.append(-constant)
    if pair.room == 0:
        return first, None
    rows.append(total)
    right.append(pair.room)
    return first, len(rows) - 1
