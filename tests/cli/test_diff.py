"""`quiltwork diff` as a person meets it."""

import json

import pytest
from tests.cli.lines import one_line

from quiltwork.cli import main

HOSPITAL = "examples/plans/hospital.yaml"
PLAN = """quiltwork: 1
title: A plan
targets: [{epsilon: 1.0, delta: 1.0e-6}]
releases:
  - {name: counts, gaussian: {sigma: 20.0}, count: 4}
  - {name: '[red]odd[/red]', pure: {epsilon: 0.1}}
"""


@pytest.fixture
def files(tmp_path):
    def write(change=lambda text: text):
        before, after = tmp_path / "before.yaml", tmp_path / "after.yaml"
        before.write_text(PLAN, encoding="utf-8")
        after.write_text(change(PLAN), encoding="utf-8")
        return [str(before), str(after)]

    return write


def test_a_change_that_costs(files, capsys):
    assert main(["diff", *files(lambda text: text.replace("20.0", "10.0"))]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    for words in (
        "counts (gaussian.sigma: 20.0",
        "changed",
        "sigma 20",
        "sigma 10",
        "Difference: epsilon grows by",
        "1e-06 met met",
        "1 release the same",
    ):
        assert words in " ".join(out.split())
    assert max(map(len, out.splitlines())) <= 120


def test_added_removed_and_names_as_text(files, capsys):
    change = "  - {name: new, laplace: {scale: 9.0}}\n"
    assert main(["diff", *files(lambda text: text[: text.index("  - {name: '[red]")] + change)]) == 0
    out = capsys.readouterr().out
    assert "[red]odd[/red]  removed" in out
    assert any(line.startswith("new ") and " added " in line for line in out.splitlines())


def test_the_same_file(capsys):
    assert main(["diff", HOSPITAL, HOSPITAL]) == 0
    assert "stays as it was" in capsys.readouterr().out


def test_a_missed_target(files, capsys):
    assert main(["diff", *files(lambda text: text.replace("20.0", "1.0"))]) == 1
    assert "met missed" in " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize(("most", "code"), [("0.3", 0), ("0.001", 1)])
def test_at_most_more(files, capsys, most, code):
    places = files(lambda text: text.replace("20.0", "15.0"))
    assert main(["diff", *places, "--at-most-more", most, "--json"]) == code
    data = json.loads(capsys.readouterr().out)
    assert data["holds"] is (code == 0)
    assert 0.001 < data["cost"]["lower"] <= data["cost"]["upper"] < 0.3


def test_files_are_written(files, tmp_path, capsys):
    page, text = tmp_path / "d.html", tmp_path / "d.md"
    places = files(lambda text: text.replace("20.0", "10.0"))
    assert main(["diff", *places, "--json", "--html", str(page), "--markdown", str(text)]) == 0
    out, err = capsys.readouterr()
    json.loads(out)
    lines = err.splitlines()
    assert lines[:2] == [f"wrote {page}", f"wrote {text}"]
    assert page.read_text(encoding="utf-8").startswith("<!DOCTYPE html>")
    assert "# Change of A plan" in text.read_text(encoding="utf-8")
    assert all((tmp_path / line.rpartition("/")[2]).exists() for line in lines)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([HOSPITAL], "Missing argument"),
        ([HOSPITAL, "no/such/file.yaml"], "no such file"),
        ([HOSPITAL, "examples/plans/clinics.yaml"], "one kind"),
        ([HOSPITAL, HOSPITAL, "--delta", "2"], "delta must be"),
        ([HOSPITAL, HOSPITAL, "--at-most-more", "nan"], "at-most-more must be"),
        ([HOSPITAL, HOSPITAL, "--markdown", "out.txt"], "ends in"),
        ([HOSPITAL, HOSPITAL, "--html", "no/such/folder/d.html"], "html must be"),
    ],
)
def test_bad_input(capsys, arguments, words):
    assert main(["diff", *arguments]) == 2
    assert words in one_line(capsys.readouterr().err)


def test_a_malformed_file_is_named_with_its_line(files, capsys):
    before, after = files(lambda text: text.replace("sigma: 20.0", "sigma: -1"))
    assert main(["diff", before, after]) == 2
    assert f"{after}:5: releases[0].gaussian.sigma" in one_line(capsys.readouterr().err)
