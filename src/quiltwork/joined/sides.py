"""A Markov chain seen from one entry outward: the laws of what lies to its right and to its left.

`Sides` hands out the kernels that are met on the way: to the right the chain itself, to the left the chain read
backwards, P(x_(t-1) | x_t), entry by entry unless it is stationary. Nothing is known of the left side when the first
entry may have any law.

Reference: theory/joining.md section 2; theory/pufferfish.md 3.5 and 4.2.
"""

from __future__ import annotations

from functools import cached_property

import attrs
import numpy as np

from quiltwork.checks import FloatArray
from quiltwork.errors import InvalidParameter, Unsupported
from quiltwork.numbers.matrices import TINY, stationary_error
from quiltwork.numbers.rounding import UNIT
from quiltwork.pufferfish.priors.chain.attained import reversed_chain
from quiltwork.pufferfish.priors.chain.chain import MarkovChain
from quiltwork.pufferfish.priors.chain.influence import given_laws
from quiltwork.pufferfish.priors.chain.propagation import MIN_PROBABILITY


@attrs.frozen(eq=False, slots=False)
class Kernel:
    """A step away from an entry: rows are laws of the next one, right up to a relative error; which are possible."""

    matrix: FloatArray
    possible: np.ndarray
    error: float


@attrs.frozen(eq=False, slots=False)
class Sides:
    """The steps of one chain of `length` entries."""

    chain: MarkovChain
    length: int

    def __attrs_post_init__(self) -> None:
        if self.chain.length not in (None, self.length):
            raise InvalidParameter("prior", f"{self.chain.length} entries", f"{self.length}, one for each tick")

    @property
    def states(self) -> int:
        """Of the chain, those that can occur."""
        return len(self.chain.matrix)

    @cached_property
    def possible(self) -> np.ndarray:
        """Which state can occur at each entry."""
        if isinstance(self.chain.initial, str):
            return np.ones((self.length, self.states), dtype=bool)
        return np.array([seen for _, seen in self._laws])

    @cached_property
    def _laws(self) -> list[tuple[FloatArray, np.ndarray]]:
        return given_laws(self.chain.matrix, np.asarray(self.chain.initial), self.length)

    @cached_property
    def forward(self) -> Kernel:
        """From an entry to the next."""
        matrix = self.chain.matrix
        return Kernel(matrix, matrix > 0, 4 * UNIT)

    @cached_property
    def _backward(self) -> list[Kernel] | None:
        """From each entry, the first excepted, to the one before; None when nothing is known of it."""
        chain, matrix = self.chain, self.chain.matrix
        if chain.is_stationary:
            error = 4 * UNIT + 2.2 * stationary_error(len(matrix))
            kernel = Kernel(reversed_chain(matrix, chain.stationary), matrix.T > 0, error)
            return [kernel] * (self.length - 1)
        if isinstance(chain.initial, str):
            return None
        found = []
        for i, (law, seen) in enumerate(self._laws[:-1]):
            joint = law[None, :] * matrix.T
            reached = seen[None, :] & (matrix.T > 0)
            if bool(np.any(reached & (joint < MIN_PROBABILITY))):
                raise Unsupported("a plan under this prior", "probabilities of its first entries underflow")
            sums = joint.sum(axis=1, keepdims=True)
            rows = np.where(sums > TINY, joint / np.maximum(sums, TINY), law[None, :])
            found.append(Kernel(rows, reached, (2.0 * i + 6.0) * (len(law) + 6) * UNIT))
        return found

    def right(self, entry: int) -> list[Kernel]:
        """The steps from an entry to the last."""
        return [self.forward] * (self.length - 1 - entry)

    def left(self, entry: int) -> list[Kernel] | None:
        """The steps from an entry to the first."""
        return None if self._backward is None else [self._backward[t - 1] for t in range(entry, 0, -1)]
