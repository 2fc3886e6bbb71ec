"""Options of learned defences: what they come to, and what they refuse."""

import math

import numpy as np
import pytest
from tests.game.generative_cases import outputs, people, small

from quiltwork.errors import InvalidParameter, MissingExtra, Unsupported
from quiltwork.game import Constant, FixedThreshold, Gaussian, Neural, Ridge
from quiltwork.game.learned import Generative, train
from quiltwork.game.learned.training import settled
from quiltwork.game.people.population import Statistic

BAD = [
    {"architecture": "big"},
    {"architecture": None},
    {"objective": "auc"},
    {"attacker": "ridge"},
    {"kappa": -1.0},
    {"kappa": math.nan},
    {"kappa": math.inf},
    {"kappa": True},
    {"weights": []},
    {"weights": [1.0, -1.0]},
    {"weights": [0.0, 0.0]},
    {"weights": [math.nan]},
    {"weights": [[1.0]]},
    {"weights": "12"},
    {"nu": 0},
    {"nu": 2.0},
    {"attacker_steps": 0},
    {"attacker_steps": True},
    {"learning_rate": 0.0},
    {"learning_rate": 2.0},
    {"attacker_rate": -1.0},
    {"weight_decay": -1.0},
    {"batch": 1},
    {"steps": 0},
    {"steps": 10.0},
    {"initial_noise": math.inf},
    {"hidden": (0, 4)},
    {"hidden": 8},
    {"attacker_hidden": (8,)},
    {"attacker_hidden": (8, 8, 8)},
    {"hidden": (8, 8, 8, 8)},
    {"decay": 0.0},
    {"decay": 1.1},
    {"epoch": 0},
    {"reduction": "max"},
    {"norm": 3},
    {"norm": 0},
    {"odds_limit": 0.0},
    {"odds_weight": -1.0},
    {"patience": 0},
    {"window": 0},
    {"tolerance": -1.0},
    {"certify": 1.0},
    {"certify": (1.0, 0.0)},
    {"certify": (1.0, 1.0)},
    {"certify": (0.0, 1e-5)},
    {"certify": (math.nan, 1e-5)},
    {"radius_quantile": 0.0},
    {"radius_quantile": 1.5},
]


@pytest.mark.parametrize("options", BAD, ids=repr)
def test_bad_options_are_refused_by_name(options):
    with pytest.raises(InvalidParameter):
        Generative(**options)


def test_defaults_follow_the_architecture():
    noisy, paper = Generative().settings(100, 500), Generative("paper").settings(100, 500)
    assert (noisy.objective, noisy.attacker, noisy.nu, noisy.attacker_steps) == ("cel", "linear", 100, 6)
    assert (noisy.learning_rate, noisy.attacker_rate) == (3e-4, 3e-3)
    assert (paper.objective, paper.attacker, paper.nu, paper.learning_rate) == ("tpr", "neural", 30, 1e-3)
    assert (noisy.hidden, noisy.attacker_hidden, noisy.decay) == ((256, 256), (256, 128), 1.0)
    assert Generative(certify=(2.0, 1e-5)).settings(4, 4).odds_limit == 2.0
    assert Generative(certify=(2.0, 1e-5), odds_limit=1.0).settings(4, 4).odds_limit == 1.0


def test_the_paper_has_its_printed_networks():
    """Tables 1a and 2a: weights as P.9 counts them, and the rates and the decay of P.8."""
    pytest.importorskip("torch")
    from quiltwork.game.learned.training import players

    chosen = Generative("paper").settings(8, 50)
    assert (chosen.hidden, chosen.attacker_hidden) == ((1500, 1100, 500), (3400, 2000))
    assert (chosen.learning_rate, chosen.attacker_rate, chosen.weight_decay, chosen.decay) == (1e-3, 1e-4, 1e-5, 0.988)
    generator, attacker = players(chosen, Statistic(people(0, 8, 50)), 0)
    kinds = [type(layer).__name__ for layer in generator.net]
    assert kinds == [
        "Linear", "Linear", "BatchNorm1d", "ReLU", "Linear", "BatchNorm1d", "LeakyReLU", "Linear",
    ]  # fmt: skip
    assert [type(layer).__name__ for layer in attacker.net] == ["Linear", "Linear", "BatchNorm1d", "ReLU", "Linear"]
    weights = 38 * 1500 + 1500 * 1100 + 2 * 1100 + 1100 * 500 + 2 * 500 + 500 * 50
    biases = 1500 + 1100 + 500 + 50
    assert sum(part.numel() for part in generator.parameters) == weights + biases
    weights = 50 * 3400 + 3400 * 2000 + 2 * 2000 + 2000 * 8
    assert sum(part.numel() for part in attacker.net.parameters()) == weights + 3400 + 2000 + 8


def test_weights_are_one_an_attribute():
    with pytest.raises(InvalidParameter, match="one an attribute"):
        Generative(weights=[1.0, 2.0]).settings(4, 3)


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ({"population": "people"}, InvalidParameter),
        ({"seed": -1}, InvalidParameter),
        ({"seed": 1.5}, InvalidParameter),
        ({"steps": 0}, InvalidParameter),
        ({"every": 0}, InvalidParameter),
        ({"progress": "yes"}, InvalidParameter),
        ({"resume": True}, InvalidParameter),
        ({"resume": 1}, InvalidParameter),
        ({"gate": 1}, InvalidParameter),
        ({"checkpoint": 3}, InvalidParameter),
        ({"denominator": "all"}, InvalidParameter),
        ({"attacker": "svm"}, InvalidParameter),
        ({"attacker": 3}, InvalidParameter),
        ({"attacker": FixedThreshold()}, Unsupported),
        ({"defender": "noise"}, InvalidParameter),
        ({"defender": Gaussian(0.1), "attacker": "linear"}, Unsupported),
    ],
    ids=repr,
)
def test_bad_arguments_are_refused(arguments, error):
    pytest.importorskip("torch")
    given = {"defender": small(), "attacker": None, "population": people(), "steps": 2, "progress": False} | arguments
    with pytest.raises(error):
        train(given.pop("defender"), given.pop("attacker"), given.pop("population"), **given)


def test_a_checkpoint_without_a_directory_is_refused_at_once(tmp_path):
    pytest.importorskip("torch")
    for place in (tmp_path, tmp_path / "missing" / "file"):
        with pytest.raises(InvalidParameter, match="directory"):
            train(small(), None, people(), checkpoint=place, progress=lambda step, value: pytest.fail("it began"))


def test_attackers_name_their_kind_in_the_loop():
    pytest.importorskip("torch")
    linear = train(small("noisy", steps=2), Ridge(), people(), gate=False)
    neural = train(small("noisy", steps=2), Neural(), people(), gate=False)
    assert (linear.in_loop.attacker, neural.in_loop.attacker) == ("linear", "neural")


def test_closed_forms_only_get_ready():
    trained = train(Constant(), None, people())
    assert trained.learned is trained.history is trained.in_loop is trained.verdict is None
    assert trained.certificate().epsilon(0.0).safe == 0.0
    assert np.ptp(outputs(trained), axis=0).max() == 0.0
    assert trained.error > 0
    assert train(Gaussian(0.1), None, people()).channel.variance[0] == pytest.approx(0.01)


def test_without_torch_the_message_says_so(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "torch", None)
    with pytest.raises(MissingExtra, match="torch"):
        train(small(), None, people())


def test_settled_means_that_the_average_stays_where_it_is():
    still, rising = np.full(50, 0.3), np.linspace(0.0, 1.0, 50)
    wobbling = np.tile([0.2, 0.4], 25)
    assert settled(still, 10, 40, 1e-9)
    assert settled(wobbling, 10, 40, 1e-9)
    assert not settled(rising, 10, 40, 0.5)
    assert not settled(-rising, 10, 40, 0.5)
    assert settled(rising, 10, 40, 1.0)
    assert not settled(still[:49], 10, 40, 1.0)
    late = np.append(still, np.full(5, 0.9))  # what happens last counts
    assert not settled(late, 10, 40, 0.1)
