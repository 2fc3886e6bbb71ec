"""Correlated noise: sensitivities against all patterns of participation, counts of nodes, refusals."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import quiltwork as qw
from quiltwork.compose.matrix_mechanism import MAX_STEPS, best_pattern
from quiltwork.errors import InvalidParameter, Unsupported
from quiltwork.spec import dumps, loads


def patterns(steps, times, separation, regular=False):
    """Every set of steps that a record may take part in."""
    for size in range(1, times + 1):
        for found in itertools.combinations(range(steps), size):
            gaps = np.diff(found)
            if np.all(gaps == separation if regular else gaps >= separation):
                yield found


def exact(matrix):
    return [[Fraction(float(entry)) for entry in row] for row in np.asarray(matrix, dtype=float)]


def signed_square(matrix, steps, signs):
    """|sum of s_i c_i|^2 in rationals."""
    return sum(sum(s * row[i] for s, i in zip(signs, steps, strict=True)) ** 2 for row in exact(matrix))


def attained(matrix, times, separation, regular=False):
    """The largest squared move by contributions of +1 and -1, over all patterns."""
    best = Fraction(0)
    for found in patterns(np.shape(matrix)[1], times, separation, regular):
        for signs in itertools.product((1, -1), repeat=len(found) - 1):
            best = max(best, signed_square(matrix, found, (1, *signs)))
    return best


def sensitivity(loss):
    (part,) = loss.parts
    family = getattr(part.family, "base", part.family)
    return Fraction(family.sensitivity)


def lower(rng, steps, *, positive=False, bands=None):
    matrix = np.tril(rng.normal(size=(steps, steps)))
    if bands:
        matrix = np.triu(matrix, 1 - bands)
    return np.abs(matrix) if positive else matrix


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), steps=st.integers(1, 6), times=st.integers(1, 4), separation=st.integers(1, 4))
def test_no_pattern_moves_the_release_further(seed, steps, times, separation):
    matrix = lower(np.random.default_rng(seed), steps)
    for regular in (False, True):
        bound = sensitivity(qw.matrix_mechanism(matrix, 1.0, times=times, separation=separation, regular=regular))
        assert bound**2 >= attained(matrix, times, separation, regular)


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), steps=st.integers(1, 6), times=st.integers(1, 4), separation=st.integers(1, 4))
def test_regular_patterns_are_attained_where_no_product_is_negative(seed, steps, times, separation):
    matrix = lower(np.random.default_rng(seed), steps, positive=True)
    found = sensitivity(qw.matrix_mechanism(matrix, 1.0, times=times, separation=separation, regular=True))
    truth = attained(matrix, times, separation, True)
    assert truth <= found**2 <= truth * (1 + Fraction(1, 10**13))


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), steps=st.integers(1, 6), times=st.integers(1, 4), separation=st.integers(1, 4))
def test_as_many_bands_as_steps_between_leave_only_squares(seed, steps, times, separation):
    matrix = lower(np.random.default_rng(seed), steps, bands=separation)
    found = sensitivity(qw.matrix_mechanism(matrix, 1.0, times=times, separation=separation))
    norms = [sum(row[j] ** 2 for row in exact(matrix)) for j in range(steps)]
    truth = max(sum(norms[j] for j in one) for one in patterns(steps, times, separation))
    assert truth == attained(matrix, times, separation)
    assert truth <= found**2 <= truth * (1 + Fraction(1, 10**13))


def test_one_participation_is_the_largest_norm_of_a_column():
    matrix = lower(np.random.default_rng(3), 7)
    found = sensitivity(qw.matrix_mechanism(matrix, 1.0))
    truth = max(sum(row[j] ** 2 for row in exact(matrix)) for j in range(7))
    assert truth <= found**2 <= truth * (1 + Fraction(1, 10**13))


@given(
    weights=st.lists(st.integers(0, 20), min_size=1, max_size=8),
    times=st.integers(1, 4),
    separation=st.integers(1, 4),
)
def test_best_pattern_is_that_of_all_patterns(weights, times, separation):
    truth = max(sum(weights[j] for j in one) for one in patterns(len(weights), times, separation))
    rows = np.array([weights, weights[::-1]], dtype=float)
    assert best_pattern(rows, times, separation).tolist() == [truth, truth]  # separation is symmetric in time


def test_opposite_columns_do_not_cancel():
    """Contributions may have opposite signs: the sum of the columns is 0, their difference is not."""
    assert qw.matrix_mechanism([[2, -2]], 1.0, times=2, adaptive=False) == qw.gaussian(1.0, 4.0)
    assert qw.matrix_mechanism([[1, 0], [0, 0]], 1.0, times=2) == qw.gaussian(1.0)


def test_independent_noise_is_a_composition():
    """C = I: as many Gaussian releases as participations."""
    for times in (1, 4, 9):
        run = qw.matrix_mechanism(np.eye(9), 3.0, times=times)
        assert run == qw.gaussian(3.0, math.sqrt(times))
    assert 3 <= sensitivity(qw.matrix_mechanism(np.eye(9), 3.0, times=100, separation=4)) ** 2 < 3 + 1e-14
    assert qw.matrix_mechanism(np.eye(9), 3.0, times=4).epsilon(1e-6).upper == pytest.approx(
        float((4 * qw.gaussian(3.0)).epsilon(1e-6).upper), rel=1e-9
    )


def test_decimals_are_safe_in_both_readings():
    """0.1 typed is a tenth, and its double is more than that."""
    found = sensitivity(qw.matrix_mechanism([[0.1, 0.0], [0.1, 0.1]], 1.0))
    assert found**2 >= max(2 * Fraction(0.1) ** 2, 2 * Fraction(1, 100))


def test_a_matrix_without_entries_releases_nothing():
    assert qw.matrix_mechanism(np.zeros((3, 3)), 1.0, times=2) == qw.compose()
    assert qw.banded_matrix_mechanism(np.zeros((3, 3)), 1.0, 1, 0.1) == qw.compose()
    tiny = np.full((2, 2), 1e-200)  # squares underflow
    with pytest.raises(InvalidParameter):
        qw.matrix_mechanism(np.tril(tiny), 1.0)


# ---- banded matrices with cyclic Poisson samples


def test_parts_of_a_table_take_turns():
    matrix = np.tril(np.triu(np.ones((10, 10)), -2))
    run = qw.banded_matrix_mechanism(matrix, 2.0, bands=3, rate=0.05)
    assert run == 4 * qw.poisson(qw.gaussian(2.0, qw.matrix_mechanism(matrix, 2.0).parts[0].family.sensitivity), 0.05)
    assert qw.banded_matrix_mechanism(np.eye(10), 2.0, bands=1, rate=0.05) == 10 * qw.poisson(qw.gaussian(2.0), 0.05)
    assert qw.banded_matrix_mechanism(matrix, 2.0, bands=3, rate=0.0) == qw.compose()
    full = qw.banded_matrix_mechanism(matrix, 2.0, bands=3, rate=1.0)  # no sampling: the banded matrix at 3 apart
    apart = qw.matrix_mechanism(matrix, 2.0, times=4, separation=3)
    assert full.epsilon(1e-6).upper >= apart.epsilon(1e-6).lower


def test_bands_that_are_not_there_are_refused():
    matrix = np.tril(np.ones((4, 4)))
    with pytest.raises(InvalidParameter, match="zero below 2 bands"):
        qw.banded_matrix_mechanism(matrix, 1.0, 2, 0.1)
    assert qw.banded_matrix_mechanism(matrix, 1.0, 4, 0.1).count == 1


# ---- trees


def nodes(steps):
    """Which complete nodes hold which leaves."""
    rows = []
    for height in range(steps.bit_length()):
        size = 1 << height
        rows += [[int(first <= leaf < first + size) for leaf in range(steps)]
                 for first in range(0, steps - size + 1, size)]  # fmt: skip
    return np.array(rows)


@pytest.mark.parametrize("steps", range(1, 12))
@pytest.mark.parametrize(("times", "separation"), [(1, 1), (2, 1), (3, 1), (4, 1), (2, 2), (3, 2), (4, 3), (3, 4)])
def test_no_pattern_meets_more_nodes(steps, times, separation):
    found = sensitivity(qw.tree_aggregation(steps, 1.0, times=times, separation=separation))
    truth = max(int(np.sum(nodes(steps)[:, list(one)].sum(axis=1) ** 2)) for one in patterns(steps, times, separation))
    assert found**2 >= truth
    if times == 1:
        assert found**2 < truth * (1 + Fraction(1, 10**15))
    matrix = qw.matrix_mechanism(nodes(steps), 1.0, times=times, separation=separation, adaptive=False)
    assert sensitivity(matrix) ** 2 >= truth


@pytest.mark.parametrize(("steps", "times", "separation"), [(8, 4, 2), (16, 4, 4), (16, 2, 8), (32, 8, 1), (12, 2, 2)])
def test_powers_of_two_are_attained(steps, times, separation):
    first = list(range(0, times * separation, separation))
    truth = int(np.sum(nodes(steps)[:, first].sum(axis=1) ** 2))
    assert sensitivity(qw.tree_aggregation(steps, 1.0, times=times, separation=separation)) ** 2 == pytest.approx(truth)


@given(steps=st.integers(1, 2**40))
def test_one_leaf_meets_as_many_nodes_as_the_number_has_digits(steps):
    """ceil(log2(T + 1)), the count of dp_accounting's SingleEpochTreeAggregationDpEvent."""
    depth = next(h for h in itertools.count() if 2**h >= steps + 1)
    found = sensitivity(qw.tree_aggregation(steps, 1.0))
    assert depth <= found**2 <= depth * (1 + Fraction(1, 10**15))


def test_the_count_is_that_of_dp_accounting():
    accounting = pytest.importorskip("dp_accounting")
    from dp_accounting.rdp import RdpAccountant

    relation = accounting.NeighboringRelation.REPLACE_SPECIAL
    for steps in (1, 7, 8, 1000):
        tree = accounting.dp_event.SingleEpochTreeAggregationDpEvent(5.0, steps)
        one = accounting.dp_event.GaussianDpEvent(5.0 / float(sensitivity(qw.tree_aggregation(steps, 5.0))))
        peer, same = (RdpAccountant(neighboring_relation=relation).compose(event) for event in (tree, one))
        assert peer.get_epsilon(1e-6) == pytest.approx(same.get_epsilon(1e-6), rel=1e-12)


def test_a_record_in_every_leaf_is_in_every_node_fully():
    steps = 16
    truth = sum((steps >> h) * 4**h for h in range(5))
    assert sensitivity(qw.tree_aggregation(steps, 1.0, times=99)) ** 2 == pytest.approx(truth)


# ---- refusals, documents


@pytest.mark.parametrize(
    "strategy",
    [
        [[1.0, math.nan], [1.0, 1.0]],
        [[math.inf]],
        [1.0, 2.0],
        1.0,
        [],
        [[]],
        "eye",
        None,
        [[1, 2], [3]],
        [[1 + 1j]],
        [[1e200]],
        np.ones((2, 2, 2)),
    ],
)
def test_what_is_no_matrix_is_refused(strategy):
    for adaptive in (True, False):
        with pytest.raises(InvalidParameter, match="strategy"):
            qw.matrix_mechanism(strategy, 1.0, adaptive=adaptive)
    with pytest.raises(InvalidParameter, match="strategy"):
        qw.banded_matrix_mechanism(strategy, 1.0, 1, 0.1)


@pytest.mark.parametrize("strategy", [[[1.0, 0.5], [0.0, 1.0]], [[1.0, 0.0]], [[1.0], [1.0]]])
def test_adaptive_contributions_need_a_lower_triangular_strategy(strategy):
    with pytest.raises(InvalidParameter, match="lower triangular"):
        qw.matrix_mechanism(strategy, 1.0)
    assert qw.matrix_mechanism(strategy, 1.0, adaptive=False).count == 1


@pytest.mark.parametrize(
    "options",
    [
        {"noise_multiplier": 0.0},
        {"noise_multiplier": math.nan},
        {"times": 0},
        {"times": 1.5},
        {"separation": 0},
        {"separation": True},
    ],
)
def test_bad_numbers_are_refused(options):
    given = {"noise_multiplier": 1.0, **options}
    with pytest.raises(InvalidParameter, match=next(iter(options))):
        qw.matrix_mechanism(np.eye(2), **given)
    with pytest.raises(InvalidParameter, match=next(iter(options))):
        qw.tree_aggregation(2, **given)


def test_other_bad_numbers_are_refused():
    for bands, rate in ((0, 0.1), (1.5, 0.1), (1, 1.5), (1, math.nan)):
        with pytest.raises(InvalidParameter):
            qw.banded_matrix_mechanism(np.eye(2), 1.0, bands, rate)
    for steps in (0, 1.5, "8"):
        with pytest.raises(InvalidParameter, match="steps"):
            qw.tree_aggregation(steps, 1.0)
    with pytest.raises(InvalidParameter, match="regular"):
        qw.matrix_mechanism(np.eye(2), 1.0, regular="yes")


def test_too_many_steps_for_all_products_are_refused_with_a_substitute():
    strategy = np.zeros((1, MAX_STEPS + 1))
    strategy[0, 0] = 1.0
    with pytest.raises(Unsupported, match=r"not built here.*compose"):
        qw.matrix_mechanism(strategy, 1.0, times=2, adaptive=False)
    assert qw.matrix_mechanism(strategy, 1.0, adaptive=False) == qw.gaussian(1.0)


def test_they_are_losses_like_any_other():
    run = qw.banded_matrix_mechanism(np.eye(6), 2.0, 1, 0.25) + qw.tree_aggregation(100, 5.0)
    assert loads(dumps(run)) == run
    assert run.group(2).epsilon(1e-6).lower > run.epsilon(1e-6).upper
