"""Formulas of seed 001 exactly as printed, without repairs: each test beside shows where one fails."""

import itertools
import math

from scipy.special import ndtr, ndtri


def sensitivity_of_the_identity(conversion, first, second):
    """Section III-B: the sensitivity of id from (D, d1) to (D, d2) is dist(G1, G2)."""
    return conversion(first, second)


def product_of_sensitivities(first, second):
    """Propositions III.6 and III.8, with the usual 0 * inf = 0."""
    return 0.0 if 0 in (first, second) else first * second


def private(first, second, distance):
    """Definition III.2 for the laws of two databases, output by output, with the usual 0 * inf = 0."""
    grown = math.exp(distance)
    return all(p <= product_of_sensitivities(grown, q) for p, q in zip(first, second, strict=True))


def partition(parts):
    """Section IV-B: p_i(D) and p_j(D) meet for all i != j."""
    return all(set(one) & set(two) for one, two in itertools.combinations(parts, 2))


def compatible(parts, others):
    """Section IV-C, in words: at most one j such that p_i(D) = p_i(D') for all i != j."""
    count = range(len(parts))
    found = [j for j in count if all(parts[i] == others[i] for i in count if i != j)]
    return len(found) <= 1


def compatible_by_count(parts, others):
    """Section IV-C, after 'i.e.': I_p(D, D') = 1."""
    return sum(one != two for one, two in zip(parts, others, strict=True)) == 1


def hospitals(count):
    """Example IV.5: the subsets of at least three hospitals."""
    return [
        frozenset(one) for size in range(3, count + 1) for one in itertools.combinations(range(count), size)
    ]  # fmt: skip


def corollary_iv13(epsilons):
    """Parts of a table under replace-one: the largest sum over i != j."""
    return max(epsilons[i] + epsilons[j] for i, j in itertools.permutations(range(len(epsilons)), 2))


def corollary_iv15(bounded_distance, first, second, symmetric_difference):
    """A bounded mechanism that reads f(D) alone."""
    return min(bounded_distance, symmetric_difference(first, second))


def growth(distance, epsilon):
    """[d]_epsilon, before Theorem VI.3."""
    return (math.exp(epsilon * distance) - 1) / (math.exp(epsilon) - 1)


def theorem_vi7_delta(distances, seen, deltas, pair):
    """delta^f: the least delta over all pairs at the distance d^f, whatever f makes of them."""
    count = range(len(distances))
    return min(deltas[i, j] for i, j in itertools.product(count, repeat=2) if distances[i, j] == seen[pair])


def sum_after_vi15(rhos, distance):
    """After Theorem VI.15: the sum of d_i^2 where d_i = rho_i d^2."""
    return sum((rho * distance**2) ** 2 for rho in rhos)


def gaussian_trade_off(mu, alpha):
    """G_mu, after Definition VI.18; Definition VI.19 takes its limit."""
    return float(ndtr(ndtri(1 - alpha) - mu))


def theorem_vi23(epsilons):
    """d_i-DP mechanisms are together Gaussian private with this mu."""
    return math.sqrt(sum(epsilon**2 for epsilon in epsilons))


def renyi(p, q, alpha):
    """Definition VI.9."""
    return math.log(sum(x**alpha * y ** (1 - alpha) for x, y in zip(p, q, strict=True))) / (alpha - 1)


def weak_triangle(p, q, r, alpha, k, divergence=renyi):
    """Section VI-B: the right side of the weak triangle inequality."""
    return k * alpha / (k * alpha - 1) * divergence(p, q, (k * alpha - 1) / (k - 1)) + divergence(q, r, k * alpha)


def theorem_vi24(mus, distances, apart=None):
    """Equation (VI.2): both sides, for the distances of the parts and that of the tables.

    The tables are as far apart as the parts together, unless it is said: a record in no part moves them alone.
    """
    left = math.sqrt(sum((mu * d) ** 2 for mu, d in zip(mus, distances, strict=True)))
    return left, max(mus) * (sum(distances) if apart is None else apart)
