"""OpenDP measurements: stand-ins for every measure, and real measurements where OpenDP is installed."""

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

import quiltwork as qw
from quiltwork.adapters import from_opendp
from quiltwork.adapters.opendp import MESH, ORDERS
from quiltwork.errors import InvalidParameter, Unsupported


class Measure:
    def __init__(self, kind, shown=None):
        self.type, self.shown = kind, shown or kind

    def __repr__(self):
        return self.shown


class Measurement:
    """What is read of a measurement."""

    def __init__(self, kind, privacy_map, shown=None):
        self.output_measure, self.map = Measure(kind, shown), privacy_map


class Profile:
    def __init__(self, delta):
        self.delta = delta


def known(kind, distance):
    return Measurement(kind, lambda d_in: distance)


PURE, ZERO = "MaxDivergence", "ZeroConcentratedDivergence"
APPROXIMATE, BOTH = "Approximate<MaxDivergence>", "Approximate<ZeroConcentratedDivergence>"
SMOOTHED, RENYI = "SmoothedMaxDivergence", "RenyiDivergence"


@pytest.mark.parametrize(
    ("kind", "distance", "loss"),
    [
        (PURE, 0.5, qw.pure(0.5)),
        (PURE, 0.0, qw.pure(0.0)),
        (ZERO, 0.125, qw.zcdp(0.125)),
        (APPROXIMATE, (0.5, 0.25), qw.approximate(0.5, 0.25)),
        (APPROXIMATE, (0.5, 0.0), qw.pure(0.5)),
        (APPROXIMATE, [0.5, 1.0], qw.approximate(0.5, 1.0)),
        (BOTH, (0.125, 0.0), qw.zcdp(0.125)),
        (BOTH, (0.125, 2.0**-20), qw.zcdp(0.125) + qw.approximate(0.0, 2.0**-20)),
    ],
)
def test_translations(kind, distance, loss):
    assert from_opendp(known(kind, distance), 1) == loss


@given(st.floats(1e-300, 1e99))  # above 1e100 no epsilon is taken
def test_numbers_are_never_lowered(value):
    """Neither the double nor the decimal that one would type for it lies below what OpenDP said."""
    stated = from_opendp(known(PURE, value), 1).parts[0].family.epsilon
    assert Fraction(stated) >= Fraction(value)
    assert Fraction(repr(stated)) >= Fraction(value)
    assert stated <= math.nextafter(math.nextafter(value, math.inf), math.inf)


def test_a_double_below_its_decimal_is_kept_and_one_above_is_raised():
    kept, raised = 0.7, 0.1  # the doubles lie below 7/10 and above 1/10
    assert from_opendp(known(ZERO, kept), 1) == qw.zcdp(kept)
    assert from_opendp(known(ZERO, raised), 1) == qw.zcdp(math.nextafter(raised, 1))


def test_approximate_zcdp_contains_a_gaussian_with_a_reveal():
    """Gaussian noise of rho 1/8 that reveals everything with probability delta is such a release."""
    delta = 1e-6
    loss, noise = from_opendp(known(BOTH, (0.125, delta)), 1), qw.gaussian(2.0)
    for epsilon in (0.5, 1.5, 2.5):
        real = delta + (1 - delta) * noise.delta(epsilon).upper
        assert loss.delta(epsilon).lower <= real * (1 + 1e-9)
        assert loss.delta(epsilon).upper >= real * (1 - 1e-9)
    assert loss.epsilon(delta / 2).upper == math.inf


def test_a_profile_is_bounded_from_above_and_closely():
    noise = qw.gaussian(2.0)
    loss = from_opendp(known(SMOOTHED, Profile(lambda epsilon: noise.delta(epsilon).upper)), 1)
    (part,) = loss.parts
    assert len(part.family.points) == MESH + 1
    for epsilon in (0.0, 0.3, 1.1, 2.7, 4.9):
        exact, found = noise.delta(epsilon), loss.delta(epsilon)
        assert found.upper >= exact.lower
        assert found.upper <= exact.upper * 1.1  # chords over a convex function
    assert loss.epsilon(1e-6).upper <= noise.epsilon(1e-6).upper + 0.01


@pytest.mark.parametrize("scale", [1e-6, 1e-3, 1.0, 50.0])
def test_the_mesh_finds_its_scale(scale):
    """A profile that falls from 1 to its floor at one point: the mesh reaches that point, within its step."""
    loss = from_opendp(known(SMOOTHED, Profile(lambda epsilon: 1.0 if epsilon < scale else 1e-8)), 1)
    assert scale * (1 - 1e-6) - 1e-8 <= loss.epsilon(1.1e-8).upper <= scale * (1 + 2.1 / MESH)
    assert loss.epsilon(1e-9).upper == math.inf


def test_chosen_points_of_a_profile():
    profile = Profile(lambda epsilon: 1.0 if epsilon < 0.3 else 1e-8)
    loss = from_opendp(known(SMOOTHED, profile), 1, epsilons=[0.3, 0.1])
    assert 0.3 * (1 - 1e-6) <= loss.epsilon(1.1e-8).upper <= 0.3 * (1 + 1e-9)
    for epsilon, delta in loss.parts[0].family.points:
        assert Fraction(repr(epsilon)) >= Fraction(0.3) or delta == 1


def test_points_without_an_answer_are_left_out_of_the_mesh_only():
    def delta(epsilon):
        if epsilon > 3:
            raise OverflowError("too large")
        return math.exp(-10 * epsilon)

    loss = from_opendp(known(SMOOTHED, Profile(delta)), 1)
    assert max(epsilon for epsilon, _ in loss.parts[0].family.points) == 2
    with pytest.raises(InvalidParameter, match="too large"):
        from_opendp(known(SMOOTHED, Profile(delta)), 1, epsilons=[1.0, 4.0])


def test_profiles_that_promise_nothing_are_refused():
    for options in ({}, {"epsilons": [1.0]}):
        with pytest.raises(Unsupported, match="promises nothing"):
            from_opendp(known(SMOOTHED, Profile(lambda epsilon: 1.0)), 1, **options)

    def fails(epsilon):
        raise OverflowError("too large")

    with pytest.raises(Unsupported, match="give epsilons"):
        from_opendp(known(SMOOTHED, Profile(fails)), 1)


@pytest.mark.parametrize("value", [-0.1, 1.5, math.nan, None, "0.5", True])
def test_bad_deltas_of_a_profile(value):
    with pytest.raises(InvalidParameter, match="delta"):
        from_opendp(known(SMOOTHED, Profile(lambda epsilon: value)), 1, epsilons=[1.0])
    with pytest.raises((InvalidParameter, Unsupported)):
        from_opendp(known(SMOOTHED, Profile(lambda epsilon: value)), 1)


def test_renyi_divergences_at_orders():
    loss = from_opendp(known(RENYI, lambda order: 0.125 * order), 1)
    assert loss == qw.rdp(ORDERS, [0.125 * order for order in ORDERS])
    assert list(ORDERS) == sorted(set(ORDERS))
    assert loss.epsilon(1e-6).upper <= qw.zcdp(0.125).epsilon(1e-6).upper * 1.02
    chosen = from_opendp(known(RENYI, lambda order: math.inf if order > 4 else 0.125 * order), 1, orders=[8, 2, 4, 2])
    assert chosen == qw.rdp([2.0, 4.0, 8.0], [0.25, 0.5, math.inf])


@given(st.floats(1.001, 100.0))
def test_orders_are_never_raised(order):
    """A bound at one order says nothing about a larger one."""
    (part,) = from_opendp(known(RENYI, lambda asked: 1.0), 1, orders=[order]).parts
    (stated,) = part.family.orders
    assert Fraction(stated) <= Fraction(order)
    assert Fraction(repr(stated)) <= Fraction(order)


@pytest.mark.parametrize("orders", [[], [1.0], [0.5], [math.nan], [math.inf], ["2"], [True], 3, [None]])
def test_bad_orders(orders):
    with pytest.raises(InvalidParameter, match="orders"):
        from_opendp(known(RENYI, lambda order: order), 1, orders=orders)


@pytest.mark.parametrize("epsilons", [[], [-1.0], [math.nan], [math.inf], ["2"], [True], 3, [None]])
def test_bad_epsilons(epsilons):
    with pytest.raises(InvalidParameter, match="epsilons"):
        from_opendp(known(SMOOTHED, Profile(lambda epsilon: 0.5)), 1, epsilons=epsilons)


def test_points_belong_to_curves():
    with pytest.raises(InvalidParameter, match="epsilons"):
        from_opendp(known(PURE, 0.5), 1, epsilons=[1.0])
    with pytest.raises(InvalidParameter, match="orders"):
        from_opendp(known(SMOOTHED, Profile(lambda epsilon: 0.5)), 1, orders=[2.0])


@pytest.mark.parametrize("value", [-0.5, math.nan, "1", None, True, [1.0]])
@pytest.mark.parametrize("kind", [PURE, ZERO, APPROXIMATE, BOTH, RENYI])
def test_bad_distances(kind, value):
    distance = {APPROXIMATE: (value, 0.1), BOTH: (value, 0.1), RENYI: lambda order: value}.get(kind, value)
    with pytest.raises(InvalidParameter):
        from_opendp(known(kind, distance), 1)


@pytest.mark.parametrize("kind", [PURE, ZERO, APPROXIMATE, BOTH, RENYI])
def test_infinite_distances_are_refused(kind):
    distance = {APPROXIMATE: (math.inf, 0.1), BOTH: (math.inf, 0.1), RENYI: lambda order: math.inf}
    with pytest.raises(Unsupported, match="promises nothing"):
        from_opendp(known(kind, distance.get(kind, math.inf)), 1)


@pytest.mark.parametrize("distance", [0.5, (0.5,), (0.5, 0.1, 0.2), None, (0.5, -0.1), (0.5, 1.1), (0.5, math.nan)])
@pytest.mark.parametrize("kind", [APPROXIMATE, BOTH])
def test_bad_pairs(kind, distance):
    with pytest.raises(InvalidParameter):
        from_opendp(known(kind, distance), 1)


@pytest.mark.parametrize("kind", [SMOOTHED, RENYI])
def test_curves_must_be_curves(kind):
    with pytest.raises(InvalidParameter, match="mapped distance"):
        from_opendp(known(kind, 0.5), 1)


def test_failing_curves_say_why():
    def fails(order):
        raise RuntimeError("no such order")

    with pytest.raises(InvalidParameter, match="no such order"):
        from_opendp(known(RENYI, fails), 1)


@pytest.mark.parametrize("kind", ["ExtrinsicDivergence", "Approximate<RenyiDivergence>", "maxdivergence", "", None])
def test_other_measures_are_refused_by_type(kind):
    """The printed name of a user's own divergence is his to choose, and is not believed."""
    with pytest.raises(Unsupported, match=kind or "measure"):
        from_opendp(Measurement(kind, lambda d_in: d_in, shown=PURE), 0.1)


@pytest.mark.parametrize("thing", [None, 3, "measurement", object(), lambda d_in: d_in, Measure(PURE)])
def test_other_things_are_refused(thing):
    with pytest.raises(InvalidParameter, match="measurement"):
        from_opendp(thing, 1)


def test_a_refused_distance_says_why():
    def mapped(d_in):
        raise TypeError("d_in must be finite")

    with pytest.raises(InvalidParameter, match="d_in must be finite"):
        from_opendp(Measurement(PURE, mapped), math.inf)


# ---- real measurements


@pytest.fixture
def dp():
    prelude = pytest.importorskip("opendp.prelude")
    before = set(prelude.GLOBAL_FEATURES)
    prelude.enable_features("contrib", "honest-but-curious")
    yield prelude
    prelude.disable_features(*({"contrib", "honest-but-curious"} - before))


def number(dp):
    return dp.atom_domain(T=float, nan=False), dp.absolute_distance(T=float)


def test_noise_of_opendp(dp):
    laplace, gaussian = dp.m.make_laplace(*number(dp), scale=2.0), dp.m.make_gaussian(*number(dp), scale=2.0)
    assert from_opendp(laplace, 1.0) == qw.pure(0.5)
    assert from_opendp(laplace, 0.0) == qw.pure(0.0)
    assert from_opendp(gaussian, 1.0) == qw.zcdp(0.125)
    assert from_opendp(gaussian, 1.0).epsilon(1e-6).upper >= qw.gaussian(2.0).epsilon(1e-6).lower
    thirds = from_opendp(dp.m.make_laplace(*number(dp), scale=3.0), 1.0).parts[0].family.epsilon
    assert Fraction(1, 3) <= Fraction(repr(thirds)) <= Fraction(1, 3) * (1 + Fraction(1, 10**14))
    assert repr(laplace.output_measure) == PURE  # reading it left it as it was


def test_combinators_of_opendp(dp):
    laplace, gaussian = dp.m.make_laplace(*number(dp), scale=2.0), dp.m.make_gaussian(*number(dp), scale=2.0)
    assert from_opendp(dp.c.make_composition([gaussian, gaussian]), 1.0) == qw.zcdp(0.25)
    assert from_opendp(dp.c.make_composition([laplace] * 3), 1.0) == qw.pure(1.5)
    assert from_opendp(dp.c.make_pureDP_to_zCDP(laplace), 1.0) == qw.zcdp(0.125)
    assert from_opendp(dp.c.make_approximate(laplace), 1.0) == qw.pure(0.5)
    assert from_opendp(dp.c.make_approximate(gaussian), 1.0) == qw.zcdp(0.125)
    response = from_opendp(dp.m.make_randomized_response_bool(prob=0.75), 1)
    assert response.epsilon(0.0).upper >= math.log(3)
    assert response.epsilon(0.0).upper <= math.log(3) * (1 + 1e-3)


def test_smoothed_and_fixed_conversions_of_opendp(dp):
    smoothed = dp.c.make_zCDP_to_approxDP(dp.m.make_gaussian(*number(dp), scale=2.0))
    curve = smoothed.map(1.0)
    loss = from_opendp(smoothed, 1.0)
    assert loss.epsilon(1e-6).upper >= qw.gaussian(2.0).epsilon(1e-6).lower
    assert loss.epsilon(1e-6).upper <= curve.epsilon(1e-6) + 0.01
    for epsilon, delta in loss.parts[0].family.points[::32]:
        assert delta >= curve.delta(epsilon)
    (part,) = from_opendp(dp.c.make_fix_delta(smoothed, 1e-6), 1.0).parts
    assert part.family.epsilon >= curve.epsilon(1e-6)
    assert Fraction(repr(part.family.delta)) >= Fraction(1e-6)
    fixed = [dp.c.make_fix_delta(smoothed, 1e-6)] * 2
    assert from_opendp(dp.c.make_composition(fixed), 1.0).parts[0].family.delta >= 2e-6


def test_a_threshold_of_opendp_is_approximate_zcdp(dp):
    keys = dp.map_domain(dp.atom_domain(T=str), dp.atom_domain(T=int))
    distance = dp.l02inf_distance(dp.absolute_distance(T=float))
    counted = dp.m.make_gaussian_threshold(keys, distance, scale=2.0, threshold=10)
    rho, delta = counted.map((1, 1.0, 1.0))
    loss = from_opendp(counted, (1, 1.0, 1.0))
    concentrated, reveal = (part.family for part in loss.parts)
    assert (concentrated.rho, reveal.epsilon) == (0.125, 0.0)
    assert delta <= reveal.delta <= delta * (1 + 1e-15)
    assert rho == 0.125
    assert loss.epsilon(delta / 2).upper == math.inf
    assert loss.epsilon(1e-4).upper > qw.zcdp(rho).epsilon(1e-4).lower


def test_user_measures_of_opendp(dp):
    def user(measure, privacy_map):
        return dp.m.make_user_measurement(
            *number(dp), output_measure=measure, function=lambda x: x, privacy_map=privacy_map, TO=float
        )

    renyi = user(dp.renyi_divergence(), lambda d_in: lambda order: 0.125 * order * d_in)
    assert from_opendp(renyi, 1.0, orders=[2.0, 4.0]) == qw.rdp([2.0, 4.0], [0.25, 0.5])
    named = user(dp.user_divergence(PURE), lambda d_in: d_in)
    assert repr(named.output_measure) == PURE
    with pytest.raises(Unsupported, match="ExtrinsicDivergence"):
        from_opendp(named, 1.0)


def test_refusals_with_opendp(dp):
    laplace = dp.m.make_laplace(*number(dp), scale=2.0)
    for d_in in ("1", None, -1.0, math.nan, math.inf, True):
        with pytest.raises(InvalidParameter, match="d_in"):
            from_opendp(laplace, d_in)
    odometer = dp.c.make_fully_adaptive_composition(*number(dp), dp.max_divergence())
    for thing in (dp.m.then_laplace(scale=1.0), odometer, dp.t.make_split_lines()):
        with pytest.raises(InvalidParameter, match="measurement"):
            from_opendp(thing, 1.0)
    hopeless = dp.c.make_zCDP_to_approxDP(dp.m.make_gaussian(*number(dp), scale=1e-3))
    with pytest.raises(InvalidParameter, match="a point of the curve"):
        from_opendp(hopeless, 1.0, epsilons=[1.0])
