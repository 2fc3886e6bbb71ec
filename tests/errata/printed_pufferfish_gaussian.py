"""Theorem 9 of seed 003 as printed, and the log-ratio that it is about, integrated: for tests and the gallery."""

import itertools
import math

import numpy as np
from scipy.special import log_ndtr, logsumexp

BOUND, WIDTH = 5.0, 0.1  # gamma and delta of Figure 2b


def log_mass(low, high):
    """log of the mass of a standard normal between two points."""
    swap = low > 0
    low, high = np.where(swap, -high, low), np.where(swap, -low, high)
    return log_ndtr(high) + np.log(-np.expm1(log_ndtr(low) - log_ndtr(high)))


def printed_theorem_9(covariance, entry, told, means=None):
    """The proof's last line: the largest log-ratio over r and r', and over the means that x_L in the box can have."""
    told = list(told)
    weights = np.linalg.solve(covariance[np.ix_(told, told)], covariance[told, entry])
    deviation = math.sqrt(1.0 - covariance[entry, told] @ weights)
    largest = BOUND * np.abs(weights).sum() if means is None else min(means, BOUND * np.abs(weights).sum())
    start = np.linspace(-BOUND, BOUND - WIDTH, 199)
    given = log_mass((start - largest) / deviation, (start + WIDTH - largest) / deviation)
    ratio = given - log_mass(start, start + WIDTH)
    return float(ratio.max() - ratio.min())


def true_ratio(covariance, hidden, told_values, width=WIDTH):
    """log P(x_L | x_i in the top interval) / P(x_L | x_i in the bottom one) under the law on the box.

    One entry besides x_i is hidden at most, and integrated in closed form; the intervals have one mass, by symmetry.
    """
    entry, *rest = hidden
    kept = [entry, *(j for j in range(len(covariance)) if j not in hidden)]
    precision = np.linalg.inv(covariance)
    place, weight = np.polynomial.legendre.leggauss(60)
    sides = []
    for start in (BOUND - width, -BOUND):
        secret = start + width * (place + 1) / 2
        values = np.column_stack([secret, np.tile(told_values, (len(secret), 1))])
        density = -np.einsum("ai,ij,aj->a", values, precision[np.ix_(kept, kept)], values) / 2
        for other in rest:
            own, pull = precision[other, other], values @ precision[kept, other]
            centre, scale = -pull / own, math.sqrt(own)
            density += pull**2 / (2 * own) + log_mass((-BOUND - centre) * scale, (BOUND - centre) * scale)
        sides.append(logsumexp(density, b=weight))
    return float(sides[0] - sides[1])


def worst_vertex(covariance, hidden, width=WIDTH):
    vertices = itertools.product([-BOUND, BOUND], repeat=len(covariance) - len(hidden))
    return max(true_ratio(covariance, hidden, np.array(vertex), width) for vertex in vertices)


def farthest(entry, count, told):
    """Every set of so many entries that no other set is farther from; several if two entries are equally far."""
    far = sorted((abs(other - entry) for other in others(entry, count)), reverse=True)[:told]
    sets = itertools.combinations(others(entry, count), told)
    return [chosen for chosen in sets if sorted((abs(other - entry) for other in chosen), reverse=True) == far]


def others(entry, count):
    return [j for j in range(count) if j != entry]
