"""The trade-off function against brute force over sorted likelihood ratios, closed forms, and its own mirror."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from tests.compose import naive
from tests.examples import examples
from tests.truth.closed import gaussian_beta
from tests.truth.numbers import mp

import quiltwork as qw

ALPHAS = [0.0, 1e-9, 1e-3, 0.02, 0.125, 0.4, 0.77, 0.999, 1.0]
dyadic = st.lists(st.integers(0, 8), min_size=3, max_size=3).filter(lambda x: sum(x) > 0)


def law(weights):
    """Sixteenths, exactly representable: the float laws are the rational ones."""
    cuts = np.round(np.cumsum(weights) / sum(weights) * 16) / 16
    return np.diff(np.concatenate(([0.0], cuts))).tolist()


def number(fraction):
    return mp.mpf(fraction.numerator) / mp.mpf(fraction.denominator)


@settings(max_examples=examples(40))
@given(p=dyadic, q=dyadic, count=st.integers(1, 4), side=st.sampled_from(["remove", "add"]))
def test_small_products_by_brute_force(p, q, count, side):
    p, q = law(p), law(q)
    loss = (count * qw.pair(p, q)).direction(side)
    outcomes = naive.product([(p, q) if side == "remove" else (q, p)] * count)
    found = loss.beta(ALPHAS)
    for i, alpha in enumerate(ALPHAS):
        assert number(naive.trade_off(outcomes, alpha)) in found[i]


@settings(max_examples=examples(25))
@given(
    first=st.tuples(dyadic, dyadic),
    second=st.tuples(dyadic, dyadic),
    counts=st.tuples(st.integers(1, 2), st.integers(1, 2)),
)
def test_products_of_two_kinds_by_brute_force(first, second, counts):
    pairs = [tuple(law(w) for w in pair) for pair in (first, second)]
    assume(pairs[0] != pairs[1])
    loss = qw.compose(*(k * qw.pair(*pair) for k, pair in zip(counts, pairs, strict=True)))
    both = [
        naive.product([pair[::way] for k, pair in zip(counts, pairs, strict=True) for _ in range(k)]) for way in (1, -1)
    ]
    found = loss.beta([0.01, 0.3, 0.8])
    for i, alpha in enumerate((0.01, 0.3, 0.8)):
        assert number(min(naive.trade_off(outcomes, alpha) for outcomes in both)) in found[i]


@pytest.mark.parametrize("mu", [1e-3, 0.5, 4.0, 20.0])
def test_gaussian_closed_form_far_below_any_rounding(mu):
    alpha = [1e-300, 1e-100, 1e-20, 1e-5, 0.3, 0.7, 1 - 1e-9]
    found = qw.gdp(mu).beta(alpha)
    for i, a in enumerate(alpha):
        true = gaussian_beta(mu, a)
        assert true in found[i]
        assert true < 1e-290 or found[i].relative_width < 1e-9


@pytest.mark.parametrize("mu", [0.5, 2.0, 6.0, 12.0])
def test_the_general_method_on_a_gaussian(mu):
    """36 releases by the characteristic function: betas down to 1e-30 keep their relative accuracy."""
    alpha = [1e-30, 1e-6, 0.01, 0.3, 0.9, 1 - 1e-6]
    found = (36 * qw.gdp(mu / 6)).beta(alpha, method="characteristic function")
    for i, a in enumerate(alpha):
        true = gaussian_beta(mp.mpf(mu / 6) * 6, a)
        assert true in found[i]
        assert found[i].relative_width < 1e-3


@pytest.mark.parametrize("count", [1, 7, 200])
def test_the_ends_of_alpha(count):
    loss = count * qw.approximate(0.4, 0.01)
    assert (1 - mp.mpf(0.01)) ** count in loss.beta(0.0)
    assert loss.beta(1.0).upper <= 1e-299
    assert loss.beta(1.0).lower == 0.0


@pytest.mark.parametrize(
    "loss",
    [
        300 * qw.poisson(qw.gaussian(0.8), 0.05),
        40 * qw.poisson(qw.laplace(1.0), 0.2),
        6 * qw.poisson(qw.pure(1.0), 0.3),
        qw.poisson(qw.gaussian(0.5), 0.4),
    ],
    ids=str,
)
def test_adding_is_the_inverse_of_removing(loss):
    """f_add(f_remove(alpha)) = alpha."""
    remove, add = loss.direction("remove"), loss.direction("add")
    for alpha in (1e-4, 0.05, 0.5):
        beta = remove.beta(alpha)
        back_low, back_high = add.beta(beta.upper).lower, add.beta(beta.lower).upper
        assert back_low <= alpha * (1 + 1e-12)
        assert alpha <= back_high * (1 + 1e-12)
        assert back_high - back_low < 0.05 * alpha + 1e-6


@pytest.mark.parametrize(
    "loss",
    [
        30 * qw.laplace(2.0),
        20 * qw.poisson(qw.gaussian(0.7), 0.1),
        11 * qw.pure(0.4),
        qw.laplace(0.7),
        4 * qw.discrete_gaussian(1.1),
    ],
    ids=str,
)
def test_beta_is_the_conjugate_of_delta(loss):
    """beta(alpha) >= 1 - delta(eps) - e^eps alpha for every eps, with equality somewhere."""
    for alpha in (1e-6, 0.03, 0.6):
        found = loss.beta(alpha)
        epsilon = np.linspace(-12.0, 14.0, 261)
        delta = loss.delta(epsilon)
        best = (1 - delta.upper - np.exp(epsilon) * alpha).max()
        assert best <= found.upper + 1e-12
        assert found.lower <= (1 - delta.lower - np.exp(epsilon) * alpha).max() + 0.06 * max(found.upper, 1e-3)


def test_beta_falls_and_is_convex():
    alpha = np.linspace(0.0, 1.0, 41)
    found = (25 * qw.poisson(qw.laplace(1.0), 0.3)).beta(alpha)
    middle = (found.lower + found.upper) / 2
    assert (np.diff(found.upper) <= 1e-9).all()
    assert (np.diff(middle, 2) >= -1e-4).all()
    assert (found.upper <= 1 - alpha + 1e-15).all()


def test_nothing_released():
    found = qw.compose().beta([0.0, 0.25, 1e-3, 1.0])
    for i, alpha in enumerate((0.0, 0.25, 1e-3, 1.0)):
        assert 1 - mp.mpf(alpha) in found[i]
        assert found[i].width < 1e-15


def test_underflowing_betas_keep_a_positive_upper_end():
    """Phi(Phi^-1(1 - alpha) - 60) is below every double, yet not zero."""
    for loss in (qw.gdp(60.0), qw.mixture([(1.0, qw.gdp(60.0))]), 4 * qw.gdp(30.0)):
        found = loss.beta(0.5)
        assert found.lower == 0.0
        assert 0.0 < found.upper < 1e-290


def test_fractions_are_what_brute_force_computes():
    """The naive reference itself: randomized response at e^eps = 3."""
    outcomes = naive.product([([0.75, 0.25], [0.25, 0.75])])
    assert naive.trade_off(outcomes, Fraction(1, 8)) == Fraction(5, 8)
    assert naive.hockey_stick(outcomes, 1) == Fraction(1, 2)
    assert math.isclose(float(naive.trade_off(outcomes, Fraction(1, 2))), 1 / 6)
