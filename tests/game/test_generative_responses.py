"""Responses to one attacker: its rule, what they hide from it, and the certificate of a finish."""

import attrs
import numpy as np
import pytest
from tests.game.generative_cases import outputs, people
from tests.needs import needs

from quiltwork.errors import InvalidParameter, NotCertified, Unsupported
from quiltwork.game import (
    AdaptiveResponse,
    AdaptiveThreshold,
    FixedResponse,
    FixedThreshold,
    Gaussian,
    OptimalResponse,
    Population,
    Score,
    ScoreResponse,
    ladder,
)
from quiltwork.game.attackers.likelihood import adaptive_llr, mean_reference_score, member_llr
from quiltwork.game.learned import Certified, train
from quiltwork.game.learned.training import Game
from quiltwork.game.people.population import Statistic

pytestmark = needs("torch")
PEOPLE = people(3, 12, 40)
KINDS = {FixedResponse: FixedThreshold(), AdaptiveResponse: AdaptiveThreshold(), ScoreResponse: Score()}
SMALL = {"hidden": (24, 24), "attacker_hidden": (24, 16), "batch": 16}


def response(kind, **options):
    return kind(**{**SMALL, "kappa": 0.05, "learning_rate": 1e-2, "steps": 80, **options})


def test_the_rules_are_those_of_the_attackers():
    import torch

    statistic = Statistic(PEOPLE)
    members = PEOPLE.prior.draw(6, 12, np.random.default_rng(3))
    shares = np.clip(statistic.exact(members) + 0.01, 0.0, 1.0)
    given = torch.from_numpy(shares.astype(np.float32))
    fixed, adaptive, score = (
        Game(response(kind).settings(*PEOPLE.size), statistic, 4).attacker.net(given).numpy() for kind in KINDS
    )
    usual = PEOPLE.frequencies
    assert np.ptp(fixed - member_llr(PEOPLE.candidates, shares, usual)) < 1e-3  # one threshold for all
    assert adaptive == pytest.approx(adaptive_llr(PEOPLE.candidates, PEOPLE.reference, shares, usual), abs=1e-3)
    plain = mean_reference_score(PEOPLE.candidates, shares, usual)
    assert np.corrcoef(score.ravel(), plain.ravel())[0, 1] > 1 - 1e-6


def test_the_fixed_threshold_is_passed_by_the_level():
    """One in twenty of those who are not in the data, when nothing is defended."""
    import torch

    statistic = Statistic(PEOPLE)
    for level in (0.05, 0.3):
        rule = Game(response(FixedResponse, level=level).settings(*PEOPLE.size), statistic, 4).attacker.net
        members = PEOPLE.prior.draw(2000, 12, np.random.default_rng(8))
        logits = rule(torch.from_numpy(statistic.exact(members).astype(np.float32))).numpy()
        assert (logits[~members] > 0).mean() == pytest.approx(level, abs=0.03)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_a_response_hides_members_from_its_attacker(kind):
    trained = train(response(kind, kappa=0.05), None, PEOPLE, seed=1, gate=False, progress=False)
    attacker = KINDS[kind]
    plain = ladder([attacker], Gaussian(1e-6), PEOPLE, test=100, shown=False).best.auc
    found = ladder([attacker], trained.release(), test=100, shown=False).best.auc
    assert found.upper < plain.lower
    assert trained.name.startswith(f"response to {kind.against}")
    with pytest.raises(NotCertified):
        trained.certificate()


def test_the_optimal_response_has_an_attacker_that_learns():
    trained = train(response(OptimalResponse, steps=40), None, PEOPLE, gate=False, progress=False)
    losses = trained.history.attacker_loss
    assert losses[-5:].mean() < losses[0]
    assert trained.in_loop.attacker == "optimal"
    free = train(response(OptimalResponse, steps=40, kappa=0.0), None, PEOPLE, gate=False, progress=False)
    assert free.error > trained.error or free.in_loop.auc <= trained.in_loop.auc + 0.1


@pytest.mark.parametrize("kind", [*KINDS, OptimalResponse], ids=lambda kind: kind.__name__)
def test_a_run_goes_on_bit_for_bit(kind, tmp_path):
    whole = train(response(kind, steps=12), None, PEOPLE, gate=False, progress=False)
    place = tmp_path / "state"
    train(response(kind, steps=12), None, PEOPLE, steps=5, gate=False, progress=False, checkpoint=place)
    again = train(response(kind, steps=12), None, PEOPLE, gate=False, progress=False, checkpoint=place, resume=True)
    assert again.history.rows.tobytes() == whole.history.rows.tobytes()
    assert outputs(again).tobytes() == outputs(whole).tobytes()


def test_a_certified_response_has_the_certificate_of_its_noise():
    trained = train(response(ScoreResponse, steps=3, certify=(3.0, 1e-3)), None, PEOPLE, gate=False, progress=False)
    assert isinstance(trained.defence, Certified)
    assert trained.certificate().epsilon(1e-3).safe <= 3.0
    assert trained.certificate().delta(3.0).safe <= 1e-3


def test_what_makes_no_sense_is_refused():
    for bad in ({"attacker": "linear"}, {"odds_limit": 1.0}, {"level": 0.0}, {"level": 2.0}):
        with pytest.raises(InvalidParameter):
            FixedResponse(**bad)
    rows = np.random.default_rng(0).random((12, 4))
    with pytest.raises(Unsupported, match="0 or 1"):
        train(response(FixedResponse, steps=1), None, Population(rows, rows), gate=False)
    with pytest.raises(InvalidParameter, match="left out"):
        train(response(FixedResponse, steps=1), "linear", PEOPLE, gate=False)


def test_the_rates_fall_as_stated():
    chosen = attrs.evolve(response(OptimalResponse), decay=0.5, epoch=3)
    game = Game(chosen.settings(*PEOPLE.size), Statistic(PEOPLE), 0)
    seen = []
    for _ in range(7):
        game.advance()
        seen.append([adam.param_groups[0]["lr"] for adam in (game.generator_adam, game.attacker_adam)])
    assert np.array(seen)[:, 0] / 1e-2 == pytest.approx([1, 1, 1, 0.5, 0.5, 0.5, 0.25])
    assert np.array(seen)[:, 1] / seen[0][1] == pytest.approx([1, 1, 1, 0.5, 0.5, 0.5, 0.25])


def test_sums_and_norms_are_what_they_say():
    import torch

    from quiltwork.game.learned.training import price, privacy

    delta, members = torch.tensor([[3.0, 4.0], [0.0, 0.0]]), torch.tensor([[1.0, 0.0, 1.0], [0.0, 0.0, 1.0]])
    logits = torch.zeros(2, 3)

    def settings(**options):
        return response(FixedResponse, kappa=2.0, objective="tpr", **options).settings(3, 2)

    assert float(price(settings(), delta, None)) == pytest.approx(2.0 * 7 / 4)
    assert float(price(settings(reduction="sum"), delta, None)) == pytest.approx(2.0 * 7 / 2)
    assert float(price(settings(reduction="sum", norm=2), delta, None)) == pytest.approx(2.0 * 5 / 2, rel=1e-5)
    assert float(price(settings(norm=2), delta, None)) == pytest.approx(2.0 * 5 / 2 / 2**0.5, rel=1e-5)
    assert float(privacy(settings(), logits, members)) == pytest.approx(0.5 * 3 / 6)
    assert float(privacy(settings(reduction="sum"), logits, members)) == pytest.approx(0.5 * 3 / 2)
