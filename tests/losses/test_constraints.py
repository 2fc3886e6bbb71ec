"""Several (epsilon, delta) at once: weights, pruning, and the tight profile by the definition."""

import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.losses.laws import mp

import quiltwork as qw
from quiltwork.errors import InvalidParameter
from quiltwork.losses.constraints import Constraints, ProfilePoints, active, constrained_pair, weights

FIGURE_2 = [(0.3, 0.0), (0.15, 0.02)]
# theory/multi-constraints.md section 6 (25 digits in reference/multi-constraints.json)
ALPHA = 0.750047680261444529938
K_20 = {
    0.0: 0.342327323385,
    0.25: 0.264327305446,
    0.5: 0.193912684263,
    1.0: 0.0886640230933,
    1.5: 0.0310310141813,
    2.0: 0.00838034402620,
    3.0: 0.000187992985600,
}
K_3 = {0.0: 0.139636845603, 0.25: 0.0538533278232, 0.5: 0.0131511977893, 1.0: 0.0}


def test_golden_alpha():
    reveal, mass, _ = weights(active(FIGURE_2))
    assert reveal == 0.0
    assert mass[0] + mass[1] == pytest.approx(1.0, rel=1e-15)
    assert mass[1] == pytest.approx(ALPHA, rel=1e-14)


@pytest.mark.parametrize(("count", "values"), [(20, K_20), (3, K_3)])
def test_golden_deltas(count, values):
    loss = count * qw.constraints(FIGURE_2)
    for epsilon, true in values.items():
        found = loss.delta(epsilon, rtol=1e-9)
        assert found.lower - 1e-12 <= true <= found.upper + 1e-12
        assert found.upper == pytest.approx(true, rel=1e-9, abs=1e-12)


def test_remark_2_as_printed_is_negative_and_the_corrected_one_is_the_total_variation():
    """Erratum: eta = d2 + (1-d2)(eps2-1)/(eps2+1) is -.704; with e^eps2 it is delta(0) of one release."""
    epsilon, delta = FIGURE_2[1]
    assert delta + (1 - delta) * (epsilon - 1) / (epsilon + 1) < 0
    corrected = delta + (1 - delta) * math.tanh(epsilon / 2)
    assert corrected == pytest.approx(0.093362496873749, rel=1e-13)
    assert corrected in qw.constraints(FIGURE_2).delta(0.0)


def envelope(points, t):
    """The lower convex hull of (e^eps, delta), anchor (-1, 1) and the direction (+1, 0), at t: brute force in mp."""
    knots = [(mp.mpf(-1), mp.one)] + [(mp.exp(mp.mpf(e)), mp.mpf(d)) for e, d in points]
    best = min(d for s, d in knots if s <= t)  # flat to the right of a point
    for a, da in knots:
        for b, db in knots:
            if a <= t <= b and a < b:
                best = min(best, da + (db - da) * (t - a) / (b - a))
    return best


points_strategy = st.lists(
    st.tuples(st.sampled_from([0.0, 0.1, 0.25, 0.3, 0.5, 1.0, 2.5, 7.0]), st.floats(0.0, 1.0)), min_size=1, max_size=7
)


@given(points=points_strategy, at=st.floats(0.0, 8.0))
def test_the_profile_is_the_lower_convex_envelope(points, at):
    pair = constrained_pair(points)
    true = envelope(points, mp.exp(mp.mpf(at)))
    assert float(pair.stick(np.array([at]))[0]) + pair.reveal == pytest.approx(float(true), rel=1e-11, abs=3e-15)


@given(points=points_strategy)
def test_the_pair_is_a_symmetric_probability_and_promises_what_was_promised(points):
    pair = constrained_pair(points)
    assert math.fsum(pair.p) + pair.reveal == pytest.approx(1.0, abs=1e-13)
    assert pair.reveal == pair.vanish == pytest.approx(min([1.0, *(d for _, d in points)]), abs=1e-15)
    np.testing.assert_array_equal(pair.p, pair.q[::-1])
    for epsilon, delta in points:
        assert float(pair.stick(np.array([epsilon]))[0]) + pair.reveal <= delta + 1e-14


@given(points=points_strategy)
def test_pruning_is_idempotent_ordered_and_ignores_order_and_repeats(points):
    kept = active(points)
    assert active(kept) == kept
    assert active(points[::-1] + points) == kept
    epsilons, deltas = [e for e, _ in kept], [d for _, d in kept]
    assert epsilons == sorted(epsilons, reverse=True)
    assert deltas == sorted(deltas)
    assert all(w > 0 for w in weights(kept)[1]) if kept else True


@pytest.mark.parametrize(
    ("points", "kept"),
    [
        ([(1.0, 0.1), (2.0, 0.1)], [(1.0, 0.1)]),  # the smaller epsilon wins outright
        ([(1.0, 0.1), (1.0, 0.2)], [(1.0, 0.1)]),
        ([(1.0, 0.1), (0.5, 0.1)], [(0.5, 0.1)]),
        ([(1.0, 1.0), (0.5, 0.1)], [(0.5, 0.1)]),
        ([(1.0, 0.0), (0.5, 0.999)], [(1.0, 0.0)]),  # above the chord to the anchor
        ([(3.0, 1.0)], []),
        ([(0.0, 0.0), (5.0, 0.0)], [(0.0, 0.0)]),
    ],
)
def test_pruning_by_hand(points, kept):
    assert active(points) == kept


def test_points_on_one_line_of_the_profile_collapse():
    """Samples of one randomized response: only its own corner is active."""
    line = [(math.log(t), (math.e - t) / (1 + math.e)) for t in np.linspace(1.0, math.e, 9)]
    kept = active([*line, (1.0, 0.0)])
    assert len(kept) == 1
    assert kept[0] == (1.0, pytest.approx(0.0, abs=1e-15))


def test_total_variation_alone():
    """epsilon = 0 is allowed: delta is then total variation, with no finite loss but zero."""
    loss = qw.constraints([(0.0, 0.125)])
    assert 0.125 in loss.delta(0.0)
    assert 0.125 in loss.delta(50.0)
    assert loss.epsilon(0.125).lower == 0.0
    assert math.isinf(loss.epsilon(0.124).lower)
    assert 1 - 0.875**3 in (3 * loss).delta(1.0)


def test_everything_allowed_hides_nothing():
    loss = qw.constraints([(1.0, 1.0), (0.0, 1.0)])
    assert loss.delta(3.0).lower == 1.0
    assert math.isinf(loss.epsilon(0.9).lower)
    assert loss.beta(0.3).upper == 0.0


def test_huge_epsilons_neither_overflow_nor_matter_less():
    loss = qw.constraints([(800.0, 0.0), (750.0, 0.125)])
    found = loss.delta([760.0, 740.0, 10.0], rtol=1e-9)
    knots = [(800.0, 0.0), (750.0, 0.125)]
    for i, epsilon in enumerate((760.0, 740.0, 10.0)):
        true = float(envelope(knots, mp.exp(mp.mpf(epsilon))))
        assert found[i].lower <= true * (1 + 1e-14) and true * (1 - 1e-14) <= found[i].upper  # noqa: PT018
    assert loss.epsilon(0.0).upper == pytest.approx(800.0)


def test_one_constraint_is_approximate():
    both = [7 * qw.constraints([(0.4, 1e-3)]), 7 * qw.approximate(0.4, 1e-3)]
    for epsilon in (0.0, 0.7, 2.0, 2.7):
        one, two = (loss.delta(epsilon, rtol=1e-9) for loss in both)
        assert one.intersect(two).relative_width < 1e-8


def test_profile_is_constraints_under_another_name():
    loss = qw.profile([0.3, 0.15], [0.0, 0.02])
    assert type(loss.parts[0].family) is ProfilePoints
    assert loss != qw.constraints(FIGURE_2)
    assert (20 * loss).delta(1.0) == (20 * qw.constraints(FIGURE_2)).delta(1.0)


def test_group_scales_each_constraint():
    grouped = Constraints(FIGURE_2).group(2)
    (first, second) = grouped.points
    assert first == (0.6, 0.0)
    assert second[0] == 0.3
    assert second[1] == pytest.approx(0.02 * (1 + math.exp(0.15)), rel=1e-12)


@pytest.mark.parametrize(
    ("bad", "name"),
    [
        ([], "constraints"),
        (3, "constraints"),
        ("ab", "constraints"),
        ([(1.0,)], "constraints"),
        ([(1.0, 0.1, 0.2)], "constraints"),
        ([(-1.0, 0.1)], "epsilon"),
        ([(math.nan, 0.1)], "epsilon"),
        ([(math.inf, 0.1)], "epsilon"),
        ([("1", 0.1)], "epsilon"),
        ([(True, 0.1)], "epsilon"),
        ([(1.0, 1.5)], "delta"),
        ([(1.0, -0.1)], "delta"),
        ([(1.0, None)], "delta"),
    ],
)
def test_bad_constraints_are_named(bad, name):
    with pytest.raises(InvalidParameter, match=f"^{name} must be"):
        qw.constraints(bad)


@pytest.mark.parametrize("bad", [([0.1, 0.2], [0.1]), (0.3, [1, 2]), (["x"], [0.1]), (None, None), ([], [])])
def test_bad_profiles_are_refused(bad):
    with pytest.raises(InvalidParameter):
        qw.profile(*bad)


def test_json():
    family = Constraints(FIGURE_2)
    assert json.loads(json.dumps(family.to_json())) == {"kind": "constraints", "points": [[0.3, 0.0], [0.15, 0.02]]}
