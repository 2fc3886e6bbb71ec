"""Few releases on small samples: the gentle grid against integrals and lists of all outcomes."""

import itertools
import math
from functools import partial

import numpy as np
import pytest
from tests.compose.naive import convolution as listed
from tests.compose.naive import stick
from tests.losses.laws import mp
from tests.truth.remembered import Remembered
from tests.truth.twofold import TwoSubsampledGaussians, TwoSubsampledLaplaces

import quiltwork as qw
from quiltwork.compose.engines import low_tilt as gentle
from quiltwork.compose.releases import directed

TRUTHS = Remembered(__file__)
DIRECTIONS = ("remove", "add")


def both(ends):
    return ends.lower, ends.upper


def engine_of(loss, direction):
    """The gentle grid alone, without the router's other methods."""
    found = directed(loss.parts)
    return gentle.GentleGridEngine(found.get(direction) or found["both"])


def sampled_response(epsilon, rate, direction):
    """The two losses of randomized response on a Poisson sample, in many digits."""
    rate, e = mp.mpf(rate), mp.exp(mp.mpf(epsilon))
    law = []
    for p, q in ((e / (1 + e), 1 / (1 + e)), (1 / (1 + e), e / (1 + e))):
        mixed = (1 - rate) * q + rate * p
        law.append((mp.log(mixed / q), mixed) if direction == "remove" else (mp.log(q / mixed), q))
    return law


@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize(("sigma", "rate"), [(1.0, 0.01), (5.0, 0.02)])
def test_two_gaussians_against_an_integral(sigma, rate, direction):
    truth = TwoSubsampledGaussians(sigma, rate, direction)
    loss = 2 * qw.poisson(qw.gaussian(sigma), rate)
    epsilon = rate * np.array([-20.0, 0.0, 0.5, 1.2])
    exact = [TRUTHS(f"gaussians {sigma} {rate} {direction} {e!r}", partial(truth.delta, e)) for e in epsilon.tolist()]
    routed = loss.direction(direction).delta(epsilon)
    for low, high in (both(engine_of(loss, direction).delta(epsilon, 1e-3)), (routed.lower, routed.upper)):
        assert all(a <= v <= b for a, v, b in zip(low, exact, high, strict=True))


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_two_laplaces_against_an_integral(direction):
    truth = TwoSubsampledLaplaces(0.5, 0.01, direction)
    loss = 2 * qw.poisson(qw.laplace(2.0), 0.01)
    epsilon = np.array([-0.003, 0.0, 0.002, 0.004, 0.007])
    low, high = both(engine_of(loss, direction).delta(epsilon, 1e-3))
    exact = [TRUTHS(f"laplaces {direction} {e!r}", partial(truth.delta, e)) for e in epsilon.tolist()]
    assert all(a <= v <= b for a, v, b in zip(low, exact, high, strict=True))


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_all_outcomes_of_sampled_responses(direction):
    """Two kinds beside an unsampled one: the law is listed; epsilon, delta and beta hold it."""
    kinds = [(2.0, 0.01, 3), (0.7, 1e-4, 4)]
    law = listed(
        [(sampled_response(e, r, direction), k) for e, r, k in kinds] + [(sampled_response(0.3, 1.0, direction), 1)]
    )
    loss = qw.compose(*[k * qw.poisson(qw.pure(e), r) for e, r, k in kinds], qw.pure(0.3))
    engine = engine_of(loss, direction)
    epsilon = np.array([-3.0, -0.2, 0.0, 0.25, 0.31, 0.4, 0.6])
    low, high = both(engine.delta(epsilon, 1e-3))
    assert all(a <= stick(law, float(e)) <= b for a, e, b in zip(low, epsilon, high, strict=True))
    deltas = np.array([0.9, 0.1, 1e-3, 1e-5, 1e-8])
    low, high = both(engine.epsilon(deltas, 1e-3))
    for a, b, delta in zip(low.tolist(), high.tolist(), deltas.tolist(), strict=True):
        assert a == 0 or stick(law, a) >= delta
        assert stick(law, b) <= delta
    alpha = np.array([0.0, 1e-9, 1e-4, 0.03, 0.5, 0.97, 1 - 1e-6])
    low, high = both(engine.beta(alpha, lambda: engine))
    exact = [neyman_pearson(law, a) for a in alpha.tolist()]
    assert all(a <= v <= b for a, v, b in zip(low, exact, high, strict=True))
    assert float(np.max(high - low)) < 3e-4


def neyman_pearson(law, alpha):
    """Reject at the largest losses first until alpha of Q is used."""
    beta, left = mp.one, mp.mpf(alpha)
    for loss, mass in reversed(law):
        q = mass * mp.exp(-loss)
        if q > left:
            return beta - mass * left / q
        beta, left = beta - mass, left - q
    return max(beta, mp.zero)


@pytest.mark.parametrize("count", [2, 3, 5, 10, 20])
def test_few_sampled_gaussians_are_answered_tightly(count):
    found = (count * qw.poisson(qw.gaussian(1.0), 0.01)).epsilon(1e-6)
    assert found.met
    assert 0.4 < found.lower <= found.upper < 1.5


def test_more_releases_cost_more():
    ends = [(k * qw.poisson(qw.gaussian(1.0), 0.01)).epsilon(1e-6) for k in (2, 4, 8, 16)]
    assert all(before.upper < after.lower for before, after in itertools.pairwise(ends))


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_it_agrees_with_the_characteristic_function(direction):
    loss = (45 * qw.poisson(qw.gaussian(0.8), 0.04)).direction(direction)
    deltas = np.array([1e-3, 1e-5, 1e-8])
    other = loss.epsilon(deltas, method="characteristic function")
    low, high = both(engine_of(loss, direction).epsilon(deltas, 1e-3))
    assert other.met
    assert np.all(low <= other.upper)
    assert np.all(other.lower <= high)
    assert np.all(high - low <= 1e-3 * high)


def test_questions_agree_with_each_other():
    """D at the two ends of an epsilon bracket encloses the delta; 1 - D - t alpha never exceeds beta."""
    loss = qw.compose(2 * qw.poisson(qw.gaussian(1.0), 0.01), 3 * qw.poisson(qw.laplace(1.0), 0.001))
    delta = 1e-5
    epsilon = loss.epsilon(delta)
    assert loss.delta(epsilon.upper).lower <= delta <= loss.delta(epsilon.lower).upper
    alpha, at = np.array([1e-4, 0.2, 0.7, 0.99]), np.linspace(-0.5, 1.0, 31)
    beta, profile = loss.beta(alpha), loss.delta(at)
    line = 1 - profile.upper[:, None] - np.exp(at)[:, None] * alpha[None, :]
    assert np.all(beta.upper >= line.max(axis=0) - 1e-12)
    assert np.all(beta.lower <= (1 - profile.lower[:, None] - np.exp(at)[:, None] * alpha).max(axis=0) + 0.02)


def test_reveal_mass_beside_samples():
    """(0.5, 1e-4) beside two sampled Gaussians: no epsilon below the reveal mass, and beta(0) is what it leaves."""
    loss = qw.compose(2 * qw.poisson(qw.gaussian(1.0), 0.01), qw.approximate(0.5, 1e-4))
    assert loss.epsilon(0.99e-4).lower == math.inf
    assert math.isfinite(loss.epsilon(1.1e-4).upper)
    at_zero = loss.beta(0.0)
    assert at_zero.lower <= 1 - 1e-4 <= at_zero.upper


@pytest.mark.parametrize("method", [None, "grid"])
def test_a_release_rarer_than_the_cut_keeps_its_mass(method):
    """The grid of the rarer release lay left of its losses, all its mass was lost, and epsilon came out as 0.

    D of both is at least D of the second alone, whose closed form needs epsilon > 1.3e-5 here.
    """
    rare, other = qw.poisson(qw.gaussian(15.47), 5.04e-8), qw.poisson(qw.gaussian(41.1), 3.81e-4)
    alone = other.direction("remove").epsilon(2.77e-7)
    both = qw.compose(rare, other).direction("remove").epsilon(2.77e-7, method=method)
    assert alone.lower > 1.3e-5
    assert both.upper >= alone.lower


def test_places_that_underflow_say_nothing_about_beta():
    """A steep view of the mirrored worlds sits where e^-epsilon is 0: three zeros once enclosed a beta of zero.

    beta is at least 1 - D(t) - t alpha, here at t = 0.9.
    """
    kinds = [(624, 0.8, 6.2e-5), (62, 1.67, 0.0115), (87, 0.318, 5.3e-5)]
    loss = qw.compose(*[k * qw.poisson(qw.gaussian(s), q) for k, s, q in kinds], 2 * qw.gaussian(6.0)).direction("add")
    floor = 1 - loss.delta(math.log(0.9)).upper - 0.9 * 0.62
    found = loss.beta(0.62, method="characteristic function")
    assert floor > 0.25
    assert found.lower <= found.upper
    assert found.upper >= floor
