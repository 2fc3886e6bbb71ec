"""What m records cost at most: against all choices on small instances, and no certificate that fails to bound them."""

import importlib
import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
import scipy.optimize
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import OptimizeResult
from tests.examples import examples, some

from quiltwork.errors import InvalidParameter
from quiltwork.numbers.stated import double_above, double_below
from quiltwork.tables.cover.branch_and_bound import Found, search
from quiltwork.tables.cover.cover import BRANCHED, ENUMERATED, PRICED, SOLVED, cover, maximal_cells, rules_of_thumb
from quiltwork.tables.cover.problem import (
    MOST_RECORDS,
    allowed,
    best_records,
    cost,
    greedy,
    price_bound,
    problem,
)
from quiltwork.tables.cover.programs import integer_program, neat_prices, suggested_prices

covers = importlib.import_module("quiltwork.tables.cover.cover")  # the module, whatever the room exports by that name
cover_search = importlib.import_module("quiltwork.tables.cover.branch_and_bound")

GREEDY_FAILS = np.array([[1, 1, 1, 1, 0, 0], [1, 1, 0, 0, 1, 0], [0, 0, 1, 1, 0, 1]], dtype=bool)
SOLVER = 1e-6  # relative, between what two runs of HiGHS say
EVERY = settings(max_examples=examples(200), deadline=None)

costs = st.one_of(st.sampled_from([0.0, 0.1, 0.5, 1.0]), st.floats(0.0, 3.0))


@st.composite
def instances(draw):
    """At most six cells, six queries and four records, often in groups that hold few."""
    cells, queries = draw(st.integers(1, 6)), draw(st.integers(1, 6))
    flags = st.lists(st.booleans(), min_size=queries, max_size=queries)
    touched = np.array(draw(st.lists(flags, min_size=cells, max_size=cells)), dtype=bool)
    reward = draw(st.lists(costs, min_size=queries, max_size=queries))
    slope = draw(st.one_of(st.just([0.0] * queries), st.lists(costs, min_size=queries, max_size=queries)))
    records = draw(st.integers(0, 4))
    if draw(st.booleans()):
        return touched, reward, slope, records
    count = draw(st.integers(1, 3))
    groups = draw(st.lists(st.integers(0, count - 1), min_size=cells, max_size=cells))
    capacities = draw(st.lists(st.sampled_from([0, 1, 2, math.inf]), min_size=count, max_size=count))
    return touched, reward, slope, records, groups, capacities


def every_choice(touched, records, groups=None, capacities=None):
    """All multisets of at most `records` cells that the capacities allow."""
    cells = len(touched)
    groups = [0] * cells if groups is None else groups
    capacities = [math.inf] * (max(groups, default=0) + 1) if capacities is None else capacities
    for size in range(records + 1):
        for chosen in itertools.combinations_with_replacement(range(cells), size):
            used = [groups[cell] for cell in chosen]
            if all(used.count(group) <= most for group, most in enumerate(capacities)):
                yield chosen


def naive_cost(touched, reward, slope, chosen):
    total = Fraction(0)
    for query in range(touched.shape[1]):
        count = sum(bool(touched[cell, query]) for cell in chosen)
        total += (Fraction(reward[query]) if count else 0) + count * Fraction(slope[query])
    return total


def optimum(touched, reward, slope, records, groups=None, capacities=None):
    choices = every_choice(touched, records, groups, capacities)
    return max(naive_cost(touched, reward, slope, chosen) for chosen in choices)


def random_instance(rng, queries, cells, records):
    touched = np.zeros((cells, queries), dtype=bool)
    for row in touched:
        row[rng.choice(queries, int(rng.integers(3, 9)), replace=False)] = True
    return touched, rng.uniform(0.1, 1.0, queries), np.zeros(queries), records


# ---- against all choices


@given(instance=instances())
@EVERY
def test_the_bounds_hold_the_optimum_and_meet_at_it(instance):
    truth = optimum(*instance)
    found = cover(*instance)
    assert found.lower <= truth <= found.upper <= found.rational
    assert (found.lower, found.upper) == (double_below(truth), double_above(truth))  # all this small end exactly
    assert found.method in {ENUMERATED, PRICED}
    assert naive_cost(*instance[:3], found.chosen) == truth
    assert found.chosen in set(every_choice(instance[0], *instance[3:]))
    assert found.rational == double_above(price_bound(problem(*instance), found.prices))


@given(instance=instances(), data=st.data())
@EVERY
def test_any_prices_bound_every_choice(instance, data):
    stated = problem(*instance)
    shares = st.one_of(st.fractions(0, 4, max_denominator=50), st.floats(0.0, 1e3).map(Fraction))
    prices = data.draw(st.lists(shares, min_size=len(instance[1]), max_size=len(instance[1])))
    assert price_bound(stated, prices) >= optimum(*instance)
    assert price_bound(stated, prices) == naive_bound(instance, prices)


def naive_bound(instance, prices):
    """UB(lambda) by its definition, the inner maximum over all choices."""
    touched, reward, slope = instance[:3]
    slack = sum(max(0, Fraction(r) - price) for r, price in zip(reward, prices, strict=True))
    worth = [price + Fraction(s) for price, s in zip(prices, slope, strict=True)]
    value = [sum((worth[query] for query in np.flatnonzero(row)), Fraction(0)) for row in touched]
    choices = every_choice(touched, *instance[3:])
    return slack + max(sum((value[cell] for cell in chosen), Fraction(0)) for chosen in choices)


def test_a_certificate_that_forgets_a_cell_is_caught():
    rng = np.random.default_rng(5)
    caught = 0
    for _ in range(100):
        touched = rng.random((4, 5)) < 0.5
        instance = touched, rng.uniform(0.1, 1.0, 5).tolist(), [0.0] * 5, 2
        stated = problem(*instance)
        forgetful = [stated.only([cell for cell in range(4) if cell != missing]) for missing in range(4)]
        prices = [Fraction(price) for price in instance[1]]
        caught += any(price_bound(broken, prices) < optimum(*instance) for broken in forgetful)
        assert price_bound(stated, prices) >= optimum(*instance)
    assert caught > 10


def test_the_prices_are_checked_against_all_cells_whatever_was_dropped(monkeypatch):
    monkeypatch.setattr(covers, "maximal_cells", lambda given: [0])  # a broken reduction
    found = cover(GREEDY_FAILS, [1.0] * 6, [0.0] * 6, 2)
    assert found.rational >= 6


@given(instance=instances())
@EVERY
def test_greedy_is_allowed_and_never_above_the_optimum(instance):
    stated = problem(*instance)
    chosen = greedy(stated)
    assert allowed(stated, chosen)
    assert cost(stated, chosen) == naive_cost(*instance[:3], chosen) <= optimum(*instance)
    assert tuple(sorted(chosen)) in set(every_choice(instance[0], *instance[3:]))


def test_greedy_choice_is_no_bound():
    """Golden: reference/granularity.json, "cover greedy failure"."""
    instance = GREEDY_FAILS, [1.0] * 6, [0.0] * 6, 2
    assert cost(problem(*instance), greedy(problem(*instance))) == 5
    found = cover(*instance)
    assert (found.lower, found.upper, found.rational) == (6.0, 6.0, 6.0)
    assert found.chosen == (1, 2)


@given(instance=instances())
@EVERY
def test_dropped_cells_lie_inside_others_of_their_group(instance):
    stated = problem(*instance)
    kept = maximal_cells(stated)
    sets = [set(row) for row in stated.rows]
    for cell in range(len(sets)):
        idle = not sets[cell] or stated.capacity[stated.group[cell]] == 0
        within = [other for other in kept if stated.group[other] == stated.group[cell] and sets[cell] <= sets[other]]
        assert within == [cell] if cell in kept else idle or within


def test_subsets_are_found_in_parts_too(monkeypatch):
    rng = np.random.default_rng(2)
    stated = problem(rng.random((60, 7)) < 0.4, [1.0] * 7, [0.0] * 7, 2)
    sets = [set(row) for row in stated.rows]
    expected = [
        cell
        for cell, own in enumerate(sets)
        if own and not any(own < other for other in sets) and own not in sets[:cell]
    ]
    assert maximal_cells(stated) == expected
    monkeypatch.setattr(covers, "AT_ONCE", 100)
    assert maximal_cells(stated) == expected
    monkeypatch.setattr(covers, "PAIRS", 0)  # too many to compare: all are kept
    assert maximal_cells(stated) == [cell for cell, own in enumerate(sets) if own]


# ---- the linear bound


@given(instance=instances())
@EVERY
def test_prices_of_the_linear_program_reach_its_optimum(instance):
    """The same program in its other form: theta bounds each cell's price, sigma_g pays for the group's capacity."""
    stated = problem(*instance)
    touched, reward, slope, records = instance[:4]
    cells, queries = touched.shape
    groups = len(stated.capacity)
    rows, limits = [], []
    for query in range(queries):  # lambda_i + u_i >= reward_i
        rows.append(np.r_[-np.eye(queries)[query], -np.eye(queries)[query], 0, np.zeros(groups)])
        limits.append(-reward[query])
    for cell in range(cells):  # (lambda + slope)(S_c) <= theta + sigma_g
        rows.append(np.r_[touched[cell], np.zeros(queries), -1, -np.eye(groups)[stated.group[cell]]])
        limits.append(-float(touched[cell] @ np.array(slope)))
    paid = np.r_[np.zeros(queries), np.ones(queries), records, stated.capacity]
    least = scipy.optimize.linprog(paid, A_ub=np.array(rows), b_ub=limits).fun
    assert cover(*instance).rational == pytest.approx(least, rel=SOLVER, abs=SOLVER)


@given(instance=instances())
@EVERY
def test_rules_of_thumb_are_sequential_and_parallel(instance):
    touched, reward, slope, records = instance[0], instance[1], [0.0] * len(instance[1]), instance[3]
    stated = problem(touched, reward, slope, records)
    sequential, parallel = (price_bound(stated, prices) for prices in rules_of_thumb(stated)[:2])
    met = touched.any(axis=0)
    assert sequential == sum(Fraction(cost) for cost, seen in zip(reward, met, strict=True) if seen)
    assert parallel == records * max(naive_cost(touched, reward, slope, [cell]) for cell in range(len(touched)))
    assert cover(touched, reward, slope, records).rational <= double_above(min(sequential, parallel))


def test_simple_shares_are_found_again():
    stated = problem(GREEDY_FAILS, [1.0, 0.5, 0.0, 2.0, 1.0, 1.0], [0.0] * 6, 2)
    given_back = [Fraction(1 / 3), Fraction(0.25 + 1e-9), Fraction(1, 8), Fraction(0.1234567), Fraction(0), Fraction(1)]
    neat = neat_prices(stated, given_back)
    assert neat == [Fraction(1, 3), Fraction(1, 4), 0, Fraction(0.1234567), 0, 1]


# ---- branching


@given(instance=instances())
@EVERY
def test_branching_ends_at_the_optimum_with_the_solver_and_without(instance):
    stated, truth = problem(*instance), optimum(*instance)
    nothing = [Fraction(0)] * len(stated.reward)
    assert search(stated, nothing, (), 0).bound == truth
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cover_search, "FREE_ADDITIONS", 0)
        found = search(stated, nothing, (), 10**9)
    assert found.bound == truth == cost(stated, found.chosen)
    assert allowed(stated, found.chosen)


@given(instance=instances(), most=st.integers(0, 200))
@EVERY
def test_branching_that_is_cut_short_still_bounds(instance, most):
    stated = problem(*instance)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cover_search, "LONE_ADDITIONS", most)
        found = search(stated, [Fraction(0)] * len(stated.reward), (), 0)
    assert cost(stated, found.chosen) <= optimum(*instance) <= found.bound


def test_a_search_out_of_time_says_so_and_bounds(monkeypatch):
    rng = np.random.default_rng(9)
    instances = [random_instance(rng, 50, 200, 4) for _ in range(10)]
    truths = [cover(*instance) for instance in instances]
    monkeypatch.setattr(cover_search, "LONE_ADDITIONS", 20_000)
    short = [cover(*instance, effort=0) for instance in instances]
    for truth, found in zip(truths, short, strict=True):
        assert found.lower <= truth.lower <= truth.upper <= found.upper <= found.rational
        assert (found.method == ENUMERATED) == (found.upper == truth.upper)
    assert any(found.method == BRANCHED and found.upper < found.rational for found in short)


@pytest.mark.parametrize("cheap", [0, 2_000, 200_000])
def test_deeper_trees_agree_with_all_choices(monkeypatch, cheap):
    """Ten cells, whole costs, groups and slopes; the linear program asked at every node, at some, at none."""
    monkeypatch.setattr(cover_search, "FREE_ADDITIONS", cheap)
    rng = np.random.default_rng(8)
    for _ in range(examples(40)):
        touched = rng.random((10, 9)) < 0.35
        reward, slope = rng.integers(1, 30, 9), rng.integers(0, 4, 9) * rng.integers(0, 2)
        groups, capacities = rng.integers(0, 3, 10), rng.choice([1, 2, math.inf], 3)
        found = cover(touched, reward, slope, 4, groups, capacities)
        choices = every_choice(touched, 4, groups.tolist(), capacities.tolist())
        counts = (touched[list(chosen)].sum(axis=0) for chosen in choices)
        truth = max(int(reward[count > 0].sum() + slope @ count) for count in counts)
        assert found.lower == found.upper == truth <= found.rational


def test_larger_instances_agree_with_the_integer_program():
    """Optimum by HiGHS with no gap allowed: its incumbent is attained, so `upper` may not be below it."""
    rng = np.random.default_rng(1)
    for queries, cells, records in some([(50, 200, 4)] * 4 + [(30, 100, 3)] * 4 + [(40, 150, 5)] * 2, 4):
        instance = random_instance(rng, queries, cells, records)
        found = cover(*instance)
        best = solved(*instance)
        assert best * (1 - SOLVER) <= found.upper <= 1.1 * best
        assert found.lower == pytest.approx(best, rel=SOLVER)
        assert found.method == ENUMERATED
        assert found.rational <= 1.2 * best  # the prices alone; theory measured 9.2 % on smaller ones


def solved(touched, reward, slope, records):
    """An attained value, from the plainest integer program."""
    cells, queries = touched.shape
    matrix = np.block([[np.eye(queries), -touched.T.astype(float)], [np.zeros((1, queries)), np.ones((1, cells))]])
    result = scipy.optimize.milp(
        -np.r_[reward, np.zeros(cells)],
        integrality=np.r_[np.zeros(queries), np.ones(cells)],
        bounds=scipy.optimize.Bounds(0, np.r_[np.ones(queries), np.full(cells, records)]),
        constraints=scipy.optimize.LinearConstraint(matrix, -np.inf, np.r_[np.zeros(queries), records]),
        options={"mip_rel_gap": 0.0},
    )
    picked = np.rint(result.x[queries:]).astype(int)
    assert picked.sum() <= records
    return float(reward[touched[picked > 0].any(axis=0)].sum())


# ---- the integer program of the solver


@given(instance=instances())
@EVERY
def test_the_dual_bound_holds_and_its_choice_is_allowed(instance):
    stated = problem(*instance)
    truth = optimum(*instance)
    bound, picks = integer_program(stated, 10**8)
    assert bound is not None
    assert truth <= bound
    assert allowed(stated, picks)
    assert cost(stated, picks) <= truth


def unhelpful(given, prices, chosen, effort):
    """A search that finds nothing."""
    return Found(tuple(chosen), price_bound(given, prices))


def test_without_branching_the_dual_bound_is_used(monkeypatch):
    rng = np.random.default_rng(3)
    instances = [random_instance(rng, 50, 200, 4) for _ in range(3)]
    truths = [cover(*instance) for instance in instances]
    monkeypatch.setattr(covers, "search", unhelpful)
    for instance, truth in zip(instances, truths, strict=True):
        found = cover(*instance)
        assert found.method == SOLVED
        assert truth.lower <= found.upper <= truth.upper * 1.001
        assert found.lower == truth.lower  # the incumbent serves from below only
        assert cover(*instance, effort=0).method == PRICED


@pytest.mark.parametrize("dual", [None, math.nan, math.inf, -math.inf, -1.0, 0.0, 1e9])
def test_a_solver_that_fails_or_lies_below_what_is_attained_is_ignored(monkeypatch, dual):
    instance = random_instance(np.random.default_rng(4), 50, 200, 4)
    monkeypatch.setattr(covers, "search", unhelpful)
    wrong = OptimizeResult(x=None, status=4, mip_dual_bound=dual)
    monkeypatch.setattr(scipy.optimize, "milp", lambda *_, **__: wrong)
    found = cover(*instance)
    assert found.method == PRICED
    assert found.upper == found.rational
    assert found.lower <= found.upper


def failures():
    empty = OptimizeResult(x=None, status=4)
    yield "nothing", lambda given: empty
    yield "no marginals", lambda given: OptimizeResult(status=1, ineqlin=OptimizeResult(marginals=None))
    yield "not numbers", lambda given: OptimizeResult(status=0, ineqlin=OptimizeResult(marginals=given * math.nan))
    yield "too short", lambda given: OptimizeResult(status=0, ineqlin=OptimizeResult(marginals=given[:3]))
    yield "infinite", lambda given: OptimizeResult(status=0, ineqlin=OptimizeResult(marginals=given - math.inf))
    yield "wrong sign", lambda given: OptimizeResult(status=0, ineqlin=OptimizeResult(marginals=given + 1.0))
    yield "far off", lambda given: OptimizeResult(status=2, ineqlin=OptimizeResult(marginals=given - 1e6))


@pytest.mark.parametrize(("name", "answer"), list(failures()))
def test_a_linear_solver_that_fails_leaves_the_simple_prices(monkeypatch, name, answer):
    rng = np.random.default_rng(6)
    instances = [thin_instance(rng) for _ in range(20)]
    proved = [cover(*instance).rational for instance in instances]
    asked = []

    def broken(*_, b_ub, **__):
        asked.append(b_ub.size)
        return answer(np.zeros_like(b_ub))

    monkeypatch.setattr(scipy.optimize, "linprog", broken)
    better = 0
    for instance, with_solver in zip(instances, proved, strict=True):
        simple = min(price_bound(problem(*instance), prices) for prices in rules_of_thumb(problem(*instance)))
        found = cover(*instance)
        assert found.rational == double_above(simple)
        assert found.upper == double_above(optimum(*instance))
        better += with_solver < found.rational
    assert asked  # simple prices alone must not close them all, or this shows nothing
    assert better


def thin_instance(rng):
    """Cells of three out of eight queries: two records never meet all of them."""
    touched = np.zeros((7, 8), dtype=bool)
    for row in touched:
        row[rng.choice(8, 3, replace=False)] = True
    return touched, rng.uniform(0.1, 1.0, 8).tolist(), [0.0] * 8, 2


def test_prices_that_the_solver_made_negative_are_clipped(monkeypatch):
    stated = problem(GREEDY_FAILS, [1.0] * 6, [0.0] * 6, 2)
    marginals = np.array([1.0, -0.5, 2.0, 0.0, -1.0, -3.0, 0.0, 0.0])
    answer = OptimizeResult(status=0, ineqlin=OptimizeResult(marginals=marginals))
    monkeypatch.setattr(scipy.optimize, "linprog", lambda *_, **__: answer)
    assert suggested_prices(stated, 10**6).prices == [0, Fraction(1, 2), 0, 0, 1, 3]


# ---- rounding


@given(number=st.fractions(min_value=0))
def test_rounding_is_outward_by_one_double_at_most(number):
    low, high = double_below(number), double_above(number)
    assert Fraction(low) <= number <= Fraction(high)
    assert high in {low, math.nextafter(low, math.inf)}


def test_costs_are_the_doubles_themselves():
    found = cover(np.ones((1, 3), dtype=bool), [0.1, 0.1, 0.1], [0.0] * 3, 1)
    assert Fraction(found.lower) <= 3 * Fraction(0.1) <= Fraction(found.upper)
    assert found.upper == 0.30000000000000004  # three tenths typed are less, three such doubles are more than 0.3


def test_far_apart_and_overflowing_costs():
    touched = np.eye(3, dtype=bool)
    found = cover(touched, [1e300, 1e-300, 5e-324], [0.0] * 3, 2)
    assert (found.lower, found.upper) == (1e300, math.nextafter(1e300, math.inf))
    assert found.chosen == (0, 1)
    most = np.finfo(float).max
    found = cover(touched, [most, most, 1.0], [0.0] * 3, 2)
    assert (found.lower, found.upper, found.rational) == (most, math.inf, math.inf)


# ---- records, groups and slopes


def test_records_in_one_cell_pay_the_slope_again():
    one = np.ones((1, 1), dtype=bool)
    assert cover(one, [2.0], [1.0], 3).upper == 5.0
    assert cover(one, [2.0], [1.0], 3, [0], [1]).upper == 3.0
    assert cover(one, [2.0], [1.0], 3).chosen == (0, 0, 0)
    assert cover(one, [2.0], [0.0], 3).chosen == (0,)
    assert cover(one, [2.0], [1.0], 10**5).upper == 100_002.0


def test_a_day_holds_one_record():
    touched = np.eye(4, dtype=bool)
    found = cover(touched, [4.0, 3.0, 2.0, 1.0], [0.0] * 4, 2, [0, 0, 1, 1], [1, 1])
    assert (found.upper, found.chosen) == (6.0, (0, 2))
    unlimited = cover(touched, [4.0, 3.0, 2.0, 1.0], [0.0] * 4, 2, [0, 0, 1, 1], np.array([math.inf, 1.0]))
    assert (unlimited.upper, unlimited.chosen) == (7.0, (0, 1))
    assert cover(touched, [4.0, 3.0, 2.0, 1.0], [0.0] * 4, 2, [7, 7, 9, 9]).upper == 7.0  # no capacities, no limits


def test_best_records_skips_groups_without_room():
    assert best_records([9, 5, 4], [0, 1, 2], [0, 1, 5], 3) == 5 + 4 + 4
    assert best_records([], [], [], 3) == 0


@pytest.mark.parametrize(
    "instance",
    [
        (np.ones((2, 3), dtype=bool), [1.0] * 3, [1.0] * 3, 0),
        (np.zeros((0, 3), dtype=bool), [1.0] * 3, [1.0] * 3, 2),
        (np.zeros((2, 0), dtype=bool), [], [], 2),
        (np.zeros((2, 3), dtype=bool), [1.0] * 3, [1.0] * 3, 2),
        (np.ones((2, 3), dtype=bool), [0.0] * 3, [0.0] * 3, 2),
        (np.ones((2, 3), dtype=bool), [1.0] * 3, [1.0] * 3, 2, [0, 0], [0]),
    ],
    ids=["no records", "no cells", "no queries", "nothing touched", "no costs", "no capacity"],
)
def test_what_costs_nothing(instance):
    found = cover(*instance)
    assert (found.lower, found.upper, found.rational, found.chosen) == (0.0, 0.0, 0.0, ())


@pytest.mark.parametrize("name", ["reward", "slope"])
@pytest.mark.parametrize(
    "wrong",
    [
        [1.0, math.nan],
        [1.0, -0.5],
        [math.inf, 1.0],
        [1.0],
        [1.0, 1.0, 1.0],
        1.0,
        [[1.0, 1.0]],
        [True, True],
        ["1", "2"],
        [1j, 1],
        [None, 1.0],
        np.array([1, 2], dtype=np.longdouble),
    ],
)
def test_costs_that_are_refused(name, wrong):
    good = {"reward": [1.0, 1.0], "slope": [0.0, 0.0]}
    with pytest.raises(InvalidParameter) as refused:
        cover(np.ones((1, 2), dtype=bool), **{**good, name: wrong}, records=1)
    assert refused.value.name == name


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("touched", np.ones((1, 2))),
        ("touched", [True, True]),
        ("touched", np.ones((1, 2, 1), dtype=bool)),
        ("records", -1),
        ("records", 1.0),
        ("records", True),
        ("records", MOST_RECORDS + 1),
        ("groups", [0, 0]),
        ("groups", [1]),
        ("groups", [-1]),
        ("groups", [0.0]),
        ("groups", None),
        ("capacities", 1),
        ("capacities", [-1]),
        ("capacities", [0.5]),
        ("capacities", [math.nan]),
        ("capacities", [True]),
        ("effort", -1),
        ("effort", math.nan),
    ],
)
def test_input_that_is_refused(name, wrong):
    good = {
        "touched": np.ones((1, 2), dtype=bool),
        "reward": [1.0, 1.0],
        "slope": [0.0, 0.0],
        "records": 1,
        "groups": [0],
        "capacities": [1],
    }
    assert cover(**good).upper == 2.0
    with pytest.raises(InvalidParameter) as refused:
        cover(**{**good, name: wrong})
    assert refused.value.name == name


@pytest.mark.parametrize("wrong", [[Fraction(1)], [Fraction(-1), Fraction(1)]])
def test_prices_that_prove_nothing_are_refused(wrong):
    with pytest.raises(InvalidParameter, match="prices"):
        price_bound(problem(np.ones((1, 2), dtype=bool), [1.0, 1.0], [0.0, 0.0], 1), wrong)
