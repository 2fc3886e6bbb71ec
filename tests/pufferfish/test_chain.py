"""Influence curves of Markov chains against all subsets of short chains."""

from __future__ import annotations

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import given as drawn
from hypothesis import settings
from hypothesis import strategies as st
from tests.examples import examples
from tests.pufferfish import brute

from quiltwork.errors import InvalidParameter, QuiltworkError
from quiltwork.numbers.matrices import log_ratios, powers, stationary, stationary_error
from quiltwork.pufferfish import MarkovChain
from quiltwork.pufferfish.priors.chain.influence import Place, curve_at, log_shift, sides
from quiltwork.pufferfish.secrets import entry_values

MIXED = [[0.7, 0.25, 0.05], [0.05, 0.7, 0.25], [0.25, 0.05, 0.7]]
ZEROS = [[0.5, 0.5, 0.0], [0.0, 0.4, 0.6], [1.0, 0.0, 0.0]]
PERIODIC = [[0.0, 0.3, 0.7], [1.0, 0.0, 0.0], [1.0, 0.0, 0.0]]
SLOW = [[0.95, 0.05], [0.02, 0.98]]
ALTERNATING = [[0.4, 0.6], [0.98, 0.02]]
FOUR = [[0.4, 0.3, 0.1, 0.2], [0.2, 0.4, 0.3, 0.1], [0.1, 0.2, 0.4, 0.3], [0.3, 0.1, 0.2, 0.4]]
CHAINS = {"mixed": MIXED, "zeros": ZEROS, "periodic": PERIODIC, "slow": SLOW, "alternating": ALTERNATING, "four": FOUR}


def cases_at(chain: MarkovChain, entry: int, pairs: list[tuple[int, int]]) -> np.ndarray:
    """The curves of one entry, one row for each of these ordered pairs."""
    found = chain.influence(None, entry_values([entry]))
    names = [found.name_of(i) for i in range(len(found.cases))]
    return np.stack([found.cases[names.index(f"entry {entry} is {u!r} or {v!r}")] for u, v in pairs])


def compare(chain: MarkovChain, law: np.ndarray, exact: bool) -> int:
    """Every entry, pair and size against brute force; returns the number of comparisons."""
    checked = 0
    for entry in range(law.ndim):
        pairs = [(u, v) for i, u, v in brute.secrets(law) if i == entry]
        if not pairs:
            continue
        ours = cases_at(chain, entry, pairs)
        assert ours.shape[1] == law.ndim
        for row, (u, v) in zip(ours, pairs, strict=True):
            for size in range(1, law.ndim + 1):
                truth = brute.influence(law, entry, u, v, size)
                assert row[size - 1] >= truth - 1e-13 * (1.0 + abs(truth) if math.isfinite(truth) else 1.0)
                if exact:
                    assert row[size - 1] == pytest.approx(truth, abs=1e-10)
                checked += 1
    return checked


# ---- against all subsets


@pytest.mark.parametrize("name", CHAINS)
@pytest.mark.parametrize("length", [1, 2, 5])
def test_stationary_chains_are_exact_at_every_entry(name: str, length: int) -> None:
    matrix = CHAINS[name]
    law = brute.chain_law(matrix, brute.stationary(matrix), length)
    assert compare(MarkovChain(matrix, length=length), law, exact=True) >= 2


@pytest.mark.parametrize("name", ["mixed", "slow", "alternating", "four"])
def test_given_starts_are_exact_when_every_state_can_start(name: str) -> None:
    matrix = CHAINS[name]
    start = np.arange(1.0, len(matrix) + 1.0) ** 2
    start /= start.sum()
    law = brute.chain_law(matrix, start, 5)
    compare(MarkovChain(matrix, start, 5), law, exact=True)


def test_given_starts_with_zeros_are_bounds() -> None:
    rng = np.random.default_rng(5)
    for _ in range(25):
        k = int(rng.integers(2, 4))
        matrix = np.where(rng.random((k, k)) < 0.3, 0.0, rng.random((k, k)))
        matrix += np.where(matrix.sum(axis=1, keepdims=True) == 0, 1.0, 0.0)
        matrix /= matrix.sum(axis=1, keepdims=True)
        start = np.eye(k)[rng.integers(k)]
        compare(MarkovChain(matrix, start, 4), brute.chain_law(matrix, start, 4), exact=False)


@pytest.mark.parametrize("name", ["mixed", "slow", "alternating", "zeros"])
def test_any_start_bounds_every_start_and_is_nearly_reached(name: str) -> None:
    matrix = CHAINS[name]
    k, length = len(matrix), 4
    chain = MarkovChain(matrix, "any", length)
    rng = np.random.default_rng(2)
    starts = [*np.eye(k), *rng.dirichlet(np.ones(k), 4), *rng.dirichlet(np.full(k, 0.1), 4)]
    for start in starts:
        compare(chain, brute.chain_law(matrix, start, length), exact=False)
    if name != "zeros":
        # a nearly certain first state reaches sup shift = C_i[v, u]; the split is the same for all
        for entry in range(length):
            row = cases_at(chain, entry, [(0, 1)])[0]
            assert row[0] == pytest.approx(brute.any_start_influence(matrix, length, entry, 0, 1, 1), abs=1e-5)


def test_a_reducible_chain_keeps_its_closed_class() -> None:
    matrix = [[0.5, 0.25, 0.25], [0.0, 0.8, 0.2], [0.0, 0.2, 0.8]]
    chain = MarkovChain(matrix, states=["new", "on", "off"])
    plain = MarkovChain([[0.8, 0.2], [0.2, 0.8]])
    assert chain.occurring.tolist() == [1, 2]
    assert np.allclose(chain.influence(12).values, plain.influence(12).values, rtol=0, atol=1e-12)
    # from a given start the transient state occurs
    law = brute.chain_law(matrix, [0.6, 0.2, 0.2], 4)
    compare(MarkovChain(matrix, [0.6, 0.2, 0.2], 4), law, exact=False)


def test_several_closed_classes_need_a_start() -> None:
    matrix = [[1.0, 0.0], [0.0, 1.0]]
    with pytest.raises(InvalidParameter, match="closed classes"):
        MarkovChain(matrix)
    chain = MarkovChain(matrix, [0.5, 0.5], 4)
    values = chain.influence().values
    assert np.all(np.isinf(values[:3]))
    assert values[3] == 0.0


def test_identical_rows_tell_nothing() -> None:
    for length in (None, 3):
        assert MarkovChain([[0.3, 0.7], [0.3, 0.7]], length=length).influence(3).values.max() < 1e-12


@pytest.mark.parametrize("name", CHAINS)
def test_an_unknown_length_bounds_every_length(name: str) -> None:
    matrix = CHAINS[name]
    endless = MarkovChain(matrix).influence(7).values
    for length in (1, 2, 4, 7):
        short = MarkovChain(matrix, length=length).influence(min(7, length)).values
        assert np.all(endless[: short.size] >= short - 1e-12)
    # exact for lengths of at least 2 b + 1 (theory 4.2, Lemma)
    known = MarkovChain(matrix, length=7).influence(3, entry_values([3])).values
    finite = np.isfinite(known)
    assert np.array_equal(finite, np.isfinite(endless[:3]))
    assert np.allclose(known[finite], endless[:3][finite], rtol=0, atol=1e-12)


def test_long_chains_with_a_given_start_join_their_inner_entries() -> None:
    start = [0.9, 0.05, 0.05]
    whole = MarkovChain(MIXED, start, 400).influence(20)
    single = [MarkovChain(MIXED, start, 400).influence(20, entry_values([i])).values for i in (0, 3, 150, 200, 398)]
    assert np.all(whole.values >= np.max(single, axis=0) - 1e-12)
    assert len(whole.cases) < 400


def test_any_start_of_unknown_length_bounds_known_ones() -> None:
    endless = MarkovChain(MIXED, "any").influence(6).values
    for length in (3, 6, 30):
        known = MarkovChain(MIXED, "any", length).influence(min(6, length)).values
        assert np.all(endless[: known.size] >= known - 1e-12)
    assert np.all(endless >= MarkovChain(MIXED).influence(6).values - 1e-12)


@settings(max_examples=examples(40), deadline=None)
@drawn(st.data())
def test_random_chains(data: st.DataObject) -> None:
    k = data.draw(st.integers(2, 3))
    weights = data.draw(st.lists(st.integers(0, 6), min_size=k * k, max_size=k * k))
    table = np.reshape(weights, (k, k)).astype(float)
    table[np.arange(k), (np.arange(k) + 1) % k] += 1.0  # one closed class
    matrix = table / table.sum(axis=1, keepdims=True)
    length = data.draw(st.integers(1, 4))
    law = brute.chain_law(matrix, brute.stationary(matrix), length)
    compare(MarkovChain(matrix, length=length), law, exact=True)


# ---- secrets and names


def test_pairs_and_entries_choose_cases() -> None:
    chain = MarkovChain(MIXED, length=5, states=["a", "b", "c"])
    whole = chain.influence()
    assert len(whole.cases) == 5 * 6
    some = chain.influence(None, entry_values([1, 4], [("a", "c")]))
    assert [some.name_of(i) for i in range(4)] == [
        "entry 1 is 'a' or 'c'",
        "entry 1 is 'c' or 'a'",
        "entry 4 is 'a' or 'c'",
        "entry 4 is 'c' or 'a'",
    ]
    rows = {whole.name_of(i): row for i, row in enumerate(whole.cases)}
    for i, row in enumerate(some.cases):
        assert np.array_equal(row, rows[some.name_of(i)])


def test_pairs_with_states_that_cannot_occur_are_left_out() -> None:
    chain = MarkovChain([[0.5, 0.5, 0.0], [0.5, 0.5, 0.0], [0.3, 0.3, 0.4]], states=["x", "y", "gone"])
    assert len(chain.influence(2, entry_values(pairs=[("x", "y"), ("x", "gone")])).cases) == 2
    with pytest.raises(InvalidParameter, match="positive probability"):
        chain.influence(2, entry_values(pairs=[("x", "gone")]))


def test_bad_secrets() -> None:
    chain = MarkovChain(MIXED, length=4)
    with pytest.raises(InvalidParameter, match="states"):
        chain.influence(2, entry_values(pairs=[(0, 7)]))
    with pytest.raises(InvalidParameter, match="length"):
        chain.influence(2, entry_values([4]))
    with pytest.raises(InvalidParameter):
        entry_values([-1])
    with pytest.raises(InvalidParameter):
        entry_values([1, 1])
    with pytest.raises(InvalidParameter):
        entry_values([])
    with pytest.raises(InvalidParameter):
        entry_values(pairs=[])
    with pytest.raises(InvalidParameter):
        entry_values(pairs=[(1, 1)])
    with pytest.raises(InvalidParameter):
        chain.influence(2, "everything")  # type: ignore[arg-type]


# ---- bad input


@pytest.mark.parametrize(
    "matrix",
    [
        [],
        [[1.0]],
        [0.5, 0.5],
        [[0.5, 0.5]],
        [[0.5, 0.5], [0.5, 0.4]],
        [[0.5, 0.5], [1.5, -0.5]],
        [[0.5, 0.5], [math.nan, 0.5]],
        [[0.5, 0.5], [math.inf, 0.5]],
        [[True, False], [False, True]],
        [["a", "b"], ["c", "d"]],
        "ab",
        None,
        [[0.5, 0.5], [1.0]],
        [[[0.5, 0.5], [0.5, 0.5]]],
    ],
)
def test_bad_matrices(matrix: object) -> None:
    with pytest.raises(QuiltworkError):
        MarkovChain(matrix)


@pytest.mark.parametrize(
    "options",
    [
        {"initial": "sometimes"},
        {"initial": [0.5, 0.5]},  # a length is needed
        {"initial": [0.5, 0.6], "length": 3},
        {"initial": [0.5, 0.25, 0.25], "length": 3},
        {"initial": [math.nan, 0.5], "length": 3},
        {"initial": [-0.5, 1.5], "length": 3},
        {"initial": None, "length": 3},
        {"length": 0},
        {"length": -2},
        {"length": 2.5},
        {"length": True},
        {"length": math.nan},
        {"states": ["a"]},
        {"states": ["a", "a"]},
    ],
)
def test_bad_options(options: dict[str, object]) -> None:
    with pytest.raises(QuiltworkError):
        MarkovChain([[0.8, 0.2], [0.2, 0.8]], **options)


@pytest.mark.parametrize("size", [0, -1, 1.5, math.nan, True, "two"])
def test_bad_sizes(size: object) -> None:
    with pytest.raises(QuiltworkError):
        MarkovChain(MIXED).influence(size)  # type: ignore[arg-type]


# ---- rounding, against exact fractions


def test_stationary_laws_and_powers_keep_their_digits() -> None:
    rng = np.random.default_rng(3)
    for _ in range(20):
        k = int(rng.integers(2, 6))
        matrix = rng.dirichlet(np.full(k, 0.3), size=k) + 1e-9
        matrix /= matrix.sum(axis=1, keepdims=True)
        truth, found = brute.exact_stationary(matrix), stationary(matrix)
        for exact, value in zip(truth, found, strict=True):
            assert abs(Fraction(float(value)) / exact - 1) <= stationary_error(k)
        steps, rows = powers(matrix, 6), brute.exact_rows(matrix)
        now = rows
        for d in range(6):
            for u in range(k):
                for v in range(k):
                    gap = abs(Fraction(float(steps.matrices[d, u, v])) / now[u][v] - 1)
                    assert gap <= (d + 1) * steps.error
            bound = log_ratios(steps.matrices[d], steps.possible[d], (d + 1) * steps.error)
            for u in range(k):
                for v in range(k):
                    if u != v:
                        best = max(brute.exact_log_ratio(now[u][y], now[v][y]) for y in range(k))
                        assert mpmath.mpf(float(bound[u, v])) >= best
                        assert bound[u, v] == pytest.approx(float(best), abs=1e-12)
            now = [[sum(now[u][z] * rows[z][v] for z in range(k)) for v in range(k)] for u in range(k)]


def test_curves_round_up_even_for_rare_states() -> None:
    """Two states with every digit known, from fractions, at probabilities down to 1e-250."""
    for rare in (1e-3, 1e-12, 1e-60, 1e-250):
        matrix = np.array([[1.0 - rare, rare], [0.3, 0.7]])
        rows = brute.exact_rows(matrix)
        law = brute.exact_stationary(matrix)
        curve = MarkovChain(matrix).influence(2)
        for i, (u, v) in enumerate([(0, 1), (1, 0)]):
            right = max(brute.exact_log_ratio(rows[u][y], rows[v][y]) for y in (0, 1))
            left = max(
                brute.exact_log_ratio(law[y] * rows[y][u] * law[v], law[y] * rows[y][v] * law[u]) for y in (0, 1)
            )
            with mpmath.workdps(40):
                truth = left + right
            assert mpmath.mpf(float(curve.cases[i, 0])) >= truth
            assert curve.cases[i, 0] == pytest.approx(float(truth), rel=1e-11)


def test_a_given_law_rounds_its_shift_up() -> None:
    rng = np.random.default_rng(9)
    for _ in range(200):
        law = rng.dirichlet(np.full(3, 0.05)) + 10.0 ** rng.uniform(-300, -1, 3)
        law /= law.sum()
        found = log_shift(law, 0.0, law > 0)
        for u in range(3):
            for v in range(3):
                truth = brute.exact_log_ratio(Fraction(float(law[v])), Fraction(float(law[u])))
                assert u == v or mpmath.mpf(float(found[u, v])) >= truth


def test_probabilities_that_vanish_in_floating_point_are_not_taken_for_impossible() -> None:
    """State 2 occurs with probability 1e-340: the curve may be infinite there, but never 0."""
    tiny = 1e-170
    matrix = [[1.0, tiny, 0.0, 0.0], [1.0, 0.0, tiny, 0.0], [0.5, 0.0, 0.0, 0.5], [0.5, 0.5, 0.0, 0.0]]
    with pytest.raises(InvalidParameter, match="underflow"):
        MarkovChain(matrix).influence(1)
    found = MarkovChain(matrix, [1.0, 0.0, 0.0, 0.0], 9).influence(1, entry_values([4], [(2, 3)]))
    assert found.values[0] > 1.0  # after 2 comes 3 every second time, after 3 never
    # a transient state that is left after each step with probability 1/2
    leaving = [[0.5, 0.25, 0.25], [0.0, 0.9, 0.1], [0.0, 0.1, 0.9]]
    late = MarkovChain(leaving, [1.0, 0.0, 0.0], 1300)
    early = late.influence(2, entry_values([500], [(0, 1)])).values
    assert np.all(late.influence(2, entry_values([1290], [(0, 1)])).values >= early - 1e-9)


def test_a_place_covers_its_ends() -> None:
    """By hand: two states, the first of three entries.  Only the right side tells, and two entries away it is P^2."""
    tables = sides(powers(np.array([[0.8, 0.2], [0.2, 0.8]]), 3))
    found = curve_at(tables, Place("first", 0, 2, np.zeros((2, 2))), 3)[:, 0, 1]
    assert found[0] == pytest.approx(math.log(0.8 / 0.2), abs=1e-12)
    assert found[1] == pytest.approx(math.log(0.68 / 0.32), abs=1e-12)
    assert found[2] < 1e-300
