"""Thresholds: chosen on trials of their own, exact where scores are equal."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import ndtr

from quiltwork import audit
from quiltwork.audit.bounds.threshold import Split, choose, counted, for_epsilon, for_mu, scores, split
from quiltwork.errors import InvalidParameter


def test_the_counted_trials_are_never_looked_at():
    rng = np.random.default_rng(0)
    inside, outside = rng.normal(1, 1, 200), rng.normal(0, 1, 200)
    for rule in (for_epsilon(1e-5), for_mu()):
        one = Split(inside, outside, np.zeros(50), np.zeros(60))
        two = Split(inside, outside, rng.normal(9, 1, 50), np.full(60, math.inf))
        assert choose(one, rule, 0.95) == choose(two, rule, 0.95)
        assert choose(one, rule, 0.95) in (*inside, *outside)


@given(st.integers(2, 40), st.integers(2, 40), st.floats(0.01, 0.99), st.integers(0, 9))
def test_a_split_loses_and_doubles_nothing(one, two, share, seed):
    inside, outside = np.arange(float(one)), -1 - np.arange(float(two))
    parts = split(inside, outside, share, np.random.default_rng(seed))
    assert sorted([*parts.choose_in, *parts.count_in]) == sorted(inside)
    assert sorted([*parts.choose_out, *parts.count_out]) == sorted(outside)
    assert min(parts.choose_in.size, parts.choose_out.size, parts.count_in.size, parts.count_out.size) >= 1
    again = split(inside, outside, share, np.random.default_rng(seed))
    assert np.array_equal(parts.count_in, again.count_in)


def test_equal_scores_count_as_in():
    found = counted(np.array([1.0, 2.0, 2.0, 3.0]), np.array([0.0, 2.0, 2.0]), 2.0)
    assert (found.true_positives, found.trials_in, found.false_positives, found.trials_out) == (3, 4, 2, 3)


def test_all_scores_equal():
    found = audit.run(np.ones(50), np.ones(50), 1e-5)
    assert found.threshold == 1.0
    assert found.counts.detected == found.counts.false_alarms == 1.0
    assert found.epsilon_lower == 0.0
    assert audit.run(np.ones(50), np.ones(50), 1e-5, method="gdp").epsilon_lower == 0.0
    assert audit.run(np.ones(500), np.ones(500), 1e-5, method="guesses").epsilon_lower < 1.0


def test_two_values_have_one_useful_threshold():
    """Randomized response: every threshold is one of the two answers."""
    inside, outside = np.repeat([1.0, 0.0], [300, 100]), np.repeat([1.0, 0.0], [100, 300])
    assert audit.run(inside, outside, 1e-5).threshold == 1.0


def test_infinite_scores_are_scores():
    inside, outside = np.repeat([math.inf, -math.inf], [300, 100]), np.repeat([math.inf, -math.inf], [100, 300])
    found = audit.run(inside, outside, 1e-5)
    assert found.threshold == math.inf
    assert found.epsilon_lower > 0.5
    assert found.to_json()["threshold"] == "inf"


def test_a_chosen_threshold_is_good():
    """Within a tenth of the best threshold's mu, in the mean of many splits: the choice is not only valid."""
    rng, best = np.random.default_rng(2), 0.905  # what the best fixed threshold gives at this size
    found = [audit.run(rng.normal(1, 1, 5000), rng.normal(0, 1, 5000), 1e-5, method="gdp").mu_lower for _ in range(20)]
    assert np.mean(found) > 0.9 * best
    threshold = 0.5
    fixed = audit.run(rng.normal(1, 1, 5000), rng.normal(0, 1, 5000), 1e-5, method="gdp", threshold=threshold)
    assert fixed.set_aside == 0
    assert fixed.seed is None
    assert fixed.counts.false_alarms == pytest.approx(ndtr(-0.5), abs=0.05)


def test_a_given_threshold_is_said():
    given_one = audit.run([1.0, 2.0], [0.0, 0.5], 1e-5, threshold=0.7)
    assert any("fixed before" in text for text in given_one.assumes)
    assert given_one.counts.trials_in == 2
    chosen = audit.run(np.arange(100.0), np.arange(100.0), 1e-5, seed=4, split=0.5)
    assert (chosen.seed, chosen.set_aside, chosen.counts.trials_in) == (4, 100, 50)
    assert any("100 other trials" in text for text in chosen.assumes)


@pytest.mark.parametrize("bad", [[], [math.nan], [[1.0, 2.0]], "12", None, [1j], [True, False], 3.0, ["a"]])
def test_bad_scores(bad):
    with pytest.raises(InvalidParameter):
        scores("scores_in", bad)
    with pytest.raises(InvalidParameter):
        audit.epsilon_lower_bound(bad, [1.0, 2.0], 1e-5)
    with pytest.raises(InvalidParameter):
        audit.epsilon_lower_bound([1.0, 2.0], bad, 1e-5)


@pytest.mark.parametrize("share", [0, 1, -0.1, math.nan, True, "half"])
def test_bad_shares(share):
    with pytest.raises(InvalidParameter, match="split"):
        audit.run([1.0, 2.0, 3.0], [0.0, 1.0, 2.0], 1e-5, split=share)


def test_too_few_to_choose_on():
    with pytest.raises(InvalidParameter, match="at least two"):
        audit.run([1.0], [0.0, 0.0], 1e-5)
    assert audit.run([1.0], [0.0, 0.0], 1e-5, threshold=0.5).epsilon_lower == 0.0
    with pytest.raises(InvalidParameter, match="threshold"):
        audit.run([1.0], [0.0], 1e-5, threshold=math.nan)
