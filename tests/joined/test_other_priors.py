"""Plans under trees, blocks, hidden chains and Gaussian priors; and everything at once against brute force."""

import itertools
import math

import numpy as np
import pytest
from benchmarks.soundness.rooms import joined
from tests.examples import seeds, some
from tests.joined.test_under_chain import count, hourly, stays, under

import quiltwork as qw
from quiltwork import pufferfish as pf
from quiltwork.errors import InvalidParameter, Unsupported
from quiltwork.joined.meeting import Meeting, residual
from quiltwork.joined.patterns import patterns_of
from quiltwork.joined.under.tree import InBlocks, OnTree

STAY = [[0.9, 0.1], [0.1, 0.9]]


def patterns(plan):
    return patterns_of(plan.table, plan.queries, "person", "hour", None)


# ---- brute force: benchmarks/soundness/rooms/joined.py, a few of its cases


@pytest.mark.parametrize("seed", seeds(24, 6))
def test_random_mechanisms_tell_no_more_than_is_promised(seed):
    case = joined.drawn(np.random.default_rng([20261119, seed]))
    case["queries"] = [{**query, "kind": "pure"} for query in case["queries"]]  # the quick ones
    assert [check for check in joined.asked(case) if not check.holds] == []


def test_a_change_that_costs_less_by_itself_counts_when_others_add_to_it():
    """Both rows go from state 1 or 0 to state 3: the query that both touch moves twice."""
    t = qw.Table(person=qw.Id(), hour=qw.Int(0, 1), state=qw.Cat(0, 1, 2, 3))
    plan = qw.Plan(t, neighbors=qw.add_remove())
    count(plan, "q1", (t.hour == 0) & (t.state == 1), qw.gaussian(3.0))
    count(plan, "q2", (t.hour == 0) & (t.state == 2), qw.gaussian(3.0))
    count(plan, "q3", t.state == 3, qw.gaussian(3.1))  # weaker than q2, and touched at both hours
    losses = patterns(plan).losses((0, 1))
    assert qw.gaussian(3.0) + qw.gaussian(3.1, 2.0) in losses
    glued = pf.MarkovChain((np.eye(4) * 0.9999 + 0.000025).tolist(), length=2)
    worst = (qw.gaussian(3.0) + qw.gaussian(3.1, 2.0)).epsilon(1e-6).lower
    assert under(plan, glued).epsilon(1e-6).upper >= 0.98 * worst


@pytest.mark.parametrize("seed", some(range(40), 6))
def test_sums_over_several_hours_tell_no_more_than_is_promised(seed):
    case = joined.summed_over_hours(np.random.default_rng([1, seed]))
    assert [check for check in joined.asked(case) if not check.holds] == []


def test_two_rows_that_enter_a_sum_are_no_row_that_changes_inside_it():
    """One row that changes moves the sum by at most 10, two that enter it by 20."""
    t = qw.Table(person=qw.Id(), hour=qw.Int(0, 1), state=qw.Cat(0, 1), value=qw.Int(0, 10))
    plan = qw.Plan(t, neighbors=qw.add_remove())
    plan.sum("sum", of=t.value, clip=(0, 10), where=t.state == 1, noise=qw.noise.laplace(10.0))
    glued = pf.MarkovChain([[0.9999, 0.0001], [0.0001, 0.9999]], length=2)
    assert under(plan, glued, changes=["state"]).epsilon(0.0).upper >= 1.99
    # where the value changes in every row that is kept, three such rows move a sum by 30
    everything = patterns_of(t, plan.queries, "person", "hour", ["value"])
    assert [float(loss.epsilon(0.0).upper) for loss in everything.losses((0,))] == pytest.approx([1.0])
    assert [float(loss.epsilon(0.0).upper) for loss in everything.losses((0, 1))] == pytest.approx([2.0])


# ---- a path is a chain, and a hidden chain that shows itself is one too


@pytest.mark.parametrize(("loss", "delta"), [(qw.gaussian(10.0), 1e-6), (qw.laplace(10.0), 0.0)])
def test_a_path_is_a_chain(loss, delta):
    plan, chain = hourly(loss, 8), stays(0.9, 8)
    path = pf.Tree([None, *range(7)], STAY, [0.5, 0.5])
    shown = pf.HiddenMarkov(STAY, [[1.0, 0.0], [0.0, 1.0]], length=8)
    expected = under(plan, chain).epsilon(delta)
    assert under(plan, path).epsilon(delta).upper == pytest.approx(expected.upper, rel=1e-6)
    assert under(plan, shown).epsilon(delta).upper == pytest.approx(expected.upper, rel=1e-6)


def test_laplace_noise_is_attained():
    """Two states and hours with queries of their own: the bracket closes."""
    found = under(hourly(qw.laplace(10.0)), stays(0.8)).epsilon(0.0)
    assert found.lower == pytest.approx(0.3967621532961694, rel=1e-6)
    assert found.lower <= found.upper <= found.lower * (1 + 1e-6)
    any_first = pf.MarkovChain([[0.8, 0.2], [0.2, 0.8]], initial="any", length=24)
    assert under(hourly(qw.laplace(10.0)), any_first).epsilon(0.0).lower < 0.11


def test_nothing_is_claimed_from_below_about_contents_that_the_prior_does_not_know():
    t = qw.Table(person=qw.Id(), hour=qw.Int(0, 3), state=qw.Cat("a", "b", "c"))
    plan = qw.Plan(t, neighbors=qw.add_remove())
    count(plan, "c", t.state == "c", qw.gaussian(2.0))
    for hour in range(4):
        count(plan, f"c at {hour}", (t.hour == hour) & (t.state == "c"), qw.gaussian(2.0))
    assert under(plan, stays(0.8, 4)).epsilon(1e-6).lower == 0.0


def test_an_entry_that_costs_nothing_is_told_by_its_neighbours():
    plan = hourly(qw.pure(0.5), 3)
    t = plan.table
    silent = qw.Plan(t, neighbors=qw.add_remove())
    for hour in (1, 2):
        count(silent, f"{hour}", (t.hour == hour) & (t.state == 1), qw.pure(0.5))
    glued = [[0.999, 0.001], [0.001, 0.999]]
    for prior in (pf.Tree([None, 0, 0], glued, [0.5, 0.5]), pf.MarkovChain(glued, length=3)):
        assert under(silent, prior).epsilon(0.0).upper > 0.9  # of entry 0, of which both others are copies
    star = under(silent, pf.Tree([None, 0, 0], glued, [0.5, 0.5])).curve.law
    assert star.kappa(0.0) > 0.9


# ---- couplings


def listed(meeting, entry, first, second):
    """What `around` answers, by following every pair of values along every edge."""

    def beyond(near, node, y, z):
        if y == z:
            return {frozenset(): 1.0}
        found = {frozenset((node,)): 1.0}
        for other in meeting.neighbours[node]:
            if other != near:
                found = product(found, edge(node, other, y, z))
        return found

    def edge(near, far, a, b):
        matrix, found = meeting.kernel(near, far).matrix, {}
        common = np.minimum(matrix[a], matrix[b])
        rest = 1.0 - common.sum()
        pairs = [(float(common.sum()), 0, 0)]
        if rest > 1e-14:
            pairs += [
                ((matrix[a, y] - common[y]) * (matrix[b, z] - common[z]) / rest, y, z)
                for y, z in itertools.permutations(range(len(matrix)), 2)
            ]
        for chance, y, z in pairs:
            for ticks, weight in beyond(near, far, y, z).items():
                found[ticks] = found.get(ticks, 0.0) + chance * weight
        return found

    def product(one, two):
        found = {}
        for a, p in one.items():
            for b, q in two.items():
                found[a | b] = found.get(a | b, 0.0) + p * q
        return found

    whole = {frozenset(): 1.0}
    for other in meeting.neighbours[entry]:
        whole = product(whole, edge(entry, other, first, second))
    return whole


@pytest.mark.parametrize("states", [2, 3])
@pytest.mark.parametrize("sharing", [False, True])
def test_the_law_of_the_part_in_which_copies_differ(states, sharing):
    rng = np.random.default_rng([7, states])
    tree = pf.Tree([None, 0, 0, 1, 1], rng.dirichlet(np.ones(states), states), rng.dirichlet(np.ones(states)))
    plan = hourly(qw.gaussian(5.0), 5, states)
    if sharing:
        count(plan, "all", plan.table.state == 1, qw.gaussian(9.0))
    law = OnTree(patterns(plan), tree)
    meeting = Meeting(law.patterns, tree.edges.neighbours, lambda near, far: law.kernels[near, far])
    for entry in range(5):
        truth = {}
        for ticks, weight in listed(meeting, entry, 0, 1).items():
            pattern = law.patterns.none
            for tick in ticks:
                pattern = pattern + law.patterns.at(tick)
            truth[pattern] = truth.get(pattern, 0.0) + weight
        found = meeting.around(entry, 0, 1)
        assert found.keys() >= {pattern for pattern, weight in truth.items() if weight > 1e-15}
        for pattern, weight in truth.items():
            assert weight <= found.get(pattern, 0.0) + 1e-15 <= weight + 1e-12


def test_residual_laws_are_marginals():
    matrix = np.array([[0.5, 0.3, 0.2], [0.2, 0.2, 0.6]])
    met, pairs = residual(matrix, 0.0, 0, 1)
    assert met == pytest.approx(0.6, abs=1e-12)
    assert sum(chance for chance, _, _ in pairs) == pytest.approx(0.4, abs=1e-12)
    for y in range(3):
        left = sum(chance for chance, first, _ in pairs if first == y)
        assert left == pytest.approx(max(matrix[0, y] - matrix[1, y], 0.0), abs=1e-12)


def test_urns_differ_in_as_many_entries_as_the_closed_form_says():
    size, alpha, beta = 6, 0.7, 1.9
    law = InBlocks(patterns(hourly(qw.gaussian(5.0), 12)), pf.Blocks(size, alpha, beta, 2))
    for _, found in law.laws:
        assert sum(found.values()) == pytest.approx(1.0, abs=1e-12)
        changed = sum(weight * sum(pattern.counts) for pattern, weight in found.items())
        assert changed == pytest.approx(1 + (size - 1) / (alpha + beta + 1), abs=1e-12)


def test_independent_entries_tell_what_one_entry_tells():
    found = under(hourly(qw.gaussian(10.0), 5), pf.Independent(5)).epsilon(1e-6)
    alone = qw.gaussian(10.0).epsilon(1e-6)
    assert alone.upper * (1 - 1e-3) <= found.upper <= alone.upper * (1 + 1e-6)
    assert found.lower == pytest.approx(alone.lower, rel=1e-3)


# ---- Gaussian priors: theory/joining.md section 2, reference/joining.json


def metered(losses):
    """Sums of a column of numbers: one over some hours for each loss."""
    t = qw.Table(person=qw.Id(), hour=qw.Int(0, 47), value=qw.Float(-10.0, 10.0))
    plan = qw.Plan(t, neighbors=qw.add_remove())
    holds = qw.on_input(qw.metric(qw.tables.euclidean("value"), unit="kWh"))
    for name, (where, loss) in losses(t).items():
        plan.add(name, where=where, reads=["value"], loss=loss, holds=holds)
    return plan


def test_an_autoregression_shifts_every_row():
    plan = metered(lambda t: {f"{h}": (t.hour == h, qw.gaussian(40.0, 1.0)) for h in range(48)})
    found = under(plan, pf.AutoRegressive(0.9, 1.0, 3.0, 48)).epsilon(1e-6)
    mu = math.sqrt(sum((3.0 * 0.9 ** abs(t - 24) / 40.0) ** 2 for t in range(48)))
    assert mu == pytest.approx(0.2307478677423572, rel=1e-12)
    assert found.upper == pytest.approx(qw.gdp(mu).epsilon(1e-6).upper, rel=1e-4)
    assert qw.gdp(0.2304295562871636).epsilon(1e-6).lower <= found.upper  # what is really told


def test_one_sum_of_all_rows():
    plan = metered(lambda t: {"all": (None, qw.gaussian(562.0, 1.0))})
    found = under(plan, pf.AutoRegressive(0.9, 1.0, 3.0, 48)).epsilon(1e-6)
    assert found.upper == pytest.approx(0.3686384231489038, rel=1e-4)
    same = pf.GaussianPrior([[0.9 ** abs(s - t) for t in range(48)] for s in range(48)], gap=3.0)
    assert under(plan, same).epsilon(1e-6).upper == pytest.approx(found.upper, rel=1e-6)


def test_a_row_of_larger_variance_moves_further_than_the_gap():
    """x_1 = 10 x_0 nearly: from -5 to 5, which no move by the gap does, so that both counts change."""
    t = qw.Table(person=qw.Id(), hour=qw.Int(0, 1), value=qw.Float(-10.0, 10.0))
    plan = qw.Plan(t, neighbors=qw.add_remove())
    for name, where in (("low", t.value < -4.0), ("high", t.value > 4.0)):
        count(plan, name, (t.hour == 1) & where, qw.gaussian(5.0))
    prior = pf.GaussianPrior([[1.0, 9.999], [9.999, 100.0]], gap=1.0)
    told = qw.gdp(math.sqrt(2) / 5).epsilon(1e-6).lower  # both counts, certain but for 1e-11
    assert under(plan, prior).epsilon(1e-6).upper >= told


# ---- reveal


@pytest.mark.parametrize(("sigma", "delta"), [(0.7, 1e-3), (2.0, 1e-6)])
def test_a_window_is_hidden_and_the_rest_is_told(sigma, delta):
    """Hiding the row alone, its two neighbours told: in closed form, and below what coupling and propagation give."""
    stay, length, hidden = 0.6, 7, qw.gaussian(sigma)
    promise = under(hourly(hidden, length), stays(stay, length))
    odds = math.log(stay / (1 - stay))
    told = [(stay**2, 2 * odds), (2 * stay * (1 - stay), 0.0), ((1 - stay) ** 2, -2 * odds)]
    found = float(promise.epsilon(delta).upper)
    assert sum(chance * float(hidden.delta(found - loss).upper) for chance, loss in told) <= delta * (1 + 1e-4)
    assert found < 0.99 * promise.curve.propagated_epsilon(delta, promise.curve._coupled_epsilon(delta))


@pytest.mark.parametrize("loss", [qw.gaussian(0.7), qw.gaussian(4.0)], ids=str)
def test_one_law_as_a_chain_a_tree_a_joint_law_and_spins(loss):
    """All are upper ends of one truth; where everything but the row is told they agree."""
    length, stay = 4, 0.6
    chain = stays(stay, length)
    law = np.array(
        [
            0.5 * math.prod(stay if a == b else 1 - stay for a, b in itertools.pairwise(word))
            for word in itertools.product((0, 1), repeat=length)
        ]
    ).reshape((2,) * length)
    spins = pf.Ising({(i, i + 1): 0.5 * math.log(stay / (1 - stay)) for i in range(length - 1)})
    tree = pf.Tree([None, 0, 1, 2], [[stay, 1 - stay], [1 - stay, stay]], [0.5, 0.5])
    plan = hourly(loss, length)
    uppers = [float(under(plan, prior).epsilon(1e-3).upper) for prior in (chain, pf.JointLaw(law), spins, tree)]
    assert uppers[1] == pytest.approx(uppers[2], rel=1e-5)
    if loss == qw.gaussian(0.7):
        assert uppers == pytest.approx([uppers[0]] * 4, rel=1e-5)
    else:
        assert uppers[0] <= uppers[1] * (1 + 1e-9)  # windows are sets
    assert all(float(under(plan, prior).epsilon(1e-3).lower) <= min(uppers) for prior in (chain, spins))


def test_rows_that_only_one_value_allows_are_told_for_certain():
    """Every neighbour tells outright: all losses of what is revealed are infinite, and it says nothing."""
    tree = pf.Tree([None, 0], [[1.0, 0.0], [0.0, 1.0]], [0.5, 0.5])
    assert under(hourly(qw.gaussian(4.0), 2), tree).delta(0.5).upper == pytest.approx(
        (2 * qw.gaussian(4.0)).delta(0.5).upper, rel=1e-6
    )


def test_both_directions_of_a_block_are_cases():
    """With alpha far from beta a 1 tells more than a 0: the worse of the two counts."""
    one, other = (under(hourly(qw.gaussian(1.0), 3), pf.Blocks(3, *rates)) for rates in ((0.3, 3.0), (3.0, 0.3)))
    assert one.epsilon(1e-3).upper == pytest.approx(other.epsilon(1e-3).upper, rel=1e-6)


# ---- refusals


def test_what_is_not_built_is_refused():
    plan = hourly(qw.gaussian(10.0, 1.0), 4)
    with pytest.raises(InvalidParameter, match="one for each tick"):
        under(plan, pf.Tree([None, 0, 0], STAY, [0.5, 0.5]))
    with pytest.raises(Unsupported, match="no coupling of it is proved"):
        under(plan, pf.AnyOf([pf.Blocks(4, 1.0, 1.0), pf.Blocks(4, 2.0, 1.0)]))
    for prior in (stays(0.9, 4), pf.Blocks(4, 1.0, 1.0)):
        with pytest.raises(Unsupported, match="does not add up"):
            under(plan, prior).loss()
    metric = metered(lambda t: {"all": (None, qw.gaussian(562.0, 1.0))})
    with pytest.raises(Unsupported, match="does not add up"):
        under(metric, pf.AutoRegressive(0.9, 1.0, 3.0, 48)).loss()
