"""Releases: what is drawn, clipped, put side by side and refused."""

from __future__ import annotations

import numpy as np
import pytest
from tests.game.core_cases import people

from quiltwork.errors import InvalidParameter
from quiltwork.game import Constant, Exact, Gaussian, Laplace, Population, Several, SummaryStatistics
from quiltwork.game.releases import Defence, Draws, Release, drawn_members

PEOPLE = people(6, 5, seed=1)


def test_draws_are_the_statistic_and_its_defended_version():
    release = SummaryStatistics(Gaussian(0.2).prepare(PEOPLE))
    draws = release.draw(50, np.random.default_rng(0))
    assert len(draws) == 50
    assert np.array_equal(draws.exact, release.statistic.exact(draws.members))
    assert draws.outputs.min() >= 0.0
    assert draws.outputs.max() <= 1.0
    raw = SummaryStatistics(Gaussian(0.2).prepare(PEOPLE), clip=False).draw(50, np.random.default_rng(0))
    assert np.array_equal(draws.outputs, np.clip(raw.outputs, 0.0, 1.0))
    assert raw.outputs.min() < 0.0
    assert isinstance(release, Release)
    assert isinstance(release.defence, Defence)
    assert not isinstance(release, Defence)


def test_the_same_seed_gives_the_same_draws():
    release = SummaryStatistics(Laplace(0.2).prepare(PEOPLE))
    one, two = (release.draw(5, np.random.default_rng(7)) for _ in range(2))
    assert np.array_equal(one.outputs, two.outputs)
    assert np.array_equal(one.members, two.members)


def test_given_members_are_used_and_not_changed():
    members = PEOPLE.prior.draw(4, 6, np.random.default_rng(1))
    before = members.copy()
    release = SummaryStatistics(Exact().prepare(PEOPLE))
    draws = release.draw(4, np.random.default_rng(2), members)
    assert np.array_equal(draws.members, before)
    assert np.array_equal(members, before)
    assert np.array_equal(draws.outputs, draws.exact)
    empty = release.draw(1, np.random.default_rng(2), np.zeros((1, 6), dtype=int))
    assert empty.outputs.tolist() == [[0.0] * 5]


def test_errors_are_means_of_absolute_differences():
    draws = Draws(np.ones((2, 1), dtype=bool), np.array([[0.1, 0.5], [0.3, 0.5]]), np.array([[0.2, 0.5], [0.0, 0.9]]))
    assert draws.error == pytest.approx((0.1 + 0.0 + 0.3 + 0.4) / 4)
    assert draws.weighted_error(np.array([2.0, 0.0])) == pytest.approx((0.2 + 0.6) / 4)
    for bad in (np.ones(3), -np.ones(2), [1.0, float("nan")], "ab", None):
        with pytest.raises(InvalidParameter):
            draws.weighted_error(bad)


def test_several_releases_share_members_and_nothing_else():
    parts = (SummaryStatistics(Gaussian(0.1).prepare(PEOPLE), clip=False), SummaryStatistics(Exact().prepare(PEOPLE)))
    both = Several(parts)
    draws = both.draw(2000, np.random.default_rng(0))
    assert draws.outputs.shape == (2000, 10) == (2000, both.dimension)
    assert np.array_equal(draws.outputs[:, 5:], parts[1].statistic.exact(draws.members))
    assert np.array_equal(draws.exact[:, :5], draws.exact[:, 5:])
    assert both.name == "Gaussian 0.1 + no defence"
    assert both.features(draws.outputs) is None
    twice = Several([parts[0], parts[0]]).draw(2000, np.random.default_rng(0))
    noise = twice.outputs - twice.exact
    # the noises of two releases are uncorrelated: 25 correlations within five deviations, false alarm below 2e-5
    assert np.abs(np.corrcoef(noise.T)[:5, 5:]).max() < 5 / np.sqrt(2000)


def test_a_constant_tells_nothing_and_has_an_empty_model():
    release = SummaryStatistics(Constant().prepare(PEOPLE))
    draws = release.draw(9, np.random.default_rng(0))
    assert np.ptp(draws.outputs, axis=0).max() == 0.0
    assert release.linear().gain.shape == (0, 6)
    assert release.certificate().epsilon(0.0).upper == 0.0


def test_members_are_drawn_or_taken():
    rng = np.random.default_rng(0)
    assert drawn_members(PEOPLE, 3, rng, None).shape == (3, 6)
    good = np.eye(6)[:2]
    assert np.array_equal(drawn_members(PEOPLE, 2, rng, good), good == 1)


def test_bad_input_is_refused():
    release = SummaryStatistics(Gaussian(0.2).prepare(PEOPLE))
    rng = np.random.default_rng(0)
    other = SummaryStatistics(Gaussian(0.2).prepare(people(6, 5, seed=2)))
    for call in (
        lambda: SummaryStatistics(Gaussian(0.2)),
        lambda: SummaryStatistics(release.defence, clip=1),
        lambda: release.draw(0, rng),
        lambda: release.draw(2.5, rng),
        lambda: release.draw(True, rng),
        lambda: release.draw(2, 0),
        lambda: release.draw(2, np.random.RandomState(0)),
        lambda: release.draw(2, rng, np.zeros((3, 6), dtype=bool)),  # two were asked for
        lambda: release.draw(2, rng, np.zeros((2, 5), dtype=bool)),
        lambda: release.draw(2, rng, np.full((2, 6), 0.5)),
        lambda: Several([]),
        lambda: Several(3),
        lambda: Several([release, "x"]),
        lambda: Several([release, other]),
    ):
        with pytest.raises(InvalidParameter):
            call()


def test_a_population_of_the_same_rows_is_another_one():
    same = Population(PEOPLE.candidates, PEOPLE.reference)
    with pytest.raises(InvalidParameter):
        Several([SummaryStatistics(Exact().prepare(PEOPLE)), SummaryStatistics(Exact().prepare(same))])
