"""What a stranger meets first: what results print, how they round, what several releases promise together."""

import json
from decimal import Decimal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import quiltwork as qw
from quiltwork import audit, game
from quiltwork.errors import InvalidParameter, Unsupported
from quiltwork.game.learned import Certified, InLoop, Trained, finished
from quiltwork.game.measures import Interval

PEOPLE = game.populations.independent(12, 20, 10, seed=3)
CLOSED = [game.LinearGaussian(), game.FixedThreshold(), game.OptimalTest()]


def plain(defender, **options):
    return game.SummaryStatistics(defender.prepare(PEOPLE, **options))


@given(st.floats(0, 1), st.floats(0, 1))
def test_printed_intervals_are_never_narrower(one, two):
    low, high = min(one, two), max(one, two)
    printed = Interval(low, low, high, 0.95).span.split(" to ")
    assert Decimal(printed[0]) <= Decimal(low) <= Decimal(high) <= Decimal(printed[1])
    assert Decimal(low) - Decimal(printed[0]) < Decimal("0.001")


def test_an_interval_that_is_not_certain_does_not_look_so():
    assert str(Interval(0.9999, 0.99960, 0.99999, 0.95)) == "1.000, 95% interval 0.999 to 1.000"
    assert str(Interval(0.5, 0.4, 0.6, 0.999)) == "0.500, 99.9% interval 0.400 to 0.600"


def test_a_board_prints_its_table_and_who_did_not_apply():
    board = game.ladder(CLOSED, game.Exact(), PEOPLE, test=20, validation=20)
    heads, *lines = str(board).splitlines()
    assert heads.split()[:3] == ["attacker", "knows", "AUC"]
    assert [line.split("  ")[0] for line in lines[:2]] == [entry.name for entry in board.entries]
    for text in (str(board), board._repr_html_()):
        assert "informed optimal test did not run: without noise" in text
        assert "T1 knows" in text
        assert "T3 knows" not in text
        assert "95% interval" in text


def test_people_are_not_in_what_is_printed_or_complained_about():
    rows = np.tile([0.123456, 1.0], (6, 1))
    people = game.Population(rows, rows, attributes=("secret one", "secret two"))
    for text in (repr(people), str(people), repr(game.Statistic(people)), repr(game.Gaussian(0.1).prepare(people))):
        assert "0.123456" not in text
    with pytest.raises(InvalidParameter) as caught:
        game.CorrelatedGaussian(people, [0.1])
    assert "0.123456" not in str(caught.value)


@pytest.mark.parametrize("rows", ["any", "pool"])
def test_several_gaussian_releases_add_their_squares(rows):
    """mu^2 adds: three releases at 0.1 are one at 0.1 / sqrt(3)."""
    three = game.Several([plain(game.Gaussian(0.1))] * 3).certificate(rows)
    one = plain(game.Gaussian(0.1 / np.sqrt(3))).certificate(rows)
    together, alone = three.epsilon(1e-5), one.epsilon(1e-5)
    assert float(together.upper) == pytest.approx(float(alone.upper), rel=1e-9)
    assert three.protects == one.protects
    uncorrelated = game.CorrelatedGaussian(game.Statistic(PEOPLE), [0.1] * 3).certificate(rows)
    assert float(uncorrelated.epsilon(1e-5).upper) == pytest.approx(float(together.upper), rel=1e-9)


def test_several_laplace_releases_add_in_the_worst_case():
    one = plain(game.Laplace(0.2)).certificate().epsilon(0.0)
    both = game.Several([plain(game.Laplace(0.2)), plain(game.Laplace(0.4))]).certificate().epsilon(0.0)
    assert float(both.upper) == pytest.approx(1.5 * float(one.upper), rel=1e-6)
    assert float(both.upper) >= 1.5 * float(one.lower)


def test_several_releases_promise_nothing_when_one_does_not():
    with pytest.raises(Unsupported, match="protects nobody"):
        game.Several([plain(game.Gaussian(0.1)), plain(game.Exact())]).certificate()
    with pytest.raises(Unsupported, match="any rows"):
        game.Several([plain(game.Gaussian(0.1)), plain(game.RateDistortion(0.03))]).certificate("any")
    statistic = game.Statistic(PEOPLE)
    finish = Certified(statistic, finished(2.0, 1e-5, statistic.mean, 0.5))
    with pytest.raises(Unsupported, match="different changes of the data"):
        game.Several([plain(game.Gaussian(0.1)), game.SummaryStatistics(finish)]).certificate()


def test_a_release_promises_what_its_defence_does():
    for rows in ("any", "pool", None):
        defence = game.Gaussian(0.1).prepare(PEOPLE)
        assert game.SummaryStatistics(defence).certificate(rows) == defence.certificate(rows)


def test_a_finish_is_for_this_pool():
    statistic = game.Statistic(PEOPLE)
    defence = Certified(statistic, finished(2.0, 1e-5, statistic.mean, 0.5))
    assert game.SummaryStatistics(defence).certificate("pool") == defence.certificate()
    with pytest.raises(Unsupported, match="any rows"):
        defence.certificate("any")


def test_publishing_takes_what_training_returns():
    """The gate often puts a closed form in force: that one can be published as it is."""
    members = np.arange(12) < 6
    trained = Trained(game.Constant().prepare(PEOPLE), 0.0)
    released = game.publish(trained, members)
    assert released.shares == tuple(PEOPLE.candidates.mean(axis=0))
    kept = json.loads(json.dumps(released.to_json(), allow_nan=False))
    assert kept["shares"] == list(released.shares)
    assert kept["guarantee"]["protects"] == released.guarantee.protects
    statistic = game.Statistic(PEOPLE)
    with pytest.raises(Unsupported, match="closed-form defences"):
        game.publish(Certified(statistic, finished(2.0, 1e-5, statistic.mean, 0.5)), members)


def test_weighted_defences_say_so():
    for kind in (game.Gaussian, game.Laplace, game.RateDistortion, game.WaterFilling, game.Generative):
        size = () if kind is game.Generative else (0.1,)
        assert "weighted" in kind(*size, weights=[1.0] * 10).name
        assert "weighted" not in kind(*size).name


def test_trials_of_several_releases_are_refused_with_the_reason():
    both = game.Several([plain(game.Gaussian(0.1))] * 2)
    with pytest.raises(Unsupported, match="noise of their own, or with correlated noise"):
        game.trials(both, 100, np.random.default_rng(0))


def test_audits_print_what_they_explain(tmp_path):
    rng = np.random.default_rng(0)
    report = audit.report(qw.gdp(1.0), rng.normal(1, 1, 400), rng.normal(0, 1, 400), delta=1e-5)
    assert str(report) == report.explain()
    assert str(report.audit) == report.audit.explain()
    report.plot(tmp_path / "audit.svg")
    assert (tmp_path / "audit.svg").read_text().startswith("<?xml")


def test_an_audit_that_assumes_gaussian_noise_still_says_what_holds_without():
    """Its corner refutes an epsilon by itself: the printed range starts there, not at 0 and not at the GDP one."""
    rng = np.random.default_rng(1)
    report = audit.report(qw.gdp(3.0), rng.normal(2, 1, 2000), rng.normal(0, 1, 2000), delta=1e-5, method="gdp")
    alone = report.audit.limits.epsilon(1e-5)
    assert 0 < alone < report.audit.epsilon_lower
    line = next(line for line in report.explain().splitlines() if line.startswith("If the guarantee holds"))
    printed = float(line.split("between ")[1].split()[0])
    assert alone - 0.01 <= printed <= alone


def test_what_training_returns_never_shows_its_loop_as_protection():
    trained = Trained(game.Gaussian(0.1).prepare(PEOPLE), 0.08, in_loop=InLoop("linear", 0.512))
    kept = json.loads(json.dumps(trained.to_json(), allow_nan=False))
    assert kept["in_loop"] == {"auc": 0.512, "note": "in-loop attacker: not a measure of protection"}
    for text in (str(trained), trained._repr_html_()):
        (line,) = [line for line in text.replace("</p>", "\n").splitlines() if "0.512" in line]
        assert "not a measure of protection" in line
