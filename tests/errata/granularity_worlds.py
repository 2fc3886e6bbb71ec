"""Tables small enough to list, their parts, and noisy counts of the parts: what the tests of seed 001 share."""

import itertools
import math
from collections import Counter

from quiltwork.tables.notions.spaces import MetricSpace, Space, add_remove, multisets, replace_one
from quiltwork.tables.papers.small_channels import joint, max_divergence, truncated_geometric

TABLES = multisets("abc", 3)
UNBOUNDED, BOUNDED = Space(TABLES, add_remove), Space(TABLES, replace_one)
ONE, ZERO, APART = (MetricSpace((0, 1), [[0, d], [d, 0]]) for d in (1, 0, math.inf))  # metrics of two points


def unchanged(database):
    return database


def lacking(first, second):
    """Records of the first multiset that the second lacks."""
    return (Counter(first) - Counter(second)).total()


def split(table, values):
    """The partition of a table by the values of its records; records with other values are in no part."""
    return [tuple(x for x in table if x == value) for value in values]


def changes(first, second):
    """How many parts differ."""
    return sum(one != two for one, two in zip(first, second, strict=True))


def noisy_counts(epsilons):
    """One noisy count for each part a, b, ... of every table, independent of each other."""
    return joint(
        [
            [truncated_geometric(table.count(value), 3, epsilon) for table in TABLES]
            for value, epsilon in zip("abc", epsilons, strict=False)
        ]
    )


def worst(space, channel):
    """The largest loss between neighbours."""
    return max(max_divergence(channel[i], channel[j]) for i, j in space.neighbours)


def at_most_three(count):
    """Example IV.5: the subsets of at most three hospitals."""
    return [frozenset(one) for size in range(4) for one in itertools.combinations(range(count), size)]
