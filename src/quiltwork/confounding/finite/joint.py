"""P(input, earlier outputs | secret): the tensor that the next mechanism is designed on.

The input is what the next mechanism reads: the data, the secret itself, or the data with the earlier outputs (an
adaptive mechanism).  M[r, x, y] is known between two ends; the law of (y, z) after the mechanism g is
sum_x M[r, x, y] g[x, z].

Reference: theory/confounding.md section 4.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from quiltwork import checks
from quiltwork.checks import FloatArray
from quiltwork.confounding.finite.channels import MOST_ENTRIES
from quiltwork.errors import Unsupported
from quiltwork.numbers.laws import Exact, Laws, outward

if TYPE_CHECKING:
    from quiltwork.confounding.finite.release import Release

READS = ("data", "secret", "data and output")


class Joint:
    """M[r, x, y] from both sides, and as fractions when everything was given so."""

    def __init__(self, low: FloatArray, high: FloatArray, exact: Callable[[], Exact | None]) -> None:
        self.low, self.high, self._exact = low, high, exact

    @cached_property
    def exact(self) -> Exact | None:
        """The tensor in fractions, or None."""
        return self._exact()

    @cached_property
    def values(self) -> FloatArray:
        """Plain floats for solvers."""
        return 0.5 * (self.low + self.high)

    @property
    def inputs(self) -> int:
        """How many values the next mechanism can read."""
        return int(self.low.shape[1])

    def after(self, channel: Laws) -> Laws:
        """The law of all outputs, earlier and new, given each row: columns run over (y, z)."""
        rows, inputs, before = self.low.shape
        low, high = channel.masses
        outputs = low.shape[1]
        if rows * before * outputs > MOST_ENTRIES:
            raise Unsupported(
                f"the law of {before} x {outputs} outputs", f"it is limited to {MOST_ENTRIES:,} entries", "use clusters"
            )
        ends = [np.matmul(np.swapaxes(a, 1, 2), b) for a, b in ((self.low, low), (self.high, high))]
        possible = np.matmul(np.swapaxes(self.high > 0, 1, 2).astype(float), channel.possible.astype(float)) > 0
        lower, upper = outward(ends[0], ends[1], inputs + 4.0, possible)
        return Laws(lower.reshape(rows, -1), upper.reshape(rows, -1), None, lambda: self._after(channel))

    def _after(self, channel: Laws) -> Exact | None:
        if self.exact is None or channel.exact is None:
            return None
        return np.array([part.T @ channel.exact for part in self.exact], dtype=object).reshape(len(self.exact), -1)


def joint_of(existing: Release, reads: str) -> Joint:
    """The tensor for a mechanism that reads this, after these releases."""
    checks.one_of("reads", reads, READS)
    world, table = existing.world, existing.table
    rows, inputs = world.laws.shape
    outputs = table.shape[1]
    widths = {"data": inputs, "secret": world.count, "data and output": inputs * outputs}
    if rows * widths[reads] * outputs > MOST_ENTRIES:
        raise Unsupported(
            f"a design on {rows} x {widths[reads]} x {outputs} probabilities",
            f"it is limited to {MOST_ENTRIES:,}",
            "merge or cluster the outputs of the existing release",
        )
    if reads == "secret":
        return _of_secret(existing)
    ends = [a[:, :, None] * k[None, :, :] for a, k in zip(world.laws.masses, table.masses, strict=True)]
    possible = world.laws.possible[:, :, None] & table.possible[None, :, :]
    low, high = outward(ends[0], ends[1], 2.0, possible)

    def exact() -> Exact | None:
        if world.laws.exact is None or table.exact is None:
            return None
        found: Exact = world.laws.exact[:, :, None] * table.exact[None, :, :]
        return found

    plain = Joint(low, high, exact)
    return plain if reads == "data" else _spread(plain)


def _of_secret(existing: Release) -> Joint:
    """x := s: the mechanism reads the secret itself, with noise of its own."""
    rows, count = len(existing.laws.low), existing.world.count

    def placed(table: Any) -> Any:
        found = np.full((rows, count, table.shape[1]), _nothing(table), dtype=table.dtype)
        found[np.arange(rows), np.arange(rows) % count] = table
        return found

    return _placed(placed, *existing.laws.masses, lambda: existing.laws.exact)


def _spread(plain: Joint) -> Joint:
    """x := (x, y): the mechanism reads the data and what was released before."""

    def placed(tensor: Any) -> Any:
        rows, inputs, outputs = tensor.shape
        found = np.full((rows, inputs, outputs, outputs), _nothing(tensor), dtype=tensor.dtype)
        index = np.arange(outputs)
        found[:, :, index, index] = tensor
        return found.reshape(rows, inputs * outputs, outputs)

    return _placed(placed, plain.low, plain.high, lambda: plain.exact)


def _nothing(table: Any) -> Any:
    return Fraction(0) if table.dtype == object else 0.0


def _placed(place: Callable[[Any], Any], low: Any, high: Any, exact: Callable[[], Exact | None]) -> Joint:
    """Both ends, and the fractions when they are known, put into a tensor of zeros."""
    return Joint(place(low), place(high), lambda: None if (known := exact()) is None else place(known))
