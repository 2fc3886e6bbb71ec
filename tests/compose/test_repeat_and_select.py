"""The best of a random number of runs: brute force over scores on finite laws, attained ends, laws of the number."""

import itertools
import math

import numpy as np
import pytest
from scipy.stats import norm

import quiltwork as qw
from quiltwork.compose.repeat_and_select import _log_inverse_gamma
from quiltwork.errors import InvalidParameter, Unsupported
from quiltwork.spec import dumps, loads

LAWS = [(2.0, 1.0), (6.0, 1.0), (3.0, 0.0), (4.0, -0.5), (3.0, 2.5), (1.5, math.inf), (6.0, math.inf)]


def masses(mean, shape, most=4000):
    """P(K = k), k = 0, 1, ..., from the recursion of its law; gamma by its own mean."""
    k = np.arange(1, most)
    if shape == math.inf:
        logs = np.concatenate(([0.0], np.cumsum(np.log(mean / k)))) - mean
        return np.exp(logs)
    low, high = 1e-9, 1.0
    for _ in range(200):
        gamma = (low + high) / 2
        weights = np.exp(np.concatenate(([0.0], np.cumsum(np.log((1 - gamma) * (k[:-1] + shape) / (k[:-1] + 1))))))
        found = float((k * weights).sum() / weights.sum())
        low, high = (gamma, high) if found > mean else (low, gamma)
    return np.concatenate(([0.0], weights / weights.sum()))


def winner(p, order, runs):
    """The law of the best outcome by this order of scores, and of "no run", from the law of K alone."""
    below = np.cumsum(p[list(order)])
    laws = np.clip(below, 0, 1)[:, None] ** np.arange(runs.size) @ runs - runs[0]
    found = np.zeros(p.size + 1)
    found[list(order)] = np.diff(np.concatenate(([0.0], laws)))
    found[-1] = runs[0]
    return found


def hockey_stick(p, q, epsilon):
    return float(np.maximum(p - math.exp(epsilon) * q, 0).sum())


@pytest.mark.parametrize(("mean", "shape"), LAWS)
def test_no_order_of_scores_is_worse(mean, shape):
    rng = np.random.default_rng(int(10 * mean))
    runs = masses(mean, shape, most=400)
    assert runs.sum() == pytest.approx(1, abs=1e-9)
    assert (runs * np.arange(runs.size)).sum() == pytest.approx(mean, rel=1e-9)
    for _ in range(4):
        p, q = rng.dirichlet(np.full(4, 0.8)) * 0.9 + 0.025, rng.dirichlet(np.full(4, 3.0)) * 0.9 + 0.025
        bound = qw.repeat_and_select(qw.pair(p, q), mean, shape)
        epsilons = np.linspace(0, 4, 17)
        most = np.asarray(bound.delta(epsilons).upper)
        for order in itertools.permutations(range(4)):
            one, two = winner(p, order, runs), winner(q, order, runs)
            for at, delta in zip(epsilons, most, strict=True):
                assert max(hockey_stick(one, two, at), hockey_stick(two, one, at)) <= delta + 1e-12


@pytest.mark.parametrize(("mean", "shape"), LAWS)
def test_gamma_gives_at_least_the_mean(mean, shape):
    if shape == math.inf:
        return
    gamma = math.exp(-_log_inverse_gamma(mean, shape))
    k = np.arange(1, 4000)
    weights = np.exp(np.concatenate(([0.0], np.cumsum(np.log((1 - gamma) * (k[:-1] + shape) / (k[:-1] + 1))))))
    assert (k * weights).sum() / weights.sum() == pytest.approx(mean, rel=1e-9)


@pytest.mark.parametrize(
    ("sigma", "mean", "shape", "attained", "most"),
    [
        (1.0, 2.0, 1.0, 5.0302, 5.563),
        (2.0, 5.0, 1.0, 2.4214, 3.054),
        (8.0, 20.0, 1.0, 0.5836, 0.876),
        (2.0, 5.0, math.inf, 2.4214, 3.410),
    ],
)
def test_between_what_is_attained_and_what_renyi_divergences_bound(sigma, mean, shape, attained, most):
    """Scores that rise with the output, and the bounds of Papernot and Steinke as dp_accounting has them."""
    x = np.linspace(-14, 20, 400_001)
    p, q = norm.pdf(x - 1 / sigma), norm.pdf(x)
    one, two = norm.cdf(x - 1 / sigma), norm.cdf(x)
    rise = (lambda f: np.exp(mean * (f - 1)) * mean) if shape else None
    if shape == 1.0:
        rise = lambda f: (1 / mean) / (1 - (1 - 1 / mean) * f) ** 2  # noqa: E731
    found = float(qw.repeat_and_select(qw.gaussian(sigma), mean, shape).epsilon(1e-6).upper)
    for p_law, q_law in ((p * rise(one), q * rise(two)), (q * rise(two), p * rise(one))):
        assert hockey_stick(p_law, q_law, found) * (x[1] - x[0]) <= 1e-6
        assert hockey_stick(p_law, q_law, attained * 1.001) * (x[1] - x[0]) <= 1.01e-6
    assert hockey_stick(p * rise(one), q * rise(two), attained * 0.999) * (x[1] - x[0]) > 0.99e-6
    assert attained < found < most
    dp_event = pytest.importorskip("dp_accounting.dp_event")
    from dp_accounting.rdp import RdpAccountant

    peer = RdpAccountant().compose(dp_event.RepeatAndSelectDpEvent(dp_event.GaussianDpEvent(sigma), mean, shape))
    assert found < 0.9 * peer.get_epsilon(1e-6)


def test_one_run_is_the_run():
    run = 3 * qw.gaussian(4.0)
    assert qw.repeat_and_select(run, 1) is run
    assert qw.repeat_and_select(qw.compose(), 5) == qw.compose()


def test_more_runs_cost_more():
    ends = [float(qw.repeat_and_select(qw.gaussian(3.0), mean).epsilon(1e-6).upper) for mean in (1, 1.001, 2, 10, 100)]
    assert ends == sorted(ends)
    assert ends[1] == pytest.approx(ends[0], rel=5e-3)


def test_compositions_and_reveals():
    run = 50 * qw.poisson(qw.gaussian(1.5), 0.05) + qw.laplace(10.0)
    tuned = qw.repeat_and_select(run, 4)
    assert float(tuned.epsilon(1e-6).upper) > float(run.epsilon(1e-6).upper)
    assert loads(dumps(tuned)) == tuned
    assert float((tuned + tuned).epsilon(1e-6).upper) < 2 * float(tuned.epsilon(0.4e-6).upper)
    revealed = qw.repeat_and_select(qw.approximate(1.0, 1e-8), 5)
    assert 5e-8 <= float(revealed.delta(math.inf).upper) < 5.1e-8
    assert math.isinf(float(revealed.epsilon(4e-8).lower))
    assert float(qw.repeat_and_select(qw.pure(1.0), 5).epsilon(0.0).upper) < 3.0  # (2 + shape) epsilon, always


def test_the_advantage_is_that_of_all_runs_at_most():
    one, best = qw.gaussian(50.0).advantage(), qw.repeat_and_select(qw.gaussian(50.0), 3).advantage()
    assert float(one.upper) < float(best.upper) <= 3 * float(one.upper) * (1 + 1e-12)


@pytest.mark.parametrize(
    ("mean", "shape"),
    [(0.5, 1.0), (0.0, math.inf), (-1, 1.0), (math.nan, 1.0), (1e9, 1.0), (2, -1.0), (2, math.nan), (2, 1e9), (2, "1")],
)
def test_bad_numbers_are_refused(mean, shape):
    with pytest.raises(InvalidParameter, match=r"mean|shape"):
        qw.repeat_and_select(qw.gaussian(1.0), mean, shape)


def test_what_is_no_loss_is_refused():
    with pytest.raises(InvalidParameter, match="loss"):
        qw.repeat_and_select(1.0, 2)
    with pytest.raises(Unsupported, match="direction"):
        qw.repeat_and_select(qw.gaussian(1.0).direction("add"), 2)
    with pytest.raises(Unsupported):
        qw.repeat_and_select(qw.approximate(1.0, 1.0), 2)
