"""Adaptive use: the budget holds on every path, and refusals change nothing."""

import itertools
import math

import numpy as np
import pytest
from mpmath import mp
from tests.examples import seeds

import quiltwork as qw
from quiltwork.compose.filters.costs import pure_to_gdp
from quiltwork.errors import BudgetExceeded, InvalidParameter, UnboundedLossError, Unsupported
from quiltwork.tables.papers.small_channels import hockey_stick

TABLE = qw.Table(region=qw.Cat("N", "S", "E"), age=qw.Int(0, 99), person=qw.Id())
BY_COUNT = qw.on_input(qw.add_remove())


def opened(budget, notion=None):
    return qw.Plan(TABLE, qw.add_remove() if notion is None else notion).session(budget)


def fill(session, loss, where=None, most=200):
    """How many equal counts are admitted."""
    for number in range(most):
        try:
            session.spend(f"{number}", where=where, count=True, loss=loss, holds=BY_COUNT)
        except BudgetExceeded:
            return number
    return most


# ---- exact amounts


@pytest.mark.parametrize(
    ("budget", "loss", "admitted"),
    [
        (qw.pure(1.0), qw.pure(0.1), 10),
        (qw.pure(0.3), qw.pure(0.1), 3),
        (qw.pure(1.0), qw.laplace(10.0), 10),
        (qw.pure(1.0), qw.discrete_laplace(10.0), 10),
        (qw.pure(0.5) + qw.pure(0.3), qw.pure(0.1), 8),
        (qw.zcdp(0.5), qw.zcdp(0.1), 5),
        (qw.zcdp(0.5), qw.gaussian(3.0), 9),
        (qw.zcdp(0.5), qw.pure(0.5), 4),  # eps^2 / 2 each
        (qw.gdp(1.0), qw.gaussian(3.0), 9),
        (qw.gaussian(1.0), qw.gdp(0.5), 4),
        (7 * qw.laplace(10.0), qw.laplace(10.0), 7),
        (7 * qw.laplace(10.0), qw.laplace(25.0), 7),  # weaker releases are dominated and count the same
        (5 * qw.approximate(0.5, 1e-6), qw.approximate(0.5, 1e-6), 5),
    ],
)
def test_budgets_are_filled_to_the_last_digit_and_no_further(budget, loss, admitted):
    assert fill(opened(budget), loss) == admitted


def test_disjoint_cells_are_charged_apart_and_swaps_pay_for_two():
    for notion, admitted in ((qw.add_remove(), 30), (qw.replace_one(), 15), (qw.user("person", 2), 15)):
        session = opened(qw.pure(1.0), notion)
        admitted_so_far = 0
        while admitted_so_far < 100:
            where = TABLE.region == "NSE"[admitted_so_far % 3]
            if session.would_exceed(where=where, count=True, loss=qw.pure(0.1), holds=BY_COUNT):
                break
            session.spend(f"{admitted_so_far}", where=where, count=True, loss=qw.pure(0.1), holds=BY_COUNT)
            admitted_so_far += 1
        # ten charges to one cell, or five to each of the two that a swap leaves and enters, or that a person has twice
        assert admitted_so_far == admitted, notion


def test_a_sum_pays_twice_for_a_swap_inside_its_filter():
    session = opened(qw.pure(1.0), qw.replace_one())
    session.spend("sum", where=TABLE.region == "N", reads=["age"], loss=qw.pure(0.5), holds=BY_COUNT)
    assert session.spent == "epsilon 1"
    assert session.would_exceed(where=TABLE.region == "N", count=True, loss=qw.pure(0.6), holds=BY_COUNT)


def test_renyi_budgets_hold_at_every_order():
    # rho alpha with rho = 1/8: 0.25 at order 2 and 1.0 at order 8 for one release, rounded up
    assert fill(opened(qw.rdp([2.0, 8.0], [0.9, 1.001])), qw.gaussian(2.0)) == 1
    assert fill(opened(qw.rdp([2.0, 8.0], [0.501, 9.0])), qw.gaussian(2.0)) == 2
    assert fill(opened(qw.rdp([2.0, 8.0], [0.249, 9.0])), qw.gaussian(2.0)) == 0


def test_what_the_plan_holds_is_spent_first():
    plan = qw.Plan(TABLE, qw.add_remove()).add("fixed", loss=qw.pure(0.4), holds=BY_COUNT)
    session = plan.session(qw.pure(1.0))
    assert (session.spent, session.left) == ("epsilon 0.4", "epsilon 0.6")
    with pytest.raises(BudgetExceeded):
        plan.session(qw.pure(0.3))


# ---- refusals


def test_a_refusal_changes_nothing_and_says_what_is_left():
    session = opened(qw.zcdp(0.5))
    session.spend("one", loss=qw.zcdp(0.4), holds=BY_COUNT)
    before = (session.spent, session.left, session.queries)
    with pytest.raises(BudgetExceeded, match=r"rho 0\.1 left.*rho 0\.6 in all") as caught:
        session.spend("two", loss=qw.zcdp(0.2), holds=BY_COUNT)
    assert caught.value.remaining == "rho 0.1"
    assert (session.spent, session.left, session.queries) == before
    assert not session.would_exceed(loss=qw.zcdp(0.1), holds=BY_COUNT)
    session.spend("two", loss=qw.zcdp(0.1), holds=BY_COUNT)
    assert session.left == "rho 0"


def test_refusals_depend_on_conditions_only():
    # the session never sees a record: two sessions with the same questions answer alike, whatever the data
    one, two = opened(qw.pure(0.5)), opened(qw.pure(0.5))
    for session in (one, two):
        session.spend("a", where=TABLE.age < 30, count=True, loss=qw.pure(0.4), holds=BY_COUNT)
    asked = {"where": TABLE.age >= 30, "count": True, "loss": qw.pure(0.5), "holds": BY_COUNT}
    assert not one.would_exceed(**asked)
    assert one.would_exceed(**{**asked, "where": TABLE.age < 31})
    assert repr(one) == repr(two) == "<Session of 1 queries: epsilon 0.4 of epsilon 0.5>"


def test_losses_without_a_finite_cost_in_the_currency_are_refused():
    for budget, loss in (
        (qw.pure(1.0), qw.gaussian(5.0)),
        (qw.zcdp(1.0), qw.approximate(0.1, 1e-9)),
        (qw.gdp(1.0), qw.zcdp(0.1)),
        (qw.rdp([2.0], [1.0]), qw.approximate(0.1, 1e-9)),
        (3 * qw.laplace(10.0), qw.laplace(9.0)),
        (3 * qw.laplace(10.0), qw.gaussian(10.0)),
    ):
        session = opened(budget)
        with pytest.raises(Unsupported):
            session.spend("no", count=True, loss=loss, holds=BY_COUNT)
        assert session.queries == ()


def test_budgets_that_do_not_add_up_on_paths_are_refused():
    asymmetric = qw.pair([0.5, 0.3, 0.2], [0.2, 0.2, 0.6])
    for budget in (qw.pure(1.0) + qw.gaussian(1.0), asymmetric, qw.laplace(1.0) + qw.approximate(0.1, 0.1)):
        with pytest.raises(Unsupported):
            opened(budget)
    for budget in (qw.compose(), 1.0, None, qw.pure(1.0).direction("add")):
        with pytest.raises(InvalidParameter):
            opened(budget)


def test_a_number_of_touches_needs_single_steps():
    with pytest.raises(Unsupported, match="single steps only"):
        opened(5 * qw.laplace(10.0), qw.replace_one()).spend(
            "sum", reads=["age"], loss=qw.laplace(10.0, sensitivity=1.0), holds=BY_COUNT
        )
    with pytest.raises(Unsupported, match="single steps only"):
        opened(5 * qw.laplace(10.0), qw.user("person", 3)).spend("n", count=True, loss=qw.laplace(10.0), holds=BY_COUNT)
    stated = opened(5 * qw.laplace(10.0), qw.user("person", 3))
    stated.spend("n", loss=qw.laplace(10.0, sensitivity=1.0), holds=qw.on_table)
    assert stated.left.startswith("4 touches")


def test_names_are_new_and_infinite_distances_refused():
    session = opened(qw.pure(1.0), qw.replace_one()).spend("a", count=True, loss=qw.pure(0.1), holds=BY_COUNT)
    with pytest.raises(InvalidParameter, match="new"):
        session.spend("a", count=True, loss=qw.pure(0.1), holds=BY_COUNT)
    with pytest.raises(UnboundedLossError):
        session.spend(
            "b", where=TABLE.region == "N", count=True, loss=qw.pure(0.1), holds=qw.on_input(qw.replace_one())
        )
    assert len(session.queries) == 1


def test_the_guarantee_is_the_budget_in_words():
    session = opened(qw.zcdp(0.5)).spend("a", count=True, loss=qw.gaussian(3.0), holds=BY_COUNT)
    found = session.guarantee()
    assert found.epsilon(1e-6).upper == qw.zcdp(0.5).epsilon(1e-6).upper
    assert "one record, added or removed" in found.explain()


# ---- every path, by brute force


def response_law(epsilon, delta, world):
    """Randomized response with a reveal: outputs are kept bit, flipped bit, revealed 0, revealed 1."""
    kept = 1 / (1 + math.exp(-epsilon))
    law = np.array([kept, 1 - kept]) if world == 0 else np.array([1 - kept, kept])
    return np.concatenate([(1 - delta) * law, [delta, 0.0] if world == 0 else [0.0, delta]])


def played(budget, choices, policy, region, depth):
    """Both joint laws of an analyst who asks `policy(history)`, when a record of `region` is there or not."""
    laws = ([], [])

    def walk(asked, history, here, there):
        session = opened(budget)
        for number, which in enumerate(asked):
            where, loss, _ = choices[which]
            session.spend(f"{number}", where=where, count=True, loss=loss, holds=BY_COUNT)
        wanted = policy(history)
        where, loss, (epsilon, delta) = choices[wanted]
        refused = session.would_exceed(where=where, count=True, loss=loss, holds=BY_COUNT)
        if len(history) == depth or refused:
            laws[0].append(here)
            laws[1].append(there)
            return
        record = {"region": region, "age": 5, "person": "p"}
        first, second = (response_law(epsilon, delta, world) for world in (0, 1))
        if not where.keeps(record):
            second = first
        for output, (p, q) in enumerate(zip(first, second, strict=True)):
            if p or q:
                walk((*asked, wanted), (*history, (wanted, output)), here * p, there * q)

    walk((), (), 1.0, 1.0)
    return np.array(laws[0]), np.array(laws[1])


REGIONS = [TABLE.region == "N", TABLE.region == "S", TABLE.region.isin(["N", "S"])]


@pytest.mark.parametrize("seed", seeds(6, least=1))
@pytest.mark.parametrize(
    ("budget", "strengths"),
    [
        (qw.pure(1.2), [(0.5, 0.0), (0.3, 0.0), (0.7, 0.0)]),
        (qw.zcdp(0.35), [(0.5, 0.0), (0.3, 0.0), (0.7, 0.0)]),
        (qw.gdp(0.9), [(0.5, 0.0), (0.3, 0.0), (0.6, 0.0)]),
        (qw.rdp([2.0, 6.0], [0.6, 1.0]), [(0.5, 0.0), (0.3, 0.0), (0.6, 0.0)]),
        (2 * qw.approximate(0.6, 0.02), [(0.6, 0.02), (0.6, 0.02), (0.6, 0.02)]),
    ],
)
def test_no_adaptive_analyst_passes_the_budget(budget, strengths, seed):
    rng = np.random.default_rng(seed)
    choices = [
        (where, qw.approximate(e, d) if d else qw.pure(e), (e, d))
        for where, (e, d) in itertools.product(REGIONS, strengths)
    ]
    table = {}

    def policy(history):
        if history not in table:
            table[history] = int(rng.integers(len(choices)))
        return table[history]

    depth = 3 if strengths[0][1] else 4
    for region in "NSE":
        here, there = played(budget, choices, policy, region, depth)
        assert here.sum() == pytest.approx(1.0)
        for epsilon in (0.0, 0.3, 0.7, 1.0, 1.5):
            allowed = float(budget.delta(epsilon).upper) * (1 + 1e-9) + 1e-12
            assert hockey_stick(here, there, epsilon) <= allowed
            assert hockey_stick(there, here, epsilon) <= allowed


def test_the_fixed_set_maximum_would_be_passed():
    """Theory 3.2: A always; B after output 0 of A, else C. The larger of {A, B} and {A, C} is not a bound."""
    a, c = response_law(1.0, 0.0, 0)[:2], np.array([0.05, 0.0, 0.95])
    b, d = response_law(1.0, 0.0, 1)[:2], np.array([0.0, 0.05, 0.95])
    here = np.concatenate([a[0] * a, a[1] * c])
    there = np.concatenate([b[0] * b, b[1] * d])
    truth = max(hockey_stick(here, there, 1.5), hockey_stick(there, here, 1.5))
    assert truth == pytest.approx(0.22373544004831816, abs=1e-12)
    fixed = [qw.pure(1.0) + qw.pure(1.0), qw.pure(1.0) + qw.approximate(0.0, 0.05)]
    assert max(float(loss.delta(1.5).upper) for loss in fixed) == pytest.approx(0.2102883689798184, abs=1e-9)
    # C has no finite cost in any currency of paths that A and B have, so that a session refuses the mixture
    session = opened(qw.pure(2.0)).spend("A", count=True, loss=qw.pure(1.0), holds=BY_COUNT)
    with pytest.raises(Unsupported):
        session.spend("C", count=True, loss=qw.approximate(0.0, 0.05), holds=BY_COUNT)


def test_one_query_may_take_all_of_an_approximate_budget():
    whole = qw.approximate(1.0, 1e-6)
    session = opened(whole).spend("A", count=True, loss=whole, holds=BY_COUNT)
    assert float(session.guarantee().epsilon(1e-6).upper) == 1.0
    with pytest.raises(BudgetExceeded):
        session.spend("B", count=True, loss=qw.pure(1e-6), holds=BY_COUNT)


# ---- what was once promised too well


def test_a_sum_of_pure_budgets_promises_its_sum_and_nothing_more():
    session = opened(100 * qw.pure(0.1)).spend("one", loss=qw.pure(10.0), holds=BY_COUNT)
    assert session.guarantee().epsilon(1e-6, rtol=1e-9).upper >= qw.pure(10.0).epsilon(1e-6, rtol=1e-9).lower
    assert session.guarantee().epsilon(0.0).upper == 10.0


def test_a_touch_at_half_a_step_is_a_whole_touch():
    table = qw.Table(x=qw.Float(0, 10))
    half = qw.metric(qw.euclidean("x"), "m", within=0.5)
    session = qw.Plan(table, half).session(4 * qw.laplace(1.0))
    stated = qw.on_table(qw.metric(qw.euclidean("x"), "m", within=1.0))
    for number in range(4):
        session.spend(f"{number}", loss=qw.laplace(1.0, sensitivity=1.0), holds=stated)
    with pytest.raises(BudgetExceeded):
        session.spend("one more", loss=qw.laplace(1.0, sensitivity=1.0), holds=stated)


def test_pure_losses_at_fractions_of_a_step_cost_no_less_than_they_must():
    """mu(epsilon) is concave: half of mu(1) would be less than mu(1/2). Fractions are counted as whole steps."""
    table = qw.Table(x=qw.Float(0, 10))
    needed = pure_to_gdp(0.5)
    one = qw.metric(qw.euclidean("x"), "m", within=1.0)
    small = qw.metric(qw.euclidean("x"), "m", within=1.0, diameter=0.5)
    for notion, stated in ((qw.metric(qw.euclidean("x"), "m", within=0.5), one), (qw.replace_one(), small)):
        for budget, fits in ((needed * 0.99, False), (needed * 2.1, True)):
            session = qw.Plan(table, notion).session(qw.gdp(budget))
            asked = {"loss": qw.pure(1.0), "holds": qw.on_input(stated)}
            assert session.would_exceed(**asked) is not fits


@pytest.mark.parametrize("epsilon", [1e-17, 1e-9, 1e-4, 0.01, 1.0, 5.0])
def test_pure_to_gdp_is_never_rounded_down(epsilon):
    with mp.workdps(60):
        truth = -2 * mp.sqrt(2) * mp.erfinv(2 / (1 + mp.e ** mp.mpf(epsilon)) - 1)
        assert truth * (1 - mp.mpf(10) ** -15) <= mp.mpf(pure_to_gdp(epsilon)) <= truth * (1 + mp.mpf(10) ** -6)


def test_caps_do_not_hide_several_steps_from_a_number_of_touches():
    table = qw.Table(day=qw.Int(0, 0), person=qw.Id())
    session = qw.Plan(table, qw.user("person", max_per={"day": 3})).session(9 * qw.laplace(10.0))
    with pytest.raises(Unsupported, match="single steps only"):
        session.spend("n", count=True, loss=qw.laplace(10.0), holds=BY_COUNT)


def test_parts_are_admitted_together_or_not_at_all():
    table = qw.Table(region=qw.Cat("N", "S"), tags=qw.SubsetOf(range(3)))
    own = qw.on_input(qw.add_remove())
    session = qw.Plan(table, qw.add_remove()).session(qw.pure(1.0))
    session.split("by region", by=table.region, loss=qw.pure(0.3), holds=own)  # a record is in one part only
    assert [query.name for query in session.queries] == ["by region: region = N", "by region: region = S"]
    assert session.spent == "epsilon 0.3"
    with pytest.raises(BudgetExceeded):
        session.each("tag", of=table.tags, loss=qw.pure(0.3), holds=own)  # a record may have all three
    assert len(session.queries) == 2
    assert session.spent == "epsilon 0.3"
    session.each("tag", of=table.tags, loss=qw.pure(0.2), holds=own)
    assert session.spent == "epsilon 0.9"
    with pytest.raises(InvalidParameter, match="its own name"):
        session.split("by region", by=table.region, loss=qw.pure(0.01), holds=own)


@pytest.mark.parametrize(
    ("budget", "spent"),
    [(qw.pure(3.0), "epsilon 0.4"), (qw.zcdp(3.0), "rho 0.08"), (qw.rdp([2.0, 8.0], [3.0, 3.0]), "divergence")],
)
def test_sums_of_a_plan_are_admitted_first(budget, spent):
    """A kept row that changes has a loss of its own (40 / 100, not 2 x 50 / 100), which each budget counts."""
    table = qw.Table(person=qw.Id(), amount=qw.Int(0, 50))
    plan = qw.Plan(table, neighbors=qw.replace_one(fixed=["person"]))
    plan.sum("total", of=table.amount, clip=(10, 50), noise=qw.noise.laplace(100.0))
    assert spent in plan.session(budget).spent
