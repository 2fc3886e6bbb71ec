"""Composition without cleverness: dictionaries of losses and masses, 50 digits."""

import itertools
from fractions import Fraction

from tests.losses.laws import mp


def convolution(parts):
    """The law of a sum: parts are (atoms, count), atoms are (loss, mass); losses are merged when equal."""
    total = {mp.zero: mp.one}
    for atoms, count in parts:
        for _ in range(count):
            following = {}
            for (x, p), (y, q) in itertools.product(total.items(), atoms):
                following[x + y] = following.get(x + y, mp.zero) + p * q
            total = following
    return sorted(total.items())


def stick(law, epsilon):
    """E[(1 - e^(eps - S))+]."""
    epsilon = mp.mpf(epsilon)
    return mp.fsum(-mass * mp.expm1(epsilon - loss) for loss, mass in law if loss > epsilon)


def complement(law, epsilon):
    """E[min(1, e^(eps - S))]."""
    epsilon = mp.mpf(epsilon)
    return mp.fsum(mass * (1 if loss <= epsilon else mp.exp(epsilon - loss)) for loss, mass in law)


def product(pairs):
    """All joint outcomes of finite pairs (p, q), as rationals."""
    outcomes = [(Fraction(1), Fraction(1))]
    for p, q in pairs:
        outcomes = [(a * Fraction(x), b * Fraction(y)) for a, b in outcomes for x, y in zip(p, q, strict=True)]
    return outcomes


def hockey_stick(outcomes, t):
    """sum (p - t q)+."""
    return sum((max(p - t * q, Fraction(0)) for p, q in outcomes), Fraction(0))


def trade_off(outcomes, alpha):
    """Neyman-Pearson: spend alpha on the largest likelihood ratios first."""
    ordered = sorted((o for o in outcomes if any(o)), key=lambda o: -(o[0] / o[1]) if o[1] else -(Fraction(10) ** 400))
    beta, left = sum(p for p, _ in ordered), Fraction(alpha)
    for p, q in ordered:
        if q > left:
            return beta - p * left / q
        beta, left = beta - p, left - q
    return beta
