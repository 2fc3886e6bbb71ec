"""A designed channel on a column: exact draws, one payment, words, and what is refused."""

import math
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
import yaml

import quiltwork as qw
from quiltwork import confounding as cf
from quiltwork.cli import main
from quiltwork.errors import InvalidParameter, Unsupported
from quiltwork.mechanisms.certified_table import draw_many
from quiltwork.release import release_channel

WORLD = cf.World(secret=[0.5, 0.5], data=[[0.6, 0.3, 0.1], [0.1, 0.3, 0.6]], values=[1, 2, 4])


def designed(**asked):
    return WORLD.design(WORLD.release(), epsilon=0.5, delta=0.0, **asked)


def test_draws_have_the_chances_of_the_table():
    """20,000 draws of each row; every count within 6 standard errors, and outputs without a chance never come."""
    design = designed()
    for row in design.counts:
        drawn, chances = draw_many(row, design.bits, 20_000), row / 2**design.bits
        assert sum(drawn) == 20_000
        for count, chance in zip(drawn, chances, strict=True):
            assert abs(count - 20_000 * chance) <= 6 * np.sqrt(20_000 * chance * (1 - chance))


def test_many_draws_are_taken_in_parts(monkeypatch):
    monkeypatch.setattr("quiltwork.mechanisms.certified_table.AT_ONCE", 7)
    assert sum(draw_many([3, 1], 2, 100)) == 100
    assert draw_many([0, 4], 2, 50) == [0, 50]
    assert draw_many([1, 3], 2, 0) == [0, 0]


def test_every_record_gets_one_output_of_its_own_row(monkeypatch):
    seen = []
    monkeypatch.setattr(
        "quiltwork.release.channel.draw_many", lambda row, bits, n: seen.append((list(row), n)) or [n, 0, 0]
    )
    design = designed()
    found = release_channel(design, {"score": [1, 1.0, "2", 4, 3, None, "x", 4, float("nan")]}, column="score")
    assert seen == [(list(row), n) for row, n in zip(design.counts, (2, 1, 2), strict=True)]
    assert [row["value"] for row in found.rows] == [5, 0, 0]
    assert float(found.guarantee.epsilon(0.0).upper) <= 0.5 * (1 + 1e-9)
    assert "different persons" in found.explain()
    assert qw.loads(qw.dumps(found)).rows == found.rows


@pytest.mark.parametrize("delta", [0.0, 0.01])
def test_a_learned_channel_is_published_once_it_meets_the_target(delta):
    """The penalty method ends outside its target; what is drawn from does not, and costs nearly as little."""
    learned = WORLD.penalised(epsilon=0.5, delta=0.01, steps=300)
    assert learned.excess > 0
    made = WORLD.certified(learned.channel, epsilon=0.5, delta=delta)
    assert made.delta.upper <= delta
    assert float(made.after.exact_delta(Fraction(math.exp(0.5)))) <= delta + 1e-15
    assert WORLD.design(epsilon=0.5, delta=delta).lower_bound <= made.cost <= 2.0
    assert qw.loads(qw.dumps(made)).counts.tolist() == made.counts.tolist()
    found = release_channel(made, {"score": [1, 2, 4, 4]}, column="score")
    assert sum(row["value"] for row in found.rows) == 4
    assert found.guarantee.delta(0.5).upper <= delta


def test_a_channel_that_holds_is_taken_as_it_is_and_others_are_refused():
    quiet = [[0.25, 0.5, 0.25], [0.25, 0.5, 0.25], [0.3125, 0.5, 0.1875]]
    assert WORLD.certified(quiet, epsilon=0.5).channel.tolist() == quiet
    for wrong in (
        [[0.5, 0.5]] * 3,
        quiet[:2],
        [[0.5, 0.6, 0.1]] * 3,
        [[-0.5, 1.0, 0.5]] * 3,
        [[math.nan, 0.5, 0.5]] * 3,
    ):
        with pytest.raises(InvalidParameter, match="channel"):
            WORLD.certified(wrong, epsilon=0.5)
    with pytest.raises(InvalidParameter, match="options"):
        WORLD.certified(quiet, epsilon=0.5, gap=0.1)


def test_what_the_channel_does_not_read_is_refused():
    with pytest.raises(Unsupported, match="reads"):
        release_channel(designed(reads="secret"), {"score": [1]}, column="score")
    with pytest.raises(InvalidParameter, match="score"):
        release_channel(designed(), {"other": [1]}, column="score")


def test_the_command_designs_and_publishes(tmp_path, capsys):
    (tmp_path / "scores.csv").write_text("score\n" + "\n".join("0123456789"))
    line = ["release", "examples/worlds/medical.yaml", str(tmp_path / "scores.csv")]
    assert main([*line, "--column", "score", "--out", str(tmp_path / "drawn.csv")]) == 0
    assert "outputs of score" in capsys.readouterr().out
    values = [int(text.split(",")[2]) for text in (tmp_path / "drawn.csv").read_text().splitlines()[1:]]
    assert sum(values) == 10
    text = Path(line[1]).read_text()
    (tmp_path / "learned.yaml").write_text(
        text + f"channel: {np.eye(len(yaml.safe_load(text)['data']['values'])).tolist()}\n"
    )
    assert main([line[0], str(tmp_path / "learned.yaml"), line[2], "--column", "score"]) == 0
    assert "outputs of score" in capsys.readouterr().out
    assert main([*line, "--column", "score", "--budget", "b"]) == 2
    assert "world file" in capsys.readouterr().err
    assert main(line) == 2
    assert "column" in capsys.readouterr().err
