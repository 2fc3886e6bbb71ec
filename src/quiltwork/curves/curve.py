"""The one protocol that every guarantee in quiltwork answers to."""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

from quiltwork.curves.bracket import Bracket
from quiltwork.kinds import not_written

__all__ = ["Curve"]


@not_written("it is what curves have in common, not a value")
@runtime_checkable
class Curve(Protocol):
    """A bound on the hypothesis test between two worlds, seen from three sides.

    The three views are one object: the trade-off function f and the privacy profile D(t), t = e^epsilon, are convex
    conjugates, D(t) = sup_a 1 - f(a) - t a and f(a) = sup_t 1 - D(t) - t a.  Arguments may be scalars or arrays.
    """

    def epsilon(self, delta: Any, *, rtol: float = 1e-3) -> Bracket:
        """The smallest epsilon >= 0 for this delta; infinite when delta is below the mass that reveals everything."""
        ...

    def delta(self, epsilon: Any, *, rtol: float = 1e-3) -> Bracket:
        """The hockey-stick divergence at this epsilon (any real, also infinite)."""
        ...

    def beta(self, alpha: Any) -> Bracket:
        """The trade-off function: the least type II error of any test with type I error at most alpha."""
        ...
