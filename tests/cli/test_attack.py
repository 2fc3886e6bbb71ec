"""`quiltwork attack`: the leaderboard, the files, the exit codes, the complaints."""

import csv
import json

import numpy as np
import pytest
from tests.cli.lines import one_line

import quiltwork as qw
from quiltwork import audit
from quiltwork.cli import main

SMALL = ["--from", "independent", "--candidates", "20", "--reference", "60", "--attributes", "60", "--quick"]


def answered(capsys, *arguments, code=0):
    """The JSON that a run prints."""
    assert main(["attack", *SMALL, *arguments, "--json"]) == code
    return json.loads(capsys.readouterr().out)


def test_a_leaderboard_beside_the_certificate(capsys):
    (found,) = answered(capsys, "--defence", "gaussian:0.1")["defences"]
    attackers = {entry["attacker"]: entry for entry in found["attackers"]}
    assert set(attackers) >= {"fixed LRT", "linear-Gaussian", "ridge", "informed optimal test"}
    assert attackers["informed optimal test"]["auc"] > attackers["fixed LRT"]["auc"]
    # ten of twenty are members: a swap moves each of sixty shares by at most a tenth
    mu = np.sqrt(60) / 10 / 0.1
    assert found["certified_epsilon"] == pytest.approx(float(qw.gdp(mu).epsilon(1e-5).upper), rel=1e-9)


def test_several_defences_side_by_side(capsys):
    assert main(["attack", *SMALL, "--defence", "none", "--defence", "constant", "--defence", "laplace:0.05"]) == 0
    printed = capsys.readouterr().out
    for words in ("no defence", "constant: candidates' mean", "Laplace 0.05", "Certified epsilon at 1e-05"):
        assert words in printed
    assert ": nothing" in printed  # without noise


def test_a_limit_decides_the_exit_code(capsys):
    assert main(["attack", *SMALL, "--defence", "gaussian:0.01", "--at-most", "0.7"]) == 1
    assert "not held" in capsys.readouterr().out
    assert main(["attack", *SMALL, "--defence", "constant-reference", "--at-most", "0.7"]) == 0
    assert "held" in capsys.readouterr().out


def test_the_same_seed_prints_the_same(capsys):
    one = answered(capsys, "--seed", "5")
    two = answered(capsys, "--seed", "5")
    for run in (one, two):
        for found in run["defences"]:
            for entry in found["attackers"]:
                del entry["seconds"]
    assert one == two
    assert one["population"] != answered(capsys, "--seed", "6")["population"]


def test_files(capsys, tmp_path):
    page, figure, scores = tmp_path / "a.html", tmp_path / "roc.svg", tmp_path / "scores.csv"
    arguments = ["--html", str(page), "--figure", str(figure), "--scores", str(scores), "--trials", "2000"]
    assert main(["attack", *SMALL, "--defence", "gaussian:0.3", *arguments]) == 0
    assert capsys.readouterr().err.count("wrote ") == 3
    text = page.read_text()
    assert "<svg" in text
    assert "<script" not in text
    assert "http" not in text.split("<svg")[0]
    assert figure.read_text().startswith("<?xml")
    with scores.open() as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 2000
    inside, outside = ([float(row["score"]) for row in rows if row["member"] == value] for value in "10")
    # the trials are of the worst swap of the pool: the audited mu is near the certified one and not above it
    found = audit.run(np.array(inside), np.array(outside), delta=1e-5, confidence=0.999, method="gdp")
    assert 0.5 < found.mu_lower < np.sqrt(60) / 10 / 0.3


def test_rows_from_a_file(capsys, tmp_path):
    path = tmp_path / "rows.csv"
    rows = np.random.default_rng(0).integers(0, 2, (40, 8))
    path.write_text("\n".join(",".join(map(str, row)) for row in rows))
    arguments = ["attack", str(path), "--candidates", "10", "--reference", "20", "--quick", "--json"]
    assert main(arguments) == 0
    assert "10 candidates, 20 reference people, 8 attributes" in json.loads(capsys.readouterr().out)["population"]


def test_independent_members(capsys):
    (found,) = answered(capsys, "--prior", "independent", "--defence", "rate-distortion:0.03")["defences"]
    assert found["certified_epsilon"] is None  # one person may be all of the data
    assert "random number of members" in found["certificate"]


def test_the_gate_puts_a_closed_form_in_force(capsys):
    """A network of two steps knows nothing: the constant release or rate-distortion is better at its error."""
    pytest.importorskip("torch")
    (found,) = answered(capsys, "--defence", "generative:2", "--steps", "2")["defences"]
    assert found["training"]
    assert found["release"].startswith(("constant", "rate-distortion"))


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["--defence", "magic"], "defence must be one of none"),
        (["--defence", "gaussian"], "defence must be one of none"),
        (["--defence", "gaussian:x"], "gaussian: and a number"),
        (["--defence", "gaussian:-1"], "sigma must be"),
        (["--defence", "gaussian:nan"], "finite number"),
        (["--defence", "constant:1"], "defence must be one of none"),
        (["--figure", "roc.gif"], ".svg or .png or .pdf"),
        (["--at-most", "1.5"], "at-most must be in [0, 1]"),
        (["--delta", "2"], "delta must be in [0, 1]"),
        (["--from", "nowhere"], "from must be genotypes"),
        (["--from", "vcf"], "path of a file"),
        (["--prior", "most"], "prior must be"),
        (["--candidates", "0"], "candidates must be"),
        (["--defence", "none", "--defence", "constant", "--scores", "s.csv"], "one defence at a time"),
        (["missing.csv", "--from", "digits"], "no file"),
    ],
)
def test_complaints(capsys, arguments, problem):
    assert main(["attack", *SMALL, *arguments]) == 2
    assert problem in one_line(capsys.readouterr().err)


def test_scores_need_noise(capsys, tmp_path):
    assert main(["attack", *SMALL, "--defence", "none", "--scores", str(tmp_path / "s.csv")]) == 2
    assert "no noise" in one_line(capsys.readouterr().err)
    assert not (tmp_path / "s.csv").exists()


def test_prices_of_attributes(capsys, tmp_path):
    """An attribute of price 0 is replaced by its reference frequency: fewer shares, a smaller epsilon."""
    prices = tmp_path / "prices.txt"
    prices.write_text("0, " * 30 + "1 " * 30)
    (priced,) = answered(capsys, "--defence", "gaussian:0.1", "--weights", str(prices))["defences"]
    (plain,) = answered(capsys, "--defence", "gaussian:0.1")["defences"]
    assert priced["certified_epsilon"] < plain["certified_epsilon"]
    mu = np.sqrt(30) / 10 / 0.1
    assert priced["certified_epsilon"] == pytest.approx(float(qw.gdp(mu).epsilon(1e-5).upper), rel=1e-9)


def test_a_confidence_of_the_intervals(capsys):
    (wide,) = answered(capsys, "--confidence", "0.999")["defences"]
    (narrow,) = answered(capsys, "--confidence", "0.5")["defences"]
    assert wide["confidence"] == 0.999
    for one, two in zip(wide["attackers"], narrow["attackers"], strict=True):
        assert one["auc"] == two["auc"]
        assert one["auc_lower"] < two["auc_lower"] < two["auc_upper"] < one["auc_upper"]


@pytest.mark.parametrize(
    ("text", "arguments", "problem"),
    [
        ("1 2 x", [], "file of numbers"),
        ("1 2 3", [], "60 numbers, one an attribute"),
        ("-1 " * 60, [], "weights must be"),
        ("1 " * 60, ["--defence", "constant"], "no use for prices"),
        ("1 " * 60, ["--confidence", "1"], "confidence must be"),
    ],
)
def test_bad_prices(capsys, tmp_path, text, arguments, problem):
    path = tmp_path / "prices.txt"
    path.write_text(text)
    assert main(["attack", *SMALL, "--weights", str(path), *(arguments or ["--defence", "gaussian:0.1"])]) == 2
    assert problem in one_line(capsys.readouterr().err)
