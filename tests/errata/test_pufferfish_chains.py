"""Seed 003, sections 6 and 7 and appendix D: translation, composition, chains, top-K. Printed forms, and what holds."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from tests.errata import printed_pufferfish as printed
from tests.errata.printed_pufferfish_peeling import worst_of_peeling

from quiltwork.mechanisms import histogram_loss, histogram_scale, top_k_loss, top_k_scale
from quiltwork.pufferfish import JointLaw, MarkovChain, per_entry_epsilon, totals, translate

LENGTH, CENTRE = 7, 3


def binary(p, q, **more):
    return MarkovChain([[p, 1 - p], [1 - q, q]], **more)


def naive_influence(p, q, size):
    """Definition 7 for the centre of a chain of seven entries: all sets, all values, exact fractions."""
    p, q = Fraction(str(p)), Fraction(str(q))
    step = ((p, 1 - p), (1 - q, q))
    laws = ({}, {})
    for data in itertools.product((0, 1), repeat=LENGTH):
        weight = ((1 - q) if data[0] == 0 else (1 - p)) / (2 - p - q)
        laws[data[CENTRE]][data] = weight * math.prod(step[a][b] for a, b in itertools.pairwise(data))
    totals = [sum(law.values()) for law in laws]
    others = [i for i in range(LENGTH) if i != CENTRE]
    best = [None, None]
    for extra in itertools.combinations(others, size - 1):
        told = [i for i in others if i not in extra]
        seen = ({}, {})
        for law, total, found in zip(laws, totals, seen, strict=True):
            for data, weight in law.items():
                key = tuple(data[i] for i in told)
                found[key] = found.get(key, 0) + weight / total
        for way in (0, 1):
            ratio = max(seen[way][key] / seen[1 - way][key] for key in seen[0])
            best[way] = ratio if best[way] is None else min(best[way], ratio)
    return math.log(max(best))


# ---- Theorem 8


def test_theorem_8_in_the_text_is_negative():
    truth = naive_influence(0.3, 0.3, 1)
    assert truth == pytest.approx(1.6945957207744073, rel=1e-14)
    assert printed.theorem_8(0.3, 0.3, 1, absolute=False) == pytest.approx(-truth, rel=1e-12)
    assert printed.theorem_8(0.3, 0.3, 1, absolute=True) == pytest.approx(truth, rel=1e-12)
    assert binary(0.3, 0.3).influence(1)(1) == pytest.approx(truth, rel=1e-12)


@pytest.mark.parametrize(
    ("p", "q", "size", "with_values", "truth"),
    [(0.4, 0.02, 3, 1.6960, 1.2015), (0.4, 0.02, 2, 4.2492, 3.9985), (0.3, 0.1, 2, 2.7726, 2.6391)],
)
def test_theorem_8_in_the_appendix_is_not_tight_for_negative_correlation(p, q, size, with_values, truth):
    naive = naive_influence(p, q, size)
    assert naive == pytest.approx(truth, abs=5e-5)
    assert printed.theorem_8(p, q, size, absolute=True) == pytest.approx(with_values, abs=5e-5)
    assert binary(p, q).influence(size)(size) == pytest.approx(naive, rel=1e-12)


def test_theorem_8_is_exact_for_positive_correlation_and_never_too_small():
    exact = loose = 0
    for p, q in itertools.product(np.arange(0.05, 1.0, 0.1), repeat=2):
        curve = binary(p, q).influence(8).values
        claimed = [printed.theorem_8(p, q, size, absolute=True) for size in range(1, 9)]
        if p + q >= 1:
            assert curve == pytest.approx(claimed, rel=1e-11, abs=1e-13)
            exact += 1
        else:
            assert np.all(np.minimum.accumulate(claimed) >= curve - 1e-12)
            loose += bool(np.any(np.minimum.accumulate(claimed) > curve + 1e-9))
    assert (exact, loose) == (55, 40)  # of 55 and 45; the other 5 have p = q


def told(p, q, distance):
    """The largest log-ratio of the laws of an entry at this distance: 0 against 1, 1 against 0."""
    step = np.linalg.matrix_power(np.array([[p, 1 - p], [1 - q, q]]), distance)
    ratios = np.log(step[0] / step[1])
    return np.array([ratios.max(), -ratios.min()])


def test_theorem_8_splits_evenly_where_an_uneven_split_is_better():
    """For 1 against 0, what is told alternates with the distance: it is not convex."""
    near, even, far = (told(0.4, 0.02, distance)[1] for distance in (1, 2, 3))
    assert near + far < 2 * even - 0.4
    assert near + far == pytest.approx(naive_influence(0.4, 0.02, 3), rel=1e-12)


def test_theorem_8_adds_two_ratios_that_exclude_each_other():
    """Its two largest absolute values belong to different orders of the secrets."""
    one, two = told(0.4, 0.02, 1), told(0.4, 0.02, 2)
    assert (one.argmax(), two.argmax()) == (0, 1)
    assert one.max() + two.max() == pytest.approx(printed.theorem_8(0.4, 0.02, 2, absolute=True), rel=1e-12)
    assert (one + two).max() == pytest.approx(naive_influence(0.4, 0.02, 2), rel=1e-12)


def test_theorem_8_the_worst_neighbours_differ_for_negative_correlation():
    """(0.4, 0.02), b = 2, distances 1 and 2: the values 1 and 0 tell 3.9985; equal values 2.5532 at most."""
    near, far = (np.linalg.matrix_power(np.array([[0.4, 0.6], [0.98, 0.02]]), distance) for distance in (1, 2))
    found = {
        (left, right): abs(math.log(near[0, left] / near[1, left]) + math.log(far[0, right] / far[1, right]))
        for left, right in itertools.product((0, 1), repeat=2)
    }
    assert max(found, key=found.get) == (1, 0)
    assert found[1, 0] == pytest.approx(naive_influence(0.4, 0.02, 2), rel=1e-12)
    assert found[1, 0] == pytest.approx(3.9985, abs=5e-5)
    assert max(found[0, 0], found[1, 1]) == pytest.approx(2.5532, abs=5e-5)


def test_the_symmetry_of_figure_2a_needs_equal_probabilities():
    """(p, q) and (1 - p, 1 - q): one curve if p = q, for the truth and for the printed formula alike; not otherwise."""
    for p in (0.4, 0.25, 0.1):
        assert binary(p, p).influence(9).values == pytest.approx(binary(1 - p, 1 - p).influence(9).values, rel=1e-12)
    low, high = naive_influence(0.4, 0.02, 3), naive_influence(0.6, 0.98, 3)
    assert (low, high) == (pytest.approx(1.2015, abs=5e-5), pytest.approx(4.9099, abs=5e-5))
    assert printed.theorem_8(0.6, 0.98, 3, absolute=True) > printed.theorem_8(0.4, 0.02, 3, absolute=True) + 3


# ---- Algorithms 1 and 2


def test_algorithms_1_and_2_take_the_least_epsilon():
    prior = binary(0.8, 0.8, length=100)
    curve = prior.influence(100)
    points = list(zip(curve.sizes.tolist(), curve.values.tolist(), strict=True))
    assert printed.algorithms_1_and_2(points, 1.0, 100) == pytest.approx(0.01, rel=1e-12)
    assert per_entry_epsilon(prior, 1.0, method="group") == pytest.approx(0.01, rel=1e-12)
    largest = max((1.0 - influence) / size for size, influence in points)
    assert per_entry_epsilon(prior, 1.0, method="theorem 6") == pytest.approx(largest, rel=1e-12)
    assert largest == pytest.approx(0.0764812, abs=5e-8)


# ---- Definition 7


def response(values, truth, given):
    """Randomised response with epsilon 1 over some values, up to a common factor."""
    return math.e if given == truth else 1.0 * (given in values)


def test_definition_7_without_shared_values_is_unsound():
    """Two copies of one bit: skipping what only one secret allows claims epsilon 1, and two responses tell 2."""
    law = np.array([[0.5, 0.0], [0.0, 0.5]])
    hidden_first = printed.definition_7(law[0] / 0.5, law[1] / 0.5)
    assert hidden_first == 0.0
    claimed = 1 * 1.0 + hidden_first  # Theorem 6 with b = 1
    told = math.log(response((0, 1), 1, 1) ** 2 / response((0, 1), 0, 1) ** 2)
    assert (claimed, told) == (1.0, 2.0)
    assert JointLaw(law).influence().values.tolist() == [math.inf, 0.0]
    assert translate(JointLaw(law), 1.0).upper == pytest.approx(2.0, rel=1e-9)


def test_definition_7_with_some_shared_values_is_unsound_too():
    """The second entry is a copy of the first or missing: "missing" is shared, and says nothing."""
    law = np.array([[0.25, 0.0, 0.25], [0.0, 0.25, 0.25]])
    assert printed.definition_7(law[0] / 0.5, law[1] / 0.5) == 0.0
    ways = [sum(law[x, y] / 0.5 * response((0, 1), x, 1) * response((0, 1, 2), y, 1) for y in range(3)) for x in (1, 0)]
    told = math.log(ways[0] / ways[1])
    assert told == pytest.approx(1 + math.log((math.e + 1) / 2), rel=1e-14)
    assert told > 1.62
    bracket = translate(JointLaw(law), 1.0)
    assert bracket.upper >= told
    assert JointLaw(law).influence()(1) == math.inf


# ---- Theorem 6


@pytest.mark.parametrize(("target", "theorem_6", "exact"), [(0.1, 0.00407, 0.02501), (1.0, 0.0764812, 0.259816)])
def test_the_minimum_over_sizes_is_not_the_best_epsilon(target, theorem_6, exact):
    """The least over b of b e + a(b) is above what the worst mechanism leaks."""
    prior = binary(0.8, 0.8)
    allowed, more = (per_entry_epsilon(prior, target, method=method) for method in ("theorem 6", "best"))
    assert (allowed, more) == (pytest.approx(theorem_6, rel=2e-3), pytest.approx(exact, rel=2e-3))
    assert prior.influence().epsilon(more) > 1.5 * target
    # the worst case of an endless chain, again by the Perron vector of P diag(1, e^eps)
    vectors = np.linalg.eig(np.array([[0.8, 0.2], [0.2, 0.8]]) * [1.0, math.exp(more)])
    top = np.abs(vectors.eigenvectors[:, np.argmax(vectors.eigenvalues)])
    assert more + 2 * math.log(top[1] / top[0]) == pytest.approx(target, rel=1e-9)


# ---- Theorem 7


@pytest.mark.parametrize(
    ("count", "theorem_7", "one_size", "best"), [(2, 1.688, 1.592, 0.603), (10, 7.195, 3.537, 2.463)]
)
def test_theorem_7_is_valid_and_loose(count, theorem_7, one_size, best):
    prior, each = binary(0.8, 0.8), 0.0764812
    size = prior.influence().size(each)
    influence = prior.influence()(size)
    claimed = printed.theorem_7([size * each + influence] * count, [influence] * count)
    found = totals(prior, [each] * count)
    assert claimed == pytest.approx(theorem_7, abs=5e-4)
    assert found.theorem_7 == pytest.approx(claimed, rel=1e-12)
    assert found.one_size == pytest.approx(one_size, abs=5e-4)
    assert found.best == pytest.approx(best, abs=5e-4)
    # what the noisy number of ones leaks in an endless chain: the Perron vector of P diag(1, e^eps)
    vectors = np.linalg.eig(np.array([[0.8, 0.2], [0.2, 0.8]]) * [1.0, math.exp(count * each)])
    top = np.abs(vectors.eigenvectors[:, np.argmax(vectors.eigenvalues)])
    assert found.best == pytest.approx(count * each + 2 * math.log(top[1] / top[0]), rel=1e-9)


def test_theorem_7_gains_nothing_for_one_release():
    """Its factor is said to be always negative."""
    assert printed.theorem_7([1.0], [0.3]) == 1.0


# ---- Appendix D.2


def test_smoothing_is_another_prior_and_not_a_safer_one():
    """Calibrated to the smoothed chain, exactly: the chain itself leaks more than was claimed."""
    chain = [[0.2, 0.8], [1.0, 0.0]]
    claimed, truth = (translate(MarkovChain(matrix), 1.0) for matrix in (printed.smoothed(chain), chain))
    assert (claimed.upper, truth.lower) == (pytest.approx(5.529946, abs=5e-7), pytest.approx(5.530216, abs=5e-7))
    assert claimed.upper < truth.lower


def test_smoothing_lowers_the_curve_of_the_example():
    rows = np.array(printed.EXAMPLE_D2)
    assert np.abs(rows.sum(axis=1) - 1).max() > 1e-4  # as printed, rounded: divided by their sums first
    rows = rows / rows.sum(axis=1, keepdims=True)
    plain, smooth = (MarkovChain(matrix).influence(5).values for matrix in (rows, printed.smoothed(rows)))
    assert plain == pytest.approx([math.inf, math.inf, 5.7359, 4.4838, 3.6596], abs=5e-5)
    assert smooth == pytest.approx([15.6649, 9.0265, 5.7352, 4.4832, 3.6590], abs=5e-5)
    assert np.all(smooth < plain - 1e-4)


def test_the_last_row_of_the_smoothed_example_is_cut_off():
    """Five equal entries of a row with one zero: 0.199998, printed 0.19999, so that 4e-5 of the row is missing."""
    row = printed.smoothed([[0.2] * 5 + [0.0]])[0]
    assert row[:5] == pytest.approx([0.199998] * 5, abs=1e-12)
    assert row.sum() == pytest.approx(1.0, abs=1e-15)
    assert np.round(row[0], 5) == 0.2
    assert pytest.approx(0.99996, abs=1e-12) == 5 * 0.19999 + 1e-5


# ---- top-K


@pytest.mark.parametrize("k", [1, 2, 3])
def test_top_k_costs_k_plus_one_and_not_two_k(k):
    """With epsilon / K for each round, K rounds leak (K + 1) / 2K of epsilon."""
    counts = [1 + 20 * rank for rank in range(k + 2)]
    exponent = printed.top_k_exponent(k, 1.0)
    worst = worst_of_peeling(counts, exponent, k)
    promised = top_k_loss(k, 1 / exponent).epsilon(0.0).upper
    assert promised == pytest.approx((k + 1) / (2 * k), rel=1e-12)
    assert worst <= promised + 1e-12
    # orders that take small counts first come near: every denominator moves, and one numerator
    assert worst > 0.9 * promised
    assert top_k_scale(1.0, k) == pytest.approx(k + 1, rel=1e-12)


# ---- the Markov Quilt Mechanism as a baseline


def test_the_markov_quilt_baseline_splits_a_budget_that_needs_no_split():
    """One entry moves two of m counts: epsilon / m for each adds up to 2 epsilon / m."""
    for categories in (3, 11, 78):
        scale = printed.split_scale(categories, 0.5)
        assert histogram_loss(scale).epsilon(0.0).upper == pytest.approx(2 * 0.5 / categories, rel=1e-12)
        assert scale / histogram_scale(0.5) == pytest.approx(categories / 2, rel=1e-12)
    # the densities themselves, for m = 3: outputs on a grid, an entry that moves from the first count to the second
    scale, grid = printed.split_scale(3, 0.5), np.linspace(-5.0, 5.0, 41)
    outputs = np.stack(np.meshgrid(grid, grid, grid))
    before, after = np.array([1.0, 0.0, 2.0]), np.array([0.0, 1.0, 2.0])
    losses = sum(abs(outputs[i] - after[i]) - abs(outputs[i] - before[i]) for i in range(3)) / scale
    assert losses.max() == pytest.approx(2 * 0.5 / 3, rel=1e-12)
