"""One real release: the guarantee is for what is computed, and the noise is what it says."""

import math
from fractions import Fraction

import numpy as np
import pytest

from quiltwork.errors import InvalidParameter, Unsupported
from quiltwork.game import (
    Constant,
    Exact,
    Gaussian,
    Half,
    Independent,
    Laplace,
    Population,
    RateDistortion,
    WaterFilling,
    publish,
)
from quiltwork.game.publish import _rounding, _strength

RNG = np.random.default_rng(3)
ROWS = (RNG.random((30, 12)) < 0.4).astype(float)
PEOPLE = Population.of(ROWS, 10)
MEMBERS = PEOPLE.prior.draw(1, 10, np.random.default_rng(0))[0]


@pytest.mark.parametrize(
    "defender",
    [Gaussian(0.1), Laplace(0.05), RateDistortion(0.05), WaterFilling(0.05), Gaussian(0.1, [1.0, 0.0] * 6)],
    ids=lambda defender: defender.name,
)
def test_the_published_guarantee_is_close_to_the_certificate_and_not_below_it(defender):
    defence = defender.prepare(PEOPLE)
    released = publish(defence, MEMBERS)
    assert len(released.shares) == 12
    assert all(0.0 <= share <= 1.0 for share in released.shares)
    promised, certified = released.guarantee.delta(2.0), defence.certificate("pool").delta(2.0)
    assert promised.upper >= certified.lower


@pytest.mark.parametrize("defender", [Gaussian(0.1), RateDistortion(0.05), WaterFilling(0.05)], ids=lambda d: d.name)
def test_rho_covers_every_swap_exactly(defender):
    """rho = mu^2 / 2 against the exact square of every swap, with the doubles of the channel as fractions."""
    defence = defender.prepare(PEOPLE)
    channel = defence.channel
    basis = np.eye(12) if channel.basis is None else channel.basis
    kept = np.flatnonzero(channel.scale > 0)
    squares = []
    for k, first in enumerate(PEOPLE.candidates):
        for second in PEOPLE.candidates[:k]:
            moved = [Fraction(int(x - y), 5) for x, y in zip(first, second, strict=True)]
            square = Fraction(0)
            for i in kept:
                move = sum(Fraction(float(basis[j, i])) * moved[j] for j in range(12))
                square += (move * Fraction(float(channel.scale[i]))) ** 2 / Fraction(float(channel.variance[i]))
            squares.append(square)
    rho = _rho(publish(defence, MEMBERS).guarantee.curve)
    assert max(squares) / 2 <= rho <= max(squares) / 2 * Fraction(1_000_000_001, 1_000_000_000)


def _rho(loss):
    (release,) = loss.to_json()["releases"]
    return Fraction(repr(release["rho"]))


def test_noise_has_the_size_it_should():
    """The mean square of 4,000 draws is within five standard errors; a false alarm has probability below 1e-6."""
    defence = Gaussian(0.05).prepare(PEOPLE)
    exact = defence.statistic.exact(MEMBERS[None])[0]
    middle = (exact > 0.25) & (exact < 0.75)  # clipping is more than five standard deviations away
    assert middle.sum() >= 2
    shares = np.array([publish(defence, MEMBERS).shares for _ in range(200)])
    noise = (shares - exact)[:, middle] / 0.05
    assert abs(np.mean(noise**2) - 1.0) < 5.0 * math.sqrt(2.0 / noise.size)
    assert abs(np.mean(noise)) < 5.0 / math.sqrt(noise.size)


def test_the_rounding_bound_covers_what_floating_point_does():
    """Coordinates evaluated in floats against exact fractions."""
    for defender in (Gaussian(0.1), RateDistortion(0.05)):
        defence = defender.prepare(PEOPLE)
        channel, statistic = defence.channel, defence.statistic
        kept = channel.scale > 0
        unit = np.sqrt(channel.variance[kept])
        computed = (channel.coordinates(statistic.exact(MEMBERS[None]))[0] * channel.scale)[kept] / unit
        share = [
            Fraction(int(MEMBERS @ PEOPLE.candidates[:, j]), int(MEMBERS.sum())) - Fraction(float(channel.centre[j]))
            for j in range(12)
        ]
        basis = np.eye(12) if channel.basis is None else channel.basis
        bound = _rounding(statistic, channel)
        assert np.all(bound < 1e-10)
        for place, i in enumerate(np.flatnonzero(kept)):
            exact = sum(Fraction(float(basis[j, i])) * share[j] for j in range(12)) * Fraction(float(channel.scale[i]))
            exact /= Fraction(float(unit[place]))
            assert abs(Fraction(float(computed[place])) - exact) <= Fraction(float(bound[place]))


def test_strengths_are_rounded_up():
    channel = RateDistortion(0.05).prepare(PEOPLE).channel
    kept = channel.scale > 0
    for strength, scale, variance in zip(_strength(channel), channel.scale[kept], channel.variance[kept], strict=True):
        assert Fraction(float(strength)) ** 2 >= Fraction(float(scale)) ** 2 / Fraction(float(variance))


def test_a_constant_needs_no_noise():
    released = publish(Constant().prepare(PEOPLE), MEMBERS)
    assert released.noise == "no noise"
    assert released.guarantee.epsilon(0.0).upper == 0.0
    assert released.shares == pytest.approx(PEOPLE.candidates.mean(axis=0))


def test_a_fixed_denominator_can_be_published_for_independent_members():
    people = Population.of(ROWS, 10, prior=Independent(0.5))
    defence = Gaussian(0.1).prepare(people, denominator="fixed")
    assert len(publish(defence, np.ones(10)).shares) == 12


@pytest.mark.parametrize(
    ("defence", "members", "problem"),
    [
        (Gaussian(0.1).prepare(PEOPLE), np.ones(10), "half of the candidates"),
        (Gaussian(0.1).prepare(PEOPLE), np.ones(9), "10 columns"),
        (Gaussian(0.1).prepare(PEOPLE), np.full(10, 0.5), "0 and 1"),
        (Gaussian(0.1).prepare(PEOPLE), np.tile(MEMBERS, (2, 1)), "one data set"),
    ],
)
def test_bad_members_are_refused_before_anything_is_drawn(defence, members, problem):
    with pytest.raises(InvalidParameter, match=problem):
        publish(defence, members)


def test_what_has_no_guarantee_is_not_published():
    with pytest.raises(Unsupported, match="protects nobody"):
        publish(Exact().prepare(PEOPLE), MEMBERS)
    people = Population.of(ROWS, 10, prior=Independent(0.5))
    with pytest.raises(Unsupported, match="fixed denominator"):
        publish(Gaussian(0.1).prepare(people), np.ones(10))
    with pytest.raises(Unsupported, match="closed-form"):
        publish(Half(), MEMBERS)
