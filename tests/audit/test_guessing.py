"""Guesses: thinned to fair coins, ties broken by chance and never by position."""

import numpy as np
import pytest
from scipy.stats import binom, hypergeom

from quiltwork import audit
from quiltwork.audit.bounds.one_run import Guesses, best_shares, guess, thinned, thinned_size
from quiltwork.errors import InvalidParameter

RARELY = 1e-7  # false-alarm rate of each statistical test here


def test_thinning_draws_fair_coins():
    rng = np.random.default_rng(0)
    size = thinned_size(500, 500)
    assert size + 4.5 * np.sqrt(size) <= 1000
    heads = np.array([thinned(np.arange(500.0), -np.arange(500.0), rng)[1].sum() for _ in range(2000)])
    low, high = binom.ppf([RARELY / 2, 1 - RARELY / 2], 2000 * size, 0.5)
    assert low <= heads.sum() <= high
    assert heads.var() == pytest.approx(size / 4, rel=0.2)  # six standard deviations of a variance of 2,000


def test_thinning_takes_each_trial_once():
    values, coins = thinned(np.arange(100.0), 1000 + np.arange(100.0), np.random.default_rng(1))
    assert np.unique(values).size == values.size == thinned_size(100, 100)
    assert np.array_equal(coins, values < 1000)


def test_too_few_of_one_kind_claims_nothing(monkeypatch):
    monkeypatch.setattr("quiltwork.audit.bounds.one_run.RARE", -3.0)  # asks for too much half of the time
    found = [
        audit.run(np.arange(50.0) + 99, np.arange(50.0), 1e-5, method="guesses", seed=s, guesses=20) for s in range(9)
    ]
    unlucky = [one for one in found if any("Thinning" in note for note in one.notes)]
    assert unlucky
    assert all(one.epsilon_lower == 0.0 for one in unlucky)


def test_equal_scores_tell_nothing_whatever_their_order():
    """All members first: a stable sort would guess every coin."""
    coins = np.repeat([True, False], 200)
    rng = np.random.default_rng(3)
    found = [guess(np.zeros(400), coins, 100, 0, rng).correct for _ in range(200)]
    low, high = hypergeom.ppf([RARELY, 1 - RARELY], 400, 200, 100)
    assert low <= min(found)
    assert max(found) <= high
    assert len(set(found)) > 5


def test_the_outermost_scores_are_guessed():
    coins = np.array([False, False, True, False, True, True])
    found = guess(np.arange(6.0), coins, 2, 3, np.random.default_rng(0))
    assert found == Guesses(6, 5, 4)


def test_what_to_guess_is_chosen_where_the_evidence_is():
    """Few of the outermost scores, all of randomized response, and one side where only that one tells."""
    rng = np.random.default_rng(5)
    narrow = best_shares(rng.normal(1, 1, 3000), rng.normal(0, 1, 3000), 20000, 1e-5, 0.05, rng)
    assert 0 < sum(narrow) < 0.2
    answers = (rng.random(60000) < 0.75).astype(float)
    assert sum(best_shares(answers[:30000], 1 - answers[30000:], 20000, 1e-5, 0.05, rng)) > 0.25
    rarely = 5 * (rng.random(3000) < 0.1)  # a tenth of the members are seen, and nobody is seen to be out
    says_in, says_out = best_shares(rng.normal(rarely, 1), rng.normal(0, 1, 3000), 20000, 1e-5, 0.05, rng)
    assert says_out == 0
    assert 0 < says_in < 0.07
    says_in, says_out = best_shares(rng.normal(0, 1, 3000), rng.normal(-rarely, 1), 20000, 1e-5, 0.05, rng)
    assert says_in == 0
    assert 0 < says_out < 0.07


def test_guesses_belong_to_their_method():
    with pytest.raises(InvalidParameter, match="guesses"):
        audit.run(np.arange(9.0), np.arange(9.0), 1e-5, guesses=3)
    with pytest.raises(InvalidParameter, match="threshold"):
        audit.run(np.arange(9.0), np.arange(9.0), 1e-5, method="guesses", threshold=3)
    with pytest.raises(InvalidParameter, match="at least eight"):
        audit.run(np.arange(3.0), np.arange(3.0), 1e-5, method="guesses")
    with pytest.raises(InvalidParameter, match="method"):
        audit.run(np.arange(9.0), np.arange(9.0), 1e-5, method="one run")


def test_it_is_usually_the_larger_bound():
    rng = np.random.default_rng(6)
    pairs = [(rng.normal(1, 1, 1000), rng.normal(0, 1, 1000)) for _ in range(8)]
    guessed = [audit.epsilon_lower_bound(*pair, 1e-5, method="guesses") for pair in pairs]
    counted = [audit.epsilon_lower_bound(*pair, 1e-5) for pair in pairs]
    assert np.mean(guessed) > np.mean(counted)


def test_coins_are_tossed_anew():
    """Equal scores tell nothing. One seed for all audits would toss the same coins: here 0 makes every one wrong.

    Of 400 audits at 95 % at most 5 % may claim something, on average over their coins: 52 happen once in 1e9.
    """
    equal, asked = np.zeros(216), {"method": "guesses", "guesses": (0, 348)}
    assert audit.run(equal, equal, 0.0, 0.95, seed=0, **asked).epsilon_lower > 0
    found = [audit.run(equal, equal, 0.0, 0.95, **asked) for _ in range(400)]
    assert len({one.seed for one in found}) == 400
    assert sum(one.epsilon_lower > 0 for one in found) < 52


def test_a_seed_that_was_kept_repeats_the_audit():
    rng = np.random.default_rng(3)
    inside, outside = rng.normal(1, 1, 500), rng.normal(0, 1, 500)
    found = audit.run(inside, outside, 1e-5, method="guesses")
    assert audit.run(inside, outside, 1e-5, method="guesses", seed=found.seed) == found
    assert audit.epsilon_lower_bound(inside, outside, 1e-5, method="guesses", seed=found.seed) == found.epsilon_lower
