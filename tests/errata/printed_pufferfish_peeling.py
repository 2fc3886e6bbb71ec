"""Section 7.1.3 of seed 003: what K rounds of the exponential mechanism cost, by enumeration."""

import itertools
import math


def peeled(counts, exponent, order):
    """log of the probability that peeling gives this order."""
    left, total = dict(enumerate(counts)), 0.0
    for category in order:
        weights = {c: math.exp(exponent * n) for c, n in left.items()}
        total += math.log(weights[category] / sum(weights.values()))
        del left[category]
    return total


def worst_of_peeling(counts, exponent, k):
    """The largest loss between these counts and all with one entry moved, over every order."""
    worst = 0.0
    for source, target in itertools.permutations(range(len(counts)), 2):
        moved = list(counts)
        moved[source], moved[target] = moved[source] - 1, moved[target] + 1
        for order in itertools.permutations(range(len(counts)), k):
            worst = max(worst, abs(peeled(moved, exponent, order) - peeled(counts, exponent, order)))
    return worst
