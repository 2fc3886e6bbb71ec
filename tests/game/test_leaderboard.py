"""What a leaderboard says, writes and draws."""

from __future__ import annotations

import json

import numpy as np
import pytest
from tests.game.core_cases import people

from quiltwork.errors import InvalidParameter
from quiltwork.game import FixedThreshold, Gaussian, Knowledge, LinearGaussian, OptimalTest, ladder
from quiltwork.game.leaderboard import Entry, Leaderboard
from quiltwork.game.measures import Interval, roc


@pytest.fixture(scope="module")
def board():
    return ladder(
        [FixedThreshold(), LinearGaussian(), OptimalTest()],
        Gaussian(0.1),
        people(6, 10),
        validation=20,
        test=30,
        shown=False,
    )


def entry(name="a <b>", knows=Knowledge.T1, validation=0.7, individual=float("nan")):
    found = Interval(0.625, 0.5, 0.75, 0.9)
    return Entry(name, knows, validation, found, individual, {0.1: found}, roc([1.0, 0.0], [1, 0]), 1.23456)


def made(*entries, release="x"):
    return Leaderboard(release, "six people", 0.0125, 30, 6, entries, {"svm": "not installed"}, 7)


def test_words_have_the_figures_and_their_limits(board):
    words = board.explain()
    best = board.best
    assert best.name in words
    assert f"AUC {best.auc.estimate:.3f}" in words
    assert f"{best.auc.lower:.3f} to {best.auc.upper:.3f}" in words
    assert best.knows.sentence in words
    assert "Only a certificate is a promise" in words
    assert f"{board.informed.auc.estimate:.3f}" in words


def test_the_informed_attacker_is_not_the_best_one(board):
    assert board.informed.knows is Knowledge.T3
    assert board.best.knows is not Knowledge.T3
    assert [e.validation for e in board.entries] == sorted((e.validation for e in board.entries), reverse=True)


def test_json_is_plain_and_complete(board):
    plain = json.loads(json.dumps(board.to_json(), allow_nan=False))
    assert plain["schema"] == "quiltwork/leaderboard/1"
    assert plain["best"] == board.best.name
    assert {row["attacker"] for row in plain["attackers"]} == {e.name for e in board.entries}
    assert plain["attackers"][0]["found_at"]["0.01"]["estimate"] == board.entries[0].found_at[0.01].estimate
    assert plain["confidence"] == 0.95


def test_a_person_who_never_changed_sides_has_no_area():
    plain = made(entry()).to_json()
    assert plain["attackers"][0]["individual_auc"] is None
    assert plain["absent"] == {"svm": "not installed"}
    assert plain["seed"] == 7
    json.dumps(plain, allow_nan=False)


def test_names_are_found_and_escaped():
    one = made(entry(), entry("other", Knowledge.T3))
    assert one["other"].knows is Knowledge.T3
    with pytest.raises(InvalidParameter):
        one["nobody"]
    page = one._repr_html_()
    assert "<b>" not in page
    assert "a &lt;b&gt;" in page


def test_rates_and_shares_in_words_are_percentages():
    words = made(entry()).explain()
    assert "With 10% false alarms it finds 62.5% of the members." in words
    assert "90% interval 0.500 to 0.750" in words
    assert "off by 0.0125 on average" in words


def test_figures_are_drawn_and_repeat(board, tmp_path):
    pytest.importorskip("matplotlib")
    path = board.plot(tmp_path / "roc.svg")
    text = path.read_text()
    assert board.best.name in text
    assert board.plot(path=tmp_path / "again.svg").read_text() == text
    with pytest.raises(InvalidParameter):
        board.plot(tmp_path / "roc.jpeg")
    assert len(board.plot().axes) == 2


def test_curves_in_the_figure_are_the_curves(board):
    pytest.importorskip("matplotlib")
    left = board.plot().axes[0]
    shown = {line.get_label().split(" (")[0]: line for line in left.get_lines()}
    for one in board.entries:
        line = shown[one.name]
        assert np.allclose(line.get_ydata(), one.roc.at(line.get_xdata()))
