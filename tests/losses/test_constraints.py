"""Several (epsilon, delta) at once: weights, pruning, the tight profile by the definition, and every edge decided.

A user's numbers are the decimals that were typed; the truth is computed from those.
"""

import json
import math
import random

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from tests.losses.laws import mp
from tests.truth import closed
from tests.truth import constraints as truth

import quiltwork as qw
from quiltwork.errors import InvalidParameter
from quiltwork.losses.families.constraints import Constraints, ProfilePoints, active, constrained_pair, weights

FIGURE_2 = [(0.3, 0.0), (0.15, 0.02)]
# theory/multi-constraints.md section 6 (25 digits in tests/reference_multi_constraints.json)
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


SMALLEST = mp.mpf(5e-324)


def spelled(points):
    """The decimals that were typed."""
    return [(repr(float(epsilon)), repr(float(delta))) for epsilon, delta in points]


def held(bracket, value, width=1e-12):
    """Whether a value lies in the bracket, and the bracket is narrow: ends are doubles, the value is of decimals."""
    unit = mp.mpf(2) ** -52
    inside = bracket.lower * (1 - unit) <= value <= bracket.upper * (1 + unit)
    return inside and bracket.upper - bracket.lower <= width * value + mp.mpf("1e-299")


# ---- weights


def test_golden_alpha():
    reveal, mass = weights(active(FIGURE_2))
    assert reveal == 0.0
    assert mass[0] + mass[1] == pytest.approx(1.0, rel=1e-15)
    assert mass[1] == pytest.approx(ALPHA, rel=1e-15)


@pytest.mark.parametrize(("count", "values"), [(20, K_20), (3, K_3)])
def test_golden_deltas(count, values):
    loss = count * qw.constraints(FIGURE_2)
    for epsilon, true in values.items():
        found = loss.delta(epsilon, rtol=1e-9)
        assert found.lower - 1e-12 <= true <= found.upper + 1e-12
        assert found.upper == pytest.approx(true, rel=1e-9, abs=1e-12)


def envelope(points, t):
    """The lower convex hull of (e^eps, delta), anchor (-1, 1) and the direction (+1, 0), at t: brute force in mp."""
    knots = [(mp.mpf(-1), mp.one)] + [(mp.exp(mp.mpf(e)), mp.mpf(d)) for e, d in spelled(points)]
    best = min(d for s, d in knots if s <= t)  # flat to the right of a point
    for a, da in knots:
        for b, db in knots:
            if a <= t <= b and a < b:
                best = min(best, (da * (b - t) + db * (t - a)) / (b - a))
    return best


epsilons = st.one_of(
    st.sampled_from([0.0, 0.1, 0.25, 0.3, 0.5, 1.0, 2.5, 7.0]), st.floats(1e-20, 8.0), st.sampled_from([1e-8, 800.0])
)
deltas = st.one_of(
    st.floats(0.0, 1.0), st.sampled_from([0.0, 1.0, 0.25]), st.floats(1.0, 120.0).map(lambda x: 10.0**-x)
)
points_strategy = st.lists(st.tuples(epsilons, deltas), min_size=1, max_size=7)


@given(points=points_strategy, at=st.floats(0.0, 8.0))
def test_the_profile_is_the_lower_convex_envelope(points, at):
    pair = constrained_pair(tuple(points))
    true = envelope(points, mp.exp(mp.mpf(at)))
    assert float(pair.stick(np.array([at]))[0]) + pair.reveal == pytest.approx(float(true), rel=1e-11, abs=3e-15)


@given(points=points_strategy)
def test_the_pair_is_a_symmetric_probability(points):
    pair = constrained_pair(tuple(points))
    assert math.fsum(pair.p) + pair.reveal == pytest.approx(1.0, abs=1e-13)
    assert pair.reveal == pair.vanish == min([1.0, *(d for _, d in points)])
    np.testing.assert_array_equal(pair.p, pair.q[::-1])


@given(points=points_strategy)
def test_what_was_promised_is_promised(points):
    """No answer exceeds a stated delta, but for the rounding of losses: D falls by at most as much as epsilon moves."""
    found = qw.constraints(points).delta([e for e, _ in points], rtol=1e-12)
    hair = 2e-15 * max(e for e, _ in points)
    assert np.all(found.upper <= np.array([d for _, d in points]) * (1 + 1e-12) + hair + 1e-299)


@given(points=points_strategy)
def test_weights_in_many_digits(points):
    """Rounded once from many digits: no cancellation is left, however small a weight is."""
    kept = active(points)
    assume(kept and [tuple(map(repr, map(float, c))) for c in truth.active(spelled(points))] == spelled(kept))
    (reveal, mass), (true_reveal, true_mass) = weights(kept), truth.weights(spelled(points))
    assert mp.mpf(repr(reveal)) == pytest.approx(true_reveal, rel=1e-40)
    for weight, true in zip(mass, true_mass, strict=True):
        assert abs(weight - true) <= mp.mpf(2) ** -52 * true + SMALLEST


@given(points=points_strategy)
def test_weights_are_the_only_ones(points):
    """Top down, each delta fixes the next weight: D(s_(j+1)) - what the larger epsilons leave there."""
    kept = active(points)
    assume(kept)
    reveal, mass = weights(kept)
    with mp.workdps(700):
        places = [(mp.exp(mp.mpf(e)), mp.mpf(d)) for e, d in spelled(kept)]
        solved = []
        for s, delta in [*places[1:], (mp.mpf(-1), mp.one)]:
            known = places[0][1] + mp.fsum(w * (a - s) / (1 + a) for w, (a, _) in zip(solved, places, strict=False))
            last = places[len(solved)][0]
            solved.append((delta - known) * (1 + last) / (last - s))
        assert abs(places[0][1] + mp.fsum(solved) - 1) < mp.mpf("1e-40")
        for weight, true in zip(mass, solved, strict=True):
            assert abs(weight - true) <= mp.mpf("1e-15") * true + SMALLEST
    assert reveal + math.fsum(mass) == pytest.approx(1.0, rel=1e-15)


@pytest.mark.parametrize(
    "points",
    [
        [(1e-8, 0.0), (5e-9, 1e-9), (0.0, 3e-9)],
        [(1e-8, 1e-12), (3e-9, 2e-9)],
        [(1e-3, 0.0), (5e-4, 1e-5)],
        [(2e-16, 0.0), (1e-16, 1e-17), (0.0, 4e-17)],
        [(1.0, 0.25), (1.0 - 1e-12, 0.25 + 1e-13), (0.5, 0.3)],
        [(800.0, 1e-6), (1.0, 0.2)],
        [(5000.0, 0.0), (800.0, 1e-30), (3.0, 1e-20), (1e-6, 0.1)],
    ],
)
def test_weights_where_the_printed_formula_cancels_or_overflows(points):
    reveal, mass = weights(active(points))
    true_reveal, true_mass = truth.weights(spelled(points))
    assert len(active(points)) == len(points)
    assert reveal == true_reveal or abs(reveal - true_reveal) <= mp.mpf("1e-16") * true_reveal
    for weight, true in zip(mass, true_mass, strict=True):
        assert abs(weight - true) <= mp.mpf("1e-15") * true


# ---- pruning


@given(points=points_strategy)
def test_pruning_is_idempotent_ordered_and_ignores_order_and_repeats(points):
    kept = active(points)
    assert active(kept) == kept
    assert active(points[::-1] + points) == kept
    assert set(kept) <= set(points)
    epsilons, deltas = [e for e, _ in kept], [d for _, d in kept]
    assert epsilons == sorted(set(epsilons), reverse=True)
    assert deltas == sorted(set(deltas))


@pytest.mark.parametrize(
    ("points", "kept"),
    [
        ([(1.0, 0.1), (2.0, 0.1)], [(1.0, 0.1)]),  # the smaller epsilon wins outright
        ([(1.0, 0.1), (1.0, 0.2)], [(1.0, 0.1)]),
        ([(1.0, 0.1), (0.5, 0.1)], [(0.5, 0.1)]),
        ([(1.0, 1.0), (0.5, 0.1)], [(0.5, 0.1)]),  # delta = 1 promises nothing
        ([(1.0, 0.0), (0.5, 0.999)], [(1.0, 0.0)]),  # above the chord to the anchor
        ([(3.0, 1.0)], []),
        ([(0.0, 0.0), (5.0, 0.0)], [(0.0, 0.0)]),
        ([(2.0, 0.0), (1.0, 0.0), (3.0, 0.0)], [(1.0, 0.0)]),
        ([(0.0, 0.5), (0.0, 0.25), (0.0, 1.0)], [(0.0, 0.25)]),
        ([(1.0, 0.1), (1.0, 0.1), (0.2, 0.3), (1.0, 0.1)], [(1.0, 0.1), (0.2, 0.3)]),
        ([(5000.0, 0.5), (1.0, 0.1)], [(1.0, 0.1)]),
        ([(5e-324, 0.0), (0.0, 0.5)], [(5e-324, 0.0)]),
        ([(1e-60, 0.0), (0.0, 1e-61)], [(1e-60, 0.0), (0.0, 1e-61)]),
    ],
)
def test_pruning_by_hand(points, kept):
    assert active(points) == kept
    assert active(points[::-1]) == kept


def test_far_tails_are_kept_however_small_their_weight():
    """A stated delta of 1e-20 is not rounding, though its response has a weight of 1e-18."""
    points = [(7.0, 1e-22), (5.0, 1e-20), (3.0, 1e-18), (1.0, 0.1)]
    assert active(points) == points
    assert min(weights(points)[1]) < 1e-19
    assert qw.constraints(points).delta(5.0).upper == pytest.approx(1e-20, rel=1e-9)
    assert (2 * qw.constraints(points)).delta(12.0, rtol=1e-9).upper == pytest.approx(
        float(truth.composed([(spelled(points), 2)]).delta(12)), rel=1e-9
    )


def test_points_on_one_line_of_the_profile_collapse():
    """Samples of one randomized response: only its own corner is active."""
    line = [(math.log(t), (math.e - t) / (1 + math.e)) for t in np.linspace(1.0, math.e, 9)]
    kept = active([*line, (1.0, 0.0)])
    assert len(kept) == 1
    assert kept[0] == (1.0, pytest.approx(0.0, abs=1e-15))


@pytest.mark.parametrize("seed", range(8))
def test_what_collapse_costs_is_counted(seed):
    """Many samples of straight pieces, each rounded: the truth for the points as given stays in the bracket."""
    rng = random.Random(seed)
    corners = sorted(rng.uniform(0.0, 3.0) for _ in range(2))
    shares = [rng.random(), rng.random()]

    def profile(epsilon):
        parts = zip(shares, corners, strict=True)
        sticks = (w * max(math.exp(c) - math.exp(epsilon), 0.0) / (1 + math.exp(c)) for w, c in parts)
        return 0.01 + 0.99 * sum(sticks) / sum(shares)

    points = [(e, profile(e)) for e in np.linspace(0.0, corners[-1], 40).tolist()] + [(c, profile(c)) for c in corners]
    kept = active(points)
    assert 2 <= len(kept) <= 12
    loss = qw.constraints(points)
    for epsilon in (0.0, 0.37, 0.5 * corners[1]):
        exact = envelope(points, mp.exp(mp.mpf(epsilon)))
        assert held(loss.delta(epsilon, rtol=1e-12), exact)


@given(points=points_strategy, inactive=st.lists(st.tuples(epsilons, deltas), max_size=4))
def test_constraints_that_say_nothing_change_nothing(points, inactive):
    """Points on or above the envelope, wherever they lie."""
    lifted = [(e, max(d, float(envelope(points, mp.exp(mp.mpf(repr(e))))) * (1 + 1e-12))) for e, d in inactive]
    assert active([*lifted, *points]) == active(points)


# ---- edges, each decided


def test_total_variation_alone():
    """epsilon = 0 is allowed: delta is then total variation, with no finite loss but zero."""
    loss = qw.constraints([(0.0, 0.125)])
    assert 0.125 in loss.delta(0.0)
    assert 0.125 in loss.delta(50.0)
    assert loss.epsilon(0.125).lower == 0.0
    assert math.isinf(loss.epsilon(0.124).lower)
    assert 1 - 0.875**3 in (3 * loss).delta(1.0)


@pytest.mark.parametrize("count", [1, 2, 5])
def test_total_variation_beside_an_epsilon(count):
    points = [(1.0, 0.0), (0.0, 0.25)]
    loss, law = count * qw.constraints(points), truth.composed([(spelled(points), count)])
    for epsilon in (-0.4, 0.0, 0.3, 1.0, 1.7):
        if epsilon != count:
            assert held(loss.delta(epsilon, rtol=1e-12), law.delta(epsilon))
    for alpha in (0.0, 0.01, 0.3, 0.9):
        assert held(loss.beta(alpha), law.beta(alpha))


def test_nothing_released():
    """(0, 0) alone: the two worlds look the same."""
    loss = 7 * qw.constraints([(0.0, 0.0), (3.0, 0.1)])
    assert loss.delta(0.0).upper == 0.0
    assert loss.epsilon(0.0).upper == 0.0
    assert 0.75 in loss.beta(0.25)


@pytest.mark.parametrize("points", [[(1.0, 1.0), (0.0, 1.0)], [(0.3, 1.0)]])
def test_everything_allowed_hides_nothing(points):
    loss = qw.constraints(points)
    assert loss.delta(3.0).lower == 1.0
    assert math.isinf(loss.epsilon(0.9).lower)
    assert loss.epsilon(1.0).upper == 0.0
    assert loss.beta(0.3).upper == 0.0
    assert (loss + qw.pure(0.1)).delta(1.0).lower == 1.0
    assert loss.region().area() == 1.0


def test_huge_epsilons_neither_overflow_nor_matter_less():
    loss = qw.constraints([(800.0, 0.0), (750.0, 0.125)])
    found = loss.delta([760.0, 740.0, 10.0], rtol=1e-9)
    knots = [(800.0, 0.0), (750.0, 0.125)]
    for i, epsilon in enumerate((760.0, 740.0, 10.0)):
        true = float(envelope(knots, mp.exp(mp.mpf(epsilon))))
        assert found[i].lower <= true * (1 + 1e-14) and true * (1 - 1e-14) <= found[i].upper  # noqa: PT018
    assert loss.epsilon(0.0).upper == pytest.approx(800.0)


@pytest.mark.parametrize("count", [1, 2, 3])
@pytest.mark.parametrize(
    "points",
    [
        [(5000.0, 0.0)],
        [(5000.0, 0.0), (1.0, 0.25)],
        [(800.0, 1e-6), (0.5, 0.125), (0.0, 0.25)],
        [(5000.0, 1e-9), (720.0, 0.01), (3.0, 0.2)],
        [(1e5, 0.0), (0.0, 0.5)],
    ],
)
def test_compositions_past_the_overflow_of_e_to_the_epsilon(points, count):
    loss, law = count * qw.constraints(points), truth.composed([(spelled(points), count)])
    top = points[0][0]
    for epsilon in (0.0, 0.7, 3.5, 500.0, top - 5.0, count * top - 2.0, count * top + 1.0):
        assert held(loss.delta(epsilon, rtol=1e-9), law.delta(epsilon), 1e-9), epsilon
    for alpha in (0.01, 0.4):
        assert held(loss.beta(alpha), law.beta(alpha), 1e-9), alpha


@pytest.mark.parametrize("side", [1.0, 0.0])
def test_deltas_one_unit_apart(side):
    """The larger epsilon stays as long as its delta is smaller at all."""
    near = math.nextafter(0.125, side)
    points = [(1.0, 0.125), (0.5, near)]
    assert active(points) == (points if near > 0.125 else [(0.5, near)])
    for count in (1, 4):
        loss, law = count * qw.constraints(points), truth.composed([(spelled(points), count)])
        for epsilon in (0.0, 0.3, 0.75, 1.2):
            assert held(loss.delta(epsilon, rtol=1e-12), law.delta(epsilon))


def test_tiny_epsilons():
    points = [(1e-8, 0.0), (5e-9, 1e-9)]
    loss, law = 9 * qw.constraints(points), truth.composed([(spelled(points), 9)])
    for epsilon in (0.0, 1e-9, 2e-8, 6.1e-8):
        assert held(loss.delta(epsilon, rtol=1e-9), law.delta(epsilon), 1e-9)
    assert loss.delta(1e-7).upper == 0.0


@pytest.fixture(scope="module")
def sampled():
    """2,000 points of the profile of a Gaussian, to 30 digits and then rounded up."""
    places = [i * 0.005 for i in range(2000)]
    return [(e, math.nextafter(float(closed.gaussian_delta(1, e)), 1.0)) for e in places]


def test_a_long_list_is_read_whole(sampled):
    kept = active(sampled)
    assert len(kept) == 2000
    reveal, mass = weights(kept)
    assert reveal + math.fsum(mass) == pytest.approx(1.0, rel=1e-14)
    asked = sampled[::97]
    found = qw.constraints(sampled).delta([e for e, _ in asked])
    assert found.upper == pytest.approx([d for _, d in asked], rel=1e-9)


def test_a_long_list_composes(sampled):
    """Above the Gaussian that satisfies it, and near it."""
    loss = 20 * qw.constraints(sampled)
    for epsilon in (2.0, 10.0, 25.0):
        gaussian = closed.gaussian_delta(mp.sqrt(20), epsilon)
        found = loss.delta(epsilon)
        assert gaussian <= found.upper <= gaussian * mp.mpf("1.002")
        assert found.met


# ---- the same promise under other names


@pytest.mark.parametrize("count", [1, 7])
@pytest.mark.parametrize(("epsilon", "delta"), [(0.4, 1e-3), (0.4, 0.0), (0.0, 0.2), (3.0, 0.9), (800.0, 1e-9)])
def test_one_constraint_is_approximate(epsilon, delta, count):
    one, two = count * qw.constraints([(epsilon, delta)]), count * qw.approximate(epsilon, delta)
    asked = [-0.3, 0.0, 0.7, 2.0, 2.7, 9.0]
    assert one.delta(asked, rtol=1e-9).intersect(two.delta(asked, rtol=1e-9)).met
    np.testing.assert_allclose(one.delta(asked, rtol=1e-9).upper, two.delta(asked, rtol=1e-9).upper, rtol=1e-9)
    np.testing.assert_allclose(one.beta([0.01, 0.3]).lower, two.beta([0.01, 0.3]).lower, rtol=1e-9)
    for level in (0.95, 0.0):
        np.testing.assert_allclose(one.epsilon(level, rtol=1e-9).upper, two.epsilon(level, rtol=1e-9).upper, rtol=1e-9)


def test_profile_is_constraints_under_another_name():
    loss = qw.profile([0.3, 0.15], [0.0, 0.02])
    assert type(loss.parts[0].family) is ProfilePoints
    assert loss != qw.constraints(FIGURE_2)
    assert (20 * loss).delta(1.0) == (20 * qw.constraints(FIGURE_2)).delta(1.0)
    assert qw.profile(np.array([0.3, 0.15]), (0.0, 0.02)) == loss


def test_any_iterable_of_pairs_will_do():
    loss = qw.constraints(FIGURE_2)
    assert qw.constraints(point for point in FIGURE_2) == loss
    assert qw.constraints(np.array(FIGURE_2)) == loss
    assert qw.constraints([[0.3, 0], [0.15, 0.02]]) == loss
    assert hash(qw.constraints(tuple(FIGURE_2))) == hash(loss)


# ---- groups


def test_group_scales_each_constraint():
    grouped = Constraints(FIGURE_2).group(2)
    (first, second) = grouped.points
    assert first == (0.6, 0.0)
    assert second[0] == 0.3
    assert second[1] == pytest.approx(0.02 * (1 + math.exp(0.15)), rel=1e-12)


@pytest.mark.parametrize("size", [2, 3, 10])
def test_group_by_its_definition(size):
    """(n eps, delta (1 + e^eps + ... + e^((n-1) eps))), never rounded down, and on the lattice of the decimals."""
    points = [(0.7, 1e-6), (0.3, 0.01), (0.0, 0.03)]
    grouped = Constraints(points).group(size).points
    for (epsilon, delta), (more, larger) in zip(points, grouped, strict=True):
        exact = mp.mpf(repr(delta)) * mp.fsum(mp.exp(i * mp.mpf(repr(epsilon))) for i in range(size))
        assert more == float(f"{size * epsilon:.12g}")
        assert exact <= larger <= exact * (1 + mp.mpf("1e-13"))
    assert (5 * qw.constraints(points)).group(size) == 5 * qw.constraints(grouped)


def test_group_of_everybody_is_promised_nothing():
    assert Constraints([(1.0, 0.1), (0.0, 0.4)]).group(20).points == ((20.0, 1.0), (0.0, 1.0))
    assert qw.constraints([(1.0, 0.1), (0.0, 0.4)]).group(20).delta(30.0).lower == 1.0
    assert Constraints([(800.0, 1e-9)]).group(2).points == ((1600.0, 1.0),)
    assert qw.constraints([(1.0, 0.0)]).group(3).epsilon(0.0).upper == pytest.approx(3.0, rel=1e-14)


# ---- refusals


@pytest.mark.parametrize(
    ("bad", "name"),
    [
        ([], "constraints"),
        (3, "constraints"),
        (None, "constraints"),
        ("ab", "constraints"),
        ([0.3, 0.1], "constraints"),
        ([(1.0,)], "constraints"),
        ([(1.0, 0.1, 0.2)], "constraints"),
        ({0.3: 0.1}, "constraints"),
        (np.zeros((2, 3)), "constraints"),
        ([(-1.0, 0.1)], "epsilon"),
        ([(-5e-324, 0.1)], "epsilon"),
        ([(math.nan, 0.1)], "epsilon"),
        ([(math.inf, 0.1)], "epsilon"),
        ([("1", 0.1)], "epsilon"),
        ([(True, 0.1)], "epsilon"),
        ([(1.0 + 0j, 0.1)], "epsilon"),
        ([([1.0, 2.0], 0.1)], "epsilon"),
        ([(1.0, 1.5)], "delta"),
        ([(1.0, math.nextafter(1.0, 2.0))], "delta"),
        ([(1.0, -0.1)], "delta"),
        ([(1.0, math.nan)], "delta"),
        ([(1.0, None)], "delta"),
    ],
)
def test_bad_constraints_are_named(bad, name):
    with pytest.raises(InvalidParameter, match=f"^{name} must be"):
        qw.constraints(bad)


def test_the_wrong_point_of_a_long_list_is_pointed_at():
    with pytest.raises(InvalidParameter, match=r"^delta must be in \[0, 1\], got 2.0: see point 700 of 1000$"):
        qw.constraints([(1.0, 2.0 if i == 699 else 0.5) for i in range(1000)])
    with pytest.raises(InvalidParameter, match=r"got \(1.0,\): see point 2 of 2$"):
        qw.constraints([(1.0, 0.1), (1.0,)])


@pytest.mark.parametrize(
    "bad",
    [([0.1, 0.2], [0.1]), (0.3, [1, 2]), (["x"], [0.1]), (None, None), ([], []), ([math.inf], [0.1]), ([1.0], [1.1])],
)
def test_bad_profiles_are_refused(bad):
    with pytest.raises(InvalidParameter):
        qw.profile(*bad)


# ---- as data


def test_json():
    family = Constraints(FIGURE_2)
    assert json.loads(json.dumps(family.to_json())) == {"kind": "constraints", "points": [[0.3, 0.0], [0.15, 0.02]]}


@given(points=points_strategy, count=st.integers(1, 9))
def test_json_round_trip(points, count):
    loss = count * qw.constraints(points) + qw.profile([e for e, _ in points], [d for _, d in points])
    again = qw.Loss.from_json(json.loads(json.dumps(loss.to_json(), allow_nan=False)))
    assert again == loss
    assert again.parts[0].family.points == tuple(points)  # idle points are kept: they were stated


def test_words():
    assert repr(3 * qw.constraints(FIGURE_2)) == "3 * constraints(2 points)"
    assert "several constraints at once" in qw.constraints(FIGURE_2).guarantee().because[0]
