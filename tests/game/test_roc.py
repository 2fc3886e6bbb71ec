"""ROC curves against double loops, and the coverage of their intervals by simulation."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from quiltwork.errors import InvalidParameter
from quiltwork.game import auc, auc_interval, individual_auc, roc, tpr_at
from quiltwork.game.measures import Roc

INF = float("inf")
# few values, so that ties are common; infinite scores are scores
SCORES = st.sampled_from([-INF, -1.0, 0.0, 0.5, 1.0, INF])


@st.composite
def decisions(draw, releases=3, people=4):
    scores = np.array(draw(st.lists(SCORES, min_size=releases * people, max_size=releases * people)))
    truth = np.array(draw(st.lists(st.booleans(), min_size=releases * people, max_size=releases * people)))
    truth[0], truth[1] = True, False
    return scores.reshape(releases, people), truth.reshape(releases, people)


def slow_auc(scores, members):
    inside = [s for s, b in zip(np.ravel(scores), np.ravel(members), strict=True) if b]
    outside = [s for s, b in zip(np.ravel(scores), np.ravel(members), strict=True) if not b]
    return sum(1.0 if a > c else 0.5 if a == c else 0.0 for a in inside for c in outside) / (len(inside) * len(outside))


@given(decisions())
def test_areas_by_a_double_loop(case):
    scores, members = case
    wanted = slow_auc(scores, members)
    assert auc(scores, members) == pytest.approx(wanted, abs=1e-12)
    assert roc(scores, members).area == pytest.approx(wanted, abs=1e-12)
    assert auc(scores, ~members) == pytest.approx(1.0 - wanted, abs=1e-12)
    assert auc(-scores, members) == pytest.approx(1.0 - wanted, abs=1e-12)


@given(decisions())
def test_curves_start_and_end_where_they_must_and_pass_every_threshold(case):
    scores, members = case
    curve = roc(scores, members)
    assert (curve.false_alarms[0], curve.found[0]) == (0.0, 0.0)
    assert (curve.false_alarms[-1], curve.found[-1]) == (1.0, 1.0)
    assert np.all(np.diff(curve.false_alarms) >= 0)
    assert np.all(np.diff(curve.found) >= 0)
    points = {(a, f) for a, f in zip(curve.false_alarms.tolist(), curve.found.tolist(), strict=True)}
    wanted = {(float((scores >= t)[~members].mean()), float((scores >= t)[members].mean())) for t in np.unique(scores)}
    assert points == wanted | {(0.0, 0.0)}


@given(decisions(), st.floats(0.0, 1.0))
def test_a_share_of_false_alarms_is_met_by_a_mixture_of_two_thresholds(case, rate):
    """The most that is found at this rate by randomising between neighbouring points of the curve."""
    curve = roc(*case)
    points = list(zip(curve.false_alarms.tolist(), curve.found.tolist(), strict=True))
    wanted = max(f for a, f in points if a <= rate)
    for (a, f), (b, g) in itertools.pairwise(points):
        if a < rate < b:
            wanted = f + (rate - a) / (b - a) * (g - f)
    assert float(tpr_at(*case, rate)) == pytest.approx(wanted, abs=1e-9)


@given(decisions())
def test_individual_areas_by_person(case):
    scores, members = case
    for person, found in enumerate(individual_auc(scores, members)):
        inside = members[:, person]
        if inside.all() or not inside.any():
            assert np.isnan(found)
        else:
            assert found == pytest.approx(slow_auc(scores[:, person], inside), abs=1e-12)


def test_a_useless_attack_has_area_one_half():
    members = np.random.default_rng(0).random((5, 6)) < 0.5
    assert auc(np.zeros((5, 6)), members) == 0.5
    assert roc(np.full((5, 6), -INF), members).area == 0.5
    assert auc_interval(np.zeros((5, 6)), members).estimate == 0.5
    assert float(tpr_at(np.zeros((5, 6)), members, 0.3)) == pytest.approx(0.3)


def test_infinite_scores_that_are_equal_are_ties():
    assert roc([INF, INF, 0.0, 0.0], [1, 0, 1, 0]).area == 0.5
    assert len(roc([INF, INF, -INF, -INF], [1, 0, 1, 0]).found) == 3


def test_at_a_jump_the_curve_is_what_it_reaches():
    curve = Roc(np.array([0.0, 0.0, 0.5, 1.0]), np.array([0.0, 0.4, 0.4, 1.0]))
    assert curve.at([0.0, 0.25, 0.5, 0.75, 1.0]).tolist() == pytest.approx([0.4, 0.4, 0.4, 0.7, 1.0])


def covered(releases, persons, separation, shared, confidence, repetitions, rng, interval=auc_interval):
    """How often the interval holds the area; members of a release share an effect, so that decisions are dependent."""
    within = stats.norm.cdf(separation / np.sqrt(2 * (1 - shared)))
    # of all pairs of decisions, 1/releases are within one release, where the shared effect cancels
    truth = stats.norm.cdf(separation / np.sqrt(2)) * (1 - 1 / releases) + within / releases
    hits = 0
    for _ in range(repetitions):
        members = rng.random((releases, persons)).argsort(axis=1) < persons // 2
        noise = rng.standard_normal((releases, persons)) * np.sqrt(1 - shared)
        scores = noise + rng.standard_normal((releases, 1)) * np.sqrt(shared) + separation * members
        found = interval(scores, members, confidence)
        hits += found.lower <= truth <= found.upper
    return hits / repetitions


@pytest.mark.parametrize(
    ("releases", "persons", "separation", "confidence"),
    [(100, 10, 1.0, 0.95), (20, 10, 2.3, 0.95), (4, 10, 0.5, 0.95), (10, 10, 3.3, 0.95), (40, 4, 3.6, 0.95)],
)
def test_intervals_cover_the_area_with_dependent_decisions(releases, persons, separation, confidence):
    """400 repetitions: a true coverage of the nominal level less 0.025 fails with probability below 1e-3.

    The plain normal interval covers less: 0.86 of the time with four releases, and 0.74 to 0.79 in the last two cases.
    """
    share = covered(releases, persons, separation, 0.3, confidence, 400, np.random.default_rng(7))
    least = stats.binom.ppf(1e-3, 400, confidence - 0.025) / 400
    assert share >= least


def test_an_interval_that_counts_decisions_would_be_caught():
    """The broken version: each decision as its own release; its coverage is far below the nominal 0.95."""

    def counting_decisions(scores, members, confidence):
        def split(values, inside):
            return np.stack([values[inside], values[~inside]], axis=1)

        apart = split(scores, members)
        return auc_interval(apart, np.tile([True, False], (len(apart), 1)), confidence)

    one_sided = np.random.default_rng(8)
    # every person of a release is on one side, as when a whole family is in the data: strong dependence
    hits = broken = 0
    for _ in range(150):
        members = np.repeat(one_sided.permutation(np.arange(40) < 20)[:, None], 10, axis=1)
        scores = one_sided.standard_normal((40, 1)) * 0.9 + one_sided.standard_normal((40, 10)) * 0.44
        found, wrong = auc_interval(scores, members), counting_decisions(scores, members, 0.95)
        hits += found.lower <= 0.5 <= found.upper
        broken += wrong.lower <= 0.5 <= wrong.upper
    # P(at most 130 of 150) is below 1e-4 at a coverage of 0.94
    assert hits > 130
    assert broken < 100


def test_perfect_scores_are_no_certainty():
    """If the true area is 0.9, both of 2 r releases come out perfect with a chance of at most 0.9^r."""
    scores, members = np.tile([1.0, 0.0], (40, 1)), np.tile([True, False], (40, 1))
    found = auc_interval(scores, members)
    assert (found.estimate, found.upper) == (1.0, 1.0)
    assert found.lower == pytest.approx(0.025 ** (1 / 20))
    turned = auc_interval(-scores, members)
    assert (turned.estimate, turned.lower) == (0.0, 0.0)
    assert turned.upper == pytest.approx(1 - 0.025 ** (1 / 20))


def test_one_release_gives_no_interval():
    found = auc_interval([0.9, 0.1, 0.4], [1, 0, 0])
    assert (found.lower, found.upper) == (0.0, 1.0)


@given(decisions(), st.sampled_from([0.5, 0.9, 0.99]))
def test_intervals_hold_their_estimate_and_grow_with_confidence(case, confidence):
    found, wider = auc_interval(*case, confidence), auc_interval(*case, 0.999)
    assert 0.0 <= wider.lower <= found.lower <= found.estimate <= found.upper <= wider.upper <= 1.0


def test_inputs_stay_as_they_were():
    scores, members = np.array([[0.3, 0.1, 0.2]]), np.array([[True, False, True]])
    for call in (auc, roc, individual_auc, auc_interval):
        call(scores, members)
    assert scores.tolist() == [[0.3, 0.1, 0.2]]
    assert members.tolist() == [[True, False, True]]


BAD = [
    ([], []),
    (0.5, 1),
    ([0.5, float("nan")], [1, 0]),
    (["a", "b"], [1, 0]),
    ([1j, 2.0], [1, 0]),
    ([[1.0, 2.0], [1.0]], [[1, 0], [1, 0]]),
    ([[1.0, 2.0], [1.0, 2.0]], [[1, 0], [1]]),
    ([0.5, 0.6], [1, 0, 1]),
    ([[0.5, 0.6]], [[1, 0], [1, 0]]),
    ([0.5, 0.6], [1, 1]),
    ([0.5, 0.6], [0, 0]),
    ([0.5, 0.6], [1, 2]),
    (np.zeros((2, 2, 2)), np.zeros((2, 2, 2))),
    (None, [1, 0]),
]


@pytest.mark.parametrize("case", range(len(BAD)))
def test_bad_decisions_are_refused(case):
    for call in (auc, roc, individual_auc, auc_interval, lambda s, b: tpr_at(s, b, 0.1)):
        with pytest.raises(InvalidParameter):
            call(*BAD[case])


@pytest.mark.parametrize("bad", [0.0, 1.0, -1, 95, float("nan"), True, "0.9", None])
def test_bad_confidence_is_refused(bad):
    with pytest.raises(InvalidParameter):
        auc_interval([[1.0, 0.0]] * 3, [[1, 0]] * 3, bad)


@pytest.mark.parametrize("bad", [-0.1, 1.1, float("nan"), [], "x", None])
def test_bad_rates_are_refused(bad):
    with pytest.raises(InvalidParameter):
        tpr_at([1.0, 0.0], [1, 0], bad)
