"""What a change costs: certified intervals against direct computation, every kind of file, bad input."""

import json
import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.examples import examples

import quiltwork as qw
from quiltwork.curves import Bracket
from quiltwork.errors import InvalidParameter, Unsupported
from quiltwork.report.answers.change import Cost, differences
from quiltwork.report.answers.change_sides import Unbounded
from quiltwork.report.pages.change import difference_report
from quiltwork.spec import parse_plan, parse_prior, parse_table_plan, parse_world, plan_of
from quiltwork.spec.files.budgets import parse_budgets

DELTA = 1e-6


def plan(*releases: str, rest: str = "") -> object:
    return parse_plan("quiltwork: 1\n" + rest + "releases:\n" + "".join(f"  - {{{one}}}\n" for one in releases))


A = "name: a, gaussian: {sigma: 5.0}, count: 3"
B = "name: b, laplace: {scale: 10.0}"
C = "name: c, pure: {epsilon: 0.1}"


# ---- the interval


def test_the_interval_holds_the_difference_of_any_two_truths():
    cost = Cost.of(Bracket(1.0, 1.5, "epsilon"), Bracket(2.0, 2.25, "epsilon"))
    assert (cost.lower, cost.upper, cost.published) == (0.5, 1.25, 0.75)


@given(st.lists(st.floats(0, 1e6), min_size=4, max_size=4), st.floats(0, 1), st.floats(0, 1))
@settings(max_examples=examples(200), deadline=None)
def test_no_difference_escapes(ends, share, other):
    from fractions import Fraction

    (a, b), (c, d) = sorted(ends[:2]), sorted(ends[2:])
    cost = Cost.of(Bracket(a, b, "epsilon"), Bracket(c, d, "epsilon"))
    inside = [min(max(low + t * (high - low), low), high) for low, high, t in ((a, b, share), (c, d, other))]
    true = Fraction(inside[1]) - Fraction(inside[0])
    assert Fraction(cost.lower) <= true <= Fraction(cost.upper)


def test_infinite_ends():
    far = Bracket(math.inf, math.inf, "epsilon")
    near = Bracket(1.0, 1.0, "epsilon")
    assert Cost.of(near, far).lower == math.inf
    assert Cost.of(far, near).upper == -math.inf
    unknown = Cost.of(far, far)
    assert (unknown.lower, unknown.upper) == (-math.inf, math.inf)
    assert str(unknown) == "unknown"
    assert unknown.to_json()["upper"] == "inf"
    open_end = Cost.of(near, Bracket(0.0, math.inf, "epsilon"))
    assert (open_end.lower, open_end.upper) == (-1.0, math.inf)


def test_a_known_sign_is_used():
    one, two = Bracket(1.0, 1.1, "epsilon"), Bracket(1.05, 1.2, "epsilon")
    assert Cost.of(one, two).lower < 0
    assert Cost.of(one, two, 1).lower == 0
    assert Cost.of(two, one, -1).upper == 0


@pytest.mark.parametrize(
    ("cost", "words"),
    [
        (Cost(0.125, 0.25), "grows by 0.125 to 0.25"),
        (Cost(-0.25, -0.125), "falls by 0.125 to 0.25"),
        (Cost(0.0, 0.0), "stays as it was"),
        (Cost(-0.125, 0.25, 0.5), "changes by -0.125 to +0.25; its upper end moves by +0.5"),
        (Cost(-math.inf, math.inf, math.inf), "may grow or fall"),
    ],
)
def test_words(cost, words):
    assert cost.words() == words


# ---- plans


def test_what_changed_and_what_it_costs():
    found = differences(plan(A, B), plan(A.replace("5.0", "4.0"), C), DELTA)
    kinds = {change.name: change.kind for change in found.changes}
    assert kinds == {"a": "changed", "b": "removed", "c": "added"}
    assert found.kept == 0
    a, b, c = 3 * qw.gaussian(5.0), qw.laplace(10.0), qw.pure(0.1)
    total = float((a + b).epsilon(DELTA, rtol=1e-9).midpoint)
    alone = {"a": 3 * qw.gaussian(4.0) + b, "b": a, "c": a + b + c}
    for change in found.changes:
        true = float(alone[change.name].epsilon(DELTA, rtol=1e-9).midpoint) - total
        assert change.cost.lower <= true <= change.cost.upper
        assert change.cost.upper - change.cost.lower < 1e-4
    after = float((3 * qw.gaussian(4.0) + c).epsilon(DELTA, rtol=1e-9).midpoint)
    assert found.cost.lower <= after - total <= found.cost.upper
    assert [setting.name for setting in found.changes[0].fields] == ["gaussian.sigma"]


def test_nothing_changed_costs_exactly_nothing():
    found = differences(plan(A, B), plan(A + ", note: words alone", B), DELTA)
    assert found.same
    assert found.cost == Cost(0.0, 0.0)
    assert found.holds(0.0)


def test_adding_never_saves_and_removing_never_costs():
    tiny = "name: t, gaussian: {sigma: 100000.0}"
    more = differences(plan(A), plan(A, tiny), DELTA)
    assert 0 <= more.cost.lower <= more.cost.upper < 1e-4
    assert more.changes[0].cost.lower >= 0
    fewer = differences(plan(A, tiny), plan(A), DELTA)
    assert fewer.cost.upper <= 0
    again = differences(plan(A), plan(A.replace("count: 3", "count: 4")), DELTA)
    assert again.cost.lower > 0
    assert again.changes[0].after.count == 4


def test_targets_of_both_are_held_against_both():
    strict, loose = (f"targets: [{{epsilon: {value}, delta: 1.0e-6}}]\n" for value in (0.5, 9))
    found = differences(plan(A, rest=loose), plan(A, rest=strict))
    words = [(t.target.epsilon, t.before.word, t.after.word, t.set_before, t.set_after) for t in found.targets]
    assert words == [(0.5, "missed", "missed", False, True), (9.0, "met", "met", True, False)]
    assert not found.met
    assert differences(plan(A, rest=strict), plan(A, rest=loose)).met


def test_budgets_of_a_plan_are_judged():
    rest = "budgets: [{name: year, epsilon: 1.0, delta: 1.0e-6, protects: one person}]\n"
    found = differences(plan("name: a, gaussian: {sigma: 20.0}", rest=rest), plan(A, rest=rest))
    assert found.budgets == (("year", True, False),)
    assert not found.met


def test_at_most_more():
    found = differences(plan(A), plan(A, B), DELTA)
    assert found.holds(found.cost.upper)
    assert not found.holds(found.cost.lower / 2)
    with pytest.raises(InvalidParameter, match="at-most-more"):
        found.holds(math.nan)


def test_what_is_protected_is_cautioned_about():
    found = differences(plan(A, rest="protects: one visit\n"), plan(A, rest="protects: one person\n"), DELTA)
    assert "protects" in found.caution
    assert [s.name for s in found.settings] == ["protects"]
    assert not differences(plan(A), plan(B.replace("b", "a", 1)), DELTA).caution


def test_many_changes_are_not_priced_one_by_one():
    one, two = ([f"name: r{i}, pure: {{epsilon: {e}}}" for i in range(45)] for e in (0.001, 0.002))
    found = differences(plan(*one), plan(*two), DELTA)
    assert len(found.changes) == 45
    assert all(change.cost is None for change in found.changes)
    assert found.cost.lower > 0


def test_json_is_plain():
    found = differences(plan(A, B), plan(C), DELTA)
    data = json.loads(json.dumps(found.to_json(), allow_nan=False))
    assert data["schema"] == "quiltwork/difference/1"
    assert Bracket.from_json(data["before"]) == found.before
    assert [change["kind"] for change in data["changes"]] == ["removed", "removed", "added"]


# ---- other kinds

TABLES = """
quiltwork: 1
targets: [{epsilon: 1.0, delta: 1.0e-6}]
table: {columns: {region: {cat: [north, south]}, age: {int: [0, 110]}}}
neighbors: replace_one
queries:
  - {name: by region, split_by: region, count: true, laplace: {scale: 8.0}, holds: {on_input: add_remove}}
  - {name: ages, where: age < 18, reads: [age], pure: {epsilon: 0.2}, holds: {on_input: add_remove}}
"""


def test_table_plans():
    before, after = parse_table_plan(TABLES), parse_table_plan(TABLES.replace("scale: 8.0", "scale: 4.0"))
    found = differences(before, after)
    assert [change.name for change in found.changes] == ["by region"]
    true = [float(spec.guarantee().epsilon(1e-6).midpoint) for spec in (before, after)]
    assert found.cost.lower <= true[1] - true[0] <= found.cost.upper
    assert found.cost.lower > 0
    assert {t.after.word for t in found.targets} == {"met"}
    other = differences(before, parse_table_plan(TABLES.replace("replace_one", "add_remove")))
    assert "neighbors" in other.caution


def test_a_table_plan_without_a_finite_epsilon_is_not_met():
    noise = "laplace: {scale: 8.0, sensitivity: 1.0}"
    free = TABLES.replace(", pure: {epsilon: 0.2}", f", {noise}")
    plain, fixed = "{on_input: add_remove}", "{on_input: {replace_one: {fixed: [region]}}}"
    whole = free.replace(f"reads: [age], {noise}, holds: {plain}", f"reads: [age], {noise}, holds: {fixed}")
    found = differences(parse_table_plan(free), parse_table_plan(whole))
    assert math.isinf(float(found.after.upper))
    assert not found.met
    assert found.cost.upper == math.inf


def test_the_unbounded_curve_says_nothing():
    curve = Unbounded()
    assert (float(curve.epsilon(0.1).lower), float(curve.epsilon(0.1).upper)) == (0.0, math.inf)
    assert float(curve.delta(3.0).upper) == 1.0
    assert curve.beta([0.0, 0.25]).lower.tolist() == [0.0, 0.0]


PRIOR = """
quiltwork: 1
prior: {binary_chain: {p: 0.8, q: 0.9, length: 10}}
target: {epsilon: 2.0}
per_entry: {epsilon: 0.1}
"""


def prior_text() -> str:
    chain = "markov_chain: {transition: [[0.8, 0.2], [0.1, 0.9]], length: 10}"
    return PRIOR.replace("binary_chain: {p: 0.8, q: 0.9, length: 10}", chain)


def test_priors():
    before = parse_prior(prior_text())
    found = differences(before, parse_prior(prior_text().replace("epsilon: 0.1}", "epsilon: 0.2}")))
    assert [change.name for change in found.changes] == ["per entry"]
    from quiltwork.pufferfish.guarantee import guarantee

    uppers = [float(guarantee(qw.pure(e), before.model(), None).epsilon(0.0).upper) for e in (0.1, 0.2)]
    assert found.cost.published == pytest.approx(uppers[1] - uppers[0])
    assert found.delta == 0.0


def test_a_prior_without_releases_has_no_total():
    text = prior_text().replace("per_entry: {epsilon: 0.1}\n", "")
    found = differences(parse_prior(text), parse_prior(text.replace("length: 10", "length: 20")))
    assert found.before is None
    assert found.cost is None
    assert "prior" in found.caution
    assert found.met
    assert not found.holds(1.0)  # nothing is known, so nothing is promised


WORLD = """
quiltwork: 1
secrets: {names: [no, yes]}
data: {values: [0, 1], given_secret: [[0.75, 0.25], [0.25, 0.75]]}
existing:
  - {name: answer, randomized_response: {odds: 2}}
target: {odds: 3}
"""


def test_worlds():
    before, after = parse_world(WORLD), parse_world(WORLD.replace("odds: 2", "odds: 3"))
    found = differences(before, after)
    # P(yes | answer) odds: (3 t + 1) / (t + 3) for t-response: 7/5 and then 10/6
    true = math.log(10 / 6) - math.log(7 / 5)
    assert found.cost.lower <= true <= found.cost.upper
    assert found.cost.upper - found.cost.lower < 1e-9
    (target,) = found.targets
    assert math.exp(target.target.epsilon) <= 3
    assert target.after.word == "met"


def test_budget_files_are_compared_limit_by_limit():
    text = "quiltwork: 1\nbudgets:\n  - {name: a, epsilon: 1.0, delta: 1.0e-6, protects: one person}\n"
    more = text + "  - {name: b, rho: 0.5, protects: one person}\n"
    found = differences(parse_budgets(text), parse_budgets(more.replace("1.0,", "1.5,")))
    costs = {change.name: change.cost for change in found.changes}
    assert (costs["a"].lower, costs["a"].upper) == (0.5, 0.5)
    assert costs["b"].lower > 0
    assert found.cost is None
    assert found.holds(10.0)
    assert not found.holds(0.6)


def test_objects_with_an_epsilon():
    found = differences(qw.gaussian(2.0), qw.gaussian(1.0), DELTA)
    assert found.cost.lower > 0
    assert found.same is not None


# ---- bad input


def test_two_kinds_are_refused():
    with pytest.raises(InvalidParameter, match="one kind"):
        differences(plan(A), parse_table_plan(TABLES))


@pytest.mark.parametrize("value", ["text", 3, None, ["a"]])
def test_what_has_no_epsilon_is_refused(value):
    with pytest.raises(Unsupported, match="no epsilon"):
        differences(value, value)


@pytest.mark.parametrize("delta", [math.nan, -1.0, 2.0, True, "x"])
def test_a_bad_delta_is_refused(delta):
    with pytest.raises(InvalidParameter, match="delta"):
        differences(plan(A), plan(A), delta)


# ---- the page


def test_the_report_says_what_changed():
    found = differences(plan_of([("a", qw.gaussian(5.0))]), plan_of([("b", qw.laplace(5.0))]), DELTA)
    page = difference_report(found)
    text = page.to_markdown({})
    assert "added" in text
    assert "removed" in text
    assert "epsilon" in text
    assert page.data["difference"] == json.loads(json.dumps(found.to_json()))
    assert page.pictures
