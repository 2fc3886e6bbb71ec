"""Pure and approximate differential privacy: randomized response, with a reveal mass delta.

The pair with loss +-epsilon dominates every epsilon-DP mechanism (Kairouz-Oh-Viswanath); with probability delta it
reveals the world outright.
"""

from __future__ import annotations

import math
from decimal import Decimal, localcontext
from fractions import Fraction
from typing import ClassVar

import attrs
import numpy as np

from quiltwork import checks
from quiltwork.losses.dominating_pair import Lattice, Pair
from quiltwork.losses.families.finite import FinitePair
from quiltwork.losses.families.laplace import Laplace
from quiltwork.losses.family import NON_NEGATIVE, PROBABILITY, Costs, Family, parameter
from quiltwork.numbers.rounding import UNIT
from quiltwork.numbers.stated import DIGITS, times, typed, typed_decimal

INDICES = np.array([0, 1], dtype=np.int64)


def response_masses(epsilon: Decimal, weight: Decimal) -> tuple[float, float]:
    """P masses of the losses -epsilon and +epsilon of a randomized response of this weight, each rounded once."""
    fade = (-epsilon).exp()
    return float(weight * fade / (1 + fade)), float(weight / (1 + fade))


def response_pair(epsilon: float, delta: float = 0.0) -> FinitePair:
    """Randomized response at epsilon, mixed with a full reveal of probability delta."""
    with localcontext(prec=DIGITS):
        keep = 1 - typed_decimal(delta)
        low, high = response_masses(typed_decimal(epsilon), keep)
    if epsilon == 0:
        losses, p = np.zeros(1), np.array([float(keep)])
        return FinitePair(
            losses,
            p,
            p,
            reveal=delta,
            vanish=delta,
            reveal_error=0.0,
            relative=UNIT,
            stated=True,
            stated_masses=(typed(delta), typed(delta)),
        )
    log_high = -math.log1p(math.exp(-epsilon)) + math.log1p(-delta)
    p = np.array([low, high])
    exact = typed(epsilon)
    return FinitePair(
        np.array([-epsilon, epsilon]),
        p,
        p[::-1].copy(),
        reveal=delta,
        vanish=delta,
        log_p=np.array([log_high - epsilon, log_high]),
        lattice=Lattice(-exact, 2 * exact, INDICES, p),
        relative=UNIT,
        reveal_error=0.0,
        stated=True,
        stated_masses=(typed(delta), typed(delta)),
    )


@attrs.frozen
class Pure(Family):
    """Any epsilon-DP release."""

    kind: ClassVar[str] = "pure"
    words: ClassVar[str] = "pure, epsilon {epsilon:g}"
    label: ClassVar[str] = "Any release with a pure epsilon"
    dial: ClassVar[str] = "epsilon"
    linear: ClassVar[bool] = True
    because: ClassVar[str] = "randomized response dominates every pure mechanism (Kairouz, Oh and Viswanath 2015)"
    epsilon: float = attrs.field(**parameter("epsilon", NON_NEGATIVE, "Epsilon", "0.1", check=checks.loss_bound))

    def pairs(self) -> dict[str, Pair]:
        return {"both": response_pair(self.epsilon)}

    @property
    def reveals_nothing(self) -> bool:
        return self.epsilon == 0

    def at(self, distance: Fraction) -> Family:
        return Pure(times(distance, self.epsilon))

    def attained(self, distance: float) -> Family | None:
        return _attained(self.epsilon * distance)

    @property
    def points(self) -> tuple[tuple[float, float], ...]:
        return ((self.epsilon, 0.0),)

    def costs(self) -> Costs:
        return Costs(epsilon=typed(self.epsilon))

    def rung(self) -> tuple[object, float]:
        return self.kind, self.epsilon


@attrs.frozen
class Approximate(Family):
    """Any (epsilon, delta)-DP release."""

    kind: ClassVar[str] = "approximate"
    words: ClassVar[str] = "approximate, epsilon {epsilon:g} at delta {delta:g}"
    label: ClassVar[str] = "Any release with epsilon and delta"
    because: ClassVar[str] = (
        "randomized response with a reveal dominates every (epsilon, delta) mechanism (Kairouz, Oh and Viswanath 2015)"
    )
    epsilon: float = attrs.field(**parameter("epsilon", NON_NEGATIVE, "Epsilon", "0.1", check=checks.loss_bound))
    delta: float = attrs.field(**parameter("delta", PROBABILITY, "Delta", "1e-9"))

    def pairs(self) -> dict[str, Pair]:
        if self.delta >= 1.0:
            return {"both": nothing_hidden()}
        return {"both": response_pair(self.epsilon, self.delta)}

    def group(self, size: int) -> Family:
        """(n eps, delta (e^(n eps) - 1)/(e^eps - 1)), capped at delta = 1, rounded up."""
        return Approximate(times(size, self.epsilon), group_delta(self.epsilon, self.delta, size))

    @property
    def reveals_nothing(self) -> bool:
        return self.epsilon == 0 and self.delta == 0

    def attained(self, distance: float) -> Family | None:
        return _attained(self.epsilon * max(1, math.ceil(distance)))

    @property
    def points(self) -> tuple[tuple[float, float], ...]:
        return ((self.epsilon, self.delta),)

    def unless_revealed(self) -> tuple[Family, float]:
        return Pure(self.epsilon), self.delta


def _attained(epsilon: float) -> Family | None:
    """Laplace noise is epsilon-DP at any number of steps, and loses that much; two steps of epsilon-DP need not."""
    reached = epsilon * (1 - 1e-15)
    return Laplace(1.0, reached) if reached >= 1e-100 else None


def group_delta(epsilon: float, delta: float, size: int) -> float:
    """delta of a group: delta * sum over i < n of e^(i eps)."""
    if delta == 0 or size == 1:
        return delta
    if epsilon == 0:
        factor = float(size)
    elif epsilon * size > 700:
        return 1.0
    else:
        factor = math.expm1(epsilon * size) / math.expm1(epsilon)
    return min(1.0, delta * factor * (1 + 8 * UNIT * (8 + epsilon * size)))


def nothing_hidden() -> FinitePair:
    """delta = 1: the adversary always knows."""
    tiny = np.array([0.0])
    masses = Fraction(1), Fraction(1)
    return FinitePair(np.zeros(1), tiny, tiny, reveal=1.0, vanish=1.0, log_p=np.array([-np.inf]), stated_masses=masses)
