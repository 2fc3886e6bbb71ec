"""Filters against exact enumeration: adaptive trees of finite mechanisms whose path sums keep the limit.

A tree is a list of leaves and of prefixes with their exact masses in both worlds. Mechanisms and their parameters
depend on earlier outputs. The same checks must catch a filter that admits 20 % more than it says.
"""

import math
from fractions import Fraction
from itertools import pairwise

import attrs
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mpmath import mp
from scipy.special import ndtr
from tests.examples import examples

import quiltwork as qw
from quiltwork.compose.filters.opening import (
    KINDS,
    GaussianFilter,
    PureFilter,
    RenyiFilter,
    ZeroConcentratedFilter,
    added,
    bounded,
    filter_for,
    filter_from_json,
    gdp_filter,
    pure_filter,
    renyi_filter,
    zcdp_filter,
)
from quiltwork.errors import InvalidParameter, Unreachable, Unsupported

EPSILONS = np.array([-1.0, -0.3, 0.0, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 0.9, 1.0, 1.2, 1.5, 2.0, 2.5, 3.0])
TENTH = Fraction(1, 10)


# ---- finite mechanisms: (loss, law in the true world, law in the other)


def response(epsilon):
    """Randomized response."""
    p = 1 / (1 + math.exp(-epsilon))
    return qw.pure(epsilon), np.array([p, 1 - p]), np.array([1 - p, p])


def three_ways(epsilon):
    """A pure mechanism of three outputs: with some chance nothing is said."""
    _, p, q = response(epsilon)
    return qw.pure(epsilon), np.append(0.7 * p, 0.3), np.append(0.7 * q, 0.3)


def leaky(epsilon, delta):
    """The worst (epsilon, delta) mechanism."""
    _, p, q = response(epsilon)
    laws = [np.concatenate(([a], (1 - delta) * law, [b])) for law, a, b in ((p, delta, 0.0), (q, 0.0, delta))]
    return qw.approximate(epsilon, delta), *laws


def blurred(epsilon, delta):
    """(epsilon, delta)-DP although no outcome reveals: its loss is above epsilon half of the time."""
    q = (0.5 - delta) * math.exp(-epsilon)
    return qw.approximate(epsilon, delta), np.array([0.5, 0.5]), np.array([q, 1 - q])


def skewed(epsilon):
    """An asymmetric pair, known by its laws."""
    p, q = np.array([0.5, 0.3, 0.2]), np.array([0.5, 0.3, 0.2]) * np.exp(np.array([-1.0, 0.5, 0.2]) * epsilon)
    return qw.pair(p, q / q.sum()), p, q / q.sum()


def binned(mu):
    """Gaussian noise seen through 12 bins."""
    edges = np.concatenate(([-np.inf], np.linspace(-2.0, 2.0, 11) + mu / 2, [np.inf]))
    return qw.gdp(mu), np.diff(ndtr(edges - mu)), np.diff(ndtr(edges))


def gaussian_cells(sigma):
    """The same as noise of a given size."""
    _, p, q = binned(1 / sigma)
    return qw.gaussian(sigma), p, q


# ---- trees


@attrs.frozen
class Tree:
    p: np.ndarray
    q: np.ndarray
    prefixes: list  # (path, p, q, spent) of every prefix

    @property
    def ends(self):
        return [(self.p, self.q), (self.q, self.p)]


def grow(rule, zero):
    """All paths of an adaptive plan: rule(path, spent) gives (mechanism, cost), or None at the end."""
    leaves, prefixes, todo = [], [], [((), 1.0, 1.0, zero)]
    while todo:
        path, p, q, spent = todo.pop()
        step = rule(path, spent)
        if path:
            prefixes.append((path, p, q, spent))
        if step is None:
            leaves.append((p, q))
            continue
        (_, first, second), cost = step
        total = added(spent, cost)
        todo += [((*path, i), p * a, q * b, total) for i, (a, b) in enumerate(zip(first, second, strict=True))]
    p, q = (np.array(column) for column in zip(*leaves, strict=True))
    return Tree(p, q, prefixes)


def fits(spent, cost, limit):
    return all(s + c <= most for s, c, most in zip(spent, cost, limit, strict=True))


def filling(filter_, make, spent, limit):
    """The largest mechanism of a family that still fits, or None: a plan that leaves nothing."""
    low, high = 0.0, 8.0
    for _ in range(36):
        middle = (low + high) / 2
        low, high = (middle, high) if fits(spent, filter_.cost(make(middle)[0]), limit) else (low, middle)
    return make(low) if low > 1e-3 else None


def random_tree(filter_, makers, rng, limit=None, depth=3):
    """Mechanisms and parameters chosen by the outputs so far; `limit` may be above that of the filter."""
    limit = filter_.limit if limit is None else limit
    seed = int(rng.integers(2**32))

    def rule(path, spent):
        if len(path) == depth:
            return None
        chosen = np.random.default_rng([seed, *path, 99])
        make = makers[int(chosen.integers(len(makers)))]
        if len(path) == depth - 1 or chosen.random() < 0.3:
            made = filling(filter_, make, spent, limit)
        else:
            made = make(float(chosen.uniform(0.05, 0.9)))
        if made is None or not fits(spent, filter_.cost(made[0]), limit):
            return None
        loss, p, q = made
        return ((loss, q, p) if chosen.random() < 0.5 else made), filter_.cost(loss)

    return grow(rule, tuple(Fraction(0) for _ in filter_.limit))


def stick(p, q, epsilon):
    return math.fsum(np.maximum(p - math.exp(epsilon) * q, 0.0))


def divergence(p, q, order):
    """Of the part that q covers."""
    both = (p > 0) & (q > 0)
    return math.log(math.fsum(p[both] ** order * q[both] ** (1 - order))) / (order - 1)


def broken_promises(filter_, tree):
    """Epsilons at which the tree is above the promise, and orders at which its divergence is."""
    most = filter_.promise.delta(EPSILONS).upper
    wrong = [e for p, q in tree.ends for e, d in zip(EPSILONS, most, strict=True) if stick(p, q, e) > d + 1e-13]
    if isinstance(filter_, ZeroConcentratedFilter):
        rho = float(filter_.limit[0])
        wrong += [a for p, q in tree.ends for a in (1.01, 1.5, 2.0, 8.0) if divergence(p, q, a) > a * rho + 1e-12]
    if isinstance(filter_, RenyiFilter):
        limit = float(filter_.limit[0])
        wrong += [filter_.order for p, q in tree.ends if divergence(p, q, filter_.order) > limit + 1e-12]
    return wrong


def with_delta(delta):
    return [response, three_ways, lambda e: leaky(e, delta), lambda e: blurred(e, delta)]


CASES = {
    "pure": (pure_filter(1.0), [response, three_ways]),
    "pure delta": (pure_filter(1.0, 0.1), with_delta(0.02)),
    "zcdp": (zcdp_filter(0.1), [response, three_ways, skewed, lambda t: gaussian_cells(1 / max(t, 1e-3))]),
    "gdp": (gdp_filter(0.8), [response, lambda t: binned(max(t, 1e-3))]),
    "renyi": (renyi_filter(6.0, 0.5), [response, three_ways, skewed, lambda t: binned(max(t, 1e-3))]),
    "renyi low": (renyi_filter(1.5, 0.2), [response, skewed]),
    "renyi reveal": (renyi_filter(4.0, 0.4, 0.1), with_delta(0.02)),
}


@pytest.mark.parametrize("name", CASES)
def test_adaptive_trees_keep_the_promise(name):
    filter_, makers = CASES[name]
    rng = np.random.default_rng(8)
    trees = [random_tree(filter_, makers, rng) for _ in range(examples(24))]
    assert max(len(tree.p) for tree in trees) >= 8
    assert all(abs(math.fsum(tree.p) - 1) < 1e-12 and abs(math.fsum(tree.q) - 1) < 1e-12 for tree in trees)
    assert all(not broken_promises(filter_, tree) for tree in trees)


@pytest.mark.parametrize("name", CASES)
def test_a_filter_that_admits_a_fifth_more_is_caught(name):
    filter_, makers = CASES[name]
    rng = np.random.default_rng(8)
    beyond = tuple(amount * Fraction(6, 5) for amount in filter_.limit)
    trees = (random_tree(filter_, makers, rng, beyond, depth) for depth in (1, 2, 3) for _ in range(6))
    assert any(broken_promises(filter_, tree) for tree in trees)


# ---- theory/granularity.md section 3.2: the worst fixed path is no bound


def counterexample(filter_):
    """RR(1); after output 0 another RR(1), else a mechanism that reveals with probability 0.05."""
    zero = tuple(Fraction(0) for _ in filter_.limit)

    def rule(path, spent):
        if len(path) == 2:
            return None
        made = leaky(0.0, 0.05) if path == (1,) else response(1.0)
        return made, filter_.cost(made[0])

    return grow(rule, zero)


def test_the_worst_fixed_path_is_below_the_adaptive_plan():
    filter_ = pure_filter(2.0, 0.05)
    tree = counterexample(filter_)
    truth = max(stick(p, q, 1.5) for p, q in tree.ends)
    assert truth == pytest.approx(0.2237354, abs=1e-7)
    paths = [2 * qw.pure(1.0), qw.pure(1.0) + qw.approximate(0.0, 0.05)]
    assert max(path.delta(1.5).upper for path in paths) == pytest.approx(0.2102884, abs=1e-7)
    assert max(path.delta(1.5).upper for path in paths) < truth  # the shortcut fails


@pytest.mark.parametrize(
    "make", [lambda: pure_filter(2.0, 0.05), lambda: renyi_for_counterexample(2.0), lambda: renyi_for_counterexample(9)]
)
def test_filters_that_admit_the_counterexample_promise_no_less(make):
    filter_ = make()
    tree = counterexample(filter_)
    assert all(fits(spent, (0,) * len(spent), filter_.limit) for *_, spent in tree.prefixes)
    assert not broken_promises(filter_, tree)
    assert filter_.promise.delta(1.5).upper >= 0.2237354


def renyi_for_counterexample(order):
    cost = renyi_filter(order, 1, 0.05).cost(qw.pure(1.0))
    return renyi_filter(order, 2 * cost[0], 0.05)


@pytest.mark.parametrize("filter_", [zcdp_filter(1), gdp_filter(2), renyi_filter(3, 1), pure_filter(2)])
def test_other_filters_refuse_the_counterexample(filter_):
    filter_.cost(qw.pure(1.0))
    with pytest.raises(Unsupported):
        filter_.cost(qw.approximate(0.0, 0.05))


# ---- odometers


def chance_of_passing(tree, reading):
    """P and Q chances that the loss of some prefix is above its reading."""
    found = []
    for turned in (False, True):
        over, total = [], 0.0
        for path, p, q, spent in sorted(tree.prefixes, key=lambda prefix: len(prefix[0])):
            if turned:
                p, q = q, p
            if p == 0 or any(path[: len(earlier)] == earlier for earlier in over):
                continue
            loss = math.inf if q == 0 else math.log(p / q)
            if loss > reading(spent) + 1e-12:
                over.append(path)
                total += p
        found.append(total)
    return max(found)


@pytest.mark.parametrize("name", CASES)
def test_readings_hold_for_all_prefixes_at_once(name):
    filter_, makers = CASES[name]
    rng = np.random.default_rng(3)
    for _ in range(6):
        tree = random_tree(filter_, makers, rng)
        for delta in (0.11, 0.2, 0.5):
            assert chance_of_passing(tree, lambda spent, d=delta: filter_.reading(spent, d)) <= delta


def sudden(q):
    """A loss that Ville's inequality at order 2 describes exactly, up to about q."""
    p = np.array([0.1, 0.9])
    return qw.pair(p, np.array([q, 1 - q])), p, np.array([q, 1 - q])


def sudden_then_coins(filter_):
    """Coins are thrown just where the loss stayed small."""
    steps = [sudden(1e-6), leaky(0.0, 0.05)]

    def rule(path, spent):
        if len(path) == 2 or path == (0,):
            return None
        return steps[len(path)], filter_.cost(steps[len(path)][0])

    return grow(rule, (Fraction(0), Fraction(0)))


def test_readings_take_the_limit_of_reveals_into_account():
    filter_, delta = renyi_filter(2.0, 10, 0.05), 0.1002
    tree = sudden_then_coins(filter_)

    def by_spent(spent):  # the tempting form
        return float(spent[0]) + math.log(1 / (delta - float(spent[1])))

    assert chance_of_passing(tree, by_spent) > 1.4 * delta
    assert chance_of_passing(tree, lambda spent: filter_.reading(spent, delta)) <= delta


def test_a_reading_that_is_too_small_is_caught():
    filter_ = renyi_filter(2.0, 10)
    law = sudden(1e-6)
    tree = grow(lambda path, spent: None if path else (law, filter_.cost(law[0])), (Fraction(0), Fraction(0)))
    assert chance_of_passing(tree, lambda spent: filter_.reading(spent, 0.0999)) <= 0.0999
    assert chance_of_passing(tree, lambda spent: filter_.reading(spent, 0.0999) - 0.01) == pytest.approx(0.1)


def test_delta_is_no_bound_on_the_chance_of_a_loss_above_epsilon():
    filter_ = pure_filter(1.0, 0.01)
    law = blurred(0.5, 0.01)
    tree = grow(lambda path, spent: None if path else (law, filter_.cost(law[0])), (Fraction(0), Fraction(0)))
    assert chance_of_passing(tree, lambda spent: float(spent[0])) == pytest.approx(0.5)
    for delta in (0.0101, 0.02, 0.1, 0.6):
        assert chance_of_passing(tree, lambda spent, d=delta: filter_.reading(spent, d)) <= delta
    assert filter_.reading((Fraction(1, 2), Fraction(1, 100)), 0.02) == pytest.approx(0.5 + math.log(2))
    assert filter_.reading((Fraction(1, 2), Fraction(1, 1000)), 0.01) == math.inf
    assert filter_.reading((Fraction(3, 10), Fraction(0)), 0.0) == 0.3


def test_a_reveal_that_is_spread_out_counts_too():
    filter_ = renyi_filter(1e4, 1, 0.01)  # at so high an order the divergence is almost the largest loss
    law = blurred(0.5, 0.01)
    tree = grow(lambda path, spent: None if path else (law, filter_.cost(law[0])), (Fraction(0), Fraction(0)))
    assert chance_of_passing(tree, lambda spent: float(spent[0]) + math.log(1 / 0.01) / 9999) == pytest.approx(0.5)
    for delta in (0.0101, 0.02, 0.1):
        assert chance_of_passing(tree, lambda spent, d=delta: filter_.reading(spent, d)) <= delta


def test_readings_by_formula():
    rho, delta = 0.5, 1e-6
    rarity = math.log(1 / delta)
    alpha = 1 + math.sqrt(rarity / rho)
    expected = alpha * 0.1 + rarity / (alpha - 1)
    for filter_, spent in ((zcdp_filter(rho), TENTH), (gdp_filter(1), 2 * TENTH)):
        reading = filter_.reading((spent,), delta)
        assert expected <= reading <= expected * (1 + 1e-13)
        assert filter_.reading((Fraction(0),), delta) == 0
        assert filter_.reading((spent,), 0.0) == math.inf
        assert math.isfinite(filter_.reading((spent,), 1.0))
    filter_ = renyi_filter(5, 1)
    assert filter_.reading((TENTH, Fraction(0)), delta) == pytest.approx(0.1 + rarity / 4, rel=1e-13)
    assert filter_.reading((Fraction(0), Fraction(0)), delta) == 0
    assert pure_filter(1).reading((Fraction(0), Fraction(0)), 0.0) == 0
    assert renyi_filter(5, 1, 0.1).reading((TENTH, Fraction(0)), 0.1) == math.inf
    assert renyi_filter(5, 1, 0.1).reading((TENTH, Fraction(0)), math.nextafter(0.1, 1)) == math.inf


@pytest.mark.parametrize("filter_", [pure_filter(2, 0.1), zcdp_filter(1), gdp_filter(1), renyi_filter(3, 1, 0.1)])
def test_readings_grow_with_what_was_spent_and_fall_with_delta(filter_):
    shares = [Fraction(i, 8) for i in range(9)]
    found = [filter_.reading(tuple(share * amount for amount in filter_.limit), 0.3) for share in shares]
    assert all(a < b for a, b in pairwise(found))
    falling = [filter_.reading(filter_.limit, delta) for delta in (0.11, 0.12, 0.2, 0.5, 0.9)]
    assert all(a > b for a, b in pairwise(falling))


# ---- as large as (epsilon, delta) allows


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("epsilon", "delta"), [(1.0, 1e-6), (0.1, 1e-9), (10.0, 1e-5), (0.5, 0.3)])
def test_the_largest_limit(kind, epsilon, delta):
    filter_ = filter_for(kind, epsilon, delta)
    assert filter_.kind == kind
    assert filter_.promise.delta(epsilon).upper <= delta
    assert filter_.promise.epsilon(delta).upper <= epsilon
    larger = attrs.evolve(filter_, limit=(filter_.limit[0] * Fraction(1 + 1e-6), *filter_.limit[1:]))
    assert larger.promise.delta(epsilon).upper > delta


@pytest.mark.parametrize(("order", "reveal"), [(None, 4e-7), (15.0, 0.0), (30.0, 9.9e-7), (200, 1e-7)])
def test_the_largest_renyi_limit(order, reveal):
    filter_ = filter_for("renyi", 1.0, 1e-6, order=order, reveal=reveal)
    assert filter_.limit[1] == Fraction(repr(reveal))
    assert order is None or filter_.order == order
    assert 0.999999e-6 <= filter_.promise.delta(1.0).upper <= 1e-6


def test_the_chosen_order_admits_most_gaussian_noise():
    best = filter_for("renyi", 1.0, 1e-6)
    noise = best.limit[0] / Fraction(repr(best.order))
    others = [filter_for("renyi", 1.0, 1e-6, order=best.order * factor) for factor in (0.7, 0.9, 1.1, 2.0)]
    assert all(other.limit[0] / Fraction(repr(other.order)) < noise for other in others)


def test_unreachable_targets():
    for kind in ("zcdp", "gdp", "renyi"):
        for delta in (0.0, 1.0):
            with pytest.raises(Unreachable):
                filter_for(kind, 1.0, delta)
    for kind in ("zcdp", "gdp"):
        with pytest.raises(Unreachable):
            filter_for(kind, 0.0, 1e-6)
    with pytest.raises(Unreachable):
        filter_for("renyi", 0.1, 1e-6, order=1.5)
    assert filter_for("pure", 0.0, 0.0).limit == (0, 0)


# ---- costs


def test_stated_decimals_cost_exactly_what_they_say():
    zero = Fraction(0)
    assert pure_filter(10).cost(qw.laplace(10)) == (TENTH, zero)
    assert pure_filter(10).cost(100 * qw.laplace(10)) == pure_filter(10).limit
    assert pure_filter(1, 1e-6).cost(qw.approximate(0.1, 1e-7)) == (TENTH, Fraction(1, 10**7))
    assert zcdp_filter(1).cost(qw.gaussian(4)) == (Fraction(1, 32),)
    assert zcdp_filter(1).cost(qw.discrete_gaussian(4)) == (Fraction(1, 32),)
    assert zcdp_filter(1).cost(qw.laplace(10)) == (Fraction(1, 200),)
    assert gdp_filter(1).cost(qw.gaussian(4)) == (Fraction(1, 16),)
    assert gdp_filter(1).cost(qw.gdp(0.3)) == (Fraction(9, 100),)
    assert renyi_filter(2.5, 1).cost(qw.gaussian(4)) == (Fraction(5, 64), zero)
    assert renyi_filter(2.5, 1).cost(qw.rdp([2.5, 3.0], [0.1, 0.2])) == (TENTH, zero)
    assert renyi_filter(2.5, 1, 0.1).cost(qw.approximate(0.0, 0.01)) == (zero, Fraction(1, 100))
    spent = pure_filter(10).cost(qw.pure(0))
    for _ in range(100):
        spent = added(spent, pure_filter(10).cost(qw.laplace(10)))
    assert spent == (10, 0)


@pytest.mark.parametrize("filter_", [pure_filter(1, 0.1), zcdp_filter(1), gdp_filter(1), renyi_filter(3, 1, 0.1)])
def test_costs_add_up_over_the_releases_of_a_loss(filter_):
    one, other = qw.laplace(3), qw.pair([0.5, 0.5], [0.4, 0.6])
    parts = [filter_.cost(one), filter_.cost(one), filter_.cost(other)]
    together = filter_.cost(2 * one + other)
    assert together == tuple(map(sum, zip(*parts, strict=True)))
    assert filter_.cost(qw.compose()) == tuple(0 for _ in together)


def test_of_several_stated_points_the_smallest_share_is_spent():
    points = qw.constraints([(1.0, 0.0), (0.5, 1e-6), (0.1, 0.5)])
    assert pure_filter(10, 1e-6).cost(points) == (1, 0)
    assert pure_filter(10, 1e-3).cost(points) == (Fraction(1, 2), Fraction(1, 10**6))
    assert pure_filter(10).cost(points) == (1, 0)
    with pytest.raises(Unsupported, match="renyi"):
        pure_filter(10).cost(qw.approximate(0.1, 1e-9))


@pytest.mark.parametrize(
    ("filter_", "loss"),
    [
        (pure_filter(1, 0.1), qw.gaussian(4)),
        (pure_filter(1), qw.zcdp(0.1)),
        (zcdp_filter(1), qw.rdp([2], [0.1])),
        (zcdp_filter(1), qw.approximate(0.1, 1e-9)),
        (gdp_filter(1), qw.zcdp(0.1)),
        (gdp_filter(1), qw.discrete_gaussian(2)),
        (renyi_filter(3, 1), qw.rdp([2], [0.1])),
        (renyi_filter(3, 1), qw.approximate(0.1, 1e-9)),
        (renyi_filter(200, 1), qw.poisson(qw.discrete_gaussian(1), 0.1)),
        (pure_filter(1), qw.laplace(3).direction("remove")),
        (renyi_filter(3, 1), qw.gaussian(3).direction("add")),
    ],
)
def test_losses_without_a_finite_cost_are_refused(filter_, loss):
    with pytest.raises(Unsupported):
        filter_.cost(loss)


# ---- running sums


@settings(max_examples=examples(100), deadline=None)
@given(st.fractions(min_value=0, max_value=1000), st.integers(0, 300))
def test_bounded_rounds_only_long_fractions_and_only_up(number, power):
    cost = number / 3**power
    found = bounded(cost)
    assert cost <= found < cost + Fraction(1, 2**160)
    assert found == cost if cost.denominator <= 2**200 else found.denominator <= 2**160


def test_sums_stay_short_and_never_fall_behind():
    exact, total = Fraction(0), (Fraction(0),)
    for i in range(3, 400, 2):
        exact += Fraction(1, i)
        total = added(total, (Fraction(1, i),))
        assert total[0].denominator <= 2**512
    assert exact <= total[0] < exact + Fraction(200, 2**256)
    assert exact.denominator > 2**512  # or nothing was tested


# ---- values


@pytest.mark.parametrize(
    "filter_",
    [
        pure_filter(0.1, 1e-6),
        zcdp_filter(Fraction(1, 3)),
        gdp_filter(0.3),
        renyi_filter(22.5, 0.1, 1e-9),
        filter_for("renyi", 1, 1e-6, reveal=1e-7),
        filter_for("gdp", 1, 1e-6),
    ],
)
def test_json_round_trip(filter_):
    again = filter_from_json(filter_.to_json())
    assert again == filter_
    assert type(again) is type(filter_)
    assert again.promise == filter_.promise


@pytest.mark.parametrize(
    "change",
    [
        {"schema": "quiltwork/filter/2"},
        {"kind": "magic"},
        {"kind": None},
        {"kind": ["pure"]},
        {"limit": ["1/10"]},
        {"limit": "1/10"},
        {"limit": [0.1, 0]},
        {"limit": ["1/0", "0/1"]},
        {"limit": ["-1/2", "0/1"]},
        {"limit": ["1e9/1", "0/1"]},
        {"limit": ["1/2", "2/1"]},
        {"limit": ["1" + "0" * 201 + "/1", "0/1"]},
        {"order": 2.0},
        {"more": 1},
    ],
)
def test_stored_filters_are_checked(change):
    with pytest.raises(InvalidParameter):
        filter_from_json({**pure_filter(1).to_json(), **change})


@pytest.mark.parametrize("value", [None, [], "pure", {}])
def test_other_things_are_no_filters(value):
    with pytest.raises(InvalidParameter):
        filter_from_json(value)


BAD = [float("nan"), math.inf, -1.0, True, "1", None, [1.0]]


@pytest.mark.parametrize("value", BAD)
@pytest.mark.parametrize(
    "make",
    [pure_filter, zcdp_filter, gdp_filter, lambda v: pure_filter(1, v), lambda v: renyi_filter(2, v),
     lambda v: renyi_filter(v, 1), lambda v: renyi_filter(2, 1, v), lambda v: filter_for("pure", v, 0.1),
     lambda v: filter_for("renyi", 1.0, v), lambda v: filter_for("renyi", 1.0, 0.1, reveal=v),
     lambda v: pure_filter(1).reading((Fraction(1), Fraction(0)), v)],
)  # fmt: skip
def test_bad_numbers_are_refused(make, value):
    with pytest.raises(InvalidParameter):
        make(value)


@pytest.mark.parametrize(
    "call",
    [
        lambda: filter_for("magic", 1.0, 0.1),
        lambda: filter_for("pure", 1.0, 0.1, order=2.0),
        lambda: filter_for("zcdp", 1.0, 0.1, reveal=0.01),
        lambda: filter_for("renyi", 1.0, 0.1, reveal=0.1),
        lambda: filter_for("renyi", 1.0, 0.1, order=1.0),
        lambda: filter_for("renyi", 1.0, 0.1, order=1e9),
        lambda: filter_for("renyi", 1.0, 0.1, order=True),
        lambda: pure_filter(1, 1.5),
        lambda: renyi_filter(2, 1, 1),
        lambda: renyi_filter(1, 1),
        lambda: gdp_filter(0),
        lambda: gdp_filter(1e101),
        lambda: pure_filter(10**400),
        lambda: PureFilter((1.0, 0.0)),
        lambda: PureFilter((Fraction(1),)),
        lambda: GaussianFilter(Fraction(1)),
        lambda: pure_filter(1).cost(0.1),
        lambda: pure_filter(1).reading((Fraction(2), Fraction(0)), 0.1),
        lambda: pure_filter(1).reading((Fraction(1),), 0.1),
        lambda: pure_filter(1).reading((Fraction(-1), Fraction(0)), 0.1),
        lambda: pure_filter(1).reading((0.5, 0.0), 0.1),
        lambda: pure_filter(1).reading(0.5, 0.1),
    ],
)
def test_bad_input_is_refused(call):
    with pytest.raises(InvalidParameter):
        call()


def test_promises_read_back_what_was_stated():
    assert pure_filter(0.3).promise == qw.pure(0.3)
    assert pure_filter(0.3, 1e-6).promise == qw.approximate(0.3, 1e-6)
    assert zcdp_filter(0.1).promise == qw.zcdp(0.1)
    assert renyi_filter(8, 0.7).promise == qw.rdp([8], [0.7])
    for mu in (0.1, 0.3, 0.7, 1.1, 1e-5, 123.456):
        assert gdp_filter(mu).promise == qw.gdp(mu)
    third = GaussianFilter((Fraction(1, 3),)).promise.parts[0].family.mu
    assert Fraction(1, 3) <= Fraction(third) ** 2 < Fraction(1, 3) * (1 + Fraction(1, 10**15))


def test_amounts_in_words():
    assert pure_filter(1).shown((Fraction(3, 10), Fraction(0))) == "epsilon 0.3"
    assert pure_filter(1, 1e-6).shown((Fraction(3, 10), Fraction(0))) == "epsilon 0.3, delta 0"
    assert zcdp_filter(1).shown((Fraction(1, 50),)) == "rho 0.02"
    assert gdp_filter(1).shown((Fraction(9, 100),)) == "mu^2 0.09"
    assert renyi_filter(8, 1).shown((TENTH, Fraction(0))) == "divergence 0.1 at order 8"
    assert renyi_filter(8, 1, 0.1).shown((TENTH, TENTH)) == "divergence 0.1 at order 8, reveal 0.1"


def test_one_order_says_no_less_of_a_small_spend():
    """What docs/ledger.md says: after one gaussian(40) the Rényi filter reads 0.916, and 0.637 is really possible."""
    kept = filter_for("renyi", 2.0, 1e-6)
    spent = kept.cost(qw.gaussian(40.0))
    assert kept.epsilon(spent, 1e-6) == pytest.approx(0.916, abs=1e-3)
    p = mp.mpf("1.2251890799077379e-05")
    q = p * mp.exp(-mp.mpf("0.7230769230769231"))
    for one, two in ((p, q), (q, p)):
        mean = one**kept.order * two ** (1 - kept.order) + (1 - one) ** kept.order * (1 - two) ** (1 - kept.order)
        assert mp.log(mean) / (kept.order - 1) <= mp.mpf(spent[0].numerator) / spent[0].denominator
    assert mp.log((p - mp.mpf("1e-6")) / q) > 0.637
