"""Several (epsilon, delta) constraints that hold at the same time, and privacy profiles given by points.

The tight pair is an observed-class mixture: a full reveal with weight w_0 = delta_1 and randomized response at each
active epsilon_j with weight w_j, the slope jumps of the lower convex envelope of the points (e^eps, delta) with the
anchor (-1, 1).

Reference: seed 002 Conjecture 1, proved in theory/multi-constraints.md section 2.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import lru_cache, reduce
from typing import Any, ClassVar

import attrs
import numpy as np

from quiltwork import checks
from quiltwork.checks import FloatArray
from quiltwork.errors import InvalidParameter
from quiltwork.losses.dominating_pair import Lattice, Pair
from quiltwork.losses.families.finite import FinitePair
from quiltwork.losses.families.pure import group_delta, nothing_hidden, response_masses
from quiltwork.losses.family import NON_NEGATIVE, NUMBERS, PROBABILITY, Entry, Family, Fields, Rows, entry
from quiltwork.numbers.rounding import UNIT
from quiltwork.numbers.stated import DIGITS, times, typed, typed_decimal

Constraint = tuple[float, float]
Exact = tuple[Decimal, Decimal]
POINTS = Rows(
    "Point",
    about="One (epsilon, delta) statement.",
    entries=(Entry("epsilon", NON_NEGATIVE), Entry("delta", PROBABILITY)),
)
IDLE = Decimal(16 * UNIT)  # a point this little (relative to delta and 1 - delta) below its neighbours' chord may go


def _gone(x: Decimal) -> Decimal:
    """1 - e^-x for x >= 0, also where e^-x is 1 to all digits."""
    if x > Decimal("1e-9"):
        return 1 - (-x).exp()
    return x * (1 - x / 2 * (1 - x / 3 * (1 - x / 4 * (1 - x / 5))))


def _rise(above: Exact | None, here: Exact, below: Exact | None) -> Decimal:
    """How far `here` lies under the chord of its neighbours, over the smaller of delta and 1 - delta.

    Without a neighbour above: its slope jump. Slopes are multiplied by s = e^epsilon of the point, and `below` is the
    anchor (-1, 1) when None.
    """
    epsilon, delta = here
    span = 1 + (-epsilon).exp() if below is None else _gone(epsilon - below[0])
    before = ((1 if below is None else below[1]) - delta) / span
    if above is None:
        return before
    far = _gone(above[0] - epsilon)
    back = (1 - far) / far
    return (before - (delta - above[1]) * back) * span / (1 + span * back) / min(delta, 1 - delta)


def active(constraints: Iterable[Constraint]) -> list[Constraint]:
    """The constraints that matter, epsilon falling and delta rising; empty when nothing is promised."""
    return _envelope(constraints)[0]


def _envelope(constraints: Iterable[Constraint]) -> tuple[list[Constraint], float]:
    """Active constraints, and by how much (relative) leaving out those that rounding made active raises the profile."""
    best: dict[float, float] = {}
    for epsilon, delta in constraints:
        if delta < 1.0:
            best[epsilon] = min(delta, best.get(epsilon, 1.0))
    kept: list[Exact] = []
    left: list[Exact] = []

    def drop_idle(below: Exact | None) -> None:
        # the smallest delta is the reveal mass: it goes only when it is truly idle
        while kept and (rise := _rise(kept[-2] if len(kept) > 1 else None, kept[-1], below)) <= IDLE * (len(kept) > 1):
            point = kept.pop()
            if rise > 0:
                left.append(point)

    with localcontext(prec=DIGITS):
        for epsilon, delta in sorted(best.items(), reverse=True):
            point = typed_decimal(float(epsilon)), typed_decimal(float(delta))
            while kept and kept[-1][1] >= point[1]:  # a smaller epsilon with no larger delta wins outright
                kept.pop()
            drop_idle(point)
            kept.append(point)
        drop_idle(None)
        raised = max((_raised(kept, point) for point in left), default=Decimal(0))
    return [(float(epsilon), float(delta)) for epsilon, delta in kept], float(raised)


def _raised(kept: list[Exact], point: Exact) -> Decimal:
    """How far the profile of the kept points lies above a point left out, relative to delta and 1 - delta."""
    place = sum(epsilon > point[0] for epsilon, _ in kept)
    if place == 0:
        return Decimal(0)  # past the largest epsilon the profile is as low as it gets
    top, least = kept[place - 1]
    end = kept[place][1] if place < len(kept) else Decimal(1)
    span = _gone(top - kept[place][0]) if place < len(kept) else 1 + (-top).exp()
    raised = least + (end - least) * _gone(top - point[0]) / span - point[1]
    return raised / min(point[1], 1 - point[1])


def weights(kept: list[Constraint]) -> tuple[float, list[float]]:
    """Reveal weight and one response weight for each active constraint, rounded once."""
    with localcontext(prec=DIGITS):
        return kept[0][1], [float(weight) for weight in _decimal_weights(kept)]


def _decimal_weights(kept: list[Constraint]) -> list[Decimal]:
    """w_j = (1 + 1/s_j) (before_j - after_j), where s = e^eps and the slopes of the envelope are multiplied by s_j."""
    points = [(typed_decimal(epsilon), typed_decimal(delta)) for epsilon, delta in kept]
    spreads = [1 + (-epsilon).exp() for epsilon, _ in points]
    found, after = [], Decimal(0)
    for j, (epsilon, delta) in enumerate(points):
        if j + 1 == len(points):
            found.append(1 - delta - spreads[j] * after)
            break
        below, more = points[j + 1]
        gone = _gone(epsilon - below)
        before = (more - delta) / gone
        found.append(spreads[j] * (before - after))
        after = before * (1 - gone)
    return found


@lru_cache(maxsize=64)
def constrained_pair(constraints: tuple[Constraint, ...]) -> FinitePair:
    """The tight pair of a set of constraints, on a common lattice when the epsilons are commensurable decimals."""
    kept, raised = _envelope(constraints)
    if not kept:
        return nothing_hidden()
    reveal = kept[0][1]
    atoms: list[tuple[float, float, float]] = []  # loss, mass, log mass
    with localcontext(prec=DIGITS):
        for (epsilon, _), weight in zip(kept, _decimal_weights(kept), strict=True):
            low, high = response_masses(typed_decimal(epsilon), weight)
            log_weight = float(weight.ln())  # the weight itself may be below the smallest double
            log_high = log_weight - math.log1p(math.exp(-epsilon))
            if epsilon == 0:
                atoms.append((0.0, float(weight), log_weight))
            else:
                atoms += [(-epsilon, low, log_high - epsilon), (epsilon, high, log_high)]
    loss, p, log_p = (np.array(column) for column in zip(*sorted(atoms), strict=True))
    return FinitePair(
        loss,
        p,
        p[::-1].copy(),
        reveal=reveal,
        vanish=reveal,
        log_p=log_p,
        relative=UNIT + raised,
        reveal_error=0.0,
        lattice=_lattice(loss, p),
        stated=True,
        stated_masses=(typed(reveal), typed(reveal)),
    )


def _lattice(losses: FloatArray, masses: FloatArray) -> Lattice | None:
    """All losses as multiples of one decimal, unless that is too fine to be of use."""
    exact = [typed(loss) for loss in losses.tolist()]
    units = [loss for loss in exact if loss > 0]
    unit = reduce(common_divisor, units) if units else None
    if unit is None or units[-1] / unit > 10**6:
        return None
    return Lattice(Fraction(0), unit, np.array([int(loss / unit) for loss in exact], dtype=np.int64), masses)


def common_divisor(a: Fraction, b: Fraction) -> Fraction:
    """Greatest common divisor of two positive rationals."""
    numerator = math.gcd(a.numerator * b.denominator, b.numerator * a.denominator)
    return Fraction(numerator, a.denominator * b.denominator)


def _read(value: Any) -> tuple[Constraint, ...]:
    allowed = "a non-empty list of (epsilon, delta) pairs"
    try:
        items = list(value)
    except TypeError:
        raise InvalidParameter("constraints", value, allowed) from None
    if not items:
        raise InvalidParameter("constraints", value, allowed, "with no constraint nothing is promised")
    points = []
    for place, item in enumerate(items, 1):
        where = f"see point {place} of {len(items)}"
        try:
            epsilon, delta = item
        except (TypeError, ValueError):
            raise InvalidParameter("constraints", item, allowed, where) from None
        points.append((checks.loss_bound("epsilon", epsilon, where), checks.probability("delta", delta, where)))
    return tuple(points)


@attrs.frozen
class Constraints(Family):
    """A release that satisfies every listed (epsilon, delta) at once."""

    kind: ClassVar[str] = "constraints"
    because: ClassVar[str] = (
        "several constraints at once are a mixture of randomized responses "
        "(conjectured by Cadir, Najib and Shkel; proof in the documentation)"
    )
    points: tuple[Constraint, ...] = attrs.field(converter=_read, **entry("points", POINTS))

    def pairs(self) -> dict[str, Pair]:
        return {"both": constrained_pair(self.points)}

    def group(self, size: int) -> Family:
        """Each constraint scales by itself, and all still hold at once."""
        return Constraints(tuple((times(size, e), group_delta(e, d, size)) for e, d in self.points))

    @classmethod
    def describe(cls, **entries: Any) -> str:
        points = entries["points"]
        listed = ", ".join(f"({epsilon:g}, {delta:g})" for epsilon, delta in points)
        return f"all of {listed} at once" if len(points) <= 3 else f"{len(points)} constraints at once"

    def __str__(self) -> str:
        return f"{self.kind}({len(self.points)} points)"


@attrs.frozen
class ProfilePoints(Constraints):
    """A release whose privacy profile is known at some points: delta(epsilons[i]) <= deltas[i]."""

    kind: ClassVar[str] = "profile"
    title: ClassVar[str] = "Profile"
    words: ClassVar[str] = "privacy profile at {epsilons} points"
    because: ClassVar[str] = (
        "a privacy profile at given points is a mixture of randomized responses "
        "(conjectured by Cadir, Najib and Shkel; proof in the documentation)"
    )

    @classmethod
    def entries(cls) -> tuple[Entry, ...]:
        return Entry("epsilons", NUMBERS), Entry("deltas", NUMBERS)

    @classmethod
    def from_entries(cls, **entries: Any) -> Family:
        given = entries["epsilons"], entries["deltas"]
        try:
            points = list(zip(*(np.ravel(np.asarray(values, dtype=float)).tolist() for values in given), strict=True))
        except (TypeError, ValueError):
            raise InvalidParameter("epsilons and deltas", given, "two lists of numbers of equal length") from None
        return cls(points)

    @classmethod
    def entries_of(cls, fields: Fields) -> dict[str, Any]:
        epsilons, deltas = zip(*fields["points"], strict=True)
        return {"epsilons": epsilons, "deltas": deltas}

    @classmethod
    def describe(cls, **entries: Any) -> str:
        return cls.words.format(epsilons=len(entries["epsilons"]))
