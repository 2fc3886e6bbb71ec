"""Several (epsilon, delta) constraints that hold at the same time, and privacy profiles given by points.

The tight pair is an observed-class mixture: a full reveal with weight w_0 = delta_1 and randomized response at each
active epsilon_j with weight w_j, the slope jumps of the lower convex envelope of the points (e^eps, delta) with the
anchor (-1, 1).

Reference: seed 002 Conjecture 1, proved in theory/multi-constraints.md section 2.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from fractions import Fraction
from functools import reduce
from typing import Any, ClassVar

import attrs
import numpy as np

from quiltwork import checks
from quiltwork.errors import InvalidParameter
from quiltwork.losses.family import Family
from quiltwork.losses.finite import FinitePair
from quiltwork.losses.pair import UNIT, Lattice, Pair
from quiltwork.losses.response import group_delta, nothing_hidden

Constraint = tuple[float, float]
INACTIVE = 1e-15  # dropping a constraint is pessimistic, so a weight at rounding level may go


def _inverse_expm1(x: float) -> float:
    """1 / (e^x - 1) for x > 0, without overflow."""
    return math.exp(-x) / -math.expm1(-x)


def _terms(above: Constraint | None, here: Constraint, below: Constraint | None) -> tuple[float, float]:
    """w_j as a difference of two positive terms (overflow- and cancellation-safe form of theory section 2)."""
    epsilon, delta = here
    spread = 1.0 + math.exp(-epsilon)
    second = 0.0 if above is None else spread * (delta - above[1]) * _inverse_expm1(above[0] - epsilon)
    if below is None:
        return 1.0 - delta, second
    return spread * (below[1] - delta) / -math.expm1(below[0] - epsilon), second


def active(constraints: Iterable[Constraint]) -> list[Constraint]:
    """The constraints that matter, epsilon falling and delta rising; empty when nothing is promised."""
    best: dict[float, float] = {}
    for epsilon, delta in constraints:
        if delta < 1.0:
            best[epsilon] = min(delta, best.get(epsilon, 1.0))
    kept: list[Constraint] = []
    for point in sorted(best.items(), reverse=True):
        if kept and point[1] <= kept[-1][1]:
            kept = [c for c in kept if c[1] < point[1]]  # a smaller epsilon with no larger delta wins outright
        # the smallest delta is the reveal mass: it goes only when it is truly idle
        while kept and _weight(kept, point) <= (INACTIVE if len(kept) > 1 else 0.0):
            kept.pop()
        kept.append(point)
    while len(kept) > 1 and _weight(kept, None) <= INACTIVE:
        kept.pop()
    return kept


def _weight(kept: list[Constraint], below: Constraint | None) -> float:
    first, second = _terms(kept[-2] if len(kept) > 1 else None, kept[-1], below)
    return first - second


def weights(kept: list[Constraint]) -> tuple[float, list[float], float]:
    """Reveal weight, response weights and the worst relative error of a response weight."""
    out, worst = [], 0.0
    for j, here in enumerate(kept):
        above = kept[j - 1] if j else None
        below = kept[j + 1] if j + 1 < len(kept) else None
        first, second = _terms(above, here, below)
        out.append(first - second)
        worst = max(worst, 16 * UNIT * (first + second) / (first - second))
    return kept[0][1], out, worst


def constrained_pair(constraints: Iterable[Constraint]) -> FinitePair:
    """The tight pair of a set of constraints, on a common lattice when the epsilons are commensurable decimals."""
    kept = active(constraints)
    if not kept:
        return nothing_hidden()
    reveal, mass, relative = weights(kept)
    losses: list[float] = []
    logs: list[float] = []
    for (epsilon, _), w in zip(kept, mass, strict=True):
        if epsilon == 0:
            losses.append(0.0)
            logs.append(math.log(w))
        else:
            low = math.log1p(math.exp(-epsilon))
            losses += [-epsilon, epsilon]
            logs += [math.log(w) - epsilon - low, math.log(w) - low]
    order = np.argsort(losses)
    loss, log_p = np.array(losses)[order], np.array(logs)[order]
    p = np.exp(log_p)
    exact = [Fraction(repr(e)) for e, _ in kept if e > 0]
    unit = reduce(common_divisor, exact) if exact else None
    lattice = None
    if unit is not None and exact[0] / unit <= 10**6:
        signed = [Fraction(repr(abs(x))) / unit * (1 if x >= 0 else -1) for x in loss.tolist()]
        lattice = Lattice(Fraction(0), unit, np.array([int(x) for x in signed], dtype=np.int64), p)
    return FinitePair(
        loss,
        p,
        p[::-1].copy(),
        reveal=reveal,
        vanish=reveal,
        log_p=log_p,
        relative=relative + 8 * UNIT,
        reveal_error=0.0,
        lattice=lattice,
    )


def common_divisor(a: Fraction, b: Fraction) -> Fraction:
    """Greatest common divisor of two positive rationals."""
    numerator = math.gcd(a.numerator * b.denominator, b.numerator * a.denominator)
    return Fraction(numerator, a.denominator * b.denominator)


def _read(value: Any) -> tuple[Constraint, ...]:
    allowed = "a non-empty list of (epsilon, delta) pairs"
    try:
        points = [(e, d) for e, d in value]
    except (TypeError, ValueError):
        raise InvalidParameter("constraints", value, allowed) from None
    if not points:
        raise InvalidParameter("constraints", value, allowed, "with no constraint nothing is promised")
    return tuple((checks.non_negative("epsilon", e), checks.probability("delta", d)) for e, d in points)


@attrs.frozen
class Constraints(Family):
    """A mechanism that satisfies every listed (epsilon, delta) guarantee."""

    kind: ClassVar[str] = "constraints"
    because: ClassVar[str] = (
        "several constraints at once are a mixture of randomized responses "
        "(conjectured by Cadir, Najib and Shkel; proof in the documentation)"
    )
    points: tuple[Constraint, ...] = attrs.field(converter=_read)

    def pairs(self) -> dict[str, Pair]:
        return {"both": constrained_pair(self.points)}

    def group(self, size: int) -> Family:
        """Each constraint scales by itself, and all still hold at once."""
        return Constraints(tuple((e * size, group_delta(e, d, size)) for e, d in self.points))

    def fields(self) -> dict[str, Any]:
        return {"points": [list(point) for point in self.points]}

    def __str__(self) -> str:
        return f"{self.kind}({len(self.points)} points)"


@attrs.frozen
class ProfilePoints(Constraints):
    """A privacy profile known at some points: delta(epsilon_i) <= delta_i, in both directions."""

    kind: ClassVar[str] = "profile"
    because: ClassVar[str] = (
        "a privacy profile at given points is a mixture of randomized responses "
        "(conjectured by Cadir, Najib and Shkel; proof in the documentation)"
    )
