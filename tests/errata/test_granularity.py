"""Seed 001, sections II to IV: who is a neighbour. Printed statements that fail, and what holds instead."""

import itertools
import math

import numpy as np
import pytest
from tests.errata import printed_granularity as printed
from tests.errata.granularity_worlds import (
    APART,
    BOUNDED,
    ONE,
    TABLES,
    UNBOUNDED,
    ZERO,
    at_most_three,
    changes,
    lacking,
    noisy_counts,
    split,
    unchanged,
    worst,
)
from tests.tables import golden

from quiltwork.tables.notions.spaces import (
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
from quiltwork.tables.papers.small_channels import max_divergence, randomized_response, truncated_geometric

# ---- sections II and III


def test_example_ii9_calls_the_exact_size_private_by_add_remove():
    """'Not a contradiction with M* being unbounded DP': it is 0-DP by replace-one, and by add/remove not at all."""
    sizes = np.array([truncated_geometric(len(table), 3, math.inf) for table in TABLES])
    assert worst(BOUNDED, sizes) == 0
    assert worst(UNBOUNDED, sizes) == math.inf


def test_a_bounded_diameter_compares_with_canonical_metrics_only():
    """Diameter 1, and no k with d_1 <= k d_2 when d_2 is 0; a canonical metric is at least 1 where it is not 0."""
    assert sensitivity(unchanged, ZERO, ONE) == math.inf
    lunch = Space(TABLES, lambda first, second: first != second)
    assert conversion(lunch, UNBOUNDED) == conversion(lunch, BOUNDED) == 1


@pytest.mark.parametrize("count", [3, 30])
def test_remark_iii7_the_identity_between_free_lunch_metrics_has_sensitivity_one(count):
    """What has no bound is its sensitivity to the distance of numbers, which the remark does not name."""
    lunch = Space(range(count), lambda x, y: x != y)
    line = MetricSpace(tuple(range(count)), [[abs(x - y) for y in range(count)] for x in range(count)])
    assert sensitivity(unchanged, lunch, lunch) == 1
    assert sensitivity(unchanged, lunch, line) == count - 1  # the more numbers, the larger


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


@pytest.mark.parametrize("epsilon", [0.0, 1.0])
def test_theorem_iii3_fails_when_zero_times_infinity_is_zero(epsilon):
    """Example III.4: tables of one size have no neighbours by add/remove, so that the identity is epsilon-DP."""
    space = Space(multisets("ab", 2, 2), add_remove)
    first, second, *_ = np.eye(len(space.databases))  # the identity tells the table
    distance = space.distances[0, 1]
    assert not space.neighbours
    assert distance == math.inf
    assert not printed.private(first, second, printed.product_of_sensitivities(epsilon, distance))
    grown = math.exp(stability_product(epsilon, distance))
    assert all(p <= stability_product(grown, q) for p, q in zip(first, second, strict=True))


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
    """With d_inf for d_Eu the middle term is 18 for neighbours, the right one 2 L is 2; the sum is at most d + 2 L."""
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


def test_corollary_iv13_follows_for_equal_parts_where_tables_have_all_sizes():
    """Other values pad: what reads one part is private by add/remove too. With one size there is no add/remove."""
    space = Space(multisets("abc", 4), replace_one)
    places = range(len(space.databases))
    added = [
        (i, j) for i, j in itertools.product(places, repeat=2) if add_remove(*(space.databases[k] for k in (i, j)))
    ]
    for part in "abc":
        seen = quotient(space.distances, [split(table, part)[0] for table in space.databases])
        assert max(seen[i, j] for i, j in added) == 1 < space.distances[added[0]] == math.inf
    fixed = multisets("abc", 2, 2)
    assert conversion(Space(fixed, add_remove), Space(fixed, replace_one)) == math.inf


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
