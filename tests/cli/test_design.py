"""`quiltwork design`: the numbers, the files, the exit codes, the complaints."""

import csv
import json
import math
import re
import shlex
import subprocess
import sys
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from tests.cli.lines import one_line

from quiltwork.cli import main
from quiltwork.curves import Bracket
from quiltwork.report.answers.design import spread
from quiltwork.report.pages.design import _percent
from quiltwork.spec import parse_world, read_world

pytest.importorskip("highspy")

MEDICAL, XOR = "examples/worlds/medical.yaml", "examples/worlds/xor_pad.yaml"
HEAD = "quiltwork: 1\ntitle: Test\nsecrets: {names: [s, t]}\ndata: {given_secret: [[3/4, 1/4], [1/4, 3/4]]}\n"
BSC = "existing: [{name: bsc, table: [[9/10, 1/10], [1/10, 9/10]]}]\n"
TARGET = "target: {odds: 5/2, delta: 1/100}\n"


def answered(capsys, *arguments, code=0):
    """The JSON that a run prints."""
    assert main(["design", *arguments, "--json"]) == code
    return json.loads(capsys.readouterr().out)


@pytest.fixture
def file(tmp_path):
    """Write a world file, get its name."""

    def write(more="", head=HEAD):
        path = tmp_path / "world.yaml"
        path.write_text(head + more)
        return str(path)

    return write


def sticks(one, two, odds):
    return sum(max(p - odds * q, 0) for p, q in zip(one, two, strict=True))


# ---- numbers


def test_what_was_released(capsys, file):
    """Effective mechanisms, joint law and the claim of independence by hand."""
    data = answered(capsys, file(BSC.replace("}]", ", times: 2}]")), "--delta", "0.1")
    flip = Fraction(3, 4) * Fraction(9, 10) + Fraction(1, 4) * Fraction(1, 10)  # of the effective mechanism, 7/10
    (part,) = data["existing"]["parts"]
    assert (part["name"], part["uses"], part["outputs"]) == ("bsc", 2, 2)
    alone = math.log((flip - Fraction(1, 10)) / (1 - flip))  # 7/10 - t 3/10 = 1/10
    assert Bracket.from_json(part["epsilon"]).lower <= alone <= Bracket.from_json(part["epsilon"]).upper
    joint = [
        [sum(law[x] * k[x][y] * k[x][z] for x in (0, 1)) for y in (0, 1) for z in (0, 1)]
        for k in [[[Fraction(9, 10), Fraction(1, 10)], [Fraction(1, 10), Fraction(9, 10)]]]
        for law in ([Fraction(3, 4), Fraction(1, 4)], [Fraction(1, 4), Fraction(3, 4)])
    ]
    odds = Fraction(data["existing"]["odds"])
    assert sticks(*joint, odds) == Fraction(1, 10)
    product = [[p * q for p in law for q in law] for law in ([flip, 1 - flip], [1 - flip, flip])]
    claim = data["existing"]["ignoring_confounder"]
    claimed = math.exp(Bracket.from_json(claim["epsilon"]).midpoint)
    assert float(sticks(*product, Fraction(claimed))) == pytest.approx(0.1, abs=1e-12)
    assert claim["errs"] == ("overestimates" if claimed > odds else "underestimates")
    assert claim["everywhere"] in ("overestimates", "underestimates", "crosses")
    assert data["existing"]["theorem_b"] >= math.log(odds)
    assert (data["target"], data["design"], data["comparison"], data["certified"]) == (None, None, [], True)


def test_a_design_is_the_library_s(capsys, file):
    name = file(BSC + TARGET + "cost: absolute\n")
    data = answered(capsys, name, "--no-compare")
    read = read_world(name)
    made = read.world.design(read.release(), odds="5/2", delta="1/100", cost="absolute")
    assert data["design"]["counts"] == made.counts.tolist()
    counts = np.array(data["design"]["counts"])
    assert set(counts.sum(axis=1).tolist()) == {2 ** data["design"]["bits"]}
    channel = [[Fraction(int(count), 2 ** data["design"]["bits"]) for count in row] for row in counts]
    bsc = [[Fraction(9, 10), Fraction(1, 10)], [Fraction(1, 10), Fraction(9, 10)]]
    laws = [[Fraction(3, 4), Fraction(1, 4)], [Fraction(1, 4), Fraction(3, 4)]]
    everything = [
        [sum(law[x] * bsc[x][y] * channel[x][z] for x in (0, 1)) for y in (0, 1) for z in (0, 1)] for law in laws
    ]
    truth = max(sticks(*everything, Fraction(5, 2)), sticks(*everything[::-1], Fraction(5, 2)))
    assert truth <= Fraction(1, 100)
    assert data["design"]["delta"]["lower"] <= truth <= data["design"]["delta"]["upper"]
    cost = sum(Fraction(1, 2) * channel[x][1 - x] for x in (0, 1))
    assert float(cost) <= data["design"]["cost"]["upper"] <= float(cost) + 1e-12
    assert data["design"]["lower_bound"] <= float(cost)
    assert data["design"]["gap"] < 1e-6


def test_the_comparison_is_ordered(capsys):
    data = answered(capsys, MEDICAL)
    names = [row["name"] for row in data["comparison"]]
    assert names == ["tells nothing", "laplace noise, remapped", "gaussian noise, remapped", "this design"]
    nothing, laplace, gaussian, ours = (row["cost"] for row in data["comparison"])
    assert ours < min(laplace, gaussian) < nothing
    assert nothing == pytest.approx(5.1568, rel=1e-4)  # the variance of the score around the nearest whole number
    assert all(row["delta"] <= 0.02 for row in data["comparison"][1:])
    assert data["schema"] == "quiltwork/design_view/1"
    assert data["world"] == read_world(MEDICAL).to_dict()


def test_an_exact_design(capsys):
    data = answered(capsys, XOR, "--exact", "--no-compare")
    assert data["design"]["exact"]["cost"] == data["design"]["exact"]["lower_bound"] == "907/1520"
    assert data["comparison"] == []
    assert data["target"] == {"epsilon": pytest.approx(math.log(6)), "odds": "6", "delta": 0.02}
    assert main(["design", XOR, "--exact", "--no-compare"]) == 0
    assert "The best cost as a fraction: 907/1520." in capsys.readouterr().out


def test_the_pad_is_harmless_by_halves(capsys):
    data = answered(capsys, XOR, "--delta", "0", "--epsilon", "2", "--no-compare")
    assert [part["epsilon"]["upper"] for part in data["existing"]["parts"]] == [0, 0]
    assert data["existing"]["odds"] == "41/9"
    assert data["existing"]["ignoring_confounder"]["errs"] == "underestimates"
    assert data["existing"]["theorem_b"] == pytest.approx(2.197224577336, abs=1e-9)  # theory/confounding.md 2.1


def test_options_come_before_the_file(capsys, file):
    name = file(BSC + TARGET + "options: {exact: true}\n")
    assert answered(capsys, name, "--no-compare")["design"]["exact"] is not None
    assert main(["design", name, "--epsilon", "1"]) == 2
    assert "states odds = e^epsilon" in one_line(capsys.readouterr().err)
    name = file(BSC + TARGET)
    data = answered(capsys, name, "--epsilon", "1.5", "--delta", "0.05", "--no-compare")
    assert data["target"] == {"epsilon": 1.5, "odds": None, "delta": 0.05}
    data = answered(capsys, name, "--delta", "0.05", "--no-compare")
    assert data["target"]["odds"] == "5/2"


def test_a_time_limit_still_gives_a_certificate(capsys):
    data = answered(capsys, MEDICAL, "--no-compare", "--time-limit", "1e-9")
    assert data["design"]["finished"] is False
    assert data["design"]["delta"]["upper"] <= 0.02
    assert data["design"]["lower_bound"] <= 0.840662 <= data["design"]["cost"]["upper"] + 1e-6
    assert main(["design", MEDICAL, "--no-compare", "--time-limit", "1e-9"]) == 0
    assert "The search was stopped early: the answer is certified" in capsys.readouterr().out


def test_a_family_of_noise_instead(capsys):
    data = answered(capsys, MEDICAL, "--family", "gaussian")
    best = read_world(MEDICAL)
    made = best.world.calibrated(best.release(), epsilon=1.5, delta=0.02, cost="squared", family="gaussian")
    assert data["design"]["counts"] == made.counts.tolist()
    assert data["design"]["scale"] == made.scale
    assert [row["name"] for row in data["comparison"]][-1] == "gaussian noise, remapped"
    assert data["design"]["lower_bound"] is None
    assert main(["design", MEDICAL, "--family", "gaussian", "--no-compare"]) == 0
    assert "calibrated gaussian noise of scale 2.36" in " ".join(capsys.readouterr().out.split())


def test_other_readers(capsys, file):
    data = answered(capsys, file("reads: secret\ncost: zero-one\n"), "--epsilon", str(math.log(3)))
    assert data["inputs"] == ["s", "t"]
    assert data["design"]["cost"]["upper"] == pytest.approx(0.25, abs=1e-9)  # randomized response is the best
    assert "reads the secret itself" in data["assumes"][-1]
    assert [row["name"] for row in data["comparison"]] == ["tells nothing", "this design"]
    data = answered(capsys, file(BSC + "reads: data and output\n"), "--epsilon", "1")
    assert data["inputs"] == ["0, after 0", "0, after 1", "1, after 0", "1, after 1"]
    assert len(data["design"]["counts"]) == 4
    data = answered(capsys, file("cost: [[0, 1, 1/4], [1, 0, 1/4]]\n"), "--epsilon", "0.1")
    assert len(data["design"]["counts"][0]) == 3
    assert "outputs" in data["comparison"][1]["note"]  # noise needs to know where the outputs are


def test_an_infinite_epsilon(capsys, file):
    head = HEAD.replace("[1/4, 3/4]]}", "[0, 1]]}")
    name = file("existing: [{name: all, table: [[1, 0], [0, 1]]}]\n", head)
    data = answered(capsys, name)
    assert data["existing"]["epsilon"]["upper"] == "inf"
    assert data["existing"]["odds"] is None
    assert main(["design", name]) == 0
    assert "epsilon is not bounded (at delta 0: some output rules a secret out)" in capsys.readouterr().out


# ---- refusals


def test_a_target_that_is_lost_already(capsys):
    assert main(["design", XOR, "--epsilon", "1"]) == 1
    captured = capsys.readouterr()
    said = "Target: refused epsilon 1 at delta 0.02: the existing release alone already has delta 0.33"
    assert said in " ".join(captured.out.split())
    assert "The new mechanism" not in captured.out
    assert captured.err == ""
    data = answered(capsys, XOR, "--epsilon", "1", code=1)
    assert data["refused"].startswith("the existing release alone already has delta")
    assert (data["certified"], data["design"], data["inputs"]) == (False, None, None)


def test_what_cannot_be_written_is_said(tmp_path, capsys):
    target = tmp_path / "c.csv"
    assert main(["design", XOR, "--epsilon", "1", "--csv", str(target)]) == 1
    assert capsys.readouterr().err == f"{target} was not written: there is no table\n"
    assert not target.exists()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["no/such/world.yaml"], "no such file"),
        (["."], "cannot be read"),
        (["examples/plans/hospital.yaml"], "is a plan of releases, which quiltwork account FILE takes"),
        ([MEDICAL, "--epsilon", "-1"], "epsilon must be"),
        ([MEDICAL, "--epsilon", "nan"], "epsilon must be"),
        ([MEDICAL, "--epsilon", "inf"], "epsilon must be"),
        ([MEDICAL, "--delta", "2"], "delta must be in [0, 1]"),
        ([MEDICAL, "--delta", "1"], "delta must be in [0, 1) for a target, got 1.0"),
        ([MEDICAL, "--time-limit", "0"], "time-limit must be"),
        ([MEDICAL, "--gap", "0"], "gap must be"),
        ([MEDICAL, "--family", "cauchy"], "cauchy"),
        ([MEDICAL, "--exact"], "states odds = e^epsilon"),
        ([MEDICAL, "--figure", "f.gif"], "figure must be"),
        ([MEDICAL, "--no-compare", "--csv", "no/such/folder/c.csv"], "No such file"),
        ([], "Missing argument"),
    ],
)
def test_bad_input(capsys, arguments, words):
    assert main(["design", *arguments]) == 2
    assert words in one_line(capsys.readouterr().err)


def test_a_table_without_a_target(capsys, file, tmp_path):
    assert main(["design", file(BSC), "--csv", str(tmp_path / "c.csv")]) == 2
    assert "given with a target" in one_line(capsys.readouterr().err)


def test_a_family_that_reads_the_secret(capsys, file):
    assert main(["design", file("reads: secret\n"), "--epsilon", "1", "--family", "laplace"]) == 2
    assert "reads more than the data" in one_line(capsys.readouterr().err)


def test_an_error_in_the_file_names_the_line(capsys, file):
    name = file("existing:\n  - name: a\n    table:\n      - [0.5, 0.5]\n      - [0.5, 0.6]\n")
    assert main(["design", name]) == 2
    assert f"{name}:9: existing[0].table[1]: must sum to 1, got 1.1" in one_line(capsys.readouterr().err)


def test_without_the_solver(capsys, file, monkeypatch):
    monkeypatch.setitem(sys.modules, "highspy", None)
    assert main(["design", file(BSC + TARGET)]) == 2
    assert one_line(capsys.readouterr().err) == "quiltwork: highspy is not installed: pip install 'quiltwork[design]'\n"
    assert main(["design", file(BSC)]) == 0  # evaluation needs none


def test_a_figure_without_matplotlib(tmp_path, capsys, file, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    target = tmp_path / "f.svg"
    assert main(["design", file(BSC), "--figure", str(target)]) == 2
    assert "matplotlib is not installed" in one_line(capsys.readouterr().err)
    assert not target.exists()


# ---- text

PAD = """\
Xor pad: two harmless halves, synthetic
Secret: 0, 1. Data: 4 values. Protected: which of 2 secrets is true, any two of them.

At a glance
Released before: epsilon \N{LESS-THAN OR EQUAL TO} 1.5
  at delta 0.02; the truth lies between 1.49165 and 1.49166, e^epsilon = 40/9
Ignoring the confounder: epsilon 0 (it would promise more privacy than there is)
"""


def test_the_text_of_an_evaluation(capsys):
    assert main(["design", XOR, "--no-compare"]) == 0
    out = capsys.readouterr().out
    assert out.replace(" (at delta 0.02", "\n  at delta 0.02").replace("40/9)", "40/9").startswith(PAD)
    assert "(under epsilon 1.79176 (e^epsilon = 6) at delta 0.02)" in out
    assert "Its expected cost: 0.597 (zero-one; no mechanism that meets the target costs less than 0.597" in out
    assert "lies between 0.0199999 and 0.02 at epsilon 1.79176" in out


def test_the_text_of_a_design(capsys, file):
    """Nothing before, a bit behind a bit: the best is randomized response with the effective odds at the target."""
    name = file("target: {odds: 2}\ncost: zero-one\n")
    assert main(["design", name]) == 0
    out = capsys.readouterr().out
    assert "Released before: nothing" in out
    # (3/4 p + 1/4 (1 - p)) / (1/4 p + 3/4 (1 - p)) = 2 at p = 5/6
    assert "Input     0     1\n0      83.3  16.7\n1      16.7  83.3\n" in out
    assert "Its expected cost: 0.167 (zero-one" in out
    rows = [line.split()[:3] for line in out.splitlines()]
    assert ["tells", "nothing", "0.5"] in rows
    assert ["this", "design", "0.167"] in rows


def test_a_target_that_is_no_double_is_met_in_print(capsys, file):
    """1/20 is below the double 0.05, and rounding that up would print a delta beyond the target."""
    assert main(["design", file(BSC + "target: {odds: 5/2, delta: 1/20}\n"), "--exact"]) == 0
    out = capsys.readouterr().out
    assert re.search(r"lies between 0.0(5|499999) and 0.05 at epsilon", out)
    assert "0.0500001" not in out


def test_no_target_is_said(capsys, file):
    assert main(["design", file(BSC)]) == 0
    assert "No target is stated, so nothing is designed." in capsys.readouterr().out


def test_probabilities_in_print():
    assert _percent(0.0) == _percent(2.0**-21) == "0"
    assert _percent(2.0**-19) == "<0.1"
    assert _percent(0.5) == "50.0"
    assert _percent(1.0) == "100.0"
    assert spread(5, 24) == [0, 1, 2, 3, 4]
    assert len(spread(1000, 24)) == 24
    assert spread(1000, 24)[-1] == 999


def test_many_outputs_are_joined(capsys, file):
    count = 30
    rows = [[1.0 / count] * count, [2.0 * (i + 1) / (count * (count + 1)) for i in range(count)]]
    name = file("target: {epsilon: 3}\n", HEAD.replace("[[3/4, 1/4], [1/4, 3/4]]", json.dumps(rows)))
    assert main(["design", name, "--no-compare"]) == 0
    out = capsys.readouterr().out
    header = next(line for line in out.splitlines() if line.startswith("Input"))
    assert header.split()[-1] == "others"
    assert max(map(len, out.splitlines())) <= 120
    assert "24 of 30 inputs are shown." in " ".join(out.split())
    body = [line.split() for line in out[out.index(header) :].splitlines()[1:25]]
    for row in body:
        shares = [0.05 if cell == "<0.1" else float(cell) for cell in row[1:]]
        assert sum(shares) == pytest.approx(100.0, abs=0.1 * len(shares))


# ---- files


def test_the_table_can_be_sampled_exactly(tmp_path, capsys):
    target = tmp_path / "channel.csv"
    assert main(["design", MEDICAL, "--no-compare", "--csv", str(target)]) == 0
    assert capsys.readouterr().err == f"wrote {target}\n"
    with target.open(newline="") as stream:
        header, *rows = csv.reader(stream)
    assert header == ["input", *map(str, range(10)), "total"]
    assert [row[0] for row in rows] == [str(score) for score in range(10)]
    for row in rows:
        counts = [int(cell) for cell in row[1:-1]]
        assert min(counts) >= 0
        assert sum(counts) == int(row[-1]) == 2**50
    file = read_world(MEDICAL)
    channel = [[Fraction(int(cell), 2**50) for cell in row[1:-1]] for row in rows]
    whole = file.release().then(channel).delta(1.5)
    assert whole.lower <= 0.02
    assert whole.upper <= 0.02 * (1 + 1e-12)  # this way of evaluating rounds a little more than the certificate


def test_numbers_in_json_read_back(capsys):
    data = answered(capsys, MEDICAL, "--no-compare")
    text = json.dumps(data)
    assert "NaN" not in text
    assert "Infinity" not in text
    assert parse_world(json.dumps(data["world"])) == read_world(MEDICAL)
    assert Decimal(repr(data["design"]["cost"]["upper"])) >= Decimal(repr(data["design"]["lower_bound"]))


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (
            BSC + TARGET,
            ["released before", "with the new mechanism", "what the target allows", "output of the new mechanism"],
        ),
        (BSC.replace("}]", ", times: 2}]"), ["ignoring the confounder", "Theorem B", "all of it together", "misses"]),
    ],
)
def test_figures_are_drawn_and_reproducible(tmp_path, capsys, file, more, words):
    pytest.importorskip("matplotlib")
    one, two = tmp_path / "a.svg", tmp_path / "b.svg"
    name = file(more, HEAD.replace("title: Test", "title: 'Costs $5 {and $6'"))
    for path in (one, two):
        assert main(["design", name, "--no-compare", "--figure", str(path)]) == 0
    assert capsys.readouterr().err.splitlines() == [f"wrote {one}", f"wrote {two}"]
    assert one.read_bytes() == two.read_bytes()
    text = one.read_text(encoding="utf-8")
    assert all(word in text for word in [*words, "Costs $5 {and $6"])


def test_a_refusal_is_drawn(tmp_path, capsys):
    pytest.importorskip("matplotlib")
    target = tmp_path / "f.svg"
    assert main(["design", XOR, "--epsilon", "1", "--figure", str(target)]) == 1
    assert "target, refused" in target.read_text(encoding="utf-8")


def test_the_schema_of_world_files(capsys):
    assert main(["schema", "--worlds"]) == 0
    assert json.loads(capsys.readouterr().out)["title"] == "quiltwork world"
    assert main(["schema", "--worlds", "--priors"]) == 2
    assert "not both" in one_line(capsys.readouterr().err)


# ---- as a process

MAIN = "import sys; from quiltwork.cli import main; sys.exit(main())"


def test_a_closed_pipe_is_no_error():
    command = shlex.join([sys.executable, "-c", MAIN, "design", XOR, "--no-compare"])
    done = subprocess.run(f"{command} | head -1", shell=True, capture_output=True, check=False, text=True)
    assert done.stdout == "Xor pad: two harmless halves, synthetic\n"
    assert done.stderr == ""  # no progress off a terminal, and no complaint


def test_json_can_be_piped():
    reader = "import json, sys; print(json.load(sys.stdin)['design']['exact']['cost'])"
    writer = shlex.join([sys.executable, "-c", MAIN, "design", XOR, "--exact", "--no-compare", "--json"])
    command = f"{writer} | {shlex.join([sys.executable, '-c', reader])}"
    done = subprocess.run(command, shell=True, capture_output=True, check=True, text=True)
    assert done.stdout == "907/1520\n"
    assert done.stderr == ""


def test_help_loads_nothing_heavy():
    report = "print(*sys.modules, file=sys.stderr)"
    helped = f"import sys; from quiltwork.cli import main; main(['design', '--help']); {report}"
    idle, done = (
        subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True)
        for code in (f"import sys; {report}", helped)
    )
    for option in ("--epsilon", "--delta", "--time-limit", "--gap", "--exact", "--family", "--no-compare", "--csv"):
        assert option in done.stdout
    loaded = set(done.stderr.split()) - set(idle.stderr.split())
    assert "typer" in loaded
    assert not loaded & {"numpy", "scipy", "matplotlib", "yaml", "highspy", "quiltwork.spec", "quiltwork.confounding"}
