"""Independent trials: the p-value is the exact law of the worst mechanism, and sharper than that of one run."""

import math
from fractions import Fraction

import pytest
from scipy.special import expit

from quiltwork.audit.bounds import one_run as canaries
from quiltwork.audit.bounds.one_run import groups, refuted
from quiltwork.audit.bounds.one_run import p_value_of_trials as p_value
from quiltwork.numbers.rounding import up


def binomial(n, q):
    return [math.comb(n, i) * q**i * (1 - q) ** (n - i) for i in range(n + 1)]


def worst(m, r, v, q, delta):
    """P(min(R, r) + Bin(r - min(R, r), q) >= v) with R ~ Bin(m, delta), in fractions."""
    return sum(
        weight * sum(binomial(r - min(found, r), q)[max(v - min(found, r), 0) :])
        for found, weight in enumerate(binomial(m, delta))
    )


@pytest.mark.parametrize("delta", [0.0, 1e-5, 0.01, 0.3, 1.0])
@pytest.mark.parametrize("epsilon", [0.0, 1.0])
def test_the_worst_mechanism_exactly(epsilon, delta):
    q = Fraction(up(float(expit(epsilon)), 1))
    for m, r in ((1, 1), (6, 4), (25, 9)):
        for v in range(r + 1):
            found, truth = p_value(m, r, v, epsilon, delta), worst(m, r, v, q, Fraction(delta))
            assert found >= truth * (1 - Fraction(1, 10**15))
            if v > m * delta + (r - m * delta) * q + 1:  # where every tail is on the small side of its mean
                assert found <= float(truth) * (1.01 if delta else 1 + 1e-12) + 1e-9 * (delta > 0)


@pytest.mark.parametrize(("m", "delta"), [(1, 0.5), (100, 1e-5), (3000, 0.01), (10**6, 0.1), (10**9, 1e-9), (50, 1.0)])
def test_groups_hold_the_whole_law(m, delta):
    found = groups(m, delta)
    places = [revealed for revealed, _ in found]
    assert places == sorted(set(places))
    assert len(found) <= 60
    total = math.fsum(chance for _, chance in found)
    assert 1 - 1e-14 <= total < 1 + 1e-6
    mean = math.fsum(min(revealed, 2 * m * delta + 50) * chance for revealed, chance in found)
    assert m * delta * (1 - 1e-9) <= mean <= m * delta * 1.2 + 1e-6  # groups stand for their largest member


def test_too_many_to_look_at():
    assert groups(2**53, 0.3)[0][1] == 1.0
    assert p_value(2**53, 2**53, 2**53, 1.0, 1e-9) < 0.01


def test_sharper_than_one_run():
    for m, r, v, delta in ((1000, 100, 90, 1e-5), (10**6, 800, 780, 1e-5), (10**5, 10**4, 8000, 1e-4)):
        alone, together = refuted(m, r, v, delta, 0.05, True), refuted(m, r, v, delta, 0.05)
        assert alone > together
        assert p_value(m, r, v, alone, delta) <= 0.05 < p_value(m, r, v, alone + 1e-6, delta)
    assert p_value(100, 10, 9, 0.5, 0.0) == canaries.p_value(100, 10, 9, 0.5, 0.0)


def test_delta_1_reveals_everything():
    assert p_value(10, 5, 5, 0.0, 1.0) == 1.0
    assert refuted(10, 5, 5, 1.0, 0.05, True) == 0.0
