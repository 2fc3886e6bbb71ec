"""Losses that know for which change of the data they were stated."""

import pytest

import quiltwork as qw
from quiltwork.compose.loss import Loss
from quiltwork.errors import InvalidParameter, Unsupported
from quiltwork.pufferfish import MarkovChain, guarantee

SAID = qw.gaussian(2.0, 1.0).stated_for(qw.replace_one())


def test_what_is_said_stays_with_the_loss():
    assert SAID.neighbors == qw.replace_one().protects
    assert qw.gaussian(2.0) != SAID
    assert (3 * SAID).neighbors == (SAID + qw.pure(0.1)).neighbors == (qw.pure(0.1) + SAID).neighbors == SAID.neighbors
    assert sum([SAID, SAID]) == 2 * SAID
    assert SAID.direction("add").neighbors == SAID.neighbors
    assert SAID.guarantee().protects == SAID.neighbors
    assert "stated_for('one record, replaced by any other')" in repr(SAID)
    assert float(SAID.epsilon(1e-6).upper) == float(qw.gaussian(2.0).epsilon(1e-6).upper)


def test_documents():
    assert Loss.from_json(SAID.to_json()) == SAID
    assert "neighbors" not in qw.gaussian(2.0).to_json()  # as it always was
    assert Loss.from_json({**SAID.to_json(), "neighbors": ""}) == qw.gaussian(2.0)
    with pytest.raises(InvalidParameter, match="neighbors"):
        Loss.from_json({**SAID.to_json(), "neighbors": 3})


def test_different_changes_do_not_add_up():
    other = qw.pure(0.1).stated_for("one person")
    for join in (lambda: SAID + other, lambda: qw.compose(qw.pure(1.0), SAID, other)):
        with pytest.raises(InvalidParameter, match="different changes"):
            join()
    assert (other + qw.pure(0.2).stated_for(" One person.")).neighbors


def test_what_follows_for_another_change_is_not_guessed():
    assert SAID.group(2).neighbors == ""
    for make in (lambda: qw.poisson(SAID, 0.1), lambda: qw.mixture([(1.0, SAID)])):
        with pytest.raises(Unsupported, match="stated_for"):
            make()
    with pytest.raises(InvalidParameter, match="stated for"):
        SAID.guarantee("one person")
    with pytest.raises(InvalidParameter, match="'one entry, alone'"):
        guarantee(SAID, MarkovChain([[0.9, 0.1], [0.1, 0.9]]))
    for words in ("", None, 3, b"x"):
        with pytest.raises(InvalidParameter, match="neighbors"):
            qw.pure(1.0).stated_for(words)


def test_plans_compare_it_with_where_the_loss_holds():
    table = qw.Table(x=qw.Int(0, 9))
    plan = qw.Plan(table, neighbors=qw.replace_one())
    plan.add("fits", loss=SAID, holds=qw.on_table)
    assert plan.queries[0].loss == qw.gaussian(2.0)  # `holds` says the rest
    with pytest.raises(InvalidParameter, match=r"on_input\(add_remove\(\)\)"):
        plan.add("swapped", loss=SAID, holds=qw.on_input(qw.add_remove()))
    with pytest.raises(InvalidParameter, match="takes the place of another"):
        plan.add("batch", loss=qw.fixed_size(qw.gaussian(2.0, 2.0), 10, 100), holds=qw.on_input(qw.add_remove()))
    assert len(plan.queries) == 1
