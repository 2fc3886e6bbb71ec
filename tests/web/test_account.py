"""Any file as an answer: the numbers of the library, words on the safe side, mistakes with their line."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from tests.web.answers import chart, checked, fact, numbers, table, trace

import quiltwork as qw
from quiltwork.errors import InvalidParameter, InvalidPlan
from quiltwork.report import account as library
from quiltwork.spec.files.plan import parse_plan
from quiltwork.spec.objects.documents import dumps
from quiltwork.web.answers import MOST_RELEASES, MOST_TEXT, account, changes, made
from quiltwork.web.pages.home import samples

PLAN = """\
quiltwork: 1
title: Two releases
targets:
  - {epsilon: 2.0, delta: 1.0e-6}
  - {epsilon: 0.5, delta: 1.0e-6}
releases:
  - name: counts
    gaussian: {sigma: 10.0}
    count: 12
  - name: alert
    pure: {epsilon: 0.1}
"""
KINDS = {"statistics": "plan", "dashboard": "plan", "table": "tables", "activity": "prior", "screening": "world"}


def test_every_sample_is_answered_as_its_kind() -> None:
    assert {sample["name"]: sample["kind"] for sample in samples()} == KINDS
    for sample in samples():
        answer = account(sample["text"])
        assert answer["kind"] == sample["kind"]
        assert checked(answer)["title"] == sample["title"]
    assert [sample["name"] for sample in samples("prior")] == ["activity"]


def test_a_plan_has_the_numbers_of_the_library() -> None:
    answer = account(PLAN)
    page, found = checked(answer), library(parse_plan(PLAN))
    assert answer["account"]["epsilon"] == found.total.to_json()
    assert answer["met"] is False
    assert [row[1] for row in table(page, "Target")["rows"]] == ["met", "missed"]
    total = fact(page, "Certified privacy loss")
    assert float(found.total.upper) <= numbers(total["value"])[0] < float(found.total.upper) * 1.01
    _, low, high = numbers(total["note"])
    assert low <= float(found.total.lower)
    assert float(found.total.upper) <= high


def test_the_curves_are_brackets_of_the_truth() -> None:
    answer = account(PLAN)
    curve = parse_plan(PLAN).guarantee()
    line = answer["curves"]["tradeoff"]
    finer = curve.beta(np.array(line["alpha"]))
    assert np.all(np.array(line["lower"]) <= finer.upper)
    assert np.all(finer.lower <= np.array(line["upper"]))
    profile = answer["curves"]["profile"]
    sharper = curve.delta(np.array(profile["epsilon"]), rtol=1e-6)
    assert np.all(np.array(profile["upper"]) >= sharper.lower)
    assert profile["epsilon"][0] == 0.0
    assert profile["epsilon"][-1] > float(curve.epsilon(1e-6).upper)


def test_what_a_pointer_shows_is_on_the_safe_side() -> None:
    answer = account(PLAN)
    page = checked(answer)
    shown = trace(chart(page, "tradeoff"), "these releases")
    for alpha, beta, text in zip(shown["x"], shown["y"], shown["texts"], strict=True):
        place, least = numbers(text)
        assert place == pytest.approx(100 * alpha, rel=1e-11)
        assert least <= 100 * beta
    shown = trace(chart(page, "profile"), "these releases")
    upper = answer["curves"]["profile"]["upper"]
    for epsilon, delta, text in zip(shown["x"], upper, shown["texts"], strict=True):
        place, most = numbers(text)
        assert place == epsilon
        assert most >= delta


def test_a_table_of_a_chart_is_rounded_to_the_safe_side() -> None:
    page, curve = checked(account(PLAN)), parse_plan(PLAN).guarantee()
    for alarm, missed, detected in chart(page, "tradeoff")["table"]["rows"]:
        beta = 100 * float(curve.beta(numbers(alarm)[0] / 100).lower)
        assert numbers(missed)[0] <= beta
        assert numbers(detected)[0] >= 100 - beta - 1e-9
    for delta, low, high in chart(page, "profile")["table"]["rows"]:
        bracket = curve.epsilon(float(delta))
        assert low == "-" or float(low) <= float(bracket.upper)
        assert float(bracket.lower) <= float(high)


def test_another_delta_may_be_asked() -> None:
    answer = account(PLAN, 1e-9)
    assert answer["account"]["delta"] == 1e-9
    assert "at delta 1e-09" in fact(checked(answer), "Certified")["note"]
    with pytest.raises(InvalidParameter, match="delta"):
        account(PLAN, 2.0)
    with pytest.raises(InvalidParameter, match="delta"):
        account(PLAN, float("nan"))


def test_an_infinite_epsilon_is_said() -> None:
    page = checked(account("quiltwork: 1\nreleases: [{name: a, gaussian: {sigma: 1}}]", 0.0))
    found = {"label": "Certified privacy loss", "value": "epsilon is not bounded", "note": "at delta 0", "tone": "bad"}
    assert fact(page, "Certified") == found


def test_the_budgets_of_a_plan_are_judged() -> None:
    budget = "budgets: [{name: year, epsilon: 0.2, delta: 1.0e-6}]\n"
    answer = account(PLAN + budget)
    assert fact(checked(answer), "Budgets")["value"] == "exceeded"
    assert answer["met"] is False


def test_objects_and_budget_files_are_answered() -> None:
    loss = account(dumps(3 * qw.gaussian(2.0)))
    assert loss["kind"] == "object"
    assert loss["account"]["epsilon"] == (3 * qw.gaussian(2.0)).epsilon(1e-6).to_json()
    checked(loss)
    words = account(dumps((3 * qw.gaussian(2.0)).guarantee(protects="one <b>record</b>")))
    assert "one <b>record</b>" in checked(words)["lead"]
    bracket = account(dumps(qw.Bracket(1.0, 2.0, "epsilon")))
    assert bracket["curves"] is None
    checked(bracket)
    file = "quiltwork: 1\nbudgets: [{name: a, epsilon: 1, protects: one record}]"
    budgets = account(file)
    assert budgets["kind"] == "budgets"
    assert table(checked(budgets), "Budget")["rows"][0][0] == "a"


def test_a_table_plan_without_a_bound_is_an_answer() -> None:
    text = """\
quiltwork: 1
table: {columns: {region: {cat: [n, s]}}}
neighbors: replace_one
queries:
  - {name: halves, split_by: region, pure: {epsilon: 1}, holds: {on_input: replace_one}}
"""
    answer = account(text)
    assert answer["met"] is False
    page = checked(answer)
    assert fact(page, "Certified")["value"] == "epsilon is not bounded"
    assert "Do one of:" in page["words"]


@pytest.mark.parametrize(
    ("plan", "words", "line"),
    [
        ("", "is empty", 1),
        ("   \n", "is empty", 1),
        ("title: x", "does not say what it is", 1),
        ("quiltwork: 1\nreleases:\n  - name: a\n    gausian: {sigma: 3}", "did you mean gaussian", 4),
        ("quiltwork: 1\nreleases:\n  - name: a\n    gaussian: {sigma: -3}", "must be > 0", 4),
        ("quiltwork: 1\nreleases: [", "not valid YAML", 3),
        ("[" * 1000, "nested", 1),
        ("quiltwork: 1\nprior: {markov_chain: {transition: secret.csv}}", "a file name is allowed in a file only", 2),
    ],
)
def test_a_mistake_names_its_line(plan: str, words: str, line: int) -> None:
    with pytest.raises(InvalidPlan, match=words) as caught:
        account(plan)
    assert caught.value.line == line


@pytest.mark.parametrize(
    ("plan", "words"),
    [
        (5, "the text of a file"),
        (None, "the text of a file"),
        ({"a": float("nan")}, "plain JSON values"),
        ("x: \ud800", "UTF-8"),
        ({"title": "\ud800"}, "UTF-8"),
        ("a" * (MOST_TEXT + 1), "at most 200,000 characters"),
    ],
)
def test_what_is_no_file_is_refused(plan: Any, words: str) -> None:
    with pytest.raises(InvalidParameter, match=words):
        account(plan)


def test_an_object_has_no_lines() -> None:
    found = account({"quiltwork": 1, "releases": [{"name": "a", "pure": {"epsilon": 1.0}}]})
    assert found["kind"] == "plan"
    with pytest.raises(InvalidPlan, match=r"releases\[0\]") as caught:
        account({"quiltwork": 1, "releases": [{"name": "a", "pure": {"epsilon": -1.0}}]})
    assert caught.value.line is None


def test_too_many_releases_are_for_the_command_line() -> None:
    releases = [{"name": str(index), "pure": {"epsilon": 0.1}} for index in range(MOST_RELEASES + 1)]
    with pytest.raises(InvalidParameter, match="quiltwork account"):
        account(json.dumps({"quiltwork": 1, "releases": releases}))


def test_a_change_is_priced() -> None:
    answer = changes(PLAN, PLAN.replace("count: 12", "count: 13"))
    page = checked(answer)
    before, after = (parse_plan(text).guarantee().epsilon(1e-6) for text in (PLAN, PLAN.replace("12", "13")))
    cost = answer["difference"]["cost"]
    assert 0 < cost["lower"] <= float(after.upper) - float(before.lower)
    assert cost["upper"] >= float(after.lower) - float(before.upper)
    assert fact(page, "Difference")["tone"] == "bad"
    assert table(page, "Release")["rows"][0][:2] == ["counts", "changed"]
    lines = chart(page, "before-after")["traces"]
    assert [line["name"] for line in lines[1:]] == ["before", "after"]
    assert all(
        one >= two - 1e-3 for one, two in zip(lines[1]["y"], lines[2]["y"], strict=True)
    )  # drawn from few answers


def test_files_of_two_kinds_are_not_compared() -> None:
    with pytest.raises(InvalidParameter, match="of one kind"):
        changes(PLAN, samples("prior")[0]["text"])


@pytest.mark.parametrize("kind", ["html", "md", "json"])
def test_reports_are_files(kind: str) -> None:
    found = made(PLAN, kind)
    assert found["name"] == f"two-releases.{kind}"
    assert "Two releases" in found["text"]
    if kind == "html":
        assert "<script" not in found["text"]
    if kind == "json":
        assert json.loads(found["text"])["data"]["account"]["epsilon"]["quantity"] == "epsilon"


def test_an_unknown_report_is_refused() -> None:
    with pytest.raises(InvalidParameter, match="one of html, md, json"):
        made(PLAN, "pdf")
