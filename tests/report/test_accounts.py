"""Accounts: totals, shares, verdicts, JSON."""

import json
import math

import pytest

import quiltwork as qw
from quiltwork.curves import Bracket
from quiltwork.errors import InvalidParameter
from quiltwork.report import account
from quiltwork.report.answers import account as accounts
from quiltwork.report.parts import ends, percent
from quiltwork.spec import parse_plan, plan_of, read_plan


def test_the_total_is_the_engine_s():
    plan = plan_of([("a", 10 * qw.gaussian(4.0)), ("b", qw.laplace(2.0))])
    found = account(plan, 1e-5)
    assert found.total == plan.loss().epsilon(1e-5)
    assert [entry.epsilon for entry in found.entries] == [
        (10 * qw.gaussian(4.0)).epsilon(1e-5),
        qw.laplace(2.0).epsilon(1e-5),
    ]


def test_shares_are_what_leaving_out_saves():
    losses = [qw.gaussian(4.0), 2 * qw.gaussian(4.0), qw.gaussian(8.0)]
    plan = plan_of([(f"{i}", loss) for i, loss in enumerate(losses)])
    found = account(plan, 1e-5)
    rest = losses[1] + losses[2]
    total = float(found.total.midpoint)
    assert found.entries[0].saves == pytest.approx(total - float(rest.epsilon(1e-5).midpoint), rel=1e-6)
    assert sum(entry.share for entry in found.entries) == pytest.approx(1.0)
    assert found.entries[1].share > found.entries[0].share > found.entries[2].share


def test_no_shares_of_an_infinite_total():
    found = account(plan_of([("a", qw.approximate(1.0, 0.01)), ("b", qw.pure(1.0))]))
    assert found.total.upper == math.inf
    assert {entry.share for entry in found.entries} == {None}
    assert json.loads(json.dumps(found.to_json(), allow_nan=False))["epsilon"]["upper"] == "inf"


def test_long_plans_skip_the_comparison(monkeypatch):
    monkeypatch.setattr(accounts, "MOST_COMPARED", 1)
    found = account(plan_of([("a", qw.pure(0.5)), ("b", qw.gaussian(1.0))]))
    assert {entry.saves for entry in found.entries} == {None}


def test_the_delta_is_given_or_the_target_s_or_usual():
    plan = plan_of([("a", qw.gaussian(1.0))], targets=[{"epsilon": 1.0, "delta": 1e-4}])
    assert account(plan).delta == 1e-4
    assert account(plan, 1e-3).delta == 1e-3
    assert account(plan_of([("a", qw.gaussian(1.0))])).delta == accounts.USUAL_DELTA
    with pytest.raises(InvalidParameter, match="delta must be in"):
        account(plan, 2.0)


def test_verdicts():
    safe = float(qw.gaussian(1.0).epsilon(1e-6).upper)
    targets = [{"epsilon": safe + d, "delta": 1e-6} for d in (0.1, -0.1)]
    met, missed = account(plan_of([("a", qw.gaussian(1.0))], targets=targets)).verdicts
    assert (met.word, missed.word) == ("met", "missed")


def test_a_bracket_across_the_target_is_undecided():
    """The truth of a zCDP bound is not one number, so a target between its ends cannot be decided."""
    bracket = qw.zcdp(0.1).epsilon(1e-6)
    found = account(plan_of([("a", qw.zcdp(0.1))], targets=[{"epsilon": float(bracket.midpoint), "delta": 1e-6}]))
    assert found.verdicts[0].word == "undecided"
    assert not found.met


def test_a_close_call_is_looked_at_twice():
    """At the default width the bracket of this composition is wider than the distance to the target."""
    loss = 5 * qw.gaussian(3.0) + 7 * qw.laplace(3.0)
    truth = loss.epsilon(1e-6, rtol=1e-9)
    for sign, word in ((1, "met"), (-1, "missed")):
        targets = [{"epsilon": float(truth.midpoint) * (1 + sign * 1e-6), "delta": 1e-6}]
        assert account(plan_of([("a", loss)], targets=targets)).verdicts[0].word == word


def test_no_targets_are_met():
    assert account(plan_of([("a", qw.gaussian(1.0))])).met


def test_examples():
    assert account(read_plan("examples/plans/hospital.yaml")).met
    assert not account(read_plan("examples/plans/too_much.yaml")).met
    assert account(read_plan("examples/plans/zcdp.yaml")).met


def test_json_holds_everything():
    found = account(read_plan("examples/plans/too_much.yaml"))
    data = json.loads(json.dumps(found.to_json(), allow_nan=False))
    assert data["schema"] == "quiltwork/account/1"
    assert data["met"] is False
    assert data["targets"][0] | {"bracket": None} == {
        "epsilon": 2.0,
        "delta": 1e-6,
        "verdict": "missed",
        "bracket": None,
    }
    assert [release["name"] for release in data["releases"]] == ["visitors now", "monthly summary"]
    assert Bracket.from_json(data["epsilon"]) == found.total
    assert parse_plan(json.dumps(data["plan"])) == found.plan
    assert data["guarantee"]["protects"] == "one visitor, added or removed"
    assert len(data["baselines"]) == 4


def test_words():
    assert ends(Bracket(1.0, math.inf, "epsilon")) == "1 and inf"
    assert percent(1.0) == "100%"
