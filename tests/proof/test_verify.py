"""`quiltwork verify`: exit codes, and files that claim nothing."""

import json
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
from typer.testing import CliRunner

import quiltwork as qw
from quiltwork.cli.commands.verify import verify
from quiltwork.proof import Proof, claims_of
from quiltwork.proof.prove import prove_claim

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


def test_a_proof_is_done_again_and_never_believed(tmp_path):
    proof = qw.prove(qw.gaussian(1.0), epsilon="4.3", delta="1e-5").to_json()
    file = tmp_path / "proof.json"
    file.write_text(json.dumps({**proof, "verdict": "proved"}))
    result = CliRunner().invoke(verify, [str(file), "--json"])
    assert result.exit_code == 1
    assert json.loads(result.stdout)[0]["verdict"] == "refuted"


def test_kept_proofs_hold():
    """What README and documentation print; contour sums only where they are installed."""
    kept = json.loads(KEPT.read_text())["proofs"]
    assert {one["proof"]["verdict"] for one in kept} == {"proved"}
    for one in kept:
        proof = Proof.from_json(one["proof"])
        if not any("contour" in line for line in proof.because) or find_spec("quiltwork.proof.contour"):
            assert prove_claim(proof.claim).verdict == "proved"
    assert len(claims_of(kept)) == len(kept)


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
