"""Chains of many states: tables that end where the chain has mixed, and rows that are sorted once."""

import numpy as np
import pytest

from quiltwork.numbers import matrices
from quiltwork.numbers.matrices import each_power, log_ratios, powers
from quiltwork.pufferfish import MarkovChain
from quiltwork.pufferfish.priors.chain import chain, influence
from quiltwork.pufferfish.priors.chain.influence import Place, curve_at, sides, sides_until_mixed
from quiltwork.pufferfish.translation import propagation
from quiltwork.pufferfish.translation.propagation import Spread, _corners

STATES = 45


def matrix(seed: int, zeros: float = 0.0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    found = rng.dirichlet(np.full(STATES, 0.5), size=STATES) * (rng.random((STATES, STATES)) >= zeros)
    found += 0.02 * np.eye(STATES)
    return np.asarray(found / found.sum(axis=1, keepdims=True))


def test_a_curve_that_ends_where_the_chain_has_mixed_bounds_the_whole_one() -> None:
    chain, depth = MarkovChain(matrix(1)), 60
    tables, short = sides(powers(chain.matrix, depth)), sides_until_mixed(chain.matrix, depth)
    assert short.depth < depth // 2
    law = chain.stationary
    with np.errstate(divide="ignore"):
        place = Place("an entry", None, None, np.log(law)[None, :] - np.log(law)[:, None])
    whole, found = curve_at(tables, place, depth), curve_at(short, place, depth)
    assert len(found) == 2 * short.depth - 1
    assert np.all(found >= whole[: len(found)] * (1 - 1e-14))
    assert np.all(found[-1] <= whole[-1] + 1e-9)
    ends = Place("entry 3", 3, 40, place.shift)
    assert np.all(curve_at(short, ends, depth) >= curve_at(tables, ends, depth) * (1 - 1e-14))


def test_sizes_are_left_out_only_where_nothing_changes() -> None:
    curve = MarkovChain(matrix(1)).influence(60)
    assert curve.sizes[-1] == 60
    assert curve.sizes.size < 60
    assert curve(59) == curve(60) == curve.values[-2]
    assert np.all(np.diff(curve.values) <= 0)
    short = MarkovChain(matrix(1), length=60).influence(60)
    assert short.sizes.tolist() == list(range(1, 61))
    assert short.values[-1] == 0.0


@pytest.mark.parametrize("zeros", [0.0, 0.4])
def test_rows_that_are_sorted_once_give_the_same_maxima(zeros: float, monkeypatch: pytest.MonkeyPatch) -> None:
    law = matrix(2, zeros)
    half = Spread.of(law, law > 0, 1e-15)
    monkeypatch.setattr(propagation, "MANY_COLUMNS", STATES)
    whole = Spread.of(law, law > 0, 1e-15)
    for r in (1e-6, 0.3, 2.0, 50.0):
        assert half.each(r) == pytest.approx(whole.each(r), rel=1e-12, abs=1e-15)
        assert half.largest(r) == pytest.approx(whole.largest(r), rel=1e-11)
        assert half.largest(r) >= whole.each(r).max() * (1 - 1e-12)
    assert np.array_equal(half.limit, np.maximum(log_ratios(law, law > 0, 1e-15), 0.0))


def test_a_front_that_is_taken_in_blocks_has_the_same_corners(monkeypatch: pytest.MonkeyPatch) -> None:
    law = matrix(3)
    spread = Spread.of(law, law > 0, 1e-15)
    whole, _ = _corners(spread.below.ravel(), spread.above.ravel())
    monkeypatch.setattr(propagation, "FRONT_BLOCK", STATES**2)
    above, below, missed = propagation._front(spread.above, spread.below)
    at = np.linspace(1e-6, 1.0, 1001)
    assert np.interp(at, below, above) == pytest.approx(np.interp(at, whole[0], whole[1]), abs=1e-13)
    assert 0 < missed < 1e-9


@pytest.mark.parametrize("stay", [0.0, 0.99])
@pytest.mark.parametrize("zeros", [0.0, 0.3, 0.9])
@pytest.mark.parametrize("deep", [False, True])
def test_ratios_of_the_first_columns_leave_out_no_larger_one(stay: float, zeros: float, deep: bool) -> None:
    rng = np.random.default_rng(0)
    law = stay * np.eye(STATES) + (1 - stay) * matrix(int(rng.integers(1 << 30)), zeros)
    for (power, possible), _ in zip(each_power(law), range(4), strict=False):
        rare = power * 10.0 ** rng.integers(-290, 0, power.shape) if deep else power  # digits are lost below 1e-280
        found = log_ratios(rare, possible, 1e-15)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(matrices, "_largest_differences", lambda top, bottom: (top[:, None] - bottom).max(axis=2))
            assert np.array_equal(found, log_ratios(rare, possible, 1e-15))


def test_a_curve_that_is_taken_in_blocks_is_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    lazy = 0.95 * np.eye(STATES) + 0.05 * matrix(4)
    whole = [MarkovChain(lazy, length=length).influence(50).cases for length in (None, 60)]
    monkeypatch.setattr(influence, "BLOCK", 1)
    found = [MarkovChain(lazy, length=length).influence(50).cases for length in (None, 60)]
    monkeypatch.setattr(influence, "BLOCK", 1 << 30)
    monkeypatch.setattr(chain, "FEW_STATES", STATES)  # tables that are kept
    kept = [MarkovChain(lazy, length=length).influence(50).cases for length in (None, 60)]
    for one, two, three in zip(whole, found, kept, strict=True):
        assert np.array_equal(one, two)
        assert np.array_equal(one, three)
