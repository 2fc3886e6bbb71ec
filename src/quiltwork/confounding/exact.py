"""Hockey sticks of finite laws in rational arithmetic.

D(t) = sum_y (p - t q)_+ is convex and piecewise linear in t, with a knot at each ratio p/q: between two knots
D(t) = P_j - t Q_j, where P_j and Q_j sum over the outcomes of larger ratio.

Reference: theory/confounding.md section 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

__all__ = ["odds_for", "stick"]


def stick(p: Sequence[Fraction], q: Sequence[Fraction], odds: Fraction) -> Fraction:
    """The sum of (p - odds q)_+.

    >>> stick([Fraction(1, 2), Fraction(1, 2)], [Fraction(1, 4), Fraction(3, 4)], Fraction(3, 2))
    Fraction(1, 8)
    """
    return sum((max(a - odds * b, Fraction(0)) for a, b in zip(p, q, strict=True)), Fraction(0))


def odds_for(p: Sequence[Fraction], q: Sequence[Fraction], delta: Fraction) -> Fraction | None:
    """The smallest odds >= 1 at which the stick is at most delta; None when there are none.

    >>> odds_for([Fraction(1, 2), Fraction(1, 2)], [Fraction(1, 4), Fraction(3, 4)], Fraction(0))
    Fraction(2, 1)
    """
    above = sum((a for a, b in zip(p, q, strict=True) if b == 0), Fraction(0))
    if above > delta:
        return None
    steps = sorted(((a / b, a, b) for a, b in zip(p, q, strict=True) if b > 0 and a > b), reverse=True)
    below = Fraction(0)
    for index, (_, a, b) in enumerate(steps):
        above, below = above + a, below + b
        least = steps[index + 1][0] if index + 1 < len(steps) else Fraction(1)
        odds = (above - delta) / below
        if odds >= least:
            return odds
    return Fraction(1)
