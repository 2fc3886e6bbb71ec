"""The filter of several Rényi orders: closed numbers, its own inequality in many digits, and an optimal adversary."""

import itertools
import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.examples import examples

import quiltwork as qw
from quiltwork.compose.filters.opening import filter_for, filter_from_json
from quiltwork.compose.filters.several_orders import UNBOUNDED, several_orders_filter
from quiltwork.errors import InvalidParameter, Unsupported


def chosen(epsilon, delta, first, **options):
    return several_orders_filter(epsilon, delta, **options).chosen_for(first)


def total(kept, *counted):
    """The sums after so many runs of each loss."""
    sums = kept.zero
    for count, loss in counted:
        sums = tuple(a + count * b for a, b in zip(sums, kept.cost(loss), strict=True))
    return sums


# ---- what theory/joining.md section 3 prints


@pytest.mark.parametrize(
    ("runs", "printed"), [(1, 0.1255594066), (10, 0.4183039130), (48, 0.9234535156), (200, 1.6986334529)]
)
def test_gaussian_noise_reads_as_in_the_theory(runs, printed):
    # the theory's main order comes from another grid: 5e-4 is what that moves
    kept = chosen(2.0, 1e-6, qw.gaussian(40.0))
    assert kept.spent(total(kept, (runs, qw.gaussian(40.0)))) == pytest.approx(printed, rel=5e-4)


@pytest.mark.parametrize(("runs", "printed"), [(1, 0.0999983), (10, 0.9997276), (20, 1.9244818)])
def test_pure_releases_read_as_in_the_theory(runs, printed):
    kept = chosen(2.0, 1e-6, qw.pure(0.1))
    assert kept.spent(total(kept, (runs, qw.pure(0.1)))) == pytest.approx(printed, rel=5e-4)


def test_what_plain_addition_allows_fits():
    kept = chosen(2.0, 1e-6, qw.pure(0.75))
    twice = total(kept, (2, qw.pure(0.75)))
    assert kept.admits(twice)
    assert kept.spent(twice) <= 1.5
    assert not kept.admits(total(kept, (3, qw.pure(0.75))))


def test_a_training_run_fits_where_the_theory_says():
    run = 60 * qw.poisson(qw.gaussian(0.97784), 0.05)
    assert chosen(3.6, 1e-5, run).admits(chosen(3.6, 1e-5, run).cost(run))
    kept = chosen(3.5, 1e-5, run)
    assert not kept.admits(kept.cost(run))


def test_gaussian_noise_loses_little_against_the_best_single_order():
    one = filter_for("renyi", 2.0, 1e-6)
    rho = float(one.limit[0]) / one.order
    several = chosen(2.0, 1e-6, qw.zcdp(rho))
    assert several.admits(several.cost(qw.zcdp(rho * (1 - 0.016))))


# ---- the inequality itself


def need(kept, sums, epsilon):
    """log of the least delta_m of (*), with forty digits: golden section of a concave function."""
    with mpmath.workdps(40):
        top = mpmath.mpf(sums[-2].numerator) / sums[-2].denominator
        epsilon = mpmath.mpf(epsilon)
        terms = [
            (mpmath.mpf(w.numerator) / w.denominator, mpmath.mpf(repr(a)) - 1, mpmath.mpf(s.numerator) / s.denominator)
            for w, a, s in zip(kept.weights, kept.orders, sums[:-2], strict=True)
            if s < UNBOUNDED
        ]
        if top <= epsilon:
            return -mpmath.inf

        def value(y):
            weighed = mpmath.fsum(w * mpmath.exp(t * (y + epsilon - s)) for w, t, s in terms)
            return mpmath.log(-mpmath.expm1(-y)) - mpmath.log(weighed)

        low, high = mpmath.mpf("1e-30"), min(top - epsilon, mpmath.mpf(200))
        for _ in range(150):
            third = (high - low) / 3
            if value(low + third) < value(high - third):
                low += third
            else:
                high -= third
        return max(value(low), value(high), value(min(top - epsilon, mpmath.mpf(200))))


LOSSES = [
    qw.gaussian(40.0), qw.gaussian(7.0), qw.laplace(30.0), qw.pure(0.2), qw.pure(1e-6),
    qw.poisson(qw.gaussian(1.0), 0.01), qw.zcdp(0.001), qw.pair([0.99, 0.01], [0.995, 0.005]),
    qw.discrete_laplace(20.0),
]  # fmt: skip


@settings(max_examples=examples(30))
@given(
    epsilon=st.sampled_from([0.1, 1.0, 2.0, 8.0]),
    delta=st.sampled_from([1e-2, 1e-6, 1e-12]),
    first=st.integers(0, len(LOSSES) - 1),
    counts=st.lists(st.integers(0, 40), min_size=len(LOSSES), max_size=len(LOSSES)),
)
def test_what_is_admitted_keeps_the_inequality(epsilon, delta, first, counts):
    kept = chosen(epsilon, delta, LOSSES[first])
    sums = total(kept, *zip(counts, LOSSES, strict=True))
    with mpmath.workdps(40):
        rest = mpmath.log(mpmath.mpf(repr(delta)) * mpmath.mpf("0.99"))
        exact = need(kept, sums, mpmath.mpf(repr(epsilon)))
        if kept.admits(sums):
            assert exact <= rest
        else:  # nothing is refused that fits by more than rounding
            assert exact > rest - mpmath.mpf("1e-8")
        spent = kept.spent(sums)
        if math.isfinite(spent) and spent > 0:
            assert need(kept, sums, mpmath.mpf(spent)) <= rest
            assert need(kept, sums, mpmath.mpf(spent) * (1 - mpmath.mpf("1e-6"))) > rest
        assert not kept.admits(sums) or spent <= epsilon


def test_nothing_spent_reads_nothing_and_more_reads_more():
    kept = chosen(2.0, 1e-6, qw.gaussian(40.0))
    assert kept.spent(kept.zero) == 0.0
    readings = [kept.spent(total(kept, (n, qw.gaussian(40.0)))) for n in range(1, 60)]
    assert all(a < b for a, b in itertools.pairwise(readings))


# ---- an adversary that chooses best what to run next, after every output


def adversary(kept, menu, deepest):
    """The largest P(A) - e^epsilon Q(A) that adaptive choices reach, at the budget's epsilon and at the path's own."""
    costs = [kept.cost(loss) for loss, *_ in menu]
    states = {}

    def state(used):
        if used not in states:
            sums = kept.zero
            for count, cost in zip(used, costs, strict=True):
                sums = tuple(a + count * b for a, b in zip(sums, cost, strict=True))
            fits = kept.admits(sums)
            states[used] = (fits, kept.spent(sums) if fits else math.inf)
        return states[used]

    known = {}

    def best(used, realised, own):
        place = (used, round(realised, 9), own)
        if place not in known:
            limit = state(used)[1] if own else float(kept.limit[0])
            found = max(0.0, -math.expm1(limit - realised))
            for k, (_, p, q, reveal) in enumerate(menu):
                more = (*used[:k], used[k] + 1, *used[k + 1 :])
                if sum(more) <= deepest and state(more)[0]:
                    rest = sum(a * best(more, realised + math.log(a / b), own) for a, b in zip(p, q, strict=True))
                    found = max(found, reveal + rest)
            known[place] = found
        return known[place]

    nothing = (0,) * len(menu)
    return best(nothing, 0.0, False), best(nothing, 0.0, True)


def menu_of(rng, reveals):
    """Two or three finite pairs: random ones, randomised responses, rare large losses, some that reveal outright."""
    menu = []
    for _ in range(int(rng.integers(2, 4))):
        n = int(rng.integers(2, 4))
        p, q = (rng.dirichlet(np.ones(n)) * 0.9 + 0.1 / n for _ in range(2))
        kind = rng.random()
        if kind < 0.4:
            p = np.array([math.exp(rng.uniform(0.1, 1.2)), 1.0])
            p, q = p / p.sum(), p[::-1] / p.sum()
        elif kind < 0.6:
            rare = 10 ** rng.uniform(-4, -1.5)
            p, q = np.array([rare, 1 - rare]), np.array([rare * math.exp(-rng.uniform(1, 4)), 0.0])
            q[1] = 1 - q[0]
        reveal = 10 ** rng.uniform(-5, -3) if reveals and rng.random() < 0.5 else 0.0
        p, q = p / p.sum(), q / q.sum()
        loss = qw.pair(p, q)
        if reveal:
            loss = qw.pair([*(1 - reveal) * p, reveal], [*q, 0.0])
        menu.append((loss, (1 - reveal) * p, q, reveal))
    return menu


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("reveals", [False, True])
def test_the_best_adversary_stays_below_delta(seed, reveals):
    rng = np.random.default_rng([20261118, seed, reveals])
    epsilon, delta = float(rng.uniform(0.3, 3)), float(10 ** rng.uniform(-4, -1))
    menu = menu_of(rng, reveals)
    kept = chosen(epsilon, delta, menu[0][0], reveal=0.3 * delta if reveals else 0.0)
    usable = []
    for one in menu:
        try:
            kept.cost(one[0])
        except Unsupported:  # it reveals more than is set aside
            continue
        usable.append(one)
    if usable:
        fixed, own = adversary(kept, usable, 5)
        assert fixed <= delta * (1 + 1e-9)
        assert own <= delta * (1 + 1e-9)


def test_the_adversary_catches_a_filter_that_allows_too_much():
    """Admit as for a larger epsilon, claim a smaller one: the same adversary passes delta."""
    p = np.array([math.exp(0.9), 1.0]) / (1 + math.exp(0.9))
    menu = [(qw.pair(p, p[::-1]), p, p[::-1], 0.0)]
    admits = chosen(3.0, 0.02, menu[0][0])
    claims = chosen(1.5, 0.02, menu[0][0])
    fixed, _ = adversary(_Claims(claims, admits), menu, 6)
    assert fixed > 0.02


class _Claims:
    """A filter that admits what another one does and claims its own, smaller epsilon."""

    def __init__(self, claims, admits):
        self.limit, self.zero, self.cost, self.spent = claims.limit, admits.zero, admits.cost, claims.spent
        self.admits = admits.admits


# ---- orders, refusals, documents


def test_orders_are_chosen_once_and_weights_keep_below_one():
    waiting = several_orders_filter(2.0, 1e-6)
    assert waiting.is_open
    for first in LOSSES:
        kept = waiting.chosen_for(first)
        assert not kept.is_open
        assert kept.chosen_for(qw.pure(1.0)) is kept
        assert sum(kept.weights) <= 1
        assert len(set(kept.orders)) == len(kept.orders) >= 5
        assert kept.limit == waiting.limit
        assert kept.reveal == waiting.reveal == Fraction(1, 10**8)
    with pytest.raises(Unsupported, match="first release"):
        waiting.cost(qw.pure(0.1))


def test_a_small_delta_of_a_release_is_taken_from_its_share():
    kept = chosen(2.0, 1e-6, qw.gaussian(40.0))
    inside = kept.cost(qw.approximate(0.1, 1e-9))
    assert inside[-1] == Fraction(1, 10**9)
    assert inside[-2] == Fraction(1, 10)
    with pytest.raises(Unsupported, match="set aside"):
        kept.cost(qw.approximate(0.1, 1e-7))
    assert not kept.admits(tuple(11 * one for one in inside))


def test_an_infinite_divergence_drops_its_order_only():
    heavy = qw.rdp([2.0, 3.0], [0.1, 0.2])
    kept = chosen(2.0, 1e-6, qw.gaussian(40.0))
    cost = kept.cost(heavy)
    assert any(one >= UNBOUNDED for one in cost[:-2]) or cost[-2] >= UNBOUNDED
    assert kept.spent(cost) > 0


@pytest.mark.parametrize(
    ("epsilon", "delta", "reveal"),
    [(1.0, 0.0, None), (1.0, 1.0, None), (1.0, 1e-6, 1e-6), (-1.0, 1e-6, None), (math.nan, 1e-6, None)],
)
def test_what_cannot_be_kept_is_refused(epsilon, delta, reveal):
    with pytest.raises(InvalidParameter):
        several_orders_filter(epsilon, delta, reveal=reveal)


@pytest.mark.parametrize("first", [None, qw.gaussian(40.0)])
def test_it_is_written_and_read_back(first):
    kept = several_orders_filter(2.0, 1e-6)
    kept = kept if first is None else kept.chosen_for(first)
    assert filter_from_json(kept.to_json()) == kept
    for key, value in (("weights", ["2/1"]), ("orders", [0.5]), ("reveal", "1/1"), ("limit", ["2/1"])):
        with pytest.raises(InvalidParameter):
            filter_from_json({**kept.to_json(), key: value})


def test_the_promise_is_the_budget():
    kept = chosen(2.0, 1e-6, qw.gaussian(40.0))
    assert kept.promise == qw.approximate(2.0, 1e-6)
    assert "epsilon 0.1256" in kept.shown(kept.cost(qw.gaussian(40.0)), digits=4)


# ---- far from everyday numbers

FAR = [
    qw.gaussian(1e-20), qw.gaussian(1e60), qw.pure(1e60), qw.pure(1e-100), qw.zcdp(1e90), qw.zcdp(1e-100),
    qw.laplace(1e-30), qw.poisson(qw.gaussian(1.0), 0.01),
]  # fmt: skip


@pytest.mark.parametrize(("epsilon", "delta"), [(2.0, 1e-6), (1e50, 0.5), (1e-50, 1e-100), (1e-100, 0.9)])
@pytest.mark.parametrize("first", FAR, ids=str)
def test_no_size_overflows_and_nothing_reads_above_its_budget(epsilon, delta, first):
    kept = chosen(epsilon, delta, first)
    cost = kept.cost(first)
    for runs in (1, 10**6, 10**40):
        sums = tuple(runs * one for one in cost)
        spent, left = kept.spent(sums), kept.left(sums)
        assert spent >= 0
        if kept.admits(sums):
            assert spent <= epsilon
            assert left[0] >= 0
        else:
            assert spent > epsilon * (1 - 1e-6)
        assert kept.shown(sums).startswith("epsilon ")


def test_many_steps_at_high_orders_cost_no_precision():
    """Divergences of the high orders are in the millions: what they cannot say must not blur what the low ones do."""
    run = 10_000 * qw.poisson(qw.gaussian(1.0), 0.01)
    kept = chosen(8.0, 1e-5, run)
    sums = kept.cost(run)
    assert max(one for one in sums[:-2] if one < UNBOUNDED) > 10**5
    with mpmath.workdps(40):
        rest = mpmath.log(mpmath.mpf("1e-5") * mpmath.mpf("0.99"))
        spent = mpmath.mpf(kept.spent(sums))
        assert need(kept, sums, spent) <= rest < need(kept, sums, spent * (1 - mpmath.mpf("1e-8")))


# ---- a first release that needs more of delta for failures than is set aside


@pytest.mark.parametrize(
    ("first", "share", "runs"),
    [
        (qw.approximate(1.0, 1e-6), "1e-6", 1),  # all of the budget at once
        (qw.approximate(0.5, 5e-7), "1e-6", 2),  # what plain addition allows
        (qw.approximate(0.25, 1e-7), "4e-7", 4),
        (qw.approximate(0.0, 5e-7), "5e-7", 1),
        (qw.approximate(0.1, 1e-8), "1e-8", 1),  # within what is set aside: nothing changes
        (qw.approximate(0.1, 2e-6), "1e-8", 0),  # above delta: refused as before
    ],
    ids=str,
)
def test_a_first_release_gets_the_share_it_needs(first, share, runs):
    kept = chosen(1.0, 1e-6, qw.gaussian(40.0) if not runs else first)
    assert kept.reveal == Fraction(share)
    assert several_orders_filter(1.0, 1e-6).allows(kept)
    assert filter_from_json(kept.to_json()) == kept
    if not runs:
        with pytest.raises(Unsupported, match="set aside"):
            chosen(1.0, 1e-6, first)
        return
    whole = total(kept, (runs, first))
    assert kept.admits(whole)
    assert kept.spent(whole) <= 1.0
    assert not kept.admits(total(kept, (runs + 1, first)))


def test_with_all_of_delta_for_failures_epsilons_add_up():
    kept = chosen(1.0, 1e-6, qw.approximate(0.4, 5e-7))
    mixed = total(kept, (1, qw.approximate(0.4, 5e-7)), (2, qw.pure(0.25)))
    assert kept.admits(mixed)
    assert kept.spent(mixed) == pytest.approx(0.9)
    assert kept.left(mixed) == (Fraction(1) - Fraction("0.9"), Fraction("5e-7"))
    assert not kept.admits(total(kept, (1, qw.approximate(0.4, 5e-7)), (1, qw.gaussian(1000.0))))


def test_a_share_never_shrinks():
    open_one = several_orders_filter(1.0, 1e-6, reveal=1e-7)
    assert open_one.allows(open_one.chosen_for(qw.gaussian(40.0)))
    assert not open_one.allows(several_orders_filter(1.0, 1e-6).chosen_for(qw.gaussian(40.0)))
    assert not open_one.allows(several_orders_filter(2.0, 1e-6, reveal=1e-7).chosen_for(qw.gaussian(40.0)))


@pytest.mark.parametrize("seed", range(3))
def test_where_the_first_sum_alone_is_enough_the_rule_grants(seed):
    """The short cut grants nothing by itself: just within it (*) holds in forty digits, whatever else was spent."""
    rng = np.random.default_rng([24, seed])
    kept = chosen(float(rng.uniform(0.1, 8.0)), float(10 ** -rng.uniform(1, 9)), LOSSES[int(rng.integers(len(LOSSES)))])
    first = kept._plenty
    if first <= 0:
        first = Fraction(0)
    rest = tuple(Fraction(float(one)) for one in rng.exponential(5.0, len(kept.orders) - 1))
    for largest in (UNBOUNDED, kept.limit[0] + 1, kept.limit[0] + Fraction(1, 10**6)):
        sums = (first, *rest, largest, Fraction(0))
        if first <= kept._plenty:
            assert kept.admits(sums)
            top = UNBOUNDED if largest == UNBOUNDED else largest
            log_rest = mpmath.log(
                mpmath.mpf((kept.limit[1] - kept.reveal).numerator) / (kept.limit[1] - kept.reveal).denominator
            )
            assert need(kept, (*sums[:-2], top, sums[-1]), float(kept.limit[0])) <= log_rest
