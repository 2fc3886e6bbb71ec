"""BWMA in expected counts, against loops and the best decisions of small games."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from quiltwork.errors import InvalidParameter
from quiltwork.game import bwma, expected_false_positives, expected_true_positives
from quiltwork.game.measures import threshold_decisions

SHARES = st.floats(0.0, 1.0)


@given(st.lists(SHARES, min_size=6, max_size=6), st.lists(st.booleans(), min_size=6, max_size=6), st.floats(0.0, 1.0))
def test_counts_by_a_loop(decisions, members, gamma):
    called, inside = np.reshape(decisions, (2, 3)), np.reshape(members, (2, 3))
    found = sum(s for s, b in zip(decisions, members, strict=True) if b) / 2
    alarms = sum(s for s, b in zip(decisions, members, strict=True) if not b) / 2
    result = bwma(called, inside, gamma)
    assert result.expected_true_positives == pytest.approx(found, abs=1e-12)
    assert result.expected_false_positives == pytest.approx(alarms, abs=1e-12)
    assert result.advantage == pytest.approx((1 - gamma) * found - gamma * alarms, abs=1e-12)
    assert expected_true_positives(called, inside) == result.expected_true_positives
    assert expected_false_positives(called, inside) == result.expected_false_positives


def test_they_are_counts_and_no_rates():
    """Ten members, all found: ten, where a rate would be one."""
    assert expected_true_positives(np.ones((3, 20)), np.tile(np.arange(20) < 10, (3, 1))) == 10.0
    assert expected_false_positives(np.ones((3, 20)), np.tile(np.arange(20) < 10, (3, 1))) == 10.0


def test_releases_in_which_all_or_none_are_members_count():
    assert bwma([[1, 1]], [[1, 1]], 0.5).advantage == 1.0
    assert bwma([[1, 0]], [[0, 0]], 0.5).advantage == -0.5
    assert bwma([1], [1], 0.25).expected_true_positives == 1.0


@pytest.mark.parametrize("gamma", [0.0, 0.25, 0.5, 0.75, 1.0])
def test_thresholded_posteriors_are_best_of_all_decisions(gamma):
    """K = 1, four outputs: every table of decisions is tried (Proposition 1)."""
    rng = np.random.default_rng(0)
    chance = rng.random((2, 4))
    chance /= chance.sum()  # joint law of membership and output
    posterior = chance[1] / chance.sum(axis=0)

    def payoff(table):
        return (1 - gamma) * float(chance[1] @ table) - gamma * float(chance[0] @ table)

    best = max(payoff(np.array(table)) for table in itertools.product((0.0, 1.0), repeat=4))
    assert payoff(threshold_decisions(posterior, gamma)) == pytest.approx(best, abs=1e-15)


def test_bad_input_is_refused():
    for call in (
        lambda: bwma([[1.5, 0]], [[1, 0]], 0.5),
        lambda: bwma([[-0.1, 0]], [[1, 0]], 0.5),
        lambda: bwma([[float("nan"), 0]], [[1, 0]], 0.5),
        lambda: bwma([], [], 0.5),
        lambda: bwma([[1, 0]], [[1, 0, 0]], 0.5),
        lambda: bwma([[1, 0]], [[1, 2]], 0.5),
        lambda: bwma([[1, 0]], [[1, 0]], 1.1),
        lambda: bwma([[1, 0]], [[1, 0]], -0.1),
        lambda: bwma([[1, 0]], [[1, 0]], float("nan")),
        lambda: bwma([[1, 0]], [[1, 0]], True),
        lambda: bwma("ab", [[1, 0]], 0.5),
        lambda: threshold_decisions(0.5, 0.5),
        lambda: threshold_decisions([0.5, 1.5], 0.5),
        lambda: threshold_decisions([0.5], 2),
        lambda: threshold_decisions([], 0.5),
    ):
        with pytest.raises(InvalidParameter):
            call()
