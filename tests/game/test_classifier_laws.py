"""The law of one published row, sums without cancellation, canonical tables, and what a size tells."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate, stats
from tests.examples import examples

from quiltwork.errors import InvalidParameter
from quiltwork.game.classifier.row_matching import RowLaw, others, size_odds
from quiltwork.game.classifier.table import MARKER, arranged, filled_rows, order_of
from quiltwork.game.defenders.noise import Gaussian, Laplace

NOISES = [Gaussian(0.3), Laplace(0.2)]


def naive(value, centre, noise, clip):
    """Density of one number, or the probability of being clipped to it."""
    if isinstance(noise, Gaussian):
        law = stats.norm(centre, noise.sigma)
    else:
        law = stats.laplace(centre, noise.scale)
    if clip and value <= 0:
        return law.logcdf(0.0)
    if clip and value >= 1:
        return law.logsf(1.0)
    return law.logpdf(value)


@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize("clip", [True, False])
def test_likelihoods_against_scipy(noise, clip):
    rng = np.random.default_rng(1)
    rows, law = rng.dirichlet(np.full(3, 0.4), 4), RowLaw.of(noise, clip)
    tables = law.draw(rows[rng.integers(0, 4, (2, 5))], rng)
    assert ((tables == 0.0) | (tables == 1.0)).any() == clip
    found = law.log_likelihoods(tables, rows)
    for table, row, person in itertools.product(range(2), range(5), range(4)):
        told = sum(naive(tables[table, row, j], rows[person, j], noise, clip) for j in range(3))
        assert found[table, row, person] == pytest.approx(told, rel=1e-12)


@pytest.mark.parametrize("noise", NOISES)
def test_the_clipped_law_has_mass_one(noise):
    law, row = RowLaw.of(noise, True), np.array([[0.15, 0.85]])
    other = law.log_likelihoods(np.array([[[0.0, 0.0]]]), row)[0, 0, 0]

    def mass(value):
        return math.exp(law.log_likelihoods(np.array([[[value, 0.0]]]), row)[0, 0, 0] - other)

    scale = math.exp(naive(0.0, 0.15, noise, True))
    inner = integrate.quad(mass, 0.0, 1.0, points=[0.15])[0]
    assert (mass(0.0) + inner + mass(1.0)) * scale == pytest.approx(1.0, abs=1e-8)


@settings(max_examples=examples(40), deadline=None)
@given(st.lists(st.floats(-600, 0), min_size=2, max_size=6), st.sampled_from([0, 1]))
def test_sums_of_all_others(logs, axis):
    values = np.exp(np.array([logs, logs[::-1]]))
    found = others(values, axis)
    for (i, j), value in np.ndenumerate(found):
        line = values[:, j] if axis == 0 else values[i]
        here = i if axis == 0 else j
        assert value == pytest.approx(math.fsum(np.delete(line, here)), rel=1e-13)


@settings(max_examples=examples(60), deadline=None)
@given(st.data())
def test_every_order_of_the_queries_gives_the_same_table(data):
    """Few distinct values, so that rows tie in many ways; the result is compared bit by bit."""
    entries = st.sampled_from([0.0, 0.25, 0.5, 1.0])
    rows = data.draw(st.lists(st.lists(entries, min_size=3, max_size=3), min_size=1, max_size=5))
    empty = data.draw(st.integers(0, 2))
    table = np.array([*rows, *[[MARKER] * 3] * empty])
    shuffled = table[data.draw(st.permutations(range(len(table))))]
    first, second = (arranged(each[None], order_of(each[None])) for each in (table, shuffled))
    assert first.tobytes() == second.tobytes()
    sorted_back = first.reshape(-1, 3)
    assert sorted(map(tuple, sorted_back)) == sorted(map(tuple, table))
    assert filled_rows(first.reshape(1, -1, 3))[0].tolist() == [True] * len(rows) + [False] * empty
    named = sorted_back[: len(rows)].argmax(axis=1)
    assert np.all(np.diff(named) >= 0)


def test_a_negative_zero_is_a_zero():
    """-0.0 and 0.0 compare as equal but are other bytes, which would tell how a number was made."""

    class Cancels:
        def standard_normal(self, shape):
            return np.full(shape, -0.0)

    drawn = RowLaw.of(Gaussian(0.5), True).draw(np.array([[[-0.0, 1.0]]]), Cancels())
    assert not np.signbit(drawn).any()


def test_odds_of_a_size():
    rates = np.full(5, 0.3)
    odds = size_odds(rates)
    for size in range(1, 5):
        assert np.exp(odds[size]) == pytest.approx(np.full(5, size / (5 - size)), rel=1e-12)
    assert np.all(odds[0] == -1000)
    assert np.all(odds[5] == 1000)
    uneven = np.array([0.1, 0.5, 0.9, 0.3])
    tilted = size_odds(uneven)
    for size in range(1, 4):
        assert np.sum(1 / (1 + np.exp(-tilted[size]))) == pytest.approx(size, abs=1e-9)
        assert np.diff(tilted[size] - np.log(uneven / (1 - uneven))) == pytest.approx(0, abs=1e-9)


@pytest.mark.parametrize(
    "noise", [0.1, None, Gaussian(1e-7), Laplace(1e7), Gaussian(0.1, (1.0, 2.0)), "Gaussian"], ids=repr
)
def test_noise_that_is_none_of_the_two(noise):
    with pytest.raises(InvalidParameter, match="noise"):
        RowLaw.of(noise, True)
