"""A curve from nothing but an upper bound on delta: epsilon and the trade-off function follow from it."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from functools import cached_property

import numpy as np

from quiltwork.checks import FloatArray
from quiltwork.curves.curve import BaseCurve, Ends
from quiltwork.curves.guarantee import Guarantee
from quiltwork.numbers.rounding import UNIT, down, up
from quiltwork.numbers.stated import Stated

FARTHEST = 700.0  # epsilon beyond which a bound is not searched
HALVINGS = 60


class FromDelta(BaseCurve, ABC):
    """A curve from an upper bound on delta: epsilon and beta follow from it."""

    method = ""
    close = 0.0  # relative distance of the two ends at which a search for epsilon stops
    protects = ""
    assumes: tuple[str, ...] = ()
    because: tuple[str, ...] = ()

    @abstractmethod
    def _upper(self, epsilon: float) -> float:
        """The bound on delta at one epsilon >= 0."""

    def _lower_delta(self, epsilon: FloatArray) -> FloatArray:
        return np.maximum(-np.expm1(np.minimum(epsilon, 0.0)) * (1.0 - 8.0 * UNIT), 0.0)

    def _lower_epsilon(self, delta: FloatArray) -> FloatArray:
        return np.zeros_like(delta)

    def _upper_beta(self, alpha: FloatArray) -> FloatArray:
        return np.minimum(up(1.0 - np.maximum(down(alpha), 0.0)), 1.0)

    def _delta(self, epsilon: FloatArray, rtol: float) -> Ends:
        upper = np.array([self._signed(value) for value in epsilon.tolist()])
        return Ends(np.minimum(self._lower_delta(epsilon), upper), upper, self.method)

    def _signed(self, epsilon: float) -> float:
        if epsilon >= 0:
            return self._upper(epsilon)
        # both orders are protected: D(-e) = 1 - e^-e + e^-e D(e)
        share = math.exp(epsilon)
        return min(up(-math.expm1(epsilon) + share * self._upper(-epsilon), 8), 1.0)

    def _epsilon(self, delta: FloatArray, rtol: float) -> Ends:
        upper = np.array([self._search(value) for value in delta.tolist()])
        return Ends(np.minimum(self._lower_epsilon(delta), upper), upper, self.method)

    def _search(self, delta: float) -> float:
        """The true delta falls with epsilon, so that whatever holds at one epsilon holds above it."""
        delta = Stated(delta).below
        if self._upper(0.0) <= delta:
            return 0.0
        if not self._upper(math.inf) <= delta:
            return math.inf
        low, high = 0.0, 1.0
        while not self._upper(high) <= delta:
            low, high = high, 2.0 * high
            if high > FARTHEST:
                return math.inf
        for _ in range(HALVINGS):
            middle = 0.5 * (low + high)
            if not low < middle < high or high - low <= self.close * high:
                break
            low, high = (low, middle) if self._upper(middle) <= delta else (middle, high)
        return high

    def _beta(self, alpha: FloatArray) -> Ends:
        """Every (epsilon, delta) that holds bounds the type II error, in both orders."""
        alphas = np.array([Stated(value).above for value in alpha.tolist()])
        epsilons, kept = self._points
        grown, shrunk = up(np.exp(epsilons), 4), down(np.exp(-epsilons), 4)
        with np.errstate(over="ignore"):
            one = kept[:, None] - grown[:, None] * alphas * (1.0 + 4.0 * UNIT)
            two = shrunk[:, None] * down(kept[:, None] - alphas)
        lower = np.maximum(down(np.maximum(one, two).max(axis=0), 2), 0.0)
        return Ends(lower, np.maximum(self._upper_beta(alpha), lower), self.method)

    @cached_property
    def _points(self) -> tuple[FloatArray, FloatArray]:
        end = self._search(1e-9)
        end = end if math.isfinite(end) else 20.0
        epsilons = np.linspace(0.0, max(end, 0.1), 129)
        return epsilons, down(1.0 - np.array([self._upper(float(value)) for value in epsilons]))

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {self.method}>"

    def guarantee(self) -> Guarantee:
        """The bound with its words."""
        return Guarantee(self, protects=self.protects, assumes=self.assumes, because=self.because)
