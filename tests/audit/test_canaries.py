"""One run: the p-value against fractions and against the worst mechanism, and why coins must be independent."""

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.special import expit

from quiltwork import audit
from quiltwork.audit.bounds.one_run import largest_average, p_value, refuted
from quiltwork.errors import InvalidParameter, Unsupported
from quiltwork.numbers.rounding import up

# theory/game.md section 6 and reference/game.json, audit_summary_statistics: canaries, guesses, right ones, epsilon
REFERENCE = [
    (100, 25, 21, 0.7088232860860444),
    (100, 25, 23, 1.2009674108394393),
    (400, 100, 68, 0.3833411906407491),
    (400, 100, 91, 1.7185921938616957),
    (800, 200, 172, 1.4688201619155734),
]


def binomial(n, q):
    return [math.comb(n, i) * q**i * (1 - q) ** (n - i) for i in range(n + 1)]


def exact_p_value(m, r, v, q, delta):
    """The formula of Steinke, Nasr and Jagielski in fractions."""
    masses = binomial(r, q)
    averages = [sum(masses[v - i : v]) / i for i in range(1, v + 1)]
    return sum(masses[v:]) + 2 * m * delta * max(averages, default=Fraction(0))


@pytest.mark.parametrize("epsilon", [0.0, 0.3, 1.0, 4.0])
@pytest.mark.parametrize("delta", [0.0, 1e-5, 0.01])
def test_p_values_against_fractions(epsilon, delta):
    q = Fraction(up(float(expit(epsilon)), 1))
    for m, r in ((1, 1), (9, 4), (12, 12)):
        for v in range(r + 1):
            found, truth = p_value(m, r, v, epsilon, delta), exact_p_value(m, r, v, q, Fraction(delta))
            assert found >= min(1, truth) * (1 - Fraction(1, 10**15))
            if v > r * q:
                assert found <= min(1.0, float(truth) * (1 + 1e-11))


@pytest.mark.parametrize(
    ("r", "v", "wrong"), [(1, 1, 0.2), (10, 9, 0.3), (200, 160, 0.25), (200, 150, 0.25), (60, 3, 0.5)]
)
def test_the_largest_average(r, v, wrong):
    masses = binomial(r, 1 - Fraction(wrong))
    truth = max(sum(masses[v - i : v]) / i for i in range(1, v + 1))
    assert truth <= largest_average(v, r, wrong) <= float(truth) * (1 + 1e-11)


def test_many_guesses_are_bounded_by_the_mode():
    assert 0 < largest_average(2**52 + 1, 2**53, 0.5) < 1e-8
    assert largest_average(0, 10, 0.5) == 0.0
    assert largest_average(10, 10, 0.0) == 0.0
    far = largest_average(10**6, 10**6, 0.5)  # all right: the masses are far below
    assert 0 < far < 1e-5


def test_no_mechanism_beats_the_p_value():
    """The worst (epsilon, delta) mechanism reveals each coin with chance delta, and tells it with chance q otherwise.

    An attacker guesses what is revealed first: right min(R, r) + Bin(r - min(R, r), q) times, R ~ Bin(m, delta).
    """
    for m, r in ((6, 6), (12, 5), (30, 10)):
        for epsilon in (0.2, 1.0):
            q = Fraction(float(expit(epsilon)))
            for delta in (Fraction(1, 1000), Fraction(1, 20)):
                revealed = binomial(m, delta)
                for v in range(1, r + 1):
                    chance = sum(
                        weight * sum(binomial(r - min(found, r), q)[max(v - min(found, r), 0) :])
                        for found, weight in enumerate(revealed)
                    )
                    assert chance <= Fraction(p_value(m, r, v, epsilon, float(delta)))


@pytest.mark.parametrize(("m", "r", "v", "truth"), REFERENCE)
def test_reference(m, r, v, truth):
    found = refuted(m, r, v, 1e-5, 0.05)
    assert found == pytest.approx(truth, abs=1e-8)
    assert p_value(m, r, v, found, 1e-5) <= 0.05 < p_value(m, r, v, found + 1e-6, 1e-5)


def test_all_right():
    """q^r = 0.05 is what r right guesses of r refute."""
    for r in (1, 10, 1000, 2**53):
        truth = -math.log(math.expm1(-math.log(0.05) / r))
        assert refuted(r, r, r, 0.0, 0.05) == pytest.approx(max(truth, 0.0), rel=1e-9, abs=1e-9)


def test_exactly_half_would_be_wrong():
    """Two canaries, one of them included: telling one coin tells the other, and the p-value is false."""
    epsilon = 1.0
    q = float(expit(epsilon))
    both_right = q  # the release is one noisy coin, an epsilon-private one; the guesses are right or wrong together
    assert p_value(2, 2, 2, epsilon, 0.0) < both_right - 0.1
    with pytest.raises(Unsupported, match="exactly half"):
        audit.one_run([1.0, 2.0], [0, 1], 1e-5, sampling="exactly half")


def test_exactly_half_by_chance_is_said():
    scores = np.arange(10.0)
    half = audit.one_run(scores, [0, 1] * 5, 1e-5)
    assert any("probability 0.25" in note for note in half.notes)
    assert not audit.one_run(scores, [0, 1] * 4 + [1, 1], 1e-5).notes


def test_what_is_guessed():
    included = np.arange(100) % 5 < 3
    scores = included + np.linspace(0, 0.5, 100)
    found = audit.one_run(scores, included, 1e-5, guesses=(30, 10))
    assert (found.guesses.canaries, found.guesses.made, found.guesses.correct) == (100, 40, 40)
    assert audit.one_run(scores, included, 1e-5).guesses.made == 10
    assert audit.one_run(-scores, included, 1e-5, guesses=40).guesses.correct == 0
    only_in = audit.one_run(scores, included, 1e-5, guesses=(5, 0))
    assert only_in.guesses.correct == 5
    assert found.counts is None
    assert found.limits is None
    assert "30" not in found.explain()
    assert "40" in found.explain()


@pytest.mark.parametrize("guesses", [0, 101, (60, 50), (0, 0), -1, 2.5, True, "10", (1, 2, 3)])
def test_bad_guesses(guesses):
    with pytest.raises(InvalidParameter):
        audit.one_run(np.arange(100.0), np.arange(100) % 2, 1e-5, guesses=guesses)


@pytest.mark.parametrize(
    "included", [[1] * 100, [0, 1], [0.5] * 100, [2] * 100, None, "01", np.ones((100, 1)), [math.nan] * 100]
)
def test_bad_coins(included):
    with pytest.raises(InvalidParameter):
        audit.one_run(np.arange(100.0), included, 1e-5)
