"""Exact composition of finite laws of the privacy loss."""

import bisect
import itertools
import math

from mpmath.libmp import MPZ

from .numbers import BITS, Refused, mp

TINY = mp.mpf("1e-290")
"""Far more than lattice laws leave out by truncation and fixed-point rounding; smaller answers are refused."""


class Law:
    """Atoms (loss, P mass) and the P mass of outcomes that Q never shows (loss +infinity).

    Q(loss = l) = e^-l P(loss = l); outcomes that only Q shows need no entry.
    """

    def __init__(self, atoms, reveal=0):
        self.atoms = sorted((mp.mpf(loss), mp.mpf(mass)) for loss, mass in atoms if mass)
        self.reveal = mp.mpf(reveal)
        self.least = mp.zero
        self._suffix = None

    @classmethod
    def of_pair(cls, p, q):
        """The loss of P against Q for two lists of probabilities."""
        p, q = [mp.mpf(x) for x in p], [mp.mpf(x) for x in q]
        both = [(mp.log(a / b), a) for a, b in zip(p, q, strict=True) if a and b]
        return cls(both, mp.fsum(a for a, b in zip(p, q, strict=True) if not b))

    def power(self, count):
        """The k-fold sum, by the multinomial theorem."""
        losses, masses = zip(*self.atoms, strict=True)
        powers = [[mass**n for n in range(count + 1)] for mass in masses]
        multiples = [[loss * n for n in range(count + 1)] for loss in losses]
        factorial = [mp.mpf(math.factorial(n)) for n in range(count + 1)]
        atoms = []
        for cuts in itertools.combinations(range(count + len(losses) - 1), len(losses) - 1):
            edges = (-1, *cuts, count + len(losses) - 1)
            counts = [b - a - 1 for a, b in itertools.pairwise(edges)]
            mass, loss = factorial[count], mp.zero
            for i, n in enumerate(counts):
                if n:
                    mass, loss = mass * powers[i][n] / factorial[n], loss + multiples[i][n]
            atoms.append((loss, mass))
        return Law(atoms, 1 - (1 - self.reveal) ** count)

    def __mul__(self, other):
        """The sum of two independent losses."""
        atoms = [(a + b, p * q) for a, p in self.atoms for b, q in other.atoms]
        return Law(atoms, self.reveal + other.reveal - self.reveal * other.reveal)

    def _tails(self):
        if self._suffix is None:
            p, q = self.reveal, mp.zero
            p_tail, q_tail = [p], [q]
            for loss, mass in reversed(self.atoms):
                p, q = p + mass, q + mass * mp.exp(-loss)
                p_tail.append(p)
                q_tail.append(q)
            self._suffix = [loss for loss, _ in self.atoms], p_tail[::-1], q_tail[::-1]
        return self._suffix

    def above(self, epsilon):
        """P(loss > epsilon) and Q(loss > epsilon)."""
        losses, p_tail, q_tail = self._tails()
        i = bisect.bisect_right(losses, mp.mpf(epsilon))
        return p_tail[i], q_tail[i]

    def delta(self, epsilon):
        """The hockey stick P(loss > eps) - e^eps Q(loss > eps)."""
        losses, *_ = self._tails()
        epsilon = mp.mpf(epsilon)
        tail = self.atoms[bisect.bisect_right(losses, epsilon) :]
        if len(tail) <= 40:
            return self.reveal - mp.fsum(mass * mp.expm1(epsilon - loss) for loss, mass in tail)
        p, q = self.above(epsilon)
        return p - mp.exp(epsilon) * q

    def beta(self, alpha):
        """Least type II error: sum the P masses that the best test of size alpha leaves, smallest losses first."""
        losses, _, q_tail = self._tails()
        alpha = mp.mpf(alpha)
        i = bisect.bisect_left(
            q_tail, -alpha, key=lambda q: -q
        )  # q_tail falls; first index with Q(loss >= l_i) <= alpha
        below = mp.fsum(mass for _, mass in self.atoms[:i])
        value = below - mp.exp(losses[i - 1]) * (alpha - q_tail[i]) if i else mp.zero
        if value < self.least:
            raise Refused("beta is smaller than what the law leaves out")
        return value


def response(epsilon, delta=0):
    """The worst (epsilon, delta) pair: atoms at +-epsilon and a reveal."""
    epsilon, delta = mp.mpf(epsilon), mp.mpf(delta)
    up = (1 - delta) / (1 + mp.exp(-epsilon))
    return Law([(epsilon, up), (-epsilon, 1 - delta - up)], delta)


def pair_of(law_atoms, reveal, hidden):
    """P and Q lists of a law with `reveal` seen only under P and `hidden` only under Q."""
    p = [mass for _, mass in law_atoms] + [reveal, mp.zero]
    q = [mass * mp.exp(-loss) for loss, mass in law_atoms] + [mp.zero, hidden]
    return p, q


def subsample(p, q, rate, direction):
    """The pair ((1-r)Q + rP, Q), or its swap for `add`."""
    rate = mp.mpf(rate)
    blend = [(1 - rate) * b + rate * a for a, b in zip(p, q, strict=True)]
    return Law.of_pair(blend, q) if direction == "remove" else Law.of_pair(q, blend)


def mixture(weighted):
    """An observed class: the union of the laws, each scaled by its weight."""
    atoms, reveal = [], mp.zero
    for weight, law in weighted:
        atoms += [(loss, mp.mpf(weight) * mass) for loss, mass in law.atoms]
        reveal += mp.mpf(weight) * law.reveal
    return Law(atoms, reveal)


def envelope(lines):
    """The law whose trade-off function is the upper envelope of lines (intercept, slope <= 0) and zero.

    A linear piece of slope -s over a width w of alpha is an atom at log s with Q mass w and P mass s w.
    """
    lines = [(mp.mpf(a), mp.mpf(b)) for a, b in lines]
    alpha, value = mp.zero, max(a for a, _ in lines)
    slope = max(b for a, b in lines if a == value)
    atoms, reveal = [], 1 - value
    while slope < 0:
        ends = [((a - (value - slope * alpha)) / (slope - b), b) for a, b in [*lines, (mp.zero, mp.zero)] if b > slope]
        end, following = min(ends, key=lambda e: (e[0], -e[1]))
        atoms.append((mp.log(-slope), -slope * (end - alpha)))
        value, alpha, slope = value + slope * (end - alpha), end, following
    return Law(atoms, reveal)


def constraints(points):
    """Several (epsilon, delta) at once: the envelope of their trade-off lines, on both sides of the diagonal."""
    lines = []
    for epsilon, delta in points:
        t, kept = mp.exp(mp.mpf(epsilon)), 1 - mp.mpf(delta)
        lines += [(kept, -t), (kept / t, -1 / t)]
    return envelope(lines)


def discrete_gaussian(sigma, sensitivity=1, digits=320):
    """Integer noise with masses ~ exp(-x^2 / 2 sigma^2) against its shift: (origin, step, masses by rising loss)."""
    sigma = mp.mpf(sigma)
    reach = int(mp.ceil(sigma * mp.sqrt(2 * digits * mp.log(10)))) + sensitivity
    weights = [mp.exp(-(mp.mpf(x) ** 2) / (2 * sigma**2)) for x in range(-reach, reach + 1)]
    total = mp.fsum(weights)
    step = sensitivity / sigma**2  # the loss of the shifted law at x is (2 x + sensitivity) sensitivity / 2 sigma^2
    return (sensitivity - 2 * reach) * step / 2, step, [w / total for w in weights]


def discrete_laplace(scale, sensitivity=1):
    """Integer noise with masses ~ exp(-|x| / scale) against its shift: (origin, step, masses by rising loss)."""
    scale = mp.mpf(scale)
    r = mp.exp(-1 / scale)
    edge = 1 / (1 + r)  # mass of {x <= 0}
    inner = [(1 - r) / (1 + r) * r**x for x in range(1, sensitivity)]
    masses = [edge, *inner, edge * r**sensitivity]
    return -sensitivity / scale, 2 / scale, masses[::-1]


def lattice(origin, step, masses, count=1):
    """The k-fold sum of a lattice law, by one power of a big integer that holds the polynomial (Kronecker)."""
    origin, step = mp.mpf(origin), mp.mpf(step)
    bits = 5 * BITS
    slot = bits * 2 + 64
    coefficients = [int(mp.ldexp(m, bits)) for m in masses]
    rising = _power(coefficients, count, slot, bits)
    law = Law((count * origin + n * step, mp.ldexp(mp.mpf(c), -bits)) for n, c in enumerate(rising) if c)
    law.least = TINY
    return law


def _power(coefficients, count, slot, bits):
    """The polynomial to a power, rescaled after each product; errors stay below count 2**-bits of the total mass."""
    result = None
    while count:
        if count & 1:
            result = coefficients if result is None else _product(result, coefficients, slot, bits)
        count >>= 1
        if count:
            coefficients = _product(coefficients, coefficients, slot, bits)
    return result


def _product(a, b, slot, bits):
    packed = _pack(a, slot) * _pack(b, slot)
    size, width = len(a) + len(b) - 1, slot // 8
    raw = int(packed).to_bytes(size * width + width, "little")
    return [int.from_bytes(raw[i * width : (i + 1) * width], "little") >> bits for i in range(size)]


def _pack(coefficients, slot):
    raw = b"".join(int(c).to_bytes(slot // 8, "little") for c in coefficients)
    return MPZ(int.from_bytes(raw, "little"))  # GMP where present
