"""Laws of one number: densities, tails, bounds on cells and sums with noise, against mpmath."""

from __future__ import annotations

import math
from fractions import Fraction

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from tests.confounding import line_truth as truth
from tests.examples import examples

from quiltwork.confounding.line.enclosure.difference import TwoLaws
from quiltwork.confounding.line.laws.components import Laplace, Mixture, Normal, NormalLaplace, Point, Uniform
from quiltwork.confounding.line.laws.densities import KINK
from quiltwork.confounding.line.laws.user import Unimodal
from quiltwork.errors import InvalidParameter, Unsupported

PARTS = [
    Normal(0.3, 0.7),
    Normal(-1000.0, 0.01),
    Laplace(0.3, 0.7),
    Laplace(1e6, 0.5),
    NormalLaplace(0.3, 0.7, 0.5),
    NormalLaplace(-2.0, 0.01, 1.0),  # almost Laplace
    NormalLaplace(0.1, 1.0, 0.001),  # almost normal
    NormalLaplace(5.0, 30.0, 0.02),  # e^(sd^2 / 2 scale^2) overflows
    Uniform(-0.3, 1.1),
]
STEPS = (-60.0, -12.0, -5.0, -1.3, -0.4, -1e-9, 0.0, 1e-6, 0.2, 0.9, 3.0, 8.0, 37.0)


def size(part):
    return float(truth.spread(part))


@pytest.mark.parametrize("part", PARTS, ids=repr)
def test_density_and_tails_to_thirty_digits(part):
    with mp.workdps(400):  # tails are differences there
        centre = float(part.exact[0])
        shapes = part.shapes([part])
        f, below = truth.density(part), truth.below(part)
        for step in STEPS:
            x = centre + size(part) * step
            low, high = part.density(x, x)
            exact = f(mp.mpf(x))
            assert low[0] <= exact <= high[0]
            if part.kind != "uniform" or step != 0.0:  # at a jump both values are possible
                assert float(high[0] - low[0]) <= 1e-9 * float(exact) + 1e-299
            tail = below(mp.mpf(x)) if x < shapes.centre[0, 0] else 1 - below(mp.mpf(x))
            (value,), (error,) = (column[:, 0] for column in shapes.log_tail(np.array([x])))
            if tail > 0:
                allowed = error + float(shapes.tail_error[0, 0] / tail) if tail > 1e-300 else error
                assert abs(mp.log(tail) - mp.mpf(float(value))) <= allowed
            else:
                assert value == -math.inf


@pytest.mark.parametrize("part", PARTS, ids=repr)
def test_probabilities_of_cells(part):
    with mp.workdps(60):
        centre, below = float(part.exact[0]), truth.below(part)
        edges = [centre + size(part) * step for step in STEPS[1:-1]]
        for a in edges:
            for b in edges:
                if a < b:
                    low, high = part.probability(a, b)
                    assert low[0] <= below(mp.mpf(b)) - below(mp.mpf(a)) <= high[0]
        low, high = part.probability(-math.inf, math.inf)
        assert low[0] <= 1 <= high[0]
        assert low[0] > 1 - 1e-9
        low, high = part.probability([-math.inf, edges[5]], [edges[5], math.inf])
        assert low.sum() <= 1 <= high.sum()


@pytest.mark.parametrize("part", [Normal(0.3, 0.7), Laplace(0.3, 0.7), NormalLaplace(0.3, 0.7, 0.5)], ids=repr)
def test_small_probabilities_keep_their_digits(part):
    a, b = 0.3 + 20 * 0.7, 0.3 + 21 * 0.7
    low, high = part.probability(a, b)
    with mp.workdps(150):
        exact = truth.below(part)(mp.mpf(b)) - truth.below(part)(mp.mpf(a))
    assert 0 < low[0] <= exact <= high[0] <= low[0] * (1 + 1e-10)
    if part.kind != "normal-laplace":  # across the centre: not as 1 - x
        low, high = part.probability(0.3 - 1e-12, 0.3 + 1e-12)
        assert high[0] - low[0] <= 1e-3 * high[0]


@settings(max_examples=examples(60), deadline=None)
@given(
    st.sampled_from([PARTS[0], PARTS[2], PARTS[4], PARTS[5], PARTS[8]]),
    st.floats(-6, 6),
    st.floats(0, 4),
    st.lists(st.floats(0, 1), min_size=3, max_size=3),
)
def test_bounds_hold_inside_cells(part, start, width, shares):
    a = float(part.exact[0]) + size(part) * start
    b = a + size(part) * width
    low, high = part.density(a, b)
    f = truth.density(part)
    for share in shares:
        x = min(a + share * (b - a), b)
        assert low[0] <= f(mp.mpf(x)) <= high[0]


@pytest.mark.parametrize("part", PARTS[:1] + PARTS[2:3] + PARTS[4:7], ids=repr)
def test_slopes_and_bends_of_logs(part):
    with mp.workdps(60):
        f, shapes, centre = truth.density(part), part.shapes([part]), float(part.exact[0])
        for step in (-9.0, -2.0, -0.5, 0.1, 0.7, 4.0, 8.0):
            x = centre + size(part) * step
            hair = mp.mpf(10) ** -18
            before, here, after = (mp.log(f(mp.mpf(x) + k * hair)) for k in (-1, 0, 1))
            slope, bend = (after - before) / (2 * hair), -(after - 2 * here + before) / hair**2
            found = float(shapes.log_slope(np.array([x]))[0, 0])
            assert abs(found - slope) <= 1e-9 * abs(slope) + 1e-14
            assert -1e-9 <= bend <= float(shapes.log_bend(np.array([x]), np.array([x]))[0, 0]) * (1 + 1e-9) + 1e-9


def test_kinks_and_jumps_have_no_bend():
    ends = np.array([0.2]), np.array([0.4])
    for part in (Laplace(0.3, 0.7), Uniform(-1, 0.3), Unimodal.of(stats.norm(), 0.0)):
        assert part.shapes([part]).log_bend(*ends)[0, 0] == KINK
    for part in (Laplace(0.5, 0.7), Uniform(-1, 0.5), Uniform(0.5, 1)):
        assert part.shapes([part]).log_bend(*ends)[0, 0] == 0


@pytest.mark.parametrize("part", [PARTS[0], PARTS[2], PARTS[4], PARTS[8]], ids=repr)
def test_cells_that_never_end(part):
    for a, b in ((-math.inf, 0.1), (0.5, math.inf), (-math.inf, math.inf), (50.0, math.inf)):
        low, high = part.density(a, b)
        assert low[0] == 0
        inside = min(max(0.3, a), b)
        assert truth.density(part)(mp.mpf(inside)) <= high[0] <= 10


def test_normal_laplace_is_the_convolution():
    part = NormalLaplace(0.2, 0.6, 0.9)
    normal, laplace = truth.density(Normal(0.0, 0.6)), truth.density(Laplace(0.2, 0.9))
    for x in (-3.0, 0.2, 1.7):
        ends = sorted({mp.mpf(x) + k for k in range(-6, 7)} | {mp.mpf("0.2")})
        with mp.workdps(30):
            both = mp.quad(lambda y, x=x: normal(mp.mpf(x) - y) * laplace(y), ends)
        assert part.density(x, x)[0][0] == pytest.approx(float(both), rel=1e-12)


def test_noise_adds_exactly():
    assert Normal(0.1, 0.3).plus_gaussian(0.25) == Normal.of(Fraction(1, 10), Fraction(34, 100))
    assert Normal(0.1, 0.3).plus_laplace(2) == NormalLaplace(0.1, 0.3, 2)
    assert Laplace(0.1, 2).plus_gaussian(Fraction(9, 100)) == NormalLaplace(0.1, 0.3, 2)
    assert NormalLaplace(0.1, 0.3, 2).plus_gaussian(0.16) == NormalLaplace(0.1, 0.5, 2)
    assert Point(0.1).plus_gaussian(0.09) == Normal(0.1, 0.3)
    assert Point(0.1).plus_laplace(0.3) == Laplace(0.1, 0.3)
    assert Normal(0.1, 0.3).times(Fraction(-2)) == Normal(-0.2, 0.6)
    assert Uniform(0, 1).times(Fraction(-2)) == Uniform(-2, 0)


@pytest.mark.parametrize(
    "ask",
    [
        lambda: Uniform(0, 1).plus_gaussian(1),
        lambda: Laplace(0, 1).plus_laplace(1),
        lambda: NormalLaplace(0, 1, 1).plus_laplace(1),
        lambda: Unimodal.of(stats.gamma(2.0), 1.0).plus_gaussian(1),
        lambda: Point(1.0).density(0, 1),
        lambda: Unimodal(stats.norm.pdf, stats.norm.cdf, stats.norm.sf, 0.0).sample(np.random.default_rng(1), 3),
    ],
)
def test_what_has_no_closed_form_is_refused(ask):
    with pytest.raises(Unsupported):
        ask()


def test_a_density_of_the_users_own():
    part = Unimodal.of(stats.gamma(3.0), 2.0)
    low, high = part.density(1.0, 2.5)
    assert low[0] <= stats.gamma(3.0).pdf(1.0) <= high[0] <= stats.gamma(3.0).pdf(2.0) * (1 + 1e-9)
    low, high = part.probability([0.0, 2.0, 0.5], [1.0, 9.0, 4.0])
    exact = stats.gamma(3.0).cdf([1.0, 9.0, 4.0]) - stats.gamma(3.0).cdf([0.0, 2.0, 0.5])
    assert np.all((low <= exact) & (exact <= high))
    assert np.all(high - low < 1e-10)
    plain = Unimodal(stats.norm.pdf, stats.norm.cdf, stats.norm.sf, 0.0)
    assert plain.probability(-1, 1)[0][0] == pytest.approx(0.6826894921370859, rel=1e-11)


def test_many_components_of_one_kind_are_one_block():
    law = Mixture(np.full(64, 1 / 64), [Normal(i / 7, 0.4) for i in range(64)])
    two = TwoLaws(law, Mixture.of(Laplace(0, 1)))
    assert len(two.shapes) == 2
    assert two.log_density(np.zeros(5))[0].shape == (65, 5)


def test_draws_follow_the_law():
    """Kolmogorov-Smirnov at false-alarm rate 1e-6 for each of five laws, with a fixed seed."""
    rng = np.random.default_rng(7)
    for part in (Normal(0.3, 0.7), Laplace(0.3, 0.7), NormalLaplace(0.3, 0.7, 0.5), Uniform(-0.3, 1.1)):
        law = Mixture([0.25, 0.75], [part, Normal(1.0, 0.2)])
        drawn = law.sample(rng, 4000)

        def below(x, part=part):
            mix = np.array([[float(truth.below(c)(mp.mpf(v))) for v in x] for c in (part, Normal(1.0, 0.2))])
            return 0.25 * mix[0] + 0.75 * mix[1]

        with mp.workdps(15):
            assert stats.kstest(drawn[:400], below).pvalue > 1e-6
    wrong = stats.kstest(rng.normal(0.3, 1.3 * 0.7, 4000), stats.norm(0.3, 0.7).cdf)
    assert wrong.pvalue < 1e-6  # the test can fail


@pytest.mark.parametrize(
    "make",
    [
        lambda: Normal(math.nan, 1),
        lambda: Normal(0, 0),
        lambda: Normal(0, -1),
        lambda: Normal(0, 1e-60),
        lambda: Normal(True, 1),
        lambda: Normal("0", 1),
        lambda: Normal(1e13, 1),
        lambda: Normal(math.inf, 1),
        lambda: Laplace(0, math.inf),
        lambda: NormalLaplace(0, 1, 0),
        lambda: Uniform(1, 1),
        lambda: Uniform(1e9, 1e9 + 1),
        lambda: Uniform(0, math.nan),
        lambda: Unimodal(stats.norm.pdf, stats.norm.cdf, stats.norm.cdf, 1.0),
        lambda: Unimodal.of(stats.gamma(0.5), 0.0),
        lambda: Unimodal.of(stats.gamma(2.0), -1.0),
        lambda: Unimodal.of(stats.norm(), math.nan),
        lambda: Unimodal.of(stats.norm(), 0.0, accuracy=0.1),
        lambda: Mixture([0.5, 0.6], [Normal(0, 1), Normal(1, 1)]),
        lambda: Mixture([0.5, 0.5], [Normal(0, 1)]),
        lambda: Mixture([-0.5, 1.5], [Normal(0, 1), Normal(1, 1)]),
        lambda: Mixture([math.nan, 1], [Normal(0, 1), Normal(1, 1)]),
        lambda: Mixture([], []),
        lambda: Mixture([1.0], [3.0]),
        lambda: Mixture([1.0], Normal(0, 1)),
        lambda: Mixture([[1.0]], [Normal(0, 1)]),
        lambda: Mixture.of(3),
        lambda: Normal(0, 1).density(1, 0),
        lambda: Normal(0, 1).probability(math.nan, 0),
    ],
)
def test_bad_input_is_refused(make):
    with pytest.raises(InvalidParameter), np.errstate(divide="ignore"):
        make()


def test_zero_weights_leave_and_near_sums_are_scaled():
    law = Mixture([0.5, 0.0, 0.5 + 1e-12], [Normal(0, 1), Point(1.0), Normal(1, 1)])
    assert len(law.components) == 2
    assert math.fsum(law.weights) == pytest.approx(1.0, abs=1e-15)
