"""Lower ends of plans whose counts span several ticks: against all sequences, and never above the upper end."""

import itertools
import math

import numpy as np
import pytest
from scipy.special import ndtr
from tests.examples import seeds

import quiltwork as qw
from quiltwork import pufferfish as pf

ADD = qw.on_input(qw.add_remove())


def table(hours, *states):
    return qw.Table(person=qw.Id(), hour=qw.Int(0, hours - 1), state=qw.Cat(*states))


def told(plan, prior):
    return plan.guarantee(prior=prior, person="person", when="hour")


def laws_of(matrix, start, signs):
    """The law of the sum of the ticks' signs (0, 1, or 1 - x) given each value of each entry."""
    length = len(signs)
    found = np.zeros((length, 2, length + 1))
    for word in itertools.product((0, 1), repeat=length):
        chance = start[word[0]] * math.prod(matrix[a][b] for a, b in itertools.pairwise(word))
        count = sum(x if sign == 1 else 1 - x if sign == -1 else 0 for x, sign in zip(word, signs, strict=True))
        for entry, value in enumerate(word):
            found[entry, value, count] += chance
    return found / found.sum(axis=2, keepdims=True)


@pytest.mark.parametrize("seed", seeds(30, least=6))
def test_within_what_a_count_really_tells(seed):
    rng = np.random.default_rng([77, seed])
    length, gaussian = int(rng.integers(2, 7)), bool(rng.random() < 0.5)
    stay = rng.uniform(0.3, 0.95, 2)
    matrix = [[stay[0], 1 - stay[0]], [1 - stay[1], stay[1]]]
    initial = None if rng.random() < 0.5 else rng.dirichlet([2, 2]).tolist()
    start = [1 - stay[1], 1 - stay[0]] if initial is None else initial
    start = [one / sum(start) for one in start]
    signs, size = rng.choice([-1, 0, 1, 1], length).tolist(), float(rng.uniform(0.7, 4.0))
    if sum(sign != 0 for sign in signs) < 2:
        signs[:2] = [1, 1]
    t = table(length, "home", "out")
    hours = {sign: t.hour.isin([h for h, one in enumerate(signs) if one == sign]) for sign in (-1, 1) if sign in signs}
    states = {1: t.state == "out", -1: t.state == "home"}
    where = None
    for sign, these in hours.items():
        part = these & states[sign]
        where = part if where is None else where | part
    plan = qw.Plan(t, neighbors=qw.add_remove())
    plan.add("total", where=where, count=True, loss=(qw.gaussian if gaussian else qw.laplace)(size), holds=ADD)
    promise = told(plan, pf.MarkovChain(matrix, initial=initial or "stationary", length=length))
    laws = laws_of(matrix, start, signs)
    cuts = np.linspace(-9 * size, length + 9 * size, 20_001)
    gap = cuts[:, None] - np.arange(length + 1)
    below = (
        ndtr(gap / size)
        if gaussian
        else np.where(gap < 0, 0.5 * np.exp(-np.abs(gap) / size), 1 - 0.5 * np.exp(-np.abs(gap) / size))
    )
    cells = np.diff(below, axis=0, prepend=0.0, append=1.0)  # a little less than the noise itself tells
    for epsilon in (0.0, 0.1, 0.5):
        truth = max(
            float(np.maximum(cells @ law[u] - math.exp(epsilon) * (cells @ law[1 - u]), 0.0).sum())
            for law in laws
            for u in (0, 1)
        )
        found = promise.delta(epsilon)
        assert found.lower <= truth * (1 + 1e-4) + 1e-9
        assert truth <= found.upper * (1 + 1e-9)
        assert found.lower >= 0.8 * truth - 1e-9  # a threshold is nearly the best event


def test_a_total_is_known_within_a_few_percent():
    """What was [0, 2.29] before: nothing was said about queries of several ticks."""
    chain, t = pf.MarkovChain([[0.9, 0.1], [0.1, 0.9]], length=8), table(8, "home", "out")
    noisy, exact = (
        qw.Plan(t, neighbors=qw.user("person", 8)).add("n", where=t.state == "out", count=True, loss=loss, holds=ADD)
        for loss in (qw.gaussian(10.0), qw.laplace(10.0))
    )
    found = told(noisy, chain).epsilon(1e-6)
    assert 2.2 < found.lower < found.upper < 2.3
    found = told(exact, chain).epsilon(0.0)
    assert found.upper == pytest.approx(0.5298905358, rel=1e-8)
    assert found.lower == pytest.approx(found.upper, rel=1e-8)


def test_more_queries_tell_no_less():
    chain, t = pf.MarkovChain([[0.9, 0.1], [0.1, 0.9]], length=8), table(8, "home", "out")
    plan = qw.Plan(t, neighbors=qw.user("person", 8))
    plan.split("hourly", by=t.hour, where=t.state == "out", count=True, loss=qw.gaussian(10.0), holds=ADD)
    hourly = told(plan, chain).epsilon(1e-6)
    plan.add("total", where=t.state == "out", count=True, loss=qw.gaussian(200.0), holds=ADD)
    both = told(plan, chain).epsilon(1e-6)
    assert both.lower >= hourly.lower > 0.8
    assert both.upper >= hourly.upper


def test_hourly_sums_of_numbers_are_attained_at_delta_0():
    chain = pf.MarkovChain([[0.9, 0.1], [0.1, 0.9]], length=8)
    t = qw.Table(person=qw.Id(), hour=qw.Int(0, 7), state=qw.Int(0, 1))
    plan = qw.Plan(t, neighbors=qw.user("person", 8))
    plan.sum("s", of=t.state, clip=(0, 1), by=t.hour, noise=qw.noise.laplace(10.0))
    found = told(plan, chain).epsilon(0.0)
    assert found.lower == pytest.approx(found.upper, rel=1e-6)
    assert found.upper == pytest.approx(0.5298905358, rel=1e-8)


@pytest.mark.parametrize("state", [("a", "b", "c"), ("a", "b")])
def test_nothing_is_said_where_contents_or_noise_are_not_known(state):
    size = len(state)
    chain = pf.MarkovChain((np.eye(size) * 0.7 + 0.3 / size).tolist(), length=3)
    t = table(3, *state)
    plan = qw.Plan(t, neighbors=qw.user("person", 3))
    loss = qw.gaussian(3.0) if size == 3 else qw.pure(0.4)
    plan.add("n", where=t.state == "a", count=True, loss=loss, holds=ADD)
    assert told(plan, chain).epsilon(1e-2).lower == 0.0
