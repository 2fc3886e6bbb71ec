"""Guarantees of plans: every step of a small world listed by hand, other notions, the witness and the words."""

import itertools
import math
from collections import Counter

import attrs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.examples import examples

import quiltwork as qw
from quiltwork.errors import InvalidParameter, UnboundedLossError
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
    entry,
    flat_map,
    free_lunch,
    on_input,
    on_table,
    opaque,
    replace_one,
    user,
    window,
)
from quiltwork.tables import guarantee as guarantees
from quiltwork.tables.schema import predicates

T = Table(c=Cat("a", "b"), n=Int(0, 2, nullable=True), p=Id())
RECORDS = [T.record(c=c, n=n, p=p) for c, n, p in itertools.product("ab", (0, 1, 2, None), (0, 1))]
NOTIONS = [
    add_remove(), replace_one(), replace_one(fixed=["c"]), replace_one(fixed=["n", "p"]), entry(), entry("n"),
    entry("c", "p"), user("p", 1), user("p", 2), user("p", 2, {"n": 1}), window("n", 1, 2), window("n", 2, 2),
]  # fmt: skip
CONDITIONS = [
    T.everything, T.c == "a", T.n < 1, T.n >= 1, T.n.is_null(), ~T.n.is_null(), (T.c == "b") | (T.n == 2),
    (T.c == "a") & (T.n < 2), ~((T.c == "a") & (T.n == 0)), (T.n < 1) & (T.n > 1),
]  # fmt: skip


# ---- all steps of every notion, by hand: the records that go and those that come


def several(most, allowed):
    mine = [record for record in RECORDS if record["p"] == 0]
    return [
        (list(chosen), [])
        for size in range(1, most + 1)
        for chosen in itertools.combinations_with_replacement(mine, size)
        if allowed(chosen)
    ]


def one_per_value(records):
    return max(Counter(record["n"] for record in records).values()) == 1


def within(length):
    def close(records):
        values = {record["n"] for record in records}
        return values == {None} or (None not in values and max(values) - min(values) < length)

    return close


def steps(notion):
    if notion == add_remove():
        return [([record], []) for record in RECORDS]
    if notion.kind == "user":
        return several(notion.max_records, one_per_value if notion.max_per else lambda records: True)
    if notion.kind == "window":
        return several(notion.max_records, within(notion.length))
    found = []
    for old, new in itertools.permutations(RECORDS, 2):
        changed = {name for name in T.columns if old[name] != new[name]}
        if notion.kind == "replace_one":
            allowed = not changed & notion.fixed
        else:
            allowed = len(changed) == 1 and changed <= (notion.columns or set(T.columns))
        if allowed:
            found.append(([old], [new]))
    return found


def seen(query, record):
    """What a query sees of one record: nothing, or the columns that it reads."""
    if not query.where.keeps(record):
        return None
    return tuple(record[name] for name in sorted(T.columns if query.reads is None else query.reads))


def moved(query, step):
    """How far one step moves the input of a query that is stated for single rows, or for the plan's own notion."""
    gone, new = (Counter(s for r in side if (s := seen(query, r)) is not None) for side in step)
    difference = ((gone - new) + (new - gone)).total()
    return difference if query.holds.input else min(difference, 1)


def vectors(plan, notion):
    found = set()
    for step in steps(notion):
        distances = [(i, moved(query, step)) for i, query in enumerate(plan.queries)]
        found.add(tuple((i, float(d)) for i, d in distances if d))
    return found


queries = st.lists(
    st.tuples(
        st.sampled_from(CONDITIONS),
        st.sampled_from([None, (), ("n",), ("c", "p")]),
        st.sampled_from([0.125, 0.25, 0.5]),
        st.booleans(),
    ),
    min_size=1,
    max_size=4,
)


def built(asked, notion, *, mixed=True):
    """Statements on the table are for the plan's own notion; add_remove there would be counted record by record."""
    plan = Plan(T, notion)
    for i, (where, reads, epsilon, whole) in enumerate(asked):
        table = whole and mixed and notion != add_remove()
        holds = on_table if table else on_input(add_remove())
        plan.add(f"q{i}", loss=qw.pure(epsilon), holds=holds, where=where, reads=reads)
    return plan


@settings(max_examples=examples(120))
@given(queries, st.sampled_from(NOTIONS))
def test_the_worst_step_is_the_worst_of_all_steps(asked, notion):
    plan = built(asked, notion)
    found = plan.guarantee()
    worst = max(
        (math.fsum(asked[i][2] * d for i, d in vector) for vector in vectors(plan, notion)),
        default=0.0,
    )
    answer = found.epsilon(0.0)
    assert float(answer.upper) >= worst * (1 - 1e-12)  # sums of eighths are exact; the bracket is rounded outward
    assert float(answer.lower) <= worst + 1e-9
    assert found.exact
    assert float(answer.upper) == pytest.approx(worst, rel=1e-9, abs=1e-9)


@settings(max_examples=examples(120))
@given(queries, st.sampled_from(NOTIONS))
def test_every_vector_is_a_step_that_can_happen(asked, notion):
    plan = built(asked, notion)
    found = plan.guarantee()
    possible = vectors(plan, notion) | {()}
    for vector in found.vectors:
        assert vector.exact
        assert vector.distances in possible
    worst = found.worst_case()
    assert found.touched() == {plan.queries[i].name: d for i, d in worst.distances}


@settings(max_examples=examples(120))
@given(queries, st.sampled_from(NOTIONS), st.sampled_from(NOTIONS))
def test_another_notion_is_as_if_planned_from_the_start(asked, first, second):
    converted = built(asked, first, mixed=False).guarantee().to(second)
    direct = built(asked, second, mixed=False).guarantee()
    assert converted.notion == second
    assert converted.protects == second.protects
    assert converted.epsilon(0.0) == direct.epsilon(0.0)
    assert converted.delta(0.25) == direct.delta(0.25)
    assert converted.witness == direct.witness
    assert {v.distances for v in converted.vectors} == {v.distances for v in direct.vectors}


@pytest.mark.parametrize(("first", "second"), list(itertools.product(NOTIONS[1:], repeat=2)), ids=str)
def test_statements_about_the_table_go_to_other_notions_by_dist(first, second):
    made = Plan(T, first).add("q", loss=qw.pure(0.25), holds=on_table).guarantee()
    far = dist(first, second, T)
    if math.isinf(far):
        with pytest.raises(UnboundedLossError, match="changes of the table"):
            made.to(second)
    else:
        assert float(made.to(second).epsilon(0.0).upper) == pytest.approx(0.25 * far, rel=1e-9)
    assert float(made.to(first).epsilon(0.0).upper) == float(made.epsilon(0.0).upper)


def test_converting_before_composing_is_never_worse_than_after():
    """Theory section 0.3: two disjoint counts cost 0.8 under replacement, not twice the 0.5 of add/remove."""
    plan = Plan(T, add_remove())
    plan.add("a", loss=qw.pure(0.5), holds=on_input(add_remove()), where=T.c == "a", count=True)
    plan.add("b", loss=qw.pure(0.3), holds=on_input(add_remove()), where=T.c == "b", count=True)
    found = plan.guarantee()
    assert float(found.epsilon(0.0).upper) == pytest.approx(0.5, rel=1e-9)
    assert float(found.to(replace_one()).epsilon(0.0).upper) == pytest.approx(0.8, rel=1e-9)
    assert dist(add_remove(), replace_one(), T) * 0.5 == 1.0
    assert plan.neighbors == add_remove()  # the plan itself is unchanged


@pytest.mark.parametrize("bad", [add_remove, None, "add_remove", on_table, user("q"), window("c", 1)])
def test_only_notions_of_this_table_are_gone_to(bad):
    found = Plan(T, add_remove()).add("q", loss=qw.pure(0.25), holds=on_table).guarantee()
    with pytest.raises(InvalidParameter):
        found.to(bad)


# ---- the witness and the words


def described():
    plan = Plan(T, user("p", 3, {"n": 2}))
    plan.add("rows", loss=qw.pure(0.5), holds=on_input(add_remove()), where=T.c == "a", reads=["n"])
    plan.add("clipped", loss=qw.pure(0.25), holds=on_input(add_remove()), via=clip_rows("p", 2))
    plan.add("searched", loss=qw.pure(0.125), holds=on_input(add_remove()), where=opaque("full text", stability=1))
    plan.add("chosen", loss=qw.pure(0.125), holds=on_input(add_remove()), where=T.c == "b", adaptive=True)
    plan.add("visits", loss=qw.pure(0.0625), holds=on_input(user("p", 6)), via=flat_map("visits", max_out=2))
    plan.add("nobody", loss=qw.pure(0.5), holds=on_input(add_remove()), where=(T.n < 1) & (T.n > 1))
    return plan


def test_the_witness_re_evaluated_by_hand():
    found = described().guarantee()
    assert found.touched() == {"rows": 3.0, "clipped": 2.0, "searched": 3.0, "chosen": 3.0, "visits": 1.0}
    assert float(found.epsilon(0.0).upper) == pytest.approx(1.5 + 0.5 + 0.375 + 0.375 + 0.0625, rel=1e-9)
    assert "rows (distance 3)" in found.witness
    assert "c = a" in found.witness
    assert "nobody" not in found.witness


def test_everything_that_was_taken_on_trust_is_said():
    plan = described()
    text = plan.guarantee().explain(delta=1e-6)
    for words in (
        "Protected: all records (at most 3) of one p, at most 2 for each n, added or removed.",
        "'searched' reads through full text (opaque, stability 1), as declared",
        "'chosen' is chosen after earlier outputs",
        "'clipped' reads via clip_rows('p', 2)",
        "'visits' reads via flat_map('visits', at most 2 rows for each record)",
        "no p has more than 3 records",
        "no p has more than 6 records",
        "no p has more than 2 records for one n",
        "fixed before any result was seen",
        "distance-vector composition",
        "The worst pair of neighbouring tables differs in 5 of 6 queries.",
        "- rows: at distance 3; ",
        "stated for one record, added or removed in what the query reads",
        ", via clip_rows('p', 2)",
        "stated for all records (at most 6) of one p, added or removed",
        "The worst case found: ",
    ):
        assert words in text, words
    assert "- nobody" not in text
    assert "At delta = 1e-06 epsilon is at most" in text


def test_conditions_with_too_many_alternatives_are_named(monkeypatch):
    monkeypatch.setattr(predicates, "MOST_BOXES", 1)
    plan = Plan(T, add_remove())
    plan.add("wide", loss=qw.pure(0.5), holds=on_input(add_remove()), where=(T.c == "a") | (T.n == 2))
    plan.add("rest", loss=qw.pure(0.5), holds=on_input(add_remove()), where=(T.c == "b") & (T.n < 2))
    found = plan.guarantee()
    assert float(found.epsilon(0.0).upper) == pytest.approx(1.0, rel=1e-9)  # though no record is in both
    assert any("condition of 'wide' has too many alternatives" in line for line in found.assumes)


def test_long_witnesses_are_cut():
    table = Table(tags=SubsetOf(range(12)))
    found = Plan(table, add_remove()).each("tag", of=table.tags, loss=qw.pure(0.1), holds=on_table).guarantee()
    assert len(found.touched()) == 12
    assert found.witness.endswith("and 4 more")


def test_a_guarantee_from_elsewhere_has_no_witness():
    found = Plan(T, add_remove()).add("q", loss=qw.pure(0.5), holds=on_table).guarantee()
    other = attrs.evolve(found, curve=qw.pure(0.5))
    assert other.worst_case() is None
    assert other.touched() == {}
    assert guarantees._words(None, found.queries) is None


def test_nothing_is_touched_when_no_record_is_kept():
    plan = Plan(T, replace_one()).add("none", loss=qw.pure(0.5), holds=on_table, where=(T.n < 1) & (T.n > 1))
    found = plan.guarantee()
    assert found.touched() == {}
    assert float(found.epsilon(0.0).upper) == 0
    assert "The worst pair of neighbouring tables differs in 0 of 1 queries." in found.explain()


def test_a_count_is_not_touched_by_a_swap_inside_its_filter():
    plan = Plan(T, replace_one(fixed=["c"])).add("a", loss=qw.pure(0.5), holds=on_table, where=T.c == "a", count=True)
    assert plan.guarantee().touched() == {}
    plan.add("b", loss=qw.pure(0.5), holds=on_table, where=T.c == "a", reads=["n"])
    assert plan.guarantee().touched() == {"b": 1.0}


def test_the_worst_step_may_depend_on_delta():
    """A Gaussian release has no pure epsilon; at a large delta the pure one beside it is worse."""
    plan = Plan(T, add_remove())
    plan.add("pure", loss=qw.pure(2.0), holds=on_table, where=T.c == "a")
    plan.add("gauss", loss=qw.gdp(0.5), holds=on_table, where=T.c == "b")
    found = plan.guarantee()
    assert found.touched(1e-9) == {"gauss": 1.0}
    assert found.touched(0.01) == {"pure": 1.0}
    for delta in (1e-9, 0.01):
        alone = max(float(qw.pure(2.0).epsilon(delta).upper), float(qw.gdp(0.5).epsilon(delta).upper))
        assert float(found.epsilon(delta).upper) == pytest.approx(alone, rel=1e-3)
    with pytest.raises(InvalidParameter):
        found.touched(2.0)


def test_a_guarantee_knows_its_plan():
    plan = Plan(T.rows(0, 5), free_lunch()).add("q", loss=qw.pure(0.25), holds=on_input(add_remove()))
    found = plan.guarantee()
    assert found.queries == plan.queries
    assert found.table is plan.table
    assert found.notion == free_lunch()
    assert not found.exact  # whether everything can change at once is not known
    assert float(found.epsilon(0.0).upper) == pytest.approx(2.5, rel=1e-9)  # five rows go and five come
