"""Noisy max and permute-and-flip: the Laplace bound against all tests of small sets of candidates."""

import itertools
import math

import numpy as np
import pytest
from scipy.integrate import quad

import quiltwork as qw
from quiltwork.errors import InvalidParameter, Unsupported
from quiltwork.losses.families.noisy_max import NoisyMax
from quiltwork.losses.families.poisson import Poisson
from quiltwork.spec import dumps, loads


def permute_and_flip(scores, scale):
    """The law of the winner: candidates in random order, each taken with probability e^((score - best) / scale)."""
    chance = np.exp((np.array(scores) - max(scores)) / scale)
    law = np.zeros(len(scores))
    orders = list(itertools.permutations(range(len(scores))))
    for order in orders:
        left = 1.0
        for one in order:
            law[one] += left * chance[one] / len(orders)
            left *= 1 - chance[one]
    return law


def noisy_max(scores, density, below):
    """The law of the winner by integration: the density of its noise, times what the others stay below."""
    far = max(scores) - min(scores) + 40.0

    def won(one):
        others = [score for place, score in enumerate(scores) if place != one]
        return lambda x: density(x) * math.prod(below(x + scores[one] - other) for other in others)

    kinks = sorted({0.0} | {other - one for one in scores for other in scores})
    edges = [-far, *(k for k in kinks if -far < k < far), far]
    return np.array(
        [sum(quad(won(i), a, b, epsabs=1e-12)[0] for a, b in itertools.pairwise(edges)) for i in range(len(scores))]
    )


LAPLACE = (lambda x: 0.5 * math.exp(-abs(x)), lambda x: 0.5 * math.exp(x) if x < 0 else 1 - 0.5 * math.exp(-x))
EXPONENTIAL = (lambda x: math.exp(-x) if x > 0 else 0.0, lambda x: 1 - math.exp(-x) if x > 0 else 0.0)


def hockey_stick(p, q, epsilon):
    return float(np.maximum(p - math.exp(epsilon) * q, 0.0).sum())


@pytest.mark.parametrize("candidates", [2, 3, 4])
@pytest.mark.parametrize("epsilon", [0.3, 1.0, 4.0])
def test_no_test_of_permute_and_flip_does_better_than_laplace(candidates, epsilon):
    rng, scale = np.random.default_rng(candidates), 2 / epsilon  # sensitivity 1
    places = np.linspace(0, epsilon, 9)
    allowed = -np.expm1((places - epsilon) / 2)  # of Laplace noise
    upper = np.asarray(qw.noisy_max(epsilon).delta(places).upper)
    assert np.all(upper >= allowed - 2e-16)
    assert upper == pytest.approx(allowed, abs=3e-14)  # how far rounding is allowed for depends on the processor
    for _ in range(60):
        scores = rng.integers(-3, 4, candidates) * rng.choice([0.25, 1.0])
        moved = scores + rng.choice([-1.0, 0.0, 1.0], candidates)
        p, q = permute_and_flip(scores, scale), permute_and_flip(moved, scale)
        for at, most in zip(places, allowed, strict=True):
            assert hockey_stick(p, q, at) <= most + 1e-13


@pytest.mark.parametrize("noise", [LAPLACE, EXPONENTIAL], ids=["Laplace", "exponential"])
def test_no_test_of_noisy_max_does_better_than_laplace(noise):
    rng, epsilon = np.random.default_rng(7), 1.5
    places = np.linspace(0, epsilon, 7)
    for _ in range(6):
        scores = rng.uniform(-2, 2, 3)
        moved = scores + rng.choice([-1.0, 0.0, 1.0], 3) * epsilon / 2  # in units of the scale
        p, q = noisy_max(list(scores), *noise), noisy_max(list(moved), *noise)
        assert p.sum() == pytest.approx(1, abs=1e-9)
        for at in places:
            assert hockey_stick(p, q, at) <= -math.expm1((at - epsilon) / 2) + 1e-9


def test_exponential_noise_is_permute_and_flip():
    scores = [0.0, 0.7, -0.4]
    assert noisy_max(scores, *EXPONENTIAL) == pytest.approx(permute_and_flip(scores, 1.0), abs=1e-9)


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 3.0])
def test_two_candidates_attain_every_test(epsilon):
    scale = 2 / epsilon
    for at in np.linspace(0.05, 0.95, 5) * epsilon:
        best = max(
            hockey_stick(permute_and_flip([gap, 0.0], scale), permute_and_flip([gap - 1, 1.0], scale), at)
            for gap in np.linspace(-3, 3, 4001)
        )
        assert best == pytest.approx(float(qw.noisy_max(epsilon).delta(at).upper), rel=1e-3)
    assert float(qw.noisy_max(1.0).delta(0.5).upper) == pytest.approx(1 - math.exp(-0.25), rel=1e-12)


@pytest.mark.parametrize(("epsilon", "count"), [(1.0, 2), (1.0, 8), (0.2, 30)])
def test_the_lower_end_is_that_of_candidates_that_trade_places(epsilon, count):
    p, q = permute_and_flip([1.0, 0.0], 2 / epsilon), permute_and_flip([0.0, 1.0], 2 / epsilon)
    truth = (count * qw.pair(p, q)).epsilon(1e-6)
    found = (count * qw.noisy_max(epsilon)).epsilon(1e-6)
    assert float(found.lower) <= float(truth.upper) <= float(found.upper) * (1 + 1e-12)
    assert float(found.lower) >= float(truth.lower) * (1 - 2e-3)
    assert float(found.upper) == pytest.approx(float((count * qw.laplace(1.0, epsilon)).epsilon(1e-6).upper), rel=2e-3)


def test_a_group_moves_scores_further():
    assert qw.noisy_max(0.5).group(3) == qw.noisy_max(1.5)


def test_noise_on_a_number_is_not_a_choice():
    """Exchanged and grouped records on samples need the law of the noise, which a choice does not have."""
    loss = qw.noisy_max(0.5)
    for ask in (
        lambda: qw.poisson(loss, 0.1),
        lambda: qw.poisson(loss, 0.1, "replace_one"),
        lambda: qw.truncated_poisson(loss, 0.1, 5, 10),
        lambda: qw.random_allocation(loss, 5),
        lambda: Poisson(NoisyMax(0.5), 0.1),
    ):
        with pytest.raises(Unsupported):
            ask()
    with pytest.raises(Unsupported, match=r"not built here.*laplace\(1, epsilon\)"):
        qw.poisson(loss, 0.1)


@pytest.mark.parametrize("epsilon", [0.0, -1.0, math.nan, math.inf, "1", None, True])
def test_bad_numbers_are_refused(epsilon):
    with pytest.raises(InvalidParameter, match="epsilon"):
        qw.noisy_max(epsilon)


def test_it_is_written_and_read():
    loss = 3 * qw.noisy_max(0.5)
    assert loads(dumps(loss)) == loss


@pytest.mark.parametrize("epsilon", [0.3, 2.0])
def test_one_release_is_laplace_noise_from_both_sides(epsilon):
    """Two candidates attain every test, each by another distance of their scores; composed, that is not known."""
    scale, loss, same = 2 / epsilon, qw.noisy_max(epsilon), qw.laplace(1.0, epsilon)
    for at in np.linspace(0.0, epsilon, 7)[:-1]:
        gaps = np.linspace(-6 * scale, 6 * scale, 4001)  # of the scores, in the first world
        wins, other = (
            np.where(u > 0, 1 - np.exp(-abs(u)) / 2, np.exp(-abs(u)) / 2) for u in (gaps / scale, (gaps - 2) / scale)
        )
        attained = float(np.max(wins - math.exp(at) * other))
        found = loss.delta(at)
        assert found.lower <= attained * (1 + 1e-4)
        assert attained <= found.upper * (1 + 1e-12)
        assert found.upper - found.lower <= 1e-9
    for delta in (0.0, 1e-6, 0.05):
        assert loss.epsilon(delta).upper == same.epsilon(delta).upper
        assert loss.epsilon(delta).lower == pytest.approx(same.epsilon(delta).lower, rel=1e-12)
    assert (2 * loss).epsilon(1e-6).lower < 0.95 * (2 * loss).epsilon(1e-6).upper


@pytest.mark.parametrize("epsilon", [1e-10, 0.1, 1.0, 3.7, 1e5])
def test_the_largest_loss_lies_between_its_ends(epsilon):
    """It is attained, but its upper end is past rounding and was told as the lower end, too."""
    found = qw.noisy_max(epsilon).epsilon(0.0)
    assert found.lower <= epsilon <= found.upper <= epsilon * (1 + 1e-14)
    assert found.lower >= epsilon * (1 - 1e-14)
