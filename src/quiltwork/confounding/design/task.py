"""A task of design: the target, what was released before, what the next mechanism reads and what its outputs cost.

`holds` is the certificate: everything together, evaluated with outward rounding, or in fractions where they were given.
`relaxed` is the same problem in floats, loosened by their rounding, so that a lower bound of it is one of the task.

Reference: theory/confounding.md section 4.
"""

from __future__ import annotations

import math
from decimal import ROUND_CEILING, Context, Decimal
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any

import attrs
import numpy as np

from quiltwork import checks
from quiltwork.checks import FloatArray
from quiltwork.confounding.design.certificate import Counts, certified_counts, counted
from quiltwork.confounding.design.costs import Cost, cheapest_law, cost_of
from quiltwork.confounding.design.program import Problem
from quiltwork.confounding.finite.channels import grouped, merged
from quiltwork.confounding.finite.clusters import clustered
from quiltwork.confounding.finite.joint import Joint, joint_of
from quiltwork.confounding.finite.release import Release, WorstPair, described
from quiltwork.curves.bracket import Bracket
from quiltwork.curves.curve import Curve
from quiltwork.errors import InvalidParameter, Unreachable, Unsupported
from quiltwork.numbers.laws import laws
from quiltwork.numbers.rounding import UNIT, up
from quiltwork.numbers.stated import double_above, double_below, rational
from quiltwork.proof.claims import claim

if TYPE_CHECKING:
    from quiltwork.confounding.world import World

MAX_EXACT_ENTRIES = 20_000  # of a table that is evaluated in fractions
MIN_PROBABILITY, MAX_RELATIVE_WIDTH = 1e-250, 1e-6  # of probabilities: beyond these they are taken as unknown
MIN_DELTA, MAX_ODDS = 1e-16, 1e300  # positive deltas and odds that the relaxed problem is stated with


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
    slack: float  # what the rounding of P(input), of costs and of sums can do to an expected cost

    @property
    def before(self) -> Curve:
        """The curve of what was released before."""
        return self.existing

    @property
    def mergeable(self) -> bool:
        """Whether the outputs of the existing release are the columns of the tensor, whatever is read."""
        return self.reads == "data"

    @property
    def words(self) -> str:
        """The target as a text."""
        return f"epsilon {self.epsilon:.6g} at delta {self.delta:.6g}"

    def holds(self, table: Counts) -> bool:
        """Whether everything together certainly meets the target with this table."""
        if table.silent:
            return True  # nothing is added to the existing release, which meets it
        after = self.after(table)
        found = after.delta(self.epsilon)
        if self.allows(found.upper) or not self.allows(found.lower) or not self.in_fractions(after):
            return self.allows(found.upper)
        return after.exact_delta(self.odds) <= self.exact_delta

    def allows(self, delta: Any) -> bool:
        """Whether a float is within the stated delta, read as it was typed or as its double."""
        return Fraction(float(delta)) <= min(self.exact_delta, Fraction(self.delta) or self.exact_delta)

    def in_fractions(self, after: WorstPair) -> bool:
        """Whether delta can be had as a fraction in little time."""
        return self.odds is not None and after.laws.low.size <= MAX_EXACT_ENTRIES and after.laws.exact is not None

    def delta_of(self, after: WorstPair) -> Bracket:
        """delta at the target's epsilon."""
        if not self.in_fractions(after):
            return after.delta(self.epsilon)
        exact = after.exact_delta(self.odds)
        return Bracket(double_below(exact), double_above(exact), "delta", "exact fractions")

    def after(self, table: Counts) -> WorstPair:
        """The curve of everything together; a table that tells nothing leaves what was released before."""
        found = self._after(table)
        found.described = partial(together, self.existing, table, self.reads)
        return found

    def claims(self, table: Counts) -> list[dict[str, Any]]:
        """That everything together meets the target with this table, for `quiltwork verify`."""
        if type(self) is not Task:
            raise Unsupported(
                "a claim after continuous outputs", "worlds of tables are judged", "keep design.to_json()"
            )
        return [claimed(together(self.existing, table, self.reads), self.epsilon, self.odds, self.exact_delta)]

    def _after(self, table: Counts) -> WorstPair:
        if not table.silent:
            return WorstPair(self.joint.after(table.laws()), self.world.ordered)
        if self.existing.outputs > 1:
            return WorstPair(self.existing.laws, self.world.ordered)
        return WorstPair(laws("nothing", [["1"]] * len(self.existing.laws.low)), self.world.ordered)

    def price(self, channel: FloatArray) -> float:
        """The worst expected cost over the priors, rounded up."""
        worst = float(np.tensordot(self.weights, channel, axes=2).max())
        return up(worst + self.slack)

    @property
    def size(self) -> float:
        """The largest expected cost that the table of costs allows, by its size."""
        return _size(self.weights)

    def silent(self, channel: FloatArray) -> list[FloatArray]:
        """Channels that tell nothing: the cheapest constant, and the constant of the channel's own output law."""
        law = np.maximum(channel, 0.0).mean(axis=0)
        own = np.tile(law / law.sum(), (len(channel), 1))
        return [own] if self.delta == 0 else [self.cheapest(), own]

    def cheapest(self) -> FloatArray:
        """The law of outputs that costs least when it is the same for every input: one output for one prior."""
        costs = self.weights.sum(axis=1)
        law = np.eye(costs.shape[1])[int(np.argmin(costs.max(axis=0)))]
        return np.tile(law if len(costs) == 1 else cheapest_law(costs, law), (self.weights.shape[1], 1))

    def certified(self, channel: FloatArray, bits: int) -> Counts:
        """A table near this channel that certainly meets the target."""
        found = certified_counts(channel, bits, self.holds, self.price, self.silent(channel))
        if not found.silent:
            return found
        return min(found, counted(self.cheapest(), bits), key=lambda table: self.price(table.channel))


def together(existing: Release, table: Counts, reads: str) -> dict[str, Any]:
    """What was released before and a new mechanism, in plain values, as a proof reads them."""
    before = [(existing.table, "data")] if reads == "data and output" else existing.channels
    return described(existing.world, [*before, (table.laws(), reads)])


def claimed(loss: dict[str, Any], epsilon: float, odds: Fraction | None, delta: Fraction) -> dict[str, Any]:
    """The claim that this is (epsilon, delta)-private; what no decimal says exactly is rounded up."""
    up = Context(prec=40, rounding=ROUND_CEILING)
    most = "0" if odds == 1 else repr(epsilon)
    if odds is not None and odds > 1:
        ratio = up.divide(Decimal(odds.numerator), Decimal(odds.denominator))
        most = str(ratio.ln(Context(prec=50)).next_plus(up))
    share = up.divide(Decimal(delta.numerator), Decimal(delta.denominator))
    return claim(loss, "epsilon", str(share), ("0", most)).to_json()


def _share(delta: Any) -> Fraction:
    return rational("delta", delta, "a number in [0, 1)", lambda number: 0 <= number < 1)


@attrs.frozen(eq=False)
class Target:
    """What was asked for: the privacy, checked; the price, which `cost_of` checks; and what the mechanism reads."""

    epsilon: Any = None
    delta: Fraction = attrs.field(default=Fraction(0), converter=_share)
    cost: Any = "squared"
    outputs: Any = None
    odds: Any = None
    reads: str = "data"
    privacy: tuple[float, Fraction | None] = attrs.field(init=False)  # epsilon, and e^epsilon if it is a fraction

    @privacy.default
    def _checked_privacy(self) -> tuple[float, Fraction | None]:
        if (self.epsilon is None) == (self.odds is None):
            raise InvalidParameter("the target", "both or none of epsilon and odds", "epsilon, or odds = e^epsilon")
        if self.odds is None:
            strength = checks.non_negative("epsilon", self.epsilon)
            return strength, Fraction(1) if strength == 0 else None
        allowed = "a rational number from 1 to 1e300, such as Fraction(2)"
        exact = rational("odds", self.odds, allowed, lambda number: 1 <= number <= MAX_ODDS)
        return math.log(exact), exact


def split_options(options: dict[str, Any]) -> tuple[Target, dict[str, Any]]:
    """What is asked for, and how it is searched."""
    asked = {field.name for field in attrs.fields(Target) if field.init}
    target = Target(**{name: value for name, value in options.items() if name in asked})
    return target, {name: value for name, value in options.items() if name not in asked}


def task_of(world: World, existing: Release | None, target: Target) -> Task:
    """The task with everything checked; refused when the existing release misses the target."""
    if existing is None:
        existing = world.release()
    if not isinstance(existing, Release):
        raise InvalidParameter("existing", existing, "a release of this world")
    if existing.world is not world:
        raise InvalidParameter("existing", existing, "a release of this same world")
    task = finished_task(world, existing, target, joint_of(existing, target.reads))
    if existing.outputs > 1:  # a single output tells nothing
        refuse_violated(task, existing)
    return task


def finished_task(world: World, existing: Release, target: Target, joint: Joint) -> Task:
    """The task on this tensor, with everything checked but the existing release."""
    (strength, exact_odds), share = target.privacy, target.delta
    outputs, cost, reads = target.outputs, target.cost, target.reads
    if outputs is None and reads == "data and output" and (isinstance(cost, str) or callable(cost)):
        outputs = world.exact_values  # the input lists each value of the data once for each earlier output
    priced = cost_of(cost, _inputs(world, existing, reads), outputs)
    weights, slack = _weights(joint, world, priced, reads)
    return Task(world, existing, strength, exact_odds, float(share), share, priced, reads, joint, weights, slack)


def _inputs(world: World, existing: Release, reads: str) -> tuple[Fraction, ...]:
    if reads == "secret":
        return tuple(Fraction(index) for index in range(world.count))
    if reads == "data":
        return world.exact_values
    return tuple(value for value in world.exact_values for _ in range(existing.outputs))


def _weights(joint: Joint, world: World, cost: Cost, reads: str) -> tuple[FloatArray, float]:
    """P(input) cost[input, z] under each prior, and how far an expected cost can be off."""
    shape = (world.priors, world.count, joint.inputs)
    if reads == "data":
        low, high = (end.reshape(shape) for end in world.laws.masses)
    elif reads == "secret":
        low = high = np.broadcast_to(np.eye(world.count), shape)
    else:  # one term of each sum is not zero
        low, high = (end.sum(axis=2).reshape(shape) for end in (joint.low, joint.high))
    chances = world.secret.values
    weights = cost.weights(np.einsum("ts,tsx->tx", chances, 0.5 * (low + high)))
    spread = cost.weights(np.einsum("ts,tsx->tx", chances, high - low))
    terms = int(weights.shape[1] * weights.shape[2])
    return weights, (32.0 + world.count + 2.0 * terms) * UNIT * _size(weights) + 2.0 * _size(spread)


def _size(weights: FloatArray) -> float:
    return float(np.abs(weights).max(axis=2).sum(axis=1).max())


def refuse_violated(task: Task, existing: Curve) -> None:
    """Refuse a target that the existing release misses, or cannot be shown to meet."""
    now = existing.delta(task.epsilon)
    if task.allows(now.upper):
        return
    decided = task.odds is not None and isinstance(existing, Release) and existing.laws.exact is not None
    if decided and isinstance(existing, Release):
        exact = existing.exact_delta(task.odds)
        if exact <= task.exact_delta:
            return
        now = Bracket(double_below(exact), double_above(exact), "delta")
    if decided or float(now.lower) > task.delta:
        raise Unreachable(
            task.words,
            "all further mechanisms",
            f"the existing release alone already has delta {float(now.lower):.6g} there, and an attacker may ignore "
            "what is added; only a weaker target, or taking back a release, can help",
        )
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
    so that a lower bound of the one is a lower bound of the other.  Entries that are not known so well can add their
    widths, those of j times t.  Merged or clustered outputs only lower delta.
    """
    tensor, merges = _fewer(task, clusters)
    low, high = task.joint.low, task.joint.high
    width = high - low
    known = (high > MIN_PROBABILITY) & (width <= MAX_RELATIVE_WIDTH * high)
    error = float(np.max(width[known] / high[known], initial=0.0)) * 1.01 + (8.0 + merges) * UNIT
    top = math.exp(min(task.epsilon, math.log(MAX_ODDS)))
    odds = min(top * (1.0 + 3.0 * error + 4.0 * UNIT * (1.0 + task.epsilon)), MAX_ODDS)
    lost = float(np.where(known, 0.0, width).sum(axis=(1, 2)).max()) * (1.0 + odds)
    certain = odds < MAX_ODDS and bool(task.exact_delta or not lost)
    delta = max(task.delta * (1.0 + 2.0 * error) + lost, MIN_DELTA) if task.exact_delta else 0.0
    return Problem(tensor, task.world.ordered, odds, delta, task.weights), certain


def _fewer(task: Task, clusters: int | None) -> tuple[FloatArray, int]:
    """The tensor with outputs merged: proportional ones always, similar ones when asked; and the most in one sum."""
    values = task.joint.values
    if not task.mergeable:
        return np.ascontiguousarray(values), 1
    table = task.existing.table
    labels = merged(table, digits=11)[1] if clusters is None else clustered(table, clusters).labels
    rows, inputs, outputs = values.shape
    found = grouped(values.reshape(rows * inputs, outputs), labels)
    return found.reshape(rows, inputs, -1), int(np.bincount(labels).max())
