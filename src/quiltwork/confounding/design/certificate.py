"""From a solver's suggestion to a table that is certified: whole numbers over 2^bits, evaluated outside the solver.

delta is convex in the channel, so that mixing with a channel that tells nothing repairs what rounding and the solver's
tolerance broke.  Two such channels are tried: the cheapest constant, and the constant with the suggestion's own output
law (for delta = 0 only the second repairs ratios in every output).  What is certified is the rounded table itself.

Reference: theory/confounding.md section 4 (certificate, repair, sampling).
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import attrs
import numpy as np

from quiltwork.checks import FloatArray
from quiltwork.errors import Unreachable
from quiltwork.numbers.laws import Laws

FIRST = 2.0**-44  # the smallest share of a mixture that is tried after none
HALVINGS = 12
NEGLIGIBLE_OUTPUT = 1e-9  # outputs that no input returns more often than this are dropped before rounding


@attrs.frozen(eq=False)
class Counts:
    """A channel as whole numbers over 2^bits: rows sum to 2^bits exactly."""

    counts: np.ndarray  # (X, Z) int64
    bits: int

    def __attrs_post_init__(self) -> None:
        self.counts.setflags(write=False)

    @property
    def silent(self) -> bool:
        """Whether every input has the same law of outputs, so that an output tells nothing."""
        return bool((self.counts == self.counts[0]).all())

    @property
    def channel(self) -> FloatArray:
        """The same as floats, which are exact."""
        return self.counts / 2.0**self.bits

    def laws(self) -> Laws:
        """The same as laws, exact in both arithmetics."""
        values = self.channel
        scale = 1 << self.bits

        def exact() -> np.ndarray:
            found = np.empty(self.counts.shape, dtype=object)
            found[:] = [[Fraction(int(entry), scale) for entry in row] for row in self.counts]
            return found

        return Laws(values, values.copy(), None, exact)


def counted(channel: FloatArray, bits: int) -> Counts:
    """The nearest table of whole numbers over 2^bits; what rounding leaves over goes to the largest remainders."""
    scaled = np.clip(channel, 0.0, None)
    scaled = scaled / scaled.sum(axis=1, keepdims=True) * 2.0**bits
    counts = np.floor(scaled).astype(np.int64)
    for row, exact in zip(counts, scaled, strict=True):
        missing = (1 << bits) - int(row.sum())
        if missing <= 0:  # the floats of a row sum to a little more than one
            row[np.argmax(row)] += missing
            continue
        order = np.argsort(-np.where(exact > 0, exact - row, -np.inf))
        for index in np.resize(order[: int((exact > 0).sum())], missing):
            row[index] += 1
    return Counts(counts, bits)


def certified_counts(
    channel: FloatArray,
    bits: int,
    holds: Callable[[Counts], bool],
    cost: Callable[[FloatArray], float],
    mixes: list[FloatArray],
) -> Counts:
    """The cheapest certified table on the way from the suggestion to one of the channels that tell nothing."""
    clean = without_faint(channel)
    plain = counted(clean, bits)
    if holds(plain):
        return plain
    mixed = [_first_that_holds(clean, constant, bits, holds) for constant in mixes]
    found = [table for table in mixed if table is not None]
    if not found:
        raise Unreachable(
            "the target with a certificate",
            "mixtures of the best channel with one that tells nothing",
            "the existing release meets the target with no room to spare; loosen delta by a little",
        )
    return min(found, key=lambda table: cost(table.channel))


def without_faint(channel: FloatArray) -> FloatArray:
    """Outputs that are the solver's noise are given up; the others share what they had."""
    faint = channel.max(axis=0) < NEGLIGIBLE_OUTPUT
    kept = np.where(faint[None, :], 0.0, np.clip(channel, 0.0, None))
    return np.asarray(kept / kept.sum(axis=1, keepdims=True))


def _first_that_holds(
    channel: FloatArray, constant: FloatArray, bits: int, holds: Callable[[Counts], bool]
) -> Counts | None:
    def mixed(share: float) -> Counts:
        return counted((1.0 - share) * channel + share * constant, bits)

    share = FIRST
    while share < 1.0 and not holds(mixed(share)):
        share *= 8.0
    high = min(share, 1.0)
    if high == 1.0 and not holds(mixed(1.0)):
        return None
    low = high / 8.0 if high > FIRST else 0.0
    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        low, high = (low, middle) if holds(mixed(middle)) else (middle, high)
    return mixed(high)
