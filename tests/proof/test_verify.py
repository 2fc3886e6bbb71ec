"""`quiltwork verify`: exit codes, and files that claim nothing."""

import base64
import json
import runpy
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import pyarrow
import pytest
from tests.examples import PROFILE, some
from typer.testing import CliRunner

import quiltwork as qw
from quiltwork.cli import main
from quiltwork.cli.commands.verify import verify
from quiltwork.document.page import data_in, kept_data
from quiltwork.proof import Proof, claims_of
from quiltwork.proof.prove import prove_claim

QUICK = 0.05  # seconds that a kept proof took
KEPT = Path(__file__).parents[2] / "docs" / "proofs" / "kept.json"
CLAIM = qw.gaussian(1.0).epsilon(1e-5).claim().rounded(4).to_json()


@pytest.mark.parametrize(
    ("content", "code", "words"),
    [
        (CLAIM, 0, "1 proved"),
        ([CLAIM, {**CLAIM, "epsilon": ["4.378", "4.379"]}], 1, "1 proved, 1 refuted"),
        ({**CLAIM, "loss": qw.noisy_max(1.0).to_json()}, 2, "1 undecided"),
        ({"epsilon": 3}, 2, "claims nothing"),
        ({**CLAIM, "epsilon": ["5", "4"]}, 2, "ordered"),
        ("not JSON", 2, "JSON"),
    ],
)
def test_exit_codes(tmp_path, content, code, words):
    file = tmp_path / "claim.json"
    file.write_text(content if isinstance(content, str) else json.dumps(content))
    result = CliRunner().invoke(verify, [str(file)])
    assert result.exit_code == code
    assert words in result.output


def verified(file, *options):
    """Exit code, and the proofs that it printed."""
    result = CliRunner().invoke(verify, [str(file), "--json", *options])
    return result.exit_code, json.loads(result.stdout) if result.exit_code < 2 else []


def test_saved_brackets(tmp_path):
    one = qw.gaussian(1.0).epsilon(1e-5).save(tmp_path / "one.json")
    several = qw.gaussian(1.0).epsilon([1e-5, 1e-6, 1e-7]).save(tmp_path / "several.json")
    (tmp_path / "claim.yaml").write_text(qw.dumps(qw.gaussian(1.0).epsilon(1e-5).claim()))
    for file, count in ((one, 1), (several, 3), (tmp_path / "claim.yaml", 1)):
        code, proofs = verified(file)
        assert (code, len(proofs)) == (0, count)
    edited = json.loads(several.read_text())
    edited[1]["epsilon"] = ["4.8", "4.85"]
    several.write_text(json.dumps(edited))
    code, proofs = verified(several)
    assert code == 1
    assert [one["verdict"] for one in proofs] == ["proved", "refuted", "proved"]


def test_answers_to_several_questions_beside_their_loss(tmp_path):
    loss, deltas = qw.gaussian(1.0), [1e-5, 1e-6]
    file = tmp_path / "answers.json"
    told = {"loss": loss.to_json(), "delta": deltas, "epsilon": loss.epsilon(deltas).to_json()}
    file.write_text(json.dumps(told))
    code, proofs = verified(file)
    assert (code, [one["place"] for one in proofs]) == (0, ["epsilon[0]", "epsilon[1]"])
    file.write_text(json.dumps({**told, "delta": [1e-5]}))
    assert verified(file)[0] == 2, "not as many ends as questions"


def test_the_account_of_a_plan(tmp_path, capsys):
    """Its total and its targets are judged about the composition of its releases, each release about itself."""
    text = (
        "quiltwork: 1\ntitle: two\nprotects: one record, added or removed\ntargets: [{epsilon: 4.0, delta: 1.0e-6}]\n"
    )
    text += "releases:\n- {name: a, gaussian: {sigma: 2.0}}\n- {name: b, gaussian: {sigma: 4.0}, count: 3}\n"
    plan = tmp_path / "plan.yaml"
    plan.write_text(text)
    assert main(["account", str(plan), "--json"]) == 0
    told = capsys.readouterr().out
    file = tmp_path / "account.json"
    file.write_text(told)
    code, proofs = verified(file, "--digits", "4")
    places = [one["place"] for one in proofs]
    assert (code, places) == (0, ["epsilon", "releases[0].epsilon", "releases[1].epsilon"]), "one target, at that delta"
    account = json.loads(told)
    account["releases"][1]["epsilon"], account["releases"][0]["epsilon"] = (
        one["epsilon"] for one in account["releases"]
    )
    file.write_text(json.dumps(account))
    assert verified(file)[0] == 1, "epsilons of single releases, exchanged"
    file.write_text(json.dumps({**json.loads(told), "releases": [{"name": "c", "epsilon": account["epsilon"]}]}))
    assert verified(file)[0] == 2, "a release that the plan does not have"
    account = json.loads(told)
    account["plan"]["releases"][1]["count"] = 30
    file.write_text(json.dumps(account))
    assert verified(file)[0] == 1, "an edited plan is not what was answered"


def test_the_receipt_of_a_release(tmp_path):
    table = qw.Table(age=qw.Int(0, 120))
    plan = qw.Plan(table, neighbors=qw.add_remove())
    plan.count("n", noise=qw.noise.gaussian(5.0))
    released = plan.release(pyarrow.table({"age": [30, 40, 50]}))
    code, proofs = verified(released.save(tmp_path / "released.json"), "--digits", "4")
    assert (code, [one["verdict"] for one in proofs]) == (0, ["proved", "proved"])


TABLES = """\
quiltwork: 1
targets: [{epsilon: 2.0, delta: 1.0e-6}]
table: {columns: {region: {cat: [North, South]}}}
neighbors: add_remove
queries:
- {name: all, noise: {gaussian: 5.0}, count: {by: [{column: region}]}}
"""


@pytest.mark.parametrize("kind", [".html", ".json"])
def test_a_report(tmp_path, kind):
    """Of a plan with a nasty title and of a table plan: each total is judged; an edited number is refuted."""
    plan, tables, report = tmp_path / "plan.yaml", tmp_path / "tables.yaml", tmp_path / f"report{kind}"
    plan.write_text("quiltwork: 1\ntitle: '--> {'\nreleases:\n- {name: a, gaussian: {sigma: 2.0}, count: 3}\n")
    tables.write_text(TABLES)
    assert main(["report", str(plan), str(tables), "--delta", "1e-6", "--out", str(report)]) == 0
    code, proofs = verified(report, "--digits", "4")
    assert (code, [one["verdict"] for one in proofs]) == (0, ["proved"] * len(proofs))
    places = [one["place"].rpartition("parts")[2] for one in proofs]
    assert places == ["[0].account.epsilon", "[1].tables.epsilon"]
    data = data_in(report.read_text()) if kind == ".html" else json.loads(report.read_text())["data"]
    data["parts"][0]["account"]["epsilon"]["upper"] /= 2
    data["parts"][0]["account"]["epsilon"]["lower"] /= 2
    report.write_text(kept_data(data) if kind == ".html" else json.dumps(data))
    assert verified(report, "--digits", "4")[0] == 1


def test_what_was_released_is_said_beside_each_verdict(tmp_path):
    """Losses of one direction, and what has no words, too."""
    plan = qw.Plan(qw.Table(age=qw.Int(0, 9)), neighbors=qw.replace_one())
    for name, sigma in (("n", 5.0), ("m", 9.0)):
        plan.count(name, noise=qw.noise.gaussian(sigma))
    vectors = plan.guarantee().curve.to_prove()
    world = {"schema": "quiltwork/finite_world/1", "laws": [["1", "0"], ["0", "1"]], "pairs": [[0, 1]], "channels": []}
    told = [
        CLAIM,
        qw.poisson(qw.laplace(2.0), 0.5).direction("add").epsilon(1e-3).claim().to_json(),
        {**CLAIM, "loss": world},
        {**CLAIM, "loss": vectors.to_json()},
    ]
    file = tmp_path / "claims.json"
    file.write_text(json.dumps(told))
    lines = [
        line for line in CliRunner().invoke(verify, [str(file)]).output.splitlines() if line.startswith("  about ")
    ]
    assert lines[0] == "  about Gaussian noise, sigma 1, sensitivity 1"
    assert lines[1].endswith("one direction only: add")
    assert "finite_world" in lines[2]
    assert "vectors by which neighbours" in lines[3]


def test_members_that_are_said_twice_are_refused(tmp_path):
    """A reader takes the first, a program the last."""
    file = tmp_path / "claim.json"
    file.write_text(json.dumps(CLAIM).replace('"epsilon":', '"epsilon": ["1", "2"], "epsilon":'))
    result = CliRunner().invoke(verify, [str(file)])
    assert (result.exit_code, "'epsilon' once" in result.output) == (2, True)


@pytest.mark.parametrize(("upper", "code"), [("0.3", 0), ("0.29999999999999999999", 1), ("3e-1", 0), ("1e400", 0)])
def test_numbers_of_many_digits_are_not_rounded_to_doubles(tmp_path, upper, code):
    """Written as numbers, as a person may; the double of the second is 0.3, and of the last infinite."""
    told = {**CLAIM, "loss": qw.pure(0.3).to_json(), "delta": "0", "epsilon": [0, "UPPER"]}
    file = tmp_path / "claim.json"
    file.write_text(json.dumps(told).replace('"UPPER"', upper))
    assert CliRunner().invoke(verify, [str(file)]).exit_code == code


def test_what_a_page_keeps_is_read_as_strictly(tmp_path):
    """Neither members that are there twice nor numbers that a double rounds up pass inside of a report."""
    told = json.dumps({**CLAIM, "loss": qw.pure(0.3).to_json(), "delta": "0", "epsilon": [0, "UPPER"]})
    page = tmp_path / "report.html"
    for upper, code in (("0.3", 0), ("0.29999999999999999999", 1), ('0.1], "epsilon": [0, 0.3', 2)):
        kept = kept_data({}).replace("e30=", base64.b64encode(told.replace('"UPPER"', upper).encode()).decode())
        page.write_text(kept)
        assert CliRunner().invoke(verify, [str(page)]).exit_code == code


def test_a_number_with_an_exponent_that_no_decimal_has_is_no_crash(tmp_path):
    file = tmp_path / "claim.json"
    file.write_text(json.dumps({**CLAIM, "epsilon": ["LOWER", 5]}).replace('"LOWER"', f"1e-{'9' * 20}"))
    result = CliRunner().invoke(verify, [str(file)])
    assert (result.exit_code, "must be a finite number" in result.output) == (2, True)


def test_brackets_that_are_not_judged_are_counted(tmp_path):
    told = qw.gaussian(1.0).epsilon(1e-5).to_json()
    file = tmp_path / "two.json"
    file.write_text(json.dumps([CLAIM, {"delta": 1e-6, "epsilon": told}, {"delta": 1e-6, "epsilon": told}]))
    result = CliRunner().invoke(verify, [str(file)])
    assert (result.exit_code, "not judged: 1 more" in result.output) == (0, True)


def test_a_loss_that_is_not_known_is_not_that_further_out(tmp_path):
    """A bracket beside a loss of another schema says nothing about the loss above it."""
    loss = qw.gaussian(1.0)
    told = {"delta": 1e-5, "epsilon": loss.epsilon(1e-5).to_json()}
    inner = {**told, "loss": {**loss.to_json(), "schema": "quiltwork/loss/2"}}
    assert len(claims_of({"loss": loss.to_json(), "parts": [told]})) == 1
    assert claims_of({"loss": loss.to_json(), "parts": [inner]}) == []


def test_the_module_has_the_exit_code_of_the_command(monkeypatch, tmp_path):
    """`python -m quiltwork verify` is what build servers run."""
    file = tmp_path / "claim.json"
    file.write_text(json.dumps({**CLAIM, "epsilon": ["4.378", "4.379"]}))
    monkeypatch.setattr(sys, "argv", ["quiltwork", "verify", str(file)])
    monkeypatch.delitem(sys.modules, "quiltwork.__main__", raising=False)  # whoever looked at every module imported it
    with pytest.raises(SystemExit) as ended:
        runpy.run_module("quiltwork", run_name="__main__")
    assert ended.value.code == 1


def test_how_far_it_has_come_is_told(tmp_path, monkeypatch):
    seen = []

    @contextmanager
    def drawer(label):
        yield lambda done, total, words="": seen.append((label, done, total, words))

    monkeypatch.setattr("quiltwork.progress.reporting", drawer)
    file = qw.gaussian(1.0).epsilon([1e-5, 1e-6]).save(tmp_path / "several.json")
    CliRunner().invoke(verify, [str(file)])
    assert seen == [("proofs", 0, 2, "[0]"), ("proofs", 1, 2, "[1]")]


def test_a_proof_is_done_again_and_never_believed(tmp_path):
    proof = qw.prove(qw.gaussian(1.0), epsilon="4.3", delta="1e-5").to_json()
    file = tmp_path / "proof.json"
    file.write_text(json.dumps({**proof, "verdict": "proved"}))
    result = CliRunner().invoke(verify, [str(file), "--json"])
    assert result.exit_code == 1
    assert json.loads(result.stdout)[0]["verdict"] == "refuted"


def test_kept_proofs_hold():
    """What README, documentation and gallery print: those that are quick, all of them in campaigns."""
    kept = json.loads(KEPT.read_text())
    assert {one["proof"]["verdict"] for one in kept["proofs"]} == {"proved"}
    proofs = [Proof.from_json(one["proof"]) for one in kept["proofs"]]
    quick = [proof for proof in proofs if proof.seconds < QUICK]
    assert quick
    for proof in proofs if PROFILE == "campaign" else some(quick, 25):
        assert prove_claim(proof.claim).verdict == "proved"
    assert {"README.md", "docs/proofs.md"} <= {one["page"] for one in kept["proofs"]}
    assert any(one["page"].startswith("gallery") for one in kept["proofs"])


def test_without_python_flint_there_is_one_line():
    code = (
        "import sys; sys.modules['flint'] = None\nimport quiltwork as qw\n"
        "try:\n    qw.gaussian(1.0).epsilon(1e-5).prove()\nexcept ImportError as problem:\n    print(problem)"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "python-flint is not installed: pip install 'quiltwork[proof]'"


def test_importing_the_room_does_not_load_python_flint():
    code = "import sys, quiltwork as qw; qw.prove; print('flint' in sys.modules, 'scipy' in sys.modules)"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.split() == ["False", "False"]
