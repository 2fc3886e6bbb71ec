"""What is not a plan is refused, with the line, the field and what is allowed."""

import pytest
import yaml
from tests.spec.malformed import CASES, GOOD

from quiltwork.errors import InvalidPlan
from quiltwork.spec import parse_plan, plan_from, read_plan
from quiltwork.spec.text.document import MOST_CHARACTERS


def test_the_good_plan_is_good():
    assert parse_plan(GOOD).releases[0].name == "a"


@pytest.mark.parametrize(("text", "words"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_refused_with_reason(text, words):
    with pytest.raises(InvalidPlan) as refusal:
        parse_plan(text)
    message = str(refusal.value)
    assert all(word in message for word in words), message
    assert "\n" not in message
    assert len(message) < 600


def test_the_line_is_that_of_the_field():
    head = "quiltwork: 1\nreleases:\n  - name: a\n    poisson:\n      rate: 0.1\n"
    text = head + "      of:\n        gaussian:\n          sigma: -1\n"
    with pytest.raises(InvalidPlan) as refusal:
        parse_plan(text)
    assert refusal.value.line == 8
    assert refusal.value.where == "releases[0].poisson.of.gaussian.sigma"
    assert refusal.value.problem == "must be > 0, got -1"


def test_other_problems_are_counted():
    with pytest.raises(InvalidPlan, match=r"and 1 more problem\)"):
        parse_plan("quiltwork: 1\nreleases:\n  - {name: a, pure: {epsilon: -1}}\n  - {name: b, pure: {epsilon: -1}}\n")


def test_plain_values_are_checked_too():
    with pytest.raises(InvalidPlan, match=r"^releases\[0\]\.pure\.epsilon: must be >= 0"):
        plan_from({"quiltwork": 1, "releases": [{"name": "a", "pure": {"epsilon": -1.0}}]})


def test_a_missing_file(tmp_path):
    with pytest.raises(InvalidPlan, match="no such file"):
        read_plan(tmp_path / "none.yaml")


def test_a_folder(tmp_path):
    with pytest.raises(InvalidPlan, match="cannot be read"):
        read_plan(tmp_path)


def test_a_file_name_that_cannot_be():
    with pytest.raises(InvalidPlan, match="cannot be read"):
        read_plan("a\0b")


def test_a_huge_file(tmp_path):
    path = tmp_path / "huge.yaml"
    path.write_text(GOOD + "#" * MOST_CHARACTERS)
    with pytest.raises(InvalidPlan, match="at most 1,000,000 bytes"):
        read_plan(path)
    with pytest.raises(InvalidPlan, match="at most 1,000,000 characters"):
        parse_plan(path.read_text())


def test_a_file_that_is_not_text(tmp_path):
    path = tmp_path / "picture.yaml"
    path.write_bytes(b"quiltwork: 1\ntitle: \xff\xfe\n")
    with pytest.raises(InvalidPlan, match="UTF-8") as refusal:
        read_plan(path)
    assert refusal.value.line == 2


@pytest.mark.parametrize("text", [case[1] for case in CASES], ids=[case[0] for case in CASES])
def test_refused_without_the_compiled_parser(text, monkeypatch):
    monkeypatch.setattr("quiltwork.spec.text.document._LOADER", yaml.SafeLoader)
    with pytest.raises(InvalidPlan):
        parse_plan(text)
