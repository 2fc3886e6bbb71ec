"""Costs counted in terms: Theorem 3 as printed, a transform, and the recurrence of the engine."""

import math
from fractions import Fraction

from tests.errata import printed


def terms_of_theorem_3(k):
    """Terms that the printed theorem looks at for eps = (.3, .15): every slope against every (a, b, c, d).

    The epsilons are exact here, so that no slope is lost.
    """
    return len(printed.theorem_3_slopes(Fraction(3, 10), Fraction(3, 20), k)) * math.comb(k + 3, 3)


def terms_of_a_transform(k):
    """Both epsilons are multiples of .15, so the composed loss lives on 4k + 1 points: forward, power, back."""
    length = 4 * k + 1
    return 2 * length * math.ceil(math.log2(length)) + length


def terms_of_the_recurrence(k):
    """The engine's lattice for two constraints: one step for each cell (u, v)."""
    return (k + 1) ** 2
