"""Plans under a Markov chain: the theory's numbers, and brute force over all sequences of one person."""

import itertools
import math

import numpy as np
import pytest

import quiltwork as qw
from quiltwork import pufferfish as pf
from quiltwork.errors import InvalidParameter, Unsupported
from quiltwork.joined.coupling import numbers_apart, survival
from quiltwork.joined.sides import Sides


def hourly(loss, hours=24, states=2):
    """A plan that counts, for each hour, the rows in state 1."""
    t = qw.Table(person=qw.Id(), hour=qw.Int(0, hours - 1), state=qw.Cat(*range(states)))
    plan = qw.Plan(t, neighbors=qw.add_remove())
    for hour in range(hours):
        count(plan, f"hour {hour}", (t.hour == hour) & (t.state == 1), loss)
    return plan


def count(plan, name, where, loss):
    plan.add(name, where=where, count=True, loss=loss, holds=qw.on_input(qw.add_remove()))


def stays(chance, length=24):
    return pf.MarkovChain([[chance, 1 - chance], [1 - chance, chance]], length=length)


def under(plan, prior, **options):
    return plan.guarantee(prior=prior, person=plan.table.person, when=plan.table.hour, **options)


# ---- theory/joining.md section 0 and reference/joining.json


def test_laplace_noise_is_exact():
    found = under(hourly(qw.laplace(10.0)), stays(0.8)).epsilon(0.0)
    assert found.upper == pytest.approx(0.3967621532961694, rel=1e-9)


@pytest.mark.parametrize(
    ("stay", "sigma", "printed"), [(0.8, 40.0, 0.2801539291617154), (0.9, 10.0, 1.739255900748175)]
)
def test_gaussian_noise_by_coupling(stay, sigma, printed):
    found = under(hourly(qw.gaussian(sigma)), stays(stay)).epsilon(1e-6)
    assert printed * (1 - 1e-9) <= found.upper <= printed * (1 + 2e-5)
    told = {40.0: 0.134459, 10.0: 0.880394}[sigma]  # by a weighted sum of all hours
    assert 0.95 * told <= found.lower <= 1.05 * told


def test_large_losses_by_propagation():
    assert under(hourly(qw.gaussian(4.0)), stays(0.8)).epsilon(1e-6).upper < 3.26  # coupling alone: 3.653


def test_totals_that_several_hours_touch():
    plan = hourly(qw.gaussian(20.0))
    t = plan.table
    for begin in range(0, 24, 6):
        count(plan, f"from {begin}", t.hour.between(begin, begin + 6) & (t.state == 1), qw.gaussian(60.0))
    promise = under(plan, stays(0.9))
    assert promise.epsilon(1e-6).upper == pytest.approx(1.057788839735701, rel=5e-5)
    assert "hour" in promise.witness


def test_three_states_of_which_a_change_moves_two_counts():
    t = qw.Table(person=qw.Id(), hour=qw.Int(0, 9), state=qw.Cat(0, 1, 2))
    plan = qw.Plan(t, neighbors=qw.add_remove())
    for hour, state in itertools.product(range(10), range(3)):
        count(plan, f"{hour}, {state}", (t.hour == hour) & (t.state == state), qw.gaussian(15.0))
    chain = pf.MarkovChain([[0.7, 0.2, 0.1], [0.2, 0.6, 0.2], [0.1, 0.3, 0.6]], length=10)
    assert under(plan, chain).epsilon(1e-5).upper == pytest.approx(0.8335819999814281, rel=5e-5)


# ---- brute force


def chain_of(rng, states, length):
    matrix = rng.dirichlet(np.ones(states) * rng.uniform(0.4, 3), size=states) * 0.96 + 0.04 / states
    initial = "stationary" if rng.random() < 0.5 else rng.dirichlet(np.ones(states))
    return pf.MarkovChain(matrix / matrix.sum(axis=1, keepdims=True), initial=initial, length=length)


def responses(rng, length, states):
    """Queries that answer, by randomised response, whether a count passes a bound: ticks, states, bound, epsilon."""
    found = []
    for _ in range(int(rng.integers(2, 5))):
        ticks = sorted(rng.choice(length, size=int(rng.integers(1, length + 1)), replace=False).tolist())
        kept = sorted(rng.choice(states, size=int(rng.integers(1, states)), replace=False).tolist())
        found.append((ticks, kept, int(rng.integers(1, len(ticks) + 1)), float(rng.uniform(0.1, 1.0))))
    return found


def law(queries, rows):
    """Of all answers together, given one person's rows."""
    product = np.ones(1)
    for ticks, kept, bound, epsilon in queries:
        yes = sum(rows[t] in kept for t in ticks) >= bound
        right = math.exp(epsilon) / (1 + math.exp(epsilon))
        product = np.multiply.outer(product, [right, 1 - right] if yes else [1 - right, right]).ravel()
    return product


def given(chain, entry, value, queries):
    """The law of the answers given one entry."""
    start = chain.stationary if isinstance(chain.initial, str) else chain.initial
    total, weight = 0.0, 0.0
    for rows in itertools.product(range(len(chain.states)), repeat=chain.length):
        if rows[entry] == value:
            p = float(start[rows[0]]) * math.prod(float(chain.matrix[a, b]) for a, b in itertools.pairwise(rows))
            total, weight = total + p * law(queries, rows), weight + p
    return total / weight


@pytest.mark.parametrize("seed", range(25))
def test_brute_force(seed):
    rng = np.random.default_rng([20261118, seed])
    states, length = int(rng.integers(2, 4)), int(rng.integers(2, 5))
    chain, queries = chain_of(rng, states, length), responses(rng, length, states)
    t = qw.Table(person=qw.Id(), hour=qw.Int(0, length - 1), state=qw.Cat(*range(states)))
    plan = qw.Plan(t, neighbors=qw.add_remove())
    for index, (ticks, kept, _, epsilon) in enumerate(queries):
        count(plan, f"q{index}", t.hour.isin(ticks) & t.state.isin(kept), qw.pure(epsilon))
    promise = under(plan, chain)
    epsilons = np.array([0.0, 0.1, 0.3, 0.8])
    allowed, pure = promise.delta(epsilons).upper, promise.epsilon(0.0).upper
    for entry in range(length):
        laws = [given(chain, entry, value, queries) for value in range(states)]
        for one, other in itertools.permutations(laws, 2):
            assert np.log(one / other).max() <= pure + 1e-9
            really = np.maximum(one[None, :] - np.exp(epsilons)[:, None] * other[None, :], 0.0).sum(axis=1)
            assert np.all(really <= allowed + 1e-12)


def test_the_brute_force_can_fail():
    """One entry alone, without its neighbours, is too little: correlated entries tell more than it allows."""
    queries = [([0], [1], 1, 0.5), ([1], [1], 1, 0.5), ([2], [1], 1, 0.5)]
    chain = stays(0.9, 3)
    one, other = (given(chain, 1, value, queries) for value in (1, 0))
    assert np.log(one / other).max() > 0.5 + 1e-3


@pytest.mark.parametrize("epsilon", [0.0, 0.1, 0.4])
def test_a_weighted_sum_tells_no_more_than_both_hours_do(epsilon):
    """Two hours, all of the plane: the law of both noisy counts given one hour."""
    matrix, sigmas = [[0.8, 0.2], [0.3, 0.7]], (1.5, 2.5)
    t = qw.Table(person=qw.Id(), hour=qw.Int(0, 1), state=qw.Cat(0, 1))
    plan = qw.Plan(t, neighbors=qw.add_remove())
    for hour, sigma in enumerate(sigmas):
        count(plan, f"{hour}", (t.hour == hour) & (t.state == 1), qw.gaussian(sigma))
    found = under(plan, pf.MarkovChain(matrix, length=2)).delta(epsilon)
    back = {1: 0.4 * 0.7 / (0.6 * 0.2 + 0.4 * 0.7), 0: 0.4 * 0.3 / (0.6 * 0.8 + 0.4 * 0.3)}  # P(x_0 = 1 | x_1)
    axes = [np.linspace(-8 * sigma, 1 + 8 * sigma, 1501) for sigma in sigmas]
    normal = [[np.exp(-0.5 * ((a - m) / s) ** 2) / s for m in (0, 1)] for a, s in zip(axes, sigmas, strict=True)]
    cell = (axes[0][1] - axes[0][0]) * (axes[1][1] - axes[1][0]) / (2 * math.pi)
    first = [np.multiply.outer(normal[0][v], matrix[v][0] * normal[1][0] + matrix[v][1] * normal[1][1]) for v in (0, 1)]
    second = [np.multiply.outer((1 - back[v]) * normal[0][0] + back[v] * normal[0][1], normal[1][v]) for v in (0, 1)]
    truths = [
        cell * np.maximum(one - math.exp(epsilon) * two, 0.0).sum()
        for laws in (first, second)
        for one, two in (laws, laws[::-1])
    ]
    assert 0.8 * max(truths) <= found.lower <= max(truths) * (1 + 1e-4) <= found.upper * (1 + 2e-4)


# ---- couplings


@pytest.mark.parametrize("seed", range(6))
def test_survival_is_no_less_than_what_copies_do(seed):
    """Follow all pairs of copies step by step, their masses listed one by one."""
    rng = np.random.default_rng([3, seed])
    chain = chain_of(rng, 3, 5)
    sides = Sides(chain, 5)
    for steps in (sides.right(1), sides.left(4)):
        chances = survival(steps, len(steps), 3)
        for a, b in itertools.permutations(range(3), 2):
            apart = {(a, b): 1.0}
            for n, step in enumerate(steps, start=1):
                after = {}
                for (x, y), mass in apart.items():
                    rest = (
                        np.maximum(step.matrix[x] - step.matrix[y], 0),
                        np.maximum(step.matrix[y] - step.matrix[x], 0),
                    )
                    parted = rest[0].sum()
                    for u, v in itertools.product(range(3), repeat=2):
                        if rest[0][u] > 0 and rest[1][v] > 0:
                            after[u, v] = after.get((u, v), 0.0) + mass * rest[0][u] * rest[1][v] / parted
                apart = after
                assert sum(apart.values()) <= chances[n, a, b] <= sum(apart.values()) + 1e-12
    law_of = numbers_apart(chances)
    assert np.all(law_of >= 0)
    assert np.all(law_of.sum(axis=0)[~np.eye(3, dtype=bool)] >= 1.0)


def test_nothing_is_known_of_what_precedes_any_first_law():
    plan, chain = hourly(qw.gaussian(20.0), hours=6), pf.MarkovChain([[0.9, 0.1], [0.2, 0.8]], initial="any", length=6)
    loose = under(plan, chain).epsilon(1e-6).upper
    assert under(plan, pf.MarkovChain([[0.9, 0.1], [0.2, 0.8]], length=6)).epsilon(1e-6).upper <= loose
    assert loose <= (6 * qw.gaussian(20.0)).epsilon(1e-6).upper * (1 + 1e-6)


# ---- words and refusals


def test_words_say_what_is_hidden_and_assumed():
    promise = under(hourly(qw.gaussian(20.0), hours=4), stays(0.8, 4))
    assert promise.protects == "the state of one person at one hour, one value against another"
    assert any("exactly one row for each hour" in line for line in promise.assumes)
    assert "epsilon is at most" in promise.explain(1e-6)


def test_what_cannot_be_asked_is_refused():
    plan = hourly(qw.gaussian(20.0), hours=4)
    t = plan.table
    with pytest.raises(InvalidParameter, match="one for each tick"):
        under(plan, stays(0.8, 5))
    with pytest.raises(InvalidParameter, match="Id column"):
        plan.guarantee(prior=stays(0.8, 4), person=t.state, when=t.hour)
    with pytest.raises(InvalidParameter, match="changes"):
        under(plan, stays(0.8, 4), changes=["hour"])
    with pytest.raises(InvalidParameter, match="prior"):
        plan.guarantee(person=t.person, when=t.hour)
    with pytest.raises(InvalidParameter, match="person and when"):
        plan.guarantee(prior=stays(0.8, 4))
    with pytest.raises(InvalidParameter, match="prior"):
        plan.guarantee(prior="chain", person=t.person, when=t.hour)
    sampled = qw.Plan(t, neighbors=qw.add_remove())
    count(sampled, "sampled", t.state == 1, qw.poisson(qw.gaussian(2.0), 0.1))
    with pytest.raises(Unsupported, match="symmetric"):
        under(sampled, stays(0.8, 4)).epsilon(1e-6)
