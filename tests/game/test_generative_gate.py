"""The gate: learned defences that lose give way to a closed form, and one that is truly better is kept."""

import attrs
import numpy as np
import pytest
from tests.game.generative_cases import ATTACKERS, BUDGET, outputs, people, small

from quiltwork.errors import InvalidParameter, NotCertified
from quiltwork.game import Gaussian, Population, RateDistortion, Statistic, SummaryStatistics
from quiltwork.game.learned import Generative, accept, train
from quiltwork.game.learned.defence import Trained, error_of

PEOPLE = people()


@attrs.frozen(eq=False)
class Stub:
    """A made-up mechanism."""

    statistic: Statistic
    make: object
    name: str = "stub"
    channel: None = None

    def defend(self, exact, members, rng):
        return self.make(exact, rng)

    def certificate(self):
        raise NotCertified("a stub", "it is made up")


def judged(defence, **options):
    return accept(defence, attackers=ATTACKERS, budget=BUDGET, **{"test": 200, **options})


def pair():
    """Two candidates, one of them in the data, one attribute that tells which: the statistic is a coin."""
    return Population([[1.0], [0.0]], [[1.0], [0.0], [1.0]])


def test_flipping_a_coin_beats_gaussian_noise_on_it():
    """Randomised response errs by its flip rate, and its attacker has AUC 1 - rate: 0.75, where rate-distortion at the
    same error separates two normal laws by 0.607 / 0.244 = 2.5 standard deviations: AUC 0.96.
    """
    flips = Stub(Statistic(pair()), lambda exact, rng: np.abs(exact - (rng.random(exact.shape) < 0.25)))
    verdict = judged(flips)
    assert verdict.accepted
    assert verdict.defence is flips
    assert verdict.learned.auc.estimate == pytest.approx(0.75, abs=0.1)  # 3 standard errors of 200 coins
    assert verdict.learned.auc.upper < verdict.closed_form.auc.lower
    assert verdict.closed_form.error <= verdict.learned.error
    assert "the learned defence is used" in str(verdict)


def test_telling_all_but_seldom_does_not_pass():
    """One release in twelve is exact: the AUC is small, but nearly a twelfth of the members are found for sure."""

    def seldom(exact, rng):
        told = rng.random((len(exact), 1)) < 1 / 12
        return np.where(told, exact, statistic.mean)

    statistic = Statistic(PEOPLE)
    verdict = judged(Stub(statistic, seldom), test=400)
    assert verdict.learned.auc.upper < verdict.closed_form.auc.lower  # by this alone it would have passed
    assert verdict.learned.found.estimate > verdict.closed_form.found.upper
    assert not verdict.accepted


def test_more_error_than_a_constant_loses_to_the_constant():
    verdict = judged(Gaussian(0.4).prepare(PEOPLE))
    assert not verdict.accepted
    assert "constant" in verdict.defence.name
    assert verdict.closed_form.error < verdict.learned.error
    assert np.ptp(outputs(verdict.defence), axis=0).max() == 0.0
    assert "the closed form is used instead" in str(verdict)


def test_the_closed_form_does_not_lose_to_itself_or_to_plain_noise():
    statistic = Statistic(PEOPLE)
    for defence in (RateDistortion(0.04).prepare(statistic), Gaussian.at_error(0.04).prepare(statistic)):
        verdict = judged(defence)
        assert not verdict.accepted
        assert verdict.defence.name.startswith("rate-distortion")
        assert verdict.closed_form.error <= verdict.learned.error


def test_weights_count_in_the_comparison():
    """Errors in the first half cost nothing: exact shares in the other half alone have no priced error at all."""
    statistic = Statistic(PEOPLE)
    price = np.repeat([0.0, 1.0], 8)
    half = Stub(statistic, lambda exact, rng: np.where(price > 0, statistic.mean, exact))
    verdict = judged(half, weights=price)
    assert verdict.learned.error == pytest.approx(verdict.closed_form.error)
    assert verdict.defence.name.startswith("constant")


@pytest.mark.parametrize(
    "options", [{"architecture": "paper", "kappa": 0.0, "learning_rate": 0.02}, {"kappa": 50.0, "initial_noise": -5.0}]
)
def test_training_ends_at_the_gate(options):
    pytest.importorskip("torch")
    trained = train(small(**options), None, PEOPLE, attackers=ATTACKERS, budget=BUDGET, progress=False)
    assert isinstance(trained, Trained)
    assert not trained.verdict.accepted
    assert trained.defence is trained.verdict.defence is not trained.learned
    assert trained.name.startswith("constant" if options["kappa"] == 0 else "rate-distortion")
    assert trained.certificate().epsilon(1e-5).safe >= 0.0  # the closed form's own
    assert trained.error == pytest.approx(trained.verdict.closed_form.error, rel=0.05)
    with pytest.raises(NotCertified, match="learned"):
        trained.learned.certificate()
    for words in ("in the loop: AUC", "not a measure of protection", "closed form is used instead"):
        assert words in str(trained)
    assert judged(trained, population=PEOPLE).defence.name == trained.name  # what is judged is the network


def test_without_the_gate_the_network_is_in_force_and_proves_nothing():
    pytest.importorskip("torch")
    trained = train(small(steps=3), None, PEOPLE, gate=False)
    assert trained.verdict is None
    assert trained.defence is trained.learned
    assert trained.release().linear() is None
    with pytest.raises(NotCertified):
        trained.certificate()
    with pytest.raises(NotCertified):
        trained.release().certificate()


def test_a_defender_prepares_itself_as_others_do(monkeypatch):
    pytest.importorskip("torch")
    monkeypatch.setattr("quiltwork.game.learned.defence.gate_attackers", lambda: ATTACKERS)
    prepared = Generative(hidden=(8, 8), steps=3, kappa=100.0, initial_noise=-6.0).prepare(PEOPLE)
    assert isinstance(prepared, Trained)
    assert prepared.verdict is not None


def test_errors_are_those_of_the_release():
    release = SummaryStatistics(Gaussian.at_error(0.01).prepare(PEOPLE))
    assert error_of(release, np.random.default_rng(0)) == pytest.approx(0.01, rel=0.05)
    weights = np.repeat([0.0, 2.0], 8)
    assert error_of(release, np.random.default_rng(0), weights) == pytest.approx(0.01, rel=0.07)


def test_bad_arguments_are_refused():
    defence = Gaussian(0.4).prepare(PEOPLE)
    for options in ({"population": people(1)}, {"attackers": ()}, {"seed": -1}, {"test": 1}, {"attackers": ["ridge"]}):
        with pytest.raises(InvalidParameter):
            accept(defence, **{"attackers": ATTACKERS, "budget": BUDGET} | options)
    with pytest.raises(InvalidParameter, match="candidate"):
        accept(Gaussian(0.1))
