"""Budget files and budgets of plans: what they say, what a ledger makes of them, and what does not fit."""

import json
from datetime import UTC, datetime, timedelta

import pytest
from tests.spec.malformed_budgets import CASES, GOOD, PLANS, budget

import quiltwork as qw
from quiltwork.errors import BudgetExceeded, InvalidPlan
from quiltwork.spec import budget_schema, budgets_from, parse_any, parse_budgets, parse_plan, read_budgets
from quiltwork.spec.fields.budgets import instant, span

FULL = """
quiltwork: 1
title: Hospital
budgets:
  - name: patients
    epsilon: 2.0
    delta: 1e-6
    protects: one patient
    filter: renyi
    order: 8
    reveal: 1e-7
    expires: 2199-01-01T00:00Z
    refresh: 30d
    blocks: {label: ward, names: [a, b], most: 2}
    owners: [ann]
    note: agreed in May
  - {name: visits, rho: 0.5, neighbors: {user: {id: person, max_records: 4}}}
  - {name: pure, epsilon: 1, protects: one entry}
  - {name: waves, mu: 0.5, protects: one wave, filter: gdp}
  - name: census
    epsilon: 1.0
    delta: 1e-6
    protects: one person
    kind: planned
    releases: [{name: table, gaussian: {sigma: 40}, count: 10}]
"""


def test_everything_at_once():
    found = parse_budgets(FULL)
    first = found.budgets[0].opening()
    assert (first["epsilon"], first["delta"], first["order"], first["reveal"]) == (2.0, 1e-6, 8.0, 1e-7)
    assert first["expires"] == datetime(2199, 1, 1, tzinfo=UTC)
    assert first["refresh"] == timedelta(days=30)
    assert first["blocks"] == {"label": "ward", "names": ("a", "b"), "most": 2}
    assert found.budgets[1].opening()["protects"] == qw.user("person", 4)
    assert found.budgets[4].opening()["plan"] == [("table", qw.gaussian(40.0), 10)]
    assert [one.limit for one in found.budgets] == ["approximate", "zcdp", "pure", "gdp", "approximate"]
    assert [one.chosen for one in found.budgets[:4]] == ["renyi", "zcdp", "pure", "gdp"]


def test_yaml_and_json_give_it_back(tmp_path):
    found = parse_budgets(FULL)
    assert parse_budgets(found.to_yaml()) == found
    assert parse_any(found.to_json()) == found
    assert budgets_from(json.loads(found.to_json())) == found
    path = tmp_path / "b.yaml"
    path.write_text(FULL)
    assert read_budgets(path) == found


def test_a_ledger_opens_what_the_file_says(tmp_path):
    """The file and the ledger agree on what is allowed, and on the filter that keeps it."""
    from quiltwork.ledger import Blocks, Ledger

    with Ledger(f"sqlite:///{tmp_path}/l.db", key=f"{tmp_path}/l.key") as ledger:
        for one in parse_budgets(FULL).budgets:
            said = one.opening()
            if "blocks" in said:
                said["blocks"] = Blocks(**said["blocks"])
            opened = ledger.open(said.pop("name"), **said)
            assert opened.terms.limit.kind == one.limit
            if one.kind == "adaptive":
                assert opened.terms.filter == one.keeper()


@pytest.mark.parametrize(("text", "words"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_refused_with_reason(text, words):
    with pytest.raises(InvalidPlan) as refusal:
        parse_budgets(text)
    assert all(word in str(refusal.value) for word in words), str(refusal.value)


@pytest.mark.parametrize(("text", "words"), [case[1:] for case in PLANS], ids=[case[0] for case in PLANS])
def test_refused_in_a_plan(text, words):
    with pytest.raises(InvalidPlan) as refusal:
        parse_plan(text)
    assert all(word in str(refusal.value) for word in words), str(refusal.value)


def test_every_field_has_a_case():
    said = " ".join(text for _, text, _ in CASES)
    for field in budget_schema()["$defs"]["FileBudget"]["properties"]:
        assert f"{field}: " in said or field == "note"


def test_spans_and_times():
    assert span("1.5h") == timedelta(minutes=90)
    assert instant("2027-01-01T09:00+01:00") == datetime(2027, 1, 1, 8, tzinfo=UTC)


# ---- budgets of a plan


def plan(budgets, releases="[{name: a, gaussian: {sigma: 40}, count: 100}, {name: b, laplace: {scale: 50}}]"):
    return parse_plan(f"quiltwork: 1\nbudgets: {budgets}\nreleases: {releases}\n")


def test_what_fits():
    (answer,) = plan("[{name: x, epsilon: 4, delta: 1e-6}]").budget_answers()
    assert answer.fits
    assert answer.refused is None
    assert 0 < answer.share < 1
    assert plan("[{name: x, rho: 1}]").to_dict()["budgets"] == [{"name": "x", "rho": 1.0}]


def test_the_first_that_does_not_fit_is_the_ledgers(tmp_path):
    """The same releases, spent one by one in a real ledger, are refused at the same place."""
    found = plan("[{name: x, rho: 0.02}]")
    (answer,) = found.budget_answers()
    assert not answer.fits
    from quiltwork.ledger import Ledger

    with Ledger(f"sqlite:///{tmp_path}/l.db") as ledger:
        ledger.open("x", rho=0.02, protects="one record")
        spent = 0
        while not ledger.would_exceed("x", qw.gaussian(40.0)):
            ledger.spend("x", qw.gaussian(40.0))
            spent += 1
        with pytest.raises(BudgetExceeded):
            ledger.spend("x", qw.gaussian(40.0))
    assert (answer.refused, answer.count) == ("a", spent)
    assert 0 < spent < 100


def test_a_release_without_a_finite_cost():
    (answer,) = plan("[{name: x, epsilon: 4}]").budget_answers()
    assert (answer.fits, answer.refused, answer.cost) == (False, "a", "no finite cost")
    assert "unbounded" in answer.reason


def test_a_planned_budget_composes_tightly():
    """What a filter refuses may fit when everything is fixed in advance."""
    total = plan("[{name: x, rho: 1}]").loss()
    epsilon = float(total.epsilon(1e-6).upper) * 1.0001
    adaptive, planned = plan(
        f"[{{name: x, epsilon: {epsilon}, delta: 1e-6}}, {{name: y, epsilon: {epsilon}, delta: 1e-6, kind: planned}}]"
    ).budget_answers()
    assert not adaptive.fits
    assert planned.fits
    below = float(total.epsilon(1e-6).lower) * 0.9999
    (missed,) = plan(f"[{{name: y, epsilon: {below}, delta: 1e-6, kind: planned}}]").budget_answers()
    assert (missed.fits, missed.refused) == (False, "the plan as a whole")
    assert missed.share >= 1
    assert json.dumps(missed.to_json())


@pytest.mark.parametrize(("limit", "fits"), [("epsilon: 3.0", True), ("epsilon: 2.9", False)])
def test_planned_pure_budgets_add_up(limit, fits):
    (answer,) = plan(
        f"[{{name: x, {limit}, kind: planned}}]", "[{name: a, pure: {epsilon: 1}, count: 3}]"
    ).budget_answers()
    assert answer.fits is fits
    assert answer.refused == (None if fits else "the plan as a whole")


def test_the_good_file_is_good():
    assert parse_budgets(GOOD).budgets[0].words() == "epsilon 1, delta 1e-06"
    assert parse_budgets(budget("rho: 1")).title == "Budgets"
