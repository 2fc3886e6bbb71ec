"""The worst of several tests: what is protected is every one of them, at the same epsilon.

delta(eps) is the largest of the tests' hockey sticks, which is again convex in e^eps; epsilon is the largest of theirs,
and beta the least.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np

from quiltwork.checks import FloatArray
from quiltwork.curves.curve import BaseCurve, Ends

Pair = tuple[FloatArray, FloatArray]


class PairTest(Protocol):
    """A test between two laws; flat arrays in, both ends of each answer out."""

    def delta(self, epsilon: FloatArray, rtol: float) -> Pair:
        """The hockey-stick divergence at each epsilon."""
        ...

    def epsilon(self, delta: FloatArray, rtol: float) -> Pair:
        """The smallest epsilon >= 0 for each delta."""
        ...

    def beta(self, alpha: FloatArray) -> Pair:
        """The least type II error at each type I error."""
        ...


class Maximum(BaseCurve):
    """The curve of all these tests together."""

    method: str
    certified: bool = True

    def _tests(self) -> Sequence[PairTest]:
        """All of them."""
        raise NotImplementedError

    def _epsilon(self, delta: FloatArray, rtol: float) -> Ends:
        return self._largest([test.epsilon(delta, rtol) for test in self._tests()])

    def _delta(self, epsilon: FloatArray, rtol: float) -> Ends:
        return self._largest([test.delta(epsilon, rtol) for test in self._tests()])

    def _beta(self, alpha: FloatArray) -> Ends:
        lower, upper = np.min([test.beta(alpha) for test in self._tests()], axis=0)
        return Ends(lower, np.maximum(lower, upper), self.method, self.certified)

    def _largest(self, found: list[Pair]) -> Ends:
        lower, upper = np.max(found, axis=0)
        return Ends(np.minimum(lower, upper), upper, self.method, self.certified)
