"""`quiltwork audit`: the numbers, the files, the exit codes, the complaints."""

import io
import json
from pathlib import Path

import numpy as np
import pytest
from tests.cli.lines import one_line

import quiltwork as qw
from quiltwork import audit
from quiltwork.audit.score_files import read_scores
from quiltwork.cli import main

RNG = np.random.default_rng(3)
MEMBER = RNG.random(4000) < 0.5
SCORES = RNG.normal(1.5 * MEMBER, 1.0)


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    path = tmp_path_factory.mktemp("scores") / "scores.csv"
    path.write_text(
        "score,member\n" + "".join(f"{s!r},{int(m)}\n" for s, m in zip(SCORES.tolist(), MEMBER, strict=True))
    )
    return str(path)


@pytest.fixture
def write(tmp_path):
    def written(text):
        path = tmp_path / "scores.csv"
        path.write_bytes(text.encode() if isinstance(text, str) else text)
        return str(path)

    return written


def answered(capsys, *arguments, code=0):
    assert main(["audit", *arguments, "--json"]) == code
    return json.loads(capsys.readouterr().out)


# ---- numbers


@pytest.mark.parametrize("method", ["counts", "gdp", "guesses"])
def test_the_numbers_are_those_of_the_library(capsys, file, method):
    data = answered(capsys, file, "--method", method, "--delta", "1e-6", "--confidence", "0.9", "--seed", "5")
    truth = audit.run(SCORES[MEMBER], SCORES[~MEMBER], 1e-6, 0.9, method=method, seed=5)
    assert data["audits"] == [json.loads(json.dumps(truth.to_json()))]
    assert data["contradicted"] is None
    assert data["title"] == "Privacy audit of scores.csv"


def test_one_run(capsys, file):
    data = answered(capsys, file, "--one-run", "--guesses", "200,100")
    truth = audit.one_run(SCORES, MEMBER, 1e-5, guesses=(200, 100))
    assert data["audits"][0]["guesses"] == {"canaries": 4000, "made": 300, "correct": truth.guesses.correct}
    assert data["audits"][0]["epsilon_lower"] == truth.epsilon_lower


def test_a_fixed_threshold(capsys, file):
    data = answered(capsys, file, "--threshold", "1.0")
    assert data["audits"][0]["counts"]["trials_in"] == int(MEMBER.sum())
    assert data["audits"][0]["threshold"] == 1.0


# ---- guarantees


def test_what_is_contradicted_exits_with_1(capsys, file):
    data = answered(capsys, file, "--claim", "0.5,1e-6", code=1)
    assert data["contradicted"] is True
    assert data["delta"] == 1e-6
    assert data["claim"] == "epsilon 0.5 at delta 1e-06, as claimed"
    assert answered(capsys, file, "--claim", "0.5", code=1)["delta"] == 0.0
    assert answered(capsys, file, "--mu", "0.5", code=1)["contradicted"] is True
    assert answered(capsys, file, "--one-run", "--guesses", "400", "--claim", "0.3", code=1)["contradicted"] is True


def test_what_is_not_contradicted_exits_with_0(capsys, file):
    data = answered(capsys, file, "--mu", "1.5", "--method", "both")
    assert data["contradicted"] is False
    assert data["certified"] == pytest.approx(float(qw.gdp(1.5).epsilon(1e-5).upper), rel=1e-6)
    assert [found["confidence"] for found in data["audits"]] == [0.975, 0.975]
    assert answered(capsys, file, "--claim", "9,1e-5", "--delta", "1e-3")["delta"] == 1e-3


def test_a_plan_is_a_guarantee(capsys, file, tmp_path):
    plan = tmp_path / "plan.yaml"
    plan.write_text(
        "quiltwork: 1\nreleases: [{name: a, gaussian: {sigma: 4}, count: 2}]\ntargets: [{epsilon: 2, delta: 1.0e-7}]\n"
    )
    data = answered(capsys, file, "--plan", str(plan), code=1)
    assert data["delta"] == 1e-7
    assert data["contradicted"] is True
    assert data["certified"] == pytest.approx(float((2 * qw.gaussian(4.0)).epsilon(1e-7).upper), rel=1e-6)


# ---- text and files


def test_the_text(capsys, file):
    assert main(["audit", file, "--claim", "0.5,1e-6"]) == 1
    out, err = capsys.readouterr()
    assert err == ""
    assert out.startswith("Privacy audit of scores.csv\nGuarantee: epsilon 0.5 at delta 1e-06, as claimed.")
    assert "The guarantee is: contradicted" in out
    assert "1,000 trials chose the attack and are not counted" in out
    assert "Guaranteed" in out
    assert "4,000 trials" in out
    assert len(out.partition("What is assumed\n")[2].partition("\n\n")[0].splitlines()) >= 4
    assert "\x1b" not in out


def test_other_texts(capsys, file):
    assert main(["audit", file, "--one-run", "--guesses", "100", "--claim", "9"]) == 0
    assert "canaries of one run" in capsys.readouterr().out
    assert main(["audit", file, "--method", "both", "--mu", "2"]) == 0
    out = capsys.readouterr().out
    assert "mu is at least" in out
    assert "not contradicted" in out
    assert main(["audit", file, "--delta", "1"]) == 0
    assert "nothing is refuted" in capsys.readouterr().out


def test_files(capsys, file, tmp_path):
    page, picture = tmp_path / "a.html", tmp_path / "a.svg"
    assert main(["audit", file, "--mu", "1.5", "--html", str(page), "--figure", str(picture)]) == 0
    err = capsys.readouterr().err
    assert err == f"wrote {page}\nwrote {picture}\n"
    assert "<script" not in page.read_text()
    assert page.read_text().count("<svg") == 2
    assert "guaranteed" in picture.read_text()


# ---- reading


@pytest.mark.parametrize(
    "text",
    [
        "score,member\n2.5,1\n-1,0\n",
        "2.5,1\n-1,0\n",
        "Member ; other; SCORE\r\nin;x; 2.5\r\n\r\nout;y;-1\r\n",
        "score\tmember\n2.5\tTrue\n-1\tFALSE\n",
        "\ufeffscore,member\n2.5,1.0\n-1,0.0",
        '"score","member"\n"2.5","in"\n"-1","out"\n',
    ],
)
def test_ways_to_write_scores(write, text):
    found = read_scores(Path(write(text)))
    assert found.values.tolist() == [2.5, -1.0]
    assert found.member.tolist() == [True, False]


def test_standard_input(monkeypatch, capsys):
    monkeypatch.setattr("sys.stdin", io.StringIO("score,member\n" + "1,1\n2,0\n" * 9))
    assert answered(capsys, "-")["title"] == "Privacy audit of standard input"


def test_infinite_scores(write, capsys):
    text = "inf,1\n-inf,0\n" * 50
    assert answered(capsys, write(text))["audits"][0]["threshold"] == "inf"


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "without scores"),
        ("score,member\n", "without scores"),
        ("points,member\n1,1\n", "scores.csv:1 must be a header"),
        ("1,2,3\n", "scores.csv:1 must be a header"),
        ("score,member\n1,1\nx,0\n", "scores.csv:3: score must be a number"),
        ("score,member\nnan,1\n", "scores.csv:2: score must be a number"),
        ("score,member\n1_0,1\n", "scores.csv:2: score must be a number"),
        ("score,member\n1,1\n\n1,maybe\n", "scores.csv:4: member must be 0 or 1"),
        ("score,member\n1\n", "scores.csv:2 must be a line with a score and a member"),
        ("1,1\n2,1\n", "no line with member = 0"),
        ("1,0\n2,0\n", "no line with member = 1"),
        ("1,0\n2,1\n", "at least two scores"),
        (b"\xff\xfe\x00", "UTF-8"),
        ('score,member\n"1,1\n' + "x" * 200000 + "\n", "scores.csv:2"),
    ],
)
def test_files_that_cannot_be_read(write, capsys, text, complaint):
    assert main(["audit", write(text)]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert complaint in one_line(err)


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["--delta", "-1"], "delta"),
        (["--delta", "nan"], "delta"),
        (["--confidence", "1"], "confidence"),
        (["--confidence", "0"], "confidence"),
        (["--split", "1"], "split"),
        (["--seed", "-1"], "seed"),
        (["--method", "magic"], "magic"),
        (["--claim", "a"], "--claim"),
        (["--claim", "1,2,3"], "--claim"),
        (["--claim", "-1"], "epsilon of --claim"),
        (["--claim", "1,2"], "delta of --claim"),
        (["--claim", "nan"], "epsilon of --claim"),
        (["--mu", "0"], "mu"),
        (["--mu", "1", "--claim", "1"], "one of --claim, --mu and --plan"),
        (["--plan", "nothing.yaml"], "nothing.yaml"),
        (["--guesses", "many"], "--guesses"),
        (["--guesses", "5"], "guesses"),
        (["--one-run", "--guesses", "99999"], "guesses"),
        (["--one-run", "--method", "gdp"], "--one-run"),
        (["--threshold", "nan"], "threshold"),
        (["--figure", "a.gif"], "figure"),
    ],
)
def test_bad_options(file, capsys, arguments, complaint):
    assert main(["audit", file, *arguments]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert complaint in one_line(err)


def test_a_missing_file(capsys):
    assert main(["audit", "nothing.csv"]) == 2
    assert one_line(capsys.readouterr().err) == "quiltwork: nothing.csv: No such file or directory\n"


def test_exactly_half_of_an_impossible_run(write, capsys):
    """All canaries included: no fair coins did that."""
    assert main(["audit", write("score,member\n" + "1,1\n" * 100), "--one-run"]) == 2
    assert "fair coins" in one_line(capsys.readouterr().err)
