"""The digits game as a whole: disjoint parts, a public classifier, a ladder, and the example."""

import importlib
import sys

import numpy as np
import pytest
from tests.needs import needs

from quiltwork.errors import InvalidParameter, MissingExtra
from quiltwork.game.attackers.features import SupportVector
from quiltwork.game.attackers.knowledge import Budget
from quiltwork.game.attackers.linear import Ridge
from quiltwork.game.classifier import (
    QueryRows,
    RowAssignment,
    RowMatching,
    digits_game,
    row_attackers,
    train_classifier,
)
from quiltwork.game.defenders.noise import Gaussian, Laplace
from quiltwork.game.ladder import ladder
from quiltwork.game.people.population import Independent
from quiltwork.game.people.sources.digits import digit_images

pytestmark = needs("sklearn")


@pytest.fixture(scope="module")
def game():
    return digits_game(candidates=24, noise=Gaussian(0.2), train=400, reference=100)


def test_candidates_reference_and_training_share_no_image(game, monkeypatch):
    """Count the images by what they show: each is in one part only."""
    seen = []
    module = importlib.import_module("quiltwork.game.classifier.digits")

    def watched(images, labels, kind, *, seed):
        seen.append(images)
        return game.classifier

    monkeypatch.setattr(module, "train_classifier", watched)
    monkeypatch.setattr(
        module, "digit_images", lambda kind: (np.arange(64 * 60).reshape(60, 64) / 4000, np.arange(60) % 10)
    )
    small = digits_game(candidates=20, train=30)
    assert seen[0].shape == (30, 64)
    inside = {row.tobytes() for row in small.images}
    assert len(inside) == 20
    assert not inside & {row.tobytes() for row in seen[0]}
    assert len(small.population.reference) == 10


def test_the_game_is_reproducible_and_states_its_rows(game):
    again = digits_game(candidates=24, noise=Gaussian(0.2), train=400, reference=100)
    assert np.array_equal(game.population.candidates, again.population.candidates)
    other = digits_game(candidates=24, noise=Gaussian(0.2), train=400, reference=100, seed=1)
    assert not np.array_equal(game.population.candidates, other.population.candidates)
    assert game.accuracy > 0.85
    rows = game.population.candidates
    assert rows.sum(axis=1) == pytest.approx(np.ones(24), abs=1e-12)
    assert game.classifier.probabilities(game.images) == pytest.approx(rows, abs=1e-12)
    assert np.mean(rows.argmax(axis=1) == game.labels) > 0.8
    assert game.population.attributes[3] == "P(digit 3)"
    assert game.with_noise(Laplace(0.1)).population is game.population
    assert game.shares().binary
    varied = digits_game(candidates=10, train=400, prior=Independent(0.3)).release
    assert varied.slots == 10


def test_a_small_network_classifies():
    images, labels = digit_images("digits")
    model = train_classifier(images[:300], labels[:300], "network", seed=3)
    assert model.accuracy(images[300:500], labels[300:500]) > 0.75
    assert model.probabilities(images[:5]).sum(axis=1) == pytest.approx(np.ones(5), abs=1e-12)


def test_the_list_of_attackers():
    quick, whole = row_attackers(quick=True), row_attackers()
    names = [attacker.name for attacker in whole]
    assert len(set(names)) == len(names) == 11
    assert set(quick) <= set(whole)


def test_a_ladder_against_the_table(game):
    """More noise leaves less, the closed form that assigns rows wins, and all stay below the certified ceiling."""
    attackers = [RowAssignment(), RowMatching(), Ridge(), SupportVector(examples=300)]
    effort = Budget(train=200, calibrate=40)
    boards = [
        ladder(attackers, game.with_noise(Gaussian(sd)), test=80, validation=80, budget=effort) for sd in (0.1, 0.5)
    ]
    for board in boards:
        assert not board.absent
        assert board.best.name in ("row assignment", "row matching")
        assert board["support vectors"].auc.estimate > 0.52
    assert boards[0].best.auc.lower > boards[1].best.auc.upper
    ceiling = QueryRows(game.population, Gaussian(0.5)).auc_ceiling("pool")
    assert all(entry.auc.lower < ceiling for entry in boards[1].entries)


def test_bad_input_is_refused(game):
    images, labels = np.zeros((4, 2)), np.array([0, 1, 0, 1])
    for bad in ("forest", None):
        with pytest.raises(InvalidParameter, match="kind"):
            train_classifier(images, labels, bad)
    for bad in (np.zeros(3), np.full((4, 2), 2.0), np.full((4, 2), np.nan), [], "images"):
        with pytest.raises(InvalidParameter, match="images"):
            train_classifier(bad, labels)
    for bad in (labels[:2], labels.astype(float), np.zeros(4, dtype=int), ["a"] * 4):
        with pytest.raises(InvalidParameter, match="labels"):
            train_classifier(images, bad)
    with pytest.raises(InvalidParameter, match="64 columns"):
        game.classifier.probabilities(np.zeros((1, 3)))
    for name, bad in (("candidates", 1), ("train", 1), ("reference", 0), ("seed", -1), ("train", True)):
        with pytest.raises(InvalidParameter, match=name):
            digits_game(**{name: bad})
    with pytest.raises(InvalidParameter, match="at most 1797 in all"):
        digits_game(candidates=900, train=1000)
    with pytest.raises(InvalidParameter, match="kind"):
        digits_game("letters")
    with pytest.raises(InvalidParameter, match="noise"):
        digits_game(candidates=4, train=100, noise=0.1)
    with pytest.raises(InvalidParameter, match="quick"):
        row_attackers(quick=1)


def test_without_scikit_learn_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "sklearn.linear_model", None)
    with pytest.raises(MissingExtra, match=r"quiltwork\[game\]"):
        train_classifier(np.zeros((4, 2)), np.array([0, 1, 0, 1]))


def test_the_example_tells_attacks_and_proofs(capsys):
    told = importlib.import_module("examples.game_digits").main(["--quick", "--noise", "0.2"])
    assert capsys.readouterr().out.splitlines() == told
    areas = {line[2:30].strip(): float(line.split("AUC ")[1].split()[0]) for line in told if "of members" in line}
    assert areas["row assignment"] > areas["decision tree"] > areas["support vectors"] > 0.55  # as in Figure 1h
    assert sum("proven" in line for line in told) == 2
