"""The design of the next release as a finite problem: what every solver of this room is given.

Data: M[r, x, y] = P(x, y | r), where a row r is a secret under one prior and y is all that was released before;
ordered pairs of rows; the target (odds = e^epsilon, delta); weights w[t, x, z].  Wanted: a row-stochastic g[x, z] with

    min max_t sum w[t, x, z] g[x, z]   subject to, for each pair (i, j),
    sum_yz ( sum_x (M[i, x, y] - odds M[j, x, y]) g[x, z] )_+ <= delta.

Reference: theory/confounding.md section 4.
"""

from __future__ import annotations

import attrs
import numpy as np

from quiltwork.checks import FloatArray

__all__ = ["Problem"]


@attrs.frozen(eq=False)
class Problem:
    """One design problem in floats; the answers are certified elsewhere, with the rounding of the inputs."""

    joint: FloatArray  # (R, X, Y)
    pairs: np.ndarray  # (P, 2), ordered
    odds: float
    delta: float
    weights: FloatArray  # (T, X, Z)

    @property
    def inputs(self) -> int:
        """How many values the new mechanism may read."""
        return int(self.joint.shape[1])

    @property
    def outputs(self) -> int:
        """How many values it may return."""
        return int(self.weights.shape[2])

    def signed(self, pair: int) -> FloatArray:
        """(Y, X): M[i] - odds M[j], whose product with g is what the hinges see."""
        first, second = self.pairs[pair]
        return np.ascontiguousarray((self.joint[first] - self.odds * self.joint[second]).T)

    def deltas(self, channel: FloatArray) -> FloatArray:
        """The delta of the whole composition for each pair; plain floats, no certificate."""
        return np.array([np.maximum(self.signed(p) @ channel, 0.0).sum() for p in range(len(self.pairs))])

    def cost(self, channel: FloatArray) -> float:
        """The worst expected cost over the priors; plain floats."""
        return float(np.tensordot(self.weights, channel, axes=2).max())

    def constant(self) -> FloatArray:
        """The cheapest channel that tells nothing: one law of outputs for every input."""
        best = np.argmin(self.weights.sum(axis=1).max(axis=0))
        channel = np.zeros((self.inputs, self.outputs))
        channel[:, best] = 1.0
        return channel
