"""Seed 001, section VI: approximate, zero-concentrated and Gaussian privacy. Printed statements, and what holds."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.compose.naive import trade_off
from tests.errata import printed_granularity as printed
from tests.errata.granularity_worlds import TABLES, UNBOUNDED, at_most_three, changes, lacking, split
from tests.tables import golden

import quiltwork as qw
from quiltwork.tables.notions.spaces import Space, add_remove, multisets, quotient, symmetric_difference
from quiltwork.tables.papers.small_channels import (
    gaussian_mu,
    hockey_stick,
    joint,
    max_divergence,
    randomized_response,
    renyi_divergence,
)

# ---- approximate


def test_theorem_vi3_divides_zero_by_zero_at_epsilon_zero():
    """(0, delta)-DP: two steps of delta reach 2 delta, so that [d]_0 is d, the limit."""
    with pytest.raises(ZeroDivisionError):
        printed.growth(2, 0.0)
    delta = 0.125
    laws = [[1 - step * delta, step * delta] for step in range(3)]
    steps = [hockey_stick(laws[i], laws[j], 0.0) for i, j in ((2, 1), (1, 0), (2, 0))]
    assert steps == pytest.approx([delta, delta, 2 * delta], rel=1e-14)
    assert printed.growth(2, 1e-6) == pytest.approx(2, rel=1e-5)


def test_after_theorem_vi3_thirteen_records_are_enough():
    """epsilon = 1, delta = 1e-5: the delta of a group is 0.947 for 12 records, and 2.57 for 13."""
    found = [1e-5 * printed.growth(records, 1.0) for records in (12, 13)]
    assert found == pytest.approx([0.947, 2.57], rel=2e-3)
    assert found[0] < 1 < found[1]


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
    assert printed.growth(1, 1) == printed.growth(1, 6) == 1
    for size in (2, 3, 5):
        assert 6 * delta * printed.growth(size, 1) < 6 * delta * printed.growth(size, 6)


@pytest.mark.parametrize("apart", [1, 2, 3])
def test_example_vi8_has_the_delta_that_it_claims(apart):
    """[.]_1 is convex and 0 at 0: distances up to d whose sum is 6 d at most have deltas of 6 [d]_1 at most."""
    most = 0.0
    for distances in itertools.combinations_with_replacement(range(apart + 1), 12):
        if sum(distances) <= 6 * apart:
            most = max(most, sum(printed.growth(d, 1) for d in distances))
    assert most == pytest.approx(6 * printed.growth(apart, 1), rel=1e-14)


# ---- zero-concentrated


def test_theorem_vi12_without_zero_concentrated_is_false():
    """Randomized response at epsilon = 1 is 1/2-zCDP, and 1/2-private it is not."""
    pair, rho = [randomized_response(bit, 1.0) for bit in (0, 1)], 0.5
    assert all(renyi_divergence(*pair, order) <= rho * order for order in (1.01, 1.5, 2, 4, 16, 100))
    assert max_divergence(*pair) == pytest.approx(1.0, rel=1e-14)
    assert max_divergence(*pair) > rho


def test_after_theorem_vi15_the_square_is_on_the_wrong_side():
    """rho = (0.1, 0.1) for neighbours: printed 0.02. Two Gaussians of these rho are one of 0.2."""
    rhos = (0.1, 0.1)
    claim = printed.sum_after_vi15(rhos, 1)
    assert claim == pytest.approx(0.02)
    both = qw.gdp(math.sqrt(2 * rhos[0])) + qw.gdp(math.sqrt(2 * rhos[1]))  # rho = mu^2 / 2
    true = qw.gdp(math.sqrt(2 * sum(rhos)))
    for epsilon in (0.0, 1.0):
        assert both.delta(epsilon).lower > qw.gdp(math.sqrt(2 * claim)).delta(epsilon).upper
        assert both.delta(epsilon).upper == pytest.approx(true.delta(epsilon).upper, rel=1e-9)


# ---- Gaussian


def test_definition_vi19_the_limit_of_gaussian_trade_offs_is_one_at_zero():
    """G_mu(0) = 1 for every mu. Two laws apart have trade-off 0 there, and Theorem VI.20 must allow them."""
    assert {printed.gaussian_trade_off(mu, 0.0) for mu in (0.0, 1.0, 10.0, 1000.0)} == {1.0}
    assert printed.gaussian_trade_off(1000.0, 0.01) == 0.0
    assert trade_off([(Fraction(1), Fraction(0)), (Fraction(0), Fraction(1))], 0) == 0


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
    assert printed.theorem_vi24((1.0, 2.0), (0, 2)) == (4.0, 4.0)  # no neighbours, and equality


def test_equality_in_vi24_also_needs_that_nothing_else_changes():
    """Parts a and b, and two records more, a and c: one part changes by 1, and the tables are 2 apart."""
    mus, equal = (1.0, 2.0), set()
    assert printed.theorem_vi24((1.0, 1.0), (1, 0), symmetric_difference(("b",), ("a", "b", "c"))) == (1.0, 2.0)
    for first, second in itertools.permutations(TABLES, 2):
        apart = symmetric_difference(first, second)
        parts = [symmetric_difference(*pair) for pair in zip(split(first, "ab"), split(second, "ab"), strict=True)]
        left, right = printed.theorem_vi24(mus, parts, apart)
        assert left <= right
        assert (left == right) == (parts == [0, apart])  # b alone, which has the largest mu, at whatever distance
        equal |= {apart} if left == right else set()
    assert equal == {1, 2, 3}
