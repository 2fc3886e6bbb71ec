"""Compositions of explicit laws on a few outcomes, in exact rationals: outcomes of one likelihood ratio are one."""

import itertools
from fractions import Fraction

from tests.truth.numbers import mp

DIGITS = 400  # bits beyond the usual: what p - t q may lose


def number(fraction):
    """A rational to working precision."""
    return mp.mpf(fraction.numerator) / fraction.denominator


class Composition:
    """The joint law of independent releases [(p, q, count), ...]."""

    def __init__(self, releases):
        joint, hidden = {Fraction(1): (Fraction(1), Fraction(1))}, [Fraction(1), Fraction(1)]
        for p, q, count in releases:
            p, q = [Fraction(x) for x in p], [Fraction(x) for x in q]
            one = {}
            for a, b in zip(p, q, strict=True):
                if a and b:
                    x, y = one.get(a / b, (0, 0))
                    one[a / b] = x + a, y + b
            for side, (mine, other) in enumerate(((p, q), (q, p))):
                hidden[side] *= (sum(mine) - sum(a for a, b in zip(mine, other, strict=True) if not b)) ** count
            for _ in range(count):
                following = {}
                for (r, (a, b)), (s, (c, d)) in itertools.product(joint.items(), one.items()):
                    x, y = following.get(r * s, (0, 0))
                    following[r * s] = x + a * c, y + b * d
                joint = following
        self.atoms = sorted((ratio, *masses) for ratio, masses in joint.items())
        self.reveal, self.vanish = 1 - hidden[0], 1 - hidden[1]

    def swapped(self):
        """The same test with the worlds exchanged."""
        other = object.__new__(Composition)
        other.atoms = sorted((1 / ratio, q, p) for ratio, p, q in self.atoms)
        other.reveal, other.vanish = self.vanish, self.reveal
        return other

    @property
    def losses(self):
        """Attained finite losses, ascending, as doubles."""
        return [float(mp.log(number(ratio))) for ratio, _, _ in self.atoms]

    def stick(self, epsilon):
        """sum (p - e^eps q)+ without the reveal mass: positive terms only."""
        with mp.extraprec(DIGITS):
            more = mp.expm1(mp.mpf(epsilon))  # t - 1: tiny epsilons keep their digits
            terms = (number(p - q) - more * number(q) for ratio, p, q in self.atoms if number(ratio - 1) > more)
            return mp.fsum(terms)

    def delta(self, epsilon):
        """The hockey stick."""
        return number(self.reveal) + self.stick(epsilon)

    def complement(self, epsilon):
        """sum min(p, e^eps q)."""
        with mp.extraprec(DIGITS):
            t = mp.exp(mp.mpf(epsilon))
            return mp.fsum(min(number(p), t * number(q)) for _, p, q in self.atoms)

    def corners(self):
        """Levels (alpha, beta) of the tests that reject above a threshold, alpha rising."""
        alpha, beta = Fraction(0), sum((p for _, p, _ in self.atoms), Fraction(0))
        found = [(alpha, beta)]
        for _, p, q in reversed(self.atoms):
            alpha, beta = alpha + q, beta - p
            found.append((alpha, beta))
        return found

    def beta(self, alpha):
        """The best test of this level, randomised at its threshold."""
        left, beta = Fraction(alpha), sum((p for _, p, _ in self.atoms), Fraction(0))
        for _, p, q in reversed(self.atoms):
            if q > left:
                return beta - p * left / q
            left, beta = left - q, beta - p
        return beta
