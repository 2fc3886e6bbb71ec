"""Seed 000, section IV and appendix M: inverse composition. Printed statements that fail, and what holds."""

import math
from fractions import Fraction

import numpy as np
import pytest
from tests.errata import printed_confounding as printed
from tests.errata.confounding_worlds import NOISY_DATA, PAD, SECRET_ITSELF, TWIN, halves

from quiltwork.confounding import World, paper_objective, randomized_response, realised, smallest_tau
from quiltwork.errors import NotCertified, Unreachable


def posteriors(prior, channel):
    """J(s | y) for a table P(y | s); one row for each secret."""
    joint = np.asarray(prior, float)[:, None] * np.asarray(channel, float)
    return joint / joint.sum(axis=0)


# ---- equation (7)


def test_equation_7_adds_up_what_is_told_once():
    """The second twin, released as the new mechanism: L + L_alpha is 2.144 at (0, 0), and the loss there is 1.098."""
    data, channel = TWIN
    both = World(data=data).release(channel, channel)
    law, psi = both.laws.exact, World(data=data).release(channel).laws.exact
    summed = math.log(psi[0, 0] / psi[1, 0]) + math.log(psi[0, 0] / psi[1, 0])
    assert summed == pytest.approx(2.144241346442, abs=1e-12)
    assert math.log(law[0, 0] / law[1, 0]) == pytest.approx(1.098340253846, abs=1e-12)
    pad = World(data=PAD)
    bit, other = halves("1/10")
    parts = [pad.release(table).laws.exact for table in (bit, other)]
    assert all(part[0, 0] == part[1, 0] for part in parts)  # 0 + 0 as printed
    joint = pad.release(bit, other).laws.exact
    assert joint[0, 0] / joint[1, 0] == Fraction(41, 9)


def test_equation_7_holds_when_the_new_mechanism_reads_the_secret():
    """With fresh noise on s itself the outputs are independent given s."""
    data, channel = TWIN
    world = World(data=data)
    found = world.design(world.release(channel), epsilon=1.5, delta=0.0, reads="secret", cost="zero-one")
    old, new, joint = world.release(channel).laws.values, found.channel, found.after.laws.values
    np.testing.assert_allclose(joint, (old[:, :, None] * new[:, None, :]).reshape(2, -1), rtol=1e-12)


# ---- the set Pi


def test_pi_is_empty_for_the_targets_of_the_paper():
    """E_pi[pi / P] = 1 + chi^2 >= 1, so that delta tau >= 1 is needed: tau >= 50 at delta = 0.02."""
    prior = [Fraction(1, 2)] * 2
    every = [(Fraction(n, 1000), 1 - Fraction(n, 1000)) for n in range(1001)]
    for tau, inside in ((Fraction(49), False), (Fraction(50), True)):
        assert any(printed.in_pi(pi, prior, tau, Fraction(1, 50)) for pi in every) is inside
    assert smallest_tau(0.02) == 50
    assert printed.epsilon_of(50, prior) == pytest.approx(4.595, abs=1e-3)
    for target in (0.25, 0.5, 1.5, 3.0):  # of Table VIII
        tau = Fraction(1 + (math.exp(target) - 1) / 2)
        assert not any(printed.in_pi(pi, prior, tau, Fraction(1, 50)) for pi in every)


def test_pi_grows_when_delta_falls_to_zero():
    """The prior itself is in Pi[2, 0] and not in Pi[2, 0.02]: a stricter delta allows more."""
    prior = [Fraction(1, 3)] * 3
    assert printed.in_pi(prior, prior, Fraction(2), 0)
    assert not printed.in_pi(prior, prior, Fraction(2), Fraction(1, 50))


def test_the_mean_of_the_ratio_is_at_least_one():
    rng = np.random.default_rng(0)
    for count in (2, 3, 5):
        prior, posterior = rng.dirichlet(np.ones(count), 500), rng.dirichlet(np.ones(count), 500)
        assert float((posterior**2 / prior).sum(axis=1).min()) >= 1.0


# ---- Task-1


def test_task_1_is_not_convex():
    """-a log t has an indefinite Hessian; and on a segment the objective lies above its chord."""
    place, step = np.array([0.5, 0.5]), 1e-4 * np.eye(2)

    def term(point):
        return -point[0] * math.log(point[1])

    def second(one, two):
        """The mixed derivative in two directions, by differences."""
        return sum(m * n * term(place + m * one + n * two) for m, n in ((1, 1), (1, -1), (-1, 1), (-1, -1))) / 4e-8

    hessian = np.array([[second(one, two) for two in step] for one in step])
    np.testing.assert_allclose(np.linalg.eigvalsh(hessian), [1 - math.sqrt(5), 1 + math.sqrt(5)], atol=1e-5)
    one, two = (1.0, 0.0), (0.0, 1.0)
    middle = printed.task_1((0.5, 0.5), 0.25, 0.75)
    assert middle > 0.5 * (printed.task_1(one, 0.25, 0.75) + printed.task_1(two, 0.25, 0.75)) + 0.4


@pytest.mark.parametrize(
    ("most", "loss", "private", "delta", "promised"),
    [(0.75, 0.2877, 0.5623, 0.0, math.log(3)), (0.5 + math.sqrt(0.05), 0.3235, 0.5895, 0.6, math.log(3))],
)
def test_theorem_2_as_printed_tells_the_secret(most, loss, private, delta, promised):
    """Uniform secret, tau = 2, delta = 0 and 0.6: the best alpha of Task-1 is the secret itself."""
    assert promised == pytest.approx(printed.epsilon_of(2, [0.5, 0.5]))
    least = 1 - most
    grid = np.linspace(0, 1, 81)
    values = np.array([[printed.task_1((a, b), least, most) for b in grid] for a in grid])
    best = np.unravel_index(np.argmin(values), values.shape)
    assert sorted(grid[list(best)]) == [0.0, 1.0]  # deterministic
    assert values.min() == pytest.approx(loss, abs=1e-4)
    assert values.min() == pytest.approx(-math.log(most), rel=1e-12)
    told = World(data=SECRET_ITSELF).release(SECRET_ITSELF)
    assert told.exact_odds() is None  # epsilon is infinite
    assert told.delta(promised).lower > delta + 0.39  # against (eps(tau), delta)
    # the best alpha whose posterior stays in the set is much worse for the printed objective, and never found
    assert -(most * math.log(most) + least * math.log(least)) == pytest.approx(private, abs=1e-4)


def test_theorem_2_as_printed_fails_with_data_between_too():
    """P(x | s) lies with probability 0.1: the printed objective ends at a mechanism that tells x, twice the promise."""
    found = paper_objective([0.5, 0.5], [[0.9, 0.1], [0.1, 0.9]], 2.0)
    assert found.promised == pytest.approx(math.log(3), rel=1e-12)
    assert found.epsilon == pytest.approx(math.log(9), abs=2e-3)
    with pytest.raises(NotCertified):
        found.guarantee()
    told = World(data=NOISY_DATA).release(SECRET_ITSELF)
    assert told.exact_odds() == 9


def test_task_1_as_a_linear_program_meets_its_target():
    """The same world, the same promise: the designed mechanism keeps it, and lies with probability 3/16."""
    world = World(data=NOISY_DATA)
    found = world.design(odds=3, delta=0, cost="zero-one", exact=True)
    assert found.release.exact_odds() <= 3
    assert (found.optimum.cost, found.optimum.gap) == (Fraction(3, 16), 0)
    assert world.release(found.optimum.channel).exact_odds() == 3


def test_a_strategy_on_the_secret_that_no_mechanism_on_the_data_has():
    """alpha(z | s) lies with probability 0.1 and P(x | s) with 0.4: the solution has entries 2.5 and -1.5."""
    data, alpha = np.array([[0.6, 0.4], [0.4, 0.6]]), np.array([[0.9, 0.1], [0.1, 0.9]])
    np.testing.assert_allclose(np.linalg.solve(data, alpha), [[2.5, -1.5], [-1.5, 2.5]], rtol=1e-12)
    with pytest.raises(Unreachable):
        realised(World(data=data), alpha)


def test_the_factor_of_the_loss_is_squared():
    """The mean over S and Y of -log pi P(y) has P(y) twice; that of -log pi has it once, as the printed sum."""
    joint = np.array([[0.45, 0.05], [0.15, 0.35]])  # P(s, y)
    law, posterior = joint.sum(axis=0), joint / joint.sum(axis=0)
    mean = float((joint * -np.log(posterior) * law).sum())
    claimed = float((joint * -np.log(posterior)).sum())  # "only the product alpha(y | s) P(s)"
    assert mean < 0.6 * claimed


# ---- Theorem 2 (ii) and (iii)


def test_task_2_with_a_strategy_has_no_solution():
    """Task-2 is printed with alpha among its variables: the secret itself, and a larger tau is always better."""
    places = (1.5, 2.0, 10.0, 1000.0)
    losses = [printed.task_1((1.0, 0.0), 0.5 / tau, 1 - 0.5 / tau) for tau in places]
    assert losses == [pytest.approx(-math.log(1 - 0.5 / tau), rel=1e-12) for tau in places]
    assert sorted(losses, reverse=True) == losses
    assert 0 < losses[-1] < 1e-3  # 0 is the infimum, and no tau has it


def test_theorem_2_ii_without_a_strategy_is_true():
    """A posterior inside the set for some tau: the release is epsilon(tau)-private, in 200 random cases."""
    rng = np.random.default_rng(2)
    for _ in range(200):
        prior, channel = rng.dirichlet(np.full(2, 3.0)), rng.dirichlet(np.full(3, 3.0), 2)
        told = posteriors(prior, channel)
        ratio = told / prior[:, None]
        tau = float(max(ratio.max(), 1 / ratio.min())) * (1 + 1e-9)
        assert all(printed.in_pi(one, prior, tau, 0) for one in told.T)
        truth = World(data=np.eye(2)).release(channel).epsilon(0)
        assert truth.lower <= printed.epsilon_of(tau, prior)


def test_theorem_2_iii_only_if_fails():
    """Three equal secrets, randomized response with odds 2.4: log 2.5-private, and outside Pi[1.5, 0]."""
    prior = [1 / 3] * 3
    channel = randomized_response(3, math.log(2.4))
    world = World(data=np.eye(3))
    assert world.release(channel).epsilon(0).upper < printed.epsilon_of(1.5, prior) == pytest.approx(math.log(2.5))
    ratio = posteriors(prior, channel) * 3
    assert ratio.max() == pytest.approx(2.4 / 4.4 * 3, rel=1e-12)
    for posterior in posteriors(prior, channel).T:
        assert not printed.in_pi(posterior, prior, 1.5, 0)
    # so tau = 1.5 is no solution of Task-2: its best response (1/2, 1/4, 1/4) has a larger loss than the posterior
    truth = 2.4 / 4.4
    inside = -(truth * math.log(1 / 2) + (1 - truth) * math.log(1 / 4))
    posterior_loss = -(truth * math.log(truth) + (1 - truth) * math.log((1 - truth) / 2))
    assert ratio.max() > 1.6
    assert inside > posterior_loss + 1e-3


def test_task_2_as_printed_has_no_largest_solution():
    """Its objective does not contain tau: once the posterior is in the set, every larger tau is a solution as well."""
    prior, channel = np.array([0.5, 0.5]), np.array([[0.7, 0.3], [0.3, 0.7]])
    joint = prior[:, None] * channel
    entropy = -(0.7 * math.log(0.7) + 0.3 * math.log(0.3))
    assert printed.task_2(joint, 1.2) > entropy + 1e-3
    for tau in (5 / 3, 2.0, 100.0):
        assert printed.task_2(joint, tau) == pytest.approx(entropy, rel=1e-12)
    truth = World(data=np.eye(2)).release(channel).epsilon(0)
    assert truth.upper == pytest.approx(math.log(7 / 3), rel=1e-12)
    assert printed.epsilon_of(100.0, prior) > 5 > truth.upper  # "the tightest privacy parameter"
