"""The certified finish: whatever the network does, two sets of members stay within 2r of each other."""

import math

import attrs
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import ndtr
from tests.game.generative_cases import ATTACKERS, BUDGET, people, small

from quiltwork.errors import InvalidParameter
from quiltwork.game import Statistic
from quiltwork.game.learned import Certified, accept, finished, train
from quiltwork.game.learned.certified_end import Finish, reach

PEOPLE = people()
STATISTIC = Statistic(PEOPLE)


def delta_of(mu, epsilon):
    """Dong, Roth and Su 2022, Corollary 1."""
    return ndtr(-epsilon / mu + mu / 2) - math.exp(epsilon) * ndtr(-epsilon / mu - mu / 2)


@pytest.mark.parametrize(("epsilon", "delta"), [(0.1, 1e-6), (1.0, 1e-5), (10.0, 1e-5), (3.0, 0.1)])
def test_the_noise_is_the_least_that_meets_the_target(epsilon, delta):
    finish = finished(epsilon, delta, STATISTIC.mean, 0.3)
    assert finish.holds
    assert finish.mu >= 2 * 0.3 / finish.sigma
    assert delta_of(finish.mu, epsilon) <= delta * (1 + 1e-9)
    less = attrs.evolve(finish, sigma=finish.sigma * 0.999)
    assert not less.holds
    assert delta_of(less.mu, epsilon) > delta


vectors = st.lists(st.floats(-1e6, 1e6), min_size=5, max_size=5)


@given(vectors, vectors, st.floats(1e-6, 10.0))
def test_two_outputs_are_never_farther_apart_than_mu_says(one, two, radius):
    finish = Finish(1.0, 1e-5, np.linspace(0.0, 1.0, 5), radius, 0.5)
    first, second = finish.mean(np.array([one, two]))
    assert math.dist(first, second) / finish.sigma <= finish.mu


def test_inside_the_ball_nothing_is_moved():
    finish = Finish(1.0, 1e-5, STATISTIC.mean, 0.5, 1.0)
    near = STATISTIC.mean + 0.1 / math.sqrt(16)
    assert finish.mean(near[None, :])[0] == pytest.approx(near, abs=1e-15)
    far = finish.mean((STATISTIC.mean + 3.0)[None, :])[0]
    assert math.dist(far, STATISTIC.mean) == pytest.approx(0.5)
    assert finish.mean(STATISTIC.mean[None, :])[0] == pytest.approx(STATISTIC.mean)


@attrs.frozen(eq=False)
class Blurting:
    """The worst network: it writes the members into the release, as large as it can."""

    statistic: Statistic = STATISTIC
    name: str = "blurting"
    channel: None = None

    def defend(self, exact, members, rng):
        return np.pad(1e9 * (2.0 * members - 1.0), ((0, 0), (0, exact.shape[1] - members.shape[1])))

    def certificate(self):
        raise AssertionError("not asked")


def test_even_a_network_that_tells_everything_is_held():
    certified = Certified(STATISTIC, finished(1.0, 1e-5, STATISTIC.mean, 0.3), Blurting())
    members = PEOPLE.prior.draw(40, 12, np.random.default_rng(0))
    means = certified.mean(STATISTIC.exact(members), members, np.random.default_rng(1))
    apart = np.sqrt(((means[:, None] - means[None]) ** 2).sum(axis=2)).max() / certified.finish.sigma
    assert 0.2 * certified.finish.mu < apart <= certified.finish.mu
    guarantee = certified.certificate()
    assert guarantee.epsilon(1e-5).safe <= 1.0
    assert guarantee.epsilon(1e-5).safe > 0.99
    assert "any two sets" in guarantee.protects
    assert any("this pool" in line for line in guarantee.assumes)


def test_the_released_noise_has_the_stated_size():
    """The sample deviation of 16,000 draws is within 4 of its standard errors: false alarm 6e-5."""
    certified = Certified(STATISTIC, finished(1.0, 1e-5, STATISTIC.mean, 0.3))
    members = PEOPLE.prior.draw(1000, 12, np.random.default_rng(0))
    exact = STATISTIC.exact(members)
    noise = certified.defend(exact, members, np.random.default_rng(1)) - certified.finish.mean(exact)
    assert noise.std() == pytest.approx(certified.finish.sigma, rel=4 / math.sqrt(2 * noise.size))


def test_a_certified_network_keeps_its_promise_and_still_meets_the_gate():
    pytest.importorskip("torch")
    defender = small(steps=20, certify=(2.0, 1e-5))
    trained = train(defender, None, PEOPLE, gate=False)
    assert trained.certificate().epsilon(1e-5).safe <= 2.0
    assert "certified (2, 1e-05)" in trained.name
    again = train(defender, None, PEOPLE, gate=False)
    assert trained.learned.finish.sigma == again.learned.finish.sigma
    gated = train(defender, None, PEOPLE, attackers=ATTACKERS, budget=BUDGET)
    assert not gated.verdict.accepted
    assert gated.certificate().epsilon(1e-5).safe <= 2.0  # what is in force keeps the promise as well
    assert "same promise" in gated.verdict.reason


def test_among_certified_defences_the_least_error_wins():
    """A weak promise needs little noise: then the exact statistic behind the finish stands against the network."""
    finish = finished(2000.0, 0.9, STATISTIC.mean, 2.0)
    plain = Certified(STATISTIC, finish)

    @attrs.frozen(eq=False)
    class Off(Blurting):
        by: float = 0.0

        def defend(self, exact, members, rng):
            return exact + self.by

    better = accept(Certified(STATISTIC, attrs.evolve(finish, sigma=finish.sigma / 2), Off()), attackers=ATTACKERS)
    assert not better.accepted  # its comparison has the same finish
    worse = accept(Certified(STATISTIC, finish, Off(by=0.05)), attackers=ATTACKERS, budget=BUDGET)
    assert not worse.accepted
    assert worse.defence.name == plain.name

    @attrs.frozen(eq=False)
    class Denoised(Certified):
        def defend(self, exact, members, rng):
            return exact

    kept = accept(Denoised(STATISTIC, finish, Off()), attackers=ATTACKERS, budget=BUDGET)
    assert kept.accepted


def test_the_radius_is_a_quantile_over_simulated_members():
    low, high = (reach(Blurting(), STATISTIC.mean, np.random.default_rng(0), share) for share in (0.1, 1.0))
    assert 0 < low <= high <= 4.0  # outputs are clipped to [0, 1] first
    with pytest.raises(InvalidParameter):
        finished(1.0, 1e-5, STATISTIC.mean, math.inf)
    assert finished(1.0, 1e-5, STATISTIC.mean, 0.0).radius > 0
