"""The contour integral: every view encloses the truth everywhere, the smoothing gap is what the proof says."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.compose import naive
from tests.examples import examples
from tests.losses import laws
from tests.losses.laws import mp

import quiltwork as qw
from quiltwork.compose.engines import characteristic as contour
from quiltwork.compose.engines.characteristic import ContourEngine, transforms_of
from quiltwork.losses.families.gaussian import GaussianPair
from quiltwork.losses.families.laplace import LaplacePair
from quiltwork.losses.families.poisson import PoissonPair
from quiltwork.losses.families.pure import response_pair


@given(x=st.floats(-30.0, 30.0), scale=st.floats(-3.0, 0.7))
def test_smoothing_gap_inequality(x, scale):
    """gap(x) = D_Y(x) - (1 - e^x)+ <= e^(x/2) mu pdf(x/mu), and it is never negative."""
    mu = 10**scale
    x = min(max(x, -60.0), 60.0) * mu
    law = laws.Gaussian(mu)
    with mp.workdps(500):
        gap = law.stick(x) - max(-mp.expm1(mp.mpf(x)), 0)
        bound = mp.exp(mp.mpf(x) / 2) * mp.mpf(mu) * mp.npdf(mp.mpf(x) / mp.mpf(mu))
        assert gap >= -mp.mpf("1e-390")
        assert gap <= bound * (1 + mp.mpf("1e-30")) + mp.mpf("1e-390")


@pytest.mark.parametrize("mu", [0.2, 1.5])
@pytest.mark.parametrize("x", [-0.7, 0.0, 0.4])
def test_smoothing_gap_formula(mu, x):
    """The same gap as the integral over m in (0, mu) that the module states."""
    gap = laws.Gaussian(mu).stick(x) - max(-mp.expm1(mp.mpf(x)), 0)
    inner = mp.quad(lambda m: mp.exp(-(mp.mpf(x) ** 2) / (2 * m * m) - m * m / 8), [mp.mpf("1e-12"), mu / 2, mu])
    assert abs(gap - mp.exp(mp.mpf(x) / 2) * inner / mp.sqrt(2 * mp.pi)) < mp.mpf("1e-12")


def enclosed(view, law, spots):
    """Every log of a view around the true log."""
    logs = view.logs(np.array(spots))
    for i, epsilon in enumerate(spots):
        true = law.stick(epsilon) if view.theta > 0 else law.complement(epsilon)
        assert logs.low[i] <= mp.log(true) <= logs.high[i] if true > 0 else logs.low[i] == -math.inf


@settings(max_examples=examples(60))
@given(
    mu=st.floats(0.1, 8.0),
    count=st.sampled_from([1, 5, 400]),
    theta=st.one_of(st.floats(0.05, 12.0), st.floats(-0.95, -0.05)),
    spots=st.lists(st.floats(-9.0, 9.0), min_size=5, max_size=5),
)
def test_gaussian_views_are_valid_everywhere(mu, count, theta, spots):
    """A view is sharp near its centre and true everywhere: the closed form lies inside, up to nine spreads away."""
    engine = ContourEngine.of([(GaussianPair(mu), count)])
    assert engine is not None
    view = engine.view(theta, 1e-3)
    if view is None:
        return
    law = laws.Gaussian(mp.mpf(mu) * mp.sqrt(count))
    enclosed(view, law, [view.centre + s * view.spread for s in spots])
    if abs(theta) * view.spread > 0.8 and (1 + theta) * view.spread > 0.8:
        logs = view.logs(np.array([view.centre]))
        assert logs.high[0] - logs.low[0] < 1e-6


@pytest.mark.parametrize("theta", [0.4, 3.0, -0.3, -0.8])
@pytest.mark.parametrize("log_width", [1e-1, 1e-3, 1e-5])
def test_smoothed_views_hold_the_atoms_truth(theta, log_width):
    """Two incommensurable responses: phi does not decay, one tiny Gaussian is added and its cost subtracted again."""
    parts = [(response_pair(0.7), 6), (response_pair(1.1), 4)]
    engine = ContourEngine.of(parts)
    view = engine.view(theta, log_width)
    assert view is not None
    assert view.smoothing > 0
    atoms = [([(at, p) for at, p, _ in laws.response(e).points], k) for e, k in ((0.7, 6), (1.1, 4))]
    law = naive.convolution(atoms)
    truth = naive.stick if theta > 0 else naive.complement
    spots = view.centre + view.spread * np.linspace(-3, 3, 25)
    logs = view.logs(spots)
    for i, epsilon in enumerate(spots.tolist()):
        true = truth(law, epsilon)
        assert true == 0 or logs.low[i] <= mp.log(true) <= logs.high[i]
    middle = np.abs(spots - view.centre) < view.spread
    assert np.median((logs.high - logs.low)[middle]) < 3 * log_width


def test_natural_and_smoothed_views_overlap(monkeypatch):
    """The same composition with and without permission to go on until phi has decayed."""
    parts = [(LaplacePair(1.5), 30), (PoissonPair(GaussianPair(1.0), 0.1, True), 50)]
    engine = ContourEngine.of(parts)
    for theta in (0.5, 2.0, -0.5):
        natural = engine.view(theta, 1e-3)
        with monkeypatch.context() as patch:
            patch.setattr(contour, "MAX_FREQUENCIES_UNSMOOTHED", 0)
            smoothed = engine.view(theta, 1e-3)
        assert natural.smoothing == 0
        assert smoothed.smoothing > 0
        spots = natural.centre + natural.spread * np.linspace(-2, 2, 30)
        one, two = natural.logs(spots), smoothed.logs(spots)
        assert (np.maximum(one.low, two.low) <= np.minimum(one.high, two.high)).all()
        assert (one.high - one.low < two.high - two.low).all()


def test_views_of_the_complement_and_the_stick_add_up():
    """1 - reveal - D = C, from two different contours."""
    engine = ContourEngine.of([(LaplacePair(1.5), 30)])
    stick, rest = engine.view(0.3, 1e-3), engine.view(-0.3, 1e-3)
    spots = stick.centre + stick.spread * np.array([-1.0, 0.0, 0.5])
    one, two = stick.logs(spots), rest.logs(spots)
    assert (np.exp(one.low) + np.exp(two.low) <= 1 + 1e-12).all()
    assert (np.exp(one.high) + np.exp(two.high) >= 1 - 1e-12).all()
    np.testing.assert_allclose(np.exp(one.middle) + np.exp(two.middle), 1.0, rtol=1e-3)


def test_gaussians_merge_and_subsampled_ones_batch():
    many = [(PoissonPair(GaussianPair(1.0 + 0.01 * i), 0.1, True), 3) for i in range(70)]
    gaussians = [(GaussianPair(0.1), 4), (GaussianPair(0.2), 1)]
    found = transforms_of([*many, *gaussians, (LaplacePair(1.0), 2)])
    assert len(found) == 1 + 1 + 2  # Laplace, one Gaussian, 64 + 6 subsampled
    few = transforms_of(many[:3])
    assert len(few) == 3


def test_batches_answer_like_single_transforms():
    many = [(PoissonPair(GaussianPair(0.8 + 0.05 * i), 0.05, True), 40) for i in range(6)]
    whole = ContourEngine.of(many).view(2.0, 1e-6)
    alone = ContourEngine(many, [pair.transform(count) for pair, count in many]).view(2.0, 1e-6)
    spots = whole.centre + whole.spread * np.linspace(-2, 2, 9)
    one, two = whole.logs(spots), alone.logs(spots)
    assert (np.maximum(one.low, two.low) <= np.minimum(one.high, two.high)).all()
    np.testing.assert_allclose(one.middle, two.middle, rtol=1e-9)


def test_losses_without_spread_are_declined():
    """All or nothing: the loss is 0 or infinite, and there is nothing to integrate."""
    loss = 5 * qw.approximate(0.0, 0.5)
    found = loss.epsilon(0.99, method="characteristic function")
    assert found.lower == 0.0 <= found.upper
    assert loss.epsilon(0.9, method="characteristic function").upper == math.inf
