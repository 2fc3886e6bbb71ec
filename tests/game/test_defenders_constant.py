"""The two ends of the scale: a constant, and no defence at all."""

from __future__ import annotations

import numpy as np
import pytest
from tests.game.core_cases import people

from quiltwork.errors import InvalidParameter, Unsupported
from quiltwork.game import Constant, Exact, Independent, Population, SummaryStatistics

PEOPLE = people(7, 5, seed=6)


@pytest.mark.parametrize("denominator", ["members", "fixed"])
def test_constants_are_what_they_say(denominator):
    mean = Constant().prepare(PEOPLE, denominator=denominator)
    factor = 1.0 if denominator == "members" else 2 * 3 / 7
    draws = SummaryStatistics(mean, clip=False).draw(30, np.random.default_rng(0))
    assert np.allclose(draws.outputs, PEOPLE.candidates.mean(axis=0) * factor)
    reference = Constant("reference").prepare(PEOPLE, denominator=denominator)
    draws = SummaryStatistics(reference).draw(30, np.random.default_rng(0))
    assert np.array_equal(draws.outputs, np.tile(PEOPLE.frequencies, (30, 1)))


def test_constants_promise_everything():
    for at in ("candidates", "reference"):
        for rows in (None, "any", "pool"):
            guarantee = Constant(at).prepare(PEOPLE).certificate(rows)
            assert guarantee.epsilon(0.0).upper == 0.0
            assert guarantee.delta(0.0).upper == 0.0
    assert "no other" in Constant().prepare(PEOPLE).certificate().assumes[0]
    assert "reference sample" in Constant("reference").prepare(PEOPLE).certificate().assumes[0]


def test_no_constant_has_a_smaller_square_error_than_the_mean():
    release = SummaryStatistics(Constant().prepare(PEOPLE), clip=False)
    draws = release.draw(4000, np.random.default_rng(0))
    here = np.mean((draws.outputs - draws.exact) ** 2)
    for shift in (-0.05, 0.05):
        assert np.mean((draws.outputs + shift - draws.exact) ** 2) > here


def test_no_defence_is_the_statistic_and_has_no_certificate():
    for population in (PEOPLE, Population(PEOPLE.candidates, PEOPLE.reference, Independent(0.4))):
        defence = Exact().prepare(population)
        draws = SummaryStatistics(defence).draw(9, np.random.default_rng(0))
        assert np.array_equal(draws.outputs, draws.exact)
        assert draws.error == 0.0
        with pytest.raises(Unsupported, match="protects nobody"):
            defence.certificate()


def test_bad_input_is_refused():
    for call in (
        lambda: Constant("mean"),
        lambda: Constant(None),
        lambda: Constant().prepare(None),
        lambda: Constant().prepare(PEOPLE, denominator="mean"),
        lambda: Constant().prepare(PEOPLE).certificate("all"),
        lambda: Exact().prepare([[0, 1]]),
        lambda: Exact().prepare(PEOPLE, denominator=2),
    ):
        with pytest.raises(InvalidParameter):
            call()
