"""What a hostile reader looks for: numbers in words that break what they promise, and inputs that leave the proof."""

import math
import re
from fractions import Fraction

import numpy as np
import pytest

from quiltwork.game import Half, Population
from quiltwork.game.composition import next_mechanism, next_sigma
from quiltwork.game.finite import gaussian_test
from quiltwork.game.learned.certified_end import Certified, Finish, finished
from quiltwork.game.people.population import Statistic


@pytest.mark.parametrize(
    ("existing", "target", "correlation"),
    [([0.1] * 4, 0.5, None), ([1, 1, 1, 1], 1.05, 0.9), ([0.3, 0.7], 1.23456789, -0.3), ([3.0], 1e6 / 7, None)],
)
def test_epsilons_in_words_keep_the_target(existing, target, correlation):
    """0.458258 is above the root of 21 tenths: whoever read it off broke the target."""
    answer = next_mechanism(existing, target, correlation)
    named = re.findall(r"(?:from|to) ([0-9.e+-]+)", str(answer).split(" after ")[0])
    assert len(named) == (2 if answer.lower else 1)
    for epsilon in named:
        assert answer.meets(float(epsilon))
    assert float(named[-1]) == pytest.approx(answer.upper, rel=1e-5)


def test_a_sigma_in_words_is_no_less():
    nearest = []
    for earlier in (9.0, 10.0, 11.0, 12.0, 13.0):
        answer = next_sigma(1.0, [earlier, 10.0], epsilon=1.0, delta=1e-5)
        words = re.match(r"sigma (\S+) for", str(answer))
        assert words is not None
        assert answer.sigma <= float(words[1]) <= answer.sigma * (1 + 1e-5)
        nearest.append(float(f"{answer.sigma:.6g}") < answer.sigma)
    assert any(nearest)  # the nearest number would have been too small


def test_the_noise_of_a_certificate_is_rounded_up_in_words():
    population = Population(np.eye(4), np.eye(4), Half())
    for radius in (0.3, 0.31, 0.32):
        finish = finished(1.0, 1e-5, np.full(4, 0.5), radius)
        (assumed,) = (
            line for line in Certified(Statistic(population), finish).certificate().assumes if "deviation" in line
        )
        named = re.search(r"deviation ([0-9.e+-]+),", assumed)
        assert named is not None
        assert Fraction(named[1]) >= Fraction(finish.sigma)


@pytest.mark.parametrize("strange", [math.nan, math.inf, -math.inf, 1e300])
def test_whatever_a_network_says_stays_in_the_ball(strange):
    """A NaN would pass through every comparison and tell whose data made it."""
    finish = Finish(1.0, 1e-5, np.full(3, 0.5), 0.2, 1.0)
    with np.errstate(over="ignore"):
        held = finish.mean(np.array([[0.5, strange, 0.5], [0.5, 0.6, 0.5]]))
    assert np.isfinite(held).all()
    assert np.linalg.norm(held - 0.5, axis=1).max() <= 0.2 * (1 + 1e-12)
    assert held[1].tolist() == [0.5, 0.6, 0.5]


@pytest.mark.parametrize("shift", [1e-120, 1e-165, 1e-300])
@pytest.mark.parametrize("variances", [[1.0, 1.0], [[1.0, 0.5], [0.5, 1.0]]])
def test_means_that_differ_are_never_called_the_same(shift, variances):
    """The square of mu underflows; Gaussian noise still has no finite epsilon at delta 0."""
    found = gaussian_test([0.0, 0.0], [shift, 0.0], variances)
    assert found.mu > 0
    assert math.isinf(found.loss.epsilon(0.0).upper)
    assert found.loss.delta(0.0).upper < 1e-90
    assert gaussian_test([0.1, 0.2], [0.1, 0.2], variances).loss.epsilon(0.0).upper == 0.0
