"""A channel that was found elsewhere, learned from simulations for example, made to meet a target.

What a training ends with is no guarantee: a penalty pulls towards the target and does not stop at it.  The channel is
rounded to whole numbers over 2^bits and mixed with one that tells nothing, as little as it takes, until delta of that
table together with everything released before is certainly within the target.  Its cost has no lower bound here:
`world.design` says how much is lost.

Reference: theory/confounding.md section 4 (certificate, repair).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from quiltwork.confounding.design.design import BITS, Design, checked_bits, task_after
from quiltwork.confounding.design.task import split_options
from quiltwork.errors import InvalidParameter
from quiltwork.numbers.laws import laws

if TYPE_CHECKING:
    from quiltwork.confounding.finite.release import Release
    from quiltwork.confounding.world import World


def certified(
    world: World, channel: Any, existing: Release | None = None, *, bits: int = BITS, **options: Any
) -> Design:
    """The table nearest to a channel P(z | input) with which everything together certainly meets (epsilon, delta)."""
    target, rest = split_options(options)
    if rest:
        raise InvalidParameter("options", sorted(rest), "those of a target: epsilon, odds, delta, cost, outputs, reads")
    task = task_after(world, existing, target)
    given = laws("channel", channel)
    if given.values.shape != task.cost.table.shape:
        rows, columns = task.cost.table.shape
        raise InvalidParameter(
            "channel", f"{given.values.shape[0]} x {given.values.shape[1]}", f"a table of {rows} x {columns}",
            "a row for each input, a column for each output",
        )  # fmt: skip
    return Design(task, task.certified(given.values, checked_bits(bits)), None, True, "a given channel")
