"""`quiltwork region`: the numbers, the files, the exit codes, the complaints."""

import csv
import json
from pathlib import Path

import pytest
from tests.cli.lines import one_line

import quiltwork as qw
from quiltwork.cli import main
from quiltwork.cli.commands.region import parsed
from quiltwork.curves import Bracket
from quiltwork.report.answers.region import spread
from quiltwork.report.pages.region import thinned

PLAN = "examples/plans/constraints.yaml"
PAIR = ["--constraint", "0.3,0", "--constraint", "0.15,0.02"]
FIGURE_2 = json.loads(Path("tests/reference_multi_constraints.json").read_text(encoding="utf-8"))["fig2"]


def answered(capsys, *arguments, code=0):
    """The JSON that a run prints."""
    assert main(["region", *arguments, "--json"]) == code
    return json.loads(capsys.readouterr().out)


# ---- numbers


@pytest.mark.parametrize("times", [3, 20])
def test_every_face_of_figure_2(capsys, times):
    data = answered(capsys, *PAIR, "--times", str(times))
    truth = [(float(e), float(d)) for e, d in FIGURE_2[f"k={times}"]["region_slopes_eps_delta"]]
    faces = list(zip(data["faces"]["epsilons"], data["faces"]["deltas"], strict=True))
    assert [e for e, _ in faces] == pytest.approx([e for e, _ in truth], abs=1e-12)
    for (_, found), (_, exact) in zip(faces, truth, strict=True):
        assert exact * (1 - 1e-15) <= found <= exact * (1 + 1e-9) + 1e-17


@pytest.mark.parametrize("times", [3, 20])
def test_the_baseline_is_remark_1(capsys, times):
    data = answered(capsys, *PAIR, "--times", str(times), "--epsilon", "0.5")
    truth = FIGURE_2[f"k={times}"]["delta_remark1_region"]
    naive = data["one_at_a_time"]
    assert naive["total_variation"] == pytest.approx(float(truth["0"]), rel=1e-8)
    assert naive["answers"] == [{"epsilon": 0.5, "delta": pytest.approx(float(truth["0.5"]), rel=1e-8)}]
    assert data["area"] < naive["area"]


def test_weights_and_what_is_idle(capsys):
    data = answered(capsys, *PAIR, "--constraint", "0.25,0.015", "--constraint", "0.1,1")
    (release,) = data["releases"]
    weights = {(point["epsilon"], point["delta"]): point["weight"] for point in release["constraints"]}
    assert weights[0.3, 0.0] == pytest.approx(float(FIGURE_2["weights"]["w1"]), rel=1e-14)
    assert weights[0.15, 0.02] == pytest.approx(float(FIGURE_2["weights"]["w2"]), rel=1e-14)
    assert weights[0.25, 0.015] == weights[0.1, 1.0] == 0
    assert release["reveal"] == 0


def test_a_constraint_given_twice_counts_once(capsys):
    once, twice = answered(capsys, *PAIR), answered(capsys, *PAIR, *PAIR)
    assert once["releases"][0]["constraints"] == twice["releases"][0]["constraints"]
    assert once["faces"] == twice["faces"]


def test_answers_are_the_brackets_of_the_library(capsys):
    data = answered(capsys, *PAIR, "--times", "7", "--delta", "1e-4", "--epsilon", "1", "--alpha", "0.05", code=1)
    loss = 7 * qw.constraints([(0.3, 0.0), (0.15, 0.02)])
    found = {next(iter(answer)): Bracket.from_json(answer["bracket"]) for answer in data["answers"]}
    assert found == {"delta": loss.epsilon(1e-4), "epsilon": loss.delta(1.0), "alpha": loss.beta(0.05)}
    assert Bracket.from_json(data["total_variation"]) == loss.delta(0.0)
    assert Bracket.from_json(data["reveal"]) == loss.delta(float("inf"))


def test_a_plan_file_is_its_loss(capsys):
    data = answered(capsys, PLAN, "--times", "2", "--delta", "1e-5", code=1)
    loss = 2 * qw.compose(
        52 * qw.constraints([(0.4, 1e-9), (0.2, 1e-4), (0.05, 0.02)]),
        qw.profile([0.1, 0.5, 1.0], [0.05, 1e-3, 1e-10]),
    )
    bracket = Bracket.from_json(data["answers"][0]["bracket"])
    assert float(loss.epsilon(1e-5).lower) <= bracket.upper
    assert float(loss.epsilon(1e-5).upper) >= bracket.lower
    assert [release["count"] for release in data["releases"]] == [52, 1]
    assert data["releases"][0]["reveal"] == 1e-9
    region = qw.Region(qw.Profile(data["faces"]["epsilons"], data["faces"]["deltas"], symmetric=True))
    assert region.includes(loss.region())


def test_a_release_without_constraints_stays_as_it_is(capsys, tmp_path):
    plan = tmp_path / "p.yaml"
    plan.write_text(
        "quiltwork: 1\nreleases:\n  - {name: a, gaussian: {sigma: 3}}\n"
        "  - {name: b, constraints: {points: [{epsilon: 1, delta: 0}, {epsilon: 0.5, delta: 0.1}]}}\n"
    )
    data = answered(capsys, str(plan), "--delta", "1e-3")
    assert "constraints" not in data["releases"][0]
    both = qw.gaussian(3.0) + qw.constraints([(1.0, 0.0), (0.5, 0.1)])
    assert Bracket.from_json(data["answers"][0]["bracket"]) == both.epsilon(1e-3)
    single = min(
        float((qw.gaussian(3.0) + qw.approximate(*point)).epsilon(1e-3).upper) for point in [(1, 0), (0.5, 0.1)]
    )
    assert data["one_at_a_time"]["answers"][0]["epsilon"] <= single * 1.05
    assert data["one_at_a_time"]["answers"][0]["epsilon"] >= float(both.epsilon(1e-3).lower)


# ---- exit codes


@pytest.mark.parametrize(("epsilon", "code", "word"), [(6.0, 0, "met"), (1.0, 1, "missed")])
def test_the_asked_pair_decides_the_exit_code(capsys, epsilon, code, word):
    arguments = ["region", *PAIR, "--times", "20", "--epsilon", str(epsilon), "--delta", "1e-6"]
    assert main(arguments) == code
    goal = f"epsilon \N{LESS-THAN OR EQUAL TO} {epsilon:g} at delta 1e-06 {word}"
    assert goal in " ".join(capsys.readouterr().out.split())


def test_targets_of_a_plan_decide_too(capsys):
    assert main(["region", PLAN]) == 0
    assert main(["region", PLAN, "--times", "3"]) == 1
    assert "missed" in capsys.readouterr().out


# ---- text


def test_the_printed_view(capsys):
    assert main(["region", *PAIR, "--constraint", "0.25,0.015", "--times", "20"]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    for words in (
        "3 guarantees at once, 20 times",
        "idle: the others imply it",
        "0.249952  randomized response at 0.3",
        "41 faces (exact atoms: every face); 16 are shown.",
        "total variation",
        "One at a time",
        "epsilon at delta 1e-06",
    ):
        assert words in out
    assert max(map(len, out.splitlines())) <= 120


def test_one_guarantee_has_no_baseline(capsys):
    assert main(["region", "--constraint", "0.3,0"]) == 0
    assert "One at a time" not in capsys.readouterr().out


def test_nothing_promised(capsys):
    assert main(["region", "--constraint", "0.3,1", "--times", "4"]) == 0
    out = capsys.readouterr().out
    assert "says nothing" in out
    assert "whole square" in out


def test_total_variation_alone(capsys):
    data = answered(capsys, "--constraint", "0,0.1", "--times", "2")
    assert data["faces"]["epsilons"] == [0.0]
    assert data["faces"]["deltas"] == [pytest.approx(0.19, rel=1e-12)]


# ---- selection


def test_spread_keeps_both_ends_and_few():
    region = (60 * qw.constraints([(0.3, 1e-3), (0.15, 0.02)])).region()
    chosen = spread(region, 12)
    assert chosen[0] == 0
    assert chosen[-1] == region.epsilons.size - 1
    assert chosen == sorted(set(chosen))
    assert 8 <= len(chosen) <= 12
    assert spread(qw.pure(0.3).region(), 12) == list(range(qw.pure(0.3).region().epsilons.size))


def test_a_drawn_region_is_around_the_true_one():
    region = (50 * qw.constraints([(0.31415926, 0.0), (0.12345678, 0.03)])).region()
    drawn = thinned(region)
    assert region.epsilons.size > drawn.epsilons.size
    assert drawn.includes(region)
    assert drawn.area() <= region.area() * 1.001


# ---- files


def test_files(tmp_path, capsys):
    table, picture = tmp_path / "faces.csv", tmp_path / "region.png"
    data = answered(capsys, *PAIR, "--times", "20", "--csv", str(table), "--figure", str(picture))
    with table.open(encoding="utf-8") as file:
        head, *rows = csv.reader(file)
    assert head == ["epsilon", "delta"]
    assert [float(row[0]) for row in rows] == data["faces"]["epsilons"]
    assert [float(row[1]) for row in rows] == data["faces"]["deltas"]
    assert picture.read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("arguments", [PAIR, [PLAN], ["--constraint", "1,1"], ["--constraint", "0,0"]])
def test_figures_are_drawn_and_reproducible(tmp_path, capsys, arguments):
    one, two = tmp_path / "a.svg", tmp_path / "b.svg"
    assert main(["region", *arguments, "--figure", str(one)]) == 0
    assert main(["region", *arguments, "--figure", str(two)]) == 0
    assert capsys.readouterr().err.splitlines() == [f"wrote {one}", f"wrote {two}"]
    assert one.read_bytes() == two.read_bytes()
    assert "type I error" in one.read_text(encoding="utf-8")


def test_a_title_is_text_in_the_figure(tmp_path, capsys):
    plan, picture = tmp_path / "p.yaml", tmp_path / "f.svg"
    plan.write_text("quiltwork: 1\ntitle: 'Costs $5 {and $6'\nreleases: [{name: a, pure: {epsilon: 1}}]\n")
    assert main(["region", str(plan), "--figure", str(picture)]) == 0
    assert "Costs $5 {and $6" in picture.read_text(encoding="utf-8")


# ---- complaints


def test_a_pair_may_hold_spaces():
    assert parsed(" 0.5 , 1e-6 ") == (0.5, 1e-6)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "--constraint EPSILON,DELTA"),
        ([PLAN, *PAIR], "either a plan file or --constraint, got 'both'"),
        (["--constraint", "0.3"], "EPSILON,DELTA, two numbers such as 0.5,1e-6, got '0.3'"),
        (["--constraint", "0.3,0,1"], "got '0.3,0,1'"),
        (["--constraint", "0.3;0"], "got '0.3;0'"),
        (["--constraint", "a,b"], "got 'a,b'"),
        (["--constraint", ""], "got ''"),
        (["--constraint", "nan,0"], "epsilon of --constraint 'nan,0' must be"),
        (["--constraint", "0.3,nan"], "delta of --constraint '0.3,nan' must be in [0, 1]"),
        (["--constraint", "-0.3,0"], "must be a finite number >= 0, got -0.3"),
        (["--constraint", "inf,0"], "must be a finite number >= 0, got inf"),
        (["--constraint", "0.3,2"], "must be in [0, 1], got 2.0"),
        (["--constraint", "0.3,-0.1"], "must be in [0, 1], got -0.1"),
        ([*PAIR, "--times", "0"], "times must be an integer from 1"),
        ([*PAIR, "--times", "1.5"], "--times"),
        ([*PAIR, "--delta", "2"], "delta must be in [0, 1]"),
        ([*PAIR, "--epsilon", "-1"], "epsilon must be"),
        ([*PAIR, "--alpha", "nan"], "alpha must be in [0, 1]"),
        ([*PAIR, "--figure", "region.gif"], "figure must be"),
        ([*PAIR, "--csv", "no/such/folder/faces.csv"], "No such file"),
        (["no/such/plan.yaml"], "no such file"),
        (["."], "cannot be read"),
    ],
)
def test_bad_input(capsys, arguments, words):
    assert main(["region", *arguments]) == 2
    assert words in one_line(capsys.readouterr().err)


def test_an_error_in_the_plan_names_the_line(tmp_path, capsys):
    plan = tmp_path / "plan.yaml"
    plan.write_text(
        "quiltwork: 1\nreleases:\n  - name: a\n    constraints:\n      points:\n"
        "        - {epsilon: 0.3, delta: 0}\n        - {epsilon: 0.1, delta: 1.5}\n"
    )
    assert main(["region", str(plan)]) == 2
    assert f"{plan}:7: releases[0].constraints.points[1].delta: must be <= 1, got 1.5" in one_line(
        capsys.readouterr().err
    )


def test_a_report_as_a_page_and_as_markdown(capsys, tmp_path):
    page, text = tmp_path / "region.html", tmp_path / "region.md"
    assert (
        main(["region", *PAIR, "--times", "20", "--delta", "0.05", "--html", str(page), "--markdown", str(text)]) == 0
    )
    told = capsys.readouterr().err
    assert page.read_text(encoding="utf-8").count("<svg") == 2
    assert "1.3" in text.read_text(encoding="utf-8")
    pictures = sorted(path.name for path in tmp_path.glob("*.svg"))
    assert pictures == ["region-region-profile.svg", "region-region.svg"]
    assert all(name in told for name in ("region.html", "region.md", *pictures))


def test_a_report_that_cannot_be_written_is_refused_first(capsys, tmp_path):
    assert main(["region", *PAIR, "--html", str(tmp_path / "none" / "x.html")]) == 2
    assert "html" in one_line(capsys.readouterr().err)
