"""Sparse chains: what propagates through zeros, against linear programs and listed trajectories, every secret."""

import math

import numpy as np
import pytest
from scipy.optimize import linprog
from tests.examples import seeds
from tests.pufferfish import brute

import quiltwork as qw
from quiltwork.pufferfish import HiddenMarkov, MarkovChain, guarantee, per_entry_epsilon, translate
from quiltwork.pufferfish.priors.chain import propagation
from quiltwork.pufferfish.translation import kernels as programs
from quiltwork.pufferfish.translation.kernels import Kernels
from quiltwork.pufferfish.translation.transport import Transport

ROOM = 1e-9  # of truths that a linear program gives


def path(rng: np.random.Generator, cells: int) -> np.ndarray:
    """Someone who stays or moves to a neighbouring cell; some moves may be seldom, one may be impossible."""
    found = np.zeros((cells, cells))
    for cell in range(cells):
        near = [other for other in (cell - 1, cell, cell + 1) if 0 <= other < cells]
        found[cell, near] = rng.dirichlet(np.full(len(near), rng.choice([0.3, 1.0, 5.0]))) + 0.01
    if rng.random() < 0.3:
        found[int(rng.integers(cells)), :] *= 1.0 - np.eye(cells)[int(rng.integers(cells))] * (cells > 3)
    return np.asarray(found / found.sum(axis=1, keepdims=True))


def grid(rows: int, columns: int, stay: float) -> np.ndarray:
    """Cells of a map: someone stays, or moves to each neighbouring cell with equal chances."""
    found = stay * np.eye(rows * columns)
    for cell in range(rows * columns):
        row, column = divmod(cell, columns)
        near = [(row + 1, column), (row - 1, column), (row, column + 1), (row, column - 1)]
        inside = [r * columns + c for r, c in near if 0 <= r < rows and 0 <= c < columns]
        found[cell, inside] = (1.0 - stay) / len(inside)
    return found


def slopes(rng: np.random.Generator, size: int) -> np.ndarray:
    """A random metric, not the same both ways."""
    found = rng.gamma(0.7, rng.choice([0.01, 0.5, 2.0]), (size, size))
    np.fill_diagonal(found, 0.0)
    for between in range(size):
        found = np.minimum(found, found[:, between : between + 1] + found[between])
    return np.asarray(found)


def least_kappa(matrix: np.ndarray, u: int, v: int, slope: np.ndarray) -> float:
    """max log M_u . g / M_v . g over all g with these slopes, by a linear program about g itself."""
    size = len(matrix)
    table = np.array(
        [np.eye(size)[y] - math.exp(slope[y, w]) * np.eye(size)[w] for y in range(size) for w in range(size)]
    )
    solved = linprog(-matrix[u], A_ub=table, b_ub=np.zeros(len(table)), A_eq=matrix[v : v + 1], b_eq=[1.0])
    return math.log(-solved.fun)


@pytest.mark.parametrize("seed", seeds(40, 8))
def test_kernels_are_as_good_as_the_worst_function_with_these_slopes(seed: int) -> None:
    rng = np.random.default_rng(seed)
    size = int(rng.integers(3, 8))
    matrix, slope = path(rng, size), slopes(rng, size)
    transport = Transport.of(matrix, 4e-15)
    assert (transport is None) == bool((matrix > 0).all())
    if transport is None:
        return
    found, kernels = transport.through(slope), Kernels.of(matrix)
    kernels.least(slopes(rng, size))  # a start that is made for other slopes
    again = kernels.least(slope)
    for u in range(size):
        for v in range(size):
            truth = least_kappa(matrix, u, v, slope) if u != v else 0.0
            assert found[u, v] >= truth - ROOM
            assert found[u, v] == pytest.approx(truth, abs=1e-7)
            assert again[u, v] == pytest.approx(truth, abs=1e-7)


@pytest.mark.parametrize("pivots", [0, 1, 3])
def test_a_search_that_ends_early_is_still_a_bound(pivots: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(3)
    matrix, slope = path(rng, 6), slopes(rng, 6)
    best = Kernels.of(matrix).least(slope)
    monkeypatch.setattr(programs, "PIVOTS", pivots)
    found = Kernels.of(matrix).least(slope)
    assert np.all(found >= best - 1e-12)
    assert found.max() > best.max() + 0.01


@pytest.mark.parametrize("seed", seeds(20, 4))
def test_what_settles_maps_to_something_no_larger(seed: int) -> None:
    rng = np.random.default_rng(100 + seed)
    size = int(rng.integers(3, 7))
    transport = Transport.of(path(rng, size), 4e-15)
    if transport is None:
        return
    for cost in (1e-4, 0.03, 0.5):
        own = cost * (1.0 - np.eye(size))
        found = transport.settled(own, np.full((size, size), np.inf))
        if not np.isfinite(found).all():
            continue
        for u, v in zip(*np.nonzero(own), strict=True):
            assert least_kappa(transport.matrix, u, v, own + found) <= found[u, v] + ROOM
        assert np.array_equal(found, Transport.of(transport.matrix, 4e-15).settled(own, np.full(own.shape, np.inf)))


@pytest.mark.parametrize("seed", seeds(40, 6))
def test_no_mechanism_on_a_short_path_leaks_more(seed: int) -> None:
    rng = np.random.default_rng(200 + seed)
    cells, length = ((3, 4), (3, 5), (4, 4), (5, 3))[int(rng.integers(4))]
    matrix, entry = path(rng, cells), float(rng.choice([0.01, 0.1, 0.5, 1.5]))
    law = brute.chain_law(matrix, brute.stationary(matrix), length)
    truth = max(
        brute.worst_leak(brute.given(law, at, u), brute.given(law, at, v), entry) for at, u, v in brute.secrets(law)
    )
    short, endless = (translate(MarkovChain(matrix, length=n), entry) for n in (length, None))
    assert truth <= short.upper * (1 + ROOM)
    assert truth <= endless.upper * (1 + ROOM)
    assert short.lower <= truth * (1 + 1e-6) + 1e-9
    assert short.upper <= length * entry * (1 + 1e-12)


@pytest.mark.parametrize("seed", seeds(40, 5))
def test_no_mechanism_that_was_drawn_leaks_more_on_longer_paths(seed: int) -> None:
    rng = np.random.default_rng(250 + seed)
    cells, length = ((3, 8), (4, 6), (5, 5))[int(rng.integers(3))]
    matrix, entry = path(rng, cells), float(rng.choice([0.01, 0.1, 0.5, 1.5]))
    law = brute.chain_law(matrix, brute.stationary(matrix), length)
    bounds = [translate(MarkovChain(matrix, length=n), entry).upper for n in (length, None)]
    for at, u, v in brute.secrets(law):
        first, second = brute.given(law, at, u), brute.given(law, at, v)
        drawn = [brute.favoured_heights(rng, first, second) for _ in range(3)]
        drawn += [brute.integer_heights(rng, law.shape) for _ in range(3)]
        leaked = max(brute.log_leak(first, second, entry * heights) for heights in drawn)
        assert leaked <= min(bounds) * (1 + ROOM) + 1e-12


def test_kernels_that_promise_too_little_are_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    matrix, entry = np.array([[0.5, 0.5, 0.0], [0.25, 0.5, 0.25], [0.0, 0.5, 0.5]]), 0.2
    law = brute.chain_law(matrix, brute.stationary(matrix), 5)
    truth = max(
        brute.worst_leak(brute.given(law, at, u), brute.given(law, at, v), entry) for at, u, v in brute.secrets(law)
    )
    assert truth <= translate(MarkovChain(matrix, length=5), entry).upper < 5 * entry
    real = Kernels.least
    monkeypatch.setattr(Kernels, "least", lambda self, slope: 0.5 * real(self, slope))
    assert truth > translate(MarkovChain(matrix, length=5), entry).upper


@pytest.mark.parametrize("seed", seeds(20, 3))
def test_noisy_counts_of_long_paths_keep_what_is_promised(seed: int) -> None:
    rng = np.random.default_rng(300 + seed)
    cells, length = int(rng.integers(3, 6)), int(rng.integers(4, 9))
    matrix, mu = path(rng, cells), float(rng.choice([0.02, 0.1, 0.4]))
    prior, law = MarkovChain(matrix, length=length), brute.stationary(matrix)
    promises = [guarantee(qw.gaussian(1.0 / mu), one) for one in (prior, MarkovChain(matrix))]
    for at in range(length):
        for u in range(cells):
            for v in range(cells):
                masks = (
                    rng.random((length, cells)) < 0.5 if rng.random() < 0.3 else np.tile(np.eye(cells)[u], (length, 1))
                )
                one, two = (brute.count_law(matrix, law, at, value, masks > 0) for value in (u, v))
                for epsilon in (0.0, 0.3):
                    leaked = brute.noisy_stick(one, two, mu, epsilon)
                    assert all(leaked <= promise.delta(epsilon).upper + 1e-12 for promise in promises) or u == v


@pytest.mark.parametrize("seed", seeds(10, 2))
def test_what_hides_a_sparse_chain_hides_it_on_both_sides(seed: int) -> None:
    rng = np.random.default_rng(400 + seed)
    matrix, length, entry = path(rng, 3), 4, 0.4
    emission = rng.dirichlet(np.ones(2), 3)
    law = brute.chain_law(matrix, brute.stationary(matrix), length)
    for axis in range(length):  # hidden states first, then what they emit
        shape = [3 if other == axis else 1 for other in range(length)]
        shape += [1] * axis + [2]
        law = law.reshape((*law.shape, 1)) * emission.reshape(shape[:length] + [1] * axis + [2])
    shown = {}
    for u in range(3):
        kept = np.take(law, u, axis=1).sum(axis=tuple(range(length - 1)))
        shown[u] = kept / kept.sum()
    truth = max(brute.worst_leak(shown[u], shown[v], entry) for u in range(3) for v in range(3) if u != v)
    assert truth <= translate(HiddenMarkov(matrix, emission, length=length), entry).upper * (1 + ROOM)


def test_cells_of_a_map_are_kept_apart_far_better_than_by_group_privacy() -> None:
    chain = MarkovChain(grid(6, 13, 0.2), length=1000)
    found = translate(chain, 0.01)
    assert 1.69 < found.lower <= found.upper < 2.0  # 10 by group privacy, 5.47 by Theorem 6
    assert translate(chain, 0.001).upper < 0.19  # 1 by group privacy
    endless = MarkovChain(grid(6, 13, 0.2))
    assert translate(endless, 0.01).upper == found.upper
    (side, other) = endless._translator.sides
    assert side is other  # the same backwards


def test_a_chain_that_never_mixes_gives_nothing_away_about_any_length() -> None:
    turning = MarkovChain([[0.0, 0.5, 0.0, 0.5], [0.5, 0.0, 0.5, 0.0], [0.0, 0.5, 0.0, 0.5], [0.5, 0.0, 0.5, 0.0]])
    assert math.isinf(translate(turning, 0.01).upper)  # even and odd cells are told apart by counting
    assert per_entry_epsilon(turning, 1.0) == 0.0
    short = MarkovChain(turning.transition, length=8)
    assert translate(short, 0.01).upper == pytest.approx(0.08)


def test_dense_chains_have_no_kernels() -> None:
    dense = np.random.default_rng(0).dirichlet(np.ones(20), 20)
    assert Transport.of(dense, 1e-15) is None
    assert propagation.one_side(dense).steps == propagation.STEPS


def test_a_loss_just_above_a_power_of_two_is_not_taken_for_it() -> None:
    matrix = path(np.random.default_rng(8), 5)
    transport = Transport.of(matrix, 4e-15)
    assert transport is not None
    unknown = np.full(matrix.shape, np.inf)
    _, above = (transport.settled(cost * (1.0 - np.eye(5)), unknown) for cost in (0.25, math.nextafter(0.25, 1.0)))
    assert sorted(transport._anchors) == [-2, -1]
    own = math.nextafter(0.25, 1.0) * (1.0 - np.eye(5))
    assert np.all(transport.through(own + above) <= above * (1.0 + 1e-9) + 1e-12)
