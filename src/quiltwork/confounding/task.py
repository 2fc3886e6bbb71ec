"""A task of design: the target, what was released before, what the next mechanism reads and what its outputs cost.

`holds` is the certificate: everything together, evaluated with outward rounding, or in fractions where they were given.
`relaxed` is the same problem in floats, loosened by their rounding, so that a lower bound of it is one of the task.

Reference: theory/confounding.md section 4.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import attrs
import numpy as np

from quiltwork import checks
from quiltwork.checks import FloatArray
from quiltwork.confounding.certificate import Counts
from quiltwork.confounding.channels import merged
from quiltwork.confounding.cluster import clustered
from quiltwork.confounding.costs import Cost, cost_of
from quiltwork.confounding.joint import Joint, joint_of
from quiltwork.confounding.laws import fraction
from quiltwork.confounding.problem import Problem
from quiltwork.confounding.release import Release, WorstPair
from quiltwork.curves.bracket import Bracket
from quiltwork.curves.rounding import UNIT, up
from quiltwork.errors import InvalidParameter, Unreachable

if TYPE_CHECKING:
    from quiltwork.confounding.world import World

__all__ = ["Task", "relaxed", "task_of"]

FEW = 20_000  # entries of a table that is evaluated in fractions
FAINT = 1e-250  # probabilities below this have lost their digits


@attrs.frozen(eq=False)
class Task:
    """A target, what was released before, and the price of each output."""

    world: World
    existing: Release
    epsilon: float
    odds: Fraction | None  # e^epsilon when it was given as a fraction
    delta: float
    exact_delta: Fraction
    cost: Cost
    reads: str
    joint: Joint
    weights: FloatArray  # (T, X, Z)

    @property
    def words(self) -> str:
        """The target as a text."""
        return f"epsilon {self.epsilon:.6g} at delta {self.delta:.6g}"

    def holds(self, table: Counts) -> bool:
        """Whether everything together certainly meets the target with this table."""
        after = self.after(table)
        if self.in_fractions(after):
            return after.exact_delta(self.odds) <= self.exact_delta
        return float(after.delta(self.epsilon).upper) <= self.delta

    def in_fractions(self, after: WorstPair) -> bool:
        """Whether delta can be had as a fraction in little time."""
        return self.odds is not None and after.laws.low.size <= FEW and after.laws.exact is not None

    def delta_of(self, after: WorstPair) -> Bracket:
        """delta at the target's epsilon."""
        if not self.in_fractions(after):
            return after.delta(self.epsilon)
        exact = after.exact_delta(self.odds)
        return Bracket(*_float_ends(exact), "delta", "exact fractions")

    def after(self, table: Counts) -> WorstPair:
        """The curve of everything together."""
        return WorstPair(self.joint.after(table.laws()), self.world.ordered)

    def price(self, channel: FloatArray) -> float:
        """The worst expected cost over the priors, rounded up."""
        worst = float(np.tensordot(self.weights, channel, axes=2).max())
        return up(worst + self.slack)

    @property
    def slack(self) -> float:
        """What rounding can do to an expected cost."""
        size = float(np.abs(self.weights).max(axis=2).sum(axis=1).max())
        terms = int(self.weights.shape[1] * self.weights.shape[2])
        return (128.0 + self.world.count + 2.0 * terms) * UNIT * size

    def silent(self, channel: FloatArray) -> list[FloatArray]:
        """Channels that tell nothing: the cheapest constant, and the constant of the channel's own output law."""
        inputs, outputs = channel.shape
        cheapest = np.zeros((inputs, outputs))
        cheapest[:, int(np.argmin(self.weights.sum(axis=1).max(axis=0)))] = 1.0
        law = np.maximum(channel, 0.0).mean(axis=0)
        own = np.tile(law / law.sum(), (inputs, 1))
        return [own] if self.delta == 0 else [cheapest, own]


def task_of(
    world: World,
    existing: Release | None,
    *,
    epsilon: Any,
    odds: Any,
    delta: Any,
    cost: Any,
    outputs: Any,
    reads: str,
) -> Task:
    """The task with everything checked; refused when the existing release misses the target."""
    if existing is None:
        existing = world.release()
    if not isinstance(existing, Release):
        raise InvalidParameter("existing", existing, "a release of this world with finitely many outputs")
    if existing.world is not world:
        raise InvalidParameter("existing", existing, "a release of this same world")
    strength, exact_odds = _target(epsilon, odds)
    share = fraction(delta)
    if share is None or not 0 <= share < 1:
        raise InvalidParameter("delta", delta, "a number in [0, 1)")
    joint = joint_of(existing, reads)
    values = _inputs(world, existing, reads)
    if outputs is None and reads == "data and output" and (isinstance(cost, str) or callable(cost)):
        outputs = world.exact_values  # the input lists each value of the data once for each earlier output
    priced = cost_of(cost, values, outputs)
    task = Task(
        world, existing, strength, exact_odds, float(share), share, priced, reads, joint, _weights(joint, world, priced)
    )  # fmt: skip
    _refuse_violated(task)
    return task


def _target(epsilon: Any, odds: Any) -> tuple[float, Fraction | None]:
    if (epsilon is None) == (odds is None):
        raise InvalidParameter("the target", "both or none of epsilon and odds", "epsilon, or odds = e^epsilon")
    if odds is None:
        strength = checks.non_negative("epsilon", epsilon)
        return strength, Fraction(1) if strength == 0 else None
    exact = fraction(odds)
    if exact is None or exact < 1:
        raise InvalidParameter("odds", odds, "a rational number >= 1, such as Fraction(2)")
    return math.log(exact), exact


def _inputs(world: World, existing: Release, reads: str) -> tuple[Fraction, ...]:
    if reads == "secret":
        return tuple(Fraction(index) for index in range(world.count))
    if reads == "data":
        return world.exact_values
    return tuple(value for value in world.exact_values for _ in range(existing.outputs))


def _weights(joint: Joint, world: World, cost: Cost) -> FloatArray:
    """P(input) cost[input, z] under each prior."""
    inputs = joint.values.sum(axis=2).reshape(world.priors, world.count, -1)
    law = np.einsum("ts,tsx->tx", world.secret.values, inputs)
    return cost.weights(np.asarray(law))


def _refuse_violated(task: Task) -> None:
    now = task.existing.delta(task.epsilon)
    if task.odds is not None and task.existing.laws.exact is not None:
        exact = task.existing.exact_delta(task.odds)
        if exact <= task.exact_delta:
            return
        now = Bracket(*_float_ends(exact), "delta")
    if float(now.lower) > task.delta or (task.odds is not None and task.existing.laws.exact is not None):
        raise Unreachable(
            task.words,
            "all further mechanisms",
            f"the existing release alone already has delta {float(now.lower):.6g} there, and an attacker may ignore "
            "what is added; only a weaker target, or taking back a release, can help",
        )
    if float(now.upper) > task.delta:
        raise Unreachable(
            f"{task.words} with a certificate",
            "all further mechanisms",
            f"the existing release has delta between {float(now.lower):.17g} and {float(now.upper):.17g} there; give "
            "fractions and odds to decide it exactly, or loosen delta by a little",
        )


def relaxed(task: Task, clusters: int | None = None) -> tuple[Problem, bool]:
    """The problem in floats that no answer of the true one violates, and whether that is certain.

    Let every probability be known to a relative error e.  Then (M_i - t M_j)_+ in floats is at most 1 + e times the
    true one if t is raised by 3e: with t (1 + 3e) and delta (1 + e) each mechanism of the true problem stays allowed,
    so that a lower bound of the one is a lower bound of the other.  Merged or clustered outputs only lower delta.
    """
    low, high = task.joint.low, task.joint.high
    known = high > FAINT
    error = float(np.max((high[known] - low[known]) / high[known], initial=0.0)) * 1.01 + 8.0 * UNIT
    lost = float(high[(high > 0) & ~known].sum())
    odds = math.exp(task.epsilon) * (1.0 + 3.0 * error + 4.0 * UNIT * (1.0 + task.epsilon))
    delta = task.delta * (1.0 + 2.0 * error) + lost if task.delta else 0.0
    tensor = _fewer(task, clusters)
    return Problem(tensor, task.world.ordered, odds, delta, task.weights), bool(task.delta or not lost)


def _fewer(task: Task, clusters: int | None) -> FloatArray:
    """The tensor with outputs merged: proportional ones always, similar ones when asked."""
    values = task.joint.values
    if task.reads != "data":
        return np.ascontiguousarray(values)
    table = task.existing.table
    if clusters is not None:
        labels = clustered(table, checks.count("clusters", clusters, least=1)).labels
    else:
        labels = merged(table, digits=11)[1]
    rows, inputs, outputs = values.shape
    found = np.zeros((int(labels.max()) + 1, rows * inputs))
    np.add.at(found, labels, values.reshape(rows * inputs, outputs).T)
    return np.ascontiguousarray(found.T).reshape(rows, inputs, -1)


def _float_ends(value: Fraction) -> tuple[float, float]:
    """The floats on both sides of a fraction."""
    near = float(value)
    below = near if Fraction(near) <= value else math.nextafter(near, -math.inf)
    above = near if Fraction(near) >= value else math.nextafter(near, math.inf)
    return below, above
