"""Members found at low false alarms: the estimate by a loop, the interval by simulation."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from quiltwork.game.measures import _alarms, _clopper_pearson, found_at, tpr_at

RATES = (0.001, 0.01, 0.1)


def releases(count, persons, separation, rng):
    members = rng.random((count, persons)).argsort(axis=1) < persons // 2
    noise = rng.standard_normal((count, persons)) * 0.9 + rng.standard_normal((count, 1)) * np.sqrt(0.19)
    return noise + separation * members, members


def test_estimates_are_those_of_the_curve_and_repeat():
    scores, members = releases(30, 10, 1.0, np.random.default_rng(0))
    found = found_at(scores, members, RATES, 0.9)
    assert list(found) == list(RATES)
    for rate, interval in found.items():
        assert interval.estimate == float(tpr_at(scores, members, rate))
        assert 0.0 <= interval.lower <= interval.estimate <= interval.upper <= 1.0
        assert interval.confidence == 0.9
    assert found_at(scores, members, RATES, 0.9) == found


@pytest.mark.parametrize(
    ("count", "persons", "separation"), [(15, 10, 1.2), (15, 10, 4.4), (60, 20, 2.7)], ids=["few", "clear", "many"]
)
def test_intervals_cover(count, persons, separation):
    """60 repetitions of three rates; at a coverage of 0.9 fewer than 46 have probability 6e-4 each.

    Releases drawn again cover 0.3 of the time where no false alarm is to be expected, and 0.2 where all are found.
    """
    rng = np.random.default_rng(3)
    hits = np.zeros(3)
    for _ in range(60):
        found = found_at(*releases(count, persons, separation, rng), RATES, 0.95)
        truth = stats.norm.cdf(stats.norm.ppf(RATES) + separation)
        hits += [found[rate].lower <= t <= found[rate].upper for rate, t in zip(RATES, truth, strict=True)]
    assert hits.min() >= 46


def test_with_no_false_alarm_to_be_expected_anything_may_be_true():
    scores, members = releases(5, 10, 3.0, np.random.default_rng(0))
    assert found_at(scores, members, (0.001,), 0.95)[0.001].lower == 0.0


def test_members_who_were_all_found_are_no_certainty():
    found = found_at(np.tile([2.0, 1.0, 0.0, 0.0], (50, 1)), np.tile([1, 1, 0, 0], (50, 1)), (0.1,), 0.95)[0.1]
    assert found.estimate == found.upper == 1.0
    assert found.lower == pytest.approx(0.025 ** (1 / 100))


def test_more_false_alarms_than_expected_may_hide_what_is_found():
    """Each of five releases has one other above all members: at a rate of 0.1 the threshold may as well lie below."""
    scores = np.tile([9.0, *[5.0] * 5, *[1.0] * 4], (5, 1)) - np.arange(50).reshape(5, 10) * 1e-6
    members = np.tile([0, *[1] * 5, *[0] * 4], (5, 1))
    found = found_at(scores, members, (0.1,), 0.95)[0.1]
    assert found.estimate == 0.0
    assert found.upper == 1.0  # up to 6 of 25 others may lie above the true threshold, and 5 do


def test_members_who_were_never_found_are_no_certainty():
    found = found_at(np.tile([0.0, 0.0, 2.0, 1.0], (50, 1)), np.tile([1, 1, 0, 0], (50, 1)), (0.1,), 0.95)[0.1]
    assert found.estimate == found.lower == 0.0
    assert found.upper == pytest.approx(1 - 0.025 ** (1 / 100))


def test_infinite_scores_are_ties():
    scores, members = np.tile([np.inf, np.inf, -np.inf, -np.inf], (20, 1)), np.tile([1, 0, 1, 0], (20, 1))
    assert found_at(scores, members, (0.1,), 0.95)[0.1].estimate == pytest.approx(0.1)


@pytest.mark.parametrize("mean", [0.0, 0.05, 1.0, 7.3, 400.0])
def test_the_range_of_alarms_is_that_of_a_poisson_number(mean):
    low, high = _alarms(mean, 0.025)
    law = stats.poisson(mean)
    assert law.cdf(low - 1) <= 0.025 < law.cdf(low)
    assert law.cdf(high) >= 0.975 > law.cdf(high - 1) or high == 0


@pytest.mark.parametrize("found", [0, 1, 7, 19, 20])
def test_clopper_and_pearson(found):
    low, high = _clopper_pearson(found, 20, 0.025)
    wanted = stats.binomtest(found, 20).proportion_ci(0.95, method="exact")
    assert (low, high) == pytest.approx((wanted.low, wanted.high), abs=1e-9)
