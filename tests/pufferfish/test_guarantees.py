"""Guarantees in words, and what is refused."""

import math

import numpy as np
import pytest

import quiltwork as qw
from quiltwork.errors import InvalidParameter, Unsupported
from quiltwork.pufferfish import (
    AutoRegressive,
    GaussianPrior,
    MarkovChain,
    entry_values,
    guarantee,
    joint_values,
    totals,
)

CHAIN = MarkovChain([[0.8, 0.2], [0.2, 0.8]], states=["home", "out"])
BUDGET = 0.07648120026605557


def test_words_name_secrets_assumptions_theorems_and_the_worst_case() -> None:
    promise = guarantee(10 * qw.gaussian(50.0), CHAIN)
    text = promise.explain(1e-6)
    for words in (
        "each single entry",
        "Markov chain of 2 states",
        "translated to the secrets",
        "propagation",
        "shift",
        "'home'",
    ):
        assert words in text
    assert "may depend on earlier results" in text


def test_a_guarantee_is_a_curve_that_agrees_with_itself() -> None:
    promise = guarantee(100 * qw.gaussian(100.0), CHAIN)
    epsilon = promise.epsilon([1e-8, 1e-6, 1e-3])
    assert epsilon.shape == (3,)
    assert np.all(np.diff(epsilon.upper) < 0)
    delta = promise.delta(epsilon.upper)
    assert np.all(np.asarray(delta.upper) <= np.array([1e-8, 1e-6, 1e-3]) * 1.01)
    beta = promise.beta([0.01, 0.5])
    assert np.all(np.asarray(beta.lower) <= 1.0 - np.array([0.01, 0.5]))
    for alpha, found in zip((0.01, 0.5), np.asarray(beta.lower), strict=True):
        assert found >= 1.0 - float(promise.delta(1.0).upper) - math.e * alpha - 1e-9


def test_the_penalty_is_paid_once() -> None:
    found = totals(CHAIN, [BUDGET] * 10)
    assert found.best <= found.one_size <= found.theorem_7 <= found.naive
    assert found.best <= 3.54
    assert found.theorem_7 == pytest.approx(7.1949772215505, abs=1e-9)
    assert float(guarantee(10 * qw.pure(BUDGET), CHAIN).epsilon(0.0).upper) == pytest.approx(found.best, rel=1e-9)


def test_translated_epsilons_must_not_be_added_up() -> None:
    """The exact translation is not subadditive: two releases may leak more than twice what one leaks."""
    chain = MarkovChain([[0.9, 0.1], [0.4, 0.6]])
    once = guarantee(qw.pure(0.1), chain).epsilon(0.0)
    twice = guarantee(2 * qw.pure(0.1), chain).epsilon(0.0)
    assert float(twice.lower) > 2.0 * float(once.upper)


def test_a_thousand_gaussian_counts_need_a_third_of_the_theory_noise() -> None:
    sigma = qw.calibrate(lambda s: guarantee(1000 * qw.gaussian(s), CHAIN), 1.0, 1e-6, start=500.0, tolerance=1e-5)
    assert sigma < 1592.0 / 3
    assert float(guarantee(1000 * qw.gaussian(sigma), CHAIN).epsilon(1e-6).lower) > 0.8


def test_losses_of_every_kind_have_a_guarantee() -> None:
    for loss in (
        qw.pure(0.1),
        qw.approximate(0.1, 1e-8),
        qw.laplace(10.0),
        qw.discrete_laplace(10.0),
        qw.gaussian(20.0),
        qw.discrete_gaussian(20.0),
        qw.zcdp(0.001),
        qw.gdp(0.05),
        qw.rdp([2.0, 8.0, 32.0], [0.001, 0.004, 0.02]),
        qw.constraints([(0.1, 0.0), (0.05, 0.01)]),
        qw.poisson(qw.gaussian(20.0), 0.1),
        qw.pair([0.55, 0.45], [0.45, 0.55]),
        qw.profile([0.05, 0.1], [1e-4, 1e-7]),
        qw.pure(0.05) + 3 * qw.gaussian(50.0),
    ):
        found = guarantee(loss, CHAIN).epsilon(1e-5)
        assert float(loss.epsilon(1e-5).upper) <= float(found.upper) < 2.0, loss


def test_secrets_change_what_is_protected() -> None:
    three = MarkovChain([[0.6, 0.3, 0.1], [0.2, 0.6, 0.2], [0.1, 0.1, 0.8]], length=4)
    loss = qw.pure(0.3)
    every = float(guarantee(loss, three).epsilon(0.0).upper)
    some = guarantee(loss, three, entry_values(pairs=[(0, 1)]))
    assert float(some.epsilon(0.0).upper) < every
    assert "1 pairs" in some.protects
    both = guarantee(loss, three, joint_values([1, 2]))
    assert float(both.epsilon(0.0).upper) > every
    assert "entries 1, 2" in both.protects


def test_gaussian_priors() -> None:
    weak, strong = (guarantee(qw.gaussian(10.0), AutoRegressive(rho, 1.0, 1.0)) for rho in (0.1, 0.8))
    alone = float(qw.gaussian(10.0).epsilon(1e-6).upper)
    assert alone < float(weak.epsilon(1e-6).upper) < float(strong.epsilon(1e-6).upper)
    prior = GaussianPrior([[1.0, 0.5], [0.5, 1.0]], 1.0)
    assert float(guarantee(qw.gaussian(10.0), prior).delta(0.5).upper) < 1.0
    assert float(guarantee(qw.gaussian(10.0), prior).beta(0.1).lower) > 0.5
    with pytest.raises(Unsupported, match="symmetric"):
        guarantee(qw.poisson(qw.gaussian(2.0), 0.1), prior)


@pytest.mark.parametrize(
    ("loss", "prior"),
    [(0.5, CHAIN), (qw.pure(0.1), "chain"), (qw.gaussian(1.0).direction("remove"), CHAIN)],
)
def test_what_is_no_loss_or_prior_is_refused(loss: object, prior: object) -> None:
    with pytest.raises(InvalidParameter):
        guarantee(loss, prior)


def test_releases_that_turn_are_composed_only_once() -> None:
    """What enters one release may leave the next: p q against q p is worse than p p against q q."""
    p, q = [0.23, 0.07, 0.7], [0.01, 0.69, 0.3]
    turned = qw.pair([a * b for a in p for b in q], [a * b for a in q for b in p])
    assert float(turned.delta(1.5).lower) > float((2 * qw.pair(p, q)).delta(1.5).upper)
    with pytest.raises(Unsupported, match="not symmetric"):
        guarantee(2 * qw.pair(p, q), CHAIN)
    with pytest.raises(Unsupported, match="not symmetric"):
        guarantee(100 * qw.poisson(qw.gaussian(2.0), 0.1), CHAIN)
    with pytest.raises(Unsupported, match="not symmetric"):
        guarantee(qw.pair(p, q) + qw.gaussian(5.0), CHAIN)
    assert float(guarantee(qw.pair(p, q), CHAIN).delta(5.0).upper) < 1.0


def test_secrets_of_another_kind_are_refused() -> None:
    with pytest.raises(InvalidParameter, match="secrets"):
        guarantee(qw.pure(0.1), CHAIN, [("home", "out")])
    with pytest.raises(InvalidParameter, match="state"):
        guarantee(qw.pure(0.1), CHAIN, entry_values(pairs=[("home", "away")]))


@pytest.mark.parametrize("states", [["a", "a"], ["a"], 5, [["a"], ["b"]], "ab"])
def test_bad_state_names(states: object) -> None:
    with pytest.raises(InvalidParameter):
        MarkovChain([[0.5, 0.5], [0.5, 0.5]], states=states)


def test_totals_need_releases() -> None:
    with pytest.raises(InvalidParameter):
        totals(CHAIN, [])
    with pytest.raises(InvalidParameter):
        totals(CHAIN, 0.1)
    with pytest.raises(InvalidParameter):
        totals(CHAIN, [0.1, math.nan])


def test_a_prior_in_the_place_of_the_loss_is_seen():
    chain = MarkovChain([[0.8, 0.2], [0.2, 0.8]])
    with pytest.raises(InvalidParameter, match=r"swapped\? it is guarantee\(loss, prior\)"):
        guarantee(chain, qw.pure(1.0))
    with pytest.raises(InvalidParameter) as refusal:
        guarantee(1.0, chain)
    assert "swapped" not in str(refusal.value)
