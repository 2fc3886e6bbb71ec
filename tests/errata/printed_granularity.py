"""Formulas of seed 001 exactly as printed, without repairs: each test beside shows where one fails."""

import itertools
import math


def sensitivity_of_the_identity(conversion, first, second):
    """Section III-B: the sensitivity of id from (D, d1) to (D, d2) is dist(G1, G2)."""
    return conversion(first, second)


def product_of_sensitivities(first, second):
    """Propositions III.6 and III.8, with the usual 0 * inf = 0."""
    return 0.0 if 0 in (first, second) else first * second


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


def theorem_vi7_delta(distances, seen, deltas, pair):
    """delta^f: the least delta over all pairs at the distance d^f, whatever f makes of them."""
    count = range(len(distances))
    return min(deltas[i, j] for i, j in itertools.product(count, repeat=2) if distances[i, j] == seen[pair])


def theorem_vi23(epsilons):
    """d_i-DP mechanisms are together Gaussian private with this mu."""
    return math.sqrt(sum(epsilon**2 for epsilon in epsilons))


def renyi(p, q, alpha):
    """Definition VI.9."""
    return math.log(sum(x**alpha * y ** (1 - alpha) for x, y in zip(p, q, strict=True))) / (alpha - 1)


def weak_triangle(p, q, r, alpha, k, divergence=renyi):
    """Section VI-B: the right side of the weak triangle inequality."""
    return k * alpha / (k * alpha - 1) * divergence(p, q, (k * alpha - 1) / (k - 1)) + divergence(q, r, k * alpha)


def theorem_vi24(mus, distances):
    """Equation (VI.2): both sides."""
    left = math.sqrt(sum((mu * d) ** 2 for mu, d in zip(mus, distances, strict=True)))
    return left, max(mus) * sum(distances)
