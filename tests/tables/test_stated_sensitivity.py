"""Sensitivities are stated or refused; what a sum brings along is for one change of the data and no other."""

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

import quiltwork as qw
from quiltwork import mechanisms
from quiltwork.errors import InvalidParameter
from quiltwork.losses.family import ASSUMED
from quiltwork.spec import plan_of
from quiltwork.tables import (
    Cat,
    Id,
    Int,
    Plan,
    Table,
    add_remove,
    entry,
    flat_map,
    on_input,
    on_table,
    opaque,
    replace_one,
    user,
    window,
)

T = Table(region=Cat("N", "S"), age=Int(10, 12), day=Int(0, 9), person=Id())
ROWS = on_input(add_remove())
GUESSED = [
    qw.laplace(5.0),
    qw.gaussian(5.0),
    qw.discrete_laplace(5.0),
    qw.discrete_gaussian(5.0),
    qw.poisson(qw.gaussian(5.0), 0.1),
    3 * qw.laplace(5.0) + qw.pure(0.1),
    qw.mixture([(0.5, qw.laplace(5.0)), (0.5, qw.pure(0.1))]),
]
STATED = [
    qw.laplace(5.0, sensitivity=1.0),
    qw.gaussian(5.0, 2.0),
    qw.discrete_laplace(5.0, 1),
    qw.discrete_gaussian(5.0, sensitivity=3),
    qw.poisson(qw.gaussian(5.0, sensitivity=1.0), 0.1),
    qw.pure(0.5),
    qw.zcdp(0.1),
    qw.training(1000, 10, 1.0, 1.1),
]


def plan(**query):
    return Plan(T, add_remove()).add("q", **query)


@pytest.mark.parametrize("loss", GUESSED, ids=str)
def test_a_sensitivity_that_nobody_stated_is_refused(loss):
    for reading in ({"reads": ["age"]}, {"reads": ["age", "day"]}, {}):
        for holds in (ROWS, on_table, on_input(replace_one())):
            with pytest.raises(InvalidParameter, match="sensitivity"):
                plan(loss=loss, holds=holds, **reading)
    assert plan(loss=loss, holds=ROWS, count=True).queries
    assert plan(loss=loss, holds=ROWS, reads=[]).queries


@pytest.mark.parametrize("loss", STATED, ids=str)
def test_a_stated_one_is_taken_also_when_it_is_one(loss):
    assert plan(loss=loss, holds=ROWS, reads=["age"]).queries
    assert plan(loss=loss, holds=ROWS).queries


def test_the_refusal_names_what_to_state():
    with pytest.raises(InvalidParameter) as caught:
        plan(loss=qw.laplace(5.0), holds=ROWS, reads=["age"])
    said = str(caught.value)
    assert "a sum of age from 10 to 12 moves by 12 when a row comes or goes, by 2 when one is replaced" in said
    assert "sensitivity=" in said


@pytest.mark.parametrize(
    ("holds", "more", "fine"),
    [
        (on_input(user("person", 4)), {}, False),  # four rows of a person move a count by four
        (on_input(user("person", 1)), {}, True),
        (on_table(window("day", 3)), {}, False),
        (on_input(replace_one()), {}, True),
        (on_table(entry()), {}, True),
        (ROWS, {"via": flat_map("rows", max_out=3)}, True),  # stated for one of its own rows
        (on_table(add_remove()), {"via": flat_map("rows", max_out=3)}, False),  # a record makes three
        (on_table(add_remove()), {"where": opaque("model", stability=2)}, False),
    ],
)
def test_a_count_moves_by_one_only_for_single_rows(holds, more, fine):
    if fine:
        assert plan(loss=qw.laplace(5.0), holds=holds, count=True, **more).queries
        return
    with pytest.raises(InvalidParameter, match="sensitivity"):
        plan(loss=qw.laplace(5.0), holds=holds, count=True, **more)
    assert plan(loss=qw.laplace(5.0, sensitivity=4.0), holds=holds, count=True, **more).queries


def test_sessions_and_splits_refuse_as_well():
    with pytest.raises(InvalidParameter, match="sensitivity"):
        Plan(T, add_remove()).session(qw.pure(1.0)).spend("q", reads=["age"], loss=qw.laplace(5.0), holds=ROWS)
    with pytest.raises(InvalidParameter, match="sensitivity"):
        Plan(T, add_remove()).split("q", by=T.region, reads=["age"], loss=qw.laplace(5.0), holds=ROWS)


# ---- the path that certified 0.5 where the truth is 3


def test_a_width_is_no_sensitivity_for_rows_that_come_and_go():
    """Values in [10, 12], noise of scale 4: high - low would certify 0.5; a row that leaves takes up to 12 along."""
    replaced = mechanisms.laplace_loss(4.0, mechanisms.bounded_sum([10, 12], 10, 12).sensitivity)
    assert replaced.epsilon(0.0).upper == pytest.approx(0.5)
    with pytest.raises(InvalidParameter, match="replaced"):
        plan(loss=replaced, holds=ROWS, reads=["age"])
    total = mechanisms.bounded_sum([10, 12], 10, 12, neighbors="add_remove")
    found = plan(loss=mechanisms.laplace_loss(4.0, total.sensitivity), holds=ROWS, reads=["age"]).guarantee()
    assert found.epsilon(0.0).lower <= 3.0 <= found.epsilon(0.0).upper


@pytest.mark.parametrize(
    "make",
    [
        lambda reach: mechanisms.laplace_loss(4.0, reach),
        lambda reach: mechanisms.gaussian_loss(4.0, reach),
        lambda reach: mechanisms.gaussian_loss(1e6, reach),  # too wide to be listed: zCDP
        lambda reach: qw.laplace(4.0, float(reach) if isinstance(reach, bool) else reach),
    ],
)
def test_losses_remember_the_change_they_were_worked_out_for(make):
    sums = {change: mechanisms.bounded_sum([10, 12], 10, 12, change) for change in ("replace_one", "add_remove")}
    assert {total.neighbors for total in sums.values()} == set(sums)
    removed, replaced = make(sums["add_remove"].sensitivity), make(sums["replace_one"].sensitivity)
    assert plan(loss=removed, holds=ROWS, reads=["age"]).queries
    for holds in (on_input(replace_one()), on_input(user("person", 3)), on_table(window("day", 2))):
        with pytest.raises(InvalidParameter, match="holds"):
            plan(loss=removed, holds=holds, reads=["age"])
    for holds in (on_input(replace_one()), on_table(entry())):
        assert plan(loss=replaced, holds=holds, reads=["age"]).queries
    for holds in (ROWS, on_table(user("person", 1))):
        with pytest.raises(InvalidParameter, match="holds"):
            plan(loss=replaced, holds=holds, reads=["age"])


@given(
    values=st.lists(st.integers(-50, 50), min_size=1, max_size=6),
    ends=st.tuples(st.integers(-40, 40), st.integers(-40, 40)).filter(lambda pair: pair[0] < pair[1]),
    other=st.integers(-60, 60),
)
def test_bounded_sums_move_by_their_sensitivity_at_most(values, ends, other):
    """One entry more, and one entry replaced, by adding up; both are attained at an end of the range."""
    low, high = ends
    before = mechanisms.bounded_sum(values, low, high, "add_remove")
    after = mechanisms.bounded_sum([*values, other], low, high, "add_remove")
    assert abs(after.value - before.value) <= before.sensitivity == max(abs(low), abs(high))
    farthest = max(ends, key=abs)
    assert abs(mechanisms.bounded_sum([*values, farthest], low, high, "add_remove").value - before.value) == max(
        map(abs, ends)
    )
    swapped = mechanisms.bounded_sum([other, *values[1:]], low, high)
    assert abs(swapped.value - before.value) <= swapped.sensitivity == high - low


def test_sums_of_entries_that_come_and_go_are_whole():
    assert mechanisms.bounded_sum([], 0, 5, "add_remove").value == 0
    with pytest.raises(InvalidParameter, match="whole"):
        mechanisms.bounded_sum([0.5], 0.0, 1.0, "add_remove")
    with pytest.raises(InvalidParameter, match="neighbors"):
        mechanisms.bounded_sum([1], 0, 1, "user")
    with pytest.raises(InvalidParameter, match="empty"):
        mechanisms.bounded_sum([], 0, 5)


def test_marks_are_not_part_of_a_number():
    loss, plain = qw.laplace(5.0), qw.laplace(5.0, sensitivity=1.0)
    assert loss == plain
    assert hash(loss) == hash(plain)
    assert str(loss) == str(plain) == "laplace(scale=5.0, sensitivity=1.0)"
    assert loss.to_json() == plain.to_json()
    assert type(loss.to_json()["releases"][0]["sensitivity"]) is float
    (family,) = (part.family for part in loss.parts)
    assert family.sensitivity_origins() == {ASSUMED}
    assert not plain.parts[0].family.sensitivity_origins()
    assert not math.isnan(family.sensitivity)
    assert Fraction(family.sensitivity) == 1


def test_documents_remember_the_change(tmp_path):
    """What was saved is loaded with its mark, in samples too, and is refused where the live one is."""
    for change, holds in (("replace_one", ROWS), ("add_remove", on_input(replace_one()))):
        total = mechanisms.bounded_sum([10, 12], 10, 12, change)
        qw.save(total, tmp_path / "total.json")
        assert qw.load(tmp_path / "total.json").neighbors == change
        bare = mechanisms.laplace_loss(4.0, qw.load(tmp_path / "total.json").sensitivity)
        for loss in (bare, mechanisms.gaussian_loss(1e6, total.sensitivity), qw.poisson(bare, 0.1) + qw.pure(0.1)):
            qw.save(loss, tmp_path / "loss.json")
            loaded = qw.load(tmp_path / "loss.json")
            assert loaded == loss
            for one in (loaded, qw.compose(qw.discrete_laplace(4.0, total.sensitivity + 0), loaded)):
                with pytest.raises(InvalidParameter, match="holds"):
                    plan(loss=one, holds=holds, reads=["age"])


@pytest.mark.parametrize("marks", [{"scale": "user"}, {"nothing": "replace_one"}, ["replace_one"]])
def test_marks_that_nobody_writes_are_refused(marks):
    document = qw.laplace(4.0).to_json()
    document["releases"][0]["worked_out_for"] = marks
    with pytest.raises(InvalidParameter, match="worked_out_for"):
        qw.Loss.from_json(document)


def test_a_promise_says_the_change_of_its_sums():
    replaced = mechanisms.laplace_loss(4.0, mechanisms.bounded_sum([10, 12], 10, 12).sensitivity)
    assert replaced.guarantee().protects == replace_one().protects
    with pytest.raises(InvalidParameter, match="worked out for replace_one"):
        replaced.guarantee(add_remove().protects)
    with pytest.raises(InvalidParameter, match="worked out for replace_one"):
        plan_of([("sum", replaced)])
    assert replaced.stated_for(add_remove()).guarantee().protects == add_remove().protects
