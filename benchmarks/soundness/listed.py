"""Two laws in whole numbers over a power of two: hockey sticks, trade-offs and compositions without rounding.

Nothing of the library is used here. e^epsilon is irrational: it lies between two whole numbers over a power of two that
share 75 digits.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from fractions import Fraction

from mpmath.libmp import from_float, mpf_exp

from benchmarks.soundness.claims import EQUAL, NAN, Check

Outcomes = Sequence[Sequence[int]]  # (weight under P, weight under Q)
DIGITS = 256  # binary
ROUNDINGS = Fraction(1, 1 << 50)


def exp_ends(epsilon: float) -> tuple[int, int, int]:
    """(a, b, e) with a 2^e < e^epsilon < b 2^e."""
    if epsilon == 0:
        return 1, 1, 0
    _, man, exponent, _ = mpf_exp(from_float(epsilon), DIGITS, "n")
    more = max(DIGITS - man.bit_length(), 0)
    man, exponent = int(man) << more, exponent - more
    return man - 2, man + 2, exponent


def composed(parts: Iterable[tuple[Outcomes, int, int]], most: int = 600) -> Listed | None:
    """Independent outcomes (law, bits, count), equal ratios merged; None when there are too many of them."""
    found, bits = {Fraction(1): (1, 1)}, 0
    gone = [0, 0]  # only P, only Q: those are summed apart
    for law, size, count in parts:
        shown = [(p, q) for p, q in law if p and q]
        for _ in range(count):
            if len(found) * len(shown) > 4 * most:
                return None
            following: dict[Fraction, tuple[int, int]] = {}
            for ratio, (a, b) in found.items():
                for p, q in shown:
                    key = ratio * Fraction(p, q)
                    first, second = following.get(key, (0, 0))
                    following[key] = first + a * p, second + b * q
            found, bits = following, bits + size
    unit = 1 << bits
    gone = [unit - sum(both[side] for both in found.values()) for side in (0, 1)]
    atoms = [both for _, both in sorted(found.items(), reverse=True)]
    return Listed([*([(gone[0], 0)] if gone[0] else []), *atoms, *([(0, gone[1])] if gone[1] else [])], bits)


class Listed:
    """Outcomes by falling ratio p/q; the unit of both weights is 2^bits."""

    def __init__(self, outcomes: Outcomes, bits: int) -> None:
        self.outcomes, self.bits = [(int(p), int(q)) for p, q in outcomes if p or q], bits
        self.above = [(0, 0)]
        for p, q in self.outcomes:
            a, b = self.above[-1]
            self.above.append((a + p, b + q))

    @classmethod
    def of(cls, law: Outcomes, bits: int) -> Listed:
        """One release."""
        found = composed([(law, bits, 1)])
        assert found is not None
        return found

    @property
    def mirrored(self) -> Listed:
        """Q against P."""
        return Listed([(q, p) for p, q in reversed(self.outcomes)], self.bits)

    @property
    def revealed(self) -> Fraction:
        """delta at infinity."""
        return Fraction(sum(p for p, q in self.outcomes if q == 0), 1 << self.bits)

    def stick(self, epsilon: float) -> tuple[int, int, int]:
        """(low, high, shift): delta at epsilon lies in [low, high] / 2^shift."""
        if math.isinf(epsilon):
            value = sum(p for p, q in self.outcomes if q == 0) if epsilon > 0 else 1 << self.bits
            return value, value, self.bits
        low, high, exponent = exp_ends(epsilon)
        left, right = max(-exponent, 0), max(exponent, 0)
        first, last = 0, len(self.outcomes)
        while first < last:
            middle = (first + last) // 2
            p, q = self.outcomes[middle]
            if (p << left) > (low << right) * q:
                first = middle + 1
            else:
                last = middle
        a, b = self.above[first]
        top = a << left
        return max(0, top - (high << right) * b), max(0, top - (low << right) * b), self.bits + left

    def beta(self, alpha: float) -> Fraction:
        """The least type II error at this type I error (Neyman and Pearson)."""
        unit, left = 1 << self.bits, Fraction(alpha) * (1 << self.bits)
        first, last = 0, len(self.outcomes)
        while first < last:  # the first outcome that does not fit whole
            middle = (first + last) // 2
            if self.above[middle + 1][1] <= left:
                first = middle + 1
            else:
                last = middle
        a, b = self.above[first]
        power = Fraction(a)
        if first < len(self.outcomes):
            p, q = self.outcomes[first]
            power += (left - b) * Fraction(p, q)
        return 1 - power / unit


def below(number: float, value: int, shift: int) -> int:
    """value / 2^shift - number, times a power of two that is told by nobody: its sign counts."""
    top, bottom = number.as_integer_ratio()
    return (value << (bottom.bit_length() - 1)) - (top << shift)


def worst_stick(laws: Sequence[Listed], epsilon: float) -> tuple[int, int, int]:
    """The largest of several."""
    found = [law.stick(epsilon) for law in laws]
    if len(found) == 1:
        return found[0]
    shift = max(one[2] for one in found)
    wide = [(low << (shift - s), high << (shift - s)) for low, high, s in found]
    return max(low for low, _ in wide), max(high for _, high in wide), shift


def delta_check(claim: str, laws: Sequence[Listed], epsilon: float, lower: float, upper: float, note: str) -> Check:
    """A bracket of delta against the truth; the margin is that of the upper end."""
    low, high, shift = worst_stick(laws, epsilon)
    under, over = below(lower, high, shift), -below(upper, low, shift)
    holds = lower <= upper and under >= 0 and over >= 0
    margin, width = NAN, NAN
    if low:
        _, bottom = upper.as_integer_ratio()
        fine = bottom.bit_length() - 1
        margin = _part(over, (high - low) << fine, low << fine)
        size = low / (1 << shift)
        width = (upper - lower) / size if size else NAN
    return Check(claim, holds, margin, note if holds else f"{note}, said [{lower!r}, {upper!r}]", width)


def epsilon_check(claim: str, laws: Sequence[Listed], delta: float, lower: float, upper: float, note: str) -> Check:
    """epsilon(delta) lies in the bracket iff delta(lower) >= delta (or lower = 0) and delta(upper) <= delta.

    The margin is that of the upper end, as a part of delta. At the reveal mass itself deltas and masses are read as
    they are typed, which differs from their doubles by roundings.
    """
    asked, holds, margin = Fraction(delta), lower <= upper and upper >= 0, NAN
    revealed = max(law.revealed for law in laws)
    room = asked * ROUNDINGS if abs(asked - revealed) <= asked * ROUNDINGS else Fraction(0)
    if math.isinf(lower):
        holds = holds and revealed + room > asked
    elif lower > 0:
        _, high, shift = worst_stick(laws, lower)
        holds = holds and below(delta, high, shift) >= 0
    if math.isfinite(upper):
        low, high, shift = worst_stick(laws, upper)
        gap = -below(delta, low, shift)
        holds = holds and (gap >= 0 or Fraction(low, 1 << shift) <= asked + room)
        top, bottom = delta.as_integer_ratio()
        margin = _part(gap, (high - low) * bottom, top << shift)
    width = (upper - lower) / upper if math.isfinite(upper) and upper > 0 else NAN
    return Check(claim, holds, margin, note if holds else f"{note}, said [{lower!r}, {upper!r}]", width)


def _part(gap: int, unknown: int, size: int) -> float:
    """A gap beyond what is not known of the truth, over its size."""
    part = gap / size if size and gap > unknown else 0.0
    return part if part > EQUAL else NAN


def beta_check(claim: str, laws: Sequence[Listed], alpha: float, lower: float, upper: float, note: str) -> Check:
    """A bracket of beta against the truth; the margin is that of the lower end."""
    value = min(law.beta(alpha) for law in laws)
    under, over = value - Fraction(lower), Fraction(upper) - value
    holds = lower <= upper and under >= 0 and over >= 0
    margin = float(under / value) if value and under > 0 else NAN
    width = (upper - lower) / float(value) if value > Fraction(1, 10**300) else NAN
    return Check(claim, holds, margin, note if holds else f"{note}, said [{lower!r}, {upper!r}]", width)
