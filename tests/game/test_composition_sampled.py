"""The searches that the closed form replaces: they end where theory/game.md section 5 says, and claim nothing."""

import math

import numpy as np
import pytest

from quiltwork.errors import InvalidParameter, NotCertified, Unreachable
from quiltwork.game.composition import penalty_method, sampled_bisection
from quiltwork.game.papers.sampled_searches import LogOdds

FOUR = [0.1] * 4


def rng(seed=0):
    return np.random.default_rng(seed)


@pytest.mark.parametrize("seed", [0, 1])
def test_the_penalty_overshoots(seed):
    """Reference: total 1.118 times the target at weight 100; a fixed seed, so no false alarms."""
    found = penalty_method(FOUR, 0.5, rng(seed), sensitivity=4, weight=100)
    assert not found.meets
    assert 1.09 < found.ratio < 1.14
    assert found.error == pytest.approx(0.13, abs=0.02)
    assert found.total.lower > 0.5
    assert "breaks the target" in str(found)


@pytest.mark.parametrize("seed", [0, 1])
def test_the_penalty_undershoots(seed):
    """Reference: 32 % below the admissible epsilon at weight 0.001."""
    found = penalty_method(FOUR, 0.5, rng(seed), sensitivity=4, weight=1e-3)
    assert found.meets
    assert found.error == pytest.approx(-0.32, abs=0.02)
    assert "keeps the target" in str(found)


@pytest.mark.parametrize(("existing", "target", "scale", "rho"), [(FOUR, 0.5, 4, None), ([1] * 4, 5, 1, 0.3)])
def test_bisection_is_near(existing, target, scale, rho):
    """A sampled quantile at 0.95 of 200,000 has a deviation of 0.5 % of mu; 3 % is beyond five of them."""
    found = sampled_bisection(existing, target, rng(), sensitivity=scale, correlation=rho)
    assert abs(found.error) < 0.03
    assert found.meets == (found.error <= 0)


def test_bisection_beside_a_second_root():
    found = sampled_bisection([1] * 4, 1.05, rng(), correlation=0.9, samples=50_000)
    assert found.epsilon > float(found.exact.forms.pull)
    assert found.error == pytest.approx(0.0, abs=0.05)


@pytest.mark.parametrize("rho", [None, 0.4])
def test_the_quantile_and_its_slope(rho):
    """The quantile is numpy's, of the log-odds; the slope is the difference quotient on the same samples."""
    odds = LogOdds.of([0.3, 0.5], 2.0, rho, 1.5, 0.25, 0.9)
    normals = rng(3).standard_normal((997, 2))
    forms = odds.exact.forms
    x, scale = 0.7, 1.5 / 0.5
    old, new = math.sqrt(forms.spent), (x - float(forms.pull)) / math.sqrt(forms.rest)
    sample = scale**2 * (old**2 + new**2) / 2 + scale * (normals @ [old, new])
    value, slope = odds.sampled(x, normals)
    assert value == pytest.approx(np.quantile(sample, 0.9), rel=1e-12)
    step = 1e-7
    ahead, behind = odds.sampled(x + step, normals)[0], odds.sampled(x - step, normals)[0]
    assert slope == pytest.approx((ahead - behind) / (2 * step), rel=1e-5)


def test_the_log_odds_are_those_of_a_bayesian_attacker():
    """Releases with correlated noise, simulated whole: mean mu^2/2 and variance mu^2, and the sampled quantile.

    20,000 samples; the bounds are five standard deviations of each estimate, with a fixed seed.
    """
    correlation = np.array([[1.0, 0.3, -0.2], [0.3, 1.0, 0.5], [-0.2, 0.5, 1.0]])
    strengths = np.array([0.4, 0.7, 0.9])
    noise = rng(4).standard_normal((20_000, 3)) @ np.linalg.cholesky(correlation).T
    weights = np.linalg.solve(correlation, strengths)
    found = (strengths + noise) @ weights - strengths @ weights / 2
    odds = LogOdds.of(strengths[:2], 5.0, correlation, 1.0, 1.0, 0.9)
    square = float(odds.exact.forms.square(odds.exact.forms.pull.from_float(0.9)))
    assert found.mean() == pytest.approx(square / 2, abs=5 * math.sqrt(square / 20_000))
    assert found.var() == pytest.approx(square, abs=5 * square * math.sqrt(2 / 20_000))
    value = odds.sampled(0.9, rng(5).standard_normal((20_000, 2)))[0]
    assert value == pytest.approx(np.quantile(found, 0.9), abs=0.12)


def test_nothing_sampled_is_a_guarantee():
    found = sampled_bisection([1] * 4, 5, rng(), samples=1000)
    assert found.status == "approximate"
    with pytest.raises(NotCertified, match="next_mechanism"):
        found.guarantee()


def test_the_same_seed_gives_the_same_answer():
    one, two = (penalty_method(FOUR, 0.5, rng(7), steps=20) for _ in range(2))
    assert one == two
    assert penalty_method(FOUR, 0.5, rng(8), steps=20, weight=1e-6) != one


def test_an_unreachable_target_is_refused_before_any_search():
    for search in (penalty_method, sampled_bisection):
        with pytest.raises(Unreachable, match="already have 2"):
            search([1] * 4, 1.5, rng())


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"weight": 0.0}, "weight"),
        ({"weight": math.nan}, "weight"),
        ({"steps": 0}, "steps"),
        ({"samples": 1}, "samples"),
        ({"samples": 2.5}, "samples"),
        ({"quantile": 0.5}, "quantile"),
        ({"quantile": 1.0}, "quantile"),
        ({"rate": -1.0}, "rate"),
        ({"rate": 1.5}, "rate"),
        ({"sensitivity": 0.0}, "sensitivity"),
        ({"constant": -1.0}, "constant"),
        ({"correlation": 2.0}, "correlation"),
    ],
)
def test_bad_options(options, words):
    with pytest.raises(InvalidParameter, match=words):
        penalty_method(FOUR, 0.5, rng(), **options)
    if not {"weight", "steps", "rate"} & set(options):
        with pytest.raises(InvalidParameter, match=words):
            sampled_bisection(FOUR, 0.5, rng(), **options)


@pytest.mark.parametrize("bad", [None, 0, np.random])
def test_a_generator_is_asked_for(bad):
    for search in (penalty_method, sampled_bisection):
        with pytest.raises(InvalidParameter, match="rng"):
            search(FOUR, 0.5, bad)
