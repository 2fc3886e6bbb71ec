"""The commands as a person meets them: output, exit codes, one-line errors."""

import json

import pytest
from tests.cli.lines import complaints, one_line
from tests.spec.malformed import CASES
from typer.testing import CliRunner

import quiltwork as qw
from quiltwork import __version__
from quiltwork.cli import main
from quiltwork.cli.app import app
from quiltwork.curves import Bracket
from quiltwork.spec import parse_plan, schema

HOSPITAL = "examples/plans/hospital.yaml"
TOO_MUCH = "examples/plans/too_much.yaml"


# ---- account


def test_account_prints_the_table(capsys):
    assert main(["account", HOSPITAL]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    for words in (
        "Hospital statistics 2026",
        "triage model",
        "2.13302 and 2.13303",
        "met",
        "moments accountant",
        "What is assumed",
    ):
        assert words in out
    assert max(map(len, out.splitlines())) <= 120


def test_account_of_a_missed_target(capsys):
    assert main(["account", TOO_MUCH]) == 1
    assert "missed" in capsys.readouterr().out


def test_account_at_another_delta(capsys):
    assert main(["account", TOO_MUCH, "--delta", "1e-3", "--json"]) == 1
    data = json.loads(capsys.readouterr().out)
    assert data["delta"] == 1e-3
    assert data["targets"][0]["delta"] == 1e-6


def test_account_json_holds_the_bracket(capsys):
    assert main(["account", HOSPITAL, "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    bracket = Bracket.from_json(data["epsilon"])
    assert bracket == parse_plan(json.dumps(data["plan"])).loss().epsilon(1e-6)


def test_account_writes_files(tmp_path, capsys):
    page, picture = tmp_path / "r.html", tmp_path / "f.svg"
    assert main(["account", TOO_MUCH, "--html", str(page), "--figure", str(picture), "--json"]) == 1
    out, err = capsys.readouterr()
    json.loads(out)
    assert err.splitlines() == [f"wrote {page}", f"wrote {picture}"]
    assert page.read_text(encoding="utf-8").startswith("<!DOCTYPE html>")
    assert picture.read_text().startswith("<?xml")


def test_markup_in_names_is_text(tmp_path, capsys):
    plan = tmp_path / "p.yaml"
    plan.write_text("quiltwork: 1\nreleases: [{name: '[red]a[/red] :smile:', pure: {epsilon: 1}}]\n")
    assert main(["account", str(plan)]) == 0
    assert "[red]a[/red] :smile:" in capsys.readouterr().out


@pytest.mark.parametrize(("text", "words"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_malformed_plans(tmp_path, capsys, text, words):
    plan = tmp_path / "plan.yaml"
    plan.write_text(text, encoding="utf-8", newline="")
    assert main(["account", str(plan)]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert all(str(plan) in line for line in complaints(err))
    names = [word for word in words if not word.startswith("line")]
    assert all(word in err for word in names)


def test_the_line_follows_the_file_name(tmp_path, capsys):
    plan = tmp_path / "plan.yaml"
    plan.write_text("quiltwork: 1\nreleases:\n  - {name: a, pure: {epsilon: -1}}\n")
    assert main(["account", str(plan)]) == 2
    assert f"{plan}:3: releases[0].pure.epsilon: must be >= 0" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["account"], "Missing argument"),
        (["account", "no/such/plan.yaml"], "no such file"),
        (["account", "."], "cannot be read"),
        (["account", HOSPITAL, "--delta", "2"], "delta must be in [0, 1]"),
        (["account", HOSPITAL, "--delta", "nan"], "delta must be"),
        (["account", HOSPITAL, "--delta", "small"], "--delta"),
        (["account", HOSPITAL, "--figure", "f.gif"], "figure must be"),
        (["account", TOO_MUCH, "--html", "no/such/folder/r.html"], "No such file"),
        (["account", HOSPITAL, "--loud"], "--loud"),
        (["acount", HOSPITAL], "acount"),
        (["calibrate", "gausian", "--epsilon", "1", "--delta", "0.1"], "gausian"),
        (["calibrate", "gaussian", "--epsilon", "1"], "--delta"),
        (["calibrate", "gaussian", "--epsilon", "-1", "--delta", "1e-6"], "epsilon must be"),
        (["calibrate", "gaussian", "--epsilon", "1", "--delta", "7"], "delta must be"),
        (["calibrate", "gaussian", "--epsilon", "1", "--delta", "1e-6", "--count", "0"], "count must be"),
        (["calibrate", "gaussian", "--epsilon", "1", "--delta", "1e-6", "--rate", "2"], "rate must be"),
        (["calibrate", "gaussian", "--epsilon", "1", "--delta", "1e-6", "--sensitivity", "0"], "sensitivity must be"),
        (
            ["calibrate", "pure", "--epsilon", "1", "--delta", "1e-6", "--sensitivity", "2"],
            "sensitivity must be left out",
        ),
        (["calibrate", "discrete_laplace", "--epsilon", "1", "--delta", "0", "--sensitivity", "1.5"], "whole number"),
        (["calibrate", "zcdp", "--epsilon", "1", "--delta", "1e-6", "--rate", "0.1"], "subsampling"),
    ],
)
def test_bad_input(capsys, arguments, words):
    assert main(arguments) == 2
    assert words in one_line(capsys.readouterr().err)


# ---- calibrate


@pytest.mark.parametrize(
    ("mechanism", "options", "loss"),
    [
        ("gaussian", {"count": 1000, "rate": 0.01}, lambda v: 1000 * qw.poisson(qw.gaussian(v), 0.01)),
        ("gaussian", {"sensitivity": 50.0}, lambda v: qw.gaussian(v, 50.0)),
        ("laplace", {"count": 10}, lambda v: 10 * qw.laplace(v)),
        ("discrete_gaussian", {"count": 3, "sensitivity": 2}, lambda v: 3 * qw.discrete_gaussian(v, 2)),
        ("discrete_laplace", {"count": 3}, lambda v: 3 * qw.discrete_laplace(v)),
        ("pure", {"count": 100}, lambda v: 100 * qw.pure(v)),
        ("gdp", {}, qw.gdp),
        ("zcdp", {"count": 4}, lambda v: 4 * qw.zcdp(v)),
    ],
)
def test_calibrate_is_safe_and_tight(capsys, mechanism, options, loss):
    given = [text for name, value in options.items() for text in (f"--{name}", str(value))]
    assert main(["calibrate", mechanism, "--epsilon", "1", "--delta", "1e-6", *given, "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    upper = float(loss(data["value"]).epsilon(1e-6, rtol=1e-6).upper)
    assert 0.99999 < upper <= 1
    plan = {"quiltwork": 1, "releases": [data["release"]]}
    assert parse_plan(json.dumps(plan)).loss() == loss(data["value"])


def test_calibrate_prints_a_release(capsys):
    assert main(["calibrate", "gaussian", "--epsilon", "1", "--delta", "1e-6", "--count", "10"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("sigma = ")
    assert parse_plan("quiltwork: 1\n" + out[out.index("releases:") :]).loss().count == 10


def test_an_unreachable_target_is_refused(capsys):
    assert main(["calibrate", "gaussian", "--epsilon", "1", "--delta", "0"]) == 1
    one_line(capsys.readouterr().err)


# ---- the rest


def test_schema(capsys):
    assert main(["schema"]) == 0
    assert json.loads(capsys.readouterr().out) == schema()


def test_version_and_help():
    assert CliRunner().invoke(app, ["--version"]).output == f"quiltwork {__version__}\n"
    shown = CliRunner().invoke(app, ["account", "--help"])
    assert shown.exit_code == 0
    assert "--figure" in shown.output


def test_no_arguments_show_help(capsys):
    assert main([]) == 0
    assert "calibrate" in capsys.readouterr().out
