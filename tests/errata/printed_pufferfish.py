"""Formulas of seed 003, sections 6 and 7 and appendix D, as printed: each test beside shows where one fails."""

import math

import numpy as np


def theorem_8(p, q, size, *, absolute):
    """a*(b) of a binary chain: without absolute values in the text, with them in the appendix."""
    rate = q + p - 1
    zero, one = (1 - q) / (2 - p - q), (1 - p) / (2 - p - q)
    share = zero if q > p else one
    terms = [
        math.log((share + rate**d * (1 - share)) / (share - rate**d * share))
        for d in (math.floor((size + 1) / 2), math.ceil((size + 1) / 2))
    ]
    return sum(map(abs, terms)) if absolute else sum(terms)


def algorithms_1_and_2(curve, epsilon, entries):
    """Lines 1 to 9 of both: the per-entry epsilon."""
    found = math.inf
    for size, influence in curve:
        each = epsilon / entries if influence >= epsilon else (epsilon - influence) / size
        found = min(found, each)
    return found


def definition_7(first, second):
    """The leakage through L over *shared* values, those possible under both secrets; of no shared value, nothing."""
    shared = (first > 0) & (second > 0)
    return float(np.max(np.log(first[shared] / second[shared]), initial=0.0))


def theorem_7(epsilons, influences):
    """The composed epsilon, from the epsilon and the a of each release."""
    return max(influences) + sum(epsilons) - sum(influences)


def smoothed(transition, tau=1e-5):
    """Appendix D.2: tau for every zero, the added mass taken from the other entries of the row in proportion."""
    transition = np.asarray(transition, dtype=float)
    zero = transition == 0
    return np.where(zero, tau, transition * (1 - tau * zero.sum(axis=1, keepdims=True)))


EXAMPLE_D2 = (
    (0.5, 0.0, 0.1666, 0.0555, 0.2777),
    (0.1428, 0.3571, 0.1428, 0.0714, 0.2857),
    (0.0361, 0.0120, 0.4698, 0.1325, 0.3493),
    (0.0, 0.0, 0.0897, 0.4615, 0.4487),
    (0.0125, 0.0251, 0.1006, 0.0911, 0.7704),
)


def top_k_exponent(k, epsilon):
    """Section 7.1.3: epsilon / K in each of K rounds of the exponential mechanism, of which half is the exponent."""
    return epsilon / k / 2


def split_scale(categories, epsilon):
    """Section 7.1.3, MQM: the budget divided evenly over the m counts, Laplace noise of sensitivity 1 on each."""
    return 1 / (epsilon / categories)
