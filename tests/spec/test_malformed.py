"""What is not a plan is refused, with the line, the field and what is allowed."""

import pytest
import yaml
from tests.spec.malformed import CASES, GOOD

from quiltwork.cli import MOST_LINES, main
from quiltwork.errors import InvalidPlan
from quiltwork.spec import parse_plan, plan_from, read_plan
from quiltwork.spec.files.budgets import BudgetFile
from quiltwork.spec.files.plan import Plan
from quiltwork.spec.files.prior import PriorFile
from quiltwork.spec.files.table_plan import TablePlan
from quiltwork.spec.files.world import WorldFile
from quiltwork.spec.text.document import MOST_CHARACTERS
from quiltwork.spec.text.read import parse_as


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


def test_every_problem_is_told_on_a_line_of_its_own(tmp_path, capsys):
    path = tmp_path / "plan.yaml"
    path.write_text("quiltwork: 1\nreleases:\n  - {name: a, gaussian: {sigma: -1}}\n  - {name: b, laplas: 3}\nfoo: 1\n")
    with pytest.raises(InvalidPlan) as refusal:
        read_plan(path)
    told = [(one.line, one.where) for one in (refusal.value, *refusal.value.others)]
    assert told == [(3, "releases[0].gaussian.sigma"), (4, "releases[1].laplas"), (5, "foo")]
    assert main(["account", str(path)]) == 2
    lines = capsys.readouterr().err.splitlines()
    assert [line.partition(": ")[2].partition(": ")[0] for line in lines] == [f"{path}:{line}" for line, _ in told]


def test_a_great_many_problems_end_with_their_count(tmp_path, capsys):
    path = tmp_path / "plan.yaml"
    path.write_text("quiltwork: 1\nreleases:\n" + "  - {name: a, pure: {epsilon: -1}}\n" * 30)
    assert main(["account", str(path)]) == 2
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == MOST_LINES + 1
    assert lines[-1] == "quiltwork: and 10 more problems"


ALL_KINDS = {
    "account": (TablePlan, "quiltwork: 1\nreleases: []\n"),
    "tables": (Plan, "quiltwork: 1\ntable: {}\n"),
    "influence": (WorldFile, "quiltwork: 1\nprior: {}\n"),
    "design": (PriorFile, "quiltwork: 1\nsecrets: {}\n"),
    "open --plan": (Plan, "quiltwork: 1\nbudgets: []\n"),
    "report": (BudgetFile, "schema: quiltwork/ising/1\n"),
    "--from-opacus": (Plan, '{"history": [[1.0, 0.05, 60]], "mechanism": "prv"}'),
}


@pytest.mark.parametrize("command", ALL_KINDS)
def test_a_file_of_another_kind_says_which_command_takes_it(command):
    model, text = ALL_KINDS[command]
    with pytest.raises(InvalidPlan, match=rf"^line 1, the plan: is .*quiltwork .*{command}") as refusal:
        parse_as(model, text)
    assert not refusal.value.others
