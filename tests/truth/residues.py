"""Laplace composition in closed form, any count, by residues.

The moment generating function of one release is ((z+1) e^(z e) + z e^(-(z+1) e)) / (2z+1). Its k-th power is a sum
over j of exponentials e^(z (2j-k) e) with rational coefficients whose only poles are 0, -1 and -1/2 (order k), so the
integrals of `contour.py` close around them: terms with (2j-k) e > epsilon to the left, all others to the right, where
there is nothing.
"""

import functools
import math

from .closed import minimum
from .numbers import BITS, mp


class LaplacePower:
    """k releases of a Laplace mechanism with e = sensitivity / scale."""

    def __init__(self, epsilon_0, count):
        self.epsilon_0, self.count = mp.mpf(epsilon_0), count
        self.mean = float(count * (self.epsilon_0 - 1 + mp.exp(-self.epsilon_0)))
        self.deviation = float(self.epsilon_0) * math.sqrt(count)

    def delta(self, epsilon):
        """1 + sum over j of C(k,j) e^(-(k-j) e) Res(-1/2), the 1 being the residue at zero of j = k."""
        k, e = self.count, self.epsilon_0
        with mp.workprec(2 * BITS + 8 * k + int(2 * abs(float(epsilon)))):
            epsilon = mp.mpf(epsilon)
            if epsilon >= k * e:
                return mp.zero
            total = mp.one
            for j in range(k, 0, -1):
                x = (2 * j - k) * e - epsilon
                if x <= 0:
                    break
                total += math.comb(k, j) * mp.exp(-(k - j) * e - x / 2) * _residue(k, j, x)
            return +total

    def beta(self, alpha):
        """sup over t of 1 - delta(log t) - t alpha: a smooth top by golden section, or a corner at an atom."""
        alpha = mp.mpf(alpha)

        def value(epsilon):
            return 1 - self.delta(epsilon) - mp.exp(epsilon) * alpha

        corners = [value((2 * j - self.count) * self.epsilon_0) for j in range(self.count + 1)]
        best = corners.index(max(corners))
        left, right = ((2 * j - self.count) * self.epsilon_0 for j in (max(best - 1, 0), min(best + 1, self.count)))
        middle = (2 * best - self.count) * self.epsilon_0
        smooth = (-minimum(lambda x: -value(x), a, b, 90) for a, b in ((left, middle), (middle, right)) if a < b)
        return max(mp.zero, corners[best], *smooth)


def _residue(k, j, x):
    """[s^(k-1)] of (s+1/2)^(j-1) (s-1/2)^(k-j-1) e^(s x) / 2^k; with s = y/2 the coefficients in y are integers."""
    total, term = mp.zero, mp.one  # term = (x/2)^m / m!
    for m, coefficient in enumerate(_coefficients(k)[j]):
        if m:
            term = term * x / (2 * m)
        if coefficient:
            total += coefficient * term
    return total


@functools.lru_cache(maxsize=64)
def _coefficients(k):
    """For each j the coefficients of y^(k-1-m), m = 0, 1, ..., in 2^(1-k) (y+1)^(j-1) (y-1)^(k-j-1).

    The power of two collects 2^-k from (2z+1)^-k, 2^-(k-2) from the roots +-1/2 and 2^(k-1) from s = y/2.
    """
    table = {}
    for j in range(1, k + 1):
        if j < k:
            rising = [1]
            for root in [1] * (j - 1) + [-1] * (k - j - 1):
                rising = [a * root + b for a, b in zip([*rising, 0], [0, *rising], strict=True)]
        else:  # (y+1)^(k-1) / (y-1) = -(y+1)^(k-1) (1 + y + y^2 + ...): running sums of binomials
            rising, running = [], 0
            for n in range(k):
                running += math.comb(k - 1, n)
                rising.append(-running)
        rising += [0] * (k - len(rising))
        table[j] = [mp.ldexp(mp.mpf(c), 1 - k) for c in reversed(rising[:k])]
    return table
