"""The example runs in one command, and shows the in-loop figure beside the retrained ones."""

import importlib

from tests.needs import needs

pytestmark = needs("torch")
example = importlib.import_module("examples.game_gan")


def test_the_quick_run_tells_both_figures_and_the_verdict(capsys):
    finding = example.main(["--quick"])
    told = capsys.readouterr().out
    assert f"{finding.trained.in_loop.auc:.3f}  in-loop attacker: not a measure of protection" in told
    assert finding.board.best.auc.estimate > 0.9  # forty steps of the paper's network hide nothing from ridge
    assert f"{finding.board.best.auc.estimate:.3f}  [" in told
    assert "the closed form is used instead" in told
    assert [name.split()[0] for name, *_ in finding.others] == [
        "Gaussian",
        "water-filling",
        "rate-distortion",
        "constant:",
    ]


def test_the_full_run_is_the_papers_network_without_a_price(monkeypatch):
    """The numbers of the full run (in the loop 0.51, retrained 0.97) take half a minute, so only its settings here."""
    asked = []
    monkeypatch.setattr(example, "people", lambda size, simple, cache: (size, simple))
    monkeypatch.setattr(example, "experiment", lambda *given: asked.append(given))
    monkeypatch.setattr(example, "told", lambda finding: [])
    example.main([])
    ((defender, (size, simple), _, seed),) = asked
    settings = defender.settings(size.candidates, size.attributes)
    assert (size.candidates, size.attributes, size.steps, simple, seed) == (100, 500, 1200, False, 0)
    assert (settings.architecture, settings.objective, settings.attacker) == ("paper", "tpr", "neural")
    assert (settings.kappa, settings.nu) == (0.0, 30)
