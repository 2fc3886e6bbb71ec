"""A composition as a multiset of releases, simplified symbolically before anything is computed."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from decimal import MAX_EMAX, MIN_EMIN, Decimal, localcontext
from fractions import Fraction
from functools import lru_cache

import attrs
import numpy as np

from quiltwork import checks
from quiltwork.checks import FloatArray
from quiltwork.losses.dominating_pair import Pair
from quiltwork.losses.families.finite import FinitePair
from quiltwork.losses.families.gaussian import GaussianPair
from quiltwork.losses.family import NEIGHBORS, Family
from quiltwork.numbers.rounding import UNIT
from quiltwork.numbers.stated import DIGITS, typed, typed_above, typed_below

DIRECTIONS = ("remove", "add")
EXACT_BITS = 1 << 15  # of a composed reveal mass
SUBNORMAL = 1e-310  # what a reveal mass near the smallest double may have lost


@attrs.frozen
class Part:
    """`count` releases of one family."""

    family: Family
    count: int


def merged(parts: Iterable[Part]) -> tuple[Part, ...]:
    """Equal families added up, counts of 0 dropped, order of first appearance kept.

    Of equal ones that stays which knows for which change its sensitivity was worked out.
    """
    counts: dict[Family, int] = {}
    knowing: dict[Family, Family] = {}
    for part in parts:
        if part.count:
            if part.family in counts and part.family.sensitivity_origins() & {*NEIGHBORS}:
                knowing[part.family] = part.family
            counts[part.family] = checks.count("count", counts.get(part.family, 0) + part.count)
    return tuple(Part(knowing.get(family, family), count) for family, count in counts.items())


def telling(parts: Sequence[Part]) -> tuple[Part, ...]:
    """The parts that reveal something at all."""
    return tuple(part for part in parts if not part.family.reveals_nothing)


def is_renyi(part: Part) -> bool:
    """Whether the part is known only by a Rényi bound."""
    return not part.family.has_pair


Counted = Sequence[tuple[Pair, int]]  # dominating pairs, and how often each occurs


@attrs.frozen
class Known:
    """What needs no composition: the reveal mass (delta at epsilon = inf) and the largest finite loss."""

    reveal: tuple[float, float]  # both ends
    jump: tuple[float, float]  # the same to compare with a delta as typed: no epsilon below it, the largest loss at it
    top: float  # past its rounding: beyond it there is nothing but the reveal mass
    plain_top: float  # the same sum as it is computed
    log_top_mass: float  # at least this much P mass (log) sits at the largest loss
    top_room: float  # rounding of the largest loss

    @classmethod
    def of(cls, pairs: Counted) -> Known:
        """Reveal mass 1 - prod (1 - r_j)^k_j, rounded outward, and the largest sum of finite losses."""
        logs = math.fsum(k * math.log1p(-min(pair.reveal, 1.0 - UNIT)) for pair, k in pairs)
        showing = [(pair, k) for pair, k in pairs if pair.reveal > 0]
        masses = [(pair.exact[0], k) for pair, k in showing if pair.exact is not None]
        plain, top = math.fsum(count * pair.high for pair, count in pairs), _largest(pairs)
        if sum(k for _, k in showing) == 1:  # nothing to compose: as exact as the release itself
            reveal, slack = showing[0][0].reveal, showing[0][0].reveal_error
        else:
            reveal = 0.0 - math.expm1(logs)
            wrong = max((pair.reveal_error for pair, _ in showing), default=0.0)
            slack = wrong + 8 * UNIT * (1 + len(pairs)) + 4 * UNIT * sum(k for _, k in showing) * (reveal > 1e-3)
        low = reveal * (1 - slack)
        # below 1e-308 doubles lose digits: only what is above counts as certain
        low = max(low - SUBNORMAL, 0.0) if reveal < 1e-290 else low
        ends = low, min(1.0, reveal * (1 + slack))
        jump = _composed_reveal(tuple(masses)) if len(masses) == len(showing) else ends
        return cls(ends, jump, top, plain, *_top_atom(pairs))

    @property
    def least_top(self) -> float:
        """No more than the largest loss that has mass; 0 where no atom is known to be there."""
        if math.isinf(self.plain_top):
            return self.plain_top
        return max(self.plain_top - self.top_room, 0.0) if math.isfinite(self.log_top_mass) else 0.0

    def epsilon_ends(self, delta: FloatArray) -> tuple[FloatArray, FloatArray] | None:
        """Ends of epsilon for deltas well below the mass m at the largest loss: D(eps) >= m (1 - e^(eps - top)).

        That alone settles epsilon, where every method would need an absurd tilt.
        """
        small = np.log(delta) <= self.log_top_mass - 1e-6
        if self.reveal[1] or not small.any():
            return None
        share = np.exp(np.where(small, np.log(delta) - self.log_top_mass, -1.0))
        low = self.plain_top + np.log1p(-share) - self.top_room
        high = max(self.plain_top * (1 + 4 * UNIT) + self.top_room, 0.0)
        return np.where(small, np.maximum(low, 0.0), 0.0), np.where(small, high, np.inf)

    def least_delta(self, epsilon: FloatArray) -> FloatArray:
        """The same bound on the divergence; 0 where no mass is known to be there."""
        if math.isinf(self.log_top_mass):
            return np.zeros(epsilon.size)
        below = np.minimum(epsilon - self.plain_top + self.top_room, 0.0)
        floor: FloatArray = math.exp(self.log_top_mass) * -np.expm1(below)
        return floor


@lru_cache(maxsize=256)
def _composed_reveal(masses: tuple[tuple[Fraction, int], ...]) -> tuple[float, float]:
    """1 - prod (1 - r_j)^k_j between doubles read as typed: one and the same where a double says it.

    A decimal that nobody could type is not worth all its digits.
    """
    if sum(count * reveal.denominator.bit_length() for reveal, count in masses) <= EXACT_BITS:
        kept = math.prod(((1 - reveal) ** count for reveal, count in masses), start=Fraction(1))
        return typed_below(1 - kept), typed_above(1 - kept)
    finest = min(reveal for reveal, _ in masses)
    digits = DIGITS + finest.denominator.bit_length() // 3
    with localcontext(prec=digits, Emin=MIN_EMIN, Emax=MAX_EMAX):
        logs = [count * (1 - Decimal(r.numerator) / Decimal(r.denominator)).ln() for r, count in masses if r < 1]
        rest = Fraction(max(sum(logs, Decimal(0)), Decimal(-1000)).exp()) if len(logs) == len(masses) else Fraction(0)
    room = Fraction(1, 10 ** (digits - 30))  # the logarithms, times at most 2^53 each, are off by far less
    return max(typed_below(1 - rest - room), 0.0), min(typed_above(1 - rest + room), 1.0)


def _largest(pairs: Counted) -> float:
    """The largest sum of finite losses, past its rounding; of stated losses the number that would be typed for it."""
    if all(isinstance(pair, FinitePair) and pair.stated and pair.whole for pair, _ in pairs):
        return typed_above(sum((count * typed(pair.high) for pair, count in pairs), Fraction(0)))
    top = math.fsum(k * (pair.high + (pair.rounding if math.isfinite(pair.high) else 0.0)) for pair, k in pairs)
    return top + 4 * UNIT * abs(top)


def _top_atom(pairs: Counted) -> tuple[float, float]:
    """Bounded losses with an atom at the top: a lower bound on the log mass of the largest sum, and rounding room."""
    log_mass = 0.0
    for pair, count in pairs:
        if not math.isfinite(pair.high):
            return -math.inf, 0.0
        losses, masses = pair.atoms()
        if not losses.size or losses[-1] < pair.high or masses[-1] <= 0:
            return -math.inf, 0.0
        log_mass += count * (math.log(masses[-1]) - 1e-12)
    room = math.fsum(count * (2 * p.rounding + 64 * UNIT * (abs(p.low) + abs(p.high))) for p, count in pairs)
    return log_mass, room


def mirrored(pairs: Counted) -> Counted:
    """The dominating pairs with the worlds exchanged."""
    return [(pair.swapped(), count) for pair, count in pairs]


def reveal_everything(pairs: Counted) -> bool:
    """Whether some release shows the record for certain."""
    return any(pair.reveal >= 1 for pair, _ in pairs)


def directed(parts: Sequence[Part], optimistic: bool = False) -> dict[str, Counted]:
    """Numerical pairs by direction: {"both": ...}, or {"remove": ..., "add": ...} when the two tests differ.

    All Gaussians become one. A Rényi bound stands for the Gaussian that attains it, and `optimistic` takes the upper
    polygon of a sandwiched trade-off function: both are the lower side of a bracket.
    """
    variances: list[float] = []
    found: list[tuple[dict[str, Pair], int]] = []
    for part in parts:
        family, mu = part.family, part.family.attained_mu
        if mu is not None:
            variances.append(part.count * mu**2)
        else:
            found.append((family.optimistic() if optimistic else family.pairs(), part.count))
    variance = math.fsum(variances)
    if variance > 0:
        found.append(({"both": GaussianPair(math.sqrt(variance))}, 1))
    names = ("both",) if all("both" in pairs for pairs, _ in found) else DIRECTIONS
    return {name: [(pairs.get(name) or pairs["both"], count) for pairs, count in found] for name in names}


def one_sided(parts: Sequence[Part]) -> int:
    """How many releases change when the two worlds are exchanged."""
    return sum(part.count for part in parts if not part.family.symmetric)


def sandwiched(parts: Sequence[Part]) -> bool:
    """Whether some family is known only between two polygons, so that both sides must be composed."""
    return any(part.family.sandwiched for part in parts)


def attained(parts: Sequence[Part]) -> bool:
    """Whether this is one release that attains each test against its pair."""
    return len(parts) == 1 and parts[0].count == 1 and parts[0].family.attained_once


def slackened(parts: Sequence[Part]) -> bool:
    """Whether what is possible is known up to a slack only: its largest loss is then nobody's."""
    return any(part.family.sandwiched and part.family.slack > 0 for part in parts)


def refined(parts: Sequence[Part], step: float) -> tuple[Part, ...]:
    """Functions that leave their accuracy open, held on a grid of this step."""
    return tuple(Part(part.family.refined(step), part.count) for part in parts)


def is_open(part: Part) -> bool:
    """Whether the part is a function that waits for a question to say how finely it must be held."""
    return part.family.is_open
