"""Seed 000, Lemmas 6 to 8 and step (13): from posteriors to guarantees, as printed and corrected."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.optimize import linprog
from tests.errata import printed_confounding as printed
from tests.errata.confounding_worlds import rare_secret

from quiltwork.confounding import (
    epsilon_of_posterior_ratio,
    from_bayesian,
    tight_epsilon_of_posterior_ratio,
)


def posteriors(prior, channel):
    """J(s | y) for a table P(y | s); one row for each secret."""
    joint = np.asarray(prior, float)[:, None] * np.asarray(channel, float)
    return joint / joint.sum(axis=0)


def stick(first, second, epsilon):
    return float(np.maximum(np.asarray(first) - math.exp(epsilon) * np.asarray(second), 0.0).sum())


# ---- Lemma 6 and the step to (13)


def test_lemma_6_asks_for_what_cannot_be():
    """Its second condition is E_F[F / P] <= delta e^epsilon, and the left side is at least 1."""
    prior = [Fraction(1, 5), Fraction(3, 10), Fraction(1, 2)]
    tenths = [(Fraction(a, 20), Fraction(b, 20), 1 - Fraction(a + b, 20)) for a in range(21) for b in range(21 - a)]
    means = [sum(f * f / p for f, p in zip(law, prior, strict=True)) for law in tenths]
    assert min(means) == 1
    assert tenths[means.index(min(means))] == tuple(prior)
    for epsilon, delta in ((1.0, 0.02), (3.0, 0.02), (11.0, 1e-5)):
        assert delta * math.exp(epsilon) < 1  # no law at all satisfies it


def test_the_step_to_13_loses_the_rarity_of_the_secret():
    """A secret of probability 1/1000: for each y at most 0.05 of S ~ J is outside, and all of Y given the secret."""
    rare, delta, epsilon = Fraction(1, 1000), Fraction(1, 20), 1.0
    prior, psi = rare_secret(rare, delta)
    total = [sum(p * row[y] for p, row in zip(prior, psi, strict=True)) for y in (0, 1)]
    posterior = [[prior[s] * psi[s][y] / total[y] for y in (0, 1)] for s in (0, 1)]
    assert (total[1], posterior[0][1]) == (Fraction(1, 50), delta)

    def outside(s, y):
        return not math.exp(-epsilon) <= posterior[s][y] / prior[s] <= math.exp(epsilon)

    given_output = [sum(posterior[s][y] for s in (0, 1) if outside(s, y)) for y in (0, 1)]
    assert max(given_output) == delta  # what Lemma 6 concludes, for every y
    given_secret = sum(psi[0][y] for y in (0, 1) if outside(0, y))
    assert given_secret == 1 > delta  # (13), as printed, would be at most delta
    assert stick([float(p) for p in psi[0]], [float(p) for p in psi[1]], 1.0) == pytest.approx(0.9483, abs=1e-4)
    # Theorem D: Pr(S is the secret and outside) / P(secret) is what counts, here 0.001 / 0.001
    assert from_bayesian(1.0, 1.0, float(rare * given_secret), 0.0, float(rare)) == (2.0, 1.0)


def test_the_corrected_step_holds():
    """(a + b, beta1 / P(s) + beta2) in 500 random cases, and the exact form with posteriors in each."""
    rng = np.random.default_rng(1)
    for _ in range(500):
        count, outputs = int(rng.integers(2, 5)), int(rng.integers(2, 7))
        prior, channel = rng.dirichlet(np.ones(count)), rng.dirichlet(np.full(outputs, 0.7), count)
        law, told = prior @ channel, posteriors(prior, channel)
        a, b = rng.uniform(0, 1.5, 2)
        first = float((prior[:, None] * channel)[told > math.exp(a) * prior[:, None]].sum())
        for s in range(count):
            other = (s + 1) % count
            second = float(channel[s][told[other] < math.exp(-b) * prior[other]].sum())
            _, bound = from_bayesian(a, b, min(first, 1.0), min(second, 1.0), prior[s])
            assert stick(channel[s], channel[other], a + b) <= bound + 1e-12
            exact = law * np.maximum(told[s] / prior[s] - math.exp(a) * told[other] / prior[other], 0.0)
            assert float(exact.sum()) == pytest.approx(stick(channel[s], channel[other], a), abs=1e-12)


def test_step_14_has_the_epsilon_of_the_assumption():
    """P = (0.3, 0.7), J within 1.2 of P for both outputs: the ratio is 21/16 with probability 6/11, above 1.2."""
    prior, share = [Fraction(3, 10), Fraction(7, 10)], [Fraction(5, 11), Fraction(6, 11)]
    posterior = [[Fraction(9, 25), Fraction(1, 4)], [Fraction(16, 25), Fraction(3, 4)]]
    assert [sum(p * q for p, q in zip(row, share, strict=True)) for row in posterior] == prior
    for p, row in zip(prior, posterior, strict=True):
        assert all(Fraction(5, 6) <= one / p <= Fraction(6, 5) for one in row)
    psi = [[share[y] * row[y] / p for y in (0, 1)] for p, row in zip(prior, posterior, strict=True)]
    assert (psi[0][0] / psi[1][0], psi[0][0]) == (Fraction(21, 16), Fraction(6, 11))
    assert Fraction(6, 5) < psi[0][0] / psi[1][0] < math.exp(printed.epsilon_of(1.2, (0.3, 0.7)))  # what Lemma 7 has


# ---- Lemma 7


def largest_ratio(prior, tau):
    """The largest [J(s) / P(s)] / [J(s') / P(s')] over all J between P / tau and tau P, by linear programming.

    In w = k J with w(s') = P(s') the ratio is w(s) / P(s), which is linear.
    """
    count, found = len(prior), 0.0
    for s, other in itertools.permutations(range(count), 2):
        most = np.column_stack([np.eye(count), -tau * np.array(prior)])
        least = np.column_stack([-np.eye(count), np.array(prior) / tau])
        equal = np.vstack([np.append(np.ones(count), -1.0), np.append(np.eye(count)[other], 0.0)])
        goal = np.append(-np.eye(count)[s] / prior[s], 0.0)
        solved = linprog(
            goal, A_ub=np.vstack([most, least]), b_ub=np.zeros(2 * count), A_eq=equal, b_eq=[0.0, prior[other]]
        )
        found = max(found, -solved.fun)
    return found


def test_lemma_7_is_not_tight():
    """P = (0.3, 0.7), tau = 1.2: printed 0.5108, with the second bound 0.3646, the truth is log(21/16) = 0.2719."""
    prior, tau = (0.3, 0.7), 1.2
    assert largest_ratio(prior, tau) == pytest.approx(21 / 16, rel=1e-9)
    assert printed.epsilon_of(tau, prior) == pytest.approx(0.5108, abs=1e-4)
    assert epsilon_of_posterior_ratio(tau, prior) == pytest.approx(0.3646, abs=1e-4)
    tight = tight_epsilon_of_posterior_ratio(tau, prior)
    assert tight.contains(math.log(21 / 16))
    assert tight.upper == pytest.approx(0.2719, abs=1e-4)


@pytest.mark.parametrize("prior", [(0.5, 0.5), (0.3, 0.7), (0.2, 0.3, 0.5), (0.1,) * 10])
@pytest.mark.parametrize("tau", [1.2, 2.0, 4.0])
def test_the_corrected_lemma_7_is_the_optimum_of_the_program(prior, tau):
    truth = math.log(largest_ratio(prior, tau))
    tight = tight_epsilon_of_posterior_ratio(tau, prior)
    assert float(tight.midpoint) == pytest.approx(truth, rel=1e-7)
    assert truth <= epsilon_of_posterior_ratio(tau, prior) * (1 + 1e-7)
    assert epsilon_of_posterior_ratio(tau, prior) <= printed.epsilon_of(tau, prior) * (1 + 1e-12)


def test_lemma_7_with_the_second_bound_holds_for_any_number_of_secrets():
    """ratio <= min(tau^2, 1 + (tau - 1) / P_min) for random posteriors in the box; tau^2 often counts."""
    rng = np.random.default_rng(2)
    squares = 0
    for _ in range(2000):
        count = int(rng.integers(2, 7))
        prior, posterior = rng.dirichlet(np.full(count, 3.0)), rng.dirichlet(np.full(count, 3.0))
        ratio = posterior / prior
        tau = max(float(ratio.max()), float(1 / ratio.min()))
        claimed = 1 + (tau - 1) / prior.min()
        assert ratio.max() / ratio.min() <= min(tau**2, claimed) * (1 + 1e-12)
        squares += tau**2 < claimed
    assert squares > 100


def test_lemma_7_is_attained_when_only_the_lower_side_is_asked():
    """J(s') = P(s') / tau for every other secret: the ratio is 1 + (tau - 1) / P(s), exactly."""
    for prior in ([Fraction(1, 2)] * 2, [Fraction(1, 5), Fraction(3, 10), Fraction(1, 2)], [Fraction(1, 10)] * 10):
        for tau in (Fraction(6, 5), Fraction(2), Fraction(4)):
            share = min(prior)
            posterior = 1 - (1 - share) / tau
            assert (posterior / share) / (1 / tau) == 1 + (tau - 1) / share
            one_sided = epsilon_of_posterior_ratio(tau, prior, one_sided=True)
            assert one_sided == pytest.approx(printed.epsilon_of(tau, prior), rel=1e-12)


# ---- Lemma 8


def test_lemma_8_holds_for_single_outputs_and_not_backwards():
    rng = np.random.default_rng(3)
    for _ in range(300):
        first, second = rng.dirichlet(np.full(5, 0.7), 2)
        epsilon = float(rng.uniform(0, 1.5))
        assert stick(first, second, epsilon) <= float(first[first > math.exp(epsilon) * second].sum()) + 1e-12
    # backwards: a ratio a little above e^epsilon, half of the time
    first, second = [0.5, 0.5], [0.49, 0.51]
    assert stick(first, second, 0.0) == pytest.approx(0.01)
    assert sum(p for p, q in zip(first, second, strict=True) if p > q) == 0.5
