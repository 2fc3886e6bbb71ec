"""The training example runs as a stranger would run it, and its attack contradicts only the wrong account."""

import importlib
import subprocess
import sys
from pathlib import Path

import pytest

import quiltwork as qw

training = importlib.import_module("examples.training")

EXAMPLE = Path(__file__).parents[1] / "examples" / "training.py"


def test_one_command_tells_everything():
    done = subprocess.run([sys.executable, "-W", "error", str(EXAMPLE)], capture_output=True, text=True, check=True)
    assert "accounted as Poisson: The guarantee is contradicted" in done.stdout
    assert "accounted as shuffled: The audit does not contradict" in done.stdout
    assert "nan" not in done.stdout


def test_shuffling_costs_several_times_what_sampling_costs():
    found = training.priced()
    assert found["shuffle"].lower > 4 * found["poisson"].upper
    assert list(found) == training.ways()


def test_the_noise_meets_its_target():
    found = training.noise_for(2.0)
    assert qw.training(1000, 10, 1, found["poisson"]).epsilon(1e-6).upper <= 2.0
    assert qw.training(1000, 10, 1, found["shuffle"], "shuffle").epsilon(1e-6).upper <= 2.0


@pytest.mark.parametrize("seed", [1, 2])
def test_the_attack_is_fair(seed):
    """A shuffled run never contradicts its own price (false alarms: 5 % at most by the audit's confidence)."""
    assert training.audited("poisson", seed=seed).contradicted
    assert not training.audited("shuffle", seed=seed).contradicted
