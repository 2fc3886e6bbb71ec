"""Worlds, designs and rivals of the benchmark of confounded secrets."""

from __future__ import annotations

import ctypes
import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import attrs
import numpy as np
import scipy.sparse as sp
from scipy.optimize import linprog
from tests.confounding.naive_program import full_program

from quiltwork.confounding import World
from quiltwork.confounding.design.program import Problem
from quiltwork.confounding.papers.penalty import penalised
from quiltwork.errors import Unreachable

STATUS = Path("/proc/self/status")


@attrs.frozen(eq=False)
class Case:
    """A world, the tables that were released, and a target; all from plain arrays."""

    data: np.ndarray
    channels: tuple[np.ndarray, ...]
    values: np.ndarray
    epsilon: float
    delta: float
    cost: str

    @property
    def shape(self) -> str:
        """Secrets, data, joint outputs, new outputs."""
        outputs = math.prod(table.shape[1] for table in self.channels)
        return ", ".join(map(str, (*self.data.shape, outputs, len(self.values))))

    def world(self) -> World:
        """Uniform over the secrets."""
        return World(data=self.data, values=self.values)

    def design(self) -> Any:
        """From the tables to the certified answer."""
        world = self.world()
        return world.design(
            world.release(*self.channels),
            epsilon=self.epsilon,
            delta=self.delta,
            cost=self.cost,
            time_limit=600.0,
            progress=False,
        )

    def joint_channel(self) -> np.ndarray:
        """P(all outputs | data), unmerged."""
        found = self.channels[0]
        for table in self.channels[1:]:
            found = (found[:, :, None] * table[:, None, :]).reshape(len(found), -1)
        return found

    def problem(self) -> Problem:
        """All hinges of the design, unmerged, in plain floats."""
        return self._problem(self.data[:, :, None] * self.joint_channel()[None])

    def ignoring(self) -> Problem:
        """The same if earlier outputs and the new one were independent given the secret: not private."""
        law = self.data @ self.joint_channel()
        return self._problem(self.data[:, :, None] * law[:, None, :])

    def _problem(self, joint: np.ndarray) -> Problem:
        count = len(self.data)
        pairs = np.array([(i, j) for i in range(count) for j in range(count) if i != j])
        return Problem(joint, pairs, math.exp(self.epsilon), self.delta, self.weights[None])

    @property
    def weights(self) -> np.ndarray:
        """P(x) cost[x, z]."""
        apart = np.abs(self.values[:, None] - self.values[None, :])
        cost = {"squared": apart**2, "zero-one": (apart > 0).astype(float)}[self.cost]
        return np.asarray(self.data.mean(axis=0)[:, None] * cost)


def smooth(
    secrets: int, inputs: int, outputs: Sequence[int], spreads: Sequence[float], epsilon: float, delta: float
) -> Case:
    """Bell-shaped data around the secret, read by mechanisms with bell-shaped noise on a grid."""
    x = np.linspace(-1.0, 1.0, inputs)
    data = np.exp(-((x - np.linspace(-0.25, 0.25, secrets)[:, None]) ** 2) / (2 * 0.35**2))
    channels = []
    for count, spread in zip(outputs, spreads, strict=True):
        table = np.exp(-((np.linspace(-1.5, 1.5, count) - x[:, None]) ** 2) / (2 * spread**2))
        channels.append(table / table.sum(axis=1, keepdims=True))
    return Case(data / data.sum(axis=1, keepdims=True), tuple(channels), x, epsilon, delta, "squared")


def rough(secrets: int, inputs: int, outputs: int) -> Case:
    """Random tables; the target leaves delta 0.03 for the new mechanism."""
    rng = np.random.default_rng(5)
    data, table = rng.dirichlet(np.full(inputs, 3.0), secrets), rng.dirichlet(np.full(outputs, 4.0), inputs)
    free = Case(data, (table,), np.arange(inputs, dtype=float), 1.0, 0.5, "zero-one")
    now = float(free.problem().deltas(np.ones((inputs, 1))).max())
    return attrs.evolve(free, delta=round(now + 0.03, 9))


FOUR = {  # theory/confounding.md section 4
    "C1": smooth(2, 16, (8, 8), (1.0, 1.0), 1.0, 0.02),
    "C2": smooth(2, 16, (6, 6), (3.0, 3.0), 1.0, 0.02),
    "C3": smooth(3, 16, (8, 8), (2.0, 2.0), 1.0, 0.01),
    "C4": smooth(2, 32, (8, 8), (1.5, 1.5), 0.5, 0.05),
}


# ---- rivals


@attrs.frozen
class Priced:
    """A cost, and what must be said about it; `delta` where it is not certified."""

    cost: float
    delta: float | None = None
    word: str = ""


def nothing(case: Case) -> Priced:
    """One output for everyone."""
    return Priced(float(case.weights.sum(axis=0).min()))


def local(weights: np.ndarray, epsilon: float) -> tuple[float, np.ndarray]:
    """The cheapest channel that is epsilon-private for the data: low[z] <= g[x, z] <= e^epsilon low[z]."""
    inputs, outputs = weights.shape
    free = sp.identity(inputs * outputs)
    lows = sp.kron(np.ones((inputs, 1)), sp.identity(outputs))
    rows = sp.vstack([sp.hstack([free, -math.exp(epsilon) * lows]), sp.hstack([-free, lows])])
    sums = sp.hstack([sp.kron(sp.identity(inputs), np.ones((1, outputs))), sp.csr_matrix((inputs, outputs))])
    found = linprog(
        np.concatenate([weights.ravel(), np.zeros(outputs)]),
        A_ub=rows.tocsr(),
        b_ub=np.zeros(rows.shape[0]),
        A_eq=sums.tocsr(),
        b_eq=np.ones(inputs),
        method="highs",
    )
    channel = np.maximum(found.x[: inputs * outputs].reshape(inputs, outputs), 0.0)
    return float(found.fun), channel / channel.sum(axis=1, keepdims=True)


def basic(case: Case) -> Priced:
    """Pure privacy of the data, added up; what the earlier mechanisms left of epsilon is spent at the best price."""
    table = case.joint_channel()
    spent = float(np.log(table.max(axis=0) / table.min(axis=0)).max())
    if spent >= case.epsilon:
        return Priced(nothing(case).cost, word="cannot")
    return Priced(local(case.weights, case.epsilon - spent)[0])


def contracted(case: Case) -> Priced:
    """The largest local epsilon that Theorem B certifies for the whole composition."""
    world = case.world()
    before = world.release(*case.channels)

    def holds(epsilon: float) -> bool:
        after = before.then(local(case.weights, epsilon)[1])
        return float(after.bounds().amplified(case.epsilon)) <= case.delta

    low, high = 1e-6, 6.0
    if not holds(low):
        return Priced(math.nan, word="cannot")
    for _ in range(12):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if holds(middle) else (low, middle)
    return Priced(local(case.weights, low)[0])


def noise(family: str) -> Callable[[Case], Priced]:
    """Calibrated on the whole composition, then remapped."""

    def price(case: Case) -> Priced:
        world = case.world()
        options: dict[str, Any] = {"epsilon": case.epsilon, "delta": case.delta, "family": family}
        try:
            return Priced(world.calibrated(world.release(*case.channels), cost=case.cost, **options).cost)
        except Unreachable:
            return Priced(math.nan, word="cannot")

    return price


def ignoring(case: Case) -> Priced:
    """The program that takes outputs for independent given the secret, and the delta that it really has."""
    cost, channel = full_program(case.ignoring())
    true = float(case.problem().deltas(channel).max())
    return Priced(cost, true, "not private" if true > case.delta else "")


def penalty(case: Case) -> tuple[Priced, Priced]:
    """Where the penalty method ends, and after mixing with a constant until it meets the target."""
    problem = case.problem()
    found, silent = penalised(problem), problem.constant()
    least = float(problem.deltas(silent).max())
    share = max(0.0, (found.delta - case.delta) / (found.delta - least))
    mixed = (1 - share) * found.channel + share * silent
    word = "not private" if found.delta > case.delta else ""
    return Priced(found.cost, found.delta, word), Priced(problem.cost(mixed), float(problem.deltas(mixed).max()))


# ---- exact programs


THIRDS = [["1/2", "3/10", "3/20", "1/20"], ["1/5", "3/10", "3/10", "1/5"], ["1/20", "3/20", "3/10", "1/2"]]
ENDS = [THIRDS[0], THIRDS[2]]
COIN = [["3/5", "2/5"], ["11/20", "9/20"], ["9/20", "11/20"], ["2/5", "3/5"]]
COINS = [
    ["33/100", "27/100", "11/50", "9/50"],
    ["11/40", "11/40", "9/40", "9/40"],
    ["9/40", "9/40", "11/40", "11/40"],
    ["9/50", "11/50", "27/100", "33/100"],
]
EXACT: dict[str, tuple[Any, Any, str, str, Fraction]] = {  # data, existing, delta, cost, optimum
    "two secrets, absolute": (ENDS, COIN, "1/20", "absolute", Fraction(627, 1240)),
    "two secrets, zero-one": (ENDS, COIN, "1/20", "zero-one", Fraction(209, 1240)),
    "nothing before, delta 0": (ENDS, None, "0", "absolute", Fraction(22, 45)),
    "three secrets, absolute": (THIRDS, COINS, "1/20", "absolute", Fraction(57, 124)),
}


def exactly(name: str) -> Any:
    """The exact optimum at e^epsilon = 2."""
    data, existing, delta, cost, _ = EXACT[name]
    world = World(data=data)
    before = None if existing is None else world.release(joint=existing)
    return world.design(before, odds=2, delta=delta, cost=cost, exact=True).optimum


# ---- memory


def resident() -> Callable[[], float]:
    """Start to watch the memory of this process; the answer is its peak since then, in MB above the start."""
    try:
        ctypes.CDLL("libc.so.6").malloc_trim(0)  # what is free goes back, so that it counts when it is used again
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")  # forget the peak so far
        start = _megabytes("VmRSS")
    except (OSError, AttributeError):
        return lambda: math.nan
    return lambda: _megabytes("VmHWM") - start


def _megabytes(field: str) -> float:
    lines = STATUS.read_text(encoding="ascii").splitlines()
    return next(float(line.split()[1]) for line in lines if line.startswith(field)) / 1e3
