"""Gaussian priors: mu_a against exact fractions, all subsets, and releases integrated out."""

import itertools
import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import ndtr
from tests.examples import examples

import quiltwork as qw
from quiltwork.errors import InvalidParameter, Unsupported
from quiltwork.pufferfish.priors.gaussian.covariance import Covariance
from quiltwork.pufferfish.priors.gaussian.prior import AutoRegressive, GaussianPrior
from quiltwork.pufferfish.secrets import entry_values, joint_values


def autoregression(rho, count, sigma=1.0):
    place = np.arange(count)
    return sigma**2 * rho ** np.abs(place[:, None] - place[None, :])


def random_covariance(rng, count, scales=True):
    factor = rng.normal(size=(count, count + 1))
    matrix = factor @ factor.T + 0.05 * np.eye(count)
    spread = 10.0 ** rng.uniform(-3, 3, count) if scales else np.ones(count)
    return matrix * spread[:, None] * spread[None, :]


def exact_square(covariance, entry, told, gap):
    """mu_a^2 as a fraction: the shift S_Li / S_ii against the conditional covariance of x_L, by elimination."""
    sigma = [[Fraction(float(x)) for x in row] for row in covariance]
    own, toward = sigma[entry][entry], [sigma[j][entry] for j in told]
    rows = [[sigma[j][k] - sigma[j][entry] * sigma[k][entry] / own for k in told] + [sigma[j][entry]] for j in told]
    size = len(told)
    for at in range(size):
        for below in range(at + 1, size):
            factor = rows[below][at] / rows[at][at]
            rows[below] = [x - factor * y for x, y in zip(rows[below], rows[at], strict=True)]
    answer = [Fraction(0)] * size
    for at in reversed(range(size)):
        answer[at] = (rows[at][-1] - sum(rows[at][k] * answer[k] for k in range(at + 1, size))) / rows[at][at]
    return (Fraction(gap) / own) ** 2 * sum(x * y for x, y in zip(toward, answer, strict=True))


def exact_leak(covariance, size, gap):
    """The square of the leak over all entries and all sets."""
    count = len(covariance)
    worst = Fraction(0)
    for entry in range(count):
        rest = [j for j in range(count) if j != entry]
        worst = max(
            worst, min(exact_square(covariance, entry, t, gap) for t in itertools.combinations(rest, count - size))
        )
    return worst


# ---- any covariance


@pytest.mark.parametrize("seed", range(6))
def test_the_leak_is_above_the_exact_fraction_and_next_to_it(seed):
    rng = np.random.default_rng(seed)
    covariance = random_covariance(rng, 4, scales=seed % 2 == 0)
    prior = GaussianPrior(covariance, gap=0.75)
    for size in range(1, 5):
        exact = exact_leak(prior.covariance, size, 0.75)
        leak = prior.leak(size)
        assert Fraction(leak) ** 2 >= exact, size
        assert leak == pytest.approx(math.sqrt(exact), rel=1e-11)
        assert prior.status(size) == "exact"


@pytest.mark.parametrize("closeness", [1e-3, 1e-6, 1e-9])
def test_the_leak_stays_above_the_exact_fraction_when_entries_nearly_determine_each_other(closeness):
    covariance = np.full((3, 3), 1.0 - closeness) + closeness * np.diag([1.0, 1.5, 2.0])
    leak, exact = GaussianPrior(covariance, 1.0).leak(1), exact_leak(covariance, 1, 1.0)
    assert Fraction(leak) ** 2 >= exact
    assert leak == pytest.approx(math.sqrt(exact), rel=1e-4)


@pytest.mark.parametrize("weak", [1e-8, 1e-20, 1e-150, 1e-200, 5e-324])
def test_weak_correlation_is_neither_lost_nor_drowned_in_rounding(weak):
    covariance = np.array([[1.0, 0.5, weak], [0.5, 1.0, weak], [weak, weak, 1.0]])
    leak, exact = GaussianPrior(covariance, 1.0).leak(2), exact_leak(covariance, 2, 1.0)
    assert 0 < exact <= Fraction(leak) ** 2
    assert leak <= max(weak * 1.2, 1e-149)


@given(st.integers(0, 10**6), st.integers(2, 6))
@settings(max_examples=examples(25))
def test_the_leak_never_rises_with_the_size_and_scales_with_the_gap(seed, count):
    covariance = random_covariance(np.random.default_rng(seed), count)
    prior, wide = GaussianPrior(covariance, 1.0), GaussianPrior(covariance, 4.0)
    leaks = [prior.leak(size) for size in range(1, count + 2)]
    assert all(after <= before * (1 + 1e-12) for before, after in itertools.pairwise(leaks))
    assert leaks[count - 1] == leaks[count] == 0.0
    assert wide.leak(1) == pytest.approx(4 * leaks[0], rel=1e-12)


def test_the_leak_does_not_depend_on_units():
    """Measuring one entry in other units changes its own secrets' gap only; R^2 stays."""
    covariance = random_covariance(np.random.default_rng(3), 4, scales=False)
    units = np.array([1.0, 1e-40, 1e30, 3.0])
    told = np.array([[0, 2], [3, 1]])
    plain = Covariance(covariance).told(told)
    scaled = Covariance(covariance * units[:, None] * units[None, :]).told(told)
    np.testing.assert_allclose(scaled * units[told[:, 0]], plain, rtol=1e-11)


def test_a_wrong_suggestion_of_the_solver_only_makes_the_bound_larger(monkeypatch):
    law, hidden = Covariance(random_covariance(np.random.default_rng(5), 5, scales=False)), np.array([[0, 1]])
    right = law.told(hidden)
    for noise in (1e-3, 1e-1, 1.0):
        wrong = noise * np.random.default_rng(6).normal(size=(1, 5))
        monkeypatch.setattr(Covariance, "_solved", lambda law, right, hidden, wrong=wrong: wrong)
        assert law.told(hidden) > right * (1 + 1e-9)


def test_many_entries_are_solved_through_one_inverse():
    """70 entries in two independent halves: the half of 35 alone is solved set by set, and says the same."""
    half = random_covariance(np.random.default_rng(2), 35, scales=False)
    both, alone = Covariance(np.kron(np.eye(2), half)), Covariance(half)
    hidden = np.array([[0, 5, 9], [34, 1, 2]])
    np.testing.assert_allclose(both.told(hidden), alone.told(hidden), rtol=1e-9)


@pytest.mark.parametrize("seed", range(12))
def test_the_bound_survives_condition_numbers_up_to_the_limit(seed):
    rng = np.random.default_rng(seed)
    turn = np.linalg.qr(rng.normal(size=(5, 5)))[0]
    matrix = (turn * 10.0 ** rng.uniform(-9.0, 0.0, 5)) @ turn.T
    law = Covariance((matrix + matrix.T) / 2)
    for hidden in ([0], [1, 2], [4, 0, 3]):
        told = [j for j in range(5) if j not in hidden]
        found, exact = float(law.told(np.array([hidden]))[0]), exact_square(law.matrix, hidden[0], told, 1)
        assert exact <= Fraction(found) ** 2 <= exact * Fraction(1001, 1000)


@pytest.mark.parametrize("seed", range(4))
def test_no_eigenvalue_of_any_block_is_below_the_proven_floor(seed):
    law = Covariance(random_covariance(np.random.default_rng(seed), 6))
    least = min(
        np.linalg.eigvalsh(law.scaled[np.ix_(block, block)])[0]
        for size in range(1, 7)
        for block in itertools.combinations(range(6), size)
    )
    assert least / 4 <= law.floor <= least


def test_when_there_are_too_many_sets_the_best_one_tried_is_certified():
    """On a chain only contiguous sets count, so the sets tried hold the best one; here the order is shuffled too."""
    covariance = autoregression(0.8, 40)
    order = np.random.default_rng(0).permutation(40)
    chain = AutoRegressive(0.8, 1.0, 2.0, length=40)
    for matrix in (covariance, covariance[np.ix_(order, order)]):
        prior = GaussianPrior(matrix, gap=2.0)
        for size in (1, 4, 5, 9):
            assert prior.status(size) == ("exact" if size == 1 else "certified")
            assert chain.leak(size) * (1 - 1e-12) <= prior.leak(size) <= chain.leak(size) * (1 + 1e-9)


def test_blocks_that_are_independent_tell_nothing_about_each_other():
    block = np.array([[1.0, 0.9], [0.9, 1.0]])
    prior = GaussianPrior(np.kron(np.eye(3), block), gap=1.0)
    assert prior.leak(1) == pytest.approx(0.9 / math.sqrt(1 - 0.81))
    assert [prior.leak(size) for size in (2, 3)] == [0.0, 0.0]
    curve = prior.influence()
    assert curve.status == "exact"
    assert curve.values.tolist() == [math.inf] + [0.0] * 5


def test_secrets_about_some_entries_are_answered_for_those_alone():
    covariance = np.array([[1.0, 0.9, 0.0], [0.9, 1.0, 0.0], [0.0, 0.0, 1.0]])
    prior = GaussianPrior(covariance, 1.0, names=["a", "b", "c"])
    alone = entry_values([2])
    assert prior.leak(1) > 2
    assert prior.leak(1, alone) == 0.0
    assert prior.influence(secrets=alone).values.tolist() == [0.0, 0.0, 0.0]
    assert prior.influence().values.tolist() == [math.inf, 0.0, 0.0]
    assert [prior.influence().name_of(case) for case in range(3)] == ["a", "b", "c"]
    assert prior.influence(secrets=entry_values([2, 0])).name_of(0) == "c"
    assert prior.influence(2).sizes.tolist() == [1, 2]
    assert prior.leak(1, entry_values(pairs=[(0.0, 1.0)])) == prior.leak(1)
    assert prior.sizes == (1, 2, 3)
    assert "3 entries" in prior.words
    assert "3 entries" in repr(prior)


# ---- the chain


@pytest.mark.parametrize("rho", [0.5, -0.8, 0.95])
@pytest.mark.parametrize("length", [1, 2, 5, 8, 9])
def test_the_chain_of_any_length_is_the_best_over_all_sets(rho, length):
    chain = AutoRegressive(rho, sigma=2.0, gap=3.0, length=length)
    prior = GaussianPrior(autoregression(rho, length, 2.0), gap=3.0)
    for size in range(1, length + 2):
        assert chain.leak(size) == pytest.approx(prior.leak(size), rel=1e-11), size


@pytest.mark.parametrize("rho", [0.3, -0.9, 0.999, 1e-3, 1 - 1e-12])
@pytest.mark.parametrize("size", [1, 2, 7, 64])
def test_the_endless_chain_is_above_the_closed_form_over_every_split_and_next_to_it(rho, size):
    with mpmath.workdps(60):
        power = mpmath.mpf(rho) ** 2
        splits = [(d, size + 1 - d) for d in range(1, size + 1)]
        least = min(sum(power**d / (1 - power**d) for d in split) for split in splits)
        exact = mpmath.mpf(1.5) / 2 * mpmath.sqrt(least)
        leak = AutoRegressive(rho, 2.0, 1.5).leak(size)
        assert leak >= exact
        assert leak <= exact * (1 + 1e-12) or leak < 1e-150  # an exponent of t costs about t units


def test_long_chains_are_like_endless_ones_and_short_ones_tell_less():
    endless = AutoRegressive(0.9, 1.0, 1.0)
    for size in (1, 4, 9):
        leaks = [AutoRegressive(0.9, 1.0, 1.0, length).leak(size) for length in range(1, 2 * size + 3)]
        assert all(a <= b for a, b in itertools.pairwise(leaks))
        assert leaks[2 * size] == leaks[-1] == endless.leak(size)
        assert leaks[size] < endless.leak(size)
    assert AutoRegressive(0.9, 1.0, 1.0, 10**9).leak(6 * 10**8) >= 0.0


def test_independent_entries_tell_nothing():
    chain = AutoRegressive(0.0, 1.0, 5.0)
    assert chain.leak(1) == 0.0
    assert chain.sizes == (1,)
    assert chain.influence(3).values.tolist() == [0.0, 0.0, 0.0]


def test_the_chain_says_what_it_is():
    chain = AutoRegressive(0.5, 1.0, 1.0, length=4)
    assert (chain.entries, AutoRegressive(0.5, 1.0, 1.0).entries) == (4, None)
    assert chain.influence(9).values.tolist() == [math.inf] * 3 + [0.0]
    assert (chain.influence().sizes.tolist(), chain.influence().values.tolist()) == ([1, 4], [math.inf, 0.0])
    assert chain.influence().status == "exact"
    with pytest.raises(InvalidParameter, match="max_size"):
        AutoRegressive(0.5, 1.0, 1.0).influence(10**9)
    assert AutoRegressive(0.5, 1.0, 1.0).influence().values.tolist() == [math.inf]
    assert "correlation 0.5" in chain.words
    assert chain.sizes == (1, 2, 3, 4)
    slow = AutoRegressive(0.999, 1.0, 1.0)
    assert len(slow.sizes) < 100
    assert slow.leak(slow.sizes[-1]) <= 1e-6


# ---- releases, integrated out


def clipped_sum_law(mean, deviation, clip, nodes=60):
    """Nodes and weights for E g(clip(z)), z normal: the two atoms, and Gauss-Legendre in between."""
    place, weight = np.polynomial.legendre.leggauss(nodes)
    z = place * clip
    inside = weight * clip * np.exp(-(((z - mean) / deviation) ** 2) / 2) / deviation / math.sqrt(2 * math.pi)
    atoms = [ndtr((-clip - mean) / deviation), ndtr((mean - clip) / deviation)]
    return np.r_[z, -clip, clip], np.r_[inside, atoms]


def chain_density(rho, sides, value, clip, noise, grid):
    """The density of the noisy clipped sum of a unit-variance chain given one entry, with 1 or 2 entries each side.

    The two sides are independent given that entry.  A side's second entry depends on its first one as it was before the
    clip, so the first is integrated on panels outside the clip as well.
    """
    panels = [(-9.0, -clip), (-clip, clip), (clip, 9.0)]
    place, weight = np.polynomial.legendre.leggauss(24)
    deviation = math.sqrt(1 - rho**2)
    density = np.exp(-((grid - np.clip(value, -clip, clip)) ** 2) / (2 * noise**2)) / noise / math.sqrt(2 * math.pi)
    step = grid[1] - grid[0]
    for side in sides:
        shift = np.zeros_like(grid)
        for low, high in panels:
            z = (low + high) / 2 + (high - low) / 2 * place
            mass = weight * (high - low) / 2 * np.exp(-(((z - rho * value) / deviation) ** 2) / 2)
            mass /= deviation * math.sqrt(2 * math.pi)
            for one, share in zip(z, mass, strict=True):
                points, weights = (
                    (np.zeros(1), np.ones(1)) if side == 1 else clipped_sum_law(rho * one, deviation, clip, 24)
                )
                # linear binning keeps the mean, and is off by step^2 / noise^2 after smoothing
                at = (np.clip(one, -clip, clip) + points) / step + len(grid) // 2
                low_bin = np.floor(at).astype(int)
                np.add.at(shift, low_bin, share * weights * (1 - at + low_bin))
                np.add.at(shift, low_bin + 1, share * weights * (at - low_bin))
        density = np.convolve(density, shift, mode="same")
    return density


def hockey_stick(first, second, step, epsilon):
    return float(np.maximum(first - math.exp(epsilon) * second, 0).sum() * step)


@pytest.mark.parametrize("rho", [0.5, 0.95])
@pytest.mark.parametrize("sides", [(1, 1), (2, 2), (2, 0)])
def test_a_noisy_clipped_sum_of_a_chain_leaks_no_more_than_the_composition(rho, sides):
    """True hockey-stick divergences given x_i = 1 and x_i = -1, for the middle or the last of 3 or 5 entries."""
    clip, noise, gap = 1.0, 4.0, 2.0
    grid = np.linspace(-40.0, 40.0, 4001)
    step = grid[1] - grid[0]
    told = tuple(side for side in sides if side)
    first, second = (chain_density(rho, told, value, clip, noise, grid) for value in (1.0, -1.0))
    assert first.sum() * step == pytest.approx(1.0, abs=1e-6)
    count = 1 + sum(sides)
    prior = GaussianPrior(autoregression(rho, count), gap)
    sum_loss = qw.gaussian(noise, 2 * clip)
    naive = False
    for epsilon in (0.0, 0.25, 0.5, 1.0):
        truth = hockey_stick(first, second, step, epsilon)
        for size in range(1, count + 1):
            leak = prior.leak(size)
            total = sum_loss.group(size) + qw.gdp(leak) if leak else sum_loss.group(size)
            assert truth <= float(total.delta(epsilon).upper) + 1e-5, size
            mu = math.hypot(leak, size * 2 * clip / noise)  # the same, as one Gaussian
            assert float(total.delta(epsilon).upper) == pytest.approx(float(qw.gdp(mu).delta(epsilon).upper), rel=1e-2)
        naive = naive or truth > float(sum_loss.delta(epsilon).lower) + 0.01
    assert naive  # the per-entry loss alone, without what the others tell, is no bound


def dense_density(covariance, value, clip, noise, grid):
    """The density of the noisy clipped sum of three entries given the first, by quadrature over the other two."""
    own = covariance[0, 0]
    mean = covariance[1:, 0] / own * value
    rest = covariance[1:, 1:] - np.outer(covariance[1:, 0], covariance[1:, 0]) / own
    place, weight = np.polynomial.legendre.leggauss(24)
    axes = []
    for centre, deviation in zip(mean, np.sqrt(np.diag(rest)), strict=True):
        ends = sorted(
            {
                centre - 8 * deviation,
                *(e for e in (-clip, clip) if abs(e - centre) < 8 * deviation),
                centre + 8 * deviation,
            }
        )
        parts = [
            ((low + high) / 2 + (high - low) / 2 * place, weight * (high - low) / 2)
            for low, high in itertools.pairwise(ends)
        ]
        axes.append([np.concatenate(part) for part in zip(*parts, strict=True)])
    (x, dx), (y, dy) = axes
    offset = np.stack(np.meshgrid(x - mean[0], y - mean[1], indexing="ij"), axis=-1)
    mass = np.exp(-np.einsum("abi,ij,abj->ab", offset, np.linalg.inv(rest), offset) / 2) * dx[:, None] * dy[None, :]
    mass /= 2 * math.pi * math.sqrt(np.linalg.det(rest))
    total = np.clip(x, -clip, clip)[:, None] + np.clip(y, -clip, clip)[None, :] + np.clip(value, -clip, clip)
    spread = np.exp(-((grid[:, None] - total.ravel()[None, :]) ** 2) / (2 * noise**2)) / noise / math.sqrt(2 * math.pi)
    return spread @ mass.ravel()


@pytest.mark.parametrize("signs", [(1, 1), (1, -1), (-1, -1)])
def test_a_noisy_clipped_sum_of_entries_that_are_no_chain_leaks_no_more_than_the_composition(signs):
    flip = np.array([1, *signs])
    covariance = np.array([[1.0, 1.2, 0.7], [1.2, 2.25, 0.9], [0.7, 0.9, 1.0]]) * flip[:, None] * flip[None, :]
    prior, clip, noise = GaussianPrior(covariance, 1.0), 1.5, 3.0
    grid = np.linspace(-24.0, 24.0, 481)
    first, second = (dense_density(covariance, value, clip, noise, grid) for value in (0.5, -0.5))
    assert first.sum() * 0.1 == pytest.approx(1.0, abs=1e-6)
    for epsilon in (0.0, 0.2, 0.5):
        truth = max(hockey_stick(first, second, 0.1, epsilon), hockey_stick(second, first, 0.1, epsilon))
        for size in (1, 2):
            total = qw.gaussian(noise, 2 * clip).group(size) + qw.gdp(prior.leak(size))
            assert truth <= float(total.delta(epsilon).upper) + 1e-4


def test_releasing_the_told_entries_themselves_reaches_the_leak():
    """A release of x_L without noise has exactly the trade-off of mu_a: the likelihood ratio test attains it.

    One million draws; the share of rejections is off by more than 0.0025, five standard deviations, with probability
    below 1e-6.
    """
    covariance = random_covariance(np.random.default_rng(8), 4, scales=False)
    told, gap, own = [2, 3], 1.0, covariance[0, 0]
    mu = gap * float(Covariance(covariance).told(np.array([[0, 1]]))[0])
    shift = gap * covariance[told, 0] / own
    rest = covariance[np.ix_(told, told)] - np.outer(covariance[told, 0], covariance[told, 0]) / own
    draws = np.random.default_rng(9).multivariate_normal(shift, rest, size=1_000_000)
    score = draws @ np.linalg.solve(rest, shift)
    power = float(np.mean(score > mu * 1.0))  # type I error 1 - Phi(1) under the other secret
    assert power == pytest.approx(ndtr(mu - 1.0), abs=0.0025)


# ---- refusals

GOOD = [[1.0, 0.5], [0.5, 1.0]]


@pytest.mark.parametrize(
    "covariance",
    [
        [],
        [[]],
        [1.0, 2.0],
        [[1.0, 0.5]],
        [[1.0, 0.5], [0.4, 1.0]],
        [[1.0, 1.0], [1.0, 1.0]],
        [[1.0, 2.0], [2.0, 1.0]],
        [[0.0]],
        [[-1.0]],
        [[math.nan]],
        [[math.inf]],
        [[1e101]],
        [[1e-101]],
        "matrix",
        None,
        True,
        np.eye(2) * 1j,
        np.eye(1025),
        [[1.0, 1 - 1e-12], [1 - 1e-12, 1.0]],
    ],
    ids=str,
)
def test_covariances_that_are_none_are_refused(covariance):
    with pytest.raises(InvalidParameter, match="covariance"):
        GaussianPrior(covariance, 1.0)


def test_refusals_say_what_is_wrong():
    with pytest.raises(InvalidParameter, match="not symmetric"):
        GaussianPrior([[1.0, 0.5], [0.4, 1.0]], 1.0)
    with pytest.raises(InvalidParameter, match="least eigenvalue"):
        GaussianPrior([[1.0, 2.0], [2.0, 1.0]], 1.0)
    with pytest.raises(InvalidParameter, match="condition number"):
        GaussianPrior([[1.0, 1 - 1e-12], [1 - 1e-12, 1.0]], 1.0)


def test_many_entries_near_the_limit_are_refused_when_rounding_hides_the_least_eigenvalue():
    covariance = np.eye(700)
    covariance[0, 1] = covariance[1, 0] = 1 - 3e-10
    with pytest.raises(InvalidParameter, match="nearly determine each other"):
        GaussianPrior(covariance, 1.0)
    assert GaussianPrior(covariance[:9, :9], 1.0).leak(2) == 0.0


def test_rounding_in_the_given_matrix_is_no_asymmetry():
    covariance = np.array([[1.0, 0.5], [0.5 + 2e-16, 1.0]])
    prior = GaussianPrior(covariance, 1.0)
    assert np.array_equal(prior.covariance, prior.covariance.T)


@pytest.mark.parametrize("gap", [0.0, -1.0, math.nan, math.inf, True, "1", None])
def test_gaps_must_be_positive_numbers(gap):
    with pytest.raises(InvalidParameter, match="gap"):
        GaussianPrior(GOOD, gap)
    with pytest.raises(InvalidParameter, match="gap"):
        AutoRegressive(0.5, 1.0, gap)


@pytest.mark.parametrize("rho", [1.0, -1.0, 1.5, math.nan, True, "0.5", None])
def test_correlations_lie_strictly_between_minus_one_and_one(rho):
    with pytest.raises(InvalidParameter, match="rho"):
        AutoRegressive(rho, 1.0, 1.0)


@pytest.mark.parametrize("sigma", [0.0, -1.0, math.inf, True])
def test_deviations_must_be_positive_numbers(sigma):
    with pytest.raises(InvalidParameter, match="sigma"):
        AutoRegressive(0.5, sigma, 1.0)


@pytest.mark.parametrize("length", [0, -1, 2.0, True])
def test_lengths_are_counts(length):
    with pytest.raises(InvalidParameter, match="length"):
        AutoRegressive(0.5, 1.0, 1.0, length)


@pytest.mark.parametrize("prior", [GaussianPrior(GOOD, 1.0), AutoRegressive(0.5, 1.0, 1.0, 2)], ids=["any", "chain"])
def test_questions_outside_the_prior_are_refused(prior):
    for size in (0, -1, 1.0, True):
        with pytest.raises(InvalidParameter, match="size"):
            prior.leak(size)
    with pytest.raises(InvalidParameter, match="max_size"):
        prior.influence(0)
    with pytest.raises(InvalidParameter, match="entries"):
        prior.leak(1, entry_values([2]))
    with pytest.raises(InvalidParameter, match="at most 1 apart"):
        prior.influence(secrets=entry_values(pairs=[(0.0, 1.5)]))
    with pytest.raises(InvalidParameter, match="secret value"):
        prior.leak(1, entry_values(pairs=[("low", "high")]))
    with pytest.raises(Unsupported):
        prior.leak(1, joint_values([0, 1]))


@pytest.mark.parametrize("names", [["a"], ["a", "a"], ["a", ""], ["a", "b", "c"]])
def test_names_are_one_an_entry_and_different(names):
    with pytest.raises(InvalidParameter, match="name"):
        GaussianPrior(GOOD, 1.0, names=names)


def test_status_refuses_no_size():
    with pytest.raises(InvalidParameter, match="size"):
        GaussianPrior(GOOD, 1.0).status(0)
    assert GaussianPrior(GOOD, 1.0).status(7) == "exact"
