"""Guarantees of plans against brute force: no legal mechanism on any two neighbouring tables loses more than promised.

Tables, neighbours and distances are listed by `enumeration`, plans and their inputs drawn by `random_plans`, mechanisms
that keep to their statement drawn and checked by `random_channels`; `plan_checks` compares the exact divergences of
everything released, also when later mechanisms are chosen after earlier outputs. Seeds are fixed and were not chosen.

Reference: theory/granularity.md, Theorem 1 (soundness) and section 3.5 (tightness, seed 001 Theorem IV.11).
"""

from __future__ import annotations

import math

import attrs
import numpy as np
import pytest
from tests.examples import examples, seeds
from tests.tables.enumeration import Universe, distances, steps
from tests.tables.plan_checks import Tally, campaign, check_ends, check_plan, guarantee
from tests.tables.random_channels import Channel, Seen, Stated, hockey, joint, respects
from tests.tables.random_plans import (
    NOTIONS,
    Ask,
    Setting,
    all_records,
    draw_condition,
    draw_notion,
    draw_setting,
    draw_table,
    naive,
    spoken,
)

import quiltwork as qw
from quiltwork.errors import UnboundedLossError, Unsupported
from quiltwork.tables import (
    Cat,
    Id,
    Int,
    Plan,
    SubsetOf,
    Table,
    add_remove,
    clip_rows,
    dist,
    edge,
    entry,
    flat_map,
    node,
    on_input,
    on_table,
    replace_one,
    user,
    window,
)

PLANS = max(15, examples(60))  # of each notion; of some, most are refused
LEAST_CASES = 45 * PLANS


@pytest.mark.parametrize("name", NOTIONS)
def test_no_mechanism_loses_more_than_its_plan_promises(name):
    found = campaign(name, seed=4, plans=PLANS)
    assert not found.violations, found.violations[0]
    assert found.cases >= LEAST_CASES
    assert found.plans >= PLANS // 6  # most of the others were refused


@pytest.mark.parametrize("name", ["replace_one", "replace_one fixed", "entry", "metric", "user", "window max_records"])
def test_the_truth_lies_between_both_ends(name):
    """A lower end above what any mechanism loses would be a false certificate, as an upper end below it is."""
    found = Tally()
    for seed in range(PLANS):
        check_ends(np.random.default_rng([seed, 11, *map(ord, name)]), name, found)
    assert not found.violations, found.violations[0]
    assert found.plans >= PLANS // 4
    assert found.attained >= found.plans // 2  # and most lower ends are the truth


@pytest.mark.parametrize("name", NOTIONS)
def test_most_refusals_are_right(name):
    """A refused plan has a step of infinite length, or one that grows with the table; some are only cautious."""
    found = campaign(name, seed=5, plans=PLANS, kinds=("pure",), rounds=0)
    assert found.refused_finite <= PLANS // 3


@pytest.mark.parametrize("notion", [add_remove(), replace_one(), entry(), user("person", 2)], ids=str)
@pytest.mark.parametrize("seed", seeds(3))
def test_splits_and_members_are_as_sound_as_single_queries(notion, seed):
    """The parts of a split and of `each`, by hand: values, then NULL; every member of a set."""
    rng = np.random.default_rng([seed, 3])
    table = Table(a=Cat("x", "y", nullable=True), tags=SubsetOf(range(2)), **({"person": Id()} if seed % 2 else {}))
    if notion.kind == "user":
        table = Table(a=Cat("x", "y", nullable=True), tags=SubsetOf(range(2), max_size=1), person=Id())
    records = all_records(table)
    universe = Universe.of(records, range(3))
    holds = [on_input(add_remove()), on_table][int(rng.integers(2))]
    reads = [None, ()][int(rng.integers(2))]
    parts = [("isin", "a", ("x",)), ("isin", "a", ("y",)), ("null", "a")] + [("has", "tags", m) for m in range(2)]
    masks = [np.array([naive(part, record) is True for record in records]) for part in parts]
    asks = tuple(Ask(mask, reads, None, holds) for mask in masks)
    setting = Setting(table, notion, asks, universe, steps(notion, universe))
    stated = [Stated("pure", (0.4,))] * 3 + [Stated("gdp", (0.5,))] * 2

    def in_parts(plan, setting, stated):
        made = Plan(table, neighbors=notion)
        made.split("value", by=table.a, loss=stated[0].loss, holds=holds, reads=reads)
        return made.each("member", of=table.tags, loss=stated[-1].loss, holds=holds, reads=reads).guarantee()

    found = Tally()
    check_plan(rng, "", found, in_parts, setting=setting, stated=stated, rounds=6)
    assert found.plans
    assert not found.violations, found.violations[0]


# ---- the tools


@pytest.mark.parametrize("seed", range(40))
def test_conditions_keep_what_a_naive_evaluator_keeps(seed):
    rng = np.random.default_rng([seed, 1])
    table = draw_table(rng, NOTIONS[seed % len(NOTIONS)])
    for _ in range(20):
        tree = draw_condition(rng, table, depth=3)
        condition, opposite = spoken(tree, table), ~spoken(tree, table)
        for record in all_records(table):
            assert condition.keeps(record) is (naive(tree, record) is True), (tree, record)
            assert opposite.keeps(record) is (naive(tree, record) is False), (tree, record)


def test_a_statement_that_does_not_hold_is_noticed():
    single = np.array([[0.0, 1.0], [1.0, 0.0]])
    laws = np.array([[0.75, 0.25], [0.25, 0.75]])
    places = np.array([0, 1])
    assert respects(Stated("pure", (math.log(3) + 1e-6,)), single, places, laws)
    assert not respects(Stated("pure", (math.log(3) - 1e-3,)), single, places, laws)
    assert respects(Stated("approximate", (0.0, 0.5)), single, places, laws)
    assert not respects(Stated("approximate", (0.0, 0.49)), single, places, laws)
    assert respects(Stated("gdp", (1.35,)), single, places, laws)
    assert not respects(Stated("gdp", (1.34,)), single, places, laws)


def test_symmetric_difference_is_the_distance_of_added_and_removed_rows():
    universe = Universe.of([{"a": v} for v in "xyz"], range(4))
    far = np.abs(universe.counts[:, None, :] - universe.counts[None, :, :]).sum(axis=2)
    assert np.array_equal(distances(steps(add_remove(), universe)), far)


@pytest.mark.parametrize("seed", seeds(60))
def test_conversions_are_never_below_shortest_paths(seed):
    rng = np.random.default_rng([seed, 2])
    name = NOTIONS[seed % len(NOTIONS)]
    table = draw_table(rng, name)
    if name == "free_lunch":
        table = table.rows(0, 2)
    wanted = draw_notion(rng, name, table)
    records = [record for record in all_records(table) if "u" not in record or record["u"] < record["v"]]
    universe = Universe.of(records, range(3 if name == "free_lunch" else 4))
    others = ["add_remove", "replace_one", "replace_one fixed", "entry", "free_lunch"]
    others += ["window", "window max_records"] if "day" in table.columns else []
    near = steps(wanted, universe) <= 1 + 1e-12
    for other in others:
        stated = draw_notion(rng, other, table)
        far = distances(steps(stated, universe))[near]
        assert far.max() <= dist(stated, wanted, table) + 1e-9, (stated, wanted)


# ---- tightness


@pytest.mark.parametrize("name", ["add_remove", "replace_one"])
def test_pure_guarantees_are_attained(name):
    """Truncated noise on the distance from the worst pair's input loses exactly what is promised."""
    rng = np.random.default_rng([6, len(name)])
    for _ in range(40):
        drawn = draw_setting(rng, name)
        plain = [ask for ask in drawn.asks if ask.via is None and not ask.adaptive]
        holds = [on_table, on_input(add_remove())]
        asks = tuple(Ask(ask.kept, ask.reads, None, holds[int(rng.integers(2))], ask.where) for ask in plain)
        if not asks:
            continue
        universe = Universe.of(drawn.universe.rows, range(4))
        setting = Setting(drawn.table, drawn.notion, asks, universe, steps(drawn.notion, universe))
        stated = [Stated("pure", (round(float(rng.uniform(0.1, 1.0)), 2),)) for _ in asks]
        promised = setting.plan([one.loss for one in stated]).guarantee().epsilon(0.0).upper
        assert _attained(setting, stated) == pytest.approx(promised, abs=1e-9)


def _attained(setting, stated):
    first, second = setting.pairs()
    seen = [Seen(setting, ask) for ask in setting.asks]
    costs = sum(one.epsilon * each.far()[first, second] for one, each in zip(stated, seen, strict=True))
    table, other = (int(ends[int(np.argmax(costs))]) for ends in (first, second))
    channels = []
    for one, each in zip(stated, seen, strict=True):
        labels, far, single, _ = each.versions[0]
        values, places = np.unique(far[labels[table]], return_inverse=True)
        laws = _geometric(values, one.epsilon)
        assert respects(one, single, places.ravel(), laws)
        channels.append([Channel(places.ravel()[labels], laws)])
    laws = joint(channels, np.array([table, other]), [np.zeros(1, dtype=int)] * len(channels))
    return math.log(np.max(laws[0] / laws[1]))


def _geometric(values, epsilon):
    """Noise e^(-epsilon |x|) on whole numbers, its tails gathered at 0 and at the largest level."""
    top = int(values[np.isfinite(values)].max())
    shrink = math.exp(-epsilon)
    outputs = np.arange(top + 1)
    laws = shrink ** np.abs(outputs[None, :] - np.minimum(values, top)[:, None]) * (1 - shrink) / (1 + shrink)
    laws[:, [0, -1]] /= 1 - shrink
    return laws if top else np.ones((len(values), 1))


# ---- wrong answers that must be caught


def most_expensive(plan, setting, stated):
    """Parallel composition where records can be replaced."""
    return qw.pure(max(one.epsilon for one in stated))


def one_left_out(plan, setting, stated):
    shorter = Plan(setting.table, neighbors=setting.notion)
    shorter._queries = list(plan.queries[:-1])
    return shorter.guarantee()


def one_record_only(plan, setting, stated):
    """A person taken for one record."""
    return plan.guarantee().to(add_remove())


def as_if_on_table(plan, setting, stated):
    """Statements about the input taken for statements about the table (seed 001, Example II.9)."""
    taken = Setting(
        setting.table, setting.notion,
        tuple(Ask(a.kept, a.reads, a.via, on_table, a.where) for a in setting.asks), setting.universe, setting.lengths,
    )  # fmt: skip
    return taken.plan([one.loss for one in stated]).guarantee()


@pytest.mark.parametrize(
    ("name", "wrong", "plans"),
    [
        ("replace_one", most_expensive, 40),
        ("add_remove", one_left_out, 40),
        ("metric", one_left_out, 40),
        ("node rewire", one_left_out, 40),
        ("user", one_record_only, 60),
        ("replace_one", as_if_on_table, 60),
        ("entry", as_if_on_table, 60),
    ],
)
def test_wrong_guarantees_are_caught(name, wrong, plans):
    assert campaign(name, seed=7, plans=plans, claim=wrong, kinds=("pure",)).violations


def test_directions_that_are_ignored_are_caught():
    """A replaced record leaves one count and enters another: (P, Q) x (Q, P) is above both pure directions here."""
    p, q = (0.224, 0.038, 0.738), (0.004, 0.684, 0.312)
    setting = _two_parts(replace_one())
    losses = [qw.pair(p, q)] * 2

    def same_direction(plan, setting, stated):
        return losses[0] + losses[1]

    rng, found = np.random.default_rng(8), Tally()
    stated = [Stated("pair", (p, q))] * 2
    for _ in range(10):
        _check(rng, setting, stated, found, same_direction)
    assert found.violations
    right = Tally()
    for _ in range(10):
        _check(rng, setting, stated, right, guarantee)
    assert not right.violations


def test_conditions_that_depend_on_outputs_are_caught_when_taken_as_fixed():
    """The first query reads x or y, as an earlier output says; with the second, which reads y, both may be touched."""
    base = _two_parts(add_remove())
    x, y = base.asks
    every = attrs.evolve(x, kept=np.ones_like(x.kept), where=None)
    asks = (every, attrs.evolve(x, adaptive=True, twin=y.kept), y)
    setting = attrs.evolve(base, asks=asks)
    stated = [Stated("pure", (epsilon,)) for epsilon in (0.3, 0.5, 0.7)]

    def as_if_fixed(plan, setting, stated):
        fixed = attrs.evolve(setting, asks=(every, x, y))
        return fixed.plan([one.loss for one in stated]).guarantee()

    rng, found, right = np.random.default_rng(10), Tally(), Tally()
    for _ in range(5):
        _check(rng, setting, stated, found, as_if_fixed)
        _check(rng, setting, stated, right, guarantee)
    assert found.violations
    assert not right.violations


def test_a_count_of_ones_own_rows_has_no_finite_loss_when_rows_can_leave():
    """on_input(replace_one()) with a filter on a column that changes: releasing the count is 0-private there."""
    setting = _two_parts(replace_one(), on_input(replace_one()))
    with pytest.raises(UnboundedLossError):
        setting.plan([qw.pure(0.5)] * 2).guarantee()
    rng, found = np.random.default_rng(9), Tally()
    _check(rng, setting, [Stated("pure", (0.5,))] * 2, found, lambda *_: qw.pure(50.0))
    assert found.violations[0]["loss"] == math.inf


def _two_parts(notion, holds=None):
    table = Table(a=Cat("x", "y"), b=Int(0, 1))
    holds = on_input(add_remove()) if holds is None else holds
    records = all_records(table)
    universe = Universe.of(records, range(3))
    asks = tuple(
        Ask(np.array([record["a"] == part for record in records]), (), None, holds, table.a == part) for part in "xy"
    )
    return Setting(table, notion, asks, universe, steps(notion, universe))


def _check(rng, setting, stated, found, claim):
    check_plan(rng, "", found, claim, setting=setting, stated=stated)


# ---- found by brute force while plans were built


PEOPLE = Table(a=Cat("x", "y"), day=Int(0, 3), person=Id(), house=Id())
EDGES = Table(u=Int(0, 2), v=Int(0, 2), label=Cat("x", "y"))
ROWS = on_input(add_remove())
CLIPPED = clip_rows("person", 1)


@pytest.mark.parametrize(
    ("table", "notion", "query", "truth"),
    [
        (PEOPLE, window("day", 1), {"holds": ROWS, "via": CLIPPED}, math.inf),  # one row of each of many persons
        (PEOPLE, window("day", 1, 1), {"holds": ROWS, "via": CLIPPED}, 2.0),  # another day's row takes its place
        (PEOPLE, node(rewire=False), {"holds": on_input(edge()), "via": CLIPPED}, math.inf),
        (PEOPLE, user("person", 2), {"holds": ROWS, "via": clip_rows("house", 1)}, 4.0),  # others' rows come in
        (PEOPLE, user("person", 2), {"holds": on_input(user("person", 2)), "via": clip_rows("house", 1)}, 3.0),
        (PEOPLE, user("person", 2), {"holds": on_input(user("person", 2)), "via": flat_map("f", max_out=3)}, math.inf),
        (PEOPLE, add_remove(), {"holds": on_input(user("person", 1)), "via": flat_map("f", max_out=2)}, math.inf),
        (PEOPLE, entry("a"), {"holds": on_table(window("day", 1, 1))}, 2.0),  # one out, one in
        (PEOPLE, entry("a"), {"holds": on_input(window("day", 1, 1))}, 2.0),
        (EDGES, node(2, nodes=3), {"holds": on_input(edge())}, 4.0),  # two edges, both relabelled
    ],
)
def test_what_was_once_too_small(table, notion, query, truth):
    plan = Plan(table, neighbors=notion).add("q", loss=qw.pure(1.0), **query)
    try:
        promised = plan.guarantee().epsilon(0.0).upper
    except (UnboundedLossError, Unsupported):
        promised = math.inf
    assert promised >= truth


def test_a_rewired_node_leaves_one_count_and_enters_another():
    p, q = [0.224, 0.038, 0.738], [0.004, 0.684, 0.312]
    plan = Plan(EDGES, neighbors=node(1))
    for label in "xy":
        plan.add(label, loss=qw.pair(p, q), holds=on_input(edge()), where=EDGES.label == label, count=True)
    truth = float(hockey(np.kron(p, q), np.kron(q, p), 2.0))
    assert truth > (2 * qw.pair(p, q)).delta(2.0).upper
    with pytest.raises(Unsupported):  # neither direction alone would be a bound
        plan.guarantee()


def test_a_direction_may_depend_on_earlier_outputs():
    """Where the direction is unknown, a later mechanism may be (P, Q) after one output and (Q, P) after another.

    Randomized response comes first; the second mechanism then holds its statement either way round. Every fixed choice
    of directions stays below what both do together.
    """
    p, q, epsilon = np.array([0.22, 0.255, 0.525]), np.array([0.199, 0.787, 0.014]), 0.91
    yes, no = math.exp(epsilon) / (1 + math.exp(epsilon)), 1 / (1 + math.exp(epsilon))
    one, two = np.concatenate([yes * q, no * p]), np.concatenate([no * p, yes * q])
    plan = Plan(Table(a=Cat("x", "y")), neighbors=replace_one())
    plan.add("first", loss=qw.pure(epsilon), holds=on_table).add("second", loss=qw.pair(p, q), holds=on_table)
    for at in (0.0, 0.3):
        truth = float(max(hockey(one, two, at), hockey(two, one, at)))
        assert truth > (qw.pure(epsilon) + qw.pair(p, q)).delta(at).upper
        try:
            promised = float(plan.guarantee().delta(at).upper)
        except Unsupported:
            promised = 1.0
        assert promised >= truth * (1 - 1e-9)
