"""Designs against whole numbers: the delta of the very table, its cost, and the exact optimum of the linear program."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

import attrs
import numpy as np
from tests.confounding.naive_program import full_program
from tests.soundness import confounding_truth as truth
from tests.soundness import confounding_worlds as worlds
from tests.soundness.confounding_checks import Check, at_most, between
from tests.soundness.confounding_truth import ONE, ZERO, Table
from tests.soundness.confounding_worlds import Place

from quiltwork.confounding.design.program import Problem
from quiltwork.errors import Unreachable

READS = ("data", "secret", "data and output")
COSTS: dict[str, Callable[[Fraction, Fraction], Fraction]] = {
    "squared": lambda x, z: (x - z) ** 2,
    "absolute": lambda x, z: abs(x - z),
    "zero-one": lambda x, z: Fraction(int(x != z)),
}
CLOSE = 1e-6  # of the full program in floats


@attrs.frozen(eq=False)
class Wanted:
    """A world, what was released, and a target."""

    place: Place
    existing: Any
    channel: Table
    rational: bool
    odds: Fraction
    delta: Fraction
    cost: str
    reads: str

    @property
    def size(self) -> int:
        """For picking the smallest counterexample."""
        return math.prod(self.place.data.shape) * self.channel.shape[1]

    def to_json(self) -> dict[str, Any]:
        """All that is needed to look at it again."""
        words = {name: str(getattr(self, name)) for name in ("odds", "delta", "cost", "reads")}
        return {**self.place.to_json(), "existing": worlds.texts(self.channel.fractions), **words}

    def joint(self) -> list[list[list[Fraction]]]:
        """P(input, earlier outputs | row), as lists."""
        data, channel = self.place.data.fractions, self.channel.fractions
        outputs, count = range(len(channel[0])), len(self.place.secret[0])
        if self.reads == "secret":
            law = self.place.data.through(self.channel).fractions
            return [[list(row) if s == r % count else [ZERO] * len(row) for s in range(count)]
                    for r, row in enumerate(law)]  # fmt: skip
        plain = [[[a * k for k in channel[x]] for x, a in enumerate(row)] for row in data]
        if self.reads == "data":
            return plain
        return [[[part[y] if y == seen else ZERO for y in outputs] for part in row for seen in outputs]
                for row in plain]  # fmt: skip

    def after(self, table: Table) -> Table:
        """P(earlier outputs, new output | row)."""
        joint, new = self.joint(), table.fractions
        outputs = range(len(joint[0][0]))
        return Table.of(
            [
                sum((part[y] * new[x][z] for x, part in enumerate(row)), ZERO)
                for y in outputs
                for z in range(len(new[0]))
            ]
            for row in joint
        )

    def weights(self) -> list[list[list[Fraction]]]:
        """P(input) cost[input, z] under each prior; outputs are the values of the data, or the secrets."""
        joint, count = self.joint(), len(self.place.secret[0])
        wide = self.channel.shape[1] if self.reads == "data and output" else 1
        values = [Fraction(index // wide) for index in range(len(joint[0]))]
        found = []
        for theta, prior in enumerate(self.place.secret):
            block = joint[theta * count : (theta + 1) * count]
            law = [
                sum((p * sum(row[x]) for p, row in zip(prior, block, strict=True)), ZERO) for x in range(len(values))
            ]
            price = COSTS[self.cost]
            found.append([[law[x] * price(value, z) for z in sorted(set(values))] for x, value in enumerate(values)])
        return found


def wanted(rng: np.random.Generator) -> Wanted:
    """A random task; now and then one that the existing release has already missed."""
    floats = bool(rng.random() < 0.3)
    reads = str(rng.choice(READS, p=[0.6, 0.2, 0.2]))
    place = worlds.world(rng, floats=floats, priors=int(rng.choice([1, 1, 1, 2])), most=3 if reads == READS[2] else 4)
    columns = int(rng.integers(1, 3 if reads == READS[2] else 5))
    exact = worlds.table(rng, place.world.inputs, columns)
    if rng.random() < 0.7:  # little was released, so that there is something left to design
        exact = [[(entry + 4 * other) / 5 for entry, other in zip(row, exact[0], strict=True)] for row in exact]
    given: Any = exact
    if floats:
        given, exact = worlds.as_floats(rng, exact)
    channel = Table.of(exact)
    odds = ONE + Fraction(int(rng.integers(1, 30)), 10)
    now = truth.delta(place.data.through(channel), place.pairs, odds)
    room = Fraction(int(rng.choice([0, 1, 5, 20, 100])), 1000)
    least = Fraction(math.ceil(now * 10**6), 10**6)
    delta = min(least + room, Fraction(999, 1000)) if rng.random() < 0.9 else now / 2
    cost = str(rng.choice(list(COSTS)))
    return Wanted(place, place.world.release(given), channel, not floats, odds, delta, cost, reads)


def designed(case: Wanted, rng: np.random.Generator) -> Iterator[Check]:
    """The certificate of a design, and that its lower bound is one."""
    target: dict[str, Any] = {"odds": case.odds, "delta": case.delta, "cost": case.cost, "reads": case.reads}
    options: dict[str, Any] = {"bits": int(rng.choice([20, 40, 50, 52])), "progress": False}
    if rng.random() < 0.3:
        options["time_limit"] = 1e-3
    if rng.random() < 0.2 and case.reads == "data":
        options["clusters"] = int(rng.integers(1, case.channel.shape[1] + 1))
    floats = not case.rational or bool(rng.random() < 0.4)
    if floats:  # the same target as floats: e^epsilon is then no fraction
        del target["odds"]
        target["epsilon"], target["delta"] = math.log(case.odds), float(case.delta)
    note = f"{target} {options}"
    now = truth.delta(case.place.data.through(case.channel), case.place.pairs, case.odds)
    missed = now > case.delta
    try:
        found = case.place.world.design(case.existing, **target, **options)
    except Unreachable:
        tight = now * (1 + Fraction(1, 10**9)) + Fraction(1, 10**12) >= case.delta
        yield Check("refused only without room", missed or tight, note=note)
        return
    yield Check("missed targets are refused", not missed, note=note)
    yield from _certified(case, found, target, note)
    if case.reads == "data" and rng.random() < 0.3:
        yield from _noise(case, target, found, str(rng.choice(["laplace", "gaussian"])))
    if case.rational and not missed:
        yield from _optimal(case, found, note)
    elif found.lower_bound is not None:
        best = _full(case)
        near = CLOSE * max(1.0, abs(best))
        yield Check("lower bound <= full program", found.lower_bound <= best + near, note=note)
        if found.finished and "clusters" not in options and options["bits"] >= 40:
            yield Check("cost close to full program", found.cost <= best + 1e3 * near, note=note)


def _certified(case: Wanted, found: Any, target: dict[str, Any], note: str) -> Iterator[Check]:
    table = Table(tuple(tuple(int(entry) for entry in row) for row in found.counts), 1 << found.bits)
    sums = all(sum(row) == table.unit and min(row) >= 0 for row in table.rows)
    yield Check("rows of the table", sums, note=note)
    after = case.after(table)
    low, high = (case.odds, case.odds) if "odds" in target else truth.exp_ends(target["epsilon"])
    allowed = case.delta if "odds" in target else min(Fraction(target["delta"]), Fraction(repr(target["delta"])))
    delta_at = truth.delta(after, case.place.pairs, high), truth.delta(after, case.place.pairs, low)
    yield at_most("delta of the table <= target", delta_at[0], allowed, note)
    yield from between("design: delta", found.delta.lower, *delta_at, found.delta.upper, note)
    price = truth.expected(case.weights(), table)
    yield at_most("cost of the table <= cost", price, found.cost, note)
    if found.lower_bound is not None:
        yield at_most("lower bound <= cost", found.lower_bound, price, note)


def _noise(case: Wanted, target: dict[str, Any], design: Any, family: str) -> Iterator[Check]:
    """Calibrated noise has a certificate of its own, and cannot cost less than the lower bound."""
    options = {name: value for name, value in target.items() if name != "reads"}
    try:
        found = case.place.world.calibrated(case.existing, family=family, **options)
    except Unreachable:
        return  # tails on a grid
    yield from _certified(case, found, target, f"{family} {options}")
    if design.lower_bound is not None:
        yield at_most("lower bound <= calibrated noise", design.lower_bound, found.cost)


def _optimal(case: Wanted, found: Any, note: str) -> Iterator[Check]:
    exact = case.place.world.design(
        case.existing, odds=case.odds, delta=case.delta, cost=case.cost, reads=case.reads, exact=True
    )
    best = exact.optimum
    table = Table.of(best.channel)
    yield Check("exact optimum: gap zero", best.gap == 0, note=note)
    reached = truth.delta(case.after(table), case.place.pairs, case.odds)
    yield Check("exact optimum: delta", reached == best.delta and reached <= case.delta, note=note)
    yield Check("exact optimum: cost", truth.expected(case.weights(), table) == best.cost, note=note)
    full = _full(case)
    close = abs(float(best.cost) - full) <= CLOSE * max(1.0, abs(full))
    yield Check("exact optimum = full program", close, note=note)
    if found.lower_bound is not None:
        # a target in floats differs from the exact one by their rounding
        slack = ZERO if found.task.odds is not None else Fraction(1, 10**9) * max(abs(best.cost), Fraction(1, 10**3))
        yield at_most("lower bound <= exact optimum", Fraction(found.lower_bound) - slack, best.cost, note)
        yield at_most("exact optimum <= cost", best.cost - slack, found.cost, note)


def _full(case: Wanted) -> float:
    joint, weights = np.array(case.joint(), dtype=float), np.array(case.weights(), dtype=float)
    pairs = np.array(case.place.pairs)
    return full_program(Problem(joint, pairs, float(case.odds), float(case.delta), weights))[0]
