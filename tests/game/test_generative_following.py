"""The next release behind others: its certificate in closed form, and what it gains over independent noise."""

import itertools
import math

import numpy as np
import pytest
from scipy.stats import norm
from tests.game.generative_cases import people
from tests.needs import needs

from quiltwork.errors import InvalidParameter, Unreachable, Unsupported
from quiltwork.game import Exact, Gaussian, Generative, Independent, Laplace, SummaryStatistics, train
from quiltwork.game.learned.following import INDEPENDENT, LINEAR, NETWORK

pytestmark = needs("torch")
PEOPLE = people(2, 40, 10)
TARGET = (20.0, 1e-3)
SIGMA = 0.08


def four(population=PEOPLE, sigma=SIGMA):
    return [SummaryStatistics(Gaussian(sigma).prepare(population), clip=False) for _ in range(4)]


def options(**more):
    return Generative(**{"hidden": (16, 16), "batch": 32, "attacker_steps": 1, "kappa": 100.0, "steps": 20} | more)


@pytest.fixture(scope="module")
def fifth():
    return train(options(), None, PEOPLE, existing=four(), target=TARGET)


def delta_of(mu, epsilon):
    """The hockey-stick divergence of two normal laws that are mu apart."""
    return norm.cdf(mu / 2 - epsilon / mu) - math.exp(epsilon) * norm.cdf(-mu / 2 - epsilon / mu)


def test_the_certificate_covers_every_swap_and_no_more(fifth):
    """Four readings with .08 and the fresh one are a Gaussian experiment of mu = |move| sqrt(4 / .0064 + 1 / s^2)."""
    rows = PEOPLE.candidates
    longest = max(np.linalg.norm(one - two) for one, two in itertools.combinations(rows, 2)) / 20
    mu = longest * math.sqrt(4 / SIGMA**2 + 1 / fifth.sigma**2)
    promise = fifth.certificate()
    assert promise.epsilon(TARGET[1]).safe <= TARGET[0]
    assert delta_of(mu, TARGET[0]) <= TARGET[1]
    assert delta_of(mu, TARGET[0]) == pytest.approx(TARGET[1], rel=1e-3)  # the target is used up
    assert promise.delta(TARGET[0]).safe >= delta_of(mu, TARGET[0]) * (1 - 1e-9)
    assert "swap" in promise.protects
    with pytest.raises(Unsupported, match="any rows"):
        fifth.certificate("any")


def test_it_errs_less_than_independent_noise_with_the_same_certificate(fifth):
    assert fifth.kind in (LINEAR, NETWORK)
    assert fifth.error < 0.8 * fifth.errors[INDEPENDENT]
    draws = fifth.draw(1500, np.random.default_rng(5))
    width = PEOPLE.size[1]
    measured = np.abs(draws.outputs[:, -width:] - draws.exact[:, -width:]).mean()
    assert measured == pytest.approx(fifth.error, rel=0.05)
    assert draws.outputs.shape == (1500, 5 * width) == (1500, fifth.dimension)


def test_the_rule_reads_what_exists_and_the_fresh_reading_alone(fifth):
    """Equal readings give equal releases, whoever is in the data."""
    rng = np.random.default_rng(1)
    existing, fresh = rng.random((3, 40)), rng.random((3, 10))
    one, two = (fifth.next(existing, fresh) for _ in range(2))
    assert one.tobytes() == two.tobytes()
    assert ((one >= 0) & (one <= 1)).all()


def test_the_seed_decides_everything(fifth):
    again = train(options(), None, PEOPLE, existing=four(), target=TARGET)
    assert again.errors == fifth.errors
    assert again.sigma == fifth.sigma
    other = train(options(), None, PEOPLE, existing=four(), target=TARGET, seed=3)
    assert other.errors != fifth.errors
    assert other.sigma == fifth.sigma  # privacy knows nothing of seeds


def test_other_noises_may_exist():
    existing = [SummaryStatistics(Laplace(0.2).prepare(PEOPLE)), SummaryStatistics(Gaussian(0.2).prepare(PEOPLE))]
    found = train(options(steps=2), None, PEOPLE, existing=existing, target=(9.0, 1e-3))
    assert found.certificate().epsilon(1e-3).safe <= 9.0


def test_the_gain_is_that_of_the_gaussian_experiment():
    """Without clipping to speak of, the best weighted sum has the noise |move| / mu of the whole target."""
    found = train(options(steps=1), None, PEOPLE, existing=four(), target=TARGET)
    together = 1 / math.sqrt(4 / SIGMA**2 + 1 / found.sigma**2)
    assert found.errors[LINEAR] <= together * math.sqrt(2 / math.pi) * 1.02  # shrinking and clipping help further


def test_what_makes_no_sense_is_refused():
    def ask(**more):
        given = {"existing": four(), "target": TARGET} | more
        return train(given.pop("defender", options()), given.pop("attacker", None), PEOPLE, **given)

    with pytest.raises(Unreachable, match="reaches it already"):
        ask(target=(0.5, 1e-6))
    for bad in (
        {"target": None},
        {"existing": None},
        {"existing": []},
        {"existing": ["releases"]},
        {"target": 1.0},
        {"target": (1.0, 0.0)},
        {"existing": four(people(5, 40, 10))},
        {"defender": Gaussian(0.1)},
        {"defender": options(certify=(1.0, 1e-5))},
    ):
        with pytest.raises(InvalidParameter):
            ask(**bad)
    with pytest.raises(Unsupported, match="checkpoint"):
        ask(checkpoint="file")
    with pytest.raises(Unsupported, match="loop"):
        ask(attacker="neural")
    with pytest.raises(Unsupported, match="without noise"):
        ask(existing=[SummaryStatistics(Exact().prepare(PEOPLE))])
    coins = people(2, 40, 10, prior=Independent(0.5))
    release = SummaryStatistics(Gaussian(0.2).prepare(coins, denominator="fixed"))
    found = train(options(steps=1), None, coins, existing=[release], target=TARGET, denominator="fixed")
    assert found.certificate().epsilon(TARGET[1]).safe <= TARGET[0]
