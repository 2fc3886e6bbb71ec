"""Seed 001: who is a neighbour. Printed statements that fail, and what holds instead."""

import itertools
import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.errata import printed_granularity as printed
from tests.tables import golden

import quiltwork as qw
from quiltwork.tables.channels import (
    gaussian_mu,
    hockey_stick,
    joint,
    max_divergence,
    randomized_response,
    renyi_divergence,
    truncated_geometric,
)
from quiltwork.tables.spaces import (
    MetricSpace,
    Space,
    add_remove,
    closure,
    conversion,
    hamming,
    multisets,
    quotient,
    replace_one,
    sensitivity,
    stability_product,
    symmetric_difference,
)

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


def noisy_counts(epsilons):
    """One noisy count for each part a, b, ... of every table, independent of each other."""
    return joint(
        [
            [truncated_geometric(table.count(value), 3, epsilon) for table in TABLES]
            for value, epsilon in zip("abc", epsilons, strict=False)
        ]
    )


def worst(space, channel):
    return max(max_divergence(channel[i], channel[j]) for i, j in space.neighbours)


# ---- section III


def test_the_sensitivity_of_the_identity_is_printed_backwards():
    """From replace-one to add/remove the identity doubles distances: that is dist(U, B), not dist(B, U) = inf."""
    true = sensitivity(unchanged, BOUNDED, UNBOUNDED)
    assert printed.sensitivity_of_the_identity(conversion, BOUNDED, UNBOUNDED) == math.inf
    assert true == conversion(UNBOUNDED, BOUNDED) == 2


@pytest.mark.parametrize(("middle", "found"), [(APART, (math.inf, 0, 1)), (ZERO, (0, math.inf, 1))])
def test_proposition_iii8_fails_when_zero_times_infinity_is_zero(middle, found):
    first, second = sensitivity(unchanged, ONE, middle), sensitivity(unchanged, middle, ONE)
    both = sensitivity(unchanged, ONE, ONE)
    assert (first, second, both) == found
    assert both > printed.product_of_sensitivities(first, second)
    assert both <= stability_product(first, second)


def test_proposition_iii6_fails_when_zero_times_infinity_is_zero():
    """Two points infinitely far apart: the identity has sensitivity 0, and the response after it still loses 1."""
    channel = [randomized_response(bit, 1.0) for bit in (0, 1)]
    stretch, distance = sensitivity(unchanged, APART, ONE), APART.distances[0, 1]
    loss = max_divergence(*channel)
    assert loss == pytest.approx(ONE.distances[0, 1], rel=1e-14)  # the response is private for the target metric
    assert loss > printed.product_of_sensitivities(stretch, distance) == 0
    assert loss <= stability_product(stretch, distance)


# ---- partitions


def test_partitions_are_printed_with_parts_that_meet():
    """The partition of Example IV.4 by the values of the records is none by the printed definition."""
    parts = split(("a", "b", "b"), "ab")
    assert not printed.partition(parts)
    assert all(not set(one) & set(two) for one, two in itertools.combinations(parts, 2))


def test_compatibility_in_words_lets_every_swap_pass():
    """No j at all is 'at most one j': Theorem IV.12 would promise max = 1 where swaps lose 1.7."""
    epsilons = golden.inputs("IV.13")["eps"]
    cut = [split(table, "abc") for table in TABLES]
    assert all(printed.compatible(cut[i], cut[j]) for i, j in BOUNDED.neighbours)
    assert worst(BOUNDED, noisy_counts(epsilons)) == pytest.approx(1.7, rel=1e-12)
    # as corrected: at most one part changes, which holds for add/remove and there gives the maximum
    changed = {space: {changes(cut[i], cut[j]) for i, j in space.neighbours} for space in (UNBOUNDED, BOUNDED)}
    assert changed == {UNBOUNDED: {1}, BOUNDED: {2}}
    assert worst(UNBOUNDED, noisy_counts(epsilons)) == pytest.approx(max(epsilons), rel=1e-12)


def changes(first, second):
    return sum(one != two for one, two in zip(first, second, strict=True))


def test_compatibility_as_printed_refuses_records_outside_all_parts():
    """Parts a and b, and a record c: no part changes, both printed forms say no, and the bound holds all the same."""
    cut = [split(table, "ab") for table in TABLES]
    outside = [(i, j) for i, j in UNBOUNDED.neighbours if changes(cut[i], cut[j]) == 0]
    assert outside
    for i, j in outside:
        assert not printed.compatible(cut[i], cut[j])
        assert not printed.compatible_by_count(cut[i], cut[j])
    assert max(changes(cut[i], cut[j]) for i, j in UNBOUNDED.neighbours) <= 1
    assert worst(UNBOUNDED, noisy_counts((1.0, 0.7))) == pytest.approx(1.0, rel=1e-12)


def test_equation_iv1_does_not_follow_from_compatibility():
    """Each step changes one of two parts, and the distances seen by the parts sum to 4, not 3; by chains they do."""
    wanted = golden.inputs("IV.1 equation")
    space = Space([tuple(rows) for rows in wanted["class"]], hamming)
    i, j = wanted["pair"]
    assert all(changes(space.databases[a], space.databases[b]) <= 1 for a, b in space.neighbours)
    labels = list(zip(*space.databases, strict=True))
    seen = [quotient(space.distances, label) for label in labels]
    chained = [closure(space.distances, label) for label in labels]
    assert sum(one[i, j] for one in seen) == 4 > space.distances[i, j] == 3
    assert seen[0][0, 3] > seen[0][0, 1] + seen[0][1, 3]  # no triangle inequality
    assert np.all(sum(chained) <= space.distances)
    assert sum(one[i, j] for one in chained) == 3


def test_distances_of_parts_may_sum_to_less():
    """Section IV-C prints an equality; with a record outside all parts the sum over parts is smaller."""
    cut = [split(table, "ab") for table in TABLES]
    parts = [Space(multisets(value, 3), add_remove) for value in "ab"]
    sums = np.array(
        [
            [
                sum(
                    part.distances[part.place(one), part.place(two)]
                    for part, one, two in zip(parts, first, second, strict=True)
                )
                for second in cut
            ]
            for first in cut
        ]
    )
    assert np.all(sums <= UNBOUNDED.distances)
    assert np.any(sums < UNBOUNDED.distances)


# ---- examples and corollaries of section IV

NEAR, FAR = (0.0, 0.0), (8.0, 0.0)  # hospitals, eight diameters apart
DISTRICTS = [[NEAR, (1.0, 0.0)], [FAR, (9.0, 0.0)]]


def closest(table, hospital, district):
    return min((place for place in table if place in district), key=lambda place: math.dist(place, hospital))


def test_example_iv2_bounds_the_wrong_distance():
    """The middle term 2 d_inf is 18 for neighbours, the right one 2 L is 2; the sum itself is at most d + 2 L."""
    diameter = 1.0
    tables = [
        table
        for table in multisets([place for district in DISTRICTS for place in district], 4)
        if all(set(table) & set(district) for district in DISTRICTS)
    ]
    largest, swapped = 0.0, 0.0
    for first, second in itertools.product(tables, repeat=2):
        steps = symmetric_difference(first, second)
        moved = [
            math.dist(closest(first, hospital, district), closest(second, hospital, district))
            for hospital, district in zip((NEAR, FAR), DISTRICTS, strict=True)
        ]
        total = steps + sum(moved)  # the two counts see every changed record once
        assert total <= steps + 2 * diameter
        if steps == 1:
            across = max(math.dist(x, y) for x in first for y in second)
            assert across > diameter  # so that the printed chain breaks for every pair of neighbours
            largest = max(largest, total)
        if replace_one(first, second):
            swapped = max(swapped, total)
    golden.agree(
        "IV.2",
        {
            "paper_bound_d1": 1 + 2 * diameter,
            "touch_bound_unbounded": largest,  # one step touches one district
            "bounded_swap_across": swapped,
        },
    )


def test_example_iv2_has_no_closest_ambulance_in_an_empty_district():
    with pytest.raises(ValueError, match="empty"):
        closest((FAR,), NEAR, DISTRICTS[0])


def test_example_iv2_has_two_closest_ambulances_at_a_tie():
    """The minimum is attained twice; which one is told depends on the order of the records, which a table has not."""
    hospital, district = (0.5, 0.0), [(0.0, 0.0), (1.0, 0.0)]
    assert math.dist(district[0], hospital) == math.dist(district[1], hospital)
    assert {closest(table, hospital, district) for table in itertools.permutations(district)} == set(district)


@pytest.mark.parametrize("count", [4, 5, 7])
def test_example_iv5_with_at_least_three_hospitals_touches_all(count):
    """The printed subsets make one record count everywhere; with at most three the bound of the example is right."""
    assert max(len(record) for record in printed.hospitals(count)) == count > 3
    assert max(len(record) for record in at_most_three(count)) == golden.ENTRIES["IV.5"]["expected"]["unbounded"]


def at_most_three(count):
    return [frozenset(one) for size in range(4) for one in itertools.combinations(range(count), size)]


def test_corollary_iv13_has_no_value_for_one_part():
    """The maximum over i != j is empty; a swap inside the one part loses epsilon_1."""
    (epsilon,) = golden.inputs("IV.13 k=1")["eps"]
    with pytest.raises(ValueError, match="empty"):
        printed.corollary_iv13([epsilon])
    assert worst(BOUNDED, noisy_counts([epsilon])) == pytest.approx(epsilon, rel=1e-14)
    three = golden.inputs("IV.13")["eps"]  # where there are two, it is right and attained
    assert worst(BOUNDED, noisy_counts(three)) == pytest.approx(printed.corollary_iv13(three), rel=1e-14)


def test_corollary_iv13_gains_nothing_for_equal_parts():
    """Equal epsilons: the bound is what add/remove and dist(U, B) = 2 give; with (1, 0.7, 0.3) it is less."""
    for epsilons, gain in (((0.7, 0.7, 0.7), 0.0), ((1.0, 0.7, 0.3), 0.3)):
        converted = conversion(UNBOUNDED, BOUNDED) * worst(UNBOUNDED, noisy_counts(epsilons))
        assert converted - printed.corollary_iv13(epsilons) == pytest.approx(gain, abs=1e-12)


def test_theorem_iv12_applies_where_iv6_does_not():
    """One record, a or b, and the part of the a's: a swap takes its only row away, and a noisy count is still 1-DP."""
    tables, part = Space([("a",), ("b",)], replace_one), Space([(), ("a",)], replace_one)
    assert sensitivity(lambda table: split(table, "a")[0], tables, part) == math.inf  # IV.6 and III.6 say nothing
    assert all(changes(split(tables.databases[i], "a"), split(tables.databases[j], "a")) <= 1
               for i, j in tables.neighbours)  # fmt: skip
    assert worst(
        tables, [truncated_geometric(table.count("a"), 1, 1.0) for table in tables.databases]
    ) == pytest.approx(1)


def through_a_filter(kept):
    """For tables of up to two records: true d^f with room to pad, the printed distance, and the corrected one."""
    space = Space(multisets("abc", 4), replace_one)
    seen = [tuple(x for x in table if x in kept) for table in space.databases]
    true = quotient(space.distances, seen)
    small = [i for i, table in enumerate(space.databases) if len(table) <= 2]
    return [
        (
            true[i, j],
            printed.corollary_iv15(space.distances[i, j], seen[i], seen[j], symmetric_difference),
            max(lacking(seen[i], seen[j]), lacking(seen[j], seen[i])),
        )
        for i, j in itertools.product(small, repeat=2)
    ]


def test_corollary_iv15_is_false_when_nothing_is_filtered_out():
    """f = id: the exact size of a table is 0-private under replace-one, and tells tables of two sizes apart."""
    pairs = through_a_filter("abc")
    assert len(pairs) == 100
    assert sum(claimed < true for true, claimed, _ in pairs) == 54
    sizes = [truncated_geometric(len(table), 3, math.inf) for table in TABLES]
    assert worst(BOUNDED, np.array(sizes)) == 0
    empty, single = TABLES.index(()), TABLES.index(("a",))
    claim = printed.corollary_iv15(BOUNDED.distances[empty, single], (), ("a",), symmetric_difference)
    assert claim == 1
    assert max_divergence(sizes[empty], sizes[single]) == math.inf


@pytest.mark.parametrize(("kept", "loose"), [("ab", 8), ("a", 0)])
def test_corollary_iv15_is_loose_when_something_is_filtered_out(kept, loose):
    """With a value to pad with, d^f is the larger of the two one-sided differences."""
    pairs = through_a_filter(kept)
    assert all(true <= claimed for true, claimed, _ in pairs)
    assert sum(true < claimed for true, claimed, _ in pairs) == loose
    assert all(true == larger for true, _, larger in pairs)


# ---- section VI


def all_deltas(channel, distances):
    """The least delta of every pair of databases at its own distance."""
    found = np.zeros(distances.shape)
    for i, j in itertools.product(range(len(channel)), repeat=2):
        found[i, j] = hockey_stick(channel[i], channel[j], distances[i, j])
    return found


def minimum_delta(distances, seen, deltas, labels, pair):
    """delta^f as corrected: only pairs that f takes to the same two values."""
    i, j = pair
    return min(
        deltas[k, m]
        for k, m in itertools.product(range(len(labels)), repeat=2)
        if (labels[k], labels[m]) == (labels[i], labels[j]) and distances[k, m] == seen[pair]
    )


def test_theorem_vi7_takes_delta_from_other_databases():
    wanted = golden.inputs("VI.7 literal")
    (first, second), epsilon = wanted["channel"], wanted["eps"]
    channel = [first, second, first, first]
    space = Space(range(4), lambda x, y: {x, y} in ({0, 1}, {2, 3}))  # and f = id
    distances = epsilon * space.distances
    deltas = all_deltas(channel, distances)
    seen = quotient(distances, range(4))
    found = printed.theorem_vi7_delta(distances, seen, deltas, (0, 1))
    true = hockey_stick(first, second, seen[0, 1])
    golden.agree("VI.7 literal", {"literal_delta": found, "true_delta": true})
    assert found < true <= minimum_delta(distances, seen, deltas, range(4), (0, 1))


SMALL = Space(multisets("ab", 2), add_remove)
laws = st.lists(st.integers(0, 9), min_size=3, max_size=3).filter(any).map(lambda w: np.array(w) / sum(w))


@given(
    labels=st.lists(st.integers(0, 2), min_size=6, max_size=6),
    outputs=st.lists(laws, min_size=3, max_size=3),
    epsilon=st.floats(0.1, 2),
)
def test_theorem_vi7_holds_with_the_constraint(labels, outputs, epsilon):
    """A mechanism that reads the label alone is (d^f, delta^f)-private with the corrected delta^f."""
    channel, distances = [outputs[label] for label in labels], epsilon * SMALL.distances
    deltas, seen = all_deltas(channel, distances), quotient(distances, labels)
    for i, j in itertools.product(range(6), repeat=2):
        assert hockey_stick(channel[i], channel[j], seen[i, j]) <= minimum_delta(
            distances, seen, deltas, labels, (i, j)
        )


@pytest.mark.parametrize("count", [4, 5, 6, 7, 8])
def test_example_vi8_touches_no_more_hospitals_than_there_are(count):
    """Six is printed for every k > 3; two records of three hospitals each touch 4 of 4 and 5 of 5."""
    records = at_most_three(count)
    assert max(len(one | two) for one, two in itertools.combinations(records, 2)) == min(count, 6)


def test_example_vi8_multiplies_two_maxima():
    """Two swaps: the middle term counts 12 hospitals twice each, 24 > 6 * 2; seen by the hospitals it is 12."""
    first = [frozenset({0, 1, 2}), frozenset({3, 4, 5})]
    second = [frozenset({6, 7, 8}), frozenset({9, 10, 11})]
    steps = lacking(first, second)
    seen = [[[record for record in table if i in record] for table in (first, second)] for i in range(12)]
    touched = [i for i in range(12) if seen[i][0] != seen[i][1]]
    assert (steps, len(touched) * steps, 6 * steps) == (2, 24, 12)
    # by Corollary IV.15 as corrected; records of other hospitals are there to pad with
    assert sum(max(lacking(*views), lacking(*views[::-1])) for views in seen) == 6 * steps


def test_example_vi8_says_more_than_its_conclusion():
    """From two swaps on, 6 delta_0 [d]_1 is less than what bounded (6, 6e-5)-DP implies, 6e-5 [d]_6."""
    delta = 1e-5

    def group(size, epsilon):
        return math.expm1(epsilon * size) / math.expm1(epsilon)

    assert group(1, 1) == group(1, 6) == 1
    for size in (2, 3, 5):
        assert 6 * delta * group(size, 1) < 6 * delta * group(size, 6)


def test_theorem_vi23_reads_pure_privacy_as_gaussian():
    """Randomized response at epsilon = 1 needs mu = 1.232; with mu for epsilon the theorem holds."""
    pair = [randomized_response(bit, 1.0) for bit in (0, 1)]
    assert max_divergence(*pair) == pytest.approx(1.0, rel=1e-14)
    needed = gaussian_mu(*pair)
    assert needed > printed.theorem_vi23([1.0]) + 0.2
    golden.agree("VI.23 literal", {"needed_mu": needed})
    twice = gaussian_mu(joint([pair[0], pair[0]]), joint([pair[1], pair[1]]))
    assert printed.theorem_vi23([1.0, 1.0]) < twice <= printed.theorem_vi23([needed, needed])


positive_laws = st.lists(st.integers(1, 9), min_size=3, max_size=3).map(lambda w: np.array(w) / sum(w))


@pytest.mark.parametrize(("alpha", "k"), [(1, 2), (2, 1), (1, 1)])
def test_the_weak_triangle_divides_by_zero_at_its_ends(alpha, k):
    p, q, r = [0.5, 0.5], [0.25, 0.75], [0.2, 0.8]
    with pytest.raises(ZeroDivisionError):
        printed.weak_triangle(p, q, r, alpha, k)


@given(p=positive_laws, q=positive_laws, r=positive_laws, alpha=st.floats(1.01, 20), k=st.floats(1.01, 20))
def test_the_weak_triangle_holds_inside_and_in_both_limits(p, q, r, alpha, k):
    slack = 1e-9
    inside = printed.weak_triangle(p, q, r, alpha, k, renyi_divergence)  # powers of the printed formula overflow
    assert renyi_divergence(p, r, alpha) <= inside + slack
    one = k / (k - 1) * renyi_divergence(p, q, 1) + renyi_divergence(q, r, k)
    assert renyi_divergence(p, r, 1) <= one + slack
    most = alpha / (alpha - 1) * renyi_divergence(p, q, math.inf) + renyi_divergence(q, r, alpha)
    assert renyi_divergence(p, r, alpha) <= most + slack


def test_a_compatible_partition_does_give_a_tighter_gaussian_bound():
    """Two records in two parts, the partition of Example VI.25 itself: sqrt(2) and not 2."""
    cut = [split(table, "ab") for table in TABLES]
    assert max(changes(cut[i], cut[j]) for i, j in UNBOUNDED.neighbours) == 1  # compatible
    found, single = printed.theorem_vi24((1.0, 1.0), (1, 1))
    assert found < single
    golden.agree("VI.25", found)
    both, one = qw.gdp(1.0) + qw.gdp(1.0), qw.gdp(2.0)
    for epsilon in (0.0, 1.0, 3.0):
        assert both.delta(epsilon).upper < one.delta(epsilon).lower
    # for neighbours, one part at distance 1, the sentence is right
    assert printed.theorem_vi24((1.0, 1.0), (1, 0)) == (1.0, 1.0)


def test_equality_in_vi24_also_needs_the_largest_mu():
    assert printed.theorem_vi24((1.0, 2.0), (1, 0)) == (1.0, 2.0)
    assert printed.theorem_vi24((1.0, 2.0), (0, 1)) == (2.0, 2.0)
