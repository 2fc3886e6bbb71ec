"""The Gaussian bound against many digits, and what it may be used for."""

import math

import mpmath
import pytest

from quiltwork import audit
from quiltwork.audit import Counts
from quiltwork.audit.bounds.counts import Limits, epsilon_of, mu_lower
from quiltwork.errors import InvalidParameter, Unsupported


def quantile(p):
    return mpmath.sqrt(2) * mpmath.erfinv(2 * p - 1)


@pytest.mark.parametrize("fpr", [1e-9, 1e-4, 0.03, 0.4])
@pytest.mark.parametrize("fnr", [1e-12, 0.01, 0.5, 0.59])
def test_mu_is_below_the_truth(fpr, fnr):
    found = mu_lower(Limits(fpr, fnr, 1 - fnr, 1 - fpr))
    with mpmath.workdps(40):
        truth = -quantile(mpmath.mpf(fnr)) - quantile(mpmath.mpf(fpr))
    assert found <= truth
    assert found == pytest.approx(float(truth), abs=1e-12)


def test_rates_next_to_one_keep_their_digits():
    """The complement is what counts: 1 - 1e-20 is no double."""
    with mpmath.workdps(40):
        truth = float(-quantile(mpmath.mpf("1e-20")) - quantile(1 - mpmath.mpf("1e-12")))
    assert mu_lower(Limits(1.0, 1e-20, 1.0, 1e-12)) == pytest.approx(truth, rel=1e-12)


def test_useless_corners():
    assert mu_lower(Limits(1.0, 0.2, 0.8, 0.0)) == 0.0
    assert mu_lower(Limits(0.2, 1.0, 0.0, 0.8)) == 0.0
    assert mu_lower(Limits(0.6, 0.6, 0.4, 0.4)) == 0.0


@pytest.mark.parametrize(("mu", "delta"), [(1.0, 1e-5), (0.5, 1e-5), (2.0, 1e-5), (0.3, 0.01)])
def test_epsilon_is_that_of_a_gaussian(mu, delta):
    """Phi(-e/mu + mu/2) - e^e Phi(-e/mu - mu/2) = delta at the truth."""
    found = epsilon_of(mu, delta)
    with mpmath.workdps(30):

        def excess(e):
            return mpmath.ncdf(-e / mu + mu / 2) - mpmath.exp(e) * mpmath.ncdf(-e / mu - mu / 2) - delta

        truth = mpmath.findroot(excess, found)
        assert excess(mpmath.mpf(found)) >= 0
    assert found == pytest.approx(float(truth), rel=1e-9)


def test_reference_epsilons():
    """theory/game.md section 6: the true epsilons of its table."""
    for mu, truth in ((0.5, 1.993091404414625), (1.0, 4.3771780956812245), (2.0, 9.997256146434298)):
        assert epsilon_of(mu, 1e-5) == pytest.approx(truth, rel=1e-9)


def test_at_delta_0_no_epsilon_is_true_of_a_gaussian():
    found = audit.counted(Counts(90, 100, 10, 100), 0.0, method="gdp")
    assert found.mu_lower > 1
    assert math.isinf(found.epsilon_lower)
    assert "no finite epsilon" in found.explain()
    assert found.to_json()["epsilon_lower"] == "inf"


def test_the_assumption_is_in_the_result():
    found = audit.counted(Counts(900, 1000, 10, 1000), 1e-5, method="gdp")
    assert any("Gaussian" in text for text in found.assumes)
    assert not any("Gaussian" in text for text in audit.counted(found.counts, 1e-5).assumes)
    assert found.epsilon_lower > audit.counted(found.counts, 1e-5).epsilon_lower
    assert found.at(1e-3).mu_lower == found.mu_lower


def test_methods_of_counts():
    with pytest.raises(InvalidParameter, match="method"):
        audit.counted(Counts(1, 2, 1, 2), 1e-5, method="guesses")
    one_run = audit.one_run([1.0, 2.0, 3.0], [0, 1, 1], 1e-5)
    with pytest.raises(Unsupported, match="second delta"):
        one_run.at(1e-3)
