"""Every bound violates the truth in at most its nominal share, and a broken mechanism is caught.

Thousands of audits with known truth. Each test compares the number of violations with the quantile of a binomial law
at the nominal rate, so that a valid bound fails it with probability at most one in a million.
"""

import math

import numpy as np
import pytest
from scipy.special import expit, ndtr
from scipy.stats import binom

import quiltwork as qw
from quiltwork import audit
from quiltwork.audit import Counts
from quiltwork.audit.bounds.counts import mu_lower
from quiltwork.audit.bounds.one_run import refuted

ALARM = 1e-6
AUDITS = 1500
TRIALS = 150  # of each kind


def allowed(audits, share):
    return binom.ppf(1 - ALARM, audits, share)


def laplace_above(x):
    """P(X >= x) of the standard Laplace law."""
    return np.where(x > 0, 0.5 * np.exp(-np.abs(x)), 1 - 0.5 * np.exp(-np.abs(x)))


def gaussian(t):
    return ndtr(1 - t), ndtr(-t)


def laplace(t):
    return laplace_above(t - 1.0), laplace_above(t)


def response(t):
    return expit(1.0) + 0 * t, expit(-1.0) + 0 * t


CASES = {
    "gaussian": (gaussian, qw.gdp(1.0), (-0.5, 0.5, 1.5)),
    "laplace": (laplace, qw.laplace(1.0), (0.0, 0.5, 1.0)),
    "response": (response, qw.pure(1.0), (0.5,)),
}


@pytest.mark.parametrize(("name", "confidence"), [*((name, 0.95) for name in CASES), ("response", 0.7)])
def test_counts_and_gdp(name, confidence):
    """A fixed threshold: the counts are binomial, so they are drawn, not the scores."""
    rates, curve, thresholds = CASES[name]
    rng = np.random.default_rng(11)
    truth = {delta: float(curve.epsilon(delta).lower) for delta in (0.0, 1e-5, 0.05)}
    for threshold in thresholds:
        detected, alarms = (float(rate) for rate in rates(np.asarray(threshold)))
        tp, fp = rng.binomial(TRIALS, detected, AUDITS), rng.binomial(TRIALS, alarms, AUDITS)
        corners = [
            Counts(int(one), TRIALS, int(two), TRIALS).limits(confidence) for one, two in zip(tp, fp, strict=True)
        ]
        missed = sum(corner.fpr < alarms or corner.fnr < 1 - detected for corner in corners)
        assert missed <= allowed(AUDITS, 1 - confidence)
        assert missed >= 0.05 * (1 - confidence) * AUDITS  # the test sees violations at all
        wrong = sum(any(corner.epsilon(delta) > epsilon for delta, epsilon in truth.items()) for corner in corners)
        assert wrong <= allowed(AUDITS, 1 - confidence)
        if name == "gaussian":
            over = sum(mu_lower(corner) > 1.0 for corner in corners)
            assert 0 < over <= allowed(AUDITS, 1 - confidence)


@pytest.mark.parametrize(("m", "r", "delta"), [(300, 300, 0.0), (300, 60, 0.0), (300, 60, 1e-3), (300, 60, 1e-2)])
def test_one_run(m, r, delta):
    """The worst mechanism: each coin revealed with chance delta, told with chance q otherwise."""
    rng, epsilon = np.random.default_rng(12), 1.0
    revealed = np.minimum(rng.binomial(m, delta, AUDITS), r)
    correct = revealed + rng.binomial(r - revealed, expit(epsilon))
    for independent in (False, True):  # these trials are independent, so that both bounds must hold
        wrong = sum(refuted(m, r, int(v), delta, 0.05, independent) > epsilon for v in correct)
        assert wrong <= allowed(AUDITS, 0.05)
        if delta == 0 or independent:
            assert wrong >= 0.01 * AUDITS  # here the bound is as good as it can be


SAMPLERS = {
    "gaussian": lambda rng, member, size: rng.normal(float(member), 1.0, size),
    "laplace": lambda rng, member, size: rng.laplace(float(member), 1.0, size),
    "response": lambda rng, member, size: (rng.random(size) < expit(1.0 if member else -1.0)).astype(float),
}


@pytest.mark.parametrize(
    ("name", "method"),
    [*((name, method) for name in SAMPLERS for method in ("counts", "guesses")), ("gaussian", "gdp")],
)
def test_from_scores(name, method):
    """The whole way, threshold and split and ties included; "gdp" only where its assumption holds."""
    rng, audits = np.random.default_rng(13), 1000
    truth = float(CASES[name][1].epsilon(1e-5).lower)
    draw = SAMPLERS[name]
    more = {"guesses": 40} if method == "guesses" else {}
    found = [
        audit.run(draw(rng, True, 80), draw(rng, False, 80), 1e-5, 0.8, method=method, **more).epsilon_lower
        for _ in range(audits)
    ]
    assert sum(value > truth for value in found) <= allowed(audits, 0.2)
    assert max(found) > 0


def test_a_chosen_number_of_guesses():
    """The same where the number is chosen on a split; randomized response is the worst case of this bound."""
    rng, audits, draw = np.random.default_rng(18), 300, SAMPLERS["response"]
    found = [
        audit.run(draw(rng, True, 80), draw(rng, False, 80), 0.0, 0.8, method="guesses").epsilon_lower
        for _ in range(audits)
    ]
    assert 0 < sum(value > 1.0 for value in found) <= allowed(audits, 0.2)


def test_true_guarantees_are_contradicted_as_rarely_as_stated():
    rng, audits, truth = np.random.default_rng(17), 150, qw.gdp(1.0)
    wrong = 0
    for _ in range(audits):
        scores = rng.normal(1, 1, 100), rng.normal(0, 1, 100)
        wrong += audit.report(truth, *scores, 1e-5, 0.8, method="claim").contradicted
    assert 0 < wrong <= allowed(audits, 0.2)


def test_broken_bounds_are_caught():
    """These tests can fail: plain rates without limits, or limits at a quarter of their width, violate the truth."""
    rng, detected, alarms = np.random.default_rng(14), expit(1.0), expit(-1.0)
    tp, fp = rng.binomial(TRIALS, detected, AUDITS), rng.binomial(TRIALS, alarms, AUDITS)
    plain = np.log(np.maximum(tp / fp, (TRIALS - fp) / (TRIALS - tp)))
    assert (plain > 1.0).sum() > allowed(AUDITS, 0.05)
    short = [Counts(int(one), TRIALS, int(two), TRIALS).limits(0.2) for one, two in zip(tp, fp, strict=True)]
    assert sum(corner.epsilon(0.0) > 1.0 for corner in short) > allowed(AUDITS, 0.05)


@pytest.mark.parametrize("method", ["counts", "gdp", "guesses"])
def test_broken_mechanisms_are_caught(method):
    """Half the noise that was claimed, and a Laplace release with twice the sensitivity."""
    rng = np.random.default_rng(15)
    inside, outside = rng.normal(2, 1, 20000), rng.normal(0, 1, 20000)
    assert audit.report(qw.gdp(1.0), inside, outside, 1e-5, method=method).contradicted or method == "guesses"
    assert audit.report(qw.approximate(1.5, 1e-5), inside, outside, 1e-5, method=method).contradicted
    if method != "gdp":
        wide = rng.laplace(2, 1, 20000), rng.laplace(0, 1, 20000)
        assert audit.report(qw.laplace(1.0), *wide, 0.0, method=method).contradicted


def test_the_bars():
    """Gaussian, mu = 1, delta 1e-5, 10,000 trials of which a fair coin put about half in: means over audits.

    theory/game.md section 6 has 1.82 and 3.88, the truth is 4.377; guesses get farther than counts.
    """
    rng, found = np.random.default_rng(16), {"counts": [], "gdp": [], "guesses": []}
    for audits, method in ((60, "counts"), (60, "gdp"), (25, "guesses")):
        for _ in range(audits):
            member = rng.random(10_000) < 0.5
            scores = rng.normal(member.astype(float), 1.0)
            found[method].append(audit.epsilon_lower_bound(scores[member], scores[~member], 1e-5, method=method))
    assert np.mean(found["counts"]) >= 1.8
    assert np.mean(found["gdp"]) >= 3.8
    assert np.mean(found["guesses"]) >= 2.0
    truth = float(qw.gdp(1.0).epsilon(1e-5).lower)
    assert max(found["counts"]) < truth
    assert max(found["guesses"]) < truth
    assert math.isclose(truth, 4.3771780956812245, rel_tol=1e-9)
