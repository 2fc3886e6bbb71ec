"""The stories about confounded secrets run as a stranger would run them, and say what they compute."""

import importlib
import itertools
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import pytest

pytest.importorskip("highspy")
pytest.importorskip("pydantic")
medical = importlib.import_module("examples.confounding_medical")
telematics = importlib.import_module("examples.confounding_telematics")
xor_pad = importlib.import_module("examples.confounding_xor_pad")

EXAMPLES = Path(__file__).parents[1] / "examples"


@pytest.mark.parametrize("name", ["medical", "telematics", "xor_pad"])
def test_one_command_tells_and_draws(tmp_path, name):
    pytest.importorskip("matplotlib")
    target = tmp_path / "new" / f"{name}.png"
    script = EXAMPLES / f"confounding_{name}.py"
    done = subprocess.run(
        [sys.executable, "-W", "error", str(script), "--figure", str(target)],
        capture_output=True,
        text=True,
        check=True,
        cwd=tmp_path,
    )
    told = done.stdout.splitlines()
    assert "ynthetic" in told[0]
    assert told[-1] == str(target)
    assert "nan" not in done.stdout
    assert done.stderr == ""
    assert target.read_bytes().startswith(b"\x89PNG")


def test_the_medical_design_beats_noise_and_holds():
    lines, made = medical.story()
    assert made.delta.upper <= 0.02
    assert made.gap < 1e-6
    assert made.before.epsilon(0.02).upper < 1.5
    noise = [
        made.world.calibrated(made.before, epsilon=1.5, delta=0.02, family=f).cost for f in ("laplace", "gaussian")
    ]
    assert made.cost < 0.5 * min(noise)
    assert any("errs the other way" in line for line in lines)  # a profile that crosses


def test_no_number_of_badges_tells_more_than_the_driving():
    lines, made = telematics.story()
    world = made.world
    assert world.priors == 2
    badge = made.before.mechanisms[0].single[0]
    identity = [[int(i == j) for j in range(9)] for i in range(9)]
    cap = world.release(identity).epsilon(0.02).upper
    grows = [world.release(telematics.repeated(badge, k)).epsilon(0.02) for k in telematics.WEEKS]
    assert all(one.upper < two.lower for one, two in itertools.pairwise(grows))
    assert grows[-1].upper <= cap
    claim = made.before.ignoring_confounder()
    assert claim.direction == "overestimates"
    assert any("overestimates" in line for line in lines)
    assert made.task.holds(made.table)


def test_the_halves_of_the_pad():
    """f is the chance of a wrong bit: the pad is read right or wrong twice with f^2 + (1 - f)^2."""
    lines, made = xor_pad.story()
    world = made.world
    for flip in (Fraction(1, 4), Fraction(1, 10), Fraction(1, 100)):
        release = world.release(*xor_pad.halves(flip))
        right = flip**2 + (1 - flip) ** 2
        assert release.exact_odds() == right / (1 - right)
        assert release.alone(0).exact_odds() == release.alone(1).exact_odds() == 1
        assert release.ignoring_confounder().exact_odds() == 1
        assert str(right / (1 - right)) in "".join(lines)
    assert world.release(*xor_pad.halves(Fraction(0))).exact_odds() is None
    assert any("refused; the existing release alone already has delta 0.28" in line for line in lines)
    assert made.optimum.cost == Fraction(907, 1520)
    assert made.delta.upper <= 0.02
