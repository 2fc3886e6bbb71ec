"""Lipschitz propagation against all threshold functions, all lengths, and worst mechanisms of short chains."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from tests.examples import examples
from tests.pufferfish import brute

from quiltwork.numbers.matrices import stationary
from quiltwork.pufferfish import MarkovChain
from quiltwork.pufferfish.priors.chain.attained import reversed_chain
from quiltwork.pufferfish.priors.chain.propagation import ChainTranslator, one_side
from quiltwork.pufferfish.translation.propagation import OneSide, Spread

UNIT = 2.0**-53


def random_matrix(rng: np.random.Generator, k: int) -> np.ndarray:
    """Dense, sparse, sticky or nearly cyclic rows, with one closed class."""
    matrix = rng.dirichlet(np.full(k, rng.choice([0.2, 0.7, 2.0])), size=k)
    shape = rng.integers(4)
    if shape == 1:
        matrix = np.where(rng.random((k, k)) < 0.3, 0.0, matrix)
    elif shape == 2:
        matrix = 0.9 * np.eye(k) + 0.1 * matrix
    elif shape == 3:
        matrix = 0.9 * np.roll(np.eye(k), 1, axis=1) + 0.1 * matrix
    matrix[np.arange(k), (np.arange(k) + 1) % k] += 0.01
    return np.asarray(matrix / matrix.sum(axis=1, keepdims=True))


def spread(matrix: np.ndarray) -> Spread:
    return Spread.of(matrix, matrix > 0, 4 * UNIT)


def naive_psi(matrix: np.ndarray, r: float) -> np.ndarray:
    """The maximum over every g in {1, e^r}^k; a ratio of linear functions is largest at a corner of the box."""
    corners = np.array(list(itertools.product((1.0, math.exp(r)), repeat=matrix.shape[1])))
    reached = np.log(matrix @ corners.T)
    return np.asarray((reached[:, None, :] - reached[None, :, :]).max(axis=-1))


def own(k: int, epsilon: float) -> np.ndarray:
    return np.asarray(epsilon * (1.0 - np.eye(k)))


# ---- one step


@pytest.mark.parametrize("r", [0.0, 1e-9, 0.01, 0.7, 3.0, 20.0, 300.0])
def test_one_step_is_the_maximum_over_all_corners(r: float) -> None:
    rng = np.random.default_rng(int(r * 10) + 1)
    for _ in range(40):
        k = int(rng.integers(2, 7))
        matrix = random_matrix(rng, k)
        table, truth = spread(matrix), naive_psi(matrix, r)
        found = table.each(r)
        assert np.all(found >= truth - 4e-15 * (1.0 + r))
        assert np.allclose(found, truth, rtol=1e-12, atol=1e-13)
        assert table.largest(r) >= found.max() * (1 - 1e-14)
        assert table.largest(r) == pytest.approx(float(truth.max()), rel=1e-12, abs=1e-13)


def test_one_step_rounds_up() -> None:
    """To the last digit: the same maximum in 40 digits is never above."""
    rng = np.random.default_rng(4)
    for _ in range(30):
        matrix, r = random_matrix(rng, 3), float(np.exp(rng.uniform(-12, 4)))
        rows, found = brute.exact_rows(matrix), spread(matrix).each(r)
        with mpmath.workdps(40):
            power = mpmath.exp(mpmath.mpf(r))
            for u, v in itertools.permutations(range(3), 2):
                best = mpmath.mpf(0)
                for chosen in itertools.product((False, True), repeat=3):
                    top, bottom = (
                        sum(_mp(x) * (power if taken else 1) for x, taken in zip(rows[row], chosen, strict=True))
                        for row in (u, v)
                    )
                    best = max(best, mpmath.log(top / bottom))
                assert mpmath.mpf(float(found[u, v])) >= best


def _mp(value: Fraction) -> mpmath.mpf:
    return mpmath.mpf(value.numerator) / value.denominator


def test_far_away_it_is_the_log_ratio() -> None:
    matrix = np.array([[0.5, 0.5, 0.0], [0.2, 0.3, 0.5], [0.25, 0.25, 0.5]])
    for r in (650.0, 1e5, math.inf):
        found = spread(matrix).each(r)
        assert found[1, 0] == min(math.inf, r)  # state 2 is possible from 1 only
        assert found[0, 1] == pytest.approx(math.log(2.5), abs=1e-12)
    assert np.all(spread(matrix).each(599.9) <= spread(matrix).each(600.1) + 1e-9)


def test_directed_two_states_by_hand() -> None:
    matrix = np.array([[0.8, 0.2], [0.3, 0.7]])
    table = spread(matrix)
    slope = np.array([[0.0, 0.5], [2.0, 0.0]])
    # u = 0 favours state 0: g_0 / g_1 is at most e^0.5; u = 1 favours state 1: g_1 / g_0 is at most e^2
    expected = [[0.0, math.log((0.8 * math.e**0.5 + 0.2) / (0.3 * math.e**0.5 + 0.7))], [0.0, 0.0]]
    expected[1][0] = math.log((0.3 + 0.7 * math.e**2) / (0.8 + 0.2 * math.e**2))
    assert np.allclose(table.directed(slope), expected, rtol=0, atol=1e-13)


def anchored_truth(matrix: np.ndarray, slope: np.ndarray, u: int, v: int) -> mpmath.mpf:
    """Every place of the least g, every corner of the box above it, in 40 digits."""
    rows, k = brute.exact_rows(matrix), len(matrix)
    with mpmath.workdps(40):
        best = mpmath.mpf(0)
        for least in range(k):
            for chosen in itertools.product((False, True), repeat=k):
                g = [mpmath.exp(mpmath.mpf(float(slope[y, least]))) if chosen[y] else mpmath.mpf(1) for y in range(k)]
                top, bottom = (sum(_mp(x) * value for x, value in zip(rows[row], g, strict=True)) for row in (u, v))
                best = max(best, mpmath.log(top / bottom))
        return best


def test_slopes_of_their_own() -> None:
    rng = np.random.default_rng(17)
    for _ in range(25):
        matrix = random_matrix(rng, 3)
        slope = rng.uniform(0.0, 3.0, (3, 3)) * (1 - np.eye(3))
        found = spread(matrix).anchored(slope)
        for u, v in itertools.permutations(range(3), 2):
            truth = anchored_truth(matrix, slope, u, v)
            assert mpmath.mpf(float(found[u, v])) >= truth
            assert found[u, v] == pytest.approx(float(truth), abs=1e-12)
        assert np.all(found <= spread(matrix).each(float(slope.max())) * (1 + 1e-12))


@pytest.mark.parametrize("rare", [1e-3, 1e-9, 1e-14, 1e-17, 1e-60])
def test_rare_states_with_steep_slopes_are_not_lost(rare: float) -> None:
    """A state of this probability whose g may be 3 / rare times larger than the others decides everything."""
    matrix = np.array([[0.6, 0.4, rare], [0.3, 0.7, 0.5 * rare], [0.2, 0.2, 0.6]])
    matrix /= matrix.sum(axis=1, keepdims=True)
    steep = math.log(3.0 / rare)
    slope = np.array([[0.0, 0.1, 0.1], [0.1, 0.0, 0.1], [steep, steep, 0.0]])
    found = spread(matrix).anchored(slope)
    for u, v in itertools.permutations(range(3), 2):
        truth = anchored_truth(matrix, slope, u, v)
        assert mpmath.mpf(float(found[u, v])) >= truth
        assert found[u, v] == pytest.approx(float(truth), rel=1e-11)


# ---- a whole side


def test_a_settled_side_bounds_every_length() -> None:
    rng = np.random.default_rng(7)
    for _ in range(examples(60)):
        k = int(rng.integers(2, 6))
        side = one_side(random_matrix(rng, k))
        entry = own(k, float(np.exp(rng.uniform(-6, 1.5))))
        settled = side.settled(entry)
        before = np.zeros((k, k))
        for count in (0, 1, 2, 3, 5, 9, 17, 40):
            now = side.after(entry, count)
            assert np.all(settled >= now * (1 - 1e-12))
            assert now.max() >= before.max() * (1 - 1e-12)  # more entries never tell less
            assert now.max() <= count * entry.max() * (1 + 1e-12)
            before = now


def test_two_states_settle_at_the_eigenvector() -> None:
    """The limit of (P D)^n 1 with D = diag(e^eps, 1): a Perron vector, for positive correlation (theory 3.4)."""
    rng = np.random.default_rng(8)
    for _ in range(40):
        p, q = rng.uniform(0.5, 0.99, 2)
        matrix, epsilon = np.array([[p, 1 - p], [1 - q, q]]), float(rng.uniform(0.01, 3))
        for favoured in (0, 1):
            tilt = np.diag([math.exp(epsilon) if y == favoured else 1.0 for y in (0, 1)])
            values, vectors = np.linalg.eig(matrix @ tilt)
            top = np.abs(vectors[:, np.argmax(values)])
            found = one_side(matrix).settled(own(2, epsilon))[favoured, 1 - favoured]
            assert found == pytest.approx(math.log(top[favoured] / top[1 - favoured]), rel=1e-9)
            assert found >= math.log(top[favoured] / top[1 - favoured]) * (1 - 1e-13)


def test_a_side_that_never_forgets_is_infinite() -> None:
    matrix = np.array([[0.0, 1.0], [1.0, 0.0]])
    assert one_side(matrix).settled(own(2, 0.1))[0, 1] == math.inf
    cycle = np.roll(np.eye(3), 1, axis=1)
    assert one_side(cycle).settled(own(3, 0.1))[0, 1] == math.inf
    assert one_side(cycle).after(own(3, 0.1), 7)[0, 1] == pytest.approx(0.7, rel=1e-12)


def test_long_steps_are_needed_when_one_step_reveals() -> None:
    """Zero diagonal, three states: two single steps reveal everything, four mix; longer steps stay finite."""
    matrix = np.array([[0.0, 1.0, 0.0], [0.5, 0.0, 0.5], [0.6, 0.4, 0.0]])
    side = one_side(matrix)
    single = OneSide(side.spreads[:1], side.steps[:1])
    assert side.settled(own(3, 2.0)).max() < math.inf
    assert side.settled(own(3, 2.0)).max() <= single.settled(own(3, 2.0)).max()


def test_nothing_to_tell() -> None:
    same = np.array([[0.3, 0.7], [0.3, 0.7]])
    assert one_side(same).settled(own(2, 1.0)).max() < 1e-13
    assert one_side(np.array([[0.8, 0.2], [0.2, 0.8]])).settled(own(2, 0.0)).max() < 1e-300
    assert one_side(np.full((3, 3), 1 / 3)).settled(own(3, 0.0)).max() == 0.0


# ---- whole chains


def test_two_states_are_exact() -> None:
    rng = np.random.default_rng(10)
    for _ in range(25):
        p, q = rng.uniform(0.02, 0.98, 2)
        matrix = np.array([[p, 1 - p], [1 - q, q]])
        law = brute.stationary(matrix)
        length, epsilon = int(rng.integers(1, 6)), float(rng.uniform(0.02, 2.5))
        entry = int(rng.integers(length))
        table = brute.chain_law(matrix, law, length)
        found = ChainTranslator(matrix, stationary(matrix), length).at(epsilon, [(entry, length - 1 - entry)])[0]
        for u, v in ((0, 1), (1, 0)):
            truth = brute.worst_leak(brute.given(table, entry, u), brute.given(table, entry, v), epsilon)
            assert found[u, v] >= truth - 1e-12
            assert found[u, v] == pytest.approx(truth, abs=1e-6)


def test_more_states_are_bounded() -> None:
    rng = np.random.default_rng(11)
    ratios = []
    for _ in range(examples(25)):
        k = int(rng.integers(3, 5))
        matrix, length, epsilon = random_matrix(rng, k), int(rng.integers(2, 5)), float(np.exp(rng.uniform(-3, 1)))
        if k == 4:
            length = min(length, 3)
        law = brute.stationary(matrix)
        table, entry = brute.chain_law(matrix, law, length), int(rng.integers(length))
        found = ChainTranslator(matrix, stationary(matrix), length).at(epsilon, [(entry, length - 1 - entry)])[0]
        for u, v in itertools.permutations(range(k), 2):
            truth = brute.worst_leak(brute.given(table, entry, u), brute.given(table, entry, v), epsilon)
            assert found[u, v] >= truth - 1e-12
            ratios.append(found[u, v] / truth)
    assert np.mean(ratios) < 1.2  # it would be easy to be safe and useless


def test_the_chain_backwards() -> None:
    matrix = np.array([[0.7, 0.25, 0.05], [0.05, 0.7, 0.25], [0.2, 0.1, 0.7]])
    law = stationary(matrix)
    backward = reversed_chain(matrix, law)
    table = brute.chain_law(matrix, law, 2)
    assert np.allclose(backward, (table / table.sum(axis=0)).T, rtol=0, atol=1e-14)


def test_group_privacy_caps_a_short_chain() -> None:
    chain = MarkovChain([[0.999, 0.001], [0.001, 0.999]], length=3)
    (theorem,) = chain.translations()
    assert float(theorem.epsilons(0.2).max()) <= 0.6 * (1 + 1e-15)
