"""The example's fifth mechanism keeps its target and errs less than independent noise."""

import importlib

from tests.needs import needs

pytestmark = needs("torch")


def test_the_quick_run(capsys):
    example = importlib.import_module("examples.game_following")
    found = example.main(["--quick"])
    told = capsys.readouterr().out
    epsilon, delta = found.target
    assert found.certificate().epsilon(delta).safe <= epsilon
    assert found.error < found.errors["independent noise"]
    assert "(in force)" in told
    assert f"target epsilon {epsilon:.3f}" in told
