"""A real model trained with Opacus: the certificate stands, a mistyped noise multiplier is noticed."""

import importlib

import pytest
from tests.needs import needs

import quiltwork as qw
from quiltwork.cli import main

pytestmark = [
    needs("opacus", "torch"),
    pytest.mark.filterwarnings("ignore:Secure RNG turned off"),
    pytest.mark.filterwarnings("ignore:Full backward hook is firing"),
]


def test_the_example_as_it_is_told(tmp_path, capsys):
    example = importlib.import_module("examples.train_with_opacus")
    assert example.main([str(tmp_path)]) == 0
    told = capsys.readouterr().out
    assert "accuracy 0.9" in told
    assert "does not contradict" in told
    assert "contradicted: the chance" in told
    assert qw.Ledger(f"sqlite:///{tmp_path / 'budgets.db'}").balance("classifier").runs == {"first model": (1, 1)}
    assert main(["audit", str(tmp_path / "canaries.csv"), "--one-run", "--guesses", "100", "--claim", "2,1e-5"]) == 0
    assert "does not contradict" in capsys.readouterr().out


def test_the_default_budget_refuses_the_run(tmp_path):
    """What the tutorial says of adaptive budgets; a planned one takes it at its tight price."""
    example = importlib.import_module("examples.train_with_opacus")
    run = example.planned(3.4043)
    ledger = qw.Ledger(f"sqlite:///{tmp_path / 'budgets.db'}")
    ledger.open("adaptive", epsilon=2.0, delta=1e-5, protects="one document")
    assert ledger.would_exceed("adaptive", run)
    ledger.open("planned", epsilon=2.0, delta=1e-5, kind="planned", plan=[("run", run)], protects="one document")
    assert run.epsilon(1e-5).upper <= 2.0
