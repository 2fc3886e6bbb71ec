"""Noise of a family, with just enough of it: the scale is calibrated on the whole composition, not on a sensitivity.

P(z | x) is proportional to e^(-|x - z| / scale) or e^(-(x - z)^2 / 2 scale^2) on the grid of outputs.  The scale is
found by bisection with the evaluation of everything together; then every output is replaced by the one it is worth most
as (Bayes remap), which costs no privacy.  The table that is returned is certified like any other design.

Reference: theory/confounding.md section 4 (calibrated noise, remap).
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from quiltwork import checks
from quiltwork.confounding.design.certificate import Counts, counted
from quiltwork.confounding.design.costs import best_map
from quiltwork.confounding.design.design import BITS, Design, checked_bits, task_after
from quiltwork.confounding.design.task import Target, Task
from quiltwork.confounding.finite.channels import NOISES, noise_channel
from quiltwork.confounding.finite.release import Release
from quiltwork.confounding.line.release import Readout
from quiltwork.errors import InvalidParameter, Unreachable, Unsupported

if TYPE_CHECKING:
    from quiltwork.confounding.world import World

HALVINGS = 60
MAX_RELATIVE_SCALE = 1e6  # scales that are searched, over the range of the values


def calibrated(
    world: World,
    existing: Release | Readout | None = None,
    *,
    epsilon: Any = None,
    delta: Any = 0,
    cost: Any = "squared",
    family: str = "laplace",
    outputs: Any = None,
    odds: Any = None,
    remap: bool = True,
    bits: int = BITS,
) -> Design:
    """The least noise of a family with which everything together meets the target, then the best use of its outputs."""
    checks.one_of("family", family, NOISES)
    if not isinstance(cost, str) and not callable(cost) and outputs is None:
        raise InvalidParameter("outputs", None, "the numbers of the outputs, when the cost is a table")
    bits = checked_bits(bits)
    task = task_after(world, existing, Target(epsilon, delta, cost, outputs, odds))
    x, z = world.values, task.cost.output_values
    span = float(max(x.max(), z.max()) - min(x.min(), z.min()))
    if span <= 0:
        raise Unsupported("noise on a grid", "all values are equal", "give the world its values")

    def table(scale: float) -> Counts:
        return counted(noise_channel(x, z, scale, family), bits)

    scale = _least(task, table, span)
    found = table(scale)
    if checks.flag("remap", remap):
        counts: np.ndarray = np.zeros_like(found.counts)
        np.add.at(counts.T, best_map(found.channel, task.weights), found.counts.T)
        found = Counts(counts, bits)
    return Design(task, found, None, True, f"calibrated {family} noise", scale=scale)


def _least(task: Task, table: Any, span: float) -> float:
    """The smallest scale found at which the target certainly holds; wider noise need not always tell less."""
    low, high = 1e-3 * span, span
    while not task.holds(table(high)):
        low, high = high, 4.0 * high
        if high > MAX_RELATIVE_SCALE * span:
            raise Unreachable(
                task.words, "all scales of this family", "its tails on the grid stay too far apart; use design"
            )
    if task.holds(table(low)):
        return low
    for _ in range(HALVINGS):
        middle = math.sqrt(low * high)
        if not low < middle < high or high / low < 1.0 + 1e-12:
            break
        low, high = (low, middle) if task.holds(table(middle)) else (middle, high)
    return high
