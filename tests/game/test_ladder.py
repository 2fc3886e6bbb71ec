"""The ladder: who is shown what, what selects, what is measured, and what is refused."""

from __future__ import annotations

import attrs
import numpy as np
import pytest
from tests.game.core_cases import people

from quiltwork.errors import InvalidParameter, MissingExtra, Unsupported
from quiltwork.game import (
    Budget,
    Calibrated,
    Constant,
    Exact,
    FixedThreshold,
    Gaussian,
    Independent,
    Knowledge,
    LinearGaussian,
    OptimalTest,
    Population,
    Score,
    Several,
    SummaryStatistics,
    default_attackers,
    ladder,
)
from quiltwork.game.ladder import as_release

PEOPLE = people(8, 12, seed=4)
FEW = {"validation": 20, "test": 40, "shown": False}


@attrs.define(eq=False)
class Watched:
    """An attacker that remembers what it is shown, and scores by a function of the outputs and of the call."""

    name: str = "watched"
    knows: Knowledge = Knowledge.T1
    rule: object = None
    seen: list = attrs.Factory(list)

    def fit(self, release, rng, budget):
        self.seen.append(("fit", release, rng.random(3).tolist(), budget))
        return self

    def scores(self, outputs, members=None):
        call = sum(kind == "scores" for kind, *_ in self.seen)
        self.seen.append(("scores", outputs, members))
        return np.zeros((len(outputs), 8)) if self.rule is None else self.rule(outputs, members, call)


def identity_release():
    """Everybody has an attribute of their own, and nothing is defended: the outputs give the members away."""
    return SummaryStatistics(Exact().prepare(Population(np.eye(8), np.eye(8))))


def test_only_informed_attackers_are_shown_members_and_nobody_sees_test_data_in_training():
    blind, informed = Watched(), Watched("informed", Knowledge.T3)
    board = ladder([blind, informed], Gaussian(0.1), PEOPLE, **FEW)
    for attacker in (blind, informed):
        kinds = [kind for kind, *_ in attacker.seen]
        assert kinds == ["fit", "scores", "scores"]
        assert [len(outputs) for _, outputs, _ in attacker.seen[1:]] == [20, 40]
    assert all(members is None for _, _, members in blind.seen[1:])
    assert all(members is not None for _, _, members in informed.seen[1:])
    assert blind.seen[0][2] != informed.seen[0][2]  # each has random numbers of its own
    validation, test = blind.seen[1][1], blind.seen[2][1]
    assert not set(map(tuple, validation.tolist())) & set(map(tuple, test.tolist()))
    assert board["watched"].auc.estimate == 0.5
    assert board.test_releases == 40


def test_training_draws_are_not_the_ones_that_are_measured():
    release = SummaryStatistics(Gaussian(0.1).prepare(PEOPLE), clip=False)

    class Training(Watched):
        def fit(self, release, rng, budget):
            self.trained = release.draw(60, rng)
            return self

    attacker = Training()
    ladder([attacker], release, **FEW)
    shown = np.concatenate([outputs for kind, outputs, _ in attacker.seen]).ravel()
    assert not set(attacker.trained.outputs.ravel().tolist()) & set(shown.tolist())


def test_validation_selects_and_test_measures():
    """Good in validation and useless in the test against the reverse: the first is selected, its test figure shown."""
    lucky = Watched("lucky", rule=lambda x, b, call: x if call == 0 else np.zeros((len(x), 8)))
    solid = Watched("solid", rule=lambda x, b, call: np.zeros((len(x), 8)) if call == 0 else x)
    board = ladder([solid, lucky], identity_release(), **FEW)
    assert board.best.name == "lucky"
    assert board.best.validation == 1.0
    assert board.best.auc.estimate == 0.5
    assert board["solid"].auc.estimate == 1.0
    assert [entry.name for entry in board.entries] == ["lucky", "solid"]


def test_informed_attackers_are_another_game():
    told = Watched("told", Knowledge.T3, rule=lambda x, b, call: b.astype(float))
    board = ladder([told, Watched()], Gaussian(0.3), PEOPLE, **FEW)
    assert board.best.name == "watched"
    assert board.informed.name == "told"
    assert ladder([told], Gaussian(0.3), PEOPLE, **FEW).best.name == "told"
    assert ladder([Watched()], Gaussian(0.3), PEOPLE, **FEW).informed is None


def test_an_attacker_that_scribbles_on_its_input_harms_nobody():
    def scribble(outputs, members, call):
        outputs[:] = 0.0
        members[:] = True
        return np.zeros((len(outputs), 8))

    alone = ladder([Score()], Gaussian(0.1), PEOPLE, **FEW)
    after = ladder([Watched("vandal", Knowledge.T3, scribble), Score()], Gaussian(0.1), PEOPLE, **FEW)
    assert after["score"].auc == alone["score"].auc
    assert after.error == alone.error


def test_the_same_seed_gives_the_same_board():
    chosen = (FixedThreshold(), Calibrated(), LinearGaussian(), OptimalTest())
    one, two, other = (ladder(chosen, Gaussian(0.2), PEOPLE, seed=seed, **FEW) for seed in (5, 5, 6))
    assert [e.auc for e in one.entries] == [e.auc for e in two.entries]
    assert [e.found_at for e in one.entries] == [e.found_at for e in two.entries]
    assert one.error == two.error != other.error
    assert one.seed == 5


def test_a_constant_release_is_guessed_at():
    closed = [a for a in default_attackers(quick=True) if a.name != "ridge"]
    board = ladder(closed, Constant(), PEOPLE, validation=50, test=200, shown=False, confidence=0.9999)
    assert len(board.entries) == 6
    for entry in board.entries:  # false alarm at most 6e-4 in all
        assert entry.auc.lower <= 0.5 <= entry.auc.upper
    assert board.informed.auc.estimate == 0.5


def test_knowing_more_helps_and_no_defence_is_none():
    board = ladder((FixedThreshold(), LinearGaussian(), OptimalTest()), Gaussian(0.15), people(10, 60, seed=1), **FEW)
    assert board["informed optimal test"].auc.estimate > board["linear-Gaussian"].auc.estimate > 0.6
    assert ladder([LinearGaussian()], Exact(), people(8, 12, seed=4), **FEW).best.auc.estimate == 1.0


def test_attackers_that_do_not_apply_are_listed_with_the_reason():
    class Heavy(Watched):
        def fit(self, release, rng, budget):
            raise MissingExtra("torch", "game")

    board = ladder([Heavy("heavy"), OptimalTest(), Score()], Exact(), PEOPLE, **FEW)
    assert [entry.name for entry in board.entries] == ["score"]
    assert "quiltwork[game]" in board.absent["heavy"]
    assert "without noise" in board.absent["informed optimal test"]
    with pytest.raises(Unsupported):
        ladder([OptimalTest()], Exact(), PEOPLE, **FEW)


def test_rare_members_still_have_a_board():
    rare = Population(PEOPLE.candidates, PEOPLE.reference, Independent(0.02))
    board = ladder([Calibrated(), LinearGaussian()], Gaussian(0.2), rare, budget=Budget(calibrate=3), **FEW)
    assert all(0.0 <= entry.auc.estimate <= 1.0 for entry in board.entries)


def test_releases_defences_and_defenders_are_all_understood():
    defence = Gaussian(0.1).prepare(PEOPLE)
    release = SummaryStatistics(defence)
    assert as_release(release) is release
    assert as_release(defence).defence is defence
    assert as_release(Gaussian(0.1), PEOPLE).population is PEOPLE
    assert as_release(Several([release, release]), PEOPLE).dimension == 24


def test_bad_input_is_refused_before_anything_is_trained():
    watched = Watched()
    other = people(8, 12, seed=9)
    alone = Population(np.eye(1), np.eye(1), Independent(1e-9))  # nobody is ever a member
    for call in (
        lambda: ladder([], Gaussian(0.1), PEOPLE),
        lambda: ladder(watched, Gaussian(0.1), PEOPLE),
        lambda: ladder([watched, 3], Gaussian(0.1), PEOPLE),
        lambda: ladder([watched, LinearGaussian], Gaussian(0.1), PEOPLE),
        lambda: ladder([watched, Watched()], Gaussian(0.1), PEOPLE),
        lambda: ladder([watched], Gaussian(0.1)),
        lambda: ladder([watched], 3, PEOPLE),
        lambda: ladder([watched], None, PEOPLE),
        lambda: ladder([watched], Gaussian(0.1).prepare(PEOPLE), other),
        lambda: ladder([watched], Gaussian(0.1), PEOPLE, validation=1),
        lambda: ladder([watched], Gaussian(0.1), PEOPLE, test=1),
        lambda: ladder([watched], Gaussian(0.1), PEOPLE, test=10.0),
        lambda: ladder([watched], Gaussian(0.1), PEOPLE, seed=-1),
        lambda: ladder([watched], Gaussian(0.1), PEOPLE, confidence=1.0),
        lambda: ladder([watched], Gaussian(0.1), PEOPLE, confidence=95),
        lambda: ladder([watched], Gaussian(0.1), PEOPLE, budget=4000),
        lambda: ladder([watched], Gaussian(0.1), alone),
    ):
        with pytest.raises(InvalidParameter):
            call()
    assert watched.seen == []


@pytest.mark.parametrize(
    "rule",
    [
        lambda x, b, call: np.zeros((len(x), 7)),
        lambda x, b, call: np.zeros(len(x)),
        lambda x, b, call: np.full((len(x), 8), np.nan),
    ],
)
def test_scores_that_are_none_are_refused(rule):
    with pytest.raises(InvalidParameter, match="the scores of watched"):
        ladder([Watched(rule=rule)], Gaussian(0.1), PEOPLE, **FEW)


def test_infinite_scores_are_scores():
    board = ladder([Watched(rule=lambda x, b, call: np.where(x > 0, np.inf, -np.inf))], identity_release(), **FEW)
    assert board.best.auc.estimate == 1.0


def test_the_default_attackers_have_names_of_their_own():
    names = [attacker.name for attacker in default_attackers()]
    assert len(set(names)) == len(names) == 14
    assert len(default_attackers(quick=True)) == 7
