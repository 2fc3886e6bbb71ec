"""The grid: views above and below the truth, steps that follow the asked width."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.compose import naive
from tests.examples import examples
from tests.losses import laws
from tests.losses.laws import mp
from tests.truth.residues import LaplacePower

import quiltwork as qw
from quiltwork.compose.engines.grid import GridEngine
from quiltwork.losses.families.gaussian import GaussianPair
from quiltwork.losses.families.laplace import LaplacePair
from quiltwork.losses.families.mixture import mixed_pair
from quiltwork.losses.families.pure import response_pair


@settings(max_examples=examples(20))
@given(
    mu=st.floats(0.1, 3.0),
    count=st.integers(1, 30),
    theta=st.one_of(st.floats(0.1, 6.0), st.floats(-0.9, -0.1)),
    spots=st.lists(st.floats(-4.0, 4.0), min_size=3, max_size=3),
)
def test_gaussian_views_enclose_the_closed_form(mu, count, theta, spots):
    view = GridEngine([(GaussianPair(mu), count)]).view(theta, 1e-2)
    if view is None:
        return
    law = laws.Gaussian(mp.mpf(mu) * mp.sqrt(count))
    epsilon = view.centre + view.spread * np.array(spots)
    logs = view.logs(epsilon)
    for i, at in enumerate(epsilon.tolist()):
        true = law.stick(at) if theta > 0 else law.complement(at)
        assert logs.low[i] <= mp.log(true) <= logs.high[i]


@pytest.mark.parametrize("log_width", [0.3, 1e-2, 1e-3])
def test_the_step_follows_the_asked_width(log_width):
    view = GridEngine([(LaplacePair(1.0), 20)]).view(1.0, log_width)
    logs = view.logs(np.array([view.centre]))
    assert logs.high[0] - logs.low[0] < 2 * log_width
    true = LaplacePower(1.0, 20).delta(view.centre)
    assert logs.low[0] <= mp.log(true) <= logs.high[0]


@settings(max_examples=examples(15))
@given(
    losses=st.lists(st.floats(0.1, 2.0), min_size=2, max_size=3),
    counts=st.lists(st.integers(1, 3), min_size=3, max_size=3),
    share=st.floats(-0.8, 0.95),
)
def test_incommensurable_atoms_by_enumeration(losses, counts, share):
    loss = qw.compose(*(k * qw.pure(e) for e, k in zip(losses, counts, strict=False)))
    law = naive.convolution(
        [([(at, p) for at, p, _ in laws.response(e).points], k) for e, k in zip(losses, counts, strict=False)]
    )
    epsilon = share * sum(e * k for e, k in zip(losses, counts, strict=False))
    assert naive.stick(law, epsilon) in loss.delta(epsilon, method="grid")


def test_light_far_atoms_are_not_counted_twice():
    """A mixture whose far atom lies beyond the grid: once in the tail, not again among the atoms."""
    weight = 1e-13
    pair = mixed_pair([(1 - weight, GaussianPair(1.0)), (weight, response_pair(60.0))])
    law = laws.Mixture([(1 - mp.mpf(weight), laws.Gaussian(1.0)), (mp.mpf(weight), laws.response(60.0))])
    view = GridEngine([(pair, 1)]).view(2.0, 1e-4)
    spots = np.linspace(0.0, 12.0, 25)
    logs = view.logs(spots)
    for i, at in enumerate(spots.tolist()):
        assert logs.low[i] <= mp.log(law.stick(at)) <= logs.high[i]


@pytest.mark.parametrize("mu", [3.0, 5.0])
def test_left_of_the_mean_the_complement_knows_the_masses(mu):
    """1 - C is D only when the masses of the two measures are accounted for."""
    for epsilon in (-mu, 0.0, mu):
        true = laws.Gaussian(mu).stick(epsilon)
        assert true in (4 * qw.gdp(mu / 2)).delta(epsilon, method="grid")


@pytest.mark.parametrize("side", ["remove", "add"])
@pytest.mark.parametrize("epsilon", [-0.1, 0.05, 0.4])
def test_twofold_subsampled_gaussian(side, epsilon):
    from tests.truth.twofold import TwoSubsampledGaussians

    true = TwoSubsampledGaussians(1.0, 0.25, side).delta(epsilon)
    assert true in (2 * qw.poisson(qw.gaussian(1.0), 0.25)).direction(side).delta(epsilon, method="grid")
