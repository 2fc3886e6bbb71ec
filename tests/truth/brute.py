"""The definitions themselves, on explicit small laws, in exact rationals."""

import itertools
import math
from fractions import Fraction


def product_law(*pairs):
    """Every joint outcome of independent finite pairs as (P mass, Q mass)."""
    for outcome in itertools.product(*(list(zip(p, q, strict=True)) for p, q in pairs)):
        yield math.prod(p for p, _ in outcome), math.prod(q for _, q in outcome)


def hockey_stick(outcomes, t):
    """sum (p - t q)+ over all outcomes."""
    t = Fraction(t)
    return sum((max(p - t * q, Fraction(0)) for p, q in outcomes), Fraction(0))


def trade_off(outcomes, alpha):
    """Least type II error at type I error alpha: spend alpha on the largest likelihood ratios first."""
    outcomes = [pq for pq in outcomes if any(pq)]
    outcomes.sort(key=lambda pq: Fraction(pq[1], pq[0]) if pq[0] else Fraction(10) ** 1000)
    beta, left = sum((p for p, _ in outcomes), Fraction(0)), Fraction(alpha)
    for p, q in outcomes:
        if q <= left:
            beta, left = beta - p, left - q
        else:
            return beta - p * left / q
    return beta
